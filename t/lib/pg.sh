# shellcheck shell=bash
# shellcheck disable=SC2015,SC2034 # `a && b || die` means both or die; variables are shared by the files of t/lib
# pg.sh: a throw-away PostgreSQL with our schema, for a test script.
#
#   . "$top_srcdir/t/lib/tap.sh"
#   . "$top_srcdir/t/lib/pg.sh"
#   pg_begin
#   is "$(q "SELECT 1")" 1 "it answers"
#
# Nothing runs as root, and everything ends with the script.  SQL_DIR names
# another sql/ than the checkout's (t/sql/mutation.t breaks a copy).
set -uo pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P) || exit 1
for pg_lib in say place daemon postgres stack cluster; do
	# shellcheck source=/dev/null
	. "$TOP/t/lib/dev-$pg_lib.sh" || exit 1
done

pg_place() {
	STACK_DIR=$(mktemp -d /tmp/slp-XXXXXX) || exit 1
	chmod 711 "$STACK_DIR"
	STACK_STATE=$STACK_DIR/state STACK_RUN=$STACK_DIR/run LOGS=$STACK_DIR/log
	STACK_PORT=1 STACK_PREVIEW_PORT=1 STACK_FSYNC=off CGROUP=none
	mkdir "$LOGS"
	place_make
	install -m 755 "$STACK_BUILD/sandlease-admin" "$STACK_STATE/bin/" &&
		cp -R "${SQL_DIR:-$TOP/sql}" "$STACK_STATE/sql" &&
		chmod -R a+rX "$STACK_STATE/sql"
}

pg_end() {
	local status=$?
	trap - EXIT
	declare -F pg_before_end >/dev/null && pg_before_end
	[ ! -e "$STACK_STATE/pid/postgres" ] || pg_stop
	cluster_remove
	rm -rf -- "$STACK_DIR"
	exit "$status"
}

pg_migrate() { stack_admin migrate --sql "$STACK_STATE/sql"; }

# pg_begin: starts a cluster with a database and the schema.
pg_begin() {
	STACK_BUILD=${top_builddir:-$TOP/build}
	[ -x "$STACK_BUILD/sandlease-admin" ] || skip_all "sandlease-admin is not built"
	compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null ||
		skip_all "there is no PostgreSQL server"
	place_users
	! is_root || place_make_user || die "cannot make the user $SVC_USER"
	trap pg_end EXIT
	trap 'exit 130' INT TERM
	pg_place && pg_find && pg_schema || die "the schema cannot be made"
	pg_open main
}

# The prepared cluster has the checkout's migrations.  If only functions differ in
# SQL_DIR, a migration replaces them; other migrations need a new cluster.
pg_schema() {
	local copied=no
	[ -n "${SQL_DIR:-}" ] && ! diff -rq "$SQL_DIR/migrations" "$TOP/sql/migrations" >/dev/null ||
		! cluster_fetch || copied=yes
	pg_start && pg_database && stack_configure || return 1
	[ "$copied" = no ] || cluster_rename || return 1
	[ "$copied" = yes ] && [ -z "${SQL_DIR:-}" ] || quiet migrate pg_migrate
}

# ---- connections that stay open, to be stepped through a race

declare -A PG_IN=() PG_OUT=()

# pg_open NAME: opens a connection with a psql of its own.
pg_open() {
	local in out pipe=$STACK_DIR/$1
	mkfifo "$pipe.in" "$pipe.out"
	pg_psql -Atq -v VERBOSITY=sqlstate <"$pipe.in" >"$pipe.out" 2>&1 &
	exec {in}>"$pipe.in" {out}<"$pipe.out"
	PG_IN[$1]=$in PG_OUT[$1]=$out
	ask "$1" "SET application_name = '$1'"
}

# tell NAME SQL: sends SQL; hear NAME: waits for its result.
tell() { printf '%s;\n\\echo =end=\n' "$2" >&"${PG_IN[$1]}"; }

hear() {
	local line
	# wait: against hanging
	while IFS= read -r -t 60 -u "${PG_OUT[$1]}" line; do
		[ "$line" != =end= ] || return 0
		printf '%s\n' "$line"
	done
	die "$1 does not answer"
}

ask() { tell "$1" "$2" && hear "$1"; }

# stands NAME: waits until the connection waits for a lock; fails when it never
# does.
stands() {
	wait_for "$PATIENCE" pg_is_waiting "$1"
}
pg_is_waiting() {
	[ "$(q "SELECT count(*) FROM pg_stat_activity
		WHERE application_name = '$1' AND wait_event_type = 'Lock'")" = 1 ]
}

# q SQL: prints the rows, columns divided by "|"; of an error only its SQLSTATE.
q() { ask main "$1"; }

# must SQL: prepares a test, and ends the script when SQL fails.
must() {
	local out
	out=$(q "$1")
	[[ $out != *ERROR:* ]] || die "$out: $1"
}

# pg_run_world PROGRAM: runs a program below t/unit; its TAP is that of the test.
pg_run_world() {
	local from=$STACK_BUILD/t/unit/$1
	[ -x "$from" ] || skip_all "$1 is not built (make check builds it)"
	install -m 755 "$from" "$STACK_STATE/bin/world"
	AS_ENV=("SANDLEASE_CONFIG=$(stack_conf_file)" CMOCKA_MESSAGE_OUTPUT=TAP)
	as "$SVC_USER" "$STACK_STATE/bin/world"
}
