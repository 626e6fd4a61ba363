# shellcheck shell=bash
# dev-say.sh: prints the messages of ./dev, and ends it after an error.
#
# One line per step: a tick, the step, how long it took.  The output of a command
# goes to a log; the tail of the log is shown when the command fails.  Needs $LOGS
# (a directory) before the first quiet step.

if [ -t 1 ]; then
	say_green=$'\e[32m' say_red=$'\e[31m' say_dim=$'\e[2m' say_plain=$'\e[0m'
else
	say_green='' say_red='' say_dim='' say_plain=''
fi

say() { printf '%s\n' "$*"; }
note() { printf '    %s%s%s\n' "$say_dim" "$*" "$say_plain"; }

# die SENTENCE: prints one clear sentence and exits with 1.  The EXIT trap of the
# command that is running stops what the command had started.
die() {
	printf '%s✗%s %s\n' "$say_red" "$say_plain" "$*" >&2
	exit 1
}

now_ms() {
	local t=$EPOCHREALTIME
	printf '%s' $((${t%[.,]*} * 1000 + 10#${t#*[.,]} / 1000))
}

# seconds_since MS: "0.3 s"
seconds_since() {
	local ms=$(($(now_ms) - $1))
	printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
}

tick() { # TEXT SINCE_MS
	printf '%s✓%s %-44s %s%s%s\n' "$say_green" "$say_plain" "$1" \
		"$say_dim" "$(seconds_since "$2")" "$say_plain"
}

# step TEXT COMMAND...: runs COMMAND in this shell and ticks it off.  COMMAND says
# itself why it fails (die), or its status is reported here.
step() {
	local text=$1 since
	shift
	since=$(now_ms)
	"$@" || die "$text failed"
	tick "$text" "$since"
}

# quiet LOG COMMAND...: output goes to $LOGS/LOG.log; on failure its tail is
# shown and the status returned.
quiet() {
	local log=$LOGS/$1.log status=0
	shift
	"$@" >"$log" 2>&1 </dev/null || status=$?
	[ "$status" -eq 0 ] || show_tail "$log"
	return "$status"
}

show_tail() { # FILE
	[ -s "$1" ] || return 0
	printf '%s--- the end of %s%s\n' "$say_dim" "$1" "$say_plain" >&2
	tail -n 25 -- "$1" | sed 's/^/    /' >&2
}

# Seconds that anything may take that must happen.
# shellcheck disable=SC2034 # for those who source this
PATIENCE=120 # wait: against hanging, never a measure

# wait_for SECONDS COMMAND...: runs COMMAND until it succeeds; 1 when time is over.
wait_for() {
	local until=$(($(now_ms) + $1 * 1000))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(now_ms)" -lt "$until" ] || return 1
		sleep 0.05 # wait: polls, the caller has the limit
	done
}
