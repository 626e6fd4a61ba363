-- Leases as an operator sees them.


-- name: lease_force_release
-- params: session_id, trace
SELECT lease_force_release($1, $2) AS was;
