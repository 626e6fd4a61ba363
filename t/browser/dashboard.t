#!/bin/bash
# dashboard.t: runs dashboard.mjs against the service that SANDLEASE_URL and
# SANDLEASE_API_KEY name.  SANDLEASE_NODE_DIR is where `npm ci` of this
# directory was done; a `node` installed there is preferred.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
export SANDLEASE_NODE_DIR=${SANDLEASE_NODE_DIR:-$top/var/node}
export SANDLEASE_CHROMIUM=${SANDLEASE_CHROMIUM:-/usr/bin/chromium}

skip() {
	if [ "${SANDLEASE_MUST_RUN:-0}" = 1 ]; then
		echo "1..1"
		echo "not ok 1 - $1"
		exit 1
	fi
	echo "1..0 # SKIP $1"
	exit 0
}

new_enough() {
	"$1" -e 'process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)' 2>/dev/null
}

node=
for candidate in "$SANDLEASE_NODE_DIR/node_modules/.bin/node" node; do
	if new_enough "$candidate"; then
		node=$candidate
		break
	fi
done

[ -n "${SANDLEASE_URL:-}" ] || skip "SANDLEASE_URL is not set: no service to look at"
[ -n "${SANDLEASE_API_KEY:-}" ] || skip "SANDLEASE_API_KEY is not set"
[ -n "$node" ] || skip "node 20 or newer is not installed"
[ -x "$SANDLEASE_CHROMIUM" ] || skip "chromium is not installed"
[ -d "$SANDLEASE_NODE_DIR/node_modules/playwright-core" ] ||
	skip "playwright-core is not installed in $SANDLEASE_NODE_DIR"

exec "$node" "$here/dashboard.mjs"
