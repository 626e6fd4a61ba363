#!/bin/bash
# Tests the local provider with bubblewrap where no cgroup is delegated: records and locks only.
. "${top_srcdir:-.}/t/provider/world.sh"

need_host
make_world
launcher=bwrap run_suite local none
