#!/bin/bash
# dashboard.t: runs dashboard.mjs in a real browser against the service that
# SANDLEASE_URL and SANDLEASE_API_KEY name, else against a private one.
#
# playwright-core is installed from the lock file beside this into
# SANDLEASE_NODE_DIR (var/browser) if it is not there; NODE is a Node that is
# new enough, if the machine's is not.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
export SANDLEASE_NODE_DIR=${SANDLEASE_NODE_DIR:-$top/var/browser}
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
	"$1" -e 'process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)' \
		2>/dev/null
}

find_node() {
	local candidate
	for candidate in "${NODE:-node}" node \
		"$top/var/node/node_modules/node/bin/node"; do
		if new_enough "$candidate"; then
			echo "$candidate"
			return
		fi
	done
}

install_playwright() {
	[ ! -d "$SANDLEASE_NODE_DIR/node_modules/playwright-core" ] || return 0
	mkdir -p "$SANDLEASE_NODE_DIR" &&
		cp "$here/package.json" "$here/package-lock.json" \
			"$SANDLEASE_NODE_DIR" &&
		npm ci --prefix "$SANDLEASE_NODE_DIR" --ignore-scripts --no-audit \
			--no-fund 2>&1 | sed 's/^/# /'
	[ -d "$SANDLEASE_NODE_DIR/node_modules/playwright-core" ]
}

node=$(find_node)
[ -n "$node" ] || skip "node 20 or newer is not installed"
[ -x "$SANDLEASE_CHROMIUM" ] || skip "chromium is not installed"
install_playwright || skip "playwright-core cannot be installed"

if [ -n "${SANDLEASE_URL:-}" ]; then
	exec "$node" "$here/dashboard.mjs"
fi
exec "$top/t/lib/stack.sh" with "$node" "$here/dashboard.mjs"
