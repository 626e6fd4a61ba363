# shellcheck shell=bash
# dev-daemon.sh: starts and stops our own daemons, and never another process.
#
# A pid file holds "pid start-time boot-id".  A process is ours only if all
# three still fit, so a process that got the same number later is never
# signalled.

daemon_file() { printf '%s/pid/%s' "$STACK_STATE" "$1"; }

# proc_start PID: its start time in clock ticks since boot; fails when the process
# is gone or a zombie.  The name in field 2 may hold anything, hence the cut.
proc_start() {
	local stat
	read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
	# shellcheck disable=SC2086 # split on purpose
	set -- ${stat##*) }
	[ "$1" != Z ] && printf '%s' "${20}"
}

# daemon_pid NAME: prints the pid if the daemon lives.
daemon_pid() {
	local pid start boot
	read -r pid start boot 2>/dev/null <"$(daemon_file "$1")" || return 1
	[ "$boot" = "$(</proc/sys/kernel/random/boot_id)" ] || return 1
	[ "$(proc_start "$pid")" = "$start" ] && printf '%s' "$pid"
}

daemon_alive() { daemon_pid "$1" >/dev/null; }

# daemon_start NAME USER COMMAND...: in the background, in a session of its
# own, stderr to log/NAME.log.  DAEMON_CGROUP, if set, is a function that gets
# the pid and moves the process into its cgroup before the program begins.
daemon_start() {
	local name=$1 user=$2 pid log
	shift 2
	log=$STACK_STATE/log/$name.log
	as_prefix "$user"
	(
		cd /
		[ -z "${DAEMON_CGROUP:-}" ] || "$DAEMON_CGROUP" "$BASHPID"
		exec setsid "${AS[@]}" "$@"
	) </dev/null >>"$log" 2>&1 8>&- 9>&- &
	pid=$!
	disown "$pid"
	printf '%s %s %s\n' "$pid" "$(proc_start "$pid")" \
		"$(</proc/sys/kernel/random/boot_id)" >"$(daemon_file "$name")"
	DAEMONS_STARTED+=("$name")
}
DAEMONS_STARTED=() # names of daemons that this run has started, in order

# daemon_wait NAME SECONDS COMMAND...: waits until COMMAND succeeds; 1 when the
# daemon has ended before, or time is over.
daemon_wait() {
	local name=$1 seconds=$2
	shift 2
	wait_for "$seconds" daemon_settled "$name" "$@" && "$@" >/dev/null 2>&1
}
daemon_settled() {
	local name=$1
	shift
	"$@" || daemon_gone "$name"
}

daemon_gone() { ! daemon_alive "$1"; }

# daemon_signal SIGNAL NAME [group]: to the process, or to all of its group.
daemon_signal() {
	local pid
	pid=$(daemon_pid "$2") || return 0
	[ "${3:-}" != group ] || pid=-$pid
	kill -s "$1" -- "$pid" 2>/dev/null || true
}

# daemon_stop NAME SIGNAL SECONDS [group]: sends SIGNAL, waits, then sends SIGKILL.
daemon_stop() {
	local name=$1
	daemon_signal "$2" "$name" "${4:-}"
	wait_for "$3" daemon_gone "$name" || {
		daemon_signal KILL "$name" "${4:-}"
		wait_for "$PATIENCE" daemon_gone "$name" ||
			die "$name (pid $(daemon_pid "$name")) cannot be stopped"
	}
	rm -f "$(daemon_file "$name")"
}
