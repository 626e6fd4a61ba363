-- PATCH: changes the settings of a living session and writes the event of the change.

-- The settings that PATCH can change, to compare before and after.  env is sealed and has an event of its own.
CREATE OR REPLACE FUNCTION session_settings(s session)
RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('sleepAfterSeconds', s.sleep_after_seconds,
        'keepAlive', s.keep_alive, 'suspend', s.suspend, 'wakeOnPreview', s.wake_on_preview,
        'maxRunSeconds', s.max_run_seconds, 'expiresAt', iso(s.expires_at),
        'baseUrl', s.base_url, 'network', s.network, 'concurrency', s.concurrency)
$$;

-- {"keepAlive": {"from", "to"}, ..., "labels": [names]}: what differs.  Values of
-- labels are left out, because there may be many and long ones.  Secrets have hosts and
-- headers here, also if only a value is new.
CREATE OR REPLACE FUNCTION session_difference(o session, n session)
RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT coalesce(jsonb_object_agg(x.key, jsonb_build_object('from', y.value, 'to', x.value))
                        FILTER (WHERE x.value <> y.value), '{}')
           || CASE WHEN o.labels = n.labels THEN '{}' ELSE jsonb_build_object('labels', (
                  SELECT jsonb_agg(k ORDER BY k)
                    FROM jsonb_object_keys(o.labels || n.labels) k
                   WHERE o.labels->k IS DISTINCT FROM n.labels->k)) END
           || CASE WHEN o.secrets_sealed IS NOT DISTINCT FROM n.secrets_sealed THEN '{}'
                   ELSE jsonb_build_object('secrets', jsonb_build_object(
                       'from', coalesce(o.secrets, '[]'), 'to', coalesce(n.secrets, '[]'))) END
      FROM jsonb_each(session_settings(n)) x
      JOIN jsonb_each(session_settings(o)) y USING (key)
$$;

-- Changes the settings that p names; the others stay.  A new idle time counts from the last activity,
-- and never breaks what session_extend promised.  p also has trace and actor.
CREATE OR REPLACE FUNCTION session_patch(p_session text, p_tenant text, p jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    o session%ROWTYPE; -- as it was
    s session%ROWTYPE;
    d jsonb;
BEGIN
    SELECT * INTO o FROM session WHERE id = p_session AND tenant = p_tenant FOR UPDATE;
    IF NOT FOUND OR o.state IN ('deleting', 'deleted') THEN
        RETURN;
    END IF;
    IF p ? 'network' THEN
        PERFORM network_must_know(p->'network');
        PERFORM network_must_fit(p->'network', network_class(o));
    END IF;
    UPDATE session x
       SET sleep_after_seconds = coalesce((p->>'sleepAfterSeconds')::bigint,
               x.sleep_after_seconds),
           keep_alive = coalesce((p->>'keepAlive')::boolean, x.keep_alive),
           suspend = coalesce((p->>'suspend')::boolean, x.suspend),
           wake_on_preview = coalesce((p->>'wakeOnPreview')::boolean, x.wake_on_preview),
           max_run_seconds = CASE WHEN p ? 'maxRunSeconds' -- 0: no limit any more
               THEN nullif((p->>'maxRunSeconds')::bigint, 0) ELSE x.max_run_seconds END,
           concurrency = coalesce((p->>'concurrency')::int, x.concurrency),
           expires_at = coalesce((p->>'expiresAt')::timestamptz, x.expires_at),
           labels = session_labels(x.labels, p->'labels'),
           network = CASE WHEN p ? 'network' -- null: the org's again
               THEN nullif(p->'network', 'null') ELSE x.network END,
           secrets = CASE WHEN p ? 'secrets'
               THEN nullif(p->'secrets', '[]') ELSE x.secrets END,
           secrets_sealed = CASE WHEN p ? 'secrets'
               THEN p->>'secretsSealed' ELSE x.secrets_sealed END,
           base_url = coalesce(x.base_url, p->>'baseUrl')
     WHERE x.id = p_session
    RETURNING * INTO s;
    UPDATE lease l
       SET keep_warm_until = CASE WHEN s.keep_alive THEN NULL ELSE greatest(s.extended_until,
               s.last_activity_at + make_interval(secs => s.sleep_after_seconds)) END
     WHERE l.session_id = p_session AND l.state = 'owns_wrapper' AND s.state = 'ready'
       AND (p ? 'sleepAfterSeconds' OR p ? 'keepAlive');
    d := session_difference(o, s);
    IF d <> '{}' THEN
        PERFORM event_change(p_session, 'settings', p, d);
    END IF;
END $$;

-- Under the lease's lock, as all events: see event_steps.
CREATE OR REPLACE FUNCTION event_change(p_session text, p_what text, p jsonb, p_detail jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO event (session_id, kind, what, actor, generation, trace_id, detail)
    SELECT p_session, 'change', p_what, coalesce(p->>'actor', event_actor()), l.generation,
           p->>'trace', p_detail
      FROM (SELECT generation FROM lease WHERE session_id = p_session FOR UPDATE) l;
END $$;
