-- Starting: one intent, one outcome; a worker acts in between.

-- The ports that the session's relays serve, as a list.
CREATE OR REPLACE FUNCTION session_ports(p_session text)
RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT string_agg(port::text, ',' ORDER BY port)
              FROM port WHERE session_id = p_session AND closing_at IS NULL
               AND (expires_at IS NULL OR expires_at > clock_timestamp()));
END $$;

-- The plan of a start whose intent is in these rows.
CREATE OR REPLACE FUNCTION start_plan_of(s session, b sandbox, l lease, c class,
    p_disposition text, p_ports text)
RETURNS start_plan LANGUAGE plpgsql STABLE AS $$
DECLARE
    r start_plan;
BEGIN
    r.session_id := s.id;
    r.disposition := p_disposition;
    r.state := s.state;
    r.sandbox_id := b.id;
    r.sandbox_state := b.state;
    r.incarnation := b.incarnation;
    r.epoch := b.epoch;
    r.provider := c.provider;
    r.rootfs := c.rootfs;
    r.memory_mb := c.memory_mb;
    r.cpu_millis := c.cpu_millis;
    r.disk_mb := c.disk_mb;
    r.pids := c.pids;
    r.generation := l.generation;
    r.instance := l.instance;
    r.env_sealed := s.env_sealed;
    r.files_sealed := s.files_sealed;
    r.ports := p_ports;
    RETURN r;
END $$;

-- The seconds within which a start has to be proved: a setup takes its time.
CREATE OR REPLACE FUNCTION start_seconds(s session, p jsonb)
RETURNS double precision LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN (p->>'seconds')::double precision
        + CASE WHEN s.setup_sealed IS NULL THEN 0 ELSE s.setup_seconds END;
END $$;

-- Takes the sandbox's and the lease's intent to start a session again.  Its row is locked.
CREATE OR REPLACE FUNCTION session_plan(p_session text, p_disposition text, p jsonb)
RETURNS start_plan LANGUAGE plpgsql AS $$
DECLARE
    s session%ROWTYPE;
    b sandbox%ROWTYPE;
    l lease%ROWTYPE;
    c class%ROWTYPE;
    a record;
BEGIN
    SELECT * INTO s FROM session WHERE id = p_session;
    b := sandbox_want(s.sandbox_id, p->>'incarnation', p->>'host', p->>'boot',
        (p->>'seconds')::double precision);
    SELECT * INTO a FROM lease_apply(p_session, 'allocate',
        p || jsonb_build_object('sandbox', b.id, 'seconds', start_seconds(s, p)));
    IF NOT a.applied THEN
        RAISE SQLSTATE 'SX411' USING MESSAGE = a.why;
    END IF;
    SELECT * INTO l FROM lease WHERE session_id = p_session;
    SELECT * INTO c FROM class WHERE name = b.class;
    -- the last wrapper is gone, and its relays; the next one begins with these
    DELETE FROM port WHERE session_id = s.id AND closing_at IS NOT NULL;
    UPDATE port SET pending = false, cut = false, tried_at = NULL
     WHERE session_id = s.id AND (pending OR cut);
    RETURN start_plan_of(s, b, l, c, p_disposition, session_ports(s.id));
END $$;

-- Columns that a start needs beside its plan, whose form must not change: old programs have
-- prepared statements that return it.  In PL/pgSQL, because a function in SQL would not
-- see a session that the same statement made.  cell_*: the limits of the session itself,
-- which are at most its sandbox's.
CREATE OR REPLACE FUNCTION start_more(p_session text)
RETURNS TABLE (org text, user_id text, session_name text, tenant text, snapshot text,
    setup_sealed text, setup_seconds bigint, setup_offset bigint, writable_root boolean,
    cell_memory_mb bigint, cell_disk_mb bigint, cell_pids bigint, adoption text,
    network_mode text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    s session%ROWTYPE;
    c class%ROWTYPE;
    v jsonb;
BEGIN
    SELECT * INTO s FROM session x WHERE x.id = p_session;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT * INTO c FROM class x WHERE x.name = coalesce(
        (SELECT b.class FROM sandbox b WHERE b.id = s.sandbox_id), s.class);
    cell_memory_mb := c.memory_mb;
    cell_disk_mb := c.disk_mb;
    cell_pids := c.pids;
    IF s.limits IS NOT NULL OR s.agent_type IS NOT NULL THEN
        v := session_limits(s);
        cell_memory_mb := (v->>'memoryMb')::bigint;
        cell_disk_mb := (v->>'diskMb')::bigint;
        cell_pids := (v->>'pids')::bigint;
    END IF;
    org := s.org;
    user_id := s.user_id;
    session_name := s.name;
    tenant := s.tenant;
    snapshot := s.snapshot_id;
    setup_sealed := s.setup_sealed;
    setup_seconds := s.setup_seconds;
    setup_offset := s.setup_offset;
    writable_root := c.writable_root;
    adoption := s.adoption;
    network_mode := network_mode(s);
    RETURN NEXT;
END $$;

-- Marks a session as told: a client gets its id now, so a failed create may no longer
-- take it back.  Answers its state.
CREATE OR REPLACE FUNCTION session_told(p_session text)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    UPDATE session SET told = true WHERE id = p_session AND NOT told AND started_at IS NULL;
    PERFORM pg_notify('sandlease_starts', ''); -- src/api/serve/starts.c may go on with the start
    RETURN (SELECT state FROM session WHERE id = p_session);
END $$;

-- Takes back a create that failed: frees its idempotency key and requests the deletion
-- of the session.  Only if no client can ask for the session again: it has no name and
-- no correlation key, was never ready, and no client was told its id.  Answers its state;
-- NULL: it stays.  The process that goes on with starts may be starting it again just
-- now, or have done so: then it stays, and the answer is 'ready'.
CREATE OR REPLACE FUNCTION session_take_back(p_session text, p jsonb)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    -- the order of locks of a create: idempotency key, session
    PERFORM FROM idempotency i JOIN session s
         ON i.tenant = s.tenant AND i.user_id = s.user_id AND i.session_id = s.id
      WHERE s.id = p_session FOR UPDATE OF i;
    PERFORM FROM session s
      WHERE s.id = p_session AND s.state IN ('failed', 'asleep', 'initializing')
        AND session_is_nobodys(s) FOR UPDATE;
    IF NOT FOUND THEN
        RETURN (SELECT state FROM session WHERE id = p_session AND state = 'ready');
    END IF;
    DELETE FROM idempotency i USING session s
     WHERE s.id = p_session AND i.tenant = s.tenant AND i.user_id = s.user_id
       AND i.session_id = s.id;
    RETURN session_request_stop(p_session, 'delete', p);
END $$;

-- Whether no client can name the session, which was never ready.  A session whose setup
-- failed does not count: its output and files show why.
CREATE OR REPLACE FUNCTION session_is_nobodys(s session)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT s.started_at IS NULL AND s.setup_exit IS NULL AND NOT s.told AND s.name IS NULL
       AND NOT EXISTS (SELECT FROM alias a WHERE a.session_id = s.id)
$$;

-- Compares a create with the session that it found.  p_kept has the fields that cannot
-- be changed: SX421 if one differs, SX422 for baseUrl, which can be set once.  A
-- session that is older than the column made_with is not compared by it.
CREATE OR REPLACE FUNCTION session_compare(p_session text, p_kept jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    s      session%ROWTYPE;
    has    jsonb;
    fields text[];
BEGIN
    SELECT * INTO s FROM session WHERE id = p_session;
    IF s.base_url <> p_kept->>'baseUrl' THEN
        RAISE SQLSTATE 'SX422' USING MESSAGE = 'baseUrl is set once, to ' || s.base_url;
    END IF;
    has := jsonb_build_object('isolation', s.isolation, 'agentType', s.agent_type,
        'class', coalesce((SELECT b.class FROM sandbox b WHERE b.id = s.sandbox_id), s.class),
        'snapshot', s.snapshot_id) || coalesce(s.made_with, '{}');
    fields := ARRAY(SELECT key FROM jsonb_each_text(p_kept)
                     WHERE has ? key AND has->>key IS DISTINCT FROM value ORDER BY key);
    IF fields <> '{}' THEN
        RAISE SQLSTATE 'SX421' USING
            MESSAGE = format('the session is there already, and was made with another %s;'
                ' that cannot be changed', array_to_string(fields, ', ')),
            DETAIL = jsonb_build_object('fields', to_jsonb(fields), 'session',
                jsonb_build_object('id', s.id, 'name', s.name, 'state', s.state));
    END IF;
END $$;

-- Makes the sandbox of a new session, or finds the one that it shares, and locks it.
-- A new one is made as it is wanted, in one step; one that is there is asked for by
-- sandbox_want().  It reserves the class's disk, once for all its sessions.  p_state:
-- absent, creating, or running for a member of the warm pool.
CREATE OR REPLACE FUNCTION sandbox_for_new(p jsonb, c class, p_state text)
RETURNS sandbox LANGUAGE plpgsql AS $$
DECLARE
    b        sandbox%ROWTYPE;
    at       timestamptz := clock_timestamp();
    v_mb     bigint := coalesce(c.disk_mb, 0);
    v_starts boolean := p_state <> 'absent';
BEGIN
    LOOP
        INSERT INTO sandbox (id, tenant, class, disk_mb, disk_host, state, incarnation, epoch,
            host, boot_id, deadline, changed_at)
        VALUES (p->>'sandbox', p->>'tenant', p->>'class', v_mb, p->>'host', p_state,
            CASE WHEN v_starts THEN p->>'incarnation' ELSE '' END, v_starts::int,
            CASE WHEN v_starts THEN p->>'host' ELSE '' END,
            CASE WHEN v_starts THEN p->>'boot' ELSE '' END,
            CASE WHEN p_state = 'creating'
                 THEN at + make_interval(secs => (p->>'seconds')::double precision) END, at)
        ON CONFLICT (id) DO NOTHING
        RETURNING * INTO b;
        IF FOUND THEN
            RETURN b;
        END IF;
        UPDATE sandbox x -- also to lock the row
           SET disk_mb = CASE WHEN x.disk_mb > 0 THEN x.disk_mb ELSE v_mb END,
               disk_host = CASE WHEN x.disk_mb > 0 THEN x.disk_host ELSE p->>'host' END
         WHERE x.id = p->>'sandbox'
        RETURNING * INTO b;
        EXIT WHEN FOUND; -- else it was removed in between
    END LOOP;
    IF NOT v_starts THEN
        RETURN b;
    END IF;
    RETURN sandbox_want(p->>'sandbox', p->>'incarnation', p->>'host', p->>'boot',
        (p->>'seconds')::double precision);
END $$;

-- The rows of a new session, and the intent to start it.  p.lazy: no client is told of the
-- session before the outcome of its start is committed.  Then a crash of the database may
-- lose the intent: a sandbox without rows is left, and the reconciliation removes it.  Not
-- so if the sandbox was there before: a number that was lost could be given twice, and a
-- member of the warm pool could be claimed twice.
CREATE OR REPLACE FUNCTION session_new(p jsonb, p_keys text[])
RETURNS start_plan LANGUAGE plpgsql AS $$
DECLARE
    v_id     text;
    v_tenant text := p->>'tenant';
    v_starts boolean := coalesce((p->>'start')::boolean, true);
    w        warm%ROWTYPE;
    v_gone   text;
    at       timestamptz;
    s        session%ROWTYPE;
    b        sandbox%ROWTYPE;
    c        class%ROWTYPE;
    l        lease%ROWTYPE;
    n        record;
    r        start_plan;
BEGIN
    IF p->'network' IS NOT NULL THEN
        PERFORM network_must_know(p->'network');
        PERFORM network_must_fit(p->'network', p->>'class');
    END IF;
    PERFORM limits_must_fit(p->'limits', p->>'class');
    PERFORM quota_look(v_tenant, 1, v_starts::int);
    IF (p->>'snapshotFallback')::boolean THEN
        v_gone := snapshot_gone(v_tenant, p->>'snapshot');
    END IF;
    IF v_gone IS NULL AND p->>'snapshot' IS NOT NULL THEN
        PERFORM snapshot_use(v_tenant, p->>'snapshot', p->>'host', p->>'class');
    END IF;
    SELECT * INTO c FROM class WHERE name = p->>'class';
    IF p ? 'warm' THEN
        w := warm_claim(p, c);
    END IF;
    IF w.session_id IS NULL THEN
        p := p - 'adoption';
    ELSE
        p := p || jsonb_build_object('id', w.session_id, 'sandbox', w.sandbox_id,
            'incarnation', w.incarnation, 'instance', w.instance);
        UPDATE idempotency SET session_id = w.session_id -- written before the claim
         WHERE tenant = v_tenant AND user_id = p->>'user' AND key = p->>'idempotencyKey';
    END IF;
    v_id := p->>'id';
    b := sandbox_for_new(p, c, CASE WHEN w.session_id IS NOT NULL THEN 'running'
                                    WHEN v_starts THEN 'creating' ELSE 'absent' END);
    INSERT INTO session (id, tenant, org, user_id, bot, key_id, name, sandbox_id, isolation,
        class, agent_type, labels, env_sealed, files_sealed, base_url, sleep_after_seconds,
        keep_alive, wake_on_preview, expires_at, max_run_seconds, suspend, concurrency, trace_id, actor,
        last_activity_at, setup_sealed, setup_seconds, snapshot_id, snapshot_fallback, made_with,
        network, secrets, secrets_sealed, limits, adoption, state, reason, told)
    VALUES (v_id, v_tenant, p->>'org', p->>'user', p->>'bot', p->>'keyId', p->>'name',
        p->>'sandbox', p->>'isolation', p->>'class', p->>'agentType',
        coalesce(p->'labels', '{}'), p->>'env', p->>'files', p->>'baseUrl',
        (p->>'sleepAfterSeconds')::bigint, (p->>'keepAlive')::boolean,
        (p->>'wakeOnPreview')::boolean, (p->>'expiresAt')::timestamptz,
        (p->>'maxRunSeconds')::bigint, coalesce((p->>'suspend')::boolean, false),
        coalesce((p->>'concurrency')::int, 1), p->>'trace', p->>'actor', clock_timestamp(), p->>'setup', (p->>'setupSeconds')::bigint,
        CASE WHEN v_gone IS NULL THEN p->>'snapshot' END,
        coalesce((p->>'snapshotFallback')::boolean, false), p->'madeWith',
        p->'network', nullif(p->'secrets', '[]'), p->>'secretsSealed', p->'limits',
        p->>'adoption', CASE WHEN v_starts THEN 'initializing' ELSE 'asleep' END,
        CASE WHEN NOT v_starts THEN 'not_started' END,
        NOT v_starts OR coalesce((p->>'told')::boolean, false))
    RETURNING * INTO s;
    IF v_starts THEN
        at := clock_timestamp();
        l := lease_new(v_id, b.id, at);
        n := lease_next(l, 'allocate', p || jsonb_build_object('seconds', start_seconds(s, p)), at);
        INSERT INTO lease SELECT (n.l).*;
        PERFORM lease_event(l, n.l, 'allocate', p, at);
        r := start_plan_of(s, b, n.l, c, 'created', NULL);
    ELSE
        -- init refuses to look for generation 0, so a session that is only registered has
        -- used generation 1, without a wrapper
        INSERT INTO lease (session_id, sandbox_id, generation) VALUES (v_id, b.id, 1);
        r.session_id := v_id;
        r.disposition := 'registered';
        r.state := 'asleep';
    END IF;
    IF p_keys IS NOT NULL THEN
        PERFORM keys_attach(v_tenant, p_keys, v_id);
    END IF;
    IF v_gone IS NOT NULL THEN
        PERFORM session_fell_back(v_id, v_gone, p);
    END IF;
    PERFORM disk_reserve(b.id, coalesce((p->>'diskBudgetMb')::bigint, 0));
    IF p ? 'lazy' AND r.sandbox_state = 'creating' AND b.epoch = 1 THEN
        -- the outcome's commit writes this one to the disk, too
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    RETURN r;
END $$;

-- Registers a session and the intent to start it, in one step.
-- disposition: created, registered (p.start is false: nothing is started), found
-- (by name or correlation key), replayed (same idempotency key), replayed_found
-- (the same, of a create that had found it), failed (found, but its first start
-- has failed: the caller deletes it and asks again).
-- Raises SX429 when a quota of the tenant is used up; as with every error, the
-- transaction is rolled back.
CREATE OR REPLACE FUNCTION session_create(p jsonb)
RETURNS start_plan LANGUAGE plpgsql AS $$
DECLARE
    v_id     text := p->>'id';
    v_tenant text := p->>'tenant';
    v_found  text;
    v_host   text;
    v_keys   text[];
    k        idempotency%ROWTYPE;
    f        session%ROWTYPE;
    r        start_plan;
BEGIN
    IF (SELECT draining FROM installation) THEN
        RAISE SQLSTATE 'SX503' USING MESSAGE = 'the service is draining';
    END IF;
    IF p->>'idempotencyKey' IS NOT NULL THEN
        INSERT INTO idempotency AS i (tenant, user_id, key, hash, session_id)
        VALUES (v_tenant, p->>'user', p->>'idempotencyKey', p->>'requestHash', v_id)
        ON CONFLICT (tenant, user_id, key) DO UPDATE
           SET hash = CASE WHEN i.created_at < clock_timestamp() - interval '24 hours'
                           THEN excluded.hash ELSE i.hash END,
               session_id = CASE WHEN i.created_at < clock_timestamp() - interval '24 hours'
                           THEN excluded.session_id ELSE i.session_id END,
               created_at = CASE WHEN i.created_at < clock_timestamp() - interval '24 hours'
                           THEN clock_timestamp() ELSE i.created_at END
        RETURNING * INTO k;
        IF k.hash <> p->>'requestHash' THEN
            RAISE SQLSTATE 'SX410' USING MESSAGE =
                'this Idempotency-Key was used for another request';
        END IF;
        IF k.session_id <> v_id AND EXISTS (SELECT FROM session s WHERE s.id = k.session_id
                AND s.state IN ('deleting', 'deleted') AND s.started_at IS NULL AND NOT s.told) THEN
            -- no client was told of that session: its create died and the reaper took it back
            UPDATE idempotency SET session_id = v_id
             WHERE tenant = v_tenant AND user_id = p->>'user' AND key = p->>'idempotencyKey';
        ELSIF k.session_id <> v_id THEN
            r.session_id := k.session_id;
            -- a create writes its key before the session it makes
            r.disposition := CASE WHEN k.created_at > (SELECT created_at FROM session
                                                        WHERE id = k.session_id)
                                  THEN 'replayed_found' ELSE 'replayed' END;
            r.state := session_told(k.session_id);
            RETURN r;
        END IF;
    END IF;
    IF p->>'name' IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(hashtextextended(v_tenant || '/' || (p->>'name'), 1));
        SELECT id INTO v_found FROM session
         WHERE tenant = v_tenant AND name = p->>'name'
           AND state NOT IN ('deleting', 'deleted');
    END IF;
    IF p->'correlationKeys' IS NOT NULL THEN
        v_keys := ARRAY(SELECT jsonb_array_elements_text(p->'correlationKeys'));
        v_found := keys_find(v_tenant, v_keys, v_found);
    END IF;
    -- read once: another create may be deleting it, to replace it
    SELECT * INTO f FROM session WHERE id = v_found AND state NOT IN ('deleting', 'deleted');
    v_found := f.id;
    IF v_found IS NOT NULL THEN
        v_host := sandbox_elsewhere(f.sandbox_id, p->>'host');
        IF v_host IS NOT NULL THEN
            PERFORM other_host_raise(v_host); -- only that host can start it
        END IF;
        IF f.state IN ('failed', 'lost') AND f.started_at IS NULL
                AND NOT EXISTS (SELECT FROM execution e -- one that waits for its next attempt
                    WHERE e.session_id = v_found AND e.state IN ('queued', 'running')) THEN
            DELETE FROM idempotency
             WHERE tenant = v_tenant AND user_id = p->>'user' AND key = p->>'idempotencyKey';
            r.session_id := v_found;
            r.disposition := 'failed';
            RETURN r;
        END IF;
        PERFORM session_compare(v_found, coalesce(p->'kept', '{}'));
        IF p->>'idempotencyKey' IS NOT NULL THEN
            -- another create may have made it since our key was written
            UPDATE idempotency SET session_id = v_found, created_at = clock_timestamp()
             WHERE tenant = v_tenant AND user_id = p->>'user'
               AND key = p->>'idempotencyKey';
        END IF;
        IF v_keys IS NOT NULL THEN
            PERFORM keys_attach(v_tenant, v_keys, v_found);
        END IF;
        r.session_id := v_found;
        r.disposition := 'found';
        r.state := session_told(v_found);
        IF NOT p ? 'countLater' THEN -- the caller takes further locks, and counts it then
            PERFORM quota_find(v_tenant);
        END IF;
        RETURN r;
    END IF;

    RETURN session_new(p, v_keys);
END $$;

-- Intent to start again (resume, repair).  The caller has looked and found no wrapper
-- while the lease was (p.seenState, p.seenGeneration).  If the lease changed since,
-- that look proves nothing any more: SX412, and the caller starts over.
CREATE OR REPLACE FUNCTION session_restart(p_session text, p jsonb)
RETURNS start_plan LANGUAGE plpgsql AS $$
DECLARE
    s session%ROWTYPE;
    l lease%ROWTYPE;
BEGIN
    IF (SELECT draining FROM installation) THEN
        RAISE SQLSTATE 'SX503' USING MESSAGE = 'the service is draining';
    END IF;
    -- the order of locks: sandbox, session, lease
    PERFORM FROM sandbox b JOIN session x ON x.sandbox_id = b.id
      WHERE x.id = p_session FOR UPDATE OF b;
    SELECT * INTO s FROM session WHERE id = p_session FOR UPDATE;
    IF NOT FOUND THEN
        RAISE SQLSTATE 'SX404' USING MESSAGE = 'no such session';
    END IF;
    PERFORM session_must_live(s.state);
    IF s.state = 'lost' THEN
        RAISE SQLSTATE 'SX414' USING MESSAGE = 'the session''s files are gone; it can only be deleted';
    END IF;
    IF s.files_dropped_at IS NOT NULL THEN
        RAISE SQLSTATE 'SX414' USING MESSAGE = 'it failed, and its files have been removed since';
    END IF;
    SELECT * INTO l FROM lease WHERE session_id = p_session FOR UPDATE;
    IF l.state IN ('stop_needed', 'stopping') THEN
        RAISE SQLSTATE 'SX411' USING MESSAGE =
            format('waiting for the last wrapper to be gone (%s)', l.reason);
    END IF;
    IF l.state <> p->>'seenState' OR l.generation <> (p->>'seenGeneration')::bigint THEN
        RAISE SQLSTATE 'SX412' USING MESSAGE = 'the lease changed meanwhile';
    END IF;
    IF NOT session_is_active(s.state, s.suspended_at) THEN
        PERFORM quota_look(s.tenant, 0, 1);
    END IF;
    IF l.state = 'owns_wrapper' THEN
        PERFORM lease_apply(p_session, 'owned_absent', jsonb_build_object(
            'instance', l.instance, 'generation', l.generation, 'reason', 'wrapper_gone',
            'trace', p->>'trace', 'actor', p->>'actor'));
    END IF;
    -- its attempts are over with the last generation, and others follow
    PERFORM executions_lost(p_session, l.generation, 'its wrapper was lost');
    PERFORM session_apply(p_session, 'start', p);
    RETURN session_plan(p_session, 'restarted', p);
END $$;

-- Outcome: the wrapper answered a command.  A client waits for this session,
-- so it is retained warm at once.
CREATE OR REPLACE FUNCTION session_verified(p_session text, p jsonb)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    s        session%ROWTYPE;
    l        lease%ROWTYPE;
    verified record;
    warm     record;
    v_warm   jsonb;
    at       timestamptz;
BEGIN
    PERFORM sandbox_settle(p->>'sandbox', p->>'incarnation', 'running', p->>'version');
    SELECT * INTO s FROM session WHERE id = p_session FOR UPDATE;
    IF s.suspended_at IS NOT NULL THEN
        RETURN false; -- frozen meanwhile: session_thawed is its outcome
    END IF;
    SELECT * INTO l FROM lease WHERE session_id = p_session FOR UPDATE;
    -- before the time from which they count: session_extend() promised no less
    v_warm := p || jsonb_build_object('seconds', session_warm_seconds(s));
    at := clock_timestamp(); -- after the lock
    -- both events of the lease are one write
    verified := lease_next(l, 'startup_verified', p, at);
    IF verified.why IS NOT NULL THEN
        PERFORM event_steps_add(p_session, p);
        RETURN false;
    END IF;
    warm := lease_next(verified.l, 'retain_warm', v_warm, at);
    PERFORM lease_write(warm.l);
    INSERT INTO event (session_id, at, kind, what, actor, reason, generation, trace_id,
                       duration_ms, detail)
    SELECT * FROM event_of_steps(p_session, p, at)
     UNION ALL
    SELECT * FROM event_of_lease(l, verified.l, 'startup_verified', p, at)
     UNION ALL
    SELECT * FROM event_of_lease(verified.l, warm.l, 'retain_warm', v_warm, at);
    PERFORM session_change(s, 'verified', p);
    IF EXISTS (SELECT FROM execution e WHERE e.session_id = p_session AND e.state = 'queued'
                  AND e.generation IS NULL) THEN
        PERFORM pg_notify('sandlease_starts', ''); -- src/api/serve/starts.c gives them
    END IF;
    RETURN true;
END $$;

-- A session after the outcome of its start: what its wrapper should have by now, and, if
-- p_show, the session as the API shows it.
CREATE OR REPLACE FUNCTION session_after_start(p_session text, p_show boolean)
RETURNS TABLE (env_sealed text, has_ports boolean, network_mode text, json json)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    s session%ROWTYPE;
BEGIN
    SELECT * INTO s FROM session x WHERE x.id = p_session;
    env_sealed := s.env_sealed;
    has_ports := session_has_ports(p_session);
    network_mode := network_mode(s);
    IF p_show THEN
        json := session_json(s);
    END IF;
    RETURN NEXT;
END $$;

-- Environment and ports that the wrapper of a ready session should have.  A change
-- made while the session starts is in no message to the wrapper: control/ compares
-- these with the launch and sends the difference (src/control/launch_diff.h).
CREATE OR REPLACE FUNCTION session_env_ports(p_session text, p_verified boolean)
RETURNS TABLE (env_sealed text, ports text) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_verified THEN
        RETURN QUERY SELECT s.env_sealed, session_ports(s.id)
          FROM session s WHERE s.id = p_session;
    END IF;
END $$;

DROP FUNCTION IF EXISTS session_is_active(text); -- replaced by session_is_active(text, timestamptz)
