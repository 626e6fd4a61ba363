#!/bin/bash
# The reaper: every cause of a stop, waves of them, and what no row explains.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/clean_world
