-- Sandboxes: intents, outcomes, and the courtesy lock around provider calls.

-- name: sandbox_settle
-- params: sandbox_id, incarnation, state, agent_version
SELECT sandbox_settle($1, $2, $3, $4) AS applied;

-- name: sandbox_lock
-- params: sandbox_id
-- Waits at most lock_timeout.  The lock only avoids double work: the fences keep it
-- safe without.
SELECT pg_advisory_lock(hashtextextended($1, 0));

-- name: sandbox_unlock
-- params: sandbox_id
SELECT pg_advisory_unlock(hashtextextended($1, 0));

-- name: sandboxes_try_lock
-- params: ids
-- The same lock, for several sandboxes: answers those that were free.
SELECT id FROM jsonb_array_elements_text($1::jsonb) AS t (id)
 WHERE pg_try_advisory_lock(hashtextextended(id, 0));

-- name: sandboxes_unlock
-- params: ids
SELECT count(pg_advisory_unlock(hashtextextended(id, 0)))
  FROM jsonb_array_elements_text($1::jsonb) AS t (id);

-- name: sandboxes_retire
-- params: sandboxes, destroy, seconds
-- In the order of ids, as locks are taken.
SELECT x.id
  FROM (SELECT * FROM jsonb_to_recordset($1::jsonb) AS t (id text, incarnation text)
         ORDER BY id) x
 WHERE sandbox_retire(x.id, x.incarnation, $2::boolean, $3::double precision);

-- name: sandboxes_settle
-- params: sandboxes, state
SELECT x.id
  FROM (SELECT * FROM jsonb_to_recordset($1::jsonb) AS t (id text, incarnation text)
         ORDER BY id) x
 WHERE sandbox_settle(x.id, x.incarnation, $2, NULL);

-- name: sandboxes_failed
-- params: sandboxes
-- [{id, incarnation, error}]: why sandboxes did not end; each is tried again.
UPDATE sandbox b SET last_error = left(x.error, 500)
  FROM jsonb_to_recordset($1::jsonb) AS x (id text, incarnation text, error text)
 WHERE b.id = x.id AND b.incarnation = x.incarnation;
