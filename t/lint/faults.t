#!/bin/bash
# Tests that every crash point has a name of its own, and that no program that is
# shipped contains one.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

points=$(t/chaos/points)
ok "there are crash points" test -n "$points"
none "every crash point has a name of its own" "$(uniq -d <<<"$points")"
none "names say where and when: room.step" \
	"$(grep -vE '^[a-z_]+\.[a-z_]+$' <<<"$points")"
none "a crash point's name is written out" "$(grep -rnE 'CRASH_POINT\([^"]' src --include='*.c')"

# A program may die between any two steps.  Only these files take none: they run
# one statement, a look and one effect, or change nothing but memory.
none "every file of src/control that takes steps has crash points" \
	"$(grep -L 'CRASH_POINT("' src/control/*.c | grep -vE '/(awake|control|discover|inventory|network_link|network_trust|rootfs_control|snapshot_ref|start_error|statistics|steps|storage_claim|waiter|webhook_control)\.c$')"

# traces() must look for the variables that the sources really read.
ok "the variables are those of fault.c" test "$(grep -oE '"SANDLEASE_(FAULTS|CRASH_AT|PAUSE_AT)"' src/common/fault.c | sort -u | wc -l)" = 3
traces() { # PROGRAM
	nm "$1" 2>/dev/null | grep -E ' (fault_(point|before|after)|provider_faulty)$'
	grep -aoE 'SANDLEASE_(FAULTS|CRASH_AT|PAUSE_AT)|provider-(fail|hang):' "$1"
	grep -aoFf <(printf '%s\n' "$points") "$1"
}
programs=("${top_builddir:=build}"/sandlease{,-api,-reaper,-agent,-admin})
if grep -qs 'WITH_FAULTS 1' "$top_builddir/config.h"; then
	ok "this build has faults and shows it" test -n "$(traces "$top_builddir/sandlease-api")"
elif [ -f "${programs[1]}" ]; then
	for p in "${programs[@]}"; do
		[ ! -f "$p" ] || none "${p##*/} cannot be made to fail" "$(traces "$p")"
	done
else
	skip "no program can be made to fail" "nothing is built"
fi
if [ -f build-faults/sandlease-api ]; then
	ok "a build with faults would be seen" test -n "$(traces build-faults/sandlease-api)"
fi

# The faults of t/mutation: each must still fit a line, also on days when it is not
# tried.
fits=0 unfit=
red() { # NAME FILE SED ...
	fits=$((fits + 1))
	[ -f "$2" ] && [ "$(sed -E "$3" "$2" 2>&1)" != "$(<"$2")" ] || unfit+="$1: $2"$'\n'
}
for table in t/mutation/faults*.sh; do
	# shellcheck disable=SC1090 # each is looked at by itself
	. "$table"
done
ok "there are faults of the code" test "$fits" -gt 100
none "each fault of t/mutation changes its file" "$unfit"

done_testing
