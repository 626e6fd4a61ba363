#!/bin/bash
# Tests that the tarball has every file of the repository, so that a build from it
# can be tested, too.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

[ -e .git ] || skip_all "a tarball cannot tell what it lacks"
[ -f "${top_builddir:=build}/Makefile" ] || skip_all "nothing is configured"

# Prints the tarball's files, and the directories that go into it as a whole.
in_tarball() {
	# shellcheck disable=SC2016 # make's variable
	env -u MAKEFLAGS make -s -C "$top_builddir" \
		--eval 'tarball-list: ; @printf "%s\n" $(DISTFILES)' tarball-list |
		sed -E "s,^(\.\./)+|^$PWD/,,"
}
list=$(in_tarball)
ok "its files are known" grep -qx 'configure.ac' <<<"$list"

not_in_tarball() {
	git ls-files | grep -vx '.gitignore' | awk 'NR == FNR { known[$0] = 1; next }
		{ for (path = $0; !(path in known); )
			if (!sub(/\/[^\/]*$/, "", path)) { print; break } }' \
		<(printf '%s\n' "$list") -
}
none "no file is missing (an area's local.mk lists its own)" "$(not_in_tarball)"

done_testing
