-- Triggers that tell, on the channel sandlease_auth, of every change that takes away a
-- right which a worker of the pool `auth` may have kept (src/api/gate/auth_cache.h), in the
-- transaction of that change.  Each column that the statements auth_session and
-- auth_preview read is one of these, or never changes, or is a date that came with the
-- answer (keep_ms).
--
-- A right is kept only of a session that is ready, whose lease owns a wrapper and whose
-- sandbox this host has.  So a trigger looks at the row as it was, and a session that
-- starts tells nothing: commits with a notification wait for each other, and a create
-- must not.

CREATE OR REPLACE FUNCTION auth_ended_by_id()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('sandlease_auth', OLD.id);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION auth_ended_by_session()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('sandlease_auth', OLD.session_id);
    RETURN NULL;
END $$;

-- A worker does not know a key's id before it asks, but its hash.
CREATE OR REPLACE FUNCTION auth_ended_by_key()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('sandlease_auth', left(OLD.hash, 16));
    RETURN NULL;
END $$;

-- Sessions that are ready, or will be without another lock of the sandbox's row.
CREATE OR REPLACE FUNCTION auth_ended_by_sandbox()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('sandlease_auth', s.id) FROM session s
      WHERE s.sandbox_id = OLD.id AND s.state IN ('initializing', 'ready');
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER auth_session_changed
    AFTER UPDATE ON session
    FOR EACH ROW WHEN (OLD.state = 'ready'
        AND (NEW.state <> 'ready'
             OR NEW.reason IS DISTINCT FROM OLD.reason -- disk_low: it is frozen
             OR NEW.name IS DISTINCT FROM OLD.name     -- its app is told
             OR NEW.sandbox_id IS DISTINCT FROM OLD.sandbox_id
             OR NEW.tenant <> OLD.tenant OR NEW.id <> OLD.id
             -- activity has to be written sooner
             OR NEW.sleep_after_seconds < OLD.sleep_after_seconds
             OR OLD.keep_alive AND NOT NEW.keep_alive
             OR coalesce(NEW.last_activity_at, '-infinity') < OLD.last_activity_at))
    EXECUTE FUNCTION auth_ended_by_id();
CREATE OR REPLACE TRIGGER auth_session_deleted
    AFTER DELETE ON session
    FOR EACH ROW WHEN (OLD.state = 'ready')
    EXECUTE FUNCTION auth_ended_by_id();

CREATE OR REPLACE TRIGGER auth_lease_changed
    AFTER UPDATE ON lease
    FOR EACH ROW WHEN (OLD.state = 'owns_wrapper'
        AND (NEW.state <> 'owns_wrapper' OR NEW.generation <> OLD.generation
             OR NEW.session_id <> OLD.session_id
             -- activity has to be written sooner
             OR NEW.keep_warm_until < OLD.keep_warm_until
             OR OLD.startup_deadline IS NULL AND NEW.startup_deadline IS NOT NULL))
    EXECUTE FUNCTION auth_ended_by_session();
CREATE OR REPLACE TRIGGER auth_lease_deleted
    AFTER DELETE ON lease
    FOR EACH ROW WHEN (OLD.state = 'owns_wrapper')
    EXECUTE FUNCTION auth_ended_by_session();

CREATE OR REPLACE TRIGGER auth_port_changed
    AFTER UPDATE ON port
    FOR EACH ROW WHEN (OLD.closing_at IS NULL
        AND (NEW.closing_at IS NOT NULL OR NEW.token_hash <> OLD.token_hash
             OR NEW.host <> OLD.host -- its app is told
             OR NEW.expires_at IS DISTINCT FROM OLD.expires_at
             OR NEW.session_id <> OLD.session_id OR NEW.port <> OLD.port))
    EXECUTE FUNCTION auth_ended_by_session();
CREATE OR REPLACE TRIGGER auth_port_deleted
    AFTER DELETE ON port
    FOR EACH ROW WHEN (OLD.closing_at IS NULL)
    EXECUTE FUNCTION auth_ended_by_session();

CREATE OR REPLACE TRIGGER auth_key_changed
    AFTER UPDATE ON api_key
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*)
    EXECUTE FUNCTION auth_ended_by_key();
CREATE OR REPLACE TRIGGER auth_key_deleted
    AFTER DELETE ON api_key
    FOR EACH ROW EXECUTE FUNCTION auth_ended_by_key();

-- From `absent` another host may start it, so the right ends when it becomes absent.
CREATE OR REPLACE TRIGGER auth_sandbox_changed
    AFTER UPDATE ON sandbox
    FOR EACH ROW WHEN (OLD.state <> 'absent'
        AND (NEW.state = 'absent' OR NEW.host <> OLD.host OR NEW.id <> OLD.id))
    EXECUTE FUNCTION auth_ended_by_sandbox();
