#!/bin/bash
# Tests that the rows count the disk that is promised to sessions, also when
# creates come at the same time.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
. "$top_srcdir/t/sql/rows.sh"
pg_begin
make_tenants
open_two

readonly BUDGET='"diskBudgetMb": 10000' # two sandboxes of 4096
create_sql() { # ID [JSON]
	printf "SELECT disposition FROM session_create('%s')" "$(spec "$@")"
}
reserved() { q "SELECT disk_reserved_mb FROM host WHERE name = '${1:-h1}'"; }
disk() { # ID
	q "SELECT disk_mb, disk_host, disk_counted FROM sandbox WHERE id = 'ses-$1'"
}
delete() { stop "$1" delete >/dev/null && q "SELECT session_deleted('$(sid "$1")')"; }

# ---- no budget

is "$(create a)" "created|initializing|1" "without a budget it is admitted"
is "$(disk a)|$(reserved)" "4096|h1|f|" "what it may use is noted, and no counter is touched"

# ---- a budget

is "$(q "SELECT disk_recount('h1')")|$(disk a)" "4096|4096|h1|t" "a recount counts what was there before"
is "$(create b "$BUDGET")|$(reserved)" "created|initializing|1|8192" "there is room for one more"
like "$(create c "$BUDGET")" "SX507" "and for no third"
is "$(look c)$(box c)|$(reserved)" "|8192" "of which nothing is left"
is "$(create d "$BUDGET, \"host\": \"h2\"")|$(reserved h2)" "created|initializing|1|4096" \
	"another host has a budget of its own"
is "$(delete a)|$(reserved)|$(disk a)" "t|4096|0|h1|f" "a deletion gives it back"
is "$(q "SELECT session_deleted('$(sid a)')")|$(reserved)" "f|4096" "once"

# ---- two at once: the second waits for the first, and counts its disk

ask one BEGIN >/dev/null
is "$(ask one "$(create_sql e "$BUDGET")")" created "the first of two has the last of it"
tell two "$(create_sql f "$BUDGET")"
ok "the second waits" stands two
ask one COMMIT >/dev/null
like "$(hear two)" SX507 "and is refused"
is "$(reserved)" 8192 "nothing was promised twice"

delete e >/dev/null
ask one BEGIN >/dev/null
ask one "$(create_sql g "$BUDGET")" >/dev/null
tell two "$(create_sql h "$BUDGET")"
ok "the second waits again" stands two
ask one ROLLBACK >/dev/null
is "$(hear two)|$(reserved)" "created|8192" "where the first gave up it is admitted"

# ---- a session that is lost reserves nothing

verify h 1 >/dev/null
must "SELECT session_sandbox_gone('$(sid h)', '{\"instance\": \"i-h\", \"generation\": 1,
	\"lost\": true, \"reason\": \"storage_gone\"}')"
is "$(look h)|$(reserved)" "lost|none|1|4096" "files that are gone need no room"

# ---- nor does a session that failed, once its files are removed

must "$("$STACK_BUILD/t/unit/store/print_tables" statements)"
failed() { # ID
	create "$1" "$BUDGET" >/dev/null && stop "$1" fail >/dev/null
}
failed j
is "$(look j)|$(reserved)" "failed|none|1|8192" "a start that failed keeps its room"
is "$(q "EXECUTE files_dropping('$(sid b)')")|$(reserved)" "|8192" "what did not fail keeps its files"
is "$(q "EXECUTE files_dropping('$(sid j)')")|$(look j)|$(reserved)" "$(sid j)|failed|none|1|4096" \
	"without its files it needs none"
is "$(delete j)|$(reserved)" "t|4096" "and gives nothing back twice"
failed k
is "$(q "EXECUTE stale_claim('$(sid k)', 't')")|$(look k)|$(reserved)" "t|lost|none|1|4096" \
	"so does one whose files made room for others"

# ---- a create that found no room

is "$(create i '"idempotencyKey": "key", "requestHash": "x"')" "created|initializing|1" "a create with a key"
is "$(q "SELECT session_refused('$(sid i)', '{\"reason\": \"startup-failed\", \"say\": \"no room\", \"generation\": 1}')")" \
	deleting "that is refused is deleted"
is "$(q "SELECT count(*) FROM idempotency")" 0 "and its key is free"
is "$(q "SELECT kind, what, detail->>'error' FROM event WHERE session_id = '$(sid i)' AND kind = 'disk'")" \
	"disk|refused|no room" "its history says why"

is "$(create l '"idempotencyKey": "key", "requestHash": "x"')" "created|initializing|1" "another create with it"
is "$(create m '"idempotencyKey": "key", "requestHash": "x"')" "replayed|initializing|" "that somebody asks for again"
is "$(q "SELECT coalesce(session_refused('$(sid l)', '{\"generation\": 1}'), 'no')")|$(look l)" \
	"no|initializing|owns_wrapper|1" "is not taken back"
stop l fail >/dev/null

# ---- sessions that are frozen

verify b 1 >/dev/null
verify d 1 >/dev/null
reason() { q "SELECT coalesce(reason, '-') FROM session WHERE id = '$(sid "$1")'"; }
is "$(q "SELECT disk_frozen('h1', '$(sid b)')")|$(reason b)" "1|disk_low" "the row says who is frozen"
is "$(q "SELECT disk_frozen('h1', '$(sid b)')")" 0 "once"
is "$(q "SELECT disk_frozen('h2', '')")|$(reason b)" "0|disk_low" "another host does not know"
is "$(q "SELECT disk_frozen('h1', '')")|$(reason b)" "1|-" "and when it goes on"
is "$(q "SELECT string_agg(what, ' ' ORDER BY id) FROM event WHERE kind = 'disk' AND session_id = '$(sid b)'")" \
	"frozen thawed" "both are in its history"

# ---- sessions over their limit

over() { q "SELECT disk_measured('$(sid b)', $1, $2)"; }
is "$(over 5000 true)$(over 5000 true)$(over 10 false)$(over 5000 true)" ftff \
	"only who was over before is put to sleep"

# ---- evidence

probe() { q "SELECT sandbox_probe_failed('ses-b', '${1:-inc-b}')"; }
must "INSERT INTO sandbox (id, tenant, class, state, host, changed_at) VALUES
	('ses-z', 'acme', 'small', 'running', 'h1', clock_timestamp() + interval '1 hour')"
is "$(probe)$(probe)" ff "twice at once is no evidence"
must "UPDATE sandbox SET probe_failed_at = clock_timestamp() - interval '1 minute' WHERE id = 'ses-b'"
is "$(probe other)" f "nor is another incarnation's failure"
is "$(probe)" t "half a minute apart it is, while another one works"
must "UPDATE sandbox SET changed_at = clock_timestamp() - interval '1 hour' WHERE id <> 'ses-b'"
is "$(probe)" f "but not if nobody does"

done_testing
