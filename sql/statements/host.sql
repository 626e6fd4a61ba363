-- Hosts and the storage that is theirs.

-- name: host_storage
-- params: host, seen, empty
SELECT verdict, coalesce(owner, '') AS owner FROM host_storage($1, $2, $3::boolean);

-- name: host_adopt
-- params: host, seen, from
SELECT sandboxes, snapshots FROM host_adopt($1, $2, $3);
