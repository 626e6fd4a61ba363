#!/bin/bash
# Tests that events name the actor, the reason and the duration, never change, and
# wake waiting clients; and that the audit log counts refusals and stays small.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants

# told ID COLUMNS: these columns of the session's events, one event per line.
told() {
	q "SELECT $2 FROM event WHERE session_id = '$(sid "$1")' ORDER BY id"
}
one_line() { paste -sd' '; }

# ---- actor, reason, generation

WHO='"actor": "key:k/u"'
create a "$WHO" >/dev/null
verify a 1 "$WHO, \"trace\": \"t2\"" >/dev/null
is "$(told a "kind, what, actor, coalesce(generation::text, '-'), trace_id" | one_line)" \
	"state|initializing|key:k/u|-|t lease|allocate|key:k/u|1|t lease|startup_verified|key:k/u|1|t2 lease|retain_warm|key:k/u|1|t2 state|ready|key:k/u|1|t2" \
	"a start: each event names who, its generation and its trace"
is "$(q "SELECT count(*) FROM session WHERE actor IS NOT NULL")" 0 \
	"nobody is left in a row, to be named again"
request a sleep idle-timeout '"actor": "reaper", "trace": "t3"' >/dev/null
q "SELECT session_stop_begin('$(sid a)', '{\"attempt\": \"x\", \"seconds\": 45, \"trace\": \"t3\"}')" >/dev/null
q "SELECT session_stop_end('$(sid a)', '{\"attempt\": \"x\", \"absent\": true, \"trace\": \"t3\"}')" >/dev/null
is "$(told a "what, reason, actor" | tail -n 5 | one_line)" \
	"request_stop|idle-timeout|reaper sleeping|idle-timeout|reaper begin_stop_attempt|idle-timeout|main stop_absent|idle-timeout|main asleep|idle-timeout|main" \
	"a stop: why to its end; who says nothing is the program that is connected"
must "SET application_name = 'sandlease-reaper'"
must "UPDATE session SET state = 'initializing' WHERE id = '$(sid a)';
	UPDATE session SET state = 'failed', reason = 'x' WHERE id = '$(sid a)'"
is "$(told a actor | tail -n 1)" reaper "a program is known by its name"
must "SET application_name = 'main'"

# ---- how long

must "ALTER TABLE event DISABLE TRIGGER event_append_only; TRUNCATE event;
	UPDATE lease SET changed_at = clock_timestamp() - interval '90 s', state = 'none';
	UPDATE session SET state_at = clock_timestamp() - interval '60 s';
	ALTER TABLE event ENABLE TRIGGER event_append_only"
restart a none 1 >/dev/null
is "$(told a "what, duration_ms / 10000" | one_line)" "initializing|6 allocate|9" \
	"a transition says how long the last state lasted"

# ---- steps

STEPS='"steps": [{"what": "workspace", "ms": 2, "ago": 30, "how": "kept"},
	{"what": "sandbox", "ms": 20, "ago": 10, "how": "started"},
	{"what": "ready", "ms": 5, "ago": 0, "how": "proved"}]'
must "TRUNCATE event"
verify a 2 "$STEPS, $WHO, \"trace\": \"t4\", \"incarnation\": \"inc2-a\"" >/dev/null
is "$(told a "what, duration_ms, generation, actor, trace_id, detail->>'how'" | sed -n 1,3p | one_line)" \
	"workspace|2|2|key:k/u|t4|kept sandbox|20|2|key:k/u|t4|started ready|5|2|key:k/u|t4|proved" \
	"the steps of a start come with its outcome"
is "$(told a what | tail -n 3 | one_line)" "startup_verified retain_warm ready" "and before it"
is "$(q "SELECT bool_and(at <= next) FROM (SELECT at, lead(at) OVER (ORDER BY id) AS next FROM event) x
	WHERE next IS NOT NULL")" t "ids and times agree"
must "SELECT event_steps('$(sid a)', '{\"generation\": 2, \"steps\": [
	{\"what\": \"workspace\", \"ms\": 2, \"ago\": 3600000},
	{\"what\": \"ready\", \"ms\": 5, \"ago\": 1800000}]}')"
is "$(q "SELECT bool_and(at <= next) FROM (SELECT at, lead(at) OVER (ORDER BY id) AS next FROM event) x
	WHERE next IS NOT NULL")" t "also when something else was written after a step had ended"
create b >/dev/null
must "TRUNCATE event"
request b fail startup-failed '"say": "no room", "generation": 1, "steps": [
	{"what": "workspace", "ms": 1, "ago": 7, "how": "made"},
	{"what": "sandbox", "ms": 7, "ago": 0, "error": "no room"}]' >/dev/null
is "$(told b "kind, what, coalesce(reason, '-')" | one_line)" \
	"step|workspace|- step|sandbox|no room lease|request_stop|startup-failed state|failed|no room" \
	"a start that fails tells its steps, too, and which one it was"

# ---- append only

is "$(q "UPDATE event SET what = 'nothing'")" "ERROR:  SX500" "an event cannot be changed"
is "$(q "DELETE FROM event WHERE session_id = '$(sid b)'")" "ERROR:  SX500" "nor taken away"
must "INSERT INTO event (session_id, at, kind, what) VALUES
	('old', clock_timestamp() - interval '3 days', 'state', 'x'),
	('old', clock_timestamp() - interval '3 hours', 'state', 'y')"
is "$(q "DELETE FROM event WHERE session_id = 'old' AND what = 'x'
	RETURNING what")" x "until it is old"
is "$(q "DELETE FROM event WHERE session_id = 'old'")" "ERROR:  SX500" "a day at least"

# ---- the limit of events

many() { # HOW MANY: of session b, each in a statement of its own, as in life
	must "DO \$\$ BEGIN FOR i IN 1..$1 LOOP
		INSERT INTO event (session_id, kind, what, detail) VALUES
			('$(sid b)', 'lease', 'reuse', jsonb_build_object('n', i)); END LOOP; END \$\$"
}
must "TRUNCATE event"
must "INSERT INTO event (session_id, kind, what) VALUES ('other', 'lease', 'reuse')"
many 5000
kept=$(q "SELECT count(*) FROM event WHERE session_id = '$(sid b)'")
# with one event in 64 the oldest go; that 1,000 in a row do not is one chance in seven million
ok "a session keeps its newest events, not all" test "$kept" -le 2000
ok "a thousand at least" test "$kept" -ge 1000
is "$(q "SELECT max((detail->>'n')::int), min((detail->>'n')::int) FROM event WHERE session_id = '$(sid b)'")" \
	"5000|$((5001 - kept))" "the newest ones, without a gap"
is "$(q "SELECT count(*) FROM event WHERE session_id = 'other'")" 1 "another session's stay"
create e >/dev/null
verify e 1 >/dev/null
stop e delete >/dev/null
must "SELECT session_deleted('$(sid e)')"
ok "a deleted session keeps its events" test "$(told e what | wc -l)" -gt 5
must "DELETE FROM session WHERE id = '$(sid e)'"
is "$(told e what)" "" "they go with its row"

# ---- events that the reaper removes of a tenant that has too many

must "$("$STACK_BUILD/t/unit/store/print_tables" statements)"
forget() { q "EXECUTE forget_old('90', '100', '$1')"; }
for id in f1 f2 f3; do
	create $id >/dev/null
	stop $id delete >/dev/null
	must "SELECT session_deleted('$(sid $id)')"
	must "UPDATE session SET ended_at = clock_timestamp() - interval '${id#f} hours' WHERE id = '$(sid $id)'"
done
gone() { q "SELECT string_agg(left(id, 2), ' ' ORDER BY id) FROM session WHERE id LIKE 'f_00%'"; }
is "$(forget 0)|$(gone)" "0|f1 f2 f3" "0 is any number of deleted sessions"
is "$(forget 3)|$(gone)" "0|f1 f2 f3" "so many may stay"
is "$(forget 2)|$(gone)" "1|f1 f2" "of one more the oldest goes"
is "$(q "SELECT count(*) FROM lease WHERE session_id = '$(sid f3)'")|$(told f3 what | wc -l)" "0|0" \
	"with its lease and its events"
is "$(look a | cut -d'|' -f1)" ready "one that is not deleted stays"
must "INSERT INTO idempotency (tenant, user_id, key, hash, session_id, created_at)
	SELECT 'acme', 'u', 'k' || i, 'h', 's', clock_timestamp() - interval '1 hour' + make_interval(secs => i / 100.0)
	FROM generate_series(1, 100005) i"
must "INSERT INTO idempotency (tenant, user_id, key, hash, session_id) VALUES ('other', 'u', 'k', 'h', 's')"
forget 0 >/dev/null
is "$(q "SELECT tenant, count(*), min(substr(key, 2)::int) FROM idempotency WHERE key <> 'k' GROUP BY tenant")" \
	"acme|100000|6" "of its idempotency keys a tenant keeps the newest 100,000"
is "$(q "SELECT count(*) FROM idempotency WHERE tenant = 'other'")" 1 "and another one its own"
must "INSERT INTO api_key (id, tenant, org, user_id, scope, hash) VALUES
	('busy', 'acme', 'acme', 'u', 'tenant', 'h-busy'), ('quiet', 'acme', 'acme', 'u', 'tenant', 'h-quiet')"
must "INSERT INTO login (hash, key_id, expires_at)
	SELECT 'l' || i, CASE WHEN i <= 1005 THEN 'busy' ELSE 'quiet' END, clock_timestamp() + make_interval(mins => i)
	FROM generate_series(1, 1006) i"
forget 0 >/dev/null
is "$(q "SELECT key_id, count(*), min(substr(hash, 2)::int) FROM login GROUP BY 1 ORDER BY 1" | xargs)" \
	"busy|1000|6 quiet|1|1006" "a key keeps its newest 1,000 logins, and another its own"

# ---- waiting

pg_open ear
pg_open writer
notified() { # psql prints its notifications after a statement
	ask ear "SELECT 1" | sed -nE 's/.*notification "([^"]*)".*/\1/p'
}
must "TRUNCATE event"
ask ear "LISTEN \"sandlease_$(sid b)\"" >/dev/null
must "INSERT INTO event (session_id, kind, what) VALUES ('$(sid b)', 'agent', 'died')"
none "nobody waits: nobody is told" "$(notified)"
waiter=$(ask ear "SELECT event_wait('$(sid b)', 'acme', 30)")
ok "a waiter has a number" test "$waiter" -gt 0
must "INSERT INTO event (session_id, kind, what) VALUES ('$(sid b)', 'agent', 'died'),
	('$(sid b)', 'agent', 'died')"
is "$(notified)" "sandlease_$(sid b)" "who waits is told, once a transaction"
must "INSERT INTO event (session_id, kind, what) VALUES ('$(sid a)', 'agent', 'died')"
none "of its own session only" "$(notified)"
must "UPDATE event_waiter SET until = clock_timestamp() - interval '1 s'"
must "INSERT INTO event (session_id, kind, what) VALUES ('$(sid b)', 'agent', 'died')"
none "and not when its time is over" "$(notified)"
is "$(q "SELECT event_wait('$(sid b)', 'other', 30)")" "" "another tenant's session cannot be waited for"
is "$(q "SELECT count(*) FROM event_waiter")" 0 "what a crash left is taken away by the next one"

# A writer that did not see the waiter commits before the waiter looks.
ask writer "BEGIN" >/dev/null
ask writer "SELECT lease_apply('$(sid b)', 'begin_stop_attempt', '{\"attempt\": \"w\", \"seconds\": 45}')" >/dev/null
tell ear "SELECT event_wait('$(sid b)', 'acme', 30)"
ok "a waiter waits for a writer under way" stands ear
ask writer "COMMIT" >/dev/null
hear ear >/dev/null
is "$(ask ear "SELECT what FROM event WHERE session_id = '$(sid b)' ORDER BY id DESC LIMIT 1")" \
	begin_stop_attempt "and then sees what it wrote"

# ---- the audit log

audit() { must "SELECT audit_note('{$1, \"from\": \"1.2.3.4\", \"trace\": \"tr\"}')"; }
# counts are by the minute: the end of a minute during the test must not matter
rows() { # [MEMBER]
	local more="coalesce(detail->>'${1:-times}', '')"
	[ $# -gt 0 ] || more='left(kind, 0)'
	q "SELECT concat_ws('|', kind, severity, coalesce(tenant, '-'), coalesce(subject, '-'),
		sum((detail->>'times')::int), nullif($more, ''))
		FROM audit GROUP BY kind, severity, tenant, subject, $more ORDER BY min(id)" | one_line
}
must "UPDATE api_key SET revoked_at = clock_timestamp() WHERE id = 'o'"
must "INSERT INTO api_key (id, tenant, org, user_id, scope, hash, expires_at) VALUES
	('e', 'other', 'other', 'u', 'tenant', 'hash-e', 'epoch'),
	('p', 'other', 'other', 'u', 'tenant', 'hash-p', NULL)"
audit '"note": "key", "hash": "0123456789abcdef", "login": false'
audit '"note": "key", "hash": "0123456789abcdef", "login": false'
audit '"note": "key", "hash": "hash-o", "login": false'
audit '"note": "key", "hash": "hash-e", "login": false'
audit '"note": "key", "login": false'
is "$(rows why)" \
	"key_refused|warning|-|01234567|2|unknown key_refused|warning|other|o|1|revoked key_refused|info|other|e|1|expired key_refused|warning|-|-|1|malformed" \
	"keys that do not count: ours by id, others by eight digits of their hash, counted"
is "$(q "SELECT DISTINCT trace_id, detail->>'from' FROM audit")" "tr|1.2.3.4" "with trace and address"

fresh() { must "TRUNCATE audit"; }
fresh
audit "\"note\": \"session\", \"session\": \"$(sid a)\", \"keyId\": \"p\""
audit "\"note\": \"session\", \"session\": \"$(sid a)\", \"hash\": \"hash-p\", \"login\": false"
audit "\"note\": \"session\", \"session\": \"$(sid z)\", \"keyId\": \"p\""
audit "\"note\": \"session\", \"session\": \"$(sid a)\", \"keyId\": \"k\""
is "$(rows keyId)" "session_foreign|warning|acme|$(sid a)|2|p" \
	"a foreign session: its owner hears of it; none, or one's own, is no event"

fresh
must "INSERT INTO port (session_id, port, token_hash, token_sealed) VALUES ('$(sid a)', 8080, 'th', 'x')"
audit "\"note\": \"preview\", \"session\": \"$(sid a)\", \"port\": \"8080\", \"hash\": \"fedcba9876543210\""
audit "\"note\": \"preview\", \"session\": \"$(sid a)\", \"port\": \"8081\", \"hash\": \"fedcba9876543210\""
audit "\"note\": \"preview\", \"session\": \"$(sid z)\", \"port\": \"8080\", \"hash\": \"fedcba9876543210\""
audit "\"note\": \"port\", \"session\": \"$(sid a)\", \"port\": 3128, \"tenant\": \"acme\", \"keyId\": \"k\""
is "$(rows)" \
	"preview_token_refused|warning|acme|fedcba98|1 port_refused|warning|acme|$(sid a):8081|1 preview_token_refused|warning|-|fedcba98|1 port_refused|warning|acme|$(sid a):3128|1" \
	"previews: a wrong token by its hash, a port that is not exposed by its number"

fresh
must "SELECT audit_key(md5(i::text), false, '{}') FROM generate_series(1, 500) i"
must "SELECT audit_key(md5(i::text), false, '{}') FROM generate_series(1, 500) i"
ok "a flood of a thousand keys is a dozen rows" test \
	"$(q "SELECT count(*) FROM audit")" -le 22
is "$(q "SELECT sum((detail->>'times')::int) FROM audit")" 1000 "and none is forgotten"
is "$(q "SELECT DISTINCT subject FROM audit WHERE (detail->>'times')::int > 2")" "*" "the rest is one"
audit '"note": "key", "hash": "hash-o", "login": false'
is "$(q "SELECT count(*) FROM audit WHERE tenant = 'other'")" 1 \
	"a flood of strangers hides no tenant's own"

is "$(q "UPDATE audit SET kind = 'nothing'")" "ERROR:  SX500" "a row cannot be changed"
is "$(q "UPDATE audit SET detail = '{\"times\": 1, \"why\": \"other\"}'")" "ERROR:  SX500" "but for its count"
is "$(q "DELETE FROM audit")" "ERROR:  SX500" "nor taken away"

done_testing
