-- Which directory of files belongs to which host, and snapshots whose files are
-- gone.

-- The text of storage/.id on that host.  NULL: no program has read it yet.
ALTER TABLE host ADD COLUMN storage_id text CHECK (length(storage_id) BETWEEN 1 AND 64);
CREATE UNIQUE INDEX host_storage ON host (storage_id) WHERE storage_id IS NOT NULL;

ALTER TABLE snapshot DROP CONSTRAINT snapshot_state_check;
ALTER TABLE snapshot ADD CONSTRAINT snapshot_state_check
    CHECK (state IN ('creating', 'ready', 'failed', 'lost', 'deleting'));

-- The operator's list of all sessions, newest first.
CREATE INDEX session_by_age ON session (created_at DESC, id DESC);
