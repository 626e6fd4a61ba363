# shellcheck shell=bash
# shellcheck disable=SC2015,SC2034,SC2154 # `a && b || die` means both or die; variables are shared by the files of t/lib
# reaper.sh: measures passes of the reaper, and the repair of a wrapper that was
# killed.
#
# BENCH_EXPIRED, BENCH_HEALTHY and BENCH_KILLS make the run smaller for a try.

readonly EXPIRED=${BENCH_EXPIRED:-2000} PER_ORG=40 HEALTHY=${BENCH_HEALTHY:-100000}
readonly HEALTHY_PASSES=5 KILLS=${BENCH_KILLS:-10}

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
	local ms left
	make_many "$2" "$3" && expire_all || return 1
	ms=$(clean "$4") || { tail -n 5 "$BENCH/reaped" >&2 && return 1; }
	left=$(left_over) || return 1
	figure "$1" "$(awk -v n=$(($2 - left)) -v ms="$ms" 'BEGIN { printf "%.1f", n * 1000 / ms }')" \
		"/s" "${5:-}" "$(($2 - left)) of $2 in $ms ms"
	# sessions that this pass left over must not count in the next figure
	while [ "$(left_over)" -gt 0 ]; do
		clean 1 >/dev/null || return 1
	done
}

reaper_expired() {
	expired_figure "expired sessions, one reaper" "$EXPIRED" shared 1 ">= $((EXPIRED / 20))"
}
reaper_expired_two() {
	expired_figure "expired sessions, two reapers" "$EXPIRED" shared 2
}
reaper_expired_own() {
	expired_figure "expired, own sandbox, one reaper" $((EXPIRED / 10)) session 1 &&
		expired_figure "expired, own sandbox, two reapers" $((EXPIRED / 10)) session 2
}

# ---- healthy rows

# Half of the rows run on another host, half sleep on this one: nothing is due.
healthy_rows() {
	local host
	host=$(as "$SVC_USER" "$(stack_program sandlease-api)" --config "$(stack_conf_file)" --print |
		sed -n 's/^host_name *= *//p')
	pg_psql -q -v ON_ERROR_STOP=1 -v host="$host" -v n="$HEALTHY" <<-'EOT'
		SET synchronous_commit = off;
		INSERT INTO org (id) VALUES ('healthy') ON CONFLICT DO NOTHING;
		CREATE TEMP TABLE row AS
		SELECT i, i % 2 = 0 AS runs, left(md5('healthy' || i), 20) AS sid,
		       'ses-' || left(md5('a' || i) || md5('b' || i), 48) AS box
		  FROM generate_series(1, :n) i;
		INSERT INTO sandbox (id, tenant, class, state, incarnation, epoch, host, boot_id)
		SELECT box, 'healthy', 'small', CASE WHEN runs THEN 'running' ELSE 'stopped' END,
		       left(md5(box), 16), 1, CASE WHEN runs THEN 'elsewhere' ELSE :'host' END, 'boot'
		  FROM row;
		INSERT INTO session (id, tenant, user_id, state, sandbox_id, isolation, class,
		       sleep_after_seconds, started_at, last_activity_at, expires_at, ended_at)
		SELECT sid, 'healthy', 'u', CASE WHEN runs THEN 'ready' ELSE 'asleep' END, box, 'session',
		       'small', 600, clock_timestamp(), clock_timestamp(),
		       clock_timestamp() + interval '1 day',
		       CASE WHEN runs THEN NULL ELSE clock_timestamp() END
		  FROM row;
		INSERT INTO lease (session_id, state, generation, instance, sandbox_id, keep_warm_until,
		       ask_at)
		SELECT sid, CASE WHEN runs THEN 'owns_wrapper' ELSE 'none' END, 1,
		       CASE WHEN runs THEN left(md5(sid), 16) END, box,
		       CASE WHEN runs THEN clock_timestamp() + interval '1 hour' END,
		       clock_timestamp() + interval '1 hour'
		  FROM row;
		ANALYZE session, lease, sandbox, event;
	EOT
}

# pass_ms: the time of a pass by its own summary.
pass_ms() {
	stack_reap 2>&1 | sed -n 's/^.* reaper: .* in \([0-9]*\) ms$/\1/p'
}

healthy_figure() {
	local i
	for ((i = 0; i < HEALTHY_PASSES; i++)); do
		pass_ms || return 1
	done >"$BENCH/passes"
	figure "pass over $HEALTHY healthy rows" "$(median <"$BENCH/passes")" ms "<= 1000" \
		"middle of $(sort -n "$BENCH/passes" | xargs)"
}

reaper_healthy() {
	local status=0
	healthy_rows && healthy_figure || status=1
	pg_psql -qAt -v ON_ERROR_STOP=1 >/dev/null <<-'EOT' || status=1
		TRUNCATE session, lease, sandbox, event, quota, idempotency CASCADE;
	EOT
	return "$status"
}

# ---- a wrapper that was killed

# wrapper_of SESSION: the pid of its wrapper, as the host numbers it.
wrapper_of() {
	local dir
	for dir in /proc/[0-9]*; do
		[ "$(tr '\0' ' ' <"$dir/cmdline" 2>/dev/null)" = "sandlease-agent wrapper " ] &&
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
