#!/bin/bash
# Starting: intent, act, outcome; what fails, hangs or comes too late.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/start_world
