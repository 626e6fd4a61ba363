#!/bin/bash
# Tests ./dev up and ./dev down, with real daemons, in two checkouts side by side.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/stack.sh"

PATIENCE=120 # wait: against hanging, never a measure
STACK_BUILD=${top_builddir:-$TOP/build}
why=$(stack_missing)
[ -z "$why" ] || skip_all "$why"

# ---- two checkouts, in a directory that other users cannot enter

world=$(mktemp -d /tmp/sl-door.XXXXXX) || exit 1
chmod 700 "$world"
end() {
	local c
	for c in a b; do
		[ ! -d "$world/$c/var" ] || "$world/$c/dev" down --purge >/dev/null 2>&1
	done
	kill "${squatter:-}" "${stranger:-}" 2>/dev/null
	STACK_DIR=$world stack_release_ports
	rm -rf "$world" "${other:-}"
}
trap end EXIT
copy_checkout() { # TO
	mkdir -p "$1"
	tar -C "$TOP" -cf - --exclude=./var --exclude='./build*' --exclude=./.git . |
		tar -C "$1" -xf -
}
copy_checkout "$world/a"
copy_checkout "$world/b"
export SANDLEASE_BUILD=$STACK_BUILD
STACK_DIR=$world # owns the ports
port_a=$(stack_free_port) preview_a=$(stack_free_port)
# shellcheck disable=SC2034 # by dev()
port_b=$(stack_free_port) preview_b=$(stack_free_port)
unset STACK_DIR

dev() { # CHECKOUT COMMAND...
	local c=$1 port preview
	shift
	eval "port=\$port_$c preview=\$preview_$c"
	SANDLEASE_PORT=$port SANDLEASE_PREVIEW_PORT=$preview "$world/$c/dev" "$@" 2>&1
}
call() { # CHECKOUT METHOD PATH [BODY]
	local SANDLEASE_URL SANDLEASE_API_KEY
	# shellcheck source=/dev/null
	. "$world/$1/var/demo.env"
	curl -sS --max-time "$PATIENCE" -X "$2" -H "Authorization: Bearer $SANDLEASE_API_KEY" \
		-H 'Content-Type: application/json' ${4:+-d "$4"} "$SANDLEASE_URL$3"
}
field() { # NAME: of the JSON object on stdin
	/usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin).get(sys.argv[1]))' "$1"
}
state_of() { call "$1" GET "/v1/sessions/$2" | field state; }

# in_place CHECKOUT: sets the variables that functions of dev-stack.sh read, so
# that they look at this checkout
in_place() {
	STACK_STATE=$(readlink -f "$world/$1/var/state")
	STACK_RUN=$(readlink -f "$world/$1/var/run")
	STACK_NAME=sandlease-$(place_hash "$world/$1")
}
pids_of() { cat "$STACK_STATE"/pid/{postgres,api,egress,nginx,reaper} | cut -d' ' -f1,2 | tr '\n' ' '; }
place_users

# All processes of a place: its path is in the command line of each.
processes() { pgrep -f -- "$STACK_STATE|$STACK_RUN" | grep -vx "$$"; }

# ---- a port that is taken

port_open() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
/usr/bin/python3 -c 'import socket, sys, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(); time.sleep(600)' "$port_a" &
squatter=$!
wait_for "$PATIENCE" port_open "$port_a"
out=$(dev a up)
is $? 1 "up fails when the port is taken"
is "$(wc -l <<<"$out")" 1 "and says so in one line"
like "$out" "port $port_a is taken; choose another: SANDLEASE_PORT=[0-9]+ ./dev up" \
	"that names the port and the way out"
kill "$squatter" && wait "$squatter" 2>/dev/null

# ---- a program that does not start

mkdir "$world/broken"
for p in "${STACK_PROGRAMS[@]}"; do
	cp "$STACK_BUILD/$p" "$world/broken/" 2>/dev/null
done
printf '#!/bin/sh\necho this is broken >&2\nexit 1\n' >"$world/broken/sandlease-api"
out=$(SANDLEASE_BUILD=$world/broken dev a up)
is $? 1 "up fails when a program does not start"
like "$out" 'this is broken' "and shows the end of its log"
in_place a
none "what it had started has ended" "$(processes)"
ok "its sockets are gone" test ! -e "$STACK_RUN"
none "its cgroup is gone" "$(cgroup_dirs "$STACK_NAME" | xargs -r ls -d 2>/dev/null)"

# ---- a kernel that forbids namespaces: a user namespace whose limit of them is 0

other=$(mktemp -d /tmp/sl-door.XXXXXX) || exit 1
copy_checkout "$other"
become=()
if is_root; then
	chown -R nobody "$other"
	become=(setpriv --reuid nobody --regid nogroup --clear-groups)
fi
chmod 755 "$other"
out=$(cd "$other" && "${become[@]}" env "HOME=$other" "SANDLEASE_PORT=$port_a" \
	"SANDLEASE_PREVIEW_PORT=$preview_a" unshare --user --map-current-user \
	--keep-caps sh -c 'echo 0 >/proc/sys/user/max_user_namespaces &&
		exec setpriv --inh-caps=-all --ambient-caps=-all ./dev up' 2>&1)
is $? 1 "up fails where namespaces are forbidden"
like "$out" 'this kernel does not let [a-z-]+ make user namespaces' "and says so"
none "nothing was started" "$(pgrep -fa -- "$other/")"

# ---- up

out=$(dev a up)
is $? 0 "up works" || diag "$out"
in_place a
is "$(stat -c %a "$world/a/var/demo.env")" 600 "demo.env is its owner's alone"
like "$(call a GET /v1/me)" '"demo"' "its key opens the door"
out=$(cd "$world/a" && env -i PATH=/usr/bin:/bin HOME="$world" \
	sh -c '. var/demo.env; . var/demo.env; sandlease ls && echo "$PATH"' 2>&1)
is "$(tail -n 1 <<<"$out")" "$SANDLEASE_BUILD:/usr/bin:/bin" "a shell that reads it finds the programs" ||
	diag "$out"
like "$(dev a admin org list --json)" '^\{"org":"demo"' "the operator's tool speaks to it"
out=$(dev a admin org frob)
is $? 2 "and ends as it would by itself" || diag "$out"
if is_root; then
	none "nothing runs as root" \
		"$(for p in $(processes); do ps -o user=,args= -p "$p"; done | grep '^root')"
fi
is "$(call a POST /v1/sessions '{}' | field isolation)" shared "sessions share a sandbox"
out=$(PER_SESSION_SANDBOX_ORG_IDS="x, demo" dev a up)
is $? 0 "up takes variables of the service along" || diag "$out"
is "$(call a POST /v1/sessions '{}' | field isolation)" session \
	"PER_SESSION_SANDBOX_ORG_IDS reaches it"
out=$(dev a up)
is "$(call a POST /v1/sessions '{}' | field isolation)" shared "and is gone without it"
printf '# mine\n\n  egress_connections = 77\nsession_ttl_typo\n' >"$world/a/var/local.conf"
out=$(dev a up)
is "$?|$(grep -c 'local.conf, line 4: must be KEY = VALUE' <<<"$out")" "1|1" \
	"a line of var/local.conf that is no setting is refused" || diag "$out"
sed -i '$d' "$world/a/var/local.conf"
was=$(daemon_pid egress)
out=$(dev a up)
is $? 0 "up takes the settings of var/local.conf along" || diag "$out"
is "$(as "$SVC_USER" cat "$(stack_conf_file)" | grep egress_)" "egress_connections = 77" "they are written"
ok "and what reads them is restarted" test "$(daemon_pid egress)" != "$was"
like "$(dev a status)" $'\negress     running  pid '"$(daemon_pid egress)" "status shows all of them"
before=$(pids_of) key=$(cat "$world/a/var/demo.env")
out=$(dev a up)
is $? 0 "up again is harmless" || diag "$out"
is "$(pids_of)" "$before" "every daemon is the same as before"
is "$(cat "$world/a/var/demo.env")" "$key" "so is the key"
out=$(SANDLEASE_PORT=$port_b "$world/a/dev" up 2>&1)
is $? 1 "up on another port is refused while it runs"

# ---- two side by side

out=$(dev b up)
is $? 0 "a second checkout runs beside the first" || diag "$out"
made=$(call a POST /v1/sessions '{"isolation": "session"}')
session=$(field id <<<"$made") box=$(field sandboxId <<<"$made")
is "$(state_of a "$session")" ready "a session of the first is ready"
like "$(call b GET "/v1/sessions/$session")" '"status": ?404' \
	"the second does not know it"
in_place b
for _ in 1 2 3; do
	as "$SVC_USER" "$(stack_program sandlease-reaper)" \
		--config "$(stack_conf_file)" >/dev/null 2>&1
done
is "$(state_of a "$session")" ready "and its reaper lets it live"
in_place a
sandbox=$(stack_noted_pids "$box")
like "$sandbox" '^[0-9]+' "its sandbox runs"

# ---- a copy of a checkout that runs, var/ and all

cp -a "$world/a" "$world/copy"
out=$("$world/copy/dev" down 2>&1)
is $? 0 "down in a copy of it works" || diag "$out"
is "$(pids_of)" "$before" "and leaves the daemons of the original alone"
like "$(call a GET /v1/me)" '"demo"' "which still answers"
is "$(stack_noted_pids "$box")" "$sandbox" "with its sandbox"

# ---- up that fails while something runs

served=$(daemon_pid postgres && daemon_pid nginx)
kill -KILL "$(daemon_pid api)"
out=$(STACK_CONF="capacity_min_mb = 1000000000" dev a up)
is $? 1 "up fails when doctor finds something wrong"
is "$(stack_noted_pids "$box")" "$sandbox" "the sandbox that ran runs on"
is "$(daemon_pid postgres && daemon_pid nginx)" "$served" "so do the daemons"
ok "PostgreSQL can be reached" test -S "$STACK_RUN/pg/.s.PGSQL.5432"
is "$(state_of a "$session")" ready "the service answers"
out=$(dev a up)
is $? 0 "the next up works, with the settings it was given" || diag "$out"
is "$(stack_noted_pids "$box")" "$sandbox" "and the sandbox runs on"
like "$(call a POST "/v1/sessions/$session/api/execute" '{"command": "echo hi"}')" '"exitCode": ?0' \
	"as it was"

# ---- down

# a pid file whose number was given to another process
sleep 600 &
stranger=$!
in_place b
printf '%s 1 %s\n' "$stranger" "$(</proc/sys/kernel/random/boot_id)" >"$STACK_STATE/pid/reaper.old"
reaper=$(cat "$STACK_STATE/pid/reaper")
mv "$STACK_STATE/pid/reaper.old" "$STACK_STATE/pid/reaper"
group_gone() { ! kill -0 -- "-$1"; }
kill -- "-${reaper%% *}" && wait_for "$PATIENCE" group_gone "${reaper%% *}"
out=$(dev b down)
is $? 0 "down works" || diag "$out"
ok "a process that only has the number of ours lives on" kill -0 "$stranger"
none "no process is left" "$(processes)"
ok "no socket is left" test ! -e "$STACK_RUN"
none "no cgroup is left" "$(cgroup_dirs "$STACK_NAME" | xargs -r ls -d 2>/dev/null)"
none "no mount is left" "$(grep -F "$STACK_STATE" /proc/mounts)"
is "$(state_of a "$session")" ready "the first did not notice"

in_place a
out=$(dev a down)
is $? 0 "down works with a session running" || diag "$out"
none "no process of it is left" "$(processes; stack_left_pids)"
none "no cgroup of it is left" "$(cgroup_dirs "$STACK_NAME" | xargs -r ls -d 2>/dev/null)"

out=$(dev a up)
is $? 0 "up works after down" || diag "$out"
is "$(state_of a "$session")" asleep "the session was put to sleep, not lost"
like "$(call a POST "/v1/sessions/$session/resume" '{}')" '"state": ?"ready"' "and wakes up"

# ---- down, when no program is left that could drain

kill -KILL "$(daemon_pid postgres)"
out=$(dev a down)
is $? 0 "down works without its database" || diag "$out"
none "and ends the sandboxes all the same" "$(processes; stack_left_pids)"
out=$(dev a down --purge)
ok "purge forgets everything" test ! -e "$STACK_STATE"
is "$(ls -A "$world/a/var")" local.conf "but settings of your own"
is "$(dev a down)" "nothing of this checkout is running" "down twice is harmless"

done_testing
