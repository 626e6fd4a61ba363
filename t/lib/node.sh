# shellcheck shell=bash
# node.sh: finds a Node that is new enough, and packages, for tests in JavaScript.

node_new_enough() { # COMMAND
	"$1" -e 'process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)' \
		2>/dev/null
}

# Prints the first of $NODE, the machine's Node and the one that ./dev fetched that
# is new enough; else nothing.
node_find_new() { # TOP
	local candidate
	for candidate in "${NODE:-node}" node "$1/var/node/node_modules/node/bin/node"; do
		if node_new_enough "$candidate"; then
			echo "$candidate"
			return
		fi
	done
}

# node_directory FROM: the directory for the packages of the lock file in FROM.
# The directory is outside the checkout, so that a fresh clone finds the packages,
# and named after the lock file's content, so that they are never out of date.
node_directory() {
	local sum
	sum=$(sha256sum <"$1/package-lock.json") || return 1
	printf '%s/sandlease/node-%s' "${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}" "${sum:0:16}"
}

# node_install FROM INTO: installs the packages of the lock file in FROM into INTO,
# from npm, if INTO does not exist yet.  INTO appears when it is complete; of two
# tests that want it at once one installs it.
node_install() {
	[ -d "$2/node_modules" ] || {
		mkdir -p "${2%/*}" && (
			flock 8
			[ -d "$2/node_modules" ] || node_fetch "$1" "$2"
		) 8>"$2.lock"
	}
}

node_fetch() { # FROM INTO
	local new=$2.new
	rm -rf -- "$new" && mkdir "$new" &&
		cp "$1/package.json" "$1/package-lock.json" "$new" || return 1
	npm ci --prefix "$new" --ignore-scripts --no-audit --no-fund --prefer-offline \
		--omit=optional --omit=peer 2>&1 8>&- | sed 's/^/# /'
	# npm writes this file last
	[ -f "$new/node_modules/.package-lock.json" ] && mv -T -- "$new" "$2"
}
