-- Tickets: short-lived tokens that stand for a key in a WebSocket's address.

-- Makes a ticket and answers when it expires.  A session has at most p_most unexpired
-- tickets, used or not.  The session's row is locked, so that two requests, or a request
-- and a deletion, do not run side by side.
CREATE OR REPLACE FUNCTION ticket_create(p_hash text, p_session text, p_tenant text,
    p_key text, p_purpose text, p_seconds integer, p_most integer)
RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
    v_state text;
    v_end   timestamptz;
BEGIN
    SELECT state INTO v_state FROM session
     WHERE id = p_session AND tenant = p_tenant FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE SQLSTATE 'SX404' USING MESSAGE = 'there is no such session';
    END IF;
    PERFORM session_must_live(v_state);
    IF v_state = 'lost' THEN
        RAISE SQLSTATE 'SX414' USING
            MESSAGE = 'the session''s files are gone; it can only be deleted';
    END IF;
    SELECT expires_at INTO v_end FROM ticket -- the one that makes room when it ends
     WHERE session_id = p_session AND expires_at > clock_timestamp()
     ORDER BY expires_at DESC
    OFFSET p_most - 1 LIMIT 1;
    IF FOUND THEN
        RAISE SQLSTATE 'SX420' USING
            MESSAGE = format('a session may have %s tickets at a time, used or not', p_most),
            DETAIL = jsonb_build_object('retryAfter',
                ceil(extract(epoch FROM v_end - clock_timestamp()))::integer);
    END IF;
    INSERT INTO ticket (hash, session_id, key_id, purpose, expires_at)
    VALUES (p_hash, p_session, p_key, p_purpose,
            clock_timestamp() + make_interval(secs => p_seconds))
    RETURNING expires_at INTO v_end;
    RETURN v_end;
END $$;

-- Takes a ticket for one request and answers the key it stands for; NULL: none.  The
-- first of two requests gets it, and may use it again while its session wakes up.  In
-- PL/pgSQL, because an UPDATE inside auth_session would be set up for every request,
-- also for those with a key.
CREATE OR REPLACE FUNCTION ticket_take(p_hash text, p_session text, p_purpose text,
    p_request text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_key text;
BEGIN
    UPDATE ticket SET used_by = p_request
     WHERE hash = p_hash AND session_id = p_session AND purpose = p_purpose
       AND (used_by = p_request OR used_by IS NULL AND expires_at > clock_timestamp())
    RETURNING key_id INTO v_key;
    RETURN v_key;
END $$;

-- The same at p_host.  If another host has the sandbox, the ticket is read and not
-- taken, so that it can still be used there.
CREATE OR REPLACE FUNCTION ticket_take_at(p_hash text, p_session text, p_purpose text,
    p_request text, p_host text)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF sandbox_elsewhere((SELECT sandbox_id FROM session WHERE id = p_session), p_host)
       IS NULL THEN
        RETURN ticket_take(p_hash, p_session, p_purpose, p_request);
    END IF;
    RETURN (SELECT key_id FROM ticket
             WHERE hash = p_hash AND session_id = p_session AND purpose = p_purpose
               AND used_by IS NULL AND expires_at > clock_timestamp());
END $$;
