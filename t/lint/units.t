#!/bin/bash
# Tests the files that are installed beside the programs: units that systemd
# accepts, a cron line that cron reads.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "${top_builddir:=build}" 2>/dev/null || skip_all "nothing is built"

[ -f src/api/sandlease-api.service ] || skip_all "the units are not built"
units=(src/*/sandlease*.service src/*/sandlease*.socket
	src/reaper/sandlease-reaper.timer src/admin/sandlease.target)

none "every place is filled in" \
	"$(grep -nHE '@[a-z]+@' "${units[@]}" src/reaper/cron.d/sandlease src/api/*.d/*)"

# The programs are not installed here, so /bin/true takes their place.  Complaints
# about words that an older systemd does not know are left out.
verify() {
	local dir
	dir=$(mktemp -d) || return 1
	for u in "${units[@]}"; do
		sed -E 's|^(Exec[A-Za-z]*=)[^ ]+|\1/bin/true|' "$u" >"$dir/${u##*/}"
	done
	SYSTEMD_UNIT_PATH=$dir: systemd-analyze verify --man=no --recursive-errors=no \
		"$dir"/* 2>&1 | grep -vE "DelegateSubgroup|$(hostname)|Failed to (connect|prepare)"
	rm -rf "$dir"
}
if command -v systemd-analyze >/dev/null; then
	none "systemd accepts the units" "$(verify)"
else
	skip "systemd accepts the units" "systemd-analyze is not installed"
fi

# exposure UNIT: its score by `systemd-analyze security`, from 0 to 10; the unit's
# programs and users need not exist
exposure() {
	local dir score
	dir=$(mktemp -d) || return 1
	sed -E 's|^(Exec[A-Za-z]*=)[^ ]+|\1/bin/true|' "$1" >"$dir/${1##*/}"
	score=$(systemd-analyze security --offline=yes --no-pager "$dir/${1##*/}" 2>&1)
	rm -rf "$dir"
	sed -n 's/.*Overall exposure level for [^:]*: \([0-9.]*\) .*/\1/p' <<<"$score"
}
# Debian 12's systemd counts 3.8, 1.7, 1.7 and 1.7; a newer one has more questions.
declare -A MOST=([api]=4.0 [reaper]=2.0 [drain]=2.0 [egress]=2.0)
for u in src/api/sandlease-api src/reaper/sandlease-reaper src/admin/sandlease-drain \
	src/egress/sandlease-egress; do
	most=${MOST[${u##*-}]}
	if command -v systemd-analyze >/dev/null; then
		score=$(exposure "$u.service")
		ok "$u: systemd counts an exposure of ${score:-?}, at most $most" \
			awk -v s="${score:-99}" -v m="$most" 'BEGIN { exit !(s <= m) }'
	else
		skip "$u: an exposure of at most $most" "systemd-analyze is not installed"
	fi
done

service=src/api/sandlease-api.service
# Sandboxes inherit the unit's limits: with any of these no sandbox starts, or
# tenants' programs fail.
none "the workers' unit leaves sandboxes what they need" "$(grep -nE \
	'^(Protect(Proc|KernelTunables|KernelLogs|Hostname|ControlGroups)|ProcSubset|RestrictNamespaces|RestrictSUIDSGID|MemoryDenyWriteExecute|LockPersonality|SystemCallArchitectures)=' \
	"$service")"
for line in KillMode=process Delegate=yes OOMPolicy=continue User=sandlease; do
	ok "sandboxes outlive the service: $line" grep -qx "$line" "$service"
done
ok "who stops the target waits for the drain" \
	grep -qx 'After=sandlease.target' src/admin/sandlease-drain.service
ok "the operator's variables reach the workers" \
	grep -qx 'EnvironmentFile=-/.*/sandlease/environment' "$service"
for u in src/*/*.service; do
	ok "$u does not run as root" grep -qx 'User=sandlease' "$u"
	ok "$u needs the disk of the sessions' files" \
		grep -qx 'RequiresMountsFor=/var/lib/sandlease' "$u"
done

line=$(grep -E '^\*' src/reaper/cron.d/sandlease)
like "$line" '^\* \* \* \* \* sandlease .*/sandlease-reaper --config ' \
	"cron runs the reaper every minute, unprivileged"
ok "cron needs a newline at the end" \
	test -z "$(tail -c 1 src/reaper/cron.d/sandlease)"

done_testing
