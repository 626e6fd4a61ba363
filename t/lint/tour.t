#!/bin/bash
# Tests that every path and function that a README names exists.
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
	[ -z "$fn" ] || grep -qw -- "$fn" "$path" || echo "$path has no $fn"
}

found=0 list=$(mktemp)
trap 'rm -f "$list"' EXIT
for readme in README.md src/README.md src/GLOSSARY.md sql/README* t/README.md nginx/README.md www/README.md; do
	[ -s "$readme" ] || continue
	found=1
	while read -r token; do
		check_path "$token"
	done < <(paths "$readme") >"$list"
	none "what $readme names is there" "$(cat "$list")"
done
[ "$found" = 1 ] || skip_all "there is no README yet"

done_testing
