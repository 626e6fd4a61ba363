# shellcheck shell=bash
# shellcheck disable=SC2015,SC2034,SC2154 # `a && b || die` means both or die; variables are shared by the files of t/lib
# measure.sh: the measurements of ./dev bench, one function each.
#
# Each function adds its figures to $FIGURES; its status says whether it could
# be run.  All are bounded in count and time.

readonly WARM_COUNT=240 IDLE_COUNT=20 IDLE_SECONDS=3
readonly HANG_COUNT=8 PING_COUNT=1000

figure() { # NAME VALUE UNIT [AIM [NOTE]]
	printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "${4:-}" "${5:-}" >>"$FIGURES"
}

load() { "$STACK_BUILD/t/bench/load" "$@"; }

# with_sessions FUNCTION COUNT AT_ONCE: makes COUNT sessions, calls FUNCTION with
# the file of times, and deletes the sessions; nothing after load is timed.
with_sessions() {
	local status=0
	load start "$2" "$3" "$BENCH/ids" >"$BENCH/times" || status=1
	[ "$status" -ne 0 ] || "$1" || status=1
	load delete "$BENCH/ids" || status=1
	return "$status"
}

# ---- memory

# pss_kb PID...: the sum of PSS: each process counts its share of shared pages.
# Fails when one of the processes may not be read.
pss_kb() {
	local pid one sum=0
	for pid; do
		one=$(awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup" 2>/dev/null) &&
			[ -n "$one" ] || return 1
		sum=$((sum + one))
	done
	printf '%s' "$sum"
}

# children_of PID...: these processes and all their descendants.
children_of() {
	local all=("$@") next
	next=("$@")
	while [ ${#next[@]} -gt 0 ]; do
		mapfile -t next < <(pgrep -P "$(IFS=, && echo "${next[*]}")")
		all+=("${next[@]}")
	done
	printf '%s\n' "${all[@]}" | sort -un
}

as_mb() { awk -v kb="$1" -v per="${2:-1}" 'BEGIN { printf "%.2f", kb / 1024 / per }'; }

worker_memory() {
	local master pids kb
	master=$(daemon_pid api) || return 1
	mapfile -t pids < <(echo "$master" && pgrep -P "$master")
	kb=$(pss_kb "${pids[@]}") || return 1
	figure "workers, all together" "$(as_mb "$kb")" MB "<= 64" "PSS of ${#pids[@]} processes"
}

# The memory of all sandboxes by the memory controller, in kB.
box_cgroup_kb() {
	local dir file
	case $(cgroup_find) in
	v1) dir=/sys/fs/cgroup/memory file=memory.usage_in_bytes ;;
	v2) dir=/sys/fs/cgroup file=memory.current ;;
	*) return 1 ;;
	esac
	cat "$dir/$STACK_NAME"/box/*/"$file" 2>/dev/null |
		awk '{ sum += $1; n++ } END { if (n == 0) exit 1; print int(sum / 1024), n }'
}

idle_memory() {
	local pids kb count boxes
	sleep "$IDLE_SECONDS"
	mapfile -t boxes < <(stack_lock_pids)
	[ ${#boxes[@]} -gt 0 ] || return 1
	mapfile -t pids < <(children_of "${boxes[@]}")
	if [ "$CGROUP" != none ]; then
		read -r kb count < <(box_cgroup_kb) && [ "$count" -eq "$IDLE_COUNT" ] || return 1
		figure "idle sandbox" "$(as_mb "$kb" "$count")" MB "<= 1.1" "memory cgroup, mean of $count"
		kb=$(pss_kb "${pids[@]}") || return 0
		figure "idle sandbox, PSS" "$(as_mb "$kb" "$count")" MB "" "${#pids[@]} processes"
	else
		kb=$(pss_kb "${pids[@]}") || return 1
		figure "idle sandbox" "$(as_mb "$kb" "$IDLE_COUNT")" MB "<= 1.1" "PSS of ${#pids[@]} processes"
	fi
}

both_memories() { worker_memory && idle_memory; }
memory() { with_sessions both_memories "$IDLE_COUNT" 1; }

# ---- another server of the same nginx

nginx_add_server() { # TEXT COMMAND...: added once the command succeeds
	local dir=$STACK_STATE/nginx/conf
	grep -q bench.conf "$dir/nginx.conf" ||
		sed -i "s|include .*/sandlease.conf;|&\n\tinclude $dir/bench.conf;|" "$dir/nginx.conf"
	printf '%s\n' "$1" >"$dir/bench.conf" &&
		quiet nginx-test as "$WEB_USER" "${NGINX[@]}" -t || return 1
	daemon_signal HUP nginx
	wait_for 5 "${@:2}"
}

# ---- a data-plane request while every worker hangs in a create

gate_close() {
	exec 8>"$GATE" && flock -n 8
}
gate_open() { exec 8>&-; }

# From now on workers start bwrap through the gate.
gate_install() {
	GATE=$STACK_STATE/bin/gate
	install -m 755 "$HERE/bwrap-at-gate" "$(stack_program bwrap-at-gate)" &&
		: >"$GATE" && install -m 666 /dev/null "$GATE.waiting" || return 1
	STACK_CONF="${STACK_CONF:-}
bwrap_path = $(stack_program bwrap-at-gate)
launcher = bwrap"
	stack_configure && api_stop && api_start
}

all_hang() { [ "$(wc -l <"$GATE.waiting")" -eq "$HANG_COUNT" ]; }

# The sessions in $BENCH/ids answer pings; the creates that hang are of other
# sessions.
ping_while_hanging() {
	local loader status=0 p50 p95 p99 max count
	load ping "$BENCH/ids" "$PING_COUNT" >"$BENCH/pings-before" || return 1
	gate_close || return 1
	load hang "$HANG_COUNT" "$BENCH/hanging" >/dev/null 8>&- &
	loader=$!
	if wait_for 20 all_hang; then
		load ping "$BENCH/ids" "$PING_COUNT" >"$BENCH/pings" || status=1
		[ -d "/proc/$loader" ] || status=1
	else
		status=1
	fi
	gate_open
	wait "$loader" || status=1
	load delete "$BENCH/hanging" || status=1
	[ "$status" -eq 0 ] || return 1
	read -r _ _ _ _ _ p99 _ <"$BENCH/pings-before"
	figure "ping p99, nothing hangs" "$p99" ms
	read -r _ count _ p50 p95 p99 max <"$BENCH/pings"
	figure "ping p50, $HANG_COUNT creates hang" "$p50" ms
	figure "ping p99, $HANG_COUNT creates hang" "$p99" ms "<= 10" "n $count, p95 $p95, max $max"
}

hanging() { gate_install && with_sessions ping_while_hanging 1 1; }
