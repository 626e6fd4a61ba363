#!/bin/bash
# Tests that a start is intent, act and outcome, and what follows when a step
# fails, hangs or comes too late.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/start_world
