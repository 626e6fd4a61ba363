-- Limits on the rows and the memory of a tenant, and the first call of a generation.

-- The last generation of which delivery_accepted was written: once for each.
-- Wrappers that run already have had their first call, at a time that was not recorded.
ALTER TABLE lease ADD COLUMN accepted_generation bigint NOT NULL DEFAULT 0;
UPDATE lease SET accepted_generation = generation WHERE state = 'owns_wrapper';
UPDATE lease_transition SET effects = '{no_startup,no_warm,accepted}'
 WHERE event = 'delivery_accepted';

-- Creates that found a session: of this minute, and of the one before it.
ALTER TABLE quota
    ADD COLUMN minute_finds bigint NOT NULL DEFAULT 0,
    ADD COLUMN last_finds   bigint NOT NULL DEFAULT 0;

-- A frozen session keeps its memory, so it is active (functions/quota.sql); its
-- end may change no state.
DROP TRIGGER session_quota_settle ON session;
CREATE CONSTRAINT TRIGGER session_quota_settle
    AFTER INSERT OR DELETE OR UPDATE OF state, sandbox_id, suspended_at ON session
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION quota_settle();
UPDATE quota q SET active = q.active + s.frozen
  FROM (SELECT tenant, count(*) AS frozen FROM session
         WHERE state = 'asleep' AND suspended_at IS NOT NULL
         GROUP BY tenant) s
 WHERE q.tenant = s.tenant;

-- The reaper forgets the oldest of a tenant that has too many.
CREATE INDEX idempotency_by_tenant ON idempotency (tenant, created_at DESC);
CREATE INDEX session_deleted ON session (tenant, ended_at DESC) WHERE state = 'deleted';
