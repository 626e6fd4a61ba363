# shellcheck shell=bash
# shellcheck disable=SC2015,SC2034 # `a && b || die` means both or die; variables are shared by the files of t/lib
# dev-kernel.sh: checks what the kernel allows, and delegates a cgroup.
#
# cgroup v1: one directory per controller; v2: one directory with controllers
# enabled.  The service owns the directory and makes box/<sandbox> below; the
# service's own processes sit in the leaf api/ (v2 allows processes in leaves
# only).  With SANDLEASE_CGROUP=none there is no cgroup: rlimits instead.

readonly CGROUP_V1_CONTROLLERS=(memory pids cpu freezer)

# Root's rights, which not every machine gives: as root, or by sudo if that does
# not ask for a password.
may_be_root() { is_root || sudo -n true 2>/dev/null; }
quiet_root() {
	if is_root; then "$@"; else sudo -n -- "$@"; fi
}

kernel_check_namespaces() {
	as "$SVC_USER" bwrap --unshare-user --unshare-pid --unshare-net \
		--unshare-ipc --disable-userns --ro-bind / / --proc /proc \
		true 2>"$LOGS/bwrap.log" && return 0
	show_tail "$LOGS/bwrap.log"
	die "this kernel does not let $SVC_USER make user namespaces, which" \
		"sandboxes need (sysctl kernel.unprivileged_userns_clone=1," \
		"kernel.apparmor_restrict_unprivileged_userns=0; in a container:" \
		"allow them from outside)"
}

# Raises the kernel's limits that all sandboxes share, as an installation does.
kernel_raise_limits() {
	local name value file have
	while read -r name _ value; do
		file=/proc/sys/${name//.//}
		have=$(cat "$file" 2>/dev/null) || continue
		[ "$have" -lt "$value" ] || continue
		if may_be_root && quiet_root sh -c "echo $value >$file" 2>/dev/null; then
			note "$name raised from $have to $value"
		else
			note "$name is $have; $value would be better"
		fi
	done < <(grep '^[a-z]' "$TOP/src/api/sandlease.sysctl.in")
}

# cgroup_find: prints v1, v2 or none, by what is mounted with controllers.
cgroup_find() {
	local c
	if grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then
		echo v2
	else
		for c in "${CGROUP_V1_CONTROLLERS[@]}"; do
			[ -e "/sys/fs/cgroup/$c/cgroup.procs" ] || {
				echo none
				return
			}
		done
		echo v1
	fi
}

# cgroup_dirs NAME: the directories that make up one group.
cgroup_dirs() {
	local c
	case $(cgroup_find) in
	v2) printf '%s\n' "/sys/fs/cgroup/$1" ;;
	v1) for c in "${CGROUP_V1_CONTROLLERS[@]}"; do
		printf '%s\n' "/sys/fs/cgroup/$c/$1"
	done ;;
	esac
}

cgroup_enable_v2() { # DIR
	local c
	for c in memory pids cpu; do
		quiet_root sh -c "echo +$c >$1/cgroup.subtree_control" 2>/dev/null ||
			return 1
	done
}

cgroup_make_one() { # DIR
	quiet_root mkdir -p "$1/api" &&
		quiet_root chown "$SVC_USER" "$1" "$1/cgroup.procs" "$1/api" \
			"$1/api/cgroup.procs" || return 1
	[ -e "$1/cgroup.subtree_control" ] || return 0
	cgroup_enable_v2 /sys/fs/cgroup && cgroup_enable_v2 "$1" &&
		quiet_root chown "$SVC_USER" "$1/cgroup.subtree_control"
}

# cgroup_delegate NAME: CGROUP is NAME, or none with a note that says why.
cgroup_delegate() {
	local dir
	CGROUP=none
	if [ "${SANDLEASE_CGROUP:-}" = none ]; then
		note "SANDLEASE_CGROUP=none: limits by rlimit"
		return 0
	fi
	if [ "$(cgroup_find)" = none ] || ! may_be_root; then
		note "no cgroup can be delegated: limits by rlimit"
		return 0
	fi
	for dir in $(cgroup_dirs "$1"); do
		cgroup_make_one "$dir" 2>>"$LOGS/cgroup.log" || {
			note "$dir cannot be delegated: limits by rlimit"
			cgroup_remove "$1"
			return 0
		}
	done
	CGROUP=$1
}

# cgroup_enter PID: moves it into the leaf of our own processes.
cgroup_enter() {
	local dir
	[ "$CGROUP" != none ] || return 0
	for dir in $(cgroup_dirs "$CGROUP"); do
		quiet_root sh -c "echo $1 >$dir/api/cgroup.procs" || return 1
	done
}

# cgroup_pids NAME: every process in the group and below.
cgroup_pids() {
	local dir
	for dir in $(cgroup_dirs "$1"); do
		[ ! -d "$dir" ] || find "$dir" -name cgroup.procs -exec cat {} + 2>/dev/null
	done | sort -un
}

# In v1 a frozen process cannot even be killed.
cgroup_thaw() { # NAME
	local state
	while read -r state; do
		quiet_root sh -c "echo THAWED >$state"
	done < <(find "/sys/fs/cgroup/freezer/$1" -name freezer.state 2>/dev/null)
}

cgroup_remove() { # NAME
	local dir
	for dir in $(cgroup_dirs "$1"); do
		[ ! -d "$dir" ] ||
			quiet_root find "$dir" -depth -type d -exec rmdir {} + 2>/dev/null
		[ ! -d "$dir" ] || return 1
	done
}
