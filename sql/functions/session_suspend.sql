-- Sleep with all memory kept: the wrapper stays owned, its cell stands still.
-- No lease event of its own: a frozen wrapper is retained warm without limit,
-- and going on with it is a reuse.

-- Intent to freeze.  No row: not now.  p.repair: one that was under way (a
-- freeze or a thaw) ran out of time; the session is frozen, again.
CREATE OR REPLACE FUNCTION session_suspend_begin(p_session text, p jsonb)
RETURNS TABLE (suspend_order bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    s  session%ROWTYPE;
    l  lease%ROWTYPE;
    at timestamptz;
BEGIN
    SELECT * INTO s FROM session WHERE id = p_session FOR UPDATE;
    SELECT * INTO l FROM lease WHERE session_id = p_session FOR UPDATE;
    at := clock_timestamp();
    IF l.state IS DISTINCT FROM 'owns_wrapper' OR s.id IS NULL THEN
        RETURN;
    END IF;
    IF p->>'seenActivity' IS NOT NULL AND s.activity_seq <> (p->>'seenActivity')::bigint THEN
        RETURN; -- somebody came while the reaper was asking
    END IF;
    IF (p->>'repair')::boolean THEN
        IF s.suspended_at IS NULL OR s.state NOT IN ('sleeping', 'initializing')
           OR coalesce(s.suspend_deadline, 'infinity') > at THEN
            RETURN;
        END IF;
    ELSIF s.state <> 'ready' THEN
        RETURN;
    END IF;
    PERFORM lease_apply(p_session, 'retain_warm', jsonb_build_object('instance', l.instance,
        'generation', l.generation, 'seconds', NULL, 'reason', p->>'reason',
        'trace', p->>'trace', 'actor', p->>'actor'));
    RETURN QUERY
    UPDATE session x
       SET state = 'sleeping', reason = coalesce(p->>'reason', x.reason), suspended_at = at,
           suspend_order = x.suspend_order + 1,
           suspend_deadline = at + make_interval(secs => (p->>'seconds')::double precision),
           ran_seconds = x.ran_seconds + CASE WHEN x.state = 'ready'
               THEN extract(epoch FROM at - x.started_at) ELSE 0 END,
           trace_id = coalesce(p->>'trace', x.trace_id), actor = p->>'actor'
     WHERE x.id = p_session
    RETURNING x.suspend_order;
END $$;

-- Outcome of the freeze with p.order.  p.frozen: it stands still; else it
-- cannot, and is stopped instead.  Answers the session's state; NULL: late.
CREATE OR REPLACE FUNCTION session_suspend_end(p_session text, p jsonb)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    s session%ROWTYPE;
BEGIN
    SELECT * INTO s FROM session WHERE id = p_session FOR UPDATE;
    IF s.state IS DISTINCT FROM 'sleeping' OR s.suspended_at IS NULL
       OR s.suspend_order <> (p->>'order')::bigint THEN
        RETURN NULL;
    END IF;
    IF (p->>'frozen')::boolean THEN
        UPDATE session
           SET state = 'asleep', busy = false, suspend_deadline = NULL,
               ended_at = clock_timestamp(), actor = p->>'actor'
         WHERE id = p_session;
        RETURN 'asleep';
    END IF;
    PERFORM lease_apply(p_session, 'request_stop', jsonb_build_object(
        'reason', p->>'reason', 'trace', p->>'trace', 'actor', p->>'actor'));
    UPDATE session
       SET suspended_at = NULL, suspend_deadline = NULL, reason = 'cannot_suspend'
     WHERE id = p_session;
    RETURN 'sleeping';
END $$;

-- Intent to let it go on.  Raises as session_restart does; SX412 when it is
-- not this generation that stands still.
CREATE OR REPLACE FUNCTION session_thaw_begin(p_session text, p jsonb)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    s session%ROWTYPE;
    l lease%ROWTYPE;
BEGIN
    IF (SELECT draining FROM installation) THEN
        RAISE SQLSTATE 'SX503' USING MESSAGE = 'the service is draining';
    END IF;
    SELECT * INTO s FROM session WHERE id = p_session FOR UPDATE;
    SELECT * INTO l FROM lease WHERE session_id = p_session FOR UPDATE;
    IF s.state IN ('deleting', 'deleted') THEN
        RAISE SQLSTATE 'SX413' USING MESSAGE = 'the session is being deleted';
    END IF;
    IF s.suspended_at IS NULL OR s.state NOT IN ('asleep', 'sleeping', 'initializing')
       OR l.state <> 'owns_wrapper' OR l.generation <> (p->>'generation')::bigint THEN
        RAISE SQLSTATE 'SX412' USING MESSAGE = 'the lease changed meanwhile';
    END IF;
    PERFORM lease_apply(p_session, 'reuse', p || jsonb_build_object('instance', l.instance));
    UPDATE session
       SET state = 'initializing', reason = NULL, ended_at = NULL,
           cpu_ms = NULL, cpu_at = NULL, -- it stood still, and is not stuck
           suspend_order = suspend_order + 1,
           suspend_deadline = clock_timestamp()
               + make_interval(secs => (p->>'thawSeconds')::double precision),
           trace_id = coalesce(p->>'trace', trace_id), actor = p->>'actor'
     WHERE id = p_session
    RETURNING suspend_order INTO s.suspend_order;
    RETURN s.suspend_order;
END $$;

-- Outcome: it goes on, and has answered a command.  False: late.
CREATE OR REPLACE FUNCTION session_thawed(p_session text, p jsonb)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    s session%ROWTYPE;
    a record;
BEGIN
    SELECT * INTO s FROM session WHERE id = p_session FOR UPDATE;
    IF s.state IS DISTINCT FROM 'initializing' OR s.suspended_at IS NULL
       OR s.suspend_order <> (p->>'order')::bigint THEN
        RETURN false;
    END IF;
    SELECT * INTO a FROM lease_apply(p_session, 'retain_warm',
        p || jsonb_build_object('seconds', session_warm_seconds(s)));
    IF NOT a.applied THEN
        RETURN false;
    END IF;
    UPDATE session
       SET state = 'ready', reason = NULL, started_at = clock_timestamp(),
           last_activity_at = clock_timestamp(), suspended_at = NULL, suspend_deadline = NULL,
           actor = p->>'actor'
     WHERE id = p_session;
    RETURN true;
END $$;
