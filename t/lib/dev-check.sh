# shellcheck shell=bash
# shellcheck disable=SC2015,SC2034 # `a && b || die` means both or die; variables are shared by the files of t/lib
# dev-check.sh: ./dev check.
#
# `make check` runs unit tests and lint; every other t/*/*.t needs a world
# (PostgreSQL, nginx, namespaces) and is run by t/lib/run-tap.sh.

CHECK_PASSED=0 CHECK_FAILED=0 CHECK_SKIPPED=0

check_count() { # PASSED FAILED SKIPPED
	CHECK_PASSED=$((CHECK_PASSED + $1))
	CHECK_FAILED=$((CHECK_FAILED + $2))
	CHECK_SKIPPED=$((CHECK_SKIPPED + $3))
}

# check_summary LOG: "passed failed skipped" of automake's own summary.
check_summary() {
	awk '/^# (PASS|XFAIL): / { p += $3 } /^# (FAIL|XPASS|ERROR): / { f += $3 }
		/^# SKIP: / { s += $3 } END { print p + 0, f + 0, s + 0 }' "$1"
}

# check_make NAME DIR TARGET [ARG...]: a make target that runs tests; a build
# that fails counts as one failure.
check_make() {
	local log=$TOP/var/check/$1.log dir=$2 since p f s
	since=$(now_ms)
	build_make "$dir" "${@:3}" >"$log" 2>&1 </dev/null
	local status=$?
	read -r p f s < <(check_summary "$log")
	[ "$status" -eq 0 ] || [ "$f" -gt 0 ] || f=1
	check_count "$p" "$f" "$s"
	if [ "$f" -eq 0 ]; then
		tick "$1: $p ok$([ "$s" -eq 0 ] || echo ", $s skipped")" "$since"
	else
		say "✗ $1: $p ok, $f not ok"
		check_show "$log" "$TOP/$dir/test-suite.log"
	fi
	grep -E '^SKIP: ' "$log" | sed 's/^/    /'
}

# Of automake's log only the sections of tests that failed, without what passed
# in them; of a build that failed, its end.
check_show() { # MAKE_LOG SUITE_LOG
	if grep -qE '^(FAIL|ERROR): ' "$1"; then
		awk '/^(FAIL|ERROR): [^ ]+$/ { on = 1 } /^(SKIP|XFAIL): [^ ]+$/ { on = 0 }
			on && NF && !/^(ok|PASS:|====)/' "$2" | head -n 80 | sed 's/^/    | /'
	else
		tail -n 25 "$1" | sed 's/^/    | /'
	fi
}

check_worlds() {
	local files p f s
	mapfile -t files < <(find "$TOP/t" -mindepth 2 -maxdepth 2 -name '*.t' \
		-perm -u+x -not -path '*/lint/*' | LC_ALL=C sort)
	[ ${#files[@]} -gt 0 ] || return 0
	top_srcdir=$TOP top_builddir=$TOP/build-check \
		"$TOP/t/lib/run-tap.sh" "$TOP/var/check/worlds" "${files[@]}"
	read -r p f s <"$TOP/var/check/worlds/counts"
	check_count "$p" "$f" "$s"
}

# The last line; with SANDLEASE_MUST_RUN=1 what was skipped has failed.
check_verdict() {
	if [ "${SANDLEASE_MUST_RUN:-}" = 1 ] && [ "$CHECK_SKIPPED" -gt 0 ]; then
		say "SANDLEASE_MUST_RUN=1: $CHECK_SKIPPED skipped count as failed"
		CHECK_FAILED=$((CHECK_FAILED + CHECK_SKIPPED)) CHECK_SKIPPED=0
	fi
	printf '%d passed, %d failed' "$CHECK_PASSED" "$CHECK_FAILED"
	[ "$CHECK_SKIPPED" -eq 0 ] || printf ', %d skipped' "$CHECK_SKIPPED"
	printf '\n'
	[ "$CHECK_FAILED" -eq 0 ]
}

cmd_check() {
	local fast=no
	case "$*" in
	'') ;;
	--fast) fast=yes ;;
	*) die "check takes --fast or nothing" ;;
	esac
	take_lock check
	rm -rf "$TOP/var/check" && mkdir -p "$TOP/var/check"
	step "packages" packages_install "${PACKAGES_BUILD[@]}" \
		"${PACKAGES_RUN[@]}" "${PACKAGES_CHECK[@]}"
	[ "$fast" = yes ] || step "node" node_find
	step "build" build build-check --enable-werror
	check_make "unit tests and lint" build-check check
	if [ "$fast" = no ]; then
		step "build with faults" build_faults
		! is_root || place_make_user
		check_worlds
	fi
	check_verdict
}
