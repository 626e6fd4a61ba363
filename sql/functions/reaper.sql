-- Reads and writes of a reaper's pass, several rows at a time.

-- Wrappers that a host can ask something.  A wrapper that was started before the
-- host's last reboot is gone; the reconciliation finds that.  STABLE, so that it is
-- inlined and the dates compared in the statement use their indexes.
CREATE OR REPLACE FUNCTION wrappers_here(p_host text, p_boot text)
RETURNS TABLE (session_id text, generation bigint, instance text, sandbox_id text,
    incarnation text, state text, reason text, activity_seq bigint, suspend boolean,
    cpu_ms bigint, cpu_age_ms bigint, startup_deadline timestamptz,
    keep_warm_until timestamptz, ask_at timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT l.session_id, l.generation, coalesce(l.instance, ''), b.id, b.incarnation, s.state,
           s.reason, s.activity_seq, s.suspend, s.cpu_ms,
           ms_between(s.cpu_at, statement_timestamp()), l.startup_deadline, l.keep_warm_until,
           l.ask_at
      FROM lease l
      JOIN session s ON s.id = l.session_id
      JOIN sandbox b ON b.id = l.sandbox_id
     WHERE l.state = 'owns_wrapper' AND b.host = p_host AND b.boot_id = p_boot
$$;

-- Records what wrappers answered: p.asked has id, generation, instance, busy, cpu, moved
-- (its CPU time is another than before), askSeconds (until the next question),
-- warm (it has work: as good as activity) and accepted (work that was taken,
-- though the row does not know it: the repair of a startup deadline).
CREATE OR REPLACE FUNCTION sessions_asked(p jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v record;
BEGIN
    FOR v IN
        SELECT x.*
          FROM jsonb_to_recordset(p->'asked') AS x (id text, generation bigint, instance text,
               busy boolean, cpu bigint, moved boolean, "askSeconds" double precision,
               warm boolean, accepted boolean)
          JOIN session s ON s.id = x.id
         ORDER BY s.id
           FOR UPDATE OF s SKIP LOCKED
    LOOP
        IF v.accepted THEN
            PERFORM lease_apply(v.id, 'delivery_accepted', jsonb_build_object(
                'instance', v.instance, 'generation', v.generation, 'trace', p->>'trace'))
               FROM lease l
              WHERE l.session_id = v.id AND l.accepted_generation < v.generation;
        END IF;
        UPDATE lease l
           SET ask_at = clock_timestamp() + make_interval(secs => v."askSeconds"),
               startup_deadline = CASE WHEN v.warm OR v.accepted THEN NULL
                                       ELSE l.startup_deadline END,
               keep_warm_until = CASE
                   WHEN NOT v.warm THEN l.keep_warm_until
                   WHEN s.keep_alive THEN NULL
                   ELSE greatest(l.keep_warm_until,
                       clock_timestamp() + make_interval(secs => s.sleep_after_seconds)) END
          FROM session s
         WHERE s.id = v.id AND l.session_id = s.id
           AND l.state = 'owns_wrapper' AND l.generation = v.generation;
        CONTINUE WHEN NOT FOUND;
        UPDATE session s
           SET busy = v.busy,
               cpu_ms = CASE WHEN v.moved THEN v.cpu ELSE s.cpu_ms END,
               cpu_at = CASE WHEN v.moved THEN clock_timestamp() ELSE s.cpu_at END,
               last_activity_at = CASE WHEN v.warm THEN clock_timestamp()
                                       ELSE s.last_activity_at END,
               activity_seq = s.activity_seq + v.warm::int
         WHERE s.id = v.id
           AND (v.warm OR v.moved OR s.busy <> v.busy);
    END LOOP;
END $$;

-- Finishes sessions that are sleeping although their lease was released: a worker or
-- reaper died between the two statements.  Each is checked again under its lock,
-- because it may have been started meanwhile.
CREATE OR REPLACE FUNCTION sleepers_settle(p_limit integer, p_trace text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_id text;
    n    bigint := 0;
BEGIN
    FOR v_id IN
        SELECT s.id FROM session s
         WHERE s.state = 'sleeping'
           AND (SELECT l.state FROM lease l WHERE l.session_id = s.id) = 'none'
         LIMIT p_limit
           FOR UPDATE OF s SKIP LOCKED
    LOOP
        CONTINUE WHEN NOT EXISTS (SELECT FROM lease WHERE session_id = v_id AND state = 'none');
        n := n + (SELECT applied FROM session_apply(v_id, 'stopped',
                      jsonb_build_object('trace', p_trace)))::int;
    END LOOP;
    RETURN n;
END $$;

-- Releases a lease because an operator vouches that the wrapper is gone, where no look
-- could prove it.  Uses the same events as a stop, so that a late result of an attempt
-- is still refused, and writes a line in the audit log.  Answers the lease's state
-- before; NULL: no lease.
CREATE OR REPLACE FUNCTION lease_force_release(p_session text, p_trace text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    l       lease%ROWTYPE;
    v_spec  jsonb := jsonb_build_object('reason', 'recovery', 'seconds', 45, 'trace', p_trace,
                                        'attempt', 'forced-' || p_trace, 'absent', true);
BEGIN
    -- the order of locks: sandbox, session, lease
    PERFORM FROM sandbox b JOIN lease x ON x.sandbox_id = b.id
      WHERE x.session_id = p_session FOR UPDATE OF b;
    PERFORM FROM session WHERE id = p_session FOR UPDATE;
    SELECT * INTO l FROM lease WHERE session_id = p_session FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF l.state = 'none' THEN
        RETURN l.state;
    END IF;
    PERFORM lease_apply(p_session, 'request_stop', v_spec);
    UPDATE lease SET next_attempt_at = clock_timestamp()
     WHERE session_id = p_session AND state = 'stop_needed';
    PERFORM lease_apply(p_session, 'begin_stop_attempt', v_spec);
    PERFORM session_stop_end(p_session, v_spec || jsonb_build_object('attempt',
        (SELECT attempt_id FROM lease WHERE session_id = p_session)));
    PERFORM session_apply(p_session, 'gone', v_spec)
       FROM session WHERE id = p_session AND state IN ('initializing', 'ready');
    PERFORM audit_add('lease_force_release', 'critical',
        (SELECT tenant FROM session WHERE id = p_session), p_session,
        jsonb_build_object('by', event_actor(), 'was', l.state, 'generation', l.generation,
            'sandbox', l.sandbox_id, 'reason', l.reason, 'attempts', l.attempts,
            'lastError', l.last_error, 'trace', p_trace));
    RETURN l.state;
END $$;

-- Notes what the row of a session leaves behind: a lease that is not released is lost
-- (due_lost_leases), a sandbox of its own is forgotten later (forget_sandboxes).  The
-- sandbox's row is not touched, because it is locked before a session's.
CREATE OR REPLACE FUNCTION session_row_gone()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE lease SET session_gone = true WHERE session_id = OLD.id AND state <> 'none';
    IF OLD.sandbox_id LIKE 'ses-%' THEN
        INSERT INTO sandbox_unused (sandbox_id) VALUES (OLD.sandbox_id) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;
