-- What is due.  Claims and effects go through control/; these only look.

-- name: due_starts
-- params: limit
-- Past their startup deadline.
SELECT l.session_id, l.generation, l.instance
  FROM lease l
 WHERE l.state = 'owns_wrapper' AND l.startup_deadline < clock_timestamp()
 ORDER BY l.startup_deadline
 LIMIT $1::int;

-- name: due_warm
-- params: limit
-- Who is frozen (disk_low) cannot say whether it has work.
SELECT s.id AS session_id, s.activity_seq, l.generation, s.suspend
  FROM lease l JOIN session s ON s.id = l.session_id
 WHERE l.state = 'owns_wrapper' AND l.startup_deadline IS NULL
   AND l.keep_warm_until < clock_timestamp() AND s.state = 'ready'
   AND s.reason IS DISTINCT FROM 'disk_low'
 ORDER BY l.keep_warm_until
 LIMIT $1::int;

-- name: due_expired
-- params: limit
SELECT s.id AS session_id, l.generation, s.activity_seq
  FROM session s JOIN lease l ON l.session_id = s.id
 WHERE s.expires_at < clock_timestamp() AND s.state NOT IN ('deleting', 'deleted')
 ORDER BY s.expires_at
 LIMIT $1::int;

-- name: due_stop_watchdogs
-- params: limit
SELECT session_id, attempt_id FROM lease
 WHERE state = 'stopping' AND attempt_deadline < clock_timestamp()
 ORDER BY attempt_deadline
 LIMIT $1::int;

-- name: due_stops
-- params: limit
-- First attempts before retries.
SELECT l.session_id
  FROM lease l
 WHERE l.state = 'stop_needed' AND l.next_attempt_at < clock_timestamp()
 ORDER BY l.attempts > 0, l.next_attempt_at
 LIMIT $1::int;

-- name: due_deletions
-- params: limit
-- Their wrapper is gone; files, sandbox and row are not yet.
SELECT s.id AS session_id
  FROM session s JOIN lease l ON l.session_id = s.id
 WHERE s.state = 'deleting' AND l.state = 'none'
 ORDER BY s.id
 LIMIT $1::int;

-- name: due_sleepers
-- params: limit
-- Sleeping, and the lease has been released already (a crash in between).
SELECT s.id AS session_id
  FROM session s JOIN lease l ON l.session_id = s.id
 WHERE s.state = 'sleeping' AND l.state = 'none'
 LIMIT $1::int;

-- name: settle_sleeper
-- params: session_id
UPDATE session s SET state = 'asleep', ended_at = clock_timestamp()
  FROM lease l
 WHERE s.id = $1 AND s.state = 'sleeping' AND l.session_id = s.id AND l.state = 'none';

-- name: due_idle_sandboxes
-- params: host, idle_seconds, limit
-- Nothing owns a wrapper in them: shared ones after their grace, a session's
-- own one at once.
SELECT b.id, b.incarnation
  FROM sandbox b
 WHERE b.state IN ('creating', 'running') AND b.host = $1
   AND NOT EXISTS (SELECT FROM session s JOIN lease l ON l.session_id = s.id
                    WHERE s.sandbox_id = b.id AND l.state <> 'none')
   AND CASE WHEN b.id LIKE 'ses-%' THEN
                coalesce(b.deadline, '-infinity') < clock_timestamp()
            ELSE coalesce(b.idle_since, b.changed_at) <
                clock_timestamp() - make_interval(secs => $2::int) END
 LIMIT $3::int;

-- name: due_destroys
-- params: host, limit
SELECT id, incarnation FROM sandbox
 WHERE state = 'destroying' AND host = $1 AND deadline < clock_timestamp()
 LIMIT $2::int;

-- name: owned_in
-- params: sandbox_id
-- Sessions that own a wrapper in it.
SELECT s.id AS session_id, l.generation, l.instance
  FROM lease l JOIN session s ON s.id = l.session_id
 WHERE s.sandbox_id = $1 AND l.state = 'owns_wrapper';

-- name: sandbox_rows
SELECT id, state, incarnation, host, boot_id,
       deadline IS NULL OR deadline < clock_timestamp() AS overdue,
       EXISTS (SELECT FROM session s WHERE s.sandbox_id = b.id AND s.state <> 'deleted') AS used
  FROM sandbox b;

-- name: sighting_add
-- params: host, sandbox_id
-- A sandbox no row knows: true once it was seen twice over five minutes.
INSERT INTO sighting AS g (host, sandbox_id) VALUES ($1, $2)
    ON CONFLICT (host, sandbox_id) DO UPDATE SET times = g.times + 1
RETURNING times >= 2 AND first_at < clock_timestamp() - interval '5 minutes' AS ripe;

-- name: sighting_clear
-- params: host, sandbox_id
DELETE FROM sighting WHERE host = $1 AND sandbox_id = $2;

-- name: stop_expired
-- params: session_id, attempt
SELECT applied FROM lease_apply($1, 'stop_attempt_expired',
    jsonb_build_object('attempt', $2::text));

-- name: ports_expired
-- params: limit
DELETE FROM port p USING session s, lease l
 WHERE (p.session_id, p.port) IN (SELECT session_id, port FROM port
        WHERE expires_at < clock_timestamp() LIMIT $1::int)
   AND s.id = p.session_id AND l.session_id = s.id
RETURNING p.session_id, p.port;

-- name: forget_old
-- params: retention_days
-- Rows past their retention, and what is only useful for a day.
WITH old AS (
    DELETE FROM session s USING lease l
     WHERE l.session_id = s.id AND l.state = 'none' AND s.state = 'deleted'
       AND s.ended_at < clock_timestamp() - make_interval(days => $1::int)
    RETURNING s.id
), leases AS (
    DELETE FROM lease l USING old WHERE l.session_id = old.id
), events AS (
    DELETE FROM event WHERE at < clock_timestamp() - make_interval(days => $1::int)
), audits AS (
    DELETE FROM audit WHERE at < clock_timestamp() - make_interval(days => $1::int)
), keys AS (
    DELETE FROM idempotency WHERE created_at < clock_timestamp() - interval '24 hours'
), logins AS (
    DELETE FROM login WHERE expires_at < clock_timestamp()
), sightings AS ( -- a sandbox that a row knows again
    DELETE FROM sighting g
     WHERE EXISTS (SELECT FROM sandbox b
                    WHERE b.id = g.sandbox_id
                      AND (b.state <> 'absent'
                           OR EXISTS (SELECT FROM session s
                                       WHERE s.sandbox_id = b.id AND s.state <> 'deleted')))
)
SELECT count(*) AS forgotten FROM old;

-- name: reaper_run_add
-- params: host, duration_ms, summary
INSERT INTO reaper_run (host, started_at, duration_ms, summary)
VALUES ($1, clock_timestamp() - make_interval(secs => $2::double precision / 1000), $2::bigint,
        $3::jsonb);

-- name: pass_lock
-- params: name
SELECT pg_try_advisory_lock(hashtextextended($1, 2)) AS locked;
