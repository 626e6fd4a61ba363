#!/bin/bash
# Tests docs/operations.md's backup and restore: a backup by its commands, then the whole
# service is removed, then its recipe restores it.  Sessions with their files,
# snapshots, keys, sealed values and preview URLs are there again, on a host of
# the same name and on one of another name.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/stack.sh"
. "$top_srcdir/t/lib/docs.sh"

command -v pg_restore >/dev/null || skip_all "pg_restore is not installed"
STACK_CONF="host_name = old-host
sighting_seconds = 0"
stack_begin
backups=$STACK_DIR/backups

call() { # [-k KEY] ARG...
	local key=$SANDLEASE_API_KEY
	[ "$1" != -k ] || { key=$2 && shift 2; }
	# wait: against hanging, never a measure
	curl -sS --max-time 120 -H "Authorization: Bearer $key" "$@"
}
field() { grep -o "\"$1\":\"[^\"]*" | head -n 1 | cut -d'"' -f4; }
new_session() { # JSON [-k KEY]
	call "${@:2}" "$SANDLEASE_URL/v1/sessions?wait=60" -d "$1"
}
# run SESSION COMMAND: prints the command's output.  The first call replaces a
# wrapper that is gone: the call is answered 503, and curl tries again.
run() {
	call --retry 20 --retry-delay 1 "$SANDLEASE_URL/v1/sessions/$1/api/execute" \
		-d "{\"command\":\"$2\"}" | tail -n 1 | field stdout
}
state() { call "$SANDLEASE_URL/v1/sessions/$1" | field state; }
preview() { curl -sS --max-time 60 "http://localhost:$STACK_PREVIEW_PORT/p/$1/"; } # wait: against hanging

# ---- the page's commands, here

# typed WORD: runs that block with this stack's paths, and with set -e
typed() {
	local text
	text=$(docs_block docs/operations.md sh "$1" | sed -e "s|/var/backups/sandlease|$backups|g" \
		-e "s|\betc/sandlease|${STACK_STATE#/}/etc|g" \
		-e "s|\bvar/lib/sandlease|${STACK_STATE#/}/data|g")
	[ -n "$text" ] || return 1
	(
		set -e
		cd /
		eval "$text"
	)
}
# These functions stand in for commands of a machine, because a stack does both in
# its own way.
runuser() { # -u postgres -- COMMAND...
	[ "$1 $2 $3" = "-u postgres --" ] || return 1
	# shellcheck disable=SC2034 # of as
	local AS_ENV=("PGPASSFILE=$STACK_STATE/pg/pgpass" "PGHOST=$STACK_RUN/pg" PGUSER=postgres)
	as "$PG_USER" "${@:4}"
}
systemctl() { # stop|start sandlease.target
	case $* in
	"stop sandlease.target") api_stop ;;
	"start sandlease.target") api_start && stack_admin undrain ;;
	*) return 1 ;;
	esac
}
sandlease-admin() {
	[ "$1" != migrate ] || set -- migrate --sql "$STACK_STATE/sql"
	stack_admin "$@"
}

# ---- the state before the backup

other_key=$(stack_admin key create --org other --user bob 2>/dev/null)
running=$(new_session '{"isolation":"session","name":"running","env":{"SECRET":"sesame"}}' | field id)
run "$running" "echo mine >f; mkdir -m 500 shut; ln -s f link; nohup sleep 1000 >/dev/null 2>&1 &" >/dev/null
asleep=$(new_session '{"name":"asleep"}' | field id)
run "$asleep" "echo slept >f" >/dev/null
call -X POST "$SANDLEASE_URL/v1/sessions/$asleep/sleep" >/dev/null
theirs=$(new_session '{"isolation":"session"}' -k "$other_key" | field id)
url=$(call "$SANDLEASE_URL/v1/sessions/$running/ports" -d '{"port": 8000}' | field url)
label=${url#*//} label=${label%%.*}
snapshot=$(call "$SANDLEASE_URL/v1/sessions/$running/snapshots" -d '{"name":"kept"}' | field id)
execution=$(call "$SANDLEASE_URL/v1/sessions/$running/executions?wait=60" \
	-d '{"command":"echo of an execution"}' | field id)
is "$(state "$running") $(state "$asleep")" "ready asleep" "there are sessions"
ok "and a snapshot" test -n "$snapshot"
like "$(preview "$label")" 'Nothing listens on port 8000' "and a preview URL"

ok "the page's backup is made" typed pg_dump
ok "nobody else may read it" test "$(stat -c %a "$backups")" = 700

# This session is made after the backup, so the backup must not have it.
late=$(new_session '{"isolation":"session"}' | field id)

# ---- the machine is gone

destroy() {
	api_stop
	stack_kill_sandboxes
	pg_stop
	cluster_remove
	rm -rf -- "${STACK_STATE:?}"/{pg,data,etc} "${STACK_RUN:?}"/run/{s,c}
	place_make
}
# "Prepare the machine as above up to PostgreSQL, without createdb, and give the
# role the password that is in the archive".  The archive has it in pgpass, so
# this step needs no service.
prepare() {
	pg_start
	tar -xOf "$backups/files.tar" "${STACK_STATE#/}/etc/pgpass" | sed 's/.*://' | {
		read -r pass && pg_super -d postgres <<<"CREATE ROLE sandlease LOGIN PASSWORD '$pass'"
	}
}

# ---- the restored state

checks() { # HOST
	local reply made
	is "$(call "$SANDLEASE_URL/v1/me" | field org) $(call -k "$other_key" "$SANDLEASE_URL/v1/me" |
		field org)" "demo other" "$1: keys count"
	is "$(run "$running" 'cat link; stat -c %a shut; printf %s $SECRET')" 'mine\n500\nsesame' \
		"$1: files and sealed values of a session that ran"
	is "$(run "$asleep" 'cat f')" 'slept\n' "$1: files of one that slept"
	is "$(call -k "$other_key" "$SANDLEASE_URL/v1/sessions/$theirs/resume" -X POST | field state)" \
		ready "$1: a session of another org"
	is "$(call -o /dev/null -w '%{http_code}' "$SANDLEASE_URL/v1/sessions/$late")" 404 \
		"$1: what came after the backup is not there"
	is "$(call "$SANDLEASE_URL/v1/sessions/$running/ports" | field url)" "$url" \
		"$1: the preview URL is the same"
	like "$(preview "$label")" 'Nothing listens on port 8000' "$1: and leads into the session"
	made=$(new_session "{\"isolation\":\"session\",\"snapshot\":\"$snapshot\"}" | field id)
	is "$(run "$made" 'cat f')" 'mine\n' "$1: the snapshot starts"
	is "$(call "$SANDLEASE_URL/v1/sessions/$running/snapshots" -d '{}' | field state)" ready \
		"$1: another one can be taken"
	is "$(call "$SANDLEASE_URL/v1/executions/$execution/logs" | field data)" 'of an execution\n' \
		"$1: the output of an execution"
	# a second pass would remove things that no row explains
	ok "$1: the reaper is content" stack_reap
	reply=$(stack_reap)
	like "$reply" '"leaked":0.*"failures":0' "$1: also the second time, and nothing leaks"
	none "$1: no session is lost or stuck" "$(stack_admin session list --all --json |
		grep -E '"state":"(lost|failed|sleeping|deleting)"')"
	is "$(run "$running" 'cat f')|$(run "$asleep" 'cat f')" 'mine\n|slept\n' \
		"$1: and all of it is still there"
	is "$(call -X DELETE "$SANDLEASE_URL/v1/sessions/$made" | field state)" deleted \
		"$1: a session can be deleted"
}

destroy
prepare
ok "the page's restore runs" typed pg_restore
ok "the service starts" systemctl start sandlease.target
checks old-host

# ---- the same under another host name

destroy
prepare
ok "the page's restore runs again" typed pg_restore
as "$SVC_USER" sed -i 's/^host_name = .*/host_name = new-host/' "$(stack_conf_file)"
# api_start exits when its workers do not start, hence the subshell
like "$( (systemctl start sandlease.target) 2>&1)" 'adopt-storage --from old-host' \
	"under another name it does not start, and says what to do"
ok "the page's command takes all over" typed 'adopt-storage --from'
ok "the service starts" systemctl start sandlease.target
checks new-host
like "$(stack_admin session list --json --host old-host)X" '^X$' "nothing is on the old host"

done_testing
