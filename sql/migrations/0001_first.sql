-- The first schema: tenants and keys, sandboxes, sessions and their leases.

CREATE TABLE installation (
    only_one   boolean     PRIMARY KEY DEFAULT true CHECK (only_one),
    id         uuid        NOT NULL DEFAULT gen_random_uuid(), -- labels every physical thing
    draining   boolean     NOT NULL DEFAULT false,             -- no admission; everything sleeps
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO installation DEFAULT VALUES;

-- A tenant: an org, or "user:<id>" for a user without one.
CREATE TABLE org (
    id         text        PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 128),
    isolation  text        NOT NULL DEFAULT 'inherit'
                           CHECK (isolation IN ('session', 'shared', 'inherit')),
    salt       text        NOT NULL DEFAULT '' CHECK (length(salt) <= 64), -- moves shared sandboxes
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE api_key (
    id         text        PRIMARY KEY,
    tenant     text        NOT NULL REFERENCES org,
    org        text        NOT NULL DEFAULT '',  -- '' = a user without an org
    user_id    text        NOT NULL CHECK (length(user_id) BETWEEN 1 AND 128),
    bot        text        NOT NULL DEFAULT '',
    scope      text        NOT NULL CHECK (scope IN ('admin', 'tenant', 'read')),
    hash       text        NOT NULL UNIQUE,      -- BLAKE2b; the key itself is nowhere
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz,
    revoked_at timestamptz
);

-- The dashboard's cookie stands for a key and ends with it.
CREATE TABLE login (
    hash       text        PRIMARY KEY,
    key_id     text        NOT NULL REFERENCES api_key,
    expires_at timestamptz NOT NULL
);

CREATE TABLE class (
    name       text   PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 64),
    provider   text   NOT NULL DEFAULT 'local',
    rootfs     text   NOT NULL DEFAULT '',       -- '' = the host's system directories
    memory_mb  bigint NOT NULL CHECK (memory_mb > 0),
    cpu_millis bigint NOT NULL CHECK (cpu_millis > 0),
    disk_mb    bigint NOT NULL CHECK (disk_mb > 0),
    pids       bigint NOT NULL CHECK (pids > 0),
    network    text   NOT NULL DEFAULT 'none' CHECK (network IN ('none'))
);
INSERT INTO class (name, memory_mb, cpu_millis, disk_mb, pids)
VALUES ('small', 2048, 1000, 4096, 256),
       ('shared', 4096, 2000, 8192, 1024);

-- A sandbox's own lease.  incarnation and epoch fence late effects: each start
-- has a new incarnation, and epoch only ever grows.
CREATE TABLE sandbox (
    id              text        PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 255),
    tenant          text        NOT NULL REFERENCES org,
    class           text        NOT NULL REFERENCES class,
    state           text        NOT NULL DEFAULT 'absent'
                    CHECK (state IN ('absent', 'creating', 'running', 'stopped', 'destroying')),
    incarnation     text        NOT NULL DEFAULT '',
    epoch           bigint      NOT NULL DEFAULT 0,
    host            text        NOT NULL DEFAULT '',
    boot_id         text        NOT NULL DEFAULT '',
    deadline        timestamptz,                 -- of the effect under way
    attempts        integer     NOT NULL DEFAULT 0,
    next_attempt_at timestamptz,
    last_error      text,
    agent_version   text        NOT NULL DEFAULT '',
    idle_since      timestamptz,                 -- no session has work in it since then
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE session (
    id                  text        PRIMARY KEY CHECK (id ~ '^[a-z0-9]{20}$'),
    tenant              text        NOT NULL REFERENCES org,
    org                 text        NOT NULL DEFAULT '',
    user_id             text        NOT NULL,
    bot                 text        NOT NULL DEFAULT '',
    key_id              text        REFERENCES api_key,
    name                text        CHECK (length(name) BETWEEN 1 AND 128),
    state               text        NOT NULL DEFAULT 'initializing'
                        CHECK (state IN ('initializing', 'ready', 'sleeping', 'asleep',
                                         'deleting', 'deleted', 'failed', 'lost')),
    reason              text,
    sandbox_id          text        REFERENCES sandbox, -- NULL: the row predates it; derived once
    isolation           text        NOT NULL CHECK (isolation IN ('session', 'shared')),
    class               text        NOT NULL REFERENCES class,
    agent_type          text,
    labels              jsonb       NOT NULL DEFAULT '{}',
    env_sealed          text,
    files_sealed        text,                    -- to be written by the first start, then NULL
    base_url            text,
    sleep_after_seconds bigint      NOT NULL CHECK (sleep_after_seconds > 0),
    keep_alive          boolean     NOT NULL DEFAULT false,
    wake_on_preview     boolean     NOT NULL DEFAULT false,
    busy                boolean     NOT NULL DEFAULT false, -- as the last pass saw it
    expires_at          timestamptz,
    activity_seq        bigint      NOT NULL DEFAULT 0,
    trace_id            text,
    created_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at          timestamptz,
    last_activity_at    timestamptz,
    ended_at            timestamptz
);
CREATE UNIQUE INDEX session_one_living_name ON session (tenant, name)
    WHERE state NOT IN ('deleting', 'deleted');
CREATE INDEX session_by_tenant ON session (tenant, created_at DESC, id DESC);
CREATE INDEX session_by_sandbox ON session (sandbox_id) WHERE state <> 'deleted';
CREATE INDEX session_unsettled ON session (state)
    WHERE state IN ('initializing', 'sleeping', 'deleting');
CREATE INDEX session_expiring ON session (expires_at)
    WHERE expires_at IS NOT NULL AND state NOT IN ('deleting', 'deleted');

-- One row per session.  No foreign key: a lease must outlive its session's row, or a
-- wrapper that still runs would be forgotten with it.
CREATE TABLE lease (
    session_id         text        PRIMARY KEY,
    state              text        NOT NULL DEFAULT 'none'
                       CHECK (state IN ('none', 'owns_wrapper', 'stop_needed', 'stopping')),
    generation         bigint      NOT NULL DEFAULT 0, -- the only counter; never reused
    instance           text,
    startup_deadline   timestamptz,
    keep_warm_until    timestamptz,
    target             text,                           -- an instance, or 'session'
    reason             text,
    requested_at       timestamptz,
    next_attempt_at    timestamptz,
    attempts           integer     NOT NULL DEFAULT 0,
    last_error         text,
    attempt_id         text,
    attempt_started_at timestamptz,
    attempt_deadline   timestamptz,
    changed_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK (state <> 'owns_wrapper' OR instance IS NOT NULL),
    CHECK (state <> 'stop_needed' OR (reason IS NOT NULL AND next_attempt_at IS NOT NULL)),
    CHECK (state <> 'stopping' OR (attempt_id IS NOT NULL AND attempt_deadline IS NOT NULL))
);
CREATE INDEX lease_due ON lease (next_attempt_at) WHERE state = 'stop_needed';
CREATE INDEX lease_overdue ON lease (attempt_deadline) WHERE state = 'stopping';
CREATE INDEX lease_starting ON lease (startup_deadline)
    WHERE state = 'owns_wrapper' AND startup_deadline IS NOT NULL;
CREATE INDEX lease_warm ON lease (keep_warm_until)
    WHERE state = 'owns_wrapper' AND keep_warm_until IS NOT NULL;

-- The state machine; the same rows stand in src/domain/lease.c.
CREATE TABLE lease_transition (
    from_state text NOT NULL,
    event      text NOT NULL,
    to_state   text NOT NULL,
    fence      text NOT NULL,
    PRIMARY KEY (from_state, event)
);
INSERT INTO lease_transition (from_state, event, to_state, fence)
VALUES ('none',         'allocate',             'owns_wrapper', 'nothing'),
       ('none',         'request_stop',         'stop_needed',  'nothing'),
       ('owns_wrapper', 'startup_verified',     'owns_wrapper', 'instance'),
       ('owns_wrapper', 'delivery_accepted',    'owns_wrapper', 'instance'),
       ('owns_wrapper', 'retain_warm',          'owns_wrapper', 'instance'),
       ('owns_wrapper', 'reuse',                'owns_wrapper', 'instance'),
       ('owns_wrapper', 'owned_absent',         'none',         'instance'),
       ('owns_wrapper', 'request_stop',         'stop_needed',  'nothing'),
       ('stop_needed',  'request_stop',         'stop_needed',  'nothing'),
       ('stopping',     'request_stop',         'stopping',     'nothing'),
       ('stop_needed',  'begin_stop_attempt',   'stopping',     'due'),
       ('stopping',     'stop_absent',          'none',         'attempt'),
       ('stopping',     'stop_not_confirmed',   'stop_needed',  'attempt'),
       ('stopping',     'stop_attempt_expired', 'stop_needed',  'expired');

CREATE TABLE port (
    session_id   text        NOT NULL REFERENCES session ON DELETE CASCADE,
    port         integer     NOT NULL CHECK (port BETWEEN 1024 AND 65535),
    name         text        CHECK (length(name) BETWEEN 1 AND 64),
    token_hash   text        NOT NULL,
    token_sealed text        NOT NULL,
    expires_at   timestamptz,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (session_id, port)
);

CREATE TABLE idempotency (
    tenant     text        NOT NULL,
    user_id    text        NOT NULL,
    key        text        NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    hash       text        NOT NULL,             -- of method, path and body
    session_id text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, user_id, key)
);

-- Append only.
CREATE TABLE event (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id text        NOT NULL,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind       text        NOT NULL,             -- 'lease', 'state', 'agent'
    what       text        NOT NULL,
    generation bigint,
    trace_id   text,
    detail     jsonb       NOT NULL DEFAULT '{}'
);
CREATE INDEX event_by_session ON event (session_id, id);

-- Sightings: sandboxes on a host that no row explains.
CREATE TABLE sighting (
    host       text        NOT NULL,
    sandbox_id text        NOT NULL,
    first_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    times      integer     NOT NULL DEFAULT 1,
    PRIMARY KEY (host, sandbox_id)
);

CREATE TABLE reaper_run (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    host        text        NOT NULL,
    started_at  timestamptz NOT NULL,
    duration_ms bigint      NOT NULL,
    summary     jsonb       NOT NULL
);

-- The columns that a worker needs to act on the intent to start a session.
CREATE TYPE start_plan AS (
    session_id text, disposition text, state text, sandbox_id text, sandbox_state text,
    incarnation text, epoch bigint, provider text, rootfs text, memory_mb bigint,
    cpu_millis bigint, disk_mb bigint, pids bigint, generation bigint, instance text,
    env_sealed text, files_sealed text, ports text
);
