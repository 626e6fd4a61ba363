-- Records a refusal in the audit log, after the worker has sent its answer.  A
-- tenant gets rows for at most ten subjects a minute of each kind; all further
-- ones share the subject '*'.  detail.times of a row counts its refusals.
CREATE OR REPLACE FUNCTION audit_refused(p_kind text, p_severity text, p_tenant text,
    p_subject text, p_detail jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_minute  timestamptz := date_trunc('minute', clock_timestamp());
    v_subject text := p_subject;
    v_detail  jsonb := p_detail - 'trace';
BEGIN
    -- a lost line does no harm: the worker need not wait for the disk
    PERFORM set_config('synchronous_commit', 'off', true);
    IF 10 <= (SELECT count(*) FROM audit
               WHERE minute = v_minute AND kind = p_kind
                 AND coalesce(tenant, '') = coalesce(p_tenant, '')
                 AND subject IS DISTINCT FROM p_subject
                 AND subject IS DISTINCT FROM '*') THEN
        v_subject := '*';
        v_detail := '{}';
    END IF;
    INSERT INTO audit AS a (minute, kind, severity, tenant, subject, trace_id, detail)
    VALUES (v_minute, p_kind, p_severity, p_tenant, v_subject, p_detail->>'trace',
            v_detail || '{"times": 1}')
    ON CONFLICT (minute, kind, coalesce(tenant, ''), coalesce(subject, ''))
          WHERE minute IS NOT NULL
    DO UPDATE SET detail = a.detail || jsonb_build_object('times',
                  (a.detail->>'times')::bigint + 1);
END $$;

-- The id of the key that has this hash, or whose login has it.
CREATE OR REPLACE FUNCTION audit_key_id(p_hash text, p_login boolean)
RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p_login THEN (SELECT key_id FROM login WHERE hash = p_hash)
           ELSE (SELECT id FROM api_key WHERE hash = p_hash) END
$$;

-- Records the use of a key that is revoked, expired or unknown.  A key that we
-- know is named by its id, and its tenant can read the row; another by the first
-- eight digits of its hash.  hash NULL: the text had not the form of a key.
CREATE OR REPLACE FUNCTION audit_key(p_hash text, p_login boolean, p_detail jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    k     api_key%ROWTYPE;
    v_why text := 'unknown';
BEGIN
    IF p_hash IS NULL THEN
        v_why := 'malformed';
    ELSE
        SELECT * INTO k FROM api_key WHERE id = audit_key_id(p_hash, p_login);
        IF FOUND THEN
            v_why := CASE WHEN k.revoked_at IS NOT NULL THEN 'revoked' ELSE 'expired' END;
        END IF;
    END IF;
    PERFORM audit_refused('key_refused',
        CASE v_why WHEN 'expired' THEN 'info' ELSE 'warning' END, k.tenant,
        coalesce(k.id, left(p_hash, 8)), p_detail || jsonb_build_object('why', v_why));
END $$;

-- Records that a key asked for another tenant's session.  Only the session's
-- owner can read the row, which has no more of the asking tenant than the key's
-- id.  The asking tenant gets no row: it would tell them that the session exists.
CREATE OR REPLACE FUNCTION audit_session(p_session text, p_key_id text, p_detail jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM audit_refused('session_foreign', 'warning', s.tenant, s.id,
                p_detail || jsonb_build_object('keyId', k.id))
       FROM session s JOIN api_key k ON k.id = p_key_id AND k.tenant <> s.tenant
      WHERE s.id = p_session;
END $$;

-- Records a preview URL that was refused: its port is not exposed, or its token
-- is wrong, which is named by the first eight digits of its hash.
CREATE OR REPLACE FUNCTION audit_preview(p_session text, p_port text, p_hash text, p_detail jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_tenant  text := (SELECT tenant FROM session WHERE id = p_session);
    v_detail  jsonb := p_detail || jsonb_build_object('session', p_session, 'port', p_port);
BEGIN
    IF v_tenant IS NOT NULL AND NOT EXISTS (SELECT FROM port
            WHERE session_id = p_session AND port::text = p_port AND closing_at IS NULL
              AND (expires_at IS NULL OR expires_at > clock_timestamp())) THEN
        PERFORM audit_refused('port_refused', 'warning', v_tenant, p_session || ':' || p_port,
            v_detail);
    ELSE
        PERFORM audit_refused('preview_token_refused', 'warning', v_tenant, left(p_hash, 8),
            v_detail);
    END IF;
END $$;

-- Records a ticket that was refused, by the first eight digits of its hash.  The
-- session's owner can read the row.
CREATE OR REPLACE FUNCTION audit_ticket(p_session text, p_hash text, p_detail jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_why text := coalesce((
        SELECT CASE WHEN t.session_id <> p_session THEN 'other_session'
                    WHEN k.revoked_at IS NOT NULL OR k.expires_at <= clock_timestamp() THEN 'key_over'
                    WHEN t.used_by IS NOT NULL THEN 'used'
                    WHEN t.expires_at <= clock_timestamp() THEN 'expired'
                    ELSE 'other_purpose' END
          FROM ticket t JOIN api_key k ON k.id = t.key_id
         WHERE t.hash = p_hash), 'unknown');
BEGIN
    PERFORM audit_refused('ticket_refused',
        CASE v_why WHEN 'expired' THEN 'info' ELSE 'warning' END,
        (SELECT tenant FROM session WHERE id = p_session), left(p_hash, 8),
        p_detail || jsonb_build_object('session', p_session, 'why', v_why));
END $$;

-- Records a refusal that a worker noted, by its kind.
CREATE OR REPLACE FUNCTION audit_note(p jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_detail jsonb := jsonb_build_object('trace', p->>'trace', 'from', p->>'from');
BEGIN
    CASE p->>'note'
    WHEN 'key' THEN
        PERFORM audit_key(p->>'hash', (p->>'login')::boolean, v_detail);
    WHEN 'session' THEN
        PERFORM audit_session(p->>'session',
            coalesce(p->>'keyId', audit_key_id(p->>'hash', (p->>'login')::boolean)), v_detail);
    WHEN 'preview' THEN
        PERFORM audit_preview(p->>'session', p->>'port', p->>'hash', v_detail);
    WHEN 'ticket' THEN
        PERFORM audit_ticket(p->>'session', p->>'hash', v_detail);
    WHEN 'port' THEN
        PERFORM audit_refused('port_refused', 'warning', p->>'tenant',
            (p->>'session') || ':' || (p->>'port'),
            v_detail || jsonb_build_object('session', p->>'session', 'port', p->>'port',
                'keyId', p->>'keyId'));
    END CASE;
END $$;

-- Rows are append only, as events are; only the count of a refusal may change.
CREATE OR REPLACE FUNCTION audit_append_only()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.at < clock_timestamp() - interval '1 day' THEN
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' AND OLD.minute IS NOT NULL
       AND to_jsonb(NEW) - 'detail' = to_jsonb(OLD) - 'detail'
       AND NEW.detail - 'times' = OLD.detail - 'times' THEN
        RETURN NEW;
    END IF;
    RAISE SQLSTATE 'SX500' USING MESSAGE = 'audit is append-only';
END $$;

CREATE OR REPLACE TRIGGER audit_append_only
    BEFORE UPDATE OR DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION audit_append_only();

CREATE OR REPLACE FUNCTION audit_json(a audit)
RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN json_build_object(
        'id', a.id,
        'at', iso(a.at),
        'kind', a.kind,
        'severity', a.severity,
        'tenant', a.tenant,
        'subject', a.subject,
        'traceId', a.trace_id,
        'detail', a.detail);
END $$;
