#!/bin/bash
# Tests that sandlease.conf(5) has every setting that the programs read, with its
# default.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

api=${top_builddir:-build}/sandlease-api
[ -x "$api" ] || skip_all "sandlease-api is not built"

# "name default" of each setting, in order, as the page and the programs have it
documented() {
	sed -nE 's/^\.It Cm ([a-z_]+) Pq (Li )?(.*)$/\1 \3/p' src/common/sandlease.conf.5 |
		sed 's/ empty$/ /'
}
# The agent's default is where this build would be installed.
settings() {
	"$api" --settings | sed -nE 's/^\| `([a-z_]+)` \| `([^`]*)` .*/\1 \2/p' |
		sed 's|[^ ]*/sandlease-agent$|/usr/local/libexec/sandlease-agent|'
}
ok "sandlease-api --settings prints settings" test "$(settings | wc -l)" -gt 50
none "the page has every setting with its default, in order" \
	"$(diff <(documented) <(settings))"
none "no other document has a table of settings" \
	"$(grep -nE '^\| `(run_dir|api_workers|retention_days)` \|' README.md docs/*.md)"

# ---- the example has every default value

effective() { # FILE: the settings that a program reads from it
	"$api" --config "$1" --print
}
example=$(mktemp) && empty=$(mktemp) || exit 1
"$api" --example | sed -E 's/^#([a-z_]+ =)/\1/' >"$example"
is "$(grep -cE '^[a-z_]+ =' "$example")" "$(settings | wc -l)" "the example has every setting"
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
