#!/bin/bash
# Tests that docs/sandbox.md's program for the Cloudflare SDK runs unchanged in plain
# Node, with the file that the service serves, in every version the page names.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/stack.sh"
. "$top_srcdir/t/lib/node.sh"

here=$(cd "$top_srcdir/t/sdk" && pwd)
packages=${SANDLEASE_NODE_DIR:-$(node_directory "$here")}
node=$(node_find_new "$(cd "$top_srcdir" && pwd)")
[ -n "$node" ] || skip_all "node 20 or newer is not installed"
node_install "$here" "$packages" || skip_all "the SDK cannot be installed"

stack_begin
work=$STACK_DIR/sdk
mkdir -p "$work/node_modules/@cloudflare"
cd "$work" || exit 1
awk '/^<!-- sdk -->/ { on = 1 } on && /^```$/ { exit } on && inside { print } on && /^```js$/ { inside = 1 }' \
	"$TOP/docs/sandbox.md" >program.mjs
ok "docs/sandbox.md has the program" [ -s program.mjs ]
is "$(curl -s -o sdk-node.mjs -w '%{http_code}' "$SANDLEASE_URL/sdk-node.mjs")" 200 \
	"the service hands out the file that it needs"
for version in 0.7.21 0.9.2 0.12.10; do
	ln -sfn "$packages/node_modules/sandbox-$version" node_modules/@cloudflare/sandbox
	got=$("$node" program.mjs 2>&1)
	is "$got" "hello from /workspace" "$version says what it should"
done
done_testing
