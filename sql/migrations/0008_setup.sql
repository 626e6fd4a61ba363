-- A command that is run once in a new session before it is ready.
ALTER TABLE session
    ADD COLUMN setup_sealed  text,    -- the command; NULL once it has succeeded
    ADD COLUMN setup_seconds bigint   CHECK (setup_seconds > 0), -- its limit; NULL: there is no setup
    ADD COLUMN setup_offset  bigint   NOT NULL DEFAULT 0, -- so much of its output is in events
    ADD COLUMN setup_exit    integer, -- how it ended; NULL: it has not, or is to be run again
    ADD COLUMN setup_output  text;    -- the end of the output of one that failed

CREATE INDEX session_setting_up ON session (initializing_since)
    WHERE state = 'initializing' AND setup_sealed IS NOT NULL;
