#!/bin/bash
# Tests that no statement of the service reads a whole table that grows: with 100,000
# sessions, a day old, of a thousand orgs, each is planned as the service's connections plan it
# (force_generic_plan: for any parameters).
#
# First every named statement is explained.  Then sessions live from create to the end of
# their rows, and PostgreSQL logs the plan of each statement inside our functions,
# triggers and foreign keys.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin

# Tables that have a row for each session, call, sandbox, key or org.  The others are small:
# classes, presets, states, hosts; or hold what is under way.
readonly GROWING='alias|api_key|artifact|audit|event|execution|idempotency|lease|login|network_use|org|port|sample|sandbox|session|session_label|snapshot|webhook|webhook_delivery'

# "WHERE TABLE": why it may read the whole table.
readonly EXCEPTIONS='
admin_classes sandbox       an operator asks, and all are counted
admin_hosts sandbox         an operator asks, and all are counted
admin_hosts snapshot        an operator asks, and all are counted
admin_presets session       an operator asks, and all are searched
admin_sessions session      an operator asks, by any of six conditions
admin_snapshots snapshot    an operator asks, by any of several conditions
class_set sandbox           an operator changes a class
class_set session           an operator changes a class
drain_left lease            while the service is drained, and all are counted
drain_requests lease        while the service is drained, and all are wanted
key_list api_key            an operator asks for all
lease_list lease            an operator asks for all that are not released
lease_list sandbox          as above
lease_list session          as above
org_list org                an operator asks for all
snapshot_differences snapshot a list is compared, and up to some 10,000 rows a hash join is cheaper
egress_stopped network_use  when sandlease-egress starts
egress_stopped sandbox      as above
egress_stopped session      as above
'

pg_psql -q -v n=100000 -v orgs=1000 -v host=h1 -v events=2 -f - <"$top_srcdir/t/lib/many-rows.sql" ||
	die "the rows cannot be made"

# The same, before there are statistics.
readonly EXCEPTIONS_BEFORE='
admin_audit audit           an operator asks, by any of several conditions
due_ports lease             half of all ports are expected to be pending
due_ports port              as above
'

# unexpected [EXCEPTIONS]: lines "WHERE TABLE" that are no exceptions.
unexpected() {
	sort -u | grep -E " ($GROWING)\$" | grep -vxFf <(awk 'NF { print $1, $2 }' <<<"$EXCEPTIONS${1:-}")
}

# ---- named statements

explain_all() {
	echo "SET plan_cache_mode = force_generic_plan;"
	all_statements
	all_params | awk -F'|' '{
		printf "\\echo == %s\nEXPLAIN (COSTS OFF) EXECUTE %s", $1, $1
		for (i = 0; i < $2; i++)
			printf (i == 0 ? "(NULL" : ", NULL")
		print ($2 > 0 ? ");" : ";")
	}'
}
scans() { # FILE: "STATEMENT TABLE"
	explain_all | pg_psql -Atq >"$1" 2>&1
	awk '$1 == "==" { name = $2 }
		match($0, /Seq Scan on [a-z_]+/) { print name, substr($0, RSTART + 12, RLENGTH - 12) }' "$1"
}
none "no statement reads a whole table that grows, before there are statistics" \
	"$(scans "$STACK_DIR/plans" | unexpected "$EXCEPTIONS_BEFORE")"
must "ANALYZE"
scans=$(scans "$STACK_DIR/plans")
none "every statement has a plan" "$(grep -B1 -A2 ERROR "$STACK_DIR/plans")"
none "nor with them" "$(unexpected <<<"$scans")"

# ---- statements inside functions

# A role's settings count for new connections: from here on `q` logs the plan of each
# statement that it runs, at any depth.
pg_super -d sandlease <<-SQL || die "auto_explain cannot be loaded"
	ALTER ROLE sandlease SET session_preload_libraries = 'auto_explain';
	ALTER ROLE sandlease SET auto_explain.log_min_duration = 0;
	ALTER ROLE sandlease SET auto_explain.log_nested_statements = on;
	ALTER ROLE sandlease SET plan_cache_mode = force_generic_plan;
SQL
make_tenants
pg_open life
q() { ask life "$1"; }
must "$(all_statements)"
began=$(wc -l <"$STACK_STATE/log/postgres.log")

# of NAME...: {"id": ...} of each, divided by commas
of() { local s list='' && for s; do list+="${list:+, }{\"id\": \"$(sid "$s")\"}"; done && printf '%s' "$list"; }

# create to ready
for s in a b c d; do
	create "$s" "\"name\": \"n-$s\", \"labels\": {\"run\": \"1\"}, \"correlationKeys\": [\"key-$s\"],
		\"idempotencyKey\": \"i-$s\", \"requestHash\": \"h\"" >/dev/null
	verify "$s" 1 '"steps": [{"what": "storage", "ms": 1, "ago": 1}]' >/dev/null
done
is "$(create e '"name": "n-a"')|$(look d)" "found|ready||ready|owns_wrapper|1" "sessions are made and found"
must "SELECT event_wait('$(sid a)', 'acme', 1)"

# calls
must "EXECUTE auth_key('hash-k', 'key', 'r');
	EXECUTE auth_session('hash-k', 'key', '$(sid a)', '0', 'false', 't', '', '', 'r', 'tenant', 'h1');
	EXECUTE session_accepted('$(sid a)', '1', 't', 'gate:k/u');
	EXECUTE session_get('$(sid a)', 'acme'); EXECUTE session_look('$(sid a)', 'acme');
	EXECUTE session_extend('$(sid a)', 'acme', '60');
	EXECUTE session_patch('$(sid a)', 'acme', '{\"labels\": {\"run\": \"2\"}, \"keepAlive\": true}');
	EXECUTE quota_usage('acme'); EXECUTE session_states('acme'); EXECUTE health('5', '180');
	EXECUTE event_list('$(sid a)', 'acme', '0', '100')"
for t in "'', '', ''" "'failed', '', ''" "'', 'run', '1'" "'deleted', 'run', '1'"; do
	must "EXECUTE session_list('acme', $t, '', '', '50', '')"
done
is "$(q "EXECUTE session_list('acme', '', 'run', '2', '', '', '50', 'key-a')" | cut -d'|' -f1)" "$(sid a)" \
	"one is listed by its key and its label"
must "EXECUTE port_expose('$(sid a)', 'acme', '8080', NULL, 'hash', 'sealed', NULL, 'false', NULL, NULL);
	SELECT port_settled('$(sid a)', 8080, (SELECT change_order FROM port WHERE session_id = '$(sid a)'));
	EXECUTE auth_preview('$(sid a)', '8080', 'hash', '0', 'false', 't', 'h1')"
must "SELECT execution_create('{\"id\": \"$(sid x)\", \"session\": \"$(sid a)\", \"tenant\": \"acme\", \"user\": \"u\",
	\"hash\": \"h\", \"work\": \"sealed\", \"command\": \"true\", \"most\": 5}');
	SELECT execution_give('$(sid x)', 1); SELECT execution_told('$(sid x)', 1, '{\"running\": true}');
	SELECT execution_told('$(sid x)', 1, '{\"end\": \"succeeded\", \"exitCode\": 0, \"stderrTail\": \"\", \"usage\": {}}')"
must "SELECT session_suspend_begin('$(sid b)', '{\"generation\": 1, \"seconds\": 30, \"reason\": \"idle-timeout\"}')"

# a pass that finds something
must "SELECT sessions_asked('{\"asked\": [{\"id\": \"$(sid a)\", \"generation\": 1, \"instance\": \"i-a\",
	\"busy\": true, \"cpu\": 9, \"moved\": true, \"askSeconds\": 60, \"warm\": true, \"accepted\": true}]}');
	SELECT sample_add('h1', 0, '[{\"sandbox\": \"ses-a\", \"session\": null, \"life\": \"inc-a\", \"cpuMs\": 1}]'); SELECT sample_thin(10);
	SELECT disk_frozen('h1', ''); SELECT disk_measured('$(sid a)', 1, false); SELECT disk_recount('h1');
	EXECUTE disk_due('h1', '0', '10'); EXECUTE samples_due('h1', '0', '-infinity', '', '10')"
must "SELECT stop_requests('delete', '{\"reason\": \"expired\", \"trace\": \"t\", \"sessions\": [$(of a b)]}');
	SELECT stop_requests('fail', '{\"reason\": \"late\", \"trace\": \"t\", \"sessions\": [$(of c)]}');
	SELECT stop_requests('sleep', '{\"reason\": \"idle-timeout\", \"trace\": \"t\", \"sessions\": [$(of d)]}')"
must "SELECT stop_claim('{\"attempt\": \"x\", \"seconds\": 45, \"limit\": 50, \"host\": \"h1\", \"retries\": false}');
	SELECT stop_raise('{\"attempt\": \"x\", \"seen\": [{\"session\": \"$(sid a)\", \"generation\": 1}]}');
	SELECT stop_outcomes('{\"attempt\": \"x\", \"trace\": \"t\", \"outcomes\": [$(of a b c d |
		sed 's/"id"\([^}]*\)}/"session"\1, "absent": true}/g')]}')"
is "$(look a)|$(look d)" "deleting|none|1|asleep|none|1" "they are stopped"
must "EXECUTE due_deletions('h1', '50', '[]'); SELECT pg_advisory_unlock_all();
	SELECT sessions_deleted('{\"trace\": \"t\", \"sessions\": [\"$(sid a)\", \"$(sid b)\"]}');
	EXECUTE sandboxes_retire('[{\"id\": \"ses-a\", \"incarnation\": \"inc-a\"}]', 'true', '15');
	EXECUTE sandboxes_settle('[{\"id\": \"ses-a\", \"incarnation\": \"inc-a\"}]', 'absent');
	SELECT sleepers_settle(10, 't'); SELECT session_drop_files('$(sid c)', false, NULL)"
is "$(restart d none 1 '"instance": "i2"')" "restarted|initializing|2|inc-d" "one is started again"
must "SELECT session_sandbox_gone('$(sid d)', '{\"instance\": \"i2\", \"generation\": 2, \"lost\": false, \"trace\": \"t\"}')"

# and one that forgets
must "UPDATE session SET ended_at = clock_timestamp() - interval '100 days' WHERE id = '$(sid a)'"
is "$(q "EXECUTE forget_old('90', '1000', '100000')")|$(look a)" "1|" "one is forgotten"
must "UPDATE sandbox_unused SET since = since - interval '2 days';
	UPDATE sandbox SET changed_at = changed_at - interval '2 days' WHERE id = 'ses-a'; EXECUTE forget_sandboxes('1000')"
none "with its sandbox" "$(q "SELECT id FROM sandbox WHERE id = 'ses-a'")"
must "EXECUTE executions_forget('90', '100'); EXECUTE artifacts_forget('30', '100'); EXECUTE webhook_forget('30', '100')"

# Prints "FUNCTION TABLE" of each logged plan that reads a whole table.
logged_scans() {
	tail -n +"$((began + 1))" "$STACK_STATE/log/postgres.log" | awk '
		function tell(i) {
			for (i = 1; i <= n; i++)
				print (name == "" ? "statement" : name), table[i]
			n = 0
			name = ""
		}
		/^[0-9]/ && / LOG: / { tell() }
		match($0, /Seq Scan on [a-z_]+/) { table[++n] = substr($0, RSTART + 12, RLENGTH - 12) }
		name == "" && match($0, /function [a-z_]+\(/) { name = substr($0, RSTART + 9, RLENGTH - 10) }
		END { tell() }'
}
plans=$(tail -n +"$((began + 1))" "$STACK_STATE/log/postgres.log" | grep -c ' plan:$')
ok "plans of statements inside functions are logged ($plans)" test "$plans" -gt 300
none "none of them reads a whole table that grows" "$(logged_scans | unexpected)"

done_testing
