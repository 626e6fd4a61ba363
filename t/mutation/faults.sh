# shellcheck shell=bash disable=SC2016,SC2034  # $ of nginx; always is code.t's
# faults.sh: the faults that code.t puts into the code, and who must notice.
#
#   red NAME FILE SED TARGET TEST SAYS
#
# TEST is the cheapest one that notices, and SAYS what it then says `not ok` of;
# BUILD/ stands for the build's directory.  A fault is one that somebody could
# make, and independent of the others.

# ---- the lease: always tried, whatever the sample

always=1
host() { red "$1" src/provider/record.c "$2" t/unit/provider/record_test BUILD/t/unit/provider/record_test "$3"; }
host "an older epoch starts" \
	's/s->epoch > 0 && s->epoch <= r->epoch/false/' \
	"a_stale_ensure_is_refused"
host "a past incarnation starts" \
	's/is_past\(r, s->incarnation\) \|\|/false ||/' \
	"a_stale_ensure_is_refused"
host "what has died starts again" \
	's/if \(runs &&$/if ((runs || true) \&\&/' \
	"a_stale_ensure_is_refused"
host "a stop ends whatever runs" \
	'/^record_check_end/,/^}/s/if \(runs\)/if (runs \&\& false)/' \
	"a_stale_end_is_refused"
host "a late destroy takes newer files" \
	'/^record_check_end/,/^}/s/if \(destroy && /if (destroy \&\& false \&\& /' \
	"a_stale_end_is_refused"
host "a stop that came first is not noted" \
	'/^record_end/,/^}/s/if \(!is_current/if (false \&\& !is_current/' \
	"an_end_is_noted_even_if_its_start_never_came"

red "the seal is nothing, among cells" src/agent/cells.c \
	's/if \(generation > s->generation\)/if (generation < 0)/' \
	t/unit/agent/cells_test BUILD/t/unit/agent/cells_test "a_seal_only_rises"
init() { red "$1" "$2" "$3" sandlease-agent t/agent/control.t "$4"; }
init "the seal is nothing" src/agent/cells.c \
	's/if \(generation > s->generation\)/if (generation < 0)/' \
	"the sealed generation cannot be launched"
init "a sealed generation starts" src/agent/init_ops.c \
	's/if \(l->generation <= sealed\)/if (l->generation < 0)/' \
	"the sealed generation cannot be launched"
init "init takes any incarnation's message" src/agent/init_ops.c \
	's/if \(!str_equal\(json_str\(r->msg, "incarnation"\), in->opt.incarnation\)\)/if (name == NULL)/' \
	"a wrong incarnation is refused"

red "a restart looks and does not seal" src/control/start.c \
	'/^make_final/,/^}/s/if \(!str_equal\(s->lease, "owns_wrapper"\)\)/if (s != NULL)/' \
	t/unit/control/start_world t/control/start.t "a_late_launch_of_a_generation_that_was_seen_absent_is_refused"
always=

# agent TEST NAME FILE SED SAYS, and so on, by what is made of the source.
agent() { red "$2" "src/agent/$3" "$4" sandlease-agent "t/$1.t" "$5"; }
api() { red "$2" "src/$3" "$4" sandlease-api "t/$1.t" "$5"; }
reaper() { red "$2" "src/$3" "$4" sandlease-reaper "t/$1.t" "$5"; }
cli() { red "$2" "src/cli/$3" "$4" sandlease "t/$1.t" "$5"; }
unit() { red "$2" "src/$3" "$4" "t/unit/$1_test" "BUILD/t/unit/$1_test" "$5"; }
nginx() { red "$1" "nginx/$2" "$3" - t/api/nginx.t "$4"; }

# ---- execute and shells

agent agent/execute "a command's own directory stays" script.c \
	's/moves \? c->back : ""/""/' \
	"both are taken back"
agent agent/execute "a command's own variables stay" script.c \
	'/^put_eval/,/^}/s/buf_str\(to, " "\)/buf_str(to, "; ")/' \
	"both are taken back"
agent agent/execute "a stream's timeout has no exit code" exec.c \
	'/^run_child/,/^}/s/= TIMEOUT_EXIT_CODE/= 0/' \
	"sessionless: exit code 124"
agent agent/execute "output is cut and nobody says so" api_execute.c \
	's/k->truncated = true;//' \
	"more than 32 MiB are cut off"
agent agent/execute "a stream knows nothing of its shell" exec.c \
	's/rc = shell_state\(s, &state, e\)/rc = 0/' \
	"directory, variables and functions are inherited"
agent agent/execute "a shell's exit code is not told" shell_run.c \
	's/snprintf\(e->more, sizeof\(e->more\), .*/(void)0;/' \
	"exit ends the shell"
agent agent/execute "a timeout ends the root and leaves the tree" ending.c \
	'/^ending_all/,/^}/s/term_below\(&w, root, NULL\)/true/;s/proctree_kill\(root, NULL\)/kill(root, SIGKILL)/' \
	"sessionless: nothing of it is left"
agent agent/execute "an answer has no output of stderr" api_execute.c \
	's/k->text\[1\].data, k->text\[1\].len/"", 0/' \
	"output, status and session"
agent agent/execute "the exit code is lost" shell_run.c \
	's/out->exit_code = s->answers.exit_code/out->exit_code = 0/' \
	"output, status and session"
agent agent/execute "a piece of a line waits for the rest of it" api_execute.c \
	's/lines_flush\(&s->lines\[[01]\]\);//' \
	"a stream comes line by line"
agent api/shell "a deleted shell leaves its processes" shell.c \
	'/^shell_delete/,/^}/s/\(void\)also_delete\(name\)/(void)0/' \
	"what a replaced shell left behind and its processes go with it"
agent api/shell "the session's own timeout is ignored" shell.c \
	's/^\treturn ms > 0 \? ms : envset_number.*/\treturn ms;/' \
	"the call the session and the environment say how long"
agent api/shell "what a replaced shell left behind lives on" shell_run.c \
	'/^shell_kill/,/^}/s/proctree_end\(&s->orphans\);//' \
	"what a replaced shell left behind and its processes go with it"
agent api/shell "a name is there twice" shell.c \
	'/^make_new/,/^}/s/if \(old != NULL && !is_over\(\*old\)\)/if (false)/' \
	"a name is there once"
agent agent/interrupt "what waits runs after an interruption" exec.c \
	'/^in_shell/,/^}/s/if \(!given_up\(j, out\)\)/if (true)/' \
	"and has done nothing"
agent agent/interrupt "an interruption meets what came later" interrupt.c \
	's/j->asked_ms > m->before_ms \|\|/false ||/' \
	"not what is younger"

# ---- files

agent agent/files "a replaced file loses its mode" draft.c \
	's/\(mode_t\)mode : st.st_mode\)/(mode_t)mode : NEW_MODE)/' \
	"a link's target is written, its mode stays"
agent agent/files "a link is replaced, not followed" draft.c \
	's/if \(files_follow\(d->path, e\) < 0\)/if (false)/' \
	"a link's target is written, its mode stays"
agent agent/files "text is said to be binary" api_content.c \
	's/text \? "false" : "true"/text ? "true" : "false"/' \
	"read {}"
agent api/files "more than 32 MiB are written" api_content.c \
	's/if \(from.len > CONTENT_MAX\)/if (false)/' \
	"thirty two mebibytes are the limit of json"
agent agent/files "a path is meant in the root" files.c \
	"s/path\\[0\\] != '\\/' \\&\\& !add_segments\\(out, &len, cwd\\)/false/" \
	"parents are made"
agent api/directories "hidden files are listed" listing.c \
	's/ \|\| \(w->name\[0\] == .\.. && !l->hidden\)//' \
	"an entry says all of a file"
agent api/directories "a move into a directory replaces it" move.c \
	'/^destination/,/^}/s/if \(is_dir\(to\)\)/if (false)/' \
	"relative paths are meant where the shell is"
agent api/directories "delete takes directories" api_files.c \
	's/if \(unlink\(t.where\) < 0\)/if (rmdir(t.where) < 0 \&\& unlink(t.where) < 0)/' \
	"files are deleted and directories are not"
agent api/directories "a move between file systems copies" move.c \
	'/^move_by_copy/,/^}/s/tree_remove\(from, e\) < 0/false/' \
	"between file systems nothing is lost"
agent api/directories "what a dead link names exists" api_files.c \
	'/^api_exists/,/^}/s/there = stat\(/there = lstat(/' \
	"what is there exists"
agent api/files "a stream of a file has no end" api_content.c \
	'/^stream_file/,/^}/s/sse_event\(s->call, complete\);//' \
	"a stream of any size needs no memory"
agent api/raw-files "half of an upload is the file" api_raw.c \
	'/^take_body/,/^}/s/return n < 0 \? -1 : 0/return 0/' \
	"a client that vanishes leaves the old file"
agent api/raw-files "a write forgets what came meanwhile" api_raw.c \
	"s/if \\(d.temp\\[0\\] != '.0' && check_present\\(c, path, e\\) < 0\\)/if (false)/" \
	"a write also depends on what came meanwhile"
unit agent/entity "a range is one byte short" agent/entity.c \
	's/last - first \+ 1/last - first/' \
	"a_range_is_a_part_of_the_file"
agent api/raw-files "a tag that differs matches" entity.c \
	's/memcmp\(list, tag, strlen\(tag\)\) == 0/true/' \
	"a write can depend on what is there"

# ---- watching

agent agent/watch "new directories are not watched" watch_events.c \
	'/^see_entry/,/^}/s/watch_tree_settle\(w, d, ev->name\)/(void)0/' \
	"what is made in new directories is told once"
agent agent/watch "our own drafts are told as moves" watch_events.c \
	'/^arrival_of/,/^}/s/return drafts\[i\].type/return CHANGE_MOVE_TO/' \
	"what we write ourselves looks as it should"
agent agent/watch "a directory keeps its old path" watch_tree.c \
	's/watch_dir_move\(known, d, name\);/(void)name;/' \
	"directories are followed where they go"
agent agent/watch "every kind is told to everybody" watch_events.c \
	's/\(w->wish.types & 1u << type\) == 0/false/' \
	"one of them"
agent agent/watch "what is excluded is told" watch_tree.c \
	'/^watch_excludes/,/^}/s/return .*/return false;/' \
	"without a word"
agent agent/watch "one change is told many times" changes.c \
	's/if \(is_said\(c, &new, path\)\)/if (false)/' \
	"a storm on one file is one event at a time"
agent agent/watch_bounds "a check sees no change" watch_events.c \
	'/^watch_note/,/^}/s/w->cursor\+\+;//' \
	"a change is seen at once"
agent agent/watch_bounds "who hangs up is watched for" api_watch.c \
	's/return p\[0\].revents == 0 && !f->call->gone;/return !f->call->gone;/;s/p\[0\].revents == 0 && clock_left/clock_left/' \
	"there is an end to directories and to watches"
agent agent/watch_bounds "an unknown version is unchanged" watch.c \
	'/^judge_foreign/,/^}/s/\? WATCH_EXPIRED/? WATCH_UNCHANGED/;s/: WATCH_RESTARTED/: WATCH_UNCHANGED/' \
	"a version of something else is no version"
agent api/directories "everything can be watched" api_watch.c \
	's/return str_equal\(path, TOP\).*/return true;/' \
	"only the workspace can be watched"

# ---- WebSockets and terminals

agent agent/websocket "a cancelled request goes on" ws_call.c \
	'/^ws_call_cancel/,/^}/s/mem_close_fd\(&c->gone\[1\]\);//;/^ws_call_cancel/,/^}/s/atomic_store.*//' \
	"a cancelled stream sees its client gone"
agent agent/websocket "a piece is a message" ws_mux.c \
	'/^take_piece/,/^}/s/if \(!p->last\)/if (false)/' \
	"messages in fragments with pings between are whole"
agent api/websocket "an id is used twice" ws_mux.c \
	's/is_new = find\(m, ws_call_id\(r->call\)\) == NULL/is_new = true/' \
	"an id in use is refused"
unit agent/ws_request "a query is lost" agent/ws_request.c \
	's/r->raw \+ len \+ 1 : ""/"" : ""/' \
	"a_request_is_taken_with_what_it_says"
agent api/websocket "routes of HTTP answer, too" ws_call.c \
	'/^is_elsewhere/,/^}/s/return true/return false/' \
	"what goes over http only says so"
agent api/websocket "an answer's status is lost" ws_answer.c \
	's/a->quoted_id, \*a->status,/a->quoted_id, 200,/' \
	"queries escapes and headers mean what they mean over http"
red "a revoked key's connections stay" src/admin/cmd_key.c \
	's/session_control_ws_bounce\(.*\);/(void)0;/' sandlease-admin t/api/websocket.t \
	"a revoked key keeps none open"
agent api/terminal "a terminal has the size it had" pty_act.c \
	's/\(void\)ioctl\(t->master, TIOCSWINSZ, &size\);/(void)size;/' \
	"vim edits a file and hears of another size"
agent api/terminal "two clients type at once" pty_act.c \
	'/^take_turn/,/^}/s/mine = !t->typing && !t->ended/mine = !t->ended/;s/while \(more && t->typing && !t->ended\)/while (false)/' \
	"what two clients type is not mixed"
agent api/terminal "the signal that ended it is not told" api_terminal.c \
	"s/if \\(now.signal\\[0\\] != '.0'\\)/if (false)/" \
	"it tells how it ended"
agent api/terminal "what runs in a terminal is not work" pty_act.c \
	'/^has_job/,/^}/s/group > 0 && group != t->pid/false/' \
	"what runs in it keeps the session busy"
agent api/terminal "a new terminal counts from nought" pty.c \
	's/t->begin = t->total = old->total;/(void)old;/' \
	"it tells how it ended"
agent api/terminal "who comes back sees nothing" pty.c \
	'/^pty_begin/,/^}/s/\? now.first : asked/? now.total : asked/' \
	"it begins as its shell session is"

# ---- processes

agent api/process "a signal reaches the shell only" process_act.c \
	's/proctree_signal\(root, NULL, sig\) == 0 \|\|/true ||/' \
	"a signal reaches what the command started"
agent api/process "a timeout is not told" process_run.c \
	's/rec.end.timed_out = p->out_of_time/rec.end.timed_out = false/' \
	"a timeout kills and is told"
agent api/process "an id is taken away from who lives" process.c \
	'/^process_admit/,/^}/s/if \(i < count && lives\(table\[i\]\)\)/if (false)/' \
	"ids of the callers choice"
agent api/process "the end of the input is not passed on" process_act.c \
	's/let_input_go\(p, in->close && all\)/let_input_go(p, false)/' \
	"input is written and closed"
agent api/process "kill takes the root only" treeend.c \
	'/^look/,/^}/s/proctree_take_each\(roots, n, now\);//;s/proctree_kill\(t->root, NULL\)/kill(t->root, SIGKILL)/' \
	"kill ends the whole tree"
agent api/process "who was killed has failed" process_run.c \
	'/^status_of/,/^}/s/return PROCESS_KILLED/return PROCESS_FAILED/' \
	"kill ends the whole tree"
agent api/process_logs "logs begin at the beginning" api_process_logs.c \
	's/return present \? take_offset\(text, "offset", out, e\) : 0/return 0/' \
	"logs have offsets"
agent api/process_logs "no record survives" process_run.c \
	's/process_store_write\(&rec\);//' \
	"records survive sleep"
agent api/process_logs "what runs lets the session sleep" process_start.c \
	's/activity_begin\(ACTIVITY_RUNNING\)/activity_touch()/' \
	"a client that vanishes frees its stream"
agent api/process_logs "a stream begins at the beginning again" api_process_logs.c \
	's/call_param\(c, "HTTP_LAST_EVENT_ID"\)/""/' \
	"a stream goes on where it was cut off"
agent api/process_logs "a character is cut at a read" process_run.c \
	's/whole = utf8_whole\(chunk, len\)/whole = len/' \
	"characters are never split"

# ---- archives, git, ports

agent api/archive "an archive goes through links" unpack.c \
	's/ARCHIVE_EXTRACT_TIME \| ARCHIVE_EXTRACT_SECURE_SYMLINKS/ARCHIVE_EXTRACT_TIME/' \
	"nothing lands outside"
agent api/archive "an archive goes upwards" unpack.c \
	's/ARCHIVE_EXTRACT_SECURE_NODOTDOT/0/' \
	"nothing lands outside"
agent api/archive "half a file stays" unpack.c \
	's/unlink\(u->name\);/(void)0;/' \
	"a broken archive says where"
agent api/git "a template's hook runs" git.c \
	's/ -c core.hooksPath=\/dev\/null//' \
	"no hook of a template is run"
agent api/git "a clone that was killed leaves a half" git.c \
	's/ \|\| o->exit_code > GIT_DIED//' \
	"a clone that is killed leaves nothing"
agent api/git "git's words show the password" git.c \
	's/git_url_redact\(g->url, h->err.data, h->err.len, &out->said\);/buf_add(\&out->said, h->err.data, h->err.len);/' \
	"credentials open the door and are told to nobody"
unit agent/git_error "git's words of a branch are a repository's" agent/git_error.c \
	'/not found in upstream/d;/could not find remote branch/d' \
	"each_message_has_its_code"
agent api/ports "a server on ::1 is not found" port_probe.c \
	's/\{ AF_INET, AF_INET6 \}/{ AF_INET, AF_INET }/' \
	"a server on the other address is found"
agent api/ports "any status is ready" port_probe.c \
	's/status >= p->status_min && status <= p->status_max/true/' \
	"a check says whether it answers"
agent api/ports "a watch outlives its process" api_ports.c \
	's/if \(has_exited\(w\)\)/if (false \&\& has_exited(w))/' \
	"a watch ends with the process it waits for"
agent agent/relay "an unexposed port stays open" relay_conn.c \
	'/^relay_conn_close_port/,/^}/s/relay_conn_finish\(c\)/(void)0/' \
	"unexpose closes what is open"

# ---- the gate, tenants, tickets

unit domain/sandbox_id "no org is on the list" domain/sandbox_id.c \
	's/\(!str_empty\(org\) && str_list_has\(list, org\)\)/str_list_has(list, org)/' \
	"the_list_isolates_whom_it_names"
unit domain/sandbox_id "the salt is nothing" domain/sandbox_id.c \
	's/bool salted = !str_empty\(o->salt\)/bool salted = false/' \
	"the_first_rule_that_fits_names_the_sandbox"
api api/sandbox_ids "a derived id is not kept" control/control.c \
	'/^adopt_sandbox/,/^}/s/return STORE_RUN\(.*/strcpy((char *)(uintptr_t)s->sandbox.id, id);/;s/^	    id, isolated \? "small" : "shared"\);/	return 0;/;/adopt_sandbox\(ctl, out, e\) < 0 \|\|/{N;s/.*/	    adopt_sandbox(ctl, out, e) < 0)/}' \
	"a row without an id is derived once and persisted"
api api/audit "a foreign id is told to nobody" api/gate.c \
	'/^deny_session/,/^}/s/audit_session\(c, id, k\);/(void)k;/' \
	"a foreign id is told to its owner only"
api api/tickets "another site's page opens a socket" api/gate.c \
	'/^refuse_cookie/,/^}/s/!reads && access_same_origin/false \&\& access_same_origin/' \
	"the cookie opens a terminal for our own pages only"
api api/proxy "the cookie opens a port" api/gate.c \
	'/^refuse_cookie/,/^}/s/if \(is_proxied\(c\)\)/if (false)/' \
	"the dashboards cookie opens no port"
unit api/access "a navigation carries the cookie" api/access.c \
	'/^access_own_script/,/^}/s/str_equal\(call_param\(c, "HTTP_SEC_FETCH_DEST"\), "empty"\)/true/' \
	"the_cookie_counts_for_scripts_of_our_own"
unit api/site "previews on the dashboard's site are no matter" api/site.c \
	's/shared = str_equal\(a, b\)/shared = str_equal(mine, host)/' \
	"names_of_one_registrable_domain_are_one_site"
unit web/http_reply "an interim response passes" web/http_reply.c \
	's/if \(status < 200\)/if (status < 100)/' \
	"a_response_passes_whole_or_not_at_all"
unit web/http_reply "what follows a response passes" web/http_reply.c \
	's/http_parser_pause\(p, 1\);/(void)p;/' \
	"a_response_passes_whole_or_not_at_all"
unit web/http_reply "101 passes unasked" web/http_reply.c \
	's/!r->to.upgrade \|\| //' \
	"a_response_passes_whole_or_not_at_all"
unit web/http_reply "a response needs no status line" web/http_reply.c \
	"s/!r->begun && data.0. != 'H'/false/" \
	"a_response_passes_whole_or_not_at_all"
unit web/http_reply "any coding is chunked" web/http_reply.c \
	's/strcasecmp\(r->value.data, "chunked"\) == 0/true/' \
	"a_response_passes_whole_or_not_at_all"
unit agent/relay_request "a body asks for an upgrade" agent/relay_request.c \
	's/if \(body != NULL\)/if (false)/' \
	"what_nginx_says_is_heard_and_nothing_else"
api api/tickets "a ticket opens what is no socket" api/ticket.c \
	"s/call_param\\(c, \"SL_TICKET\"\\)\\[0\\] != '.0' && ticket_upgrades\\(c\\) &&/call_param(c, \"SL_TICKET\")[0] != '\\\\0' \\&\\&/;/^comes_with_one/,/^}/s/ticket_purpose\\(c\\)\\[0\\] != '.0'/true/" \
	"it opens nothing but a websocket"
api api/tenancy "a key that reads writes" api/gate.c \
	's/reads \? ACCESS_READ : ACCESS_TENANT/ACCESS_READ/' \
	"a read key only reads"
api api/tenancy "a cookie changes things from anywhere" api/access.c \
	's/if \(k->kind == CREDENTIAL_LOGIN && mutates\(c\) &&/if (false \&\&/' \
	"a cookie needs the dashboards origin to change anything"
api api/tenancy "the agent's log is anybody's" control/session_control.c \
	'/^session_control_agent_log/,/^}/s/control_session\(ctl, id, tenant, &s, e\)/control_session(ctl, id, "", \&s, e)/' \
	"another orgs session is the same 404 as none on every route"
api previews/previews "a preview wakes what does not wish it" api/gate.c \
	's/rows_bool\(r, 0, "wake_on_preview"\) && //' \
	"410"
api previews/previews "an unexposed port keeps its connections" control/preview_control.c \
	'/^preview_remove/,/^}/s/preview_close\(ctl, id, port\);//' \
	"an unexposed port closes with its connections"
api api/streams "a cut stream has no last event" api/stream_link.c \
	'/^last_words/,/^}/s/say\(all, s, words.data, words.len\);//' \
	"a wrapper that is killed ends its streams properly"
api api/awake "a probe is activity" api/gate.c \
	'/^is_probe/,/^}/s/return .*/return false;/' \
	"a probe is no activity"
api api/suspend "what does not go on is believed" control/suspend.c \
	's/if \(agent_prove\(p, &t, deadline_ms, e\) < 0\)/if (false)/' \
	"a wrapper that does not go on is replaced"
api api/dataplane "an agent's death has no tail" control/control.c \
	'/^control_note_death/,/^}/s/tail.len > 0 \? tail.data : ""/""/' \
	"a dead wrapper is replaced"
api api/setup "a setup runs twice" control/setup.c \
	's/\*begun = s.begun/*begun = false/' \
	"files are written once"
agent api/snapshots "a snapshot has no home" pack.c \
	's/"workspace", "home\/user", NULL/"workspace", NULL/' \
	"it keeps all there is"

# ---- starts and stops

world() { red "$2" "src/control/$3" "$4" "t/unit/control/$1_world" "t/control/$1.t" "$5"; }
world start "a start needs no proof" launch.c \
	'/^launch_prove/,/^}/s/if \(agent_prove\(.*/if (false)/' \
	"a_create_leads_to_ready"
world stop "the cgroup is not asked" wave.c \
	'/^conclude/,/^}/s/if \(s->ask.sight.count == 0 &&/s->absent = s->ask.sight.count == 0;if (false \&\&/' \
	"sleep_ends_the_wrapper_and_its_own_sandbox"
world stop "silence is absence" discover.c \
	'/^discover_sandbox_down/,/^}/s/return false;/return true;/' \
	"a_look_that_fails_neither_kills_nor_releases"
api api/events "a warm start tells no steps" control/start.c \
	'/^reuse/,/^}/s/launch_note_steps\(ctl, &l, NULL\);//' \
	"a resume and a reuse tell their steps too"
api api/programs "another version is not told" control/launch.c \
	's/^\tcompare_version\(l\);//' \
	"an agent of another version is a warning and no obstacle"
unit reaper/plan "a late start is not repaired" reaper/plan.c \
	's/\? PLAN_REPAIR/? PLAN_FAIL/' \
	"what_a_wrapper_does_decides_about_it"
unit api/share "who waits counts with nobody" api/share.c \
	's/if \(s->workers > 1 && all <= most &&/if (s->workers > 1 \|\|/' \
	"a_quarter_may_wait_and_one_org_half_of_that"
unit web/reply "nobody says when to try again" web/reply.c \
	'/^say_when_to_retry/,/^}/s/if \(seconds == 0\)/if (true)/' \
	"an_error_may_say_more"

# ---- the reaper and the command line

reaper reaper/pass "a dry run makes its wishes" reaper/wishes.c \
	'/tell\(w->part, r\);/{n;s/return 0;//}' \
	"a dry run changes nothing"
reaper reaper/pass "a dry run stops" reaper/stops.c \
	's/if \(p->dry_run\) \{/if (false) {/' \
	"a dry run changes nothing"
reaper reaper/pass "idle asks nobody" reaper/ask.c \
	's/\.busy = told && st->busy/.busy = false/' \
	"an idle session does not sleep while a command runs"
reaper api/interrupt "no interruption is finished" reaper/upkeep.c \
	'/^finish_interrupt/,/^}/s/return interrupt_finish\(.*/return 0;/;/^finish_interrupt/,/^}/{/^\t    rows_/d}' \
	"a wrapper that stands still is an error and the reaper finishes"
cli cli/exec "an exit code is lost" cmd_exec.c \
	'/^take_end/,/^}/s/& 255/\& 0/' \
	"the exit code is the command's"

# ---- the dashboard

browser() { red "$1" "www/$2" "$3" - t/browser/dashboard.t "$4"; }
browser "markup of a command's output is shown" dom.js \
	's/node.textContent = value/node.innerHTML = value/' \
	"markup in output stays text"
browser "a list that failed is empty" sessions.js \
	's/(await api.listSessions\(.*\));/\1.catch(() => ({ sessions: [] }));/' \
	"a list that cannot be had is not an empty one"

# ---- nginx

nginx "a wrapper sets cookies" wrapper.params.in \
	'/hide_header Set-Cookie/d' \
	"nothing a wrapper says steers nginx or a browser"
nginx "a wrapper steers nginx" wrapper.params.in \
	'/ignore_headers/d' \
	"a stream arrives as it is written"
nginx "the dashboard has no policy" main.conf.in \
	'/script-src/d' \
	"the dashboard is served with a strict policy"
nginx "another session's socket is taken" maps.conf.in \
	's/\\k<sl_w_id>/[a-z0-9]{20}/' \
	"an upstream that is not the sessions own socket is refused"
nginx "a session's agent may answer with 103" final.js.in \
	's/if \(!isFinal && !isTunnel\)/if (false)/' \
	"a wrapper answers once"
nginx "a port may answer with 103" preview.params.in \
	'/js_header_filter/d' \
	"a relay answers once"
nginx "cookies lock the dashboard" main.conf.in \
	'/Clear-Site-Data/d' \
	"more cookies than nginx takes are taken away"
nginx "a ticket comes to the error log" maps.conf.in \
	'/ticket=\[a-z2-7\]\{26\}\(/d' \
	"no error is logged with a secret"
nginx "a preview's page reaches the API" from-preview.answer.in \
	's/if \(\$sl_from_preview\)/if ($http_x_nobody_sends)/' \
	"a page of a preview cannot reach the API"
nginx "queries stand in the log" maps.conf.in \
	'/^map \$request_uri \$sl_log_path/,/^}/s/\[\^\?\]\*/.*/' \
	"no secret stands in any log"
nginx "an app gets our cookie" preview.params.in \
	's/proxy_set_header Cookie \$sl_cookie/proxy_set_header Cookie $http_cookie/' \
	"a preview by host name reaches its port"
nginx "an app gets the key" preview.params.in \
	'/proxy_set_header X-API-Key/d' \
	"a preview by host name reaches its port"
nginx "a POST whose worker died may be repeated" maps.conf.in \
	's/"~\^\(\?:POST\|PATCH\) \[0-9\]" false/"~^NONE" false/' \
	"a worker that dies in the middle of a POST is not to be asked again"
nginx "a ticket goes inside" maps.conf.in \
	's/\&cwd=\$arg_cwd/\&cwd=$arg_cwd\&ticket=$arg_ticket/' \
	"only what makes a websocket goes in"
