#!/bin/bash
# Tests the command line over the whole life of a session, its error messages, and
# shell completion.
# shellcheck disable=SC2016 # what is in single quotes is for the other shell
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/cli.sh"

# ---- the life of a session

try create --name one -e GREETING=hello -l team=red --sleep-after 30m
one=$out
like "$one" '^[a-z2-7]{20}$' "create prints the id"
try create --name one
is "$out" "$one" "a name finds its session again"
printf '#!/bin/sh\necho from a file\n' >script && chmod 755 script
try create -f script:bin/script --setup 'echo setting up; echo ready'
two=$out
is "$err" $'setting up\nready' "what a setup prints is shown"
try exec "$two" -- ./bin/script
is "$out" 'from a file' "files are there, with their permissions"
try create --wait 0 --json
three=$(grep -o '"id":"[a-z0-9]*' <<<"$out" | cut -d'"' -f4)
like "$out" '^\{"id":.*"state":"(initializing|ready)"' "--json prints the session"
try create --setup 'echo broken; exit 3'
is "$code" 1 "a setup that fails is a failure"
like "$err" 'broken.*exit code 3' "and says why"
failed=$out
try resume "$three"
is "$out" "$three ready" "resume waits until it is ready"

try ls
like "$out" "$one  one " "ls shows id and name"
is "$(wc -l <out)" 5 "and all of them"
try ls -q --label team=red
is "$out" "$one" "labels find"
try ls --state failed --json
like "$out" "^\{\"id\":\"$failed\"" "states find, and --json prints a line each"

try sleep one
is "$out" "$one asleep" "sleep waits until it sleeps"
try exec one -c 'echo $GREETING'
is "$code" 125 "options come before the id"
try exec -c 'echo $GREETING' one
is "$out" hello "a call wakes it, and a name is enough"
try exec "${one:0:8}" -- true
is "$code" 0 "so is the beginning of an id"

try logs one
like "$out" ' sleeps .*by demo' "logs tell what happened"
try logs --json one
like "$out" '"kind":"state","what":"ready"' "as JSON, too"

# ---- ports

try ports add --name web one 8000
url=$out
like "$url" "^http://8000-$one-" "ports add prints a URL"
try ports ls one
like "$out" $'\n8000  web   active  http' "ports ls shows it"
try ports rotate one 8000
like "$out" '^http://8000-' "rotate prints another"
[ "$out" != "$url" ] && pass "which is new" || fail "which is new"
rotated=$out
DISPLAY='' WAYLAND_DISPLAY='' try open one 8000
is "$out" "$rotated" "open prints the URL"
mkdir bin && printf '#!/bin/sh\necho "$1" >%s/opened\n' "$work" >bin/xdg-open && chmod 755 bin/xdg-open
PATH=$work/bin:$PATH DISPLAY=:7 try open one 8000
is "$(cat opened)" "$rotated" "and has a browser show it where there is a display"
try ports rm one 8000
is "$code" 0 "ports rm ends it"
try ports rm one 8000
is "$code" 1 "which can be done once"
try ports add one 80
is "$code" 2 "a port that cannot be is a mistake of usage"

# ---- processes

start() { # ID COMMAND
	curl -sS -o /dev/null -H "Authorization: Bearer $SANDLEASE_API_KEY" \
		"$SANDLEASE_URL/v1/sessions/$one/api/process/start" \
		-d "{\"processId\": \"$1\", \"command\": \"$2\"}"
}
start p1 'echo to out; echo to err >&2; read line; echo got $line'
try logs -p one
like "$out" $'\np1       running' "logs -p lists processes"
curl -sS -o /dev/null -H "Authorization: Bearer $SANDLEASE_API_KEY" \
	"$SANDLEASE_URL/v1/sessions/$one/api/process/p1/input" -d '{"data": "it\n"}'
try logs -f one p1
is "$out|$err" $'to out\ngot it|to err' "logs -f goes on to the end, both streams apart"
try logs one p1
is "$out|$err" $'to out\ngot it|to err' "logs shows what there is"
try logs one nobody
is "$code" 1 "a process that is not there is an error"

# ---- the end of a session

try rm "$two" nobody "$three"
is "$code" 1 "rm fails if one of them is not there"
is "$out" "$two deleted"$'\n'"$three deleted" "but deletes the others"
try rm --force nobody "$failed" aaaaaaaaaaaaaaaaaaaa
is "$code" 0 "unless that is no mistake"
try ls -a -q
is "$(wc -l <out)" 4 "ls -a shows those that are gone, too"

# ---- mistakes

mistake() { # NAME CODE REGEX COMMAND...
	local name=$1 want=$2 words=$3
	shift 3
	try "$@"
	is "$code" "$want" "$name: code $want" && like "$err" "$words" "$name: says what to do"
}
mistake "an unknown session" 1 'no session "nobody"; sandlease ls' logs nobody
mistake "an unknown id" 1 'no such session' logs aaaaaaaaaaaaaaaaaaaa
mistake "an unknown id, for exec" 125 'no such session' exec aaaaaaaaaaaaaaaaaaaa -- true
mistake "an unknown option" 2 '--bogus is no option of "ls"' ls --bogus
mistake "an operand too few" 2 'usage: sandlease sleep ' sleep
mistake "an option without its value" 2 '--name needs a value' create --name
mistake "a label that is none" 2 'takes KEY=VALUE' create -l red
SANDLEASE_API_KEY=sl_wrong mistake "a wrong key" 1 'does not take this API key' ls
SANDLEASE_URL=http://127.0.0.1:1 mistake "no server" 1 'cannot be reached.*SANDLEASE_URL' ls
SANDLEASE_URL=http://127.0.0.1:1 mistake "no server, for exec" 125 'cannot be reached' exec x -- true
SANDLEASE_URL=ftp://x mistake "a URL that is none" 1 'must begin with https' ls
SANDLEASE_URL='' mistake "no URL" 1 'set SANDLEASE_URL' ls

# ---- the file

key=$SANDLEASE_API_KEY url=$SANDLEASE_URL
unset SANDLEASE_API_KEY SANDLEASE_URL
mkdir -p .config
printf 'url = %s\napi_key = %s\n' "$url" "$key" >.config/sandlease
chmod 644 .config/sandlease
try ls -q --state asleep
is "$code" 0 "a file says where and who"
like "$err" 'warning: others may read' "others had better not read it"
chmod 600 .config/sandlease
try ls -q
is "$err" "" "then there is no warning"
try ls --url http://127.0.0.1:1
like "$err" 'no key for http://127.0.0.1:1' "its key goes to no other service"
none "the key is in no output" "$(grep -F "$key" -r out err)"

try snapshot --help
is "$code|$(grep -cE '^ *snapshot (create|ls|rm)' out)" '0|3' "a group of commands has help, too"

# ---- completion of commands, options, and names that the service knows

export PATH=$STACK_BUILD:$PATH
here=$(cd "$TOP/src/cli/completion" && pwd)
mkdir completion && cd completion || exit 1
touch somefile
# the key of another org, which has no sessions yet
SANDLEASE_API_KEY=$(stack_admin key create --org completion --user u) || exit 1
id=$(sandlease create --name boxy) || exit 1
sandlease ports add boxy 8123 >/dev/null

words() { sandlease complete -- "$@" | cut -f1 | tr '\n' ' '; }
like "$(words '')" '^run create ls show exec shell .*ports port-forward .*doctor version help $' "commands, each once"
is "$(words sl)" 'sleep ' "by their beginning"
is "$(words ports r)" 'rm rotate ' "second words, too"
is "$(words exec --no)" '--no-stdin ' "options"
is "$(words exec --j)" '--json ' "those of all commands, too"
like "$(words rm '')" "$id boxy " "sessions, by id and name"
evil=$(sandlease create --name '$(touch${IFS}here)') || exit 1
is "$(words rm '' | grep -c touch)|$(words rm "${evil:0:6}")" "0|$evil " "but no name that a shell would carry out"
sandlease rm "$evil" >/dev/null
is "$(words rm boxy box)" 'boxy ' "as many as a command takes"
is "$(words ports rm boxy '')" '8123 ' "ports of a session"
sandlease sleep boxy >/dev/null
is "$(words logs boxy '')|$(sandlease ls -q --state asleep)" "|$id" "a session that sleeps sleeps on"
sandlease resume boxy >/dev/null
is "$(words ls --state a)" 'asleep ' "values of options"
is "$(words ls -s r)" 'ready ' "of short ones, too"
is "$(words exec boxy l)" '' "a command's own words are not ours"
is "$(words cp box)" ':files boxy: ' "both sides of a copy"
is "$(SANDLEASE_API_KEY=sl_wrong words rm '' 2>&1)" '' "no word where there is no answer"

in_bash() { # WORD...; the last WORD is the one being typed
	bash --norc -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
		_sandlease; printf "%s " "${COMPREPLY[@]}"' "$here/sandlease" "$@" 2>&1
}
is "$(in_bash sandlease re)" 'resume ' "bash completes a command"
is "$(in_bash sandlease rm box)" 'boxy ' "a session"
is "$(in_bash sandlease cp somef)" 'somefile ' "a file"

if command -v fish >/dev/null; then
	in_fish() { fish --no-config -c 'source $argv[1]; complete -C "$argv[2]"' "$here/sandlease.fish" "$1" | cut -f1 | tr '\n' ' '; }
	is "$(in_fish 'sandlease re')" 'resume ' "fish completes a command"
	is "$(in_fish 'sandlease rm box')" 'boxy ' "a session"
else
	skip "fish completes" "it is not installed"
fi

if command -v zsh >/dev/null; then
	# prints the choices that _describe would offer
	in_zsh() { # WORD...
		zsh -f -c 'file=$1; shift; _describe() { print -rn -- "${(P@)${@[-1]}} " }
			_files() { print -rn -- FILES }; compdef() { : }
			words=("$@") CURRENT=$#; source "$file"' zsh "$here/_sandlease" "$@"
	}
	like "$(in_zsh sandlease re)" '^resume:start sessions again' "zsh completes a command"
	like "$(in_zsh sandlease rm box)" '^boxy:ready' "a session"
	like "$(in_zsh sandlease cp box)" '^boxy\\:.*FILES' "a colon is told apart from its own"
else
	skip "zsh completes" "it is not installed"
fi

done_testing
