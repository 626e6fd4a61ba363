-- What keeps a session awake, how it is frozen, and interruptions.

-- name: due_run_time
-- params: limit
-- Their wrapper has run as long as it may.
SELECT s.id AS session_id, l.generation
  FROM session s JOIN lease l ON l.session_id = s.id
 WHERE s.max_run_seconds IS NOT NULL AND s.state = 'ready'
   AND session_run_end(s) < clock_timestamp()
 ORDER BY s.started_at
 LIMIT $1::int;

-- name: session_was_active
-- params: session_id, generation, idle_ms, slack_seconds
SELECT session_was_active($1, $2::bigint, $3::bigint, $4::double precision) AS spared;

-- name: session_suspend_begin
-- params: session_id, spec
SELECT * FROM session_suspend_begin($1, $2::jsonb);

-- name: session_suspend_end
-- params: session_id, spec
SELECT session_suspend_end($1, $2::jsonb) AS state;

-- name: session_thaw_begin
-- params: session_id, spec
SELECT session_thaw_begin($1, $2::jsonb) AS suspend_order;

-- name: session_thawed
-- params: session_id, spec
SELECT session_thawed($1, $2::jsonb) AS applied;

-- name: due_suspends
-- params: limit
-- A freeze or a thaw that nobody finished.
SELECT id AS session_id
  FROM session
 WHERE suspend_deadline < clock_timestamp()
 ORDER BY suspend_deadline
 LIMIT $1::int;
