-- Sessions: reads of the API, and the intents and outcomes of control/.

-- name: session_create
-- params: spec
-- A worker that commits an intent holds the session's start lock until the outcome, so
-- that others wait for this start instead of trying again.  Like sandbox_lock it ends
-- with its connection and only avoids double work.
SELECT p.*, x.*, CASE WHEN p.disposition = 'created' THEN
           pg_try_advisory_lock(hashtextextended(p.session_id, 4)) END AS start_lock,
       false AS started
  FROM session_create($1::jsonb) p CROSS JOIN LATERAL start_more(p.session_id) x;

-- name: session_restart
-- params: session_id, spec
SELECT p.*, x.*, pg_try_advisory_lock(hashtextextended(p.session_id, 4)) AS start_lock,
       (SELECT started_at IS NOT NULL FROM session WHERE id = $1) AS started
  FROM session_restart($1, $2::jsonb) p CROSS JOIN LATERAL start_more(p.session_id) x;

-- name: start_again
-- params: session_id
-- A start_plan for a start whose worker left it or died.
SELECT s.id AS session_id, b.id AS sandbox_id, b.state AS sandbox_state, b.incarnation, b.epoch,
       c.provider, c.rootfs, c.memory_mb, c.cpu_millis, c.disk_mb, c.pids, l.generation,
       l.instance, s.env_sealed, s.files_sealed,
       session_ports(s.id) AS ports, s.started_at IS NOT NULL AS started, x.*
  FROM session s
  JOIN lease l ON l.session_id = s.id
  JOIN sandbox b ON b.id = s.sandbox_id
  JOIN class c ON c.name = b.class
 CROSS JOIN LATERAL start_more(s.id) x
 WHERE s.id = $1;

-- name: setup_said
-- params: session_id, spec
SELECT setup_said($1, $2::jsonb) AS written;

-- name: setup_ended
-- params: session_id, spec
SELECT setup_ended($1, $2::jsonb) AS applied;

-- name: session_reuse
-- params: session_id, spec
-- Intent to reuse the wrapper that a look has found.
SELECT applied, why FROM lease_apply($1, 'reuse', $2::jsonb);

-- name: session_verified
-- params: session_id, spec
-- Outcome of a start.  spec.unlock: releases the start lock, which this worker holds;
-- spec.show: the session is shown next.
SELECT v.applied, a.env_sealed, v.applied AND a.has_ports AS has_ports, a.network_mode, a.json,
       CASE WHEN $2::jsonb ? 'unlock' THEN
           pg_advisory_unlock(hashtextextended($1, 4)) END AS unlocked
  FROM session_verified($1, $2::jsonb) v (applied)
 CROSS JOIN LATERAL session_after_start($1, v.applied AND $2::jsonb ? 'show') a;

-- name: session_env_ports
-- params: session_id
SELECT env_sealed, ports FROM session_env_ports($1, true);

-- name: start_unlock
-- params: session_id
-- No warning when the lock is not held.
SELECT count(pg_advisory_unlock(x.h))
  FROM (SELECT hashtextextended($1, 4) AS h) x
  JOIN pg_locks l ON l.locktype = 'advisory' AND l.pid = pg_backend_pid() AND l.granted
   AND l.mode = 'ExclusiveLock' AND l.objsubid = 1
   AND ((l.classid::bigint << 32) | l.objid::bigint) = x.h;

-- name: start_unlock_all
-- Releases every session-level lock of this connection.  A create that was rolled back may
-- hold the start lock of a member of the warm pool, which another create, of another
-- tenant, may have claimed since: its id is not known any more.
SELECT pg_advisory_unlock_all();

-- name: start_wait
-- params: session_id
-- Waits until no worker holds the start lock; at most lock_timeout.
SELECT pg_advisory_lock_shared(x.h), pg_advisory_unlock_shared(x.h)
  FROM (SELECT hashtextextended($1, 4) AS h) x;

-- name: start_under_way
-- params: session_id
SELECT CASE WHEN pg_try_advisory_lock_shared(x.h) THEN NOT pg_advisory_unlock_shared(x.h)
            ELSE true END AS under_way
  FROM (SELECT hashtextextended($1, 4) AS h) x;

-- name: session_request_stop
-- params: session_id, kind, spec
SELECT session_request_stop($1, $2, $3::jsonb) AS state;

-- name: session_take_back
-- params: session_id, spec
SELECT coalesce(session_take_back($1, $2::jsonb), '') AS state;

-- name: session_fell_back
-- params: session_id, why, spec
SELECT session_fell_back($1, $2, $3::jsonb) AS applied;

-- name: idempotency_forget
-- params: tenant, user, key, session_id
DELETE FROM idempotency
 WHERE tenant = $1 AND user_id = $2 AND key = $3 AND session_id = $4;

-- name: stop_begin
-- params: session_id, spec
SELECT * FROM session_stop_begin($1, $2::jsonb);

-- name: stop_claim
-- params: spec
SELECT * FROM stop_claim($1::jsonb);

-- name: stop_raise
-- params: spec
SELECT session_id FROM stop_raise($1::jsonb) AS t (session_id);

-- name: stop_outcomes
-- params: spec
SELECT * FROM stop_outcomes($1::jsonb);

-- name: sessions_deleted
-- params: spec
SELECT id FROM sessions_deleted($1::jsonb) AS t (id);

-- name: session_sandbox_gone
-- params: session_id, spec
SELECT session_sandbox_gone($1, $2::jsonb) AS done;

-- name: session_adopt_sandbox
-- params: session_id, sandbox_id, class
-- A row that predates sandbox ids gets its own, once; the stored one wins.
WITH b AS (
    INSERT INTO sandbox AS b (id, tenant, class)
    SELECT $2, s.tenant, $3 FROM session s WHERE s.id = $1 AND s.sandbox_id IS NULL
    ON CONFLICT (id) DO UPDATE SET tenant = b.tenant
    RETURNING id
), l AS (
    UPDATE lease l SET sandbox_id = b.id FROM b WHERE l.session_id = $1 AND l.sandbox_id IS NULL
)
UPDATE session s SET sandbox_id = b.id FROM b
 WHERE s.id = $1 AND s.sandbox_id IS NULL;

-- name: session_look
-- params: session_id, tenant
-- Everything control/ must know before it acts; tenant '' is the reaper.
SELECT s.id, s.state, s.reason, s.tenant, s.org, s.user_id, s.bot, s.isolation, s.class,
       coalesce(s.sandbox_id, '') AS sandbox_id, s.activity_seq, s.keep_alive,
       s.suspend, s.suspended_at IS NOT NULL AS suspended,
       s.setup_sealed IS NOT NULL AS setup,
       g.gone, g.gone AND s.started_at IS NULL AS cut_short, g.put_to_sleep,
       l.state AS lease, l.generation, coalesce(l.instance, '') AS instance,
       greatest(ms_between(clock_timestamp(), l.next_attempt_at), 0) AS stop_due_ms,
       coalesce(b.state, 'absent') AS sandbox_state,
       coalesce(b.incarnation, '') AS incarnation, coalesce(b.epoch, 0) AS epoch,
       coalesce(b.host, '') AS host, coalesce(b.boot_id, '') AS boot_id,
       c.provider, c.rootfs, c.writable_root, c.memory_mb, c.cpu_millis, c.disk_mb, c.pids,
       network_mode(s) AS network_mode
  FROM session s
  JOIN lease l ON l.session_id = s.id
  LEFT JOIN sandbox b ON b.id = s.sandbox_id
  JOIN class c ON c.name = coalesce(b.class, s.class)
 CROSS JOIN LATERAL (SELECT s.state = 'asleep' AND coalesce(s.reason, '') IN (
                            'sandbox_gone', 'wrapper_gone') AS gone,
                            s.state = 'asleep' AND coalesce(s.reason, '') IN (
                            'user-interrupt', 'idle-timeout', 'max_run_time', 'too-old', 'shutdown',
                            'disk_limit') AS put_to_sleep) g
 WHERE s.id = $1 AND ($2 = '' OR s.tenant = $2);

-- name: session_get
-- params: session_id, tenant
SELECT session_json(s) AS json FROM session s WHERE s.id = $1 AND s.tenant = $2;

-- name: session_list
-- params: tenant, state, label_key, label_value, before_at, before_id, page, correlation_key
-- Newest first; the cursor is the last row's (created_at, id).
SELECT * FROM session_page($1, $2, $3, $4, $5, $6, $7::int, $8);

-- name: session_patch
-- params: session_id, tenant, spec
SELECT session_patch($1, $2, $3::jsonb);

-- name: session_set_keys
-- params: session_id, tenant, keys, key
-- keys: JSON, all keys that the session shall have; or NULL, and key is removed.
SELECT session_set_keys($1, $2,
    CASE WHEN $3::jsonb IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text($3::jsonb)) END,
    $4) AS done;

-- name: session_env
-- params: session_id, tenant
SELECT coalesce(env_sealed, '') AS env_sealed, state, coalesce(base_url, '') AS base_url
  FROM session WHERE id = $1 AND tenant = $2;

-- name: session_set_env
-- params: session_id, tenant, seen, env, spec
-- Replaces the sealed environment, which only the caller can decrypt and merge, if it is
-- still the one that the caller read.  No row: it has changed meanwhile.  The event has
-- names, never values.
WITH s AS (
    UPDATE session SET env_sealed = $4
     WHERE id = $1 AND tenant = $2 AND coalesce(env_sealed, '') = $3
       AND state NOT IN ('deleting', 'deleted')
    RETURNING id
)
SELECT id, event_change(id, 'env', $5::jsonb, jsonb_build_object('env', $5::jsonb->'env'))
  FROM s;

-- name: session_extend
-- params: session_id, tenant, seconds
-- Moves the idle date to at least this long from now; never nearer.
WITH s AS (
    UPDATE session
       SET extended_until = greatest(extended_until,
               clock_timestamp() + make_interval(secs => $3::int))
     WHERE id = $1 AND tenant = $2 AND state = 'ready'
    RETURNING id, keep_alive, extended_until
)
UPDATE lease l
   SET keep_warm_until = CASE WHEN s.keep_alive THEN NULL ELSE
           greatest(l.keep_warm_until, s.extended_until) END
  FROM s
 WHERE l.session_id = s.id AND l.state = 'owns_wrapper'
RETURNING l.session_id;

-- name: event_add
-- params: session_id, kind, what, generation, trace_id, detail
-- Under the lease's lock, as all events: see event_steps.
WITH l AS MATERIALIZED (SELECT session_id FROM lease WHERE session_id = $1 FOR UPDATE)
INSERT INTO event (session_id, kind, what, generation, trace_id, detail, actor)
SELECT $1, $2, $3, $4::bigint, $5, $6::jsonb, event_actor()
  FROM (SELECT count(*) FROM l) locked;

-- name: event_once
-- params: session_id, kind, what, generation, trace_id, detail
-- The same, unless the session has such an event already.
WITH l AS MATERIALIZED (SELECT session_id FROM lease WHERE session_id = $1 FOR UPDATE)
INSERT INTO event (session_id, kind, what, generation, trace_id, detail, actor)
SELECT $1, $2, $3, $4::bigint, $5, $6::jsonb, event_actor()
  FROM (SELECT count(*) FROM l) locked
 WHERE NOT EXISTS (SELECT FROM event e
                    WHERE e.session_id = $1 AND e.kind = $2 AND e.what = $3);

-- name: session_told
-- params: session_id
SELECT session_told($1);

-- name: due_initializing
-- params: host
-- Starts that their worker left at its client's deadline, or in which it died.  A start
-- can hang and use up all the time, so tenants take turns, in random order.  A session
-- without a sandbox belongs to the host that took the create.  Thaws are not here: the
-- reaper finishes them (due_suspends).
SELECT s.id AS session_id
  FROM session s JOIN sandbox b ON b.id = s.sandbox_id
 WHERE s.state = 'initializing' AND s.suspend_deadline IS NULL
   AND $1 = CASE b.host WHEN '' THEN b.disk_host ELSE b.host END
 ORDER BY row_number() OVER (PARTITION BY s.tenant ORDER BY s.initializing_since), random()
 LIMIT 100;

-- name: keys_take
-- params: session_id, keys, trace_id
SELECT keys_take($1, $2::jsonb, $3);
