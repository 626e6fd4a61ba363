-- The effects of each transition on the row, besides its state, as data; the same
-- words stand in src/domain/lease.c.  No effects: a no-op.
ALTER TABLE lease_transition ADD COLUMN effects text[] NOT NULL DEFAULT '{}';

UPDATE lease_transition t SET effects = e.effects
  FROM (VALUES ('allocate',             '{generation,startup,no_warm}'::text[]),
               ('startup_verified',     '{startup,no_warm}'),
               ('delivery_accepted',    '{no_startup,no_warm}'),
               ('retain_warm',          '{no_startup,warm}'),
               ('reuse',                '{startup}'),
               ('owned_absent',         '{release}'),
               ('begin_stop_attempt',   '{attempt}'),
               ('stop_absent',          '{release}'),
               ('stop_not_confirmed',   '{backoff}'),
               ('stop_attempt_expired', '{backoff}')) AS e (event, effects)
 WHERE t.event = e.event;

-- The first target, reason and backoff are kept.
UPDATE lease_transition SET effects = '{no_startup,no_warm,stop}'
 WHERE event = 'request_stop' AND from_state IN ('none', 'owns_wrapper');
