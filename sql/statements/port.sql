-- Ports: their tokens, and changes that their relays have not confirmed.

-- name: port_expose
-- params: session_id, tenant, port, name, token_hash, token_sealed, expires_seconds, only_new, host, base_url
-- Exposing again keeps the token and may change name, expiry, host and base URL, and
-- its relay stays as it is.  A port that has expired or is closing gets the new token,
-- after its open connections are ended (cut).  With only_new an open port stays as it is:
-- no row.  The session's row is locked, so that a deletion comes before or after.
INSERT INTO port AS p (session_id, port, name, token_hash, token_sealed, expires_at, host, base_url)
SELECT s.id, $3::int, $4, $5, $6, clock_timestamp() + make_interval(secs => $7::int),
       coalesce($9, 'localhost'), $10
  FROM session s
 WHERE s.id = $1 AND s.tenant = $2 AND s.state NOT IN ('deleting', 'deleted', 'lost')
   FOR KEY SHARE OF s
    ON CONFLICT (session_id, port) DO UPDATE
   SET name = CASE WHEN p.closing_at IS NULL THEN coalesce(excluded.name, p.name)
                   ELSE excluded.name END,
       expires_at = excluded.expires_at,
       host = CASE WHEN port_is_over(p) THEN excluded.host ELSE coalesce($9, p.host) END,
       base_url = CASE WHEN port_is_over(p) THEN excluded.base_url
                       ELSE coalesce(excluded.base_url, p.base_url) END,
       token_hash = CASE WHEN port_is_over(p) THEN excluded.token_hash ELSE p.token_hash END,
       token_sealed = CASE WHEN port_is_over(p) THEN excluded.token_sealed
                           ELSE p.token_sealed END,
       change_order = CASE WHEN port_is_over(p) THEN nextval('port_order')
                           ELSE p.change_order END,
       pending = p.pending OR port_is_over(p),
       cut = p.cut OR port_is_over(p),
       closing_at = NULL, tried_at = NULL
 WHERE NOT $8::boolean OR port_is_over(p)
RETURNING port_json(p) AS json, p.token_hash = $5 AS created;

-- name: port_rotate
-- params: session_id, tenant, port, token_hash, token_sealed
UPDATE port p
   SET token_hash = $4, token_sealed = $5, created_at = clock_timestamp(),
       change_order = nextval('port_order'), pending = true, cut = true, tried_at = NULL
  FROM session s
 WHERE p.session_id = $1 AND p.port = $3::int AND p.closing_at IS NULL
   AND s.id = p.session_id AND s.tenant = $2
RETURNING port_json(p) AS json;

-- name: port_list
-- params: session_id, tenant
-- No row: no such session.  One row with NULL: no ports.
SELECT CASE WHEN p.port IS NOT NULL THEN port_json(p) END AS json
  FROM session s LEFT JOIN port p ON p.session_id = s.id
 WHERE s.id = $1 AND s.tenant = $2
 ORDER BY p.port;

-- name: port_close
-- params: session_id, tenant, port
-- Requests of clients are refused from here on; the row goes when the relay has confirmed.
UPDATE port p
   SET closing_at = coalesce(p.closing_at, clock_timestamp()),
       change_order = CASE WHEN p.closing_at IS NULL THEN nextval('port_order')
                           ELSE p.change_order END,
       pending = true, tried_at = NULL
  FROM session s
 WHERE p.session_id = $1 AND p.port = $3::int AND s.id = p.session_id AND s.tenant = $2
RETURNING p.port;

-- name: ports_expire
-- params: limit
-- Closes a port that has expired, as a client's request would.
UPDATE port p
   SET closing_at = clock_timestamp(), change_order = nextval('port_order'), pending = true,
       tried_at = NULL
 WHERE (p.session_id, p.port) IN (SELECT session_id, port FROM port
        WHERE expires_at < statement_timestamp() AND closing_at IS NULL
        ORDER BY expires_at
        LIMIT $1::int)
   AND p.expires_at < statement_timestamp() -- or it has been exposed again
   AND p.closing_at IS NULL
RETURNING p.session_id, p.port;

-- name: session_relays
-- params: session_id, port
-- One port of a session, or (port '') all of them.
SELECT * FROM port_relays() WHERE session_id = $1 AND ($2 = '' OR port = nullif($2, '')::int)
 ORDER BY port;

-- name: due_ports
-- params: host, since, limit
-- Changes that no relay has confirmed, where that can be asked for now.  First
-- sessions that were never tried, then the one tried longest ago.  A wrapper that
-- does not answer is asked once in a pass, however many ports it has: so all ports
-- of a session stand together, and none comes if one was tried since the pass began.
SELECT r.* FROM port_relays() r
 WHERE r.pending
   AND (r.stopped AND r.closing OR r.listens AND NOT r.suspended AND r.host = $1)
   AND NOT EXISTS (SELECT FROM port t
                    WHERE t.session_id = r.session_id AND t.tried_at >= $2::timestamptz)
 ORDER BY max(r.tried_at) OVER (PARTITION BY r.session_id) NULLS FIRST, r.session_id,
          r.tried_at NULLS FIRST, r.port
 LIMIT $3::int;

-- name: lost_relays
-- params: host, sockets, limit
-- Ports that should be relayed on this host and whose socket is not in the list.
SELECT r.* FROM port_relays() r
 WHERE r.session_id = ANY (ARRAY(
           SELECT l.session_id FROM lease l
            WHERE l.state = 'owns_wrapper' AND l.sandbox_id = ANY (ARRAY(
                  SELECT b.id FROM sandbox b
                   WHERE b.host = $1 AND b.state IN ('creating', 'running')))))
   AND NOT r.pending AND NOT r.closing AND r.listens AND NOT r.suspended AND r.host = $1
   AND r.session_id || '.' || r.generation || '.' || r.port || '.sock'
       NOT IN (SELECT jsonb_array_elements_text($2::jsonb))
   AND port_exposed(r.session_id, r.port)
 ORDER BY r.session_id, r.port
 LIMIT $3::int;

-- name: port_settled
-- params: session_id, port, change_order
SELECT port_settled($1, $2::int, $3::bigint) AS settled;

-- name: port_tried
-- params: session_id, port, change_order
UPDATE port SET tried_at = clock_timestamp()
 WHERE session_id = $1 AND port = $2::int AND change_order = $3::bigint;
