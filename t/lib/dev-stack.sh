# shellcheck shell=bash
# shellcheck disable=SC2015,SC2034 # `a && b || die` means both or die; variables are shared by the files of t/lib
# dev-stack.sh: runs one complete service: PostgreSQL, workers, nginx, reaper.
#
# ./dev runs one per checkout, tests run private ones (t/lib/stack.sh), both
# with these functions.  A stack is described by
#
#   STACK_STATE, STACK_RUN        its place (dev-place.sh)
#   STACK_NAME                    the name of its cgroup
#   STACK_PORT, STACK_PREVIEW_PORT
#   STACK_BUILD                   the build directory its programs come from
#   STACK_AGENT_BUILD             the same of programs in sandboxes, if another
#   STACK_EGRESS_BUILD            the same of sandlease-egress
#   STACK_CONF                    more settings, "key = value" lines, which win

readonly STACK_PROGRAMS=(sandlease-api sandlease-egress sandlease-reaper sandlease-agent
	sandlease-ws sandlease-launch sandlease-admin sandlease)

stack_program() { printf '%s/bin/%s' "$STACK_STATE" "$1"; }
stack_conf_file() { printf '%s/etc/sandlease.conf' "$STACK_STATE"; }
stack_url() { printf 'http://127.0.0.1:%s' "$STACK_PORT"; }

# ---- files

# Copies the programs and the dashboard to where their users reach them.
# STACK_RENEWED is yes when a program differs from the one that may be running.
stack_install() {
	local p from to
	STACK_RENEWED=no
	for p in "${STACK_PROGRAMS[@]}"; do
		case $p in
		sandlease-agent | sandlease-ws) from=${STACK_AGENT_BUILD:-$STACK_BUILD}/$p ;;
		sandlease-egress) from=${STACK_EGRESS_BUILD:-$STACK_BUILD}/$p ;;
		*) from=$STACK_BUILD/$p ;;
		esac
		to=$(stack_program "$p")
		[ -x "$from" ] && ! cmp -s "$from" "$to" || continue
		install -m 755 "$from" "$to.new" && mv -f "$to.new" "$to" || return 1
		STACK_RENEWED=yes
	done
	install -m 755 "$TOP/t/lib/dev-reaper-loop" "$(stack_program reaper-loop)" &&
		stack_copy www && stack_copy sql
}

stack_copy() { # DIRECTORY
	rm -rf "${STACK_STATE:?}/$1" &&
		cp -R "$TOP/$1" "$STACK_STATE/$1" &&
		chmod -R a+rX "$STACK_STATE/$1"
}

stack_settings() {
	cat <<-EOT
		database = host=$STACK_RUN/pg dbname=sandlease user=sandlease passfile=$STACK_STATE/etc/pgpass
		run_dir = $STACK_RUN/run
		state_dir = $STACK_STATE/data
		seal_key_file = $STACK_STATE/etc/seal.keys
		agent_path = $(stack_program sandlease-agent)
		cgroup_root = $CGROUP
		public_url = $(stack_url)
		preview_base = http://localhost:$STACK_PORT
		preview_path_base = http://localhost:$STACK_PREVIEW_PORT
	EOT
}

# Settings may be given twice only here: the later one wins.  STACK_RENEWED is
# yes when the settings differ from those that workers may be running with.
stack_configure() {
	local text
	text=$({ stack_settings && printf '%s\n' "${STACK_CONF:-}"; } |
		awk -F ' *= *' 'NF > 1 { if (!($1 in line)) order[++n] = $1; line[$1] = $0 }
			END { for (i = 1; i <= n; i++) print line[order[i]] }')
	[ "$(as "$SVC_USER" cat "$(stack_conf_file)" 2>/dev/null)" = "$text" ] ||
		STACK_RENEWED=yes
	pg_keep "$SVC_USER" "$(stack_conf_file)" "$text"
	as "$SVC_USER" test -s "$STACK_STATE/etc/seal.keys" ||
		stack_admin seal-key "$STACK_STATE/etc/seal.keys"
}

stack_admin() {
	# wait: a drain waits for every session to be seen gone; nothing takes longer
	as "$SVC_USER" timeout 180 "$(stack_program sandlease-admin)" \
		--config "$(stack_conf_file)" "$@"
}

# A key for trying things out, printed alone.
stack_make_key() {
	stack_admin key create --org demo --user demo 2>"$LOGS/key.log" ||
		{ show_tail "$LOGS/key.log" && return 1; }
}

stack_migrate() { stack_admin migrate --sql "$STACK_STATE/sql"; }

# ---- nginx

# nginx/render fills in the templates.  Only we own its output here, so nginx needs
# no right to write where its configuration is.
nginx_configure() {
	local dir=$STACK_STATE/nginx
	sh "$TOP/nginx/render" "$dir/conf" "RUN_DIR=$STACK_RUN/run" \
		LISTEN=127.0.0.1 "PORT=$STACK_PORT" \
		"PREVIEW_PORT=$STACK_PREVIEW_PORT" PREVIEW_DOMAIN=localhost \
		PUBLIC_HOST=127.0.0.1 "WWW_DIR=$STACK_STATE/www" \
		"LOG_DIR=$dir/log" "STATE_DIR=$dir/tmp" USER_DIRECTIVE= \
		WORKERS=2 "PID_FILE=$dir/tmp/nginx.pid"
}

nginx_command() {
	NGINX=("$(command -v nginx || echo /usr/sbin/nginx)"
		-p "$STACK_STATE/nginx/" -c "$STACK_STATE/nginx/conf/nginx.conf"
		-e "$STACK_STATE/nginx/log/start.log")
}

nginx_answers() {
	# wait: asked again until nginx answers
	curl -s -o "/dev/null" --max-time 2 "$(stack_url)/"
}

nginx_start() {
	nginx_command
	quiet nginx-conf nginx_configure &&
		quiet nginx-test as "$WEB_USER" "${NGINX[@]}" -t ||
		die "nginx does not accept its configuration"
	if daemon_alive nginx; then
		daemon_signal HUP nginx
		return 0
	fi
	daemon_start nginx "$WEB_USER" "${NGINX[@]}" -g 'daemon off;'
	daemon_wait nginx "$PATIENCE" nginx_answers || {
		show_tail "$STACK_STATE/nginx/log/start.log"
		show_tail "$STACK_STATE/log/nginx.log"
		die "nginx did not start"
	}
}

# wait: for open connections; then nginx is killed, which does no harm
nginx_stop() { daemon_stop nginx QUIT 5; }

# ---- workers and reaper

api_ready() {
	local pool
	for pool in api read auth stream; do
		[ -S "$STACK_RUN/run/$pool.sock" ] || return 1
	done
	daemon_alive api
}

api_start() {
	daemon_alive api && return 0
	as "$SVC_USER" rm -f "$STACK_RUN"/run/{api,read,auth,stream}.sock
	DAEMON_CGROUP=cgroup_enter daemon_start api "$SVC_USER" \
		"$(stack_program sandlease-api)" --config "$(stack_conf_file)"
	daemon_wait api "$PATIENCE" api_ready || {
		show_tail "$STACK_STATE/log/api.log"
		die "sandlease-api did not start"
	}
}

# wait: then it is killed
api_stop() { daemon_stop api TERM 30; }

egress_ready() { [ -S "$STACK_RUN/run/egress.sock" ]; }

egress_start() {
	daemon_alive egress && return 0
	as "$SVC_USER" rm -f "$STACK_RUN/run/egress.sock"
	daemon_start egress "$SVC_USER" "$(stack_program sandlease-egress)" \
		--config "$(stack_conf_file)"
	daemon_wait egress "$PATIENCE" egress_ready || {
		show_tail "$STACK_STATE/log/egress.log"
		die "sandlease-egress did not start"
	}
}

# wait: then it is killed
egress_stop() { daemon_stop egress TERM 10; }

reaper_start() {
	daemon_alive reaper && return 0
	daemon_start reaper "$SVC_USER" bash "$(stack_program reaper-loop)" \
		"${STACK_REAPER_SECONDS:-60}" "$(stack_program sandlease-reaper)" \
		--config "$(stack_conf_file)"
}

# ends the loop and the pass for which the loop may be waiting
# wait: then it is killed
reaper_stop() { daemon_stop reaper TERM 10 group; }

# ---- the end

# The pids of bwrap and init of our sandboxes, by two signs: the provider's note,
# and the processes that hold a sandbox's lock file open.  The other processes of
# a sandbox die with its init.
#
# A note ("bwrap":7,"bwrapStart":9,"init":8,...) may have been copied with the
# checkout: the command line of a living bwrap shows to which state it belongs, and
# where none lives, the files that init has open, if we may look at them.
stack_files_of() { # PID
	find "/proc/$1/fd" -maxdepth 1 -lname "$STACK_STATE/data/*" 2>/dev/null
}

stack_noted_pids() { # SANDBOX, or '*'
	local boot bwrap bwrap_start init init_start
	boot=$(</proc/sys/kernel/random/boot_id)
	# shellcheck disable=SC2206 # * means all
	local notes=("$STACK_STATE"/data/box/$1/proc)
	while IFS=' ' read -r bwrap bwrap_start init init_start; do
		if [ "$(proc_start "$bwrap")" = "$bwrap_start" ]; then
			grep -qsF "$STACK_STATE/data/" "/proc/$bwrap/cmdline" || continue
			echo "$bwrap"
		fi
		[ "$(proc_start "$init")" = "$init_start" ] || continue
		[ ! -r "/proc/$init/fd" ] || [ -n "$(stack_files_of "$init")" ] || continue
		echo "$init"
	done < <(cat "${notes[@]}" 2>/dev/null | tr '}' '\n' |
		grep -F "$boot" | sed -nE 's/.*"bwrap":([0-9]+),"bwrapStart":([0-9]+),"init":([0-9]+),"initStart":([0-9]+).*/\1 \2 \3 \4/p')
}

stack_lock_pids() {
	find /proc/[0-9]*/fd -maxdepth 1 -lname "$STACK_STATE/data/box/*" \
		-printf '%h\n' 2>/dev/null | sed 's|/proc/\([0-9]*\)/fd|\1|'
}

stack_sandbox_pids() {
	{
		stack_noted_pids '*'
		stack_lock_pids
	} | sort -un
}

# Once our own processes have ended, every process in our cgroup is left over, too.
stack_left_pids() {
	{
		stack_sandbox_pids
		cgroup_pids "$STACK_NAME"
	} | sort -un
}
stack_nothing_left() { [ -z "$(stack_left_pids)" ]; }

# Kills the sandboxes that a drain could not end: the database may be gone.
stack_kill_sandboxes() {
	local pids
	pids=$(stack_left_pids)
	[ -n "$pids" ] || return 0
	note "ending what is left of sandboxes: $(wc -w <<<"$pids") processes"
	cgroup_thaw "$STACK_NAME" 2>/dev/null
	# shellcheck disable=SC2086 # a list of numbers
	kill -KILL $pids 2>/dev/null
	wait_for "$PATIENCE" stack_nothing_left
}

# Removes sandboxes, the cgroup and the sockets, once no daemon is left.
stack_clear() {
	stack_kill_sandboxes || die "some processes of sandboxes cannot be ended"
	cgroup_remove "$STACK_NAME" || die "cgroup $STACK_NAME cannot be removed"
	rm -rf -- "$STACK_RUN"
}

# Stops everything without a drain; PostgreSQL last, because the others use it.
stack_stop() {
	reaper_stop
	api_stop
	egress_stop
	nginx_stop
	pg_stop
	stack_clear
}
