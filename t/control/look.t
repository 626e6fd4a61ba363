#!/bin/bash
# May a wrapper be launched or reused?  What a look finds decides.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/look_world
