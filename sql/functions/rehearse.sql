-- Creates a session as session_create does, takes it back, and leaves nothing behind.
-- A connection plans each statement at its first use, which takes many times as long as
-- the statement: a worker does this before its first request, so that no client waits
-- for it (src/api/serve/rehearse.c).  The org is made up, so that no row of a tenant is
-- locked.
CREATE OR REPLACE FUNCTION rehearse_start()
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_id   text := left(md5(random()::text), 20);
    v_spec jsonb := jsonb_build_object('id', v_id, 'tenant', 'rehearsal ' || v_id,
        'org', 'rehearsal', 'user', 'nobody', 'bot', '', 'sandbox', 'rehearsal-' || v_id,
        'isolation', 'session', 'class', (SELECT min(name) FROM class), 'host', '', 'boot', '',
        'instance', v_id, 'incarnation', v_id, 'seconds', 60, 'sleepAfterSeconds', 60,
        'keepAlive', false, 'wakeOnPreview', false, 'network', '{"mode": "none"}'::jsonb,
        'generation', 1, 'warm', '', 'adoption', '', 'steps', '[{"what": "rehearsal", "ms": 0, "ago": 0}]'::jsonb);
BEGIN
    INSERT INTO org (id) VALUES (v_spec->>'tenant');
    INSERT INTO warm (session_id, sandbox_id, incarnation, instance, host, boot_id, class,
                      shape, state)
    SELECT v_id, v_spec->>'sandbox', v_id, v_id, '', '', c.name, warm_shape(c, ''), 'ready'
      FROM class c WHERE c.name = v_spec->>'class';
    PERFORM session_create(v_spec);
    PERFORM start_more(v_id);
    PERFORM session_verified(v_id, v_spec);
    PERFORM session_after_start(v_id, true);
    SET CONSTRAINTS ALL IMMEDIATE; -- quota_settle() runs now, not at a commit
    RAISE SQLSTATE 'SX999' USING MESSAGE = 'the rehearsal is over';
EXCEPTION WHEN SQLSTATE 'SX999' THEN
    NULL; -- all of it is rolled back
END $$;
