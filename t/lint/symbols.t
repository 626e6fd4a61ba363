#!/bin/bash
# Tests that no code calls a function without a bound, without an error or with a
# shell in it, and that every lock has a rank.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

readonly BANNED='strcpy|strcat|sprintf|vsprintf|gets|atoi|atol|system|popen'

# The code without comments and strings, which may contain any word.
bare_code() { # FILE
	awk '{
		line = $0
		if (comment) { if (!sub(/^.*\*\//, "", line)) line = ""; else comment = 0 }
		gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
		gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
		if (sub(/\/\*.*$/, "", line)) comment = 1
		sub(/\/\/.*$/, "", line)
		print FILENAME ":" FNR ": " line
	}' "$1"
}

calls() {
	local f
	while read -r f; do
		bare_code "$f" | grep -E "(^|[^A-Za-z0-9_>.])($BANNED) *\("
	done < <(find src -name '*.[ch]')
}
none "no program of ours calls ${BANNED//|/, }" "$(calls)"
none "nobody needs goto" "$(grep -nHwE '^\s*goto' -r src --include='*.[ch]')"
unranked() {
	grep -nHE 'pthread_(mutex|rwlock|spin)' -r src/agent --include='*.[ch]' |
		grep -v '^src/agent/base/lock\.h'
}
none "the agent's locks have a rank (src/agent/base/lock.h)" "$(unranked)"

done_testing
