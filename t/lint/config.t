#!/bin/bash
# Tests that the README's Configuration section is the table that the programs
# read.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

api=${top_builddir:-build}/sandlease-api
[ -x "$api" ] || skip_all "sandlease-api is not built"
[ -s README.md ] || skip_all "there is no README yet"

section() {
	awk '/^## / { on = /Configuration/ } on && /^\| `/' README.md
}
# The agent's default is where this build would be installed.
# shellcheck disable=SC2016 # backticks of Markdown
usual() { sed 's|`[^`]*/sandlease-agent`|`/usr/local/libexec/sandlease-agent`|'; }
settings=$("$api" --settings | usual) || fail "sandlease-api --settings works"
none "every setting stands in the README, word for word" \
	"$(diff <(section) <(printf '%s\n' "$settings"))"
none "nothing is described twice" "$(section | cut -d'|' -f2 | sort | uniq -d)"

# ---- the example has every default value

effective() { # FILE: the settings that a program reads from it
	"$api" --config "$1" --print
}
example=$(mktemp) && empty=$(mktemp) || exit 1
"$api" --example | sed -E 's/^#([a-z_]+ =)/\1/' >"$example"
is "$(grep -cE '^[a-z_]+ =' "$example")" "$(section | wc -l)" "the example has every setting"
is "$(effective "$example")" "$(effective "$empty")" "with its default, once it is uncommented"
rm -f "$example" "$empty"

# ./dev up must behave as production does: its settings may say where files and
# ports are, and nothing else.
PLACES='database run_dir state_dir seal_key_file agent_path cgroup_root public_url
preview_base preview_path_base'
# shellcheck disable=SC2016 # the lists are expanded by that shell
told=$(STACK_STATE=/s STACK_RUN=/r STACK_PORT=1 STACK_PREVIEW_PORT=2 CGROUP=none \
	bash -c '. t/lib/dev-stack.sh && stack_settings' | sed 's/ *=.*//' | sort)
is "$told" "$(printf '%s\n' $PLACES | sort)" "./dev up sets places and no other setting"
none "nor does ./dev itself" "$(grep -n 'STACK_CONF=' dev)"

done_testing
