#!/bin/bash
# Snapshots: a row, then files, then the row; what fails, hangs or is lost.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/snapshot_world
