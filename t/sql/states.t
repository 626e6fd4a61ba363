#!/bin/bash
# Tests the states of a session: each arrow of session_transition, and nothing else.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants

STATES="initializing ready sleeping asleep deleting deleted failed lost"
EVENTS=$(q "SELECT DISTINCT event FROM session_transition ORDER BY 1")

# put STATE [SQL]: writes a row as a test needs it, without the arrows.
put() {
	must "ALTER TABLE session DISABLE TRIGGER session_state_changed;
		UPDATE session SET state = '$1', reason = 'why', started_at = 'epoch', ended_at = NULL,
			busy = true, ran_seconds = 7, suspended_at = NULL, suspend_order = 3,
			suspend_deadline = NULL, bounce_at = 'epoch', cpu_ms = 1, cpu_at = 'epoch',
			env_sealed = 'e', secrets_sealed = 'k', files_sealed = 'f', setup_sealed = 's', setup_offset = 9,
			setup_exit = 1, setup_output = 'o';
		${2:+UPDATE session SET $2;}
		ALTER TABLE session ENABLE TRIGGER session_state_changed"
}
apply() { # EVENT [JSON]
	q "SELECT now_state, applied, why FROM session_apply('$(sid a)', '$1', '{${2-}}')"
}
row() { q "SELECT * FROM session"; }
SUSPENDED="suspended_at = 'epoch', suspend_deadline = 'epoch'"
create a >/dev/null

# ---- possible events and their effects

# The columns that differ from put(), in words.
changed() {
	q "SELECT concat_ws(' ',
		'reason=' || coalesce(nullif(reason, 'why'), CASE WHEN reason IS NULL THEN '-' END),
		CASE WHEN NOT busy THEN 'idle' END,
		CASE WHEN started_at > 'epoch' AND last_activity_at >= started_at THEN 'started' END,
		CASE WHEN ended_at > 'epoch' THEN 'ended' END,
		CASE WHEN ran_seconds <> 7 THEN 'ran=' || CASE WHEN ran_seconds > 7 THEN 'more' ELSE ran_seconds::text END END,
		CASE WHEN suspended_at > 'epoch' THEN 'frozen' WHEN suspended_at IS NOT NULL THEN 'suspended' END,
		CASE WHEN suspend_order <> 3 THEN 'order' END,
		CASE WHEN suspend_deadline > clock_timestamp() THEN 'deadline' WHEN suspend_deadline IS NOT NULL THEN 'late' END,
		CASE WHEN bounce_at IS NULL THEN 'bounced' END,
		CASE WHEN cpu_ms IS NULL AND cpu_at IS NULL THEN 'cpu' END,
		CASE WHEN env_sealed IS NULL THEN 'env' END,
		CASE WHEN secrets_sealed IS NULL THEN 'secrets' END,
		CASE WHEN files_sealed IS NULL THEN 'files' END,
		CASE WHEN setup_sealed IS NULL THEN 'setup' END,
		CASE WHEN setup_offset = 0 AND setup_exit IS NULL THEN 'rewound' END,
		CASE WHEN setup_output IS NULL THEN 'output' END,
		CASE WHEN actor IS NOT NULL THEN 'actor' END) FROM session"
}
# from, event, to, whether the session is suspended, what changes
ARROWS=$(cat <<'ROWS'
initializing|start|initializing||reason=- bounced cpu rewound output
ready|start|initializing||reason=- bounced cpu rewound output
sleeping|start|initializing|s|reason=- bounced cpu rewound output
asleep|start|initializing||reason=- bounced cpu rewound output
failed|start|initializing||reason=- bounced cpu rewound output
initializing|verified|ready||reason=- started ran=0 files
ready|verified|ready||
initializing|sleep|sleeping||reason=because
ready|sleep|sleeping||reason=because
sleeping|sleep|sleeping|s|reason=because
asleep|sleep|sleeping|s|reason=because
initializing|fail|failed|s|reason=because ended
ready|fail|failed||reason=because ended
initializing|delete|deleting||reason=because
ready|delete|deleting||reason=because
sleeping|delete|deleting|s|reason=because
asleep|delete|deleting|s|reason=because
failed|delete|deleting||reason=because
lost|delete|deleting||reason=because
sleeping|stopped|asleep||idle ended
deleting|removed|deleted||idle ended env secrets files setup
initializing|gone|asleep|s|reason=because idle ended
ready|gone|asleep||reason=because idle ended
sleeping|gone|asleep|s|reason=because idle ended
asleep|gone|asleep|s|reason=because idle ended
initializing|files_gone|lost|s|reason=because idle ended
ready|files_gone|lost||reason=because idle ended
sleeping|files_gone|lost|s|reason=because idle ended
asleep|files_gone|lost|s|reason=because idle ended
failed|files_gone|lost||reason=because
ready|freeze|sleeping||reason=because ran=more frozen order deadline
sleeping|freeze_again|sleeping|s|reason=because frozen order deadline
initializing|freeze_again|sleeping|s|reason=because frozen order deadline
sleeping|frozen|asleep|s|idle ended suspended
initializing|thaw|initializing|s|reason=- suspended order deadline cpu
sleeping|thaw|initializing|s|reason=- suspended order deadline cpu
asleep|thaw|initializing|s|reason=- suspended order deadline cpu
initializing|thawed|ready|s|reason=- started
ROWS
)
is "$(cut -d'|' -f1-3 <<<"$ARROWS" | LC_ALL=C sort)" \
	"$(q "SELECT from_state, event, to_state FROM session_transition" | LC_ALL=C sort)" \
	"these are all there are"
while IFS='|' read -r from event to set effects; do
	put "$from" "${set:+$SUSPENDED}"
	is "$(apply "$event" '"reason": "because", "order": 3, "seconds": 60, "trace": "t7", "actor": "me"')" \
		"$to|t|" "$from, $event: $to"
	is "$(changed)" "$effects" "$from, $event: and what it changes"
done <<<"$ARROWS"
put asleep "ended_at = 'epoch', $SUSPENDED"
apply thaw '"seconds": 1' >/dev/null
is "$(q "SELECT ended_at IS NULL FROM session")" t "what begins again has not ended"
put deleting "ended_at = 'epoch'"
must "UPDATE session SET reason = 'retention'"
apply removed >/dev/null
is "$(q "SELECT ended_at = 'epoch' FROM session")" t "retention counts from when it ended"
put ready
apply freeze '"seconds": 1' >/dev/null
is "$(q "SELECT reason FROM session")" why "a freeze that says nothing keeps the reason"
put ready
apply sleep '"reason": "idle-timeout", "say": "for people"' >/dev/null
is "$(q "SELECT reason FROM session")" "for people" "what is said to people comes first"
is "$(q "SELECT what, reason, detail->>'from' FROM event ORDER BY id DESC LIMIT 1")" \
	"sleeping|for people|ready" "and a change leaves its event"

# ---- refusals of a fence

refused() { # NAME EVENT JSON WHY: and nothing has changed
	local before after
	before=$(row)
	is "$(apply "$2" "$3" | cut -d'|' -f2-)" "f|$4" "$1"
	after=$(row)
	is "$after" "$before" "$1: nothing changed"
}
for event in frozen thawed; do
	put "$([ $event = frozen ] && echo sleeping || echo initializing)" "$SUSPENDED"
	refused "$event of another order" $event '"order": 2' "another freeze or thaw is under way"
	refused "$event of no order" $event '' "another freeze or thaw is under way"
	must "UPDATE session SET suspended_at = NULL"
	refused "$event of what is not frozen" $event '"order": 3' "the session is not suspended"
done
put sleeping "suspended_at = 'epoch', suspend_deadline = clock_timestamp() + interval '1 h'"
refused "a freeze that has time" freeze_again '"seconds": 1' "the freeze or thaw still has time"
must "UPDATE session SET suspend_deadline = NULL"
refused "a freeze without a deadline" freeze_again '"seconds": 1' "the freeze or thaw still has time"
for state in sleeping asleep; do
	put $state
	for event in sleep thaw; do
		refused "$state, $event" $event '"seconds": 1' "the session is not suspended"
	done
done

# ---- every pair that the table does not have

for from in $STATES; do
	for event in $EVENTS explode; do
		[ -z "$(q "SELECT 1 FROM session_transition WHERE from_state = '$from' AND event = '$event'")" ] ||
			continue
		put "$from" "$SUSPENDED"
		refused "$event while $from" "$event" '"order": 3, "seconds": 1, "reason": "x"' \
			"$event is not possible while the session is $from"
	done
done
is "$(q "SELECT now_state, applied, why FROM session_apply('nobody', 'start', '{}')")" \
	"|f|no such session" "a session that is not there"

# ---- no statement can bypass the table

for from in $STATES; do
	for to in $STATES; do
		[ -z "$(q "SELECT 1 FROM session_transition WHERE from_state = '$from' AND to_state = '$to'")" ] ||
			continue
		put "$from"
		is "$(q "UPDATE session SET state = '$to' RETURNING 1")|$(q "SELECT state FROM session")" \
			"ERROR:  P0001|$from" "$from does not become $to, by whichever statement"
	done
done
writers=$(perl -0ne 'print "$ARGV\n" if /\bUPDATE session\b(?!_)(?:(?!WHERE|;).)*?\bSET\b(?:(?!\bWHERE\b|;).)*?[\s,]state\s*=/s' \
	"$top_srcdir"/sql/functions/*.sql "$top_srcdir"/sql/statements/*.sql | sed 's#.*/##' | LC_ALL=C sort -u)
is "$writers" session_apply.sql "and one function writes it"

done_testing
