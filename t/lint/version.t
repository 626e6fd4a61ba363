#!/bin/bash
# Tests that the version has one source: configure.ac.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

version=$(sed -nE 's/^AC_INIT\(\[[^]]*\], *\[([^]]*)\].*/\1/p' configure.ac)
like "$version" '^[0-9]+\.[0-9]+\.[0-9]+' "configure.ac has a version"

if [ -s CHANGELOG.md ]; then
	is "$(sed -nE 's/^## *\[?v?([0-9][^] ]*).*/\1/p' CHANGELOG.md | head -n 1)" \
		"$version" "the newest entry of CHANGELOG.md is $version"
else
	skip "the newest entry of CHANGELOG.md" "it is empty"
fi
for p in sandlease sandlease-api sandlease-reaper sandlease-agent sandlease-ws sandlease-launch sandlease-admin; do
	program=${top_builddir:-build}/$p
	if [ -x "$program" ]; then
		is "$("$program" --version)" "$p $version" "$p --version"
	else
		skip "$p --version" "it is not built"
	fi
done

done_testing
