#!/bin/bash
# Tests that all quotas and timeouts count behind PgBouncer in session mode, and
# that programs refuse transaction mode, whatever else the pool is doing.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/stack.sh"

# ---- settings arrive, although the pooler drops the options of connections

# shellcheck disable=SC2034 # by stack_begin
STACK_POOLER=session STACK_CONF="quota_sessions = 1"
stack_begin
post() {
	curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $SANDLEASE_API_KEY" \
		-H 'Content-Type: application/json' -d '{}' "$SANDLEASE_URL/v1/sessions"
}
is "$(post) $(post)" "201 429" "session mode: a quota of one session refuses the second"

# hold SQL SEEN: runs SQL in a transaction that stays open until let_go; SEEN is a
# command that succeeds once SQL has run
hold() {
	pg_psql -Atq >/dev/null 2>&1 <<<"BEGIN; $1; SELECT pg_sleep(600)" & # wait: let_go ends this session
	holder=$!
	wait_for "$PATIENCE" "$2"
}
let_go() {
	pg_psql -Atqc "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()" >/dev/null
	wait "$holder" 2>/dev/null
}
locks() { pg_psql -Atqc "SELECT count(*) FROM pg_locks WHERE $1"; } # WHICH
is_held() { [ "$(locks "relation = 'org'::regclass AND mode = 'AccessExclusiveLock'")" = 1 ]; }
is_locked() { [ "$(locks "locktype = 'advisory' AND objid = 99 AND granted")" = 1 ]; }
three_wait() { [ "$(locks "locktype = 'advisory' AND objid = 99 AND NOT granted")" = 3 ]; }
hold "LOCK TABLE org" is_held
like "$(stack_admin org set x --isolation session 2>&1)" "lock timeout" \
	"session mode: a lock is waited for as long as lock_timeout says"
let_go

# ---- a pooler accepts every client, though no server is behind it

pg_stop
like "$(curl -s -H "Authorization: Bearer $SANDLEASE_API_KEY" "$SANDLEASE_URL/v1/sessions")" \
	'"code":"database_unavailable"' "a pooler without a server is no database"
pg_start
is_back() { curl -sf -o /dev/null "$SANDLEASE_URL/v1/health"; }
ok "and one with a server is" wait_for "$PATIENCE" is_back

# ---- transaction mode, switched on while workers serve

list() { # prints the status of each of eight calls at once
	local calls=()
	for _ in 1 2 3 4 5 6 7 8; do
		curl -s -o /dev/null -w '%{http_code}\n' "$SANDLEASE_URL/v1/sessions" \
			-H "Authorization: Bearer $SANDLEASE_API_KEY" &
		calls+=($!)
	done
	wait "${calls[@]}"
}
sees_503() { # succeeds if all eight are 503; keeps all answers in a file
	local now
	now=$(list)
	echo "$now" >>"$STACK_DIR/answers"
	[ "$(sort -u <<<"$now")" = 503 ]
}
again() { # MODE SETTINGS
	pooler_stop
	pooler_start "$@"
}
list >/dev/null # prepares the statements of the workers
again transaction "default_pool_size = 1"
ok "live workers notice, all of them" wait_for "$PATIENCE" sees_503
is "$(grep -vxE '200|503' "$STACK_DIR/answers" | sort | uniq -c)" "" "and nobody got a 500"
like "$(curl -s -H "Authorization: Bearer $SANDLEASE_API_KEY" "$SANDLEASE_URL/v1/sessions")" \
	'"code":"transaction_pooling"' "the answer has a code of its own"
like "$(cat "$STACK_STATE/log/api.log")" 'transaction mode .*connect directly, or set pool_mode = session' \
	"the log says what to set"
again session
sees_200() { [ "$(list | sort -u)" = 200 ]; }
ok "and they serve again when the pooler is right" wait_for "$PATIENCE" sees_200

reload() { # MODE: connections stay, and are shared from their next transaction on
	sed -i "s/^pool_mode = .*/pool_mode = $1/" "$STACK_STATE/etc/pooler.ini" &&
		kill -HUP "$(daemon_pid pooler)"
}
reload transaction
ok "they notice a pooler that keeps their connections, too" wait_for "$PATIENCE" sees_503
is "$(grep -vxE '200|503' "$STACK_DIR/answers" | sort | uniq -c)" "" "and nobody gets a 500"
reload session
ok "and serve again after the next reload" wait_for "$PATIENCE" sees_200

# ---- transaction mode, from the start

api_stop
# refused NAME PROGRAM [ARGUMENT...]: the program ends at once and says what to do
refused() {
	local name=$1 out
	shift
	# wait: against hanging: a program that is not refused serves for ever
	out=$(as "$SVC_USER" timeout 60 "$(stack_program "$1")" --config "$(stack_conf_file)" "${@:2}" 2>&1)
	is "$?" 1 "$name: $*"
	like "$out" "pooler in transaction mode .*connect directly, or set pool_mode = session" \
		"$name: and says what to do"
	[[ $* != sandlease-api ]] || is "$(wc -l <<<"$out")" 1 "$name: in one line"
}
refuses_all() { # NAME
	refused "$1" sandlease-api --check
	refused "$1" sandlease-api
	refused "$1" sandlease-reaper
	refused "$1" sandlease-egress
	refused "$1" sandlease-admin migrate --sql "$STACK_STATE/sql"
}
again transaction
refuses_all "transaction mode"
again transaction "default_pool_size = 1"
refuses_all "transaction mode, one server"
again transaction "server_round_robin = 1"
# several servers, which take turns: three transactions wait at once
through() { # PSQL-ARGUMENT...
	# shellcheck disable=SC2034 # by as()
	local AS_ENV=("PGPASSFILE=$STACK_STATE/etc/pgpass")
	as "$SVC_USER" psql -X -w -Atq -h "$STACK_RUN/run" -p "$POOLER_PORT" -U sandlease "$@" sandlease
}
servers=()
hold "SELECT pg_advisory_lock(99)" is_locked
for _ in 1 2 3; do
	through -c "SELECT pg_advisory_xact_lock_shared(99)" >/dev/null &
	servers+=($!)
done
wait_for "$PATIENCE" three_wait
let_go
wait "${servers[@]}"
refuses_all "transaction mode, servers in turn"
again statement
refuses_all "statement mode"

# other clients are busy in the same pool
again transaction "default_pool_size = 5"
busy=()
for _ in 1 2 3 4 5 6; do
	through < <(yes 'SELECT 1;') >/dev/null 2>&1 &
	busy+=($!)
done
for _ in 1 2 3 4 5; do refused "transaction mode, a busy pool" sandlease-api --check; done
pooler_stop
wait "${busy[@]}" 2>/dev/null

# ---- session mode again, with a pooler that does not reset connections

pooler_start session "server_reset_query =
default_pool_size = 2"
for _ in 1 2 3; do
	ok "what another client had prepared is not in the way" stack_admin key list
done
ok "it is accepted" as "$SVC_USER" "$(stack_program sandlease-api)" --config "$(stack_conf_file)" --check
done_testing
