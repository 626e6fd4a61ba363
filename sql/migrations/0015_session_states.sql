-- The life of a session as rows, as its lease's is.  sql/functions/session_apply.sql
-- carries them out; a trigger refuses every other change of a state.
CREATE TABLE session_transition (
    from_state text   NOT NULL,
    event      text   NOT NULL,
    to_state   text   NOT NULL,
    fence      text   NOT NULL,
    effects    text[] NOT NULL, -- none at all: right, and nothing changes
    PRIMARY KEY (from_state, event)
);
INSERT INTO session_transition (from_state, event, to_state, fence, effects)
SELECT x.from_state, v.event, v.to_state, v.fence, v.effects::text[]
  FROM (VALUES
    -- a wrapper is started
    ('{initializing,ready,sleeping,asleep,failed}', 'start', 'initializing', 'nothing',
     '{no_reason,begin,awake,anew}'),
    ('{initializing}', 'verified', 'ready', 'nothing', '{no_reason,started,first}'),
    ('{ready}', 'verified', 'ready', 'nothing', '{}'),
    -- a wrapper is stopped: the request, then its absence
    ('{initializing,ready}', 'sleep', 'sleeping', 'nothing', '{reason,awake}'),
    ('{sleeping,asleep}', 'sleep', 'sleeping', 'suspended', '{reason,awake}'),
    ('{initializing,ready}', 'fail', 'failed', 'nothing', '{reason,awake,ended}'),
    ('{initializing,ready,sleeping,asleep,failed,lost}', 'delete', 'deleting', 'nothing',
     '{reason,awake}'),
    ('{sleeping}', 'stopped', 'asleep', 'nothing', '{idle,ended}'),
    ('{deleting}', 'removed', 'deleted', 'nothing', '{idle,wiped}'),
    -- its sandbox is gone, with its files or without
    ('{initializing,ready,sleeping,asleep}', 'gone', 'asleep', 'nothing',
     '{reason,awake,idle,ended}'),
    ('{initializing,ready,sleeping,asleep}', 'files_gone', 'lost', 'nothing',
     '{reason,awake,idle,ended}'),
    ('{failed}', 'files_gone', 'lost', 'nothing', '{reason}'),
    -- a wrapper is frozen with all its memory, and thawed
    ('{ready}', 'freeze', 'sleeping', 'nothing', '{maybe_reason,ran,frozen,order}'),
    ('{sleeping,initializing}', 'freeze_again', 'sleeping', 'overdue',
     '{maybe_reason,frozen,order}'),
    ('{sleeping}', 'frozen', 'asleep', 'order', '{idle,ended,settled}'),
    ('{initializing,sleeping,asleep}', 'thaw', 'initializing', 'suspended',
     '{no_reason,begin,order}'),
    ('{initializing}', 'thawed', 'ready', 'order', '{no_reason,awake,started}')
  ) AS v (from_states, event, to_state, fence, effects),
  unnest(v.from_states::text[]) AS x (from_state);
