#!/bin/bash
# Tests the rows of executions: given once to a generation, told by attempt, lost, tried
# again, cancelled, and ended with their session.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
open_two

new_sql() { # ID SESSION [JSON]
	printf "SELECT id, made FROM execution_create('{\"id\": \"%s\", \"session\": \"%s\",
		\"tenant\": \"acme\", \"user\": \"u\", \"hash\": \"h\", \"work\": \"sealed\",
		\"command\": \"true\", \"most\": 5}'::jsonb || '{%s}')" \
		"$(sid "$1")" "$(sid "$2")" "${3:-}"
}
new() { q "$(new_sql "$@")"; }
give_sql() { printf "SELECT attempt, generation FROM execution_give('%s', %s)" "$(sid "$1")" "$2"; }
give() { q "$(give_sql "$@")"; }
told_sql() { # ID ATTEMPT JSON
	printf "SELECT state, applied FROM execution_told('%s', %s, '{%s}')" "$(sid "$1")" "$2" "$3"
}
told() { q "$(told_sql "$@")"; }
lost() { # ID ATTEMPT LAST
	q "SELECT state, applied FROM execution_lost('$(sid "$1")', $2, 'why', $3)"
}
cancel() { q "SELECT state, cancel_at IS NOT NULL FROM execution_cancel('$(sid "$1")', '{}')"; }
row() { q "SELECT state, attempt, coalesce(generation::text, '-'), jsonb_array_length(attempts),
	work_sealed IS NOT NULL FROM execution WHERE id = '$(sid "$1")'"; }
due() { must "UPDATE execution SET due_at = clock_timestamp() WHERE id = '$(sid "$1")'"; }
due_later() {
	must "UPDATE execution SET due_at = clock_timestamp() + interval '1 h' WHERE id = '$(sid "$1")'"
}
readonly OK='"end": "succeeded", "exitCode": 0, "stderrTail": "", "usage": {}'

create a >/dev/null
verify a 1 >/dev/null

# ---- from the request to the result
is "$(new x1 a)|$(row x1)" "$(sid x1)|t|queued|0|-|0|t" "a new one waits"
is "$(give x1 2)|$(row x1)" "|queued|0|-|0|t" "not for a generation that is not the session's"
is "$(give x1 1)|$(row x1)" "1|1|queued|1|1|0|t" "given: the first attempt"
is "$(give x1 1)|$(row x1)" "1|1|queued|1|1|0|t" "given again: the same"
is "$(told x1 2 "$OK")" "queued|f" "a word of another attempt does not count"
is "$(told x1 1 '"running": true')" "running|t" "it runs"
is "$(told x1 1 '"limitsBy": {"pids": "cgroup"}')" "running|t" "a word without a state changes none"
is "$(told x1 1 "$OK")|$(row x1)" "succeeded|t|succeeded|1|1|0|f" "it ends, and its work is forgotten"
is "$(told x1 1 '"end": "failed"')" "succeeded|f" "it ends once"
is "$(give x1 1)$(lost x1 1 false)$(cancel x1)" "succeeded|fsucceeded|f" "and then nothing changes it"
is "$(q "SELECT string_agg(what, ' ' ORDER BY id) FROM event WHERE kind = 'execution'
	AND detail->>'execution' = '$(sid x1)'")" "queued running succeeded" "each state is an event"
is "$(q "UPDATE execution SET state = 'queued' WHERE id = '$(sid x1)'" | cut -c1-6)" "ERROR:" \
	"no other change of state is possible"

# ---- attempts that are lost
new x2 a >/dev/null
give x2 1 >/dev/null
told x2 1 '"running": true' >/dev/null
is "$(lost x2 2 false)" "running|f" "a loss of another attempt does not count"
before=$(q "SELECT clock_timestamp()")
is "$(lost x2 1 false)|$(row x2)" "queued|t|queued|1|-|1|t" "a lost attempt is followed by another"
is "$(q "SELECT due_at BETWEEN '$before'::timestamptz + interval '0.8 s'
		AND clock_timestamp() + interval '1.2 s' FROM execution WHERE id = '$(sid x2)'")" t \
	"after about a second"
due_later x2
is "$(give x2 1)" "" "not before"
is "$(q "SELECT bool_and(p BETWEEN '0.8 s' AND '1.2 s' AND q BETWEEN '6.4 s' AND '9.6 s'
		AND r BETWEEN '48 s' AND '60 s' AND s BETWEEN '48 s' AND '60 s')
	FROM generate_series(1, 50), execution_pause(1) p, execution_pause(4) q, execution_pause(7) r,
	execution_pause(2000000000) s")" t "the pause doubles, up to a minute"
is "$(told x2 1 "$OK")|$(row x2)" "succeeded|t|succeeded|1|-|0|f" \
	"an attempt that had ended, as a later wrapper says, counts as what it was"
new x2b a >/dev/null
give x2b 1 >/dev/null
is "$(told x2b 1 '"end": "lost"')|$(row x2b)" "queued|t|queued|1|-|1|t" \
	"its wrapper may say so itself: then there is another, too"
cancel x2b >/dev/null
new x3 a >/dev/null
give x3 1 >/dev/null
lost x3 1 false >/dev/null
due x3
is "$(give x3 1)|$(row x3)" "2|1|queued|2|1|1|t" "the second attempt"
is "$(told x3 1 "$OK")" "queued|f" "then the first one's word is late"
is "$(lost x3 2 true)|$(row x3)" "lost|t|lost|2|-|2|f" "the last one is lost"
is "$(q "SELECT execution_json(x)::jsonb->'attempts'->1->>'reason' FROM execution x
	WHERE id = '$(sid x3)'")" "why" "and says why"

# ---- cancelled
new x4 a >/dev/null
is "$(cancel x4)|$(row x4)" "cancelled|t|cancelled|0|-|0|f" "one that waits ends at once"
new x5 a >/dev/null
give x5 1 >/dev/null
is "$(cancel x5)|$(give x5 1)" "queued|t|" "one that was given is not given again"
is "$(lost x5 1 true)" "cancelled|t" "lost, it is cancelled"

# ---- the task's id
is "$(new x6 a '"task": "t1"')|$(new x7 a '"task": "t1"')" "$(sid x6)|t|$(sid x6)|f" "one execution"
is "$(new x7 a '"task": "t1", "hash": "other"')" "ERROR:  SX410" "for one request"
ask one BEGIN >/dev/null
ask one "$(new_sql x7 a '"task": "t2"')" >/dev/null
tell two "$(new_sql x8 a '"task": "t2"')"
ok "two at once: one waits for the other" stands two
ask one COMMIT >/dev/null
is "$(hear two)" "$(sid x7)|f" "two at once are one"

create o '"tenant": "other", "org": "other", "keyId": "o"' >/dev/null
verify o 1 >/dev/null
is "$(new o1 o '"tenant": "other", "task": "t1", "hash": "other"')" "$(sid o1)|t" \
	"another org has ids of its own"

# ---- two at once
new x9 a >/dev/null
behind "$(give_sql x9 1)" "$(give_sql x9 1)" "two that give"
is "$ONE|$TWO|$(row x9)" "1|1|1|1|queued|1|1|0|t" "two that give it give one attempt"
behind "$(told_sql x9 1 "$OK")" "$(told_sql x9 1 '"end": "failed", "usage": {}')" "two that are told"
is "$ONE|$TWO" "succeeded|t|succeeded|f" "the first word counts"

# ---- how many, and whose
is "$(new y1 a; new y2 a; new y3 a; new y4 a)" "$(printf '%s|t\n' "$(sid y1)" "$(sid y2)" "$(sid y3)"
	echo "ERROR:  SX429")" "five wait at most, with those of the tasks"
is "$(new z1 zz)|$(new z1 a '"tenant": "other"')" "ERROR:  SX404|ERROR:  SX404" \
	"a session of one's own"
is "$(new z1 a '"limits": {"memoryMb": 9999999}')" "ERROR:  SX429" "the queue is looked at first"

is "$(new o2 o '"tenant": "other", "orgMost": 1')" "ERROR:  SX429" "an org has as many as it may"
is "$(new o2 o '"tenant": "other", "orgMost": 2')" "$(sid o2)|t" "and others' do not count"

# ---- given with the row, and otherwise in the order in which they came
create e >/dev/null
verify e 1 >/dev/null
here='"host": "h1"'
new e1 e "$here" >/dev/null
is "$(row e1)" "queued|1|1|0|t" "a wrapper of this host has it at once"
new e4 e '"host": "h2"' >/dev/null
is "$(row e4)" "queued|0|-|0|t" "a worker of another host only records it"
for x in e3 e2; do new $x e "$here" >/dev/null; done
is "$(row e3)" "queued|0|-|0|t" "one that comes later does not overtake"
must "PREPARE to_give AS $(statement execution executions_to_give)"
is "$(q "EXECUTE to_give('$(sid e)')")" "$(printf '%s\n' "$(sid e4)" "$(sid e3)" "$(sid e2)")" \
	"the first comes first"

# ---- and so they stay when their wrapper is lost
must "UPDATE execution SET generation = 1, attempt = 1 WHERE session_id = '$(sid e)'"
must "SELECT executions_lost('$(sid e)', 2, 'why')"
is "$(row e1)" "queued|1|1|0|t" "not with another generation"
must "SELECT executions_lost('$(sid e)', 1, 'why')"
is "$(row e1) $(row e2)" "queued|1|-|1|t queued|1|-|1|t" "all that it had are lost with it"
due_later e1
for x in e4 e3 e2; do due $x; done
is "$(q "EXECUTE to_give('$(sid e)')")" "" "none overtakes one that waits for its next attempt"
due e1
is "$(q "EXECUTE to_give('$(sid e)')" | sed -n 1p)" "$(sid e1)" "which comes first"

# ---- its loss and its cancellation at once
create ga >/dev/null
verify ga 1 >/dev/null
new ga1 ga >/dev/null
give ga1 1 >/dev/null
behind "SELECT state FROM execution_cancel('$(sid ga1)', '{}')" \
	"SELECT executions_lost('$(sid ga)', 1, 'why')" "a loss behind a cancellation"
is "$(row ga1)" "cancelled|1|-|1|f" "ends it"

create gb >/dev/null
verify gb 1 >/dev/null
new gb1 gb >/dev/null
give gb1 1 >/dev/null
restart gb owns_wrapper 1 >/dev/null
is "$(row gb1)" "queued|1|-|1|t" "the next start of its session sees the loss"

# ---- a session that was idle when the reaper asked
new ga2 ga >/dev/null
is "$(request ga sleep idle-timeout '"seenActivity": 0')" sleeping "one that no wrapper has does not hold it awake"
create ha >/dev/null
verify ha 1 >/dev/null
new ha1 ha >/dev/null
give ha1 1 >/dev/null
is "$(request ha sleep idle-timeout '"seenActivity": 0')" ready "it is not put to sleep when it has an execution"
is "$(q "SELECT count(*) FROM session_suspend_begin('$(sid ha)', '{\"seenActivity\": 0, \"seconds\": 60}')")" 0 \
	"nor frozen"
request ha sleep user-interrupt >/dev/null
is "$(told ha1 1 '"end": "lost"')|$(row ha1)" "queued|f|queued|1|1|0|t" \
	"while it is being stopped its wrapper's loss is no other attempt"
begin ha a >/dev/null
is "$(end ha a true)|$(row ha1)" "asleep|cancelled|1|1|0|f" "the stop says what becomes of it"

# ---- a session whose first start failed
create i1 '"name": "fails"' >/dev/null
stop i1 fail >/dev/null
new i2 i1 >/dev/null
is "$(create i3 '"name": "fails"')" "found|failed|" "is not replaced while an execution waits in it"
cancel i2 >/dev/null
is "$(create i3 '"name": "fails"')" "failed||" "only then"

# ---- orgs take turns
must "PREPARE due AS $(statement execution executions_due)"
must "DELETE FROM execution WHERE session_id <> '$(sid e)'"
for x in f g; do
	create $x >/dev/null
	verify $x 1 >/dev/null
	new ${x}1 $x >/dev/null
done
new o3 o '"tenant": "other"' >/dev/null
must "UPDATE execution SET due_at = clock_timestamp() - CASE id WHEN '$(sid o3)' THEN interval '3 s'
	ELSE '9 s' END"
is "$(q "EXECUTE due('h1')" | sed -n '2p')" "$(sid o)|0" "another org's is second, though others wait longer"
must "UPDATE execution SET due_at = clock_timestamp() + CASE id WHEN '$(sid o3)' THEN interval '50 s'
	ELSE '90 s' END WHERE session_id <> '$(sid f)'"
is "$(q "EXECUTE due('h1')" | cut -d'|' -f1 | sed -n 1,2p)" "$(printf '%s\n' "$(sid f)" "$(sid o)")" \
	"what is not due comes after, the next first"
due e2
is "$(q "EXECUTE due('h1')" | grep -c "$(sid e)|0")" 0 "a session is due with its first one"
create q >/dev/null
new q1 q >/dev/null
must "UPDATE execution SET due_at = clock_timestamp() - interval '9 s' WHERE id = '$(sid q1)'"
is "$(q "EXECUTE due('h1')" | grep -c "$(sid q)")" 0 "one whose session is being started waits for that"
must "LISTEN sandlease_starts"
is "$(verify q 1 | grep -c 'notification "sandlease_starts"')|$(q "EXECUTE due('h1')" | grep -c "$(sid q)|0")" \
	"1|1" "and is due with it"
must "UNLISTEN *"

# ---- the last one takes a session along that was made for it
create d >/dev/null
verify d 1 >/dev/null
must "UPDATE session SET cleanup = 'on_completion' WHERE id = '$(sid d)'"
for x in d1 d2 d3; do new $x d >/dev/null; done
give d1 1 >/dev/null
told d1 1 "$OK" >/dev/null
is "$(look d)" "ready|owns_wrapper|1" "not while others wait"
give d2 1 >/dev/null
told d2 1 '"running": true' >/dev/null
cancel d3 >/dev/null
is "$(look d)" "ready|owns_wrapper|1" "nor while another runs"
told d2 1 '"end": "failed", "usage": {}' >/dev/null
is "$(look d)" "deleting|stop_needed|1" "the last one does, however it ends"

# ---- requests to the network
create n >/dev/null
verify n 1 >/dev/null
must "INSERT INTO network_use (session_id, requests, exceeded_at)
	VALUES ('$(sid n)', 7, clock_timestamp())"
fails() { # ID: its end, and the requests that count for it
	told "$1" 1 '"end": "failed", "usage": {}'
	q "SELECT usage->>'networkRequests' FROM execution WHERE id = '$(sid "$1")'"
}
new n1 n "$here" >/dev/null
is "$(fails n1)" "$(printf 'failed|t\n0')" "what was refused before is not its own"
new n2 n "$here" >/dev/null
must "UPDATE network_use SET requests = 9, exceeded_at = clock_timestamp()"
is "$(fails n2)" "$(printf 'network_exceeded|t\n2')" "what was refused since is why it failed"

# ---- the session sleeps or ends
create b >/dev/null
verify b 1 >/dev/null
for x in b1 b2 b3; do new $x b >/dev/null; done
is "$(new b4 b '"limits": {"memoryMb": 9999999}')" "ERROR:  SX427" "limits are the class's at most"
give b1 1 >/dev/null
told b1 1 '"running": true' >/dev/null
request b sleep user-interrupt >/dev/null
begin b s >/dev/null
end b s true >/dev/null
is "$(row b1)" "cancelled|1|1|0|f" "put to sleep: what runs is cancelled"
is "$(row b2)" "queued|0|-|0|t" "and what waits wakes it again"
restart b none 1 >/dev/null
verify b 2 '"incarnation": "inc2-b"' >/dev/null
is "$(give b2 2)" "1|2" "as the next generation has it"
request b delete session-delete >/dev/null
is "$(new b5 b)|$(give b3 2)" "ERROR:  SX413|" "none for a session that is being deleted"
begin b d >/dev/null
end b d true >/dev/null
must "SELECT session_apply('$(sid b)', 'removed', '{}')"
is "$(row b2)|$(row b3)|$(q "SELECT reason FROM execution WHERE id = '$(sid b2)'")" \
	"cancelled|1|2|0|f|cancelled|0|-|0|f|the session was deleted" "deleted: all are cancelled"

# ---- a session that cannot be started
create c >/dev/null
verify c 1 >/dev/null
new c1 c >/dev/null
not_given() { q "SELECT state, applied FROM execution_not_given('$(sid "$1")', $2, 'no room', $3)"; }
is "$(not_given c1 0 false)|$(row c1)" "queued|t|queued|1|-|1|t" "that counts as an attempt"
is "$(not_given c1 0 false)" "queued|f" "once"
is "$(not_given c1 1 true)|$(row c1)" "lost|t|lost|2|-|2|f" "the last one"

done_testing
