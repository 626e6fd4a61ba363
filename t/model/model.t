#!/bin/bash
# long: it uses all cores by itself
# Tests that the model of the lease keeps our promises, and that it breaks them
# without each fence.
. "${top_srcdir:=.}/t/lib/tap.sh"
set -uo pipefail
cd "$top_srcdir" || exit 1
command -v spin >/dev/null || skip_all "there is no spin"
command -v cc >/dev/null || skip_all "there is no C compiler"

model=$PWD/t/model/lease.pml pool=$PWD/t/model/warm.pml
dir=$(mktemp -d) || exit 1
trap 'rm -rf -- "$dir"' EXIT

# ---- the model's rows are the database's (t/sql/transitions.t), and all are used

is "$(grep -oE 'lease_apply\([a-z_]+,' "$model" | sed -E 's/.*\(|,//g' | grep -v '^ev$' | LC_ALL=C sort -u)" \
	"$(sed -nE 's/^\tROW\([a-z_]+, +([a-z_]+),.*/\1/p' "$model" | LC_ALL=C sort -u)" \
	"every event of the table happens in the model, and no other"

# ---- checks: name, flags of spin, cc and pan; on all cores, each check once

verify() { # NAME SPIN_FLAGS CC_FLAGS PAN_FLAGS
	local here=$dir/$1
	mkdir "$here" && cd "$here" || return
	# shellcheck disable=SC2086 # flags are words
	{ spin $2 -a "${5:-$model}" && cc -w $3 -o pan pan.c && ./pan -n $4; } >out 2>&1 </dev/null
}
export -f verify
export dir model pool

readonly SAFETY="-O1 -DSAFETY -DCOLLAPSE" QUICK="-O0 -DSAFETY -DCOLLAPSE"
readonly CYCLES="-O1 -DCOLLAPSE -DNFAIR=3" LIVE="-DLIVENESS -DWORKERS=1 -DREAPERS=1"
{
	printf '%s\n' "shared|-DSHARED|$SAFETY|-m100000" "liveness|$LIVE|$CYCLES|-a -f -m100000" \
		"own|-DWORKERS=2|$SAFETY|-m100000" "warm|-DWARM|$SAFETY|-m100000" \
		"no_expiry|$LIVE -DNO_EXPIRY|${CYCLES/O1/O0}|-a -f -m100000" \
		"no_retry|$LIVE -DNO_RETRY|${CYCLES/O1/O0}|-a -f -m100000"
	# depth is limited: a short way to the fault is found first
	for m in NO_SEAL RESTART_ONLY_LOOKS NO_GENERATION NO_ATTEMPT NO_RECORD BEGIN_AGAIN; do
		printf '%s\n' "$m|-D$m|$QUICK|-m400"
	done
	printf '%s\n' "NO_SEEN|-DNO_SEEN -DGENS=3|$QUICK|-m400" \
		"NO_INCARNATION|-DNO_INCARNATION -DSHARED|$QUICK|-m400" \
		"NO_GONE_FENCE|-DNO_GONE_FENCE -DSHARED|$QUICK|-m400" \
		"NO_KILL_FENCE|-DNO_KILL_FENCE -DSHARED|$QUICK|-m400"
	printf '%s\n' "pool||$QUICK -DNOCLAIM|-E|$pool" "failover|-DFAILOVER|$QUICK -DNOCLAIM|-E|$pool" \
		"pool_leak||-O0 -DNFAIR=3|-a -f|$pool"
	for m in CLAIM_ANY RETIRE_UNSEEN "FAILOVER NO_REFUSAL" "FAILOVER KEEP_FILES" "LAZY_CLAIM KEEP_FILES"; do
		printf '%s\n' "${m/ /+}|-D${m/ / -D}|$QUICK -DNOCLAIM|-E|$pool"
	done
} | tr '\n' '\0' | xargs -0 -P "$(nproc)" -I{} bash -c 'IFS="|" read -r a b c d e <<<"{}"; verify "$a" "$b" "$c" "$d" "$e"'

states() { sed -nE 's/^ *([0-9]+) states, stored.*/\1/p' "$dir/$1/out"; }

holds() { # CHECK NAME
	if grep -q 'errors: 0' "$dir/$1/out" &&
		! grep -qE 'max search depth too small|out of memory' "$dir/$1/out"; then
		pass "$2 ($(states "$1") states, all of them)"
	else
		fail "$2"
		diag "$(grep -vE '^(Depth|$)' "$dir/$1/out" | head -n 12)"
	fi
}
holds own "a sandbox of its own: one wrapper, released only when absent, nothing late, deleted means gone"
holds shared "a shared sandbox: the same, whatever its siblings do"
holds warm "a sandbox of the warm pool: the same"
holds pool "a member of the warm pool: one tenant has it, and what a session owns is not ended as a member"
holds failover "the same if the database forgets a claim"
holds pool_leak "no sandbox stays that neither a row nor a session explains"
holds liveness "a requested deletion ends once looks succeed"

breaks() { # CHECK WHAT NAME
	if grep -qE "^pan:[0-9]+: $2" "$dir/$1/out"; then
		pass "$3: the checker tells ($(states "$1") states)"
	else
		fail "$3: the checker must tell"
		diag "$(grep -vE '^(Depth|$)' "$dir/$1/out" | head -n 12)"
	fi
}
breaks NO_SEAL "assertion violated" "without the seal"
breaks RESTART_ONLY_LOOKS "assertion violated" "with a restart that looks and does not seal"
breaks NO_GENERATION "assertion violated" "without the generation"
breaks NO_SEEN "assertion violated" "with a look that is out of date"
breaks NO_ATTEMPT "assertion violated" "without the attempt"
breaks NO_INCARNATION "assertion violated" "with an init that takes any incarnation's message"
breaks NO_RECORD "assertion violated" "without the host's record"
breaks BEGIN_AGAIN "assertion violated" "with an incarnation that starts twice"
breaks NO_GONE_FENCE "assertion violated" "with a sandbox that is gone, whichever it was"
breaks NO_KILL_FENCE "assertion violated" "with a kill that says not whom it means"
breaks CLAIM_ANY "assertion violated" "with a claim of a member that is being ended"
breaks RETIRE_UNSEEN "assertion violated" "with a member that ends before its row says so"
breaks FAILOVER+NO_REFUSAL "assertion violated" "with a wrapper that obeys two claims"
breaks FAILOVER+KEEP_FILES "assertion violated" "with a dead member whose files are kept"
breaks LAZY_CLAIM+KEEP_FILES "assertion violated" "with a claim that is not on the disk"
breaks no_expiry "acceptance cycle" "with attempts that never expire"
breaks no_retry "acceptance cycle" "with stops that are tried once"

done_testing
