# shellcheck shell=bash
# shellcheck disable=SC2015,SC2034 # `a && b || die` means both or die; variables are shared by the files of t/lib
# dev-packages.sh: installs the packages that the machine must have.
#
# dpkg is asked first, so that a second run needs neither network nor rights.

PACKAGES_BUILD=(build-essential autoconf automake pkgconf libfcgi-dev libpq-dev
	libjansson-dev libcurl4-openssl-dev libsodium-dev libseccomp-dev
	libarchive-dev libacl1-dev libzstd-dev zlib1g-dev libwebsockets-dev libssl-dev
	libcap-dev libhttp-parser-dev libpsl-dev libc-ares-dev libnftnl-dev
	libmnl-dev)
# the last two lines: programs for code in sandboxes
PACKAGES_RUN=(nginx libnginx-mod-http-js postgresql bubblewrap curl ca-certificates procps
	publicsuffix git python3
	squashfs-tools python3-matplotlib python3-pandas python3-pip python3-venv
	nodejs node-typescript)
PACKAGES_CHECK=(asciinema libcmocka-dev ccache valgrind chromium cron clang-format-14 cppcheck
	shellcheck mandoc python3 python3-django python3-pyte python3-websockets spin vim zstd tmux zsh
	fish pgbouncer mmdebstrap openssh-client openssh-server systemd
	default-jdk-headless golang-go)
PACKAGES_BENCH=(wrk)
PACKAGES_FUZZ=(clang libclang-rt-dev)
PACKAGES_NODE=(npm) # only where Node is too old; brings its own node

readonly NODE_MAJOR=20

package_here() {
	[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

packages_missing() {
	local p
	for p in "$@"; do
		package_here "$p" || printf '%s\n' "$p"
	done
}

# root_do COMMAND...: as root, by sudo if need be, which may ask for a password.
root_do() {
	if is_root; then
		"$@"
	else
		command -v sudo >/dev/null ||
			die "this needs root or sudo: $*"
		sudo -- "$@"
	fi
}

# packages_install NAME...: does nothing when all are installed.
packages_install() {
	local missing
	mapfile -t missing < <(packages_missing "$@")
	[ ${#missing[@]} -gt 0 ] || return 0
	command -v apt-get >/dev/null ||
		die "missing, and this is no Debian: ${missing[*]}"
	note "installing ${missing[*]}"
	is_root || sudo -v || die "installing ${missing[*]} needs sudo"
	quiet apt packages_apt "${missing[@]}" ||
		die "apt-get could not install ${missing[*]}"
}

# ./dev must not start the machine's own nginx, PostgreSQL and cron: while apt-get
# runs, a policy forbids it, and services that are new stay off.
packages_apt() {
	local policy=/usr/sbin/policy-rc.d status=0 own=no s
	[ -e "$policy" ] || {
		printf '#!/bin/sh\nexit 101\n' | root_do tee "$policy" >/dev/null
		root_do chmod 755 "$policy"
		own=yes
	}
	root_do apt-get update -q &&
		root_do env DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
			--no-install-recommends "$@" || status=$?
	[ "$own" = no ] || root_do rm -f "$policy"
	[ -d /run/systemd/system ] && for s in "$@"; do
		case $s in
		nginx | postgresql | cron) root_do systemctl disable "$s" || true ;;
		esac
	done
	return "$status"
}

node_is_new() { # COMMAND
	local v
	v=$("$1" --version 2>/dev/null) || return 1
	v=${v#v}
	[ "${v%%.*}" -ge "$NODE_MAJOR" ] 2>/dev/null
}

npm_find() { command -v npm >/dev/null || packages_install "${PACKAGES_NODE[@]}"; }

# node_find: sets NODE to a Node that test tools accept; one from npm where the
# machine's is too old (Debian 12 has 18).
node_find() {
	local own=$TOP/var/node/node_modules/node/bin/node
	if node_is_new node; then
		NODE=$(command -v node)
		return 0
	fi
	node_is_new "$own" || {
		npm_find
		mkdir -p "$TOP/var/node"
		quiet node npm install --prefix "$TOP/var/node" --no-audit \
			--no-fund "node@$NODE_MAJOR" || die "npm could not fetch Node"
	}
	NODE=$own
	PATH=${own%/*}:$PATH
}
