#!/bin/bash
# Tests that a ticket is for one session, one purpose and one request, within a
# minute, and only as long as its key is valid.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
open_two
statements=$("$STACK_BUILD/t/unit/store/print_tables" statements)
for connection in main one two; do
	ask $connection "$statements" >/dev/null
done
create a >/dev/null && verify a 1 >/dev/null
create b >/dev/null && verify b 1 >/dev/null

readonly YES="tenant|ready|owns_wrapper|1|" NO="||||"

make_sql() { # HASH [SESSION [PURPOSE [TENANT [KEY [MOST]]]]]
	printf "EXECUTE ticket_create('%s', '%s', '%s', '%s', '%s', '60', '%s')" "$1" \
		"$(sid "${2:-a}")" "${4:-acme}" "${5:-k}" "${3:-terminal}" "${6:-100}"
}
make() { q "$(make_sql "$@")"; }
auth_sql() { # HASH REQUEST [SESSION [PURPOSE [KIND]]]
	printf "EXECUTE auth_session('%s', '%s', '%s', '30', 'false', 'tr', '', '%s', '%s', 'tenant', 'h1')" \
		"$1" "${5:-ticket}" "$(sid "${3:-a}")" "${4-terminal}" "$2"
}
auth() { q "$(auth_sql "$@")" | cut -d'|' -f1-5; }
who() { q "EXECUTE auth_key('$1', '${3:-ticket}', '$2')" | cut -d'|' -f1; } # HASH REQUEST [KIND]
used_by() { q "SELECT coalesce(used_by, '-') FROM ticket WHERE hash = '$1'"; }

# ---- making one

ends=$(make t1)
is "$(q "SELECT extract(epoch FROM '$ends'::timestamptz - clock_timestamp()) BETWEEN 50 AND 60")" t \
	"a ticket says until when it counts: a minute"
is "$(make t2 a terminal other o)" "ERROR:  SX404" "another tenant's session has none"
is "$(make t2 zz)" "ERROR:  SX404" "nor has one that does not exist"
create gone >/dev/null && verify gone 1 >/dev/null && make t-gone gone >/dev/null
stop gone delete >/dev/null
is "$(make t3 gone)" "ERROR:  SX413" "nor one that is being deleted"
is "$(auth t-gone r gone)" "tenant|deleting|none|1|" "whose tickets show no more than its state"
must "UPDATE session SET state = 'deleted' WHERE id = '$(sid gone)'"
is "$(auth t-gone r gone)" "tenant|deleted|none|1|" "also when it is gone"
create lost >/dev/null && must "UPDATE session SET state = 'lost' WHERE id = '$(sid lost)'"
is "$(make t3 lost)" "ERROR:  SX414" "nor one whose files are lost"

# ---- using it

is "$(who t1 r1)" "" "it stands for nobody before it is taken"
is "$(auth t1 r1 b)$(auth t1 r1 a ws)$(auth t1 r1 a '')" "$NO$NO$NO" \
	"it opens no other session, and nothing but what it is for"
is "$(auth t1 r1 a terminal key)$(auth t1 r1 a terminal login)" "$NO$NO" "it is no key and no login"
is "$(auth hash-k r1)" "$NO" "nor is a key a ticket"
is "$(used_by t1)" - "none of that uses it up"
is "$(auth t1 r1)" "$YES" "it opens what it is for"
is "$(auth t1 r2)" "$NO" "once"
is "$(auth t1 r1)$(who t1 r1)" "${YES}k" "to that one request, as often as it has to ask"
is "$(who t1 r2)$(who t1 r1 key)" "" "and to nobody else"
must "UPDATE ticket SET expires_at = clock_timestamp() - interval '1 s' WHERE hash = 't1'"
is "$(auth t1 r1)$(who t1 r1)" "${YES}k" "however long its session takes to wake up"
make t4 >/dev/null && must "UPDATE ticket SET expires_at = clock_timestamp() WHERE hash = 't4'"
is "$(auth t4 r1)$(used_by t4)" "$NO-" "one that is over opens nothing"
is "$(auth never r1)" "$NO" "nor one that never was"

# ---- its key

must "INSERT INTO api_key (id, tenant, org, user_id, scope, hash) VALUES
	('v', 'acme', 'acme', 'u', 'tenant', 'hash-v'), ('e', 'acme', 'acme', 'u', 'tenant', 'hash-e')"
for key in v e; do
	make "t-$key" a terminal acme $key >/dev/null
	make "u-$key" a terminal acme $key >/dev/null
	is "$(auth t-$key r1)" "$YES" "a ticket of key $key"
done
must "UPDATE api_key SET revoked_at = clock_timestamp() WHERE id = 'v';
	UPDATE api_key SET expires_at = clock_timestamp() WHERE id = 'e'"
is "$(auth t-v r1)$(auth u-v r2)$(who t-v r1)" "$NO$NO" "is over when the key is revoked"
is "$(auth t-e r1)$(auth u-e r2)$(who t-e r1)" "$NO$NO" "and when it ends"

# ---- a call with a ticket is activity of its key

make t5 >/dev/null
must "UPDATE lease SET startup_deadline = clock_timestamp() + interval '60 s'"
auth t5 r1 >/dev/null
is "$(q "SELECT actor FROM event WHERE what = 'delivery_accepted' ORDER BY id DESC LIMIT 1")" gate:k/u \
	"what it opens is activity of its key's user"

# ---- two at once

make t6 >/dev/null
behind "$(auth_sql t6 r1)" "$(auth_sql t6 r2)" "two requests with one ticket"
is "$(cut -d'|' -f1-5 <<<"$ONE")|$(cut -d'|' -f1-5 <<<"$TWO")|$(used_by t6)" "$YES|$NO|r1" "the first has it"
must "DELETE FROM ticket"
make t7 >/dev/null
behind "$(make_sql t8 a terminal acme k 2)" "$(make_sql t9 a terminal acme k 2)" "two that take the last place"
is "${ONE:0:2}|$TWO" "20|ERROR:  SX420" "the second is one too many"

# ---- how many

is "$(make t9 a ws acme k 2)" "ERROR:  SX420" "so many at a time, whatever they are for"
is "$(make t9 b terminal acme k 2 | cut -c1-2)" 20 "another session has its own"
auth t7 r1 >/dev/null
is "$(make u1 a terminal acme k 2)" "ERROR:  SX420" "one that was used counts as long as it would"
must "UPDATE ticket SET expires_at = clock_timestamp() WHERE hash = 't7'"
is "$(make u1 a terminal acme k 2 | cut -c1-2)" 20 "one that is over makes room"
detail=$(q "DO \$\$ DECLARE d text; BEGIN
	PERFORM ticket_create('x', '$(sid a)', 'acme', 'k', 'terminal', 60, 2);
	EXCEPTION WHEN SQLSTATE 'SX420' THEN
	GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL;
	PERFORM set_config('test.detail', d, false); END \$\$;
	SELECT (current_setting('test.detail')::jsonb->>'retryAfter')::int BETWEEN 1 AND 60")
is "$detail" t "who is refused hears when there is room again"

# ---- refusals in the audit log

must "DELETE FROM ticket"
for t in used over bound apart key; do
	make "$t-0123456789" >/dev/null
done
auth used-0123456789 r1 >/dev/null
must "UPDATE ticket SET expires_at = clock_timestamp() WHERE hash LIKE 'over-%';
	UPDATE ticket SET key_id = 'v' WHERE hash LIKE 'key-%'"
refused() { # HASH SESSION
	must "EXECUTE audit_note('{\"note\": \"ticket\", \"session\": \"$(sid "$2")\", \"hash\": \"$1\",
		\"trace\": \"tr\", \"from\": \"1.2.3.4\"}')"
	q "SELECT severity, coalesce(tenant, '-'), subject, trace_id, detail->>'from', detail->>'why' FROM audit
		WHERE kind = 'ticket_refused' AND detail->>'session' = '$(sid "$2")' ORDER BY id DESC LIMIT 1"
}
is "$(refused used-0123456789 a)" "warning|acme|used-012|tr|1.2.3.4|used" "one that was used, by its hash"
is "$(refused over-0123456789 a)" "info|acme|over-012|tr|1.2.3.4|expired" "one that came too late"
is "$(refused bound-0123456789 b)" "warning|acme|bound-01|tr|1.2.3.4|other_session" "another session's"
is "$(refused apart-0123456789 a)" "warning|acme|apart-01|tr|1.2.3.4|other_purpose" "for something else"
is "$(refused key-0123456789 a)" "warning|acme|key-0123|tr|1.2.3.4|key_over" "one whose key is over"
is "$(refused unknown-01234567 a)" "warning|acme|unknown-|tr|1.2.3.4|unknown" "one that never was"
is "$(refused unknown-01234567 zz)" "warning|-|unknown-|tr|1.2.3.4|unknown" "for a session that never was"

# ---- the end

must "UPDATE ticket SET expires_at = clock_timestamp() - interval '6 minutes' WHERE hash LIKE 'over-%'"
must "UPDATE ticket SET expires_at = clock_timestamp() - interval '1 minute' WHERE hash LIKE 'used-%'"
q "EXECUTE forget_old('7', '100', '0')" >/dev/null
is "$(q "SELECT string_agg(hash, ' ' ORDER BY hash) FROM ticket")" \
	"apart-0123456789 bound-0123456789 key-0123456789 used-0123456789" \
	"the reaper forgets what is over, but for what a request may still come with"
must "DELETE FROM session WHERE id = '$(sid a)'"
is "$(q "SELECT count(*) FROM ticket")" 0 "and a session's with the session"

done_testing
