#!/bin/bash
# escape-bwrap.t: tests that tenant code cannot get out of a sandbox that bubblewrap
# has made.
# alone: fills kernel limits (inotify, descriptors under way) of the user whom all stacks share
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=t/lib/tap.sh
. "$here/../lib/tap.sh"
# shellcheck source=t/lib/stack.sh
. "$here/../lib/stack.sh"
export STACK_CONF="launcher = bwrap"
stack_begin
[ "$CGROUP" != none ] || skip_all "no cgroup can be delegated here"
pg_psql -qc "INSERT INTO class (name, memory_mb, cpu_millis, disk_mb, pids) VALUES ('tiny', 128, 1000, 64, 64)"
SANDLEASE_LAUNCHER=bwrap SANDLEASE_LIMITS=cgroup /usr/bin/python3 "$here/escape_checks.py"
