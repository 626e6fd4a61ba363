#!/bin/bash
# Tests lists and counts against plain queries that read every row, and what the end of a
# session's row leaves behind.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
must "$(all_statements)"
pg_psql -q -v n=3000 -v orgs=3 -v host=h1 -v events=2 -f - <"$top_srcdir/t/lib/many-rows.sql" ||
	die "the rows cannot be made"
make_tenants
must "UPDATE session SET agent_type = 'IMPLEMENTATION', network = '{\"mode\": \"none\"}'
	WHERE id IN (SELECT id FROM session WHERE state = 'asleep' ORDER BY id LIMIT 50);
	UPDATE session SET suspended_at = clock_timestamp()
	WHERE id IN (SELECT id FROM session WHERE state = 'asleep' ORDER BY id DESC LIMIT 70);
	UPDATE session SET created_at = '2026-01-01' WHERE tenant = 'many-1' AND created_at < (
		SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY created_at) FROM session WHERE tenant = 'many-1');
	UPDATE session_label t SET created_at = s.created_at FROM session s WHERE s.id = t.session_id"

# ---- pages

# compare TENANT STATE LABEL_KEY LABEL_VALUE KEY [BEFORE_AT BEFORE_ID]: "same" and the number of
# rows, if a page has the same ids and JSON as a plain query.
compare() {
	q "WITH a AS (SELECT id, json::text, at FROM session_page('$1', '$2', '$3', '$4', '${6:-}', '${7:-}', 20, '$5')),
		b AS (SELECT s.id, session_json(s)::text AS json, extract(epoch FROM s.created_at)::numeric(20, 6)::text AS at
		FROM session s WHERE s.tenant = '$1'
		AND CASE WHEN '$2' = '' THEN s.state <> 'deleted' ELSE s.state = '$2' END
		AND ('$3' = '' OR s.labels ->> '$3' = '$4')
		AND ('$5' = '' OR s.id = (SELECT a.session_id FROM alias a WHERE a.tenant = '$1' AND a.key = '$5'))
		AND ('${6:-}' = '' OR (s.created_at, s.id) < (to_timestamp(nullif('${6:-}', '')::numeric), '${7:-}'))
		ORDER BY s.created_at DESC, s.id DESC LIMIT 20)
		SELECT CASE WHEN (SELECT array_agg(a) FROM a) IS NOT DISTINCT FROM (SELECT array_agg(b) FROM b)
			THEN 'same ' || (SELECT count(*) FROM a) ELSE 'other' END"
}
# all_pages TENANT STATE LABEL_KEY LABEL_VALUE: how many sessions all pages have
all_pages() {
	local at='' id='' n=0 page
	for _ in {1..100}; do
		page=$(compare "$1" "$2" "$3" "$4" '' "$at" "$id")
		[[ $page == same* ]] || { printf 'other after %s' "$n" && return; }
		n=$((n + ${page#same }))
		[ "$page" = "same 20" ] || break
		read -r at id < <(q "SELECT at, id FROM session_page('$1', '$2', '$3', '$4', '$at', '$id', 20, '') OFFSET 19" | tr '|' ' ')
	done
	printf '%s' "$n"
}
counted() { q "SELECT count(*) FROM session WHERE tenant = '$1' AND $2"; }
is "$(all_pages many-1 '' '' '')" "$(counted many-1 "state <> 'deleted'")" "all pages, many with one date, are as a plain query has them"
for state in ready asleep failed deleted lost; do
	is "$(all_pages many "$state" '' '')" "$(counted many "state = '$state'")" "of those that are $state, too"
done
is "$(all_pages many '' team t3)" "$(counted many "state <> 'deleted' AND labels ->> 'team' = 't3'")" "of those with a label"
is "$(all_pages many deleted team t0)" "$(counted many "state = 'deleted' AND labels ->> 'team' = 't0'")" "that are deleted"
is "$(all_pages many ready team t6)" "$(counted many "state = 'ready' AND labels ->> 'team' = 't6'")" "or ready"
is "$(compare many '' team none '')|$(compare many '' none t3 '')" "same 0|same 0" "of a label that none has there is none"
id=$(q "SELECT session_id FROM alias WHERE tenant = 'many' ORDER BY key LIMIT 1")
key=$(q "SELECT key FROM alias WHERE tenant = 'many' ORDER BY key LIMIT 1")
is "$(compare many '' '' '' "$key")|$(compare many-1 '' '' '' "$key")" "same 1|same 0" "a key has one session, of its org"
is "$(compare many failed '' '' "$key")|$(compare many '' team no "$key")" "same 0|same 0" "if it is as asked for"
is "$(q "SELECT id FROM session_page('many', '', '', '', '', '', 20, '$key')")" "$id" "that one"

# ---- labels that change

labelled() { # KEY VALUE [STATE]: first letters
	q "SELECT string_agg(left(id, 1), '' ORDER BY id) FROM session_page('acme', '${3:-}', '$1', '$2', '', '', 20, '')"
}
label() { must "EXECUTE session_patch('$(sid "$1")', 'acme', '{\"labels\": {$2}}')"; }
create a '"labels": {"x": "1", "y": "1"}' >/dev/null && verify a 1 >/dev/null
create b >/dev/null && verify b 1 >/dev/null
is "$(labelled x 1)|$(labelled y 1)" "a|a" "a new session has its labels"
label b '"x": "1"'
label a '"x": "2", "y": null'
is "$(labelled x 1)|$(labelled x 2)|$(labelled y 1)" "b|a|" "labels that are added, changed and removed"
label a '"x": "1", "z:1": "2"'
is "$(labelled x 1)|$(labelled z:1 2)|$(labelled z 1:2)" "ab|a|" "a key is not taken for another with the same sum"
stop b delete >/dev/null
is "$(labelled x 1)" "ab" "one that is being deleted is there"
must "SELECT session_deleted('$(sid b)')"
is "$(labelled x 1)|$(labelled x 1 deleted)" "a|b" "one that is deleted is where it is asked for"
must "DELETE FROM session WHERE id = '$(sid b)'"
is "$(labelled x 1 deleted)|$(q "SELECT count(*) FROM session_label WHERE session_id = '$(sid b)'")" "|0" \
	"and goes with its row"

# ---- counts

states() { q "EXECUTE session_states('$1')" | sort | paste -sd' '; }
plain_states() {
	q "SELECT x.state, count(s.id) FROM unnest('{initializing,ready,sleeping,asleep,deleting,failed,lost}'::text[]) x (state)
		LEFT JOIN session s ON s.state = x.state AND s.tenant = '$1' GROUP BY 1" | sort | paste -sd' '
}
active() { q "EXECUTE health('5', '180')" | cut -d'|' -f1; }
plain_active() { q "SELECT count(*) FROM session WHERE state IN ('initializing', 'ready', 'sleeping')"; }
is "$(states many)" "$(plain_states many)" "counts of states are those of the rows, frozen ones among them"
is "$(states nobody)" "deleting|0 failed|0 initializing|0 lost|0 sleeping|0" "one that has done nothing has none"
for s in c d e f; do
	create "$s" >/dev/null && verify "$s" 1 >/dev/null
done
create g >/dev/null
request c sleep idle-timeout >/dev/null
stop d sleep >/dev/null
request e delete session-delete >/dev/null
must "SELECT * FROM session_suspend_begin('$(sid f)', '{\"reason\": \"r\", \"seconds\": 30}');
	SELECT session_suspend_end('$(sid f)', '{\"order\": 1, \"frozen\": true, \"reason\": \"idle-timeout\"}')"
is "$(look f | cut -d'|' -f1)|$(states acme)" "asleep|asleep|2 deleting|1 failed|0 initializing|1 lost|0 ready|1 sleeping|1" \
	"and so when sessions change"
is "$(states acme)|$(active)" "$(plain_states acme)|$(plain_active)" "as the rows say, also of all orgs together"

# ---- a row that goes

gone() { must "DELETE FROM session WHERE id = '$(sid "$1")'"; }
lost() { q "EXECUTE due_lost_leases('0', '10')" | cut -c1 | paste -sd' '; }
is "$(lost)" "" "no lease is lost"
gone a
gone d
is "$(lost)|$(q "EXECUTE health('5', '180')" | cut -d'|' -f5)" "a|1" "one that owns a wrapper is, when its session's row is gone"
begin a x >/dev/null
must "EXECUTE stop_lost_leases('{\"sessions\": [\"$(sid a)\"], \"reason\": \"orphan\"}')"
is "$(lost)|$(q "EXECUTE health('5', '180')" | cut -d'|' -f5)" "|1" "until its stop is asked for; it is lost until it ends"
boxes() { q "SELECT string_agg(right(id, 1), ' ' ORDER BY id) FROM sandbox WHERE id IN ('ses-a', 'ses-b', 'ses-d', 'ses-g')"; }
forget() { must "EXECUTE forget_sandboxes('10')"; }
older() { must "UPDATE sandbox_unused SET since = since - interval '25 hours';
	UPDATE sandbox SET changed_at = changed_at - interval '25 hours' WHERE id LIKE 'ses-_'"; }
must "UPDATE sandbox SET state = 'absent' WHERE id IN ('ses-a', 'ses-b')"
forget
is "$(boxes)" "a b d g" "a sandbox stays for a day"
older
forget
is "$(boxes)" "a d g" "then one that is destroyed goes, but not while its lease does not end, nor one that is not destroyed"
is "$(q "SELECT count(*) FROM sandbox_unused")" 2 "they are looked at again"
forget
older
must "UPDATE sandbox SET state = 'absent' WHERE id = 'ses-d'; UPDATE lease SET state = 'none' WHERE session_id = '$(sid a)'"
forget
is "$(boxes)|$(q "SELECT count(*) FROM sandbox_unused")" "g|0" "a day later"

done_testing
