-- Finds what is due.  The cost of each statement follows the number of rows that are
-- due, not of all rows: they compare with statement_timestamp(), which can use an
-- index.  The function that acts on a row compares again, under the row's lock.

-- name: due_starts
-- params: host, boot_id, after_at, after_id, limit
-- Sessions past their startup deadline; from after_at on, so that each is asked once in
-- a pass.  Those that another reaper is asking are skipped; sessions_unlock ends that.
WITH due AS MATERIALIZED (
    SELECT *, startup_deadline::text AS at FROM wrappers_here($1, $2)
     WHERE startup_deadline < statement_timestamp() AND (startup_deadline, session_id) > ($3::timestamptz, $4)
     ORDER BY startup_deadline, session_id
     LIMIT 4 * $5::int
)
SELECT * FROM due
 WHERE pg_try_advisory_lock(hashtextextended(session_id, 3))
 LIMIT $5::int;

-- name: due_warm
-- params: host, boot_id, after_at, after_id, limit
-- Sessions past their idle date, as due_starts.  Not those that are frozen because the
-- disk is full (disk_low): their wrapper cannot say whether it has work.
WITH due AS MATERIALIZED (
    SELECT *, keep_warm_until::text AS at FROM wrappers_here($1, $2)
     WHERE keep_warm_until < statement_timestamp() AND (keep_warm_until, session_id) > ($3::timestamptz, $4)
       AND startup_deadline IS NULL
       AND state = 'ready' AND reason IS DISTINCT FROM 'disk_low'
     ORDER BY keep_warm_until, session_id
     LIMIT 4 * $5::int
)
SELECT * FROM due
 WHERE pg_try_advisory_lock(hashtextextended(session_id, 3))
 LIMIT $5::int;

-- name: due_asks
-- params: host, boot_id, after_at, after_id, limit
-- Sessions to be asked whether they are stuck, as due_warm.
WITH due AS MATERIALIZED (
    SELECT *, ask_at::text AS at FROM wrappers_here($1, $2)
     WHERE ask_at < statement_timestamp() AND (ask_at, session_id) > ($3::timestamptz, $4)
       AND state = 'ready' AND reason IS DISTINCT FROM 'disk_low'
     ORDER BY ask_at, session_id
     LIMIT 4 * $5::int
)
SELECT * FROM due
 WHERE pg_try_advisory_lock(hashtextextended(session_id, 3))
 LIMIT $5::int;

-- name: sessions_unlock
-- params: sessions
SELECT count(pg_advisory_unlock(hashtextextended(id, 3)))
  FROM jsonb_array_elements_text($1::jsonb) AS t (id);

-- name: sessions_asked
-- params: spec
SELECT sessions_asked($1::jsonb);

-- name: due_orphans
-- params: seconds, limit
-- Sessions that have been initializing for too long, whatever their lease says.
-- seen_row: stop_requests() ignores the session if its row has changed since.
SELECT s.id AS session_id, s.xmin::text AS seen_row
  FROM session s
 WHERE s.state = 'initializing'
   AND s.initializing_since < statement_timestamp() - make_interval(secs => $1::int)
   AND (s.setup_sealed IS NULL OR s.initializing_since
           < statement_timestamp() - make_interval(secs => $1::int + s.setup_seconds))
 ORDER BY s.initializing_since
 LIMIT $2::int;

-- name: due_expired
-- params: limit
SELECT s.id AS session_id, s.xmin::text AS seen_row
  FROM session s
 WHERE s.expires_at < statement_timestamp() AND s.state NOT IN ('deleting', 'deleted')
 ORDER BY s.expires_at
 LIMIT $1::int;

-- name: due_old
-- params: seconds, limit
-- Sessions whose wrapper has run too long without a sleep.
SELECT s.id AS session_id, s.xmin::text AS seen_row
  FROM session s
 WHERE s.state = 'ready' AND NOT s.keep_alive
   AND s.started_at < statement_timestamp() - make_interval(secs => $1::int)
 ORDER BY s.started_at
 LIMIT $2::int;

-- name: due_retention
-- params: days, limit
-- Sessions that are lost or failed for as long as they are kept: they are deleted.  At
-- once, if the create died before it could take the session back.
SELECT s.id AS session_id, s.xmin::text AS seen_row
  FROM session s
 WHERE s.state IN ('failed', 'lost')
   AND (s.ended_at < statement_timestamp() - make_interval(days => $1::int)
        OR s.state = 'failed' AND session_is_nobodys(s))
 ORDER BY s.ended_at
 LIMIT $2::int;

-- name: due_lost_leases
-- params: seconds, limit
-- Leases that own a wrapper and whose session's row is gone.
SELECT l.session_id
  FROM lease l
 WHERE l.session_gone AND l.state <> 'none' AND l.state = 'owns_wrapper'
   AND l.changed_at < statement_timestamp() - make_interval(secs => $1::int)
 ORDER BY l.changed_at
 LIMIT $2::int;

-- name: stop_lost_leases
-- params: spec
-- Requests a stop, which only a look that proves absence fulfils.
SELECT x.id
  FROM jsonb_array_elements_text($1::jsonb->'sessions') AS x (id),
       lease_apply(x.id, 'request_stop', $1::jsonb - 'sessions') a
 WHERE a.applied;

-- name: stop_requests
-- params: kind, spec
SELECT id FROM stop_requests($1, $2::jsonb) AS t (id);

-- name: stop_watchdogs
-- params: limit, retry, trace_id
-- Attempts that ran out of time: back to stop_needed, with their back-off.
SELECT count(*) FILTER (WHERE a.applied) AS expired
  FROM (SELECT session_id, attempt_id FROM lease
         WHERE state = 'stopping' AND attempt_deadline < statement_timestamp()
         ORDER BY attempt_deadline
         LIMIT $1::int
           FOR UPDATE SKIP LOCKED) l,
       lease_apply(l.session_id, 'stop_attempt_expired',
           jsonb_build_object('attempt', l.attempt_id, 'retry', $2::jsonb,
               'trace', $3::text)) a;

-- name: due_stops
-- params: host, limit
-- For a dry run; stop_claim takes them.
SELECT l.session_id
  FROM lease l LEFT JOIN sandbox b ON b.id = l.sandbox_id
 WHERE l.state = 'stop_needed' AND l.next_attempt_at < statement_timestamp()
   AND (b.id IS NULL OR b.host IN ('', $1) OR b.state IN ('absent', 'stopped'))
 ORDER BY l.attempts > 0, l.next_attempt_at
 LIMIT $2::int;

-- name: stops_failing
-- params: attempts, limit
-- Stops that have failed so often; they are still repeated.
SELECT l.session_id, l.attempts, coalesce(l.reason, '') AS reason,
       coalesce(l.last_error, '') AS last_error
  FROM lease l
 WHERE l.state = 'stop_needed' AND l.attempts >= $1::int
 ORDER BY l.attempts DESC, l.session_id
 LIMIT $2::int;

-- name: due_deletions
-- params: host, limit, left
-- Deletions whose wrapper is gone, and files, sandbox or row are not.  left: an array of
-- those that failed in this pass; without it they would hold up the others.  Takes the
-- sandbox's advisory lock; skips sandboxes whose lock is held, and those whose next
-- attempt is not yet due.
WITH due AS MATERIALIZED (
    SELECT s.id AS session_id, l.generation, b.id AS sandbox_id, b.incarnation
      FROM session s
      JOIN lease l ON l.session_id = s.id
      JOIN sandbox b ON b.id = s.sandbox_id
     WHERE s.state = 'deleting' AND l.state = 'none' AND b.host IN ('', $1)
       AND NOT $3::jsonb ? s.id AND (b.state <> 'destroying' OR b.deadline < statement_timestamp())
     ORDER BY s.id
     LIMIT 20 * $2::int
)
SELECT * FROM due
 WHERE pg_try_advisory_lock(hashtextextended(sandbox_id, 0))
 LIMIT $2::int;

-- name: settle_sleepers
-- params: limit, trace_id
SELECT sleepers_settle($1::int, $2) AS settled;

-- name: due_failed_files
-- params: host, seconds, limit
-- Failed sessions whose files have been kept long enough.
SELECT s.id AS session_id, s.sandbox_id
  FROM session s
  JOIN lease l ON l.session_id = s.id
  JOIN sandbox b ON b.id = s.sandbox_id
 WHERE s.state = 'failed' AND s.files_dropped_at IS NULL AND l.state = 'none'
   AND s.ended_at < statement_timestamp() - make_interval(secs => $2::int)
   AND b.host IN ('', $1)
 ORDER BY s.ended_at
 LIMIT $3::int;

-- name: files_dropping
-- params: session_id
-- No row: the session was resumed.
SELECT $1 AS id FROM session_drop_files($1, false, NULL) done WHERE done;

-- name: due_idle_sandboxes
-- params: host, idle_seconds, limit
-- Sandboxes in which no lease owns a wrapper: shared ones after their grace; at once a
-- session's own, and any while the service is draining.  None before the deadline of
-- the program that last acted on it.
SELECT b.id, b.incarnation
  FROM sandbox b
 WHERE b.state IN ('creating', 'running') AND b.host = $1
   AND NOT EXISTS (SELECT FROM lease l WHERE l.sandbox_id = b.id AND l.state <> 'none')
   AND coalesce(b.deadline, '-infinity') < statement_timestamp()
   AND (b.id LIKE 'ses-%' OR (SELECT draining FROM installation) OR coalesce(b.idle_since, b.changed_at) <
            statement_timestamp() - make_interval(secs => $2::int))
 LIMIT $3::int;

-- name: due_destroys
-- params: host, limit
SELECT id, incarnation FROM sandbox
 WHERE state = 'destroying' AND host = $1 AND deadline < statement_timestamp()
 LIMIT $2::int;

-- name: forget_old
-- params: retention_days, limit, retention_sessions
-- Deletes rows past their retention, the oldest ones of a tenant that has too many, and
-- rows that are only needed for a day.  Deleted
-- sessions are counted only of tenants that created one in the last hour: only these
-- can have become too many.
WITH past AS MATERIALIZED (
    SELECT id FROM session
     WHERE state = 'deleted'
       AND ended_at < statement_timestamp() - make_interval(days => $1::int)
     ORDER BY ended_at
     LIMIT $2::int
       FOR UPDATE SKIP LOCKED
), many AS MATERIALIZED (
    SELECT x.id
      FROM quota q
     CROSS JOIN LATERAL (SELECT s.id FROM session s
                          WHERE s.tenant = q.tenant AND s.state = 'deleted'
                          ORDER BY s.ended_at DESC
                         OFFSET $3::int LIMIT $2::int) x -- FOR UPDATE here would also lock the rows that OFFSET skips
     WHERE $3::int > 0 AND q.minute_at > statement_timestamp() - interval '1 hour'
), old AS (
    DELETE FROM session s USING lease l
     WHERE s.id = ANY (ARRAY(SELECT id FROM past UNION SELECT id FROM many))
       AND l.session_id = s.id AND l.state = 'none'
    RETURNING s.id, s.sandbox_id
), leases AS (
    DELETE FROM lease l WHERE l.session_id = ANY (ARRAY(SELECT id FROM old))
), events AS ( -- ids follow time: only the oldest are read, and none if the first is too young
    DELETE FROM event
     WHERE id = ANY (ARRAY(SELECT id FROM event ORDER BY id
                            LIMIT CASE WHEN (SELECT at FROM event ORDER BY id LIMIT 1)
                                            < statement_timestamp() - make_interval(days => $1::int)
                                       THEN 10 * $2::int ELSE 0 END))
       AND at < statement_timestamp() - make_interval(days => $1::int)
), audits AS ( -- as events
    DELETE FROM audit
     WHERE id = ANY (ARRAY(SELECT id FROM audit ORDER BY id
                            LIMIT CASE WHEN (SELECT at FROM audit ORDER BY id LIMIT 1)
                                            < statement_timestamp() - make_interval(days => $1::int)
                                       THEN $2::int ELSE 0 END))
       AND at < statement_timestamp() - make_interval(days => $1::int)
), keys AS (
    DELETE FROM idempotency
     WHERE ctid = ANY (ARRAY(SELECT ctid FROM idempotency
                              WHERE created_at < statement_timestamp() - interval '24 hours'
                              ORDER BY created_at
                              LIMIT 100 * $2::int))
), many_keys AS ( -- a tenant has at most so many; one comes with a create
    DELETE FROM idempotency
     WHERE ctid = ANY (ARRAY(SELECT k.ctid
                               FROM quota q
                              CROSS JOIN LATERAL (SELECT x.ctid FROM idempotency x
                                                   WHERE x.tenant = q.tenant
                                                   ORDER BY x.created_at DESC
                                                  OFFSET 100000 LIMIT 100 * $2::int) k
                              WHERE q.minute_at > statement_timestamp() - interval '1 hour'))
       AND created_at >= statement_timestamp() - interval '24 hours'
), logins AS (
    DELETE FROM login WHERE expires_at < statement_timestamp()
), tickets AS ( -- a request that has one may still be on its way
    DELETE FROM ticket WHERE expires_at < statement_timestamp() - interval '5 minutes'
), runs AS (
    DELETE FROM reaper_run
     WHERE id = ANY (ARRAY(SELECT id FROM reaper_run ORDER BY id
                            LIMIT CASE WHEN (SELECT started_at FROM reaper_run ORDER BY id LIMIT 1)
                                            < statement_timestamp() - make_interval(days => $1::int)
                                       THEN $2::int ELSE 0 END))
       AND started_at < statement_timestamp() - make_interval(days => $1::int)
)
SELECT count(*) AS forgotten FROM old;

-- name: forget_sandboxes
-- params: limit
-- Deletes destroyed sandboxes of one session whose row is gone: the id is never used
-- again.  After a day no late message about it can be under way.  One that is not
-- destroyed yet is looked at again a day later.
WITH due AS MATERIALIZED (
    SELECT u.sandbox_id FROM sandbox_unused u
     WHERE u.since < statement_timestamp() - interval '1 day'
     ORDER BY u.since
     LIMIT $1::int
       FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM sandbox b
     WHERE b.id = ANY (ARRAY(SELECT sandbox_id FROM due))
       AND b.state = 'absent' AND b.changed_at < statement_timestamp() - interval '1 day'
       AND NOT EXISTS (SELECT FROM session s WHERE s.sandbox_id = b.id)
       AND NOT EXISTS (SELECT FROM lease l WHERE l.sandbox_id = b.id AND l.state <> 'none')
    RETURNING b.id
), later AS (
    UPDATE sandbox_unused u SET since = clock_timestamp()
      FROM due JOIN sandbox b ON b.id = due.sandbox_id
     WHERE u.sandbox_id = due.sandbox_id AND due.sandbox_id NOT IN (SELECT id FROM gone)
)
DELETE FROM sandbox_unused u
 WHERE u.sandbox_id IN (SELECT sandbox_id FROM due)
   AND (u.sandbox_id IN (SELECT id FROM gone)
        OR NOT EXISTS (SELECT FROM sandbox b WHERE b.id = u.sandbox_id));

-- name: reaper_run_add
-- params: host, duration_ms, summary
INSERT INTO reaper_run (host, started_at, duration_ms, scanned, stopped, orphans, stuck, old,
       failures, summary)
SELECT $1, clock_timestamp() - make_interval(secs => $2::double precision / 1000), $2::bigint,
       n.scanned, n.stopped, n.orphans, n.stuck, n.old, n.failures, $3::jsonb
  FROM jsonb_to_record($3::jsonb) AS n (scanned bigint, stopped bigint, orphans bigint,
       stuck bigint, old bigint, failures bigint);

-- name: reaper_run_last
-- params: host
-- The part that the last pass did not reach, and the time.
SELECT (SELECT summary->>'next' FROM reaper_run WHERE host = $1 ORDER BY id DESC LIMIT 1) AS next,
       clock_timestamp()::text AS at;

-- name: reaper_runs
-- params: before, page
-- Newest first; before is an id.
SELECT id,
       n.summary || jsonb_build_object('id', id, 'host', host, 'startedAt', iso(started_at),
           'durationMs', duration_ms, 'scanned', scanned, 'stopped', stopped, 'orphans', orphans,
           'stuck', stuck, 'old', old, 'failures', failures) AS json
  FROM reaper_run n
 WHERE id < $1::bigint
 ORDER BY id DESC
 LIMIT $2::int;

-- name: pass_lock
-- params: name
SELECT pg_try_advisory_lock(hashtextextended($1, 2)) AS locked, clock_timestamp()::text AS at;

-- name: pass_unlock
-- params: name
SELECT pg_advisory_unlock(hashtextextended($1, 2));
