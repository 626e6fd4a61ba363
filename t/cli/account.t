#!/bin/bash
# Tests where the command line finds its service and key: login, profiles, common
# options; and its messages for wrong addresses and unknown commands.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/cli.sh"
file=$work/.config/sandlease

# try [-k KEY] COMMAND...: runs COMMAND with KEY as the line on its standard input
try() {
	local line=
	[ "${1-}" != -k ] || { line=$2 && shift 2; }
	timeout "$PATIENCE" "$cli" "$@" >out 2>err < <(printf '%s' "${line:+$line
}")
	code=$?
	out=$(<out) err=$(<err)
}
mistake() { # NAME CODE REGEX [-k KEY] COMMAND...
	local name=$1 want=$2 words=$3
	shift 3
	try "$@"
	is "$code" "$want" "$name: code $want" && like "$err" "$words" "$name: says what to do"
}

# ---- unknown commands, and help

mistake "an unknown command" 2 '"frob" is no command; sandlease help' frob
mistake "one with a slip" 2 '"exce" is no command; did you mean "sandlease exec"' exce
mistake "one that others have" 2 'did you mean "sandlease rm"' delete
mistake "half a command" 2 'ports needs one more word: ls add rm rotate' ports
mistake "half a wrong one" 2 '"ports frob" is no command; ports has ls' ports frob
mistake "an unknown option before it" 2 '--frob is no option' --frob ls
mistake "no command at all" 2 '^usage: sandlease'
for words in help --help -h 'help run' 'run --help' 'help ports ls' 'ports ls --help' '--help ls' 'help snapshot'; do
	# shellcheck disable=SC2086 # words
	try $words
	is "$code|$err" '0|' "$words is no mistake"
done
try help run
like "$out" '--volume DIR' "help of a command has its options"
try help snapshot
like "$out" 'snapshot create.*snapshot rm' "help of a first word has its commands"
mistake "help of nothing" 2 'is no command' help frob

# ---- wrong addresses

key=$SANDLEASE_API_KEY url=$SANDLEASE_URL
for wrong in "$url/" "$url/v1" "$url/v1/"; do
	SANDLEASE_URL=$wrong try ls -q
	is "$code|$err" '0|' "SANDLEASE_URL may be $(sed "s|$url|URL|" <<<"$wrong")"
done
SANDLEASE_URL=$url/v1/sessions mistake "an address with more" 1 'has a path: is that right' ls
SANDLEASE_URL=http://127.0.0.1:$STACK_PREVIEW_PORT mistake "the previews' address" 1 'Previews are served here' ls
SANDLEASE_URL=${url/http:/https:} mistake "https where there is none" 1 'begins with http://' ls
none "without a word of OpenSSL" "$(grep -i openssl err)"

# ---- common options before the command, and a key in a file

unset SANDLEASE_API_KEY SANDLEASE_URL
printf '%s\n' "$key" >key && chmod 600 key
try --url "$url" --api-key-file key --json whoami
like "$out" '"scope":"tenant".*"profile":"default"' "common options may come first"
try whoami --url "$url" --api-key-file key
like "$out" 'scope +tenant' "or behind it"
mistake "a key file that is not there" 1 'no key in nowhere' --url "$url" --api-key-file nowhere ls
try version --url "$url"
like "$out" 'client +[0-9.]+.*server +[0-9.]+' "version is of both, and needs no key"
try version
is "$code|$out" "0|$(printf '%-11s %s' client "$("$cli" --version | cut -d' ' -f2)")" "or of one where no service is known"

# ---- login

mistake "nowhere to log in" 1 'sandlease login URL' -k "$key" login
mistake "a wrong key" 1 'does not take this API key' -k sl_wrong login "$url"
[ ! -e "$file" ] && pass "is not stored" || fail "is not stored"
mistake "no key" 1 'no key on standard input' login "$url"
try -k "$key" login "$url/v1/"
is "$code $(stat -c %a "$file")" '0 600' "login stores a key for its owner only"
try whoami
like "$out" "url +$url" "from then on both are known"
printf '# mine\n' >>"$file"
try -k "$key" login --profile work --url "$url"
is "$code" 0 "login has profiles"
other=$(stack_admin key create --org second --user two) || exit 1
try -k "$other" login --profile second "$url"
try --profile second whoami
like "$out" 'user +two.*org +second.*profile +second' "an option chooses one"
export SANDLEASE_PROFILE=second
try whoami
like "$out" 'org +second' "so does the environment"
SANDLEASE_API_KEY=$key try --profile second whoami
like "$out" 'org +second' "an option counts more than a key in the environment"
SANDLEASE_API_KEY=$key try whoami
like "$out" 'org +demo' "which counts more than a profile there"
unset SANDLEASE_PROFILE
try whoami
like "$out" 'org +demo' "without it the first one counts"
mistake "an unknown profile" 1 'no profile "home"' --profile home ls
mistake "a name that is none" 1 "a profile's name" --profile 'a b' ls
try logout --profile second
is "$code $(grep -c second "$file") $(grep -cF "$other" "$file")" '0 0 0' "logout forgets one"
is "$(grep -c '^\[work\]$' "$file") $(grep -c '^# mine$' "$file")" '1 1' "and keeps the others, and comments"
try logout
mistake "nobody is logged in" 1 'sandlease login' whoami
try --profile work whoami
is "$code" 0 "the other profile still is"
mistake "logout of nothing" 1 'no profile "second"' logout --profile second

# ---- at a terminal login asks for the key, and does not show it

cat >asked.py <<'END'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:3] + sys.argv[4:])
seen = b""
while b"API key" not in seen:
    seen += os.read(fd, 1024)
os.write(fd, sys.argv[3].encode() + b"\n")
while True:
    try:
        data = os.read(fd, 1024)
    except OSError:
        break
    if not data:
        break
    seen += data
print(seen.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
asked=$(timeout "$PATIENCE" /usr/bin/python3 asked.py "$cli" login "$key" "$url")
is $? 0 "a key can be typed"
like "$asked" 'demo of demo, scope tenant' "and is tried"
none "and not seen" "$(grep -F "$key" <<<"$asked")"

# ---- the command line asks before it deletes many sessions

try create -l batch=yes
try create -l batch=yes
try create -l batch=no
mistake "many without a question" 2 '2 sessions; --yes' rm --label batch=yes
is "$("$cli" ls -q | wc -l)" 3 "deletes none"
mistake "nothing chosen" 2 'say which' rm
mistake "both chosen" 2 'say which' rm --all "$out"
sed -i 's/b"API key"/b"[y\/N]"/' asked.py
timeout "$PATIENCE" /usr/bin/python3 asked.py "$cli" rm n --all >out
is "$? $("$cli" ls -q | wc -l)" '1 3' "no means none"
timeout "$PATIENCE" /usr/bin/python3 asked.py "$cli" rm y --label batch=yes >out
is "$? $("$cli" ls -q | wc -l)" '0 1' "yes means those"
try rm --all --yes
is "$code $("$cli" ls -q | wc -l)" '0 0' "--yes asks nobody"
try rm --all
is "$code|$out" '0|' "where there is none there is no question"

done_testing
