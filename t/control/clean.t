#!/bin/bash
# Tests that the reaper stops sessions for every cause, in waves, and removes
# things that no row explains.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/clean_world
