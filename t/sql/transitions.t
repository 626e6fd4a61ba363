#!/bin/bash
# The state machine stands in C and in the database, and the words of both.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin

tables=$STACK_BUILD/t/unit/store/print_tables
[ -x "$tables" ] || skip_all "print_tables is not built (make check builds it)"
in_c() { "$tables" "$1" | LC_ALL=C sort; }

is "$(q "SELECT from_state, event, to_state, fence, effects FROM lease_transition" | LC_ALL=C sort)" \
	"$(in_c transitions)" "the same transitions in C and in the database"
ok "there are transitions at all" test "$(in_c transitions | wc -l)" -ge 14

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
	words isolation session isolation; } | LC_ALL=C sort)" \
	"$(in_c states)" "the same words for states in C and in the database"

done_testing
