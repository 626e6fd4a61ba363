#!/bin/bash
# Tests that shellcheck finds nothing in our scripts.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

command -v shellcheck >/dev/null || skip_all "shellcheck is not installed"

scripts() {
	local f
	for f in dev .ci/run $(find t -type f -not -name '*.[ch]' -not -path '*/node_modules/*'); do
		[ -f "$f" ] && head -n 1 "$f" | grep -qE '^#!.*sh$|shellcheck shell' && echo "$f"
	done
}
for f in $(scripts); do
	ok "$f" shellcheck -S warning -x -P "$PWD" "$f"
done

done_testing
