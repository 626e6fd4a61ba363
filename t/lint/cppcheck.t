#!/bin/bash
# Tests that cppcheck finds nothing, except for warnings that are false here.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

command -v cppcheck >/dev/null || skip_all "cppcheck is not installed"
config=${top_builddir:-build}/config.h
[ -f "$config" ] || skip_all "nothing is configured"

options=(
	-q -j2 --std=c11 --inline-suppr "--enable=warning,portability,performance"
	"--library=posix,gnu" -I src --include="$config"
	# cleanup attributes release memory and files that cppcheck thinks are leaked
	--suppress=resourceLeak --suppress=memleak
	# a context on the caller's stack outlives the call that uses it
	--suppress=autoVariables
	# both are unsafe only among threads: we call them before there are any, or
	# on a directory that one thread has opened
	--suppress=readdirCalled --suppress=getpwnamCalled
	# cppcheck thinks that accept4 needs an address
	'-Daccept4(fd,address,length,flags)=accept4_(fd,flags)'
)
none "cppcheck finds nothing" "$(cppcheck "${options[@]}" src 2>&1 |
	grep -E ': (error|warning|performance|portability):')"

done_testing
