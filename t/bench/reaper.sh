# shellcheck shell=bash
# shellcheck disable=SC2015,SC2034,SC2154 # `a && b || die` means both or die; variables are shared by the files of t/lib
# reaper.sh: measures passes of the reaper, and the repair of a wrapper that was
# killed.
#
# BENCH_EXPIRED, BENCH_HEALTHY and BENCH_KILLS make the run smaller for a try.

readonly EXPIRED=${BENCH_EXPIRED:-2000} PER_ORG=40 HEALTHY=${BENCH_HEALTHY:-100000}
readonly HEALTHY_PASSES=5 KILLS=${BENCH_KILLS:-10}

# cpu_ms DAEMON...: the CPU time so far of these daemons, with children that have ended.
cpu_ms() {
	local name pids=()
	for name; do
		mapfile -t -O "${#pids[@]}" pids < <(children_of "$(daemon_pid "$name")")
	done
	printf '/proc/%s/stat\n' "${pids[@]}" | xargs cat 2>/dev/null |
		sed 's/.*) //' | awk -v hz="$(getconf CLK_TCK)" '{ sum += $12 + $13 + $14 + $15 } END { printf "%d", sum * 1000 / hz }'
}

# Ends shared sandboxes in which nothing runs, ahead of their time.
end_shared() {
	pg_psql -qAt -c "UPDATE sandbox SET idle_since = clock_timestamp() - interval '1 day', deadline = NULL
		WHERE state = 'running' AND id NOT LIKE 'ses-%'" >/dev/null &&
		stack_reap >/dev/null 2>&1
}

median() { sort -n | awk '{ v[NR] = $1 } END { if (NR == 0) exit 1; print v[int((NR + 1) / 2)] }'; }

# ---- expired sessions

# make_many COUNT ISOLATION: makes running sessions, each with a shell, a few
# dozen to an org; untimed.
make_many() {
	local left=$1 n org key
	for ((org = 0; left > 0; org++)); do
		n=$((left < PER_ORG ? left : PER_ORG))
		left=$((left - n))
		key=$(stack_admin key create --org "bench-$2-$org" --user u 2>/dev/null) || return 1
		SANDLEASE_API_KEY=$key BENCH_CREATE="{\"isolation\":\"$2\"}" \
			load start "$n" 4 "$BENCH/many" >/dev/null || return 1
	done
}

expire_all() {
	pg_psql -qAt -c "UPDATE session SET expires_at = clock_timestamp()
		WHERE state NOT IN ('deleting', 'deleted')" >/dev/null
}
left_over() {
	pg_psql -qAt -c "SELECT count(*) FROM session WHERE state <> 'deleted'"
}

# clean REAPERS: runs that many passes at once over the expired sessions; prints
# milliseconds.
clean() {
	local since i pids=() status=0
	since=$(now_ms)
	for ((i = 0; i < $1; i++)); do
		stack_reap >>"$BENCH/reaped" 2>&1 &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || status=1
	done
	printf '%s' $(($(now_ms) - since))
	return "$status"
}

# expired_figure NAME COUNT ISOLATION REAPERS [AIM]
expired_figure() {
	local ms left cpu
	make_many "$2" "$3" && expire_all || return 1
	cpu=$(cpu_ms postgres)
	ms=$(clean "$4") || { tail -n 5 "$BENCH/reaped" >&2 && return 1; }
	left=$(left_over) || return 1
	figure "$1" "$(awk -v n=$(($2 - left)) -v ms="$ms" 'BEGIN { printf "%.1f", n * 1000 / ms }')" \
		"/s" "${5:-}" "$(($2 - left)) of $2 in $ms ms, CPU of PostgreSQL $(($(cpu_ms postgres) - cpu))"
	# sessions that this pass left over must not count in the next figure
	while [ "$(left_over)" -gt 0 ]; do
		clean 1 >/dev/null || return 1
	done
	end_shared
}

reaper_expired() {
	expired_figure "expired sessions, one reaper" "$EXPIRED" shared 1 ">= $((EXPIRED / 8))"
}
reaper_expired_two() {
	expired_figure "expired sessions, two reapers" "$EXPIRED" shared 2
}
reaper_expired_own() {
	expired_figure "expired, own sandbox, one reaper" $((EXPIRED / 10)) session 1 &&
		expired_figure "expired, own sandbox, two reapers" $((EXPIRED / 10)) session 2
}

# ---- many rows

# Rows as a service has them that has run for a while; t/lib/many-rows.sql says which.  Of
# the deleted sessions this host has the tombstones: copies of one that a real sandbox left.
many_rows() {
	local host
	host=$(as "$SVC_USER" "$(stack_program sandlease-api)" --config "$(stack_conf_file)" --print |
		sed -n 's/^host_name *= *//p')
	pg_psql -q -v n="$HEALTHY" -v orgs=200 -v host="$host" -v events=10 -f - \
		<"$HERE/../lib/many-rows.sql" && tombstones
}

tombstones() {
	local box=$STACK_STATE/data/box one
	with_sessions true 1 1 || return 1
	one=$(find "$box" -mindepth 1 -maxdepth 1 -name 'ses-*' -print -quit) && [ -n "$one" ] || return 1
	pg_psql -qAt -c "SELECT id FROM sandbox WHERE state = 'absent' AND created_at < clock_timestamp() - interval '1 hour'" |
		as "$SVC_USER" /usr/bin/python3 -c '
import glob, os, shutil, sys
one, box = sys.argv[1], os.path.dirname(sys.argv[1])
entry = [e for e in glob.glob(box + "/.gone/*") if e.endswith(os.path.basename(one))]
for id in sys.stdin.read().split():
    to = os.path.join(box, id)
    shutil.copytree(one, to)
    with open(to + "/label") as f:
        label = f.read().replace(os.path.basename(one), id)
    with open(to + "/label", "w") as f:
        f.write(label)
    for e in entry[:1]:
        os.link(to + "/incarnation", "%s/.gone/%s.%s" % (box, os.path.basename(e).partition(".")[0], id))
' "$one"
}

many_end() {
	pg_psql -qAt -v ON_ERROR_STOP=1 >/dev/null 2>&1 <<-'EOT' || return 1
		TRUNCATE session, lease, sandbox, event, quota, idempotency, execution, artifact, sample, audit,
		webhook, webhook_delivery, snapshot, sandbox_unused CASCADE;
		DELETE FROM login WHERE key_id IN (SELECT id FROM api_key WHERE tenant LIKE 'many%');
		DELETE FROM api_key WHERE tenant LIKE 'many%';
		DELETE FROM org WHERE id LIKE 'many%';
	EOT
	find "$STACK_STATE/data/box" -mindepth 1 -maxdepth 1 -exec rm -rf {} +
}

with_many() { # FUNCTION
	local status=0
	many_rows && "$1" || status=1
	many_end || status=1
	return "$status"
}

# ---- a pass over them

# pass_ms: the time of a pass by its own summary.
pass_ms() {
	stack_reap >"$BENCH/pass" 2>&1 || { tail -n 5 "$BENCH/pass" >&2 && return 1; }
	sed -n 's/^.* reaper: .* in \([0-9]*\) ms$/\1/p' "$BENCH/pass"
}

passes() { # NAME [AIM]
	local i cpu
	cpu=$(cpu_ms postgres)
	for ((i = 0; i < HEALTHY_PASSES; i++)); do
		pass_ms || return 1
	done >"$BENCH/passes"
	figure "pass over $HEALTHY healthy rows$1" "$(median <"$BENCH/passes")" ms "${2:-}" \
		"middle of $(sort -n "$BENCH/passes" | xargs), CPU of PostgreSQL $((($(cpu_ms postgres) - cpu) / HEALTHY_PASSES))"
}

# Autovacuum comes some time after rows; so does the second figure.
# rows_settle: has PostgreSQL do now what it would do beside the next measurement.
rows_settle() { pg_psql -q -c "VACUUM ANALYZE" 2>/dev/null; }

healthy_figures() {
	passes ", no statistics" && rows_settle && passes "" "<= 100"
}
reaper_healthy() { with_many healthy_figures; }

# ---- requests that read them

readonly QUERY_COUNT=60

query() { # NAME PATH
	local cpu p50 p99
	cpu=$(cpu_ms postgres nginx api)
	read -r p50 p99 < <(/usr/bin/python3 "$HERE/queries.py" "$QUERY_COUNT" "$2") || return 1
	figure "$1, $HEALTHY sessions" "$p50" ms "<= 10" "p50 of $QUERY_COUNT, p99 $p99, CPU $(awk \
		-v ms=$(($(cpu_ms postgres nginx api) - cpu)) -v n=$((2 * QUERY_COUNT)) 'BEGIN { printf "%.1f", ms / n }')"
}

query_figures() {
	local SANDLEASE_API_KEY
	SANDLEASE_API_KEY=$(stack_admin key create --org many --user u 2>/dev/null) || return 1
	export SANDLEASE_API_KEY
	rows_settle || return 1
	query "list of 50" "/v1/sessions?limit=50" &&
		query "list by label" "/v1/sessions?limit=50&label=run:5" &&
		query "list by a common label" "/v1/sessions?limit=50&label=team:t3" &&
		query "list by state" "/v1/sessions?limit=50&state=failed" &&
		query "usage" /v1/usage &&
		query "health" /v1/health
}
queries() { with_many query_figures; }

# ---- a wrapper that was killed

# wrapper_of SESSION: the pid of its wrapper, as the host numbers it.
wrapper_of() {
	local dir
	for dir in /proc/[0-9]*; do
		[ "$(tr '\0' ' ' 2>/dev/null <"$dir/cmdline")" = "sandlease-agent wrapper " ] &&
			grep -qzx "SANDLEASE_SESSION_ID=$1" "$dir/environ" 2>/dev/null &&
			printf '%s' "${dir##*/}" && return 0
	done
	return 1
}

# Whether a command runs in SESSION; a call that is answered 503 is repeated.
command_works() {
	curl -s -o "$BENCH/answer" -w '%{http_code}' -H "Authorization: Bearer $SANDLEASE_API_KEY" \
		-H 'Content-Type: application/json' -d '{"command":"echo again"}' \
		"$SANDLEASE_URL/v1/sessions/$1/api/execute" | grep -qx 200 &&
		grep -q again "$BENCH/answer"
}

kill_rounds() {
	local session pid since i
	read -r session <"$BENCH/ids"
	for ((i = 0; i < KILLS; i++)); do
		pid=$(wrapper_of "$session") || return 1
		since=$(now_ms)
		kill -KILL "$pid" || return 1
		until command_works "$session"; do
			[ $(($(now_ms) - since)) -lt 30000 ] || return 1
		done
		printf '%s\n' $(($(now_ms) - since))
	done >"$BENCH/recoveries"
	figure "kill -9 of a wrapper to a command" "$(median <"$BENCH/recoveries")" ms "" \
		"$(sort -n "$BENCH/recoveries" | sed -n '1p;$p' | xargs | sed 's/ / to /'), n $KILLS"
}

kill_recovery() { with_sessions kill_rounds 1 1; }
