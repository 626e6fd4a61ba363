#!/bin/bash
# A disk that is full: who is frozen, who is put to sleep.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/disk_world
