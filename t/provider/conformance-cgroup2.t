#!/bin/bash
# The local provider with a delegated group of cgroup v2, which may stand
# beside v1 and then has no controllers: processes are still counted by it.
. "${top_srcdir:-.}/t/provider/world.sh"

need_host
need_groups
delegate v2 || skip "cgroup v2 is not mounted"
make_world
run_suite local "$group"
