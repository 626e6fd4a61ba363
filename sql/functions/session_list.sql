-- Pages of an org's sessions.

-- The ids of a page, newest first: those before (p_at, p_id) that are in p_state ('': in
-- any but deleted), and have the label or the correlation key that is asked for.  Each
-- branch reads an index in the page's order, so a page costs the same however many
-- sessions there are.  Only a state beside a label is compared row by row.
CREATE OR REPLACE FUNCTION session_page_ids(p_tenant text, p_state text, p_label_key text,
    p_label_value text, p_at timestamptz, p_id text, p_page integer, p_key text)
RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_key <> '' THEN
        RETURN ARRAY(SELECT s.id FROM alias a JOIN session s ON s.id = a.session_id
                      WHERE a.tenant = p_tenant AND a.key = p_key AND s.tenant = p_tenant
                        AND CASE p_state WHEN '' THEN s.state <> 'deleted'
                                         ELSE s.state = p_state END
                        AND (p_label_key = '' OR s.labels ->> p_label_key = p_label_value)
                        AND (s.created_at, s.id) < (p_at, p_id));
    END IF;
    IF p_label_key <> '' THEN
        RETURN ARRAY(SELECT s.id FROM session_label t JOIN session s ON s.id = t.session_id
                      WHERE t.tenant = p_tenant AND t.hash = label_hash(p_label_key, p_label_value)
                        AND t.deleted = (p_state = 'deleted')
                        AND (t.created_at, t.session_id) < (p_at, p_id)
                        AND s.labels ->> p_label_key = p_label_value
                        AND (p_state = '' OR s.state = p_state)
                      ORDER BY t.created_at DESC, t.session_id DESC
                      LIMIT p_page);
    END IF;
    RETURN ARRAY(SELECT x.id
                   FROM unnest(CASE p_state WHEN '' THEN ARRAY['initializing', 'ready', 'sleeping',
                           'asleep', 'deleting', 'failed', 'lost'] ELSE ARRAY[p_state] END) one (state)
                  CROSS JOIN LATERAL (SELECT s.id, s.created_at FROM session s
                                       WHERE s.tenant = p_tenant AND s.state = one.state
                                         AND (s.created_at, s.id) < (p_at, p_id)
                                       ORDER BY s.created_at DESC, s.id DESC
                                       LIMIT p_page) x
                  ORDER BY x.created_at DESC, x.id DESC
                  LIMIT p_page);
END $$;

-- The page itself.  p_before '': the first one, else the last row's created_at in seconds.
-- The inner ORDER BY reads an index; one within json_agg() would begin a sort for each row.
CREATE OR REPLACE FUNCTION session_page(p_tenant text, p_state text, p_label_key text,
    p_label_value text, p_before text, p_id text, p_page integer, p_key text)
RETURNS TABLE (id text, json json, at text) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    SELECT s.id, session_build(s, l, b, c, f.profile, o, u,
               (SELECT json_agg(a.key) FROM (
                       SELECT x.key FROM alias x WHERE x.session_id = s.id ORDER BY x.key) a),
               (SELECT json_agg(port_json(p)) FROM (
                       SELECT * FROM port x WHERE x.session_id = s.id ORDER BY x.port) p)),
           extract(epoch FROM s.created_at)::numeric(20, 6)::text
      FROM unnest(session_page_ids(p_tenant, p_state, p_label_key, p_label_value,
               CASE p_before WHEN '' THEN 'infinity' ELSE to_timestamp(p_before::numeric) END,
               p_id, p_page, p_key)) WITH ORDINALITY AS page (id, place)
      JOIN session s ON s.id = page.id
      LEFT JOIN lease l ON l.session_id = s.id
      LEFT JOIN sandbox b ON b.id = s.sandbox_id
      LEFT JOIN class c ON c.name = coalesce(b.class, s.class)
      LEFT JOIN org o ON o.id = s.tenant
      LEFT JOIN network_use u ON u.session_id = s.id
      LEFT JOIN LATERAL (SELECT f AS profile FROM profile f
                          WHERE f.agent_type = s.agent_type AND f.tenant IN ('', s.tenant)
                          ORDER BY f.tenant DESC LIMIT 1) f ON true -- as profile_of()
     ORDER BY page.place;
END $$;
