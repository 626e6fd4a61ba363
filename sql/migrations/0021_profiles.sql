-- Limits of agent types.

-- limits: own ones of a session, {"memoryMb", "cpuSeconds", "wallSeconds",
-- "networkRequests", "pids", "diskMb"} (src/domain/limits.h); NULL: none.
ALTER TABLE session
    ADD COLUMN limits jsonb;
-- The most that one execution may have.
ALTER TABLE class
    ADD COLUMN cpu_seconds bigint NOT NULL DEFAULT 86400,
    ADD COLUMN wall_seconds bigint NOT NULL DEFAULT 86400;

-- Until when the tenant's changes of profiles count: profile_turn().
ALTER TABLE org
    ADD COLUMN profile_turn timestamptz NOT NULL DEFAULT '-infinity';

-- Limits and network of agents of a type.  tenant '' counts for every tenant that has no row of its
-- own for the type.  network NULL: the profile says nothing of it.
CREATE TABLE profile (
    tenant     text        NOT NULL,
    agent_type text        NOT NULL CHECK (agent_type ~ '^[A-Za-z0-9._-]{1,64}$'),
    limits     jsonb       NOT NULL,
    network    jsonb,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, agent_type)
);
INSERT INTO profile (tenant, agent_type, limits, network)
SELECT '', x.agent_type, jsonb_build_object('memoryMb', x.memory_mb,
           'cpuSeconds', x.cpu_seconds, 'wallSeconds', x.wall_seconds,
           'networkRequests', x.requests, 'pids', 128, 'diskMb', x.disk_mb),
       jsonb_build_object('mode', 'allow', 'allow', to_jsonb(x.allow))
  FROM (VALUES
    ('ELICITATION', 256, 30, 300, 10, 50, '{@anthropic,@openai}'::text[]),
    ('TEST_WRITER', 512, 60, 600, 20, 100, '{@anthropic,@openai,@github,@npm,@pypi,@crates}'),
    ('IMPLEMENTATION', 1024, 120, 900, 50, 200,
        '{@anthropic,@openai,@github,@npm,@pypi,@crates,@debian}'),
    ('CONTEXT_GATHERING', 256, 30, 300, 30, 50, '{@anthropic,@openai,@github}'),
    ('VALIDATION', 512, 60, 600, 20, 100, '{@anthropic,@openai,@github,@npm,@pypi,@crates}'))
    AS x (agent_type, memory_mb, cpu_seconds, wall_seconds, requests, disk_mb, allow);
