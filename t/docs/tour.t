#!/bin/bash
# Tests the tour of docs/tour.md, command by command, and the README's lines of the
# command line, against its own service.
#
# Between <!-- tour --> and <!-- /tour --> every ```sh block is run, in order
# and in one shell, and what the block after it shows is compared with what it
# printed.  Compared loosely: ids, tokens, times, ports and numbers of processes
# differ from run to run, and "..." in it stands for anything.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/stack.sh"
. "$top_srcdir/t/lib/docs.sh"

stack_begin
work=$STACK_DIR/tour
mkdir -p "$work/var"
printf 'SANDLEASE_URL=%s\nSANDLEASE_API_KEY=%s\n' "$SANDLEASE_URL" \
	"$SANDLEASE_API_KEY" >"$work/var/demo.env"

# Writes the page's blocks as files: N.run, and N.want if an output is shown.
split_blocks() {
	awk -v dir="$work" '
		/^<!-- tour -->/ { on = 1 }
		/^<!-- \/tour -->/ { on = 0 }
		!on { next }
		/^```/ && !inside {
			inside = 1
			if ($0 == "```sh") file = dir "/" ++n ".run"
			else file = dir "/" n ".want"
			next
		}
		/^```/ { inside = 0; close(file); next }
		inside { print > file }
		END { print n + 0 }
	' "$TOP/docs/tour.md"
}

# Writes one script: a block can use variables and functions of earlier ones.
write_script() { # COUNT
	local i
	for ((i = 1; i <= $1; i++)); do
		printf '{\n'
		cat "$work/$i.run"
		printf '} >"%s/%d.got" 2>&1\necho $? >"%s/%d.status"\n' \
			"$work" "$i" "$work" "$i"
	done >"$work/script"
}

# Replaces values that differ from run to run by a fixed name.
plain() {
	sed -E -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/TIME/g' \
		-e 's/-[a-z0-9]{20}-[a-z2-7]{26}\./-ID-TOKEN./g' \
		-e 's/"id":"[a-z0-9]{20}"/"id":"ID"/g' \
		-e 's/"keyId":"[a-z0-9]+"/"keyId":"KEY"/g' \
		-e 's/localhost:[0-9]+/localhost:PORT/g' -e '/^$/d' "$1"
}

# matches GOT WANT: compares line by line; "..." stands for anything.
matches() {
	local got want i
	mapfile -t got < <(plain "$1")
	mapfile -t want < <(plain "$2")
	[ ${#got[@]} -eq ${#want[@]} ] || {
		echo "${#got[@]} lines instead of ${#want[@]}:"
		cat "$1"
		return 1
	}
	for i in "${!want[@]}"; do
		line_is "${got[i]}" "${want[i]}" || {
			echo "got:  ${got[i]}"
			echo "want: ${want[i]}"
			return 1
		}
	done
}

# line_is compares literally, but "..." becomes the pattern *.
line_is() { # GOT WANT
	local rest=$2 pattern=''
	while [[ $rest == *...* ]]; do
		pattern+=$(printf '%q' "${rest%%...*}")'*'
		rest=${rest#*...}
	done
	pattern+=$(printf '%q' "$rest")
	# shellcheck disable=SC2053 # it is a pattern
	[[ $1 == $pattern ]]
}

# in_a_shell SCRIPT: runs it where sandlease is on the PATH; its output is in
# SCRIPT.got.
in_a_shell() {
	(cd "$work" && export SANDLEASE_URL SANDLEASE_API_KEY && PATH=$STACK_BUILD:$PATH \
		sh -e "$1" </dev/null >"$1.got" 2>&1) || {
		diag "$(cat "$work/$1.got")"
		return 1
	}
}

title() { head -n 1 "$1" | cut -c1-60; }

count=$(split_blocks)
ok "docs/tour.md has a tour" test "$count" -ge 8
write_script "$count"
# the tour must work in any shell, so the simplest one runs it
(cd "$work" && sh ./script) || fail "the tour runs to its end"

for ((i = 1; i <= count; i++)); do
	name="$i: $(title "$work/$i.run")"
	if [ "$(cat "$work/$i.status" 2>/dev/null)" != 0 ]; then
		fail "$name"
		diag "$(cat "$work/$i.got" 2>&1)"
	elif [ -e "$work/$i.want" ]; then
		ok "$name" matches "$work/$i.got" "$work/$i.want"
	else
		pass "$name"
	fi
done

# ---- the README's lines of the command line

# the shell gets its `exit` from a pipe, because there is no person
docs_block README.md sh 'sandlease create' |
	sed 's/^sandlease shell /echo exit | &/' >"$work/lines"
cp -r "$TOP/docs" "$work/docs"
ok "the README has lines for the command line" test "$(wc -l <"$work/lines")" -ge 5
ok "they work as printed" in_a_shell ./lines
ok "a command has run" grep -qx 42 "$work/lines.got"

# Tour and README delete every session that they made.
left() {
	curl -sS -H "Authorization: Bearer $SANDLEASE_API_KEY" \
		"$SANDLEASE_URL/v1/sessions?state=$1" | grep -o '"id":"[a-z0-9]*'
}
for state in initializing ready sleeping asleep failed deleting; do
	none "no session is left $state" "$(left "$state")"
done

done_testing
