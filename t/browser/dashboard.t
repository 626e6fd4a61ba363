#!/bin/bash
# dashboard.t: runs dashboard.mjs, or BROWSER_TEST, in a real browser against the
# service that SANDLEASE_URL and SANDLEASE_API_KEY name, else against a private one.
#
# playwright-core is installed from the lock file beside this, once per machine
# (node_directory in t/lib/node.sh), or into SANDLEASE_NODE_DIR; NODE is a Node
# that is new enough, if the machine's is not.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
. "$top/t/lib/tap.sh"
. "$top/t/lib/node.sh"
export SANDLEASE_NODE_DIR=${SANDLEASE_NODE_DIR:-$(node_directory "$here")}
export SANDLEASE_CHROMIUM=${SANDLEASE_CHROMIUM:-/usr/bin/chromium}

node=$(node_find_new "$top")
[ -n "$node" ] || skip_all "node 20 or newer is not installed"
[ -x "$SANDLEASE_CHROMIUM" ] || skip_all "chromium is not installed"
node_install "$here" "$SANDLEASE_NODE_DIR" ||
	skip_all "playwright-core cannot be installed"

if [ -n "${SANDLEASE_URL:-}" ]; then
	exec "$node" "$here/${BROWSER_TEST:-dashboard.mjs}"
fi
exec "$top/t/lib/stack.sh" with "$node" "$here/${BROWSER_TEST:-dashboard.mjs}"
