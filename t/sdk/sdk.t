#!/bin/bash
# sdk.t: runs judge.mjs, the published SDK in six versions, against the service
# that SANDLEASE_URL and SANDLEASE_API_KEY name, else against a private one.
#
# The versions are installed from the lock file beside this into
# SANDLEASE_NODE_DIR (var/sdk) if they are not there.  SDK_ONLY narrows what is
# tried: SDK_ONLY="0.12.10 files commands" t/sdk/sdk.t
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
. "$top/t/lib/tap.sh"
. "$top/t/lib/node.sh"
export SANDLEASE_NODE_DIR=${SANDLEASE_NODE_DIR:-$top/var/sdk}

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
