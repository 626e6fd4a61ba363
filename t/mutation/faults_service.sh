# shellcheck shell=bash disable=SC2016,SC2034  # as faults.sh, which comes first
# faults_service.sh: faults outside the agent: API, control, reaper, nginx.

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
api api/audit "a foreign id is told to nobody" api/gate/auth.c \
	'/^deny_session/,/^}/s/audit_session\(c, id, k\);/(void)k;/' \
	"a foreign id is told to its owner only"
api api/tickets "another site's page opens a socket" api/gate/auth.c \
	'/^refuse_cookie/,/^}/s/!reads && access_same_origin/false \&\& access_same_origin/' \
	"the cookie opens a terminal for our own pages only"
api api/proxy "the cookie opens a port" api/gate/auth.c \
	'/^refuse_cookie/,/^}/s/if \(request_is_proxied\(c\)\)/if (false)/' \
	"the dashboards cookie opens no port"
unit api/access "a navigation carries the cookie" api/gate/access.c \
	'/^access_own_script/,/^}/s/str_equal\(call_param\(c, "HTTP_SEC_FETCH_DEST"\), "empty"\)/true/' \
	"the_cookie_counts_for_scripts_of_our_own"
unit api/site "previews on the dashboard's site are no matter" api/serve/site.c \
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
unit web/http_reply "any coding is chunked" web/http_head.c \
	's/strcasecmp\(h->value.data, "chunked"\) == 0/true/' \
	"a_response_passes_whole_or_not_at_all"
unit agent/relay_request "a body asks for an upgrade" agent/relay/request.c \
	's/if \(body != NULL\)/if (false)/' \
	"what_nginx_says_is_heard_and_nothing_else"
api api/tickets "a ticket opens what is no socket" api/gate/ticket.c \
	"s/ \\|\\| !request_upgrades\\(c\\) \\|\\|/ ||/;/^ticket_credential/,/^}/s/ticket_purpose\\(c\\)\\[0\\] == '.0'/false/" \
	"it opens nothing but a websocket"
api api/tenancy "a key that reads writes" api/gate/auth.c \
	's/reads \|\| reads_by_post\(c\) \? ACCESS_READ : ACCESS_TENANT/ACCESS_READ/' \
	"a read key only reads"
api api/tenancy "a cookie changes things from anywhere" api/gate/access.c \
	's/if \(k->kind == CREDENTIAL_LOGIN && mutates\(c\) &&/if (false \&\&/' \
	"a cookie needs the dashboards origin to change anything"
api api/tenancy "the agent's log is anybody's" control/session_control.c \
	'/^session_control_agent_log/,/^}/s/control_session\(ctl, id, tenant, &s, e\)/control_session(ctl, id, "", \&s, e)/' \
	"another orgs session is the same 404 as none on every route"
api previews/previews "a preview wakes what does not wish it" api/gate/auth.c \
	's/rows_bool\(r, 0, "wake_on_preview"\) && //' \
	"410"
api previews/previews "the choice of a host is not told" api/gate/auth.c \
	'/X-Sandlease-Host/d' \
	"public"
api api/proxy "an app's Authorization is taken for a key" api/gate/access.c \
	's/call_param\(c, "SL_APPS_HEADER"\)/""/' \
	"the header that has no key of ours is the apps"
api previews/previews "an unexposed port keeps its connections" control/relay_control.c \
	'/^tell_relay/,/^}/s/if \(y->closing\) \{/if (y->closing) { return 0;/' \
	"an unexposed port closes with its connections"
api api/streams "a cut stream has no last event" api/stream/events.c \
	'/^stream_events_leave/,/^}/s/send_stdout\(all, s, words.data, words.len\);//' \
	"a wrapper that is killed ends its streams properly"
api api/websocket "ports over a WebSocket are left to the wrapper" api/stream/ws_gate.c \
	's/g->asked = read_request\(&g->text\);/g->asked = NULL;/' \
	"ports are exposed as over http"
unit api/ws_gate "a key over a WebSocket goes into the sandbox" api/stream/ws_gate.c \
	's/if \(strncasecmp\(line, OURS, sizeof\(OURS\) - 1\) != 0\)$/if (true)/' \
	"what_is_ours_in_the_head_does_not_pass"
unit api/ws_gate "an answer over a WebSocket splits a message" api/stream/ws_gate.c \
	's/!ws_frames_between_messages\(&g->down\)/false/' \
	"an_answer_waits_for_the_end_of_a_message"
api api/awake "a probe is activity" api/gate/request.c \
	'/^request_is_probe/,/^}/s/return .*/return false;/' \
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
agent api/snapshots "a snapshot has no home" archive/pack.c \
	's/"workspace", "home\/user", NULL/"workspace", NULL/' \
	"it keeps all there is"

# ---- starts and stops

world start "a start needs no proof" launch.c \
	'/^prove/,/^}/s/if \(!l->proved .*/if (false \&\&/' \
	"a_create_leads_to_ready"
world stop "the cgroup is not asked" wave.c \
	'/^conclude/,/^}/s/if \(s->ask->found.count == 0 &&/s->absent = s->ask->found.count == 0;if (false \&\&/' \
	"sleep_ends_the_wrapper_and_its_own_sandbox"
world stop "the cgroup's answer is ignored" wave.c \
	'/^conclude/,/^}/s/if \(!s->absent\)/s->absent |= s->ask->found.count == 0;if (!s->absent)/' \
	"a_source_that_lies_releases_nothing"
world stop "init's answer is ignored" wave.c \
	'/^conclude/,/^}/s/if \(s->ask->found.count == 0 &&/if (/' \
	"a_source_that_lies_releases_nothing"
red "a proof may print anything" src/provider/link/link.c \
	'/^check_proof/,/^}/s/if \(str_equal\(json_str\(reply, "output"\), "ready"\)\)/if (true)/' \
	t/unit/control/start_world t/control/start.t "a_proof_that_prints_something_else_is_none"
red "a drain does not wait" src/admin/cmd_drain.c \
	's/if \(leases == 0 && sandboxes == 0\)/if (true)/' \
	sandlease-admin t/api/programs.t "a drain waits until everything is seen gone"
world start "a session is started wherever it is asked for" start.c \
	's/ \|\| control_must_be_here\(ctl, s, e\) < 0\)/)/' \
	"another_host_starts_nothing"
api api/hosts "a call goes to a socket that another host has" api/gate/auth.c \
	'/^deny_elsewhere/,/^}/s/if \(rows_null\(r, 0, "elsewhere"\)\)/if (true)/' \
	"a data plane call at the wrong host changes nothing"
api api/hosts "env is written and nobody is told" api/v1/sessions.c \
	's/must_live\(c, ctl, id, b.env != NULL, e\)/must_live(c, ctl, id, false, e)/' \
	"the control plane at the wrong host changes only what is meant"
api api/create "a create that failed leaves its session" control/create.c \
	's/!delete_failed_create\(ctl, id\)/!is_nameless(w)/' \
	"a nameless session that cannot start is gone and named"
api api/create "what a create finds keeps its options" control/create.c \
	's/json_object_size\(w->changes\) == 0 && w->env == NULL/true/' \
	"what patch may change is applied"
api api/create "a file is written over another" api/v1/files_body.c \
	's/if \(other != NULL\) \{/if (false) {/' \
	"a path that cannot be written is refused before anything is made"
api api/hosts "an interruption elsewhere has failed" control/interrupt_control.c \
	's/if \(e->code == CODE_OTHER_HOST\)/if (false)/' \
	"the control plane at the wrong host changes only what is meant"
api api/pooler "a pooler in transaction mode is not noticed" store/pooling.c \
	's/if \(again != own \|\| theirs == own\)/if (false)/' \
	"transaction mode: sandlease-api --check"
red "a pooler's last client is not forgotten" src/store/store.c \
	's/ask_first\(st, "DISCARD ALL", e\)/ask_first(st, "SELECT 1", e)/' \
	sandlease-admin t/api/pooler.t "what another client had prepared is not in the way"
api api/pooler "a statement that a pooler lost is our fault" store/store.c \
	's/"26000", NULL, ERR_UNAVAILABLE, CODE_TRANSACTION_POOLING/"26000", NULL, ERR_INTERNAL, CODE_INTERNAL/' \
	"and nobody got a 500"
api api/health "a host without bubblewrap is well" control/control.c \
	's/p->ops->ready\(p, e\) < 0 \?/p == NULL ?/' \
	"a host that can start none is told whether or not a session tells"
red "doctor is content with a watchdog" src/cli/cmd/doctor.c \
	's/str_equal\(by, "watchdog"\)/false/' \
	sandlease t/cli/doctor.t "limits of a host without cgroups"
unit provider/agent_socket "an old agent takes no new session" provider/link/socket.c \
	'/^wants_no_ws/,/^}/s/return .*/return false \&\&/' \
	"an_agent_from_before_websockets_launches_without_them"
world stop "silence is absence" discover.c \
	'/^discover_sandbox_down/,/^}/s/return false;/return true;/' \
	"a_look_that_fails_neither_kills_nor_releases"
world start "a proof of what runs tells steps" start.c \
	'/^reuse/,/^}/s/l.steps = .struct steps.\{ 0 \};//' \
	"what_is_warm_is_proved_and_used_again"
world admit "files that lie there admit a start" launch.c \
	'/^launch_admit/,/^}/s/if \(l->started\)/if (!l->cold)/' \
	"one_that_died_before_it_was_admitted_is_asked_again"
world admit "a start that is repeated keeps what it makes" launch.c \
	'/^workspace_how/,/^}/s/if \(!l->cold\)/if (!l->first)/' \
	"a_start_that_is_repeated_says_what_it_did_about_the_files"
unit domain/disk "inodes are any number" domain/disk.c \
	'/^disk_room/,/^}/s/if \(total_files <= 0\)/if (total_files != 1)/' \
	"what_is_scarcer_is_the_room"
unit domain/disk "who hides is not suspected" domain/disk.c \
	'/^disk_heaviest/,/^}/s/if \(is_unexplained\(.*/if (false)/' \
	"who_hides_is_stopped_before_who_writes_a_little"
unit domain/disk "a limit is nothing on a full disk" domain/disk.c \
	'/^disk_heaviest/,/^}/s/found = furthest_over\(u, count\);/;/' \
	"who_is_over_his_limit_comes_before_who_writes"
world disk "who makes files is weighed by bytes" disk.c \
	'/^freeze_heaviest/,/^}/s/if \(was->room_bytes < was->free_bytes\)/if (false)/' \
	"where_inodes_run_out_who_makes_files_is_frozen"
world disk "a sandbox may have more than its limit" disk.c \
	's/^\tmark_over\(&c\);//' \
	"who_is_over_its_limit_is_frozen_before_who_writes"
world disk "who hides has time to tidy up" disk_account.c \
	's/&& \(!over \|\| u->whole\)\)/)/' \
	"one_over_its_limit_that_hides_more_is_put_to_sleep_at_once"
agent agent/usage "a closed directory is not measured" base/capability.c \
	's/on \? \*effective \| bit :/on ? *effective :/' \
	"all of it"
agent agent/usage "who is not dumpable is not measured" init/disk_usage.c \
	's/if \(d == NULL && errno == EACCES\)/if (false)/' \
	"it is found"
agent agent/usage "init keeps the right to read all" init/init.c \
	's/^\tdisk_usage_read_all\(false\);.*//' \
	"init"
unit agent/disk_usage "an empty file is nothing" agent/init/disk_usage.c \
	's/if \(bytes < USAGE_INODE_BYTES\)/if (bytes < 0)/' \
	"an_inode_costs_something_however_empty"
unit agent/disk_usage "a mapping is not looked for" agent/init/disk_usage.c \
	'/^disk_usage_unlinked/,/^}/s/look_for_mapped\(.*/;/' \
	"a_file_that_is_only_mapped_is_not_overlooked"
api api/programs "another version is not told" control/launch.c \
	's/^\tcompare_version\(ctl, l\);/\tif (l->version[0] == 0)\n\t\tcompare_version(ctl, l);/' \
	"an agent of another version is a warning and no obstacle"
unit reaper/plan "a late start is not repaired" reaper/plan.c \
	's/\? PLAN_REPAIR/? PLAN_FAIL/' \
	"what_a_wrapper_does_decides_about_it"
unit api/org_share "who waits counts with nobody" api/org_share.c \
	's/return s->workers > 1 && all <= quarter &&/return s->workers > 1 ||/' \
	"a_quarter_may_wait_for_events_and_one_org_half_of_that"
unit api/org_share "all readers wait for answers" api/org_share.c \
	's/return all <= at_least_one\(s->workers - quarter\) &&/return/' \
	"a_quarter_is_left_by_those_who_wait_for_answers"
unit api/org_share "a burst takes what it likes" api/org_share.c \
	's/others_at_work\(s, worker, me\) < s->workers \/ 2/others_at_work(s, worker, me) < s->workers/' \
	"calls_count_from_their_first_moment"
unit api/org_share "credit has no end" api/org_share.c \
	's/\(!alone && debt_ms\(s, me, now\) >= CREDIT_MS\)/false/' \
	"credit_beyond_the_share_ends"
unit api/org_share "calls in progress cost nothing" api/org_share.c \
	'/^debt_ms/,/^}/s/debt \+= now/debt += 0 * now/' \
	"credit_beyond_the_share_ends"
unit api/org_share "a call that lasts goes beyond the share" api/org_share.c \
	's/if \(call == SHARE_MAY_LAST \|\|/if (/' \
	"a_call_that_may_last_never_goes_beyond_the_share"
unit api/org_share "a wrapper is mute in all its lives" api/org_share.c \
	'/^org_share_is_mute/,/^}/s/\(is & UPPER\) == \(h & UPPER\) &&//;/^org_share_is_mute/,/^}/s/h % MUTES/0 * h/;/^org_share_mute/,/^}/s/h % MUTES/0 * h/' \
	"a_wrapper_that_did_not_answer_is_left_alone_for_a_while"
unit api/stream_link "one org takes all streams" api/stream/sides.c \
	's/return \+\+all->of_org\[s->org\] <= all->org_max/return ++all->of_org[s->org] > 0/' \
	"an_org_takes_no_more_than_its_share"
unit common/err "a tenant reads of the host's files" common/err.c \
	'/^err_told/,/^}/s/err_names_host\(e->msg\) \?/false ?/' \
	"a_tenant_is_not_told_of_this_host"
api api/failures "a session's reason names the host" control/outcome.c \
	's/err_told\(e\)/e->msg/;s/err_told\(e\)/e->msg/' \
	"a failure that names a file of the host is told without it"
api api/shares "a call is not in its org's share" api/route/dispatch.c \
	's/enter_share\(c, route, &e\) < 0 \|\|//' \
	"calls that wait hold no more than a share"
api api/shares "a preview's visitor is nobody's" api/gate/wake.c \
	'/^start_for/,/^}/s/app->worker, org,/app->worker, call_param(c, "SL_SESSION"),/' \
	"visitors of previews count for the org that has them"
api api/shares "a stopped wrapper is asked each time" api/v1/session_now.c \
	's/org_share_mute\(app->share, name\);/(void)name;/' \
	"a wrapper that is stopped delays one GET not each"
api api/busy "a list asks nobody" api/v1/session_now.c \
	's/^\task_wrappers\(c, ctl, all, count\);/if (count == 1) ask_wrappers(c, ctl, all, count);/' \
	"the list knows what runs without a single get"
api api/setup "steps are told when the setup is over" control/launch.c \
	's/^\t\tl\.steps = \(struct steps\)\{ 0 \};//; s/^\t\toutcome_note_steps\(ctl, &l, NULL\);//' \
	"its history is in order and visible while it runs"
unit web/router "a query may have anything" web/router.c \
	's/!is_word_of\(known, name\)/false/' \
	"queries_have_known_parameters_once"
unit web/reply "nobody says when to try again" web/reply.c \
	'/^say_when_to_retry/,/^}/s/if \(seconds == 0\)/if (true)/' \
	"an_error_may_say_more"

# ---- the reaper and the command line

reaper reaper/pass "a dry run makes its wishes" reaper/stop_requests.c \
	'/print_sessions\(w->part, r\);/{n;s/return 0;//}' \
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
cli cli/exec "an exit code is lost" cmd/exec.c \
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
	's/return r\.status >= 200/return r.status >= 100/' \
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
nginx "a key within Basic is an app's" credentials.js.in \
	's/\(text\.match\(BASE64\) \|\| \[\]\)/[]/' \
	"no key of ours reaches an app in any form"
nginx "at a port by key every header is the app's" credentials.js.in \
	's/r\.variables\.sl_apps_header != name/false/' \
	"at a port by key the other header is the apps"
nginx "any page is the app's own" maps.conf.in \
	'/\$sl_app_origin \{/,/\}/s/https\?:.*z"/.*"/' \
	"an origin that is not its own stays what it is"
nginx "a redirect to any port is to this one" maps.conf.in \
	's/(\[0-9\]\+\)) .1.z" \$sl_public/\1 .*" $sl_public/' \
	"an app that sends to localhost sends to its public address"
nginx "a POST whose worker died may be repeated" maps.conf.in \
	's/"~\^\(\?:POST\|PATCH\) \[0-9\]" false/"~^NONE" false/' \
	"a worker that dies in the middle of a POST is not to be asked again"
nginx "a GET waits with those that wait" maps.conf.in \
	's/(GET\|HEAD\)  " sandlease_)read/\1api/' \
	"control routes go to their pool without a route name"
nginx "a key has any number of connections" maps.conf.in \
	'/^map .* \$sl_credential/,/^}/s/default ".*"/default ""/' \
	"one key takes no more than its share"
nginx "a stranger counts for a key" maps.conf.in \
	'/^map .* \$sl_credential/,/^}/s/default ".*"/default "Bearer"/' \
	"one key takes no more than its share"
nginx "an address has any number of connections" sandlease.conf.in \
	's/limit_conn_zone \$binary_remote_addr/limit_conn_zone $connection/' \
	"one address takes no more than its share whatever keys it has"
nginx "half a head may stay" limits.conf.in \
	's/client_header_timeout 10s/client_header_timeout 100s/' \
	"half a head ends before half a body"
nginx "all of a body is kept for a sleeper" session-wake.conf.in \
	's/client_max_body_size 1m/client_max_body_size 70m/' \
	"one that turns out too large wakes the session and is asked for again"
nginx "a ticket goes inside" maps.conf.in \
	's/\&cwd=\$arg_cwd/\&cwd=$arg_cwd\&ticket=$arg_ticket/' \
	"only what makes a websocket goes in"
red "a pooler without a server is waited for" src/store/store.c \
	's/if \(!is_answered\(st->conn, clock_ms\(\) \+ FIRST_MS\)\) \{/if (false) {/' \
	sandlease-api t/api/pooler.t "a pooler without a server is no database"
nginx "a wrapper makes a tunnel" wrapper.params.in \
	's/sandlease\.check;/sandlease.checkOrTunnel;/' \
	"a wrapper answers once"
api api/revoke "who hangs is asked for ever" api/stream/keys.c \
	's/clock_ms\(\) \+ PATIENCE_MS/INT64_MAX/' \
	"who asks about keys and hangs is replaced"
agent api/revoke "what was half sent is carried out" wrapper/ops.c \
	's/^\tserver_turn_away\(\);//' \
	"a command that was half sent does not run"
nginx "plain GETs are not counted" maps.conf.in \
	's/sandlease_read \$sl_credential;/sandlease_read "";/' \
	"plain GETs of one key wait their turn and nobody elses"
nginx "why nobody was woken is lost" main.conf.in \
	's/error_page 401 403 500 = @session_wake_only;/error_page 401 403 500 = @session_unavailable;/' \
	"why a session is not woken is told whatever the body"
nginx "a query may hold a preview's address" maps.conf.in \
	'/^map "\$sl_from_preview/,/^}/{/^\t"~\*\^\[\^ \]\*\[0-9\]/d}' \
	"no error is logged with a secret"
reaper reaper/pass "what is stopped late waits for the next pass" reaper/parts.c \
	's/has_part\(again, t->part\[i\]->after\)/false/' \
	"what is stopped late in a pass is deleted by the same"
api api/events "no first work is told" api/gate/first_work.c \
	's/w->session\[0\] == /w->session[0] != /' \
	"the first work of each generation is told once"
api api/sessions "nobody goes on with a start" api/serve/starts.c \
	's/^\t\tstart_move_on\(.*/\t\t(void)ctl;/' \
	"a start that nobody asks for goes on"

# ---- the network of sessions

unit domain/secrets "a secret may frame the message" domain/secrets.c \
	's/if \(is_reserved\(s->header\)\)/if (false \&\& is_reserved(s->header))/' \
	"errors_name_the_member_and_never_the_value"
unit domain/secrets "a secret has two lines" domain/secrets.c \
	's/if \(has_controls\(s->value\)\)/if (false \&\& has_controls(s->value))/' \
	"errors_name_the_member_and_never_the_value"
api api/network "values of secrets are shown" domain/secrets.c \
	'/^secrets_names/,/^}/s/json_array_append_new\(names,/json_array_append(names, v); if (false) json_array_append_new(names,/' \
	"a secret is stored sealed and shown without its value"
api api/network "secrets are stored in clear" control/control.c \
	'/^control_add_secrets/,/^}/s/control_seal\(ctl, session, "secrets", secrets\)/(void)session, (void)ctl, json_string(json_text(secrets))/' \
	"values are nowhere in clear"
api api/network "a session starts without its network" control/launch.c \
	'/^launch_bring_up/,/^}/s/return launch_network\(.*/return 0;/' \
	"a start waits for egress and says when it is missing"
api api/network "a session fails because egress is down" control/start.c \
	's/\(s->network && network_ready\(ctl, deadline_ms, e\) < 0\)/false/' \
	"a start waits for egress and says when it is missing"
api api/network "a network that comes during a start is forgotten" control/launch_diff.c \
	's/follow_network\(ctl, t, given, now\);/(void)follow_network;/' \
	"a policy that comes while it starts is followed"

# ---- webhooks

unit webhook/posts "a webhook is sent to any address" webhook/posts.c \
	's/if \(!address_may_connect\(&a, &t->of->exceptions\)\)/if (false)/' \
	"only_public_addresses_are_connected_to"
unit webhook/posts "a proxy of the environment is used" webhook/posts.c \
	's/SET\(CURLOPT_PROXY, ""\);//' \
	"a_request_says_what_it_was_given"
unit webhook/posts "an answer that is cut off does not count" webhook/posts.c \
	's/if \(status >= HTTP_FIRST_FINAL\)/if (status >= HTTP_FIRST_FINAL \&\& t->code == CURLE_OK)/' \
	"an_answer_is_its_status"
unit domain/webhook "a URL may have a fragment" domain/webhook.c \
	"s/strchr\\(at, '#'\\) != NULL/false/" \
	"a_url_that_parsers_could_read_differently_is_refused"
unit domain/webhook "a name may be in brackets" domain/webhook.c \
	"s/\\(strchr\\(host, ':'\\) != NULL\\) != \\(at\\[0\\] == '\\['\\)/false/" \
	"a_url_that_parsers_could_read_differently_is_refused"
api api/webhooks "a literal private address is accepted" control/webhook_control.c \
	's/address_parse\(host, &a\) && !address_may_connect/false \&\& address_parse(host, \&a) \&\& !address_may_connect/' \
	"bad input is named"
api api/webhooks "a delivery waits for the next look" api/serve/webhooks.c \
	's/sender_wait\(s, listen_fd\(store\), LOOK_MS, e\)/sender_wait(s, -1, LOOK_MS, e)/' \
	"it is sent at once"
red "a service that stops keeps its claims" src/webhook/sender.c \
	's/while \(posts_take_open\(s->posts, &end\)\)/while (posts_take_open(s->posts, \&end) \&\& false)/' \
	sandlease-api t/api/webhooks.t "a service that is stopped waits for no server"

# ---- triggers

reaper api/triggers "each reaper makes an execution of its own" control/trigger_control.c \
	'/^record/,/^}/s/\.task_id = task,/.task_id = "",/' \
	"two reapers at once fire once"
reaper api/triggers "a quota that is used up ends a due time" control/trigger_control.c \
	'/^may_pass/,/^}/s/return err_retryable\(e\) \|\| e->kind == ERR_LIMITED/return (err_retryable(e) \&\& e->kind != ERR_LIMITED)/' \
	"what may pass is tried again"
api api/triggers "the run of a trigger is stored in clear" control/trigger_control.c \
	's/control_seal\(ctl, id, "run", run\)/((void)ctl, (void)id, json_string(json_text(run)))/' \
	"a trigger is shown without its secrets"
unit domain/schedule "a step is ignored" domain/schedule.c \
	's/i \+= step/i += 1/' \
	"expressions_become_sets"
api api/auth_cache "a right outlives the proof that it holds" api/gate/revocations.c \
	's/now_us - asked_us <= REVOCATIONS_FRESH_US/true/' \
	"a listener that hangs is noticed"
api api/auth_cache "a revocation that is told is not counted" api/serve/listener.c \
	's/revocations_end\(page, name\);/(void)name;/' \
	"whatever takes the right away ends it"
api api/auth_cache "what was told to nobody is forgotten" api/serve/listener.c \
	'/revocations_end_all\(page\);/d' \
	"a connection that is lost is noticed"
api api/auth_cache "a database without triggers is trusted" api/serve/listener.c \
	's/ \|\| check_triggers\(store, e\) < 0//' \
	"without its triggers the database is asked"
api api/auth_cache "an answer is given to a probe" api/gate/auth.c \
	's/cache == NULL \|\| request_is_probe\(c\)/cache == NULL/' \
	"a probe asks the database"
api api/auth_cache "an answer is given whatever the key may" api/gate/auth.c \
	's/kept->scope >= needs &&/true \&\&/' \
	"an answer is for its key and for what the key may"
api api/auth_cache "an answer hides a name" api/gate/auth.c \
	's/!\(kept->nameless && sandbox_name_given\(c\)\)/true/' \
	"a session is named though the answer is kept"
unit api/auth_cache "what was revoked meanwhile is kept" api/gate/auth_cache.c \
	'/^auth_cache_keep/,/^}/s/!revocations_unmoved\(a->revocations, &l->stamp\)/(revocations_read(a->revocations, right->session, right->hash, (void *)(uintptr_t)\&l->stamp), false)/' \
	"what_was_revoked_meanwhile_is_not_kept"
unit api/auth_cache "an answer's time begins when it is kept" api/gate/auth_cache.c \
	's/n->until_us = l->at_us \+/n->until_us = clock_us() +/' \
	"it_ends_at_its_date"
unit api/auth_cache "a key's revocation is not looked at" api/gate/revocations.c \
	's/key_hash != NULL \? slot_of\(key_hash, REVOCATIONS_KEY_LEN\)/false ? slot_of(key_hash, REVOCATIONS_KEY_LEN)/' \
	"a_revocation_ends_it"
unit api/auth_cache "a worker writes to the page" api/gate/revocations.c \
	's/PROT_READ\) < 0/PROT_READ | PROT_WRITE) < 0/' \
	"a_process_that_only_reads_cannot_write"
