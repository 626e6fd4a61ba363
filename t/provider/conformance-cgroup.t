#!/bin/bash
# The local provider with a delegated group, v1 or v2 as the machine has it.
. "${top_srcdir:-.}/t/provider/world.sh"

group=sandlease-t$$

# The hierarchies in which we make a group, one mount point a line.
hierarchies() {
	awk '{ for (i = 1; $i != "-"; i++); }
	    $(i+1) == "cgroup" && $(i+3) ~ /(^|,)(memory|pids|cpu|freezer)(,|$)/ { print $5 }' \
	    /proc/self/mountinfo
}

unified() {
	awk '{ for (i = 1; $i != "-"; i++); } $(i+1) == "cgroup2" { print $5; exit }' \
	    /proc/self/mountinfo
}

end_groups() {
	# ourselves out of it first
	[ -z "$moved" ] || echo $$ >"$moved/cgroup.procs"
	for at in $made; do
		find "$at" -depth -type d -exec rmdir {} + 2>/dev/null
	done
	end_world
}

need_host
[ "$(id -u)" = 0 ] || skip "only root can delegate a group"
made="" moved=""
for point in $(hierarchies); do
	mkdir "$point/$group" && made="$made $point/$group"
done
if [ -z "$made" ]; then
	point=$(unified)
	[ -n "$point" ] || skip "no cgroup file system is mounted"
	made=$point/$group
	mkdir -p "$made/api"
	echo $$ >"$made/api/cgroup.procs"
	moved=$point
fi
# shellcheck disable=SC2086 # a list of words
chown -R "$nobody:$nobody" $made
make_world
trap end_groups EXIT
run_suite local "$group"
