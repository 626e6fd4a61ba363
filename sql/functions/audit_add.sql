-- What an operator must be able to find later: who did something that the
-- service itself would not have done.  Append only; `trace` moves to its column.
CREATE OR REPLACE FUNCTION audit_add(p_kind text, p_severity text, p_tenant text,
    p_subject text, p_detail jsonb)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO audit (kind, severity, tenant, subject, trace_id, detail)
    VALUES (p_kind, p_severity, p_tenant, p_subject, p_detail ->> 'trace',
            coalesce(p_detail, '{}') - 'trace')
$$;
