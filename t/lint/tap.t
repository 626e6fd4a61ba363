#!/bin/bash
# Tests that run-tap, the runner of world tests, notices every kind of failure.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# counts SCRIPT: run-tap's counts for a test with that body.
counts() {
	printf '#!/bin/bash\n%s\n' "$1" >"$dir/x.t"
	chmod +x "$dir/x.t"
	local status=0
	t/lib/run-tap "$dir/log" "$dir/x.t" >"$dir/out" 2>&1 || status=$?
	echo "$(cat "$dir/log/counts") $status"
}

while IFS='|' read -r name body want; do
	is "$(counts "$body")" "$want" "$name"
done <<'CASES'
all is well|echo 1..2; echo ok 1; echo ok 2|2 0 0 0
the plan may come last|echo ok 1; echo 1..1|1 0 0 0
a failure is one|echo 1..2; echo ok 1; echo not ok 2; exit 1|1 1 0 1
a skipped case is counted apart|echo 1..2; echo ok 1; echo 'ok 2 - x # SKIP no'|1 0 1 0
a skipped file is one skip|echo '1..0 # SKIP no world'|0 0 1 0
a plan of nothing has a reason or is a failure|echo 1..0|0 1 0 1
silence is a failure|true|0 1 0 1
no plan is a failure|echo ok 1|1 1 0 1
a plan that was not kept is a failure|echo 1..3; echo ok 1|1 1 0 1
dying after the plan is a failure|echo ok 1; echo 1..1; exit 3|1 1 0 1
a signal is a failure|echo ok 1; echo 1..1; kill -9 $$|1 1 0 1
bailing out is a failure|echo 1..1; echo ok 1; echo 'Bail out! no disk'|1 2 0 1
CASES

ok "what failed is shown with its diagnostics" grep -q 'Bail out' "$dir/out"
printf '#!/bin/bash\necho not ok 1 - broken; echo "# because"; echo 1..1\n' >"$dir/x.t"
is "$(t/lib/run-tap "$dir/log" "$dir/x.t" >"$dir/out"; echo $?)" 1 \
	"the runner fails when a test does"
ok "and says why" grep -q '# because' "$dir/out"
ok "and keeps it for the verdict" grep -q '# because' "$dir/log/failed"
ok "and how to repeat it" grep -qE 'again: .*\./dev check .*x\.t' "$dir/out"

printf '#!/bin/bash\necho "ok 1 - x # SKIP no"; echo 1..1\n' >"$dir/x.t"
SANDLEASE_MUST_RUN='' t/lib/run-tap "$dir/log" "$dir/x.t" >"$dir/skips"
none "a skip is not kept for the verdict" "$(cat "$dir/log/failed")"
SANDLEASE_MUST_RUN=1 t/lib/run-tap "$dir/log" "$dir/x.t" >"$dir/skips"
ok "unless it must run" grep -q 'SKIP no' "$dir/log/failed"

# ---- side by side

# script NAME MARK BODY: a test that leaves a file in $dir/now while it runs, and
# one in $dir/begun.
mkdir "$dir/many" "$dir/now" "$dir/begun"
script() {
	printf '#!/bin/bash\n%s\ncd "%s" && touch now/%s begun/%s || exit\n%s || exit\nrm now/%s\necho ok; echo 1..1\n' \
		"$2" "$dir" "$1" "$1" "$3" "$1" >"$dir/many/$1.t"
	chmod +x "$dir/many/$1.t"
}
# meet OTHER...: waits until the others have begun, which never happens in a runner
# with too few slots
meet() { echo "timeout 60 bash -c 'until ls ${*/#/begun/}; do sleep 0.01; done' >/dev/null 2>&1"; } # wait: against hanging
script a '' "$(meet b d)"
script b '' "$(meet a d)"
script c '# alone: it watches' 'ls now >beside-c'
script d '# idle: the clock' "$(meet a b)"
is "$(t/lib/run-tap --jobs 2 "$dir/log" "$dir"/many/*.t >"$dir/out"; cat "$dir/log/counts")" "4 0 0" \
	"two scripts run at the same time, and one that is idle beside them"
is "$(cat "$dir/beside-c")" c "who is alone has nobody beside"
is "$(tail -n 1 "$dir/out" | grep -cE '4 scripts, [0-9]+ s of processor time')" 1 \
	"and it is told what that cost"
is "$(awk '{ print NF }' "$dir/log/times" | sort -u)" 2 "each has its time"

# a script that hangs is ended, and has failed
printf '#!/bin/bash\necho 1..1; echo ok; sleep 1000 & wait\n' >"$dir/x.t"
is "$(t/lib/run-tap --guard 1 "$dir/log" "$dir/x.t" >"$dir/out"; cat "$dir/log/counts")" "1 2 0" \
	"a script that hangs is ended, and has failed"
like "$(cat "$dir/out")" 'ended after 1 s' "which is told"
like "$(top_builddir=$dir/build-asan t/lib/run-tap --guard 1 "$dir/log" "$dir/x.t" | grep again)" \
	'top_builddir=.*/build-asan .*x\.t' "with the build that it had"

# a runner that gets SIGTERM ends its scripts, and they may clean up
printf '#!/bin/bash\ntrap "touch %s/cleaned; exit 1" TERM\ntouch %s/started\nsleep 1000 & wait\n' "$dir" "$dir" >"$dir/x.t"
t/lib/run-tap "$dir/log" "$dir/x.t" >"$dir/out" 2>&1 &
runner=$!
until [ -e "$dir/started" ]; do sleep 0.01; done # wait: polls for a file
kill "$runner"
wait "$runner"
is "$?" 1 "a runner that is ended has failed"
ok "its scripts have ended before it, in their own way" test -e "$dir/cleaned"

# ---- which tests a name means

found() { bash -c 'TOP=$PWD; . t/lib/dev-say.sh; . t/lib/dev-check.sh; check_find "$1"' - "$1" | tr '\n' ' '; }
is "$(found t/api/ports.t)" "t/api/ports.t " "a path is that file"
is "$(found ./t/unit/domain/disk_test.c)" "t/unit/domain/disk_test " "a unit test is its program"
like "$(found lease)" 't/lease/deletion.t .*t/sql/lease.t ' \
	"a word is an area, and every file of that name"
is "$(found no-such-test)" "" "or nothing"
fast() { bash -c 'TOP=$PWD; . t/lib/dev-say.sh; . t/lib/dev-check.sh; check_fast_scripts'; }
ok "--fast has the fences of SQL" grep -qx t/sql/lease.t <(fast)
ok "and not what is long" test -z "$(fast | grep mutation)"

sample() { SANDLEASE_SAMPLE=$1 bash -c '. t/lib/dev-say.sh; . t/lib/dev-check.sh; check_sample' 2>&1; }
is "$(sample 3)$(sample all)" "" "a sample is a day or all"
like "$(sample 7)" 'must be 0 to 6, or all' "and nothing else"

verdict() { # MUST_RUN: the last line of ./dev check with one skip
	SANDLEASE_MUST_RUN=$1 bash -c '. t/lib/dev-say.sh; . t/lib/dev-check.sh
		check_count 5 0 1; check_verdict | tail -n 1; exit ${PIPESTATUS[0]}'
	echo $?
}
is "$(verdict '' | tr '\n' ' ')" '5 passed, 0 failed, 1 skipped 0 ' \
	"a skip is no failure"
is "$(verdict 1 | tr '\n' ' ')" '5 passed, 1 failed 1 ' \
	"unless everything must run"

done_testing
