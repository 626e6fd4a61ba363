-- Keys: what a revocation ends.

-- Requests the end of all WebSockets and port connections of a tenant's sessions.
-- The service does not know which key opened which of them, so all end, and
-- clients with another key connect again.  Wrappers close them when they are told;
-- until then these rows hold the request.  (Event streams carry the id of their key;
-- the pool `stream` ends exactly those.)  Answers the number of sessions.
CREATE OR REPLACE FUNCTION tenant_cut(p_tenant text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_ids text[];
BEGIN
    v_ids := ARRAY(SELECT s.id FROM session s JOIN lease l ON l.session_id = s.id
                    WHERE s.tenant = p_tenant AND l.state <> 'none'
                    ORDER BY s.id
                      FOR NO KEY UPDATE OF s);
    UPDATE session SET bounce_at = clock_timestamp() WHERE id = ANY (v_ids);
    UPDATE port
       SET change_order = nextval('port_order'), pending = true, cut = true, tried_at = NULL
     WHERE session_id = ANY (v_ids) AND closing_at IS NULL;
    RETURN cardinality(v_ids);
END $$;

-- Answers the tenant; NULL: there is no such key.
CREATE OR REPLACE FUNCTION key_revoke(p_key text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    k api_key%ROWTYPE;
BEGIN
    UPDATE api_key SET revoked_at = coalesce(revoked_at, clock_timestamp())
     WHERE id = p_key
    RETURNING * INTO k;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    PERFORM audit_add('key_revoked', 'info', k.tenant, k.id,
        jsonb_build_object('by', event_actor(), 'user', k.user_id));
    PERFORM tenant_cut(k.tenant);
    RETURN k.tenant;
END $$;

-- Keeps a key's newest 1,000 logins.
CREATE OR REPLACE FUNCTION login_bound()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM login
     WHERE hash = ANY (ARRAY(SELECT hash FROM login WHERE key_id = NEW.key_id
                              ORDER BY expires_at DESC
                             OFFSET 1000));
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER login_bounded
    AFTER INSERT ON login
    FOR EACH ROW EXECUTE FUNCTION login_bound();
