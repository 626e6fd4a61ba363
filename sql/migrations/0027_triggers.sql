-- Triggers: executions at times of a schedule.

-- org, user_id, bot and key_id: of the key that gave `run`; executions are made in their name.
-- sets: the schedule as src/domain/schedule.h reads it.  next_at NULL: never.
CREATE TABLE org_trigger (
    id               text        PRIMARY KEY CHECK (id ~ '^[a-z0-9]{20}$'),
    tenant           text        NOT NULL REFERENCES org,
    org              text        NOT NULL,
    user_id          text        NOT NULL,
    bot              text        NOT NULL,
    key_id           text        NOT NULL REFERENCES api_key,
    name             text        NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
    schedule         text        NOT NULL,
    sets             jsonb       NOT NULL,
    time_zone        text        NOT NULL,
    run_sealed       text        NOT NULL,
    agent_type       text        NOT NULL,               -- of the run, for people, as the next two
    command          text        NOT NULL,
    correlation_keys jsonb       NOT NULL,
    enabled          boolean     NOT NULL,
    next_at          timestamptz,
    last_at          timestamptz,                        -- the due time of last_execution
    last_execution   text,
    last_error       text,
    missed           bigint      NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT org_trigger_name UNIQUE (tenant, name)
);
CREATE INDEX org_trigger_due ON org_trigger (next_at, id) WHERE next_at IS NOT NULL;

-- keys_told: the correlation keys that a command inside has asked for, as the wrapper told
-- them last.
ALTER TABLE session ADD COLUMN keys_told jsonb;
