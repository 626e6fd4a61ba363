-- The history of a session: written once, read in order, waited for.

-- The actor of an event whose writer named none: the connected program.
CREATE OR REPLACE FUNCTION event_actor()
RETURNS text LANGUAGE sql STABLE AS $$
    SELECT regexp_replace(current_setting('application_name'), '^sandlease-', '')
$$;

CREATE OR REPLACE FUNCTION ms_between(p_from timestamptz, p_to timestamptz)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT (extract(epoch FROM p_to - p_from) * 1000)::bigint
$$;

-- Writes the steps of a start: p.steps = [{what, ms, ago, how, error}].  Every
-- writer of events holds the lease's lock; without it a client that follows the
-- history could see an id before a smaller one is committed, and miss that.
CREATE OR REPLACE FUNCTION event_steps(p_session text, p jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM lease WHERE session_id = p_session FOR UPDATE;
    PERFORM event_steps_add(p_session, p);
END $$;

-- The same for a caller that has locked the lease.
CREATE OR REPLACE FUNCTION event_steps_add(p_session text, p jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO event (session_id, at, kind, what, actor, reason, generation, trace_id,
                       duration_ms, detail)
    SELECT * FROM event_of_steps(p_session, p, clock_timestamp());
END $$;

-- The rows themselves, for an INSERT.  In SQL: its plan becomes part of the caller's.
-- A step that ended before the latest event gets that event's time, so that times
-- never run backwards; its duration stays the same.
CREATE OR REPLACE FUNCTION event_of_steps(p_session text, p jsonb, p_at timestamptz)
RETURNS TABLE (session_id text, at timestamptz, kind text, what text, actor text, reason text,
    generation bigint, trace_id text, duration_ms bigint, detail jsonb)
LANGUAGE sql STABLE AS $$
    SELECT p_session,
           greatest((SELECT e.at FROM event e WHERE e.session_id = p_session
                      ORDER BY e.id DESC LIMIT 1),
               p_at - make_interval(secs => s.ago / 1000.0)),
           'step', s.what,
           coalesce(p->>'actor', event_actor()), s.error, (p->>'generation')::bigint,
           p->>'trace', s.ms,
           CASE WHEN s.how IS NULL THEN '{}' ELSE jsonb_build_object('how', s.how) END
      FROM jsonb_to_recordset(p->'steps')
           AS s (what text, ms bigint, ago bigint, how text, error text)
$$;

-- Refuses to change an event, or to delete one that is younger than a day, so that
-- a mistake in our code cannot change the history.  Retention is at least a day
-- (retention_days).  The triggers below may delete earlier, where a session has
-- too many events.
CREATE OR REPLACE FUNCTION append_only()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND (OLD.at < clock_timestamp() - interval '1 day'
                             OR pg_trigger_depth() > 1) THEN
        RETURN OLD;
    END IF;
    RAISE SQLSTATE 'SX500' USING MESSAGE = format('%s is append-only', TG_TABLE_NAME);
END $$;

CREATE OR REPLACE TRIGGER event_append_only
    BEFORE UPDATE OR DELETE ON event
    FOR EACH ROW EXECUTE FUNCTION append_only();

-- Keeps the newest 1,000 events of a session, and a few more.  Without a limit a
-- tenant could fill the database by putting a session to sleep and resuming it all
-- day.  The trigger counts at one event in 64 only, because counting reads them all.
CREATE OR REPLACE FUNCTION event_bound()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM event
     WHERE id IN (SELECT id FROM event
                   WHERE session_id = NEW.session_id
                     AND id <= (SELECT id FROM event WHERE session_id = NEW.session_id
                                 ORDER BY id DESC OFFSET 1000 LIMIT 1)
                     FOR UPDATE SKIP LOCKED);
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER event_bounded
    AFTER INSERT ON event
    FOR EACH ROW WHEN (random() < 1.0 / 64) EXECUTE FUNCTION event_bound();

-- Deletes a session's history with its row.
CREATE OR REPLACE FUNCTION event_forget()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM event WHERE session_id = OLD.id;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER session_forgotten
    AFTER DELETE ON session
    FOR EACH ROW EXECUTE FUNCTION event_forget();

-- Wakes the clients that wait for an event of these sessions.  NOTIFY takes a lock that
-- all commits share, so it is sent only if a waiter is registered.
CREATE OR REPLACE FUNCTION event_tell()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('sandlease_' || w.session_id, '')
       FROM written e JOIN event_waiter w ON w.session_id = e.session_id
      WHERE w.until > clock_timestamp();
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER event_told
    AFTER INSERT ON event REFERENCING NEW TABLE AS written
    FOR EACH STATEMENT EXECUTE FUNCTION event_tell();

-- Registers a waiter and answers its number; NULL: no such session.
-- Every writer of an event holds the lock of the session's or the lease's row until
-- it commits.  This function locks both: an event that was written before can be
-- read now, and the writer of a later one sees the waiter.
CREATE OR REPLACE FUNCTION event_wait(p_session text, p_tenant text, p_seconds integer)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_id bigint;
BEGIN
    DELETE FROM event_waiter WHERE id IN ( -- left by a crash
        SELECT id FROM event_waiter WHERE until < clock_timestamp() FOR UPDATE SKIP LOCKED);
    INSERT INTO event_waiter (session_id, until)
    SELECT s.id, clock_timestamp() + make_interval(secs => p_seconds)
      FROM session s WHERE s.id = p_session AND s.tenant = p_tenant
    RETURNING id INTO v_id;
    PERFORM FROM session WHERE id = p_session FOR SHARE;
    PERFORM FROM lease WHERE session_id = p_session FOR SHARE;
    RETURN v_id;
END $$;

-- In PL/pgSQL, which keeps its plan.
CREATE OR REPLACE FUNCTION event_json(e event)
RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN json_build_object(
        'id', e.id,
        'at', iso(e.at),
        'kind', e.kind,
        'what', e.what,
        'actor', e.actor,
        'reason', coalesce(e.reason, e.detail->>'reason'),
        'generation', e.generation,
        'traceId', e.trace_id,
        'durationMs', e.duration_ms,
        'detail', e.detail - 'reason');
END $$;
