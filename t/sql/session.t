#!/bin/bash
# Tests a session from create to delete: every function, and what each refuses.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants

# ---- create

is "$(create a)" "created|initializing|1" "a create registers, and takes generation 1"
is "$(box a)" "creating|inc-a|1" "its sandbox is being created, as incarnation 1"
is "$(q "SELECT coalesce(sandbox_id, '-'), tenant, last_activity_at IS NOT NULL FROM session")" \
	"ses-a|acme|t" "the sandbox id is persisted"
is "$(verify a 1)" t "its proof is accepted"
is "$(look a)|$(box a)" "ready|owns_wrapper|1|running|inc-a|1" "it is ready"
is "$(q "SELECT startup_deadline IS NULL, round(extract(epoch FROM keep_warm_until - changed_at)) FROM lease")" \
	"t|600" "and stays so for its idle time: the client is the work"
is "$(create b '"keepAlive": true')|$(verify b 1)" "created|initializing|1|t" "one that is kept alive"
is "$(q "SELECT keep_warm_until IS NULL FROM lease WHERE session_id = '$(sid b)'")" t \
	"has no end"
is "$(verify b 2)|$(verify b 1 '"instance": "stranger"')" "f|f" \
	"a proof of another generation or instance is not"
is "$(q "SELECT string_agg(what, ' ' ORDER BY id) FROM event WHERE session_id = '$(sid a)'")" \
	"initializing allocate startup_verified retain_warm ready" "every step left an event"

create p >/dev/null && must "UPDATE session SET extended_until = now() + interval '1 hour' WHERE id = '$(sid p)'"
is "$(verify p 1)|$(q "SELECT keep_warm_until >= extended_until FROM lease JOIN session s ON s.id = session_id
	WHERE s.id = '$(sid p)'")" "t|t" "what was promised to an earlier wrapper holds to the microsecond"

# ---- names

is "$(create c '"name": "n"')" "created|initializing|1" "a session with a name"
is "$(create d '"name": "n"')" "found|initializing|" "the same name finds it"
is "$(q "SELECT session_id FROM session_create('$(spec d '"name": "n"')')")" "$(sid c)" \
	"and says which it is"
is "$(look d)" "" "no second one was made"
is "$(q "SELECT disposition FROM session_create('$(spec d '"name": "n", "tenant": "other", "keyId": "o"')')")" \
	created "the name is another tenant's own"
is "$(request c delete session-delete)" deleting "a delete"
is "$(create e '"name": "n"')" "created|initializing|1" "frees the name at once"

# ---- idempotency keys

key='"idempotencyKey": "key", "requestHash": "h"'
is "$(create f "$key")" "created|initializing|1" "a key's first use creates"
is "$(create g "$key")" "replayed|initializing|" "its second finds the same session"
is "$(create g '"idempotencyKey": "key", "requestHash": "h2"')" "ERROR:  SX410" \
	"another request with it is refused"
is "$(create g "$key, \"user\": \"v\"")" "created|initializing|1" "another user's key is another key"
must "UPDATE idempotency SET created_at = created_at - interval '23 hours 59 minutes'"
is "$(create h "$key")" "replayed|initializing|" "after almost a day it still holds"
must "UPDATE idempotency SET created_at = created_at - interval '2 minutes'"
is "$(create h '"idempotencyKey": "key", "requestHash": "h3"')" "created|initializing|1" \
	"after a day it is free"
is "$(create x '"idempotencyKey": "key", "requestHash": "h3"')" "replayed|initializing|" \
	"and holds again"
stop h delete >/dev/null
q "SELECT session_deleted('$(sid h)')" >/dev/null
is "$(create x '"idempotencyKey": "key", "requestHash": "h3"')" "replayed|deleted|" \
	"also for a session that was deleted since"
is "$(create i '"idempotencyKey": "key2", "requestHash": "h", "class": "huge"')" "ERROR:  23503" \
	"a create that is refused"
is "$(q "SELECT count(*) FROM idempotency WHERE key = 'key2'")" 0 "releases its key"
is "$(create i '"idempotencyKey": "key3", "requestHash": "h", "name": "n"')" "found|initializing|" \
	"a key that finds by name"
is "$(q "SELECT session_id FROM session_create('$(spec x '"idempotencyKey": "key3", "requestHash": "h"')')")" \
	"$(sid e)" "is that session's from then on"

# ---- draining

must "UPDATE installation SET draining = true"
is "$(create j)" "ERROR:  SX503" "while draining nothing is created"
is "$(restart a owns_wrapper 1)" "ERROR:  SX503" "and nothing is started again"
must "UPDATE installation SET draining = false"

# ---- starting again

is "$(restart zz none 0)" "ERROR:  SX404" "what is not there cannot start"
is "$(restart a owns_wrapper 0)|$(restart a none 1)" "ERROR:  SX412|ERROR:  SX412" \
	"a look at another lease counts for nothing"
is "$(look a)" "ready|owns_wrapper|1" "and changes nothing"
is "$(restart a owns_wrapper 1)" "restarted|initializing|2|inc-a" \
	"one that saw nothing of it starts generation 2 in the sandbox that runs"
is "$(restart a owns_wrapper 1)" "ERROR:  SX412" "the same look does not count twice"
is "$(verify a 1)" f "the first generation's proof comes too late"
is "$(verify a 2 '"incarnation": "inc-old"')" t "the second's does not"
is "$(request a sleep idle-timeout)|$(restart a stop_needed 2)" "sleeping|ERROR:  SX411" \
	"while a stop is needed nothing starts"
is "$(begin a one)|$(restart a stopping 2)" "sleeping|idle-timeout|ERROR:  SX411" "nor while it goes on"
is "$(end a two true)" "" "a late attempt's result is ignored"
is "$(end a one true)|$(look a)" "asleep|asleep|none|2" "absence puts it to sleep"

# ---- the sandbox's own lease

is "$(q "SELECT sandbox_settle('ses-a', 'inc-old', 'stopped', NULL)")|$(box a)" \
	"f|running|inc-a|1" "an old incarnation's outcome is refused"
is "$(q "SELECT sandbox_retire('ses-a', 'inc-old', false, 30)")" f "so is its end"
is "$(q "SELECT sandbox_retire('ses-a', 'inc-a', true, 30)")" f \
	"a sandbox is not destroyed while a session is in it, even asleep"
is "$(q "SELECT sandbox_retire('ses-b', 'inc-b', false, 30)")" f \
	"nor stopped while one owns a wrapper"
is "$(q "SELECT sandbox_retire('ses-a', 'inc-a', false, 30)")|$(q "SELECT sandbox_settle('ses-a', 'inc-a', 'stopped', NULL)")" \
	"t|t" "one whose session sleeps may be stopped"
is "$(restart a none 2 '"host": "h2", "boot": "b9"')" "ERROR:  SX505" \
	"its files are on its host: another one cannot start it"
is "$(restart a none 2)|$(box a)" "restarted|initializing|3|inc2-a|creating|inc2-a|2" \
	"starting again is a new incarnation, and the epoch grows"
is "$(q "SELECT sandbox_settle('ses-a', 'inc-a', 'stopped', NULL)")" f \
	"the one before it has nothing more to say"
create w >/dev/null && verify w 1 >/dev/null && stop w sleep >/dev/null
is "$(q "SELECT sandbox_retire('ses-w', 'inc-w', false, 30)")|$(restart w none 1)|$(box w)" \
	"t|restarted|initializing|2|inc2-w|creating|inc2-w|2" \
	"what somebody means to stop is not wanted any more: a new incarnation"
is "$(q "SELECT sandbox_settle('ses-w', 'inc-w', 'stopped', NULL)")|$(box w)" "f|creating|inc2-w|2" \
	"and that stop, when it comes, is none of it"
is "$(restart b owns_wrapper 1 '"host": "h2"')" "ERROR:  SX505" "what runs elsewhere stays there"
is "$(restart b owns_wrapper 1 '"boot": "b2"')|$(box b)" \
	"restarted|initializing|2|inc2-b|creating|inc2-b|2" "after a reboot it is a new incarnation"
must "SELECT sandbox_settle('ses-b', 'inc2-b', 'stopped', NULL)"
is "$(verify b 2 '"incarnation": "inc2-b"')|$(box b)" "t|stopped|inc2-b|2" \
	"a sandbox that was seen down does not run again by a late outcome"

# ---- the sandbox has gone

gone() { # ID GENERATION LOST [JSON]
	q "SELECT session_sandbox_gone('$(sid "$1")', '{\"instance\": \"i-$1\", \"generation\": $2,
		\"lost\": $3, \"reason\": \"sandbox_gone\"${4:+, $4}}')"
}
is "$(gone b 1 false)|$(look b)" "f|ready|owns_wrapper|2" "another generation's is refused"
is "$(gone b 2 false '"incarnation": "inc-b"')|$(look b)" "f|ready|owns_wrapper|2" \
	"a look at another incarnation proves nothing"
is "$(gone b 2 false '"incarnation": "inc2-b"')|$(look b)" "t|asleep|none|2" "files there: asleep"
is "$(q "SELECT reason FROM session WHERE id = '$(sid b)'")" sandbox_gone "and says why"
is "$(gone b 2 true)|$(look b)" "t|lost|none|2" "files gone: lost"
is "$(restart b none 2)" "ERROR:  SX414" "what is lost stays lost"

create never >/dev/null
is "$(gone never 1 true)|$(look never)" "t|asleep|none|1" \
	"a session none of whose starts was proved has no files to lose"

# ---- requests to stop

create k >/dev/null && verify k 1 >/dev/null
is "$(request k sleep idle-timeout '"seenActivity": 5')|$(look k)" "ready|ready|owns_wrapper|1" \
	"a stop is dropped when somebody came meanwhile"
is "$(request k fail startup-failed '"generation": 0')|$(look k)" "ready|ready|owns_wrapper|1" \
	"the failure of a start that is over fails nothing else"
is "$(request k sleep idle-timeout '"seenActivity": 0')" sleeping "else it is noted"
is "$(request k sleep user-interrupt)|$(q "SELECT reason FROM lease WHERE session_id = '$(sid k)'")" \
	"sleeping|idle-timeout" "and the first reason stays"
is "$(begin k a)|$(begin k b)" "sleeping|idle-timeout|" "one attempt at a time"
is "$(end k a false)|$(look k)" "sleeping|sleeping|stop_needed|1" "not confirmed: it is tried again"
is "$(begin k b)" "" "but not before its time"
must "UPDATE lease SET next_attempt_at = 'epoch'"
is "$(begin k b)|$(end k a true)|$(end k b true)|$(look k)" \
	"sleeping|idle-timeout||asleep|asleep|none|1" "the next attempt settles it"
is "$(request k sleep user-interrupt)|$(look k)" "asleep|asleep|none|1" \
	"what sleeps need not be put to sleep"
is "$(request k fail startup-failed '"generation": 1')|$(look k)" "asleep|asleep|none|1" \
	"a start that failed because of it leaves it asleep, with its files"
is "$(request k sleep unexpected-wrapper)|$(look k)" "asleep|asleep|stop_needed|1" \
	"but a wrapper that was seen there must go"
is "$(begin k c)|$(end k c true)|$(look k)" "asleep|unexpected-wrapper|asleep|asleep|none|1" \
	"and then it sleeps as before"

# ---- a create that failed takes its session back

back() { q "SELECT coalesce(session_take_back('$(sid "$1")', '{\"reason\": \"startup-failed\"}'), 'stays')"; }
create t1 >/dev/null && gone t1 1 false >/dev/null
is "$(back t1)|$(look t1)" "deleting|deleting|stop_needed|1" "one whose sandbox was gone"
create t2 '"idempotencyKey": "back", "requestHash": "h"' >/dev/null && gone t2 1 false >/dev/null
restart t2 none 1 >/dev/null
is "$(back t2)|$(look t2)" "deleting|deleting|stop_needed|2" \
	"also while another process starts it again, whose wrapper is to go"
is "$(q "SELECT count(*) FROM idempotency WHERE key = 'back'")" 0 "its key is free"
create t3 >/dev/null && verify t3 1 >/dev/null
is "$(back t3)|$(look t3)" "ready|ready|owns_wrapper|1" "one that got ready stays, and that is told"
create t4 >/dev/null && q "SELECT session_told('$(sid t4)')" >/dev/null
is "$(back t4)" stays "not one whose id a client was told"
create t5 '"name": "back"' >/dev/null
is "$(back t5)" stays "nor one with a name"
create t6 '"correlationKeys": ["back"]' >/dev/null
is "$(back t6)" stays "nor with a correlation key"

# ---- deletion, from every state and twice

from_state() { # ID STATE
	create "$1" >/dev/null
	case $2 in
	initializing) ;;
	ready) verify "$1" 1 >/dev/null ;;
	sleeping) verify "$1" 1 >/dev/null && request "$1" sleep x >/dev/null ;;
	asleep) verify "$1" 1 >/dev/null && stop "$1" sleep >/dev/null ;;
	failed) stop "$1" fail >/dev/null ;;
	lost) verify "$1" 1 >/dev/null && gone "$1" 1 true >/dev/null ;;
	esac
	is "$(look "$1" | cut -d'|' -f1)" "$2" "a session that is $2"
}
n=0
for state in initializing ready sleeping asleep failed lost; do
	id=m$((++n))
	from_state $id $state
	must "INSERT INTO port (session_id, port, token_hash, token_sealed)
		VALUES ('$(sid $id)', 8080, 'h', 's')"
	is "$(request $id delete session-delete)|$(request $id delete session-delete)" \
		"deleting|deleting" "from $state: the wish is persisted, once and again"
	is "$(q "SELECT count(*) FROM port WHERE session_id = '$(sid $id)'")" 0 "its previews end"
	is "$(q "SELECT session_deleted('$(sid $id)')")" f "it is not over while the lease is held"
	is "$(restart $id none 1)" "ERROR:  SX413" "and cannot start again"
	begin $id a >/dev/null
	is "$(end $id a true)" deleting "absence was observed"
	is "$(q "SELECT sandbox_retire('ses-$id', 'inc-$id', true, 30)")|$(q "SELECT sandbox_settle('ses-$id', 'inc-$id', 'running', NULL)")" \
		"t|f" "its sandbox is destroyed, and nothing revives it"
	is "$(q "SELECT sandbox_settle('ses-$id', 'inc-$id', 'stopped', NULL)")" f \
		"nor does an end that came late make less of it"
	is "$(q "SELECT sandbox_settle('ses-$id', 'inc-$id', 'absent', NULL)")" t "its absence is recorded"
	is "$(q "SELECT session_deleted('$(sid $id)')")|$(q "SELECT session_deleted('$(sid $id)')")" \
		"t|f" "and so it ends, once"
	is "$(request $id delete session-delete)|$(request $id sleep x)|$(look $id)" \
		"deleted|deleted|deleted|none|1" "nothing changes it any more"
done
is "$(request zz delete session-delete)" "" "a session that is not there"

# ---- the rehearsal of a worker that starts

counts() {
	q "SELECT string_agg(x, ' ') FROM (SELECT format('%s %s', relname,
		(xpath('/row/n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I', relname),
			false, true, '')))[1]) AS x
		FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1) y"
}
before=$(counts)
is "$(q "SELECT rehearse_start()")|$(counts)" "|$before" "a rehearsal succeeds, and leaves no row behind"

done_testing
