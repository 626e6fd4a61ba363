#!/bin/bash
# What a whole sandbox ends for, and what it does not.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/evidence_world
