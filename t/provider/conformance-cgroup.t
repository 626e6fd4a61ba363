#!/bin/bash
# The local provider with delegated groups of cgroup v1 (v2 where that is all).
. "${top_srcdir:-.}/t/provider/world.sh"

need_host
need_groups
delegate v1 || delegate v2 || skip "no cgroup file system is mounted"
make_world
run_suite local "$group"
