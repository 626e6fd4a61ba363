#!/bin/bash
# living_none.t: tests the environment in a session where no cgroup holds its
# limits.
STACK_CGROUP=none exec "$(dirname "$0")/living.t"
