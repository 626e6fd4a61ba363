#!/bin/bash
# Tests that a snapshot writes a row, then files, then the row again, and what
# follows when a step fails, hangs or is lost.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/snapshot_world
