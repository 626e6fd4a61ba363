-- Files of a session that are kept on their own, and new sessions made of them.

-- A snapshot outlives its session, and its id is a directory on its host: the row is
-- written before the files and deleted after them.
CREATE TABLE snapshot (
    id         text        PRIMARY KEY,
    tenant     text        NOT NULL REFERENCES org,
    session_id text        NOT NULL, -- where it was taken; that may be gone
    name       text        CHECK (length(name) BETWEEN 1 AND 128),
    state      text        NOT NULL DEFAULT 'creating'
                           CHECK (state IN ('creating', 'ready', 'failed', 'deleting')),
    size_bytes bigint      NOT NULL CHECK (size_bytes >= 0), -- while creating: reserved
    files      bigint,
    error      text,
    host       text        NOT NULL,
    actor      text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deadline   timestamptz NOT NULL -- of one that is being created
);
CREATE INDEX snapshot_by_tenant ON snapshot (tenant, created_at DESC, id DESC);
CREATE INDEX snapshot_by_session ON snapshot (session_id);
CREATE INDEX snapshot_unsettled ON snapshot (changed_at) WHERE state <> 'ready';

-- The snapshot that a session was made from; kept when the snapshot is gone.
ALTER TABLE session ADD COLUMN snapshot_id text;
CREATE INDEX session_by_snapshot ON session (snapshot_id) WHERE snapshot_id IS NOT NULL;

ALTER TABLE quota
    ADD COLUMN max_snapshots   bigint CHECK (max_snapshots >= 0),
    ADD COLUMN max_snapshot_mb bigint CHECK (max_snapshot_mb >= 0);
