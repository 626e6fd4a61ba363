#!/bin/bash
# The fences outside of the database can fail, too: each that is taken out turns
# a test red.  A copy of the checkout is changed, so that programs carry no hooks
# for it; t/sql/mutation.t does the same with the database's.
. "${top_srcdir:=.}/t/lib/tap.sh"
set -uo pipefail
cd "$top_srcdir" || exit 1
top=$PWD
build=$(cd "${top_builddir:=$PWD/build}" 2>/dev/null && pwd) || skip_all "nothing is built"
[ "${build%/*}" = "$top" ] || skip_all "the build is not in a directory of the checkout"
[ -x "$build/t/unit/provider/record_test" ] || skip_all "the tests are not built"
build=${build##*/}

dir=$(mktemp -d) || exit 1
trap 'rm -rf -- "$dir"' EXIT
chmod 755 "$dir"
# with its dates: make sees that nothing is to be done
tar -cf - --exclude=./.git --exclude=./var --exclude=./build --exclude=./build-check \
	--exclude=./build-faults . |
	tar -xf - -C "$dir" && cp -a "$top/$build" "$dir/$build" || exit 1

compile() {
	make -s -C "$dir/$build" ACLOCAL=: AUTOCONF=: AUTOHEADER=: AUTOMAKE=: "$@" \
		>"$dir/make.log" 2>&1
}

# red NAME FILE SED TARGET COMMAND...: it fails, and by a check.
red() {
	local name=$1 file=$2 change=$3 target=$4 out status=0
	shift 4
	sed -E -i "$change" "$dir/$file"
	if cmp -s "$file" "$dir/$file"; then
		fail "$name: the change fits $file no more"
		return
	fi
	if ! compile "$target"; then
		fail "$name: the mutant does not compile"
		diag "$(tail -n 5 "$dir/make.log")"
	else
		out=$(cd "$dir" && TAP_UNTIL_FAILURE=1 CMOCKA_MESSAGE_OUTPUT=TAP top_srcdir=$dir \
			top_builddir=$dir/$build "$@" 2>&1 </dev/null) || status=$?
		if [ "$status" -ne 0 ] && grep -q '^not ok' <<<"$out"; then
			pass "$name: $1 notices"
			diag "$(grep -m 1 '^not ok' <<<"$out")"
		else
			fail "$name: $1 must notice"
			diag "status $status: $(tail -n 3 <<<"$out")"
		fi
	fi
	cp "$file" "$dir/$file" # newer than what was built from the mutant
}

ok "a copy of the checkout builds" compile sandlease-agent

# ---- the host's record

record=(src/provider/record.c t/unit/provider/record_test)
host() { red "$1" "${record[0]}" "$2" "${record[1]}" "$build/${record[1]}"; }
host "an older epoch starts" 's/s->epoch > 0 && s->epoch <= r->epoch/false/'
host "a past incarnation starts" 's/is_past\(r, s->incarnation\) \|\|/false ||/'
host "what has died starts again" 's/if \(runs &&$/if ((runs || true) \&\&/'
host "a stop ends whatever runs" '/^record_check_end/,/^}/s/if \(runs\)/if (runs \&\& false)/'
host "a late destroy takes newer files" '/^record_check_end/,/^}/s/if \(destroy && /if (destroy \&\& false \&\& /'
host "a stop that came first is not noted" '/^record_end/,/^}/s/if \(!is_current/if (false \&\& !is_current/'

# ---- init

red "the seal is nothing" src/agent/cells.c 's/if \(generation > s->generation\)/if (generation < 0)/' \
	t/unit/agent/cells_test "$build/t/unit/agent/cells_test"
agent() { red "$1" "$2" "$3" sandlease-agent t/agent/control.t; }
agent "the seal is nothing" src/agent/cells.c 's/if \(generation > s->generation\)/if (generation < 0)/'
agent "a sealed generation starts" src/agent/init_ops.c 's/if \(l->generation <= sealed\)/if (l->generation < 0)/'
agent "init takes any incarnation's message" src/agent/init_ops.c \
	's/if \(!str_equal\(json_str\(r->msg, "incarnation"\), in->opt.incarnation\)\)/if (name == NULL)/'

# ---- control

red "a restart looks and does not seal" src/control/start.c \
	'/^make_final/,/^}/s/if \(!str_equal\(s->lease, "owns_wrapper"\)\)/if (s != NULL)/' \
	t/unit/control/start_world t/control/start.t

done_testing
