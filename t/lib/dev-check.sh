# shellcheck shell=bash
# shellcheck disable=SC2015,SC2030,SC2031,SC2034 # `a && b || die` means both or die; variables are shared by the files of t/lib
# dev-check.sh: ./dev check.
#
# `make check` runs unit tests and lint; every other t/*/*.t needs a world
# (PostgreSQL, nginx, namespaces) and is run by t/lib/run-tap, side by side.
#
# Some tests are too long for every run.  SANDLEASE_SAMPLE says which part of them
# is run: a number from 0 to 6, by default the day's, so that a week runs all of
# them, or `all`.

readonly DEEP_HOURS=3

CHECK_PASSED=0 CHECK_FAILED=0 CHECK_SKIPPED=0

check_count() { # PASSED FAILED SKIPPED
	CHECK_PASSED=$((CHECK_PASSED + $1))
	CHECK_FAILED=$((CHECK_FAILED + $2))
	CHECK_SKIPPED=$((CHECK_SKIPPED + $3))
}

# check_time WHAT SINCE_MS: keeps a line for check_times.
check_time() {
	local ms=$(($(now_ms) - $2))
	printf '%5d.%d %s\n' $((ms / 1000)) $((ms % 1000 / 100)) "$1" >>"$TOP/var/check/parts"
}

# check_step WHAT COMMAND...: runs a step and keeps its time.
check_step() {
	local since
	since=$(now_ms)
	step "$@"
	check_time "$1" "$since"
}

# Writes the times of parts and scripts, slowest first, to var/check/times.
# Scripts run side by side: their times add up to more than that of their part.
check_times() {
	{
		sort -rn "$TOP/var/check/parts"
		echo
		(cd "$TOP/var/check" && grep -H . ./*/times 2>/dev/null) |
			sed -E 's|^\./worlds/times:||; s|^\./(.*)/times:(.*)|\2 (\1)|' | sort -rn
	} >"$TOP/var/check/times"
}

# Whether a skipped test has failed.
must_run() { [ "${SANDLEASE_MUST_RUN:-}" = 1 ]; }

# Prints the failures, and keeps them: the verdict repeats them.
check_failed() { tee -a "$TOP/var/check/failed"; }

# check_summary LOG: "passed failed skipped" of automake's own summary.
check_summary() {
	awk '/^# (PASS|XFAIL): / { p += $3 } /^# (FAIL|XPASS|ERROR): / { f += $3 }
		/^# SKIP: / { s += $3 } END { print p + 0, f + 0, s + 0 }' "$1"
}

# check_make NAME DIR TARGET [ARG...]: a make target that runs tests; a build
# that fails counts as one failure.
check_make() {
	local log=$TOP/var/check/${1//\//-}.log dir=$2 since p f s
	since=$(now_ms)
	build_make "$dir" "${@:3}" >"$log" 2>&1 </dev/null
	local status=$?
	read -r p f s < <(check_summary "$log")
	[ "$status" -eq 0 ] || [ "$f" -gt 0 ] || f=1
	check_count "$p" "$f" "$s"
	check_time "$1" "$since"
	if [ "$f" -eq 0 ]; then
		tick "$1: $p ok$([ "$s" -eq 0 ] || echo ", $s skipped")" "$since"
	else
		{
			say "✗ $1: $p ok, $f not ok"
			check_show "$log" "$TOP/$dir/test-suite.log"
			check_again "$log" "$dir"
		} | check_failed
	fi
	grep -E '^SKIP: ' "$log" | sed 's/^/    /' | if must_run; then check_failed; else cat; fi
}

# Prints of automake's log only the failures of tests that failed; of a build that
# failed, its end.
check_show() { # MAKE_LOG SUITE_LOG
	if grep -qE '^(FAIL|ERROR): ' "$1"; then
		awk '/^(FAIL|ERROR): [^ ]+$/ { on = 1 } /^(SKIP|XFAIL): [^ ]+$/ { on = 0 }
			on && NF && !/^(ok|PASS:|====)/' "$2" | head -n 80 | sed 's/^/    | /'
	else
		tail -n 25 "$1" | sed 's/^/    | /'
	fi
}

# Prints the command that repeats each test that failed.
check_again() { # MAKE_LOG DIR
	local again="make -C $2 check TESTS="
	[ "$2" != build-check ] || again="./dev check "
	sed -nE 's/^(FAIL|ERROR): (t\/[^ ]+).*/\2/p' "$1" | sort -u | sed "s|^|    again: $again|"
}

# SANDLEASE_SAMPLE is the number of the day, unless the caller has set it.
check_sample() {
	export SANDLEASE_SAMPLE=${SANDLEASE_SAMPLE:-$(($(date +%s) / 86400 % 7))}
	[[ $SANDLEASE_SAMPLE =~ ^([0-6]|all)$ ]] ||
		die "SANDLEASE_SAMPLE=$SANDLEASE_SAMPLE: must be 0 to 6, or all"
}

# ---- which tests

# Test scripts that need a world, in the directories given below t/.
check_scripts() { # AREA...
	(cd "$TOP" && find "${@/#/t/}" -maxdepth 1 -name '*.t' -perm -u+x | LC_ALL=C sort)
}

check_areas() {
	(cd "$TOP/t" && find . -mindepth 2 -maxdepth 2 -name '*.t' -not -path './lint/*' -printf '%h\n') |
		sed 's|^\./||' | LC_ALL=C sort -u
}

# The scripts of `--fast`: behaviour of fences and leases that no unit test sees.
check_fast_scripts() {
	check_scripts sql lease | while read -r file; do
		head -n 5 "$TOP/$file" | grep -qE '^# (long|alone|idle): ' || echo "$file"
	done
}

# check_find NAME: the tests that NAME means, unit tests without ".c".  NAME is a
# path, an area (a directory of t/ or t/unit/) or the name of a file.
check_find() {
	local name=${1#./}
	name=${name#"$TOP/"}
	(
		cd "$TOP" || exit
		if [[ $name == t/* && -f $name && $name =~ \.[tc]$ ]]; then
			printf '%s\n' "${name%.c}"
		elif [[ $name == t/* && -f $name.c ]]; then
			printf '%s\n' "$name"
		else
			name=${name#t/} name=${name%/} name=${name#unit/}
			find t -path t/lib -prune -o \( -path "t/$name/*.t" \
				-o -path "t/unit/$name/*_test.c" -o -path "t/*/$name.t" \
				-o -path "t/unit/*/${name}_test.c" -o -path "t/fuzz/$name.c" \) -print
		fi
	) | sed 's/\.c$//' | LC_ALL=C sort -u
}

check_find_all() { # NAME...
	local name found
	for name in "$@"; do
		found=$(check_find "$name")
		[ -n "$found" ] || die "there is no test called $name: give a path" \
			"(t/api/ports.t), an area ($(check_areas | tr '\n' ' ' | sed 's/ $//'))" \
			"or the name of a file (ports)"
		printf '%s\n' "$found"
	done
}

# ---- running them

# After a signal ./dev check ends the scripts that run, and waits until they have
# cleaned up.
check_scripts_run() { # LOGS FILE...
	local guard=1800 runner # wait: against a script that hangs
	[ "$SANDLEASE_SAMPLE" != all ] || guard=10800
	"$TOP/t/lib/run-tap" --guard "$guard" "$@" &
	runner=$!
	trap 'kill "$runner"; wait "$runner"; exit 130' INT TERM
	wait "$runner"
	trap 'exit 130' INT TERM
}

# check_run TITLE LOGS BUILD FILE...: scripts with the programs of that build;
# logs go to var/check/LOGS.
check_run() {
	local title=$1 logs=$TOP/var/check/$2 build=$TOP/$3 since p f s
	shift 3
	since=$(now_ms)
	top_srcdir=$TOP top_builddir=$build check_scripts_run "$logs" "${@/#/$TOP/}"
	if read -r p f s <"$logs/counts"; then
		cat "$logs/failed" >>"$TOP/var/check/failed"
	else
		say "✗ $title: t/lib/run-tap was ended and did not say how it went" | check_failed
		p=0 f=1 s=0
	fi
	check_count "$p" "$f" "$s"
	check_time "$title" "$since"
}

# check_one NAME LOG COMMAND...: COMMAND passes or fails as one test.
check_one() {
	local name=$1 log=$2 since
	shift 2
	since=$(now_ms)
	if quiet "$log" "$@"; then
		tick "$name" "$since"
		check_count 1 0 0
	else
		say "✗ $name" | check_failed
		check_count 0 1 0
	fi
	check_time "$name" "$since"
}

# check_beside COMMAND...: runs shell commands side by side, each in a process of its
# own, prints the output of each when all have ended, and adds up their counts.  For
# parts that leave a core idle.  A command that ends without counts is one failure.
check_beside() {
	local -a logs=() jobs=()
	local command log p f s
	for command in "$@"; do
		log=$(mktemp "$TOP/var/check/beside-XXXXXX")
		logs+=("$log")
		(
			trap 'exit 130' INT TERM
			CHECK_PASSED=0 CHECK_FAILED=0 CHECK_SKIPPED=0
			eval "$command"
			echo "$CHECK_PASSED $CHECK_FAILED $CHECK_SKIPPED" >"$log.counts"
		) >"$log" 2>&1 </dev/null &
		jobs+=($!)
	done
	trap 'kill "${jobs[@]}" 2>/dev/null; wait; exit 130' INT TERM
	wait "${jobs[@]}"
	trap 'exit 130' INT TERM
	for command in "$@"; do
		log=${logs[0]}
		logs=("${logs[@]:1}")
		cat "$log"
		p=0 f=1 s=0
		if [ -s "$log.counts" ]; then
			read -r p f s <"$log.counts"
		else
			say "✗ it ended without a result: $command" | check_failed
		fi
		check_count "$p" "$f" "$s"
		rm -f "$log" "$log.counts"
	done
}

check_worlds() { # FILE...
	[ $# -eq 0 ] || check_run "scripts" worlds build-check "$@"
}

# Builds the programs of t/ that scripts start, and runs no test.
check_programs() { build_make build-check check TESTS=; }

check_prepare() { # FILE...
	[ $# -gt 0 ] || return 0
	! is_root || place_make_user || die "cannot make the user $SVC_USER"
	check_step "test programs" quiet test-programs check_programs
	[[ " $* " != *" t/chaos/"* ]] || check_step "build with faults" build_faults
	[[ ! " $* " =~ " t/"(sdk|browser|mutation)/ ]] || check_step "node" node_find
	[[ ! " $* " =~ " t/"(egress|docs)/ ]] || check_step "npm" npm_find
}

check_units() { # TEST...
	[ $# -gt 0 ] || return 0
	check_make "unit tests and lint" build-check check TESTS="$*"
}

check_named() { # NAME...
	local tests units=() scripts=() t
	tests=$(check_find_all "$@") || exit 1
	for t in $tests; do
		case $t in
		t/lint/*) units+=("$t") ;;
		*.t) scripts+=("$t") ;;
		*) units+=("$t") ;;
		esac
	done
	check_units "${units[@]}"
	check_prepare "${scripts[@]}"
	check_worlds "${scripts[@]}"
}

check_whole() { # SCRIPT...
	check_make "unit tests and lint" build-check check
	check_prepare "$@"
	check_worlds "$@"
}

# ---- tests that are too long for every run

# check_crash_points KIND: with the programs of build-KIND.  These programs do not
# look for leaks when they end: that takes seconds, and a walk starts thousands of
# them.  An agent with a sanitizer needs shared libraries, which not every
# enclosure has, so the agent is that of the plain build.
check_crash_points() {
	local build=build-$1
	check_one "chaos programs, $1" "$build" build_sanitized "$1" chaos-programs
	ASAN_OPTIONS=detect_leaks=0 SANDLEASE_FAULTS_BUILD=$TOP/$build \
		STACK_AGENT_BUILD=$TOP/build-faults check_run \
		"crash points, ${SANITIZERS[$1]}" "crash-$1" "$build" t/chaos/crash-points.t
}

# check_sanitized_units MACHINE: leaks are looked for, too.  On arm64 that takes 4 s
# for each program, because LeakSanitizer walks the whole address space; valgrind
# looks for leaks in the same tests but those of UNIT_PIDFD, so a landing asks
# LeakSanitizer of these only.
# shellcheck disable=SC2016 # variables of make
check_sanitized_units() {
	local leaks=1
	[ "$1" != aarch64 ] || leaks=0
	ASAN_OPTIONS=detect_leaks=$leaks check_make "unit tests, ASan and UBSan" \
		build-asan check 'TESTS=$(filter-out $(UNIT_PIDFD),$(UNIT))'
	ASAN_OPTIONS=detect_leaks=1 check_make "unit tests that valgrind cannot run, ASan and UBSan" \
		build-asan check 'TESTS=$(UNIT_PIDFD)'
}

# check_fuzz SECONDS: fuzzes each target of the sample for so long.
check_fuzz() {
	local dir number=0
	local -a targets=()
	for dir in "$TOP"/t/fuzz/corpus/*/; do
		[ "$SANDLEASE_SAMPLE" != all ] && [ "$SANDLEASE_SAMPLE" -ne $((number % 7)) ] ||
			targets+=("$(basename "$dir")")
		number=$((number + 1))
	done
	check_one "fuzzing, $1 s each: ${targets[*]}" fuzz \
		"$TOP/dev" fuzz --seconds "$1" "${targets[@]}"
}

check_deep() {
	local seed=$RANDOM
	check_one "everything builds with ASan" build-asan build_sanitized asan all
	check_sanitized_units all
	check_crash_points asan
	check_crash_points tsan
	check_one "chaos, 10 minutes, --seed $seed" chaos \
		"$TOP/dev" chaos --seconds 600 --seed "$seed"
	check_fuzz 360 # an hour in all
}

# Prints the failures once more, because a long log may be cut, and the last line.
check_verdict() {
	if must_run && [ "$CHECK_SKIPPED" -gt 0 ]; then
		say "SANDLEASE_MUST_RUN=1: $CHECK_SKIPPED skipped count as failed"
		CHECK_FAILED=$((CHECK_FAILED + CHECK_SKIPPED)) CHECK_SKIPPED=0
	fi
	if [ -s "$TOP/var/check/failed" ]; then
		say "what failed:"
		cat "$TOP/var/check/failed"
	fi
	printf '%d passed, %d failed' "$CHECK_PASSED" "$CHECK_FAILED"
	[ "$CHECK_SKIPPED" -eq 0 ] || printf ', %d skipped' "$CHECK_SKIPPED"
	printf '\n'
	[ "$CHECK_FAILED" -eq 0 ]
}

check_usage() { die "usage: ./dev check [--times] [--fast | --deep | NAME...]"; }

cmd_check() {
	local which=whole times=no scripts
	local -a names=()
	while [ $# -gt 0 ]; do
		case $1 in
		--times) times=yes ;;
		--fast | --deep) [ "$which" = whole ] && which=${1#--} || check_usage ;;
		-*) check_usage ;;
		*) names+=("$1") ;;
		esac
		shift
	done
	[ ${#names[@]} -eq 0 ] || [ "$which" = whole ] || check_usage
	[ ${#names[@]} -eq 0 ] || check_find_all "${names[@]}" >/dev/null || exit 1
	[ "$which" != deep ] || SANDLEASE_SAMPLE=all
	check_sample
	[ "$which" != deep ] || say "all of it takes about $DEEP_HOURS hours on two cores"
	take_lock check
	trap 'exit 130' INT TERM
	rm -rf "$TOP/var/check" && mkdir -p "$TOP/var/check"
	check_step "packages" packages_install "${PACKAGES_BUILD[@]}" \
		"${PACKAGES_RUN[@]}" "${PACKAGES_CHECK[@]}"
	check_step "build" build build-check --enable-werror
	if [ ${#names[@]} -gt 0 ]; then
		check_named "${names[@]}"
	elif [ "$which" = fast ]; then
		mapfile -t scripts < <(check_fast_scripts)
		check_whole "${scripts[@]}"
	else
		# shellcheck disable=SC2046 # names of directories
		mapfile -t scripts < <(check_scripts $(check_areas))
		check_whole "${scripts[@]}"
		[ "$which" != deep ] || check_deep
	fi
	check_times
	[ "$times" = no ] || sed 's/^/  /' "$TOP/var/check/times"
	check_verdict
}
