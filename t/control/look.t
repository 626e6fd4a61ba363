#!/bin/bash
# Tests that the result of a look decides whether a wrapper is launched or reused.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/look_world
