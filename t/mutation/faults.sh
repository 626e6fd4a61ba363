# shellcheck shell=bash disable=SC2016,SC2034  # $ of nginx; always is code.t's
# faults.sh: the faults that code.t puts into the code, and the tests that must
# notice them.
#
#   red NAME FILE SED TARGET TEST SAYS
#
# TEST is the cheapest test that notices, and SAYS the check that then says
# `not ok`; BUILD/ stands for the build's directory.  Each fault is a mistake that
# a programmer could make, and independent of the others.

# ---- the lease: always tried, whatever the sample

always=1
host() { red "$1" src/provider/box/record.c "$2" t/unit/provider/record_test BUILD/t/unit/provider/record_test "$3"; }
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
host "a start without an epoch forgets it" \
	's/if \(s->epoch > r->epoch\)/if (true)/' \
	"a_start_forgets_neither_the_epoch_nor_the_past"
host "a stop is a tombstone" \
	'/^record_end/,/^}/s/if \(destroy\)/if (true)/' \
	"a_stop_is_no_tombstone"

seals() { red "$1" src/agent/init/seals.c "$2" t/unit/agent/seals_test BUILD/t/unit/agent/seals_test "$3"; }
seals "the seal is nothing, among seals" \
	's/if \(generation > at->generation\)/if (generation < 0)/' \
	"a_seal_only_rises"
seals "what was forgotten may start" \
	's/s->forgotten_ms = at->at_ms/(void)0/' \
	"there_is_always_room_and_what_is_forgotten_is_held"
seals "an old seal hides a forgotten one" \
	's/return generation <= seals_get\(s, session\) \|\|/return find_seal(s, session) != NULL ? generation <= seals_get(s, session) :/' \
	"an_old_seal_does_not_stand_for_a_forgotten_one"
init() { red "$1" "$2" "$3" sandlease-agent t/agent/control.t "$4"; }
init "the seal is nothing" src/agent/init/seals.c \
	's/if \(generation > at->generation\)/if (generation < 0)/' \
	"the sealed generation cannot be launched"
init "a sealed generation starts" src/agent/init/ops.c \
	's/if \(seals_hold\(.*\)\)/if (l->generation < 0)/' \
	"the sealed generation cannot be launched"
init "a late kill reaches the next generation" src/agent/init/ops.c \
	's/CELL\("kill", UP_TO,/CELL("kill", LOOKS,/' \
	"kill that comes late is refused"
init "a late halt reaches the next generation" src/agent/init/ops.c \
	's/CELL\("halt", EXACT,/CELL("halt", LOOKS,/' \
	"halt that comes late is refused"
init "init takes any incarnation's message" src/agent/init/ops.c \
	's/if \(!str_equal\(json_str\(r->msg, "incarnation"\), in->opt.incarnation\)\)/if (name == NULL)/' \
	"a wrong incarnation is refused"

red "a restart looks and does not seal" src/control/start.c \
	'/^seal_absent/,/^}/s/if \(s->lease != LEASE_OWNS_WRAPPER\)/if (s != NULL)/' \
	t/unit/control/start_world t/control/start.t "a_late_launch_of_a_generation_that_was_seen_absent_is_refused"
red "who does not wait condemns a wrapper" src/control/start.c \
	's/return !l->hurried \|\| .*/return true;/;s/deadline_ms > soon_ms \? deadline_ms : soon_ms/deadline_ms/' \
	sandlease-api t/lease/patience.t "a resume that does not wait leaves a healthy session alone"
red "who does not wait condemns a sandbox" src/control/evidence.c \
	's/ && !l->hurried//' \
	t/unit/control/evidence_world t/control/evidence.t "who_does_not_wait_has_no_evidence"
red "a resume during a stop is a promise" src/api/v1/sessions.c \
	's/ && !start_must_wait\(e\)//' \
	sandlease-api t/lease/patience.t "what is not waited for is refused and can be repeated"
red "a resume does not wait for a stop" src/control/stop.c \
	'/^wait_while_stopping/,/^}/s/if \(listen_wait\(.*/why = LISTEN_TIME; if (false)/' \
	sandlease-api t/lease/patience.t "a resume during a stop waits and starts the next generation"
red "a late attempt ends what runs" src/control/wave.c \
	'/^raise_rows/,/^}/s/if \(!find_answer\(r, s, &row\)\)/if (false)/' \
	t/unit/control/stop_world t/control/stop.t "a_late_attempt_ends_nobody"
red "a wrapper later than its row stays" src/control/wave.c \
	's/^\traise_rows\(ctl, w\);//' \
	t/unit/control/stop_world t/control/stop.t "a_wrapper_later_than_its_row_is_ended_and_the_next_is_later"
red "a refused create is a replay later" src/control/create.c \
	's/forget_key\(ctl, who, w, id\);/(void)0;/' \
	sandlease-api t/lease/patience.t "what is not waited for is refused and can be repeated"
always=

# agent TEST NAME FILE SED SAYS, and so on, by the program made from the source.
agent() { red "$2" "src/agent/$3" "$4" sandlease-agent "t/$1.t" "$5"; }
api() { red "$2" "src/$3" "$4" sandlease-api "t/$1.t" "$5"; }
reaper() { red "$2" "src/$3" "$4" sandlease-reaper "t/$1.t" "$5"; }
cli() { red "$2" "src/cli/$3" "$4" sandlease "t/$1.t" "$5"; }
unit() { red "$2" "src/$3" "$4" "t/unit/$1_test" "BUILD/t/unit/$1_test" "$5"; }
world() { red "$2" "src/control/$3" "$4" "t/unit/control/$1_world" "t/control/$1.t" "$5"; }
nginx() { red "$1" "nginx/$2" "$3" - t/api/nginx.t "$4"; }

# ---- execute and shells

agent agent/markers "wrappers without a cell are forgotten for a while" init/markers.c \
	's/any = true;/(void)any;/' \
	"and so does seal"
agent agent/execute "a command's own directory stays" shell/script.c \
	's/moves \? c->back : ""/""/' \
	"both are taken back"
agent agent/execute "a command's own variables stay" shell/script.c \
	'/^put_eval/,/^}/s/buf_str\(to, " "\)/buf_str(to, "; ")/' \
	"both are taken back"
agent agent/execute "a stream's timeout has no exit code" shell/exec.c \
	'/^run_child/,/^}/s/= TIMEOUT_EXIT_CODE/= 0/' \
	"sessionless: exit code 124"
agent agent/execute "output is cut and nobody says so" api/collected.c \
	's/k->truncated = true;//' \
	"more than 32 MiB are cut off"
agent agent/execute "a stream knows nothing of its shell" shell/exec.c \
	's/rc = shell_state\(s, &state, e\)/rc = 0/' \
	"directory, variables and functions are inherited"
agent agent/execute "a shell's exit code is not told" shell/life.c \
	's/snprintf\(e->more, sizeof\(e->more\), .*/(void)0;/' \
	"exit ends the shell"
agent agent/execute "a timeout ends the root and leaves the tree" run/ending.c \
	'/^ending_all/,/^}/s/term_below\(&w, root, NULL\)/true/;s/proctree_kill\(root, NULL\)/kill(root, SIGKILL)/' \
	"sessionless: nothing of it is left"
agent agent/execute "an answer has no output of stderr" api/collected.c \
	's/k->text\[1\].data, k->text\[1\].len/"", 0/' \
	"output, status and session"
agent agent/execute "the exit code is lost" shell/run.c \
	's/out->exit_code = s->answers.exit_code/out->exit_code = 0/' \
	"output, status and session"
agent agent/execute "who does not read has more time" run/interrupt.c \
	'/^kill_overdue/,/^}/s/proctree_kill\(j->root, NULL\)/(void)0/' \
	"and ends when its time is over"
agent agent/execute "a piece of a line waits for the rest of it" api/execute.c \
	's/lines_flush\(&s->lines\[[01]\]\);//' \
	"a stream comes line by line"
agent api/shell "a deleted shell leaves its processes" shell/shell.c \
	'/^shell_delete/,/^}/s/\(void\)also_delete\(name\)/(void)0/' \
	"what a replaced shell left behind and its processes go with it"
agent api/shell "the session's own timeout is ignored" shell/shell.c \
	's/^\treturn ms > 0 \? ms : envset_number.*/\treturn ms;/' \
	"the call the session and the environment say how long"
agent api/shell "what a replaced shell left behind lives on" shell/life.c \
	'/^shell_kill/,/^}/s/proctree_end\(&s->orphans\);//' \
	"what a replaced shell left behind and its processes go with it"
agent api/shell "a name is there twice" shell/shell.c \
	'/^make_new/,/^}/s/if \(old != NULL && !is_dead\(\*old\)\)/if (false)/' \
	"a name is there once"
agent agent/interrupt "an interruption meets what came later" run/interrupt.c \
	's/j->asked_ms <= m->before_ms/true/' \
	"not what is younger"
agent agent/executions "a shell that exits takes the output along" api/execute.c \
	'/^run_collected/,/^}/s/e->kind == ERR_GONE/false/' \
	"echo building; echo bad"
agent agent/executions "a process of its own is the shell itself" api/execute.c \
	's/streams \|\| o->shell == 0 \|\|/streams ||/' \
	"with a process of its own it is an exit code"
agent agent/executions "bash's notice is output" run/bash_notice.c \
	's/= bash_notice_strip\(f->held.data, f->held.len\)/= f->held.len/' \
	" | cat"
agent agent/executions "lines are counted over the life of a shell" shell/script.c \
	's/LINENO=0,2/2/' \
	"with {}"
agent agent/executions "an id means every command" run/interrupt.c \
	's/\(m->by.id == NULL \|\| str_equal\(j->name.id, m->by.id\)\)/true/' \
	"the other goes on"
agent agent/executions "a shell means every command" run/interrupt.c \
	's/\(m->by.shell == NULL \|\| str_equal\(j->name.shell, m->by.shell\)\)/true/' \
	"what runs in a shell"
agent agent/executions "a shell means every terminal" pty/act.c \
	's/\(shell != NULL && !str_equal\(t->id, shell\)\)/false/' \
	"and not in another"
agent agent/executions "who waits for a shell hears nothing" shell/shell.c \
	's/^\tinterrupt_on_tell\(wake_waiters\);//' \
	"two that wait"
agent agent/executions "a cell that waits hears nothing" code/context.c \
	's/^\tinterrupt_on_tell\(wake_waiters\);//' \
	"a cell that waits is ended"
agent agent/executions "an id is there twice" run/interrupt.c \
	's/taken = is_taken\(n->id\)/taken = false/' \
	"an id is unique while it runs"
agent agent/executions "who does not read keeps a dead command alive" run/interrupt.c \
	'/^kill_told/,/^}/s/proctree_kill\(j->root, NULL\) == 0/proctree_kill(j->root, NULL) > 9999/' \
	"an interruption ends it"
agent agent/executions "a shell's command does not see its client leave" shell/run.c \
	's/c->job->name.client : 0/0 : 0/' \
	"/api/execute"
agent agent/executions "a stream does not see its client leave" shell/exec.c \
	's/p->client_fd = j->name.client/p->client_fd = 0/' \
	"/api/execute/stream"
agent agent/executions "who left before the turn came runs all the same" run/interrupt.c \
	's/j->told == INTERRUPT_NOT && has_left\(j->name.client\)/false/' \
	"one whose client left before its turn did not begin"
agent agent/executions "a key runs a command twice" api/once.c \
	's/while \(\(o = find\(key\)\) != NULL &&/while (false \&\& (o = find(key)) != NULL \&\&/' \
	"a result"
agent agent/executions "another body has the key's answer" api/once.c \
	's/!str_equal\(o->body, body\)/false/' \
	"a key belongs to its body"
agent agent/executions "what never ran takes its key" api/execute.c \
	's/once_end\(o, c, w->began\)/once_end(o, c, true)/' \
	"the key is free, also for another body"
agent agent/fields "a member that nobody knows is not told" api/request.c \
	's/c->also = s->ignored;//' \
	"/api/execute and its first object"
agent agent/fields "a limit of time is dropped" api/request.c \
	's/else if \(refuse_limit\(s->fields, name, e\) < 0\)/else if (false)/' \
	"a limit of time is never dropped"

# ---- system calls

unit agent/sysfilter "vsock is open" agent/base/sysfilter_gen.c \
	's/for \(unsigned b = FAMILY_BITS; b < INT_BITS; b\+\+\)/for (unsigned b = INT_BITS; b < INT_BITS; b++)/' \
	"four_families_are_open_and_no_other"
unit agent/sysfilter "every netlink is open" agent/base/sysfilter_gen.c \
	's/SCMP_A0\(SCMP_CMP_MASKED_EQ, small, AF_NETLINK\)/SCMP_A0(SCMP_CMP_MASKED_EQ, small, 63)/' \
	"of_netlink_the_routes_are_open_and_nothing_else"
unit agent/sysfilter "a pair may be of any family" agent/base/sysfilter_gen.c \
	's/add_families\(ctx, SCMP_SYS\(socketpair\)\) < 0/false/' \
	"four_families_are_open_and_no_other"

# ---- the kernel's counters for all sandboxes

unit common/poller "what epoll refuses is not watched" common/poller.c \
	's/if \(errno != ENOSPC && .*/if (errno != 0)/' \
	"what_epoll_refuses_is_told_beside_the_rest"
unit common/poller "the last of many is never told" common/poller.c \
	's/p->next = at % p->count;/p->next = 0;/' \
	"none_of_many_is_forgotten"
unit common/kernel_limits "a limit that is too small is not named" common/kernel_limits.c \
	's/value >= l->least/value >= 0/' \
	"each_that_is_too_small_is_named"
unit provider/cgroup "cells have no share of the processor" provider/cgroup/cgroup.c \
	'/^cgroup_cell_open/,/^}/s/fd = open_cell_in/if (t->at[i].controllers == 1U << CGROUP_CPU) continue; fd = open_cell_in/' \
	"a_cell_has_a_share_of_the_processor"
unit provider/cgroup "buffers of sockets are not limited" provider/cgroup/v1.c \
	's/memory.kmem.tcp.limit_in_bytes/memory.kmem.tcp.none/' \
	"buffers_of_sockets_are_limited_apart"
unit provider/cgroup "all sandboxes may have all memory" provider/cgroup/cgroup.c \
	's/= memory_bytes - keep,/= memory_bytes,/' \
	"all_together_leave_something_to_the_host"
red "an org has any number of jobs" src/provider/store/job.c \
	'/^take_slot/,/^}/s/n < JOB_SLOTS/n < 1000/' \
	t/provider/conformance t/provider/conformance-local.t \
	"an_owner_has_few_at_once_and_another_has_its_own"
agent agent/descriptors "init spins without descriptors" init/init.c \
	's/in->accept_at = clock_ms\(\) \+ AGAIN_MS;/(void)0;/' \
	"init waits until there is one"
agent agent/descriptors "a relay spins without descriptors" relay/relay.c \
	's/if \(channel_accept_must_pause\(errno\)\)/if (false)/' \
	"a relay waits until there is one"
agent agent/websocket "a bounce trusts the program" ws/door.c \
	'/^ws_door_bounce/,/^}/s/^\tws_cut\(before\);/\t(void)before;/;/^ws_door_bounce/,/^}/s/kill\(program.pid, SIGKILL\);/(void)0;/' \
	"whoever does not yield is cut off"

# ---- files

agent agent/files "a replaced file loses its mode" files/temp_file.c \
	's/\(mode_t\)mode : st.st_mode\)/(mode_t)mode : NEW_MODE)/' \
	"a link's target is written, its mode stays"
agent agent/files "a link is replaced, not followed" files/temp_file.c \
	's/if \(files_follow\(d->path, e\) < 0\)/if (false)/' \
	"a link's target is written, its mode stays"
agent agent/files "text is said to be binary" api/content.c \
	's/text \? "false" : "true"/text ? "true" : "false"/' \
	"read {}"
agent api/files "more than 64 MiB are written" api/content.c \
	's/if \(from.len > WRITE_MAX\)/if (false)/' \
	"thirty two mebibytes are read and twice as much is written"
agent agent/files "a path is meant in the root" files/files.c \
	"s/path\\[0\\] != '\\/' \\&\\& !add_segments\\(out, &len, cwd\\)/false/" \
	"parents are made"
agent api/directories "hidden files are listed" api/listing.c \
	's/ \|\| \(w->name\[0\] == .\.. && !l->hidden\)//' \
	"an entry says all of a file"
agent api/directories "a move into a directory replaces it" files/move.c \
	'/^find_target/,/^}/s/if \(is_dir\(to\)\)/if (false)/' \
	"relative paths are meant where the shell is"
agent api/directories "delete takes directories" api/files.c \
	's/if \(unlink\(t.where\) < 0\)/if (rmdir(t.where) < 0 \&\& unlink(t.where) < 0)/' \
	"files are deleted and directories are not"
agent api/directories "a move between file systems copies" files/move.c \
	'/^move_by_copy/,/^}/s/tree_remove\(from, e\) < 0/false/' \
	"between file systems nothing is lost"
agent api/directories "what a dead link names exists" api/files.c \
	'/^api_exists/,/^}/s/there = stat\(/there = lstat(/' \
	"what is there exists"
agent api/files "a stream of a file has no end" api/content.c \
	'/^stream_file/,/^}/s/sse_event\(s->call, complete\);//' \
	"a stream of any size needs no memory"
agent api/raw-files "half of an upload is the file" api/raw.c \
	'/^take_body/,/^}/s/return n < 0 \? -1 : 0/return 0/' \
	"a client that vanishes leaves the old file"
agent api/raw-files "a write forgets what came meanwhile" api/raw.c \
	"s/if \\(d.temp\\[0\\] != '.0' && check_present\\(c, path, e\\) < 0\\)/if (false)/" \
	"a write also depends on what came meanwhile"
unit agent/entity "a range is one byte short" agent/files/entity.c \
	's/last - first \+ 1/last - first/' \
	"a_range_is_a_part_of_the_file"
agent api/raw-files "a tag that differs matches" files/entity.c \
	's/memcmp\(list, tag, strlen\(tag\)\) == 0/true/' \
	"a write can depend on what is there"

# ---- watching

agent agent/watch "new directories are not watched" watch/events.c \
	'/^handle_entry/,/^}/s/watch_tree_settle\(w, d, ev->name\)/(void)0/' \
	"what is made in new directories is told once"
agent agent/watch "our own temporary files are told as moves" watch/events.c \
	'/^arrival_of/,/^}/s/return temps\[i\].type/return CHANGE_MOVE_TO/' \
	"what we write ourselves looks as it should"
agent agent/watch "a directory keeps its old path" watch/tree.c \
	's/watch_dir_move\(known, d, name\);/(void)name;/' \
	"directories are followed where they go"
agent agent/watch "every kind is told to everybody" watch/news.c \
	's/\(w->options.types & 1u << type\) == 0/false/' \
	"one of them"
agent agent/watch "what is excluded is told" watch/news.c \
	'/^watch_excludes/,/^}/s/return .*/return false;/' \
	"without a word"
agent agent/watch "one change is told many times" watch/changes.c \
	's/if \(is_repeated\(c, &new, path\)\)/if (false)/' \
	"a storm on one file is one event at a time"
agent agent/watch_bounds "a check sees no change" watch/news.c \
	'/^watch_note/,/^}/s/w->cursor\+\+;//' \
	"a change is seen at once"
agent agent/watch_bounds "who hangs up is watched for" api/watch.c \
	's/return p\[0\].revents == 0 && !f->call->gone;/return !f->call->gone;/;s/p\[0\].revents == 0 && clock_left/clock_left/' \
	"those that went have left room"
agent agent/watch_bounds "an unknown version is unchanged" watch/watch.c \
	'/^judge_foreign/,/^}/s/\? WATCH_EXPIRED/? WATCH_UNCHANGED/;s/: WATCH_RESTARTED/: WATCH_UNCHANGED/' \
	"a version of something else is no version"
agent api/directories "everything can be watched" api/watch.c \
	's/return str_equal\(path, TOP\).*/return true;/' \
	"only the workspace can be watched"

# ---- WebSockets and terminals

agent agent/websocket "a cancelled request goes on" ws/call.c \
	'/^ws_call_cancel/,/^}/s/mem_close_fd\(&c->gone\[1\]\);//;/^ws_call_cancel/,/^}/s/atomic_store.*//' \
	"a cancelled stream sees its client gone"
agent agent/websocket "a piece is a message" ws/mux.c \
	'/^take_piece/,/^}/s/if \(!p->last\)/if (false)/' \
	"messages in fragments with pings between are whole"
agent api/websocket "an id is used twice" ws/mux.c \
	's/is_new = find\(m, ws_call_id\(r->call\)\) == NULL/is_new = true/' \
	"an id in use is refused"
unit agent/ws_request "a query is lost" agent/ws/request.c \
	's/r->raw \+ len \+ 1 : ""/"" : ""/' \
	"a_request_is_taken_with_what_it_says"
agent api/websocket "routes of HTTP answer, too" ws/call.c \
	'/^is_elsewhere/,/^}/s/return is_below.*/return path == NULL \&\& is_below(path, ROUTES, 1);/' \
	"who has no key to show again is told the way"
unit agent/ws_answer "a heartbeat over a WebSocket is an event each time" agent/ws/answer.c \
	's/if \(clock_left_ms\(a->spoke_ms \+ SILENT_MS\) > 0\)/if (false)/' \
	"a_heartbeat_is_said_after_long_silence_only"
agent api/websocket "bytes over a WebSocket are cut between groups" ws/answer.c \
	's/a->out.len - a->out.len % 3;/a->out.len - 1;/' \
	"files and archives of any bytes pass"
agent api/websocket "an answer's status is lost" ws/answer.c \
	's/a->quoted_id, \*a->status,/a->quoted_id, 200,/' \
	"queries escapes and headers mean what they mean over http"
api api/awake "a refused path is activity" api/gate/auth.c \
	's/request_is_probe\(c\) \|\| !path_agrees/request_is_probe(c)/' \
	"what is refused keeps nobody awake"
red "a refused scope is activity" sql/statements/auth.sql \
	"s/OR k.scope <> 'read'/OR true/" t/unit/store/print_tables t/sql/auth.t \
	"nor does a key whose scope does not allow the call"
api api/revoke "a revoked key keeps its event streams" api/stream/keys.c \
	's/^\t\tcut_streams_of\(all, json_string_value\(key\)\);/\t\t(void)key;/' \
	"what a revoked key opened in any session of its tenant ends"
api api/revoke "who waits for events is told whatever becomes of the key" api/v1/history.c \
	's/if \(waited && access_check\(c, ACCESS_READ, e\) < 0\)/if (false)/' \
	"who waits for events with a key that ends is told nothing"
reaper api/revoke "a revocation is not carried on" reaper/ports.c \
	'/^settle_due/,/^}/s/settle_rows\(p, r\);/(void)r;/' \
	"what could not be told at once is told by a pass"
agent agent/relay "a late change of a port counts" relay/relay.c \
	's/o->number < last_order\[o->port\]/false/' \
	"a late unexpose is refused"
api reaper/ports "a dead relay stays dead" api/gate/wake.c \
	'/^repair/,/^}/s/if \(!str_to_int\(/if (true || !str_to_int(/' \
	"so has one who finds a socket on which nobody listens"
ports() { red "$1" "$2" "$3" t/unit/control/port_world t/control/port.t "$4"; }
ports "a relay that does not answer has confirmed" src/control/relay_control.c \
	'/^tell_relay/,/^}/s/return has_ended\(e\) \? 0 : -1/return 0/' \
	"what_a_silent_relay_was_not_told_the_reaper_tells_it"
ports "what is open on a port stays when it gets another token" src/control/relay_control.c \
	'/^tell_relay/,/^}/s/if \(y->cut &&/if (false \&\&/' \
	"a_change_is_settled_when_its_relay_has_confirmed"
ports "a lost relay is looked for by nobody" src/reaper/ports.c \
	'/^ports_settle/,/^}/s/if \(pass_has_time\(p\)\)/if (false)/' \
	"a_lost_relay_is_made_again_by_a_pass"
ports "one part takes the time of all" src/reaper/parts.c \
	's/p->deadline_ms = began \+ share_ms/p->deadline_ms = p->end_ms + 0 * share_ms/' \
	"ports_that_hang_leave_time_for_the_rest_of_a_pass"
ports "a pass always begins with the first part" src/reaper/parts.c \
	's/^\t\t\tfirst = i;/\t\t\tfirst = 0;/' \
	"a_pass_begins_with_what_the_last_one_did_not_come_to"
silent() { red "$1" src/reaper/ask.c "$2" t/unit/control/clean_world t/control/clean.t "$3"; }
silent "one silence is enough" \
	's/a->init_answers && a->silent_before/a->init_answers/' \
	"a_wrapper_that_was_silent_once_is_neither_idle_nor_stuck"
silent "a silent sandbox proves something about its wrapper" \
	's/a->init_answers = ones\[i\].answered/a->init_answers = true/' \
	"a_silence_of_the_whole_sandbox_proves_nothing"
silent "nobody asks again with patience" \
	's/^\t\ta->one = ones\[i\];//' \
	"a_wrapper_that_answers_when_it_is_asked_with_patience_is_healthy"
red "silences need not be in a row" src/reaper/parts.c \
	's/^\t\tsighting_end_others\(p, SIGHTING_SILENT, p->since\);/\t\t(void)p;/' \
	t/unit/control/clean_world t/control/clean.t "silences_count_in_a_row_only"
red "a revoked key's connections stay" src/admin/cmd_key.c \
	'/^close_connections/,/^}/s/count = cut_all\(.*\);/count = 0;/' sandlease-admin t/api/websocket.t \
	"a revoked key keeps none open"
agent api/terminal "a terminal has the size it had" pty/act.c \
	's/\(void\)ioctl\(t->master, TIOCSWINSZ, &size\);/(void)size;/' \
	"vim edits a file and hears of another size"
agent api/terminal "two clients type at once" child/table.c \
	'/^child_take_turn/,/^}/s/if \(c->writing \|\| c->ended\)/if (c->ended)/;s/while \(c->writing && /while (false \&\& /' \
	"what two clients type is not mixed"
agent api/terminal "the signal that ended it is not told" api/terminal.c \
	"s/if \\(now.signal\\[0\\] != '.0'\\)/if (false)/" \
	"it tells how it ended"
agent api/terminal "what runs in a terminal is not work" pty/act.c \
	'/^has_job/,/^}/s/group > 0 && group != t->pid/false/' \
	"what runs in it keeps the session busy"
agent api/terminal "a new terminal counts from nought" pty/pty.c \
	's/t->begin = t->total = pty_of\(old\)->total;/(void)old;/' \
	"it tells how it ended"
agent api/terminal "who comes back sees nothing" pty/pty.c \
	'/^pty_begin/,/^}/s/\? now.first : asked/? now.total : asked/' \
	"it begins as its shell session is"

# ---- processes

agent api/process "a signal reaches the shell only" process/act.c \
	's/proctree_signal\(root, NULL, sig\) == 0 \|\|/true ||/' \
	"a signal reaches what the command started"
agent api/process "a timeout is not told" process/run.c \
	's/rec.end.timed_out = p->out_of_time/rec.end.timed_out = false/' \
	"a timeout kills and is told"
agent api/process "an id is taken away from who lives" process/process.c \
	'/^process_admit/,/^}/s/if \(old != NULL && !old->ended\)/if (false)/' \
	"ids of the callers choice"
agent api/process "the end of the input is not passed on" process/input.c \
	'/^end_turn/,/^}/s/if \(end \|\| /if (/' \
	"input is written and closed"
agent api/stdin "nobody sees a process end while its client is silent" api/process_input.c \
	'/^watch_process/,/^}/s/if \(answer\) \{/if (false) {/' \
	"a process that ends ends the body"
agent api/endings "init keeps the reason to itself" run/session_end.c \
	'/^session_end_receive/,/^}/s/told = true;/told = false;/' \
	"a command says why and what it printed"
agent api/endings "what ignores SIGTERM is left to the host" wrapper/wrapper.c \
	'/^may_leave/,/^}/s/l->kill_ms > 0 &&/false \&\&/' \
	"so does one that does not end by itself"
agent api/process "kill takes the root only" base/tree_end.c \
	'/^signal_trees/,/^}/s/proctree_take_each\(roots, n, now\);//;s/proctree_kill\(t->root, NULL\)/kill(t->root, SIGKILL)/' \
	"kill ends the whole tree"
agent api/process "who was killed has failed" process/run.c \
	'/^status_of/,/^}/s/return PROCESS_KILLED/return PROCESS_FAILED/' \
	"kill ends the whole tree"
agent api/process_logs "logs begin at the beginning" api/process_logs.c \
	's/return present \? take_offset\(text, "offset", out, e\) : 0/return 0/' \
	"logs have offsets"
agent api/process_logs "no record survives" process/run.c \
	's/process_store_write\(&rec\);//' \
	"records survive sleep"
agent api/process_logs "what runs lets the session sleep" process/start.c \
	's/activity_begin\(ACTIVITY_RUNNING\)/activity_touch()/' \
	"a client that vanishes frees its stream"
agent api/process_logs "a stream begins at the beginning again" api/process_logs.c \
	's/call_param\(c, "HTTP_LAST_EVENT_ID"\)/""/' \
	"a stream goes on where it was cut off"
agent api/process_logs "a character is cut by the other stream" api/process_logs.c \
	's/utf8_join\(&tail, b->data \+ at, n, &text\)/buf_add(\&text, b->data + at, n)/' \
	"the other stream does not cut a character"
agent api/process_logs "what is no text waits for the rest of a character" api/process_logs.c \
	'/^part_of/,/^}/s/return len;/return utf8_whole(text, len);/' \
	"bytes of no text are not held back"

# ---- archives, git, ports

agent api/archive "an archive goes through links" archive/unpack.c \
	's/ARCHIVE_EXTRACT_TIME \| ARCHIVE_EXTRACT_SECURE_SYMLINKS/ARCHIVE_EXTRACT_TIME/' \
	"nothing lands outside"
agent api/archive "an archive goes upwards" archive/unpack.c \
	's/ARCHIVE_EXTRACT_SECURE_NODOTDOT/0/' \
	"nothing lands outside"
agent api/archive "half a file stays" archive/unpack.c \
	's/unlink\(u->name\);/(void)0;/' \
	"a broken archive says where"
agent api/git "a template's hook runs" git/git.c \
	's/ -c core.hooksPath=\/dev\/null//' \
	"no hook of a template is run"
agent api/git "a clone that was killed leaves a half" git/git.c \
	's/ \|\| o->exit_code > GIT_DIED//' \
	"a clone that is killed leaves nothing"
agent api/git "git's words show the password" git/git.c \
	's/git_url_redact\(g->url, h.err.data, h.err.len, &out->said\);/buf_add(\&out->said, h.err.data, h.err.len);/' \
	"credentials open the door and are told to nobody"
unit agent/git_error "git's words of a branch are a repository's" agent/git/error.c \
	'/not found in upstream/d;/could not find remote branch/d' \
	"each_message_has_its_code"
agent api/ports "a server on ::1 is not found" relay/port_probe.c \
	's/\{ AF_INET, AF_INET6 \}/{ AF_INET, AF_INET }/' \
	"a server on the other address is found"
agent api/ports "any status is ready" relay/port_probe.c \
	's/status >= p->status_min && status <= p->status_max/true/' \
	"a check says whether it answers"
agent api/ports "a watch outlives its process" api/ports.c \
	's/if \(has_exited\(w\)\)/if (false \&\& has_exited(w))/' \
	"a watch ends with the process it waits for"
agent agent/relay "an unexposed port stays open" relay/conn.c \
	'/^relay_conn_close_port/,/^}/s/close_conn\(c\)/(void)0/' \
	"unexpose closes what is open"

# ---- init and cells

for op in write env expose; do
	init "$op of the next generation reaches this one" src/agent/init/ops.c \
		"s/CELL\\(\"$op\", EXACT,/CELL(\"$op\", UP_TO,/" \
		"$op of another one is refused"
done
init "what is being ended is thawed" src/agent/init/ops.c \
	's/CELL\("thaw", UNSEALED,/CELL("thaw", EXACT,/' \
	"thaw of one that is being ended is refused"
init "a seal needs no generation" src/agent/init/ops.c \
	's/if \(r->to.generation == 0\)/if (false)/' \
	"a seal of no generation is refused"
init "one launch answers all" src/agent/init/conn.c \
	's/c->wait == what && str_equal\(c->session, session\)/c->wait == what/' \
	"of many at once each hears of its own"
init "any number of descriptors is launched" src/agent/init/ops.c \
	's/if \(r->fds->count != announced\)/if (false)/' \
	"nor with one that was not announced"
init "one descriptor too many is passed on" src/agent/init/ops.c \
	's/if \(n >= CHANNEL_FDS_MAX\)/if (false)/' \
	"more than can be passed on are refused"
init "a cell runs outside its groups" src/agent/cell/cell.c \
	's/return err_errno\(e, "cannot join cgroup %zu", i\);/continue;/' \
	"without its groups, and their limits, nothing is launched"
agent agent/isolation "siblings share message queues" cell/cell.c \
	's/CLONE_NEWPID \| CLONE_NEWNS \| CLONE_NEWIPC/CLONE_NEWPID | CLONE_NEWNS/' \
	"nor is the ipc namespace one"
init "a tenant stops its cell" src/agent/cell/init.c \
	's/sig == CELL_SIG_STOP && info.si_pid == 0/sig == CELL_SIG_STOP/' \
	"a tenant cannot end its cell by signals"
init "a tenant tells its wrapper to end" src/agent/wrapper/wrapper.c \
	's/s.ssi_pid == 1/true/' \
	"a tenant cannot end its cell by signals"
agent agent/relay "an app speaks before it is asked" relay/copy.c \
	's/ \|\| !c->begun\)/)/;s/may_answer = c->begun && /may_answer = /' \
	"an app that speaks first is not heard"
agent agent/relay "an error page stands in the middle of an answer" relay/copy.c \
	's/if \(c->reply.started\)/if (false)/' \
	"nothing of ours stands in the middle of it"
agent agent/relay "any number of ports is relayed" relay/relay.c \
	's/if \(count >= RELAYS_MAX\)/if (false)/' \
	"64 are relayed"
agent agent/isolation "nobody ends who has too much memory" init/watchdog.c \
	's/kill\(largest, SIGKILL\);/(void)largest;/' \
	"the largest are ended"
unit agent/swap "what is kept goes with the old" agent/files/swap.c \
	'/^is_not_moved\(/,/^}/s/return true;/return false;/' \
	"what_is_kept_stays_where_it_is"
