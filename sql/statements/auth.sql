-- Authorises requests.  Hot path: one statement per request.  It calls session_active()
-- when activity is due to be written; an UPDATE in the statement itself would be set
-- up and torn down for every request.

-- name: auth_key
-- params: hash, kind, request_id
-- kind: key, login or ticket; of tickets the one that auth_session has taken for
-- this request.  No row: no such key, or revoked, or expired.
SELECT k.id, k.tenant, k.org, k.user_id, k.bot, k.scope, o.isolation, o.salt
  FROM api_key k
  JOIN org o ON o.id = k.tenant
 WHERE k.id = (SELECT id FROM api_key WHERE hash = $1 AND $2 = 'key'
               UNION ALL
               SELECT key_id FROM login WHERE hash = $1 AND $2 = 'login'
                  AND expires_at > clock_timestamp()
               UNION ALL
               SELECT key_id FROM ticket WHERE hash = $1 AND $2 = 'ticket' AND used_by = $3)
   AND k.revoked_at IS NULL
   AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp());

-- name: keys_ended
-- params: keys
-- Which of these keys are revoked or expired.
SELECT x AS id
  FROM jsonb_array_elements_text($1::jsonb) x
 WHERE NOT EXISTS (SELECT FROM api_key k
                    WHERE k.id = x AND k.revoked_at IS NULL
                      AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp()));

-- name: auth_session
-- params: hash, kind, session_id, write_every_seconds, quiet, trace_id, port, purpose, request_id, needs, host
-- Answers one row always: whether the key is valid, and the session's columns.  state is
-- NULL if this tenant has no such session.  A `frozen` session is ready, but must wait
-- for room on the disk.
-- keep_ms: for so long the answer may be given again, unless sandlease_auth tells of a
-- change (sql/functions/auth_ended.sql): nothing expires, and no activity has to be
-- written.  NULL: ask again.
-- Activity is written when the last time it was written is old enough, or the idle date
-- is near; it never shortens what session_extend promised.  The first call of a
-- generation is recorded after the answer: first_by is the actor to give to
-- session_accepted, NULL if there is nothing more to write.
-- Only a permitted call is activity.  The caller refuses a key whose scope is less than
-- `needs` (read or tenant), a port that is not exposed, a frozen session, and one whose
-- sandbox another host has (`elsewhere`); none of these writes anything, nor does a
-- `quiet` request (a probe, or one that the caller will refuse).
-- Whether a port is exposed is looked up only if the request names one.  kind as in
-- auth_key: a login or ticket ends with its key, and a ticket is taken here, for its
-- purpose and this request.
WITH k AS MATERIALIZED (
    SELECT k.id, k.user_id, k.tenant, k.scope, k.expires_at
      FROM api_key k
     WHERE k.id = (SELECT id FROM api_key WHERE hash = $1 AND $2 = 'key'
                   UNION ALL
                   SELECT key_id FROM login WHERE hash = $1 AND $2 = 'login'
                      AND expires_at > clock_timestamp()
                   UNION ALL
                   SELECT ticket_take_at($1, $3, $8, $9, $11) WHERE $2 = 'ticket')
       AND k.revoked_at IS NULL
       AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
), s AS MATERIALIZED (
    SELECT s.id, k.id AS key_id, k.user_id, s.state,
           s.state = 'ready' AND s.reason IS NOT DISTINCT FROM 'disk_low' AS frozen, l.state AS lease, l.generation,
           s.name IS NULL AS nameless,
           CASE WHEN $7 <> '' THEN port_exposed(s.id, $7::int) END AS exposed,
           CASE WHEN b.host NOT IN ('', $11) THEN b.host END AS elsewhere, b.host = $11 AS here,
           s.state = 'ready' AND s.reason IS DISTINCT FROM 'disk_low' AND l.state = 'owns_wrapper'
           AND NOT $5::boolean AND ($10 = 'read' OR k.scope <> 'read')
           AND coalesce(b.host IN ('', $11), true) AS counts,
           s.last_activity_at < clock_timestamp() - make_interval(secs => $4::int)
           OR l.startup_deadline IS NOT NULL
           OR (l.keep_warm_until < clock_timestamp() + interval '60 s') IS TRUE
              AND s.last_activity_at < clock_timestamp() - interval '1 s' AS due,
           l.accepted_generation < l.generation AS first,
           least(k.expires_at, s.last_activity_at + make_interval(secs => $4::int),
               CASE WHEN l.keep_warm_until IS NOT NULL
                    THEN greatest(l.keep_warm_until - interval '60 s',
                             s.last_activity_at + interval '1 s') END) AS keep_until
      FROM k
      JOIN session s ON s.tenant = k.tenant AND s.id = $3
      JOIN lease l ON l.session_id = s.id
      LEFT JOIN sandbox b ON b.id = s.sandbox_id AND b.state <> 'absent'
)
SELECT (SELECT scope FROM k) AS scope, s.state, s.lease, s.generation, s.exposed,
       (SELECT tenant FROM k) AS tenant, s.key_id, s.user_id, s.elsewhere, s.frozen,
       s.nameless,
       CASE WHEN s.counts AND NOT s.first AND NOT s.due AND s.here AND s.exposed IS NOT FALSE
            THEN ms_between(clock_timestamp(), least(s.keep_until,
                CASE WHEN s.exposed THEN (SELECT expires_at FROM port
                     WHERE session_id = s.id AND port = nullif($7, '')::int) END)) END AS keep_ms,
       CASE WHEN s.counts AND s.first AND NOT s.due AND s.exposed IS NOT FALSE
            THEN 'gate:' || s.key_id || '/' || s.user_id END AS first_by
  FROM (SELECT 1) one LEFT JOIN s ON true
 WHERE CASE WHEN s.counts AND s.due AND s.exposed IS NOT FALSE
       THEN session_active(s.id, s.generation, $6, 'gate:' || s.key_id || '/' || s.user_id)
       ELSE true END;

-- name: session_name
-- params: session_id, name, trace_id, actor
-- A session without a name gets one, once, if no other session has it.
WITH s AS (
    UPDATE session n SET name = $2
     WHERE n.id = $1 AND n.name IS NULL AND n.state NOT IN ('deleting', 'deleted')
       AND NOT EXISTS (SELECT FROM session o
                        WHERE o.tenant = n.tenant AND o.name = $2
                          AND o.state NOT IN ('deleting', 'deleted'))
    RETURNING n.id
)
INSERT INTO event (session_id, kind, what, actor, trace_id, detail)
SELECT id, 'name', 'given', $4, $3, jsonb_build_object('name', $2) FROM s;

-- name: auth_preview
-- params: session_id, port, token_hash, write_every_seconds, probe, trace_id, host
-- No row: no such port.  token_hash is compared once more by the caller.
-- elsewhere, keep_ms, first_by: as in auth_session.
SELECT p.token_hash, s.state, l.state AS lease, l.generation, s.wake_on_preview, s.tenant,
       coalesce(s.name, '') AS name,
       CASE WHEN b.host NOT IN ('', $7) THEN b.host END AS elsewhere,
       s.state = 'ready' AND s.reason IS NOT DISTINCT FROM 'disk_low' AS frozen, p.host,
       CASE WHEN c.counts AND NOT c.due AND l.accepted_generation >= l.generation AND b.host = $7
            THEN ms_between(clock_timestamp(), least(p.expires_at,
                s.last_activity_at + make_interval(secs => $4::int),
                CASE WHEN l.keep_warm_until IS NOT NULL
                     THEN greatest(l.keep_warm_until - interval '60 s',
                              s.last_activity_at + interval '1 s') END)) END AS keep_ms,
       CASE WHEN c.counts AND NOT c.due AND l.accepted_generation < l.generation
            THEN 'gate' END AS first_by
  FROM port p
  JOIN session s ON s.id = p.session_id
  JOIN lease l ON l.session_id = p.session_id
  LEFT JOIN sandbox b ON b.id = s.sandbox_id AND b.state <> 'absent'
 CROSS JOIN LATERAL (SELECT
           s.state = 'ready' AND s.reason IS DISTINCT FROM 'disk_low'
           AND l.state = 'owns_wrapper' AND p.token_hash = $3 AND NOT $5::boolean
           AND coalesce(b.host IN ('', $7), true) AS counts,
           s.last_activity_at < clock_timestamp() - make_interval(secs => $4::int)
           OR l.startup_deadline IS NOT NULL
           OR (l.keep_warm_until < clock_timestamp() + interval '60 s') IS TRUE
              AND s.last_activity_at < clock_timestamp() - interval '1 s' AS due) c
 WHERE p.session_id = $1 AND p.port = $2::int
   AND (p.expires_at IS NULL OR p.expires_at > clock_timestamp()) AND p.closing_at IS NULL
   AND CASE WHEN c.counts AND c.due
       THEN session_active(s.id, l.generation, $6, 'gate') ELSE true END;

-- name: session_accepted
-- params: session_id, generation, trace_id, actor
-- Records the first call of a generation, after its answer.  Without waiting for the
-- disk: if the machine dies, the next call is recorded as the first.
SELECT set_config('synchronous_commit', 'off', true), session_accepted($1, $2::bigint, $3, $4);

-- name: auth_told
-- params:
-- A row: the database tells of every change that ends a right, as this program expects.
-- The schema may be older or newer than the program, and a trigger may be disabled.
SELECT 1 AS yes
  FROM pg_trigger
 WHERE tgrelid = ANY ('{session,lease,port,api_key,sandbox}'::regclass[])
   AND starts_with(tgname, 'auth_') AND tgenabled IN ('O', 'A')
HAVING count(*) = 9;

-- name: auth_listens
-- params:
-- A row: this connection listens.
SELECT FROM pg_listening_channels() c WHERE c = 'sandlease_auth';

-- name: login_create
-- params: hash, key_id, seconds
INSERT INTO login (hash, key_id, expires_at)
VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3::int));

-- name: login_delete
-- params: hash
DELETE FROM login WHERE hash = $1;

-- name: key_create
-- params: id, org, user_id, bot, scope, hash, expires_at
-- Makes a key, and its tenant if that has none yet.  expires_at: a date, or 30d.
WITH t AS (
    INSERT INTO org AS o (id)
    VALUES (CASE WHEN $2 = '' THEN 'user:' || $3 ELSE $2 END)
    ON CONFLICT (id) DO UPDATE SET salt = o.salt
    RETURNING id
), k AS (
    INSERT INTO api_key (id, tenant, org, user_id, bot, scope, hash, expires_at)
    SELECT $1, t.id, $2, $3, $4, $5, $6,
           CASE WHEN $7 ~ '^[0-9]+[smhdw]$' THEN clock_timestamp() + $7::interval
                ELSE $7::timestamptz END
      FROM t
    RETURNING id, tenant, user_id, bot, scope, expires_at
)
INSERT INTO audit (kind, severity, tenant, subject, detail)
SELECT 'key_created', 'info', k.tenant, k.id, jsonb_build_object('by', event_actor(),
       'user', k.user_id, 'bot', k.bot, 'scope', k.scope, 'expiresAt', iso(k.expires_at))
  FROM k;

-- name: key_revoke
-- params: id
-- No such key: NULL.
SELECT key_revoke($1) AS tenant;

-- name: tenant_cut
-- params: tenant
SELECT tenant_cut($1) AS sessions;

-- name: tenant_relays
-- params: tenant
-- Ports whose connections must end because a key was revoked.
SELECT r.* FROM port_relays() r JOIN session s ON s.id = r.session_id
 WHERE s.tenant = $1 AND r.pending AND r.cut AND r.listens
 ORDER BY r.session_id, r.port;

-- name: tenant_bounces
-- params: tenant
SELECT id, bounce_at::text AS bounce_at FROM session
 WHERE tenant = $1 AND bounce_at IS NOT NULL
 ORDER BY id;

-- name: due_bounces
-- params: host, limit
-- As due_ports, but only where a wrapper runs: else no connection is open.
SELECT s.id AS session_id, s.bounce_at::text AS bounce_at, l.state = 'none' AS stopped
  FROM session s
  JOIN lease l ON l.session_id = s.id
  LEFT JOIN sandbox b ON b.id = s.sandbox_id
 WHERE s.bounce_at IS NOT NULL
   AND (l.state = 'none' OR b.host = $1 AND s.state = 'ready')
 ORDER BY s.bounce_at
 LIMIT $2::int;

-- name: session_bounced
-- params: session_id, bounce_at
-- Marks the connections as ended, unless another key was revoked meanwhile.
UPDATE session SET bounce_at = NULL WHERE id = $1 AND bounce_at = $2::timestamptz;

-- name: org_set
-- params: org, isolation, salt, network
-- NULL leaves one alone; network 'null' removes the policy.  No row: no such org.
WITH o AS (
    UPDATE org SET isolation = coalesce($2, isolation), salt = coalesce($3, salt),
           network = CASE WHEN $4::jsonb IS NULL THEN network
                          ELSE nullif(network_known($4::jsonb), 'null') END
     WHERE id = $1
    RETURNING id
)
INSERT INTO audit (kind, severity, tenant, subject, detail)
SELECT 'org_changed', 'info', o.id, o.id, jsonb_strip_nulls(
       jsonb_build_object('by', event_actor(), 'isolation', $2::text, 'salt', $3::text,
           'network', CASE $4::jsonb WHEN 'null' THEN '"default"' ELSE $4::jsonb END))
  FROM o
RETURNING subject AS id;
