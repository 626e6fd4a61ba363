-- Kept after an execution's sandbox is gone: output, files, and sums for each day.

-- The bytes are in files (src/provider/store/artifact.h): folder is the org's, sha256 the
-- name.  kind 'log': the output; 'times': when it came.
CREATE TABLE artifact (
    execution_id text        NOT NULL REFERENCES execution ON DELETE CASCADE,
    kind         text        NOT NULL CHECK (kind IN ('log', 'times', 'file')),
    path         text        NOT NULL DEFAULT '', -- of a file, below /workspace
    tenant       text        NOT NULL,
    host         text        NOT NULL,
    folder       text        NOT NULL,
    sha256       text        NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    bytes        bigint      NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (execution_id, kind, path)
);
CREATE INDEX artifact_by_file ON artifact (folder, sha256);
CREATE INDEX artifact_by_age ON artifact (created_at);

CREATE TABLE artifact_use (
    tenant text   PRIMARY KEY,
    bytes  bigint NOT NULL
);

-- log_bytes: of all output; log_first: the offset of the first byte that is kept.
-- requests_before: of its session, when the attempt was given.
ALTER TABLE execution
    ADD COLUMN log_bytes bigint,
    ADD COLUMN log_first bigint NOT NULL DEFAULT 0,
    ADD COLUMN artifacts_error text,
    ADD COLUMN requests_before bigint NOT NULL DEFAULT 0,
    ADD COLUMN looked_at timestamptz; -- when a reaper last asked its wrapper
CREATE INDEX execution_unsettled_org ON execution (tenant) WHERE state IN ('queued', 'running');
CREATE INDEX execution_by_type ON execution (tenant, agent_type, ended_at DESC)
    WHERE state = 'succeeded';

-- exceeded_at: when the last request was refused because the session had made too many.
ALTER TABLE network_use ADD COLUMN exceeded_at timestamptz;

-- Executions that ended on a day (UTC); never deleted.
CREATE TABLE execution_day (
    tenant           text   NOT NULL,
    agent_type       text   NOT NULL, -- '': none
    day              date   NOT NULL,
    executions       bigint NOT NULL DEFAULT 0,
    states           jsonb  NOT NULL DEFAULT '{}', -- how many ended in each
    retries          bigint NOT NULL DEFAULT 0,
    cpu_ms           bigint NOT NULL DEFAULT 0,
    wall_ms          bigint NOT NULL DEFAULT 0,
    memory_peak      bigint NOT NULL DEFAULT 0,    -- the largest, in bytes
    written_bytes    bigint NOT NULL DEFAULT 0,
    network_requests bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, agent_type, day)
);
