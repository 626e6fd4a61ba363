-- many-rows.sql: fills a database as a service has it that has run for a while; for psql.
--
--   -v n=100000 -v orgs=200 -v host=NAME -v events=10
--
-- Of n sessions, all of yesterday (20 hours old and more), a third belongs to the org `many`
-- and the rest to `orgs` others.  Nothing is due: half of the sessions run, on fifty other
-- hosts; the others sleep, one in five of them on host.  One in twenty was deleted then,
-- with its sandbox; a few have failed.  Each session has `events` events.  Rows are written
-- without our triggers, and their counters are set at the end.
\set ON_ERROR_STOP on
SET synchronous_commit = off;
SET client_min_messages = warning;
BEGIN;
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['session', 'lease', 'sandbox', 'event', 'alias', 'port', 'execution',
                             'artifact', 'webhook_delivery'] LOOP
        EXECUTE format('ALTER TABLE %I DISABLE TRIGGER USER', t);
    END LOOP;
END $$;

INSERT INTO org (id)
SELECT 'many' UNION ALL SELECT 'many-' || i FROM generate_series(1, :orgs) i
ON CONFLICT DO NOTHING;

CREATE TEMP TABLE many ON COMMIT DROP AS
SELECT i, CASE WHEN i % 20 = 0 THEN 'deleted' WHEN i % 1000 = 1 THEN 'failed'
               WHEN i % 2 = 0 THEN 'ready' ELSE 'asleep' END AS state,
       CASE WHEN i % 3 = 0 THEN 'many' ELSE 'many-' || 1 + i % :orgs END AS tenant,
       left(md5('many' || i), 20) AS id,
       'ses-' || left(md5('a' || i) || md5('b' || i), 48) AS box,
       CASE WHEN i % 10 = 1 THEN :'host' ELSE 'elsewhere-' || 1 + i / 2 % 50 END AS host,
       clock_timestamp() - interval '20 hours' - i * interval '100 milliseconds' AS at
  FROM generate_series(1, :n) i;

INSERT INTO sandbox (id, tenant, class, state, incarnation, epoch, host, boot_id, created_at,
       changed_at, quota_disk_mb, disk_mb, disk_host, disk_counted)
SELECT box, tenant, 'small', CASE state WHEN 'ready' THEN 'running' WHEN 'deleted' THEN 'absent'
           ELSE 'stopped' END,
       left(md5(box), 16), 1, CASE WHEN state <> 'deleted' THEN host ELSE '' END, 'boot', at, at,
       CASE WHEN state <> 'deleted' THEN 4096 ELSE 0 END,
       CASE WHEN state <> 'deleted' THEN 4096 ELSE 0 END, host, state <> 'deleted'
  FROM many;
INSERT INTO session (id, tenant, org, user_id, state, reason, sandbox_id, isolation, class, labels, name,
       sleep_after_seconds, created_at, initializing_since, state_at, started_at,
       last_activity_at, expires_at, ended_at, files_dropped_at)
SELECT id, tenant, tenant, 'u', state, CASE state WHEN 'failed' THEN 'start_failed' END, box, 'session', 'small',
       jsonb_build_object('run', (i / 10)::text, 'team', 't' || i % 10),
       CASE WHEN i % 4 = 0 THEN 'work-' || i END, 600, at, at, at, at, at,
       clock_timestamp() + interval '1 day',
       CASE WHEN state <> 'ready' THEN at END, CASE state WHEN 'failed' THEN at END
  FROM many;
INSERT INTO lease (session_id, state, generation, instance, sandbox_id, keep_warm_until, ask_at,
       changed_at)
SELECT id, CASE state WHEN 'ready' THEN 'owns_wrapper' ELSE 'none' END, 1,
       CASE state WHEN 'ready' THEN left(md5(id), 16) END, box,
       CASE state WHEN 'ready' THEN clock_timestamp() + interval '1 hour' END,
       clock_timestamp() + interval '1 hour', at
  FROM many;
INSERT INTO event (session_id, at, kind, what, generation, trace_id, detail, actor, duration_ms)
SELECT m.id, m.at, CASE WHEN k > 5 THEN 'step' WHEN k > 2 THEN 'lease' ELSE 'state' END,
       CASE k WHEN 1 THEN 'initializing' WHEN 2 THEN 'ready' ELSE 'allocate' END, 1, left(md5(m.id), 16),
       '{"from": "none", "to": "owns_wrapper"}', 'key:k/u', k
  FROM many m CROSS JOIN generate_series(1, :events) k
 ORDER BY m.at, k;

INSERT INTO session_label (session_id, hash, tenant, deleted, created_at)
SELECT s.id, label_hash(l.key, l.value), s.tenant, s.state = 'deleted', s.created_at
  FROM many m JOIN session s ON s.id = m.id CROSS JOIN LATERAL jsonb_each_text(s.labels) l;

-- ---- what sessions leave in other tables

INSERT INTO api_key (id, tenant, org, user_id, scope, hash)
SELECT 'many-' || k || '-' || o.id, o.id, o.id, 'u' || k, 'tenant', md5(k || o.id)
  FROM org o CROSS JOIN generate_series(1, 5) k WHERE o.id LIKE 'many%';
INSERT INTO login (hash, key_id, expires_at)
SELECT md5('login' || k.id || i), k.id, clock_timestamp() + interval '1 hour'
  FROM api_key k CROSS JOIN generate_series(1, 10) i WHERE k.id LIKE 'many-%';
INSERT INTO alias (tenant, key, session_id, created_at)
SELECT tenant, 'key-' || i, id, at FROM many WHERE i % 5 = 1;
INSERT INTO port (session_id, port, token_hash, token_sealed, created_at, pending)
SELECT id, 8000, md5('token' || i), 'sealed', at, false FROM many WHERE i % 10 = 1;
INSERT INTO network_use (session_id, ports, changed_at)
SELECT id, '{}', at FROM many WHERE i % 10 = 1;
INSERT INTO idempotency (tenant, user_id, key, hash, session_id, created_at)
SELECT tenant, 'u', 'idem-' || i, 'h', id, at FROM many WHERE i % 2 = 1;
INSERT INTO execution (id, tenant, user_id, session_id, task_id, hash, command, limits, state, created_at,
       given_at, started_at, ended_at, exit_code, attempt, generation, log_bytes)
SELECT left(md5('execution' || i), 20), tenant, 'u', id, 'task-' || i, 'h', 'true', '{}', 'succeeded', at, at, at, at, 0, 1, 1, 0
  FROM many WHERE i % 2 = 1;
INSERT INTO artifact (execution_id, kind, tenant, host, folder, sha256, bytes, created_at)
SELECT left(md5('execution' || i), 20), 'log', tenant, :'host', left(md5(tenant), 32), md5('file' || i) || md5('file' || i), 10, at
  FROM many WHERE i % 6 = 1;
INSERT INTO sample (sandbox_id, session_id, tenant, life, at, cpu_ms)
SELECT box, CASE WHEN k = 2 THEN id END, tenant, '1', at, 1
  FROM many CROSS JOIN generate_series(1, 2) k WHERE i % 4 = 1;
INSERT INTO audit (at, kind, severity, tenant, subject)
SELECT at, 'session_deleted', 'info', tenant, id FROM many WHERE i % 5 = 1;
INSERT INTO webhook (id, tenant, url, events, secret_sealed)
SELECT left(md5('hook' || o.id), 20), o.id, 'https://example.invalid/', '{session.ready}', 's'
  FROM org o WHERE o.id LIKE 'many%';
INSERT INTO webhook_delivery (id, webhook_id, tenant, event, body, attempts, due_at, until, delivered_at, created_at)
SELECT left(md5('delivery' || i), 20), left(md5('hook' || tenant), 20), tenant, 'session.ready', '{}', 1, NULL, at, at, at
  FROM many WHERE i % 5 = 1;
INSERT INTO snapshot (id, tenant, session_id, state, size_bytes, host, created_at, changed_at, deadline)
SELECT left(md5('snapshot' || i), 20), tenant, id, 'ready', 1, 'elsewhere-1', at, at, at
  FROM many WHERE i % 10 = 1;

INSERT INTO quota AS q (tenant, sessions, active, disk_mb)
SELECT tenant, count(*) FILTER (WHERE state <> 'deleted'), count(*) FILTER (WHERE state = 'ready'),
       4096 * count(*) FILTER (WHERE state <> 'deleted')
  FROM many GROUP BY tenant
ON CONFLICT (tenant) DO UPDATE
   SET sessions = q.sessions + excluded.sessions, active = q.active + excluded.active,
       disk_mb = q.disk_mb + excluded.disk_mb;

DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['session', 'lease', 'sandbox', 'event', 'alias', 'port', 'execution',
                             'artifact', 'webhook_delivery'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE TRIGGER USER', t);
    END LOOP;
END $$;
COMMIT;
