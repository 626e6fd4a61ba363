-- Checks that the storage a host's programs see is the one the host's row names.  A
-- file system that is not mounted leaves an empty directory; without this check
-- every session that is called then would be marked lost for good.

-- Whether rows say that files lie on this host.
CREATE OR REPLACE FUNCTION host_has_files(p_host text)
RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT EXISTS (SELECT FROM sandbox b JOIN session s ON s.sandbox_id = b.id
                    WHERE b.host = p_host AND b.state <> 'absent'
                      AND s.state NOT IN ('deleted', 'lost') AND s.started_at IS NOT NULL)
        OR EXISTS (SELECT FROM snapshot WHERE host = p_host AND state = 'ready')
$$;

-- Judges the storage that a program of host p_host has found: p_seen is the id in its storage, '' if
-- there is none; p_empty says that no sandbox has a directory there.
--   ok       it is the host's
--   make     there is no id yet, and nothing speaks against making one
--   missing  the host has files, and they are not there
--   other    the storage is another one than the host had
--   foreign  the storage is that of host `owner`
CREATE OR REPLACE FUNCTION host_storage(p_host text, p_seen text, p_empty boolean,
    OUT verdict text, OUT owner text)
LANGUAGE plpgsql AS $$
DECLARE
    v_id text;
BEGIN
    SELECT storage_id INTO v_id FROM host WHERE name = p_host;
    IF p_seen <> '' AND v_id = p_seen THEN
        verdict := 'ok'; -- nearly always, and without a lock
        RETURN;
    END IF;
    INSERT INTO host (name) VALUES (p_host) ON CONFLICT (name) DO NOTHING;
    SELECT storage_id INTO v_id FROM host WHERE name = p_host FOR UPDATE;
    IF p_seen <> '' THEN
        SELECT name INTO owner FROM host WHERE storage_id = p_seen AND name <> p_host FOR UPDATE;
    END IF;
    IF owner IS NOT NULL AND host_has_files(owner) THEN
        verdict := 'foreign';
    ELSIF p_seen = '' THEN
        verdict := CASE WHEN host_has_files(p_host) AND (v_id IS NOT NULL OR p_empty)
                        THEN 'missing' ELSE 'make' END;
    ELSIF v_id IS NOT NULL AND v_id <> p_seen AND host_has_files(p_host) THEN
        verdict := 'other';
    ELSE
        UPDATE host SET storage_id = NULL WHERE name = owner;
        UPDATE host SET storage_id = p_seen, changed_at = clock_timestamp() WHERE name = p_host;
        verdict := 'ok';
    END IF;
END $$;

-- Records an operator's statement that storage p_seen belongs to p_host from now on.
-- p_from: the host that had it before, whose sandboxes become p_host's; '': p_host
-- had it.  SX423: the storage belongs to a host that the operator did not name.
CREATE OR REPLACE FUNCTION host_adopt(p_host text, p_seen text, p_from text,
    OUT sandboxes bigint, OUT snapshots bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_owner text := (SELECT name FROM host WHERE storage_id = p_seen AND name <> p_host);
    v_old   text := (SELECT storage_id FROM host WHERE name = p_host);
BEGIN
    IF v_owner <> p_from AND host_has_files(v_owner) THEN
        RAISE SQLSTATE 'SX423' USING MESSAGE = format(
            'this storage is that of host %s; if that host is no more, say --from %s',
            v_owner, v_owner);
    END IF;
    IF p_from <> '' AND NOT EXISTS (SELECT FROM host WHERE name = p_from)
       AND NOT EXISTS (SELECT FROM sandbox WHERE host = p_from) THEN
        RAISE SQLSTATE 'SX404' USING MESSAGE = format('there is no host %s', p_from);
    END IF;
    -- the order of locks: sandboxes, hosts
    UPDATE sandbox SET host = p_host WHERE p_from <> '' AND host = p_from;
    GET DIAGNOSTICS sandboxes = ROW_COUNT;
    UPDATE sandbox SET disk_host = p_host, disk_counted = false
     WHERE p_from <> '' AND disk_host = p_from;
    UPDATE snapshot SET host = p_host WHERE p_from <> '' AND host = p_from;
    GET DIAGNOSTICS snapshots = ROW_COUNT;
    UPDATE artifact SET host = p_host WHERE p_from <> '' AND host = p_from;
    DELETE FROM sighting WHERE p_from <> '' AND host = p_from;
    DELETE FROM host WHERE p_from <> '' AND name = p_from;
    UPDATE host SET storage_id = NULL WHERE storage_id = p_seen AND name <> p_host;
    INSERT INTO host (name, storage_id) VALUES (p_host, p_seen)
    ON CONFLICT (name) DO UPDATE SET storage_id = p_seen, changed_at = clock_timestamp();
    PERFORM audit_add('storage_adopted', 'critical', NULL, p_host, jsonb_build_object(
        'by', event_actor(), 'storage', p_seen, 'instead', v_old, 'from', nullif(p_from, '')));
END $$;
