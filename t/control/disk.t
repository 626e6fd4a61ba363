#!/bin/bash
# Tests which sessions are frozen and which are put to sleep when a disk is full.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/disk_world
