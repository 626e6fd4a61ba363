#!/bin/bash
# The fake keeps the promises of a provider, or tests that use it prove nothing.
. "${top_srcdir:-.}/t/provider/world.sh"

[ -x "$suite" ] || skip "the suite is not built: make check"
make_world
run_suite fake
