#!/bin/bash
# statistics_none.t: tests statistics where no cgroup counts, and init is asked.
STACK_CGROUP=none exec "$(dirname "$0")/statistics.t"
