-- Sandboxes: intents, outcomes, and the courtesy lock around provider calls.

-- name: sandbox_retire
-- params: sandbox_id, incarnation, destroy, seconds
SELECT sandbox_retire($1, $2, $3::boolean, $4::double precision) AS granted;

-- name: sandbox_settle
-- params: sandbox_id, incarnation, state, agent_version
SELECT sandbox_settle($1, $2, $3, $4) AS applied;

-- name: sandbox_lock
-- params: sandbox_id
-- Waits at most lock_timeout.  Avoids waste; safety never rests on it.
SELECT pg_advisory_lock(hashtextextended($1, 0));

-- name: sandbox_unlock
-- params: sandbox_id
SELECT pg_advisory_unlock(hashtextextended($1, 0));
