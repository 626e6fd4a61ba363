-- What a create asked for, so that one that finds the session can be compared.

-- made_with: hashes of files and setup, and the id of the snapshot, of what can
-- be given only once; NULL: made before this was written down.
-- snapshot_fallback: without its snapshot's files it begins with none.
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
