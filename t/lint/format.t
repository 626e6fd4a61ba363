#!/bin/bash
# Tests that the code is formatted by clang-format 14; other releases differ.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

command -v clang-format-14 >/dev/null || skip_all "clang-format-14 is not installed"

differing() {
	find src t -name '*.[ch]' -print0 |
		xargs -0 clang-format-14 --dry-run 2>&1 |
		sed -n 's/^\([^:]*:[0-9]*\):.*warning.*/\1/p' | head -n 40
}
none "clang-format-14 would change nothing (make format does)" "$(differing)"

done_testing
