-- session_apply: the only way a session's state changes.
--
-- Under the row's lock: the transition row for (state, event) decides, its
-- fence must hold, and its effects are carried out; the trigger of
-- session_state.sql writes the event.  A refusal has applied = false, says why
-- and has changed nothing.
-- p: reason (or say, for people), trace, actor, order, seconds.
CREATE OR REPLACE FUNCTION session_apply(p_session text, p_event text, p jsonb,
    OUT now_state text, OUT applied boolean, OUT why text)
LANGUAGE plpgsql AS $$
DECLARE
    s session%ROWTYPE;
    a record;
BEGIN
    applied := false;
    SELECT * INTO s FROM session WHERE id = p_session FOR UPDATE;
    IF NOT FOUND THEN
        why := 'no such session';
        RETURN;
    END IF;
    a := session_change(s, p_event, p);
    now_state := a.now_state;
    applied := a.applied;
    why := a.why;
END $$;

-- The same for several sessions, in one write.  Answers each one's state before and after;
-- one that does not exist has no row.
CREATE OR REPLACE FUNCTION sessions_apply(p_sessions text[], p_event text, p jsonb)
RETURNS TABLE (session_id text, was text, now_state text, applied boolean)
LANGUAGE plpgsql AS $$
DECLARE
    s         session%ROWTYPE;
    n         record;
    v_changed text[] := '{}';
BEGIN
    FOR s IN
        SELECT * FROM session
         WHERE id = ANY (p_sessions)
         ORDER BY id
           FOR UPDATE
    LOOP
        n := session_next(s, p_event, p, clock_timestamp()); -- after the lock
        IF n.changes THEN
            v_changed := v_changed || s.id;
        END IF;
        session_id := s.id;
        was := s.state;
        now_state := n.now_state;
        applied := n.why IS NULL;
        RETURN NEXT;
    END LOOP;
    IF v_changed <> '{}' THEN
        PERFORM session_write(v_changed, p_event, p, clock_timestamp());
    END IF;
END $$;

-- The same for a caller that has locked the row and read it since.
CREATE OR REPLACE FUNCTION session_change(s session, p_event text, p jsonb,
    OUT now_state text, OUT applied boolean, OUT why text)
LANGUAGE plpgsql AS $$
DECLARE
    at timestamptz := clock_timestamp(); -- after the lock
    n  record := session_next(s, p_event, p, at);
BEGIN
    now_state := n.now_state;
    applied := n.why IS NULL;
    why := n.why;
    IF n.changes THEN
        PERFORM session_write(ARRAY[s.id], p_event, p, at);
    END IF;
END $$;

-- The rule alone: the state to which an event leads, whether there is anything to write,
-- and why not, if it is refused.
CREATE OR REPLACE FUNCTION session_next(s session, p_event text, p jsonb, at timestamptz,
    OUT now_state text, OUT changes boolean, OUT why text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    t session_transition%ROWTYPE;
BEGIN
    now_state := s.state;
    changes := false;
    SELECT * INTO t FROM session_transition WHERE from_state = s.state AND event = p_event;
    IF NOT FOUND THEN
        why := format('%s is not possible while the session is %s', p_event, s.state);
        RETURN;
    END IF;
    why := session_fence(s, t.fence, p, at);
    IF why IS NULL AND t.effects <> '{}' THEN
        now_state := t.to_state;
        changes := true;
    END IF;
END $$;

-- Carries out the effects, for a caller that has locked the rows and asked session_next().
CREATE OR REPLACE FUNCTION session_write(p_sessions text[], p_event text, p jsonb, at timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE session x
       SET state = t.to_state,
           trace_id = coalesce(p->>'trace', x.trace_id),
           actor = p->>'actor',
           reason = CASE
               WHEN 'reason' = ANY (t.effects) THEN coalesce(p->>'say', p->>'reason')
               WHEN 'maybe_reason' = ANY (t.effects) THEN coalesce(p->>'reason', x.reason)
               WHEN 'no_reason' = ANY (t.effects) THEN NULL
               ELSE x.reason END,
           busy = x.busy AND 'idle' <> ALL (t.effects),
           started_at = CASE WHEN 'started' = ANY (t.effects) THEN at ELSE x.started_at END,
           last_activity_at = CASE WHEN 'started' = ANY (t.effects) THEN at
                                   ELSE x.last_activity_at END,
           ran_seconds = CASE
               WHEN 'first' = ANY (t.effects) THEN 0
               WHEN 'ran' = ANY (t.effects)
                   THEN x.ran_seconds + extract(epoch FROM at - x.started_at)
               ELSE x.ran_seconds END,
           ended_at = CASE
               WHEN 'ended' = ANY (t.effects) THEN at
               -- retention counts from the end of the session, not from its deletion
               WHEN 'wiped' = ANY (t.effects) AND x.reason IS DISTINCT FROM 'retention' THEN at
               WHEN 'begin' = ANY (t.effects) THEN NULL
               ELSE x.ended_at END,
           -- a session that was frozen or asleep used no CPU and is not stuck
           cpu_ms = CASE WHEN 'begin' <> ALL (t.effects) THEN x.cpu_ms END,
           cpu_at = CASE WHEN 'begin' <> ALL (t.effects) THEN x.cpu_at END,
           suspended_at = CASE
               WHEN 'frozen' = ANY (t.effects) THEN at
               WHEN 'awake' = ANY (t.effects) THEN NULL
               ELSE x.suspended_at END,
           suspend_order = x.suspend_order + ('order' = ANY (t.effects))::int,
           suspend_deadline = CASE
               WHEN 'order' = ANY (t.effects) THEN at + lease_seconds(p)
               WHEN t.effects && '{awake,settled}' THEN NULL
               ELSE x.suspend_deadline END,
           bounce_at = CASE WHEN 'anew' <> ALL (t.effects) THEN x.bounce_at END,
           -- a setup that did not succeed runs again from its beginning
           setup_offset = CASE WHEN 'anew' = ANY (t.effects) AND x.setup_sealed IS NOT NULL
                               THEN 0 ELSE x.setup_offset END,
           setup_exit = CASE WHEN 'anew' <> ALL (t.effects) OR x.setup_sealed IS NULL
                             THEN x.setup_exit END,
           setup_output = CASE WHEN 'anew' <> ALL (t.effects) THEN x.setup_output END,
           -- only the first start needs these, and after an end no start does
           files_sealed = CASE WHEN NOT t.effects && '{first,wiped}' THEN x.files_sealed END,
           env_sealed = CASE WHEN 'wiped' <> ALL (t.effects) THEN x.env_sealed END,
           secrets_sealed = CASE WHEN 'wiped' <> ALL (t.effects) THEN x.secrets_sealed END,
           setup_sealed = CASE WHEN 'wiped' <> ALL (t.effects) THEN x.setup_sealed END
      FROM session_transition t
     WHERE x.id = ANY (p_sessions) AND t.from_state = x.state AND t.event = p_event;
END $$;

-- Says why an event is not possible; NULL when it is.  For a caller that holds the
-- row's lock and must do something else before session_apply().
CREATE OR REPLACE FUNCTION session_refuses(s session, p_event text, p jsonb)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN (session_next(s, p_event, p, clock_timestamp())).why;
END $$;
-- replaced by session_next()
DROP FUNCTION IF EXISTS session_refusal(session, session_transition, text, jsonb, timestamptz);

CREATE OR REPLACE FUNCTION session_fence(s session, p_fence text, p jsonb, at timestamptz)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
    WHEN p_fence IN ('suspended', 'order', 'overdue') AND s.suspended_at IS NULL
        THEN 'the session is not suspended'
    WHEN p_fence = 'order' AND s.suspend_order IS DISTINCT FROM (p->>'order')::bigint
        THEN 'another freeze or thaw is under way'
    WHEN p_fence = 'overdue' AND coalesce(s.suspend_deadline, 'infinity') > at
        THEN 'the freeze or thaw still has time'
    END
$$;
