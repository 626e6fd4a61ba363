#!/bin/bash
# run-tap.sh LOGS FILE...: runs test scripts one after the other.
#
# A line per file; what failed is shown with its diagnostics; everything is
# kept in LOGS.  LOGS/counts gets "passed failed skipped".  A plan that was not
# kept, a crash and silence are failures too.  Exit status 1 when anything
# failed.
set -uo pipefail

readonly GUARD_SECONDS=1800 # against a test that hangs, not a measure

# tally STATUS: reads TAP, prints "passed failed skipped why".
tally() {
	awk -v status="$1" '
		/^ok/ { if (tolower($0) ~ /# skip/) s++; else p++ }
		/^not ok/ { f++ }
		/^1\.\.[0-9]+/ { plan = substr($1, 4) + 0; planned = 1
			if (plan == 0) { s++; empty = 1 } }
		/^Bail out!/ { f++; why = "bailed out" }
		END {
			if (!planned) { f++; why = "no plan" }
			else if (!empty && plan != p + f + s) { f++; why = "planned " plan ", ran " p + f + s }
			if (status == 124) { f++; why = "hangs" }
			else if (status != 0 && f == 0) { f++; why = "exit status " status }
			printf "%d %d %d %s\n", p, f, s, why
		}'
}

# Each failure with the diagnostics behind it, and the reasons of skips.
show() { # LOG
	awk '/^not ok/ { on = 1 } /^ok/ { on = 0 } on { print "    " $0 }
		tolower($0) ~ /# skip/ { print "    " $0 }' "$1"
}

run_one() { # FILE
	local file=$1 log status=0 passed failed skipped why mark=✓ start=$SECONDS
	log=$logs/$(tr / - <<<"${file#"${top_srcdir:-}/"}").log
	timeout -k 10 "$GUARD_SECONDS" "$file" >"$log" 2>&1 </dev/null || status=$?
	read -r passed failed skipped why < <(tally "$status" <"$log")
	[ "$failed" -eq 0 ] || mark=✗
	printf '%s %-36s %3d ok' "$mark" "${file#"${top_srcdir:-}/"}" "$passed"
	[ "$failed" -eq 0 ] || printf ', %d not ok' "$failed"
	[ "$skipped" -eq 0 ] || printf ', %d skipped' "$skipped"
	printf '  %d s%s\n' $((SECONDS - start)) "${why:+  ($why)}"
	show "$log"
	[ "$failed" -eq 0 ] || [ -z "$why" ] || tail -n 15 "$log" | sed 's/^/    | /'
	all_passed=$((all_passed + passed)) all_failed=$((all_failed + failed))
	all_skipped=$((all_skipped + skipped))
}

logs=$1
shift
mkdir -p "$logs"
all_passed=0 all_failed=0 all_skipped=0
for file in "$@"; do
	run_one "$file"
done
printf '%d %d %d\n' "$all_passed" "$all_failed" "$all_skipped" >"$logs/counts"
[ "$all_failed" -eq 0 ]
