#!/bin/bash
# escape-none.t: tests that tenant code cannot get out of a sandbox whose limits are
# held by rlimits alone.
# alone: fills kernel limits (inotify, descriptors under way) of the user whom all stacks share
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=t/lib/tap.sh
. "$here/../lib/tap.sh"
# shellcheck source=t/lib/stack.sh
. "$here/../lib/stack.sh"
export STACK_CGROUP=none
stack_begin
pg_psql -qc "INSERT INTO class (name, memory_mb, cpu_millis, disk_mb, pids) VALUES ('tiny', 128, 1000, 64, 64)"
SANDLEASE_LIMITS=none /usr/bin/python3 "$here/escape_checks.py"
