#!/bin/bash
# Tests the local provider with delegated groups of cgroup v1, or of v2 where there
# is no v1, and with bubblewrap.
. "${top_srcdir:-.}/t/provider/world.sh"

need_host
need_groups
delegate v1 || delegate v2 || skip "no cgroup file system is mounted"
make_world
launcher=bwrap run_suite local "$group"
