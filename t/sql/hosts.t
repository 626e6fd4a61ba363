#!/bin/bash
# Tests that no host changes the sessions of another host by mistake, and that work
# on them is left to the host that can do it.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
must "$("$STACK_BUILD/t/unit/store/print_tables" statements)"
create a '"name": "a", "correlationKeys": ["k"]' >/dev/null && verify a 1 >/dev/null

everything() {
	q "SELECT md5(string_agg(x, '' ORDER BY x)) FROM (SELECT s::text FROM session s UNION ALL
		SELECT l::text FROM lease l UNION ALL SELECT b::text FROM sandbox b UNION ALL
		SELECT t::text FROM ticket t UNION ALL SELECT a::text FROM alias a UNION ALL
		SELECT i::text FROM idempotency i UNION ALL SELECT e::text FROM event e) y (x)"
}
# The DETAIL of an error, which names the host.
detail() { # SQL
	q "CREATE OR REPLACE FUNCTION pg_temp.detail() RETURNS text LANGUAGE plpgsql AS \$f\$ DECLARE d text;
		BEGIN PERFORM $1; RETURN 'none'; EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL; RETURN d; END \$f\$" >/dev/null
	q "SELECT pg_temp.detail()"
}

# ---- the host of a sandbox

is "$(q "SELECT sandbox_elsewhere('ses-a', 'h1'), sandbox_elsewhere('ses-a', 'h2')")" "|h1" \
	"a sandbox is its own host's"
must "INSERT INTO sandbox (id, tenant, class, state, host) VALUES
	('ses-new', 'acme', 'small', 'absent', ''), ('ses-gone', 'acme', 'small', 'absent', 'h1')"
is "$(q "SELECT sandbox_elsewhere('ses-new', 'h2'), sandbox_elsewhere('ses-gone', 'h2')")" "|" \
	"one that is nowhere is anybody's"

# ---- creates that find a session of another host

before=$(everything)
for wish in '"name": "a"' '"correlationKeys": ["new", "k"]' '"name": "a", "idempotencyKey": "i", "requestHash": "h"'; do
	is "$(create b "$wish, \"host\": \"h2\"")" "ERROR:  SX505" "a create at another host that finds it: $wish"
done
is "$(detail "session_create('$(spec b '"name": "a", "host": "h2"')')")" '{"host": "h1"}' "it is told where"
is "$(detail "session_create('$(spec b '"sandbox": "ses-a", "host": "h2"')')")" '{"host": "h1"}' \
	"so is one that needs its sandbox"
is "$(everything)" "$before" "and nothing of it has been"

# ---- the gate

auth() { # HOST HASH KIND [PURPOSE]
	q "EXECUTE auth_session('$2', '$3', '$(sid a)', '30', 'false', 'tr', '', '${4:-}', 'r', 'tenant', '$1')" | cut -d'|' -f1-5,9
}
must "INSERT INTO port (session_id, port, token_hash, token_sealed) VALUES ('$(sid a)', 8080, 'token', 's')"
preview() { q "EXECUTE auth_preview('$(sid a)', '8080', 'token', '30', 'false', 'tr', '$1')" | cut -d'|' -f1-9; }
q "EXECUTE ticket_create('t1', '$(sid a)', 'acme', 'k', 'terminal', '60', '9')" >/dev/null
must "UPDATE session SET last_activity_at = clock_timestamp() - interval '40 s'"
before=$(everything)
is "$(auth h2 hash-k key)" "tenant|ready|owns_wrapper|1||h1" "at another host a call is told where to go"
is "$(auth h2 t1 ticket terminal)" "tenant|ready|owns_wrapper|1||h1" "so is one with a ticket"
is "$(auth h2 t1 ticket ws)" "|||||" "if the ticket is for this"
is "$(preview h2)" "token|ready|owns_wrapper|1|f|acme|a|h1|f" "and a preview's visitor"
is "$(everything)" "$before" "nothing is written: no activity, and the ticket is not used"
is "$(auth h1 t1 ticket terminal)" "tenant|ready|owns_wrapper|1||" "at its own host the ticket counts"
is "$(auth h2 t1 ticket terminal)" "|||||" "and then nowhere else"
is "$(preview h1)" "token|ready|owns_wrapper|1|f|acme|a||f" "a preview there is admitted"

# ---- stops

claim() { # HOST
	q "SELECT state FROM session_stop_begin('$(sid a)', '{\"attempt\": \"x\", \"seconds\": 45,
		\"host\": \"$1\"}')"
}
request a sleep user-interrupt >/dev/null
before=$(everything)
is "$(claim h2)" "" "another host claims no attempt"
is "$(everything)" "$before" "and spends none"
is "$(claim h1)" "sleeping" "its own host does"
q "SELECT session_stop_end('$(sid a)', '{\"attempt\": \"x\", \"absent\": false, \"error\": \"no\"}')" >/dev/null
must "UPDATE lease SET next_attempt_at = clock_timestamp();
	UPDATE sandbox SET state = 'stopped' WHERE id = 'ses-a'"
is "$(claim h2)" "sleeping" "one that was seen stopped needs nobody to look"
q "SELECT session_stop_end('$(sid a)', '{\"attempt\": \"x\", \"absent\": true}')" >/dev/null

# ---- steps that were never finished

create c >/dev/null && verify c 1 >/dev/null
create d '"setup": "sealed", "setupSeconds": 60' >/dev/null
must "UPDATE session SET interrupt_id = 'i', interrupt_generation = 1,
		interrupt_requested_at = clock_timestamp() - interval '1 h',
		suspend_deadline = clock_timestamp() - interval '1 h' WHERE id = '$(sid c)'"
is "$(q "EXECUTE due_initializing('h2')")" "" "due_initializing: nothing for another host"
like "$(q "EXECUTE due_initializing('h1')")" "^[cd]0" "due_initializing: one for its own"
for due in due_interrupts due_suspends; do
	is "$(q "EXECUTE $due('h2', '10')")" "" "$due: nothing for another host"
	like "$(q "EXECUTE $due('h1', '10')")" "^[cd]0" "$due: one for its own"
done

# ---- draining

create e '"sandbox": "org-e", "class": "shared", "isolation": "shared"' >/dev/null
must "UPDATE sandbox SET state = 'running', deadline = NULL, idle_since = clock_timestamp() WHERE id = 'org-e';
	UPDATE lease SET state = 'none' WHERE session_id = '$(sid e)'"
idle() { q "EXECUTE due_idle_sandboxes('$1', '600', '10')" | grep -c org-e; }
is "$(idle h1)" 0 "a shared sandbox has its grace"
must "UPDATE installation SET draining = true"
is "$(idle h2) $(idle h1)" "0 1" "but not while the service drains; its own host stops it"

done_testing
