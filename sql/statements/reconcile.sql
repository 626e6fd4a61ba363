-- Compares rows with reality: a host says what it has, and the answer is the difference.
-- Members of the warm pool are no difference; warm_members judges them.

-- name: sandbox_differences
-- params: host, boot_id, seen
-- seen: [{id, incarnation, presence}], listed before this statement runs, so that a row
-- can be newer than the list, and never older.
WITH seen AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset($3::jsonb) AS t (id text, incarnation text, presence text)
), b AS MATERIALIZED (
    SELECT b.* FROM sandbox b WHERE b.host = $1 AND b.state IN ('creating', 'running')
    UNION ALL
    SELECT b.* FROM sandbox b JOIN seen ON seen.id = b.id
     WHERE NOT (b.host = $1 AND b.state IN ('creating', 'running'))
)
SELECT coalesce(b.id, seen.id) AS id, b.id IS NOT NULL AS known, coalesce(b.state, '') AS state,
       coalesce(b.incarnation, '') AS incarnation, coalesce(b.host, '') AS host,
       coalesce(b.boot_id, '') AS boot_id,
       b.deadline IS NULL OR b.deadline < clock_timestamp() AS overdue,
       EXISTS (SELECT FROM session s WHERE s.sandbox_id = b.id AND s.state <> 'deleted') AS used,
       coalesce(seen.presence, 'absent') AS presence,
       coalesce(seen.incarnation, '') AS seen_incarnation
  FROM seen FULL JOIN b ON b.id = seen.id
 WHERE coalesce(b.host, '') IN ('', $1)
   AND NOT EXISTS (SELECT FROM warm w WHERE w.sandbox_id = seen.id)
   AND coalesce(seen.presence, 'absent') <> 'unknown'
   AND NOT coalesce(b.state IN ('creating', 'running') AND b.boot_id = $2
                    AND seen.presence = 'running' AND seen.incarnation = b.incarnation, false)
   AND NOT coalesce(b.state IN ('stopped', 'destroying') AND seen.presence = 'stopped', false);

-- name: cell_differences
-- params: host, cells, sandboxes
-- cells: [{sandbox, session, generation, instance}] of the sandboxes that were
-- asked.  stranger: a wrapper whose lease is in state none, or (known = false) that has
-- no lease row; missing: a wrapper that its lease owns and that is not there.
-- lease_generation is the lease's present one.
WITH cell AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset($2::jsonb)
             AS t (sandbox text, incarnation text, session text, generation bigint, instance text)
), box AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset($3::jsonb) AS t (id text, incarnation text)
)
SELECT 'stranger' AS what, l.session_id IS NOT NULL AS known, cell.sandbox AS sandbox_id,
       cell.incarnation, cell.session AS session_id, cell.generation, cell.instance,
       coalesce(l.generation, 0) AS lease_generation
  FROM cell LEFT JOIN lease l ON l.session_id = cell.session
 WHERE (l.session_id IS NULL
        AND NOT EXISTS (SELECT FROM warm w WHERE w.session_id = cell.session))
    OR l.state = 'none'
UNION ALL
SELECT 'missing', true, b.id, b.incarnation, l.session_id, l.generation, l.instance, l.generation
  FROM box
  JOIN sandbox b ON b.id = box.id AND b.incarnation = box.incarnation AND b.host = $1
  JOIN lease l ON l.sandbox_id = b.id
  JOIN session s ON s.id = l.session_id
 WHERE l.sandbox_id = ANY (ARRAY(SELECT box.id FROM box))
   AND l.state = 'owns_wrapper' AND l.startup_deadline IS NULL AND s.state = 'ready'
   AND l.changed_at < statement_timestamp() - interval '5 seconds'
   AND NOT EXISTS (SELECT FROM cell WHERE cell.session = l.session_id);

-- name: socket_differences
-- params: sockets
-- sockets: [{name, session, generation}].  known = false: there is no lease row for it;
-- else its generation is over.
SELECT x.name, l.session_id IS NOT NULL AS known
  FROM jsonb_to_recordset($1::jsonb) AS x (name text, session text, generation bigint)
  LEFT JOIN lease l ON l.session_id = x.session
 WHERE (l.session_id IS NULL
        AND NOT EXISTS (SELECT FROM warm w WHERE w.session_id = x.session))
    OR l.generation > x.generation
    OR (l.state = 'none' AND l.generation = x.generation);

-- name: storage_differences
-- params: storage
-- storage: [{sandbox, session}].  known = false: no row has it; else its session is
-- deleted or its files were dropped.
SELECT x.sandbox AS sandbox_id, x.session AS session_id, s.id IS NOT NULL AS known
  FROM jsonb_to_recordset($1::jsonb) AS x (sandbox text, session text)
  LEFT JOIN session s ON s.id = x.session
 WHERE (s.id IS NULL
        AND NOT EXISTS (SELECT FROM lease l
                         WHERE l.session_id = x.session AND l.state <> 'none')
        AND NOT EXISTS (SELECT FROM warm w WHERE w.session_id = x.session))
    OR s.state = 'deleted'
    OR (s.state IN ('failed', 'lost') AND s.files_dropped_at IS NOT NULL);

-- name: cell_group_differences
-- params: groups
-- groups: [{sandbox, session}], control groups of cells whose lease is none.
SELECT x.sandbox AS sandbox_id, x.session AS session_id
  FROM jsonb_to_recordset($1::jsonb) AS x (sandbox text, session text)
  LEFT JOIN lease l ON l.session_id = x.session
 WHERE (l.session_id IS NULL
        AND NOT EXISTS (SELECT FROM warm w WHERE w.session_id = x.session))
    OR l.state = 'none';

-- name: sightings
-- params: host, things, seconds
-- Records sightings: things that no row explains.  ripe: seen at least twice, and the
-- first time that long ago.
INSERT INTO sighting AS g (host, sandbox_id)
SELECT $1, t FROM jsonb_array_elements_text($2::jsonb) t
    ON CONFLICT (host, sandbox_id) DO UPDATE
   SET times = g.times + 1, last_at = clock_timestamp()
RETURNING g.sandbox_id AS thing,
          g.times >= 2 AND g.first_at < clock_timestamp() - make_interval(secs => $3::int) AS ripe;

-- name: sighting_over
-- params: host, thing
DELETE FROM sighting WHERE host = $1 AND sandbox_id = $2;

-- name: sightings_over
-- params: host, kind, since
-- Ends sightings of things that were not seen again: a row explains them, or they are
-- gone.
DELETE FROM sighting
 WHERE host = $1 AND starts_with(sandbox_id, $2) AND last_at < $3::timestamptz;

-- name: owned_in
-- params: sandbox_id
-- Sessions that own a wrapper in a sandbox.
SELECT l.session_id, l.generation, l.instance
  FROM lease l
 WHERE l.sandbox_id = $1 AND l.state = 'owns_wrapper';
