-- Stopping: the request is committed first; then attempts follow until a look proves
-- that the wrapper is gone.

-- p_wish: 'sleep', 'delete', 'fail'.  A deletion overrides the other two.  Answers the
-- session's state afterwards; NULL when there is no such session.
CREATE OR REPLACE FUNCTION session_request_stop(p_session text, p_wish text, p jsonb)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    s session%ROWTYPE;
BEGIN
    IF p_wish = 'fail' THEN -- this may give back the disk of the sandbox, which is locked first
        PERFORM FROM sandbox b JOIN session x ON x.sandbox_id = b.id
          WHERE x.id = p_session FOR UPDATE OF b;
    END IF;
    SELECT * INTO s FROM session WHERE id = p_session FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF NOT stop_request_holds(s, p) THEN
        RETURN s.state;
    END IF;
    IF p ? 'steps' THEN -- of a start that failed
        PERFORM event_steps(p_session, p);
    END IF;
    RETURN (SELECT now_state FROM stop_requested(ARRAY[p_session], p_wish, p));
END $$;

-- Whether a request holds still: nothing has happened that its writer did not see.
CREATE OR REPLACE FUNCTION stop_request_holds(s session, p jsonb)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF s.state IN ('deleting', 'deleted') THEN
        RETURN false;
    END IF;
    IF p->>'seenActivity' IS NOT NULL AND s.activity_seq <> (p->>'seenActivity')::bigint THEN
        RETURN false; -- a client called while the reaper was asking
    END IF;
    IF p->>'seenActivity' IS NOT NULL AND execution_is_given(s.id) THEN
        RETURN false; -- so did one that gave it an execution
    END IF;
    IF p->>'generation' IS NOT NULL AND NOT EXISTS (SELECT FROM lease l
            WHERE l.session_id = s.id AND l.generation = (p->>'generation')::bigint) THEN
        RETURN false; -- a later start than the one that failed is under way
    END IF;
    IF (p->>'late')::boolean AND NOT EXISTS (SELECT FROM lease l
            WHERE l.session_id = s.id AND l.startup_deadline < clock_timestamp()) THEN
        RETURN false; -- the wrapper answered while the reaper was asking
    END IF;
    RETURN true;
END $$;

-- Writes a request that holds, for sessions that the caller has locked.  Answers each
-- one's state before and after.
CREATE OR REPLACE FUNCTION stop_requested(p_sessions text[], p_wish text, p jsonb)
RETURNS TABLE (session_id text, was text, now_state text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    -- a session that sleeps already, or failed, keeps its state; a wrapper that was
    -- seen there must be stopped all the same
    PERFORM FROM leases_apply(ARRAY(SELECT s.id FROM session s
             WHERE s.id = ANY (p_sessions) AND (session_refuses(s, p_wish, p) IS NULL
                   OR p_wish = 'sleep'
                      AND p->>'reason' IN ('unexpected-wrapper', 'observation-failed'))),
        'request_stop', p);
    IF p_wish = 'delete' THEN
        DELETE FROM port WHERE session_id = ANY (p_sessions);
        DELETE FROM alias WHERE session_id = ANY (p_sessions);
    END IF;
    RETURN QUERY SELECT a.session_id, a.was, a.now_state
                   FROM sessions_apply(p_sessions, p_wish, p) a;
END $$;

-- Claims the next attempt if it is due.  No row: nothing to do now, or only another
-- host than p.host can do it; an attempt here would fail and make that host wait.
-- state is NULL for a lease whose session's row is gone.  sandbox_state is NULL if the
-- sandbox's row is gone: then no host is known that could look.  The reason of a
-- session that is sleeping or being deleted is the one that its row shows.
DROP FUNCTION IF EXISTS session_stop_begin(text, jsonb); -- an old one with fewer columns
CREATE OR REPLACE FUNCTION session_stop_begin(p_session text, p jsonb)
RETURNS TABLE (session_id text, generation bigint, instance text, sandbox_id text,
    sandbox_state text, incarnation text, host text, boot_id text, provider text, state text,
    reason text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    IF EXISTS (SELECT FROM lease l JOIN sandbox b ON b.id = l.sandbox_id
                WHERE l.session_id = p_session AND b.host NOT IN ('', p->>'host')
                  AND b.state NOT IN ('absent', 'stopped')) THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT * FROM stops_begin(ARRAY[p_session], p);
END $$;

-- The same for several, without asking for the host.
CREATE OR REPLACE FUNCTION stops_begin(p_sessions text[], p jsonb)
RETURNS TABLE (session_id text, generation bigint, instance text, sandbox_id text,
    sandbox_state text, incarnation text, host text, boot_id text, provider text, state text,
    reason text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_begun text[];
BEGIN
    v_begun := ARRAY(SELECT a.session_id FROM leases_apply(p_sessions, 'begin_stop_attempt', p) a
                      WHERE a.applied);
    RETURN QUERY
    SELECT l.session_id, l.generation, l.instance, coalesce(b.id, l.sandbox_id), b.state,
           b.incarnation, b.host, b.boot_id, c.provider, s.state,
           CASE WHEN s.state IN ('sleeping', 'deleting') THEN coalesce(s.reason, l.reason)
                ELSE l.reason END
      FROM lease l
      LEFT JOIN session s ON s.id = l.session_id
      LEFT JOIN sandbox b ON b.id = coalesce(s.sandbox_id, l.sandbox_id)
      LEFT JOIN class c ON c.name = b.class
     WHERE l.session_id = ANY (v_begun);
END $$;

-- Claims up to p.limit attempts that are due, all with p.attempt: first ones,
-- or (p.retries) those that were tried before.  Several reapers share the work: rows
-- that another one has locked are skipped.  So are leases of another host, and those
-- in a sandbox of p.skip.
CREATE OR REPLACE FUNCTION stop_claim(p jsonb)
RETURNS TABLE (session_id text, generation bigint, instance text, sandbox_id text,
    sandbox_state text, incarnation text, host text, boot_id text, provider text, state text,
    reason text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_due text[] := ARRAY(
        SELECT l.session_id
          FROM lease l LEFT JOIN sandbox b ON b.id = l.sandbox_id
         WHERE l.state = 'stop_needed' AND l.next_attempt_at <= statement_timestamp()
           AND (l.attempts > 0) = (p->>'retries')::boolean
           AND (b.id IS NULL OR b.host IN ('', p->>'host') OR b.state IN ('absent', 'stopped'))
           AND NOT coalesce(p->'skip' ? l.sandbox_id, false)
         ORDER BY l.next_attempt_at
         LIMIT (p->>'limit')::int
           FOR UPDATE OF l SKIP LOCKED);
BEGIN
    IF v_due <> '{}' THEN -- a pass that finds none need not plan the rest
        RETURN QUERY SELECT * FROM stops_begin(v_due, p);
    END IF;
END $$;

-- Writes the same stop request for several sessions.  p.sessions has id and, if the
-- request depends on them, seenRow (the version of the row that was due),
-- seenActivity, generation and late.  Rows that another transaction has locked are
-- skipped.  Answers the ids of sessions that changed.
CREATE OR REPLACE FUNCTION stop_requests(p_kind text, p jsonb)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    v     record;
    v_ids text[] := '{}';
BEGIN
    IF p_kind = 'fail' THEN -- the order of locks: sandboxes, sessions, leases
        PERFORM FROM sandbox b
          WHERE b.id = ANY (ARRAY(SELECT s.sandbox_id FROM session s WHERE s.id = ANY (ARRAY(
                    SELECT x->>'id' FROM jsonb_array_elements(p->'sessions') x))))
          ORDER BY b.id FOR UPDATE;
    END IF;
    FOR v IN
        SELECT s, x.one
          FROM jsonb_array_elements(p->'sessions') AS x (one)
          JOIN session s ON s.id = x.one->>'id'
           AND s.xmin::text = coalesce(x.one->>'seenRow', s.xmin::text)
         ORDER BY s.id
           FOR UPDATE OF s SKIP LOCKED
    LOOP
        IF stop_request_holds(v.s, v.one) THEN
            v_ids := v_ids || (v.s).id;
        END IF;
    END LOOP;
    RETURN QUERY SELECT r.session_id FROM stop_requested(v_ids, p_kind, p - 'sessions') r
                  WHERE r.now_state <> r.was;
END $$;

-- Raises leases to the generation of wrappers that a stop has found.  A wrapper can
-- be of a later generation than its row after the database was restored from a backup.
-- p.seen has session and generation.  Only the attempt under way may do it; the next
-- start is then later than any wrapper.  Answers the sessions that changed.
CREATE OR REPLACE FUNCTION stop_raise(p jsonb)
RETURNS SETOF text LANGUAGE sql AS $$
    UPDATE lease l SET generation = v.generation
      FROM jsonb_to_recordset(p->'seen') AS v (session text, generation bigint)
     WHERE l.session_id = v.session AND l.state = 'stopping'
       AND l.attempt_id = p->>'attempt' AND l.generation < v.generation
    RETURNING l.session_id
$$;

-- Outcomes of several attempts: p.outcomes has session, absent and error.
-- Answers the sessions' states, without those whose result came too late.
CREATE OR REPLACE FUNCTION stop_outcomes(p jsonb)
RETURNS TABLE (session_id text, state text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v record;
BEGIN
    PERFORM stops_lock(ARRAY(SELECT x->>'session' FROM jsonb_array_elements(p->'outcomes') x));
    FOR v IN -- those that ended in the same way
        SELECT array_agg(x->>'session') AS sessions, x - 'session' AS outcome
          FROM jsonb_array_elements(p->'outcomes') x
         GROUP BY outcome
    LOOP
        RETURN QUERY SELECT * FROM stops_end(v.sessions, (p - 'outcomes') || v.outcome);
    END LOOP;
END $$;

-- Outcome of one attempt.  Answers the session's state; NULL when the attempt
-- is not the one under way (a late result: ignored).
CREATE OR REPLACE FUNCTION session_stop_end(p_session text, p jsonb)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM stops_lock(ARRAY[p_session]);
    RETURN (SELECT e.state FROM stops_end(ARRAY[p_session], p) e);
END $$;

-- The order of locks: sandboxes, sessions, leases.
CREATE OR REPLACE FUNCTION stops_lock(p_sessions text[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM sandbox b
      WHERE b.id = ANY (ARRAY(SELECT l.sandbox_id FROM lease l
                               WHERE l.session_id = ANY (p_sessions)))
      ORDER BY b.id FOR UPDATE OF b;
    PERFORM FROM session s
      WHERE s.id = ANY (p_sessions)
      ORDER BY s.id FOR UPDATE;
END $$;

-- The same outcome of several attempts, for a caller of stops_lock().
CREATE OR REPLACE FUNCTION stops_end(p_sessions text[], p jsonb)
RETURNS TABLE (session_id text, state text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_absent boolean := p->>'absent';
    v_ended  text[];
BEGIN
    v_ended := ARRAY(SELECT a.session_id
        FROM leases_apply(p_sessions,
                 CASE WHEN v_absent THEN 'stop_absent' ELSE 'stop_not_confirmed' END, p) a
       WHERE a.applied);
    IF v_absent THEN
        PERFORM FROM sessions_apply(v_ended, 'stopped', p);
        UPDATE session s SET suspended_at = NULL, suspend_deadline = NULL
         WHERE s.id = ANY (v_ended) AND s.suspended_at IS NOT NULL; -- an operator released it
        UPDATE sandbox b SET idle_since = clock_timestamp()
         WHERE b.id = ANY (ARRAY(SELECT x.sandbox_id FROM lease x
                                  WHERE x.session_id = ANY (v_ended)))
           AND b.idle_since IS NULL
           AND NOT EXISTS (SELECT FROM lease l
                            WHERE l.sandbox_id = b.id AND l.state <> 'none');
    END IF;
    RETURN QUERY SELECT x.id, coalesce(s.state, 'deleted')
                   FROM unnest(v_ended) AS x (id) LEFT JOIN session s ON s.id = x.id;
END $$;

-- Last step of a deletion: nothing runs and the files are in the trash.
DROP FUNCTION IF EXISTS session_deleted(text); -- replaced by the one with more parameters
CREATE OR REPLACE FUNCTION session_deleted(p_session text, p jsonb DEFAULT '{}')
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN EXISTS (SELECT FROM sessions_deleted(
        p || jsonb_build_object('sessions', jsonb_build_array(p_session))));
END $$;

-- The same for several: p.sessions has their ids.  Answers those that are deleted.
CREATE OR REPLACE FUNCTION sessions_deleted(p jsonb)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    v_ids   text[] := ARRAY(SELECT jsonb_array_elements_text(p->'sessions'));
    v_boxes text[];
BEGIN
    -- the order of locks: sandboxes, sessions, leases
    v_boxes := ARRAY(SELECT b.id FROM sandbox b
                      WHERE b.id = ANY (ARRAY(SELECT s.sandbox_id FROM session s
                                               WHERE s.id = ANY (v_ids)))
                      ORDER BY b.id FOR UPDATE OF b);
    PERFORM FROM session s
      WHERE s.id = ANY (v_ids)
      ORDER BY s.id FOR UPDATE;
    v_ids := ARRAY(SELECT l.session_id FROM lease l
                    WHERE l.session_id = ANY (v_ids) AND l.state = 'none');
    v_ids := ARRAY(SELECT a.session_id FROM sessions_apply(v_ids, 'removed', p - 'sessions') a
                    WHERE a.applied);
    -- keys that they were given while the deletion was under way
    DELETE FROM alias WHERE session_id = ANY (v_ids);
    DELETE FROM port WHERE session_id = ANY (v_ids);
    PERFORM disk_release(box) FROM unnest(v_boxes) AS box;
    RETURN QUERY SELECT unnest(v_ids);
END $$;

-- Records that a look found a session's sandbox not running (crash, reboot), which
-- proves that its wrapper is gone.  The session becomes asleep if its files are there,
-- else lost.  p.incarnation: the one that was looked at; if another has begun since,
-- nothing is proved.
CREATE OR REPLACE FUNCTION session_sandbox_gone(p_session text, p jsonb)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    a         record;
    v         record;
    v_sandbox text;
    v_started boolean;
BEGIN
    -- the order of locks: sandbox, session, lease
    SELECT b.id INTO v_sandbox FROM sandbox b JOIN lease x ON x.sandbox_id = b.id
     WHERE x.session_id = p_session
       AND b.incarnation = coalesce(p->>'incarnation', b.incarnation)
       FOR UPDATE OF b;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT started_at IS NOT NULL INTO v_started FROM session WHERE id = p_session FOR UPDATE;
    IF p ? 'steps' THEN
        PERFORM event_steps(p_session, p);
    END IF;
    SELECT * INTO a FROM lease_apply(p_session, 'owned_absent', p);
    IF NOT a.applied AND NOT EXISTS (SELECT FROM lease
            WHERE session_id = p_session AND state = 'none') THEN
        RETURN false;
    END IF;
    IF (p->>'lost')::boolean AND v_started THEN
        SELECT * INTO v FROM session_apply(p_session, 'files_gone', p);
    ELSIF (p->>'lost')::boolean THEN
        -- a session that was never ready had no files to lose
        SELECT * INTO v FROM session_apply(p_session, 'gone', p || '{"reason": "sandbox_gone"}');
    ELSE
        SELECT * INTO v FROM session_apply(p_session, 'gone', p);
    END IF;
    IF v.now_state = 'lost' THEN
        PERFORM disk_release(v_sandbox);
    END IF;
    RETURN v.applied OR a.applied; -- the lease alone, if the session's row is gone
END $$;
