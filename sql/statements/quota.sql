-- Quotas of an org, and how much of them is used.

-- name: quota_usage
-- params: tenant
-- Always one row, also for a tenant that has done nothing yet.
SELECT quota_limit(q.max_sessions, 'quota_sessions') AS max_sessions,
       quota_limit(q.max_active, 'quota_active') AS max_active,
       quota_limit(q.creates_per_minute, 'quota_creates_per_minute') AS creates_per_minute,
       10 * quota_limit(q.creates_per_minute, 'quota_creates_per_minute') AS finds_per_minute,
       quota_limit(q.max_previews, 'quota_previews') AS max_previews,
       quota_limit(q.max_disk_mb, 'quota_disk_mb') AS max_disk_mb,
       quota_limit(q.max_snapshots, 'quota_snapshots') AS max_snapshots,
       quota_limit(q.max_snapshot_mb, 'quota_snapshot_mb') AS max_snapshot_mb,
       coalesce(q.sessions, 0) AS sessions, coalesce(q.active, 0) AS active,
       coalesce(q.previews, 0) AS previews, coalesce(q.disk_mb, 0) AS disk_mb,
       n.snapshots, (n.bytes + (1 << 20) - 1) >> 20 AS snapshot_mb,
       CASE WHEN q.tenant IS NULL THEN 0
            ELSE floor(quota_creates(q, clock_timestamp())) END AS creates,
       CASE WHEN q.tenant IS NULL THEN 0
            ELSE floor(quota_creates(quota_as_finds(q), clock_timestamp())) END AS finds
  FROM snapshot_count($1) n LEFT JOIN quota q ON q.tenant = $1;

-- name: session_states
-- params: tenant
-- Counts sessions that are not deleted.  The two states that have the most sessions are what
-- is left of the quota's counters, which are of the same snapshot; the others are counted.
WITH few AS MATERIALIZED (
    SELECT one.state, (SELECT count(*) FROM session s
                        WHERE s.tenant = $1 AND s.state = one.state) AS sessions
      FROM unnest('{initializing,sleeping,deleting,failed,lost}'::text[]) one (state)
), n AS MATERIALIZED (
    SELECT q.sessions, q.active - frozen.n AS awake,
           (SELECT sum(sessions) FROM few WHERE state IN ('initializing', 'sleeping')) AS moving,
           (SELECT sum(sessions) FROM few WHERE state IN ('deleting', 'failed', 'lost')) AS ended
      FROM quota q
     CROSS JOIN (SELECT count(*) AS n FROM session s
                  WHERE s.tenant = $1 AND s.state = 'asleep' AND s.suspended_at IS NOT NULL) frozen
     WHERE q.tenant = $1
)
SELECT state, sessions FROM few
UNION ALL
SELECT 'ready', n.awake - n.moving FROM n
UNION ALL
SELECT 'asleep', n.sessions - n.awake - n.ended FROM n;

-- name: quota_set
-- params: tenant, max_sessions, max_active, creates_per_minute, max_previews, max_disk_mb, max_snapshots, max_snapshot_mb
-- NULL leaves a limit alone, 'inherit' makes it the service's own.  No row: no such
-- org.
SELECT quota_set(id, ARRAY[$2, $3, $4, $5, $6, $7, $8]) FROM org WHERE id = $1;

-- name: quota_recount
-- params: tenant
-- Answers a row for each counter that was wrong, as text.
SELECT counter, was, is_now FROM quota_recount($1);

-- name: org_list
-- params: org
-- '': all of them.
SELECT id FROM org WHERE $1 = '' OR id = $1 ORDER BY id;
