#!/bin/bash
# Tests the commands that show and change sessions: show, labels, limits,
# processes, snapshots, usage, and history.
# shellcheck disable=SC2016 # what is in single quotes is for the other shell
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/cli.sh"

mistake() { # NAME CODE REGEX COMMAND...
	local name=$1 want=$2 words=$3
	shift 3
	try "$@"
	is "$code" "$want" "$name: code $want" && like "$err" "$words" "$name: says what to do"
}
field() { sed -nE "s/^$1 +//p" out; }

# ---- show, update, label, extend

one=$("$cli" create --name one -l team=red --setup 'echo set up' 2>/dev/null) || exit 1
"$cli" ports add --name web one 8000 >url
try show one
is "$(field id) $(field name) $(field state) $(field label)" "$one one ready team=red" "show has name, state and labels"
like "$(field memory)" '^at most [0-9]+ MB, held by [a-z]+$' "limits, and what holds them"
like "$(field 'alive until')" '^20[0-9T:.-]+Z \(.*recent_activity' "until when it is alive, and why"
is "$(field port)" "8000 web $(cat url)" "its ports"
try show --json one
like "$out" '^\{"id":.*"limits"' "and all of it as JSON"
two=$("$cli" create --setup 'echo no such thing; exit 9' 2>/dev/null)
try show one "$two"
like "$(field state)" 'ready.*failed: .*exit code 9' "of one that failed, why"
like "$out" 'no such thing' "and what its setup said"
try rm "$two"

try update one --sleep-after 2h --max-run 1d -e COLOUR=green --no-keep-alive
is "$code" 0 "update changes how long it lives"
try show one
is "$(field sleeps)|$(field runs)" 'after 7200 idle seconds|at most 86400 seconds' "which show tells"
try exec -c 'echo $COLOUR' one
is "$out" green "and its variables"
try update one --unset COLOUR --max-run 0
try exec -c 'echo -$COLOUR-' one
is "$out" -- "which can go again"
mistake "an update of nothing" 2 'say what to change' update one
mistake "an update of both" 2 'opposite' update one --suspend --no-suspend
mistake "a time that is none" 2 '--sleep-after takes a time' update one --sleep-after soon
mistake "a date that is none" 1 'expiresAt' update one --expires tomorrow
try label one team=blue stage=test
is "$(sort out)" "$(printf '%-11s %s\n' stage test team blue)" "label sets some"
try label one team-
is "$out" "$(printf '%-11s %s' stage test)" "and takes one away"
mistake "a label that is none" 2 'KEY=VALUE' label one red
try extend one 3h
like "$out" "^$one alive until 20" "extend says until when"
mistake "a time without a unit we know" 2 'TIME takes a time' extend one 3w

# ---- network

egress_start
show_served() { # ID
	try show "$1"
	! grep -q 'not served' out
}
try show one
is "$(field network)" none "a session has no network"
export KEY=hush-4711 EMPTY=
net=$("$cli" create --isolated --allow @npm --allow 'git.example.com:22' --max-requests 9 \
	--secret Api.example.com:X-Key=KEY 2>/dev/null)
wait_for "$PATIENCE" show_served "$net"
is "$(field network)|$(field secret)" \
	'allow @npm, git.example.com:22, at most 9 requests|X-Key for api.example.com' "show has the network and secrets"
none "and never a value" "$("$cli" show --json "$net" | cat - out | grep hush-4711)"
try update "$net" --network open --secret a.example:x=KEY --secret a.example:y=KEY
wait_for "$PATIENCE" show_served "$net"
is "$(field network)|$(field secret)" $'open|x for a.example\ny for a.example' "update replaces them"
egress_stop
try show "$net"
is "$(field network)" 'open (not served now)' "show tells that nothing serves it"
egress_start
try update "$net" --allow @npm,@pypi --allow a.example --max-requests 9
wait_for "$PATIENCE" show_served "$net"
is "$(field network)" 'allow @npm, @pypi, a.example, at most 9 requests' "a list may have commas"
try logs "$net"
like "$out" 'got other settings \(network\), by demo' "logs tell what was changed"
try update "$net" --network default --no-secrets
try show "$net"
is "$(field network)|$(field secret)" 'none|' "or removes them"
try rm "$net"
mistake "a mode that is none" 2 '--network takes none or open' create --network all
mistake "the default of a new session" 2 '--network takes none or open' create --network default
mistake "hosts and a mode" 2 'exclude each other' create --network open --allow a.example
mistake "a number of requests alone" 2 '--max-requests needs' create --max-requests 5
mistake "a number of requests alone, later" 2 'replaces the whole network: repeat --allow' update one --max-requests 5
try update --help
like "$out" 'none.*open.*default' "update --help has every mode"
mistake "a number that is none" 2 'max-requests' create --network open --max-requests 0
mistake "a host that is none" 1 'network.allow\[1\]' create --allow a.example --allow https://b.example
mistake "a preset that is none" 1 '@nothing' create --allow @nothing
for bad in a.example a.example:x :x=KEY a.example:=KEY a.example:x=; do
	mistake "--secret $bad" 2 'HOST:HEADER=VARIABLE' create --secret "$bad"
done
for bad in https://a.example:x=KEY a.example:443:x=KEY a.example/b:x=KEY; do
	mistake "--secret $bad" 2 'HOST:HEADER=VARIABLE; HOST without scheme or port' create --secret "$bad"
done
mistake "a variable that is not set" 2 'name of a variable' create --secret a.example:x=hush-hush
none "a value given by mistake is not printed" "$(grep hush-hush err)"
mistake "a variable that is empty" 2 'name of a variable' create --secret a.example:x=EMPTY
mistake "secrets and none" 2 'exclude each other' update one --secret a.example:x=KEY --no-secrets
mistake "a header that is none" 1 'secrets\[0\].header' update one --secret a.example:host=KEY
is "$("$cli" complete -- create --allow @n | cut -f1)" @npm "presets are completed"
is "$("$cli" complete -- create --network o | cut -f1)" open "and modes"
try run --allow a.example --secret a.example:x=KEY -- sh -c 'env | grep -c hush'
is "$out" 0 "run has the same options, and the value is not in the session"

# ---- processes and commands

begin() { # ID COMMAND
	curl -sS -o /dev/null -H "Authorization: Bearer $SANDLEASE_API_KEY" \
		"$SANDLEASE_URL/v1/sessions/$one/api/process/start" \
		-d "{\"processId\": \"$1\", \"command\": \"$2\"}"
}
begin p1 'sleep 1000'
begin p2 'trap \"exit 5\" USR1; echo armed; while :; do sleep 0.1; done'
begin p3 'sleep 1000'
wait_for "$PATIENCE" eval '"$cli" logs one p2 | grep -q armed'
try ps one
like "$out" $'^PROCESS .*\np1 +running +- +[0-9]+ .* sleep 1000\n' "ps shows what runs"
try kill one p1
is "$code|$(sed -E 's/ +/ /' out)" '0|p1 ended' "kill ends one"
try kill --signal USR1 one p2
try logs -f one p2
try ps -a one
like "$out" $'\np1 +killed.*\np2 +(failed|completed) +5 .*\np3 +running' "or sends it a signal; ps -a shows how they ended"
try ps -q one
is "$out" p3 "ps -q has ids"
try kill --all one
is "$code|$out" '0|1 ended' "kill --all ends the rest"
mistake "a process that is not there" 1 'nobody' kill one nobody
mistake "a kill of nothing" 2 'say which' kill one
"$cli" exec -n one -- sh -c 'echo started; sleep 1000' >running &
pid=$!
wait_for "$PATIENCE" grep -q started running
try interrupt one
is "$out" "$one 1 interrupted" "interrupt ends what runs"
wait $pid
is $? 130 "with the code of an interruption"

# starts two commands at once, each in its own shell
cat >begin.py <<'EOF'
import json, os, sys, urllib.request
for shell in ("left", "right"):
    r = urllib.request.Request(
        os.environ["SANDLEASE_URL"] + "/v1/sessions/" + sys.argv[1] + "/api/execute/stream",
        json.dumps({"command": "echo begun; sleep 1000", "sessionId": shell}).encode(),
        {"Authorization": "Bearer " + os.environ["SANDLEASE_API_KEY"],
         "Content-Type": "application/json"})
    with urllib.request.urlopen(r) as stream:
        for line in stream:
            event = line.startswith(b"data: ") and json.loads(line[6:]) or {}
            if "executionId" in event:
                print(shell, event["executionId"])
            if event.get("data") == "begun\n":
                break  # the command goes on without its client
EOF
running() { # SHELL: how many commands run in it
	"$cli" exec -n "$one" -- true
	curl -s -H "Authorization: Bearer $SANDLEASE_API_KEY" "$SANDLEASE_URL/v1/sessions/$one/api/executions" |
		python3 -c 'import json,sys; print(sum(e["sessionId"] == sys.argv[1] for e in json.load(sys.stdin)["executions"]))' "$1"
}
python3 begin.py "$one" >ids
try interrupt --shell left one
is "$out|$(running left) $(running right)" "$one 1 interrupted|0 1" "interrupt --shell ends what runs there, and nothing else"
try interrupt --execution "$(sed -n 's/^right //p' ids)" one
is "$out|$(running right)" "$one 1 interrupted|0" "interrupt --execution ends one command"
mistake "a command that has ended" 1 'may have ended' interrupt --execution "$(sed -n 's/^right //p' ids)" one
mistake "both" 2 'nothing to add' interrupt --execution x --shell left one
"$cli" ports add --host public one 8001 >/dev/null
is "$("$cli" ports ls --json one | python3 -c 'import json,sys
print(*sorted((p["port"], p["host"]) for p in map(json.loads, sys.stdin)))')" \
	"(8000, 'localhost') (8001, 'public')" "ports add --host says what the app hears"
mistake "a host that is neither" 1 'host.*(localhost|public)' ports add --host both one 8002

# ---- history, as text

try logs one
like "$out" $'[0-9]+ [0-9:]+  starts, by demo\n.*    set up\n.*setup is done with exit code 0.*is ready after [0-9]+ ms' "logs tell it in words"
like "$out" 'process p1: sleep 1000, killed' "and what ran"
none "without the service's own steps" "$(grep -E 'lease|wrapper|admission' out)"
try logs --all one
like "$out" 'step +wrapper' "which --all has"
try sleep one
is "$out" "$one asleep" "a session that sleeps is asleep"
try logs one
is "$code|$("$cli" ls -q --state asleep)" "0|$one" "logs wake nobody"
try wake one
is "$out" "$one ready" "wake is resume"
try sleep --suspend one
like "$out" "^$one (suspended|stopped, not suspended: cannot_suspend)\$" "a session that is frozen is suspended, or why not is said"
none "and not called asleep" "$(grep asleep out)"
try show one
[[ $(field state) != asleep ]] && pass "show tells them apart, too" || fail "show tells them apart, too"

# ---- snapshots

"$cli" exec -n -c 'echo precious >file' one
try snapshot create --name good one
snapshot=$out
like "$snapshot" '^[a-z2-7]{20}$' "snapshot create prints its id"
try snapshot ls
like "$out" $'\n'"$snapshot +good +ready .* $one\$" "snapshot ls shows it"
try snapshot ls -q one
is "$out" "$snapshot" "of one session, too"
try run --snapshot "$snapshot" -- cat file
is "$out" precious "run begins with one"
try snapshot rm "$snapshot" aaaaaaaaaaaaaaaaaaaa
is "$code|$out" "1|$snapshot deleted" "snapshot rm deletes, and fails for one that is not there"
try snapshot ls -q
is "$out" '' "then there is none"

# ---- all sessions at once

try usage
like "$out" $'^QUOTA +USED +LIMIT +LEFT\nsessions +1 .*\nsnapshots +0 +100 +100\n' "usage shows quotas"
like "$out" 'sessions: .*ready 1' "and states"
try stats
like "$out" "^ID .*CPU +MEMORY .*"$'\n'"$one +one +ready +(-|[0-9]+%)/[0-9]+% +[1-9][0-9]*/[0-9]+ MB +(-|[0-9]+)/[0-9]+ MB +[1-9][0-9]*/[0-9]+ " \
	"stats show what each uses, and may use"
try stats one --json
like "$out" "^\{\"id\":\"$one\".*\"limits\":.*\"usage\":\{\"cpuMs\":[0-9]+,.*\"processes\":[1-9]" "or one of them"

"$cli" ls --watch >seen 2>err &
watch=$!
wait_for "$PATIENCE" grep -q "$one  one" seen
two=$("$cli" create --name newcomer)
ok "ls --watch shows what comes" wait_for "$PATIENCE" grep -q newcomer seen
kill $watch
wait $watch 2>/dev/null
: >seen
"$cli" ls --watch --json >seen 2>err &
watch=$!
wait_for "$PATIENCE" grep -q newcomer seen
"$cli" rm "$one" >/dev/null
"$cli" label newcomer seen=yes >/dev/null
ok "with --json a line for each change" wait_for "$PATIENCE" grep -q '"seen":"yes"' seen
kill $watch
wait $watch 2>/dev/null
"$cli" ls --watch | head -1 >first
is "${PIPESTATUS[0]} $(cut -c1-2 first)" '141 ID' "it ends when nobody reads it"

# ---- another org sees nothing of these sessions

stranger=$(stack_admin key create --org second --user two 2>/dev/null) || exit 1
for words in show ps interrupt 'snapshot create' 'kill --all' ssh-config; do
	# shellcheck disable=SC2086 # words
	SANDLEASE_API_KEY=$stranger try $words "$two"
	is "$code" 1 "a stranger gets nothing by $words"
	like "$err" 'no such session' "and is told nothing of it"
done
for words in "extend $two 1h" "label $two a=b" "update $two --keep-alive" "port-forward $two 0:8000"; do
	# shellcheck disable=SC2086 # words
	SANDLEASE_API_KEY=$stranger try $words
	is "$code" 1 "nor by ${words%% *}"
	like "$err" 'no such session' "and is told nothing of it"
done

done_testing
