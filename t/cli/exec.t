#!/bin/bash
# sandlease exec: a command in a session behaves as if it ran here.
# shellcheck disable=SC2016 # what is in single quotes is for the other shell
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/stack.sh"

stack_begin
cli=$STACK_BUILD/sandlease
work=$STACK_DIR/cli
mkdir "$work" && cd "$work" || exit 1
id=$("$cli" create) || exit 1
run() { timeout 60 "$cli" exec "$@"; }

# gone PATTERN: waits until no process in the session has such a command line
gone() {
	local i
	for ((i = 0; i < 100; i++)); do
		run -n "$id" -- pgrep -f "$1" >/dev/null || return 0
	done
	return 1
}

# ---- output, code, words

run "$id" -- sh -c 'echo out; echo err >&2; exit 7' >out 2>err </dev/null
is "$?" 7 "the exit code is the command's"
is "$(cat out)|$(cat err)" 'out|err' "standard output and error are apart"
words=('a b' "it's" '$HOME' '*' '' $'two\nlines' 'é' '--' '-n' ';' '~')
printf '<%s>' "${words[@]}" >want
run "$id" -- printf '<%s>' "${words[@]}" </dev/null >out
ok "words arrive as they are" cmp want out
run -c 'echo $((6 * 7)) | cat; false' "$id" </dev/null >out
is "$?|$(cat out)" '1|42' "a line is for the shell"
is "$(run -e A='b c' -w /tmp -c 'echo $A; pwd' "$id" </dev/null)" $'b c\n/tmp' \
	"variables and directory are the command's"
run -w /nowhere "$id" -- true </dev/null 2>err
is "$?" 1 "a directory that is not there is the command's failure"
run "$id" -- /nowhere </dev/null 2>err
is "$?" 127 "a command that is not there is 127"
run -c 'kill -KILL $$' "$id" </dev/null
is "$?" 137 "one that is killed is 128 and the signal"
run -t 1 "$id" -- sleep 60 </dev/null 2>err
is "$?" 124 "a timeout is 124"
like "$(cat err)" 'timeout after 1000ms' "and says so"
run "$id" </dev/null 2>err
is "$?" 125 "no command is a failure of ours"
run "$id" -c true </dev/null 2>err
is "$?" 125 "and so are options behind the id"
like "$(cat err)" 'options stand before the ID' "which says what to do"

curl -sS -o /dev/null -H "Authorization: Bearer $SANDLEASE_API_KEY" \
	"$SANDLEASE_URL/v1/sessions/$id/api/execute" \
	-d '{"command": "cd /tmp; export FROM=shell", "sessionId": "s2"}'
is "$(run -s s2 -c 'echo $FROM $PWD' "$id" </dev/null)" 'shell /tmp' \
	"it begins like the shell it is given"

run --json "$id" -- sh -c 'echo hi; exit 3' </dev/null >out
is "$?" 3 "with --json the code is the command's, too"
like "$(head -n 1 out)" '^\{"type":"start"' "it begins with start"
like "$(tail -n 1 out)" '^\{"type":"complete".*"exitCode":3' "it ends with complete"

# ---- bytes

head -c 3000000 /dev/urandom >bytes
sum=$(sha256sum <bytes)
is "$(run "$id" -- sha256sum <bytes)" "$sum" "any bytes go in"
run "$id" -- cat <bytes >back
is "$(sha256sum <back)" "$sum" "and come out"
is "$(run -n -c 'head -c 20000000 /dev/zero; echo end >&2' "$id" 2>err | wc -c)|$(cat err)" \
	'20000000|end' "all of much output comes, however fast it is written"
is "$(echo piped | run "$id" -- cat)" piped "a pipe is its input"
is "$(printf '' | run "$id" -- wc -c)" 0 "an empty one, too"
mapfile -t lines < <(printf '%s\n' 1 2 3 | while read -r n; do run -n "$id" -- echo "$n"; done)
is "${lines[*]}" '1 2 3' "-n leaves the input alone"
is "$(yes | run "$id" -- head -n 1)" y "input that is not read stops nobody"

# output is live: the next input depends on it
coproc LIVE { run "$id" -- sh -c 'while read -r x; do echo "got $x"; done'; }
for n in 1 2; do
	echo "$n" >&"${LIVE[1]}"
	read -r -t 20 answer <&"${LIVE[0]}"
	is "$answer" "got $n" "an answer comes while it runs ($n)"
done
eval "exec ${LIVE[1]}>&-"
wait "$LIVE_PID"
is "$?" 0 "and it ends with its input"

# ---- signals and readers

interrupted() { # NAME SIGNAL WANT COMMAND...
	local name=$1 signal=$2 want=$3 pid
	shift 3
	: >out
	"$cli" exec "$id" -- sh -c "$1" >out 2>err </dev/null &
	pid=$!
	until grep -q begun out; do kill -0 "$pid" || break; done
	kill -"$signal" "$pid"
	wait "$pid"
	is "$?" "$want" "$name"
}
interrupted "an interrupt ends it: 130" INT 130 'echo begun; sleep 4711; echo not reached'
ok "and nothing of it is left" gone 'sleep 4711'
interrupted "one that it catches is its own business" INT 9 \
	'trap "exit 9" INT; echo begun; while :; do sleep 0.05; done'
interrupted "SIGTERM is passed on" TERM 143 'echo begun; sleep 4712'
ok "and ends all of it" gone 'sleep 4712'
mkfifo waiting
exec 9<>waiting
"$cli" exec "$id" -- sh -c 'echo begun; sleep 4713' >out 2>err <waiting &
pid=$!
until grep -q begun out; do kill -0 "$pid" || break; done
kill -INT "$pid"
wait "$pid"
is "$?" 130 "one with input is interrupted, too"
exec 9>&-
ok "and is gone" gone 'sleep 4713'

"$cli" exec -n "$id" -- yes 2>/dev/null | head -n 1 >out
is "${PIPESTATUS[0]}" 141 "it ends when nobody reads it"
ok "in the session, too" gone '^yes'
"$cli" exec -n --json "$id" -- yes 2>/dev/null | head -n 1 >out
is "${PIPESTATUS[0]}" 141 "also with --json"

# ---- a session that sleeps, one that goes

"$cli" sleep "$id" >/dev/null
is "$(run -n "$id" -- echo awake)" awake "a call wakes it"
"$cli" sleep "$id" >/dev/null
is "$(echo x | run "$id" -- cat)" x "also one with input"
"$cli" exec -n "$id" -- sh -c 'echo begun; sleep 600' >out 2>err &
pid=$!
until grep -q begun out; do kill -0 "$pid" || break; done
"$cli" rm "$id" >/dev/null
wait "$pid"
code=$?
[ "$code" -ge 125 ] && pass "one whose session goes ends ($code)" || fail "one whose session goes ends ($code)"

done_testing
