#!/bin/bash
# Tests that the table of routes in docs/api.md is the table that the dispatcher
# walks.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

api=${top_builddir:-build}/sandlease-api
[ -x "$api" ] || skip_all "sandlease-api is not built"

# "METHOD /path" of every line that has one; :id and {id} are the same.
routes() {
	tr -d '`' | tr '|' ' ' |
		sed -nE 's/^ *(GET|HEAD|POST|PUT|PATCH|DELETE) +(\/[^ ]*).*/\1 \2/p' |
		sed -E 's/:([A-Za-z]+)/{\1}/g' | sort
}
section() {
	awk '/^## / { on = /Routes/ } on && /^\|/' docs/api.md
}
printed=$("$api" --routes) || fail "sandlease-api --routes works"
ok "sandlease-api --routes prints routes" test -n "$(routes <<<"$printed")"
none "docs/api.md and the dispatcher know the same routes (<: only the page)" \
	"$(diff <(section | routes) <(routes <<<"$printed"))"

done_testing
