-- Suspend: sleep that keeps the memory.  The lease still owns the wrapper, and its cell
-- is frozen.  There is no lease event for it: a frozen wrapper is retained warm without
-- limit, and its thaw is a reuse.

-- Intent to freeze.  No row: not now.  p.repair: a freeze or a thaw that was under way
-- ran out of time, and the session is frozen again.
CREATE OR REPLACE FUNCTION session_suspend_begin(p_session text, p jsonb)
RETURNS TABLE (suspend_order bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_event text := CASE WHEN (p->>'repair')::boolean THEN 'freeze_again' ELSE 'freeze' END;
    s       session%ROWTYPE;
    l       lease%ROWTYPE;
BEGIN
    SELECT * INTO s FROM session WHERE id = p_session FOR UPDATE;
    SELECT * INTO l FROM lease WHERE session_id = p_session FOR UPDATE;
    IF l.state IS DISTINCT FROM 'owns_wrapper' OR s.id IS NULL THEN
        RETURN;
    END IF;
    IF p->>'seenActivity' IS NOT NULL AND (execution_is_given(p_session)
            OR s.activity_seq <> (p->>'seenActivity')::bigint) THEN
        RETURN; -- a client called while the reaper was asking
    END IF;
    IF session_refuses(s, v_event, p) IS NOT NULL THEN
        RETURN;
    END IF;
    PERFORM lease_apply(p_session, 'retain_warm', jsonb_build_object('instance', l.instance,
        'generation', l.generation, 'seconds', NULL, 'reason', p->>'reason',
        'trace', p->>'trace', 'actor', p->>'actor'));
    PERFORM session_apply(p_session, v_event, p);
    RETURN QUERY SELECT x.suspend_order FROM session x WHERE x.id = p_session;
END $$;

-- Outcome of the freeze with p.order.  p.frozen: the cell is frozen; else it cannot be,
-- and the session is stopped instead.  Answers its state; NULL: the result is late.
CREATE OR REPLACE FUNCTION session_suspend_end(p_session text, p jsonb)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    s session%ROWTYPE;
    a record;
BEGIN
    IF (p->>'frozen')::boolean THEN
        SELECT * INTO a FROM session_apply(p_session, 'frozen', p - 'trace');
        RETURN CASE WHEN a.applied THEN a.now_state END;
    END IF;
    SELECT * INTO s FROM session WHERE id = p_session FOR UPDATE;
    IF session_refuses(s, 'frozen', p) IS NOT NULL THEN
        RETURN NULL;
    END IF;
    PERFORM lease_apply(p_session, 'request_stop', jsonb_build_object(
        'reason', p->>'reason', 'trace', p->>'trace', 'actor', p->>'actor'));
    UPDATE session
       SET suspended_at = NULL, suspend_deadline = NULL, reason = 'cannot_suspend'
     WHERE id = p_session;
    RETURN 'sleeping';
END $$;

-- Intent to thaw.  Raises as session_restart does; SX412 when this generation is not
-- the frozen one.
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
    PERFORM session_must_live(s.state);
    IF l.state <> 'owns_wrapper' OR l.generation <> (p->>'generation')::bigint
       OR session_refuses(s, 'thaw', p) IS NOT NULL THEN
        RAISE SQLSTATE 'SX412' USING MESSAGE = 'the lease changed meanwhile';
    END IF;
    PERFORM lease_apply(p_session, 'reuse', p || jsonb_build_object('instance', l.instance));
    PERFORM session_apply(p_session, 'thaw',
        p || jsonb_build_object('seconds', p->'thawSeconds'));
    RETURN s.suspend_order + 1;
END $$;

-- Outcome of the thaw: the wrapper has answered a command.  False: the result is late.
CREATE OR REPLACE FUNCTION session_thawed(p_session text, p jsonb)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    s session%ROWTYPE;
    a record;
BEGIN
    SELECT * INTO s FROM session WHERE id = p_session FOR UPDATE;
    IF session_refuses(s, 'thawed', p) IS NOT NULL THEN
        RETURN false;
    END IF;
    SELECT * INTO a FROM lease_apply(p_session, 'retain_warm',
        p || jsonb_build_object('seconds', session_warm_seconds(s)));
    RETURN a.applied AND (SELECT applied FROM session_apply(p_session, 'thawed', p));
END $$;
