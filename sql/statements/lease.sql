-- Leases as an operator sees them.

-- name: lease_list
-- params: only_lost, page
-- What is not none; those whose session's row is gone first.
SELECT l.session_id, l.state, l.generation, coalesce(l.sandbox_id, '-') AS sandbox_id,
       coalesce(b.host, '-') AS host, s.id IS NOT NULL AS known,
       coalesce(l.reason, '-') AS reason, l.attempts, iso(l.changed_at) AS changed,
       coalesce(l.last_error, '') AS last_error
  FROM lease l
  LEFT JOIN session s ON s.id = l.session_id
  LEFT JOIN sandbox b ON b.id = l.sandbox_id
 WHERE l.state <> 'none' AND (s.id IS NULL OR NOT $1::boolean)
 ORDER BY s.id IS NOT NULL, l.changed_at
 LIMIT $2::int;

-- name: lease_force_release
-- params: session_id, trace
SELECT lease_force_release($1, $2) AS was;
