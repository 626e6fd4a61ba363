-- Preview tokens.

-- name: port_expose
-- params: session_id, tenant, port, name, token_hash, token_sealed, expires_seconds, only_new
-- Exposing again keeps the token and may change name and expiry; an expired
-- one gets the new token.  With only_new one that is open stays as it is: no
-- row.  A deletion is waited for, or waits and ends it, too.
INSERT INTO port AS p (session_id, port, name, token_hash, token_sealed, expires_at)
SELECT s.id, $3::int, $4, $5, $6, clock_timestamp() + make_interval(secs => $7::int)
  FROM session s
 WHERE s.id = $1 AND s.tenant = $2 AND s.state NOT IN ('deleting', 'deleted', 'lost')
   FOR KEY SHARE OF s
    ON CONFLICT (session_id, port) DO UPDATE
   SET name = coalesce(excluded.name, p.name),
       expires_at = excluded.expires_at,
       token_hash = CASE WHEN p.expires_at <= clock_timestamp()
                         THEN excluded.token_hash ELSE p.token_hash END,
       token_sealed = CASE WHEN p.expires_at <= clock_timestamp()
                           THEN excluded.token_sealed ELSE p.token_sealed END
 WHERE NOT $8::boolean OR p.expires_at <= clock_timestamp()
RETURNING port_json(p) AS json, xmax = 0 AS created;

-- name: port_rotate
-- params: session_id, tenant, port, token_hash, token_sealed
UPDATE port p
   SET token_hash = $4, token_sealed = $5, created_at = clock_timestamp()
  FROM session s
 WHERE p.session_id = $1 AND p.port = $3::int AND s.id = p.session_id AND s.tenant = $2
RETURNING port_json(p) AS json;

-- name: port_list
-- params: session_id, tenant
-- No row: no such session.  One row with NULL: no ports.
SELECT CASE WHEN p.port IS NOT NULL THEN port_json(p) END AS json
  FROM session s LEFT JOIN port p ON p.session_id = s.id
 WHERE s.id = $1 AND s.tenant = $2
 ORDER BY p.port;

-- name: port_remove
-- params: session_id, tenant, port
DELETE FROM port p USING session s
 WHERE p.session_id = $1 AND p.port = $3::int AND s.id = p.session_id AND s.tenant = $2
RETURNING p.port;
