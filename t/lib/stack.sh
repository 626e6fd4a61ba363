#!/bin/bash
# stack.sh: a complete private service for a test: PostgreSQL, workers and
# nginx on free ports, with a place of its own below /tmp, run by the same
# unprivileged users as ./dev up.  No reaper: tests run it when they want to.
#
# In a bash test:                        From anything else:
#   . "$top_srcdir/t/lib/stack.sh"         t/lib/stack.sh with COMMAND...
#   stack_begin                            runs COMMAND with what is below in its
#   curl -H "Authorization: Bearer $SANDLEASE_API_KEY" "$SANDLEASE_URL/v1/me"
#
# and it ends with the script.  What COMMAND starts may call
# `t/lib/stack.sh do FUNCTION...` on that stack.  Exported: SANDLEASE_URL, SANDLEASE_API_KEY,
# SANDLEASE_PREVIEW_URL, SANDLEASE_CONFIG, STACK_DIR, STACK_STATE, STACK_RUN.
# Before stack_begin a test may set STACK_CONF (settings), STACK_CGROUP=none,
# STACK_FSYNC=on, STACK_RUN_IN (where the directory for sockets is made),
# STACK_DISK_MB (its state, PostgreSQL's included, has a file system of that
# size; needs the right to mount, so run the test below `unshare -m`),
# STACK_POOLER=session (all programs reach PostgreSQL through PgBouncer),
# STACK_WARM=4 (a warm pool of that size), STACK_EGRESS=yes (sandboxes may have a network), STACK_PLACED (a function, called once the directories are there).
# SANDLEASE_FAULTS is passed on to programs (src/common/fault.h).
# Functions of t/lib/dev-stack.sh work on it: stack_admin, stack_reap,
# api_stop, api_start, pg_stop, pg_start, pg_psql, nginx_stop, as, ...
# A second API host on the same database: host_begin NAME, then host_on NAME
# FUNCTION...; it ends with the stack.
# shellcheck disable=SC2015,SC2034 # `a && b || die` means both or die; variables are shared by the files of t/lib
set -uo pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P) || exit 1
for stack_lib in say place packages build kernel daemon postgres stack cluster; do
	# shellcheck source=/dev/null
	. "$TOP/t/lib/dev-$stack_lib.sh" || exit 1
done

# Messages about a stack are TAP comments, so that no TAP reader takes them for
# results.
stack_diag() { sed 's/^/# /' >&2; }

# A port on which no program listens and that no other stack has claimed: the claim
# is a link in /tmp to the directory of the stack.  SANDLEASE_TEST_PORTS="first
# last" narrows the choice.
stack_free_port() {
	local first last port claim tries
	read -r first last <<<"${SANDLEASE_TEST_PORTS:-20000 29999}"
	for ((tries = 0; tries < 1000; tries++)); do
		port=$((first + RANDOM % (last - first + 1)))
		claim=/tmp/slt-port-$port
		(: </dev/tcp/127.0.0.1/$port) 2>/dev/null && continue
		ln -sT "$STACK_DIR" "$claim" 2>/dev/null && {
			printf '%s' "$port"
			return
		}
		! stack_is_gone "$claim" || rm -f "$claim"
	done
	die "no port from $first to $last is free"
}

# stack_is_gone DIRECTORY: whether the script that made the stack is dead, so that
# it can no longer clean up.
stack_is_gone() {
	local pid start
	[ -e "$1" ] || return 0
	read -r pid start 2>/dev/null <"$1/owner" || return 1
	[ "$(proc_start "$pid")" != "$start" ]
}

stack_release_ports() {
	find /tmp -maxdepth 1 -name 'slt-port-*' -lname "$STACK_DIR" -delete
}

# Prints why no stack can run here, or nothing.
stack_missing() {
	local p
	for p in sandlease-api sandlease-admin sandlease-reaper sandlease-agent sandlease-ws sandlease-launch; do
		[ -x "$STACK_BUILD/$p" ] || {
			echo "$p is not built"
			return
		}
	done
	[ -f "$TOP/nginx/render" ] || echo "nginx/ holds no configuration"
}

# Tests make many sessions; the tests of quotas set their own limits.
stack_without_quotas() {
	local q
	for q in sessions active creates_per_minute previews disk_mb; do
		echo "quota_$q = 0"
	done
}

# Tests count sandboxes and processes, so there is no warm pool, unless STACK_WARM is a
# number.  The last release does not know the setting.
stack_warm() {
	! grep -aqs warm_sandboxes "$STACK_BUILD/sandlease-api" ||
		echo "warm_sandboxes = ${STACK_WARM:-0}"
}

stack_describe() {
	STACK_CONF=$(stack_without_quotas && stack_warm)$'\n'${STACK_CONF:-}
	STACK_DIR=$(mktemp -d /tmp/slt-XXXXXX) || exit 1
	chmod 711 "$STACK_DIR"
	echo "$$ $(proc_start $$)" >"$STACK_DIR/owner"
	STACK_NAME=sandlease-test-${STACK_DIR##*-}
	STACK_STATE=$STACK_DIR/state STACK_RUN=$STACK_DIR/run
	[ -z "${STACK_RUN_IN:-}" ] || STACK_RUN=$STACK_RUN_IN/${STACK_DIR##*/}
	LOGS=$STACK_DIR/log
	mkdir "$LOGS"
	STACK_PORT=$(stack_free_port) && STACK_PREVIEW_PORT=$(stack_free_port) || exit 1
	STACK_FSYNC=${STACK_FSYNC:-off}
	SANDLEASE_CGROUP=${STACK_CGROUP:-${SANDLEASE_CGROUP:-}}
}

stack_export() {
	SANDLEASE_URL=$(stack_url)
	SANDLEASE_PREVIEW_URL=http://localhost:$STACK_PREVIEW_PORT
	SANDLEASE_CONFIG=$(stack_conf_file)
	SANDLEASE_API_KEY=$(stack_make_key) || die "no key could be made"
	export SANDLEASE_URL SANDLEASE_PREVIEW_URL SANDLEASE_CONFIG \
		SANDLEASE_API_KEY STACK_DIR STACK_STATE STACK_RUN STACK_NAME
	# `do` reads it in another process
	export STACK_PORT STACK_PREVIEW_PORT STACK_BUILD STACK_FSYNC \
		STACK_CONF="${STACK_CONF:-}" CGROUP LOGS
}

# Mounts a small file system; in a mount namespace of its own it ends with us.
stack_mount() {
	mkdir "$STACK_STATE" &&
		mount -t tmpfs -o "size=${STACK_DISK_MB}m,mode=755,nr_inodes=$((STACK_DISK_MB * 32))" \
			sandlease-test "$STACK_STATE" || die "no file system can be mounted"
}

# Starts a copy of the prepared cluster, or one made from nothing.
stack_database() {
	local copied=no
	pg_find
	! cluster_fetch || copied=yes
	pg_start
	pg_database || die "the database cannot be made"
	[ -z "${STACK_POOLER:-}" ] || {
		pooler_start "$STACK_POOLER"
		STACK_CONF+=$'\n'$(pooler_settings)
	}
	stack_configure || die "there are no settings"
	if [ "$copied" = yes ]; then
		cluster_rename || die "the copied cluster cannot be used"
	else
		quiet migrate stack_migrate || die "the schema cannot be made"
	fi
}

stack_up() {
	[ -z "${STACK_DISK_MB:-}" ] || stack_mount
	place_make
	[ -z "${STACK_PLACED:-}" ] || "$STACK_PLACED" || die "$STACK_PLACED failed"
	stack_install || die "the programs cannot be copied"
	cgroup_delegate "$STACK_NAME"
	stack_database
	api_start
	[ -z "${STACK_EGRESS:-}" ] || egress_start
	nginx_start
}

# stack_begin: starts a stack, which ends with the script.  A machine that cannot
# run one skips the whole test; `skip_all` is tap.sh's.
stack_begin() {
	local why
	STACK_BUILD=${top_builddir:-$TOP/build}
	place_users
	CGROUP=none
	why=$(stack_missing)
	[ -z "${STACK_POOLER:-}" ] || [ -x /usr/sbin/pgbouncer ] || why="there is no PgBouncer"
	[ -z "$why" ] || {
		declare -F skip_all >/dev/null && skip_all "$why"
		die "$why"
	}
	! is_root || place_make_user || die "cannot make the user $SVC_USER"
	stack_describe
	trap stack_end EXIT
	trap 'exit 130' INT TERM
	stack_up > >(stack_diag)
	stack_export
}

# One pass of the reaper; prints its summary.
stack_reap() {
	as "$SVC_USER" "$(stack_program sandlease-reaper)" \
		--config "$(stack_conf_file)" "$@"
}

# ---- a pooler between the programs and PostgreSQL

POOLER_PORT=6432 # part of its socket's name, no port of the machine's

# pooler_start MODE [SETTINGS]: PgBouncer, which drops a connection's options as
# many installations have it.
pooler_start() {
	local dir=$STACK_STATE/etc pass
	pass=$(as "$SVC_USER" cat "$dir/pgpass")
	pg_keep "$SVC_USER" "$dir/pooler.users" "\"sandlease\" \"${pass##*:}\""
	pg_keep "$SVC_USER" "$dir/pooler.ini" "[databases]
sandlease = host=$STACK_RUN/pg
[pgbouncer]
listen_addr =
unix_socket_dir = $STACK_RUN/run
listen_port = $POOLER_PORT
auth_type = scram-sha-256
auth_file = $dir/pooler.users
ignore_startup_parameters = options
pool_mode = $1
default_pool_size = 80
max_client_conn = 300
${2:-}"
	daemon_start pooler "$SVC_USER" pgbouncer "$dir/pooler.ini"
	daemon_wait pooler "$PATIENCE" pooler_answers || {
		show_tail "$STACK_STATE/log/pooler.log"
		die "PgBouncer did not start"
	}
}
pooler_answers() { "$PG_BIN/pg_isready" -q -h "$STACK_RUN/run" -p "$POOLER_PORT"; }
pooler_settings() {
	echo "database = host=$STACK_RUN/run port=$POOLER_PORT dbname=sandlease user=sandlease passfile=$STACK_STATE/etc/pgpass"
}
# wait: then it is killed
pooler_stop() { daemon_stop pooler TERM 5; }

# ---- more API hosts on this stack's database

# host_begin NAME [SETTINGS]: workers and nginx with the host's own name, ports,
# state, sockets and cgroup.  Seal keys and database are this stack's.
host_begin() {
	local name=$1 database
	database="host=$STACK_RUN/pg dbname=sandlease user=sandlease passfile=$STACK_STATE/etc/pgpass"
	(
		STACK_CONF="$STACK_CONF
host_name = $name
database = $database
seal_key_file = $STACK_STATE/etc/seal.keys
${2:-}"
		STACK_STATE=$STACK_DIR/$name STACK_RUN=$STACK_DIR/r-$name
		STACK_NAME=$STACK_NAME-$name
		STACK_PORT=$(stack_free_port) && STACK_PREVIEW_PORT=$(stack_free_port) || exit 1
		place_make
		stack_install || die "the programs cannot be copied"
		cgroup_delegate "$STACK_NAME"
		mkdir -p "$STACK_DIR/hosts" &&
			declare -p STACK_STATE STACK_RUN STACK_NAME STACK_PORT STACK_PREVIEW_PORT \
				STACK_CONF CGROUP >"$STACK_DIR/hosts/$name" || exit 1
		stack_configure || die "there are no settings"
		api_start
		nginx_start
		printf '%s %s\n' "$STACK_PORT" "$STACK_PREVIEW_PORT"
	)
}

# host_on NAME FUNCTION...: calls a function of t/lib/dev-stack.sh on that host.
host_on() {
	local name=$1
	shift
	(
		# shellcheck source=/dev/null
		. "$STACK_DIR/hosts/$name" || exit 1
		"$@"
	)
}

host_stop() {
	api_stop
	egress_stop
	nginx_stop
	stack_clear
}

# The logs of a test that failed are worth keeping.
stack_end() {
	local status=$? host
	trap - EXIT
	if [ "$status" -ne 0 ] && [ -n "${SANDLEASE_KEEP_LOGS:-}" ]; then
		mkdir -p "$SANDLEASE_KEEP_LOGS"
		cp -R "$STACK_STATE/log" "$STACK_STATE/nginx/log" \
			"$SANDLEASE_KEEP_LOGS" 2>/dev/null
	fi
	find "$STACK_DIR/hosts" -type f -printf '%f\n' 2>/dev/null | while read -r host; do
		host_on "$host" host_stop
	done 2>&1 | stack_diag
	[ ! -e "$(daemon_file pooler)" ] || pooler_stop 2>&1 | stack_diag
	stack_stop 2>&1 | stack_diag
	[ -z "${STACK_DISK_MB:-}" ] || umount "$STACK_STATE" ||
		umount -l "$STACK_STATE"
	cluster_remove
	stack_release_ports
	rm -rf -- "$STACK_DIR"
	exit "$status"
}

stack_main() {
	[ $# -gt 1 ] || die "usage: stack.sh with COMMAND... | do FUNCTION..."
	case $1 in
	with) stack_begin ;;
	do)
		[ -n "${STACK_DIR:-}" ] || die "there is no stack to do that on"
		place_users
		pg_find
		;;
	*) die "stack.sh $1: no such word" ;;
	esac
	shift
	"$@"
}

[ "${BASH_SOURCE[0]}" != "$0" ] || stack_main "$@"
