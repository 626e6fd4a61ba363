#!/bin/bash
# Tests that sandlease run -v never loses a command's changes to files silently.
# shellcheck disable=SC2016 # what is in single quotes is for the other shell
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/cli.sh"

# ---- names that are not valid text

latin=$(printf 'lat\351') other=$(printf 'lat\352') odd=$(printf 'd\377r')
mkdir names "names/$odd"
printf old >"names/$latin"
printf old >"names/$other"
printf old >"names/$odd/gone"
printf old >"names/$(printf 'line\nfeed')"
try run -v names:/workspace -- bash -c 'printf new >"$(printf "lat\351")"; printf new >"$(printf "line\nfeed")"
	cd "$(printf "d\377r")"; rm gone; echo hello >"$(printf "new\376file")"; mkdir "$(printf "in\375")"'
is "$code|$err" "0|" "a volume may have names that are not UTF-8"
is "$(cat "names/$latin")" new "what was changed in one of them comes back"
is "$(cat "names/$(printf 'line\nfeed')")" new "and in one of two lines"
is "$(cat "names/$odd/$(printf 'new\376file')")" hello "so does what is new"
ok "and a directory" test -d "names/$odd/$(printf 'in\375')"
ok "what was removed goes" test ! -e "names/$odd/gone"
is "$(cat "names/$other")" old "one that a listing cannot tell from another is as it was"
rm "names/$latin"
touch -d '2020-01-01 00:00' "names/$other"
inode=$(stat -c %i "names/$other")
mkdir w1 w2
for second in w2 w2:/workspace/ w2:/workspace/data:ro w2:/; do
	try run -v w1 -v "$second" -- true
	is "$code|$(grep -c 'must not lie in another' err)" "125|1" "volumes in each other are refused: $second"
done
try run -v names:/workspace -- sh -c 'echo 1 >one'
is "$code|$(stat -c %i "names/$other")" "0|$inode" "what has not changed is not touched"
rm -r names

# ---- files that were in the session before, and special files

mkdir plain
mkfifo plain/pipe
echo same >plain/same
try run --setup 'echo theirs >/workspace/made; mkfifo /workspace/fifo' -v plain:/workspace -- sh -c 'cat made; echo x >new'
is "$code|$out|$(ls -x plain)" '0|theirs|new  pipe  same' "what was in the session before stays there, and what is no file is left alone"
ok "a fifo of ours is still there" test -p plain/pipe
before=$(stat -c '%i %z' plain/same)
# the new content has the same length and the same second
printf old >plain/quick
try run -v plain:/workspace -- sh -c 'printf new >quick'
is "$(cat plain/quick)" new "a change that leaves size and second as they were is seen"
is "$(stat -c '%i %z' plain/same)" "$before" "and what was left alone is not touched"

# ---- read-only directories, without root's rights

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	as_nobody() {
		(umask 022; HOME=/ timeout "$PATIENCE" setpriv --reuid 65534 --regid 65534 --clear-groups \
			"$cli" run -v strict:/workspace -- sh -c "$1" >out 2>err </dev/null)
	}
	mkdir strict && chown 65534:65534 strict
	as_nobody 'mkdir -p mod/a; echo 1 >mod/a/f; chmod 555 mod/a mod'
	is "$?|$(<err)" '0|' "a directory that is read only comes back"
	is "$(cat strict/mod/a/f) $(stat -c %a strict/mod strict/mod/a | xargs)" '1 555 555' "with what is in it, and as it was"
	as_nobody 'echo 2 >mod/a/f; echo 3 >other'
	is "$?|$(cat strict/mod/a/f strict/other | xargs)" '125|1 3' "what may not be written here is not, the rest is"
	like "$(<err)" "strict/mod/a/f cannot be written here \(Permission denied\).*session $(left) is kept" \
		"both are said, and the session is kept"
	"$cli" rm "$(left)" >/dev/null
	none "no draft is left" "$(find strict -name '.sandlease*')"
else
	skip "a directory that is read only" "it needs root, to be somebody else"
fi

# ---- both sides change the same file: the session's command waits for the test

mkfifo gate
# both_begin DIR COMMAND: starts a run whose COMMAND begins once its input ends
both_begin() {
	rm -f out err
	timeout "$PATIENCE" "$cli" run -v "$1:/workspace" -- sh -c "echo ready; cat; $2" <gate >out 2>err &
	pid=$!
	exec 3>gate
	wait_for "$PATIENCE" grep -q ready out
}
both_end() {
	exec 3>&-
	wait $pid
	code=$? err=$(<err)
}

long=$(printf 'n%.0s' {1..250})
longest=$(printf 'm%.0s' {1..255})
mkdir twice twice/dir
echo a >twice/f
echo mine >twice/f.from-session
echo a >"twice/$long"
echo a >"twice/$longest"
both_begin twice 'for f in f n* m*; do echo theirs >"$f"; done'
for f in f "$long" "$longest"; do echo ours >>"twice/$f"; done
both_end
is "$code" 125 "a conflict is a failure"
is "$(cat twice/f)|$(cat twice/f.from-session)" $'a\nours|mine' "nothing of ours is overwritten, whatever its name"
is "$(cat twice/f.from-session.2 2>&1)" theirs "the session's version has a number then"
like "$err" "conflict: twice/f was changed here and in the session: .* is f.from-session.2" "and that is its name in the message"
is "$(cat twice/nnn*.from-session 2>&1)|$(cat twice/mmm*.from-session 2>&1)" 'theirs|theirs' "a name that would be too long is cut"
none_left "then nothing is only in the session, which is gone"
rm -r twice

# ---- a session whose files cannot be brought back is kept

mkdir kept kept/dir
echo 1 >kept/file
both_begin kept 'echo precious >dir/new; echo 2 >file'
rmdir kept/dir
both_end
id=$(left)
is "$code|$(cat kept/file)" '125|2' "if something cannot be placed, the rest is"
like "$err" "conflict: kept/dir/new has no directory here any more" "it is named"
like "$err" "session $id is kept" "and the session, which is kept"
is "$("$cli" exec -n "$id" -- cat dir/new)" precious "with what is nowhere else"
"$cli" rm "$id" >/dev/null

try run -v kept:/workspace -- sh -c 'mkdir sub; echo work >result; chmod 000 sub'
id=$(left)
is "$code" 125 "a directory inside that cannot be read is a failure"
like "$err" "session $id is kept.*kept was not copied back completely.*sub" "which names it, and the session that is kept"
is "$("$cli" exec -n "$id" -- cat result)" work "the work is there"
"$cli" exec -n "$id" -- chmod 755 sub
# the command that the message recommends
is "$("$cli" cp -r "$id:/workspace" fetched && cat fetched/result)" work "and can be fetched"
"$cli" rm "$id" >/dev/null

# another client deletes the session while the command runs
both_begin kept 'echo never'
"$cli" rm "$(left)" >/dev/null
both_end
is "$code" 125 "a session that was deleted meanwhile is a failure"
none "and nobody says that it is kept" "$(grep "is kept" err)"

done_testing
