#!/bin/bash
# Tests stops and deletions: a process or file counts as gone only when a look
# has seen it absent.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/stop_world
