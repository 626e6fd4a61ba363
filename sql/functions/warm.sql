-- The warm pool: see sql/migrations/0028_warm.sql.
--
-- The row comes first (preparing), then the sandbox; it is ready once its wrapper has
-- run a command.  From then on a create may claim it: the claim removes the row and makes
-- the session's, in one transaction.  A member that is no longer wanted is retired: its
-- row says so before its sandbox is destroyed, and goes last.

-- Everything on which a member depends: its class, and, in p_shape, agent, settings and the
-- directory of the root file system.
CREATE OR REPLACE FUNCTION warm_shape(c class, p_shape text)
RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN md5(c::text || p_shape);
END $$;

-- Intent to start a member, unless the host has p.most of its class already.
-- p: id, sandbox, incarnation, instance, host, boot, class, shape, seconds, most.
CREATE OR REPLACE FUNCTION warm_begin(p jsonb)
RETURNS SETOF warm LANGUAGE plpgsql AS $$
DECLARE
    c class%ROWTYPE;
BEGIN
    IF (SELECT draining FROM installation) THEN
        RETURN;
    END IF;
    -- one at a time: two that count at once would both begin the last one
    PERFORM pg_advisory_xact_lock(hashtextextended('warm ' || (p->>'host'), 5));
    SELECT * INTO c FROM class WHERE name = p->>'class';
    IF NOT FOUND OR (SELECT count(*) FROM warm w WHERE w.host = p->>'host'
            AND w.class = c.name AND w.state <> 'retiring') >= (p->>'most')::bigint THEN
        RETURN;
    END IF;
    RETURN QUERY
    INSERT INTO warm (session_id, sandbox_id, incarnation, instance, host, boot_id, class,
                      shape, deadline)
    VALUES (p->>'id', p->>'sandbox', p->>'incarnation', p->>'instance', p->>'host',
            p->>'boot', c.name, warm_shape(c, p->>'shape'),
            clock_timestamp() + make_interval(secs => (p->>'seconds')::double precision))
    RETURNING *;
END $$;

-- Outcome: its wrapper has run a command.  False: it was retired meanwhile.
CREATE OR REPLACE FUNCTION warm_made(p_session text, p_version text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE warm SET state = 'ready', deadline = NULL, agent_version = p_version,
           changed_at = clock_timestamp()
     WHERE session_id = p_session AND state = 'preparing';
    RETURN FOUND;
END $$;

-- Intent to end a member.  False: a create has claimed it.
CREATE OR REPLACE FUNCTION warm_retire(p_session text, p_seconds double precision)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE warm SET state = 'retiring', changed_at = clock_timestamp(),
           deadline = clock_timestamp() + make_interval(secs => p_seconds)
     WHERE session_id = p_session;
    RETURN FOUND;
END $$;

-- Outcome: its sandbox is destroyed.
CREATE OR REPLACE FUNCTION warm_ended(p_session text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM warm WHERE session_id = p_session AND state = 'retiring';
    RETURN FOUND;
END $$;

-- Claims a member for a create, whose transaction removes its row: p as for session_new().
-- p.picked: exactly the member p.id, for which the create has sealed its secrets; SX435 if
-- that is gone.  NULL: none is ready.
CREATE OR REPLACE FUNCTION warm_claim(p jsonb, c class)
RETURNS warm LANGUAGE plpgsql AS $$
DECLARE
    w warm%ROWTYPE;
BEGIN
    -- members have the limits of their class; a program of an older version cannot set others
    IF p ? 'setsLimits' OR (profile_of(p->>'tenant', p->>'agentType')).limits
            ?| '{memoryMb,diskMb,pids}' IS NOT TRUE THEN
        DELETE FROM warm WHERE session_id = (
            SELECT x.session_id FROM warm x
             WHERE x.host = p->>'host' AND x.boot_id = p->>'boot' AND x.state = 'ready'
               AND x.shape = warm_shape(c, p->>'warm')
               AND (NOT p ? 'picked' OR x.session_id = p->>'id')
             LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING * INTO w;
    END IF;
    IF w.session_id IS NULL AND p ? 'picked' THEN
        RAISE SQLSTATE 'SX435' USING MESSAGE = 'another create has taken the sandbox';
    END IF;
    IF p->>'host' <> '' THEN -- no rehearsal
        PERFORM CASE WHEN w.session_id IS NULL THEN nextval('warm_misses')
                     ELSE nextval('warm_hits') END;
    END IF;
    RETURN w;
END $$;

-- Names a member that is ready; NULL, and a miss, if there is none.
CREATE OR REPLACE FUNCTION warm_pick(p_host text, p_boot text, p_class text, p_shape text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v text;
BEGIN
    SELECT w.session_id INTO v FROM class c
      JOIN warm w ON w.host = p_host AND w.shape = warm_shape(c, p_shape)
     WHERE c.name = p_class AND w.state = 'ready' AND w.boot_id = p_boot
     ORDER BY random() LIMIT 1;
    IF NOT FOUND THEN
        PERFORM nextval('warm_misses');
    END IF;
    RETURN v;
END $$;
