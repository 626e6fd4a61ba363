-- The lists of sandlease-admin, over all tenants.  Each answers a JSON object for
-- each row, and `next`, with which the following page begins: src/admin/list.h.

-- name: key_list
-- params: org, next, page
-- org: the tenant's; '' is any.
SELECT json_build_object('id', k.id, 'org', k.org, 'user', k.user_id, 'bot', k.bot,
           'scope', k.scope, 'createdAt', iso(k.created_at), 'expiresAt', iso(k.expires_at),
           'revokedAt', iso(k.revoked_at),
           'ends', CASE WHEN k.revoked_at IS NOT NULL THEN 'revoked ' || iso(k.revoked_at)
                        ELSE iso(k.expires_at) END) AS json,
       concat_ws('|', k.created_at, k.id) AS next
  FROM api_key k
 WHERE ($1 = '' OR k.tenant = $1)
   AND ($2 = '' OR (k.created_at, k.id) >
                   (split_part($2, '|', 1)::timestamptz, split_part($2, '|', 2)))
 ORDER BY k.created_at, k.id
 LIMIT $3::int;

-- name: admin_orgs
-- params: next, page
-- Usage is read from the counters of quotas; sandlease-admin org recount corrects them.
SELECT json_build_object('org', o.id, 'isolation', o.isolation, 'network', o.network,
           'keys', (SELECT count(*) FROM api_key k WHERE k.tenant = o.id
                       AND k.revoked_at IS NULL AND coalesce(k.expires_at > clock_timestamp(), true)),
           'sessions', coalesce(q.sessions, 0), 'active', coalesce(q.active, 0),
           'previews', coalesce(q.previews, 0), 'diskMb', coalesce(q.disk_mb, 0),
           'snapshots', n.snapshots, 'snapshotMb', (n.bytes + (1 << 20) - 1) >> 20,
           'createdAt', iso(o.created_at),
           'ageSeconds', extract(epoch FROM clock_timestamp() - o.created_at)::bigint) AS json,
       o.id AS next
  FROM org o
  LEFT JOIN quota q ON q.tenant = o.id
 CROSS JOIN LATERAL snapshot_count(o.id) n
 WHERE o.id > $1
 ORDER BY o.id
 LIMIT $2::int;

-- name: admin_org
-- params: org
-- limit NULL: there is none.
SELECT json_build_object('org', o.id, 'isolation', o.isolation, 'salt', o.salt,
           'network', o.network, 'createdAt', iso(o.created_at),
           'keys', (SELECT json_build_object('living', count(*) FILTER (WHERE k.revoked_at IS NULL
                               AND coalesce(k.expires_at > clock_timestamp(), true)),
                           'all', count(*), 'users', count(DISTINCT k.user_id))
                      FROM api_key k WHERE k.tenant = o.id),
           'quotas', json_build_object(
               'sessions', quota_shown(q.max_sessions, 'quota_sessions', q.sessions),
               'active', quota_shown(q.max_active, 'quota_active', q.active),
               'createsPerMinute', quota_shown(q.creates_per_minute, 'quota_creates_per_minute',
                   CASE WHEN q.tenant IS NOT NULL
                        THEN floor(quota_creates(q, clock_timestamp()))::bigint END),
               'previews', quota_shown(q.max_previews, 'quota_previews', q.previews),
               'diskMb', quota_shown(q.max_disk_mb, 'quota_disk_mb', q.disk_mb),
               'snapshots', quota_shown(q.max_snapshots, 'quota_snapshots', n.snapshots),
               'snapshotMb', quota_shown(q.max_snapshot_mb, 'quota_snapshot_mb',
                   (n.bytes + (1 << 20) - 1) >> 20)),
           'states', (SELECT coalesce(json_object_agg(x.state, x.sessions), '{}')
                        FROM (SELECT s.state, count(*) AS sessions FROM session s
                               WHERE s.tenant = o.id GROUP BY s.state ORDER BY s.state) x)) AS json
  FROM org o
  LEFT JOIN quota q ON q.tenant = o.id
 CROSS JOIN LATERAL snapshot_count(o.id) n
 WHERE o.id = $1;

-- name: admin_sessions
-- params: org, user, state, host, name, deleted, next, page
-- Newest first.  deleted: those that are deleted, too; a state that is asked for
-- is shown anyway.
SELECT json_build_object('id', s.id, 'org', s.tenant, 'user', s.user_id, 'bot', s.bot,
           'name', s.name, 'state', s.state, 'reason', s.reason, 'lease', l.state,
           'generation', l.generation, 'class', coalesce(b.class, s.class),
           'isolation', s.isolation, 'sandboxId', s.sandbox_id, 'host', nullif(b.host, ''),
           'snapshot', s.snapshot_id, 'labels', s.labels, 'createdAt', iso(s.created_at),
           'lastActivityAt', iso(s.last_activity_at), 'expiresAt', iso(s.expires_at),
           'endedAt', iso(s.ended_at),
           'ageSeconds', extract(epoch FROM clock_timestamp() - s.created_at)::bigint) AS json,
       concat_ws('|', s.created_at, s.id) AS next
  FROM session s
  LEFT JOIN lease l ON l.session_id = s.id
  LEFT JOIN sandbox b ON b.id = s.sandbox_id
 WHERE ($1 = '' OR s.tenant = $1)
   AND ($2 = '' OR s.user_id = $2)
   AND (CASE WHEN $3 <> '' THEN s.state = $3 ELSE $6::boolean OR s.state <> 'deleted' END)
   AND ($4 = '' OR b.host = $4)
   AND ($5 = '' OR s.name = $5)
   AND ($7 = '' OR (s.created_at, s.id) <
                   (split_part($7, '|', 1)::timestamptz, split_part($7, '|', 2)))
 ORDER BY s.created_at DESC, s.id DESC
 LIMIT $8::int;

-- name: admin_session
-- params: session_id
SELECT json_build_object('owner', json_build_object('org', s.tenant, 'user', s.user_id,
               'bot', s.bot, 'keyId', s.key_id),
           'host', nullif(b.host, ''),
           'sandbox', json_build_object('id', b.id, 'state', b.state, 'class', b.class,
               'incarnation', b.incarnation, 'epoch', b.epoch, 'agentVersion', b.agent_version,
               'attempts', b.attempts, 'lastError', b.last_error),
           'diskUsedMb', s.disk_used_mb,
           'session', session_json(s)) AS json
  FROM session s
  LEFT JOIN sandbox b ON b.id = s.sandbox_id
 WHERE s.id = $1;

-- name: lease_list
-- params: only_lost, next, page
-- Leases in any state but none: first those whose session's row is gone, then those
-- that have not changed for the longest time.
SELECT json_build_object('session', x.session_id, 'state', x.state, 'generation', x.generation,
           'sessionRow', x.known, 'org', x.tenant, 'user', x.user_id, 'bot', x.bot,
           'sandbox', x.sandbox_id, 'host', nullif(x.host, ''), 'reason', x.reason,
           'attempts', x.attempts, 'changedAt', iso(x.changed_at),
           'lastError', x.last_error) AS json,
       concat_ws('|', x.known, x.changed_at, x.session_id) AS next
  FROM (SELECT l.session_id, l.state, l.generation, l.sandbox_id, l.reason, l.attempts,
               l.changed_at, l.last_error, s.id IS NOT NULL AS known,
               coalesce(s.tenant, b.tenant) AS tenant, s.user_id, s.bot, b.host
          FROM lease l
          LEFT JOIN session s ON s.id = l.session_id
          LEFT JOIN sandbox b ON b.id = l.sandbox_id
         WHERE l.state <> 'none' AND (s.id IS NULL OR NOT $1::boolean)) x
 WHERE $2 = '' OR (x.known, x.changed_at, x.session_id) >
       (split_part($2, '|', 1)::boolean, split_part($2, '|', 2)::timestamptz,
        split_part($2, '|', 3))
 ORDER BY x.known, x.changed_at, x.session_id
 LIMIT $3::int;

-- name: admin_classes
-- params: next, page
SELECT json_build_object('class', c.name, 'memoryMb', c.memory_mb, 'cpuMillis', c.cpu_millis,
           'diskMb', c.disk_mb, 'pids', c.pids, 'cpuSeconds', c.cpu_seconds,
           'wallSeconds', c.wall_seconds, 'rootfs', c.rootfs, 'writableRoot', c.writable_root,
           'provider', c.provider, 'network', c.network_max,
           'sandboxes', (SELECT count(*) FROM sandbox b
                          WHERE b.class = c.name AND b.state <> 'absent')) AS json,
       c.name AS next
  FROM class c
 WHERE c.name > $1
 ORDER BY c.name
 LIMIT $2::int;

-- name: class_add
-- params: name, spec
WITH c AS (
    INSERT INTO class (name, memory_mb, cpu_millis, disk_mb, pids, cpu_seconds, wall_seconds,
        rootfs, writable_root, network_max)
    SELECT $1, x.memory_mb, x.cpu_millis, x.disk_mb, x.pids, x.cpu_seconds, x.wall_seconds,
           coalesce(x.rootfs, ''),
           coalesce(x.writable_root, false),
           network_known(coalesce(x.network_max, '{"mode": "open"}'))
      FROM jsonb_to_record($2::jsonb) AS x (memory_mb bigint, cpu_millis bigint, disk_mb bigint,
           pids bigint, cpu_seconds bigint, wall_seconds bigint, rootfs text,
           writable_root boolean, network_max jsonb)
    RETURNING name
)
SELECT audit_add('class_added', 'info', NULL, c.name,
           jsonb_build_object('by', event_actor()) || $2::jsonb)
  FROM c;

-- name: class_set
-- params: name, spec
-- A member that spec lacks keeps its value.  No row: there is no such class.
-- sessions: this many have changes in an overlay above the class's rootfs, so that the
-- rootfs cannot be replaced.
WITH kept AS (
    SELECT c.name, count(s.id) FILTER (WHERE c.writable_root
               AND c.rootfs <> coalesce($2::jsonb->>'rootfs', c.rootfs)) AS sessions
      FROM class c
      LEFT JOIN sandbox b ON b.class = c.name
      LEFT JOIN session s ON s.sandbox_id = b.id AND s.state <> 'deleted'
     WHERE c.name = $1
     GROUP BY c.name, c.writable_root, c.rootfs
), c AS (
    UPDATE class c
       SET memory_mb = coalesce(x.memory_mb, c.memory_mb),
           cpu_millis = coalesce(x.cpu_millis, c.cpu_millis),
           disk_mb = coalesce(x.disk_mb, c.disk_mb), pids = coalesce(x.pids, c.pids),
           cpu_seconds = coalesce(x.cpu_seconds, c.cpu_seconds),
           wall_seconds = coalesce(x.wall_seconds, c.wall_seconds),
           rootfs = coalesce(x.rootfs, c.rootfs),
           writable_root = coalesce(x.writable_root, c.writable_root),
           network_max = CASE WHEN x.network_max IS NULL THEN c.network_max
                              ELSE network_known(x.network_max) END
      FROM kept, jsonb_to_record($2::jsonb) AS x (memory_mb bigint, cpu_millis bigint,
           disk_mb bigint, pids bigint, cpu_seconds bigint, wall_seconds bigint, rootfs text,
           writable_root boolean, network_max jsonb)
     WHERE c.name = kept.name AND kept.sessions = 0
    RETURNING c.name
)
SELECT kept.sessions, CASE WHEN c.name IS NOT NULL THEN
           audit_add('class_changed', 'info', NULL, c.name,
               jsonb_build_object('by', event_actor()) || $2::jsonb) END
  FROM kept LEFT JOIN c ON true;

-- name: admin_presets
-- params: next, page
-- sessions: those that are not deleted and name it themselves.
SELECT json_build_object('preset', n.name, 'hosts', array_to_string(n.allow, ','),
           'sessions', (SELECT count(*) FROM session s
                         WHERE s.state <> 'deleted' AND s.network->'allow' ? ('@' || n.name))) AS json,
       n.name AS next
  FROM network_preset n
 WHERE n.name > $1
 ORDER BY n.name
 LIMIT $2::int;

-- name: preset_set
-- params: name, hosts
WITH n AS (
    INSERT INTO network_preset (name, allow)
    SELECT $1, ARRAY(SELECT jsonb_array_elements_text($2::jsonb))
    ON CONFLICT (name) DO UPDATE SET allow = excluded.allow
    RETURNING name
)
SELECT audit_add('preset_set', 'info', NULL, n.name,
           jsonb_build_object('by', event_actor(), 'hosts', $2::jsonb))
  FROM n;

-- name: preset_delete
-- params: name
-- No row: there is no such preset.
WITH n AS (
    DELETE FROM network_preset WHERE name = $1 RETURNING name, allow
)
SELECT audit_add('preset_deleted', 'info', NULL, n.name,
           jsonb_build_object('by', event_actor(), 'hosts', n.allow))
  FROM n;

-- name: admin_snapshots
-- params: org, session_id, state, host, next, page
-- Newest first.
SELECT json_build_object('id', s.id, 'org', s.tenant, 'sessionId', s.session_id, 'name', s.name,
           'state', s.state, 'sizeMb', (s.size_bytes + (1 << 20) - 1) >> 20, 'files', s.files,
           'host', s.host, 'error', s.error, 'createdBy', s.actor, 'createdAt', iso(s.created_at),
           'ageSeconds', extract(epoch FROM clock_timestamp() - s.created_at)::bigint) AS json,
       concat_ws('|', s.created_at, s.id) AS next
  FROM snapshot s
 WHERE ($1 = '' OR s.tenant = $1)
   AND ($2 = '' OR s.session_id = $2)
   AND ($3 = '' OR s.state = $3)
   AND ($4 = '' OR s.host = $4)
   AND ($5 = '' OR (s.created_at, s.id) <
                   (split_part($5, '|', 1)::timestamptz, split_part($5, '|', 2)))
 ORDER BY s.created_at DESC, s.id DESC
 LIMIT $6::int;

-- name: admin_snapshot
-- params: id
SELECT s.tenant, s.host,
       json_build_object('id', s.id, 'org', s.tenant, 'sessionId', s.session_id, 'name', s.name,
           'state', s.state, 'sizeBytes', s.size_bytes, 'files', s.files, 'host', s.host,
           'error', s.error, 'createdBy', s.actor, 'createdAt', iso(s.created_at),
           'changedAt', iso(s.changed_at), 'deadline', iso(s.deadline),
           'sessions', (SELECT count(*) FROM session x
                         WHERE x.snapshot_id = s.id AND x.state <> 'deleted')) AS json
  FROM snapshot s
 WHERE s.id = $1;

-- name: admin_profiles
-- params: org, next, page
SELECT jsonb_build_object('agentType', f.agent_type, 'org', nullif(f.tenant, ''),
           'network', f.network, 'command', f.command, 'changedAt', iso(f.changed_at))
           || f.limits AS json,
       concat(f.agent_type, '|', f.tenant) AS next
  FROM profile f
 WHERE ($1 = '' OR f.tenant = $1)
   AND ($2 = '' OR (f.agent_type, f.tenant) >
           (split_part($2, '|', 1), substr($2, strpos($2, '|') + 1)))
 ORDER BY f.agent_type, f.tenant
 LIMIT $3::int;

-- name: admin_snapshot_removed
-- params: id, tenant
SELECT audit_add('snapshot_removed', 'info', $2, $1, jsonb_build_object('by', event_actor()));

-- name: admin_hosts
-- params: next, page
-- Every host that has, or had, something to do with us.
WITH known AS (
    SELECT name FROM host
    UNION SELECT host FROM sandbox WHERE host <> ''
    UNION SELECT host FROM snapshot
    UNION SELECT host FROM reaper_run
), page AS (
    SELECT name FROM known WHERE name > $1 ORDER BY name LIMIT $2::int
)
SELECT json_build_object('host', p.name,
           'running', (SELECT count(*) FROM sandbox b
                        WHERE b.host = p.name AND b.state IN ('creating', 'running')),
           'sandboxes', (SELECT count(*) FROM sandbox b
                          WHERE b.host = p.name AND b.state <> 'absent'),
           'snapshots', (SELECT count(*) FROM snapshot s WHERE s.host = p.name),
           'diskReservedMb', (SELECT coalesce(sum(b.disk_mb), 0) FROM sandbox b
                               WHERE b.disk_host = p.name),
           'storageId', h.storage_id,
           'lastPassAt', iso(r.started_at), 'lastPassFailures', r.failures,
           'lastPassSeconds',
               extract(epoch FROM clock_timestamp() - r.started_at)::bigint) AS json,
       p.name AS next
  FROM page p
  LEFT JOIN host h ON h.name = p.name
  LEFT JOIN LATERAL (SELECT n.started_at, n.failures FROM reaper_run n WHERE n.host = p.name
                      ORDER BY n.id DESC LIMIT 1) r ON true
 ORDER BY p.name;

-- name: admin_audit
-- params: org, severity, kind, next, page
-- Newest first.
SELECT audit_json(a) AS json, a.id AS next
  FROM audit a
 WHERE ($1 = '' OR a.tenant = $1)
   AND ($2 = '' OR a.severity = $2)
   AND ($3 = '' OR a.kind = $3)
   AND ($4 = '' OR a.id < nullif($4, '')::bigint)
 ORDER BY a.id DESC
 LIMIT $5::int;

-- name: admin_runs
-- params: host, next, page
-- Newest first; what a pass says of itself beside, as the API shows it.
SELECT n.summary || jsonb_build_object('id', n.id, 'host', n.host,
           'startedAt', iso(n.started_at), 'durationMs', n.duration_ms, 'scanned', n.scanned,
           'stopped', n.stopped, 'orphans', n.orphans, 'stuck', n.stuck, 'old', n.old,
           'failures', n.failures) AS json,
       n.id AS next
  FROM reaper_run n
 WHERE ($1 = '' OR n.host = $1)
   AND ($2 = '' OR n.id < nullif($2, '')::bigint)
 ORDER BY n.id DESC
 LIMIT $3::int;
