#!/bin/bash
# Tests frozen sessions: orders that are overtaken, and stops and ports that come
# during a freeze or thaw.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/suspend_world
