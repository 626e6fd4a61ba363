-- Ports: the row is the intent; the session's wrapper then opens or closes a relay.
-- The row stays pending until the wrapper has confirmed that.

-- Whether a port may be reached.  In PL/pgSQL, because a function in SQL would be
-- inlined into auth_session and planned for requests that name no port, too.
CREATE OR REPLACE FUNCTION port_exposed(p_session text, p_port integer)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM port
                    WHERE session_id = p_session AND port = p_port AND closing_at IS NULL
                      AND (expires_at IS NULL OR expires_at > clock_timestamp()));
END $$;

-- Whether a port's URL has ended, so that exposing the port again makes a new URL.
CREATE OR REPLACE FUNCTION port_is_over(p port)
RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT p.closing_at IS NOT NULL OR coalesce(p.expires_at <= clock_timestamp(), false)
$$;

-- Ports, with what the host must know to reach their relays.  stopped: there is no
-- wrapper, so no relay either.  listens: the wrapper takes messages; a suspended one
-- takes them after its thaw.  STABLE, so that it is inlined and uses the indexes.
CREATE OR REPLACE FUNCTION port_relays()
RETURNS TABLE (session_id text, port integer, change_order bigint, pending boolean, cut boolean,
    closing boolean, tried_at timestamptz, stopped boolean, listens boolean, suspended boolean,
    host text, sandbox_id text, incarnation text, instance text, generation bigint)
LANGUAGE sql STABLE AS $$
    SELECT p.session_id, p.port, p.change_order, p.pending, p.cut, p.closing_at IS NOT NULL,
           p.tried_at, l.state = 'none',
           l.state = 'owns_wrapper' AND (s.state = 'ready' OR s.suspended_at IS NOT NULL),
           s.suspended_at IS NOT NULL, coalesce(b.host, ''), coalesce(b.id, ''),
           coalesce(b.incarnation, ''), coalesce(l.instance, ''), l.generation
      FROM port p
      JOIN session s ON s.id = p.session_id
      JOIN lease l ON l.session_id = p.session_id
      LEFT JOIN sandbox b ON b.id = s.sandbox_id
$$;

-- Outcome: the relay has carried out the change with this number, or there is no
-- relay.  False: the row has a newer change.
CREATE OR REPLACE FUNCTION port_settled(p_session text, p_port integer, p_order bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM port
     WHERE session_id = p_session AND port = p_port AND change_order = p_order
       AND closing_at IS NOT NULL;
    IF FOUND THEN
        RETURN true;
    END IF;
    UPDATE port SET pending = false, cut = false, tried_at = NULL
     WHERE session_id = p_session AND port = p_port AND change_order = p_order;
    RETURN FOUND;
END $$;

-- Whether a start has pending relays.  VOLATILE and in PL/pgSQL, so that it sees rows
-- that were committed while the calling statement waited for its locks.
CREATE OR REPLACE FUNCTION session_has_ports(p_session text)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM port WHERE session_id = p_session);
END $$;
