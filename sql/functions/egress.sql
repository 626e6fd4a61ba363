-- Called by sandlease-egress: what the networks of sessions have done.

-- Writes a connection or a name that was refused: p = {host, port, why, detail, untold}.
-- Under the lease's lock, as all events: see event_steps.
CREATE OR REPLACE FUNCTION network_denied(p_session text, p jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO event (session_id, kind, what, actor, reason, generation, detail)
    SELECT p_session, 'network', 'denied', event_actor(), p->>'why', l.generation,
           jsonb_strip_nulls(p - 'why' - 'generation')
      FROM (SELECT generation FROM lease WHERE session_id = p_session FOR UPDATE) l
     WHERE EXISTS (SELECT FROM session WHERE id = p_session AND state <> 'deleted');
END $$;

-- Counts one request of a session whose policies limit their number: 'ok' or 'exceeded'.
CREATE OR REPLACE FUNCTION network_reserve(p_session text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_max bigint; -- the least of its policies; NULL: no limit
BEGIN
    SELECT min((p->>'maxRequests')::bigint) FILTER (WHERE (p->>'maxRequests')::bigint > 0) INTO v_max
      FROM session s, jsonb_array_elements(network_policies(s)) p
     WHERE s.id = p_session;
    INSERT INTO network_use (session_id) SELECT id FROM session WHERE id = p_session
        ON CONFLICT (session_id) DO NOTHING;
    UPDATE network_use SET requests = requests + 1, changed_at = clock_timestamp()
     WHERE session_id = p_session AND (v_max IS NULL OR requests < v_max);
    IF FOUND THEN
        RETURN 'ok';
    END IF;
    UPDATE network_use SET exceeded_at = clock_timestamp() WHERE session_id = p_session;
    RETURN 'exceeded';
END $$;
