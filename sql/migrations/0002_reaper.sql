-- What the reaper needs: an audit log, leases that can be looked at without
-- their session's row, figures of a pass as columns, and indexes that make a
-- pass cost what is due and not what there is.

CREATE TABLE audit (
    id       bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind     text        NOT NULL,
    severity text        NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
    tenant   text,
    subject  text,
    trace_id text,
    detail   jsonb       NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_by_tenant ON audit (tenant, id);
