#!/bin/bash
# Tests that quotas are counted with every change, by any program, and never
# exceeded.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
open_two

used() { # "sessions|active|previews|disk" as counted
	q "SELECT sessions, active, previews, disk_mb FROM quota WHERE tenant = '${1:-acme}'"
}
really() { q "SELECT * FROM quota_count('${1:-acme}')"; }
limit() { # NAME VALUE: the service's own, for every connection
	local c
	for c in main one two; do
		ask "$c" "SET sandlease.quota_$1 = $2" >/dev/null
	done
}
no_limits() {
	local name
	for name in sessions active creates_per_minute previews disk_mb; do
		limit $name 0
	done
}
ready() { create "$1" "${2:-}" >/dev/null && verify "$1" 1 >/dev/null; }
port() { # ID PORT
	q "INSERT INTO port (session_id, port, token_hash, token_sealed)
		VALUES ('$(sid "$1")', $2, 'h', 's') RETURNING 'made'"
}
why() { # SQL: the detail of its refusal, which programs read
	pg_psql -Atq 2>&1 <<<"SET sandlease.quota_${2%%=*} = ${2#*=}; $1" |
		sed -n 's/^DETAIL:  //p'
}

# ---- counting

no_limits
ready a
is "$(used)" "1|1|0|4096" "a session is counted, with the disk of its class"
is "$(port a 8080)|$(used)" "made|1|1|1|4096" "so is a preview"
is "$(request a sleep x)|$(used)" "sleeping|1|1|1|4096" "what goes to sleep is active still"
begin a x >/dev/null && end a x true >/dev/null
is "$(used)" "1|0|1|4096" "what sleeps is not"
is "$(restart a none 1)|$(used)" "restarted|initializing|2|inc-a|1|1|1|4096" "what starts again is"
is "$(request a fail startup-failed)|$(used)" "failed|1|0|1|4096" "what failed is not"
is "$(request a delete session-delete)|$(used)" "deleting|1|0|0|4096" "a deletion ends previews first"
begin a y >/dev/null && end a y true >/dev/null
is "$(used)" "1|0|0|4096" "and counts until it is over"
is "$(q "SELECT session_deleted('$(sid a)')")|$(used)" "t|0|0|0|0" "then nothing is left"
must "DELETE FROM session WHERE id = '$(sid a)'"
is "$(used)" "0|0|0|0" "also when its row is forgotten"

shared='"sandbox": "org-x", "class": "shared", "isolation": "shared", "incarnation": "inc"'
create s1 "$shared" >/dev/null
create s2 "$shared" >/dev/null
is "$(used)" "2|2|0|8192" "sessions of one sandbox share its disk"
for id in s1 s2; do
	request $id delete session-delete >/dev/null
	begin $id z >/dev/null && end $id z true >/dev/null
	must "SELECT session_deleted('$(sid $id)')"
	[ $id != s1 ] || is "$(used)" "1|1|0|8192" "it is kept for the last one"
done
is "$(used)" "0|0|0|0" "and given back then"
must "UPDATE class SET disk_mb = 5000 WHERE name = 'small'"
ready b
must "UPDATE class SET disk_mb = 4096 WHERE name = 'small'"
is "$(used)" "1|1|0|5000" "what was reserved"
must "SELECT session_request_stop('$(sid b)', 'delete', '{\"reason\": \"x\"}')"
begin b x >/dev/null && end b x true >/dev/null
must "SELECT session_deleted('$(sid b)')"
is "$(used)" "0|0|0|0" "is what is given back, whatever the class says by then"

# ---- a transaction's own arithmetic

ask one BEGIN >/dev/null
ask one "$(printf "SELECT session_create('%s') IS NULL" "$(spec c1)")" >/dev/null
ask one "$(printf "SELECT session_create('%s') IS NULL" "$(spec c2)")" >/dev/null
is "$(used)" "0|0|0|0" "until it commits nothing is counted"
ask one "SAVEPOINT p" >/dev/null
ask one "$(printf "SELECT session_create('%s') IS NULL" "$(spec c3)")" >/dev/null
ask one "ROLLBACK TO p; COMMIT" >/dev/null
is "$(used)|$(really)" "2|2|0|8192|2|2|0|8192" "then all of it, less what was taken back"
must "UPDATE session SET state = 'asleep' WHERE state = 'initializing'"
is "$(used)" "2|0|0|8192" "a statement over many rows counts each of them"
must "UPDATE session SET state = 'lost' WHERE state = 'asleep'"
is "$(used)|$(really)" "2|0|0|0|2|0|0|0" "what is lost has no files and holds no disk"

# ---- a start that failed has no files, unless it was ready once or a setup ran

first_start_fails() { q "SELECT session_request_stop('$(sid "$1")', 'fail', '{\"reason\": \"x\"}')" >/dev/null; }
disk() { echo "$(used | cut -d'|' -f4) $(really | cut -d'|' -f4)"; }
create fa >/dev/null
ready fb
create fc >/dev/null
must "UPDATE session SET setup_exit = 1 WHERE id = '$(sid fc)'"
is "$(disk)" "12288 12288" "three sessions hold theirs"
for id in fa fb fc; do first_start_fails $id; done
is "$(disk)" "8192 8192" "one that was never ready gives it back"
must "UPDATE session SET files_dropped_at = now() WHERE id = '$(sid fb)'"
is "$(disk)" "4096 4096" "and so does one whose files were removed"
must "UPDATE session SET state = 'initializing' WHERE id = '$(sid fa)'"
is "$(disk)" "8192 8192" "started again, it needs room again"
create fd >/dev/null && first_start_fails fd
limit disk_mb 8192
is "$(request fd delete session-delete)|$(disk)" "deleting|8192 8192" \
	"what held none may be deleted where there is no room, and needs none"
is "$(q "SELECT count(*) FROM quota_recount('acme')")|$(disk)" "0|8192 8192" "that is right so"
no_limits
begin fd x >/dev/null && end fd x true >/dev/null
must "SELECT session_deleted('$(sid fd)')"
must "UPDATE session SET state = 'deleting' WHERE id IN ('$(sid fa)', '$(sid fb)', '$(sid fc)')"
must "UPDATE session SET state = 'deleted' WHERE id IN ('$(sid fa)', '$(sid fb)', '$(sid fc)')"
is "$(disk)" "0 0" "in the end all of it"

# ---- limits

limit active 2
is "$(create d1)|$(create d2)" "created|initializing|1|created|initializing|1" "up to the limit"
is "$(create d3)|$(look d3)|$(box d3)" "ERROR:  SX429||" "and no further: nothing of it stays"
is "$(create d3 '"idempotencyKey": "k", "requestHash": "h"')|$(q "SELECT count(*) FROM idempotency")" \
	"ERROR:  SX429|0" "its idempotency key is free again"
is "$(create d3 '"correlationKeys": ["c"]')|$(q "SELECT count(*) FROM alias")" "ERROR:  SX429|0" "so are its keys"
is "$(q "SELECT disposition FROM session_create('$(spec d3 '"tenant": "other", "keyId": "o"')')")" created \
	"another tenant has its own"
is "$(why "SELECT session_create('$(spec d4)')" active=2)" \
	'{"quota": {"name": "active", "used": 2, "limit": 2}, "retryAfter": 15}' "it says which quota, and when to come again"
stop d1 sleep >/dev/null
is "$(create d5)|$(restart d1 none 1)|$(look d1)" \
	"created|initializing|1|ERROR:  SX429|asleep|none|1" "a start that does not fit leaves it asleep"
stop d5 sleep >/dev/null
is "$(restart d1 none 1)" "restarted|initializing|2|inc-d1" "once there is room it starts"
verify d1 2 >/dev/null
is "$(restart d1 owns_wrapper 2)" "restarted|initializing|3|inc-d1" "what is active may start again without any"
limit active 0
is "$(create d6)|$(used)|$(really)" "created|initializing|1|6|3|0|16384|6|3|0|16384" "0 is no limit"

limit sessions 6
is "$(create e1)" "ERROR:  SX429" "sessions are limited, too"
no_limits
limit disk_mb 24000
is "$(create e1)|$(create e2)" "created|initializing|1|ERROR:  SX429" "disk"
is "$(create e2 "$shared")" "ERROR:  SX429" "by what the class needs"
limit disk_mb 40000
is "$(create e2 "$shared")|$(create e3 "$shared")" "created|initializing|1|created|initializing|1" \
	"a second session in the same sandbox needs none"
no_limits
limit previews 2
is "$(port d1 2001)|$(port d1 2002)|$(port d2 2003)" "made|made|ERROR:  SX429" "previews, over all sessions"
must "DELETE FROM port WHERE port = 2001"
is "$(port d2 2003)" made "one that ended makes room"
is "$(why "INSERT INTO port VALUES ('$(sid d1)', 2009, NULL, 'h', 's')" previews=2)" \
	'{"quota": {"name": "previews", "used": 2, "limit": 2}, "retryAfter": 60}' "and says so"
no_limits

# ---- a tenant's own limits

own() { must "SELECT quota_set('acme', ARRAY[$1]::text[])"; }
own "NULL, '1', NULL, NULL, NULL"
is "$(create f1)" "ERROR:  SX429" "a tenant's own limit holds"
limit active 1000
is "$(create f1)" "ERROR:  SX429" "before the service's"
own "NULL, NULL, '5', NULL, NULL"
is "$(create f1)" "ERROR:  SX429" "setting another one leaves it"
own "NULL, '0', '0', NULL, NULL"
limit active 1
is "$(create f1)" "created|initializing|1" "its own 0 is no limit, whatever the service says"
own "NULL, 'inherit', NULL, NULL, NULL"
is "$(create f2)" "ERROR:  SX429" "and inherits again"
must "SELECT quota_set('fresh', ARRAY['3', NULL, NULL, NULL, NULL]::text[])"
is "$(q "SELECT max_sessions, sessions FROM quota WHERE tenant = 'fresh'")" "3|0" \
	"a tenant that is not there yet may be given one"
no_limits

# ---- creates a minute

must "SELECT quota_set('acme', ARRAY[NULL, NULL, 'inherit', NULL, NULL]::text[])"
minute() { # AGO_SECONDS THIS LAST
	must "UPDATE quota SET minute_at = clock_timestamp() - make_interval(secs => $1),
		minute_creates = $2, last_creates = $3 WHERE tenant = 'acme'"
}
limit creates_per_minute 10
minute 10 9 0
is "$(create g1)|$(create g2)" "created|initializing|1|ERROR:  SX429" "ten a minute"
minute 70 10 0
is "$(create g2)" "created|initializing|1" "when the minute is over, the part of it that lies back further is"
is "$(q "SELECT minute_creates, last_creates FROM quota WHERE tenant = 'acme'")" "1|10" "a new minute has begun"
minute 130 10 10
is "$(create g3)|$(q "SELECT minute_creates, last_creates FROM quota WHERE tenant = 'acme'")" \
	"created|initializing|1|1|0" "two minutes later it is forgotten"
minute 0 10 0
is "$(create g4 '"name": "x"')" "ERROR:  SX429" "a create that makes is one"
# at SECONDS: creates of the last 60, and the wait with a limit of ten a minute
at() {
	q "SELECT round(quota_creates(q, at), 1), quota_creates_wait(q, at, 1, 10)
		FROM (SELECT q, q.minute_at + interval '$1 seconds' AS at FROM quota q
			WHERE tenant = 'acme') x"
}
is "$(at 0)|$(at 10)|$(at 59)" "10.0|66|10.0|56|10.0|7" "a full minute stays full until a tenth of it is over"
is "$(at 60)|$(at 66)|$(at 90)|$(at 120)" "10.0|6|9.0|1|5.0|1|0.0|1" "then it empties evenly"
minute 0 5 10
is "$(at 0)|$(at 30)|$(at 36)" "15.0|36|10.0|6|9.0|1" "the minute before counts by what lies within"
like "$(why "SELECT session_create('$(spec zz)')" creates_per_minute=1)" \
	'"name": "createsPerMinute", .*"retryAfter": [1-9]' "a caller is told"
limit creates_per_minute 0
create g4 '"name": "x", "idempotencyKey": "gi", "requestHash": "h"' >/dev/null
limit creates_per_minute 1
is "$(create g5 '"name": "x"')|$(create g5 '"idempotencyKey": "gi", "requestHash": "h"')" \
	"found|initializing||replayed|initializing|" "finding and replaying are not"

# ---- finds

finds() { q "SELECT minute_finds, last_finds, minute_creates FROM quota WHERE tenant = 'acme'"; }
find_x() { create g5 "\"name\": \"x\"${1:+, $1}"; }
must "UPDATE quota SET minute_at = clock_timestamp(), minute_creates = 0, last_creates = 0, minute_finds = 8,
	last_finds = 0 WHERE tenant = 'acme'"
is "$(find_x)|$(find_x)|$(finds)" "found|initializing||found|initializing||10|0|0" \
	"a create that finds a session is counted"
is "$(find_x)|$(finds)" "ERROR:  SX429|10|0|0" "ten for each create a minute, and no more"
is "$(find_x '"idempotencyKey": "fk", "requestHash": "h"')|$(q "SELECT count(*) FROM idempotency WHERE key = 'fk'")" \
	"ERROR:  SX429|0" "it leaves no row"
is "$(create g5 '"idempotencyKey": "gi", "requestHash": "h"')" "replayed|initializing|" "a repetition costs nothing"
like "$(why "SELECT session_create('$(spec g5 '"name": "x"')')" creates_per_minute=1)" \
	'"name": "findsPerMinute", "used": 10, "limit": 10.*"retryAfter": [1-9]' "it says which quota, and when to come again"
must "UPDATE quota SET minute_at = minute_at - interval '61 s' WHERE tenant = 'acme'"
is "$(find_x)|$(finds)" "ERROR:  SX429|10|0|0" "the minute before counts by what lies within"
must "UPDATE quota SET minute_at = minute_at - interval '30 s' WHERE tenant = 'acme'"
is "$(find_x)|$(finds)" "found|initializing||1|10|0" "then there is room"
limit creates_per_minute 100
create g6 >/dev/null
is "$(finds)" "1|10|1" "a create keeps what was found"
stop g6 delete >/dev/null
limit creates_per_minute 0
must "UPDATE quota SET minute_at = clock_timestamp(), minute_finds = 1000000 WHERE tenant = 'acme'"
is "$(find_x)|$(finds | cut -d'|' -f1)" "found|initializing||1000000" "without a limit nothing is counted"
must "UPDATE quota SET minute_finds = 0 WHERE tenant = 'acme'"

# ---- frozen sessions

order() { q "SELECT suspend_order FROM session WHERE id = '$(sid "$1")'"; }
suspend() { # ID
	q "SELECT * FROM session_suspend_begin('$(sid "$1")', '{\"reason\": \"r\", \"seconds\": 30}')" >/dev/null
	q "SELECT session_suspend_end('$(sid "$1")', '{\"order\": $(order "$1"), \"frozen\": true, \"reason\": \"r\"}')"
}
active() { printf '%s %s' "$(used | cut -d'|' -f2)" "$(really | cut -d'|' -f2)"; }
room() { # N more active sessions
	limit active $(($(used | cut -d'|' -f2) + $1))
}
before=$(active)
for id in w1 w2 w3 w4; do ready $id; done
with=$(active)
is "$(suspend w1)|$(suspend w2)|$(active)" "asleep|asleep|$with" "a frozen session keeps its memory: it is active"
room 0
is "$(create w5)" "ERROR:  SX429" "so that freezing makes no room"
is "$(q "SELECT session_thaw_begin('$(sid w1)', '{\"generation\": 1, \"seconds\": 600, \"thawSeconds\": 30}') > 0")|$(active)" \
	"t|$with" "and going on needs none"
is "$(restart w2 owns_wrapper 1)|$(active)" "restarted|initializing|2|inc-w2|$with" \
	"nor does a new start of one whose frozen wrapper was lost"
stop w3 sleep >/dev/null
ready w5
is "$(restart w3 none 1)" "ERROR:  SX429" "one that has slept does"
suspend w4 >/dev/null
stop w4 sleep >/dev/null
is "$(restart w3 none 1)|$(active)" "restarted|initializing|2|inc-w3|$with" "one that was frozen and is stopped makes room"
suspend w5 >/dev/null
q "SELECT lease_force_release('$(sid w5)', 't')" >/dev/null
is "$(used | cut -d'|' -f2)" "$(really | cut -d'|' -f2)" "one that was released by force is not counted any more"
for id in w1 w2 w3 w4 w5; do stop $id delete >/dev/null; done
is "$(active)" "$before" "and all is as before"
no_limits

# ---- races

create_sql() { printf "SELECT disposition FROM session_create('%s')" "$(spec "$@")"; }
room 1
ask one BEGIN >/dev/null
ONE=$(ask one "$(create_sql h1)")
ask two BEGIN >/dev/null
TWO=$(ask two "$(create_sql h2)")
is "$ONE|$TWO" "created|created" "two creates see room for one"
tell one COMMIT && hear one >/dev/null
is "$(ask two COMMIT)|$(look h1)|$(look h2)" "ERROR:  SX429|initializing|owns_wrapper|1|" \
	"the second to commit does not fit"
is "$(used)" "$(really)" "and the counters are right"
# Connection one is about to commit and has the row locked; two waits for it.
room 1
ask one BEGIN >/dev/null
ask one "$(create_sql h3)" >/dev/null
ask one "SET CONSTRAINTS ALL IMMEDIATE" >/dev/null
tell two "$(create_sql h4)"
ok "a commit behind another: one waits for the other" stands two
ask one ROLLBACK >/dev/null
is "$(hear two)" created "and has the room that the first gave back"
room 0
stop h4 sleep >/dev/null
room 1
ask one BEGIN >/dev/null
ask one "$(create_sql h5)" >/dev/null
ask one "SET CONSTRAINTS ALL IMMEDIATE" >/dev/null
tell two "SELECT disposition FROM session_restart('$(sid h4)', '$(spec h4 '"seenState": "none", "seenGeneration": 1')')"
ok "a start behind a create: one waits for the other" stands two
ask one COMMIT >/dev/null
is "$(hear two)|$(look h4)" "ERROR:  SX429|asleep|none|1" "and does not fit"
no_limits
# Two transactions change the rows of two tenants, in opposite order.
touch_both() { # CONNECTION FIRST SECOND
	ask "$1" BEGIN >/dev/null
	ask "$1" "UPDATE session SET state = 'asleep' WHERE id = '$2';
		UPDATE session SET state = 'asleep' WHERE id = '$3'" >/dev/null
}
for n in 1 2; do
	create m$n >/dev/null
	must "SELECT session_create('$(spec n$n '"tenant": "other", "keyId": "o"')')"
done
pg_open three
ask three "BEGIN; SELECT FROM quota WHERE tenant = 'acme' FOR UPDATE" >/dev/null
touch_both one "$(sid m1)" "$(sid n1)"
touch_both two "$(sid n2)" "$(sid m2)"
tell one COMMIT
ok "orgs in one order: it waits" stands one
tell two COMMIT
ok "in the other: it waits, too" stands two
ask three COMMIT >/dev/null
none "and there is no deadlock" "$(hear one; hear two)"
is "$(used)|$(used other)" "$(really)|$(really other)" "all counters are right"

# ---- the truth

is "$(q "SELECT * FROM quota_recount('acme')")" "" "nothing has to be set right"
must "UPDATE quota SET sessions = sessions + 3, active = 0, disk_mb = -1 WHERE tenant = 'acme'"
is "$(q "SELECT counter FROM quota_recount('acme') ORDER BY 1" | tr '\n' ' ')" "active disk_mb sessions " \
	"what is wrong is named"
is "$(used)" "$(really)" "and right again"
must "UPDATE sandbox SET quota_disk_mb = 0 WHERE id = 'ses-d1';
	UPDATE sandbox SET quota_disk_mb = 9 WHERE id = 'ses-a'"
is "$(q "SELECT is_now - was FROM quota_recount('acme')")|$(used)" "|$(really)" \
	"sandboxes that reserve what they should not are set right"
is "$(q "SELECT string_agg(quota_disk_mb::text, ' ' ORDER BY id) FROM sandbox WHERE id IN ('ses-a', 'ses-d1')")" \
	"0 4096" "each of them"
# A change that is under way is neither counted twice nor lost.
ask one BEGIN >/dev/null
ask one "$(create_sql t1)" >/dev/null
must "SELECT * FROM quota_recount('acme')"
ask one COMMIT >/dev/null
is "$(used)" "$(really)" "a recount beside a create"
ask one BEGIN >/dev/null
ask one "$(create_sql t2)" >/dev/null
ask one "SET CONSTRAINTS ALL IMMEDIATE" >/dev/null
tell two "SELECT * FROM quota_recount('acme')"
ok "a recount behind a create: one waits for the other" stands two
ask one COMMIT >/dev/null
none "sees it" "$(hear two)"
is "$(used)" "$(really)" "and counts it"
# Sessions from before there were quotas.
must "DELETE FROM quota WHERE tenant = 'acme'"
create u1 >/dev/null
is "$(used)" "$(really)" "a row that is not there is counted when it is needed"
must "DELETE FROM quota WHERE tenant = 'acme'"
limit sessions 3
is "$(create u2)|$(used)" "ERROR:  SX429|" "and limits hold for it"
limit sessions 0
must "DELETE FROM quota WHERE tenant = 'acme'"
ask one BEGIN >/dev/null
ask one "$(create_sql v1)" >/dev/null
ask one "SET CONSTRAINTS ALL IMMEDIATE" >/dev/null
tell two "$(create_sql v2)"
ok "two that make the row: one waits for the other" stands two
ask one COMMIT >/dev/null
is "$(hear two)|$(used)" "created|$(really)" "and nothing is counted twice"

# A start that fails locks its sandbox before its session: the transaction that has
# the sandbox may still lock the session.
for how in "SELECT session_request_stop('$(sid y1)', 'fail', '{\"reason\": \"x\"}')" \
	"SELECT stop_requests('fail', '{\"reason\": \"x\", \"sessions\": [{\"id\": \"$(sid y1)\"}]}')"; do
	create y1 >/dev/null
	ask one BEGIN >/dev/null
	ask one "SELECT id FROM sandbox WHERE id = 'ses-y1' FOR UPDATE" >/dev/null
	tell two "$how"
	ok "a start that fails waits for its sandbox" stands two
	is "$(ask one "SELECT state FROM session WHERE id = '$(sid y1)' FOR UPDATE NOWAIT")" \
		initializing "and has not its session yet"
	ask one COMMIT >/dev/null
	hear two >/dev/null
	is "$(look y1 | cut -d'|' -f1)|$(used)" "failed|$(really)" "then it fails"
	must "DELETE FROM session WHERE id = '$(sid y1)'; DELETE FROM lease WHERE session_id = '$(sid y1)'"
done

done_testing
