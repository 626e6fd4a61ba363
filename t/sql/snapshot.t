#!/bin/bash
# Tests the rows of snapshots: reserved at the beginning, settled once, removed when
# no session needs them.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
open_two

limit() { # NAME VALUE: the service's own, for every connection
	local c
	for c in main one two; do
		ask "$c" "SET sandlease.quota_$1 = $2" >/dev/null
	done
}
begin_sql() { # ID SESSION [JSON]
	printf "SELECT state, size_bytes >> 20 FROM snapshot_begin('{\"id\": \"%s\", \"session\": \"%s\",
		\"tenant\": \"acme\", \"bytes\": 8388608, \"seconds\": 60, \"host\": \"h1\"}'::jsonb || '{%s}')" \
		"$(sid "$1")" "$(sid "$2")" "${3:-}"
}
take() { q "$(begin_sql "$@")"; }
settle() { # ID JSON
	q "SELECT coalesce(snapshot_settle('$(sid "$1")', '{$2}'), '-')"
}
row() { q "SELECT state, size_bytes, files, error FROM snapshot WHERE id = '$(sid "$1")'"; }
in_use() { q "SELECT snapshot_in_use('$(sid "$1")')"; }
has() { q "SELECT snapshots, bytes >> 20 FROM snapshot_count('acme')"; }

create a >/dev/null
verify a 1 >/dev/null

# ---- one
is "$(take s1 a)|$(has)" "creating|8|1|8" "what it may take is reserved"
is "$(settle s1 '"bytes": 1048576, "files": 3')|$(row s1)|$(has)" "ready|ready|1048576|3||1|1" \
	"what it has not taken is given back"
is "$(settle s1 '"error": "late"')|$(row s1)" "-|ready|1048576|3|" "it is settled once"
take s2 a >/dev/null
is "$(settle s2 '"error": "why"')|$(row s2)|$(has)" "failed|failed|0||why|1|1" "a failure has no size"
is "$(take s3 a '"tenant": "globex"')" "ERROR:  SX404" "it is of a session of one's own"
is "$(take s3 zz)" "ERROR:  SX404" "that there is"
request a delete session-delete >/dev/null
is "$(take s3 a)" "ERROR:  SX413" "and stays"

# ---- quotas
create b >/dev/null
verify b 1 >/dev/null
limit snapshots 2
is "$(take s4 b)" "creating|8" "up to the number"
is "$(take s5 b)" "ERROR:  SX429" "and no further"
limit snapshots 0
limit snapshot_mb 12
is "$(take s5 b)|$(has)" "creating|3|3|12" "the last one may have what is left"
is "$(take s6 b)" "ERROR:  SX429" "then there is nothing left"
must "UPDATE snapshot SET state = 'deleting' WHERE id = '$(sid s4)'"
is "$(take s6 b)|$(has)" "ERROR:  SX429|3|12" "what is deleted counts until its files are gone"
must "UPDATE snapshot SET state = 'creating' WHERE id = '$(sid s4)'"
settle s5 '"error": "x"' >/dev/null
settle s4 '"bytes": 0, "files": 0' >/dev/null
limit snapshots 3
ask one BEGIN >/dev/null
ask one "$(begin_sql s7 b)" >/dev/null
tell two "$(begin_sql s8 b)"
ok "two at once: one waits for the other" stands two
ask one COMMIT >/dev/null
is "$(hear two)" "ERROR:  SX429" "two at once are not both the last"
limit snapshots 0
limit snapshot_mb 0

# ---- sessions that are made from a snapshot
from() { # SESSION SNAPSHOT [JSON]
	create "$1" "\"snapshot\": \"$(sid "$2")\"${3:+, $3}"
}
is "$(from c s1)|$(in_use s1)" "created|initializing|1|t" "a session without files of its own needs it"
is "$(q "SELECT snapshot, tenant FROM start_more('$(sid c)')")" "$(sid s1)|acme" "and says so to who starts it"
verify c 1 >/dev/null
is "$(in_use s1)" "f" "until it has been started"
is "$(from d s2)" "ERROR:  SX419" "not of one that failed"
is "$(from d s7)" "ERROR:  SX419" "or is not ready"
is "$(from d nope)" "ERROR:  SX418" "or is not there"
is "$(from d s1 '"tenant": "globex", "org": "globex"')" "ERROR:  SX418" "or is another's"
is "$(from d s1 '"host": "h2"')" "ERROR:  SX505" "or is elsewhere"
must "UPDATE snapshot SET size_bytes = 1::bigint << 50 WHERE id = '$(sid s1)'"
is "$(from d s1)" "ERROR:  SX507" "or is too large"
must "UPDATE snapshot SET size_bytes = 1 WHERE id = '$(sid s1)'"
is "$(q "SELECT count(*) FROM session WHERE id = '$(sid d)'")" 0 "nothing is left of a refusal"

ask one BEGIN >/dev/null
ask one "SELECT session_create('$(spec e "\"snapshot\": \"$(sid s1)\"")') IS NULL" >/dev/null
tell two "UPDATE snapshot SET state = 'deleting' WHERE id = '$(sid s1)' RETURNING snapshot_in_use(id)"
ok "two at once: one waits for the other" stands two
ask one COMMIT >/dev/null
is "$(hear two)|$(in_use s1)" "t|t" "who deletes it waits for who is about to need it"
is "$(from f s1)" "ERROR:  SX418" "what is deleted is not there"

done_testing
