-- Quotas: what a tenant has, counted where it changes.
--
-- Triggers on session and port add up what a transaction changes, in any statement,
-- and apply the sum at its end.  Only there are rows of quota locked, in the order of
-- the tenants' names, and nothing is locked after them.  So the one row that all
-- creates of an org need is held for the commit alone, and no deadlock is possible.
-- A change that does not fit raises SX429, which rolls the transaction back.
--
-- The service's own limits come with the connection (sandlease.quota_active, ...;
-- src/store/store.c); without them only those of the tenant's row count.

CREATE OR REPLACE FUNCTION quota_limit(p_own bigint, p_setting text)
RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT coalesce(p_own, nullif(current_setting('sandlease.' || p_setting, true), '')::bigint, 0)
$$;

-- Adds to the sum of this transaction's changes, which has one element a tenant.
CREATE OR REPLACE FUNCTION quota_note(p_tenant text, p_sessions integer, p_active integer,
    p_creates integer, p_previews integer, p_disk_mb bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    noted quota_change[] := nullif(current_setting('sandlease.quota_noted', true), '');
    d     quota_change := (p_tenant, p_sessions, p_active, p_creates, p_previews, p_disk_mb);
    was   quota_change;
    n     integer := coalesce(cardinality(noted), 0) + 1;
BEGIN
    FOR i IN 1..n - 1 LOOP
        IF (noted[i]).tenant = p_tenant THEN
            n := i;
            was := noted[i];
            d := (p_tenant, was.sessions + d.sessions, was.active + d.active,
                was.creates + d.creates, was.previews + d.previews, was.disk_mb + d.disk_mb);
            EXIT;
        END IF;
    END LOOP;
    noted[n] := d;
    PERFORM set_config('sandlease.quota_noted', noted::text, true);
END $$;

-- Whether a session's files count.  One that is lost has none, nor has one whose
-- first start failed; a setup may have left some before it failed.
CREATE OR REPLACE FUNCTION session_holds_disk(s session)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT s.state NOT IN ('deleted', 'lost') AND s.files_dropped_at IS NULL
       AND NOT (s.state = 'failed' AND s.started_at IS NULL AND s.setup_exit IS NULL)
$$;

-- A sandbox keeps its class's disk reserved while a session's storage is in it.  The
-- caller, which adds or ends a session, has locked the sandbox's row.
CREATE OR REPLACE FUNCTION quota_keep_disk(p_sandbox text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v bigint;
BEGIN
    UPDATE sandbox b SET quota_disk_mb = c.disk_mb FROM class c
     WHERE b.id = p_sandbox AND b.quota_disk_mb = 0 AND c.name = b.class
    RETURNING b.quota_disk_mb INTO v;
    RETURN coalesce(v, 0);
END $$;

CREATE OR REPLACE FUNCTION quota_drop_disk(p_sandbox text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v bigint;
BEGIN
    SELECT quota_disk_mb INTO v FROM sandbox WHERE id = p_sandbox FOR UPDATE;
    IF v IS NULL OR v = 0 OR EXISTS (SELECT FROM session s
            WHERE s.sandbox_id = p_sandbox AND session_holds_disk(s)) THEN
        RETURN 0;
    END IF;
    UPDATE sandbox SET quota_disk_mb = 0 WHERE id = p_sandbox;
    RETURN -v;
END $$;

-- Active is what has memory on a host: a frozen session keeps all of its own.
CREATE OR REPLACE FUNCTION session_is_active(p_state text, p_suspended_at timestamptz)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_state IN ('initializing', 'ready', 'sleeping')
        OR p_state = 'asleep' AND p_suspended_at IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION session_quota_note()
RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    was_there  boolean := TG_OP <> 'INSERT' AND OLD.state <> 'deleted';
    is_there   boolean := TG_OP <> 'DELETE' AND NEW.state <> 'deleted';
    was_active boolean := TG_OP <> 'INSERT' AND session_is_active(OLD.state, OLD.suspended_at);
    is_active  boolean := TG_OP <> 'DELETE' AND session_is_active(NEW.state, NEW.suspended_at);
    holds      boolean := TG_OP <> 'DELETE' AND session_holds_disk(NEW);
    disk       bigint := 0;
BEGIN
    -- a deletion must never be refused by a quota
    IF holds AND NEW.state <> 'deleting' AND (TG_OP = 'INSERT' OR NOT session_holds_disk(OLD)
                  OR NEW.sandbox_id IS DISTINCT FROM OLD.sandbox_id) THEN
        disk := quota_keep_disk(NEW.sandbox_id);
    ELSIF was_there AND NOT holds AND (NOT is_there OR session_holds_disk(OLD)) THEN
        disk := quota_drop_disk(OLD.sandbox_id);
    END IF;
    IF was_there <> is_there OR was_active <> is_active OR disk <> 0 THEN
        PERFORM quota_note(CASE WHEN TG_OP = 'DELETE' THEN OLD.tenant ELSE NEW.tenant END,
            is_there::int - was_there::int, is_active::int - was_active::int,
            (TG_OP = 'INSERT')::int, 0, disk);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER session_quota_changed
    AFTER INSERT OR DELETE OR UPDATE OF state, sandbox_id, suspended_at, files_dropped_at
    ON session
    FOR EACH ROW EXECUTE FUNCTION session_quota_note();

CREATE OR REPLACE FUNCTION port_quota_note()
RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v text;
BEGIN
    SELECT tenant INTO v FROM session
     WHERE id = CASE WHEN TG_OP = 'DELETE' THEN OLD.session_id ELSE NEW.session_id END;
    IF FOUND THEN
        PERFORM quota_note(v, 0, 0, 0, CASE WHEN TG_OP = 'DELETE' THEN -1 ELSE 1 END, 0);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER port_quota_changed
    AFTER INSERT OR DELETE ON port
    FOR EACH ROW EXECUTE FUNCTION port_quota_note();

-- Counts a tenant's sessions, ports and disk from the rows themselves.
CREATE OR REPLACE FUNCTION quota_count(p_tenant text, OUT sessions bigint, OUT active bigint,
    OUT previews bigint, OUT disk_mb bigint)
LANGUAGE sql VOLATILE AS $$
    SELECT (SELECT count(*) FROM session s WHERE s.tenant = p_tenant AND s.state <> 'deleted'),
           (SELECT count(*) FROM session s WHERE s.tenant = p_tenant
              AND session_is_active(s.state, s.suspended_at)),
           (SELECT count(*) FROM port p WHERE p.session_id = ANY (ARRAY(
               SELECT s.id FROM session s WHERE s.tenant = p_tenant AND s.state <> 'deleted'))),
           -- only a sandbox with a session's files has some reserved
           (SELECT coalesce(sum(b.quota_disk_mb), 0)::bigint FROM sandbox b
             WHERE b.tenant = p_tenant AND b.id = ANY (ARRAY(
               SELECT s.sandbox_id FROM session s
                WHERE s.tenant = p_tenant AND s.state <> 'deleted')))
$$;

-- Makes a tenant's row, locked until the transaction ends, and counts: there may
-- have been sessions before there were quotas.
CREATE OR REPLACE FUNCTION quota_begin(p_tenant text)
RETURNS quota LANGUAGE plpgsql AS $$
DECLARE
    q quota;
BEGIN
    INSERT INTO quota (tenant) VALUES (p_tenant) ON CONFLICT DO NOTHING;
    -- also when another transaction has just made the row: it is locked now
    PERFORM FROM quota WHERE tenant = p_tenant FOR NO KEY UPDATE;
    UPDATE quota x
       SET sessions = c.sessions, active = c.active, previews = c.previews, disk_mb = c.disk_mb
      FROM quota_count(p_tenant) c
     WHERE x.tenant = p_tenant
    RETURNING x.* INTO q;
    RETURN q;
END $$;

-- Moves the counters on to the minute of p_at; after a pause the next create begins a
-- new minute.
CREATE OR REPLACE FUNCTION quota_minute(q quota, p_at timestamptz)
RETURNS quota LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF p_at >= q.minute_at + interval '2 minutes' THEN
        q.minute_at := p_at;
        q.last_creates := 0;
        q.minute_creates := 0;
        q.last_finds := 0;
        q.minute_finds := 0;
    ELSIF p_at >= q.minute_at + interval '1 minute' THEN
        q.minute_at := q.minute_at + interval '1 minute';
        q.last_creates := q.minute_creates;
        q.minute_creates := 0;
        q.last_finds := q.minute_finds;
        q.minute_finds := 0;
    END IF;
    RETURN q;
END $$;

-- Creates of the last 60 seconds: this minute's, and of the minute before it
-- the part that still lies within them.
CREATE OR REPLACE FUNCTION quota_creates(q quota, p_at timestamptz)
RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    q := quota_minute(q, p_at);
    RETURN q.minute_creates
        + q.last_creates * (1 - least(1, extract(epoch FROM p_at - q.minute_at) / 60));
END $$;

-- Seconds until p_more fit into p_max a minute, by the same measure.
CREATE OR REPLACE FUNCTION quota_creates_wait(q quota, p_at timestamptz, p_more bigint, p_max bigint)
RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    gone numeric;
    at   numeric; -- since this minute began
BEGIN
    q := quota_minute(q, p_at);
    gone := extract(epoch FROM p_at - q.minute_at);
    IF q.minute_creates + p_more <= p_max THEN
        at := 60 * (1 - (p_max - p_more - q.minute_creates) / greatest(q.last_creates, 1)::numeric);
    ELSE
        at := 60 + 60 * (1 - (p_max - p_more) / greatest(q.minute_creates, 1)::numeric);
    END IF;
    RETURN greatest(1, least(120, ceil(at - gone)));
END $$;

CREATE OR REPLACE FUNCTION quota_refuse(p_name text, p_what text, p_limit bigint, p_used numeric,
    p_retry integer)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE SQLSTATE 'SX429' USING
        MESSAGE = format('the org''s quota of %s %s is used up', p_limit, p_what),
        DETAIL = jsonb_build_object('retryAfter', p_retry, 'quota', jsonb_build_object(
            'name', p_name, 'limit', p_limit, 'used', floor(p_used)));
END $$;

-- Counts a change that a tenant makes: 60 at once, then one in six seconds.  p_turn is until
-- when its changes count so far.  Answers until when they do with this one; raises SX429 if
-- it is too early for it.
CREATE OR REPLACE FUNCTION quota_turn(p_turn timestamptz, p_name text, p_what text)
RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
    c_most  constant bigint := 60;
    c_pause constant interval := '6 s';
    v_at    timestamptz := clock_timestamp();
    v_turn  timestamptz := greatest(p_turn, v_at) + c_pause;
BEGIN
    IF v_turn > v_at + c_most * c_pause THEN
        PERFORM quota_refuse(p_name, p_what, c_most, c_most,
            ceil(extract(epoch FROM v_turn - v_at - c_most * c_pause))::integer);
    END IF;
    RETURN v_turn;
END $$;

-- Raises SX429 if that much more does not fit, with the seconds after which a retry
-- makes sense: active sessions fall asleep by themselves; for the other limits the
-- tenant must remove something.
CREATE OR REPLACE FUNCTION quota_check(q quota, p_at timestamptz, d quota_change)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    most   bigint;
    recent numeric;
BEGIN
    IF d.creates > 0 THEN
        most := quota_limit(q.creates_per_minute, 'quota_creates_per_minute');
        recent := CASE WHEN most > 0 THEN quota_creates(q, p_at) END;
        IF most > 0 AND recent + d.creates > most THEN
            PERFORM quota_refuse('createsPerMinute', 'creates a minute', most, recent,
                quota_creates_wait(q, p_at, d.creates, most));
        END IF;
    END IF;
    IF d.sessions > 0 THEN
        most := quota_limit(q.max_sessions, 'quota_sessions');
        IF most > 0 AND q.sessions + d.sessions > most THEN
            PERFORM quota_refuse('sessions', 'sessions', most, q.sessions, 60);
        END IF;
    END IF;
    IF d.active > 0 THEN
        most := quota_limit(q.max_active, 'quota_active');
        IF most > 0 AND q.active + d.active > most THEN
            PERFORM quota_refuse('active', 'active sessions', most, q.active, 15);
        END IF;
    END IF;
    IF d.previews > 0 THEN
        most := quota_limit(q.max_previews, 'quota_previews');
        IF most > 0 AND q.previews + d.previews > most THEN
            PERFORM quota_refuse('previews', 'previews', most, q.previews, 60);
        END IF;
    END IF;
    IF d.disk_mb > 0 THEN
        most := quota_limit(q.max_disk_mb, 'quota_disk_mb');
        IF most > 0 AND q.disk_mb + d.disk_mb > most THEN
            PERFORM quota_refuse('diskMb', 'MB of disk', most, q.disk_mb, 60);
        END IF;
    END IF;
END $$;

-- Creates that find a session are limited as creates are, with counters of their own:
-- quota_creates() and quota_creates_wait() for these.
CREATE OR REPLACE FUNCTION quota_as_finds(q quota)
RETURNS quota LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    q.minute_creates := q.minute_finds;
    q.last_creates := q.last_finds;
    RETURN q;
END $$;

-- Counts a create that found a session, or raises SX429: ten of them a minute for
-- each create that the tenant may make.  The last lock of its transaction.
CREATE OR REPLACE FUNCTION quota_find(p_tenant text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    q      quota;
    most   bigint;
    recent numeric;
    at     timestamptz;
BEGIN
    most := 10 * quota_limit((SELECT creates_per_minute FROM quota WHERE tenant = p_tenant),
        'quota_creates_per_minute');
    IF most = 0 THEN
        RETURN;
    END IF;
    SELECT * INTO q FROM quota WHERE tenant = p_tenant FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        q := quota_begin(p_tenant);
    END IF;
    at := clock_timestamp(); -- after the lock
    recent := quota_creates(quota_as_finds(q), at);
    IF recent + 1 > most THEN
        PERFORM quota_refuse('findsPerMinute', 'creates a minute that find a session', most,
            recent, quota_creates_wait(quota_as_finds(q), at, 1, most));
    END IF;
    q := quota_minute(q, at);
    UPDATE quota
       SET minute_at = q.minute_at, minute_creates = q.minute_creates,
           last_creates = q.last_creates, minute_finds = q.minute_finds + 1,
           last_finds = q.last_finds
     WHERE tenant = p_tenant;
END $$;

-- A look without a lock before the work of a create or start is done: it may
-- refuse what is sure to be refused at the end, and reserves nothing.
CREATE OR REPLACE FUNCTION quota_look(p_tenant text, p_creates integer, p_active integer)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    q quota;
BEGIN
    SELECT * INTO q FROM quota WHERE tenant = p_tenant;
    IF FOUND THEN
        PERFORM quota_check(q, clock_timestamp(),
            (p_tenant, p_creates, p_active, p_creates, 0, 0)::quota_change);
    END IF;
END $$;

-- Takes a tenant's changes into account, or raises SX429.
CREATE OR REPLACE FUNCTION quota_add(d quota_change)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    q  quota;
    at timestamptz;
BEGIN
    SELECT * INTO q FROM quota WHERE tenant = d.tenant FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        q := quota_begin(d.tenant);
        -- the row was counted just now, with this transaction's changes in it
        q.sessions := q.sessions - d.sessions;
        q.active := q.active - d.active;
        q.previews := q.previews - d.previews;
        q.disk_mb := q.disk_mb - d.disk_mb;
    END IF;
    at := clock_timestamp(); -- after the lock
    PERFORM quota_check(q, at, d);
    IF d.creates > 0 THEN
        q := quota_minute(q, at);
    END IF;
    UPDATE quota
       SET sessions = q.sessions + d.sessions, active = q.active + d.active,
           previews = q.previews + d.previews, disk_mb = q.disk_mb + d.disk_mb,
           minute_at = q.minute_at, minute_creates = q.minute_creates + d.creates,
           last_creates = q.last_creates, minute_finds = q.minute_finds,
           last_finds = q.last_finds
     WHERE tenant = d.tenant;
END $$;

-- Runs at the end of a transaction, once for each change: the first call applies the
-- whole sum.
CREATE OR REPLACE FUNCTION quota_settle()
RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    noted quota_change[] := nullif(current_setting('sandlease.quota_noted', true), '');
    d     quota_change;
BEGIN
    IF noted IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM set_config('sandlease.quota_noted', '', true);
    IF cardinality(noted) > 1 THEN
        noted := ARRAY(SELECT x FROM unnest(noted) x ORDER BY (x).tenant);
    END IF;
    FOREACH d IN ARRAY noted LOOP
        PERFORM quota_add(d);
    END LOOP;
    RETURN NULL;
END $$;

-- The disk that a sandbox should have reserved.
CREATE OR REPLACE FUNCTION quota_disk_right(b sandbox)
RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN NOT EXISTS (SELECT FROM session s
                    WHERE s.sandbox_id = b.id AND session_holds_disk(s)) THEN 0
                WHEN b.quota_disk_mb > 0 THEN b.quota_disk_mb
                WHEN NOT EXISTS (SELECT FROM session s WHERE s.sandbox_id = b.id
                    AND session_holds_disk(s) AND s.state <> 'deleting') THEN 0
                ELSE (SELECT c.disk_mb FROM class c WHERE c.name = b.class) END
$$;

-- Compares a tenant's counters with the rows and corrects them.  Answers a row for
-- each counter that was wrong.  Exact while others work: a transaction that has not
-- yet applied its changes waits for the lock, and adds them to the corrected counter.
CREATE OR REPLACE FUNCTION quota_recount(p_tenant text)
RETURNS TABLE (tenant text, counter text, was bigint, is_now bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    q quota;
    c record;
BEGIN
    -- the order of locks: sandboxes, then the tenant's counters
    FOR c IN SELECT id FROM sandbox b
              WHERE b.tenant = p_tenant AND quota_disk_mb <> quota_disk_right(b) ORDER BY id LOOP
        PERFORM FROM sandbox WHERE id = c.id FOR UPDATE;
        UPDATE sandbox b SET quota_disk_mb = quota_disk_right(b) WHERE id = c.id;
    END LOOP;
    SELECT * INTO q FROM quota x WHERE x.tenant = p_tenant FOR NO KEY UPDATE;
    c := quota_begin(p_tenant);
    IF q IS NULL THEN
        RETURN; -- there are no counters yet
    END IF;
    RETURN QUERY
    SELECT p_tenant, x.counter, x.was, x.is_now
      FROM (VALUES ('sessions', q.sessions, c.sessions), ('active', q.active, c.active),
                   ('previews', q.previews, c.previews), ('disk_mb', q.disk_mb, c.disk_mb))
           AS x (counter, was, is_now)
     WHERE x.was <> x.is_now;
    IF FOUND THEN -- only after a bug, or a change made by hand
        PERFORM audit_add('quotas_recounted', 'warning', p_tenant, p_tenant, jsonb_build_object(
            'by', event_actor(), 'was', to_jsonb(q), 'now', to_jsonb(c)));
    END IF;
END $$;

-- The operator's own limits for a tenant, in the columns' order: NULL leaves one
-- alone, 'inherit' takes it back.
CREATE OR REPLACE FUNCTION quota_set(p_tenant text, p text[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO org (id) VALUES (p_tenant) ON CONFLICT DO NOTHING;
    PERFORM quota_begin(p_tenant);
    UPDATE quota
       SET max_sessions = quota_choose(p[1], max_sessions),
           max_active = quota_choose(p[2], max_active),
           creates_per_minute = quota_choose(p[3], creates_per_minute),
           max_previews = quota_choose(p[4], max_previews),
           max_disk_mb = quota_choose(p[5], max_disk_mb),
           max_snapshots = quota_choose(p[6], max_snapshots),
           max_snapshot_mb = quota_choose(p[7], max_snapshot_mb)
     WHERE tenant = p_tenant;
    PERFORM audit_add('quotas_set', 'info', p_tenant, p_tenant, jsonb_strip_nulls(
        jsonb_build_object('by', event_actor(), 'sessions', p[1], 'active', p[2],
            'createsPerMinute', p[3], 'previews', p[4], 'diskMb', p[5], 'snapshots', p[6], 'snapshotMb', p[7])));
END $$;

CREATE OR REPLACE FUNCTION quota_choose(p_new text, p_old bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_new IS NULL THEN p_old WHEN p_new <> 'inherit' THEN p_new::bigint END
$$;
