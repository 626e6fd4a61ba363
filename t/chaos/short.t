#!/bin/bash
# alone: it watches all processes, and faults meet by time
# Tests that the service survives ./dev chaos for a short time.
#
# A schedule has every kind of fault, whatever its seed, so the seed is the
# day's (SANDLEASE_SAMPLE); CHAOS_SEED and CHAOS_SECONDS choose another run.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

[ -x "${SANDLEASE_FAULTS_BUILD:-build-faults}/t/chaos/watch" ] ||
	skip_all "there is no build with faults (./dev check makes it)"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

seconds=${CHAOS_SECONDS:-30}
case ${SANDLEASE_SAMPLE:-all} in
all) seed=3 ;;
*) seed=$SANDLEASE_SAMPLE ;;
esac
seed=${CHAOS_SEED:-$seed}
diag "again: ./dev chaos --seconds $seconds --seed $seed"

CHAOS_OUT=$dir/last.json t/chaos/run --seconds "$seconds" --seed "$seed" \
	>"$dir/log" 2>&1
status=$?
[ "$status" -eq 0 ] || tail -n 60 "$dir/log" | cut -c1-1500 | sed 's/^/# /'

value() { /usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$dir/last.json" "$1"; }
told() { grep -E "^($1): " "$dir/log" | cut -c1-400; }
# no_problem COUNT KIND NAME: with the problems themselves, as a count alone
# cannot be followed.
no_problem() {
	if [ "$(value "$1")" = 0 ]; then pass "$3"; else none "$3" "$(value "$1"): $(told "$2")"; fi
}
kinds() { sed -n 's/^fault=\([a-z-]*\) target=..*/\1/p' "$dir/log" | sort -u | tr '\n' ' '; }

is "$status" 0 "chaos holds for a short time"
is "$(kinds)" "disk-full init postgres-restart postgres-stop provider-fail provider-hang reaper sandbox sigstop worker wrapper " \
	"every kind of fault struck"
no_problem leaks leaks "nothing is leaked"
no_problem doubleOwners doubles "at no moment had a session two wrappers"
none "nothing that was acknowledged is lost" "$(told 'violation|history')"
no_problem missing missing "no row is without its thing"
no_problem stuck stuck "nothing is stuck"
no_problem untold untold "every transition is in the history, with who, trace and duration"
no_problem countersWrong counters "quotas count what there is"
# these counts depend on the machine; a watcher or client that is broken has 0
ok "the watcher looked on" test "$(value samples)" -gt 5
ok "and saw who there was" test "$(value wrappersSeen)" -gt 5
ok "and creates took sandboxes of the warm pool" test "$(value warmHits)" -gt 0
ok "there were sessions to break" test "$(value creates)" -gt 5

# ---- the seed is the schedule
plan() { /usr/bin/python3 -B -c '
import sys
sys.path[:0] = ["t/chaos", "t/lib"]
import monkey
print(monkey.schedule(sys.argv[1], 60, 1.2))' "$1"; }
is "$(plan 7)" "$(plan 7)" "a seed replays its schedule"
ok "another seed is another schedule" test "$(plan 7)" != "$(plan 8)"

done_testing
