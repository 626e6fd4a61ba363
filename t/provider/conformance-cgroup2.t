#!/bin/bash
# Tests the local provider with a delegated group of cgroup v2.  Beside v1 it has no
# controllers, but its list of processes is still used.
. "${top_srcdir:-.}/t/provider/world.sh"

need_host
need_groups
delegate v2 || skip "cgroup v2 is not mounted"
make_world
run_suite local "$group"
