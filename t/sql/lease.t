#!/bin/bash
# Tests every event's effect on a lease, and every refusal with its reason.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin

must "CREATE FUNCTION put(p_state text) RETURNS void LANGUAGE sql AS \$\$
    TRUNCATE event;
    DELETE FROM lease;
    INSERT INTO lease (session_id, state, generation) SELECT 's', 'none', 7
     WHERE p_state = 'none';
    INSERT INTO lease (session_id, state, generation, instance, startup_deadline, keep_warm_until)
    SELECT 's', p_state, 7, 'me', 'epoch', 'epoch' WHERE p_state = 'owns_wrapper';
    INSERT INTO lease (session_id, state, generation, instance, target, reason, requested_at,
        next_attempt_at, attempts, last_error)
    SELECT 's', p_state, 7, 'me', 'session', 'first', 'epoch', 'epoch', 2, 'then'
     WHERE p_state = 'stop_needed';
    INSERT INTO lease (session_id, state, generation, instance, target, reason, requested_at,
        next_attempt_at, attempts, attempt_id, attempt_started_at, attempt_deadline)
    SELECT 's', p_state, 7, 'me', 'session', 'first', 'epoch', 'epoch', 2, 'try', 'epoch', 'epoch'
     WHERE p_state = 'stopping';
\$\$;
CREATE FUNCTION secs(t timestamptz) RETURNS text LANGUAGE sql AS \$\$
    SELECT CASE WHEN t IS NULL THEN '-' WHEN t = 'epoch' THEN 'kept'
        ELSE round(extract(epoch FROM t - (SELECT changed_at FROM lease)))::text END
\$\$;"

# The row in one line, times in seconds after the change; "kept": it did not change.
readonly ROW="SELECT state, generation, coalesce(instance, '-'),
	secs(startup_deadline), secs(keep_warm_until), coalesce(target, '-'),
	coalesce(reason, '-'), secs(requested_at), secs(next_attempt_at), attempts,
	coalesce(last_error, '-'), coalesce(attempt_id, '-'), secs(attempt_deadline) FROM lease"
readonly OURS='"instance": "me", "generation": 7'

apply() { # EVENT JSON
	q "SELECT was, now_state, applied, coalesce(why, '-') FROM lease_apply('s', '$1', '{$2}')"
}
put() { must "SELECT put('$1')"; }

# ---- effects: from, event, parameters, the row afterwards

effect() { # NAME FROM EVENT JSON ROW
	put "$2"
	is "$(apply "$3" "$4")|$(q "$ROW")" "$2|${5%%|*}|t|-|$5" "$1" || return
	is "$(q "SELECT what, generation, trace_id, detail->>'from', detail->>'to' FROM event")" \
		"$3|$(cut -d'|' -f2 <<<"$5")|abc|$2|${5%%|*}" "$1: one event tells of it"
}
trace='"trace": "abc"'
effect "allocate takes the next generation" none allocate \
	"$trace, \"instance\": \"new\", \"seconds\": 600" \
	"owns_wrapper|8|new|600|-|-|-|-|-|0|-|-|-"
effect "startup_verified leaves time for the first work" owns_wrapper startup_verified \
	"$trace, $OURS, \"seconds\": 60" "owns_wrapper|7|me|60|-|-|-|-|-|0|-|-|-"
effect "delivery_accepted clears both deadlines" owns_wrapper delivery_accepted \
	"$trace, $OURS" "owns_wrapper|7|me|-|-|-|-|-|-|0|-|-|-"
effect "retain_warm says until when" owns_wrapper retain_warm \
	"$trace, $OURS, \"seconds\": 300" "owns_wrapper|7|me|-|300|-|-|-|-|0|-|-|-"
effect "retain_warm without a limit has none" owns_wrapper retain_warm \
	"$trace, $OURS, \"seconds\": null" "owns_wrapper|7|me|-|-|-|-|-|-|0|-|-|-"
effect "reuse sets the startup deadline and keeps the other" owns_wrapper reuse \
	"$trace, $OURS, \"seconds\": 600" "owns_wrapper|7|me|600|kept|-|-|-|-|0|-|-|-"
effect "owned_absent releases, and the generation stays" owns_wrapper owned_absent \
	"$trace, $OURS" "none|7|-|-|-|-|-|-|-|0|-|-|-"
effect "request_stop from none is due at once" none request_stop \
	"$trace, \"reason\": \"session-delete\"" \
	"stop_needed|7|-|-|-|session|session-delete|0|0|0|-|-|-"
effect "request_stop of an owner is due at once" owns_wrapper request_stop \
	"$trace, \"reason\": \"idle-timeout\", \"target\": \"me\"" \
	"stop_needed|7|me|-|-|me|idle-timeout|0|0|0|-|-|-"
effect "begin_stop_attempt counts and has a deadline" stop_needed begin_stop_attempt \
	"$trace, \"attempt\": \"a1\", \"seconds\": 45" \
	"stopping|7|me|-|-|session|first|kept|kept|3|then|a1|45"
effect "stop_absent releases" stopping stop_absent \
	"$trace, \"attempt\": \"try\"" "none|7|-|-|-|-|-|-|-|0|-|-|-"
effect "stop_not_confirmed backs off and keeps the error" stopping stop_not_confirmed \
	"$trace, \"attempt\": \"try\", \"error\": \"it is alive\"" \
	"stop_needed|7|me|-|-|session|first|kept|30|2|it is alive|-|-"
effect "stop_attempt_expired backs off" stopping stop_attempt_expired \
	"$trace, \"attempt\": \"try\"" \
	"stop_needed|7|me|-|-|session|first|kept|30|2|the attempt ran out of time|-|-"

# ---- a second request_stop: the first one's target, reason and backoff stay

again() { # STATE
	local before
	put "$1"
	before=$(q "SELECT * FROM lease")
	is "$(apply request_stop '"reason": "second", "target": "other"')" "$1|$1|t|-" \
		"request_stop in $1 is accepted"
	is "$(q "SELECT * FROM lease")" "$before" "and changes nothing"
	is "$(q "SELECT count(*) FROM event")" 0 "and is no event"
}
again stop_needed
again stopping

# ---- fences

refused() { # NAME FROM EVENT JSON WHY
	local before
	before=$(q "SELECT * FROM lease")
	is "$(apply "$3" "$4")" "$2|$2|f|$5" "$1"
	is "$(q "SELECT * FROM lease")|$(q "SELECT count(*) FROM event")" "$before|0" \
		"$1: nothing changed"
}
for event in startup_verified delivery_accepted retain_warm reuse owned_absent; do
	put owns_wrapper
	refused "$event of another instance" owns_wrapper $event \
		'"instance": "you", "generation": 7, "seconds": 1' "another instance owns the lease"
	refused "$event of an older generation" owns_wrapper $event \
		'"instance": "me", "generation": 6, "seconds": 1' "another instance owns the lease"
	refused "$event that names nobody" owns_wrapper $event \
		'"seconds": 1' "another instance owns the lease"
done
put stop_needed
must "UPDATE lease SET next_attempt_at = clock_timestamp() + interval '1 h'"
refused "an attempt before its time" stop_needed begin_stop_attempt \
	'"attempt": "a1", "seconds": 45' "the next attempt is not due yet"
put stopping
for event in stop_absent stop_not_confirmed stop_attempt_expired; do
	refused "$event of an attempt that is over" stopping $event \
		'"attempt": "old"' "another attempt is under way"
	refused "$event of no attempt" stopping $event '' "another attempt is under way"
done
must "UPDATE lease SET attempt_deadline = clock_timestamp() + interval '1 h'"
refused "an attempt that still has time does not expire" stopping stop_attempt_expired \
	'"attempt": "try"' "the attempt still has time"

# ---- every pair that the table does not have

impossible() {
	local from event pairs
	pairs=$(q "SELECT s, e FROM unnest(ARRAY['none', 'owns_wrapper', 'stop_needed', 'stopping']) s,
		(SELECT DISTINCT event AS e FROM lease_transition) x
		WHERE NOT EXISTS (SELECT FROM lease_transition WHERE from_state = s AND event = e)
		ORDER BY 1, 2")
	while IFS='|' read -r from event; do
		put "$from"
		refused "$event while $from" "$from" "$event" \
			"$OURS, \"attempt\": \"try\", \"seconds\": 1, \"reason\": \"x\"" \
			"$event is not possible while the lease is $from"
	done <<<"$pairs"
}
impossible
put owns_wrapper
refused "an event nobody knows" owns_wrapper explode '' \
	"explode is not possible while the lease is owns_wrapper"
must "DELETE FROM lease"
is "$(apply allocate '"instance": "x"')" "||f|no such lease" "a lease that is not there"

# ---- backoff: 5, 30, 120, 300, 300 ... seconds, for ever

backoff() {
	local i
	put none
	apply request_stop '"reason": "session-delete"' >/dev/null
	for i in 1 2 3 4 5 6; do
		must "UPDATE lease SET next_attempt_at = 'epoch'"
		apply begin_stop_attempt "\"attempt\": \"a$i\", \"seconds\": 45" >/dev/null
		apply stop_not_confirmed "\"attempt\": \"a$i\", \"error\": \"no\"" >/dev/null
		q "SELECT secs(next_attempt_at), attempts FROM lease"
	done | paste -sd' '
}
is "$(backoff)" "5|1 30|2 120|3 300|4 300|5 300|6" "the backoff grows and stays"

# ---- generations are never reused

generations() {
	local i
	put none
	for i in 1 2 3; do
		apply allocate '"instance": "me", "seconds": 1' >/dev/null
		apply owned_absent "\"instance\": \"me\", \"generation\": $((7 + i))" >/dev/null
		q "SELECT generation FROM lease"
	done | paste -sd' '
}
is "$(generations)" "8 9 10" "each allocation has a generation of its own"

done_testing
