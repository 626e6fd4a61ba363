-- Until when a session stays awake, and why.

-- When the session's wrapper will reach maxRunSeconds; NULL: it has no such limit.
CREATE OR REPLACE FUNCTION session_run_end(s session)
RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT s.started_at + make_interval(secs => s.max_run_seconds - s.ran_seconds)
$$;

-- When the session will have run too long without a sleep; NULL: never.  The setting
-- comes with the connection (src/store/store.c).
CREATE OR REPLACE FUNCTION session_old_at(s session)
RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN NOT s.keep_alive THEN s.started_at + make_interval(secs =>
        nullif(current_setting('sandlease.too_old_seconds', true), '')::double precision) END
$$;

-- The seconds from now for which a session is kept warm: its idle time, or longer if
-- session_extend promised more, also when that was to an earlier wrapper.  NULL: no
-- limit.
CREATE OR REPLACE FUNCTION session_warm_seconds(s session)
RETURNS double precision LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN NOT s.keep_alive THEN greatest(s.sleep_after_seconds,
               extract(epoch FROM s.extended_until - clock_timestamp()))::double precision END
$$;

-- {"because", "until", "untilIfBusy"}: why a session is alive, as far as rows know.
-- A busy session has no idle date, because its idle time begins when its work ends.
-- Only the wrapper knows whether it is busy: src/api/v1/session_now.c asks the wrapper
-- and shows one of the two dates.
CREATE OR REPLACE FUNCTION session_alive(s session, l lease)
RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    at  timestamptz := clock_timestamp();
    cap timestamptz; -- the session ends then, busy or not
BEGIN
    IF s.state = 'asleep' AND s.suspended_at IS NOT NULL THEN
        RETURN json_build_object('because', json_build_array('suspended'),
            'until', iso(s.expires_at));
    END IF;
    IF s.state NOT IN ('initializing', 'ready') THEN
        RETURN json_build_object('because', '[]'::json, 'until', NULL);
    END IF;
    cap := least(s.expires_at,
        CASE WHEN s.state = 'ready' THEN least(session_run_end(s), session_old_at(s)) END);
    RETURN json_build_object(
        'because', to_json(array_remove(ARRAY[
            CASE WHEN s.state = 'initializing' THEN 'starting' END,
            CASE WHEN s.state = 'ready' AND s.keep_alive THEN 'keep_alive' END,
            CASE WHEN s.state = 'ready' AND NOT s.keep_alive AND s.last_activity_at
                      + make_interval(secs => s.sleep_after_seconds) > at
                 THEN 'recent_activity' END,
            CASE WHEN s.state = 'ready' AND NOT s.keep_alive AND s.extended_until > at
                 THEN 'extended' END], NULL)),
        'until', iso(least(coalesce(l.startup_deadline, l.keep_warm_until), cap)),
        'untilIfBusy', iso(least(l.startup_deadline, cap)));
END $$;

-- Records that an idle session's wrapper last worked p_idle_ms ago, as it told the
-- reaper.  Activity is not written at every call, so the wrapper may know of a later
-- one: if it is later by more than p_slack seconds, the idle date moves accordingly.
-- True: the session is not put to sleep now.
CREATE OR REPLACE FUNCTION session_was_active(p_session text, p_generation bigint,
    p_idle_ms bigint, p_slack double precision)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    s  session%ROWTYPE;
    l  lease%ROWTYPE;
    at timestamptz;
BEGIN
    SELECT * INTO s FROM session WHERE id = p_session FOR UPDATE;
    SELECT * INTO l FROM lease WHERE session_id = p_session FOR UPDATE;
    at := clock_timestamp() - make_interval(secs => p_idle_ms::double precision / 1000);
    IF s.state IS DISTINCT FROM 'ready' OR l.state <> 'owns_wrapper'
       OR l.generation <> p_generation
       OR at <= s.last_activity_at
                + make_interval(secs => least(p_slack, s.sleep_after_seconds / 2.0)) THEN
        RETURN false;
    END IF;
    UPDATE session
       SET last_activity_at = at, activity_seq = activity_seq + 1
     WHERE id = p_session;
    UPDATE lease
       SET keep_warm_until = CASE WHEN s.keep_alive THEN NULL ELSE
               greatest(keep_warm_until, at + make_interval(secs => s.sleep_after_seconds)) END
     WHERE session_id = p_session
    RETURNING keep_warm_until INTO l.keep_warm_until;
    RETURN l.keep_warm_until IS NULL OR l.keep_warm_until > clock_timestamp();
END $$;
