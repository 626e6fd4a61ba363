-- Executions.

-- name: execution_create
-- params: spec
SELECT id, made, given FROM execution_create($1::jsonb);

-- name: execution_start
-- params: session_spec, spec
-- As session_create, whose columns it has.
SELECT (e.plan).*, e.execution, e.made, x.*,
       CASE WHEN (e.plan).disposition = 'created' THEN
           pg_try_advisory_lock(hashtextextended((e.plan).session_id, 4)) END AS start_lock,
       false AS started
  FROM execution_start($1::jsonb, $2::jsonb) e
  LEFT JOIN LATERAL start_more((e.plan).session_id) x ON true;

-- name: execution_get
-- params: execution_id, tenant
-- deleting: its session is to be deleted, and nobody else may be at it.
SELECT execution_json(x) AS json, x.state, execution_is_over(x.state) AS over, x.session_id,
       coalesce(s.state = 'deleting', false) AS deleting, x.command, x.attempt,
       x.generation IS NOT NULL AS given, x.exit_code,
       coalesce(extract(epoch FROM x.started_at), 0)::bigint AS began
  FROM execution x LEFT JOIN session s ON s.id = x.session_id
 WHERE x.id = $1 AND x.tenant = $2;

-- name: execution_list
-- params: tenant, session_id, state, agent_type, before_at, before_id, page
-- Newest first; the cursor is the last row's (created_at, id).
SELECT x.id, execution_json(x) AS json,
       extract(epoch FROM x.created_at)::numeric(20, 6)::text AS at
  FROM execution x
 WHERE x.tenant = $1 AND ($2 = '' OR x.session_id = $2) AND ($3 = '' OR x.state = $3)
   AND ($4 = '' OR x.agent_type = $4)
   AND ($5 = '' OR (x.created_at, x.id) < (to_timestamp($5::numeric), $6))
 ORDER BY x.created_at DESC, x.id DESC
 LIMIT $7::int;

-- name: execution_row
-- params: execution_id
SELECT x.id, x.session_id, x.tenant, x.state, execution_is_over(x.state) AS over, x.attempt,
       x.generation IS NOT NULL AS given, coalesce(x.generation, 0) AS generation, x.max_retries,
       x.cancel_at IS NOT NULL AS cancelled, 
       greatest(0, ms_between(clock_timestamp(), x.due_at)) AS due_ms,
       coalesce(x.work_sealed, '') AS work_sealed, x.limits, s.concurrency
  FROM execution x LEFT JOIN session s ON s.id = x.session_id
 WHERE x.id = $1;

-- name: executions_to_give
-- params: session_id
-- In the order in which they were made: none overtakes one that waits for its next attempt.
SELECT x.id FROM execution x
 WHERE x.session_id = $1 AND x.state = 'queued' AND x.generation IS NULL AND x.cancel_at IS NULL
   AND x.due_at <= clock_timestamp()
   AND NOT EXISTS (SELECT FROM execution e
        WHERE e.session_id = $1 AND e.state = 'queued' AND e.generation IS NULL
          AND e.cancel_at IS NULL AND e.due_at > clock_timestamp()
          AND (e.created_at, e.id) < (x.created_at, x.id))
 ORDER BY created_at, id;

-- name: execution_give
-- params: execution_id, generation
SELECT attempt FROM execution_give($1, $2::bigint);

-- name: execution_told
-- params: execution_id, attempt, told
SELECT state, applied FROM execution_told($1, $2::bigint, $3::jsonb);

-- name: execution_lost
-- params: execution_id, attempt, why, last
SELECT state, applied FROM execution_lost($1, $2::bigint, $3, $4::boolean);

-- name: executions_lost
-- params: session_id, generation, why
SELECT FROM executions_lost($1, $2::bigint, $3);

-- name: execution_not_given
-- params: execution_id, attempt, why, last
SELECT state, applied FROM execution_not_given($1, $2::bigint, $3, $4::boolean);

-- name: execution_cancel
-- params: execution_id, spec
SELECT state, generation IS NOT NULL AND NOT execution_is_over(state) AS running, attempt
  FROM execution_cancel($1, $2::jsonb);

-- name: executions_given
-- params: session_id
-- Those that a wrapper of the session has.
SELECT id FROM execution
 WHERE session_id = $1 AND state IN ('queued', 'running') AND generation IS NOT NULL
 ORDER BY created_at, id;

-- name: executions_to_look_at
-- params: host, seconds, batch
-- Takes those that a wrapper on this host has, and that is not frozen, for a look: not if
-- another pass looked within so many seconds.  Orgs take turns, and those come first that
-- nobody has looked at for longest: wrappers that do not answer cost time.  overdue: it
-- should have ended a minute ago, by its own limit.
WITH due AS (
    SELECT x.id, row_number() OVER (PARTITION BY x.tenant ORDER BY x.looked_at NULLS FIRST, x.id)
               AS nth, x.looked_at
      FROM execution x
      JOIN session s ON s.id = x.session_id
      JOIN sandbox b ON b.id = s.sandbox_id
     WHERE x.state IN ('queued', 'running') AND x.generation IS NOT NULL AND b.host = $1
       AND s.suspended_at IS NULL
       AND coalesce(x.looked_at < clock_timestamp() - make_interval(secs => $2::int), true)
     ORDER BY nth, x.looked_at NULLS FIRST
     LIMIT $3::int
), taken AS (
    SELECT x.id, due.nth FROM execution x JOIN due ON due.id = x.id FOR UPDATE OF x SKIP LOCKED
), looked AS (
    UPDATE execution x SET looked_at = clock_timestamp() FROM taken WHERE x.id = taken.id
    RETURNING x.id, x.session_id, taken.nth, x.state = 'running' AND coalesce(x.started_at, x.given_at)
        + make_interval(secs => 60 + (x.limits->>'wallSeconds')::double precision)
        < clock_timestamp() AS overdue
)
SELECT id, session_id, coalesce(overdue, false) AS overdue FROM looked ORDER BY nth, id;

-- name: executions_forget
-- params: days, batch
DELETE FROM execution WHERE id = ANY (ARRAY(
    SELECT id FROM execution WHERE ended_at < statement_timestamp() - make_interval(days => $1::int)
     ORDER BY ended_at
     LIMIT $2::int));

-- name: executions_due
-- params: host
-- Sessions of this host with an execution that is to be given, and the milliseconds until then:
-- first those that are due, orgs in turns, because a start may take seconds, then the others, the next
-- first.  A new one is given by the worker that made it, unless that died.  One whose session
-- is being started waits for that: session_verified() notifies.
WITH first AS (
    SELECT DISTINCT ON (x.session_id) x.session_id, x.tenant,
           greatest(0, ms_between(clock_timestamp(), x.due_at
               + CASE WHEN x.attempt = 0 THEN interval '2 s' ELSE '0' END)) AS due_ms, x.due_at
      FROM execution x
      JOIN session s ON s.id = x.session_id
      LEFT JOIN sandbox b ON b.id = s.sandbox_id
     WHERE x.state = 'queued' AND x.generation IS NULL AND x.cancel_at IS NULL
       AND coalesce(nullif(b.host, ''), $1) = $1 AND s.state <> 'initializing'
     ORDER BY x.session_id, x.created_at, x.id
)
SELECT session_id, due_ms FROM first
 ORDER BY due_ms > 0, row_number() OVER (PARTITION BY tenant, due_ms > 0 ORDER BY due_at), due_ms,
          due_at
 LIMIT 100;

-- name: executions_put_off
-- params: session_id
-- Those of a session that could not be started now.
UPDATE execution SET due_at = clock_timestamp() + interval '1 s'
 WHERE session_id = $1 AND state = 'queued' AND generation IS NULL
   AND due_at <= clock_timestamp();
