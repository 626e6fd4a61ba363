-- Profiles: the limits and the network of agent types.

-- The tenant's own profile of a type, or the service's.  All members are NULL if there
-- is none.
CREATE OR REPLACE FUNCTION profile_of(p_tenant text, p_type text)
RETURNS profile LANGUAGE plpgsql STABLE AS $$
DECLARE
    f profile%ROWTYPE;
BEGIN
    IF p_type IS NOT NULL THEN
        SELECT * INTO f FROM profile WHERE agent_type = p_type AND tenant IN ('', p_tenant)
         ORDER BY tenant DESC LIMIT 1; -- '' comes last
    END IF;
    RETURN f;
END $$;

CREATE OR REPLACE FUNCTION profile_json(f profile)
RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN json_build_object('agentType', f.agent_type, 'own', f.tenant <> '',
        'limits', f.limits, 'network', f.network, 'command', f.command,
        'changedAt', iso(f.changed_at));
END $$;

-- The most that a class allows of each limit.
CREATE OR REPLACE FUNCTION class_limits(c class)
RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object('memoryMb', c.memory_mb, 'pids', c.pids,
        'diskMb', c.disk_mb, 'cpuSeconds', c.cpu_seconds, 'wallSeconds', c.wall_seconds,
        'networkRequests', (c.network_max->>'maxRequests')::bigint))
$$;

-- Refuses limits that are above the class's.
CREATE OR REPLACE FUNCTION limits_must_fit(p_limits jsonb, p_class text)
RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
    v record;
BEGIN
    IF p_limits IS NULL THEN
        RETURN;
    END IF;
    SELECT w.key, m.most INTO v
      FROM class c, jsonb_each_text(p_limits) w (key, wanted),
           LATERAL (SELECT (class_limits(c)->>w.key)::bigint) m (most)
     WHERE c.name = p_class AND w.wanted::bigint > m.most
     ORDER BY w.key LIMIT 1;
    IF FOUND THEN
        RAISE SQLSTATE 'SX427' USING
            MESSAGE = format('must be at most %s, which is the limit of the class %s',
                v.most, p_class),
            DETAIL = jsonb_build_object('limit', v.key);
    END IF;
END $$;

-- The limits that hold: own ones, else the profile's, and never more than the class's.
CREATE OR REPLACE FUNCTION limits_choose(p_own jsonb, p_profile jsonb, p_class jsonb)
RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT jsonb_object_agg(w.key, least(w.wanted::bigint, (p_class->>w.key)::bigint))
              FROM jsonb_each_text(p_class || coalesce(p_profile, '{}') || coalesce(p_own, '{}'))
                   w (key, wanted));
END $$;

-- The limits of a session, all of them.
CREATE OR REPLACE FUNCTION session_limits(s session)
RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT limits_choose(s.limits, (profile_of(s.tenant, s.agent_type)).limits,
                       class_limits(c))
              FROM class c WHERE c.name = network_class(s));
END $$;

-- Raises SX429 if a tenant has too many profiles for another one; those of the service
-- are the operator's.
CREATE OR REPLACE FUNCTION profile_room(p_tenant text, p_type text)
RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
    c_most constant bigint := 100;
    v_has  bigint;
BEGIN
    SELECT count(*) INTO v_has FROM profile WHERE tenant = p_tenant AND agent_type <> p_type;
    IF p_tenant <> '' AND v_has >= c_most THEN
        PERFORM quota_refuse('profiles', 'profiles', c_most, v_has, 60);
    END IF;
END $$;

-- Counts a change of a tenant's profiles.  Each one is a row of the audit log, and has
-- sandlease-egress read all sessions of the type.
CREATE OR REPLACE FUNCTION profile_turn(p_tenant text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE org SET profile_turn = quota_turn(org.profile_turn, 'profileChanges', 'changes of profiles')
     WHERE id = p_tenant;
END $$;

-- Writes a tenant's profile.  p.merge: what p does not name stays as it is, or is as in
-- the service's profile.  p.counted: the tenant asks, not the operator.  Answers whether
-- the row is new; NULL: there is no such tenant.
CREATE OR REPLACE FUNCTION profile_put(p_tenant text, p_type text, p jsonb)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_merge   boolean := coalesce((p->>'merge')::boolean, false);
    v_network jsonb := nullif(p->'network', 'null');
    v_base    profile%ROWTYPE;
    v_new     boolean;
BEGIN
    PERFORM FROM org WHERE id = p_tenant FOR NO KEY UPDATE; -- one at a time, for profile_room()
    IF NOT FOUND AND p_tenant <> '' THEN
        RETURN NULL;
    END IF;
    PERFORM network_must_know(v_network);
    PERFORM profile_room(p_tenant, p_type);
    IF p ? 'counted' THEN
        PERFORM profile_turn(p_tenant);
    END IF;
    IF v_merge THEN
        v_base := profile_of('', p_type);
    END IF;
    INSERT INTO profile AS f (tenant, agent_type, limits, network, command)
    VALUES (p_tenant, p_type, coalesce(v_base.limits, '{}') || (p->'limits'),
        CASE WHEN p ? 'network' THEN v_network ELSE v_base.network END,
        CASE WHEN p ? 'command' THEN p->>'command' ELSE v_base.command END)
    ON CONFLICT (tenant, agent_type) DO UPDATE
       SET limits = CASE WHEN v_merge THEN f.limits || (p->'limits') ELSE p->'limits' END,
           network = CASE WHEN v_merge AND NOT p ? 'network' THEN f.network ELSE v_network END,
           command = CASE WHEN v_merge AND NOT p ? 'command' THEN f.command ELSE p->>'command' END,
           changed_at = clock_timestamp()
    RETURNING xmax = 0 INTO v_new;
    PERFORM audit_add('profile_changed', 'info', nullif(p_tenant, ''), p_type,
        jsonb_build_object('by', coalesce(p->>'actor', event_actor()))
            || (p - '{actor,merge,counted}'::text[]));
    RETURN v_new;
END $$;

-- Deletes a tenant's profile.  p.counted as above.  Answers whether there was one.
CREATE OR REPLACE FUNCTION profile_delete(p_tenant text, p_type text, p jsonb)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM org WHERE id = p_tenant FOR NO KEY UPDATE; -- first, as profile_put() does
    DELETE FROM profile WHERE tenant = p_tenant AND agent_type = p_type;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF p ? 'counted' THEN
        PERFORM profile_turn(p_tenant);
    END IF;
    PERFORM audit_add('profile_deleted', 'info', nullif(p_tenant, ''), p_type,
        jsonb_build_object('by', coalesce(p->>'actor', event_actor()))
            || (p - '{actor,counted}'::text[]));
    RETURN true;
END $$;

-- Tells sandlease-egress of the sessions that are concerned: a tenant changes its own
-- profiles as often as it likes, and others must not notice.
CREATE OR REPLACE FUNCTION profile_network_changed()
RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    f profile := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    IF f.tenant = '' THEN
        PERFORM pg_notify('sandlease_network', '*');
    ELSE
        PERFORM pg_notify('sandlease_network', s.id) FROM session s
          WHERE s.tenant = f.tenant AND s.agent_type = f.agent_type
            AND s.state NOT IN ('deleted', 'failed', 'lost');
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER profile_changed
    AFTER INSERT OR UPDATE OR DELETE ON profile
    FOR EACH ROW EXECUTE FUNCTION profile_network_changed();
