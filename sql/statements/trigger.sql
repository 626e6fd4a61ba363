-- Triggers.

-- name: trigger_create
-- params: spec
SELECT trigger_create($1::jsonb);

-- name: trigger_patch
-- params: tenant, trigger_id, spec
SELECT trigger_patch($1, $2, $3::jsonb) AS found;

-- name: trigger_get
-- params: tenant, trigger_id
SELECT trigger_json(t) AS json FROM org_trigger t WHERE t.id = $2 AND t.tenant = $1;

-- name: trigger_list
-- params: tenant
SELECT trigger_json(t) AS json FROM org_trigger t WHERE t.tenant = $1 ORDER BY t.name;

-- name: trigger_delete
-- params: tenant, trigger_id
DELETE FROM org_trigger WHERE id = $2 AND tenant = $1 RETURNING id;

-- name: triggers_due
-- params: limit
-- Orgs take turns: one may have many that fail.
SELECT t.id, t.next_at::text AS at
  FROM org_trigger t
 WHERE t.next_at <= statement_timestamp()
 ORDER BY row_number() OVER (PARTITION BY t.tenant ORDER BY t.next_at, t.id), t.next_at, t.id
 LIMIT $1::int;

-- name: trigger_due
-- params: trigger_id, at
-- The work of a trigger that is due; no row if it was changed, or another reaper was faster.
SELECT t.id, t.tenant, t.org, t.user_id, t.bot, t.key_id, o.isolation, o.salt, t.run_sealed,
       t.next_at::text AS at, trigger_task(t.id, t.next_at) AS task
  FROM org_trigger t JOIN org o ON o.id = t.tenant
 WHERE t.id = $1 AND t.next_at = $2::timestamptz;

-- name: trigger_fired
-- params: trigger_id, due, execution_id
SELECT trigger_fired($1, $2::timestamptz, $3);

-- name: trigger_failed
-- params: trigger_id, due, why, passes
SELECT trigger_failed($1, $2::timestamptz, $3, $4::boolean);
