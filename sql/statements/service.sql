-- The installation as a whole.

-- name: installation
SELECT id::text, draining FROM installation;

-- name: ping
SELECT 1;

-- name: classes_known
-- What a session may be created with.  rootfs is a path of the host's.
SELECT name, json_build_object('name', name, 'provider', provider, 'memoryMb', memory_mb,
           'cpuMillis', cpu_millis, 'diskMb', disk_mb, 'pids', pids,
           'network', json_build_object('mode', network)) AS json
  FROM class
 ORDER BY name;

-- name: set_draining
-- params: draining
WITH i AS (UPDATE installation SET draining = $1::boolean RETURNING draining)
INSERT INTO audit (kind, severity, detail)
SELECT CASE WHEN i.draining THEN 'drain' ELSE 'undrain' END, 'info',
       jsonb_build_object('by', event_actor())
  FROM i;

-- name: drain_wishes
-- Everything that runs or may run, to be put to sleep.
SELECT l.session_id
  FROM lease l
 WHERE l.state <> 'none';

-- name: drain_sandboxes
-- params: host
SELECT id, incarnation FROM sandbox WHERE state IN ('creating', 'running') AND host = $1;

-- name: drain_left
-- What is still in the way of having nothing running.
SELECT (SELECT count(*) FROM lease WHERE state <> 'none') AS leases,
       (SELECT count(*) FROM sandbox WHERE state IN ('creating', 'running')) AS sandboxes;

-- name: health
SELECT (SELECT count(*) FROM session WHERE state IN ('initializing', 'ready', 'sleeping')) AS active,
       (SELECT draining FROM installation) AS draining,
       (SELECT iso(started_at) FROM reaper_run ORDER BY id DESC LIMIT 1) AS reaped;
