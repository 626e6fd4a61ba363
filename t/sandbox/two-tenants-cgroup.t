#!/bin/bash
# two-tenants-cgroup.t: tests that a tenant does not notice another that takes all it can; limits by cgroups.
# alone: takes what the kernel counts for the user whom all stacks share
# long: millions of epoll watches
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=t/lib/tap.sh
. "$here/../lib/tap.sh"
# shellcheck source=t/lib/stack.sh
. "$here/../lib/stack.sh"
stack_begin
[ "$CGROUP" != none ] || skip_all "no cgroup can be delegated here"
pg_psql -qc "INSERT INTO class (name, memory_mb, cpu_millis, disk_mb, pids) VALUES ('tiny', 128, 1000, 64, 64)"
SANDLEASE_LIMITS=cgroup /usr/bin/python3 "$here/two_tenants_checks.py"
