-- History: events of a session, and the audit log.

-- name: event_list
-- params: session_id, tenant, after, limit
-- In order.  No row: no such session; one row without an id: nothing new.
SELECT e.id, event_json(e) AS json
  FROM session s
  LEFT JOIN LATERAL (
       SELECT * FROM event e
        WHERE e.session_id = s.id AND e.id > $3::bigint
        ORDER BY e.id
        LIMIT $4::int) e ON true
 WHERE s.id = $1 AND s.tenant = $2
 ORDER BY e.id;

-- name: event_wait
-- params: session_id, tenant, seconds
SELECT event_wait($1, $2, $3::int) AS id;

-- name: event_wait_end
-- params: id
DELETE FROM event_waiter WHERE id = $1::bigint;

-- name: event_steps
-- params: session_id, spec
SELECT event_steps($1, $2::jsonb);

-- name: audit_note
-- params: spec
SELECT audit_note($1::jsonb);

-- name: audit_list
-- params: tenant, after, severity, kind, limit
-- Rows of this tenant, and rows without a tenant.
SELECT a.id, audit_json(a) AS json
  FROM audit a
 WHERE (a.tenant = $1 OR a.tenant IS NULL)
   AND a.id > $2::bigint
   AND ($3 = '' OR a.severity = $3)
   AND ($4 = '' OR a.kind = $4)
 ORDER BY a.id
 LIMIT $5::int;
