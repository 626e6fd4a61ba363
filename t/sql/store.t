#!/bin/bash
# Tests src/store with a server that answers, refuses, and goes away.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world store/store_world
