-- The network of a session: which policies apply, and what was used.  Functions of the
-- hot path are in PL/pgSQL, which keeps their plans; SQL would plan them for every call.

-- A policy whose presets are replaced by their entries; a preset that was removed is
-- left out.
CREATE OR REPLACE FUNCTION network_expand(p_policy jsonb)
RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p_policy ? 'allow' THEN p_policy || jsonb_build_object('allow', (
        SELECT coalesce(jsonb_agg(DISTINCT coalesce(to_jsonb(x.entry), a.entry)), '[]')
          FROM jsonb_array_elements(p_policy->'allow') a (entry)
          LEFT JOIN network_preset n ON '@' || n.name = a.entry #>> '{}'
          LEFT JOIN LATERAL unnest(n.allow) x (entry) ON true
         WHERE x.entry IS NOT NULL OR left(a.entry #>> '{}', 1) <> '@'))
    ELSE p_policy END
$$;

-- The policy that a session asks for: its own, else its profile's, else its org's.  The
-- number of requests may come from limits, too; of two that it did not choose itself
-- the smaller counts.
CREATE OR REPLACE FUNCTION network_choose(s session, f profile, p_org jsonb)
RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_own  jsonb := coalesce(s.network, f.network, p_org, '{"mode": "none"}');
    v_most bigint := coalesce(
        least((s.network->>'maxRequests')::bigint, (s.limits->>'networkRequests')::bigint),
        least((f.limits->>'networkRequests')::bigint, (v_own->>'maxRequests')::bigint));
BEGIN
    RETURN CASE WHEN v_most IS NULL OR v_own->>'mode' = 'none' THEN v_own
                ELSE v_own || jsonb_build_object('maxRequests', v_most) END;
END $$;

CREATE OR REPLACE FUNCTION network_own(s session)
RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_org jsonb;
BEGIN
    IF s.network IS NULL THEN
        SELECT o.network INTO v_org FROM org o WHERE o.id = s.tenant;
    END IF;
    RETURN network_choose(s, profile_of(s.tenant, s.agent_type), v_org);
END $$;

-- 'none', 'allow' or 'open': the narrower of two.
CREATE OR REPLACE FUNCTION network_narrower(p_a text, p_b text)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN 'none' IN (p_a, p_b) THEN 'none'
                WHEN 'allow' IN (p_a, p_b) THEN 'allow' ELSE 'open' END
$$;

-- Refuses an entry "@name" without a row.
CREATE OR REPLACE FUNCTION network_must_know(p_policy jsonb)
RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_entry text;
BEGIN
    IF p_policy->'allow' IS NULL THEN
        RETURN;
    END IF;
    SELECT a.entry INTO v_entry
      FROM jsonb_array_elements_text(p_policy->'allow') a (entry)
     WHERE left(a.entry, 1) = '@'
       AND NOT EXISTS (SELECT FROM network_preset n WHERE '@' || n.name = a.entry)
     LIMIT 1;
    IF FOUND THEN
        RAISE SQLSTATE 'SX425' USING MESSAGE = format('there is no preset %s; there are %s',
            v_entry, (SELECT string_agg('@' || name, ', ' ORDER BY name) FROM network_preset));
    END IF;
END $$;

-- The policy itself, if all its presets are there.
CREATE OR REPLACE FUNCTION network_known(p_policy jsonb)
RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM network_must_know(p_policy);
    RETURN p_policy;
END $$;

-- Refuses a network to a session of a class that has none at all.  Otherwise the
-- narrower policy wins, and the session's JSON says so.
CREATE OR REPLACE FUNCTION network_must_fit(p_policy jsonb, p_class text)
RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF coalesce(p_policy->>'mode', 'none') = 'none' THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM class c
                WHERE c.name = p_class AND c.network_max->>'mode' = 'none') THEN
        RAISE SQLSTATE 'SX426' USING MESSAGE = format('the class %s has no network;'
            ' the operator decides that by sandlease-admin class set', p_class);
    END IF;
END $$;

-- The class whose limits hold for a session: its sandbox's.
CREATE OR REPLACE FUNCTION network_class(s session)
RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce((SELECT b.class FROM sandbox b WHERE b.id = s.sandbox_id), s.class);
END $$;

-- The policies that apply to a session, presets replaced: each must allow a connection.
CREATE OR REPLACE FUNCTION network_policies(s session)
RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_array(network_expand(network_own(s)), network_expand(c.network_max))
      FROM class c WHERE c.name = network_class(s)
$$;

-- The mode that a session has in the end.
CREATE OR REPLACE FUNCTION network_mode(s session)
RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_own text := network_own(s)->>'mode';
BEGIN
    RETURN CASE WHEN v_own = 'none' THEN 'none' ELSE (
        SELECT network_narrower(v_own, c.network_max->>'mode')
          FROM class c WHERE c.name = network_class(s)) END;
END $$;

-- Whether a class takes something away from a policy.  Lists are compared as written.
CREATE OR REPLACE FUNCTION network_limits(p_max jsonb, p_own jsonb)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT network_narrower(p_own->>'mode', p_max->>'mode') <> p_own->>'mode'
        OR (p_max->>'mode' = 'allow' AND p_own->>'mode' = 'allow' AND NOT
            network_expand(p_max)->'allow' @> (network_expand(p_own)->'allow'))
        OR coalesce((p_max->>'maxRequests')::bigint <
            coalesce((p_own->>'maxRequests')::bigint, 9223372036854775807), false)
$$;

-- The member "network" of a session that asks for p_own.  The caller has joined the
-- rows that it needs, so that a list of sessions costs no query for each.
DROP FUNCTION IF EXISTS network_json(session, jsonb, jsonb, network_use);
CREATE OR REPLACE FUNCTION network_json(p_own jsonb, p_max jsonb, u network_use)
RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_mode  text := network_narrower(p_own->>'mode', p_max->>'mode');
    v_shown jsonb := jsonb_build_object('mode', v_mode);
BEGIN
    IF p_own->>'mode' <> 'none' THEN
        v_shown := v_shown || jsonb_strip_nulls(jsonb_build_object(
            'allow', CASE WHEN v_mode = 'allow' THEN coalesce(p_own->'allow', p_max->'allow') END,
            'maxRequests', CASE WHEN v_mode <> 'none' THEN least(
                (p_own->>'maxRequests')::bigint, (p_max->>'maxRequests')::bigint) END,
            'limitedBy', CASE WHEN network_limits(p_max, p_own) THEN 'class' END));
    END IF;
    RETURN v_shown || jsonb_build_object('ports',
        CASE WHEN v_mode = 'none' THEN NULL WHEN u.ports = '{}' THEN to_jsonb('all'::text)
             ELSE to_jsonb(u.ports) END,
            'connections', coalesce(u.connections, 0), 'requests', coalesce(u.requests, 0),
            'bytesIn', coalesce(u.bytes_in, 0), 'bytesOut', coalesce(u.bytes_out, 0),
            'denied', coalesce(u.denied, 0));
END $$;

-- The same for a session that never had one: a constant, because most have none.
CREATE OR REPLACE FUNCTION network_none()
RETURNS json LANGUAGE sql IMMUTABLE AS $$
    SELECT '{"mode": "none", "ports": null, "connections": 0, "requests": 0, "bytesIn": 0,'
        '"bytesOut": 0, "denied": 0}'::json
$$;

-- Counts a change of a session's own policy or secrets, and tells sandlease-egress.
CREATE OR REPLACE FUNCTION network_changed()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.network_order := OLD.network_order + 1;
    PERFORM pg_notify('sandlease_network', NEW.id);
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER session_network_changed
    BEFORE UPDATE OF network, secrets, secrets_sealed ON session
    FOR EACH ROW WHEN (OLD.network IS DISTINCT FROM NEW.network
        OR OLD.secrets IS DISTINCT FROM NEW.secrets
        OR OLD.secrets_sealed IS DISTINCT FROM NEW.secrets_sealed)
    EXECUTE FUNCTION network_changed();

-- '*': any number of sessions may be concerned.
CREATE OR REPLACE FUNCTION network_changed_for_many()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('sandlease_network', '*');
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER org_network_changed
    AFTER UPDATE OF network ON org
    FOR EACH ROW WHEN (OLD.network IS DISTINCT FROM NEW.network)
    EXECUTE FUNCTION network_changed_for_many();
CREATE OR REPLACE TRIGGER class_network_changed
    AFTER UPDATE OF network_max ON class
    FOR EACH ROW WHEN (OLD.network_max IS DISTINCT FROM NEW.network_max)
    EXECUTE FUNCTION network_changed_for_many();
CREATE OR REPLACE TRIGGER preset_changed
    AFTER INSERT OR UPDATE OR DELETE ON network_preset
    FOR EACH STATEMENT EXECUTE FUNCTION network_changed_for_many();
