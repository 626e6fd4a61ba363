-- Idle dates, freezing and interruptions.

-- name: due_run_time
-- params: limit
-- Sessions whose wrapper has run for maxRunSeconds.
SELECT s.id AS session_id, s.xmin::text AS seen_row
  FROM session s
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
SELECT v.applied, v.applied AND session_has_ports($1) AS has_ports
  FROM session_thawed($1, $2::jsonb) v (applied);

-- name: due_suspends
-- params: host, limit
-- Freezes and thaws whose process died or ran out of time.
SELECT s.id AS session_id
  FROM session s JOIN sandbox b ON b.id = s.sandbox_id
 WHERE s.suspend_deadline < statement_timestamp() AND b.host IN ('', $1)
 ORDER BY s.suspend_deadline
 LIMIT $2::int;

-- name: session_interrupt_begin
-- params: session_id, tenant, interrupt_id, trace_id, actor
-- Intent to interrupt.  No row: the session has no wrapper, so no command runs.
WITH s AS (
    UPDATE session s
       SET interrupt_id = $3, interrupt_generation = l.generation,
           interrupt_requested_at = clock_timestamp()
      FROM lease l
     WHERE s.id = $1 AND s.tenant = $2
       AND (s.state = 'ready' OR s.state = 'initializing' AND s.setup_sealed IS NOT NULL)
       AND l.session_id = s.id AND l.state = 'owns_wrapper'
    RETURNING s.id, l.generation
), e AS (
    INSERT INTO event (session_id, kind, what, actor, generation, trace_id)
    SELECT id, 'interrupt', 'interrupt_requested', coalesce($5, event_actor()), generation, $4
      FROM s
)
SELECT generation FROM s;

-- name: session_interrupt_end
-- params: session_id, interrupt_id, trace_id, actor, detail
-- Outcome of the interruption with this id; a late one of another id changes nothing.
WITH s AS (
    UPDATE session s
       SET interrupt_id = NULL, interrupt_generation = NULL, interrupt_requested_at = NULL
      FROM (SELECT id, interrupt_generation AS generation FROM session
             WHERE id = $1 AND interrupt_id = $2 FOR UPDATE) was
     WHERE s.id = was.id AND s.interrupt_id = $2
    RETURNING s.id, was.generation
)
INSERT INTO event (session_id, kind, what, actor, generation, trace_id, detail)
SELECT id, 'interrupt', 'interrupted', coalesce($4, event_actor()), generation, $3, $5::jsonb
  FROM s;

-- name: session_interrupted_shell
-- params: session_id, generation, trace_id, actor, detail
-- Records that the commands of one shell were ended.  Takes the lease's lock, as every
-- writer of a session's events does, so that events are in order.
WITH l AS MATERIALIZED (SELECT session_id FROM lease WHERE session_id = $1 FOR UPDATE)
INSERT INTO event (session_id, kind, what, actor, generation, trace_id, detail)
SELECT $1, 'interrupt', 'interrupted', coalesce($4, event_actor()), $2::bigint, $3, $5::jsonb
  FROM (SELECT count(*) FROM l) locked;

-- name: due_interrupts
-- params: host, limit
-- Interruptions whose process died or ran out of time.  over: the wrapper is gone.
SELECT s.id AS session_id, s.interrupt_id,
       s.state <> 'ready' OR l.state <> 'owns_wrapper'
       OR l.generation <> s.interrupt_generation AS over,
       (extract(epoch FROM clock_timestamp() - s.interrupt_requested_at) * 1000)::bigint AS age_ms
  FROM session s
  JOIN lease l ON l.session_id = s.id
  JOIN sandbox b ON b.id = s.sandbox_id
 WHERE s.interrupt_requested_at < statement_timestamp() - interval '20 s' AND b.host IN ('', $1)
 ORDER BY s.interrupt_requested_at
 LIMIT $2::int;
