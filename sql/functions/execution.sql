-- Executions: limited runs in sessions.
--
-- A row is queued until the session's wrapper has it: execution_give() writes which
-- generation gets which attempt, and only then is it put there.  execution_told() takes what
-- that wrapper, or a later one, says of the attempt.  Without a word the attempt is lost once
-- its generation is over, and another one is given.

CREATE OR REPLACE FUNCTION execution_is_over(p_state text)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_state NOT IN ('queued', 'running')
$$;

CREATE OR REPLACE FUNCTION execution_json(x execution)
RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN json_build_object(
        'id', x.id,
        'sessionId', x.session_id,
        'taskId', x.task_id,
        'agentType', x.agent_type,
        'command', x.command,
        'state', x.state,
        'reason', x.reason,
        'exitCode', x.exit_code,
        'signal', x.signal,
        'stderrTail', x.stderr_tail,
        'usage', x.usage,
        'limits', x.limits,
        'limitsBy', x.limits_by,
        'attempts', x.attempts || CASE WHEN x.attempt > jsonb_array_length(x.attempts)
            THEN jsonb_build_array(execution_attempt(x, x.state, x.reason)) ELSE '[]' END,
        'maxRetries', x.max_retries,
        'cleanup', x.cleanup,
        'artifacts', (SELECT json_build_object('files', count(*) FILTER (WHERE a.kind = 'file'),
                              'bytes', coalesce(sum(a.bytes) FILTER (WHERE a.kind <> 'times'), 0),
                              'error', x.artifacts_error)
                        FROM artifact a WHERE a.execution_id = x.id),
        'cancelled', x.cancel_at IS NOT NULL,
        'createdBy', x.actor,
        'createdAt', iso(x.created_at),
        'startedAt', iso(x.started_at),
        'endedAt', iso(x.ended_at));
END $$;

-- One entry of `attempts`.
CREATE OR REPLACE FUNCTION execution_attempt(x execution, p_state text, p_reason text)
RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_object('attempt', x.attempt, 'state', p_state, 'reason', p_reason,
        'generation', x.generation, 'givenAt', iso(x.given_at), 'startedAt', iso(x.started_at),
        'endedAt', CASE WHEN execution_is_over(p_state) THEN
            iso(coalesce(x.ended_at, clock_timestamp())) END);
END $$;

-- Refuses a change of state that has no row, and writes an event.  The lease is locked by
-- the caller, as for every event of a session.
CREATE OR REPLACE FUNCTION execution_state_event()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.state = NEW.state THEN
        RETURN NULL;
    ELSIF TG_OP = 'UPDATE' AND NOT EXISTS (SELECT FROM execution_transition
            WHERE from_state = OLD.state AND to_state = NEW.state) THEN
        RAISE EXCEPTION 'execution %: nothing leads from % to %', NEW.id, OLD.state, NEW.state;
    END IF;
    INSERT INTO event (session_id, kind, what, actor, reason, generation, trace_id, duration_ms,
                       detail)
    SELECT NEW.session_id, 'execution', NEW.state, coalesce(NEW.actor, event_actor()), NEW.reason,
           NEW.generation, NEW.trace_id,
           CASE WHEN execution_is_over(NEW.state) THEN ms_between(NEW.created_at, NEW.ended_at) END,
           jsonb_strip_nulls(jsonb_build_object('execution', NEW.id, 'attempt', NEW.attempt,
               'exitCode', NEW.exit_code))
     WHERE EXISTS (SELECT FROM session WHERE id = NEW.session_id AND state <> 'deleted');
    IF execution_is_over(NEW.state) THEN
        PERFORM execution_count_day(NEW);
        PERFORM execution_clean_up(NEW);
    END IF;
    RETURN NULL;
END $$;

-- Requests the deletion of a session that was made for its executions, with the last of
-- them; execution_lock() has locked the session's row.
CREATE OR REPLACE FUNCTION execution_clean_up(x execution)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM session s WHERE s.id = x.session_id AND s.cleanup = 'on_completion')
            AND NOT EXISTS (SELECT FROM execution e
                WHERE e.session_id = x.session_id AND e.state IN ('queued', 'running')) THEN
        PERFORM session_request_stop(x.session_id, 'delete',
            jsonb_build_object('reason', 'completed', 'trace', x.trace_id));
    END IF;
END $$;

CREATE OR REPLACE TRIGGER execution_state_changed
    AFTER INSERT OR UPDATE OF state ON execution
    FOR EACH ROW EXECUTE FUNCTION execution_state_event();

-- ---- intent

-- The limits of an execution in a session: its own, else those of its agent type, and never
-- more than the session has.  Requests are counted for the session as a whole.
CREATE OR REPLACE FUNCTION execution_limits(s session, p_own jsonb, p_type text)
RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM limits_must_fit(p_own, network_class(s));
    RETURN limits_choose(p_own, (profile_of(s.tenant, p_type)).limits, session_limits(s))
        - 'networkRequests';
END $$;

-- The execution that has the tenant's task id; NULL: none has.  The id is locked, so that
-- of two calls the second finds what the first makes.
CREATE OR REPLACE FUNCTION execution_of_task(p jsonb)
RETURNS execution LANGUAGE plpgsql AS $$
DECLARE
    x execution%ROWTYPE;
BEGIN
    IF NOT p ? 'task' THEN
        RETURN NULL;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('task ' || (p->>'tenant') || ' '
        || (p->>'task'), 0));
    SELECT * INTO x FROM execution e WHERE e.tenant = p->>'tenant' AND e.task_id = p->>'task';
    IF x.hash <> p->>'hash' THEN
        RAISE SQLSTATE 'SX410' USING MESSAGE = 'the taskId was used for another execution';
    END IF;
    RETURN x;
END $$;

-- Raises SX428 unless the agent type that a request names has a profile.
CREATE OR REPLACE FUNCTION execution_must_know(p_tenant text, p_type text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_type IS NOT NULL AND (profile_of(p_tenant, p_type)).agent_type IS NULL THEN
        RAISE SQLSTATE 'SX428' USING MESSAGE = format('no profile has this name; there are %s',
            (SELECT left(string_agg(t, ', ' ORDER BY t), 150)
               FROM (SELECT DISTINCT agent_type FROM profile
                      WHERE tenant IN ('', p_tenant)) f (t)));
    END IF;
END $$;

-- Adds an execution to a session whose row is locked.  If its wrapper can have it now, that
-- is written with it: one commit instead of two.  Answers whether it is so.
CREATE OR REPLACE FUNCTION execution_add(s session, p jsonb)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    n            bigint;
    v_waiting    bigint; -- no wrapper has them
    v_generation bigint;
BEGIN
    PERFORM execution_must_know(s.tenant, p->>'type');
    SELECT l.generation INTO v_generation FROM lease l WHERE l.session_id = s.id FOR UPDATE;
    SELECT * INTO s FROM session x WHERE x.id = s.id; -- as it is under the lease's lock
    PERFORM session_must_live(s.state);
    SELECT count(*), count(*) FILTER (WHERE e.generation IS NULL) INTO n, v_waiting
      FROM execution e
     WHERE e.session_id = s.id AND e.state IN ('queued', 'running');
    IF n >= (p->>'most')::bigint THEN
        PERFORM quota_refuse('executions', 'executions of one session that wait or run',
            (p->>'most')::bigint, n, 5);
    END IF;
    SELECT count(*) INTO n FROM execution e
     WHERE e.tenant = s.tenant AND e.state IN ('queued', 'running');
    IF n >= (p->>'orgMost')::bigint THEN
        PERFORM quota_refuse('executions', 'executions that wait or run',
            (p->>'orgMost')::bigint, n, 5);
    END IF;
    IF p ? 'unattended' OR v_waiting > 0 OR s.state <> 'ready' OR s.suspended_at IS NOT NULL
            OR NOT EXISTS (SELECT FROM lease l JOIN sandbox b ON b.id = s.sandbox_id
                WHERE l.session_id = s.id AND l.state = 'owns_wrapper' AND b.host = p->>'host') THEN
        v_generation := NULL;
    END IF;
    INSERT INTO execution (id, tenant, user_id, session_id, agent_type, task_id, hash, work_sealed,
                           command, limits, cleanup, max_retries, trace_id, actor,
                           attempt, generation, given_at, requests_before, due_at)
    VALUES (p->>'id', s.tenant, p->>'user', s.id, coalesce(p->>'type', s.agent_type), p->>'task',
            p->>'hash', p->>'work', p->>'command',
            execution_limits(s, nullif(p->'limits', 'null') - 'networkRequests',
                coalesce(p->>'type', s.agent_type)),
            s.cleanup, coalesce((p->>'retries')::int, 3), p->>'trace',
            coalesce(p->>'actor', event_actor()), (v_generation IS NOT NULL)::int, v_generation,
            CASE WHEN v_generation IS NOT NULL THEN clock_timestamp() END,
            network_requests(s.id),
            -- executions_due leaves a new one to the worker that made it, for two seconds
            clock_timestamp() - CASE WHEN p ? 'unattended' THEN interval '2 s' ELSE '0' END);
    RETURN v_generation IS NOT NULL;
END $$;

-- Makes an execution, or finds the one that the tenant's task_id names.
-- p: id, session, tenant, user, type, task, hash, work, command, limits, retries,
-- most (how many of a session may wait), actor, trace.
-- given: the session's wrapper is to have it.
CREATE OR REPLACE FUNCTION execution_create(p jsonb, OUT id text, OUT made boolean,
    OUT given boolean)
LANGUAGE plpgsql AS $$
DECLARE
    s session%ROWTYPE;
    x execution%ROWTYPE := execution_of_task(p);
BEGIN
    id := coalesce(x.id, p->>'id');
    made := x.id IS NULL;
    given := false;
    IF NOT made THEN
        RETURN;
    END IF;
    IF (SELECT draining FROM installation) THEN
        RAISE SQLSTATE 'SX503' USING MESSAGE = 'the service is draining';
    END IF;
    SELECT * INTO s FROM session t
     WHERE t.id = p->>'session' AND t.tenant = p->>'tenant' FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE SQLSTATE 'SX404' USING MESSAGE = 'no such session';
    END IF;
    given := execution_add(s, p);
END $$;

-- The same with a session of its own, made as p_session says (session_create()), or found
-- by its correlation keys.  p.cleanup: what becomes of the session; without it one that is
-- made is deleted afterwards, and one that is found stays as it is.  p.unattended: the
-- caller starts nothing, and src/api/serve/starts.c does so.  execution is NULL if the
-- disposition is 'failed': the caller deletes that session and asks again.
CREATE OR REPLACE FUNCTION execution_start(p_session jsonb, p jsonb,
    OUT plan start_plan, OUT execution text, OUT made boolean)
LANGUAGE plpgsql AS $$
DECLARE
    s session%ROWTYPE;
    x execution%ROWTYPE := execution_of_task(p);
BEGIN
    execution := coalesce(x.id, p->>'id');
    made := x.id IS NULL;
    IF NOT made THEN
        plan.session_id := x.session_id;
        plan.disposition := 'replayed';
        RETURN;
    END IF;
    plan := session_create(p_session || '{"countLater": true}');
    IF plan.disposition = 'failed' THEN
        execution := NULL;
        RETURN;
    END IF;
    IF plan.disposition = 'found' AND p_session ? 'network' THEN
        PERFORM session_patch(plan.session_id, p->>'tenant', jsonb_build_object(
            'network', p_session->'network', 'trace', p->'trace', 'actor', p->'actor'));
    END IF;
    UPDATE session t
       SET cleanup = coalesce(p->>'cleanup',
               CASE WHEN plan.disposition IN ('created', 'registered') THEN 'on_completion'
                    ELSE t.cleanup END)
     WHERE t.id = plan.session_id
    RETURNING * INTO s;
    PERFORM execution_add(s, p);
    IF p ? 'unattended' THEN
        IF NOT session_is_active(s.state, s.suspended_at) THEN
            PERFORM quota_look(s.tenant, 0, 1); -- raised now, where the trigger can be told
        END IF;
        PERFORM pg_notify('sandlease_starts', '');
    END IF;
    IF plan.disposition = 'found' THEN
        PERFORM quota_find(p->>'tenant'); -- the last lock
    END IF;
END $$;

-- ---- giving it to a wrapper

-- Whether the session's wrapper has one, or is about to get it.  Locks the lease, under
-- which it is given.
CREATE OR REPLACE FUNCTION execution_is_given(p_session text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM lease WHERE session_id = p_session FOR UPDATE;
    RETURN EXISTS (SELECT FROM execution e WHERE e.session_id = p_session
        AND e.state IN ('queued', 'running') AND e.generation IS NOT NULL);
END $$;

-- The requests that a session has made.
CREATE OR REPLACE FUNCTION network_requests(p_session text)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce((SELECT requests FROM network_use WHERE session_id = p_session), 0);
END $$;

-- Writes that a generation gets the next attempt, or finds that it has one.  No row: the
-- execution is over, is not due, was cancelled, or the generation does not own the session.
CREATE OR REPLACE FUNCTION execution_give(p_id text, p_generation bigint)
RETURNS SETOF execution LANGUAGE plpgsql AS $$
DECLARE
    x execution%ROWTYPE;
BEGIN
    SELECT * INTO x FROM execution WHERE id = p_id;
    PERFORM FROM lease
      WHERE session_id = x.session_id AND state = 'owns_wrapper' AND generation = p_generation
        FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    RETURN QUERY
        UPDATE execution e
           SET attempt = e.attempt + (e.generation IS NULL)::int,
               generation = p_generation,
               given_at = CASE WHEN e.generation IS NULL THEN clock_timestamp() ELSE e.given_at END,
               requests_before = CASE WHEN e.generation IS NULL
                   THEN network_requests(e.session_id) ELSE e.requests_before END,
               limits_by = NULL, reason = NULL
         WHERE e.id = p_id AND e.cancel_at IS NULL AND NOT execution_is_over(e.state)
           AND (e.generation = p_generation
                OR e.generation IS NULL AND e.state = 'queued' AND e.due_at <= clock_timestamp())
        RETURNING *;
END $$;

-- ---- outcomes

-- Locks the execution after its session's lease.  The end of the last one may delete the
-- session, whose row is locked before its lease.
CREATE OR REPLACE FUNCTION execution_lock(p_id text)
RETURNS execution LANGUAGE plpgsql AS $$
DECLARE
    x execution%ROWTYPE;
BEGIN
    SELECT * INTO x FROM execution WHERE id = p_id;
    PERFORM FROM session s
      WHERE s.id = x.session_id AND s.cleanup = 'on_completion' FOR UPDATE;
    PERFORM FROM lease WHERE session_id = x.session_id FOR UPDATE;
    SELECT * INTO x FROM execution WHERE id = p_id FOR UPDATE;
    RETURN x;
END $$;

-- The state in which an attempt has ended, as its wrapper says.  One that failed after a
-- request was refused, because the session had made too many, has met that limit.
CREATE OR REPLACE FUNCTION execution_end_state(x execution, p_end text)
RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN CASE WHEN p_end = 'failed' AND EXISTS (SELECT FROM network_use u
            WHERE u.session_id = x.session_id AND u.exceeded_at >= x.given_at)
        THEN 'network_exceeded' ELSE p_end END;
END $$;

-- The time that was so many milliseconds ago, as a wrapper says, but not before p_since.
-- NULL: it does not say.
CREATE OR REPLACE FUNCTION execution_ago(p jsonb, p_name text, p_since timestamptz)
RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN CASE WHEN p ? p_name THEN greatest(p_since, clock_timestamp()
        - make_interval(secs => (p->>p_name)::double precision / 1000)) END;
END $$;

-- A wrapper's word about an attempt.  p: running; or end, with exitCode, signal, stderrTail,
-- usage and reason, and what is kept of it: artifacts, host, folder, logBytes, logFirst,
-- artifactsError; and limitsBy, beganAgoMs, endedAgoMs.  keys: what keys_take() takes.  Answers the state; applied
-- false: the word is of another attempt, or late.
CREATE OR REPLACE FUNCTION execution_told(p_id text, p_attempt bigint, p jsonb,
    OUT state text, OUT applied boolean)
LANGUAGE plpgsql AS $$
DECLARE
    x       execution%ROWTYPE;
    at      timestamptz;
    began   timestamptz; -- NULL: it was cancelled before
    ended   timestamptz;
    v_error text;
BEGIN
    -- the order of locks: keys come before their session
    PERFORM keys_take(e.session_id, p->'keys', NULL) FROM execution e
      WHERE e.id = p_id AND p ? 'keys';
    x := execution_lock(p_id);
    at := clock_timestamp();
    state := x.state;
    applied := NOT execution_is_over(x.state) AND x.attempt = p_attempt;
    IF NOT applied THEN
        RETURN;
    END IF;
    IF NOT p ? 'end' THEN
        -- if a crash of the database loses this, the wrapper says it again
        PERFORM set_config('synchronous_commit', 'off', true);
        UPDATE execution e
           SET state = CASE WHEN p ? 'running' THEN 'running' ELSE e.state END,
               started_at = CASE WHEN p ? 'running' THEN coalesce(e.started_at,
                                     execution_ago(p, 'beganAgoMs', e.given_at), at)
                                 ELSE e.started_at END,
               limits_by = coalesce(p->'limitsBy', e.limits_by)
         WHERE e.id = p_id
        RETURNING e.state INTO state;
        RETURN;
    END IF;
    IF p->>'end' = 'lost' THEN
        -- no result.  While the session is being stopped, the end of that stop decides
        -- whether there is another attempt.
        applied := EXISTS (SELECT FROM lease l WHERE l.session_id = x.session_id
            AND l.state = 'owns_wrapper' AND l.generation = x.generation);
        IF applied THEN
            SELECT * INTO state, applied FROM execution_lost(p_id, p_attempt,
                coalesce(p->>'reason', 'its wrapper was ended'), false);
        END IF;
        RETURN;
    END IF;
    -- an attempt that was thought to be lost, and had ended: it counts as what it was
    IF jsonb_array_length(x.attempts) >= x.attempt THEN
        x.attempts := x.attempts - (-1);
    END IF;
    state := execution_end_state(x, p->>'end');
    began := coalesce(x.started_at, execution_ago(p, 'beganAgoMs', x.given_at));
    ended := coalesce(execution_ago(p, 'endedAgoMs', x.given_at), at);
    -- first: the end is told with what is kept
    v_error := artifact_add(x, p);
    UPDATE execution e
       SET state = execution_told.state, attempts = x.attempts,
           reason = CASE WHEN execution_told.state = 'network_exceeded'
               THEN 'a request was refused: its session has made all that it may'
               ELSE left(coalesce(p->>'reason', CASE WHEN execution_told.state = 'cancelled'
                   THEN e.reason END), 500) END,
           exit_code = (p->>'exitCode')::int, signal = (p->>'signal')::int,
           stderr_tail = p->>'stderrTail', usage = (p->'usage') || jsonb_build_object(
               'networkRequests', greatest(0, network_requests(x.session_id) - x.requests_before)),
           started_at = CASE WHEN began < ended THEN began WHEN began IS NOT NULL THEN ended END,
           ended_at = ended, work_sealed = NULL,
           limits_by = coalesce(p->'limitsBy', e.limits_by),
           log_bytes = (p->>'logBytes')::bigint, log_first = coalesce((p->>'logFirst')::bigint, 0),
           artifacts_error = left(coalesce(v_error, p->>'artifactsError'), 500)
     WHERE e.id = p_id;
END $$;

-- An attempt is over without a result, so far as is known: the session's next wrapper may
-- know one.  p_last: it does not, and there is no other attempt; nor is there for one that
-- was cancelled.
CREATE OR REPLACE FUNCTION execution_lost(p_id text, p_attempt bigint, p_why text, p_last boolean,
    OUT state text, OUT applied boolean)
LANGUAGE plpgsql AS $$
DECLARE
    x    execution%ROWTYPE := execution_lock(p_id);
    at   timestamptz := clock_timestamp();
    over boolean := p_last OR x.cancel_at IS NOT NULL; -- read after the lock
BEGIN
    state := x.state;
    applied := NOT execution_is_over(x.state) AND x.attempt = p_attempt;
    IF NOT applied THEN
        RETURN;
    END IF;
    state := CASE WHEN over AND x.cancel_at IS NOT NULL THEN 'cancelled'
                  WHEN over THEN 'lost' ELSE 'queued' END;
    UPDATE execution e
       SET state = execution_lost.state, reason = left(p_why, 500),
           attempts = CASE WHEN jsonb_array_length(x.attempts) < x.attempt
               THEN x.attempts || execution_attempt(x, 'lost', left(p_why, 500))
               ELSE x.attempts END,
           generation = NULL, started_at = CASE WHEN over THEN e.started_at END,
           due_at = at + execution_pause(x.attempt), ended_at = CASE WHEN over THEN at END,
           work_sealed = CASE WHEN NOT over THEN e.work_sealed END
     WHERE e.id = p_id;
    PERFORM pg_notify('sandlease_starts', '');
END $$;

-- All attempts of a generation that is over are, also those that only waited in it: else the
-- next wrapper would get one before another that was made earlier.
CREATE OR REPLACE FUNCTION executions_lost(p_session text, p_generation bigint, p_why text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    x record;
BEGIN
    FOR x IN SELECT e.id, e.attempt FROM execution e
              WHERE e.session_id = p_session AND e.generation = p_generation
                AND e.state IN ('queued', 'running')
              ORDER BY e.created_at, e.id LOOP
        PERFORM execution_lost(x.id, x.attempt, p_why, false);
    END LOOP;
END $$;

-- No attempt could be given: the session cannot be started now.  That counts as one.
CREATE OR REPLACE FUNCTION execution_not_given(p_id text, p_attempt bigint, p_why text,
    p_last boolean, OUT state text, OUT applied boolean)
LANGUAGE plpgsql AS $$
DECLARE
    x execution%ROWTYPE := execution_lock(p_id);
BEGIN
    state := x.state;
    applied := x.attempt = p_attempt AND x.generation IS NULL AND x.state = 'queued';
    IF NOT applied THEN
        RETURN;
    END IF;
    UPDATE execution e SET attempt = e.attempt + 1 WHERE e.id = p_id;
    SELECT * INTO state, applied
      FROM execution_lost(p_id, p_attempt + 1, p_why, p_last);
END $$;

-- Has an execution end.  One that no wrapper has ends now.  p: actor, trace, why.
CREATE OR REPLACE FUNCTION execution_cancel(p_id text, p jsonb)
RETURNS SETOF execution LANGUAGE plpgsql AS $$
DECLARE
    x  execution%ROWTYPE := execution_lock(p_id);
    at timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
        UPDATE execution e
           SET cancel_at = coalesce(e.cancel_at, at),
               state = CASE WHEN e.generation IS NULL THEN 'cancelled' ELSE e.state END,
               reason = CASE WHEN e.cancel_at IS NOT NULL THEN e.reason
                   ELSE coalesce(p->>'why', 'cancelled by ' || coalesce(p->>'actor', event_actor()))
                   END,
               ended_at = CASE WHEN e.generation IS NULL THEN at END,
               work_sealed = CASE WHEN e.generation IS NOT NULL THEN e.work_sealed END
         WHERE e.id = p_id AND NOT execution_is_over(x.state)
        RETURNING *;
    IF NOT FOUND THEN
        RETURN NEXT x;
    END IF;
END $$;

-- Ends executions when their session ends or sleeps.  An idle session has none; one
-- whose wrapper was lost has others start it again.
CREATE OR REPLACE FUNCTION execution_session_over()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE execution e
       SET state = CASE WHEN NEW.state = 'lost' THEN 'lost'
                        WHEN NEW.reason = 'disk_limit' THEN 'disk_exceeded' ELSE 'cancelled' END,
           reason = CASE NEW.state
               WHEN 'lost' THEN 'the files of the session are lost'
               WHEN 'deleted' THEN 'the session was deleted'
               ELSE 'the session was put to sleep: ' || NEW.reason END,
           ended_at = clock_timestamp(), work_sealed = NULL
     WHERE e.session_id = NEW.id AND e.state IN ('queued', 'running')
       AND (NEW.state <> 'asleep' OR e.generation IS NOT NULL);
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER session_over_for_executions
    AFTER UPDATE OF state ON session
    FOR EACH ROW WHEN (NEW.state IN ('deleted', 'lost')
        OR NEW.state = 'asleep' AND NEW.suspended_at IS NULL -- a frozen session goes on later
        AND NEW.reason IN ('user-interrupt', 'max_run_time', 'too-old', 'disk_limit'))
    EXECUTE FUNCTION execution_session_over();

-- 1 s, doubled with each attempt, 20 % more or less, and at most 60 s.
CREATE OR REPLACE FUNCTION execution_pause(p_attempt integer)
RETURNS interval LANGUAGE sql VOLATILE AS $$
    SELECT make_interval(secs => least(60, 2 ^ greatest(0, least(p_attempt, 10) - 1)
        * (0.8 + 0.4 * random())))
$$;
