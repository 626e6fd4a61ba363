-- Who asks.  Hot path: one statement per request.  It writes by calling
-- session_active() when that is due; an UPDATE in the statement itself would be
-- set up and torn down each time.

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

-- name: auth_session
-- params: hash, kind, session_id, write_every_seconds, probe, trace_id, port, purpose, request_id, host
-- One row always: whether the key counts, and what there is of the session
-- (NULL state: nothing this tenant may know of; `frozen` is ready, but must
-- wait for room on the disk).  Activity is written when
-- the last writing is old enough, or sleep is near; it never shortens what
-- session_extend promised.  The first work of a generation is its
-- delivery_accepted.  A probe writes nothing, nor does any call where another
-- host, `elsewhere`, has the sandbox.  Whether a port is exposed is
-- looked up for those who name one.  kind as in auth_key: what stands for a key
-- ends with it, and a ticket is taken here, for its purpose and this request.
WITH k AS MATERIALIZED (
    SELECT k.id, k.user_id, k.tenant, k.scope
      FROM api_key k
     WHERE k.id = (SELECT id FROM api_key WHERE hash = $1 AND $2 = 'key'
                   UNION ALL
                   SELECT key_id FROM login WHERE hash = $1 AND $2 = 'login'
                      AND expires_at > clock_timestamp()
                   UNION ALL
                   SELECT ticket_take_at($1, $3, $8, $9, $10) WHERE $2 = 'ticket')
       AND k.revoked_at IS NULL
       AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
), s AS MATERIALIZED (
    SELECT s.id, k.id AS key_id, k.user_id, CASE WHEN s.state = 'ready' AND s.reason = 'disk_low' THEN 'frozen'
                      ELSE s.state END AS state, l.state AS lease, l.generation,
           b.host AS elsewhere,
           s.state = 'ready' AND l.state = 'owns_wrapper' AND NOT $5::boolean AND b.id IS NULL
           AND (s.last_activity_at < clock_timestamp() - make_interval(secs => $4::int)
                OR l.startup_deadline IS NOT NULL
                OR l.keep_warm_until < clock_timestamp() + interval '60 s'
                   AND s.last_activity_at < clock_timestamp() - interval '1 s') AS due
      FROM k
      JOIN session s ON s.tenant = k.tenant AND s.id = $3
      JOIN lease l ON l.session_id = s.id
      LEFT JOIN sandbox b ON b.id = s.sandbox_id AND b.state <> 'absent'
       AND b.host NOT IN ('', $10)
)
SELECT (SELECT scope FROM k) AS scope, s.state, s.lease, s.generation,
       CASE WHEN $7 <> '' THEN port_exposed(s.id, $7::int) END AS exposed, s.elsewhere
  FROM (SELECT 1) one LEFT JOIN s ON true
 WHERE s.due IS NOT TRUE
    OR session_active(s.id, s.generation, $6, 'gate:' || s.key_id || '/' || s.user_id);

-- name: auth_preview
-- params: session_id, port, token_hash, write_every_seconds, probe, trace_id, host
-- No row: no such port.  token_hash is compared once more by the caller.
-- elsewhere: as in auth_session.
SELECT p.token_hash, CASE WHEN s.state = 'ready' AND s.reason = 'disk_low' THEN 'frozen'
                          ELSE s.state END AS state,
       l.state AS lease, l.generation, s.wake_on_preview,
       coalesce(s.name, '') AS name, b.host AS elsewhere
  FROM port p
  JOIN session s ON s.id = p.session_id
  JOIN lease l ON l.session_id = p.session_id
  LEFT JOIN sandbox b ON b.id = s.sandbox_id AND b.state <> 'absent' AND b.host NOT IN ('', $7)
 WHERE p.session_id = $1 AND p.port = $2::int
   AND (p.expires_at IS NULL OR p.expires_at > clock_timestamp())
   AND CASE WHEN s.state = 'ready' AND l.state = 'owns_wrapper' AND p.token_hash = $3
             AND NOT $5::boolean AND b.id IS NULL
             AND (s.last_activity_at < clock_timestamp() - make_interval(secs => $4::int)
                  OR l.startup_deadline IS NOT NULL
                  OR l.keep_warm_until < clock_timestamp() + interval '60 s'
                     AND s.last_activity_at < clock_timestamp() - interval '1 s')
       THEN session_active(s.id, l.generation, $6, 'gate') ELSE true END;

-- name: login_create
-- params: hash, key_id, seconds
INSERT INTO login (hash, key_id, expires_at)
VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3::int));

-- name: login_delete
-- params: hash
DELETE FROM login WHERE hash = $1;

-- name: key_create
-- params: id, org, user_id, bot, scope, hash, expires_at
-- A tenant comes into being with its first key.  expires_at: a date, or 30d.
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

-- name: key_list
SELECT id, org, user_id, bot, scope, iso(created_at) AS created, iso(expires_at) AS expires,
       iso(revoked_at) AS revoked
  FROM api_key
 ORDER BY created_at;

-- name: key_revoke
-- params: id
WITH k AS (
    UPDATE api_key SET revoked_at = coalesce(revoked_at, clock_timestamp())
     WHERE id = $1
    RETURNING id, tenant, user_id
), a AS (
    INSERT INTO audit (kind, severity, tenant, subject, detail)
    SELECT 'key_revoked', 'info', k.tenant, k.id,
           jsonb_build_object('by', event_actor(), 'user', k.user_id)
      FROM k
)
SELECT id FROM k;

-- name: key_ports
-- params: key_id
-- Previews of sessions that a revoked key made: their connections end.
SELECT p.session_id, p.port
  FROM port p JOIN session s ON s.id = p.session_id
 WHERE s.key_id = $1 AND (s.state = 'ready' OR s.suspended_at IS NOT NULL);

-- name: key_sessions
-- params: key_id
-- Running sessions that a revoked key may be connected to.
SELECT s.id
  FROM session s JOIN api_key k ON k.tenant = s.tenant
 WHERE k.id = $1 AND (s.state = 'ready' OR s.suspended_at IS NOT NULL);

-- name: org_set_isolation
-- params: org, isolation
WITH o AS (
    INSERT INTO org AS o (id, isolation) VALUES ($1, $2)
        ON CONFLICT (id) DO UPDATE SET isolation = excluded.isolation
    RETURNING id, isolation
)
INSERT INTO audit (kind, severity, tenant, subject, detail)
SELECT 'org_changed', 'info', o.id, o.id,
       jsonb_build_object('by', event_actor(), 'isolation', o.isolation)
  FROM o
RETURNING subject AS id;
