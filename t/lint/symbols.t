#!/bin/bash
# Calls that have no bound, no error or a shell in them, and locks without a rank.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

readonly BANNED='strcpy|strcat|sprintf|vsprintf|gets|atoi|atol|system|popen'

# Comments and strings may say anything.
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
