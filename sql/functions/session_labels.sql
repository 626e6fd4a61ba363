-- Labels with what a change makes of them; null removes.  A change may bring as
-- many as a create, so it is the sum that must be bounded.
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
