#!/bin/bash
# Tests the local provider where no cgroup is delegated: records and locks only.
. "${top_srcdir:-.}/t/provider/world.sh"

need_host
make_world
run_suite local none
