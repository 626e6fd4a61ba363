#!/bin/bash
# Tests that whatever takes away a right that `auth` may have kept is told, by the
# transaction that takes it away, and that a session that starts tells nothing.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
must "$("$STACK_BUILD/t/unit/store/print_tables" statements)"
must "DEALLOCATE auth_session; PREPARE auth_session AS $(statement auth auth_session)" # of SQL_DIR

pg_open ear
ask ear "LISTEN sandlease_auth" >/dev/null
told() { # the names that were told since the last call; psql prints them after a statement
	ask ear "SELECT 1" | sed -nE 's/.*notification "sandlease_auth" with payload "([^"]*)".*/\1/p' |
		sort | xargs
}

# ---- starts

create a >/dev/null
none "a create tells nothing" "$(told)"
verify a 1 >/dev/null
none "nor does its outcome" "$(told)"
auth() { # ID [PORT]: whether the answer may be kept
	q "EXECUTE auth_session('hash-k', 'key', '$(sid "$1")', '30', 'false', 'tr', '${2:-}', '', 'r', 'tenant', '${HOST_OF_AUTH:-h1}')" |
		cut -d'|' -f12 | sed -E 's/^[1-9][0-9]*$/kept/'
}
none "the first call of a generation is not kept" "$(auth a)"
must "EXECUTE session_accepted('$(sid a)', '1', 'tr', 'gate')"
is "$(auth a)" kept "the next one is"
none "and neither tells anything" "$(told)"
must "UPDATE session SET last_activity_at = clock_timestamp() - interval '31 s' WHERE id = '$(sid a)'"
told >/dev/null # a test may turn the clock back, a service does not
none "a call that writes activity is not kept" "$(auth a)"
none "and tells nothing" "$(told)"
is "$(auth a)|$(HOST_OF_AUTH=h2 auth a)" "kept|" "nothing is kept at another host"
must "UPDATE sandbox SET state = 'absent' WHERE id = 'ses-a'"
none "nor of a sandbox that any host may start" "$(auth a)"
must "UPDATE sandbox SET state = 'running' WHERE id = 'ses-a'"
told >/dev/null
must "INSERT INTO port (session_id, port, token_hash, token_sealed) VALUES ('$(sid a)', 8080, 'token', 'x')"
is "$(auth a 8080)|$(auth a 8081)|$(told)" "kept||" "a port is kept while it is exposed; exposing it ends nothing"

# ---- what ends a right by a function of the service

must "SELECT key_revoke('k')"
is "$(told)" hash-k "a revoked key is told, by the beginning of its hash"
must "UPDATE api_key SET revoked_at = NULL WHERE id = 'k'; UPDATE port SET cut = false, pending = false"
told >/dev/null
must "EXECUTE port_rotate('$(sid a)', 'acme', '8080', 'other', 'y')"
is "$(told)" "$(sid a)" "a token that is replaced"
must "SELECT port_settled('$(sid a)', 8080, (SELECT change_order FROM port))"
none "what its relay says is not" "$(told)"
must "EXECUTE port_close('$(sid a)', 'acme', '8080')"
is "$(told)" "$(sid a)" "a port that is closed"
must "SELECT port_settled('$(sid a)', 8080, (SELECT change_order FROM port))"
none "once" "$(told)"
must "SELECT FROM session_patch('$(sid a)', 'acme', '{\"sleepAfterSeconds\": 900}')"
none "a later sleep" "$(told)"
must "SELECT FROM session_patch('$(sid a)', 'acme', '{\"sleepAfterSeconds\": 60}')"
is "$(told)" "$(sid a)" "an earlier one: activity must be written sooner"
must "SELECT FROM session_patch('$(sid a)', 'acme', '{\"keepAlive\": true}')"
is "$(told)|$(auth a)" "|kept" "one that never comes: that is kept, too"
must "UPDATE lease SET accepted_generation = 0 WHERE session_id = '$(sid a)';
	UPDATE session SET last_activity_at = clock_timestamp() - interval '5 s' WHERE id = '$(sid a)'"
told >/dev/null
is "$(q "EXECUTE auth_session('hash-k', 'key', '$(sid a)', '30', 'false', 'tr', '', '', 'r', 'tenant', 'h1')" |
	cut -d'|' -f12-)" "|gate:k/u" "and has a first call"
must "EXECUTE session_accepted('$(sid a)', '1', 'tr', 'gate');
	SELECT FROM session_patch('$(sid a)', 'acme', '{\"keepAlive\": false}')"
is "$(told)" "$(sid a)" "until it comes after all"
must "SELECT disk_frozen('h1', '$(sid a)')"
is "$(told)" "$(sid a)" "a session that is frozen"
must "SELECT disk_frozen('h1', '')"
told >/dev/null
request a sleep idle >/dev/null
is "$(told)" "$(sid a)" "a stop, once a transaction"
begin a x >/dev/null && end a x true >/dev/null
none "its attempts are not" "$(told)"
restart a none 1 '"instance": "i2"' >/dev/null
verify a 2 '"instance": "i2"' >/dev/null
none "nor is the next start" "$(told)"
restart a owns_wrapper 2 '"instance": "i3"' >/dev/null
is "$(told)" "$(sid a)" "a wrapper that is replaced"
verify a 3 '"instance": "i3"' >/dev/null
create b '"sandbox": "ses-a"' >/dev/null && verify b 1 '"sandbox": "ses-a", "incarnation": "inc2-a"' >/dev/null
create c >/dev/null && verify c 1 >/dev/null
told >/dev/null
must "UPDATE sandbox SET state = 'absent' WHERE id = 'ses-a'"
is "$(told)" "$(sid a) $(sid b)" "a sandbox that is gone: each of its sessions"
must "UPDATE sandbox SET state = 'running' WHERE id = 'ses-a'"
none "one that comes: no right began before it" "$(told)"
must "UPDATE sandbox SET host = 'h9' WHERE id = 'ses-c'"
is "$(told)" "$(sid c)" "one that another host has"
must "UPDATE sandbox SET host = 'h1' WHERE id = 'ses-c'"
told >/dev/null
request c delete session-delete >/dev/null
is "$(told)" "$(sid c)" "a deletion"

# ---- every column that the statements read
#
# A change of any column of any row either leaves the answer as it is, for as long, or
# is told.  (wake_on_preview is no part of an answer that admits.)  The functions note what they tell, and every try is rolled back.

must "INSERT INTO port (session_id, port, token_hash, token_sealed, expires_at)
	VALUES ('$(sid a)', 8080, 'token', 'x', clock_timestamp() + interval '20 s')"
must "UPDATE api_key SET expires_at = clock_timestamp() + interval '25 s' WHERE id = 'k';
	UPDATE session SET last_activity_at = clock_timestamp(), sleep_after_seconds = 600 WHERE id = '$(sid a)';
	UPDATE lease SET keep_warm_until = clock_timestamp() + interval '600 s', startup_deadline = NULL,
		accepted_generation = generation WHERE session_id = '$(sid a)'"
told >/dev/null
must "CREATE TABLE noted (name text);
	CREATE TABLE tried (place text, verdict text)"
must "CREATE OR REPLACE FUNCTION auth_ended_by_id() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN INSERT INTO noted VALUES (OLD.id); RETURN NULL; END';
	CREATE OR REPLACE FUNCTION auth_ended_by_session() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN INSERT INTO noted VALUES (OLD.session_id); RETURN NULL; END';
	CREATE OR REPLACE FUNCTION auth_ended_by_key() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN INSERT INTO noted VALUES (OLD.hash); RETURN NULL; END';
	CREATE OR REPLACE FUNCTION auth_ended_by_sandbox() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN INSERT INTO noted SELECT id FROM session WHERE sandbox_id = OLD.id; RETURN NULL; END'"
as_function() { # NAME PARAMETERS
	local types
	types=$(printf 'text,%.0s' $(seq "$2"))
	must "CREATE FUNCTION ask_$1(${types%,}) RETURNS jsonb LANGUAGE sql AS \$f\$
		SELECT to_jsonb(x) FROM ($(statement auth "$1" | sed 's/;$//')) x \$f\$"
}
as_function auth_session 11
as_function auth_preview 7
must "CREATE FUNCTION answers() RETURNS jsonb[] LANGUAGE sql AS \$f\$ SELECT ARRAY[
	ask_auth_session('hash-k', 'key', '$(sid a)', '30', 'false', 'tr', '', '', 'r', 'tenant', 'h1'),
	ask_auth_session('hash-k', 'key', '$(sid a)', '30', 'false', 'tr', '8080', '', 'r', 'tenant', 'h1'),
	ask_auth_preview('$(sid a)', '8080', 'token', '30', 'false', 'tr', 'h1')] \$f\$"
is "$(q "SELECT count(*) FROM unnest(answers()) a WHERE (a->>'keep_ms')::int BETWEEN 1000 AND 25000")" 3 \
	"the three answers are kept until the first of their dates"

must "CREATE FUNCTION holds(a jsonb, b jsonb) RETURNS boolean LANGUAGE sql AS \$f\$
	SELECT b IS NOT NULL AND a - '{keep_ms,wake_on_preview}'::text[] = b - '{keep_ms,wake_on_preview}'::text[]
		AND coalesce((b->>'keep_ms')::int >= (a->>'keep_ms')::int - 500, false) \$f\$;
	CREATE FUNCTION try(p_place text, p_table text, p_column text, p_value text)
	RETURNS void LANGUAGE plpgsql AS \$f\$
	DECLARE
		was jsonb[] := answers();
		is_now jsonb[];
		verdict text;
	BEGIN
		BEGIN
			EXECUTE format('UPDATE %I SET %I = (%s) WHERE %s', p_table, p_column, p_value, p_place);
			is_now := answers();
			RAISE SQLSTATE 'ZZ000' USING MESSAGE = CASE
				WHEN EXISTS (SELECT FROM noted) THEN 'told'
				WHEN (SELECT bool_and(holds(was[i], is_now[i])) FROM generate_series(1, 3) i) THEN 'same'
				ELSE 'UNTOLD' END;
		EXCEPTION
			WHEN SQLSTATE 'ZZ000' THEN verdict := SQLERRM;
			WHEN OTHERS THEN verdict := 'refused';
		END;
		INSERT INTO tried VALUES (p_table || '.' || p_column, verdict);
	END \$f\$"
# accepted_generation only grows, and an answer is kept when it has grown
must "SELECT try(r.place, c.table_name, c.column_name, v)
	FROM (VALUES ('session', 'id = ''$(sid a)'''), ('lease', 'session_id = ''$(sid a)'''),
		('port', 'session_id = ''$(sid a)'''), ('api_key', 'id = ''k'''),
		('sandbox', 'id = ''ses-a''')) r (name, place)
	JOIN information_schema.columns c ON c.table_schema = 'public' AND c.table_name = r.name
	CROSS JOIN unnest(CASE
		WHEN c.data_type = 'boolean' THEN ARRAY[format('NOT %I', c.column_name)]
		WHEN c.data_type LIKE 'timestamp%' THEN ARRAY['NULL',
			format('%I - interval ''1 s''', c.column_name), format('%I + interval ''1 s''', c.column_name),
			'clock_timestamp() - interval ''1 day''', 'clock_timestamp() + interval ''1 day''']
		WHEN c.data_type IN ('integer', 'bigint', 'double precision')
			THEN ARRAY['NULL', format('%I + 1', c.column_name), format('%I - 1', c.column_name)]
		WHEN c.data_type = 'jsonb' THEN ARRAY['NULL', '''{}''']
		ELSE ARRAY['NULL', '''zz''', '''other''', '''asleep''', '''sleeping''', '''deleting''', '''lost''',
			'''none''', '''absent''', '''stopped''', '''h2''', '''disk_low''', '''public''', '''read''', '''ses-c'''] END) v
	WHERE c.table_name || '.' || c.column_name <> 'lease.accepted_generation'"
is "$(q "SELECT string_agg(DISTINCT place, ' ') FROM tried WHERE verdict = 'UNTOLD'")" "" \
	"whatever changes an answer is told"
is "$(q "SELECT string_agg(DISTINCT place, ' ' ORDER BY place) FROM tried
	WHERE verdict = 'told' AND place NOT LIKE 'api_key.%'")" \
	"lease.generation lease.keep_warm_until lease.session_id lease.startup_deadline lease.state port.closing_at port.expires_at port.host port.port port.token_hash sandbox.host sandbox.state session.last_activity_at session.name session.reason session.sandbox_id session.sleep_after_seconds session.state session.tenant" \
	"and nothing else"
is "$(q "SELECT count(DISTINCT place) > 100, bool_or(verdict = 'same') FROM tried")" "t|t" "though every column was tried"
for row in "session id=$(sid a)" "lease session_id=$(sid a)" "port session_id=$(sid a)" "api_key id=o"; do
	read -r table place <<<"$row"
	must "BEGIN; DELETE FROM $table WHERE ${place%=*} = '${place#*=}'"
	is "$(q "SELECT count(*) > 0 FROM noted")" t "a $table that is deleted is told"
	must "ROLLBACK"
done

# ---- who listens can check it

is "$(q "EXECUTE auth_told")" 1 "the triggers are there"
must "ALTER TABLE port DISABLE TRIGGER auth_port_changed"
none "one that is switched off is noticed" "$(q "EXECUTE auth_told")"
listens() { ask "$1" "SELECT count(*) FROM ($(statement auth auth_listens | sed 's/;$//')) x"; }
is "$(listens main)|$(listens ear)" "0|1" "a connection can ask whether it listens"
done_testing
