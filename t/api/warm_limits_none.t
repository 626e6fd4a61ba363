#!/bin/bash
# warm_limits_none.t: the same where no cgroup holds the limits.
STACK_CGROUP=none exec "$(dirname "$0")/warm_limits.t"
