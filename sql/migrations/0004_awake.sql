-- Why a session is awake, and how it sleeps: maximum run time, suspension,
-- interruption.

ALTER TABLE session
    ADD COLUMN max_run_seconds  bigint CHECK (max_run_seconds > 0), -- of one wrapper
    ADD COLUMN ran_seconds      double precision NOT NULL DEFAULT 0, -- before started_at, frozen time apart
    ADD COLUMN extended_until   timestamptz,      -- the promise of session_extend
    ADD COLUMN suspend          boolean NOT NULL DEFAULT false, -- sleep freezes
    ADD COLUMN suspended_at     timestamptz,      -- since then its cell may be frozen
    ADD COLUMN suspend_order    bigint NOT NULL DEFAULT 0, -- fences late freezes and thaws; only grows
    ADD COLUMN suspend_deadline timestamptz,      -- of a freeze or thaw under way
    ADD COLUMN interrupt_id     text,             -- of an interruption under way
    ADD COLUMN interrupt_generation bigint,
    ADD COLUMN interrupt_requested_at timestamptz;

CREATE INDEX session_run_limited ON session (started_at)
    WHERE max_run_seconds IS NOT NULL AND state = 'ready';
CREATE INDEX session_suspending ON session (suspend_deadline)
    WHERE suspend_deadline IS NOT NULL;
CREATE INDEX session_interrupting ON session (interrupt_requested_at)
    WHERE interrupt_requested_at IS NOT NULL;
