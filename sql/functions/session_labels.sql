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

-- The hash by which session_label has a label; a reader compares the label itself, too.
CREATE OR REPLACE FUNCTION label_hash(p_key text, p_value text)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT hashtextextended(p_key || ':' || p_value, 0)
$$;

-- Writes the labels of a session that is new, or whose labels or deletion changed.
CREATE OR REPLACE FUNCTION session_label_write()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM session_label WHERE session_id = NEW.id;
    END IF;
    INSERT INTO session_label (session_id, hash, tenant, deleted, created_at)
    SELECT DISTINCT NEW.id, label_hash(t.key, t.value), NEW.tenant, NEW.state = 'deleted',
           NEW.created_at
      FROM jsonb_each_text(NEW.labels) t
     WHERE t.value IS NOT NULL;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER session_labelled
    AFTER INSERT ON session
    FOR EACH ROW WHEN (NEW.labels <> '{}') EXECUTE FUNCTION session_label_write();
CREATE OR REPLACE TRIGGER session_label_changed
    AFTER UPDATE OF labels, state ON session
    FOR EACH ROW WHEN (NEW.labels <> OLD.labels
        OR NEW.labels <> '{}' AND (NEW.state = 'deleted') <> (OLD.state = 'deleted'))
    EXECUTE FUNCTION session_label_write();
