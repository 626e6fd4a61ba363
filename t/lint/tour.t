#!/bin/bash
# Tests that every path that a README names exists, and that every function is
# defined in the file that the README gives for it.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

[ -e .git ] || skip_all "a tarball holds only what building needs"

# `src/api/serve/main.c`, `t/*/*.t`, `src/control/session_control.c:session_create`
paths() { # FILE
	# shellcheck disable=SC2016 # backticks of Markdown
	grep -oE '`[^` ]+`' "$1" | tr -d '`' |
		grep -E '^(\./)?((src|t|sql|nginx|www|\.ci)/|dev$)' |
		grep -vE '[<>{}…$]|NNNN' | sort -u
}

check_path() { # TOKEN
	local path=${1%%:*} fn=''
	[[ $1 != *:* ]] || fn=${1#*:}
	compgen -G "$path" >/dev/null || {
		echo "$path does not exist"
		return
	}
	fn=${fn%%(*}
	[ -z "$fn" ] || defines "$path" "$fn" || echo "$path does not define $fn"
}

# A function of C or JavaScript, a table of C, a statement or function of SQL, or
# a row of a header: not just a mention.
defines() { # PATH NAME
	case $1 in
	*.c) grep -qE "^$2\(|^[a-z}][^(]*[ *]$2(\[|;| =)|^#define $2\b" "$1" ;;
	*.h) grep -qE "\b$2(\(|\[|;| =|,|$| \{)|^#define $2\b" "$1" ;;
	*.sql) grep -qE "^-- name: $2\b|FUNCTION $2\(" "$1" ;;
	*) grep -qE "\b$2\b" "$1" ;;
	esac
}

found=0 list=$(mktemp)
trap 'rm -f "$list"' EXIT
for readme in README.md CONTRIBUTING.md docs/*.md src/README.md src/GLOSSARY.md src/*/README.md src/*/*/README.md \
	sql/README* t/README.md; do
	[ -s "$readme" ] || continue
	found=1
	while read -r token; do
		check_path "$token"
	done < <(paths "$readme") >"$list"
	none "what $readme names is there" "$(cat "$list")"
done
[ "$found" = 1 ] || skip_all "there is no README yet"

done_testing
