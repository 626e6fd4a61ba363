# shellcheck shell=bash
# shellcheck disable=SC2034 # ONE and TWO are for the tests
# rows.sh: makes tenants, keys and sessions for the tests of t/sql.
#
# Ids of sessions have 20 characters; `sid a` is one that begins with a.

sid() { printf '%s%s' "$1" "$(printf '0%.0s' {1..20})" | cut -c1-20; }

# spec ID [JSON]: the request of a create; later members win.
spec() {
	local tenant=acme
	printf '%s' "$(q "SELECT '{
		\"id\": \"$(sid "$1")\", \"tenant\": \"$tenant\", \"org\": \"$tenant\", \"user\": \"u\",
		\"bot\": \"\", \"keyId\": \"k\", \"sandbox\": \"ses-$1\", \"class\": \"small\",
		\"isolation\": \"session\", \"sleepAfterSeconds\": 600, \"keepAlive\": false,
		\"wakeOnPreview\": false, \"instance\": \"i-$1\", \"incarnation\": \"inc-$1\",
		\"host\": \"h1\", \"boot\": \"b1\", \"seconds\": 600, \"trace\": \"t\"
	}'::jsonb || '{${2:-}}'")"
}

# create ID [JSON]: "disposition|state|generation", or the error.
create() {
	q "SELECT disposition, state, generation FROM session_create('$(spec "$@")')"
}

verify() { # ID GENERATION [JSON]
	q "SELECT session_verified('$(sid "$1")', '{\"instance\": \"i-$1\", \"generation\": $2,
		\"sandbox\": \"ses-$1\", \"incarnation\": \"inc-$1\", \"seconds\": 60,
		\"version\": \"1\"}'::jsonb || '{${3:-}}')"
}

restart() { # ID SEEN_STATE SEEN_GENERATION [JSON]
	q "SELECT disposition, state, generation, incarnation FROM session_restart('$(sid "$1")',
		'$(spec "$1" "\"seenState\": \"$2\", \"seenGeneration\": $3, \"incarnation\": \"inc2-$1\"${4:+, $4}")')"
}

request() { # ID WISH REASON [JSON]
	q "SELECT session_request_stop('$(sid "$1")', '$2', '{\"reason\": \"$3\"${4:+, $4}}')"
}

begin() { # ID ATTEMPT
	q "SELECT state, reason FROM session_stop_begin('$(sid "$1")', '{\"attempt\": \"$2\", \"seconds\": 45}')"
}

end() { # ID ATTEMPT ABSENT
	q "SELECT session_stop_end('$(sid "$1")', '{\"attempt\": \"$2\", \"absent\": $3, \"error\": \"no\"}')"
}

# stop ID WISH: all steps of a stop, as one worker makes them.
stop() {
	request "$1" "$2" session-delete >/dev/null
	begin "$1" a >/dev/null
	end "$1" a true
}

# look ID: "session|lease|generation"
look() {
	q "SELECT s.state, l.state, l.generation FROM session s JOIN lease l ON l.session_id = s.id
		WHERE s.id = '$(sid "$1")'"
}
box() { # ID
	q "SELECT state, incarnation, epoch FROM sandbox WHERE id = 'ses-$1'"
}

# statement FILE NAME: its text in sql/statements, as SQL_DIR has it.
statement() {
	awk -v name="$2" '$1 == "--" && $2 == "name:" { on = $3 == name } on && !/^--/' \
		"${SQL_DIR:-$top_srcdir/sql}/statements/$1.sql"
}

# all_statements: prepares every one of them, as SQL_DIR has it; all_params: "NAME|COUNT" of each.
all_statements() {
	cat "${SQL_DIR:-$top_srcdir/sql}"/statements/*.sql |
		awk '$1 == "--" && $2 == "name:" { print "PREPARE " $3 " AS" } !/^--/'
}
all_params() {
	cat "${SQL_DIR:-$top_srcdir/sql}"/statements/*.sql | awk '
		function tell() { if (name != "") print name "|" count }
		$1 == "--" && $2 == "name:" { tell(); name = $3; count = 0 }
		$1 == "--" && $2 == "params:" { count = NF - 2 }
		END { tell() }'
}

make_tenants() {
	must "INSERT INTO org (id) VALUES ('acme'), ('other');
		INSERT INTO api_key (id, tenant, org, user_id, scope, hash) VALUES
		('k', 'acme', 'acme', 'u', 'tenant', 'hash-k'),
		('o', 'other', 'other', 'u', 'tenant', 'hash-o')"
}

# ---- two connections, to be stepped through a race

open_two() { pg_open one && pg_open two; }

create_sql() { # ID JSON
	printf "SELECT disposition, session_id FROM session_create('%s')" "$(spec "$1" "$2")"
}

# behind SQL_ONE SQL_TWO NAME: two must wait for one's transaction; then both
# go on.  ONE and TWO are their answers.
behind() {
	ask one BEGIN >/dev/null
	ONE=$(ask one "$1")
	tell two "$2"
	ok "$3: one waits for the other" stands two
	ask one COMMIT >/dev/null
	TWO=$(hear two)
}
