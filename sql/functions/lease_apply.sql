-- lease_apply: the only way a lease changes; lease_next() is its rule.
--
-- Under the row's lock: the transition row for (state, event) decides, its
-- fence must hold, its effects are carried out, and an event is written.
-- Answers what was and what is; a refusal has applied = false and says why.
-- p: instance, generation, attempt, target, reason, error, seconds, retry,
-- trace, actor.
CREATE OR REPLACE FUNCTION lease_apply(p_session text, p_event text, p jsonb,
    OUT was text, OUT now_state text, OUT generation bigint,
    OUT applied boolean, OUT why text)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT a.was, a.now_state, a.generation, a.applied, a.why
      INTO was, now_state, generation, applied, why
      FROM leases_apply(ARRAY[p_session], p_event, p) a;
    IF NOT FOUND THEN
        applied := false;
        why := 'no such lease';
    END IF;
END $$;

-- The same for several leases, in a few statements; one that does not exist has no row.
CREATE OR REPLACE FUNCTION leases_apply(p_sessions text[], p_event text, p jsonb)
RETURNS TABLE (session_id text, was text, now_state text, generation bigint,
    applied boolean, why text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    l     lease%ROWTYPE;
    n     record;
    at    timestamptz;
    v_old lease[] := '{}';
    v_new lease[] := '{}';
BEGIN
    FOR l IN
        SELECT * FROM lease
         WHERE session_id = ANY (p_sessions)
         ORDER BY session_id
           FOR UPDATE
    LOOP
        at := clock_timestamp(); -- after the lock: now() may be older than the row
        n := lease_next(l, p_event, p, at);
        IF n.changes THEN
            v_old := v_old || l;
            v_new := v_new || n.l;
        END IF;
        session_id := l.session_id;
        was := l.state;
        now_state := (n.l).state;
        generation := (n.l).generation;
        applied := n.why IS NULL;
        why := n.why;
        RETURN NEXT;
    END LOOP;
    IF v_new <> '{}' THEN
        PERFORM leases_write(v_new);
        PERFORM lease_events(v_old, v_new, p_event, p);
    END IF;
END $$;

-- A lease that owns nothing yet, with the defaults of its table.
CREATE OR REPLACE FUNCTION lease_new(p_session text, p_sandbox text, at timestamptz)
RETURNS lease LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    l lease%ROWTYPE;
BEGIN
    l.session_id := p_session;
    l.sandbox_id := p_sandbox;
    l.state := 'none';
    l.generation := 0;
    l.accepted_generation := 0;
    l.attempts := 0;
    l.ask_at := '-infinity';
    l.session_gone := false;
    l.changed_at := at;
    RETURN l;
END $$;

-- The rule alone: what an event makes of a lease.  Writes nothing.  A refusal says why;
-- an event that is right and changes nothing has neither why nor changes.
CREATE OR REPLACE FUNCTION lease_next(INOUT l lease, p_event text, p jsonb, at timestamptz,
    OUT changes boolean, OUT why text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    t lease_transition%ROWTYPE;
BEGIN
    changes := false;
    SELECT * INTO t FROM lease_transition
     WHERE from_state = l.state AND event = p_event;
    IF NOT FOUND THEN
        why := format('%s is not possible while the lease is %s', p_event, l.state);
        RETURN;
    END IF;
    why := lease_fence(l, t.fence, p, at);
    IF why IS NOT NULL OR t.effects = '{}' THEN
        RETURN;
    END IF;
    changes := true;
    l.state := t.to_state;
    l.changed_at := at;
    IF 'generation' = ANY (t.effects) THEN
        l.generation := l.generation + 1;
        l.instance := p->>'instance';
        l.sandbox_id := coalesce(p->>'sandbox', l.sandbox_id);
        l.ask_at := at + coalesce(lease_seconds(p), '0');
    END IF;
    IF 'startup' = ANY (t.effects) THEN
        l.startup_deadline := at + lease_seconds(p);
    ELSIF 'no_startup' = ANY (t.effects) THEN
        l.startup_deadline := NULL;
    END IF;
    IF 'warm' = ANY (t.effects) THEN
        l.keep_warm_until := at + lease_seconds(p); -- NULL seconds: no limit
    ELSIF 'no_warm' = ANY (t.effects) THEN
        l.keep_warm_until := NULL;
    END IF;
    IF 'accepted' = ANY (t.effects) THEN
        l.accepted_generation := l.generation;
    END IF;
    IF 'stop' = ANY (t.effects) THEN
        l.target := coalesce(p->>'target', 'session');
        l.reason := p->>'reason';
        l.requested_at := at;
        l.next_attempt_at := at;
        l.attempts := 0;
    END IF;
    IF 'attempt' = ANY (t.effects) THEN
        l.attempt_id := p->>'attempt';
        l.attempt_started_at := at;
        l.attempt_deadline := at + lease_seconds(p);
        l.attempts := l.attempts + 1;
    END IF;
    IF 'backoff' = ANY (t.effects) THEN
        l.next_attempt_at := at + lease_retry(l.attempts, p->'retry');
        l.last_error := left(coalesce(p->>'error', 'the attempt ran out of time'), 500);
        l.attempt_id := NULL;
        l.attempt_started_at := NULL;
        l.attempt_deadline := NULL;
    END IF;
    IF 'release' = ANY (t.effects) THEN
        l.instance := NULL;
        l.startup_deadline := NULL;
        l.keep_warm_until := NULL;
        l.target := NULL;
        l.reason := NULL;
        l.requested_at := NULL;
        l.next_attempt_at := NULL;
        l.attempts := 0;
        l.last_error := NULL;
        l.attempt_id := NULL;
        l.attempt_started_at := NULL;
        l.attempt_deadline := NULL;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION lease_write(p lease)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE lease
       SET state = p.state, generation = p.generation, instance = p.instance,
           startup_deadline = p.startup_deadline, keep_warm_until = p.keep_warm_until,
           target = p.target, reason = p.reason, requested_at = p.requested_at,
           next_attempt_at = p.next_attempt_at, attempts = p.attempts,
           last_error = p.last_error, attempt_id = p.attempt_id,
           attempt_started_at = p.attempt_started_at,
           attempt_deadline = p.attempt_deadline, changed_at = p.changed_at,
           sandbox_id = p.sandbox_id, ask_at = p.ask_at,
           accepted_generation = p.accepted_generation
     WHERE session_id = p.session_id;
END $$;

-- The same for several, in one statement, which takes longer for one: a create has one.
CREATE OR REPLACE FUNCTION leases_write(p_new lease[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE lease l
       SET state = p.state, generation = p.generation, instance = p.instance,
           startup_deadline = p.startup_deadline, keep_warm_until = p.keep_warm_until,
           target = p.target, reason = p.reason, requested_at = p.requested_at,
           next_attempt_at = p.next_attempt_at, attempts = p.attempts,
           last_error = p.last_error, attempt_id = p.attempt_id,
           attempt_started_at = p.attempt_started_at,
           attempt_deadline = p.attempt_deadline, changed_at = p.changed_at,
           sandbox_id = p.sandbox_id, ask_at = p.ask_at,
           accepted_generation = p.accepted_generation
      FROM unnest(p_new) p
     WHERE l.session_id = p.session_id;
END $$;

CREATE OR REPLACE FUNCTION lease_event(o lease, l lease, p_event text, p jsonb, at timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO event (session_id, at, kind, what, actor, reason, generation, trace_id,
                       duration_ms, detail)
    SELECT * FROM event_of_lease(o, l, p_event, p, at);
END $$;

-- The same for each lease that has changed.
CREATE OR REPLACE FUNCTION lease_events(p_old lease[], p_new lease[], p_event text, p jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO event (session_id, at, kind, what, actor, reason, generation, trace_id,
                       duration_ms, detail)
    SELECT e.*
      FROM generate_subscripts(p_new, 1) AS i
     CROSS JOIN event_of_lease(p_old[i], p_new[i], p_event, p, (p_new[i]).changed_at) e;
END $$;

-- The row itself, for an INSERT.  o: the lease before.
CREATE OR REPLACE FUNCTION event_of_lease(o lease, l lease, p_event text, p jsonb,
    p_at timestamptz)
RETURNS TABLE (session_id text, at timestamptz, kind text, what text, actor text, reason text,
    generation bigint, trace_id text, duration_ms bigint, detail jsonb)
LANGUAGE sql STABLE AS $$
    SELECT l.session_id, p_at, 'lease', p_event, coalesce(p->>'actor', event_actor()),
           coalesce(l.reason, o.reason, p->>'reason'), l.generation, p->>'trace',
           ms_between(o.changed_at, p_at),
           jsonb_strip_nulls(jsonb_build_object('from', o.state, 'to', l.state,
               'reason', l.reason, 'error', l.last_error))
$$;

-- Says why the fence refuses an event; NULL when it does not.
CREATE OR REPLACE FUNCTION lease_fence(l lease, p_fence text, p jsonb, at timestamptz)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
    WHEN p_fence = 'instance' AND (l.instance IS DISTINCT FROM p->>'instance'
              OR l.generation IS DISTINCT FROM (p->>'generation')::bigint)
        THEN 'another instance owns the lease'
    WHEN p_fence = 'due' AND l.next_attempt_at > at
        THEN 'the next attempt is not due yet'
    WHEN p_fence IN ('attempt', 'expired') AND l.attempt_id IS DISTINCT FROM p->>'attempt'
        THEN 'another attempt is under way'
    WHEN p_fence = 'expired' AND l.attempt_deadline > at
        THEN 'the attempt still has time'
    END
$$;

-- The back-off before the next attempt of a stop: p_retry lists the seconds
-- (stop_retry_seconds), and its last figure is repeated for ever.
CREATE OR REPLACE FUNCTION lease_retry(p_attempts integer, p_retry jsonb)
RETURNS interval LANGUAGE sql IMMUTABLE AS $$
    SELECT make_interval(secs =>
        (r->>(least(greatest(p_attempts, 1), jsonb_array_length(r)) - 1))::double precision)
      FROM coalesce(p_retry, '[5, 30, 120, 300]') AS r
$$;
DROP FUNCTION IF EXISTS lease_backoff(integer); -- the one before

CREATE OR REPLACE FUNCTION lease_seconds(p jsonb)
RETURNS interval LANGUAGE sql IMMUTABLE AS $$
    SELECT make_interval(secs => (p->>'seconds')::double precision)
$$;
