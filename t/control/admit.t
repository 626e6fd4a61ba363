#!/bin/bash
# Tests admission: room for a new workspace is cleaned, found or refused.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/admit_world
