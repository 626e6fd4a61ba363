#!/bin/bash
# vt.t: tests that any sequence of a program costs the dashboard's terminal at
# most a few rows of work.  The work is counted, in Node, without a browser.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
. "$top/t/lib/tap.sh"
. "$top/t/lib/node.sh"

node=$(node_find_new "$top")
[ -n "$node" ] || skip_all "node 20 or newer is not installed"

# Node loads a .js file as a module if a package.json beside it says so.
modules=$(mktemp -d /tmp/sl-vt.XXXXXX) || exit 1
trap 'rm -rf "$modules"' EXIT
cp "$top/www/vt.js" "$top/www/screen.js" "$modules" &&
	echo '{"type":"module"}' >"$modules/package.json" || exit 1
"$node" "$here/vt.mjs" "$modules"
