-- The fields of a create, to compare them with a later create that finds the session.

-- made_with: of the fields that can be given only once: hashes of files and setup, and
-- the id of the snapshot; NULL: the session is older than this column.
-- snapshot_fallback: if the snapshot's files are gone, the session begins without files.
ALTER TABLE session
    ADD COLUMN made_with         jsonb,
    ADD COLUMN snapshot_fallback boolean NOT NULL DEFAULT false;

-- A failed session whose files are removed holds no disk any more.
DROP TRIGGER session_quota_settle ON session;
CREATE CONSTRAINT TRIGGER session_quota_settle
    AFTER INSERT OR DELETE OR UPDATE OF state, sandbox_id, suspended_at, files_dropped_at
    ON session
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION quota_settle();
