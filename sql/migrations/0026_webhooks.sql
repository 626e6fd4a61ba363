-- Webhooks: servers of an org that are told what happens to its sessions and executions.

-- Until when the tenant's changes of webhooks count: webhook_turn().
ALTER TABLE org
    ADD COLUMN webhook_turn timestamptz NOT NULL DEFAULT '-infinity';

CREATE TABLE webhook (
    id            text        PRIMARY KEY CHECK (id ~ '^[a-z0-9]{20}$'),
    tenant        text        NOT NULL REFERENCES org,
    url           text        NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
    events        text[]      NOT NULL,
    secret_sealed text        NOT NULL,
    enabled       boolean     NOT NULL DEFAULT true,
    reason        text,       -- why the service has disabled it
    failing_since timestamptz, -- NULL: the last try was a success, or there was none
    actor         text,
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX webhook_by_tenant ON webhook (tenant, created_at, id);

-- One event for one webhook.  body: json, not jsonb, because the signature is one of its text.
-- due_at: when it is sent next; while a process sends it (claimed), when another one may; NULL:
-- it is over.
CREATE TABLE webhook_delivery (
    id           text        PRIMARY KEY CHECK (id ~ '^[a-z0-9]{20}$'),
    webhook_id   text        NOT NULL REFERENCES webhook ON DELETE CASCADE,
    tenant       text        NOT NULL,
    event        text        NOT NULL,
    body         json        NOT NULL,
    attempts     integer     NOT NULL DEFAULT 0,
    claimed      boolean     NOT NULL DEFAULT false,
    due_at       timestamptz DEFAULT clock_timestamp(),
    until        timestamptz NOT NULL,  -- no other try after this
    delivered_at timestamptz,
    given_up_at  timestamptz,
    last_at      timestamptz,           -- the end of the last try
    last_status  integer,
    last_error   text,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK (num_nonnulls(due_at, delivered_at, given_up_at) = 1)
);
CREATE INDEX webhook_delivery_due ON webhook_delivery (webhook_id, due_at)
    WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_claimed ON webhook_delivery (tenant) WHERE claimed;
CREATE INDEX webhook_delivery_by_webhook ON webhook_delivery (webhook_id, created_at DESC, id DESC);
CREATE INDEX webhook_delivery_by_age ON webhook_delivery (created_at);
