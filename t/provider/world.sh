# shellcheck shell=bash
# world.sh: makes a place in which the conformance suite runs.
#
# The suite never runs as root: root makes the directory (and the groups) and
# gives both to a user number that owns nothing else on this machine.

: "${top_builddir:=build}"
suite=$top_builddir/t/provider/conformance
agent=$top_builddir/sandlease-agent
nobody=64123

# A skip says why; with SANDLEASE_MUST_RUN=1 it is a failure.
skip() {
	if [ "${SANDLEASE_MUST_RUN:-}" = 1 ]; then
		echo "1..1"
		echo "not ok 1 - cannot skip: $*"
	else
		echo "1..0 # SKIP $*"
	fi
	exit 0
}

make_world() {
	world=$(mktemp -d /tmp/slXXXXXX)
	trap end_world EXIT
	# copied: other users may be unable to enter the checkout
	cp "$suite" "$world/conformance"
	suite=$world/conformance
	if [ -x "$agent" ]; then
		cp "$agent" "$world/agent"
		cp "$top_builddir/sandlease-launch" "$world"
		cp "$top_builddir/t/provider/probe" "$world"
	fi
	chmod 755 "$world"
	mkdir "$world/t"
	if [ "$(id -u)" = 0 ]; then
		chown "$nobody:$nobody" "$world/t"
	fi
}

# The mount points in which we make a group, one a line.
hierarchies() { # v1|v2
	awk -v kind="$1" '{ for (i = 1; $i != "-"; i++); }
	    kind == "v1" && $(i + 1) == "cgroup" &&
	    $(i + 3) ~ /(^|,)(memory|pids|cpu|freezer)(,|$)/ { print $5 }
	    kind == "v2" && $(i + 1) == "cgroup2" { print $5; exit }' \
	    /proc/self/mountinfo
}

need_groups() {
	[ "$(id -u)" = 0 ] || skip "only root can delegate a group"
	group=sandlease-t$$ groups=()
	trap end_world EXIT
}

# Makes the group and gives it to the user; in v2 this process moves into a group
# beside it, as a worker is.
delegate() { # v1|v2
	local point
	for point in $(hierarchies "$1"); do
		mkdir "$point/$group" || return 1
		groups+=("$point/$group")
		if [ "$1" = v2 ]; then
			mkdir "$point/$group/api"
			home=$point$(sed -n 's/^0:://p' /proc/self/cgroup)
			echo $$ >"$point/$group/api/cgroup.procs"
		fi
		chown -R "$nobody:$nobody" "$point/$group"
	done
	[ "${#groups[@]}" -gt 0 ]
}

# The processes whose log is in this world: a suite that failed may leave sandboxes.
left_over() {
	find /proc/[0-9]*/fd/2 -lname "${world:?}/*" 2>/dev/null | cut -d/ -f3
}

end_world() {
	local at
	[ -z "${world:-}" ] || left_over | xargs -r kill -KILL 2>/dev/null
	[ -z "${home:-}" ] || echo $$ >"$home/cgroup.procs"
	for at in "${groups[@]}"; do
		find "$at" -depth -type d -exec rmdir {} + 2>/dev/null
	done
	[ -n "${world:-}" ] || return 0
	chmod -R u+rwx "$world"
	rm -rf "$world"
}

unprivileged() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid="$nobody" --regid="$nobody" --clear-groups "$@"
	else
		"$@"
	fi
}

run_suite() {
	unprivileged env CMOCKA_MESSAGE_OUTPUT=TAP SANDLEASE_TEST_DIR="$world/t" \
	    AGENT="$world/agent" PROBE="$world/probe" LAUNCHER="${launcher:-own}" "$suite" "$@"
}

need_host() {
	[ -x "$suite" ] || skip "the suite is not built: make check"
	[ -x "$agent" ] || skip "the agent is not built"
	command -v bwrap >/dev/null || skip "bubblewrap is not installed"
	unprivileged bwrap --unshare-user --ro-bind / / true 2>/dev/null ||
	    skip "unprivileged user namespaces are not allowed here"
}
