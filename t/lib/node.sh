# shellcheck shell=bash
# node.sh: for tests in JavaScript: a Node that is new enough, and packages.

node_new_enough() { # COMMAND
	"$1" -e 'process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)' \
		2>/dev/null
}

# Prints NODE, the machine's, or the one that ./dev fetched; else nothing.
node_find_new() { # TOP
	local candidate
	for candidate in "${NODE:-node}" node "$1/var/node/node_modules/node/bin/node"; do
		if node_new_enough "$candidate"; then
			echo "$candidate"
			return
		fi
	done
}

node_installed() { # FROM INTO
	cmp -s "$1/package-lock.json" "$2/package-lock.json" &&
		[ -f "$2/node_modules/.package-lock.json" ] # npm writes it last
}

# node_install FROM INTO: what the lock file in FROM names is in INTO, from npm
# if it is not there yet.
node_install() {
	node_installed "$1" "$2" || {
		mkdir -p "$2" && cp "$1/package.json" "$1/package-lock.json" "$2" &&
			npm ci --prefix "$2" --ignore-scripts --no-audit --no-fund \
				--omit=optional --omit=peer 2>&1 | sed 's/^/# /'
		node_installed "$1" "$2"
	}
}
