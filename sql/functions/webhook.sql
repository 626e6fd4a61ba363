-- Webhooks: rows of what is to be sent, written with the change that they tell of.
--
-- A delivery is claimed by webhook_claim(), sent, and settled by webhook_told().  A claim ends by
-- itself: the delivery of a process that died is sent again, with the same id.

CREATE OR REPLACE FUNCTION webhook_json(w webhook)
RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN json_build_object('id', w.id, 'url', w.url, 'events', w.events, 'enabled', w.enabled,
        'reason', w.reason, 'failingSince', iso(w.failing_since), 'createdBy', w.actor,
        'createdAt', iso(w.created_at), 'changedAt', iso(w.changed_at));
END $$;

CREATE OR REPLACE FUNCTION webhook_delivery_json(d webhook_delivery)
RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN json_build_object('id', d.id, 'event', d.event,
        'state', CASE WHEN d.delivered_at IS NOT NULL THEN 'delivered'
                      WHEN d.given_up_at IS NOT NULL THEN 'given_up' ELSE 'pending' END,
        'attempts', d.attempts, 'lastStatus', d.last_status, 'lastError', d.last_error,
        'createdAt', iso(d.created_at), 'lastAttemptAt', iso(d.last_at),
        'nextAttemptAt', CASE WHEN NOT d.claimed THEN iso(d.due_at) END,
        'deliveredAt', iso(d.delivered_at), 'givenUpAt', iso(d.given_up_at));
END $$;

-- ---- deliveries

-- Makes an id of [a-f0-9]; 76 of its bits are random.
CREATE OR REPLACE FUNCTION webhook_delivery_id()
RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT left(replace(gen_random_uuid()::text, '-', ''), 20)
$$;

-- Keeps the newest 1,000 deliveries of a webhook that wait, and the newest 1,000 that are over:
-- a server that never answers must not fill the database.  Rows that are locked stay.
CREATE OR REPLACE FUNCTION webhook_bound(p_webhook text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c_most constant integer := 1000;
    v_last webhook_delivery%ROWTYPE;
BEGIN
    SELECT * INTO v_last FROM webhook_delivery
     WHERE webhook_id = p_webhook AND due_at IS NOT NULL
     ORDER BY created_at DESC, id DESC OFFSET c_most LIMIT 1;
    IF FOUND THEN
        UPDATE webhook_delivery
           SET due_at = NULL, claimed = false, given_up_at = clock_timestamp(),
               last_error = format('more than %s deliveries were waiting', c_most)
         WHERE id IN (SELECT id FROM webhook_delivery
                       WHERE webhook_id = p_webhook AND due_at IS NOT NULL
                         AND (created_at, id) <= (v_last.created_at, v_last.id)
                         FOR UPDATE SKIP LOCKED);
    END IF;
    SELECT * INTO v_last FROM webhook_delivery
     WHERE webhook_id = p_webhook AND due_at IS NULL
     ORDER BY created_at DESC, id DESC OFFSET c_most LIMIT 1;
    IF FOUND THEN
        DELETE FROM webhook_delivery
         WHERE id IN (SELECT id FROM webhook_delivery
                       WHERE webhook_id = p_webhook AND due_at IS NULL
                         AND (created_at, id) <= (v_last.created_at, v_last.id)
                         FOR UPDATE SKIP LOCKED);
    END IF;
END $$;

-- Writes a delivery for one webhook and answers its id.  Counting costs more than writing, so
-- one delivery in 32 counts.
CREATE OR REPLACE FUNCTION webhook_add(p_webhook text, p_tenant text, p_event text, p_name text,
    p_what json)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    c_until constant interval := '24 h';
    v_id    text := webhook_delivery_id();
    v_at    timestamptz := clock_timestamp();
BEGIN
    INSERT INTO webhook_delivery (id, webhook_id, tenant, event, body, until, due_at, created_at)
    VALUES (v_id, p_webhook, p_tenant, p_event, json_build_object('id', v_id, 'event', p_event,
            'createdAt', iso(v_at), 'org', p_tenant, p_name, p_what), v_at + c_until, v_at, v_at);
    IF random() < 1.0 / 32 THEN
        PERFORM webhook_bound(p_webhook);
    END IF;
    PERFORM pg_notify('sandlease_webhooks', '');
    RETURN v_id;
END $$;

-- Writes a delivery for each webhook that has the event.  Never waits: a webhook that is just
-- being deleted is passed over, and no other change of one conflicts with this lock.
CREATE OR REPLACE FUNCTION webhook_tell(p_tenant text, p_event text, p_name text, p_what json)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_webhook text;
BEGIN
    FOR v_webhook IN
        SELECT id FROM webhook
         WHERE tenant = p_tenant AND enabled AND p_event = ANY (events)
           FOR KEY SHARE SKIP LOCKED
    LOOP
        PERFORM webhook_add(v_webhook, p_tenant, p_event, p_name, p_what);
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION webhook_wanted(p_tenant text, p_event text)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM webhook
                    WHERE tenant = p_tenant AND enabled AND p_event = ANY (events));
END $$;

-- The members of a session that a webhook is told: none that is a secret, or that only the host
-- can complete.
CREATE OR REPLACE FUNCTION webhook_session(s session)
RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    c_members constant text[] := '{id,name,state,reason,sandboxId,isolation,class,agentType,labels,correlationKeys,setup,snapshot,createdAt,startedAt,endedAt}';
    v_all     json := session_json(s);
BEGIN
    RETURN (SELECT json_object_agg(m.name, v_all->m.name ORDER BY m.n)
              FROM unnest(c_members) WITH ORDINALITY m (name, n));
END $$;

CREATE OR REPLACE FUNCTION webhook_session_failed()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF webhook_wanted(NEW.tenant, 'session.failed') THEN
        PERFORM webhook_tell(NEW.tenant, 'session.failed', 'session', webhook_session(NEW));
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER session_failed_for_webhooks
    AFTER UPDATE OF state ON session
    FOR EACH ROW WHEN (NEW.state = 'failed' AND OLD.state <> 'failed')
    EXECUTE FUNCTION webhook_session_failed();

CREATE OR REPLACE FUNCTION webhook_execution_finished()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF webhook_wanted(NEW.tenant, 'execution.finished') THEN
        PERFORM webhook_tell(NEW.tenant, 'execution.finished', 'execution', execution_json(NEW));
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER execution_finished_for_webhooks
    AFTER UPDATE OF state ON execution
    FOR EACH ROW WHEN (execution_is_over(NEW.state) AND NOT execution_is_over(OLD.state))
    EXECUTE FUNCTION webhook_execution_finished();

-- ---- sending

-- 10 s, doubled with each attempt, at most an hour, and 20 % more or less.
CREATE OR REPLACE FUNCTION webhook_pause(p_attempt integer)
RETURNS interval LANGUAGE sql VOLATILE AS $$
    SELECT make_interval(secs => least(3600, 10 * 2 ^ greatest(0, least(p_attempt, 20) - 1))
        * (0.8 + 0.4 * random()))
$$;

-- Claims up to p_most deliveries for p_seconds; another process may send them after that.
-- A tenant has at most p_share under way, and a webhook whose last try failed has one: servers
-- that do not answer hold up their own org alone.  Those come last, and tenants take turns.  p_late: only what has
-- been due for so many seconds.
CREATE OR REPLACE FUNCTION webhook_claim(p_most integer, p_share integer, p_seconds integer,
    p_late integer)
RETURNS TABLE (id text, webhook_id text, event text, body text, attempt integer, url text,
    secret_sealed text)
LANGUAGE plpgsql AS $$
DECLARE
    v_at  timestamptz := clock_timestamp();
    v_due timestamptz := v_at - make_interval(secs => p_late);
BEGIN
    RETURN QUERY
    WITH RECURSIVE waiting (webhook_id) AS ( -- each once, without reading all that waits
        (SELECT d.webhook_id FROM webhook_delivery d WHERE d.due_at IS NOT NULL
          ORDER BY d.webhook_id LIMIT 1)
        UNION ALL
        SELECT (SELECT d.webhook_id FROM webhook_delivery d
                 WHERE d.due_at IS NOT NULL AND d.webhook_id > w.webhook_id
                 ORDER BY d.webhook_id LIMIT 1)
          FROM waiting w WHERE w.webhook_id IS NOT NULL
    ), under_way AS MATERIALIZED (
        SELECT d.tenant, d.webhook_id FROM webhook_delivery d WHERE d.claimed AND d.due_at > v_at
    ), due AS (
        SELECT d.id, d.due_at, w.tenant, w.failing_since IS NOT NULL AS failing,
               row_number() OVER (PARTITION BY w.tenant ORDER BY d.due_at, d.id) AS nth
          FROM waiting
          JOIN webhook w ON w.id = waiting.webhook_id AND w.enabled
         CROSS JOIN LATERAL (
               SELECT x.id, x.due_at FROM webhook_delivery x
                WHERE x.webhook_id = w.id AND x.due_at <= v_due
                ORDER BY x.due_at
                LIMIT CASE WHEN w.failing_since IS NULL THEN p_share
                           ELSE greatest(0, 1 - (SELECT count(*) FROM under_way u
                                                  WHERE u.webhook_id = w.id)) END) d
    ), chosen AS (
        SELECT due.id FROM due
         WHERE due.nth + (SELECT count(*) FROM under_way u WHERE u.tenant = due.tenant) <= p_share
         ORDER BY due.failing, due.nth, due.due_at
         LIMIT p_most
    ), locked AS MATERIALIZED (
        SELECT d.id FROM webhook_delivery d
         WHERE d.id IN (SELECT chosen.id FROM chosen) AND d.due_at <= v_due
           FOR UPDATE SKIP LOCKED
    )
    UPDATE webhook_delivery d
       SET claimed = true, due_at = v_at + make_interval(secs => p_seconds),
           attempts = d.attempts + 1
      FROM locked, webhook w
     WHERE d.id = locked.id AND w.id = d.webhook_id
    RETURNING d.id, d.webhook_id, d.event, d.body::text, d.attempts, w.url, w.secret_sealed;
END $$;

-- Has deliveries that wait end, because their webhook is disabled.
CREATE OR REPLACE FUNCTION webhook_give_up(p_webhook text, p_why text)
RETURNS void LANGUAGE sql AS $$
    UPDATE webhook_delivery
       SET due_at = NULL, claimed = false, given_up_at = clock_timestamp(), last_error = p_why
     WHERE webhook_id = p_webhook AND due_at IS NOT NULL
$$;

-- The result of an attempt: an HTTP status, or NULL and an error.  2xx is a success, whenever it
-- is told.  A failure counts only for the attempt that the row has: after a claim has ended
-- another process may have the delivery.  410 disables the webhook.  Answers what is now.
CREATE OR REPLACE FUNCTION webhook_told(p_id text, p_attempt integer, p_status integer,
    p_error text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    d      webhook_delivery%ROWTYPE;
    v_at   timestamptz;
    v_next timestamptz;
BEGIN
    -- the webhook first, as its deletion does
    SELECT * INTO d FROM webhook_delivery WHERE id = p_id;
    PERFORM FROM webhook WHERE id = d.webhook_id FOR NO KEY UPDATE;
    SELECT * INTO d FROM webhook_delivery WHERE id = p_id FOR UPDATE;
    v_at := clock_timestamp();
    IF NOT FOUND OR d.delivered_at IS NOT NULL THEN
        RETURN 'over';
    END IF;
    IF p_status BETWEEN 200 AND 299 THEN
        UPDATE webhook_delivery
           SET due_at = NULL, claimed = false, given_up_at = NULL, delivered_at = v_at,
               last_at = v_at, last_status = p_status, last_error = NULL
         WHERE id = p_id;
        UPDATE webhook SET failing_since = NULL
         WHERE id = d.webhook_id AND failing_since IS NOT NULL;
        RETURN 'delivered';
    END IF;
    IF d.due_at IS NULL OR d.attempts <> p_attempt THEN
        RETURN 'late';
    END IF;
    v_next := v_at + webhook_pause(d.attempts);
    UPDATE webhook_delivery
       SET claimed = false, due_at = CASE WHEN v_next <= d.until THEN v_next END,
           given_up_at = CASE WHEN v_next > d.until THEN v_at END,
           last_at = v_at, last_status = p_status, last_error = left(p_error, 200)
     WHERE id = p_id;
    UPDATE webhook SET failing_since = coalesce(failing_since, v_at) WHERE id = d.webhook_id;
    IF p_status = 410 THEN
        UPDATE webhook SET enabled = false, reason = 'its server answered 410 Gone',
               changed_at = v_at
         WHERE id = d.webhook_id;
        PERFORM webhook_give_up(d.webhook_id, 'the webhook''s server answered 410 Gone');
        PERFORM audit_add('webhook_disabled', 'warning', d.tenant, d.webhook_id,
            jsonb_build_object('by', event_actor(), 'delivery', d.id));
        RETURN 'disabled';
    END IF;
    RETURN CASE WHEN v_next <= d.until THEN 'pending' ELSE 'given_up' END;
END $$;

-- ---- changes by the tenant

-- Counts a change of a tenant's webhooks.  Each is a row of the audit log, or a request to a
-- server on the Internet.
CREATE OR REPLACE FUNCTION webhook_turn(p_tenant text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE org SET webhook_turn = quota_turn(org.webhook_turn, 'webhookChanges', 'changes and tests of webhooks')
     WHERE id = p_tenant;
END $$;

-- p: id, url, events, secret (sealed), actor, trace.
CREATE OR REPLACE FUNCTION webhook_create(p_tenant text, p jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c_most constant bigint := 10;
    v_has  bigint;
BEGIN
    PERFORM FROM org WHERE id = p_tenant FOR NO KEY UPDATE; -- one at a time, to count
    SELECT count(*) INTO v_has FROM webhook WHERE tenant = p_tenant;
    IF v_has >= c_most THEN
        PERFORM quota_refuse('webhooks', 'webhooks', c_most, v_has, 60);
    END IF;
    PERFORM webhook_turn(p_tenant);
    INSERT INTO webhook (id, tenant, url, events, secret_sealed, actor)
    VALUES (p->>'id', p_tenant, p->>'url',
            ARRAY(SELECT DISTINCT jsonb_array_elements_text(p->'events') ORDER BY 1),
            p->>'secret', coalesce(p->>'actor', event_actor()));
    PERFORM audit_add('webhook_created', 'info', p_tenant, p->>'id',
        jsonb_build_object('by', coalesce(p->>'actor', event_actor()), 'events', p->'events',
            'trace', p->'trace'));
END $$;

-- The tenant's webhook, locked for a change, which counts; raises SX431 if there is none.
CREATE OR REPLACE FUNCTION webhook_lock(p_tenant text, p_id text)
RETURNS webhook LANGUAGE plpgsql AS $$
DECLARE
    w webhook%ROWTYPE;
BEGIN
    PERFORM FROM org WHERE id = p_tenant FOR NO KEY UPDATE; -- first, as webhook_create() does
    SELECT * INTO w FROM webhook WHERE id = p_id AND tenant = p_tenant FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE SQLSTATE 'SX431' USING MESSAGE = 'there is no such webhook';
    END IF;
    PERFORM webhook_turn(p_tenant);
    RETURN w;
END $$;

-- p: url, events, enabled, secret (sealed); those that are given.
CREATE OR REPLACE FUNCTION webhook_patch(p_tenant text, p_id text, p jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    w         webhook%ROWTYPE := webhook_lock(p_tenant, p_id);
    v_enabled boolean := coalesce((p->>'enabled')::boolean, w.enabled);
BEGIN
    UPDATE webhook
       SET url = coalesce(p->>'url', w.url),
           events = CASE WHEN p ? 'events'
               THEN ARRAY(SELECT DISTINCT jsonb_array_elements_text(p->'events') ORDER BY 1)
               ELSE w.events END,
           secret_sealed = coalesce(p->>'secret', w.secret_sealed),
           enabled = v_enabled,
           reason = CASE WHEN NOT v_enabled THEN w.reason END,
           -- another server, or another chance
           failing_since = CASE WHEN NOT (p ? 'url' OR v_enabled AND NOT w.enabled)
               THEN w.failing_since END,
           changed_at = clock_timestamp()
     WHERE id = p_id;
    IF NOT (v_enabled AND w.enabled) THEN -- also what was written while it was disabled
        PERFORM webhook_give_up(p_id, 'the webhook was disabled');
    END IF;
    IF p->>'url' <> w.url THEN -- the old server's answers do not count, and the new one is asked
        UPDATE webhook_delivery
           SET claimed = false, attempts = attempts + 1, due_at = clock_timestamp()
         WHERE webhook_id = p_id AND claimed;
        PERFORM pg_notify('sandlease_webhooks', '');
    END IF;
    PERFORM audit_add('webhook_changed', 'info', p_tenant, p_id,
        jsonb_build_object('by', coalesce(p->>'actor', event_actor()), 'trace', p->'trace',
            'changed', (SELECT coalesce(jsonb_agg(k ORDER BY k), '[]') FROM jsonb_object_keys(p) k
                         WHERE k IN ('url', 'events', 'enabled', 'secret'))));
END $$;

CREATE OR REPLACE FUNCTION webhook_delete(p_tenant text, p_id text, p jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM webhook_lock(p_tenant, p_id);
    DELETE FROM webhook WHERE id = p_id;
    PERFORM audit_add('webhook_deleted', 'info', p_tenant, p_id,
        jsonb_build_object('by', coalesce(p->>'actor', event_actor()), 'trace', p->'trace'));
END $$;

-- Raises SX432 if nothing is sent to the webhook.
CREATE OR REPLACE FUNCTION webhook_must_be_enabled(w webhook)
RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF NOT w.enabled THEN
        RAISE SQLSTATE 'SX432' USING MESSAGE = 'the webhook is disabled';
    END IF;
END $$;

-- Has an event `test` sent, which no webhook needs to name; answers the delivery's id.
CREATE OR REPLACE FUNCTION webhook_test(p_tenant text, p_id text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    w webhook%ROWTYPE := webhook_lock(p_tenant, p_id);
BEGIN
    PERFORM webhook_must_be_enabled(w);
    RETURN webhook_add(w.id, p_tenant, 'test', 'webhook', json_build_object('id', w.id));
END $$;

-- Has a delivery sent again now, whatever became of it; one that is being sent is left alone.
-- Answers whether there is such a delivery.
CREATE OR REPLACE FUNCTION webhook_redeliver(p_tenant text, p_id text, p_delivery text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    w    webhook%ROWTYPE := webhook_lock(p_tenant, p_id);
    v_at timestamptz := clock_timestamp();
BEGIN
    PERFORM webhook_must_be_enabled(w);
    PERFORM FROM webhook_delivery WHERE id = p_delivery AND webhook_id = p_id;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE webhook_delivery
       SET due_at = v_at, claimed = false, until = v_at + interval '24 h', delivered_at = NULL,
           given_up_at = NULL
     WHERE id = p_delivery AND NOT (claimed AND due_at > v_at);
    PERFORM pg_notify('sandlease_webhooks', '');
    RETURN true;
END $$;
