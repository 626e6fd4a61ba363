#!/bin/bash
# Tests what is kept of executions: files within an org's bytes, sums of days, and the
# limits that are suggested; each of the org's own executions alone.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
open_two

SHA=$(printf 'a%.0s' {1..64})
must "INSERT INTO profile (tenant, agent_type, limits) VALUES ('', 'coder', '{}')"
must "PREPARE forget AS $(statement artifact artifacts_forget)"
must "PREPARE known AS $(statement artifact artifact_known)"

# begun TENANT ID...: executions of a session, each of which a wrapper has.
begun() {
	local tenant=$1 x
	shift
	for x; do
		must "SELECT execution_create('{\"id\": \"$(sid "$x")\", \"session\": \"$(sid "$tenant")\",
			\"tenant\": \"$tenant\", \"user\": \"u\", \"type\": \"coder\", \"hash\": \"h\",
			\"work\": \"w\", \"command\": \"true\", \"most\": 100}');
			SELECT execution_give('$(sid "$x")', 1)"
	done
}
# files BYTES...: what a wrapper has left, in an org that may keep 1,000 bytes.
files() {
	local n=0 b list=
	for b; do
		list+="{\"kind\": \"file\", \"path\": \"f$((++n))\", \"sha256\": \"$SHA\", \"bytes\": $b}, "
	done
	printf '"quota": 1000, "host": "h1", "folder": "F", "artifacts": [%s]' "${list%, }"
}
ends_sql() { # ID [MEMBERS [STATE]]
	printf "SELECT applied FROM execution_told('%s', 1,
		'{\"end\": \"%s\", \"exitCode\": 0, \"usage\": {}%s}')" \
		"$(sid "$1")" "${3:-succeeded}" "${2:+, $2}"
}
ends() { q "$(ends_sql "$@")"; }
kept() { # ID: files, bytes, and whether some could not be kept
	q "SELECT count(a.bytes), coalesce(sum(a.bytes), 0), x.artifacts_error IS NOT NULL
		FROM execution x LEFT JOIN artifact a ON a.execution_id = x.id
		WHERE x.id = '$(sid "$1")' GROUP BY x.id"
}
bytes() { q "SELECT artifact_bytes('$1')"; }

create acme >/dev/null
verify acme 1 >/dev/null
create other '"tenant": "other", "org": "other", "keyId": "o"' >/dev/null
verify other 1 >/dev/null

# ---- the bytes of an org
begun acme a1 a2 a3 a4 a5 a6
begun other b1 b2
is "$(ends a1 "$(files 300 100)")|$(kept a1)|$(bytes acme)" "t|2|400|f|400" "files are kept, and counted"
is "$(ends a2 "$(files 601)")|$(kept a2)|$(bytes acme)" "t|0|0|t|400" \
	"more than the org may keep are not, and the execution says so"
is "$(q "SELECT state FROM execution WHERE id = '$(sid a2)'")" succeeded "it ends all the same"
is "$(ends b1 "$(files 900)")|$(kept b1)|$(bytes other)|$(bytes acme)" "t|1|900|f|900|400" \
	"another org has its own"
is "$(ends a3 "$(files 300 300)")|$(kept a3)|$(bytes acme)" "t|2|600|f|1000" \
	"up to the last byte"
is "$(ends a4 "$(files)")|$(kept a4)|$(ends b2)|$(kept b2)" "t|0|0|f|t|0|0|f" "without files nothing is refused"

# ---- forgotten
must "UPDATE artifact SET created_at = created_at - interval '7 days' WHERE execution_id = '$(sid a1)';
	UPDATE artifact SET created_at = created_at - interval '6 days 23 hours' WHERE execution_id = '$(sid a3)';
	EXECUTE forget('7', '1')"
is "$(q "SELECT count(*) FROM artifact")" 4 "some at a time"
must "EXECUTE forget('7', '100')"
is "$(kept a1)|$(kept a3)|$(bytes acme)" "0|0|f|2|600|f|600" "what is old is forgotten, and makes room"
must "DELETE FROM execution WHERE id = '$(sid a3)'"
is "$(bytes acme)|$(bytes other)" "0|900" "and so do those of an execution that is forgotten"
is "$(q "EXECUTE known('F', '$SHA')")|$(q "EXECUTE known('G', '$SHA')")" "t|f" \
	"a file is known in its org's folder"

# ---- two at once
create acm2 >/dev/null
verify acm2 1 >/dev/null
must "UPDATE execution SET session_id = '$(sid acm2)' WHERE id = '$(sid a6)'"
ask one "BEGIN; SELECT FROM artifact_use WHERE tenant = 'acme' FOR NO KEY UPDATE" >/dev/null # about to count
tell two "$(ends_sql a6 "$(files 600)")"
ok "two ends of an org: one waits for the other" stands two
ask one "$(ends_sql a5 "$(files 600)"); COMMIT" >/dev/null
is "$(hear two)|$(kept a5)|$(kept a6)|$(bytes acme)" "t|1|600|f|0|0|t|600" \
	"the second counts what the first has written"

# ---- days
day() { # TENANT
	q "SELECT executions, states->>'succeeded', states->>'failed', retries FROM execution_day
		WHERE tenant = '$1' AND agent_type = 'coder'"
}
is "$(day acme)|$(day other)" "6|6||0|2|2||0" "each end counts for its day and org"
begun acme a7
ends a7 '' failed >/dev/null
is "$(day acme)" "7|6|1|0" "and for its state"
ask one "BEGIN; DELETE FROM artifact; DELETE FROM execution" >/dev/null
is "$(ask one "SELECT executions FROM execution_day WHERE tenant = 'acme' AND agent_type = 'coder'")" 7 \
	"which stay when the executions are forgotten"
ask one ROLLBACK >/dev/null

# ---- suggested limits
# used TENANT STATE MB DAYS: one that has ended so long ago.
n=0
used() {
	n=$((n + 1))
	must "INSERT INTO execution (id, tenant, user_id, session_id, agent_type, hash, command, limits,
			state, usage, ended_at)
		VALUES ('$(sid "u$n")', '$1', 'u', 's', 'coder', 'h', 'c', '{}', '$2',
			'{\"memoryPeakBytes\": $(($3 * 1048576))}', clock_timestamp() - interval '$4 days')"
}
suggested() { # TENANT PART
	q "SELECT p->>'sampleSize', p->'limits'->>'memoryMb', p->>'enough'
		FROM (SELECT profile_suggestion('$1', 'coder', $2)) x (p)"
}
must "DELETE FROM execution"
used acme succeeded 100 29
used acme succeeded 200 1
is "$(suggested acme 1)|$(suggested acme 0)" "2|250|false|2|125|true" "what they used, and a quarter more"
used other succeeded 4000 1
is "$(suggested acme 1)" "2|250|false" "not what another org uses"
used acme memory_exceeded 4000 1
is "$(suggested acme 1)" "2|250|false" "not what a limit has ended"
used acme succeeded 4000 31
is "$(suggested acme 1)" "2|250|false" "not what is long past"
used acme succeeded 1 1
is "$(suggested acme 0)" "3|64|true" "at least what a profile may have"

done_testing
