#!/bin/bash
# Tests the promises of the rows of the state machines, and that C has the same
# words.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin

tables=$STACK_BUILD/t/unit/store/print_tables
[ -x "$tables" ] || skip_all "print_tables is not built (make check builds it)"
in_c() { "$tables" "$1" | LC_ALL=C sort; }

# ---- true for every arrow of the lease; lease.t tests the effect of each

none() { # NAME WHERE: no row of lease_transition is so
	is "$(q "SELECT from_state, event, to_state FROM lease_transition WHERE $2")" "" "$1"
}
is "$(q "SELECT count(*) >= 14 FROM lease_transition")" t "there are transitions at all"
none "only an observed absence releases a wrapper" \
	"to_state = 'none' AND event NOT IN ('owned_absent', 'stop_absent')"
none "a stop that is needed is never taken back" \
	"from_state IN ('stop_needed', 'stopping') AND to_state = 'owns_wrapper'"
is "$(q "SELECT from_state FROM lease_transition WHERE event = 'request_stop'" | LC_ALL=C sort | tr '\n' ' ')" \
	"none owns_wrapper stop_needed stopping " "and can be asked for in every state"
none "only an allocation and a wish need no fence" \
	"(fence = 'nothing') <> (event IN ('allocate', 'request_stop'))"
none "the generation grows with an owner and never else" \
	"('generation' = ANY (effects)) <> (event = 'allocate')"
none "all but the generation is cleared when nobody owns it" \
	"('release' = ANY (effects)) <> (to_state = 'none')"
none "what changes nothing has no effects, and nothing else" \
	"(effects = '{}') <> (event = 'request_stop' AND from_state = to_state)"

in_model() {
	sed -nE 's/^\tROW\(([a-z_]+), +([a-z_]+), +([a-z_]+), +FENCE_([a-z]+)\)$/\1|\2|\3|\4/p' \
		"$top_srcdir/t/model/lease.pml" | LC_ALL=C sort
}
is "$(q "SELECT from_state, event, to_state, fence FROM lease_transition" | LC_ALL=C sort)" \
	"$(in_model)" "they are those that the model has been verified with"

# ---- the same words in C and in the database

# The words that a column's CHECK allows: quoted in its definition.
allowed() { # TABLE COLUMN
	q "SELECT (regexp_matches(pg_get_constraintdef(oid), '''([a-z_]+)''::text', 'g'))[1]
	     FROM pg_constraint
	    WHERE conrelid = '$1'::regclass AND conname = '$1_$2_check'"
}
words() { # PREFIX TABLE COLUMN
	allowed "$2" "$3" | sed "s/^/$1|/"
}
is "$({ words session session state && words lease lease state &&
	words sandbox sandbox state && words isolation session isolation &&
	words execution execution state; } | LC_ALL=C sort)" \
	"$(in_c states)" "the same words for states in C and in the database"

done_testing
