-- A trigger on every change of a session's state: refuses one that session_transition
-- does not have, and writes an event.  It runs before the row is written, because it
-- moves trace and actor from the row to the event.
CREATE OR REPLACE FUNCTION session_state_event()
RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_at timestamptz := clock_timestamp();
BEGIN
    IF TG_OP = 'UPDATE' AND NOT EXISTS (SELECT FROM session_transition
            WHERE from_state = OLD.state AND to_state = NEW.state) THEN
        RAISE EXCEPTION 'session %: nothing leads from % to %', NEW.id, OLD.state, NEW.state;
    END IF;
    INSERT INTO event (session_id, at, kind, what, actor, reason, generation, trace_id,
                       duration_ms, detail)
    VALUES (NEW.id, v_at, 'state', NEW.state, coalesce(NEW.actor, event_actor()), NEW.reason,
            (SELECT generation FROM lease WHERE session_id = NEW.id), NEW.trace_id,
            CASE WHEN TG_OP = 'UPDATE' THEN ms_between(OLD.state_at, v_at) END,
            jsonb_strip_nulls(jsonb_build_object(
                'from', CASE WHEN TG_OP = 'UPDATE' THEN OLD.state END,
                'reason', NEW.reason)));
    NEW.actor := NULL;
    NEW.state_at := v_at;
    RETURN NEW;
END $$;

-- Raises an error if the session is deleted or being deleted.
CREATE OR REPLACE FUNCTION session_must_live(p_state text)
RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF p_state = 'deleting' THEN
        RAISE SQLSTATE 'SX413' USING MESSAGE = 'the session is being deleted';
    ELSIF p_state = 'deleted' THEN
        RAISE SQLSTATE 'SX430' USING MESSAGE = 'the session was deleted';
    END IF;
END $$;

-- Since when the session is being started, over all attempts.
CREATE OR REPLACE FUNCTION session_initializing()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.initializing_since := clock_timestamp();
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER session_begins
    BEFORE UPDATE OF state ON session
    FOR EACH ROW WHEN (NEW.state = 'initializing' AND OLD.state <> 'initializing')
    EXECUTE FUNCTION session_initializing();

CREATE OR REPLACE TRIGGER session_state_changed
    BEFORE INSERT OR UPDATE OF state ON session
    FOR EACH ROW EXECUTE FUNCTION session_state_event();

-- Records the first call of a generation as delivery_accepted, once.  The idle date
-- stays: this may be written a moment after the call passed.
CREATE OR REPLACE FUNCTION session_accepted(p_session text, p_generation bigint,
    p_trace text, p_actor text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    l  lease%ROWTYPE;
    a  lease%ROWTYPE;
    n  record;
    p  jsonb;
    at timestamptz;
BEGIN
    SELECT * INTO l FROM lease
     WHERE session_id = p_session AND accepted_generation < p_generation
       FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    at := clock_timestamp(); -- after the lock
    p := jsonb_build_object('instance', l.instance, 'generation', p_generation,
        'trace', p_trace, 'actor', p_actor);
    n := lease_next(l, 'delivery_accepted', p, at);
    IF n.changes THEN
        a := n.l;
        a.keep_warm_until := l.keep_warm_until;
        PERFORM lease_write(a);
        PERFORM lease_event(l, a, 'delivery_accepted', p, at);
    END IF;
END $$;

-- Records a call to this generation: moves the idle date away, never nearer than
-- session_extend promised, and confirms the start (delivery_accepted).  Always true.
DROP FUNCTION IF EXISTS session_active(text, bigint); -- replaced by the one with more parameters
CREATE OR REPLACE FUNCTION session_active(p_session text, p_generation bigint,
    p_trace text DEFAULT NULL, p_actor text DEFAULT NULL)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE session
       SET last_activity_at = clock_timestamp(), activity_seq = activity_seq + 1
     WHERE id = p_session;
    PERFORM session_accepted(p_session, p_generation, p_trace, p_actor);
    UPDATE lease l
       SET startup_deadline = NULL,
           keep_warm_until = CASE WHEN s.keep_alive THEN NULL ELSE
               greatest(l.keep_warm_until,
                   clock_timestamp() + make_interval(secs => session_warm_seconds(s))) END
      FROM session s
     WHERE s.id = p_session AND l.session_id = s.id
       AND l.state = 'owns_wrapper' AND l.generation = p_generation;
    RETURN true;
END $$;
