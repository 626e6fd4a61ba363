#!/bin/bash
# Tests when schedules are due: time zones, both changes of the clocks, month ends and leap
# days; and what becomes of a trigger that was carried out, or was not.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
open_two

# range FROM TO: the numbers, for a set.
range() { seq -s, "$1" "$2"; }
# sets MINUTES HOURS DAYS MONTHS WEEKDAYS [EITHER]: "*" is all of them.
sets() {
	local names=(minutes hours days months weekdays) from=(0 0 1 1 0) to=(59 23 31 12 6) i out=
	for i in 0 1 2 3 4; do
		local set=$1
		[ "$set" != "*" ] || set=$(range "${from[i]}" "${to[i]}")
		out+="\"${names[i]}\": [$set], "
		shift
	done
	printf "'{%s\"either\": %s}'" "$out" "${1:-false}"
}
# next SETS ZONE AFTER [N]: the next N times, each in the zone and with its offset.
next() {
	q "SET TimeZone = '$2'; WITH RECURSIVE n (i, t) AS (
		SELECT 1, schedule_next($1, '$2', '$3'::timestamptz)
		UNION ALL SELECT i + 1, schedule_next($1, '$2', t) FROM n WHERE i < ${4:-1})
	SELECT string_agg(coalesce(to_char(t, 'MM-DD HH24:MI TZH:TZM'), 'never'), ', ' ORDER BY i) FROM n" |
		tail -1
}
readonly BERLIN=Europe/Berlin

is "$(next "$(sets 0 3 '*' '*' 1,2,3,4,5)" UTC '2026-11-13 03:00:00+00')" "11-16 03:00 +00:00" \
	"weekdays at three, after one on Friday"
is "$(next "$(sets 0 3 '*' '*' 1,2,3,4,5)" UTC '2026-11-13 02:59:59.9+00')" "11-13 03:00 +00:00" \
	"and not before it"
is "$(next "$(sets 0,30 '*' '*' '*' '*')" UTC '2026-12-31 23:10+00' 3)" \
	"12-31 23:30 +00:00, 01-01 00:00 +00:00, 01-01 00:30 +00:00" "over the end of a year"
is "$(next "$(sets 0 0 31 '*' '*')" UTC '2026-01-31 00:00+00' 3)" \
	"03-31 00:00 +00:00, 05-31 00:00 +00:00, 07-31 00:00 +00:00" "only months with 31 days"
is "$(next "$(sets 0 0 29 2 '*')" UTC '2096-03-01 00:00+00')" "02-29 00:00 +00:00" \
	"a leap day eight years later"
is "$(q "SELECT extract(year FROM schedule_next($(sets 0 0 29 2 '*'), 'UTC', '2096-03-01 00:00+00'))")" \
	2104 "2100 has none"
is "$(next "$(sets 0 0 30 2 '*')" UTC '2026-01-01 00:00+00')" never "30 February never comes"
is "$(next "$(sets 0 0 1 '*' 1 true)" UTC '2026-11-25 00:00+00' 3)" \
	"11-30 00:00 +00:00, 12-01 00:00 +00:00, 12-07 00:00 +00:00" "the first, or a Monday"
is "$(next "$(sets 0 0 1 '*' 1 false)" UTC '2026-11-25 00:00+00')" "02-01 00:00 +00:00" \
	"the first and a Monday, if one of the two began with a star"

# ---- the clocks of Berlin: 02:00 to 03:00 on 29 March, 03:00 to 02:00 on 25 October 2026
is "$(next "$(sets 30 2 '*' '*' '*')" $BERLIN '2026-03-28 12:00+01' 2)" \
	"03-29 03:30 +02:00, 03-30 02:30 +02:00" "a time that is skipped comes as much later, once"
is "$(next "$(sets 30 2,3 '*' '*' '*')" $BERLIN '2026-03-28 12:00+01' 2)" \
	"03-29 03:30 +02:00, 03-30 02:30 +02:00" "once, too, if that is a time of its own"
is "$(next "$(sets 30 2 '*' '*' '*')" $BERLIN '2026-10-24 12:00+02' 2)" \
	"10-25 02:30 +01:00, 10-26 02:30 +01:00" "a time that is there twice counts once"
is "$(next "$(sets 30 '*' '*' '*' '*')" $BERLIN '2026-10-24 23:00+00' 4)" \
	"10-25 01:30 +02:00, 10-25 02:30 +02:00, 10-25 02:30 +01:00, 10-25 03:30 +01:00" \
	"every hour goes on through the hour that is repeated"
is "$(next "$(sets 0 '*' '*' '*' '*')" $BERLIN '2026-03-29 00:30+01' 3)" \
	"03-29 01:00 +01:00, 03-29 03:00 +02:00, 03-29 04:00 +02:00" "and over the one that is skipped"
is "$(q "SELECT count(*) FROM (WITH RECURSIVE n (t) AS (
		SELECT schedule_next($(sets 0 '*' 25 10 '*'), '$BERLIN', '2026-10-20 00:00+00')
		UNION ALL SELECT schedule_next($(sets 0 '*' 25 10 '*'), '$BERLIN', t) FROM n
		 WHERE t < '2026-10-26') SELECT t FROM n WHERE t < '2026-10-26') x")" 25 \
	"the day in autumn has 25 hours"
is "$(next "$(sets 0 0 '*' '*' '*')" America/Havana '2026-03-07 12:00-05' 2)" \
	"03-08 01:00 -04:00, 03-09 00:00 -04:00" "a day without a midnight begins at one"

# ---- offsets that are no whole hours
is "$(next "$(sets 0 '*' '*' '*' '*')" Asia/Kolkata '2026-01-01 00:00+00')" "01-01 06:00 +05:30" \
	"Kolkata"
is "$(next "$(sets 0,15 9 '*' '*' '*')" Asia/Kathmandu '2026-01-01 03:20+00' 2)" \
	"01-01 09:15 +05:45, 01-02 09:00 +05:45" "Kathmandu"
is "$(next "$(sets '*' '*' '*' '*' '*')" Australia/Lord_Howe '2026-04-04 14:58+00' 2)" \
	"04-05 01:59 +11:00, 04-05 01:30 +10:30" "clocks that go back by half an hour"

# ---- time zones
known() { q "SELECT schedule_must_know('$1')" | sed 's/ERROR:  \(.....\).*/\1/'; }
is "$(known UTC)$(known Europe/Berlin)$(known Etc/GMT+5)" "" "names of time zones are known"
is "$(known Mars/Olympus)" SX433 "others are not"
is "$(known Foo/Bar+5)" SX433 "nor rules of POSIX"

# ---- triggers
trigger() { # ID [JSON]
	q "SELECT trigger_create('{\"id\": \"$(sid "$1")\", \"tenant\": \"acme\", \"org\": \"acme\",
		\"user\": \"u\", \"bot\": \"\", \"keyId\": \"k\", \"name\": \"$1\", \"schedule\": \"x\",
		\"timeZone\": \"UTC\", \"run\": \"sealed\", \"agentType\": \"VALIDATION\",
		\"command\": \"true\", \"correlationKeys\": [], \"enabled\": true}'::jsonb
		|| jsonb_build_object('sets', ($(sets '*' '*' '*' '*' '*'))::jsonb) || '{${2:-}}')" |
		sed 's/ERROR:  //'
}
# minute N: a whole minute, N from now.
minute() { printf "date_trunc('minute', clock_timestamp()) + interval '%d minutes'" "$1"; }
row() { q "SELECT next_at > clock_timestamp(), missed, coalesce(last_error, '-'),
	coalesce(last_execution, '-') FROM org_trigger WHERE id = '$(sid "$1")'"; }
due() { must "UPDATE org_trigger SET next_at = $(minute "$2") WHERE id = '$(sid "$1")'"; }
fired() { q "SELECT trigger_fired('$(sid "$1")', $(minute "$2"), '$3')"; }
failed() { q "SELECT trigger_failed('$(sid "$1")', $(minute "$2"), 'why', $3)"; }
missed() { q "SELECT detail->>'missed', detail->>'error' FROM audit
	WHERE kind = 'trigger_missed' AND subject = '$(sid "$1")' AND tenant = 'acme'"; }
# the minute must not end between two questions
# wait: at most ten seconds, and only at the end of a minute
settle() { while [ "$(date +%S)" -gt 50 ]; do sleep 0.2; done; }
settle

is "$(trigger a)$(row a)" "t|0|-|-" "a new one is due later"
is "$(trigger b '"timeZone": "Mars/Olympus"')" SX433 "a time zone that there is not"
is "$(trigger b '"agentType": "NOBODY"')" SX428 "nor a type without a profile"
is "$(trigger a2 '"name": "a"')" 23505 "a name is an org's only one"
is "$(trigger a3 '"name": "a", "tenant": "other"')" "" "and another org's, too"
is "$(trigger off '"enabled": false')$(row off)" "|0|-|-" "one that is disabled is never due"

due a 0
is "$(fired a 0 x1)$(row a)|$(missed a)" "t|0|-|x1|" "fired: the next time, nothing was missed"
is "$(fired a 0 x2)$(row a)" "t|0|-|x2" "a second word about the same time changes no date"
is "$(fired a -5 x0)$(row a)" "t|0|-|x2" "nor does a late one about another"
due a -3
is "$(failed a -4 true)$(row a)" "f|0|-|x2" "a word about another time does not count"
is "$(fired a -3 x3)$(row a)|$(missed a)" "t|3|-|x3|3|" "late: three times were missed, and are told"
due a 0
is "$(failed a 0 true)$(row a)" "f|3|why|x3" "what may pass is tried again"
is "$(fired a 0 x4)$(row a)" "t|3|-|x4" "and is no error any more when it has"
due a -2
is "$(failed a -2 true)$(row a)" "f|5|why|x4" "until the next time has come"
is "$(q "SELECT next_at = $(minute 0) FROM org_trigger WHERE id = '$(sid a)'")" t \
	"which is due then, once"
is "$(failed a 0 false)$(row a)" "t|6|why|x4" "what does not pass goes on to the next time"
must "UPDATE org_trigger SET next_at = clock_timestamp() - interval '20 days' WHERE id = '$(sid a)'"
is "$(q "SELECT trigger_fired(id, next_at, 'x5') FROM org_trigger WHERE id = '$(sid a)'")$(row a)" \
	"t|1006|-|x5" "at most a thousand are counted at once"
create s >/dev/null
due a 0
must "SELECT execution_create(jsonb_build_object('id', '$(sid x)', 'session', '$(sid s)',
	'tenant', 'acme', 'user', 'u', 'hash', 'h', 'work', 'w', 'command', 'c', 'most', 5,
	'task', trigger_task('$(sid a)', $(minute 0))))"
is "$(failed a 0 true)$(row a)" "t|1006|-|$(sid x)" "a failure says nothing where another has fired"

# ---- changes
patch() { q "SELECT trigger_patch('acme', '$(sid "$1")', '{$2}')"; }
due a -2
is "$(patch a '"name": "other"')$(row a)" "tf|1006|-|$(sid x)" "a change of the name changes no date"
is "$(patch a '"timeZone": "Asia/Tokyo"')$(row a)" "tt|1006|-|$(sid x)" "one of the time zone does"
is "$(patch a '"enabled": false')$(row a)" "t|1006|-|$(sid x)" "disabled: not due"
is "$(patch a '"enabled": true')$(row a)" "tt|1006|-|$(sid x)" "enabled: from now on"
is "$(patch a "\"sets\": $(sets 0 0 30 2 '*' | tr -d "'")")" "ERROR:  SX434" "a schedule that never comes"
is "$(q "SELECT trigger_patch('other', '$(sid a)', '{}')")" f "not another org's"
due a 0
must "UPDATE org_trigger SET time_zone = 'Gone/Zone' WHERE id = '$(sid a)'"
is "$(fired a 0 x6)$(row a)" "|1006|its schedule has no next time|x6" \
	"a time zone that is not known any more is told, and no reason to fire for ever"
must "DELETE FROM org_trigger WHERE tenant = 'acme'"
must "INSERT INTO org_trigger SELECT (jsonb_populate_record(t, jsonb_build_object(
	'id', lpad(i::text, 20, 'z'), 'tenant', 'acme', 'name', i::text))).*
	FROM org_trigger t, generate_series(1, 100) i WHERE t.name = 'a'"
is "$(trigger c)" SX429 "an org has a hundred at most"

done_testing
