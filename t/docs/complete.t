#!/bin/bash
# Tests that the documentation is complete: settings, options and commands in the
# manual pages, rooms and areas in the READMEs.  (t/lint/man.t checks the form of
# the pages, t/lint/config.t, routes.t and data_plane.t the tables of settings and
# routes.)
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1
bin=${top_builddir:-build}
[ -x "$bin/sandlease-api" ] || skip_all "nothing is built"

# ---- settings: "name default", in order

# The path of the agent of this installation is replaced by the usual one.
settings() {
	"$bin/sandlease-api" --settings | tr -d '`' |
		sed -E 's/^\| ([a-z_]+) \| ([^|]*) \|.*/\1 \2/; s/ +$//
			s|[^ ]*/sandlease-agent$|/usr/local/libexec/sandlease-agent|'
}
described() {
	sed -nE 's/^\.It Cm ([a-z_]+) Pq (Li (.*)|empty)$/\1 \3/p' \
		src/common/sandlease.conf.5 | sed 's/ $//'
}
none "sandlease.conf.5 has every setting with its default (<: only there)" \
	"$(diff <(described) <(settings))"

# ---- options and commands, from each program's usage message

# usage PROGRAM: prints the program's answer to an unknown option or command
usage() {
	case $1 in
	sandlease) "$bin/$1" --help ;;
	*) "$bin/$1" --no-such-option 2>&1 | grep -v -e '--no-such-option' ;;
	esac
}

commands() { # PROGRAM
	usage "$1" | sed -nE 's/^  ([a-z-]+( (create|list|show|release|revoke|set|recount|runs|adopt-storage|ls|add|rm|delete|rotate|make))?) .*/\1/p'
}

# The options of commands are in the output of --help.
options() { # PROGRAM
	local words
	usage "$1"
	[[ $1 = sandlease || $1 = sandlease-admin ]] || return 0
	commands "$1" | while read -r -a words; do
		"$bin/$1" "${words[@]}" --help
	done
}

# The pages write --word as "Fl -word", or after a bar as "-word".
undocumented() { # PROGRAM PAGE
	local word
	for word in $(options "$1" | grep -oE -- '--[a-z-]+' | sort -u); do
		grep -qE "(Fl |\| )-${word#--}( |\$)" "$2" || echo "$word"
	done
}
for page in src/*/*.[18]; do
	program=$(basename "$page")
	program=${program%.*}
	[ -x "$bin/$program" ] || {
		fail "$page: there is a program of that name"
		continue
	}
	none "$page has every option of $program" "$(undocumented "$program" "$page")"
done

for page in src/admin/sandlease-admin.8 src/cli/sandlease.1; do
	program=$(basename "${page%.*}")
	none "$page has every command, in the program's order" \
		"$(diff <(commands "$program") \
			<(sed -nE '/^\.It Cm /{ s/^\.It Cm //; s/ [A-Z].*//; p }' "$page"))"
done

parts() { sed -nE 's/^\t\{ "([a-z_]+)", +[a-z_]+, +[0-9]+(, "[a-z_]+")? \},$/\1/p' src/reaper/parts.c; }
for part in $(parts); do
	ok "sandlease-reaper.8 tells of $part" grep -qw "$part" src/reaper/sandlease-reaper.8
done
ok "the reaper has parts" test -n "$(parts)"

# ---- kinds of entries in the audit log

kinds() { grep -hoE "audit_(add|refused)\('[a-z_]+'" sql/functions/*.sql | cut -d"'" -f2 | sort -u; }
for kind in $(kinds); do
	ok "docs/api.md tells of $kind" grep -q "^|.* \`$kind\`.* |" docs/api.md
done
ok "there are kinds" test -n "$(kinds)"

# ---- rooms and areas

missing() { # README FILE...
	local dir
	for dir in $(printf '%s\n' "${@:2}" | cut -d/ -f1,2 | sort -u); do
		grep -qF "\`$dir/\`" "$1" || echo "$dir/"
	done
}
unpaged() { # prints rooms and sub-rooms without a page that the page above links
	local dir
	for dir in $(printf '%s\n' src/*/*.c src/*/*/*.c | xargs -n 1 dirname | sort -u); do
		[ -s "$dir/README.md" ] && grep -qF "(${dir##*/}/README.md)" "${dir%/*}/README.md" || echo "$dir/"
	done
}
none "every room has a page, and the page above leads to it" "$(unpaged)"
none "t/README.md has every area" "$(missing t/README.md t/*/*.t)"

done_testing
