-- Until when a session stays awake; session_alive() in session_json.sql shows it.

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

-- When the session ends, busy or not; NULL: never.
CREATE OR REPLACE FUNCTION session_cap(s session)
RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT least(s.expires_at,
        CASE WHEN s.state = 'ready' THEN least(session_run_end(s), session_old_at(s)) END)
$$;

-- The seconds from now for which a session is kept warm: its idle time, or longer if
-- session_extend promised more, also when that was to an earlier wrapper.  NULL: no
-- limit.
CREATE OR REPLACE FUNCTION session_warm_seconds(s session)
RETURNS double precision LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN NOT s.keep_alive THEN greatest(s.sleep_after_seconds,
               extract(epoch FROM s.extended_until - clock_timestamp()))::double precision END
$$;

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
