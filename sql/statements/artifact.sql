-- Artifacts: files that executions leave.

-- name: artifact_room
-- params: tenant
-- The bytes that an org has, before more are added.
SELECT artifact_bytes($1) AS bytes;

-- name: artifact_list
-- params: execution_id
SELECT artifact_json(a) AS json FROM artifact a
 WHERE a.execution_id = $1 AND a.kind IN ('log', 'file')
 ORDER BY a.kind DESC, a.path;

-- name: artifact_find
-- params: execution_id, kind, path
-- A row without a hash: the execution has none.
SELECT a.host, a.folder, a.sha256, a.bytes, x.log_first, coalesce(x.log_bytes, 0) AS log_bytes
  FROM execution x LEFT JOIN artifact a
       ON a.execution_id = x.id AND a.kind = $2 AND a.path = $3
 WHERE x.id = $1;

-- name: artifact_known
-- params: folder, sha256
SELECT EXISTS (SELECT FROM artifact WHERE folder = $1 AND sha256 = $2) AS known;

-- name: artifacts_forget
-- params: days, batch
DELETE FROM artifact WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM artifact
     WHERE created_at < statement_timestamp() - make_interval(days => $1::int)
     ORDER BY created_at
     LIMIT $2::int
       FOR UPDATE SKIP LOCKED));

-- name: execution_days
-- params: tenant, agent_type, since, page
-- The newest day first.
SELECT execution_day_json(d) AS json FROM execution_day d
 WHERE d.tenant = $1 AND ($2 = '' OR d.agent_type = $2) AND ($3 = '' OR d.day >= $3::date)
 ORDER BY d.day DESC, d.agent_type LIMIT $4::int;

-- name: profile_suggestion
-- params: tenant, agent_type, part
SELECT profile_suggestion($1, $2, $3::double precision) AS json
 WHERE (profile_of($1, $2)).agent_type IS NOT NULL;
