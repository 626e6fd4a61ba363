-- Ports: the row is the intent, its relay follows, and a relay that has not
-- confirmed leaves the row pending.

-- Whether a port may be reached.  In PL/pgSQL so that it costs those nothing who
-- do not ask: it is not planned into auth_session, as SQL would be.
CREATE OR REPLACE FUNCTION port_exposed(p_session text, p_port integer)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM port
                    WHERE session_id = p_session AND port = p_port AND closing_at IS NULL
                      AND (expires_at IS NULL OR expires_at > clock_timestamp()));
END $$;

-- True when its URL has ended: exposing it again begins another one.
CREATE OR REPLACE FUNCTION port_is_over(p port)
RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT p.closing_at IS NOT NULL OR coalesce(p.expires_at <= clock_timestamp(), false)
$$;

-- Ports with what one must know to tell their relays.  stopped: no wrapper, so
-- no relay either.  listens: its wrapper takes messages; suspended: when it goes
-- on.  STABLE, so that it becomes part of the statement and finds its indexes.
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

-- The relay has carried out the change of this number, or there is none.  False:
-- the row says something newer by now.
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

-- Whether a start has relays to look after.  VOLATILE and in PL/pgSQL: it sees
-- what was committed while the statement that calls it waited for its locks.
CREATE OR REPLACE FUNCTION session_has_ports(p_session text)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM port WHERE session_id = p_session);
END $$;
