-- The state of a sandbox.  Each function locks the sandbox's row first; sessions are
-- added and sandboxes retired only through these functions.

-- The host that has a sandbox, its processes or, stopped, its files; NULL when
-- that is p_host, or no host has it.
CREATE OR REPLACE FUNCTION sandbox_elsewhere(p_id text, p_host text)
RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT host FROM sandbox
             WHERE id = p_id AND state <> 'absent' AND host NOT IN ('', p_host));
END $$;

CREATE OR REPLACE FUNCTION other_host_raise(p_host text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE SQLSTATE 'SX505' USING MESSAGE = format('the sandbox belongs to host %s', p_host),
        DETAIL = jsonb_build_object('host', p_host);
END $$;

-- Intent to have a sandbox running on this host.  A running one is kept; else a new
-- incarnation is written before anything is started.  A new one is also written while
-- a stop is under way (attempts > 0): the stop may take effect at any time, and must
-- not hit a session in the incarnation it was meant for.
-- Raises SX411 while the sandbox is being destroyed, SX505 when another host has its
-- processes or, if it is stopped, its files.
CREATE OR REPLACE FUNCTION sandbox_want(p_id text, p_incarnation text, p_host text,
    p_boot text, p_seconds double precision)
RETURNS sandbox LANGUAGE plpgsql AS $$
DECLARE
    s  sandbox%ROWTYPE;
    at timestamptz;
BEGIN
    SELECT * INTO s FROM sandbox WHERE id = p_id FOR UPDATE;
    at := clock_timestamp();
    IF s.state = 'destroying' THEN
        RAISE SQLSTATE 'SX411' USING MESSAGE = 'the sandbox is being destroyed';
    END IF;
    IF s.state <> 'absent' AND s.host <> p_host THEN
        PERFORM other_host_raise(s.host);
    END IF;
    IF s.state IN ('creating', 'running') AND s.boot_id = p_boot AND s.attempts = 0 THEN
        UPDATE sandbox SET idle_since = NULL
         WHERE id = p_id AND idle_since IS NOT NULL;
        s.idle_since := NULL;
        RETURN s;
    END IF;
    UPDATE sandbox
       SET state = 'creating', incarnation = p_incarnation, epoch = epoch + 1,
           host = p_host, boot_id = p_boot, idle_since = NULL, attempts = 0,
           deadline = at + make_interval(secs => p_seconds), changed_at = at
     WHERE id = p_id
    RETURNING * INTO s;
    RETURN s;
END $$;

-- Intent to end a sandbox.  destroy: with its files; else they stay.  Refused (false)
-- while it has a session that is not ended (destroy) or owns a wrapper (stop).
CREATE OR REPLACE FUNCTION sandbox_retire(p_id text, p_incarnation text, p_destroy boolean,
    p_seconds double precision)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    s sandbox%ROWTYPE;
BEGIN
    SELECT * INTO s FROM sandbox WHERE id = p_id FOR UPDATE;
    IF NOT FOUND OR s.incarnation <> p_incarnation THEN
        RETURN false;
    END IF;
    -- the lease names its sandbox itself, because the session's row may be gone
    IF EXISTS (SELECT FROM lease l WHERE l.sandbox_id = p_id AND l.state <> 'none')
       OR (p_destroy AND EXISTS (SELECT FROM session x
                WHERE x.sandbox_id = p_id AND x.state NOT IN ('deleting', 'deleted'))) THEN
        RETURN false;
    END IF;
    -- a stop has no state of its own: the row says 'destroying' only if the files go,
    -- too; so after a crash in a stop the sandbox is stopped again, or started by the
    -- next sandbox_want(); the time between two attempts grows, and they never end
    UPDATE sandbox
       SET state = CASE WHEN p_destroy THEN 'destroying' ELSE state END,
           deadline = clock_timestamp() + greatest(make_interval(secs => p_seconds),
               lease_retry(attempts + 1, NULL)),
           attempts = attempts + 1, changed_at = clock_timestamp()
     WHERE id = p_id;
    RETURN true;
END $$;

-- Outcome of an effect on exactly this incarnation.  An incarnation that was seen
-- stopped must never run again, because the seals of its init are gone.
CREATE OR REPLACE FUNCTION sandbox_settle(p_id text, p_incarnation text, p_state text,
    p_agent_version text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE sandbox
       SET state = p_state, deadline = NULL, attempts = 0, last_error = NULL,
           agent_version = coalesce(p_agent_version, agent_version),
           probe_failures = CASE WHEN p_state = 'running' THEN 0 ELSE probe_failures END,
           probe_failed_at = CASE WHEN p_state = 'running' THEN NULL ELSE probe_failed_at END,
           changed_at = clock_timestamp()
     WHERE id = p_id
       AND incarnation = p_incarnation
       AND (state <> 'destroying' OR p_state = 'absent')
       AND (p_state <> 'running' OR state IN ('creating', 'running'));
    RETURN FOUND;
END $$;
