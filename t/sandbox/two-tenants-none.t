#!/bin/bash
# two-tenants-none.t: tests that a tenant does not notice another that takes all it can; limits by rlimits alone.
# alone: takes what the kernel counts for the user whom all stacks share
# long: millions of epoll watches
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=t/lib/tap.sh
. "$here/../lib/tap.sh"
# shellcheck source=t/lib/stack.sh
. "$here/../lib/stack.sh"
export STACK_CGROUP=none
stack_begin
pg_psql -qc "INSERT INTO class (name, memory_mb, cpu_millis, disk_mb, pids) VALUES ('tiny', 128, 1000, 64, 64)"
SANDLEASE_LIMITS=none /usr/bin/python3 "$here/two_tenants_checks.py"
