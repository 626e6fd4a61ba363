-- Correlation keys: other names of a session, each of one living session at most.
-- A function that looks a key up to act on it, or gives it to a session, holds the
-- key's lock.  A row whose session is being deleted is ignored.

-- Locks keys until the transaction ends, in one order, so that two cannot deadlock.
CREATE OR REPLACE FUNCTION keys_lock(p_tenant text, p_keys text[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    h bigint;
BEGIN
    FOR h IN SELECT DISTINCT hashtextextended(p_tenant || '/' || k, 3) AS x
               FROM unnest(p_keys) k ORDER BY x LOOP
        PERFORM pg_advisory_xact_lock(h);
    END LOOP;
END $$;

-- The one living session that these keys, and p_also (a session that was found
-- otherwise, or NULL), name; NULL: none.  SX415 if they name several.
CREATE OR REPLACE FUNCTION keys_find(p_tenant text, p_keys text[], p_also text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    ids text[];
BEGIN
    PERFORM keys_lock(p_tenant, p_keys);
    ids := ARRAY(
        SELECT a.session_id FROM alias a JOIN session s ON s.id = a.session_id
         WHERE a.tenant = p_tenant AND a.key = ANY (p_keys)
           AND s.state NOT IN ('deleting', 'deleted')
        UNION SELECT p_also WHERE p_also IS NOT NULL
        ORDER BY 1);
    IF cardinality(ids) > 1 THEN
        RAISE SQLSTATE 'SX415' USING
            MESSAGE = 'these keys name different sessions: ' || array_to_string(ids, ', '),
            DETAIL = jsonb_build_object('sessions', to_jsonb(ids));
    END IF;
    RETURN ids[1];
END $$;

-- Gives keys to a session; the caller has locked them and seen that they are free.
CREATE OR REPLACE FUNCTION keys_attach(p_tenant text, p_keys text[], p_session text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- the order of locks of a deletion: session, its keys' rows
    PERFORM FROM session WHERE id = p_session FOR KEY SHARE;
    INSERT INTO alias AS a (tenant, key, session_id)
    SELECT DISTINCT p_tenant, k, p_session FROM unnest(p_keys) k
        ON CONFLICT (tenant, key) DO UPDATE
       SET session_id = excluded.session_id, created_at = clock_timestamp()
     WHERE a.session_id <> excluded.session_id;
    IF (SELECT count(*) FROM alias WHERE session_id = p_session) > 64 THEN
        RAISE SQLSTATE 'SX416' USING MESSAGE = 'a session may have at most 64 correlation keys';
    END IF;
END $$;

-- Sets all keys of a session; an empty list frees them.  NULL p_keys and a
-- p_key: frees that one, and false when it has no such key.
CREATE OR REPLACE FUNCTION session_set_keys(p_session text, p_tenant text, p_keys text[],
    p_key text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    has   text[] := ARRAY(SELECT key FROM alias WHERE session_id = p_session);
    state text;
    other text;
BEGIN
    PERFORM keys_lock(p_tenant, has || coalesce(p_keys, ARRAY[p_key]));
    -- shared: a deletion waits for this transaction and then frees these keys, too
    SELECT s.state INTO state FROM session s
     WHERE s.id = p_session AND s.tenant = p_tenant FOR SHARE;
    IF NOT FOUND THEN
        RAISE SQLSTATE 'SX404' USING MESSAGE = 'there is no such session';
    END IF;
    PERFORM session_must_live(state);
    IF p_keys IS NULL THEN
        DELETE FROM alias WHERE session_id = p_session AND key = p_key;
        RETURN FOUND;
    END IF;
    DELETE FROM alias WHERE session_id = p_session AND key <> ALL (p_keys);
    other := keys_find(p_tenant, p_keys, p_session); -- raises if not this one alone
    PERFORM keys_attach(p_tenant, p_keys, other);
    RETURN true;
END $$;

-- Gives a session one key that it has asked for itself, or says why not; NULL: it has it
-- already.  The key and the session's row are locked.
CREATE OR REPLACE FUNCTION keys_take_one(s session, p_key text)
RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_owner text;
BEGIN
    SELECT a.session_id INTO v_owner FROM alias a JOIN session o ON o.id = a.session_id
     WHERE a.tenant = s.tenant AND a.key = p_key AND o.state NOT IN ('deleting', 'deleted');
    IF v_owner = s.id THEN
        RETURN NULL;
    ELSIF v_owner IS NOT NULL THEN
        RETURN jsonb_build_object('what', 'refused', 'why', 'another session has it: ' || v_owner);
    ELSIF (SELECT count(*) FROM alias WHERE session_id = s.id) >= 64 THEN
        RETURN jsonb_build_object('what', 'refused',
            'why', 'a session may have at most 64 correlation keys');
    END IF;
    PERFORM keys_attach(s.tenant, ARRAY[p_key], s.id);
    RETURN '{"what": "given"}';
END $$;

-- Gives a session the keys that commands inside have asked for, as its wrapper tells
-- them: each is looked at once, so that one that a client frees later stays free.
CREATE OR REPLACE FUNCTION keys_take(p_session text, p_keys jsonb, p_trace text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    s      session%ROWTYPE;
    v_keys text[];
BEGIN
    SELECT * INTO s FROM session WHERE id = p_session;
    IF NOT FOUND OR s.keys_told = p_keys THEN
        RETURN;
    END IF;
    PERFORM keys_lock(s.tenant, ARRAY(SELECT jsonb_array_elements_text(p_keys)));
    -- as execution_lock() does: a lock that is made stronger later may be a deadlock
    SELECT * INTO s FROM session WHERE id = p_session FOR UPDATE;
    IF NOT FOUND OR s.state IN ('deleting', 'deleted') THEN
        RETURN;
    END IF;
    PERFORM FROM lease WHERE session_id = p_session FOR UPDATE;
    v_keys := ARRAY(SELECT k FROM jsonb_array_elements_text(p_keys) k
                     WHERE NOT coalesce(s.keys_told, '[]') ? k LIMIT 16);
    UPDATE session SET keys_told = p_keys WHERE id = p_session;
    INSERT INTO event (session_id, kind, what, actor, reason, trace_id, detail)
    SELECT p_session, 'key', r->>'what', 'session', r->>'why', p_trace, jsonb_build_object('key', k)
      FROM unnest(v_keys) WITH ORDINALITY o (k, i), LATERAL keys_take_one(s, k) r
     WHERE r IS NOT NULL
     ORDER BY i;
END $$;
