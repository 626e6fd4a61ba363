#!/bin/bash
# Tests the hot path: which key may use a session, what the gate learns, and the
# activity that a call writes.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
must "INSERT INTO api_key (id, tenant, org, user_id, scope, hash, expires_at, revoked_at) VALUES
	('r', 'acme', 'acme', 'u', 'read', 'hash-r', NULL, NULL),
	('e', 'acme', 'acme', 'u', 'tenant', 'hash-e', clock_timestamp() - interval '1 s', NULL),
	('l', 'acme', 'acme', 'u', 'tenant', 'hash-l', clock_timestamp() + interval '1 h', NULL),
	('v', 'acme', 'acme', 'u', 'tenant', 'hash-v', NULL, clock_timestamp());
	INSERT INTO login (hash, key_id, expires_at) VALUES
	('cookie', 'k', clock_timestamp() + interval '1 h'),
	('old', 'k', clock_timestamp() - interval '1 s'),
	('orphan', 'v', clock_timestamp() + interval '1 h')"
must "$("$STACK_BUILD/t/unit/store/print_tables" statements)"
create a >/dev/null && verify a 1 >/dev/null

# ---- the first call of a generation

first_work() { # ID: "generation actor", one per line
	q "SELECT generation, actor FROM event WHERE what = 'delivery_accepted' AND session_id = '$(sid "$1")'
		ORDER BY id"
}
readonly EVERY=30
# Prints the row that `auth` got, and makes the call that the gate makes next.
let_in() { # ID ROW
	[ -z "${2##*|}" ] ||
		q "EXECUTE session_accepted('$(sid "$1")', '$(echo "$2" | cut -d'|' -f4)', 'tr', '${2##*|}')" >/dev/null
	echo "$2"
}
auth() { # HASH KIND ID [QUIET [PORT [NEEDS]]], at its own host: t/sql/hosts.t has others
	let_in "$3" "$(q "EXECUTE auth_session('$1', '$2', '$(sid "$3")', '$EVERY', '${4:-false}', 'tr', '${5:-}',
		'', 'r', '${6:-tenant}', 'h1')")" | cut -d'|' -f"${COLUMNS_OF_AUTH:-1-5}"
}
visit() { # ID PORT TOKEN [PROBE]
	let_in "$1" "$(q "EXECUTE auth_preview('$(sid "$1")', '$2', '$3', '$EVERY', '${4:-false}', 'tr', 'h1')")"
}

create n >/dev/null
auth hash-k key n >/dev/null
none "a session that is starting has first_work nothing" "$(first_work n)"
verify n 1 >/dev/null
auth hash-k key n true >/dev/null
auth hash-o key n >/dev/null
none "nor has one of which somebody only asks, or that is another's" "$(first_work n)"
auth hash-k key n >/dev/null
is "$(first_work n)" "1|gate:k/u" "the first call that is admitted is accepted, though it began a moment ago"
is "$(q "SELECT startup_deadline IS NULL, keep_warm_until > clock_timestamp() + interval '500 s'
	FROM lease WHERE session_id = '$(sid n)'")" "t|t" "and it stays warm as long as before"
must "UPDATE lease SET accepted_generation = 0, keep_warm_until = '2020-01-01' WHERE session_id = '$(sid n)'"
must "EXECUTE session_accepted('$(sid n)', '1', 'tr', 'gate')"
is "$(q "SELECT accepted_generation, keep_warm_until::date FROM lease WHERE session_id = '$(sid n)'")" "1|2020-01-01" \
	"no longer, if that is written late"
must "EXECUTE session_accepted('$(sid n)', '2', 'tr', 'gate'); EXECUTE session_accepted('$(sid n)', '0', 'tr', 'gate')"
is "$(first_work n | wc -l)" 2 "of another generation it is not written at all"
must "ALTER TABLE event DISABLE TRIGGER event_append_only; DELETE FROM event WHERE actor = 'gate';
	ALTER TABLE event ENABLE TRIGGER event_append_only;
	UPDATE lease SET keep_warm_until = clock_timestamp() + interval '600 s' WHERE session_id = '$(sid n)'"
auth hash-k key n >/dev/null
q "SELECT lease_apply('$(sid n)', 'reuse', '{\"instance\": \"i-n\", \"generation\": 1, \"seconds\": 60}')" >/dev/null
auth hash-k key n >/dev/null
is "$(first_work n)|$(q "SELECT startup_deadline IS NULL FROM lease WHERE session_id = '$(sid n)'")" \
	"1|gate:k/u|t" "once, though a reuse waits for work, too"
must "SELECT sessions_asked('{\"asked\": [{\"id\": \"$(sid n)\", \"generation\": 1, \"instance\": \"i-n\",
	\"busy\": false, \"cpu\": 0, \"moved\": false, \"askSeconds\": 60, \"warm\": false, \"accepted\": true}]}')"
is "$(first_work n)" "1|gate:k/u" "nor does the reaper's repair tell it again"
stop n sleep >/dev/null
restart n none 1 '"instance": "i2"' >/dev/null
verify n 2 '"instance": "i2"' >/dev/null
none "the next generation has first_work nothing yet" "$(first_work n | grep '^2')"
must "INSERT INTO port (session_id, port, token_hash, token_sealed) VALUES ('$(sid n)', 8080, 'th', 'x')"
visit n 8080 th >/dev/null
is "$(first_work n | tail -n 1)" "2|gate" "a visitor's request is work, too"
must "DELETE FROM lease WHERE session_id = '$(sid n)'; DELETE FROM session WHERE id = '$(sid n)'"

# ---- keys

is "$(auth hash-k key a)" "tenant|ready|owns_wrapper|1|" "a key sees its tenant's session"
is "$(auth hash-r key a)" "read|ready|owns_wrapper|1|" "the scope is told, for the caller to judge"
is "$(auth hash-l key a)" "tenant|ready|owns_wrapper|1|" "a key that ends later counts"
is "$(q "EXECUTE auth_session('cookie', 'login', '$(sid a)', '30', 'true', 'tr', '', '', 'r', 'read', 'h1')" | cut -d'|' -f7)" \
	k "the key's id is told, also of what stands for it"
is "$(q "EXECUTE keys_ended('[\"k\", \"v\", \"e\", \"l\", \"nobody\"]')" | sort | tr '\n' ' ')" "e nobody v " \
	"which keys count no more can be asked of many at once"
is "$(auth hash-o key a)" "tenant||||" "another tenant's session is not there"
is "$(auth hash-k key zz)" "tenant||||" "just as one that does not exist"
is "$(auth hash-e key a)" "||||" "an expired key is no key"
is "$(auth hash-v key a)" "||||" "nor is a revoked one"
is "$(auth nothing key a)" "||||" "nor one that never was"
is "$(auth cookie login a)" "tenant|ready|owns_wrapper|1|" "a login stands for its key"
is "$(auth cookie key a)|$(auth hash-k login a)" "|||||||||" "a login is not a key, nor a key a login"
is "$(auth old login a)|$(auth orphan login a)" "|||||||||" "a login ends by itself, and with its key"
is "$(q "EXECUTE auth_key('hash-r', 'key', 'r')")" "r|acme|acme|u||read|inherit|" "auth_key says who it is"
is "$(q "EXECUTE auth_key('hash-v', 'key', 'r')")$(q "EXECUTE auth_key('hash-e', 'key', 'r')")" "" \
	"and nothing of keys that are over"

# ---- activity: "seq|seconds since the last|seconds until sleep|startup deadline?"
# In tens of seconds, so that a machine that is slow for a moment changes nothing.

must "CREATE FUNCTION tens(i interval) RETURNS text LANGUAGE sql AS
	'SELECT coalesce((round(extract(epoch FROM i) / 10) * 10)::int::text, ''-'')'"
activity() {
	q "SELECT s.activity_seq, tens(clock_timestamp() - s.last_activity_at),
		tens(l.keep_warm_until - clock_timestamp()),
		l.startup_deadline IS NOT NULL
		FROM session s JOIN lease l ON l.session_id = s.id WHERE s.id = '$(sid a)'"
}
idle() { # SECONDS_SINCE SECONDS_UNTIL_SLEEP
	must "UPDATE session SET activity_seq = 0, last_activity_at = clock_timestamp() - interval '$1 s';
		UPDATE lease SET startup_deadline = NULL, keep_warm_until = clock_timestamp() + interval '$2 s'"
}
admit() { auth hash-k key a >/dev/null; }
idle 20 580 && admit
is "$(activity)" "0|20|580|f" "activity 20 s ago is fresh enough"
idle 40 560 && admit
is "$(activity)" "1|0|600|f" "after 40 s it is written, and sleep moves away"
admit
is "$(activity)" "1|0|600|f" "the next call writes nothing"
idle 20 50 && admit
is "$(activity)" "1|0|600|f" "when sleep is near it is written at once"
idle -10 50 && admit
is "$(activity)" "0|-10|50|f" "but not many times a second"
idle 40 3600 && admit
is "$(activity)" "1|0|3600|f" "a later end than that stays (extend)"
idle 10 300
must "UPDATE lease SET startup_deadline = clock_timestamp() + interval '60 s', accepted_generation = 0"
must "ALTER TABLE event DISABLE TRIGGER event_append_only; DELETE FROM event;
	ALTER TABLE event ENABLE TRIGGER event_append_only"
admit
is "$(activity)" "1|0|600|f" "the first work of a generation clears its startup deadline"
accepted_by() { q "SELECT actor, generation, trace_id, detail->>'to' FROM event WHERE what = 'delivery_accepted'"; }
is "$(accepted_by)" "gate:k/u|1|tr|owns_wrapper" "and is in the history: it was accepted"
idle 40 500 && admit
is "$(accepted_by | wc -l)" 1 "once"
must "UPDATE session SET extended_until = clock_timestamp() + interval '3600 s';
	UPDATE lease SET startup_deadline = clock_timestamp() + interval '60 s', keep_warm_until = NULL"
admit
is "$(activity | cut -d'|' -f3,4)" "3600|f" "it breaks no promise (extend)"
must "UPDATE session SET extended_until = NULL"
must "UPDATE session SET keep_alive = true"
idle 40 500 && admit
is "$(activity)" "1|0|-|f" "one that is kept alive has no end"
must "UPDATE session SET keep_alive = false"
idle 40 50 && auth hash-k key a true >/dev/null
is "$(activity)" "0|40|50|f" "a probe is no activity"
for key in hash-o hash-v hash-e nothing; do
	idle 40 50
	auth $key key a >/dev/null
	is "$(activity)" "0|40|50|f" "$key: who may not see it keeps nothing awake"
done
idle 40 50 && auth hash-r key a >/dev/null
is "$(activity)" "0|40|50|f" "nor does a key whose scope does not allow the call"
must "UPDATE lease SET startup_deadline = clock_timestamp() + interval '60 s'"
auth hash-r key a >/dev/null
is "$(activity)" "0|40|50|t" "nor is that work which was accepted"
idle 40 50 && auth hash-r key a false '' read >/dev/null
is "$(activity)" "1|0|600|f" "what a reader may do is activity"
must "UPDATE session SET reason = 'disk_low'"
idle 40 50
is "$(auth hash-k key a)|$(activity)" "tenant|ready|owns_wrapper|1||0|40|50|f" \
	"a call that is refused because the session is frozen is none"
is "$(COLUMNS_OF_AUTH=10 auth hash-k key a)" t "and says so"
must "UPDATE session SET reason = NULL"
is "$(COLUMNS_OF_AUTH=10 auth hash-k key a)" f "what is not does not"
idle 40 50
must "UPDATE lease SET state = 'stop_needed', reason = 'x', next_attempt_at = 'epoch'"
is "$(auth hash-k key a)|$(activity)" "tenant|ready|stop_needed|1||0|40|50|f" \
	"a lease that is to stop is told, and not kept warm"
must "UPDATE lease SET state = 'owns_wrapper'"

# ---- asking for more time

extend() { q "EXECUTE session_extend('$(sid a)', 'acme', '$1')" >/dev/null; }
idle 0 500 && extend 1000
is "$(activity)" "0|0|1000|f" "extend sets a later end"
extend 10
is "$(activity)" "0|0|1000|f" "and never an earlier one"
must "UPDATE session SET keep_alive = true; UPDATE lease SET keep_warm_until = NULL"
extend 10
is "$(activity)" "0|0|-|f" "one that is kept alive stays without an end"
must "UPDATE session SET keep_alive = false"
patch() { q "EXECUTE session_patch('$(sid a)', 'acme', '$1')" >/dev/null; }
idle 100 1000 && patch '{"labels": {"a": "b"}}'
is "$(activity)" "0|100|1000|f" "a patch of labels leaves its end alone"
patch '{"sleepAfterSeconds": 300}'
is "$(activity)" "0|100|1000|f" "a new idle time does not break what extend promised"
must "UPDATE session SET extended_until = NULL"
patch '{"sleepAfterSeconds": 300}'
is "$(activity)" "0|100|200|f" "a new idle time counts from the last activity"
patch '{"sleepAfterSeconds": 600}'
patch '{"maxRunSeconds": 60, "suspend": true}'
patch '{"labels": {}}'
is "$(q "SELECT max_run_seconds, suspend FROM session WHERE id = '$(sid a)'")" "60|t" \
	"what a patch does not name stays"
patch '{"maxRunSeconds": 0, "suspend": false}'
is "$(q "SELECT max_run_seconds IS NULL, suspend FROM session WHERE id = '$(sid a)'")" "t|f" \
	"a maximum of 0 is none"

# ---- previews

must "INSERT INTO port (session_id, port, token_hash, token_sealed, expires_at) VALUES
	('$(sid a)', 8080, 'token', 'x', NULL), ('$(sid a)', 8081, 'token', 'x', clock_timestamp())"
is "$(auth hash-k key a false 8080)" "tenant|ready|owns_wrapper|1|t" "a key may ask for an exposed port"
is "$(auth hash-k key a false 8081)$(auth hash-k key a false 0)" \
	"tenant|ready|owns_wrapper|1|ftenant|ready|owns_wrapper|1|f" "and hears of one that is not, or not any more"
is "$(auth hash-o key a false 8080)" "tenant||||" "another tenant's port is not there either"
for port in 8081 9000 0; do
	idle 40 50 && auth hash-k key a false $port >/dev/null
	is "$(activity)" "0|40|50|f" "and keeps nothing awake by asking for port $port"
done
idle 40 50 && auth hash-k key a false 8080 >/dev/null
is "$(activity)" "1|0|600|f" "an exposed port is activity"
preview() { # PORT TOKEN
	visit a "$1" "$2" "${3:-false}" | sed 's/|$//'
}
is "$(preview 8080 token | cut -d'|' -f1-10)" "token|ready|owns_wrapper|1|f|acme|||f|localhost" "a preview's token"
is "$(preview 8081 token)$(preview 9000 token)" "" "a port that ended, or never was, is not there"
idle 40 50 && preview 8080 token >/dev/null
is "$(activity)" "1|0|600|f" "a preview is activity"
must "UPDATE lease SET startup_deadline = clock_timestamp() + interval '60 s', accepted_generation = 0"
preview 8080 token >/dev/null
is "$(accepted_by | tail -n 1)" "gate|1|tr|owns_wrapper" "and may be the first work of a generation"
idle 40 50 && preview 8080 token true >/dev/null
is "$(activity)" "0|40|50|f" "but a probe"
idle 40 50 && preview 8080 guess >/dev/null
is "$(activity)" "0|40|50|f" "a wrong token is not"
idle 40 3600 && preview 8080 token >/dev/null
is "$(activity)" "1|0|3600|f" "nor does it bring sleep nearer"

# ---- activity that only the wrapper knows: it did something SECONDS ago

was_active() { # GENERATION SECONDS_AGO
	q "EXECUTE session_was_active('$(sid a)', '$1', '$(($2 * 1000))', '$EVERY')"
}
idle 700 -100
is "$(was_active 1 100)|$(activity)" "t|1|100|500|f" "news from the wrapper move its sleep"
idle 700 -100
is "$(was_active 1 650)|$(activity)" "f|1|650|-50|f" "but not when they are older than its idle time"
idle 700 -100
is "$(was_active 2 100)|$(activity)" "f|0|700|-100|f" "nor another generation's"
idle 40 -100
is "$(was_active 1 20)|$(activity)" "f|0|40|-100|f" "what the row may not have written is no news"

# ---- the reaper's repair: there is work, but the startup deadline is still set

idle 40 50
must "UPDATE lease SET startup_deadline = clock_timestamp() - interval '1 s'"
late() { q "EXECUTE due_starts('h1', 'b1', '-infinity', '', '10')" | cut -d'|' -f1-3; }
accepted() { # GENERATION
	q "EXECUTE sessions_asked('{\"asked\": [{\"id\": \"$(sid a)\", \"generation\": $1,
		\"instance\": \"i-a\", \"busy\": true, \"cpu\": 1, \"moved\": true,
		\"askSeconds\": 60, \"warm\": true, \"accepted\": true}]}')" >/dev/null
}
is "$(late)" "$(sid a)|1|i-a" "a start that is late"
accepted 2
is "$(late)" "$(sid a)|1|i-a" "is not repaired by another generation's work"
accepted 1
is "$(late)|$(activity | cut -d'|' -f3,4)" "|600|f" "but by its own"
is "$(q "EXECUTE due_starts('h2', 'b1', '-infinity', '', '10')")" "" "another host has nobody to ask"

done_testing
