#!/bin/bash
# long: every client of four versions
# sdk.t: runs judge.mjs, the published SDK in six versions, against the service
# that SANDLEASE_URL and SANDLEASE_API_KEY name, else against a private one.
#
# The versions are installed from the lock file beside this, once per machine
# (node_directory in t/lib/node.sh), or into SANDLEASE_NODE_DIR.  A number in
# SANDLEASE_SAMPLE leaves out two of them.  SDK_ONLY narrows what is tried:
# SDK_ONLY="0.12.10 files commands" t/sdk/sdk.t
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
. "$top/t/lib/tap.sh"
. "$top/t/lib/node.sh"
export SANDLEASE_NODE_DIR=${SANDLEASE_NODE_DIR:-$(node_directory "$here")}

node=$(node_find_new "$top")
[ -n "$node" ] || skip_all "node 20 or newer is not installed"
node_install "$here" "$SANDLEASE_NODE_DIR" || skip_all "the SDK cannot be installed"

judge=("$node")
"$node" -e 'process.exit(typeof WebSocket == "function" ? 0 : 1)' ||
	judge+=(--experimental-websocket) # node 20
judge+=("$here/judge.mjs")

if [ -n "${SANDLEASE_URL:-}" ]; then
	exec "${judge[@]}"
fi
exec "$top/t/lib/stack.sh" with "${judge[@]}"
