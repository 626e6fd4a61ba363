-- Artifacts: files that executions leave; sums for each day, and limits that would have sufficed.

CREATE OR REPLACE FUNCTION artifact_json(a artifact)
RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object('kind', a.kind, 'path', nullif(a.path, ''), 'bytes', a.bytes,
        'sha256', a.sha256)
$$;

-- Writes the files of an execution: p.artifacts = [{kind, path, sha256, bytes}, ...], p.host,
-- p.folder.  p.quota: the bytes that the org may keep; 0: any number.  Answers why nothing was
-- written, or NULL.
CREATE OR REPLACE FUNCTION artifact_add(x execution, p jsonb)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_quota bigint := coalesce((p->>'quota')::bigint, 0);
    v_has   bigint;
BEGIN
    IF NOT p ? 'artifacts' THEN
        RETURN NULL;
    END IF;
    -- one end of the org at a time: each counts what the others have written
    INSERT INTO artifact_use (tenant, bytes) VALUES (x.tenant, 0) ON CONFLICT DO NOTHING;
    SELECT bytes INTO v_has FROM artifact_use WHERE tenant = x.tenant FOR NO KEY UPDATE;
    IF v_quota > 0 AND v_has + (SELECT coalesce(sum((a->>'bytes')::bigint), 0)
            FROM jsonb_array_elements(p->'artifacts') a) > v_quota THEN
        RETURN format('the org keeps as much of its executions as it may (%s MB)',
            v_quota / 1048576);
    END IF;
    INSERT INTO artifact (execution_id, kind, path, tenant, host, folder, sha256, bytes)
    SELECT x.id, a.kind, coalesce(a.path, ''), x.tenant, p->>'host', p->>'folder', a.sha256, a.bytes
      FROM jsonb_to_recordset(p->'artifacts') a (kind text, path text, sha256 text, bytes bigint)
        ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

-- Keeps the sum of an org.  Once for each statement: an execution may have many files.
CREATE OR REPLACE FUNCTION artifact_count()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO artifact_use AS u (tenant, bytes)
    SELECT c.tenant, sum(c.bytes) * CASE WHEN TG_OP = 'DELETE' THEN -1 ELSE 1 END
      FROM changed c GROUP BY c.tenant ORDER BY c.tenant
        ON CONFLICT (tenant) DO UPDATE SET bytes = u.bytes + excluded.bytes;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER artifact_added
    AFTER INSERT ON artifact REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION artifact_count();
CREATE OR REPLACE TRIGGER artifact_removed
    AFTER DELETE ON artifact REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION artifact_count();

CREATE OR REPLACE FUNCTION artifact_bytes(p_tenant text)
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT bytes FROM artifact_use WHERE tenant = p_tenant), 0)
$$;

-- ---- days

-- Adds an execution that has ended to its day.
CREATE OR REPLACE FUNCTION execution_count_day(x execution)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO execution_day AS d (tenant, agent_type, day, executions, states, retries, cpu_ms,
        wall_ms, memory_peak, written_bytes, network_requests)
    VALUES (x.tenant, coalesce(x.agent_type, ''), (x.ended_at AT TIME ZONE 'UTC')::date, 1,
        jsonb_build_object(x.state, 1), greatest(0, x.attempt - 1),
        coalesce((x.usage->>'cpuUserMs')::bigint, 0)
            + coalesce((x.usage->>'cpuSystemMs')::bigint, 0),
        coalesce((x.usage->>'wallMs')::bigint, 0),
        coalesce((x.usage->>'memoryPeakBytes')::bigint, 0),
        coalesce((x.usage->>'writtenBytes')::bigint, 0),
        coalesce((x.usage->>'networkRequests')::bigint, 0))
    ON CONFLICT (tenant, agent_type, day) DO UPDATE
       SET executions = d.executions + 1,
           states = d.states || jsonb_build_object(x.state,
               coalesce((d.states->>x.state)::bigint, 0) + 1),
           retries = d.retries + excluded.retries,
           cpu_ms = d.cpu_ms + excluded.cpu_ms,
           wall_ms = d.wall_ms + excluded.wall_ms,
           memory_peak = greatest(d.memory_peak, excluded.memory_peak),
           written_bytes = d.written_bytes + excluded.written_bytes,
           network_requests = d.network_requests + excluded.network_requests;
END $$;

CREATE OR REPLACE FUNCTION execution_day_json(d execution_day)
RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object('day', d.day, 'agentType', nullif(d.agent_type, ''),
        'executions', d.executions, 'states', d.states, 'retries', d.retries, 'cpuMs', d.cpu_ms,
        'wallMs', d.wall_ms, 'memoryPeakBytes', d.memory_peak,
        'writtenBytes', d.written_bytes, 'networkRequests', d.network_requests)
$$;

-- ---- suggestion

CREATE OR REPLACE FUNCTION suggested(p_used double precision, p_least bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT greatest(p_least, ceil(p_used * 1.25)::bigint)
$$;

-- Limits that a share p_part of the executions of a type would have kept, and a quarter
-- more: of those that succeeded, because one that was ended at a limit does not say what
-- it needed.  At most the newest 1000 of 30 days.  A member is null without a measurement.
CREATE OR REPLACE FUNCTION profile_suggestion(p_tenant text, p_type text, p_part double precision)
RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (WITH used AS (
        SELECT (x.usage->>'memoryPeakBytes')::numeric / 1048576 AS memory,
               ((x.usage->>'cpuUserMs')::numeric + (x.usage->>'cpuSystemMs')::numeric) / 1000 AS cpu,
               (x.usage->>'wallMs')::numeric / 1000 AS wall,
               greatest(0, (x.usage->>'diskGrowthBytes')::numeric) / 1048576 AS disk,
               (x.usage->>'networkRequests')::numeric AS requests, x.ended_at
          FROM execution x
         WHERE x.tenant = p_tenant AND x.agent_type = p_type AND x.state = 'succeeded'
           AND x.ended_at > clock_timestamp() - interval '30 days'
         ORDER BY x.ended_at DESC LIMIT 1000
    ), at_part AS (
        SELECT percentile_cont(p_part) WITHIN GROUP (ORDER BY memory) AS memory,
               percentile_cont(p_part) WITHIN GROUP (ORDER BY cpu) AS cpu,
               percentile_cont(p_part) WITHIN GROUP (ORDER BY wall) AS wall,
               percentile_cont(p_part) WITHIN GROUP (ORDER BY disk) AS disk,
               percentile_cont(p_part) WITHIN GROUP (ORDER BY requests) AS requests,
               count(*) AS n, min(ended_at) AS oldest, max(ended_at) AS newest
          FROM used
    )
    SELECT json_build_object('agentType', p_type, 'percentile', p_part * 100, 'headRoom', 1.25,
        'sampleSize', n, 'enough', n >= ceil(1 / (1 - least(p_part, 0.999))),
        'from', iso(oldest), 'to', iso(newest),
        -- a whole number, at least the smallest that a profile may have
        'limits', json_build_object(
            'memoryMb', suggested(memory, 64), 'cpuSeconds', suggested(cpu, 1),
            'wallSeconds', suggested(wall, 1), 'diskMb', suggested(disk, 1),
            'networkRequests', suggested(requests, 1)),
        'present', (profile_of(p_tenant, p_type)).limits)
      FROM at_part);
END $$;
