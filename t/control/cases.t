#!/bin/bash
# Tests the cases of the lease that need a provider that fails on demand; the
# other cases are in t/lease.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin
pg_run_world control/cases_world
