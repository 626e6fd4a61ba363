#!/bin/bash
# Tests that a command run by sandlease exec behaves like a local one, and that
# sandlease cp copies files as if both sides were local.
# shellcheck disable=SC2016 # what is in single quotes is for the other shell
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/cli.sh"

id=$("$cli" create) || exit 1
run() { timeout "$PATIENCE" "$cli" exec "$@"; }

# gone PATTERN: waits until no command line in the session matches PATTERN
gone() { wait_for "$PATIENCE" none_is "$1"; }
none_is() {
	run -n "$id" -- pgrep -f "$1"
	[ $? -eq 1 ]
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
run -t 1 "$id" -- sleep 600 </dev/null 2>err
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

# output comes at once: the next input depends on it
coproc LIVE { run "$id" -- sh -c 'while read -r x; do echo "got $x"; done'; }
for n in 1 2; do
	echo "$n" >&"${LIVE[1]}"
	read -r -t "$PATIENCE" answer <&"${LIVE[0]}"
	is "$answer" "got $n" "an answer comes while it runs ($n)"
done
eval "exec ${LIVE[1]}>&-"
wait "$LIVE_PID"
is "$?" 0 "and it ends with its input"

# ---- signals, and readers that end early

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
: >out # removes the output of the command before
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

# ---- a session that sleeps, and one that is deleted

"$cli" sleep "$id" >/dev/null
is "$(run -n "$id" -- echo awake)" awake "a call wakes it"
"$cli" sleep "$id" >/dev/null
is "$(echo x | run "$id" -- cat)" x "also one with input"
: >out
"$cli" exec -n "$id" -- sh -c 'echo begun; sleep 600' >out 2>err &
pid=$!
until grep -q begun out; do kill -0 "$pid" || break; done
"$cli" rm "$id" >/dev/null
wait "$pid"
code=$?
[ "$code" -ge 125 ] && pass "one whose session goes ends ($code)" || fail "one whose session goes ends ($code)"

# ---- cp: files and directories, both ways, whole or not at all

mkdir cp && cd cp || exit 1
umask 022
id=$("$cli" create --name box) || exit 1
inside() { "$cli" exec -n -c "$1" box; }
copy() { timeout "$PATIENCE" "$cli" cp "$@" 2>err; }

# ---- files

printf 'text\n' >plain
printf '#!/bin/sh\n' >tool && chmod 750 tool
copy plain box:
is "$?|$(inside 'cat /workspace/plain')" '0|text' "a file goes into a directory that is there"
copy tool box:bin/renamed
is "$(inside 'stat -c %a bin/renamed')" 750 "or gets another name, parents are made, permissions stay"
copy plain "$id:/tmp/"
is "$(inside 'cat /tmp/plain')" text "a path may begin at the root"
copy box:bin/renamed .
is "$?|$(stat -c %a renamed)" '0|750' "back it has its permissions"
copy box:plain other
ok "and its bytes" cmp plain other
echo more >plain2 && copy plain2 box:plain
is "$(inside 'cat plain')" more "a file is replaced"
printf '%s' 'odd' >'a b#?%é'
copy 'a b#?%é' box:
copy 'box:a b#?%é' 'back again'
is "$(cat 'back again')" odd "any name will do"
: >empty && copy empty box: && copy box:empty empty2
is "$(stat -c %s empty2)" 0 "an empty file, too"
echo colon >with:colon && copy ./with:colon box:with
is "$(inside 'cat with')" colon "a name with a colon needs a slash"

head -c 200000000 /dev/urandom >large
copy large box:
is "$?" 0 "200 MB go in"
is "$(inside 'sha256sum <large')" "$(sha256sum <large)" "unharmed"
copy box:large large2
ok "and come back" cmp large large2
none "without a word where nobody looks" "$(cat err)"
rm -f large large2

# ---- streams

is "$(echo streamed | copy - box:streamed && inside 'cat streamed')" streamed \
	"standard input goes in"
is "$(copy box:streamed -)" streamed "standard output gets it"
copy --json plain box:p >out
like "$(cat out)" '^\{"from":"plain","to":"/workspace/p","bytes":5\}$' "--json says what was done"

# ---- directories

mkdir -p dir/sub && echo a >dir/a && echo b >dir/sub/b && ln -s a dir/link && chmod 755 dir/a
copy -r dir box:
is "$?" 0 "a directory goes in"
is "$(inside 'cat dir/a dir/sub/b; readlink dir/link; stat -c %a dir/a')" $'a\nb\na\n755' "with all that is in it"
copy -r dir box:new
is "$(inside 'cat new/sub/b')" b "under another name, if there is none"
copy -r dir/. box:new/deep
is "$(inside 'cat new/deep/a')" a "or only what is in it"
copy -r box:dir back
ok "it comes back as it was" diff -r dir back
mkdir there && copy -r box:dir there
ok "into a directory that is there" diff -r dir there/dir
copy -r box:dir there && ok "once more over itself" diff -r dir there/dir
copy -r box:dir - | tar tf - | LC_ALL=C sort >out
like "$(cat out)" 'sub/b' "a stream of it is an archive"
tar cf - dir | copy -r - box:unpacked
is "$(inside 'cat unpacked/dir/a')" a "which may go in"

# ---- mistakes

refused() { # NAME CODE REGEX ARGUMENT...
	local name=$1 want=$2 regex=$3
	shift 3
	copy "$@"
	is "$?" "$want" "$name: code $want" && like "$(cat err)" "$regex" "$name: says why"
}
refused "a directory without -r" 2 'is a directory; -r' dir box:x
refused "one of the session's" 2 'is a directory; -r' box:dir x
refused "two paths here" 2 'one side must be ID:path' plain other
refused "two sessions" 2 'one side must be ID:path' box:a box:b
refused "a file that is not here" 1 'No such file' nowhere box:
refused "or not there" 1 'No such file' box:nowhere x
refused "a place that cannot be written" 1 'Read-only' plain box:/etc/x
refused "or is not here" 1 'No such file' box:plain nowhere/x
refused "no session" 1 'no session "nobody"' plain nobody:x
none "no draft is left" "$(find . -name '.*.??????' -o -name 'x*')"
mkdir closed bin && echo secret >closed/file
# this tar fails as for an unreadable file; root can read every file
printf '#!/bin/sh\n/bin/tar "$@"\nexit 2\n' >bin/tar && chmod 755 bin/tar
PATH=$PWD/bin:$PATH copy -r closed box:
is "$?" 1 "a directory that cannot be read whole is a failure"

# ---- interrupted

mkfifo slow
exec 9<>slow
"$cli" cp - box:half <slow 2>err &
pid=$!
head -c 100000 /dev/zero >&9
kill -TERM "$pid"
wait "$pid"
is "$?" 143 "a copy that is interrupted ends by the signal"
exec 9>&-
is "$(inside 'test -e half || echo nothing')" nothing "and leaves nothing there"
copy empty box:large && inside 'head -c 300000000 /dev/zero >large'
"$cli" cp box:large large 2>err &
pid=$!
until compgen -G '.large.*' >/dev/null; do kill -0 "$pid" 2>/dev/null || break; done
kill -TERM "$pid" 2>/dev/null
wait "$pid"
like "$?" '^(143|0)$' "so does one to here"
none "and leaves nothing here" "$(compgen -G '.large.*')"

# ---- progress on a terminal

head -c 30000000 /dev/urandom >shown
script -qec "'$cli' cp shown box:" /dev/null >out 2>&1 </dev/null
like "$(tr '\r' '\n' <out)" 'shown .*100% +30.0 MB of 30.0 MB' "on a terminal progress is shown"
script -qec "'$cli' cp -q shown box:" /dev/null >out 2>&1 </dev/null
none "unless it is not wanted" "$(cat out)"

done_testing
