#!/bin/bash
# Tests that the tests of t/sql can fail: without any one fence a test fails.
# long: 150 mutants of the schema, each with a cluster of its own
. "${top_srcdir:=.}/t/lib/tap.sh"
set -uo pipefail
cd "$top_srcdir" || exit 1
[ -x "${top_builddir:=$PWD/build}/sandlease-admin" ] || skip_all "sandlease-admin is not built"
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || skip_all "there is no PostgreSQL server"
export top_srcdir=$PWD top_builddir

dir=$(mktemp -d) || exit 1
trap 'rm -rf -- "$dir"' EXIT

# mutant NAME TEST FILE SED: a check of TEST must fail when SED has changed FILE.
# Mutants run side by side, and are reported in their order.  MUTATION_ONLY, a
# regular expression, chooses some by name or test.
names=()
mutant() {
	local here=$dir/${#names[@]}
	[[ "$1 $2" =~ ${MUTATION_ONLY:-.} ]] || return 0
	names+=("$1")
	mkdir "$here" && cp -R sql "$here/sql" && sed -E -i "$4" "$here/sql/$3"
	printf '%s\n' "$2" >"$here/test"
	! cmp -s "sql/$3" "$here/sql/$3" || echo "the change fits $3 no more" >"$here/unfit"
}

try() { # NUMBER
	local here=$dir/$1 status=0
	[ ! -e "$here/unfit" ] || return 0
	TAP_UNTIL_FAILURE=1 SQL_DIR=$here/sql "t/sql/$(<"$here/test")" >"$here/out" 2>&1 </dev/null ||
		status=$?
	echo "$status" >"$here/status"
}
export -f try

tell_all() {
	local i here
	chmod -R a+rX "$dir"
	export dir
	seq 0 $((${#names[@]} - 1)) | xargs -P "$(nproc)" -I{} bash -c 'try {}'
	for i in "${!names[@]}"; do
		here=$dir/$i
		if [ -e "$here/unfit" ]; then
			fail "${names[i]}: $(<"$here/unfit")"
		elif [ "$(<"$here/status")" -ne 0 ] && grep -q '^not ok' "$here/out"; then
			pass "${names[i]}: $(<"$here/test") notices"
			diag "$(grep -m 1 '^not ok' "$here/out")"
		else
			fail "${names[i]}: $(<"$here/test") must notice"
			diag "status $(<"$here/status"): $(tail -n 3 "$here/out")"
		fi
	done
}

mutant "a member is claimed before it is ready" warm.t functions/warm.sql \
	"s/ AND x.state = 'ready'$//"
mutant "a member of any host is claimed" warm.t functions/warm.sql \
	"s/WHERE x.host = p->>'host' AND/WHERE/"
mutant "a member of any boot is claimed" warm.t functions/warm.sql \
	"s/ AND x.boot_id = p->>'boot'//"
mutant "a member of any shape is claimed" warm.t functions/warm.sql \
	"s/AND x.shape = warm_shape\(c, p->>'warm'\)//"
mutant "any member is the one that was picked" warm.t functions/warm.sql \
	"s/AND \(NOT p \? 'picked' OR .*//"
mutant "a member has any limits" warm.t functions/warm.sql \
	"s/IS NOT TRUE THEN/IS NOT TRUE OR true THEN/"
mutant "no member has other limits" warm.t functions/warm.sql \
	"s/IF p \? 'setsLimits' OR /IF /"
mutant "a picked member that is gone is made anew" warm.t functions/warm.sql \
	"s/IF w.session_id IS NULL AND p \? 'picked' THEN/IF false THEN/"
mutant "a member that was retired is made" warm.t functions/warm.sql \
	"s/ AND state = 'preparing';/;/"
mutant "a member ends that nobody retired" warm.t functions/warm.sql \
	"s/ AND state = 'retiring';/;/"
mutant "there are too many members" warm.t functions/warm.sql \
	"s/ >= \(p->>'most'\)::bigint/ < 0/"
mutant "the key leads to a session that is not there" warm.t functions/session_start.sql \
	"s/UPDATE idempotency SET session_id = w.session_id.*/UPDATE idempotency SET session_id = session_id/"
mutant "a start does not know what it claimed" warm.t functions/session_start.sql \
	"s/adoption := s.adoption;/NULL;/"
mutant "a rehearsal is no rehearsal" session.t functions/rehearse.sql \
	"s/RAISE SQLSTATE 'SX999'.*/RETURN;/"
mutant "no fence holds" lease.t functions/lease_apply.sql \
	's/why := lease_fence.*;/why := NULL;/'
mutant "the generation is not compared" lease.t functions/lease_apply.sql \
	's/OR l.generation IS DISTINCT FROM .*\)/)/'
mutant "an attempt need not be due" lease.t functions/lease_apply.sql \
	"s/p_fence = 'due'/false/"
mutant "attempts expire early" lease.t functions/lease_apply.sql \
	"s/p_fence = 'expired' AND/false AND/"
mutant "a second stop replaces the first" lease.t functions/lease_apply.sql \
	"s/ OR t.effects = '\{\}' THEN/ THEN/"
mutant "the backoff does not grow" lease.t functions/lease_apply.sql \
	's/least\(greatest\(p_attempts, 1\)/least(1/'
mutant "a transition too many" transitions.t migrations/0001_first.sql \
	"s/^VALUES \('none', +'allocate',.*/&\n('stopping', 'allocate', 'owns_wrapper', 'nothing'),/"
mutant "time is read before the lock" race.t functions/lease_apply.sql \
	's/at := clock_timestamp\(\);/at := now();/'
mutant "a look that is out of date counts" session.t functions/session_start.sql \
	"s/IF l.state <> p->>'seenState' OR .* THEN/IF false THEN/"
mutant "what is being deleted is found" race.t functions/session_start.sql \
	"s/(WHERE id = v_found) AND state NOT IN .*;/\1;/"
mutant "a start does not lock its sandbox" race.t functions/sandbox_lease.sql \
	's/(INTO s FROM sandbox WHERE id = p_id) FOR UPDATE/\1/'
mutant "a stop locks in another order" race.t functions/session_stop.sql \
	'/FUNCTION stops_lock/,/^END/s/ORDER BY b.id FOR UPDATE OF b;/LIMIT 0;/'
mutant "a failure is any generation's" session.t functions/session_stop.sql \
	"s/IF p->>'generation' IS NOT NULL AND/IF false AND/"
mutant "an old incarnation settles" session.t functions/sandbox_lease.sql \
	's/AND incarnation = p_incarnation//'
mutant "a look at any incarnation counts" session.t functions/session_stop.sql \
	"s/AND b.incarnation = coalesce.*//"
mutant "an event can be changed" history.t functions/event.sql \
	's/BEFORE UPDATE OR DELETE ON event/BEFORE DELETE ON event/'
mutant "an event can be taken away" history.t functions/event.sql \
	"s/OR pg_trigger_depth\(\) > 1/OR true/"
mutant "who waits is not told" history.t functions/event.sql \
	's/PERFORM pg_notify/PERFORM concat/'
mutant "a waiter does not wait for a writer" history.t functions/event.sql \
	's/PERFORM FROM lease WHERE session_id = p_session FOR SHARE;//'
mutant "who did something is named for the next one, too" history.t functions/session_state.sql \
	's/NEW.actor := NULL;//'
mutant "a flood fills the audit log" history.t functions/audit.sql \
	's/IF 10 <= /IF 1000000 <= /'
mutant "whoever asks for a foreign session is told that it exists" history.t functions/audit.sql \
	"s/'session_foreign', 'warning', s.tenant/'session_foreign', 'warning', k.tenant/"
mutant "a key is looked up without its lock" keys.t functions/session_keys.sql \
	's/PERFORM keys_lock\(p_tenant, p_keys\);//'
mutant "a key of what is deleted counts" keys.t functions/session_keys.sql \
	"s/AND s.state NOT IN \('deleting', 'deleted'\)//"
mutant "a deletion keeps its keys" keys.t functions/session_stop.sql \
	's/DELETE FROM alias WHERE session_id = ANY .*//'
mutant "quotas are counted but not checked" quota.t functions/quota.sql \
	's/PERFORM quota_check\(q, at, d\);//'
mutant "a quota is read without its lock" quota.t functions/quota.sql \
	's/(FROM quota WHERE tenant = d.tenant) FOR NO KEY UPDATE/\1/'
mutant "orgs are settled as they come" quota.t functions/quota.sql \
	's/ORDER BY \(x\).tenant//'
mutant "what sleeps gives no room back" quota.t functions/quota.sql \
	's/is_active::int - was_active::int/greatest(0, is_active::int - was_active::int)/'
mutant "a sandbox gives its disk back too early" quota.t functions/quota.sql \
	"s/OR v = 0 OR EXISTS \(SELECT FROM session/OR v = 0 OR EXISTS (SELECT WHERE false) OR false AND EXISTS (SELECT FROM session/"
mutant "a start that failed holds its disk" quota.t functions/quota.sql \
	"s/AND NOT \(s.state = 'failed' AND s.started_at IS NULL AND s.setup_exit IS NULL\)//"
mutant "a host's budget is not looked at" disk.t functions/disk.sql \
	's/ AND disk_reserved_mb \+ b.disk_mb <= p_budget_mb//'
mutant "a deletion keeps its room" disk.t functions/session_stop.sql \
	's/PERFORM disk_release\(box\).*//'
mutant "what failed keeps its room for ever" disk.t functions/disk.sql \
	's/AND files_dropped_at IS NULL\) THEN/) THEN/'
mutant "a refused create keeps its key" disk.t functions/disk.sql \
	"s/AND i.session_id = s.id;/AND false;/"
mutant "any failure to probe is evidence" disk.t functions/disk.sql \
	"s/b.probe_failures >= 2 AND b.probe_failed_at < at - interval '30 seconds'/true/"

mutant "reapers do not pass over each other's work" reaper.t functions/session_stop.sql \
	's/FOR UPDATE OF l SKIP LOCKED/FOR UPDATE OF l NOWAIT/'
mutant "any host claims a stop" reaper.t functions/session_stop.sql \
	"s/b.host IN \('', p->>'host'\)/true/"
mutant "a sandbox that was silent is tried again" reaper.t functions/session_stop.sql \
	"s/AND NOT coalesce\(p->'skip'.*//"
mutant "a retry is a first attempt" reaper.t functions/session_stop.sql \
	"s/AND \(l.attempts > 0\) = .*//"
mutant "a wish does not mind what became of its row" reaper.t functions/session_stop.sql \
	"s/AND s.xmin::text = coalesce.*//"
mutant "who answered at last was late all the same" reaper.t functions/session_stop.sql \
	"s/IF \(p->>'late'\)::boolean AND/IF false AND/"
mutant "what sleeps can fail" states.t migrations/0015_session_states.sql \
	"s/'\{initializing,ready\}', 'fail'/'{initializing,ready,sleeping}', 'fail'/"
mutant "steps run backwards" history.t functions/event.sql \
	"s/ORDER BY e.id DESC LIMIT 1/AND false LIMIT 1/"
mutant "nobody is told of an event" history.t functions/event.sql \
	"s/WHERE w.until > clock_timestamp/WHERE w.until < clock_timestamp/"
mutant "a force leaves no trace" reaper.t functions/reaper.sql \
	"s/PERFORM audit_add\(/PERFORM jsonb_build_array(/"

# ---- each fence of the lease by itself

mutant "any instance is the owner" lease.t functions/lease_apply.sql \
	"s/l.instance IS DISTINCT FROM p->>'instance'/false/"
mutant "any attempt ends a stop" lease.t functions/lease_apply.sql \
	"s/AND l.attempt_id IS DISTINCT FROM p->>'attempt'/AND false/"
mutant "the state that was seen is not compared" session.t functions/session_start.sql \
	"s/IF l.state <> p->>'seenState' OR/IF/"
mutant "the generation that was seen is not compared" session.t functions/session_start.sql \
	"s/OR l.generation <> \(p->>'seenGeneration'\)::bigint/OR false/"
mutant "an idle stop does not mind who came" session.t functions/session_stop.sql \
	"s/s.activity_seq <> \(p->>'seenActivity'\)::bigint/false/"
mutant "a sandbox that owns a wrapper is retired" session.t functions/sandbox_lease.sql \
	"s/l.sandbox_id = p_id AND l.state <> 'none'/l.sandbox_id = p_id AND false/"
mutant "a sandbox with a session is destroyed" session.t functions/sandbox_lease.sql \
	"s/(WHERE x.sandbox_id = p_id AND) x.state NOT IN .*'deleted'\)/\1 false/"
mutant "any incarnation is retired" session.t functions/sandbox_lease.sql \
	's/OR s.incarnation <> p_incarnation//'
mutant "what was seen down runs again" session.t functions/sandbox_lease.sql \
	"s/AND \(p_state <> 'running' OR state IN .*\);/;/"
mutant "what is being destroyed settles as stopped" session.t functions/sandbox_lease.sql \
	"s/AND \(state <> 'destroying' OR p_state = 'absent'\)//"
mutant "what is about to be stopped is wanted as it is" session.t functions/sandbox_lease.sql \
	's/ AND s.attempts = 0 THEN/ THEN/'
mutant "what is being destroyed is wanted again" race.t functions/sandbox_lease.sql \
	"s/IF s.state = 'destroying' THEN/IF false THEN/"
mutant "a deletion ends while a lease is held" session.t functions/session_stop.sql \
	"s/ AND l.state = 'none'\);/);/"
mutant "a ticket is for every request" ticket.t functions/ticket.sql \
	's/used_by = p_request OR used_by IS NULL AND/true OR/'
mutant "a ticket does not end" ticket.t functions/ticket.sql \
	's/used_by IS NULL AND expires_at > clock_timestamp\(\)\)/used_by IS NULL)/'
mutant "a ticket opens every session" ticket.t functions/ticket.sql \
	's/AND session_id = p_session AND purpose/AND purpose/'
mutant "a ticket opens everything" ticket.t functions/ticket.sql \
	's/ AND purpose = p_purpose//'
mutant "tickets are counted without a lock" ticket.t functions/ticket.sql \
	's/ FOR NO KEY UPDATE//'
mutant "a session is found wherever it is asked for" hosts.t functions/session_start.sql \
	's/IF v_host IS NOT NULL THEN/IF false THEN/'
mutant "any host claims a stop" hosts.t functions/session_stop.sql \
	"s/AND b.host NOT IN \('', p->>'host'\)/AND false/"
mutant "a ticket is used up at any host" hosts.t functions/ticket.sql \
	's/^       IS NULL THEN/       IS NOT DISTINCT FROM NULL OR true THEN/'
mutant "what is stopped is anybody's" session.t functions/sandbox_lease.sql \
	"s/IF s.state <> 'absent' AND s.host <> p_host THEN/IF s.state NOT IN ('absent', 'stopped') AND s.host <> p_host THEN/"

mutant "finds are not counted" quota.t functions/session_start.sql \
	's/PERFORM quota_find\(v_tenant\);//'
mutant "what is frozen is not active" quota.t functions/quota.sql \
	"s/OR p_state = 'asleep' AND p_suspended_at IS NOT NULL//"
mutant "a history has no bound" history.t functions/event.sql \
	's/OFFSET 1000 LIMIT 1/OFFSET 1000000 LIMIT 1/'
mutant "a history outlives its session" history.t functions/event.sql \
	's/DELETE FROM event WHERE session_id = OLD.id;//'
mutant "work is accepted each time" auth.t functions/session_state.sql \
	's/AND accepted_generation < p_generation//'
mutant "what is written late keeps awake for ever" auth.t functions/session_state.sql \
	's/a.keep_warm_until := l.keep_warm_until;/NULL;/'
mutant "nobody knows what was accepted" auth.t functions/lease_apply.sql \
	's/l.accepted_generation := l.generation;/NULL;/'
mutant "a repair is told again" auth.t functions/reaper.sql \
	's/AND l.accepted_generation < v.generation//'
mutant "a port that is closing is open" port.t functions/port.sql \
	's/port = p_port AND closing_at IS NULL/port = p_port/'
mutant "a late confirmation takes a port away" port.t functions/port.sql \
	's/ AND change_order = p_order$//'
mutant "a start brings along what was closing" port.t functions/session_start.sql \
	'/DELETE FROM port WHERE session_id = s.id AND closing_at/d'
mutant "a start forgets what it has told" port.t functions/session_start.sql \
	's/UPDATE port SET pending = false, cut = false, tried_at = NULL/UPDATE port SET tried_at = NULL/'
mutant "a revoked key keeps its connections to ports" port.t functions/key.sql \
	's/pending = true, cut = true/pending = true/'
mutant "a revoked key keeps its WebSockets" port.t functions/key.sql \
	's/SET bounce_at = clock_timestamp\(\)/SET bounce_at = NULL/'
mutant "a restart closes WebSockets of the last life" port.t functions/session_apply.sql \
	's/bounce_at = CASE .* THEN x.bounce_at END,/bounce_at = x.bounce_at,/'

states() { mutant "$1" states.t "functions/session_$2.sql" "$3"; }
states "a state is whatever somebody writes" state \
	's/IF TG_OP = .UPDATE. AND NOT EXISTS/IF false AND NOT EXISTS/'
states "an outcome is of any freeze" apply \
	"s/WHEN p_fence = 'order' AND /WHEN false AND /"
states "a freeze has no time" apply \
	"s/WHEN p_fence = 'overdue' AND /WHEN false AND /"
states "what was put to sleep is put to sleep" apply \
	"s/p_fence IN \('suspended', /p_fence IN (/"
states "what was deleted keeps its secrets" apply \
	"s/env_sealed = CASE .*/env_sealed = x.env_sealed,/"
states "what was deleted keeps its headers" apply \
	"s/secrets_sealed = CASE .*/secrets_sealed = x.secrets_sealed,/"

mutant "a class limits no network" network.t functions/network.sql \
	"s/SELECT network_narrower\(v_own, c.network_max->>'mode'\)/SELECT v_own/"
mutant "egress is told one policy only" network.t functions/network.sql \
	's/jsonb_build_array\(network_expand\(network_own\(s\)\), network_expand\(c.network_max\)\)/jsonb_build_array(network_expand(network_own(s)))/'
mutant "a preset that is gone stays an entry" network.t functions/network.sql \
	"s/WHERE x.entry IS NOT NULL OR left.*/WHERE true))/"
mutant "a new value of a secret is no change" network.t functions/network.sql \
	's/OR OLD.secrets_sealed IS DISTINCT FROM NEW.secrets_sealed/OR false/'

mutant "two reapers add each sample twice" sample.t functions/sample.sql \
	's/IF NOT pg_try_advisory_xact_lock\(hashtextextended\(p_host, 9\)\)/IF false/'
mutant "percent is counted over a start" sample.t functions/sample.sql \
	's/p_before.life = p_life AND //'
mutant "a part of an hour becomes a whole one" sample.t functions/sample.sql \
	"s/v_hour \+ c_hour > v_now - interval '24 hours'/v_hour > v_now - interval '24 hours'/"
mutant "a sandbox tells of another's session" sample.t functions/sample.sql \
	's/LEFT JOIN session s ON s.id = x.session AND s.sandbox_id = b.id/LEFT JOIN session s ON s.id = x.session/'
webhooks() { mutant "$1" webhook.t functions/webhook.sql "$2"; }
webhooks "servers that fail come first" 's/ORDER BY due.failing, due.nth,/ORDER BY due.nth,/'
webhooks "the server before is believed" "s/IF p->>'url' <> w.url THEN/IF false THEN/"
webhooks "what was given up is sent later" 's/IF NOT \(v_enabled AND w.enabled\) THEN/IF NOT v_enabled THEN/'
webhooks "a delivery is claimed twice" \
	's/claimed = true, due_at = v_at \+ make_interval\(secs => p_seconds\)/claimed = true/'
webhooks "a claim waits for another" 's/^           FOR UPDATE SKIP LOCKED$/           FOR UPDATE/'
webhooks "a late failure counts" 's/IF d.due_at IS NULL OR d.attempts <> p_attempt THEN/IF false THEN/'
webhooks "an org has all that is under way" \
	's/WHERE due.nth \+ .* <= p_share$/WHERE true/'
webhooks "orgs do not take turns" 's/ORDER BY due.failing, due.nth, due.due_at/ORDER BY due.tenant, due.due_at/'
webhooks "a webhook that fails is asked as often as others" \
	's/CASE WHEN w.failing_since IS NULL THEN p_share/CASE WHEN true THEN p_share/'
webhooks "a state change waits for a deletion" 's/FOR KEY SHARE SKIP LOCKED/FOR KEY SHARE/'
webhooks "another org is told" 's/WHERE tenant = p_tenant AND enabled AND p_event/WHERE enabled AND p_event/'
webhooks "another org changes it" 's/WHERE id = p_id AND tenant = p_tenant FOR NO KEY/WHERE id = p_id FOR NO KEY/'
webhooks "nothing is given up" 's/v_next <= d.until/true/'

mutant "a reaper that comes late counts the times again" schedule.t functions/trigger.sql \
	's/IF t.next_at IS DISTINCT FROM p_due/IF false/'
mutant "a failure hides what another reaper recorded" schedule.t functions/trigger.sql \
	's/IF FOUND THEN -- another reaper/IF false THEN -- another reaper/'
mutant "an hour that is repeated counts once in every schedule" schedule.t functions/trigger.sql \
	's/cardinality\(p_hours\) < 24/true/'
mutant "a session takes a key from another" keys.t functions/session_keys.sql \
	's/ELSIF v_owner IS NOT NULL THEN/ELSIF false THEN/'
mutant "a key that was freed is given again" keys.t functions/session_keys.sql \
	"s/WHERE NOT coalesce\(s.keys_told, '\[\]'\) \? k LIMIT 16/LIMIT 16/"

executions() { mutant "$1" execution.t functions/execution.sql "$2"; }
# within NAME SED: changes one function only.
within() { printf '/^CREATE OR REPLACE FUNCTION %s\\(/,/^END/{%s}' "$1" "$2"; }
executions "the word of any attempt counts" \
	"$(within execution_told 's/ AND x.attempt = p_attempt//')"
executions "the loss of any attempt counts" \
	"$(within execution_lost 's/ AND x.attempt = p_attempt//')"
executions "what has ended is lost" \
	"$(within execution_lost 's/NOT execution_is_over\(x.state\) AND //')"
executions "a start that failed counts twice" \
	"$(within execution_not_given 's/x.attempt = p_attempt AND //')"
executions "any generation gets an attempt" 's/ AND generation = p_generation$//'
executions "a wrapper that is being stopped gets an attempt" \
	"s/AND state = 'owns_wrapper' AND generation = p_generation$/AND generation = p_generation/"
executions "what is given again is another attempt" \
	's/e.attempt \+ \(e.generation IS NULL\)::int/e.attempt + 1/'
executions "what was cancelled is given" 's/AND e.cancel_at IS NULL AND NOT/AND NOT/'
executions "another attempt does not wait" 's/ AND e.due_at <= clock_timestamp\(\)\)$/)/'
executions "the pause has no bound" 's/least\(60, 2/least(86400, 2/'
executions "a word without a result is one" "s/IF p->>'end' = 'lost' THEN/IF false THEN/"
executions "a loss during a stop is another attempt" "s/l.state = 'owns_wrapper' AND l.generation = x.generation/true/"
executions "a loss overlooks the cancellation" 's/over boolean := p_last OR .*;/over boolean := p_last;/'
mutant "an idle date ends an execution" execution.t functions/session_stop.sql \
	's/AND execution_is_given\(s.id\)/AND false/'
mutant "a session is frozen with its execution" execution.t functions/session_suspend.sql \
	's/execution_is_given\(p_session\)/false/'
mutant "a start does not see what is lost" execution.t functions/session_start.sql \
	's/PERFORM executions_lost\(.*;//'
mutant "a name is made anew though an execution waits" execution.t functions/session_start.sql \
	"s/AND e.state IN \('queued', 'running'\)\) THEN/AND false) THEN/"
executions "a late word leaves the loss" 's/x.attempts := x.attempts - \(-1\);/NULL;/'
executions "one that was cancelled is lost" \
	's/WHEN over AND x.cancel_at IS NOT NULL/WHEN false/'
executions "what has ended keeps its command" \
	"$(within execution_told 's/, work_sealed = NULL//')"
executions "a sleep ends what waits" \
	"s/AND \(NEW.state <> 'asleep' OR e.generation IS NOT NULL\);/;/"
executions "a session is deleted with its first execution" \
	"$(within execution_clean_up "s/e.state IN \('queued', 'running'\)/false/")"
executions "a task's id is looked up without its lock" 's/PERFORM pg_advisory_xact_lock/PERFORM concat/'
executions "a task's id is for every request" "s/IF x.hash <> p->>'hash' THEN/IF false THEN/"
executions "a task's id finds the execution of another org" \
	"s/WHERE e.tenant = p->>'tenant' AND e.task_id/WHERE e.task_id/"
executions "a session of another org is found" "s/ AND t.tenant = p->>'tenant' FOR KEY SHARE/ FOR KEY SHARE/"
executions "one that comes overtakes those that wait" 's/ OR v_waiting > 0 / /'
executions "a worker gives what another host has" "s/ AND b.host = p->>'host'\)/)/"
executions "an org has those of all orgs" \
	"s/WHERE e.tenant = s.tenant AND e.state IN/WHERE e.state IN/"
executions "an org has any number" "s/IF n >= \(p->>'orgMost'\)::bigint THEN/IF false THEN/"
executions "a refused request is of any attempt" 's/ AND u.exceeded_at >= x.given_at//'
executions "a lost wrapper keeps what waited in it" \
	"$(within executions_lost 's/LOOP$/LIMIT 1 LOOP/')"
executions "a loss counts for other generations" \
	"$(within executions_lost 's/ AND e.generation = p_generation//')"
mutant "one overtakes another that waits for its next attempt" execution.t statements/execution.sql \
	'/^-- name: executions_to_give/,/;$/s/ AND e.due_at > clock_timestamp\(\)/ AND false/'
mutant "one org's executions come first" execution.t statements/execution.sql \
	's/ORDER BY due_ms > 0, row_number\(\) .*, due_ms,/ORDER BY due_ms,/'
mutant "executions are given in any order" execution.t statements/execution.sql \
	'/^-- name: executions_to_give/,/;$/s/ORDER BY created_at, id/ORDER BY id/'

artifacts() { mutant "$1" artifact.t functions/artifact.sql "$2"; }
artifacts "an org keeps any number of bytes" 's/IF v_quota > 0 AND/IF false AND/'
artifacts "two ends at once exceed what an org may keep" \
	's/(FROM artifact_use WHERE tenant = x.tenant) FOR NO KEY UPDATE/\1/'
artifacts "what others keep counts" \
	's/SELECT bytes INTO v_has FROM artifact_use WHERE tenant = x.tenant FOR NO KEY UPDATE/SELECT sum(bytes) INTO v_has FROM artifact_use/'
artifacts "what is forgotten counts" 's/THEN -1 ELSE 1 END/THEN 0 ELSE 1 END/'
artifacts "an org is told the sum of all" \
	's/SELECT bytes FROM artifact_use WHERE tenant = p_tenant/SELECT sum(bytes) FROM artifact_use/'
artifacts "a suggestion is made of what other orgs use" \
	's/WHERE x.tenant = p_tenant AND x.agent_type/WHERE x.agent_type/'
artifacts "a suggestion is made of what a limit ended" "s/ AND x.state = 'succeeded'$//"
artifacts "a suggestion is made of what is long past" "s/interval '30 days'/interval '3000 days'/"
artifacts "a day has its last execution only" 's/executions = d.executions \+ 1/executions = 1/'
mutant "files are forgotten before their time" artifact.t statements/artifact.sql \
	'/^-- name: artifacts_forget/,/;$/s/make_interval\(days => \$1::int\)/make_interval(days => $1::int - 1)/'
mutant "changes are not counted" webhook.t functions/quota.sql \
	's/IF v_turn > v_at \+ c_most \* c_pause THEN/IF false THEN/'

mutant "a token that is replaced is not told" auth_ended.t functions/auth_ended.sql \
	's/OR NEW.token_hash <> OLD.token_hash//'
mutant "a frozen session is not told" auth_ended.t functions/auth_ended.sql \
	's/OR NEW.reason IS DISTINCT FROM OLD.reason//'
mutant "a new generation is not told" auth_ended.t functions/auth_ended.sql \
	's/OR NEW.generation <> OLD.generation//'
mutant "a sandbox that is gone is not told" auth_ended.t functions/auth_ended.sql \
	"s/NEW.state = 'absent' OR NEW.host/NEW.host/"
mutant "an earlier sleep is not told" auth_ended.t functions/auth_ended.sql \
	's/OR NEW.keep_warm_until < OLD.keep_warm_until//'
mutant "a create is told" auth_ended.t functions/auth_ended.sql \
	"s/WHEN \\(OLD.state = 'owns_wrapper'/WHEN (true/;s/OLD.startup_deadline IS NULL AND NEW/NEW/"
mutant "a port is kept beyond its date" auth_ended.t statements/auth.sql \
	's/least\(p.expires_at,/least(NULL,/'
mutant "a key is kept beyond its date" auth_ended.t statements/auth.sql \
	's/least\(k.expires_at, s/least(s/'
mutant "a right at any host is kept" auth_ended.t statements/auth.sql \
	's/AND s.here AND/AND/'

mutant "a page begins with the row before it" list.t functions/session_list.sql \
	'/one.state$/,/LIMIT/s/\(s.created_at, s.id\) </(s.created_at, s.id) <=/'
mutant "a page by a label begins anew" list.t functions/session_list.sql \
	's/\(t.created_at, t.session_id\) < \(p_at, p_id\)/true/'
mutant "a hash is enough of a label" list.t functions/session_list.sql \
	"s/AND s.labels ->> p_label_key = p_label_value$/AND true/"
mutant "labels stay as they were" list.t functions/session_labels.sql \
	"s/NEW.labels <> OLD.labels/false/"
mutant "a deleted session keeps its labels" list.t functions/session_labels.sql \
	"s/\(NEW.state = 'deleted'\) <> \(OLD.state = 'deleted'\)/false/"
mutant "what is frozen is ready" list.t statements/quota.sql 's/q.active - frozen.n/q.active/'
mutant "what is frozen is active" list.t statements/service.sql \
	"s/- \(SELECT count\(\*\) FROM session WHERE state = 'asleep'.*\) AS active/AS active/"
mutant "a lease is not lost with its session" list.t functions/reaper.sql \
	's/SET session_gone = true/SET session_gone = false/'
mutant "a sandbox is forgotten before its lease ends" list.t statements/reaper.sql \
	"s/AND NOT EXISTS \(SELECT FROM lease l WHERE l.sandbox_id = b.id AND l.state <> 'none'\)//"
mutant "a sandbox that is not destroyed is forgotten" list.t statements/reaper.sql \
	"s/AND b.state = 'absent' AND b.changed_at/AND b.changed_at/"
mutant "a list reads all sessions" plans.t migrations/0029_growth.sql \
	's/^CREATE INDEX session_by_state .*//'
mutant "a pass reads all events" plans.t statements/reaper.sql \
	's/WHERE id = ANY \(ARRAY\((SELECT id FROM event.*)/WHERE id IN ((\1/'
mutant "a recount reads all sandboxes" plans.t migrations/0029_growth.sql \
	's/^CREATE INDEX sandbox_by_disk .*//'

tell_all
done_testing
