-- Executions: limited runs in sessions.

-- concurrency: how many executions of the session run at once.
ALTER TABLE session
    ADD COLUMN concurrency integer NOT NULL DEFAULT 1 CHECK (concurrency BETWEEN 1 AND 16);

-- No foreign key to session: the result outlives it.
-- attempt: the number of the last attempt; 0: none yet.  generation: the generation of the
-- session's lease that has the attempt; NULL: none has.
CREATE TABLE execution (
    id          text        PRIMARY KEY CHECK (id ~ '^[a-z0-9]{20}$'),
    tenant      text        NOT NULL REFERENCES org,
    user_id     text        NOT NULL,
    session_id  text        NOT NULL,
    agent_type  text,
    task_id     text        CHECK (length(task_id) BETWEEN 1 AND 255),
    hash        text        NOT NULL,               -- of the request, for task_id
    work_sealed text,                               -- command, env, ...; NULL after the end
    command     text        NOT NULL,               -- its beginning, for people
    limits      jsonb       NOT NULL,
    limits_by   jsonb,                              -- the mechanism of each
    cleanup     text        NOT NULL DEFAULT 'keep' CHECK (cleanup IN ('keep', 'on_completion')),
    state       text        NOT NULL DEFAULT 'queued'
                CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'timed_out',
                                 'cpu_exceeded', 'memory_exceeded', 'disk_exceeded',
                                 'network_exceeded', 'cancelled', 'lost')),
    reason      text,
    attempt     integer     NOT NULL DEFAULT 0,
    generation  bigint,
    attempts    jsonb       NOT NULL DEFAULT '[]',  -- those that are over
    max_retries integer     NOT NULL DEFAULT 3 CHECK (max_retries BETWEEN 0 AND 10),
    due_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    cancel_at   timestamptz,
    exit_code   integer,
    signal      integer,
    stderr_tail text,
    usage       jsonb       NOT NULL DEFAULT '{}',
    trace_id    text,
    actor       text,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    given_at    timestamptz,                        -- when the attempt was given to a wrapper
    started_at  timestamptz,                        -- of the attempt
    ended_at    timestamptz
);
CREATE UNIQUE INDEX execution_task ON execution (tenant, task_id) WHERE task_id IS NOT NULL;
CREATE INDEX execution_by_tenant ON execution (tenant, created_at DESC, id DESC);
CREATE INDEX execution_by_session ON execution (session_id, created_at, id);
CREATE INDEX execution_unsettled ON execution (session_id) WHERE state IN ('queued', 'running');
CREATE INDEX execution_ended ON execution (ended_at) WHERE ended_at IS NOT NULL;

-- The state machine, carried out by execution_apply(); a trigger refuses any other change.
-- event 'end' leads to each state that an attempt can end in.
CREATE TABLE execution_transition (
    from_state text NOT NULL,
    event      text NOT NULL,
    to_state   text NOT NULL,
    PRIMARY KEY (from_state, event, to_state)
);
INSERT INTO execution_transition (from_state, event, to_state)
VALUES ('queued',  'begin',  'running'),
       ('queued',  'cancel', 'cancelled'),
       ('queued',  'lose',   'lost'),
       ('running', 'lose',   'lost'),
       ('running', 'retry',  'queued');
INSERT INTO execution_transition (from_state, event, to_state)
SELECT f, 'end', t
  FROM unnest('{queued,running}'::text[]) f,
       unnest('{succeeded,failed,timed_out,cpu_exceeded,memory_exceeded,disk_exceeded,network_exceeded,cancelled}'::text[]) t;
