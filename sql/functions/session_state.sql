-- Every change of a session's state leaves an event.
CREATE OR REPLACE FUNCTION session_state_event()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO event (session_id, kind, what, trace_id, detail)
    VALUES (NEW.id, 'state', NEW.state, NEW.trace_id,
            jsonb_strip_nulls(jsonb_build_object(
                'from', CASE WHEN TG_OP = 'UPDATE' THEN OLD.state END,
                'reason', NEW.reason)));
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER session_state_changed
    AFTER INSERT OR UPDATE OF state ON session
    FOR EACH ROW EXECUTE FUNCTION session_state_event();
