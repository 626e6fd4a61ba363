-- Samples: what sessions and sandboxes use, as the reaper measures it.

-- session_id NULL: the sandbox as a whole.  No foreign keys: a sample outlives what was measured.
-- life: the generation of the session, or the incarnation of the sandbox; counters begin anew
-- with it.  hourly: `at` is the begin of an hour; numbers are averages, ..._max the largest,
-- counters and the disk those of the last sample.  NULL: the host could not find it out.
CREATE TABLE sample (
    sandbox_id       text        NOT NULL,
    session_id       text,
    tenant           text        NOT NULL,
    life             text        NOT NULL,
    at               timestamptz NOT NULL,
    hourly           boolean     NOT NULL DEFAULT false,
    cpu_ms           bigint,                          -- counters: since the life began
    cpu_user_ms      bigint,
    cpu_system_ms    bigint,
    cpu_percent      real,                            -- of one processor, since the sample before
    cpu_percent_max  real,
    memory_bytes     bigint,
    memory_max_bytes bigint,
    memory_peak_bytes bigint,                         -- since the life began
    processes        integer,
    processes_max    integer,
    threads          integer,
    threads_max      integer,
    disk_mb          bigint
);
CREATE INDEX sample_by_session ON sample (session_id, at) WHERE session_id IS NOT NULL;
CREATE INDEX sample_by_sandbox ON sample (sandbox_id, at) WHERE session_id IS NULL;
CREATE INDEX sample_by_age ON sample (hourly, at);
