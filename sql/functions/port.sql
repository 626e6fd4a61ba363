-- Whether a port may be reached.  In PL/pgSQL so that it costs those nothing who
-- do not ask: it is not planned into auth_session, as SQL would be.
CREATE OR REPLACE FUNCTION port_exposed(p_session text, p_port integer)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM port
                    WHERE session_id = p_session AND port = p_port
                      AND (expires_at IS NULL OR expires_at > clock_timestamp()));
END $$;
