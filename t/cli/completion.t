#!/bin/bash
# What shells complete: commands, options, and what the service knows.
# shellcheck disable=SC2016 # what is in single quotes is for the other shell
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/stack.sh"

stack_begin
export PATH=$STACK_BUILD:$PATH HOME=$STACK_DIR
here=$(cd "$TOP/src/cli/completion" && pwd)
mkdir "$STACK_DIR/cli" && cd "$STACK_DIR/cli" || exit 1
touch somefile
id=$(sandlease create --name boxy) || exit 1
sandlease ports add boxy 8123 >/dev/null

# ---- the words

words() { sandlease complete -- "$@" | cut -f1 | tr '\n' ' '; }
like "$(words '')" '^create ls exec shell .*ports .*doctor $' "commands, each once"
is "$(words sl)" 'sleep ' "by their beginning"
is "$(words ports r)" 'rm rotate ' "second words, too"
is "$(words exec --no)" '--no-stdin ' "options"
is "$(words exec --j)" '--json ' "those of all commands, too"
like "$(words rm '')" "$id boxy " "sessions, by id and name"
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

# ---- the shells

in_bash() { # WORD... the last being typed
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
	# what _describe would offer
	in_zsh() { # WORD...
		zsh -f -c 'file=$1; shift; _describe() { print -rn -- "${(P@)${@[-1]}} " }
			_files() { print -rn -- FILES }; compdef() { : }
			words=("$@") CURRENT=$#; source "$file"' zsh "$here/_sandlease" "$@"
	}
	like "$(in_zsh sandlease re)" '^resume:start it again' "zsh completes a command"
	like "$(in_zsh sandlease rm box)" '^boxy:ready' "a session"
	like "$(in_zsh sandlease cp box)" '^boxy\\:.*FILES' "a colon is told apart from its own"
else
	skip "zsh completes" "it is not installed"
fi

done_testing
