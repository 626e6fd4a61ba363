-- Statistics: what sessions and sandboxes use, now and before.

-- name: sandbox_look
-- params: sandbox_id, tenant
SELECT b.id AS sandbox_id, b.state, b.incarnation, b.host
  FROM sandbox b WHERE b.id = $1 AND b.tenant = $2;

-- name: session_statistics
-- params: session_id, now, sandbox_now
-- NULL: nothing runs.
SELECT session_statistics($1, $2::jsonb, $3::jsonb) AS json;

-- name: sandbox_statistics
-- params: sandbox_id, now
SELECT sandbox_statistics($1, $2::jsonb) AS json;

-- name: samples_due
-- params: host, seconds, after_at, after_id, limit
-- Running sandboxes whose last sample is so old, the oldest first, each followed by its
-- sessions; session_id '': the sandbox as a whole.
WITH box AS MATERIALIZED (
    SELECT b.id, b.incarnation, x.at
      FROM sandbox b
     CROSS JOIN LATERAL (SELECT coalesce((sample_last(b.id, NULL, 'infinity')).at, '-infinity'))
           x (at)
     WHERE b.host = $1 AND b.state = 'running'
       AND x.at <= clock_timestamp() - make_interval(secs => $2::int)
       AND (x.at, b.id) > ($3::timestamptz, $4)
     ORDER BY x.at, b.id
     LIMIT $5::int
)
SELECT box.id AS sandbox_id, box.incarnation, '' AS session_id, 0 AS generation, '' AS instance,
       box.at
  FROM box
UNION ALL
SELECT box.id, box.incarnation, l.session_id, l.generation, coalesce(l.instance, ''), box.at
  FROM box JOIN lease l ON l.sandbox_id = box.id AND l.state = 'owns_wrapper'
 ORDER BY at, sandbox_id, session_id;

-- name: sample_add
-- params: host, seconds, samples
SELECT sample_add($1, $2::int, $3::jsonb) AS added;

-- name: sample_thin
-- params: batch
SELECT sample_thin($1::int) AS done;

-- name: samples_of_session
-- params: session_id, tenant, since, until, after_ms, limit
-- In order.  No row: no such session, and none that was measured in the last 7 days; one row
-- without at_ms: no samples.
SELECT x.json, x.at_ms
  FROM (SELECT WHERE EXISTS (SELECT FROM session WHERE id = $1 AND tenant = $2)
            OR EXISTS (SELECT FROM sample WHERE session_id = $1 AND tenant = $2)) known
  LEFT JOIN LATERAL (
       SELECT sample_json(m) AS json, (1000 * extract(epoch FROM m.at))::bigint AS at_ms
         FROM sample m
        WHERE m.session_id = $1 AND m.tenant = $2
          AND m.at >= $3::timestamptz AND m.at < $4::timestamptz
          AND m.at > to_timestamp($5::bigint / 1000.0)
        ORDER BY m.at
        LIMIT $6::int) x ON true
 ORDER BY x.at_ms;

-- name: samples_of_sandbox
-- params: sandbox_id, tenant, since, until, after_ms, limit
-- As samples_of_session.
SELECT x.json, x.at_ms
  FROM (SELECT WHERE EXISTS (SELECT FROM sandbox WHERE id = $1 AND tenant = $2)
            OR EXISTS (SELECT FROM sample
                        WHERE sandbox_id = $1 AND session_id IS NULL AND tenant = $2)) known
  LEFT JOIN LATERAL (
       SELECT sample_json(m) AS json, (1000 * extract(epoch FROM m.at))::bigint AS at_ms
         FROM sample m
        WHERE m.sandbox_id = $1 AND m.session_id IS NULL AND m.tenant = $2
          AND m.at >= $3::timestamptz AND m.at < $4::timestamptz
          AND m.at > to_timestamp($5::bigint / 1000.0)
        ORDER BY m.at
        LIMIT $6::int) x ON true
 ORDER BY x.at_ms;
