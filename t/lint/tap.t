#!/bin/bash
# The runner of world tests sees what it must not miss.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# counts SCRIPT: what run-tap makes of a test with that body.
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
