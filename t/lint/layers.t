#!/bin/bash
# Tests that each room uses only the rooms (src/README.md) and libraries it may use.
#
# A room is a folder of src/ with C files in it. Arrows are looked for twice: in
# the #include lines, and with nm in the symbols of the objects, because a
# declaration can come by way of a third room's header.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1
build=${top_builddir:-build}

# Bottom up: a room, and the rooms it may use beside itself. Those stand above
# it in this table (a test checks that), so that no arrow can run back.
ROOMS='
common
web              common
domain           common
store            common domain

provider         common domain
provider/host    common provider
provider/cgroup  common provider provider/host
provider/link    common domain provider provider/host
provider/box     common domain provider provider/host provider/cgroup
provider/store   common provider provider/host provider/cgroup provider/link provider/box
provider/local   common domain provider provider/host provider/cgroup provider/link
                 provider/box provider/store
provider/choose  common provider provider/host provider/cgroup provider/local
control          common domain store provider provider/link provider/store provider/choose
webhook          common store control

api              common web store control
api/gate         common web domain store control api
api/v1           common web domain store control api api/gate
api/route        common web api api/gate api/v1
api/stream       common web store api
api/serve        common web store control webhook api api/gate api/route api/stream
reaper           common domain store control webhook
admin            common domain store control

egress/base      common domain
egress/serve     common web domain egress/base
egress           common store control egress/base egress/serve

cli              common
cli/http         common cli
cli/copy         common cli cli/http
cli/cmd          common cli cli/http cli/copy

launch
ws               common
agent/base       common web
agent/files      common agent/base
agent/run        common web agent/base
agent/watch      common agent/base agent/files
agent/shell      common agent/base agent/run
agent/code       common agent/base agent/run agent/shell
agent/relay      common web agent/base agent/run
agent/cell       common agent/base agent/shell
agent/init       common agent/base agent/files agent/cell
agent/child      common agent/base agent/run
agent/process    common agent/base agent/files agent/run agent/shell agent/child
agent/attempt    common agent/base agent/files agent/run agent/shell agent/init
agent/pty        common agent/base agent/run agent/shell agent/cell agent/child
agent/git        common agent/files agent/run agent/shell
agent/archive    common agent/files agent/run
agent/api        common web agent/base agent/files agent/run agent/watch agent/shell
                 agent/code agent/relay agent/cell agent/process agent/pty agent/git
                 agent/archive agent/attempt
agent/ws         common web agent/base agent/run agent/pty agent/api
agent/wrapper    common web agent/base agent/files agent/run agent/shell agent/relay
                 agent/cell agent/init agent/process agent/pty agent/git agent/archive
                 agent/attempt agent/api agent/ws
'
# header of a library: the rooms, sub-rooms included, that may include it
declare -A LIBRARY=(
	[fcgiapp.h]='web' [fcgi_stdio.h]=''
	[libpq-fe.h]='store'
	[curl/curl.h]='cli/http cli/cmd webhook'
	[sodium.h]='common'
	[jansson.h]='common'
	[seccomp.h]='agent/base'
	[http_parser.h]='web'
	[libpsl.h]='api/serve'
	[ares.h]='egress/base'
	[libmnl/libmnl.h]='egress/base' [libnftnl/rule.h]='egress/base' [libnftnl/expr.h]='egress/base'
	[openssl/evp.h]='egress/base' [openssl/pem.h]='egress/base' [openssl/x509v3.h]='egress/base egress/serve'
	[openssl/ssl.h]='egress/base egress/serve' [openssl/err.h]='egress/base egress/serve'
	[libwebsockets.h]='ws'
	[archive.h]='agent/archive' [archive_entry.h]='agent/archive'
)
readonly SHARE=20 # percent of the lines of src/ that one room may have

declare -A MAY=()
ORDER=()
while read -r line; do
	# an indented line goes on with the row before it
	read -r room rooms <<<"$line"
	MAY[$room]=" $room $rooms "
	ORDER+=("$room")
done < <(sed -E '/^$/d' <<<"$ROOMS" | sed -E ':a; N; s/\n +/ /; ta; P; D')

# ---- the table

out_of_order() {
	local room target seen=' '
	for room in "${ORDER[@]}"; do
		seen+="$room "
		for target in ${MAY[$room]}; do
			[[ $seen == *" $target "* ]] || echo "$room uses $target, which is not below it"
		done
	done
}
none "every room uses only rooms below it" "$(out_of_order)"
none "the table has every room of src/, and no other" "$(diff \
	<(printf '%s\n' "${ORDER[@]}" | sort) \
	<(find src -name '*.c' -printf '%P\n' | sed 's,/[^/]*$,,' | sort -u))"

# ---- included headers

bad_includes() { # ROOM
	local file line target
	while IFS=: read -r file line target; do
		target=${target#*\"} target=${target%/*}
		[[ ${MAY[$1]} == *" $target "* ]] || echo "$file:$line: $1 may not include $target/"
	done < <(grep -nHE '^#include "[a-z]+/' src/"$1"/*.[ch])
}
for room in "${ORDER[@]}"; do
	none "$room includes only rooms it may use" "$(bad_includes "$room")"
done
none "every include of ours names its room" \
	"$(grep -rnHE '^#include "[^/"]+"' src --include='*.[ch]' | grep -v '"config.h"')"

# ---- called functions

# Objects whose sources exist: a build directory keeps objects of files that have
# moved.
objects() {
	find src -name '*.c' | sed 's/c$/o/' | (cd "$build" && xargs ls 2>/dev/null)
}

# A program's own names may stand in another program, too (every program has
# commands): a use is wrong when no room that the user may use defines the name.
bad_symbols() {
	objects | (cd "$build" && xargs nm -A) |
		awk -v table="$(for r in "${ORDER[@]}"; do echo "$r:${MAY[$r]}"; done)" '
			BEGIN {
				n = split(table, rows, "\n")
				for (i = 1; i <= n; i++) {
					room = substr(rows[i], 1, index(rows[i], ":") - 1)
					m = split(substr(rows[i], length(room) + 2), names, " ")
					for (j = 1; j <= m; j++) may[room, names[j]] = 1
				}
			}
			{
				file = substr($1, 1, index($1, ":") - 1)
				room = file; sub(/^src\//, "", room); sub(/\/[^\/]*$/, "", room)
				name = $NF; type = $(NF - 1)
			}
			type ~ /^[TDBRVWC]$/ { homes[name] = homes[name] " " room }
			type == "U" { user[++users] = room; of[users] = file; what[users] = name }
			END {
				for (i = 1; i <= users; i++) {
					n = split(homes[what[i]], at, " ")
					allowed = n == 0
					for (j = 1; j <= n; j++) if ((user[i], at[j]) in may) allowed = 1
					if (!allowed) print of[i] " uses " what[i] " of " at[1] "/"
				}
			}' | sort -u
}
# "user used" for each pair of files of one room; tsort names the files in a circle
calls_within() { # ROOM
	objects | grep "^src/$1/[^/]*$" | (cd "$build" && xargs -r nm -A) |
		awk '{ file = substr($1, 1, index($1, ":") - 1); name = $NF; type = $(NF - 1) }
			type ~ /^[TDBRVWC]$/ { home[name] = file }
			type == "U" { n++; user[n] = file; what[n] = name }
			END {
				for (i = 1; i <= n; i++) if (what[i] in home) print user[i], home[what[i]]
			}' | sort -u
}
if [ -f "$build/libagent.a" ] && [ -f "$build/libapi.a" ]; then
	bad=$(bad_symbols)
	for room in "${ORDER[@]}"; do
		none "$room uses only symbols of rooms it may use" \
			"$(grep -E "^src/$room/[^/]* uses" <<<"$bad")"
		none "no files of $room call each other in a circle" \
			"$(calls_within "$room" | tsort 2>&1 >/dev/null)"
	done
	ok "nm was heard" test "$(objects | wc -l)" -gt 300
else
	skip "the symbols of each room" "it is not built"
fi

# ---- how large a room is

too_large() {
	local all room lines
	all=$(find src -name '*.[ch]' -exec cat {} + | wc -l)
	for room in "${ORDER[@]}"; do
		lines=$(cat src/"$room"/*.[ch] | wc -l)
		[ $((lines * 100)) -le $((all * SHARE)) ] || echo "$room has $lines of $all lines"
	done
}
none "no room has more than $SHARE % of the lines" "$(too_large)"

# ---- rooms that may use a library

for header in "${!LIBRARY[@]}"; do
	bad=''
	while read -r file; do
		allowed=no
		for room in ${LIBRARY[$header]}; do
			[[ $file != src/$room/* ]] || allowed=yes
		done
		[ "$allowed" = yes ] || bad+="$file "
	done < <(grep -lE "^#include <$header>" -r src --include='*.[ch]')
	none "<$header> is included only in: ${LIBRARY[$header]:-nothing}" "$bad"
done

# The fake provider is for tests: in no program that a user runs.
fake=${top_builddir:-build}/libfake.a
fake_symbols() {
	nm --defined-only --extern-only "$fake" | awk 'NF == 3 { print $3 }' | sort -u
}
if [ -f "$fake" ]; then
	for p in "${top_builddir:-build}"/sandlease{,-api,-reaper,-agent,-admin}; do
		[ -f "$p" ] || continue
		none "${p##*/} holds nothing of t/lib/fake" "$(comm -12 \
			<(fake_symbols) <(nm --defined-only "$p" | awk '{ print $3 }' | sort -u))"
	done
else
	skip "no program holds anything of t/lib/fake" "it is not built"
fi

done_testing
