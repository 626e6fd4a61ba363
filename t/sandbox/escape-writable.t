#!/bin/bash
# escape-writable.t: tests that a tenant who is root in a sandbox cannot get out of
# it.
# alone: fills kernel limits (inotify, descriptors under way) of the user whom all stacks share
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=t/lib/tap.sh
. "$here/../lib/tap.sh"
# shellcheck source=t/lib/stack.sh
. "$here/../lib/stack.sh"

rootfs() { PYTHONPATH=$here/../lib /usr/bin/python3 -Bc "import rootfs; $1"; }
why=$(rootfs 'print(rootfs.why_not())')
[ -z "$why" ] || skip_all "$why"
stack_begin
[ "$CGROUP" != none ] || skip_all "no cgroup can be delegated here"
root=$STACK_STATE/tiny
rootfs "rootfs.make('$root')" || die "cannot make a root file system"
pg_psql -qc "INSERT INTO class (name, rootfs, writable_root, memory_mb, cpu_millis, disk_mb, pids)
    VALUES ('tiny', '$root', true, 128, 1000, 64, 64)"
pg_psql -qc "UPDATE class SET rootfs = '$root', writable_root = true WHERE name IN ('shared', 'small')"
SANDLEASE_ROOT=writable SANDLEASE_LIMITS=cgroup /usr/bin/python3 "$here/escape_checks.py"
