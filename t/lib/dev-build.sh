# shellcheck shell=bash
# shellcheck disable=SC2015,SC2034 # `a && b || die` means both or die; variables are shared by the files of t/lib
# dev-build.sh: makes the build directories.  ./dev up runs build/, tests run
# build-check/; each is built again only as far as make finds it out of date.

build_log() { printf 'build%s' "${1#build}"; }

# With ccache the builds share equal objects: the plain build, the one with faults
# and distcheck's compile most files to the same object.  The directory of a
# build is in the debug information only; without CCACHE_NOHASHDIR it would make
# every object different.
build_compiler() {
	if command -v ccache >/dev/null; then echo "ccache ${CC:-gcc}"; else echo "${CC:-gcc}"; fi
}
export CCACHE_NOHASHDIR=1

# build_configure DIR FLAG...: runs configure when the build is new or the flags
# have changed; make itself runs it again when configure.ac or a list of sources
# has changed.
build_configure() {
	local dir=$TOP/$1 flags
	shift
	set -- "CC=$(build_compiler)" "$@"
	flags="$*"
	[ -x "$TOP/configure" ] && [ "$TOP/configure" -nt "$TOP/configure.ac" ] ||
		(cd "$TOP" && autoreconf -fi) || return 1
	[ -f "$dir/Makefile" ] && [ "$(cat "$dir/.flags" 2>/dev/null)" = "$flags" ] &&
		return 0
	mkdir -p "$dir"
	(cd "$dir" && ../configure -q "$@") && printf '%s\n' "$flags" >"$dir/.flags"
}

build_make() { # DIR TARGET...
	local dir=$1
	shift
	make -C "$TOP/$dir" -j"$(nproc)" "$@"
}

build_all() { # DIR FLAG...
	local dir=$1
	build_configure "$@" && build_make "$dir" all
}

# build DIR FLAG...: prints nothing, or dies with the compiler's messages.
build() {
	quiet "$(build_log "$1")" build_all "$@" || die "the build failed"
}

# build_sanitized KIND TARGET...: in build-KIND, with crash points, so that one
# build serves unit tests, the agent's and the walk over crash points.  Without
# -Werror: with instrumented code some of the compiler's warnings are false.
declare -rA SANITIZERS=([asan]="address,undefined" [tsan]=thread)
build_sanitized() {
	local kind=$1
	shift
	build_configure "build-$kind" --enable-faults --enable-sanitize="${SANITIZERS[$kind]}" &&
		build_make "build-$kind" "$@"
}

# The fuzz targets, with libFuzzer instead of a main() of our own.
build_fuzz() {
	CC=clang build_configure build-fuzz --enable-sanitize=address,undefined \
		CFLAGS="-O1 -g -fsanitize=fuzzer-no-link" &&
		build_make build-fuzz FUZZ_MAIN= LIBFUZZER=-fsanitize=fuzzer fuzz-targets
}

# A second build that can be made to crash, stop and fail (src/common/fault.h).
build_faults() {
	quiet build-faults build_faults_all || die "the build with faults failed"
}
build_faults_all() {
	build_configure build-faults --enable-werror --enable-faults &&
		build_make build-faults chaos-programs
}
