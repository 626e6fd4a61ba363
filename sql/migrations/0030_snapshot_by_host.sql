-- A pass of the reaper looks for the snapshots of its host, not of all hosts.
CREATE INDEX snapshot_by_host ON snapshot (host, id) WHERE state IN ('ready', 'lost');
