#!/bin/bash
# Ports are intent, act and outcome, and a pass has time for all its parts.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/port_world
