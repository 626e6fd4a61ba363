-- The warm pool: sandboxes that were started before anyone asked for them.
--
-- A member is a session's sandbox and wrapper without the session.  All its ids were
-- chosen in advance, with generation 1, so that after a create has claimed it every
-- fence sees the ids that it always sees.  Members belong to no tenant.
CREATE TABLE warm (
    session_id    text        PRIMARY KEY, -- of the session that will claim it
    sandbox_id    text        NOT NULL UNIQUE,
    incarnation   text        NOT NULL,
    instance      text        NOT NULL,
    host          text        NOT NULL,
    boot_id       text        NOT NULL,
    class         text        NOT NULL,
    shape         text        NOT NULL,    -- warm_shape(): a change of the class retires it
    state         text        NOT NULL DEFAULT 'preparing'
                  CHECK (state IN ('preparing', 'ready', 'retiring')),
    deadline      timestamptz,             -- of what is under way
    agent_version text        NOT NULL DEFAULT '',
    changed_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX warm_ready ON warm (host, shape) WHERE state = 'ready';

-- Counters that no transaction waits for.
CREATE SEQUENCE warm_hits MINVALUE 0 START 0;
CREATE SEQUENCE warm_misses MINVALUE 0 START 0;
SELECT nextval('warm_hits'), nextval('warm_misses'); -- both read 0 now

-- Made up by the create that claimed a member: its wrapper obeys this claim alone.
ALTER TABLE session ADD COLUMN adoption text;
