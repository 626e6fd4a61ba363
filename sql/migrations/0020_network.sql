-- The network of sessions: policies, what was used, secrets.

-- network: {"mode", "allow", "maxRequests"} (src/domain/network.h).  Of a session, NULL:
-- its org's; of an org, NULL: none.  network_order counts the changes that matter to a
-- session.  network_max: the most that sessions of a class may have; class.network is
-- of older programs.
ALTER TABLE session
    ADD COLUMN network jsonb,
    ADD COLUMN network_order bigint NOT NULL DEFAULT 0,
    -- headers that sandlease-egress adds to requests: [{"host", "header"}], and the same
    -- list with its values, sealed
    ADD COLUMN secrets jsonb,
    ADD COLUMN secrets_sealed text;
ALTER TABLE org
    ADD COLUMN network jsonb;
ALTER TABLE class
    ADD COLUMN network_max jsonb NOT NULL DEFAULT '{"mode": "open"}';
-- Until now no session had a network.  In a service that is in use that stays so until
-- its operator says otherwise: sandlease-admin class set.
UPDATE class SET network_max = '{"mode": "none"}' WHERE EXISTS (SELECT FROM session);

-- Entries for an allow list, under one name: "@npm" is the row npm.
CREATE TABLE network_preset (
    name  text   PRIMARY KEY CHECK (name ~ '^[a-z0-9-]{1,31}$'),
    allow text[] NOT NULL
);
INSERT INTO network_preset (name, allow) VALUES
    ('npm', '{registry.npmjs.org,registry.yarnpkg.com}'),
    ('pypi', '{pypi.org,files.pythonhosted.org}'),
    ('crates', '{crates.io,index.crates.io,static.crates.io}'),
    ('debian', '{deb.debian.org,security.debian.org}'),
    ('github', '{github.com,github.com:22,api.github.com,codeload.github.com,'
        '*.githubusercontent.com,ghcr.io}'),
    ('anthropic', '{api.anthropic.com:443}'),
    ('openai', '{api.openai.com:443}');

-- Counted by sandlease-egress.  ports: the ports whose connections arrive there; NULL:
-- it does not serve the session.
CREATE TABLE network_use (
    session_id  text        PRIMARY KEY REFERENCES session ON DELETE CASCADE,
    connections bigint      NOT NULL DEFAULT 0,
    requests    bigint      NOT NULL DEFAULT 0,
    bytes_in    bigint      NOT NULL DEFAULT 0,
    bytes_out   bigint      NOT NULL DEFAULT 0,
    denied      bigint      NOT NULL DEFAULT 0,
    ports       integer[],
    changed_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The last counts that sandlease-egress of a host has written.
CREATE TABLE network_report (
    host text PRIMARY KEY,
    last text NOT NULL
);

-- The authority whose certificates sandlease-egress shows to sessions with secrets.
CREATE TABLE network_authority (
    the_only    boolean     PRIMARY KEY DEFAULT true CHECK (the_only),
    certificate text        NOT NULL, -- in PEM
    key_sealed  text        NOT NULL,
    made_at     timestamptz NOT NULL DEFAULT clock_timestamp()
);
