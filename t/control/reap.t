#!/bin/bash
# Tests what a pass of the reaper repairs, and what it leaves alone.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/reap_world
