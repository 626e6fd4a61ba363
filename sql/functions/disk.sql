-- Disk: reservations, refusals, evidence against a sandbox, and measurements.
-- A host's row is locked last, after all others, because all creates of a host
-- wait for it.

-- Writes an event under the lease's lock, as all events are (event_steps); the
-- caller has locked the session's row.
CREATE OR REPLACE FUNCTION disk_event(p_session text, p_what text, p_trace text, p_detail jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v bigint;
BEGIN
    SELECT generation INTO v FROM lease WHERE session_id = p_session FOR UPDATE;
    INSERT INTO event (session_id, kind, what, generation, trace_id, detail, actor)
    VALUES (p_session, 'disk', p_what, v, p_trace, p_detail, event_actor());
END $$;

-- Adds a sandbox's reservation to its host's counter, once.
-- The sandbox's row is locked.  Raises SX507 when the budget is used up.
CREATE OR REPLACE FUNCTION disk_reserve(p_sandbox text, p_budget_mb bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    b sandbox%ROWTYPE;
BEGIN
    IF p_budget_mb <= 0 THEN
        RETURN; -- no budget: free space and the low-water mark decide
    END IF;
    UPDATE sandbox SET disk_counted = true
     WHERE id = p_sandbox AND NOT disk_counted AND disk_mb > 0
    RETURNING * INTO b;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    INSERT INTO host (name) VALUES (b.disk_host) ON CONFLICT (name) DO NOTHING;
    UPDATE host SET disk_reserved_mb = disk_reserved_mb + b.disk_mb,
           changed_at = clock_timestamp()
     WHERE name = b.disk_host AND disk_reserved_mb + b.disk_mb <= p_budget_mb;
    IF NOT FOUND THEN
        RAISE SQLSTATE 'SX507' USING MESSAGE = format(
            'this host has no %s MB of disk left to promise', b.disk_mb);
    END IF;
END $$;

-- Gives a sandbox's reservation back once none of its sessions has a workspace.
-- The caller has locked the sandbox's row.  A session that is lost, or that failed
-- and was cleared, has no workspace any more.
CREATE OR REPLACE FUNCTION disk_release(p_sandbox text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    b sandbox%ROWTYPE;
BEGIN
    SELECT * INTO b FROM sandbox WHERE id = p_sandbox AND disk_mb > 0 FOR UPDATE;
    IF NOT FOUND OR EXISTS (SELECT FROM session
            WHERE sandbox_id = p_sandbox AND state NOT IN ('deleted', 'lost')
              AND files_dropped_at IS NULL) THEN
        RETURN;
    END IF;
    UPDATE sandbox SET disk_mb = 0, disk_counted = false WHERE id = p_sandbox;
    IF b.disk_counted THEN
        UPDATE host SET disk_reserved_mb = greatest(0, disk_reserved_mb - b.disk_mb),
               changed_at = clock_timestamp()
         WHERE name = b.disk_host;
    END IF;
END $$;

-- Counts a host's reservations anew from the rows: for a budget that was set, or
-- set again, while there were sandboxes already.  Answers the sum.
CREATE OR REPLACE FUNCTION disk_recount(p_host text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v bigint;
BEGIN
    -- the order of locks: sandboxes, host
    PERFORM FROM sandbox
      WHERE disk_host = p_host AND disk_mb > 0 AND NOT disk_counted
      ORDER BY id FOR UPDATE;
    INSERT INTO host (name) VALUES (p_host) ON CONFLICT (name) DO NOTHING;
    PERFORM FROM host WHERE name = p_host FOR UPDATE;
    -- with the lock held, all counts of other transactions are committed and seen
    UPDATE sandbox SET disk_counted = true
     WHERE disk_host = p_host AND disk_mb > 0 AND NOT disk_counted;
    SELECT coalesce(sum(disk_mb), 0) INTO v FROM sandbox
     WHERE disk_host = p_host AND disk_mb > 0 AND disk_counted;
    UPDATE host SET disk_reserved_mb = v, changed_at = clock_timestamp()
     WHERE name = p_host AND disk_reserved_mb <> v;
    RETURN v;
END $$;

-- Intent to remove the files of a session that failed.  From here on a resume is
-- refused, and if the removal fails, the reconciliation of directories repeats it.
-- p_lost: to make room; only for a session that was never ready, whose state
-- becomes lost.  False: the session was resumed meanwhile.
CREATE OR REPLACE FUNCTION session_drop_files(p_session text, p_lost boolean, p_trace text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_sandbox text;
BEGIN
    -- the order of locks: sandbox, session, lease
    SELECT b.id INTO v_sandbox FROM sandbox b JOIN session x ON x.sandbox_id = b.id
     WHERE x.id = p_session FOR UPDATE OF b;
    PERFORM FROM session s
      WHERE s.id = p_session AND s.state = 'failed' AND (s.started_at IS NULL OR NOT p_lost)
        FOR UPDATE;
    IF NOT FOUND OR NOT EXISTS (SELECT FROM lease
            WHERE session_id = p_session AND state = 'none') THEN
        RETURN false;
    END IF;
    UPDATE session SET files_dropped_at = clock_timestamp() WHERE id = p_session;
    IF p_lost THEN
        PERFORM session_apply(p_session, 'files_gone',
            jsonb_build_object('reason', 'storage_reclaimed', 'trace', p_trace));
    END IF;
    PERFORM disk_release(v_sandbox);
    RETURN true;
END $$;

-- Takes back a create that found no room on the disk: frees its idempotency key
-- and requests the deletion of the session.  NULL: nothing is done, because
-- another client was told of the session meanwhile.
CREATE OR REPLACE FUNCTION session_refused(p_session text, p jsonb)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    -- the order of locks of a create: idempotency key, session
    PERFORM FROM idempotency i JOIN session s
         ON i.tenant = s.tenant AND i.user_id = s.user_id AND i.session_id = s.id
      WHERE s.id = p_session FOR UPDATE OF i;
    PERFORM FROM session s JOIN lease l ON l.session_id = s.id
      WHERE s.id = p_session AND NOT s.told
        AND l.generation = (p->>'generation')::bigint FOR UPDATE OF s;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    DELETE FROM idempotency i USING session s
     WHERE s.id = p_session AND i.tenant = s.tenant AND i.user_id = s.user_id
       AND i.session_id = s.id;
    PERFORM disk_event(p_session, 'refused', p->>'trace',
        jsonb_build_object('error', p->>'say'));
    RETURN session_request_stop(p_session, 'delete', p);
END $$;

-- Notes that a sandbox could not be made or probed.  True when that is
-- evidence: twice, half a minute apart, while another one on its host could.
CREATE OR REPLACE FUNCTION sandbox_probe_failed(p_id text, p_incarnation text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    b  sandbox%ROWTYPE;
    at timestamptz;
BEGIN
    SELECT * INTO b FROM sandbox WHERE id = p_id FOR UPDATE;
    at := clock_timestamp();
    IF NOT FOUND OR b.incarnation <> p_incarnation THEN
        RETURN false;
    END IF;
    UPDATE sandbox
       SET probe_failures = probe_failures + 1,
           probe_failed_at = coalesce(probe_failed_at, at)
     WHERE id = p_id
    RETURNING * INTO b;
    RETURN b.probe_failures >= 2 AND b.probe_failed_at < at - interval '30 seconds'
       AND EXISTS (SELECT FROM sandbox o
                    WHERE o.host = b.host AND o.id <> b.id AND o.state = 'running'
                      AND o.changed_at > b.probe_failed_at);
END $$;

-- Records how much disk a session uses.  True: it was over its limit at an earlier
-- measurement and still is, so the caller puts it to sleep.
CREATE OR REPLACE FUNCTION disk_measured(p_session text, p_used_mb bigint, p_over boolean)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    s  session%ROWTYPE;
    at timestamptz;
BEGIN
    SELECT * INTO s FROM session WHERE id = p_session FOR UPDATE;
    at := clock_timestamp();
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE session
       SET disk_used_mb = p_used_mb, disk_measured_at = at,
           disk_over_since = CASE WHEN p_over THEN coalesce(disk_over_since, at) END
     WHERE id = p_session;
    IF p_over AND s.disk_over_since IS NULL THEN
        PERFORM disk_event(p_session, 'over_limit', NULL,
            jsonb_build_object('usedMb', p_used_mb));
    END IF;
    RETURN p_over AND s.disk_over_since IS NOT NULL;
END $$;

-- Marks exactly these sessions of a host as frozen (p_sessions: ids divided by commas)
-- and all others as not frozen.  Each change writes an event.  Answers how many
-- changed.
CREATE OR REPLACE FUNCTION disk_frozen(p_host text, p_sessions text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_ids text[] := string_to_array(p_sessions, ',');
    v     record;
    n     bigint := 0;
BEGIN
    FOR v IN SELECT s.id, s.id = ANY (v_ids) AS frozen
               FROM session s LEFT JOIN sandbox b ON b.id = s.sandbox_id
              WHERE s.state = 'ready'
                AND (s.id = ANY (v_ids) AND s.reason IS DISTINCT FROM 'disk_low'
                     OR s.reason = 'disk_low' AND b.host = p_host AND s.id <> ALL (v_ids))
              ORDER BY s.id LOOP
        UPDATE session SET reason = CASE WHEN v.frozen THEN 'disk_low' END
         WHERE id = v.id AND state = 'ready';
        CONTINUE WHEN NOT FOUND;
        PERFORM disk_event(v.id, CASE WHEN v.frozen THEN 'frozen' ELSE 'thawed' END,
            NULL, '{}');
        n := n + 1;
    END LOOP;
    RETURN n;
END $$;
