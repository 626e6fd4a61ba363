-- The networks of sessions, for sandlease-egress.

-- name: egress_sessions
-- params: host, session_id
-- The sessions of a host that have a cell and a network; with session_id only that one,
-- also if its network is none.
SELECT s.id AS session_id, s.tenant, s.sandbox_id, b.incarnation, l.instance, l.generation,
       network_policies(s) AS policies, s.secrets_sealed,
       network_mode(s) <> 'none' AS any
  FROM sandbox b
  JOIN session s ON s.sandbox_id = b.id
  JOIN lease l ON l.session_id = s.id
 WHERE b.host = $1 AND b.state IN ('creating', 'running') AND l.state = 'owns_wrapper'
   AND s.state <> 'deleted'
   AND s.id = ANY (CASE WHEN $2 <> '' THEN ARRAY[$2] ELSE ARRAY(
           SELECT x.session_id FROM lease x
            WHERE x.state = 'owns_wrapper' AND x.sandbox_id = ANY (ARRAY(
                  SELECT y.id FROM sandbox y
                   WHERE y.host = $1 AND y.state IN ('creating', 'running')))) END)
   AND ($2 <> '' OR network_mode(s) <> 'none');

-- name: egress_use
-- params: used, host, report
-- Adds [{"session", "connections", "requests", "bytesIn", "bytesOut", "denied"}], once: the
-- connection may break before the answer, and then nobody knows.  A session that is deleted
-- meanwhile is left out.
WITH once AS (
    INSERT INTO network_report AS r (host, last) VALUES ($2, $3)
        ON CONFLICT (host) DO UPDATE SET last = excluded.last WHERE r.last <> excluded.last
    RETURNING 1
)
INSERT INTO network_use AS u (session_id, connections, requests, bytes_in, bytes_out, denied)
SELECT s.id, sum(x.connections), sum(x.requests), sum(x."bytesIn"), sum(x."bytesOut"),
       sum(x.denied)
  FROM jsonb_to_recordset($1::jsonb) AS x (session text, connections bigint, requests bigint,
           "bytesIn" bigint, "bytesOut" bigint, denied bigint)
  JOIN session s ON s.id = x.session
 WHERE EXISTS (SELECT FROM once)
 GROUP BY s.id
 ORDER BY s.id
    ON CONFLICT (session_id) DO UPDATE
   SET connections = u.connections + excluded.connections,
       requests = u.requests + excluded.requests,
       bytes_in = u.bytes_in + excluded.bytes_in,
       bytes_out = u.bytes_out + excluded.bytes_out,
       denied = u.denied + excluded.denied, changed_at = clock_timestamp();

-- name: egress_serves
-- params: session_id, ports
-- ports: a JSON list; an empty one means all; NULL: the session is not served any more.
INSERT INTO network_use AS u (session_id, ports)
SELECT s.id, CASE WHEN $2::jsonb IS NOT NULL THEN ARRAY(
           SELECT p::int FROM jsonb_array_elements_text($2::jsonb) p ORDER BY 1) END
  FROM session s WHERE s.id = $1
    ON CONFLICT (session_id) DO UPDATE
   SET ports = excluded.ports, changed_at = clock_timestamp();

-- name: egress_denied
-- params: session_id, detail
SELECT network_denied($1, $2::jsonb);

-- name: egress_reserve
-- params: session_id
SELECT network_reserve($1) AS outcome;

-- name: egress_authority
-- params:
SELECT certificate, key_sealed FROM network_authority;

-- name: egress_authority_add
-- params: certificate, key_sealed
-- Of two hosts that start at once the first one's counts.
INSERT INTO network_authority (certificate, key_sealed) VALUES ($1, $2)
    ON CONFLICT DO NOTHING;

-- name: network_trust
-- params: session_id
-- The certificate that a session with secrets must trust; no row: it has none.
SELECT a.certificate FROM session s LEFT JOIN network_authority a ON true
 WHERE s.id = $1 AND s.secrets_sealed IS NOT NULL;

-- name: egress_stopped
-- params: host
-- No session of the host is served.
UPDATE network_use u SET ports = NULL, changed_at = clock_timestamp()
  FROM session s JOIN sandbox b ON b.id = s.sandbox_id
 WHERE u.session_id = s.id AND b.host = $1 AND u.ports IS NOT NULL;
