#!/bin/bash
# Tests races of two connections, step by step: a transaction that waited is judged
# by the rows as they are then.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
open_two

ready() { # ID
	create "$1" >/dev/null && verify "$1" 1 >/dev/null
}
lease_sql() { # ID EVENT JSON
	printf "SELECT now_state, applied, coalesce(why, '-') FROM lease_apply('%s', '%s', '{%s}')" \
		"$(sid "$1")" "$2" "$3"
}

# ---- leases

ready a
behind "$(lease_sql a request_stop '"reason": "first"')" \
	"$(lease_sql a owned_absent '"instance": "i-a", "generation": 1')" \
	"an event behind a stop"
is "$ONE|$TWO" "stop_needed|t|-|stop_needed|f|owned_absent is not possible while the lease is stop_needed" \
	"is judged by the new row"

ready b
behind "$(lease_sql b request_stop '"reason": "first"')" \
	"$(lease_sql b request_stop '"reason": "second"')" "two stops"
is "$TWO|$(q "SELECT reason FROM lease WHERE session_id = '$(sid b)'")" "stop_needed|t|-|first" \
	"keep the first one's reason"

# The transaction of two began before one's request: by now() of two that request
# lies in the future, but by the clock after the lock it is due.
ready c
ask two "BEGIN; SELECT now() IS NULL" >/dev/null
behind "$(lease_sql c request_stop '"reason": "x"')" \
	"$(lease_sql c begin_stop_attempt '"attempt": "a", "seconds": 45'); COMMIT" \
	"an attempt behind its own request"
is "$TWO" "stopping|t|-" "finds it due"

ready d
must "$(lease_sql d request_stop '"reason": "x"')"
behind "$(lease_sql d begin_stop_attempt '"attempt": "one", "seconds": 45')" \
	"$(lease_sql d begin_stop_attempt '"attempt": "two", "seconds": 45')" \
	"two attempts"
is "$ONE|$TWO" "stopping|t|-|stopping|f|begin_stop_attempt is not possible while the lease is stopping" \
	"never run side by side"

restart_sql() { # ID STATE GENERATION INSTANCE
	printf "SELECT disposition, generation FROM session_restart('%s', '%s')" "$(sid "$1")" \
		"$(spec "$1" "\"seenState\": \"$2\", \"seenGeneration\": $3, \"instance\": \"$4\"")"
}
ready e
behind "$(restart_sql e owns_wrapper 1 mine)" "$(restart_sql e owns_wrapper 1 yours)" \
	"two starts after one look each"
is "$ONE|$TWO" "restarted|2|ERROR:  SX412" "make one generation, owned once"
is "$(q "SELECT generation, instance FROM lease WHERE session_id = '$(sid e)'")" "2|mine" \
	"and the first has it"
behind "$(restart_sql e owns_wrapper 2 next)" \
	"SELECT session_verified('$(sid e)', '{\"instance\": \"mine\", \"generation\": 2, \"sandbox\": \"ses-e\", \"incarnation\": \"inc-e\", \"seconds\": 60}')" \
	"a proof behind the next start"
is "$TWO|$(look e)" "f|initializing|owns_wrapper|3" "comes too late"

ready f
behind "SELECT session_request_stop('$(sid f)', 'delete', '{\"reason\": \"session-delete\"}')" \
	"$(restart_sql f owns_wrapper 1 mine)" "a start behind a delete"
is "$ONE|$TWO" "deleting|ERROR:  SX413" "is refused"

ready g
behind "UPDATE session SET activity_seq = activity_seq + 1 WHERE id = '$(sid g)'" \
	"SELECT session_request_stop('$(sid g)', 'sleep', '{\"reason\": \"idle-timeout\", \"seenActivity\": 0}')" \
	"an idle stop behind a request"
is "$TWO|$(look g)" "ready|ready|owns_wrapper|1" "is dropped"

# ---- creates

key='"idempotencyKey": "key", "requestHash": "h"'
behind "$(create_sql h1 "$key")" "$(create_sql h2 "$key")" "two creates with one key"
is "$ONE|$TWO" "created|$(sid h1)|replayed|$(sid h1)" "make one session"
is "$(look h2)|$(box h2)" "|" "and one sandbox"
behind "$(create_sql h3 '"idempotencyKey": "k3", "requestHash": "h"')" \
	"$(create_sql h4 '"idempotencyKey": "k3", "requestHash": "g"')" "two bodies with one key"
is "$TWO" "ERROR:  SX410" "are one too many"
behind "$(create_sql i1 '"name": "n"')" "$(create_sql i2 '"name": "n"')" "two creates with one name"
is "$ONE|$TWO" "created|$(sid i1)|found|$(sid i1)" "make one session"

# Two has written its key and waits for the name when one makes the session.
named='"name": "late"' key='"name": "late", "idempotencyKey": "k5", "requestHash": "h"'
ask one "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('$(q "SELECT tenant FROM session WHERE id = '$(sid i1)'")/late', 1))" >/dev/null
tell two "$(create_sql i4 "$key")"
ok "a create with a key and a name: it waits for the name" stands two
ask one "$(create_sql i3 "$named")" >/dev/null
ask one COMMIT >/dev/null
is "$(hear two)|$(q "$(create_sql i5 "$key")")" "found|$(sid i3)|replayed_found|$(sid i3)" \
	"what it finds is older than its key all the same"

# Two has found by its name a session whose start failed, and waits for the key.
# Meanwhile another create deletes that session, to replace it.
create n1 '"name": "again"' >/dev/null
stop n1 fail >/dev/null
ask one "BEGIN; SELECT keys_lock('acme', '{again}')" >/dev/null
tell two "$(create_sql n2 '"name": "again", "correlationKeys": ["again"]')"
ok "a create of a name that failed: it waits for its key" stands two
is "$(look n1)|$(request n1 delete session-delete)" "failed|none|1|deleting" \
	"it is replaced meanwhile"
ask one COMMIT >/dev/null
is "$(hear two)" "created|$(sid n2)" "what is being deleted is not found"

# A key whose first create is rolled back is as if it had never been used.
ask one BEGIN >/dev/null
ask one "$(create_sql j1 '"idempotencyKey": "k4", "requestHash": "h"')" >/dev/null
tell two "$(create_sql j2 '"idempotencyKey": "k4", "requestHash": "other"')"
ok "a create behind one that fails: one waits for the other" stands two
ask one ROLLBACK >/dev/null
is "$(hear two)" "created|$(sid j2)" "gets the key"

# ---- previews

for c in main one two; do
	ask $c "$("$STACK_BUILD/t/unit/store/print_tables" statements)" >/dev/null
done
expose_sql() { # ID
	printf "EXECUTE port_expose('%s', 'acme', '8080', NULL, 'h', 's', NULL, 'false', NULL, NULL)" "$(sid "$1")"
}
ports() { q "SELECT count(*) FROM port WHERE session_id = '$(sid "$1")'"; }
delete_sql() { # ID
	printf "SELECT session_request_stop('%s', 'delete', '{\"reason\": \"session-delete\"}')" "$(sid "$1")"
}
ready p
behind "$(delete_sql p)" "$(expose_sql p)" "a preview behind a delete"
is "$TWO|$(ports p)" "|0" "is refused, and not counted for ever"
ready q
behind "$(expose_sql q)" "$(delete_sql q)" "a delete behind a preview"
is "$TWO|$(ports q)" "deleting|0" "ends it"
ready r
must "$(expose_sql r)"
must "UPDATE port SET expires_at = clock_timestamp() - interval '1 s' WHERE session_id = '$(sid r)'"
behind "$(expose_sql r)" "EXECUTE ports_expire('10')" "a clean-up behind one that is exposed again"
is "$TWO|$(ports r)" "|1" "leaves it"
must "UPDATE port SET expires_at = clock_timestamp() - interval '1 s' WHERE session_id = '$(sid r)'"
is "$(q "EXECUTE ports_expire('10')")" "$(sid r)|8080" "and closes what has ended"
order() { q "SELECT change_order FROM port WHERE session_id = '$(sid r)'"; }
settle_sql() { printf "EXECUTE port_settled('%s', '8080', '%s')" "$(sid r)" "$(order)"; }
behind "$(expose_sql r)" "$(settle_sql)" "a relay that confirms a closing behind one who opens it again"
is "$TWO|$(ports r)" "f|1" "closes nothing"
must "EXECUTE port_close('$(sid r)', 'acme', '8080')"
behind "$(settle_sql)" "$(expose_sql r)" "who opens it again behind a relay that confirms"
is "$TWO|$(ports r)" "$(q "SELECT port_json(p), true FROM port p WHERE session_id = '$(sid r)'")|1" "has another one"

# ---- a shared sandbox

shared='"sandbox": "org-x", "class": "shared", "isolation": "shared", "incarnation": "inc"'
settle_all() { # IDs whose wrappers end
	local id
	for id; do
		request "$id" delete session-delete >/dev/null
		begin "$id" a >/dev/null
		end "$id" a true >/dev/null
	done
}
shared_state() { q "SELECT state FROM sandbox WHERE id = 'org-x'"; }
must "$(create_sql k1 "$shared")"
must "SELECT sandbox_settle('org-x', 'inc', 'running', NULL)"
settle_all k1
behind "$(create_sql k2 "$shared")" "SELECT sandbox_retire('org-x', 'inc', true, 30)" \
	"retiring a shared sandbox behind a create"
is "$TWO|$(shared_state)|$(look k2)" "f|running|initializing|owns_wrapper|1" "is refused: the session keeps it"
settle_all k2
behind "SELECT sandbox_retire('org-x', 'inc', true, 30)" "$(create_sql k3 "$shared")" \
	"a create behind a retirement"
is "$ONE|$TWO|$(look k3)" "t|ERROR:  SX411|" "is told to try again, and has left nothing"
must "SELECT sandbox_settle('org-x', 'inc', 'absent', NULL)"
is "$(ask two "$(create_sql k3 "${shared/\"inc\"/\"inc2\"}")")" "created|$(sid k3)" \
	"once it is gone the same create works"
is "$(q "SELECT state, incarnation FROM sandbox WHERE id = 'org-x'")" "creating|inc2" \
	"in a new incarnation"

# ---- the order of locks: sandbox, session, lease

# One locks the sandbox and then the session, as a start does; two ends an
# attempt.  In the wrong order this is a deadlock.
ready l
request l sleep idle-timeout >/dev/null && begin l a >/dev/null
ask one BEGIN >/dev/null
ask one "SELECT id FROM sandbox WHERE id = 'ses-l' FOR UPDATE" >/dev/null
tell two "SELECT session_stop_end('$(sid l)', '{\"attempt\": \"a\", \"absent\": true}')"
ok "the end of a stop waits for its sandbox" stands two
is "$(ask one "SELECT state FROM session WHERE id = '$(sid l)' FOR UPDATE")" sleeping \
	"before it takes its session"
ask one COMMIT >/dev/null
is "$(hear two)|$(look l)" "asleep|asleep|none|1" "both come to an end"

# ---- a port that is exposed while a deletion is asked for

ready m
behind "SELECT session_request_stop('$(sid m)', 'delete', '{\"reason\": \"x\"}')" \
	"INSERT INTO port (session_id, port, token_hash, token_sealed) SELECT id, 8080, 'h', 's'
	   FROM session WHERE id = '$(sid m)' AND state = 'ready' RETURNING 'exposed'" \
	"a port behind a delete"
begin m a >/dev/null && end m a true >/dev/null
is "$TWO|$(q "SELECT session_deleted('$(sid m)')")|$(ports m)" "exposed|t|0" \
	"goes with the session"

done_testing
