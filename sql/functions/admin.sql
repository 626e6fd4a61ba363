-- A quota as an operator sees it; limit NULL: there is none.
CREATE OR REPLACE FUNCTION quota_shown(p_own bigint, p_setting text, p_used bigint)
RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN json_build_object('limit', nullif(quota_limit(p_own, p_setting), 0),
        'own', p_own IS NOT NULL, 'used', coalesce(p_used, 0));
END $$;
