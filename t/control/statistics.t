#!/bin/bash
# Tests samples of what sessions use, with a provider that fails on demand.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/statistics_world
