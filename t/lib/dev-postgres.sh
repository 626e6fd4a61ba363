# shellcheck shell=bash
# shellcheck disable=SC2015,SC2034 # `a && b || die` means both or die; variables are shared by the files of t/lib
# dev-postgres.sh: a private PostgreSQL cluster, on a unix socket only.
#
# Every client gives a password (scram), on the socket too: workers and sandboxes
# have one user id, so tenant code that reached the socket would pass `peer`.  The
# service's password is in etc/pgpass, the superuser's in pg/pgpass.

pg_find() {
	local dir
	for dir in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -Vr); do
		[ -x "$dir/initdb" ] && [ -x "$dir/postgres" ] && {
			PG_BIN=$dir
			return 0
		}
	done
	die "there is no PostgreSQL server in /usr/lib/postgresql"
}

pg_make_password() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

# pg_keep USER FILE TEXT: writes a file of that user with mode 0600.
pg_keep() {
	# shellcheck disable=SC2016 # expanded by sh
	as "$1" sh -c 'umask 077 && cat >"$1"' sh "$2" <<<"$3"
}

pg_init() {
	local pass dir=$STACK_STATE/pg
	[ -s "$dir/data/PG_VERSION" ] && [ -s "$dir/pgpass" ] && return 0
	pass=$(pg_make_password)
	as "$PG_USER" rm -rf "$dir/data"
	pg_keep "$PG_USER" "$dir/password" "$pass"
	as "$PG_USER" "$PG_BIN/initdb" -D "$dir/data" -U postgres \
		-A scram-sha-256 --pwfile="$dir/password" -E UTF8 \
		--locale=C.UTF-8 --no-instructions >"$LOGS/initdb.log" 2>&1 || {
		show_tail "$LOGS/initdb.log"
		die "initdb failed"
	}
	as "$PG_USER" rm -f "$dir/password"
	pg_keep "$PG_USER" "$dir/pgpass" "*:*:*:postgres:$pass"
}

# Only we write these files, anew at each start.  STACK_FSYNC=off is for clusters
# that a test throws away.
pg_configure() {
	local data=$STACK_STATE/pg/data
	pg_keep "$PG_USER" "$data/pg_hba.conf" "local all all scram-sha-256"
	pg_keep "$PG_USER" "$data/postgresql.conf" "listen_addresses = ''
unix_socket_directories = '$STACK_RUN/pg'
max_connections = 100
shared_buffers = 64MB
max_wal_size = 256MB
fsync = ${STACK_FSYNC:-on}
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
log_line_prefix = '%m [%p] %a '"
}

pg_ready() { "$PG_BIN/pg_isready" -q -h "$STACK_RUN/pg"; }

pg_start() {
	daemon_alive postgres && return 0
	pg_init
	pg_configure
	daemon_start postgres "$PG_USER" "$PG_BIN/postgres" -D "$STACK_STATE/pg/data"
	daemon_wait postgres 60 pg_ready || { # wait: against hanging
		show_tail "$STACK_STATE/log/postgres.log"
		die "PostgreSQL did not start"
	}
}

# SIGINT is PostgreSQL's fast shutdown: connections end, nothing is lost.
pg_stop() { daemon_stop postgres INT 60; } # wait: against hanging

# pg_super ARG...: psql as the superuser; SQL on stdin stays out of argv.
pg_super() {
	local AS_ENV=("PGPASSFILE=$STACK_STATE/pg/pgpass")
	as "$PG_USER" psql -X -w -q -At -v ON_ERROR_STOP=1 -h "$STACK_RUN/pg" -U postgres "$@"
}

# pg_psql ARG...: psql as the service.
pg_psql() {
	local AS_ENV=("PGPASSFILE=$STACK_STATE/etc/pgpass" "TERM=${TERM:-dumb}")
	as "$SVC_USER" psql -X -w -h "$STACK_RUN/pg" -U sandlease "$@" sandlease
}

# Makes role and database once.  A password that was lost is replaced.
pg_database() {
	local pass
	[ "$(pg_super -d postgres <<<"SELECT count(*) FROM pg_database WHERE datname = 'sandlease'")" = 1 ] &&
		as "$SVC_USER" test -s "$STACK_STATE/etc/pgpass" && return 0
	pass=$(pg_make_password)
	pg_super -d postgres <<-SQL || return 1
		DO \$\$ BEGIN CREATE ROLE sandlease LOGIN;
		EXCEPTION WHEN duplicate_object THEN NULL; END \$\$;
		ALTER ROLE sandlease PASSWORD '$pass';
		SELECT 'CREATE DATABASE sandlease OWNER sandlease'
		 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'sandlease') \gexec
	SQL
	pg_keep "$SVC_USER" "$STACK_STATE/etc/pgpass" "*:*:*:sandlease:$pass"
}
