# shellcheck shell=bash
# shellcheck disable=SC2015,SC2154 # `a && b || die` means both or die; variables are shared by the files of t/lib
# live.sh: measures whether a create costs more while many sandboxes live.
#
# CPU time of the whole service counts: nginx, workers, PostgreSQL, and all that starts in
# the sandboxes.  BENCH_LIVE makes the run smaller for a try.

readonly LIVE=${BENCH_LIVE:-500} LIVE_SAMPLES=5 LIVE_CREATES=20

# In v1 a group of the controller that only counts, so that programs beside the service
# and its sandboxes do not; v2 counts in the group of sandboxes and workers.
live_group() { printf '/sys/fs/cgroup/cpuacct/%s' "$STACK_NAME"; }
live_count_begin() {
	local name pid
	[ "$(cgroup_find)" = v1 ] || return 0
	quiet_root mkdir -p "$(live_group)" || return 1
	for name in postgres nginx api; do
		for pid in $(children_of "$(daemon_pid "$name")"); do
			# one that has ended meanwhile is none
			quiet_root sh -c "echo $pid >$(live_group)/cgroup.procs" 2>/dev/null || [ ! -d "/proc/$pid" ] || return 1
		done
	done
}
live_count_end() {
	local pid
	[ -d "$(live_group)" ] || return 0
	while read -r pid; do
		quiet_root sh -c "echo $pid >/sys/fs/cgroup/cpuacct/cgroup.procs" 2>/dev/null || [ ! -d "/proc/$pid" ] || return 1
	done <"$(live_group)/cgroup.procs"
	wait_for 5 quiet_root rmdir "$(live_group)" 2>/dev/null
}

# live_cpu_us: what the service has used so far.
live_cpu_us() {
	case $(cgroup_find) in
	v1) awk '{ printf "%d", $1 / 1000 }' "$(live_group)/cpuacct.usage" ;;
	v2) awk -v more="$(cpu_ms postgres nginx)" '$1 == "usage_usec" { printf "%d", $2 + more * 1000 }' \
		"/sys/fs/cgroup/$STACK_NAME/cpu.stat" ;;
	*) echo $(($(busy_ms) * 1000)) ;;
	esac
}

# live_sample: CPU microseconds of a create and its first command.
live_sample() {
	local before after status=0
	before=$(live_cpu_us)
	load start "$LIVE_CREATES" 1 "$BENCH/ids" >/dev/null || status=1
	after=$(live_cpu_us)
	load delete "$BENCH/ids" || status=1
	echo $(((after - before) / LIVE_CREATES))
	return "$status"
}

live_samples() { # FILE
	local i
	for ((i = 0; i < LIVE_SAMPLES; i++)); do
		live_sample || return 1
	done >"$1"
}

# With none, with many, and with none again: what the first and the third differ by is
# not the work of the sandboxes that live.
live_rounds() {
	local status=0
	live_samples "$BENCH/live-none" || return 1
	load start "$LIVE" 8 "$BENCH/live-ids" >/dev/null && live_samples "$BENCH/live-many" || status=1
	load delete "$BENCH/live-ids" || status=1
	[ "$status" -eq 0 ] && live_samples "$BENCH/live-again"
}

live_figures() {
	local none many again
	none=$(median <"$BENCH/live-none") && many=$(median <"$BENCH/live-many") &&
		again=$(median <"$BENCH/live-again") || return 1
	figure "create, CPU, none live" "$(awk -v a="$none" 'BEGIN { printf "%.2f", a / 1000 }')" ms "" \
		"$(awk -v a="$again" 'BEGIN { printf "%.2f", a / 1000 }') after the others have gone"
	figure "create, CPU, $LIVE live" "$(awk -v a="$many" 'BEGIN { printf "%.2f", a / 1000 }')" ms "" \
		"with its first command, middle of $LIVE_SAMPLES times $LIVE_CREATES"
	figure "create, CPU, $LIVE live / none" \
		"$(awk -v a="$none" -v m="$many" -v b="$again" 'BEGIN { printf "%.3f", 2 * m / (a + b) }')" "" "<= 1.05" \
		"none: the mean of before and after"
}

live() {
	local status=0
	live_count_begin && live_sample >/dev/null && live_rounds && live_figures || status=1
	live_count_end || status=1
	return "$status"
}
