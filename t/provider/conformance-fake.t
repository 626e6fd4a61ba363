#!/bin/bash
# Tests that the fake provider keeps the promises of a provider: otherwise tests
# that use it would prove nothing.
. "${top_srcdir:-.}/t/provider/world.sh"

[ -x "$suite" ] || skip "the suite is not built: make check"
make_world
run_suite fake
