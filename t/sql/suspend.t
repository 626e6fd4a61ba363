#!/bin/bash
# Tests freezing and thawing: intents, outcomes, and outcomes that come too late.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants

suspend() { # ID [JSON]
	q "SELECT * FROM session_suspend_begin('$(sid "$1")', '{\"reason\": \"r\", \"seconds\": 30${2:+, $2}}')"
}
suspended() { # ID ORDER FROZEN
	q "SELECT session_suspend_end('$(sid "$1")', '{\"order\": $2, \"frozen\": $3, \"reason\": \"idle-timeout\"}')"
}
thaw() { # ID GENERATION
	q "SELECT session_thaw_begin('$(sid "$1")', '{\"generation\": $2, \"seconds\": 600, \"thawSeconds\": 30}')"
}
thawed() { # ID ORDER [GENERATION]
	q "SELECT session_thawed('$(sid "$1")', '{\"order\": $2, \"instance\": \"i-$1\", \"generation\": ${3:-1}}')"
}
# "suspended?|deadline of the freeze or thaw?|startup deadline?|end of the idle time?"
dates() { # ID
	q "SELECT s.suspended_at IS NOT NULL, s.suspend_deadline IS NOT NULL,
		l.startup_deadline IS NOT NULL, l.keep_warm_until IS NOT NULL
		FROM session s JOIN lease l ON l.session_id = s.id WHERE s.id = '$(sid "$1")'"
}

# ---- there and back

create a >/dev/null
is "$(suspend a)" "" "what is starting is not frozen"
verify a 1 >/dev/null
is "$(suspend a '"seenActivity": 7')|$(look a)" "|ready|owns_wrapper|1" \
	"nor one in which somebody was active meanwhile"
is "$(suspend a '"seenActivity": 0')|$(look a)|$(dates a)" "1|sleeping|owns_wrapper|1|t|t|f|f" \
	"the intent: sleeping, the lease stays and has no end"
is "$(suspend a)" "" "a second intent meanwhile is none"
is "$(verify a 1)" f "a late proof of its start changes nothing"
is "$(suspended a 1 true)|$(look a)|$(dates a)" "asleep|asleep|owns_wrapper|1|t|f|f|f" \
	"the outcome: asleep"
is "$(suspended a 1 true)" "" "told twice it is late"
is "$(thaw a 2)" "ERROR:  SX412" "another generation is not thawed"
is "$(thaw a 1)|$(look a)|$(dates a)" "2|initializing|owns_wrapper|1|t|t|t|f" \
	"the intent to go on: a reuse with a startup deadline"
is "$(suspended a 1 true)|$(suspended a 1 false)|$(look a)" "||initializing|owns_wrapper|1" \
	"the freeze's outcome is late now"
is "$(thawed a 1)|$(look a)" "f|initializing|owns_wrapper|1" "an older thaw's outcome as well"
is "$(verify a 1)|$(look a)" "f|initializing|owns_wrapper|1" "and that of a start"
is "$(thawed a 2)|$(look a)|$(dates a)" "t|ready|owns_wrapper|1|f|f|f|t" "the outcome: ready"
is "$(q "SELECT string_agg(what, ' ' ORDER BY id) FROM event WHERE session_id = '$(sid a)' AND id >
	(SELECT min(id) FROM event WHERE what = 'ready')")" \
	"retain_warm sleeping asleep reuse initializing retain_warm ready" "every step left an event"

must "UPDATE session SET initializing_since = 'epoch', cpu_ms = 1, cpu_at = 'epoch'"
suspend a >/dev/null && suspended a 3 true >/dev/null && thaw a 1 >/dev/null
is "$(q "SELECT initializing_since > clock_timestamp() - interval '1 minute', cpu_at IS NULL FROM session")" \
	"t|t" "what begins to go on is neither an orphan nor stuck"
is "$(thawed a 4)" t "and goes on"

# ---- sessions that cannot be frozen

is "$(suspend a)|$(suspended a 5 false)|$(look a)|$(dates a)" \
	"5|sleeping|sleeping|stop_needed|1|f|f|f|f" "it is stopped instead"
is "$(q "SELECT reason FROM session WHERE id = '$(sid a)'")" cannot_suspend "and says so"
is "$(suspend a)|$(thaw a 1)" "|ERROR:  SX412" "from then on it is the stop's"

# ---- events that end it meanwhile

create b >/dev/null && verify b 1 >/dev/null && suspend b >/dev/null
is "$(request b delete session-delete)|$(suspended b 1 true)|$(look b)" \
	"deleting||deleting|stop_needed|1" "a delete during the freeze wins"
is "$(thaw b 1)" "ERROR:  SX413" "and nothing wakes it"
create c >/dev/null && verify c 1 >/dev/null && suspend c >/dev/null && suspended c 1 true >/dev/null
is "$(request c sleep shutdown)|$(look c)|$(dates c)" "sleeping|sleeping|stop_needed|1|f|f|f|f" \
	"one that is frozen can be stopped"
create d >/dev/null && verify d 1 >/dev/null && suspend d >/dev/null && suspended d 1 true >/dev/null
is "$(q "SELECT session_sandbox_gone('$(sid d)', '{\"instance\": \"i-d\", \"generation\": 1,
	\"lost\": false, \"reason\": \"sandbox_gone\"}')")|$(look d)|$(dates d)" "t|asleep|none|1|f|f|f|f" \
	"a reboot leaves it asleep, and not frozen"
create e >/dev/null && verify e 1 >/dev/null && suspend e >/dev/null && suspended e 1 true >/dev/null
is "$(restart e owns_wrapper 1)|$(dates e)" "restarted|initializing|2|inc-e|f|f|t|f" \
	"one whose wrapper was seen gone starts anew"
create g >/dev/null && verify g 1 >/dev/null && suspend g >/dev/null && suspended g 1 true >/dev/null
q "SELECT lease_force_release('$(sid g)', 't')" >/dev/null
is "$(look g)|$(dates g)" "asleep|none|1|f|f|f|f" "a lease that was released by force has nothing frozen"
create f >/dev/null && verify f 1 >/dev/null && suspend f >/dev/null && suspended f 1 true >/dev/null
must "UPDATE installation SET draining = true"
is "$(thaw f 1)" "ERROR:  SX503" "while draining nothing goes on"
must "UPDATE installation SET draining = false"

# ---- freezes and thaws that were never finished

repair() { suspend "$1" '"repair": true'; }
due() { q "SELECT count(*) FROM session WHERE suspend_deadline < clock_timestamp()"; }
is "$(repair f)" "" "what is finished needs no repair"
thaw f 1 >/dev/null
is "$(repair f)|$(due)" "|0" "what is under way has its time"
must "UPDATE session SET suspend_deadline = 'epoch' WHERE suspend_deadline IS NOT NULL"
is "$(due)|$(repair f)|$(look f)" "1|3|sleeping|owns_wrapper|1" "a thaw that ran out of it is frozen"
is "$(thawed f 2)" f "and its outcome is late"
must "UPDATE session SET suspend_deadline = 'epoch' WHERE suspend_deadline IS NOT NULL"
is "$(repair f)|$(suspended f 3 true)|$(suspended f 4 true)|$(look f)" \
	"4||asleep|asleep|owns_wrapper|1" "so is a freeze"

# ---- time

must "UPDATE session SET max_run_seconds = 1000, ran_seconds = 0"
thaw f 1 >/dev/null && thawed f 5 >/dev/null
must "UPDATE session SET started_at = clock_timestamp() - interval '300 s' WHERE id = '$(sid f)'"
suspend f >/dev/null && suspended f 6 true >/dev/null
left() { q "SELECT round(extract(epoch FROM session_run_end(s) - s.started_at) / 10) * 10
	FROM session s WHERE id = '$(sid f)'"; }
is "$(thaw f 1)|$(thawed f 7)|$(left)" "7|t|700" "only the time it ran counts as run time"
must "UPDATE session SET state = 'initializing' WHERE id = '$(sid f)'"
is "$(verify f 1)|$(left)" "t|1000" "and a new wrapper begins anew"

done_testing
