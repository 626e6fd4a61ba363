#!/bin/bash
# Tests that every promise of docs/promises.md names the tests that prove it, and
# that they exist.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

rows() { grep '^| \*\*' docs/promises.md; }
ok "there are promises" test "$(rows | wc -l)" -ge 8

while IFS= read -r row; do
	name=$(sed 's/^| \*\*\([^*]*\)\*\*.*/\1/' <<<"$row")
	# shellcheck disable=SC2016 # backticks of Markdown
	tests=$(grep -oE '`t/[^`]+\.t`' <<<"$row" | tr -d '`')
	missing=''
	for t in $tests; do
		[ -x "$t" ] || missing+="$t does not exist"$'\n'
	done
	[ -n "$tests" ] || missing='no test is named'
	none "$name" "$missing"
done < <(rows)

# The header of the test must have the words of the contract.
ok "the crash points' test is named as the contract names it" \
	grep -qzE 'kill -9 of worker, reaper, agent, PostgreSQL at each step:\s+after the next passes nothing is leaked, nothing is owned twice, nothing is\s+lost' t/chaos/crash-points.t

done_testing
