-- The warm pool (sql/functions/warm.sql).

-- name: warm_begin
-- params: spec
-- A start_plan for a member, with the columns of start_more().  No row: there are enough.
SELECT w.session_id, w.sandbox_id, 'creating' AS sandbox_state, w.incarnation, 1 AS epoch,
       c.provider, c.rootfs, c.memory_mb, c.cpu_millis, c.disk_mb, c.pids, 1 AS generation,
       w.instance, NULL AS env_sealed, NULL AS files_sealed, NULL AS ports, NULL AS org,
       NULL AS user_id, NULL AS session_name, NULL AS tenant, NULL AS snapshot,
       NULL AS setup_sealed, 0 AS setup_seconds, 0 AS setup_offset, c.writable_root,
       c.memory_mb AS cell_memory_mb, c.disk_mb AS cell_disk_mb, c.pids AS cell_pids,
       NULL AS adoption, 'none' AS network_mode, false AS started
  FROM warm_begin($1::jsonb) w JOIN class c ON c.name = w.class;

-- name: warm_made
-- params: session_id, version
SELECT warm_made($1, $2) AS applied;

-- name: warm_pick
-- params: host, boot_id, class, shape
-- A member for a create that must know its session's id before it is written.  Nothing is
-- promised: the create asks for this one, and another may have taken it by then.
SELECT warm_pick($1, $2, $3, $4) AS session_id;

-- name: class_rootfs
-- params: class
SELECT rootfs FROM class WHERE name = $1;

-- name: warm_show
-- params:
-- members: of each host and class.  Hits and misses count since the database was made.
SELECT json_build_object('hits', h.last_value, 'misses', m.last_value, 'members', coalesce((
           SELECT json_agg(json_build_object('host', x.host, 'class', x.class, 'ready', x.ready,
                      'preparing', x.preparing, 'retiring', x.retiring) ORDER BY x.host, x.class)
             FROM (SELECT w.host, w.class, count(*) FILTER (WHERE w.state = 'ready') AS ready,
                          count(*) FILTER (WHERE w.state = 'preparing') AS preparing,
                          count(*) FILTER (WHERE w.state = 'retiring') AS retiring
                     FROM warm w GROUP BY w.host, w.class) x), '[]')) AS json
  FROM warm_hits h, warm_misses m;

-- name: warm_retire
-- params: session_id, seconds
SELECT warm_retire($1, $2::int) AS applied;

-- name: warm_ended
-- params: session_id
SELECT warm_ended($1) AS applied;

-- name: warm_members
-- params: host, boot_id, shapes, seen, since
-- All members of a host.  shapes: of each class that may have some.  seen: as of
-- sandbox_differences; a member that has changed since that list was made (`since`) is not
-- judged by it.
-- fits: a create could claim it; gone: it is ready no more.
SELECT w.session_id, w.sandbox_id, w.incarnation, w.class, w.state,
       coalesce(w.boot_id = $2 AND w.shape = warm_shape(c, $3::jsonb->>c.name), false)
           AND NOT (SELECT draining FROM installation) AS fits,
       coalesce(w.deadline < clock_timestamp(), false) AS overdue,
       w.changed_at < $5::timestamptz AND coalesce(s.presence, 'absent') <> 'unknown'
           AND NOT coalesce(s.presence = 'running' AND s.incarnation = w.incarnation, false)
           AS gone
  FROM warm w
  LEFT JOIN class c ON c.name = w.class
  LEFT JOIN jsonb_to_recordset($4::jsonb) AS s (id text, incarnation text, presence text)
    ON s.id = w.sandbox_id
 WHERE w.host = $1
 ORDER BY w.changed_at;
