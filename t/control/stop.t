#!/bin/bash
# Stopping and deleting: what was not seen gone is not gone.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/stop_world
