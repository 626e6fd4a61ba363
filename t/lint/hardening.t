#!/bin/bash
# Tests that the linked programs are hardened, whatever flags were asked for.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "${top_builddir:=build}" 2>/dev/null || skip_all "nothing is built"

command -v readelf >/dev/null || skip_all "readelf is not installed"

programs() {
	local f
	for f in sandlease sandlease-*; do
		[ -f "$f" ] && [ "$(head -c 4 "$f" | tail -c 3)" = ELF ] && echo "$f"
	done
}
has() { # FILE OPTION REGEX
	readelf -W "$2" "$1" 2>/dev/null | grep -qE "$3"
}
is_static() { ! has "$1" -l 'INTERP'; }

# The stack's segment must not be executable: flags RW, no E.
stack_is_data() { has "$1" -l 'GNU_STACK .* RW +0x'; }

# programs that may be larger: libwebsockets brings TLS
declare -A MB=([sandlease-ws]=6)

mapfile -t all < <(programs)
[ ${#all[@]} -gt 0 ] || skip_all "no program is built"
grep -q 'fsanitize' config.status && skip_all "a build with sanitizers is not hardened"

for p in "${all[@]}"; do
	ok "$p: the stack is not executable" stack_is_data "$p"
	ok "$p: relocations become read-only" has "$p" -l 'GNU_RELRO'
	ok "$p: no segment is writable and executable" \
		test -z "$(readelf -W -l "$p" | grep -E 'LOAD .* RWE ')"
	ok "$p: its place is random (PIE)" has "$p" -h 'Type: +DYN'
	if is_static "$p"; then
		ok "$p: static, at most ${MB[$p]:-4} MB without symbols" \
			test "$(size "$p" | awk 'NR == 2 { print $4 }')" -le $((${MB[$p]:-4} << 20))
	else
		ok "$p: everything is bound at start" has "$p" -d 'FLAGS_1.*NOW'
		ok "$p: the stack is guarded" has "$p" --dyn-syms '__stack_chk_fail'
	fi
done

done_testing
