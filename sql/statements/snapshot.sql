-- Snapshots: copies of a session's files, kept outside any sandbox.

-- name: snapshot_begin
-- params: spec
SELECT s.id, s.size_bytes FROM snapshot_begin($1::jsonb) s;

-- name: snapshot_settle
-- params: id, spec
SELECT coalesce(snapshot_settle($1, $2::jsonb), '') AS state;

-- name: snapshot_list
-- params: tenant, session_id, id, before_at, before_id, page
-- Newest first, as session_list; session_id, id: '' is any.
SELECT s.id, s.state, s.host, snapshot_json(s) AS json,
       extract(epoch FROM s.created_at)::numeric(20, 6)::text AS at
  FROM snapshot s
 WHERE s.tenant = $1 AND s.state <> 'deleting'
   AND ($2 = '' OR s.session_id = $2) AND ($3 = '' OR s.id = $3)
   AND ($4 = '' OR (s.created_at, s.id) < (to_timestamp($4::numeric), $5))
 ORDER BY s.created_at DESC, s.id DESC
 LIMIT $6::int;

-- name: snapshot_remove
-- params: tenant, session_id, id
-- Intent to delete: from here on no client sees the snapshot.  No row: there is none.
UPDATE snapshot SET state = 'deleting', changed_at = clock_timestamp()
 WHERE tenant = $1 AND ($2 = '' OR session_id = $2) AND id = $3 AND state <> 'deleting'
RETURNING id, host;

-- name: snapshot_gone
-- params: id
-- Outcome of a deletion: the files are gone.
DELETE FROM snapshot WHERE id = $1 AND state = 'deleting' RETURNING id;

-- name: snapshot_free
-- params: id
-- Whether a snapshot's files may be removed: it is deleted and no session needs them.
SELECT s.id, s.tenant, s.host FROM snapshot s
 WHERE s.id = $1 AND s.state = 'deleting' AND NOT snapshot_in_use(s.id);

-- name: snapshots_unsettled
-- params: host, after_id, limit
-- Snapshots for the reaper: being created, or to be removed; in the order of ids.
SELECT s.id, s.tenant, s.state, s.deadline < clock_timestamp() AS overdue
  FROM snapshot s
 WHERE s.host = $1 AND s.id > $2
   AND (s.state = 'creating' OR (s.state = 'deleting' AND NOT snapshot_in_use(s.id)))
 ORDER BY s.id
 LIMIT $3::int;

-- name: snapshots_expire
-- params: days, failed_seconds, limit
-- Snapshots past their retention (0 days: never), and those that have failed.
UPDATE snapshot SET state = 'deleting', changed_at = clock_timestamp()
 WHERE id = ANY (ARRAY(SELECT id FROM snapshot
                        WHERE state IN ('ready', 'lost') AND $1::int > 0
                          AND created_at < statement_timestamp() - make_interval(days => $1::int)
                        ORDER BY created_at
                        LIMIT $3::int
                          FOR UPDATE SKIP LOCKED)
                 || ARRAY(SELECT id FROM snapshot
                           WHERE state <> 'ready' AND state = 'failed'
                             AND changed_at < statement_timestamp() - make_interval(secs => $2::int)
                           ORDER BY changed_at
                           LIMIT $3::int
                             FOR UPDATE SKIP LOCKED))
   AND state IN ('ready', 'lost', 'failed')
RETURNING id;

-- name: snapshot_differences
-- params: snapshots
-- snapshots: [{owner, id}], directories.  known = false: no row knows it; else
-- it has failed and its files are of no use.
SELECT x.owner, x.id, s.id IS NOT NULL AS known
  FROM jsonb_to_recordset($1::jsonb) AS x (owner text, id text)
  LEFT JOIN snapshot s ON s.id = x.id
 WHERE s.id IS NULL OR s.state = 'failed';

-- name: snapshot_seen
-- params: id, host, there
SELECT coalesce(snapshot_seen($1, $2, $3::boolean), '') AS state;

-- name: snapshots_misplaced
-- params: host, snapshots, limit
-- snapshots: as above, listed before this statement runs.  Answers the host's snapshots
-- that are ready and have no directory, or are lost and have one.
WITH seen AS MATERIALIZED (
    SELECT x.id FROM jsonb_to_recordset($2::jsonb) AS x (id text)
)
SELECT s.id, s.tenant
  FROM snapshot s LEFT JOIN seen ON seen.id = s.id
 WHERE s.host = $1 AND s.state IN ('ready', 'lost')
   AND (s.state = 'ready' AND seen.id IS NULL OR s.state = 'lost' AND seen.id IS NOT NULL)
 ORDER BY s.id
 LIMIT $3::int;
