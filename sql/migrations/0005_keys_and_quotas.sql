-- Correlation keys, by which a session can be found, and quotas of an org.

-- A key that leads to a session.  A row whose session is being deleted is ignored, and
-- the next session that asks for the key takes it over.
CREATE TABLE alias (
    tenant     text        NOT NULL,
    key        text        NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    session_id text        NOT NULL REFERENCES session ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, key)
);
CREATE INDEX alias_by_session ON alias (session_id, key);

-- Limits (NULL: the service's own; 0: none) and use of a tenant, apart from its
-- org row, which every new session locks by its foreign key.  A row comes into
-- being, counted, with the first change; see functions/quota.sql.
CREATE TABLE quota (
    tenant             text        PRIMARY KEY REFERENCES org,
    max_sessions       bigint      CHECK (max_sessions >= 0),
    max_active         bigint      CHECK (max_active >= 0),
    creates_per_minute bigint      CHECK (creates_per_minute >= 0),
    max_previews       bigint      CHECK (max_previews >= 0),
    max_disk_mb        bigint      CHECK (max_disk_mb >= 0),
    sessions           bigint      NOT NULL DEFAULT 0, -- not deleted
    active             bigint      NOT NULL DEFAULT 0, -- initializing, ready, sleeping
    previews           bigint      NOT NULL DEFAULT 0, -- rows of port
    disk_mb            bigint      NOT NULL DEFAULT 0, -- reserved; sum of sandbox.quota_disk_mb
    minute_at          timestamptz NOT NULL DEFAULT '-infinity', -- this minute's begin
    minute_creates     bigint      NOT NULL DEFAULT 0,
    last_creates       bigint      NOT NULL DEFAULT 0  -- of the minute before it
) WITH (fillfactor = 20); -- a row changes often; with room in its page no index changes

-- The change of a tenant's use in one transaction.
CREATE TYPE quota_change AS (
    tenant text, sessions bigint, active bigint, creates bigint, previews bigint, disk_mb bigint
);

-- The part of its tenant's disk that a sandbox has reserved, while a session's storage
-- is in it.
ALTER TABLE sandbox ADD COLUMN quota_disk_mb bigint NOT NULL DEFAULT 0;

-- functions/quota.sql replaces these empty functions.  They stand here because a
-- constraint trigger cannot be replaced together with its function.
CREATE FUNCTION quota_settle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER session_quota_settle
    AFTER INSERT OR DELETE OR UPDATE OF state, sandbox_id ON session
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION quota_settle();
CREATE CONSTRAINT TRIGGER port_quota_settle
    AFTER INSERT OR DELETE ON port
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION quota_settle();
