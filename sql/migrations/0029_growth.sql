-- Lists, counts and passes whose cost does not follow the number of all rows.

-- Lists and counts of a tenant go by state: rows of deleted sessions, of which there are
-- most, are not read to find the others.
CREATE INDEX session_by_state ON session (tenant, state, created_at DESC, id DESC);
DROP INDEX session_by_tenant;
CREATE INDEX session_suspended ON session (tenant)
    WHERE state = 'asleep' AND suspended_at IS NOT NULL;
DROP INDEX session_deleted;
CREATE INDEX session_deleted ON session (tenant, ended_at DESC) INCLUDE (id)
    WHERE state = 'deleted';
CREATE INDEX session_failed ON session (ended_at) WHERE state IN ('failed', 'lost');
CREATE INDEX session_failed_files ON session (ended_at)
    WHERE state = 'failed' AND files_dropped_at IS NULL;

-- Sandboxes with a reservation of a host's disk.
CREATE INDEX sandbox_by_disk ON sandbox (disk_host) WHERE disk_mb > 0;
-- A key has at most 1,000 logins (functions/key.sql).
CREATE INDEX login_by_key ON login (key_id, expires_at DESC);
CREATE INDEX api_key_by_tenant ON api_key (tenant);
CREATE INDEX snapshot_by_age ON snapshot (created_at) WHERE state IN ('ready', 'lost');

-- functions/session_labels.sql and functions/reaper.sql replace the functions below.  They
-- stand here because no change may be missed between the migration and the functions.

-- The labels of sessions, as hashes, to find the newest session with one.
CREATE TABLE session_label (
    session_id text        NOT NULL REFERENCES session ON DELETE CASCADE,
    hash       bigint      NOT NULL,            -- of key and value: label_hash()
    tenant     text        NOT NULL,
    deleted    boolean     NOT NULL,            -- the session is
    created_at timestamptz NOT NULL,            -- the session was
    PRIMARY KEY (session_id, hash)
);
CREATE INDEX session_label_newest
    ON session_label (tenant, hash, deleted, created_at DESC, session_id DESC);
CREATE FUNCTION label_hash(p_key text, p_value text)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT hashtextextended(p_key || ':' || p_value, 0)
$$;
CREATE FUNCTION session_label_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM session_label WHERE session_id = NEW.id AND TG_OP = 'UPDATE';
    INSERT INTO session_label (session_id, hash, tenant, deleted, created_at)
    SELECT DISTINCT NEW.id, label_hash(t.key, t.value), NEW.tenant, NEW.state = 'deleted',
           NEW.created_at
      FROM jsonb_each_text(NEW.labels) t
     WHERE t.value IS NOT NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER session_labelled
    AFTER INSERT ON session
    FOR EACH ROW WHEN (NEW.labels <> '{}') EXECUTE FUNCTION session_label_write();
CREATE TRIGGER session_label_changed
    AFTER UPDATE OF labels, state ON session
    FOR EACH ROW WHEN (NEW.labels <> OLD.labels
        OR NEW.labels <> '{}' AND (NEW.state = 'deleted') <> (OLD.state = 'deleted'))
    EXECUTE FUNCTION session_label_write();
INSERT INTO session_label (session_id, hash, tenant, deleted, created_at)
SELECT DISTINCT s.id, label_hash(t.key, t.value), s.tenant, s.state = 'deleted', s.created_at
  FROM session s CROSS JOIN LATERAL jsonb_each_text(s.labels) t
 WHERE t.value IS NOT NULL;

-- Leases that are not released and whose session's row is gone.
ALTER TABLE lease ADD COLUMN session_gone boolean NOT NULL DEFAULT false;
CREATE INDEX lease_lost ON lease (changed_at) WHERE session_gone AND state <> 'none';
-- Sandboxes of one session whose row is gone, and since when.
CREATE TABLE sandbox_unused (
    sandbox_id text        PRIMARY KEY,
    since      timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX sandbox_unused_by_age ON sandbox_unused (since);
CREATE FUNCTION session_row_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE lease SET session_gone = true WHERE session_id = OLD.id AND state <> 'none';
    IF OLD.sandbox_id LIKE 'ses-%' THEN
        INSERT INTO sandbox_unused (sandbox_id) VALUES (OLD.sandbox_id) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER session_row_gone
    AFTER DELETE ON session
    FOR EACH ROW EXECUTE FUNCTION session_row_gone();
UPDATE lease l SET session_gone = true
 WHERE l.state <> 'none' AND NOT EXISTS (SELECT FROM session s WHERE s.id = l.session_id);
INSERT INTO sandbox_unused (sandbox_id, since)
SELECT b.id, b.changed_at FROM sandbox b
 WHERE b.id LIKE 'ses-%' AND NOT EXISTS (SELECT FROM session s WHERE s.sandbox_id = b.id);

-- The counters of quotas are also what the service's active sessions are counted by: a
-- tenant that has had no change since there are quotas gets its row.
INSERT INTO quota (tenant, sessions, active, previews, disk_mb)
SELECT o.id, (SELECT count(*) FROM session s WHERE s.tenant = o.id AND s.state <> 'deleted'),
       (SELECT count(*) FROM session s WHERE s.tenant = o.id
          AND (s.state IN ('initializing', 'ready', 'sleeping')
               OR s.state = 'asleep' AND s.suspended_at IS NOT NULL)),
       (SELECT count(*) FROM port p JOIN session s ON s.id = p.session_id WHERE s.tenant = o.id),
       (SELECT coalesce(sum(b.quota_disk_mb), 0) FROM sandbox b WHERE b.tenant = o.id)
  FROM org o
 WHERE NOT EXISTS (SELECT FROM quota q WHERE q.tenant = o.id)
   AND EXISTS (SELECT FROM session s WHERE s.tenant = o.id)
ON CONFLICT DO NOTHING;
