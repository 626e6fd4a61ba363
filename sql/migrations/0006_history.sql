-- History: the actor, reason and duration of each event, and the calls that wait for one.

ALTER TABLE event
    ADD COLUMN actor       text,   -- 'key:ID/USER', 'gate:ID/USER', 'reaper', 'admin', ...
    ADD COLUMN reason      text,
    ADD COLUMN duration_ms bigint; -- since the last transition; of a step: its own

ALTER TABLE session
    ADD COLUMN actor    text,      -- of the next change of state; the trigger moves it to the event
    ADD COLUMN state_at timestamptz NOT NULL DEFAULT clock_timestamp();

-- Calls that wait for a session's next event.  Nothing to be kept: a crash
-- ends the calls, too.
CREATE UNLOGGED TABLE event_waiter (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id text        NOT NULL,
    until      timestamptz NOT NULL
);
CREATE INDEX event_waiter_by_session ON event_waiter (session_id);

-- Refusals are counted by the minute, so that a flood of them stays small.
ALTER TABLE audit ADD COLUMN minute timestamptz;
CREATE UNIQUE INDEX audit_one_a_minute
    ON audit (minute, kind, coalesce(tenant, ''), coalesce(subject, ''))
    WHERE minute IS NOT NULL;
