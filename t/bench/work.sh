# shellcheck shell=bash
# shellcheck disable=SC2154 # variables are shared by the files of t/lib
# work.sh: measures the cost of work in a session: commands and streams.

readonly EXEC_COUNT=1000 STREAM_COUNT=500 TOGETHER_SESSIONS=50 TOGETHER_TURNS=20
readonly KEYS_COUNT=500 CODE_COUNT=500 CONTEXT_COUNT=20

# ---- a command, against one that is forked here

exec_figures() {
	local count min p50 p95 p99 max local_p50 local_p99
	load exec "$BENCH/ids" "$EXEC_COUNT" >"$BENCH/execs" || return 1
	read -r _ _ _ local_p50 _ local_p99 _ < <(grep '^local ' "$BENCH/execs")
	read -r _ count min p50 p95 p99 max < <(grep '^exec ' "$BENCH/execs")
	figure "exec p50" "$p50" ms "" "n $count, $min to $max"
	figure "exec p99" "$p99" ms "" "p95 $p95"
	figure "sh -c true p50, forked here" "$local_p50" ms "" "p99 $local_p99"
	figure "exec p50 above sh -c true" \
		"$(awk -v a="$p50" -v b="$local_p50" 'BEGIN { printf "%.2f", a - b }')" ms "<= 3"
}
exec_one() { with_sessions exec_figures 1 1; }

together_figures() {
	local count min p50 p95 p99 max rate
	load together "$BENCH/ids" "$TOGETHER_TURNS" >"$BENCH/execs" || return 1
	read -r _ count min p50 p95 p99 max < <(grep '^exec ' "$BENCH/execs")
	read -r _ rate < <(grep '^rate ' "$BENCH/execs")
	figure "exec in $TOGETHER_SESSIONS sessions at once" "$rate" /s "" "n $count"
	figure "exec in $TOGETHER_SESSIONS at once p50" "$p50" ms "" "$min to $max, p95 $p95"
	figure "exec in $TOGETHER_SESSIONS at once p99" "$p99" ms
}
exec_together() { with_sessions together_figures "$TOGETHER_SESSIONS" 8; }

# ---- a line, from the write to the client

stream_figures() {
	local count min p50 p95 p99 max
	load stream "$BENCH/ids" "$STREAM_COUNT" >"$BENCH/lines" || return 1
	read -r _ count min p50 p95 p99 max <"$BENCH/lines"
	figure "stream, write to client p50" "$p50" ms "<= 2" "n $count, $min to $max"
	figure "stream, write to client p99" "$p99" ms "" "p95 $p95"
}
stream_lag() { with_sessions stream_figures 1 1; }

# ---- a key, from the client to the shell and back

keys_figures() {
	local count min p50 p95 p99 max
	load keys "$BENCH/ids" "$KEYS_COUNT" >"$BENCH/keys" || return 1
	read -r _ count min p50 p95 p99 max <"$BENCH/keys"
	figure "keystroke to echo p50" "$p50" ms "<= 3" "n $count, $min to $max"
	figure "keystroke to echo p99" "$p99" ms "" "p95 $p95"
}
keys_lag() { with_sessions keys_figures 1 1; }

# ---- code in a context

code_figures() {
	local count min p50 p95 p99 max
	load code "$BENCH/ids" "$CODE_COUNT" >"$BENCH/cells" &&
		load context "$BENCH/ids" "$CONTEXT_COUNT" >"$BENCH/contexts" || return 1
	read -r _ count min p50 p95 p99 max <"$BENCH/cells"
	figure "runCode 1+1, warm p50" "$p50" ms "<= 5" "n $count, $min to $max"
	figure "runCode 1+1, warm p99" "$p99" ms "" "p95 $p95"
	read -r _ count min p50 p95 p99 max <"$BENCH/contexts"
	figure "new Python context p50" "$p50" ms "<= 150" "n $count, $min to $max"
}
code_one() { with_sessions code_figures 1 1; }
