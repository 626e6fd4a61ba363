# shellcheck shell=bash
# tap.sh: prints TAP for test scripts.  The plan is printed last.
#
#   . "$top_srcdir/t/lib/tap.sh"
#   ok "names are unique" test -z "$(sort names | uniq -d)"
#   is "$(wc -l <list)" 3 "the list has three lines"
#   done_testing

tap_count=0 tap_failed=0

diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

pass() { printf 'ok %d - %s\n' $((++tap_count)) "$1"; }

fail() {
	printf 'not ok %d - %s\n' $((++tap_count)) "$1"
	tap_failed=$((tap_failed + 1))
	[ -z "${TAP_UNTIL_FAILURE:-}" ] || exit 1 # the first failure is enough
}

# ok NAME COMMAND...
ok() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		pass "$name"
	else
		fail "$name"
		diag "$*"
		[ -z "$out" ] || diag "$out"
		return 1
	fi
}

# is GOT WANT NAME
is() {
	if [ "$1" = "$2" ]; then
		pass "$3"
	else
		fail "$3"
		diag "got:  $1"
		diag "want: $2"
		return 1
	fi
}

# like GOT REGEX NAME
like() {
	if [[ $1 =~ $2 ]]; then
		pass "$3"
	else
		fail "$3"
		diag "got:  $1"
		diag "want: $2"
		return 1
	fi
}

# none NAME TEXT: passes when TEXT is empty, else shows it.
none() {
	if [ -z "$2" ]; then
		pass "$1"
	else
		fail "$1"
		diag "$2"
		return 1
	fi
}

skip() { printf 'ok %d - %s # SKIP %s\n' $((++tap_count)) "$1" "$2"; }

# skip_all REASON: skips the whole script.
skip_all() {
	printf '1..0 # SKIP %s\n' "$1"
	exit 0
}

done_testing() {
	printf '1..%d\n' "$tap_count"
	[ "$tap_failed" -eq 0 ]
}
