# shellcheck shell=bash
# shellcheck disable=SC2034 # variables are shared by the files of t/lib
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
for pg_lib in say place daemon postgres stack; do
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
	rm -rf -- "$STACK_DIR"
	exit "$status"
}

pg_migrate() { stack_admin migrate --sql "$STACK_STATE/sql"; }

# pg_begin: a cluster, a database, the schema.
pg_begin() {
	STACK_BUILD=${top_builddir:-$TOP/build}
	[ -x "$STACK_BUILD/sandlease-admin" ] || skip_all "sandlease-admin is not built"
	compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null ||
		skip_all "there is no PostgreSQL server"
	place_users
	! is_root || place_make_user || die "cannot make the user $SVC_USER"
	trap pg_end EXIT
	trap 'exit 130' INT TERM
	pg_place && pg_find && pg_start && pg_database && stack_configure &&
		quiet migrate pg_migrate || die "the schema cannot be made"
}

# q SQL: what it answers, columns divided by "|"; of an error only its SQLSTATE.
q() {
	pg_psql -Atq -v ON_ERROR_STOP=1 -v VERBOSITY=sqlstate -c "$1" 2>&1
}

# must SQL: preparation; nothing makes sense when it fails.
must() {
	local out
	out=$(pg_psql -Atq -v ON_ERROR_STOP=1 <<<"$1" 2>&1) || die "$out"
}
