#!/bin/bash
# Tests the size of files: 400 lines are worth a thought, 600 are too many.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

readonly WARN=400 LIMIT=600

files() {
	find src t sql nginx www -type f \( -name '*.[ch]' -o -name '*.sh' \
		-o -name '*.t' -o -name '*.py' -o -name '*.sql' -o -name '*.awk' -o -name '*.in' \
		-o -name '*.js' -o -name '*.css' -o -name '*.html' \) \
		-not -path '*/node_modules/*' 2>/dev/null
	printf '%s\n' dev
}

long=''
while read -r count file; do
	[ "$file" != total ] || continue
	if [ "$count" -gt "$LIMIT" ]; then
		long+="$file has $count lines"$'\n'
	elif [ "$count" -gt "$WARN" ]; then
		diag "$file has $count lines: what is its second noun?"
	fi
done < <(files | xargs wc -l)
none "no file has more than $LIMIT lines" "$long"

done_testing
