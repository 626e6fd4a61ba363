#!/bin/bash
# vt.t: a sequence that a program writes costs the dashboard's terminal a few rows
# of work at most.  Counted, in Node, with no browser.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
. "$top/t/lib/tap.sh"
. "$top/t/lib/node.sh"

node=$(node_find_new "$top")
[ -n "$node" ] || skip_all "node 20 or newer is not installed"

# Node takes a .js for a module if a package.json beside it says so.
modules=$(mktemp -d /tmp/sl-vt.XXXXXX) || exit 1
trap 'rm -rf "$modules"' EXIT
cp "$top/www/vt.js" "$top/www/screen.js" "$modules" &&
	echo '{"type":"module"}' >"$modules/package.json" || exit 1
"$node" "$here/vt.mjs" "$modules"
