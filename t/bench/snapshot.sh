# shellcheck shell=bash
# shellcheck disable=SC2154 # variables are shared by the files of t/lib
# snapshot.sh: measures a snapshot of a large workspace, and a session made from
# it beside a plain one.  BENCH_SNAPSHOT_MB makes the run smaller for a try.

readonly SNAPSHOT_MB=${BENCH_SNAPSHOT_MB:-1024} SNAPSHOT_FILES=1000 SNAPSHOT_ROUNDS=3

# asked METHOD PATH [BODY]: the answer; nothing unless the call succeeded.
asked() {
	curl -sf -X "$1" -H "Authorization: Bearer $SANDLEASE_API_KEY" \
		-H 'Content-Type: application/json' ${3:+-d "$3"} "$SANDLEASE_URL$2"
}

member() { sed -nE "s/.*\"$1\":\"([^\"]*)\".*/\1/p"; }

# timed FILE METHOD PATH [BODY]: milliseconds; the answer's id goes to FILE.
timed() {
	local since us answer
	since=${EPOCHREALTIME/./}
	answer=$(asked "${@:2}") || return 1
	us=$((${EPOCHREALTIME/./} - since))
	[[ $answer == *'"state":"ready"'* ]] || return 1
	grep -oE '"id":"[a-z0-9]{20}"' <<<"$answer" | head -n 1 | member id >"$1"
	awk -v us="$us" 'BEGIN { printf "%.1f\n", us / 1000 }'
}

# Writes one large file and many small ones, half of the size each; no zeros, no
# holes.
snapshot_fill() { # SESSION
	local each=$((SNAPSHOT_MB * 512 / SNAPSHOT_FILES))
	asked POST "/v1/sessions/$1/api/execute" "{\"command\": \"mkdir -p tree && head -c ${SNAPSHOT_MB}M /dev/urandom >large && truncate -s $((SNAPSHOT_MB / 2))M large && for i in \$(seq $SNAPSHOT_FILES); do mkdir -p tree/\$((i % 37)); dd if=large of=tree/\$((i % 37))/\$i bs=1K skip=\$i count=$each status=none; done; sync -f large\"}" |
		grep -q '"exitCode":0'
}

spare_of() { find "$STACK_STATE/data/snapshots" -mindepth 3 -maxdepth 3 -path "*/$1/spare"; }
spare_is_ready() { [ -s "$(spare_of "$1")/report" ]; }

# round NAME BODY: creates a session and deletes it.
snapshot_round() {
	timed "$BENCH/one" POST '/v1/sessions?wait=60' "$2" >>"$BENCH/snapshot-$1" &&
		asked DELETE "/v1/sessions/$(<"$BENCH/one")" >/dev/null
}

# Measures in turns, so that other load on the machine slows all alike.
snapshot_rounds() { # SNAPSHOT
	local i
	for ((i = 0; i < SNAPSHOT_ROUNDS; i++)); do
		snapshot_round plain '{}' || return 1
		wait_for 120 spare_is_ready "$1" || return 1
		snapshot_round ready "{\"snapshot\": \"$1\"}" || return 1
		wait_for 120 spare_is_ready "$1" || return 1
		mv "$(spare_of "$1")" "$STACK_STATE/data/trash/spare-$i" || return 1
		snapshot_round copied "{\"snapshot\": \"$1\"}" || return 1
		stack_reap >/dev/null 2>&1 # unlinks the files of deleted sessions
	done
}

snapshot_figure() { # NAME FILE [NOTE]
	figure "$1" "$(median <"$BENCH/snapshot-$2")" ms "" "${3:-n $SNAPSHOT_ROUNDS, $(sort -n "$BENCH/snapshot-$2" | sed -n '1p;$p' | paste -sd- | sed 's/-/ to /')}"
}

snapshot_figures() {
	local session snapshot
	session=$(head -n 1 "$BENCH/ids")
	snapshot_fill "$session" || return 1
	timed "$BENCH/snapshot" POST "/v1/sessions/$session/snapshots?wait=60" '{}' >"$BENCH/snapshot-taken" || return 1
	snapshot=$(<"$BENCH/snapshot")
	snapshot_rounds "$snapshot" || return 1
	asked DELETE "/v1/snapshots/$snapshot" >/dev/null
	snapshot_figure "snapshot of $SNAPSHOT_MB MB" taken "one large file and $SNAPSHOT_FILES small ones"
	snapshot_figure "create, plain" plain
	snapshot_figure "create from that snapshot" ready
	snapshot_figure "create from it, copied then" copied
}
snapshots() { with_sessions snapshot_figures 1 1 && end_shared; }
