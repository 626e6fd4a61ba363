-- Snapshots: intent, outcome, and when their files may go.

CREATE OR REPLACE FUNCTION snapshot_json(s snapshot)
RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN json_build_object(
        'id', s.id,
        'sessionId', s.session_id,
        'name', s.name,
        'state', s.state,
        'sizeBytes', CASE WHEN s.state = 'ready' THEN s.size_bytes END,
        'files', s.files,
        'directories', json_build_array('/workspace', '/home/user'), -- all that it holds
        'error', s.error,
        'createdBy', s.actor,
        'createdAt', iso(s.created_at));
END $$;

-- Number and bytes of a tenant's snapshots, with the bytes reserved for those being
-- created.  A deleted snapshot counts until its files are gone; one that failed, or
-- whose files are lost, does not count.
CREATE OR REPLACE FUNCTION snapshot_count(p_tenant text, OUT snapshots bigint, OUT bytes bigint)
LANGUAGE sql VOLATILE AS $$
    SELECT count(*), coalesce(sum(size_bytes), 0)::bigint FROM snapshot
     WHERE tenant = p_tenant AND state NOT IN ('failed', 'lost')
$$;

-- How many bytes one more snapshot may have, up to p_bytes; SX429 when there is no
-- room.  Locks the tenant's row of quota until the transaction ends, so that two
-- cannot take the same room.
CREATE OR REPLACE FUNCTION snapshot_room(p_tenant text, p_bytes bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    q    quota;
    has  record;
    most bigint;
BEGIN
    SELECT * INTO q FROM quota WHERE tenant = p_tenant FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        q := quota_begin(p_tenant);
    END IF;
    SELECT * INTO has FROM snapshot_count(p_tenant);
    most := quota_limit(q.max_snapshots, 'quota_snapshots');
    IF most > 0 AND has.snapshots >= most THEN
        PERFORM quota_refuse('snapshots', 'snapshots', most, has.snapshots, 60);
    END IF;
    most := quota_limit(q.max_snapshot_mb, 'quota_snapshot_mb');
    IF most = 0 THEN
        RETURN p_bytes;
    END IF;
    IF has.bytes >= most << 20 THEN
        PERFORM quota_refuse('snapshotMb', 'MB of snapshots', most, has.bytes >> 20, 60);
    END IF;
    RETURN least(p_bytes, (most << 20) - has.bytes);
END $$;

-- Intent to create a snapshot.  Answers the row; its size_bytes is the largest size it
-- may reach.
CREATE OR REPLACE FUNCTION snapshot_begin(p jsonb)
RETURNS snapshot LANGUAGE plpgsql AS $$
DECLARE
    s session%ROWTYPE;
    r snapshot;
BEGIN
    IF (SELECT draining FROM installation) THEN
        RAISE SQLSTATE 'SX503' USING MESSAGE = 'the service is draining';
    END IF;
    SELECT * INTO s FROM session
     WHERE id = p->>'session' AND tenant = p->>'tenant' FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE SQLSTATE 'SX404' USING MESSAGE = 'no such session';
    END IF;
    PERFORM session_must_live(s.state);
    INSERT INTO snapshot (id, tenant, session_id, name, size_bytes, host, actor, deadline)
    VALUES (p->>'id', s.tenant, s.id, p->>'name',
        snapshot_room(s.tenant, (p->>'bytes')::bigint), p->>'host',
        coalesce(p->>'actor', event_actor()),
        clock_timestamp() + make_interval(secs => (p->>'seconds')::double precision))
    RETURNING * INTO r;
    RETURN r;
END $$;

-- Outcome of a creation.  Answers the snapshot's state; NULL when it is not being
-- created any more.
CREATE OR REPLACE FUNCTION snapshot_settle(p_id text, p jsonb)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v text;
BEGIN
    UPDATE snapshot
       SET state = CASE WHEN p ? 'error' THEN 'failed' ELSE 'ready' END,
           size_bytes = coalesce((p->>'bytes')::bigint, 0), files = (p->>'files')::bigint,
           error = left(p->>'error', 500), changed_at = clock_timestamp()
     WHERE id = p_id AND state = 'creating'
    RETURNING state INTO v;
    RETURN v;
END $$;

-- Records that a snapshot's files were looked for on p_host: they are missing although
-- it is ready, or there again because a disk was mounted or restored.  Answers its
-- new state; NULL when nothing has changed.
CREATE OR REPLACE FUNCTION snapshot_seen(p_id text, p_host text, p_there boolean)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    s snapshot;
BEGIN
    UPDATE snapshot
       SET state = CASE WHEN p_there THEN 'ready' ELSE 'lost' END,
           error = CASE WHEN NOT p_there THEN 'its files are gone' END,
           changed_at = clock_timestamp()
     WHERE id = p_id AND host = p_host
       AND state = CASE WHEN p_there THEN 'lost' ELSE 'ready' END
    RETURNING * INTO s;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    PERFORM audit_add(CASE WHEN p_there THEN 'snapshot_found' ELSE 'snapshot_lost' END,
        CASE WHEN p_there THEN 'info' ELSE 'critical' END, s.tenant, s.id,
        jsonb_build_object('session', s.session_id, 'host', s.host));
    -- under the lease's lock, as all events; a deleted session gets none
    PERFORM FROM lease WHERE session_id = s.session_id FOR UPDATE;
    INSERT INTO event (session_id, kind, what, actor, reason, detail)
    SELECT x.id, 'snapshot', CASE WHEN p_there THEN 'found' ELSE 'lost' END, event_actor(),
           s.error, jsonb_build_object('snapshot', s.id, 'name', s.name)
      FROM session x WHERE x.id = s.session_id AND x.state <> 'deleted';
    RETURN s.state;
END $$;

-- Whether a session may still need the snapshot's files, because it has none of its
-- own yet.
CREATE OR REPLACE FUNCTION snapshot_in_use(p_id text)
RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT EXISTS (SELECT FROM session s
                    WHERE s.snapshot_id = p_id AND s.started_at IS NULL AND s.state <> 'deleted'
                      AND s.files_dropped_at IS NULL)
$$;

-- Checks and locks the snapshot that a new session is made from, so that it is not
-- deleted before the session's row says that it is needed.
CREATE OR REPLACE FUNCTION snapshot_use(p_tenant text, p_id text, p_host text, p_class text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    s snapshot;
    c class;
BEGIN
    SELECT * INTO s FROM snapshot WHERE id = p_id AND tenant = p_tenant FOR SHARE;
    IF NOT FOUND OR s.state = 'deleting' THEN
        RAISE SQLSTATE 'SX418' USING MESSAGE = 'there is no such snapshot';
    END IF;
    IF s.state = 'lost' THEN
        RAISE SQLSTATE 'SX424' USING MESSAGE = 'the files of the snapshot are gone';
    END IF;
    IF s.state <> 'ready' THEN
        RAISE SQLSTATE 'SX419' USING MESSAGE = CASE s.state WHEN 'failed'
            THEN 'the snapshot has failed' ELSE 'the snapshot is still being taken' END;
    END IF;
    IF s.host <> p_host THEN
        RAISE SQLSTATE 'SX505' USING MESSAGE = format('the snapshot is on host %s', s.host),
            DETAIL = jsonb_build_object('host', s.host);
    END IF;
    SELECT * INTO c FROM class WHERE name = p_class;
    IF c.disk_mb > 0 AND s.size_bytes > c.disk_mb << 20 THEN
        RAISE SQLSTATE 'SX507' USING MESSAGE = format(
            'the snapshot has %s MB, the class %s has %s MB of disk',
            s.size_bytes >> 20, c.name, c.disk_mb);
    END IF;
END $$;

-- Why no session can ever be made from a snapshot; NULL: one can, now or later.
CREATE OR REPLACE FUNCTION snapshot_gone(p_tenant text, p_id text)
RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN s.id IS NULL OR s.state = 'deleting' THEN 'there is no such snapshot'
                WHEN s.state = 'failed' THEN 'the snapshot has failed'
                WHEN s.state = 'lost' THEN 'the snapshot''s files are gone' END
      FROM (SELECT 1) one LEFT JOIN snapshot s ON s.id = p_id AND s.tenant = p_tenant
$$;

-- Lets a session that was to be made from a snapshot begin without files, if its create
-- allowed that (snapshotFallback).  False: it did not.
CREATE OR REPLACE FUNCTION session_fell_back(p_session text, p_why text, p jsonb)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE session SET snapshot_id = NULL WHERE id = p_session AND snapshot_fallback;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM FROM lease WHERE session_id = p_session FOR UPDATE; -- as all events
    INSERT INTO event (session_id, kind, what, actor, reason, trace_id, detail)
    VALUES (p_session, 'snapshot', 'fallback', coalesce(p->>'actor', event_actor()), p_why,
            p->>'trace', jsonb_build_object('snapshot', p->>'snapshot'));
    RETURN true;
END $$;
