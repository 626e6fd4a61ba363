#!/bin/bash
# escape-cgroup.t: tests that tenant code cannot get out of a sandbox whose limits
# are held by cgroups.
# alone: fills kernel limits (inotify, descriptors under way) of the user whom all stacks share
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=t/lib/tap.sh
. "$here/../lib/tap.sh"
# shellcheck source=t/lib/stack.sh
. "$here/../lib/stack.sh"

stack_begin
[ "$CGROUP" != none ] || skip_all "no cgroup can be delegated here"
pg_psql -qc "INSERT INTO class (name, memory_mb, cpu_millis, disk_mb, pids) VALUES ('tiny', 128, 1000, 64, 64)"
SANDLEASE_LIMITS=cgroup /usr/bin/python3 "$here/escape_checks.py"
