#!/bin/bash
# What cppcheck finds, less what it cannot know.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

command -v cppcheck >/dev/null || skip_all "cppcheck is not installed"
config=${top_builddir:-build}/config.h
[ -f "$config" ] || skip_all "nothing is configured"

options=(
	-q -j2 --std=c11 --inline-suppr "--enable=warning,portability,performance"
	"--library=posix,gnu" -I src --include="$config"
	# cleanup attributes release what it thinks is leaked
	--suppress=resourceLeak --suppress=memleak
	# a context on the caller's stack that outlives the call it is for
	--suppress=autoVariables
	# these matter to threads, and are called before there are any or on a
	# directory of one thread's own
	--suppress=readdirCalled --suppress=getpwnamCalled
	# its idea of accept4 wants an address
	'-Daccept4(fd,address,length,flags)=accept4_(fd,flags)'
)
none "cppcheck finds nothing" "$(cppcheck "${options[@]}" src 2>&1 |
	grep -E ': (error|warning|performance|portability):')"

done_testing
