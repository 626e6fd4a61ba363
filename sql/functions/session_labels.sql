-- The labels after a change; null removes one.  A change may bring as many labels as a
-- create, so the limit is checked on the result.
CREATE OR REPLACE FUNCTION session_labels(p_has jsonb, p_change jsonb)
RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v jsonb := jsonb_strip_nulls(p_has || coalesce(p_change, '{}'));
BEGIN
    IF p_change IS NOT NULL AND (SELECT count(*) FROM jsonb_object_keys(v)) > 64 THEN
        RAISE SQLSTATE 'SX417' USING MESSAGE = 'a session may have at most 64 labels';
    END IF;
    RETURN v;
END $$;
