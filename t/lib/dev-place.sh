# shellcheck shell=bash
# shellcheck disable=SC2015,SC2034 # `a && b || die` means both or die; variables are shared by the files of t/lib
# dev-place.sh: says which user runs which program, and where its files are.
#
# If root starts ./dev, still nothing of ours runs as root: PostgreSQL runs as
# `postgres`, nginx as `www-data`, everything else as `sandlease`.  If an
# ordinary user starts it, everything runs as that user.
#
#             state                              sockets
#   root      /var/lib/sandlease-<hash>          /run/sl-<hash>
#   user      <checkout>/var/state, or           $XDG_RUNTIME_DIR/sl-<hash>,
#             ~/.local/state/sandlease-<hash>    or /tmp/sl-<hash>
#
# <hash> is of the checkout's path, so that checkouts do not share a place.  The
# path of the sockets' directory is short because a socket's whole name has at
# most 107 bytes.  The state is outside the checkout when other users must enter
# it (root), or when the checkout's path is long or has characters that
# configuration files would have to quote.  The links var/state and var/run lead
# to both.  A place holds:
#
#   state/etc     sandlease.conf, passwords, sealing keys     service, 0700
#   state/data    workspaces, agent logs, trash               service, 0700
#   state/bin     copies of the programs, so that other users reach them;
#   state/www     the same of the dashboard,
#   state/sql     and of the schema
#   state/pg      the PostgreSQL cluster                      postgres, 0700
#   state/nginx   conf/, and log/ and tmp/                    www-data, 0700
#   state/log     stderr of the daemons
#   state/pid     pid files
#   run/run       {api,auth,stream}.sock, s/, c/              service:www-data, 2750
#   run/pg        PostgreSQL's socket                         postgres:service, 2750

readonly STATE_PATH_MAX=150 RUN_PATH_MAX=31 # run_dir, "/run" longer, has 35

is_root() { [ "$(id -u)" -eq 0 ]; }

place_users() {
	local me
	if is_root; then
		SVC_USER=sandlease PG_USER=postgres WEB_USER=www-data
	else
		me=$(id -un)
		SVC_USER=$me PG_USER=$me WEB_USER=$me
	fi
}

# group_of USER: its primary group, by number.
group_of() { id -g "$1"; }

place_make_user() {
	id "$SVC_USER" >/dev/null 2>&1 && return 0
	useradd --system --user-group --no-create-home \
		--home-dir /nonexistent --shell /usr/sbin/nologin "$SVC_USER"
}

place_hash() { printf '%s' "$1" | sha256sum | cut -c1-8; }

# is_plain_path PATH: short, and nothing that needs quoting anywhere.
is_plain_path() {
	[[ $1 =~ ^[A-Za-z0-9/._+-]+$ && ${#1} -le $STATE_PATH_MAX ]]
}

place_choose_state() { # HASH
	if is_root; then
		printf '/var/lib/sandlease-%s' "$1"
	elif is_plain_path "$TOP/var/state"; then
		printf '%s/var/state' "$TOP"
	elif is_plain_path "${HOME:-/}/.local/state/sandlease-$1"; then
		printf '%s/.local/state/sandlease-%s' "$HOME" "$1"
	else
		die "neither $TOP nor your home directory has a path that can be" \
			"used: at most $STATE_PATH_MAX plain characters"
	fi
}

# The place chosen last time wins: XDG_RUNTIME_DIR differs between logins.
place_choose_run() { # HASH
	local dir=${XDG_RUNTIME_DIR:-/tmp} last
	last=$(readlink -- "$TOP/var/run") && [ -d "$last" ] &&
		[ "${last##*/}" = "sl-$1" ] && {
		printf '%s' "$last"
		return
	}
	if is_root; then
		dir=/run
	elif [ ! -w "$dir" ] || [ ${#dir} -gt $((RUN_PATH_MAX - 12)) ]; then
		dir=/tmp
	fi
	printf '%s/sl-%s' "$dir" "$1"
}

# The checkout's own place: sets STACK_STATE, STACK_RUN and STACK_NAME.
place_checkout() {
	local hash
	hash=$(place_hash "$TOP")
	STACK_NAME=sandlease-$hash
	STACK_STATE=$(place_choose_state "$hash") || exit 1
	STACK_RUN=$(place_choose_run "$hash")
	place_disown
}

# A checkout copied with its var/ has pid files of the original's daemons, which
# are not ours to stop.
place_disown() {
	local was
	read -r was 2>/dev/null <"$STACK_STATE/pid/checkout" || return 0
	[ "$was" = "$TOP" ] || [ ! -e "$was/var/state" ] ||
		rm -f "$STACK_STATE"/pid/*
}

# place_var: the checkout's var/, which holds logs of ./dev itself.
place_var() {
	mkdir -p "$TOP/var/log" 2>/dev/null && [ -w "$TOP/var/log" ] ||
		die "$TOP/var is not yours: run ./dev as the user who made it"
	LOGS=$TOP/var/log
}

place_link() { # TARGET LINK
	[ "$1" = "$2" ] || ln -sfn -- "$1" "$2"
}

# place_dir MODE OWNER GROUP DIR: makes the directory, or takes over an old one;
# without root that must be our own, because every user can write to /tmp.
place_dir() {
	local dir=$4
	mkdir -p -- "$dir"
	[ -d "$dir" ] && [ ! -L "$dir" ] || die "$dir is not a directory"
	if is_root; then
		chown -h "$2:$3" "$dir"
	else
		[ -O "$dir" ] || die "$dir belongs to somebody else"
	fi
	chmod "$1" "$dir"
}

place_make() {
	local me svc web pg run_mode=700 shared_mode=2700
	me=$(id -u) svc=$(group_of "$SVC_USER") web=$(group_of "$WEB_USER")
	pg=$(group_of "$PG_USER")
	# several users share it only when root starts them
	is_root && run_mode=755 shared_mode=2750
	place_dir 755 "$me" "$(id -g)" "$STACK_STATE"
	place_dir "$run_mode" "$me" "$(id -g)" "$STACK_RUN"
	place_dir 700 "$SVC_USER" "$svc" "$STACK_STATE/etc"
	place_dir 700 "$SVC_USER" "$svc" "$STACK_STATE/data"
	place_dir 755 "$me" "$(id -g)" "$STACK_STATE/bin"
	place_dir 755 "$me" "$(id -g)" "$STACK_STATE/log"
	place_dir 755 "$me" "$(id -g)" "$STACK_STATE/pid"
	place_dir 700 "$PG_USER" "$pg" "$STACK_STATE/pg"
	place_dir 755 "$me" "$(id -g)" "$STACK_STATE/nginx"
	place_dir 700 "$WEB_USER" "$web" "$STACK_STATE/nginx/log"
	place_dir 700 "$WEB_USER" "$web" "$STACK_STATE/nginx/tmp"
	place_dir "$shared_mode" "$SVC_USER" "$web" "$STACK_RUN/run"
	place_dir "$shared_mode" "$SVC_USER" "$web" "$STACK_RUN/run/s"
	place_dir 700 "$SVC_USER" "$svc" "$STACK_RUN/run/c"
	place_dir "$shared_mode" "$PG_USER" "$svc" "$STACK_RUN/pg"
}

# as_prefix USER: sets AS to the words that, in front of a command, give it that
# user's rights and nothing of our environment but AS_ENV (NAME=VALUE ...).
as_prefix() {
	AS=(env -i LANG=C.UTF-8 "HOME=$STACK_STATE"
		"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" "${AS_ENV[@]}"
		${ASAN_OPTIONS:+"ASAN_OPTIONS=$ASAN_OPTIONS"}
		${SANDLEASE_FAULTS:+"SANDLEASE_FAULTS=$SANDLEASE_FAULTS"})
	[ "$1" = "$(id -un)" ] || AS=(setpriv --reuid "$1"
		--regid "$(group_of "$1")" --init-groups --inh-caps=-all
		-- "${AS[@]}")
}
AS_ENV=()

# as USER COMMAND...: runs it in / because the user may be unable to enter the
# current directory.
as() {
	as_prefix "$1"
	shift
	(cd / && exec "${AS[@]}" "$@")
}
