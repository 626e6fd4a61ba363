#!/bin/bash
# Tests that a private stack for tests is complete, unprivileged, and gone
# afterwards.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/stack.sh"

PATIENCE=120 # wait: against hanging, never a measure

# The stack lives in a process of its own, so that its end can be seen.
out=$(mktemp)
trap 'rm -f "$out"' EXIT
# shellcheck disable=SC2016 # expanded by the inner shell
"$TOP/t/lib/stack.sh" with bash -c '
	echo "dir=$STACK_DIR name=$STACK_NAME"
	curl -fsS -o /dev/null -w "health=%{http_code}\n" "$SANDLEASE_URL/v1/health"
	curl -sS -o /dev/null -w "anonymous=%{http_code}\n" "$SANDLEASE_URL/v1/sessions"
	curl -sS -o /dev/null -w "created=%{http_code}\n" \
		-H "Authorization: Bearer $SANDLEASE_API_KEY" \
		-H "Content-Type: application/json" -d "{}" "$SANDLEASE_URL/v1/sessions"
	echo "processes=$(pgrep -fc -- "$STACK_DIR/")"
	exit 7
' >"$out" 2>&1
status=$?
why=$(STACK_BUILD=${top_builddir:-$TOP/build} stack_missing)
[ -z "$why" ] || skip_all "$why"

value() { sed -nE "s/.*\<$1=([^ ]*).*/\1/p" "$out"; }
is "$status" 7 "the command's status is the stack's" || diag "$(cat "$out")"
is "$(value health)" 200 "the service answers"
is "$(value anonymous)" 401 "not without a key"
is "$(value created)" 201 "a session can be made with the key"
like "$(value processes)" '^[1-9]' "it had processes of its own"
none "none of them is left" "$(pgrep -fa -- "$(value dir)/")"
ok "its directory is gone" test ! -e "$(value dir)"
none "its cgroup is gone" "$(cgroup_dirs "$(value name)" | xargs -r ls -d 2>/dev/null)"

# ---- the functions of a test that sources it

(
	stack_begin
	me() { curl -s -o /dev/null -w '%{http_code}' --max-time "$PATIENCE" \
		-H "Authorization: Bearer $SANDLEASE_API_KEY" "$SANDLEASE_URL/v1/me"; }
	# shellcheck disable=SC2317 # wait_for calls it
	is_back() { [ "$(me)" = 200 ]; }
	echo "with=$(me)"
	pg_stop
	echo "without_database=$(me)"
	pg_start
	wait_for "$PATIENCE" is_back
	echo "with_database_again=$(me)"
	api_stop
	echo "without_workers=$(me)"
	api_start
	echo "with_workers_again=$(me)"
	echo "reaped=$(stack_reap --dry-run 2>&1 | wc -l)"
	echo "row=$(pg_psql -At -c 'SELECT count(*) FROM schema_migration' 2>&1)"
) >"$out" 2>/dev/null
is "$(value with)" 200 "the key is known"
is "$(value without_database)" 503 "without PostgreSQL: 503"
is "$(value with_database_again)" 200 "it comes back by itself"
is "$(value without_workers)" 503 "without workers: 503"
is "$(value with_workers_again)" 200 "workers may be restarted"
like "$(value reaped)" '^[1-9]' "the reaper can be run by hand"
like "$(value row)" '^[1-9]' "the database can be asked"

done_testing
