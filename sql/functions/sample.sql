-- Samples of what sessions and sandboxes use: taken, made fewer, and shown.

-- The newest sample, not after p_until, of a session or (p_session NULL) of a whole sandbox.
-- All members are NULL if there is none.  One query for each, so that each has its index.
CREATE OR REPLACE FUNCTION sample_last(p_sandbox text, p_session text, p_until timestamptz)
RETURNS sample LANGUAGE plpgsql STABLE AS $$
DECLARE
    v sample%ROWTYPE;
BEGIN
    IF p_session IS NULL THEN
        SELECT * INTO v FROM sample
         WHERE sandbox_id = p_sandbox AND session_id IS NULL AND at <= p_until AND NOT hourly
         ORDER BY at DESC LIMIT 1;
    ELSE
        SELECT * INTO v FROM sample
         WHERE session_id = p_session AND at <= p_until AND NOT hourly
         ORDER BY at DESC LIMIT 1;
    END IF;
    RETURN v;
END $$;

-- Percent of one processor between a sample and now.  NULL: the sample is of another life, or
-- the counter is not the same any more (a process took its time along when it ended).
CREATE OR REPLACE FUNCTION sample_percent(p_before sample, p_life text, p_cpu_ms bigint,
    p_at timestamptz)
RETURNS real LANGUAGE sql IMMUTABLE AS $$
    SELECT round(100.0 * (p_cpu_ms - p_before.cpu_ms)
               / (1000 * extract(epoch FROM p_at - p_before.at)), 1)::real
     WHERE p_before.life = p_life AND p_cpu_ms >= p_before.cpu_ms AND p_at > p_before.at
$$;

-- Adds samples: p is [{sandbox, session, life, cpuMs, ...}].  What has a sample that is younger
-- than p_seconds gets none, and neither does anything while another reaper of the host adds its
-- own: two passes at once measure the same.  Answers how many were added.
CREATE OR REPLACE FUNCTION sample_add(p_host text, p_seconds integer, p jsonb)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_at timestamptz;
    n    bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended(p_host, 9)) THEN
        RETURN 0;
    END IF;
    v_at := date_trunc('milliseconds', clock_timestamp()); -- as iso() shows it
    INSERT INTO sample (sandbox_id, session_id, tenant, life, at, cpu_ms, cpu_user_ms,
        cpu_system_ms, cpu_percent, memory_bytes, memory_peak_bytes, processes, threads, disk_mb)
    SELECT b.id, s.id, b.tenant, x.life, v_at, x."cpuMs", x."cpuUserMs", x."cpuSystemMs",
           sample_percent(l, x.life, x."cpuMs", v_at), x."memoryBytes", x."memoryPeakBytes",
           x.processes, x.threads, CASE WHEN s.id IS NULL THEN sandbox_disk_mb(b.id)
               ELSE s.disk_used_mb END
      FROM jsonb_to_recordset(p) AS x (sandbox text, session text, life text, "cpuMs" bigint,
               "cpuUserMs" bigint, "cpuSystemMs" bigint, "memoryBytes" bigint,
               "memoryPeakBytes" bigint, processes integer, threads integer)
      JOIN sandbox b ON b.id = x.sandbox
      LEFT JOIN session s ON s.id = x.session AND s.sandbox_id = b.id
     CROSS JOIN LATERAL sample_last(b.id, x.session, 'infinity') l
     WHERE (x.session IS NULL OR s.id IS NOT NULL)
       AND (l.at IS NULL OR l.at <= v_at - make_interval(secs => p_seconds));
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END $$;

-- The megabytes that the sessions of a sandbox have on disk; NULL: none of them was measured yet.
CREATE OR REPLACE FUNCTION sandbox_disk_mb(p_sandbox text)
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT sum(disk_used_mb)::bigint FROM session
     WHERE sandbox_id = p_sandbox AND state NOT IN ('deleted', 'lost')
$$;

-- Makes one sample of those of an hour that is over for 24 hours, and deletes those of an hour
-- that are older than 7 days; at most p_batch of either.  One reaper at a time.  Answers how many
-- were replaced or deleted: 0, there is no more to do.
CREATE OR REPLACE FUNCTION sample_thin(p_batch integer)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    c_hour constant interval := '1 hour';
    v_now  timestamptz;
    v_hour timestamptz;
    n      bigint;
    m      bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('sample_thin', 9)) THEN
        RETURN 0;
    END IF;
    v_now := clock_timestamp();
    DELETE FROM sample WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM sample WHERE hourly AND at < v_now - interval '7 days' LIMIT p_batch));
    GET DIAGNOSTICS n = ROW_COUNT;
    SELECT date_trunc('hour', min(at), 'UTC') INTO v_hour FROM sample WHERE NOT hourly;
    IF v_hour IS NULL OR v_hour + c_hour > v_now - interval '24 hours' THEN
        RETURN n;
    END IF;
    WITH subject AS (
        SELECT DISTINCT sandbox_id, session_id FROM sample
         WHERE NOT hourly AND at >= v_hour AND at < v_hour + c_hour
         ORDER BY sandbox_id, session_id
         LIMIT p_batch
    ), old AS (
        DELETE FROM sample x USING subject
         WHERE NOT x.hourly AND x.at >= v_hour AND x.at < v_hour + c_hour
           AND x.sandbox_id = subject.sandbox_id
           AND coalesce(x.session_id, '') = coalesce(subject.session_id, '')
        RETURNING x.*
    ), new AS (
        INSERT INTO sample (sandbox_id, session_id, tenant, life, at, hourly, cpu_ms, cpu_user_ms,
            cpu_system_ms, cpu_percent, cpu_percent_max, memory_bytes, memory_max_bytes,
            memory_peak_bytes, processes, processes_max, threads, threads_max, disk_mb)
        SELECT sandbox_id, session_id, max(tenant), (array_agg(life ORDER BY at DESC))[1],
               v_hour, true, (array_agg(cpu_ms ORDER BY at DESC))[1],
               (array_agg(cpu_user_ms ORDER BY at DESC))[1],
               (array_agg(cpu_system_ms ORDER BY at DESC))[1],
               round(avg(cpu_percent)::numeric, 1), max(cpu_percent),
               round(avg(memory_bytes)), max(memory_bytes), max(memory_peak_bytes),
               round(avg(processes)), max(processes), round(avg(threads)), max(threads),
               (array_agg(disk_mb ORDER BY at DESC))[1]
          FROM old GROUP BY sandbox_id, session_id
    )
    SELECT count(*) INTO m FROM old;
    RETURN n + m;
END $$;

CREATE OR REPLACE FUNCTION sample_json(x sample)
RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN json_build_object('at', iso(x.at), 'hourly', x.hourly,
        'cpuMs', x.cpu_ms, 'cpuUserMs', x.cpu_user_ms, 'cpuSystemMs', x.cpu_system_ms,
        'cpuPercent', x.cpu_percent, 'cpuPercentMax', coalesce(x.cpu_percent_max, x.cpu_percent),
        'memoryBytes', x.memory_bytes,
        'memoryMaxBytes', coalesce(x.memory_max_bytes, x.memory_bytes),
        'memoryPeakBytes', x.memory_peak_bytes,
        'processes', x.processes, 'processesMax', coalesce(x.processes_max, x.processes),
        'threads', x.threads, 'threadsMax', coalesce(x.threads_max, x.threads),
        'diskMb', x.disk_mb);
END $$;

-- Shows what is used now: p_now as the host has measured it, NULL if nothing runs.
CREATE OR REPLACE FUNCTION usage_json(p_sandbox text, p_session text, p_life text, p_now jsonb,
    p_disk_mb bigint, p_disk_at timestamptz)
RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_at      timestamptz := clock_timestamp();
    l         sample%ROWTYPE := sample_last(p_sandbox, p_session, v_at - interval '1 s');
    v_percent real := sample_percent(l, p_life, (p_now->>'cpuMs')::bigint, v_at);
BEGIN
    RETURN json_build_object(
        'cpuMs', p_now->'cpuMs', 'cpuUserMs', p_now->'cpuUserMs',
        'cpuSystemMs', p_now->'cpuSystemMs', 'cpuPercent', v_percent,
        'cpuPercentSince', CASE WHEN v_percent IS NOT NULL THEN iso(l.at) END,
        'memoryBytes', p_now->'memoryBytes', 'memoryPeakBytes', p_now->'memoryPeakBytes',
        'processes', p_now->'processes', 'threads', p_now->'threads',
        'diskMb', p_disk_mb, 'diskMeasuredAt', iso(p_disk_at));
END $$;

CREATE OR REPLACE FUNCTION sandbox_statistics(p_sandbox text, p_now jsonb)
RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT json_build_object('sandboxId', b.id, 'at', iso(clock_timestamp()),
        'running', p_now IS NOT NULL,
        'sessions', (SELECT count(*) FROM lease l WHERE l.sandbox_id = b.id AND l.state <> 'none'),
        'usage', usage_json(b.id, NULL, b.incarnation, p_now, sandbox_disk_mb(b.id),
            (SELECT max(s.disk_measured_at) FROM session s
              WHERE s.sandbox_id = b.id AND s.state NOT IN ('deleted', 'lost'))),
        'limits', json_build_object('cpuMillis', c.cpu_millis, 'memoryMb', c.memory_mb,
            'pids', c.pids, 'diskMb', c.disk_mb))
      FROM sandbox b JOIN class c ON c.name = b.class
     WHERE b.id = p_sandbox);
END $$;

-- p_now: of the session alone; p_box: of its whole sandbox.
CREATE OR REPLACE FUNCTION session_statistics(p_session text, p_now jsonb, p_box jsonb)
RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT json_build_object('sessionId', s.id, 'at', iso(clock_timestamp()),
        'state', s.state, 'running', p_now IS NOT NULL,
        'usage', usage_json(s.sandbox_id, s.id, l.generation::text, p_now, s.disk_used_mb,
            s.disk_measured_at),
        'limits', json_build_object('cpuMillis', c.cpu_millis, 'memoryMb', m->'memoryMb',
            'pids', m->'pids', 'diskMb', m->'diskMb'),
        'sandbox', sandbox_statistics(s.sandbox_id, p_box))
      FROM session s
      JOIN lease l ON l.session_id = s.id
      JOIN sandbox b ON b.id = s.sandbox_id
      JOIN class c ON c.name = b.class
     CROSS JOIN LATERAL session_limits(s) m
     WHERE s.id = p_session);
END $$;
