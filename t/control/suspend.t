#!/bin/bash
# Frozen sessions: orders that are overtaken, stops and ports that come meanwhile.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/suspend_world
