-- Webhooks.

-- name: webhook_list
-- params: tenant, webhook_id
-- All of the tenant, oldest first, or one.
SELECT webhook_json(w) AS json
  FROM webhook w
 WHERE w.tenant = $1 AND ($2 = '' OR w.id = $2)
 ORDER BY w.created_at, w.id;

-- name: webhook_create
-- params: tenant, spec
SELECT webhook_create($1, $2::jsonb);

-- name: webhook_patch
-- params: tenant, webhook_id, spec
SELECT webhook_patch($1, $2, $3::jsonb);

-- name: webhook_delete
-- params: tenant, webhook_id, spec
SELECT webhook_delete($1, $2, $3::jsonb);

-- name: webhook_test
-- params: tenant, webhook_id
SELECT webhook_test($1, $2) AS id;

-- name: webhook_redeliver
-- params: tenant, webhook_id, delivery_id
SELECT webhook_redeliver($1, $2, $3) AS found;

-- name: webhook_deliveries
-- params: tenant, webhook_id, delivery_id, before_at, before_id, page
-- Newest first, or one; the cursor is the last row's (created_at, id).
SELECT d.id, webhook_delivery_json(d) AS json,
       extract(epoch FROM d.created_at)::numeric(20, 6)::text AS at
  FROM webhook_delivery d
 WHERE d.tenant = $1 AND d.webhook_id = $2 AND ($3 = '' OR d.id = $3)
   AND ($4 = '' OR (d.created_at, d.id) < (to_timestamp($4::numeric), $5))
 ORDER BY d.created_at DESC, d.id DESC
 LIMIT $6::int;

-- name: webhook_claim
-- params: most, share, seconds, late
SELECT id, webhook_id, event, body, attempt, url, secret_sealed
  FROM webhook_claim($1::int, $2::int, $3::int, $4::int);

-- name: webhook_told
-- params: delivery_id, attempt, status, error
SELECT webhook_told($1, $2::int, $3::int, $4) AS now;

-- name: webhook_release
-- params: delivery_id, attempt
-- Ends a claim: the delivery is due.
UPDATE webhook_delivery SET due_at = clock_timestamp(), claimed = false
 WHERE id = $1 AND attempts = $2::int AND claimed;

-- name: webhook_forget
-- params: days, batch
DELETE FROM webhook_delivery WHERE id = ANY (ARRAY(
    SELECT id FROM webhook_delivery
     WHERE created_at < statement_timestamp() - make_interval(days => $1::int)
     ORDER BY created_at
     LIMIT $2::int));
