#!/bin/bash
# The rooms' arrows (src/README.md), and who may know which library.
. "${top_srcdir:=.}/t/lib/tap.sh"
cd "$top_srcdir" || exit 1

# room: the rooms it may include beside itself
declare -A MAY=(
	[common]=''
	[web]='common'
	[domain]='common'
	[store]='common domain'
	[provider]='common domain'
	[control]='common domain store provider'
	[api]='common web domain store control'
	[reaper]='common domain store control'
	[agent]='common web'
	[ws]='common'
	[admin]='common domain store control'
	[cli]='common'
)
# header of a library: the rooms that may include it
declare -A LIBRARY=(
	[fcgiapp.h]='web' [fcgi_stdio.h]=''
	[libpq-fe.h]='store'
	[curl/curl.h]='provider cli'
	[sodium.h]='common'
	[jansson.h]='common'
	[seccomp.h]='agent'
	[http_parser.h]='web'
	[libpsl.h]='api'
	[libwebsockets.h]='ws'
	[archive.h]='agent' [archive_entry.h]='agent'
)

room_of() { # FILE
	local rest=${1#src/}
	printf '%s' "${rest%%/*}"
}

bad_arrows() { # ROOM
	local file line target
	while IFS=: read -r file line target; do
		target=${target#*\"} target=${target%%/*}
		[[ " $1 ${MAY[$1]} " == *" $target "* ]] ||
			echo "$file:$line: $1 may not include $target/"
	done < <(grep -rnHE '^#include "[a-z]+/' src/"$1" --include='*.[ch]')
}

# Headers are included by room, so that an arrow cannot hide.
bare_includes() {
	grep -rnHE '^#include "[^/"]+"' src --include='*.[ch]' | grep -v '"config.h"'
}

for room in $(find src -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort); do
	if [ -z "${MAY[$room]+x}" ]; then
		fail "$room is a room with known arrows"
		continue
	fi
	none "$room includes only what its arrows allow" "$(bad_arrows "$room")"
done

none "every include of ours names its room" "$(bare_includes)"

for header in "${!LIBRARY[@]}"; do
	bad=''
	while read -r file; do
		[[ " ${LIBRARY[$header]} " == *" $(room_of "$file") "* ]] || bad+="$file "
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
