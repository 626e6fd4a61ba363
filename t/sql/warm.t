#!/bin/bash
# Tests the rows of the warm pool: who may claim a member, and that no two do.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
open_two

# fill ID [JSON]: the intent to start a member; prints its class, or nothing.
fill() {
	q "SELECT class FROM warm_begin('{\"id\": \"$(sid "$1")\", \"sandbox\": \"ses-$1\",
		\"incarnation\": \"inc-$1\", \"instance\": \"i-$1\", \"host\": \"h1\", \"boot\": \"b1\",
		\"class\": \"small\", \"shape\": \"x\", \"seconds\": 60, \"most\": 3}'::jsonb || '{${2:-}}')"
}
made() { q "SELECT warm_made('$(sid "$1")', '1.0')"; }
state() { q "SELECT state FROM warm WHERE session_id = '$(sid "$1")'"; }
left() { q "SELECT string_agg(left(session_id, 1) || ' ' || state, ', ' ORDER BY 1) FROM warm"; }
# claim ID [JSON]: a create that would take a member: "id|sandbox state|generation", or the error.
claim() {
	q "SELECT left(session_id, 1), sandbox_state, generation, incarnation
		FROM session_create('$(spec "$1" "\"warm\": \"x\", \"adoption\": \"claim-$1\"${2:+, $2}")')"
}
counts() { q "SELECT h.last_value, m.last_value FROM warm_hits h, warm_misses m"; }
empty() { must "DELETE FROM warm"; }

# ---- filling

is "$(counts)" "0|0" "at first there is nothing to count"
is "$(fill a)|$(state a)" "small|preparing" "the row comes first"
is "$(claim n)|$(counts)" "n|creating|1|inc-n|0|1" "one that is not ready is not claimed, and a miss counts"
is "$(made a)|$(state a)|$(made a)" "t|ready|f" "it is made, once"
is "$(fill b)|$(fill c)|$(fill d)" "small|small|" "no more than there may be"
is "$(q "SELECT warm_retire('$(sid b)', 60)")|$(made b)|$(state b)" "t|f|retiring" \
	"one that was retired meanwhile is not made"
is "$(fill d)" small "one that is retired leaves its place"
is "$(q "SELECT warm_ended('$(sid a)')")|$(q "SELECT warm_ended('$(sid b)')")|$(state b)" "f|t|" \
	"only one that is retired goes"
is "$(fill e '"class": "none"')|$(fill e '"host": "h2"')" "|small" \
	"an unknown class has none, and each host has its own"
must "UPDATE installation SET draining = true"
is "$(fill f)" "" "a service that drains fills nothing"
must "UPDATE installation SET draining = false"

# ---- claiming

is "$(claim o)" "a|running|1|inc-a" "a member that is ready is claimed, with its ids"
is "$(state a)|$(counts)" "|1|1" "its row is gone, and a hit counts"
is "$(q "SELECT s.state, s.adoption, s.sandbox_id, l.state, l.instance, b.state, b.host FROM session s
	JOIN lease l ON l.session_id = s.id JOIN sandbox b ON b.id = s.sandbox_id
	WHERE s.id = '$(sid a)'")" "initializing|claim-o|ses-a|owns_wrapper|i-a|running|h1" \
	"the session's rows are those of one that was launched"
is "$(q "SELECT adoption FROM start_more('$(sid a)')")" "claim-o" "who goes on with the start knows"
is "$(q "SELECT adoption IS NULL FROM session WHERE id = '$(sid n)'")" t "a session without one has no claim"
empty
fill g >/dev/null && made g >/dev/null
is "$(claim p '"warm": "y"')" "p|creating|1|inc-p" "not one of another shape"
is "$(claim q '"host": "h2"')" "q|creating|1|inc-q" "not one of another host"
is "$(claim r '"boot": "b2"')" "r|creating|1|inc-r" "not one of another boot"
must "UPDATE class SET pids = pids + 1 WHERE name = 'small'"
is "$(claim s)" "s|creating|1|inc-s" "not one of a class that was changed"
must "UPDATE class SET pids = pids - 1 WHERE name = 'small'"
must "INSERT INTO profile (tenant, agent_type, limits) VALUES ('acme', 'limited', '{\"pids\": 10}'),
	('acme', 'free', '{\"cpuSeconds\": 9}')"
is "$(claim t '"agentType": "limited"')" "t|creating|1|inc-t" \
	"not by an older program for a type with limits of its own"
is "$(claim u '"agentType": "free"')" "g|running|1|inc-g" "but for one without"
fill 4 >/dev/null && made 4 >/dev/null
is "$(claim 5 '"agentType": "limited", "setsLimits": true')" "4|running|1|inc-4" "and by one that sets them"
is "$(q "SELECT cell_pids, cell_memory_mb FROM start_more('$(sid 4)')")" "10|2048" "to these"
fill 6 >/dev/null && made 6 >/dev/null
is "$(claim 7 '"limits": {"memoryMb": 64}, "setsLimits": true')|$(q "SELECT cell_memory_mb
	FROM start_more('$(sid 6)')")" "6|running|1|inc-6|64" "its own ones, too"

# ---- with secrets that are sealed for its id

empty
fill h >/dev/null && made h >/dev/null
is "$(q "SELECT left(warm_pick('h1', 'b1', 'small', 'x'), 1)")|$(q "SELECT warm_pick('h1', 'b2', 'small', 'x')")" "h|" \
	"a member is picked by name"
is "$(claim h '"picked": true, "agentType": "limited"')|$(left)" "ERROR:  SX435|h ready" \
	"not by an older program for a type with limits, nor is a session made with its id"
fill 3 >/dev/null && made 3 >/dev/null
is "$(claim 3 '"picked": true')" "3|running|1|inc-3" "the one that was picked is claimed, not another"
is "$(claim h '"picked": true, "incarnation": "other"')|$(claim h '"picked": true')" \
	"h|running|1|inc-h|ERROR:  SX435" "exactly this one is claimed, or none"

# ---- two at once

empty
fill i >/dev/null && made i >/dev/null
fill j >/dev/null && made j >/dev/null
ask one BEGIN >/dev/null
one=$(ask one "SELECT left(session_id, 1) FROM session_create('$(spec v '"warm": "x", "adoption": "v"')')")
two=$(claim w | cut -d'|' -f1)
ask one COMMIT >/dev/null
is "$(printf '%s\n' "$one" "$two" | sort | paste -sd' ')|$(left)" "i j|" "two creates at once claim two"
fill k >/dev/null && made k >/dev/null
ask one BEGIN >/dev/null
ask one "SELECT session_id FROM session_create('$(spec x '"warm": "x", "adoption": "x"')')" >/dev/null
is "$(claim y)" "y|creating|1|inc-y" "the second of two does not wait for the only one"
ask one ROLLBACK >/dev/null
is "$(left)" "k ready" "a create that is rolled back gives it back"

# ---- the lock of a start that was refused at its commit

lock="pg_try_advisory_lock(hashtextextended(session_id, 4))"
ask one BEGIN >/dev/null
is "$(ask one "SELECT left(session_id, 1), $lock FROM session_create('$(spec 5 '"warm": "x", "adoption": "5"')')")" \
	"k|t" "a create takes the lock of the member's start with its claim"
ask one ROLLBACK >/dev/null
is "$(ask two "SELECT left(session_id, 1), $lock FROM session_create('$(spec 6 '"warm": "x", "adoption": "6"')')")" \
	"k|f" "and still has it when another create has claimed the member"
ask one "$(statement session start_unlock_all)" >/dev/null
is "$(q "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")" 0 "until it releases all that it has"
fill 7 >/dev/null && made 7 >/dev/null

# ---- the key of a request

is "$(claim z '"idempotencyKey": "once", "requestHash": "h"' | cut -d'|' -f1)|$(q "SELECT left(session_id, 1)
	FROM idempotency WHERE key = 'once'")" "7|7" "the key leads to the member's session"
is "$(q "SELECT disposition, left(session_id, 1) FROM session_create('$(spec 2 '"warm": "x",
	"adoption": "2", "idempotencyKey": "once", "requestHash": "h"')')")" "replayed|7" "and finds it again"

# ---- compared with what a host has

fill l >/dev/null && made l >/dev/null
members() {
	q "EXECUTE warm_members('h1', '${1:-b1}', '{\"small\": \"${2:-x}\"}', '[$3]', '${4:-infinity}')" | cut -d'|' -f5-
}
must "$("$STACK_BUILD/t/unit/store/print_tables" statements)"
here='{"id": "ses-l", "incarnation": "inc-l", "presence": "running"}'
is "$(members b1 x "$here")" "ready|t|f|f" "one that runs is as it should be"
is "$(members b2 x "$here")|$(members b1 y "$here")" "ready|f|f|f|ready|f|f|f" "one of another boot or shape does not fit"
is "$(members b1 x "")|$(members b1 x "${here/running/stopped}")|$(members b1 x "${here/inc-l/inc-m}")" \
	"ready|t|f|t|ready|t|f|t|ready|t|f|t" "one that is not there, or as another, is gone"
is "$(members b1 x "${here/running/unknown}")|$(members b1 x "" 2000-01-01)" "ready|t|f|f|ready|t|f|f" \
	"unless that is not known, or older than the row"
is "$(q "EXECUTE sandbox_differences('h1', 'b1', '[$here]')" | grep -c ses-l)" 0 "it is no sandbox without a row"
is "$(q "EXECUTE cell_differences('h1', '[{\"sandbox\": \"ses-l\", \"incarnation\": \"inc-l\", \"session\":
	\"$(sid l)\", \"generation\": 1, \"instance\": \"i-l\"}]', '[]')")" "" "and its wrapper no stranger"
is "$(q "EXECUTE storage_differences('[{\"sandbox\": \"ses-l\", \"session\": \"$(sid l)\"}]')")$(q "EXECUTE socket_differences('[{\"name\":
	\"s\", \"session\": \"$(sid l)\", \"generation\": 1}]')")$(q "EXECUTE cell_group_differences('[{\"sandbox\":
	\"ses-l\", \"session\": \"$(sid l)\"}]')")" "" "nor are its files, sockets and groups left over"
empty
is "$(q "EXECUTE storage_differences('[{\"sandbox\": \"ses-l\", \"session\": \"$(sid l)\"}]')" | grep -c ses-l)" 1 \
	"without the row they are"

done_testing
