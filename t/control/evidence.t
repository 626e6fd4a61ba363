#!/bin/bash
# Tests which evidence ends a whole sandbox, and which does not.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/evidence_world
