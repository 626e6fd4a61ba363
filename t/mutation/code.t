#!/bin/bash
# long: faults are compiled and tried one after the other, two at a time
# Tests that the tests can fail: each fault of faults.sh makes the test that it
# names fail.  Copies of the checkout are changed, so that the programs need no
# hooks; t/sql/mutation.t does the same with the database's functions.
#
#   MUTATION_ONLY='watch|git' t/mutation/code.t   # faults whose name or test fits
. "${top_srcdir:=.}/t/lib/tap.sh"
set -uo pipefail
cd "$top_srcdir" || exit 1
top=$PWD
build=$(cd "${top_builddir:=$PWD/build}" 2>/dev/null && pwd) || skip_all "nothing is built"
[ "${build%/*}" = "$top" ] || skip_all "the build is not in a directory of the checkout"
[ -x "$build/t/unit/provider/record_test" ] || skip_all "the tests are not built"
build=${build##*/}

readonly LANES=2 # faults that are tried side by side, each in its own copy

dir=$(mktemp -d) || exit 1
trap 'rm -rf -- "$dir"' EXIT
chmod 755 "$dir"

# ---- the list

names=() files=() changes=() targets=() tests=() says=()

# The sample to which a name belongs: the same on every day and machine.
sample_of() {
	local crc
	crc=$(printf %s "$1" | gzip -c | tail -c 8 | od -A n -t u4 -N 4)
	echo $((crc % 7))
}

is_wanted() { # NAME TEST
	[[ "$1 $2" =~ ${MUTATION_ONLY:-} ]] || return 1
	case ${SANDLEASE_SAMPLE:-all} in
	all) return 0 ;;
	*) [ -n "${always:-}" ] || [ "$(sample_of "$1")" -eq "$SANDLEASE_SAMPLE" ] ;;
	esac
}

# red NAME FILE SED TARGET TEST SAYS: when SED has changed FILE and TARGET is built
# from it, TEST says `not ok` of SAYS.  TARGET - needs no compiler.
red() {
	is_wanted "$1" "$5" || return 0
	names+=("$1") files+=("$2") changes+=("$3") targets+=("$4") tests+=("$5") says+=("$6")
}

. t/mutation/faults.sh
. t/mutation/faults_service.sh
. t/mutation/faults_host.sh
. t/mutation/faults_network.sh

# ---- trying them

# Copies the checkout with its dates, so that make has nothing to do.
copy() { # LANE
	mkdir "$dir/$1" && chmod 755 "$dir/$1" &&
		tar -cf - --exclude=./.git --exclude=./var --exclude=./build \
			--exclude='./build-*' . | tar -xf - -C "$dir/$1" &&
		cp -a "$top/$build" "$dir/$1/$build"
}

# Without warnings: a mutant may leave a function or variable unused.
compile() { # LANE TARGET
	make -s -C "$dir/$1/$build" ACLOCAL=: AUTOCONF=: AUTOHEADER=: AUTOMAKE=: \
		WARN_CFLAGS=-w "$2" >"$dir/$1/make.log" 2>&1
}

# Runs TEST, with its output in OUT.  TEST stays in our process group, so that it
# gets the signals that end us.
run_test() { # HERE TEST OUT UNTIL_FAILURE
	local seconds=600 # wait: 600 s, a test that notices needs less than 60
	# wait: 40 s of patience; a fault that makes a test wait makes it wait for ever
	(cd "$1" && TAP_PATIENCE=40 TAP_UNTIL_FAILURE=$4 CMOCKA_MESSAGE_OUTPUT=TAP SANDLEASE_SAMPLE=all \
		top_srcdir=$1 top_builddir=$1/$build \
		timeout --foreground "$seconds" "${2/#BUILD/$build}" \
		>"$3" 2>&1 </dev/null)
}

has_said() { grep '^not ok' "$1" | grep -qF -- "$2"; } # OUT SAYS

# try NUMBER FILE SED TARGET TEST SAYS: writes the result to NUMBER.verdict:
# unfit, uncompiled, or the status of the test, whose output is in NUMBER.out.
try() {
	local here=$dir/lane$lane out=$dir/$1.out status=0
	sed -E -i "$3" "$here/$2"
	if cmp -s "$top/$2" "$here/$2"; then
		echo unfit >"$dir/$1.verdict"
		return
	fi
	if [ "$4" != - ] && ! compile "lane$lane" "$4"; then
		status=uncompiled
		cp "$here/make.log" "$out"
	else
		run_test "$here" "$5" "$out" 1 || status=$?
		# another check failed first, perhaps by chance: run all of them
		if grep -q '^not ok' "$out" && ! has_said "$out" "$6"; then
			status=0
			run_test "$here" "$5" "$out" "" || status=$?
		fi
	fi
	echo "$status" >"$dir/$1.verdict"
	cp "$top/$2" "$here/$2" # newer than the objects of the mutant
	# built again, or this fault would still be there with the lane's next one
	[ "$4" = - ] || compile "lane$lane" "$4" || echo unmended >"$dir/$1.verdict"
}

tell() { # NUMBER
	local name=${names[$1]} test=${tests[$1]#BUILD/} out=$dir/$1.out verdict
	verdict=$(cat "$dir/$1.verdict" 2>/dev/null || echo none)
	if [ "$verdict" = unfit ]; then
		fail "$name: the change fits ${files[$1]} no more"
	elif [ "$verdict" = unmended ]; then
		fail "$name: the code without the fault does not compile any more"
	elif [ "$verdict" = uncompiled ]; then
		fail "$name: the mutant does not compile"
		diag "$(tail -n 5 "$out")"
	elif [ "$verdict" != 0 ] && has_said "$out" "${says[$1]}"; then
		pass "$name: $test notices"
		diag "$(grep '^not ok' "$out" | grep -m 1 -F -- "${says[$1]}")"
		# a person who tries single faults also sees why the test failed
		[ -z "${MUTATION_ONLY:-}" ] || diag "$(grep -A 12 -m 1 '^not ok' "$out")"
	elif [ "$verdict" != 0 ] && grep -q '^not ok' "$out"; then
		fail "$name: $test must say \`not ok\` of: ${says[$1]}"
		diag "$(grep -A 12 '^not ok' "$out")"
	elif grep -q '^1\.\.0 # SKIP' "$out"; then
		skip "$name: $test notices" "$(sed -n 's/^1\.\.0 # SKIP //p' "$out")"
	else
		fail "$name: $test must notice"
		diag "status $verdict: $(tail -n 3 "$out")"
	fi
}

for ((lane = 0; lane < LANES; lane++)); do
	copy "lane$lane" || exit 1
done
ok "a copy of the checkout builds" compile lane0 sandlease-agent

export top dir build
export -f try compile run_test has_said
for i in "${!names[@]}"; do
	printf '%s\0' "$i" "${files[i]}" "${changes[i]}" "${targets[i]}" "${tests[i]}" "${says[i]}"
done | xargs -0 -r -n 6 -P "$LANES" --process-slot-var=lane bash -c 'try "$@"' try
for i in "${!names[@]}"; do
	tell "$i"
done

done_testing
