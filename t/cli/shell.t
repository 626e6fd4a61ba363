#!/bin/bash
# Tests sandlease shell in a real terminal, driven as a person would, in tmux.
# shellcheck disable=SC2016 # what is in single quotes is for the other shell
. "${top_srcdir:=.}/t/lib/tap.sh"
command -v tmux >/dev/null || skip_all "tmux is not installed"
. "$top_srcdir/t/lib/cli.sh"

"$cli" create --name term >/dev/null || exit 1
mux() { tmux -S "$work/mux" -f /dev/null "$@"; }
end_mux() {
	mux kill-server 2>/dev/null
	stack_end
}
trap end_mux EXIT

# window NAME COLS ROWS: starts a local shell in a terminal of that size
window() { mux new-session -d -s "$1" -x "$2" -y "$3" "PS1='here> ' bash --norc --noprofile"; }
type_in() { # WINDOW KEY...
	local w=$1
	shift
	mux send-keys -t "$w" "$@"
}
screen() { mux capture-pane -p -J -S - -t "$1"; }

# sees WINDOW REGEX NAME: waits until the screen matches REGEX
sees() {
	if wait_for "$PATIENCE" shows "$1" "$2"; then
		pass "$3"
	else
		fail "$3"
		diag "$(screen "$1")"
	fi
}
shows() { screen "$1" | grep -E -- "$2"; }

# ---- one terminal

window a 100 30
type_in a "stty -g >before; '$cli' shell term; echo code \$? \$(stty -g | cmp - before && echo same)" Enter
sees a '^user@term:/workspace\$' "there is a prompt, with the session and the directory"
type_in a 'tty; stty size; echo $TERM' Enter
sees a '^/dev/pts/' "it is a terminal"
sees a '^30 100' "of our size"
sees a '^xterm-256color' "of a known kind"
mux resize-window -t a -x 80 -y 20
type_in a 'until [ "$(stty size)" = "20 80" ]; do sleep 0.05; done; echo resi"zed"' Enter
sees a '^resized' "a new size is told"
type_in a 'sleep 1000' Enter
# until it runs, ^C would be for the shell, which may be about to start it
wait_for "$PATIENCE" "$cli" exec -n term -- pgrep -x sleep
type_in a C-c
type_in a 'echo code $?' Enter
sees a '^code 130' "^C is for what runs there"

# ---- a program that uses the whole screen

# without questions to the terminal: an answer that comes after vim's end is typed into the shell
type_in a 'vim -u NONE -N --cmd "set t_RV= t_u7= t_RF= t_RB=" /workspace/text' Enter
sees a '"?/workspace/text"? .*\[New' "vim starts"
type_in a 'ihello from vim' Escape
type_in a ':wq' Enter
sees a 'text$' "vim ends" # the screen from before vim, with its command line
type_in a 'cat text; echo wri"tten"' Enter
sees a '^written' "the shell goes on"
is "$("$cli" exec -n term -- cat text)" 'hello from vim' "what was typed is in the file"

# ---- two clients of one terminal

window b 80 20
type_in b "'$cli' shell term; echo code \$?" Enter
sees b '^written' "who comes later sees what was written"
type_in b 'echo from the "other" one' Enter
sees a '^from the other one' "and both see what either does"

# ---- leaving and coming back

type_in b Enter
type_in b '~.'
sees b '^code 0' "~. leaves it"
sees b 'detached; the terminal runs on' "and says so"
type_in a Enter
type_in a '~?'
sees a '~\. detach' "~? helps"
type_in a 'x=kept' Enter '~.'
sees a '^code 0 same' "our terminal is as it was"
type_in b "clear; '$cli' shell term; echo code \$?" Enter
type_in b 'echo is $x' Enter
sees b '^is kept' "it was there all the time"
type_in b 'echo ~~; echo a~.' Enter
sees b '^a~\.' "a tilde elsewhere is one"

# ---- large amounts

type_in b 'stty raw -echo; echo re"ads"; head -c 1000000 | sha256sum; stty sane' Enter
sees b '^reads' "it reads whatever comes" # a line of a terminal has 4096 bytes
head -c 750000 /dev/urandom | base64 -w 0 >pasted
mux load-buffer -b big pasted
mux paste-buffer -b big -t b
want=$(sha256sum <pasted)
sees b "^ *${want%% *}" "a paste of a megabyte arrives whole"
type_in b 'exit 9' Enter
sees b '^code 9' "the exit code is the shell's"

# sends ten megabytes, without a local terminal
head -c 10000000 /dev/zero | tr '\0' x >ten
{
	printf 'stty raw -echo; echo rea""dy; head -c 10000000 | sha256sum >sum; exit 5\n'
	until grep -q ready out 2>/dev/null; do kill -0 $$ || break; done
	cat ten
} | timeout "$PATIENCE" "$cli" shell -s ten term >out 2>err
is "${PIPESTATUS[1]}" 5 "ten megabytes are typed"
is "$("$cli" exec -n term -- cat sum)" "$(sha256sum <ten)" "and arrive whole"
is "$(echo 'echo $((6 * 7))' | timeout "$PATIENCE" "$cli" shell -s eof term | grep -c '42')" 1 \
	"the end of a pipe ends it"

# ---- failures around a terminal

"$cli" sleep term >/dev/null
type_in b "clear; '$cli' shell term; echo code \$?" Enter
type_in b 'echo wo"ken"' Enter
sees b '^woken' "a session that sleeps is woken"
# kills the nginx workers; the master starts others
mapfile -t workers < <(pgrep -P "$(cat "$STACK_STATE/nginx/tmp/nginx.pid")")
kill -KILL "${workers[@]}"
sees b 'connection is lost' "a connection that breaks is noticed"
sees b 'connected again' "and made again"
type_in b 'echo still he"re"' Enter
sees b '^still here' "it is the same terminal"
type_in b "stty size >size" Enter 'sleep 1000' Enter
"$cli" sleep term >/dev/null
sees b '^sandlease: The session was put to sleep' "if the session sleeps it ends, and says why"
type_in b "stty -g | cmp - before && echo sa\"me\"" Enter
sees b '^same' "and our terminal is as it was"
type_in b "clear; (echo \$BASHPID >pid; exec '$cli' shell term); echo code \$?" Enter
type_in b 'echo ba"ck"' Enter
sees b '^back' "it can be had again" # a prompt on the screen may be an old one
kill -TERM "$(cat pid)"
sees b 'code 143' "a signal ends us"
type_in b "stty -g | cmp - before && echo a\"gain\"" Enter
sees b '^again' "and our terminal is as it was"
"$cli" shell nobody </dev/null 2>err
is "$?" 125 "a failure of ours is 125"
"$cli" shell --json term </dev/null 2>err
is "$?" 125 "there is no --json of a terminal"

# ---- the session ends: shell tells only the true reason

"$cli" create --name ends >/dev/null
for how in 'sleep put to sleep' 'rm deleted'; do
	window "${how%% *}" 100 20
	type_in "${how%% *}" "'$cli' shell ends; echo code \$?" Enter
	sees "${how%% *}" '^user@ends' "a terminal, before ${how%% *}"
	"$cli" "${how%% *}" ends >/dev/null
	sees "${how%% *}" '^code 125' "which ends it"
	ok "and is told as what it is" shows "${how%% *}" "^sandlease: The session was ${how#* }"
	none "without a word of a lost connection" "$(shows "${how%% *}" 'connection is lost')"
done

done_testing
