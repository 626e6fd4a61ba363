-- Setup: a command that is run once, before its session is ready for the first
-- time.  The worker or process that goes on with the start asks the wrapper and writes
-- the answer here.  Several may do so at once: each says from which offset it read.

-- Whether p is about the session's present generation.  Locks the lease, so that it
-- stays the present one until the transaction ends.
CREATE OR REPLACE FUNCTION setup_is_of(p_session text, p jsonb)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM session WHERE id = p_session FOR UPDATE;
    PERFORM FROM lease WHERE session_id = p_session AND state = 'owns_wrapper'
        AND generation = (p->>'generation')::bigint FOR UPDATE;
    RETURN FOUND;
END $$;

-- Appends output of the setup: bytes p.from to p.to, as p.text.  Ignored if another
-- process has written them, or a later generation has begun.
CREATE OR REPLACE FUNCTION setup_said(p_session text, p jsonb)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF NOT setup_is_of(p_session, p) THEN
        RETURN false;
    END IF;
    UPDATE session SET setup_offset = (p->>'to')::bigint
     WHERE id = p_session AND setup_offset = (p->>'from')::bigint
       AND setup_sealed IS NOT NULL AND setup_exit IS NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO event (session_id, kind, what, actor, generation, trace_id, detail)
    VALUES (p_session, 'setup', 'output', coalesce(p->>'actor', event_actor()),
            (p->>'generation')::bigint, p->>'trace',
            jsonb_build_object('offset', (p->>'from')::bigint, 'text', p->>'text'));
    RETURN true;
END $$;

-- Records how the setup ended.  A setup that succeeded never runs again, even if this
-- start fails later.
CREATE OR REPLACE FUNCTION setup_ended(p_session text, p jsonb)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_exit integer := (p->>'exitCode')::integer;
BEGIN
    IF NOT setup_is_of(p_session, p) THEN
        RETURN false;
    END IF;
    UPDATE session
       SET setup_exit = v_exit,
           setup_sealed = CASE WHEN v_exit <> 0 THEN setup_sealed END,
           setup_output = p->>'text'
     WHERE id = p_session AND setup_sealed IS NOT NULL AND setup_exit IS NULL;
    IF NOT FOUND THEN
        RETURN true; -- another process has recorded it
    END IF;
    INSERT INTO event (session_id, kind, what, actor, generation, trace_id, duration_ms, detail)
    VALUES (p_session, 'setup', CASE v_exit WHEN 0 THEN 'done' ELSE 'failed' END,
            coalesce(p->>'actor', event_actor()), (p->>'generation')::bigint, p->>'trace',
            (p->>'ms')::bigint, jsonb_build_object('exitCode', v_exit,
                'bytes', (p->>'bytes')::bigint, 'text', p->>'text'));
    RETURN true;
END $$;
