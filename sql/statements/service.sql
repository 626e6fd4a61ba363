-- The installation as a whole.

-- name: installation
SELECT id::text, draining FROM installation;

-- name: rehearse_start
SELECT set_config('synchronous_commit', 'off', true), rehearse_start();

-- name: ping
SELECT 1;

-- name: migration_applied
-- params: name
SELECT 1 FROM schema_migration WHERE name = $1;

-- name: classes_known
-- The classes that a create may name.  Without rootfs: it is a path of the host.
SELECT name, json_build_object('name', name, 'provider', provider, 'memoryMb', memory_mb,
           'cpuMillis', cpu_millis, 'diskMb', disk_mb, 'pids', pids,
           'cpuSeconds', cpu_seconds, 'wallSeconds', wall_seconds,
           'writableRoot', writable_root,
           'network', network_max) AS json
  FROM class
 ORDER BY name;

-- name: presets_known
SELECT json_build_object('name', name, 'allow', to_json(allow)) AS json
  FROM network_preset
 ORDER BY name;

-- name: profiles_known
-- params: tenant
-- The profiles that count for a tenant.
SELECT profile_json(f) AS json
  FROM (SELECT DISTINCT ON (agent_type) * FROM profile WHERE tenant IN ('', $1)
         ORDER BY agent_type, tenant DESC) f
 ORDER BY agent_type;

-- name: profile_get
-- params: tenant, agent_type
SELECT profile_json(f) AS json FROM profile_of($1, $2) f WHERE f.agent_type IS NOT NULL;

-- name: profile_command
-- params: tenant, agent_type
SELECT f.command FROM profile_of($1, $2) f WHERE f.agent_type IS NOT NULL;

-- name: profile_put
-- params: tenant, agent_type, spec
SELECT profile_put($1, $2, $3::jsonb) AS made;

-- name: profile_delete
-- params: tenant, agent_type, spec
SELECT profile_delete($1, $2, $3::jsonb) AS deleted;

-- name: set_draining
-- params: draining
WITH i AS (UPDATE installation SET draining = $1::boolean RETURNING draining)
INSERT INTO audit (kind, severity, detail)
SELECT CASE WHEN i.draining THEN 'drain' ELSE 'undrain' END, 'info',
       jsonb_build_object('by', event_actor())
  FROM i;

-- name: drain_requests
-- Sessions that have a wrapper or may have one; the caller puts them to sleep.
SELECT l.session_id
  FROM lease l
 WHERE l.state <> 'none';

-- name: drain_sandboxes
-- params: host
SELECT id, incarnation FROM sandbox WHERE state IN ('creating', 'running') AND host = $1;

-- name: drain_left
-- How many leases are not released, and how many sandboxes run.
SELECT (SELECT count(*) FROM lease WHERE state <> 'none') AS leases,
       (SELECT count(*) FROM sandbox WHERE state IN ('creating', 'running'))
       + (SELECT count(*) FROM warm) AS sandboxes;

-- name: drain_members
-- params: host
SELECT session_id, sandbox_id, incarnation FROM warm WHERE host = $1;

-- name: health
-- params: alert_attempts, late_seconds
-- active: by the quotas' counters, without what is frozen.  lost: leases without a session's
-- row.  failing: stops that have failed so often.
-- reaper_late: no pass has begun for so long, or none since the first session.
SELECT (SELECT coalesce(sum(q.active), 0) FROM quota q)
       - (SELECT count(*) FROM session WHERE state = 'asleep' AND suspended_at IS NOT NULL) AS active,
       (SELECT draining FROM installation) AS draining,
       iso(r.started_at) AS reaped,
       coalesce(coalesce(r.started_at, (SELECT min(created_at) FROM session))
                < clock_timestamp() - make_interval(secs => $2::int), false) AS reaper_late,
       (SELECT count(*) FROM lease WHERE session_gone AND state <> 'none') AS lost,
       (SELECT count(*) FROM lease WHERE state = 'stop_needed' AND attempts >= $1::int)
       + (SELECT count(*) FROM lease WHERE state = 'stopping' AND attempts >= $1::int) AS failing,
       health_starts_fail() AS starts_fail
  FROM (SELECT 1) one
  LEFT JOIN LATERAL (SELECT started_at FROM reaper_run ORDER BY id DESC LIMIT 1) r ON true;

-- name: class_writable_root
-- params: name
SELECT writable_root FROM class WHERE name = $1;

-- name: rootfs_classes
-- params: rootfs
SELECT name FROM class WHERE rootfs = $1 ORDER BY name;
