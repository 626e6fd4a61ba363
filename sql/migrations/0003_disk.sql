-- Disk: what is reserved on each host, and what sessions were seen to use.

-- The counter is changed only where a host has a budget (disk_budget_mb);
-- disk_counted says which sandboxes' reservations it contains.
CREATE TABLE host (
    name             text        PRIMARY KEY,
    disk_reserved_mb bigint      NOT NULL DEFAULT 0 CHECK (disk_reserved_mb >= 0),
    changed_at       timestamptz NOT NULL DEFAULT clock_timestamp()
);

ALTER TABLE sandbox
    ADD COLUMN disk_mb        bigint  NOT NULL DEFAULT 0,     -- reserved; 0: it has no workspace
    ADD COLUMN disk_host      text    NOT NULL DEFAULT '',    -- where
    ADD COLUMN disk_counted   boolean NOT NULL DEFAULT false, -- in that host's counter
    ADD COLUMN probe_failures integer NOT NULL DEFAULT 0,     -- since it last answered
    ADD COLUMN probe_failed_at timestamptz;                   -- the first of them

ALTER TABLE session
    ADD COLUMN disk_used_mb     bigint,      -- as its sandbox's init measured it
    ADD COLUMN disk_measured_at timestamptz,
    ADD COLUMN disk_over_since  timestamptz; -- over its limit

CREATE INDEX session_frozen ON session (sandbox_id) WHERE reason = 'disk_low';

UPDATE sandbox b
   SET disk_mb = c.disk_mb, disk_host = b.host
  FROM class c
 WHERE c.name = b.class
   AND EXISTS (SELECT FROM session s
                WHERE s.sandbox_id = b.id AND s.state NOT IN ('deleted', 'lost'));
