#!/bin/bash
# Tests correlation keys: any of them finds the one session that they all name.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
open_two

keys() { # KEY...: as a member of a spec
	local list
	list=$(printf '"%s",' "$@")
	printf '"correlationKeys": [%s]' "${list%,}"
}
make() { q "$(create_sql "$@")"; } # ID JSON: "disposition|session"
owned() { # ID: its keys
	q "SELECT coalesce(string_agg(key, ' ' ORDER BY key), '-') FROM alias
		WHERE session_id = '$(sid "$1")'"
}
set_keys() { # ID SQL_ARRAY [KEY]
	q "SELECT session_set_keys('$(sid "$1")', 'acme', $2, ${3:-NULL})"
}

# ---- create

is "$(make a "$(keys k1 k2)")" "created|$(sid a)" "keys that nobody has make a session"
is "$(make b "$(keys k2)")|$(look b)" "found|$(sid a)|" "any of them finds it"
is "$(make b "$(keys k3 k1)")|$(owned a)" "found|$(sid a)|k1 k2 k3" "and further ones are its own then"
is "$(make b "$(keys k3)")" "found|$(sid a)" "as good as the first"
is "$(make b "$(keys k9 k9)")|$(owned b)" "created|$(sid b)|k9" "a key said twice is one"
is "$(make c "$(keys k1 k9)")|$(look c)" "ERROR:  SX415|" "keys of two sessions are a contradiction"
is "$(owned a)|$(owned b)" "k1 k2 k3|k9" "and change nothing"
is "$(make c "$(keys k7 k1 k9)")|$(q "SELECT count(*) FROM alias WHERE key = 'k7'")" \
	"ERROR:  SX415|0" "nor is a free one taken"
is "$(q "SELECT disposition FROM session_create('$(spec o "$(keys k1), \"tenant\": \"other\", \"keyId\": \"o\"")')")" \
	created "another tenant's key of the same text is another key"
is "$(make c "$(keys 'k1 /%_:*{}')")" "created|$(sid c)" "a key may hold any character"
is "$(q "SELECT json->>'correlationKeys' FROM (SELECT session_json(s) AS json FROM session s
	WHERE id = '$(sid a)') x")" '["k1", "k2", "k3"]' "a session shows its keys"

# ---- with a name, with an idempotency key

is "$(make d "\"name\": \"n\", $(keys d1)")" "created|$(sid d)" "a name and a key"
is "$(make e "\"name\": \"n\", $(keys d2)")|$(owned d)" "found|$(sid d)|d1 d2" "the name finds, too, and the key is added"
is "$(make e "\"name\": \"n\", $(keys k1)")" "ERROR:  SX415" "name and key that differ are a contradiction"
is "$(make e "\"name\": \"m\", $(keys d1)")|$(q "SELECT name FROM session WHERE id = '$(sid d)'")" \
	"found|$(sid d)|n" "a free name does not rename what a key finds"
same='"idempotencyKey": "i", "requestHash": "h"'
is "$(make e "$same, $(keys d1)")" "found|$(sid d)" "an idempotency key that finds by key"
is "$(make e "$same, $(keys k1 k9)")" "replayed_found|$(sid d)" "is looked at before all of them from then on"
is "$(make e "\"idempotencyKey\": \"j\", \"requestHash\": \"h\", $(keys k1 k9)")|$(q "SELECT count(*) FROM idempotency WHERE key = 'j'")" \
	"ERROR:  SX415|0" "a contradiction releases it"

# ---- changing them

is "$(set_keys a "'{k2,k5}'")|$(owned a)" "t|k2 k5" "a new set replaces the old one"
is "$(set_keys a "'{k2,k9}'")|$(owned a)" "ERROR:  SX415|k2 k5" "another's key is refused, and nothing changes"
is "$(make f "$(keys k1)")" "created|$(sid f)" "what was dropped is free"
is "$(set_keys a NULL "'k5'")|$(set_keys a NULL "'k5'")|$(owned a)" "t|f|k2" "one is freed, once"
is "$(set_keys a NULL "'k9'")|$(owned b)" "f|k9" "another's is not"
is "$(set_keys a "'{}'")|$(owned a)" "t|-" "none is a set, too"
is "$(set_keys zz "'{z}'")|$(q "SELECT session_set_keys('$(sid a)', 'other', '{z}', NULL)")" \
	"ERROR:  SX404|ERROR:  SX404" "nobody's and somebody else's session are the same"
many=$(seq -s, 1 64)
is "$(set_keys a "'{$many}'")|$(set_keys a "'{$many,65}'")" "t|ERROR:  SX416" "64 are enough"
is "$(make g "$(keys 1 more)")" "ERROR:  SX416" "for a create, too"

# ---- deletion

is "$(request a delete session-delete)|$(owned a)" "deleting|-" "a delete frees the keys at once"
is "$(set_keys a "'{z}'")" "ERROR:  SX413" "and none can be added"
is "$(make h "$(keys 1)")" "created|$(sid h)" "another session may have them"
# as if a slow create had found the session just before the delete
must "INSERT INTO alias (tenant, key, session_id) VALUES ('acme', 'late', '$(sid a)')"
is "$(make h "$(keys 1 late)")|$(owned h)" "found|$(sid h)|1 late" "what a deleted one still has counts for nothing"
must "INSERT INTO alias (tenant, key, session_id) VALUES ('acme', 'later', '$(sid a)')"
begin a a >/dev/null && end a a true >/dev/null
is "$(q "SELECT session_deleted('$(sid a)')")|$(owned a)" "t|-" "and goes with it"

# ---- races: a create that waited is judged by the rows as they are then

behind "$(create_sql p1 "$(keys r1 r2)")" "$(create_sql p2 "$(keys r2 r3)")" \
	"two creates with one key in common"
is "$ONE|$TWO|$(owned p1)|$(look p2)" "created|$(sid p1)|found|$(sid p1)|r1 r2 r3|" "make one session"
behind "$(create_sql p3 "$(keys r1 r4)")" "$(create_sql p4 "$(keys r4 r2)")" \
	"two creates with different keys of one anchor"
is "$ONE|$TWO" "found|$(sid p1)|found|$(sid p1)" "find it both"
behind "$(create_sql p5 "$(keys s1 s2 s3)")" "$(create_sql p6 "$(keys s3 s2 s1)")" \
	"keys in another order"
is "$ONE|$TWO" "created|$(sid p5)|found|$(sid p5)" "are locked in the same one"
behind "$(create_sql p7 "$(keys t1)")" \
	"SELECT session_set_keys('$(sid p5)', 'acme', '{t1}', NULL)" "taking a key that is being used"
is "$ONE|$TWO|$(owned p5)" "created|$(sid p7)|ERROR:  SX415|s1 s2 s3" "is refused"
behind "SELECT session_set_keys('$(sid p7)', 'acme', '{}', NULL)" \
	"$(create_sql p8 "$(keys t1)")" "a create behind its key's release"
is "$TWO" "created|$(sid p8)" "makes a session of its own"
behind "SELECT session_request_stop('$(sid p8)', 'delete', '{\"reason\": \"x\"}')" \
	"SELECT session_set_keys('$(sid p8)', 'acme', '{t2}', NULL)" "keys behind a delete"
is "$TWO|$(owned p8)" "ERROR:  SX413|-" "come too late"
# A create that finds a session has read its old row, and waits to add its keys.
ask one BEGIN >/dev/null
ask one "SELECT session_request_stop('$(sid p5)', 'delete', '{\"reason\": \"x\"}')" >/dev/null
tell two "$(create_sql p9 "$(keys s1 s9)")"
ok "a create behind a delete: one waits for the other" stands two
ask one COMMIT >/dev/null
is "$(hear two)" "found|$(sid p5)" "has found it, as it was"
is "$(make p9 "$(keys s9)")|$(make p0 "$(keys s1 s9)")" "created|$(sid p9)|found|$(sid p9)" \
	"and asking again makes one that lives"

# ---- the order of locks: a session before its keys' rows

# One is about to delete the session; two has found it and adds a key.  In the
# wrong order of locks this is a deadlock.
make l1 "$(keys u1)" >/dev/null
ask one BEGIN >/dev/null
ask one "SELECT id FROM session WHERE id = '$(sid l1)' FOR UPDATE" >/dev/null
tell two "$(create_sql l2 "$(keys u1 u2)")"
ok "a create that brings a key waits for the session" stands two
is "$(ask one "SELECT session_request_stop('$(sid l1)', 'delete', '{\"reason\": \"x\"}')")" deleting \
	"before it takes its keys"
ask one COMMIT >/dev/null
is "$(hear two)" "found|$(sid l1)" "both come to an end"

# ---- keys that a command inside asks for

take_sql() { # ID KEY...
	local id=$1 list
	shift
	list=$(printf '"%s",' "$@")
	printf "SELECT keys_take('%s', '[%s]', 't')" "$(sid "$id")" "${list%,}"
}
take() { q "$(take_sql "$@")"; }
told() { # ID: its events of keys
	q "SELECT coalesce(string_agg(what || ' ' || (detail->>'key'), ', ' ORDER BY id), '-') FROM event
		WHERE session_id = '$(sid "$1")' AND kind = 'key'"
}
make i1 "$(keys v1)" >/dev/null
make i2 "$(keys v2)" >/dev/null
is "$(take i1 v3 v2 v1 v4)|$(owned i1)|$(owned i2)" "|v1 v3 v4|v2" "free ones are given"
is "$(told i1)" "given v3, refused v2, given v4" "and told; of its own there is nothing to tell"
set_keys i1 "'{}'" >/dev/null
is "$(take i1 v3 v2 v1 v4)|$(owned i1)" "|-" "the same list again changes nothing"
is "$(take i1 v3 v2 v1 v4 v5)|$(owned i1)|$(told i1)" \
	"|v5|given v3, refused v2, given v4, given v5" "a longer one only what is new"
must "SELECT session_set_keys('$(sid i1)', 'acme', ARRAY(SELECT 'm' || i FROM generate_series(1, 64) i), NULL)"
is "$(take i1 v3 v2 v1 v4 v5 v6)|$(q "SELECT count(*) FROM alias WHERE session_id = '$(sid i1)'")" "|64" \
	"no more than 64"
is "$(told i1)" "given v3, refused v2, given v4, given v5, refused v6" "which is told, and is no error"
set_keys i1 "'{}'" >/dev/null
behind "$(create_sql i3 "$(keys w1)")" "$(take_sql i1 v3 v2 v1 v4 v5 v6 w1)" "a key that is being used"
is "$ONE|$TWO|$(owned i1)" "created|$(sid i3)||-" "is refused"
behind "SELECT session_request_stop('$(sid i1)', 'delete', '{\"reason\": \"x\"}')" \
	"$(take_sql i1 w2)" "keys behind a delete"
is "$TWO|$(owned i1)" "|-" "come too late"
is "$(take none w3)" "" "nobody's keys are nothing"

done_testing
