-- Leases as an operator sees them.

-- name: leases_lost
-- How many have no session's row.
SELECT count(*) AS lost
  FROM lease l
 WHERE l.state <> 'none' AND NOT EXISTS (SELECT FROM session s WHERE s.id = l.session_id);

-- name: stops_failing_count
-- params: attempts
-- How many stops have been tried so often, and still nobody has seen an absence.
SELECT count(*) AS failing
  FROM lease
 WHERE state IN ('stop_needed', 'stopping') AND attempts >= $1::int;

-- name: lease_force_release
-- params: session_id, trace
SELECT lease_force_release($1, $2) AS was;
