#!/bin/bash
# long: runs tests of the API once more
# Tests that the service works behind PgBouncer in session mode: runs a good part
# of the API's own tests with a stack whose programs all connect through it.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1
[ -x /usr/sbin/pgbouncer ] || skip_all "there is no PgBouncer"

export STACK_POOLER=session
for t in sessions quotas events correlation interrupt tickets awake audit suspend auth_cache; do
	out=$("t/api/$t.t" 2>&1)
	is "$?" 0 "t/api/$t.t" || diag "$(grep -A20 '^not ok' <<<"$out" | head -40)"
done
done_testing
