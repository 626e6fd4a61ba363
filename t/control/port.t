#!/bin/bash
# Tests that ports are changed by intent, act and outcome, and that a pass of the
# reaper has time for all its parts.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/port_world
