-- For the reaper: an audit log, leases that name their sandbox even without their
-- session's row, figures of a pass as columns, and indexes by which the cost of a
-- pass follows the rows that are due, not all rows.

CREATE TABLE audit (
    id       bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind     text        NOT NULL,
    severity text        NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
    tenant   text,
    subject  text,
    trace_id text,
    detail   jsonb       NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_by_tenant ON audit (tenant, id);

-- The sandbox of the wrapper, which must be known also when the session's row is gone.
ALTER TABLE lease ADD COLUMN sandbox_id text;
UPDATE lease l SET sandbox_id = s.sandbox_id FROM session s WHERE s.id = l.session_id;
-- When a pass should next ask its wrapper whether it is stuck.
ALTER TABLE lease ADD COLUMN ask_at timestamptz NOT NULL DEFAULT '-infinity';
CREATE INDEX lease_by_sandbox ON lease (sandbox_id) WHERE state <> 'none';
CREATE INDEX lease_ask ON lease (ask_at) WHERE state = 'owns_wrapper';

ALTER TABLE session
    ADD COLUMN initializing_since timestamptz NOT NULL DEFAULT clock_timestamp(),
    ADD COLUMN cpu_ms             bigint,       -- of what ran when a pass last saw it move
    ADD COLUMN cpu_at             timestamptz,
    ADD COLUMN files_dropped_at   timestamptz;  -- a failed one keeps them for a day
CREATE INDEX session_running ON session (started_at)
    WHERE state = 'ready' AND NOT keep_alive;
CREATE INDEX session_over ON session (ended_at)
    WHERE state IN ('failed', 'lost', 'deleted');
CREATE INDEX session_starting ON session (initializing_since) WHERE state = 'initializing';

-- Of all sessions: a sandbox may be forgotten only when no deleted one names it either.
DROP INDEX session_by_sandbox;
CREATE INDEX session_by_sandbox ON session (sandbox_id);

CREATE INDEX sandbox_by_host ON sandbox (host) WHERE state IN ('creating', 'running');
CREATE INDEX sandbox_ending ON sandbox (deadline) WHERE state = 'destroying';

CREATE INDEX idempotency_by_age ON idempotency (created_at);
CREATE INDEX login_by_age ON login (expires_at);
CREATE INDEX port_by_age ON port (expires_at) WHERE expires_at IS NOT NULL;

-- Sightings of other things, too, that a host has and no row explains.  sandbox_id is
-- "sandbox:<id>" or something of a session: "storage:", "cell:", "socket:".
ALTER TABLE sighting ADD COLUMN last_at timestamptz NOT NULL DEFAULT clock_timestamp();

ALTER TABLE reaper_run
    ADD COLUMN scanned  bigint NOT NULL DEFAULT 0,
    ADD COLUMN stopped  bigint NOT NULL DEFAULT 0,
    ADD COLUMN orphans  bigint NOT NULL DEFAULT 0,
    ADD COLUMN stuck    bigint NOT NULL DEFAULT 0,
    ADD COLUMN old      bigint NOT NULL DEFAULT 0,
    ADD COLUMN failures bigint NOT NULL DEFAULT 0;
