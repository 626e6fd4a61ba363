-- Ports are intent, act and outcome: a row says what its relay has not confirmed
-- yet.  And connections that a revoked key may have opened.

-- Numbers of changes, which a relay compares (src/agent/relay/).  They grow by two: a
-- change that opens a port anew first ends its connections with the number below.
CREATE SEQUENCE port_order START WITH 2 INCREMENT BY 2;

-- cut: connections that are open must end.  tried_at: when the reaper last told
-- the relay in vain.
ALTER TABLE port
    ADD COLUMN change_order bigint NOT NULL DEFAULT nextval('port_order'),
    ADD COLUMN pending boolean NOT NULL DEFAULT true,
    ADD COLUMN cut boolean NOT NULL DEFAULT false,
    ADD COLUMN closing_at timestamptz,
    ADD COLUMN tried_at timestamptz;
UPDATE port SET pending = false; -- older programs wrote a row only after its relay had confirmed
CREATE INDEX port_pending ON port (tried_at NULLS FIRST) WHERE pending;

-- Since when the session's WebSockets must be closed, because a key of its tenant was
-- revoked.
ALTER TABLE session ADD COLUMN bounce_at timestamptz;
CREATE INDEX session_bounce ON session (bounce_at) WHERE bounce_at IS NOT NULL;
