#!/bin/bash
# sandlease cp: files and directories, both ways, whole or not at all.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/stack.sh"

stack_begin
cli=$STACK_BUILD/sandlease
work=$STACK_DIR/cli
mkdir "$work" && cd "$work" || exit 1
umask 022
id=$("$cli" create --name box) || exit 1
inside() { "$cli" exec -n -c "$1" box; }
copy() { timeout 120 "$cli" cp "$@" 2>err; }

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

# ---- what does not work

refused() { # NAME CODE REGEX ARGUMENT...
	local name=$1 want=$2 words=$3
	shift 3
	copy "$@"
	is "$?" "$want" "$name: code $want" && like "$(cat err)" "$words" "$name: says why"
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
# as it is when a file cannot be read, which root always can
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
for ((i = 0; i < 1000; i++)); do compgen -G '.large.*' >/dev/null && break; done
kill -TERM "$pid" 2>/dev/null
wait "$pid"
like "$?" '^(143|0)$' "so does one to here"
none "and leaves nothing here" "$(compgen -G '.large.*')"

# ---- progress, where somebody looks

head -c 30000000 /dev/urandom >shown
script -qec "'$cli' cp shown box:" /dev/null >out 2>&1 </dev/null
like "$(tr '\r' '\n' <out)" 'shown .*100% +30.0 MB of 30.0 MB' "on a terminal progress is shown"
script -qec "'$cli' cp -q shown box:" /dev/null >out 2>&1 </dev/null
none "unless it is not wanted" "$(cat out)"

done_testing
