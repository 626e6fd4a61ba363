#!/bin/bash
# Tests that sandlease run leaves nothing of the session that its command ran in.
# shellcheck disable=SC2016 # what is in single quotes is for the other shell
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/cli.sh"

# ---- the command

try run -- sh -c 'echo to out; echo to err >&2; exit 7'
is "$code|$out|$err" '7|to out|to err' "run ends as its command, both streams apart"
none_left "and leaves no session"
is "$(echo through | "$cli" run -i -- cat)" through "standard input is passed on"
try run -e GREETING=hello -w /tmp -c 'echo $GREETING; pwd'
is "$out" $'hello\n/tmp' "a line for the shell, with variables and a directory"
try run --timeout 1 -- sleep 1000
is "$code" 124 "a timeout ends it"
try run --setup 'echo making; echo ready >made' -- cat made
is "$out|$err" 'ready|making' "a setup comes first"
try run --setup 'echo broken; exit 3' -- echo never
is "$code|$out" '125|' "without it the command does not run"
like "$err" 'broken.*exit code 3' "and that is said"
none_left "nothing of all that is left"

for words in '' '--keep --rm -- true' '--name x -- true' '-c true -- true' '-v nowhere -- true' '-v a:b:c -- true'; do
	# shellcheck disable=SC2086 # words
	try run $words
	is "$code" 125 "a mistake: run $words"
done
none_left "a mistake makes no session"

try run --keep --name kept -- sh -c 'echo here >file'
like "$err" 'session [a-z2-7]{20} is kept' "--keep says what it keeps"
try run --keep --name kept -- cat file
is "$out" here "which is found again by its name"
"$cli" rm kept >/dev/null

# ---- a directory that the command works on

mkdir tree tree/sub outside && cd tree || exit 1
printf 'one\n' >changed
printf 'two\n' >same
printf 'three\n' >sub/removed
printf 'four\n' >becomes-link
ln -s same link
ln -s ../outside becomes-dir
touch -d '2020-01-01 00:00' same
cd .. || exit 1
inode=$(stat -c %i tree/same)
try run -v tree:/workspace -- sh -c 'cat changed; echo more >>changed; chmod 755 changed
	rm -r sub; mkdir -p new/deep; echo x >new/deep/f; ln -s nowhere dangling
	rm becomes-link; ln -s same becomes-link
	rm becomes-dir; mkdir becomes-dir; echo inside >becomes-dir/f; exit 3'
is "$code|$out|$err" '3|one|' "a volume is there, and the code is still the command's"
is "$(cat tree/changed)$(stat -c %a tree/changed)" $'one\nmore755' "what has changed comes back, with its permissions"
is "$(cat tree/new/deep/f)" x "so does what is new"
[ ! -e tree/sub ] && pass "what was removed goes" || fail "what was removed goes"
is "$(readlink tree/dangling) $(readlink tree/becomes-link) $(readlink tree/link)" 'nowhere same same' "links are links"
is "$(cat tree/becomes-dir/f)$(ls outside)" inside "and none of ours is followed"
is "$(stat -c '%i %y' tree/same | cut -d. -f1)" "$inode 2020-01-01 00:00:00" "what has not changed is not touched"
none "no draft is left" "$(find tree -name '.sandlease*')"
try run -v tree:/tmp/other:ro -- sh -c 'rm -r /tmp/other/new; cat /tmp/other/changed'
is "$code|$out|$(cat tree/new/deep/f)" $'0|one\nmore|x' "a volume may be elsewhere, and only go in"

# both sides change one file: the session's command waits for the test
mkfifo gate
printf 'a\n' >tree/both
printf 'b\n' >tree/theirs
printf 'c\n' >tree/ours
mkdir tree/dir
timeout "$PATIENCE" "$cli" run -v tree:/workspace -- sh -c 'echo ready; cat
	echo session >>both; echo session >>theirs; rm ours; echo x >dir/new' <gate >out 2>err &
pid=$!
exec 3>gate
wait_for "$PATIENCE" grep -q ready out
printf 'mine\n' >>tree/both
printf 'mine\n' >>tree/ours
rmdir tree/dir && ln -s ../outside tree/dir
exec 3>&-
wait $pid
is $? 125 "a conflict is a failure"
is "$(cat tree/both)|$(cat tree/both.from-session)" $'a\nmine|a\nsession' "both versions are kept"
is "$(cat tree/theirs)|$(cat tree/ours)" $'b\nsession|c\nmine' "what only one side changed is as that side has it"
like "$(<err)" 'conflict: tree/ours was removed.*tree/both was changed here and in the session' "each conflict is named"
none "nothing goes through a link that was put in its way" "$(ls outside)"
like "$(<err)" 'conflict: tree/dir/new has no directory here any more' "which is named, too"
like "$(<err)" "session $(left) is kept" "and the session, where it still is, is kept"
"$cli" rm "$(left)" >/dev/null

# ---- a run that ends too early leaves nothing either

# interrupted SIGNAL FILE WORD...: sends SIGNAL once FILE has a line
interrupted() {
	local number=$1 file=$2
	shift 2
	: >out
	: >err
	"$cli" run "$@" >out 2>err </dev/null &
	pid=$!
	wait_for "$PATIENCE" test -s "$file"
	kill -"$number" $pid
	wait $pid
	code=$?
}
interrupted INT out -- sh -c 'trap "echo caught; exit 130" INT; echo started; while :; do sleep 1; done'
is "$code" 130 "^C ends the command"
like "$(<out)" 'caught' "which hears of it"
none_left "and the session is deleted"
interrupted TERM err --setup 'echo in setup; sleep 1000' -- echo never
is "$code|$(<out)" "143|" "a signal during the setup ends that"
none_left "and the session is deleted, too"
mkdir later
interrupted INT out -v later:/workspace -- sh -c 'echo kept >file; echo started; sleep 1000'
is "$code $(cat later/file)" '130 kept' "what it wrote by then comes back"

: >out # what the last one said
"$cli" run -- sh -c 'echo started; sleep 1000' >out 2>err </dev/null &
pid=$!
wait_for "$PATIENCE" test -s out
is "$("$cli" ls -q --label made-by=run | wc -l)" 1 "its session has a label"
kill -KILL $pid
wait $pid 2>/dev/null
try rm --yes --label made-by=run
like "$out" 'deleted' "by which one that was killed can be cleaned up"

# ---- a terminal

if command -v tmux >/dev/null; then
	mux() { tmux -S "$work/mux" -f /dev/null "$@"; }
	end_mux() {
		mux kill-server 2>/dev/null
		stack_end
	}
	trap end_mux EXIT
	shows() { mux capture-pane -p -J -S - -t 0 | grep -E -- "$1"; }
	mux new-session -d -x 90 -y 20 "'$cli' run -it -e NAME=me -w /tmp -- bash -c 'echo \$NAME in \$PWD on \$(tty); read -r x; exit 4'; echo code \$?; cat"
	ok "run -it has a terminal" wait_for "$PATIENCE" shows '^me in /tmp on /dev/pts/'
	mux send-keys -t 0 Enter
	ok "and ends as its command" wait_for "$PATIENCE" shows '^code 4'
	none_left "without a session left"
	mux new-window -t 1 "'$cli' create --name typed --shell; echo code \$?; cat"
	shows1() { mux capture-pane -p -J -S - -t 1 | grep -E -- "$1"; }
	ok "create --shell opens one" wait_for "$PATIENCE" shows1 '^[a-z2-7]{20}$'
	mux send-keys -t 1 'echo made-$((1 + 1))' Enter
	ok "in the new session" wait_for "$PATIENCE" shows1 '^made-2'
	mux send-keys -t 1 'exit 6' Enter
	ok "and ends as the shell does" wait_for "$PATIENCE" shows1 '^code 6'
else
	skip "a terminal" "tmux is not installed"
fi

done_testing
