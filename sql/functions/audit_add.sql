-- Writes a line of the audit log: an action of a person or a key that the service
-- would not have done by itself.  Append only; p.trace gets a column of its own.
CREATE OR REPLACE FUNCTION audit_add(p_kind text, p_severity text, p_tenant text,
    p_subject text, p_detail jsonb)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO audit (kind, severity, tenant, subject, trace_id, detail)
    VALUES (p_kind, p_severity, p_tenant, p_subject, p_detail ->> 'trace',
            coalesce(p_detail, '{}') - 'trace')
$$;
