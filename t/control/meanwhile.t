#!/bin/bash
# Tests that a change that another program makes between two steps is neither
# lost nor undone.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/meanwhile_world
