#!/bin/bash
# Tests that manual pages are well-formed, and that every program has one.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

command -v mandoc >/dev/null || skip_all "mandoc is not installed"
mapfile -t pages < <(find src -name '*.[1-8]' | sort)
[ ${#pages[@]} -gt 0 ] || skip_all "there is no manual page yet"

for page in "${pages[@]}"; do
	none "$page" "$(mandoc -T lint -W warning "$page" 2>&1)"
done
for p in sandlease sandlease-api sandlease-reaper sandlease-agent sandlease-ws sandlease-launch sandlease-admin; do
	[ -x "${top_builddir:-build}/$p" ] || continue
	ok "$p has a page" test -n "$(find src -name "$p.[1-8]")"
done

done_testing
