# shellcheck shell=bash
# shellcheck disable=SC2015,SC2154 # `a && b || die` means both or die; variables are shared by the files of t/lib
# auth.sh: measures authorisation against a worker that does nothing.
#
# Two programs answer the same requests of the same nginx with the same headers.
# The requests are of AUTH_SESSIONS sessions in turn; their rows are made by SQL,
# and no sandbox is behind them.

readonly AUTH_SESSIONS=1000 AUTH_PORT=8000

# In the cgroup of the pool it is compared with: the kernel counts the memory of
# sockets, and a peer in another cgroup costs nginx and the worker more.
noop_start() {
	local auth_workers
	auth_workers=$(setting_of auth_workers)
	install -m 755 "$STACK_BUILD/t/bench/noop" "$(stack_program noop)" &&
		DAEMON_CGROUP=cgroup_enter daemon_start noop "$SVC_USER" "$(stack_program noop)" \
			"$STACK_RUN/run/noop.sock" "$auth_workers" &&
		daemon_wait noop 5 test -S "$STACK_RUN/run/noop.sock"
}
noop_stop() { daemon_stop noop TERM 5; }

setting_of() { # NAME: its value in this service
	as "$SVC_USER" "$(stack_program sandlease-api)" --config "$(stack_conf_file)" --print |
		sed -n "s/^$1 *= *//p"
}

# auth_server: locations that differ only in the program that nginx asks.
auth_server() {
	local name conf=$STACK_STATE/nginx/conf
	printf 'server {\n\tlisten 127.0.0.1:%s;\n\taccess_log off;\n\tkeepalive_requests 1000000;\n' "$BENCH_PORT"
	for name in auth noop; do
		cat <<-EOT
			location ~ "^/$name/preview/(?<bench_id>[a-z0-9]{20})/(?<bench_token>[a-z2-7]{26})\\z" {
				fastcgi_pass unix:$STACK_RUN/run/$name.sock;
				include $conf/worker.params;
				include $conf/auth.params;
				fastcgi_param SL_ROUTE auth-preview;
				fastcgi_param SL_SESSION \$bench_id;
				fastcgi_param SL_PORT $AUTH_PORT;
				fastcgi_param SL_TOKEN \$bench_token;
				fastcgi_param SL_PATH /;
			}
			location ~ "^/$name/session/(?<bench_id>[a-z0-9]{20})\\z" {
				fastcgi_pass unix:$STACK_RUN/run/$name.sock;
				include $conf/worker.params;
				include $conf/auth.params;
				fastcgi_param SL_ROUTE auth-session;
				fastcgi_param SL_SESSION \$bench_id;
				fastcgi_param SL_TICKET "";
				fastcgi_param SL_PORT "";
				fastcgi_param SL_APPS_HEADER "";
				fastcgi_param SL_PATH /v1/sessions/\$bench_id/api/execute;
			}
		EOT
	done
	printf '}\n'
}

# $BENCH/rights has lines "session token"; the rows are ready, on this host, and a
# day old.
auth_rows() {
	/usr/bin/python3 "$HERE/auth.py" rights "$AUTH_SESSIONS" "$BENCH/rights" >"$BENCH/rights.csv" &&
		pg_psql -q -v ON_ERROR_STOP=1 -v host="$(setting_of host_name)" -v port="$AUTH_PORT" <<-EOT
			SET synchronous_commit = off;
			CREATE TEMP TABLE right_of (sid text, hash text);
			COPY right_of FROM stdin CSV;
			$(cat "$BENCH/rights.csv")
			\.
			INSERT INTO sandbox (id, tenant, class, state, incarnation, epoch, host, boot_id)
			SELECT 'ses-' || sid, 'demo', 'small', 'running', left(md5(sid), 16), 1, :'host', 'boot'
			  FROM right_of;
			INSERT INTO session (id, tenant, org, user_id, state, sandbox_id, isolation, class,
			       sleep_after_seconds, created_at, started_at, last_activity_at)
			SELECT sid, 'demo', 'demo', 'u', 'ready', 'ses-' || sid, 'session', 'small', 86400,
			       clock_timestamp() - interval '1 day', clock_timestamp() - interval '1 day',
			       clock_timestamp() - interval '1 minute'
			  FROM right_of;
			INSERT INTO lease (session_id, state, generation, accepted_generation, instance, sandbox_id,
			       keep_warm_until, ask_at)
			SELECT sid, 'owns_wrapper', 1, 1, left(md5(sid), 16), 'ses-' || sid,
			       clock_timestamp() + interval '1 day', clock_timestamp() + interval '1 day'
			  FROM right_of;
			INSERT INTO port (session_id, port, token_hash, token_sealed, pending)
			SELECT sid, :port, hash, 'x', false FROM right_of;
			ANALYZE session, lease, sandbox, port;
		EOT
}

# The rows go again: other parts count sessions.
auth_rows_end() {
	pg_psql -q -v ON_ERROR_STOP=1 <<-EOT
		CREATE TEMP TABLE gone (sid text, hash text);
		COPY gone FROM stdin CSV;
		$(cat "$BENCH/rights.csv")
		\.
		DELETE FROM lease l USING gone g WHERE l.session_id = g.sid;
		DELETE FROM session s USING gone g WHERE s.id = g.sid;
		DELETE FROM sandbox b USING gone g WHERE b.id = 'ses-' || g.sid;
	EOT
}

auth_answers() { # PROGRAM
	local session token
	read -r session token <"$BENCH/rights"
	[ "$(curl -s -o /dev/null -w '%{http_code}' \
		"http://127.0.0.1:$BENCH_PORT/$1/preview/$session/$token")" = 204 ]
}
both_answer() { auth_answers auth && auth_answers noop; }

auth_figures() {
	local name value unit aim note
	/usr/bin/python3 "$HERE/auth.py" measure "$BENCH/rights" "$BENCH_PORT" \
		"$(daemon_pid nginx)" "$(daemon_pid api)" "$(daemon_pid noop)" "$(daemon_pid postgres)" \
		>"$BENCH/auth" || return 1
	while IFS='|' read -r name value unit aim note; do
		figure "$name" "$value" "$unit" "$aim" "$note"
	done <"$BENCH/auth"
}

auth() {
	local status=0
	BENCH_PORT=$(stack_free_port)
	auth_rows && noop_start && nginx_add_server "$(auth_server)" both_answer && auth_figures || status=1
	noop_stop
	auth_rows_end || status=1
	return "$status"
}
