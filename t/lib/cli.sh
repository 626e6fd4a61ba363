# shellcheck shell=bash
# shellcheck disable=SC2034 # variables are for the tests
# cli.sh: a stack, and the command line as a person uses it, in an empty home.
#
# Sourced after tap.sh.  $cli is the program, $work the home and the directory.

# shellcheck source=/dev/null
. "${top_srcdir:?}/t/lib/stack.sh"

PATIENCE=120 # wait: against hanging, never a measure
stack_begin
cli=$STACK_BUILD/sandlease
work=$STACK_DIR/cli
mkdir "$work" && cd "$work" || exit 1
export HOME=$work XDG_CONFIG_HOME=

# try COMMAND...: puts stdout into out, stderr into err, the exit code into code.
try() {
	timeout "$PATIENCE" "$cli" "$@" >out 2>err </dev/null
	code=$?
	out=$(<out) err=$(<err)
}

# Ids of the sessions that exist.  A deletion that took too long for its request is
# completed by the reaper, and a stack has none.
left() {
	! "$cli" ls | grep -q ' deleting ' || stack_reap >/dev/null
	"$cli" ls -q
}
none_left() { # TEXT
	none "$1" "$(left)" || diag "$("$cli" ls)"
}
