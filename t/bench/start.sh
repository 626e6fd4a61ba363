# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables are shared by the files of t/lib
# start.sh: measures creates with their first command: cold, from the warm pool, and
# after a restart.

readonly START_COUNT=100 POOL=${BENCH_POOL:-128} FIRST_RESTARTS=3 FIRST_COUNT=8

# figures_of NAME AIM_P50 [AIM_P99]: the figures of $BENCH/times; aims are for both.
figures_of() {
	local what count min p50 p95 p99 max
	while read -r what count min p50 p95 p99 max; do
		local aim50='' aim99=''
		[ "$what" != both ] || aim50="<= $2" aim99=${3:+<= $3}
		figure "$1 $what p50" "$p50" ms "$aim50" "n $count, $min to $max"
		figure "$1 $what p95" "$p95" ms
		figure "$1 $what p99" "$p99" ms "$aim99"
	done <"$BENCH/times"
	figure "$1, CPU of each" "$(awk -v n="$START_COUNT" '{ printf "%.1f", $1 / n }' "$BENCH/cpu")" ms \
		"" "of the whole machine"
}

# busy_ms: processor time that all programs have used since the machine was started.
busy_ms() { awk '/^cpu / { print ($2 + $3 + $4 + $7 + $8) * 10 }' /proc/stat; }

# start_many FIGURES AT_ONCE: makes START_COUNT sessions, has FIGURES print their times,
# and deletes the sessions.
start_many() {
	local status=0 busy
	busy=$(busy_ms)
	load start "$START_COUNT" "$2" "$BENCH/ids" >"$BENCH/times" || status=1
	echo $(($(busy_ms) - busy)) >"$BENCH/cpu"
	[ "$status" -ne 0 ] || "$1" || status=1
	load delete "$BENCH/ids" || status=1
	return "$status"
}

warm() { with_sessions true "$WARM_COUNT" 4; }
cold_figures() { figures_of "cold" 12; }
cold_burst_figures() { figures_of "burst, cold" 350; }
start_cold() { start_many cold_figures 1; }
burst_cold() { start_many cold_burst_figures "$START_COUNT"; }

# ---- from the warm pool

# pool_set COUNT: restarts the service with a pool of that size.
pool_set() {
	STACK_CONF="${STACK_CONF:-}
warm_sandboxes = $1"
	stack_configure && api_stop && api_start || return 1
	if [ "$1" -gt 0 ]; then
		wait_for 60 pool_is_full
	else
		stack_reap >/dev/null 2>&1
		[ "$(pg_psql -qAt -c 'SELECT count(*) FROM warm')" = 0 ]
	fi
}
pool_is_full() {
	[ "$(pg_psql -qAt -c "SELECT count(*) FROM warm WHERE state = 'ready'")" = "$POOL" ]
}

# from_pool FIGURES AT_ONCE: as start_many, with a full pool.
from_pool() {
	wait_for 60 pool_is_full || return 1
	hits_before=$(pool_hits)
	start_many "$1" "$2"
}
pool_hits() { pg_psql -qAt -c "SELECT last_value FROM warm_hits"; }

# pool_figures_of: as figures_of, but prints none unless each session came from the pool.
pool_figures_of() {
	local hits=$(($(pool_hits) - hits_before))
	[ "$hits" -eq "$START_COUNT" ] || { say "only $hits of $START_COUNT sessions came from the pool"; return 1; }
	figures_of "$@"
}
pool_figures() { pool_figures_of "warm pool" 8 20; }
pool_burst_figures() { pool_figures_of "burst, warm pool" 200 450; }
with_pool() { # FUNCTION
	local status=0
	pool_set "$POOL" && "$1" || status=1
	pool_set 0 || status=1
	return "$status"
}
warm_and_start() { warm && from_pool pool_figures 1; }
warm_and_burst() { warm && from_pool pool_burst_figures "$START_COUNT"; }
start_pool() { with_pool warm_and_start; }
burst_pool() { with_pool warm_and_burst; }

# ---- the first creates of workers that have just been started

first_creates() {
	local i status=0
	: >"$BENCH/first"
	for ((i = 0; i < FIRST_RESTARTS; i++)); do
		api_stop && api_start && wait_for 10 health_answers || return 1
		sleep 1 # workers get ready one after the other
		load start "$FIRST_COUNT" 1 "$BENCH/ids" >"$BENCH/times" || status=1
		load delete "$BENCH/ids" || status=1
		sed -n 's/^both [0-9]* [^ ]* \([^ ]*\) .* \([^ ]*\)$/\1 \2/p' "$BENCH/times" >>"$BENCH/first"
	done
	[ "$status" -eq 0 ] || return 1
	figure "first creates after a restart p50" "$(cut -d' ' -f1 "$BENCH/first" | median)" ms "<= 25" \
		"$FIRST_COUNT after each of $FIRST_RESTARTS, slowest $(cut -d' ' -f2 "$BENCH/first" | sort -n | tail -n 1)"
}
health_answers() { curl -fsS -o /dev/null "$SANDLEASE_URL/v1/health"; }
