-- A session as the API shows it, without what only the host knows.
-- src/api/v1/session_json.c adds limits and URLs; src/api/v1/session_now.c asks the
-- wrapper, which it finds by 'agent', whether the session is busy.
CREATE OR REPLACE FUNCTION iso(t timestamptz)
RETURNS text LANGUAGE sql STABLE AS $$
    SELECT to_char(t AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- VOLATILE: a STABLE function that calls clock_timestamp() is not expanded in its caller's
-- query, but executed as a query of its own for each row.
CREATE OR REPLACE FUNCTION port_json(p port)
RETURNS json LANGUAGE sql VOLATILE AS $$
    SELECT json_build_object('port', p.port, 'name', p.name, 'token', p.token_sealed,
        'status', CASE WHEN p.closing_at IS NOT NULL THEN 'closing'
                       WHEN p.expires_at <= clock_timestamp() THEN 'expired' ELSE 'active' END,
        'expiresAt', iso(p.expires_at), 'host', p.host, 'baseUrl', p.base_url)
$$;

-- {"because", "until", "untilIfBusy"}: why a session is alive, as far as rows know.
-- A busy session has no idle date, because its idle time begins when its work ends.
-- Only the wrapper knows whether it is busy: src/api/v1/session_now.c asks the wrapper
-- and shows one of the two dates.
-- VOLATILE for the same reason as port_json().
CREATE OR REPLACE FUNCTION session_alive(s session, l lease)
RETURNS json LANGUAGE sql VOLATILE AS $$
    SELECT CASE
        WHEN s.state = 'asleep' AND s.suspended_at IS NOT NULL THEN
            json_build_object('because', json_build_array('suspended'), 'until', iso(s.expires_at))
        WHEN s.state NOT IN ('initializing', 'ready') THEN '{"because": [], "until": null}'::json
        ELSE json_build_object(
            'because', to_json(array_remove(ARRAY[
                CASE WHEN s.state = 'initializing' THEN 'starting' END,
                CASE WHEN s.state = 'ready' AND s.keep_alive THEN 'keep_alive' END,
                CASE WHEN s.state = 'ready' AND NOT s.keep_alive AND s.last_activity_at
                          + make_interval(secs => s.sleep_after_seconds) > clock_timestamp()
                     THEN 'recent_activity' END,
                CASE WHEN s.state = 'ready' AND NOT s.keep_alive
                          AND s.extended_until > clock_timestamp()
                     THEN 'extended' END], NULL)),
            'until', iso(least(coalesce(l.startup_deadline, l.keep_warm_until), session_cap(s))),
            'untilIfBusy', iso(least(l.startup_deadline, session_cap(s)))) END
$$;

-- Builds the JSON from rows that the caller has joined.  PostgreSQL puts the expression in
-- the place of the call, so that a page of sessions is one join and not a query for each.
-- VOLATILE because session_alive() is.
CREATE OR REPLACE FUNCTION session_build(s session, l lease, b sandbox, c class, f profile,
    o org, u network_use, p_keys json, p_ports json)
RETURNS json LANGUAGE sql VOLATILE AS $$
    SELECT json_build_object(
        'id', s.id,
        'name', s.name,
        'state', s.state,
        'busy', s.busy AND s.state = 'ready', -- as the last pass saw it
        'agent', json_build_object('incarnation', b.incarnation,
            'host', CASE WHEN b.state <> 'absent' THEN b.host END),
        'reason', s.reason,
        'sandboxId', s.sandbox_id,
        'isolation', s.isolation,
        'class', coalesce(b.class, s.class),
        'provider', c.provider,
        'cell', 'namespace',
        'agentType', s.agent_type,
        'labels', s.labels,
        'correlationKeys', coalesce(p_keys, '[]'),
        'lease', json_build_object(
            'state', l.state,
            'generation', l.generation,
            'instance', l.instance,
            'startupDeadline', iso(l.startup_deadline),
            'keepWarmUntil', iso(l.keep_warm_until),
            'stop', CASE WHEN l.state IN ('stop_needed', 'stopping') THEN json_build_object(
                'target', l.target,
                'reason', l.reason,
                'requestedAt', iso(l.requested_at),
                'nextAttemptAt', iso(l.next_attempt_at),
                'attempts', l.attempts,
                'attemptDeadline', iso(l.attempt_deadline),
                'lastError', l.last_error) END),
        'limits', CASE WHEN s.limits IS NULL AND f.limits IS NULL THEN json_build_object(
                'memoryMb', c.memory_mb, 'cpuMillis', c.cpu_millis,
                'diskMb', c.disk_mb, 'pids', c.pids, 'rootfs', c.rootfs)
            ELSE (limits_choose(s.limits, f.limits, class_limits(c)) || jsonb_build_object(
                'cpuMillis', c.cpu_millis, 'rootfs', c.rootfs))::json END,
        'network', CASE WHEN s.network IS NULL AND f.network IS NULL AND o.network IS NULL
                AND u.session_id IS NULL THEN network_none()
            ELSE network_json(network_choose(s, f, o.network), c.network_max, u) END,
        'secrets', coalesce(s.secrets, '[]'),
        'alive', session_alive(s, l),
        'sleepAfterSeconds', s.sleep_after_seconds,
        'keepAlive', s.keep_alive,
        'maxRunSeconds', s.max_run_seconds,
        'concurrency', s.concurrency,
        'cleanup', s.cleanup,
        'expiresAt', iso(s.expires_at),
        'suspend', s.suspend,
        'suspended', s.state = 'asleep' AND s.suspended_at IS NOT NULL,
        'wakeOnPreview', s.wake_on_preview,
        'setup', CASE WHEN s.setup_seconds IS NOT NULL THEN json_build_object(
            'state', CASE WHEN s.setup_exit = 0 THEN 'done'
                          WHEN s.setup_exit IS NOT NULL THEN 'failed' ELSE 'pending' END,
            'exitCode', s.setup_exit,
            'output', s.setup_output) END,
        'snapshot', s.snapshot_id,
        'ports', coalesce(p_ports, '[]'),
        'baseUrl', s.base_url,
        'createdAt', iso(s.created_at),
        'startedAt', iso(s.started_at),
        'lastActivityAt', iso(s.last_activity_at),
        'endedAt', iso(s.ended_at))
$$;

-- In PL/pgSQL because that keeps its plan; SQL would plan it for every call.
CREATE OR REPLACE FUNCTION session_json(s session)
RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    f profile%ROWTYPE;
BEGIN
    IF s.agent_type IS NOT NULL THEN
        f := profile_of(s.tenant, s.agent_type);
    END IF;
    RETURN (SELECT session_build(s, l, b, c, f, o, u,
               (SELECT json_agg(a.key) FROM (
                       SELECT x.key FROM alias x WHERE x.session_id = s.id ORDER BY x.key) a),
               (SELECT json_agg(port_json(p)) FROM (
                       SELECT * FROM port x WHERE x.session_id = s.id ORDER BY x.port) p))
      FROM (SELECT 1) one
      LEFT JOIN lease l ON l.session_id = s.id
      LEFT JOIN sandbox b ON b.id = s.sandbox_id
      LEFT JOIN class c ON c.name = coalesce(b.class, s.class)
      LEFT JOIN org o ON o.id = s.tenant
      LEFT JOIN network_use u ON u.session_id = s.id);
END $$;
