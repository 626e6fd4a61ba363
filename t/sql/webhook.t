#!/bin/bash
# Tests the rows of webhooks: written with the change that they tell of, claimed by one at a
# time and by turns, tried again, given up, and bounded.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
open_two

hook() { # ID [TENANT] [EVENTS]
	must "SELECT webhook_create('${2:-acme}', '{\"id\": \"$(sid "$1")\", \"url\": \"https://x/$1\",
		\"secret\": \"sealed-$1\", \"events\": [${3:-\"execution.finished\", \"session.failed\"}]}')"
}
add() { # WEBHOOK [TENANT]: makes a delivery; its id
	q "SELECT webhook_add('$(sid "$1")', '${2:-acme}', 'test', 'x', '{}')"
}
claim_sql() { # MOST [SHARE] [LATE]
	printf "SELECT string_agg(left(webhook_id, 1) || attempt, ' ' ORDER BY webhook_id, id)
		FROM webhook_claim(%s, %s, 60, %s)" "$1" "${2:-8}" "${3:-0}"
}
claim() { q "$(claim_sql "$@")"; }
told() { q "SELECT webhook_told('$1', $2, $3, nullif('${4:-}', ''))"; } # DELIVERY ATTEMPT STATUS ERROR
row() { # DELIVERY
	q "SELECT webhook_delivery_json(d)->>'state', attempts, claimed,
		coalesce(last_status::text, '-'), coalesce(last_error, '-')
		FROM webhook_delivery d WHERE id = '$1'"
}
due() { must "UPDATE webhook_delivery SET due_at = clock_timestamp() - interval '1 s'
	WHERE due_at IS NOT NULL"; }
clear() { must "DELETE FROM webhook_delivery; UPDATE webhook SET failing_since = NULL"; }
failing() { q "SELECT failing_since IS NOT NULL FROM webhook WHERE id = '$(sid "$1")'"; }

# ---- written with the change
hook a
hook b acme '"session.failed"'
hook o other
create s >/dev/null
verify s 1 >/dev/null
must "SELECT execution_create('{\"id\": \"$(sid x)\", \"session\": \"$(sid s)\", \"tenant\": \"acme\",
	\"user\": \"u\", \"hash\": \"h\", \"work\": \"sealed-work\", \"command\": \"true\", \"most\": 5}')"
must "SELECT execution_give('$(sid x)', 1)"
is "$(q "SELECT count(*) FROM webhook_delivery")" 0 "nothing is told of one that goes on"
ask one BEGIN >/dev/null
ask one "SELECT execution_told('$(sid x)', 1, '{\"end\": \"failed\", \"exitCode\": 3, \"usage\": {}}')" >/dev/null
is "$(q "SELECT count(*) FROM webhook_delivery")" 0 "nor of a change that is not committed"
ask one ROLLBACK >/dev/null
is "$(q "SELECT count(*) FROM webhook_delivery")" 0 "nor of one that is taken back"
must "LISTEN sandlease_webhooks"
is "$(q "SELECT execution_told('$(sid x)', 1, '{\"end\": \"failed\", \"exitCode\": 3, \"usage\": {}}')" |
	grep -c 'notification "sandlease_webhooks"')" 1 "the sender is notified of its end"
must "UNLISTEN *"
is "$(q "SELECT webhook_id, tenant, event FROM webhook_delivery")" \
	"$(sid a)|acme|execution.finished" "its end is told, to the webhooks of the org that have the event"
is "$(q "SELECT body->>'id' = d.id, body->>'event', body->>'org', body->'createdAt' IS NOT NULL,
		(body->'execution')::text = execution_json(x)::text
	FROM webhook_delivery d, execution x")" "t|execution.finished|acme|t|t" "with the execution as the API shows it"
must "UPDATE execution SET usage = '{}'; UPDATE session SET busy = busy"
is "$(q "SELECT count(*) FROM webhook_delivery")" 1 "once"
clear
create f >/dev/null
must "SELECT session_apply('$(sid f)', 'fail', '{\"reason\": \"no\"}')"
is "$(look f | cut -d'|' -f1)" failed "a session fails"
is "$(q "SELECT left(webhook_id, 1), event, body->'session'->>'id', body->'session'->>'state',
	body->'session'->>'reason' FROM webhook_delivery ORDER BY 1")" \
	"a|session.failed|$(sid f)|failed|no"$'\n'"b|session.failed|$(sid f)|failed|no" "each webhook is told"
is "$(q "SELECT count(*) FROM webhook_delivery WHERE body::text ~ 'sealed|token|incarnation'")" 0 \
	"without what is not the tenant's"
clear

# ---- one at a time
d=$(add a)
ask one BEGIN >/dev/null
is "$(ask one "$(claim_sql 9)")" a1 "a delivery is claimed"
is "$(ask two "$(claim_sql 9)")" "" "another process passes over what is just being claimed"
ask one COMMIT >/dev/null
is "$(ask two "$(claim_sql 9)")" "" "and over what is claimed"
is "$(row "$d")" "pending|1|t|-|-" "the row says so"
is "$(q "SELECT due_at - clock_timestamp() BETWEEN '50 s' AND '60 s' FROM webhook_delivery")" t \
	"for a minute"
due
is "$(ask two "$(claim_sql 9)")" a2 "a claim that has ended is another's"
is "$(told "$d" 1 500)|$(row "$d")" "late|pending|2|t|-|-" "then a failure of the first does not count"
is "$(told "$d" 1 200)|$(row "$d")" "delivered|delivered|2|f|200|-" "but a success does"
is "$(told "$d" 2 500)|$(row "$d")" "over|delivered|2|f|200|-" "and it stays one"
is "$(told nothing 1 200)" over "one that was deleted meanwhile does not matter"
clear
add a >/dev/null
is "$(claim 9 8 5)|$(claim 9)" "|a1" "the reaper takes what others have left for a while"
clear

# ---- tried again
d=$(add a)
claim 9 >/dev/null
is "$(told "$d" 1 500)|$(row "$d")|$(failing a)" "pending|pending|1|f|500|-|t" "an error is tried again"
is "$(claim 9)" "" "not at once"
is "$(q "SELECT due_at - clock_timestamp() BETWEEN '7 s' AND '12 s' FROM webhook_delivery")" t \
	"but after about ten seconds"
is "$(q "SELECT bool_and(p BETWEEN '8 s' AND '12 s' AND q BETWEEN '64 s' AND '96 s'
		AND r BETWEEN '2880 s' AND '4320 s' AND s BETWEEN '2880 s' AND '4320 s')
	FROM generate_series(1, 50), webhook_pause(1) p, webhook_pause(4) q, webhook_pause(10) r,
	webhook_pause(2000000000) s")" t "the pause doubles, up to an hour"
due
is "$(claim 9)|$(told "$d" 2 NULL 'no answer')|$(row "$d")" \
	"a2|pending|pending|2|f|-|no answer" "and what went wrong is told"
must "UPDATE webhook_delivery SET until = clock_timestamp() + interval '5 s'"
due
is "$(claim 9)|$(told "$d" 3 404)|$(row "$d")" "a3|given_up|given_up|3|f|404|-" \
	"it is given up when the next attempt would be too late"
is "$(claim 9)" "" "and not sent any more"
is "$(q "SELECT webhook_redeliver('acme', '$(sid a)', '$d')")|$(claim 9)|$(told "$d" 4 204)|$(row "$d")|$(failing a)" \
	"t|a4|delivered|delivered|4|f|204|-|f" "unless it is asked for"
is "$(q "SELECT webhook_redeliver('other', '$(sid a)', '$d')")|$(q "SELECT webhook_redeliver('acme', '$(sid b)', '$d')")" \
	"ERROR:  SX431|f" "by its own org, of its own webhook"
q "SELECT webhook_redeliver('acme', '$(sid a)', '$d')" >/dev/null
claim 9 >/dev/null
is "$(q "SELECT webhook_redeliver('acme', '$(sid a)', '$d')")|$(row "$d")|$(claim 9)" \
	"t|pending|5|t|204|-|" "one that is being sent is not sent twice"
clear
patch() { must "SELECT webhook_patch('acme', '$(sid "$1")', '{$2}')"; } # WEBHOOK JSON
d=$(add a)
claim 1 >/dev/null
patch a '"url": "https://x/other"'
is "$(told "$d" 1 410)|$(row "$d")|$(failing a)|$(claim 9)" "late|pending|2|f|-|-|f|a3" \
	"an answer of the server before does not count, and the new one is asked"
clear
patch a '"enabled": false'
add a >/dev/null
patch a '"enabled": true'
is "$(claim 9)" "" "what was written while it was disabled is not sent later"
clear
add a >/dev/null
due
must "UPDATE webhook SET failing_since = clock_timestamp() WHERE id = '$(sid a)'"
add o other >/dev/null
is "$(claim 1)" o1 "servers that fail come last"
clear
d=$(add a)
add a >/dev/null
claim 1 >/dev/null
must "SELECT webhook_told(id, 1, 410, NULL) FROM webhook_delivery WHERE claimed"
is "$(q "SELECT enabled, reason FROM webhook WHERE id = '$(sid a)'")" "f|its server answered 410 Gone" \
	"410 disables the webhook"
is "$(q "SELECT count(*) FILTER (WHERE given_up_at IS NOT NULL), count(*) FROM webhook_delivery")" "2|2" \
	"and gives up what waits"
is "$(q "SELECT webhook_test('acme', '$(sid a)')")|$(q "SELECT webhook_redeliver('acme', '$(sid a)', '$d')")" \
	"ERROR:  SX432|ERROR:  SX432" "nothing is sent to it then"
must "SELECT execution_create('{\"id\": \"$(sid y)\", \"session\": \"$(sid s)\", \"tenant\": \"acme\",
	\"user\": \"u\", \"hash\": \"h\", \"work\": \"w\", \"command\": \"true\", \"most\": 5}')"
must "SELECT execution_cancel('$(sid y)', '{}')"
is "$(q "SELECT count(*) FROM webhook_delivery WHERE due_at IS NOT NULL")" 0 "nor kept for it"
must "SELECT webhook_patch('acme', '$(sid a)', '{\"enabled\": true}')"
is "$(q "SELECT enabled, reason IS NULL, failing_since IS NULL FROM webhook WHERE id = '$(sid a)'")" "t|t|t" \
	"until it is enabled again"
clear

# ---- by turns
for _ in 1 2 3 4; do add a >/dev/null; add b >/dev/null; done
add o other >/dev/null
is "$(claim 3 8 | tr -d 1-9 | tr ' ' '\n' | grep -c o)" 1 "an org with many does not keep another waiting"
clear
for _ in 1 2 3 4 5 6; do add a >/dev/null; add b >/dev/null; done
is "$(claim 99 4 | wc -w)|$(claim 99 4)" "4|" "an org has its share under way, of all its webhooks"
add o other >/dev/null
is "$(claim 99 4)" "o1" "another org has its own"
must "UPDATE webhook_delivery SET due_at = clock_timestamp() WHERE claimed AND tenant = 'acme'"
is "$(claim 99 4 | wc -w)" 4 "claims that have ended do not count"
clear
for _ in 1 2 3; do add a >/dev/null; add b >/dev/null; done
must "UPDATE webhook SET failing_since = clock_timestamp() WHERE id = '$(sid a)'"
is "$(claim 99)|$(claim 99)" "a1 b1 b1 b1|" "a webhook that fails has one under way"
must "SELECT webhook_told(id, 1, 200, NULL) FROM webhook_delivery WHERE claimed AND webhook_id = '$(sid a)'"
is "$(claim 99)" "a1 a1" "until it succeeds"
clear

# ---- bounded
must "INSERT INTO webhook_delivery (id, webhook_id, tenant, event, body, until, created_at)
	SELECT 'w' || to_char(n, 'FM0000000000000000000'), '$(sid a)', 'acme', 'test', '{}',
		clock_timestamp() + interval '1 day', clock_timestamp() - interval '1 hour' + n * interval '1 s'
	FROM generate_series(1, 1010) n"
must "SELECT webhook_bound('$(sid a)')"
is "$(q "SELECT count(*) FILTER (WHERE due_at IS NOT NULL), count(*) FILTER (WHERE given_up_at IS NOT NULL),
	max(id) FILTER (WHERE given_up_at IS NOT NULL), max(last_error) FROM webhook_delivery")" \
	"1000|10|w0000000000000000010|more than 1000 deliveries were waiting" "a thousand wait, the newest"
must "UPDATE webhook_delivery SET due_at = NULL, claimed = false, delivered_at = clock_timestamp()
	WHERE due_at IS NOT NULL"
must "SELECT webhook_bound('$(sid a)')"
is "$(q "SELECT count(*), min(id) FROM webhook_delivery")" "1000|w0000000000000000011" \
	"a thousand are remembered"
must "INSERT INTO webhook_delivery (id, webhook_id, tenant, event, body, until, created_at)
	SELECT 'v' || to_char(n, 'FM0000000000000000000'), '$(sid b)', 'acme', 'test', '{}',
		clock_timestamp() + interval '1 day', clock_timestamp() - interval '1 hour'
	FROM generate_series(1, 1000) n"
must "SELECT count(webhook_add('$(sid b)', 'acme', 'test', 'x', '{}')) FROM generate_series(1, 300)"
ok "so it is while they are written" test "$(q "SELECT count(*) FROM webhook_delivery
	WHERE webhook_id = '$(sid b)' AND due_at IS NOT NULL")" -lt 1290
clear

# ---- a tenant's changes
for n in 1 2 3 4 5 6 7 8; do hook "n$n"; done
is "$(q "SELECT webhook_create('acme', '{\"id\": \"$(sid m)\", \"url\": \"u\", \"secret\": \"s\", \"events\": []}')")" \
	"ERROR:  SX429" "ten webhooks are the most"
must "SELECT webhook_delete('acme', '$(sid n8)', '{}')"
one="SELECT webhook_create('acme', '{\"id\": \"$(sid p)\", \"url\": \"u\", \"secret\": \"s\", \"events\": []}')"
two="SELECT webhook_create('acme', '{\"id\": \"$(sid q)\", \"url\": \"u\", \"secret\": \"s\", \"events\": []}')"
behind "$one" "$two" "two at once"
is "$TWO" "ERROR:  SX429" "two at once are not both the tenth"
for f in "webhook_patch('other', '$(sid a)', '{}')" "webhook_delete('other', '$(sid a)', '{}')" \
	"webhook_test('other', '$(sid a)')" "webhook_patch('acme', '$(sid zz)', '{}')"; do
	is "$(q "SELECT $f")" "ERROR:  SX431" "a webhook of its own: ${f%%(*}"
done
is "$(q "SELECT count(*) FROM audit WHERE kind = 'webhook_created' AND tenant = 'acme'")|$(q "SELECT count(*)
	FROM audit WHERE detail::text ~ 'sealed|https'")" "11|0" "changes are in the audit log, without secret and URL"
must "UPDATE org SET webhook_turn = clock_timestamp() + interval '1 hour' WHERE id = 'acme'"
is "$(q "SELECT webhook_test('acme', '$(sid a)')")" "ERROR:  SX429" "changes and tests are counted"
must "UPDATE org SET webhook_turn = '-infinity' WHERE id = 'acme'"

# ---- a webhook that is deleted while something happens
ask one BEGIN >/dev/null
ask one "SELECT webhook_delete('acme', '$(sid a)', '{}')" >/dev/null
must "SELECT execution_create('{\"id\": \"$(sid z)\", \"session\": \"$(sid s)\", \"tenant\": \"acme\",
	\"user\": \"u\", \"hash\": \"h\", \"work\": \"w\", \"command\": \"true\", \"most\": 5}')"
is "$(q "SELECT state FROM execution_cancel('$(sid z)', '{}')")" cancelled \
	"a webhook that is just being deleted delays nothing"
ask one COMMIT >/dev/null
is "$(q "SELECT count(*) FROM webhook_delivery WHERE webhook_id = '$(sid a)'")" 0 "and is not told"
d=$(add b)
claim 9 >/dev/null
must "SELECT webhook_delete('acme', '$(sid b)', '{}')"
is "$(told "$d" 1 200)" over "a result of one that is deleted does not matter"

done_testing
