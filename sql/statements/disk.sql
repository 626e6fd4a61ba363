-- Disk: admission, accounting, and freezing of sessions on a full disk.

-- name: session_refused
-- params: session_id, spec
SELECT coalesce(session_refused($1, $2::jsonb), '') AS state;

-- name: disk_recount
-- params: host
SELECT disk_recount($1) AS reserved_mb;

-- name: stale_candidates
-- params: session_id, host, sessions
-- Of the session's owner: those whose directories were seen in its sandbox
-- ($3, divided by commas), and starts that failed before they ever worked.
-- state '' means that no row knows it.
WITH me AS (
    SELECT tenant, user_id, bot, sandbox_id FROM session WHERE id = $1
), seen AS (
    SELECT x.id, me.sandbox_id FROM me, unnest(string_to_array($3, ',')) AS x (id)
    UNION
    SELECT s.id, s.sandbox_id
      FROM me JOIN session s USING (tenant, user_id, bot)
      JOIN sandbox b ON b.id = s.sandbox_id
     WHERE s.state = 'failed' AND s.started_at IS NULL AND b.host = $2
)
SELECT seen.id AS session_id, seen.sandbox_id, coalesce(b.incarnation, '') AS incarnation,
       coalesce(s.state, '') AS state,
       coalesce(extract(epoch FROM clock_timestamp() - s.ended_at)::bigint, -1) AS ended_seconds
  FROM seen
  LEFT JOIN sandbox b ON b.id = seen.sandbox_id
  LEFT JOIN session s ON s.id = seen.id
  LEFT JOIN lease l ON l.session_id = seen.id
 WHERE seen.id <> $1
   AND coalesce(l.state, 'none') = 'none'
   AND (s.id IS NULL OR s.state = 'deleted'
        OR s.state = 'failed' AND s.started_at IS NULL)
 LIMIT 200;

-- name: stale_claim
-- params: session_id, trace_id
SELECT session_drop_files($1, true, $2) AS claimed;

-- name: disk_frozen
-- params: host, frozen
-- frozen: [{sandbox, session}]; a session whose row names another sandbox is ignored.
SELECT disk_frozen($1, coalesce(string_agg(s.id, ','), '')) AS changed
  FROM jsonb_to_recordset($2::jsonb) AS x (sandbox text, session text)
  JOIN session s ON s.id = x.session AND s.sandbox_id = x.sandbox;

-- name: disk_due
-- params: host, every_seconds, limit
-- Sandboxes whose sessions have not been measured for so long.
SELECT b.id AS sandbox_id, b.incarnation, c.disk_mb
  FROM sandbox b
  JOIN class c ON c.name = b.class
 WHERE b.host = $1 AND b.state = 'running'
   AND EXISTS (SELECT FROM lease l JOIN session s ON s.id = l.session_id
                WHERE l.sandbox_id = b.id AND l.state <> 'none' AND l.state = 'owns_wrapper'
                  AND coalesce(s.disk_measured_at, s.created_at) <
                      clock_timestamp() - make_interval(secs => $2::int))
 LIMIT $3::int;

-- name: disk_measured
-- params: session_id, sandbox_id, used_mb, over
-- No row: the session is not in this sandbox.  over: by the limit of the sandbox; the
-- session's own may be less.
SELECT x.over, disk_measured(s.id, $3::bigint, x.over) AS still_over
  FROM session s
 CROSS JOIN LATERAL (SELECT $4::boolean OR $3::bigint > (session_limits(s)->>'diskMb')::bigint)
       x (over)
 WHERE s.id = $1 AND s.sandbox_id = $2;

-- name: sandbox_probe_failed
-- params: sandbox_id, incarnation
SELECT sandbox_probe_failed($1, $2) AS evidence;
