#!/bin/bash
# Tests what reapers claim, share and compare, and what only an operator does.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
must "$("$STACK_BUILD/t/unit/store/print_tables" statements)"

# claim CONNECTION [JSON]: first letters of the sessions that it claimed.
claim() {
	ask "$1" "SELECT string_agg(left(session_id, 1), '' ORDER BY session_id) FROM stop_claim('{
		\"attempt\": \"$1\", \"seconds\": 45, \"limit\": 50, \"host\": \"h1\",
		\"retries\": false}'::jsonb || '{${2:-}}')"
}
leases() { q "SELECT string_agg(left(session_id, 1) || ':' || state, ' ' ORDER BY session_id) FROM lease"; }
due() { must "UPDATE lease SET next_attempt_at = 'epoch' WHERE state = 'stop_needed'"; }

for s in a b c d; do
	create "$s" >/dev/null && verify "$s" 1 >/dev/null
	request "$s" sleep idle-timeout >/dev/null
done
open_two

# ---- sharing

ask one "BEGIN"
is "$(claim one '"limit": 2')" "ab" "one reaper claims two"
is "$(claim two)" "cd" "another has the others, and does not wait"
ask one "COMMIT"
is "$(claim two)" "" "what is being stopped is claimed once"
is "$(leases)" "a:stopping b:stopping c:stopping d:stopping" "and persisted before anything is killed"

# ---- outcomes

outcomes() { # CONNECTION ATTEMPT ABSENT SESSION...
	local list='' s
	for s in "${@:4}"; do
		list+="${list:+, }{\"session\": \"$(sid "$s")\", \"absent\": $3, \"error\": \"no\"}"
	done
	ask "$1" "SELECT string_agg(left(session_id, 1) || ':' || state, ' ' ORDER BY session_id)
		FROM stop_outcomes('{\"attempt\": \"$2\", \"trace\": \"t\", \"outcomes\": [$list]}')"
}
is "$(outcomes one one true a)" "a:asleep" "an absence that was seen"
is "$(outcomes one one true c d)" "" "nobody settles another's attempt"
is "$(outcomes two two false c d)" "c:sleeping d:sleeping" "one that was not"
is "$(outcomes one one true a)" "" "a late result is ignored"
is "$(leases)" "a:none b:stopping c:stop_needed d:stop_needed" "so they are"

# ---- order, hosts, patience

is "$(claim two)$(claim two '"retries": true')" "" "backoff is kept"
due
is "$(claim two)" "" "what was tried before is no first attempt"
is "$(claim two "\"retries\": true, \"skip\": [\"ses-c\"]")" "d" "a sandbox to be left alone is"
is "$(claim two '"retries": true, "host": "h2"')" "" "another host has nothing to do with it"
must "UPDATE sandbox SET state = 'stopped' WHERE id = 'ses-c'"
is "$(claim two '"retries": true, "host": "h2"')" "c" "but to note an end that was seen"
outcomes two two false c d >/dev/null && due
must "UPDATE lease SET next_attempt_at = '-infinity' WHERE session_id = '$(sid d)'"
is "$(claim two '"retries": true, "host": "h2", "limit": 1')" "c" "and what others must do is not in the way"
must "UPDATE lease SET attempt_deadline = 'epoch' WHERE session_id = '$(sid b)'"
is "$(q "EXECUTE stop_watchdogs('10', '[5]', 't9')")" "1" "an attempt that ran out of time is given up"
told() { q "SELECT what, trace_id FROM event WHERE session_id = '$(sid "$1")' ORDER BY id DESC LIMIT 1"; }
is "$(told b)" "stop_attempt_expired|t9" "by which pass is told"
is "$(outcomes one one true b)" "" "and its result comes too late"

must "UPDATE session SET state = 'sleeping' WHERE id = '$(sid a)'"
is "$(q "EXECUTE settle_sleepers('10', 't8')")|$(told a)" "1|asleep|t8" \
	"one that sleeps, though nobody said so, is settled"

# ---- stop requests

for s in e f; do
	create "$s" >/dev/null && verify "$s" 1 >/dev/null
done
wish() { # WISH SESSION_JSON...
	local IFS=,
	q "SELECT string_agg(left(id, 1), '' ORDER BY id) FROM stop_requests('$1', '{\"reason\": \"too-old\",
		\"sessions\": [${*:2}]}') AS t (id)"
}
is "$(wish sleep "{\"id\": \"$(sid e)\", \"seenActivity\": 7}" "{\"id\": \"$(sid f)\", \"seenActivity\": 0}")" \
	f "a wish is dropped where somebody came meanwhile"
is "$(wish sleep "{\"id\": \"$(sid e)\", \"generation\": 2}")" "" "or another generation is at work"
ask one "BEGIN" && ask one "SELECT id FROM session WHERE id = '$(sid e)' FOR UPDATE" >/dev/null
is "$(wish sleep "{\"id\": \"$(sid e)\"}")" "" "what somebody is at is passed over"
ask one "COMMIT"
is "$(wish sleep "{\"id\": \"$(sid e)\"}")" e "and has its turn later"

# Between the look and the request a reaper may stand still for any time.
past='"expiresAt": "2000-01-01T00:00:00Z"'
create h "$past" >/dev/null && verify h 1 >/dev/null
seen=$(q "EXECUTE due_expired('10')")
is "${seen%|*}" "$(sid h)" "what has expired is due"
expired="{\"id\": \"$(sid h)\", \"seenRow\": \"${seen#*|}\"}"
must "EXECUTE session_patch('$(sid h)', 'acme', '{\"expiresAt\": \"3000-01-01T00:00:00Z\"}')"
is "$(wish delete "$expired")|$(look h)" "|ready|owns_wrapper|1" "a wish is dropped when its row is another by then"
must "EXECUTE session_patch('$(sid h)', 'acme', '{$past}')"
seen=$(q "EXECUTE due_expired('10')")
is "$(wish delete "{\"id\": \"$(sid h)\", \"seenRow\": \"${seen#*|}\"}")" h "and not when it is the same"
create i >/dev/null
late="{\"id\": \"$(sid i)\", \"generation\": 1, \"seenActivity\": 0, \"late\": true}"
must "UPDATE lease SET startup_deadline = 'epoch' WHERE session_id = '$(sid i)'"
verify i 1 >/dev/null
is "$(wish fail "$late")|$(look i)" "|ready|owns_wrapper|1" "a late start that answered after all has not failed"
must "UPDATE lease SET startup_deadline = 'epoch' WHERE session_id = '$(sid i)'"
is "$(wish fail "$late")|$(look i)" "i|failed|stop_needed|1" "one that did not has"

# ---- the things on a host

create g >/dev/null && verify g 1 >/dev/null
differ() { # SEEN...
	local IFS=,
	q "EXECUTE sandbox_differences('h1', 'b1', '[$*]')" | cut -d'|' -f1,2,3,9 | grep -E "${ONLY:-.}" | sort
}
ONLY='ses-[gz]'
is "$(differ '{"id": "ses-g", "incarnation": "inc-g", "presence": "running"}')" "" \
	"what is as its row says is not told"
is "$(differ)" "ses-g|t|running|absent" "a row without its sandbox is"
is "$(differ '{"id": "ses-g", "incarnation": "inc-x", "presence": "running"}')" \
	"ses-g|t|running|running" "and another incarnation"
is "$(differ '{"id": "ses-g", "incarnation": "inc-g", "presence": "unknown"}')" "" \
	"what cannot be told is not a difference"
is "$(differ '{"id": "ses-g", "incarnation": "inc-g", "presence": "running"}' \
	'{"id": "ses-z", "incarnation": "i", "presence": "stopped"}')" "ses-z|f||stopped" \
	"a sandbox without a row"
must "UPDATE sandbox SET host = 'h2' WHERE id = 'ses-g'"
is "$(differ)" "" "another host's is none of ours"
must "UPDATE sandbox SET host = 'h1' WHERE id = 'ses-g'"

sockets() { # NAME SESSION GENERATION
	q "EXECUTE socket_differences('[{\"name\": \"n\", \"session\": \"$1\", \"generation\": $2}]')"
}
is "$(sockets "$(sid g)" 1)" "" "the socket of a generation that lives"
is "$(sockets "$(sid g)" 0)" "n|t" "of one that is over"
is "$(sockets "$(sid a)" 1)" "n|t" "of one whose lease is none"
is "$(sockets "$(sid z)" 1)" "n|f" "of nobody"

# ---- sandboxes in which nothing runs

must "INSERT INTO sandbox (id, tenant, class, state, incarnation, host, boot_id, idle_since)
	VALUES ('org-idle', 'acme', 'shared', 'running', 'inc', 'h1', 'b1', 'epoch')"
idle() { q "EXECUTE due_idle_sandboxes('h1', '$1', '10')" | grep org-idle; }
is "$(idle 600)" "org-idle|inc" "a shared one is due after its grace"
is "$(idle 2000000000)" "" "not before"
is "$(q "SELECT sandbox_retire('org-idle', 'inc', false, 1)")" t "somebody stops it"
is "$(idle 600)" "" "and if that fails, it is not tried again at once"
must "UPDATE sandbox SET deadline = 'epoch' WHERE id = 'org-idle'"
is "$(idle 600)" "org-idle|inc" "but later"

# ---- a lease that an operator ends

is "$(q "SELECT lease_force_release('$(sid z)', 't')")" "" "there is no such lease"
is "$(q "SELECT lease_force_release('$(sid a)', 't')")" "none" "nothing to release"
is "$(q "SELECT count(*) FROM audit WHERE kind = 'lease_force_release'")" 0 "and nothing to tell"
begin f forced >/dev/null
is "$(q "SELECT lease_force_release('$(sid f)', 't1')")" "stopping" "one that is being stopped"
is "$(end f forced true)" "" "the attempt's own result comes too late"
is "$(q "SELECT lease_force_release('$(sid g)', 't2')")" "owns_wrapper" "one that owns a wrapper"
is "$(q "SELECT s.state, l.state, l.generation FROM session s JOIN lease l ON l.session_id = s.id
	WHERE s.id = '$(sid g)'")" "asleep|none|1" "sleeps, and its generation is never used again"
is "$(told g)" "asleep|t2" "and its history says by which command"
is "$(q "SELECT string_agg(left(subject, 1) || severity || trace_id || (detail->>'was'), ' ' ORDER BY id)
	FROM audit WHERE kind = 'lease_force_release'")" "fcriticalt1stopping gcriticalt2owns_wrapper" \
	"the audit log has both"

# ---- starts for which no client waits

for s in p q r s; do
	create "$s" >/dev/null
done
create t '"tenant": "other", "org": "other", "keyId": "o"' >/dev/null
must "UPDATE session SET initializing_since = 'epoch' WHERE tenant = 'acme' AND state = 'initializing'"
first_two() { q "EXECUTE due_initializing('h1')" | sed -n 1,2p | cut -c1 | sort | tr -d '\n'; }
is "$(for _ in 1 2 3 4 5 6 7 8; do first_two; done | tr -d pqrs)" "tttttttt" \
	"a tenant whose starts hang takes one turn, then it is another's"

done_testing
