-- 200 streams at once in one session, each a thread of the wrapper, a shell and
-- what it runs: a sandbox of one session may have as many processes as a shared
-- one.  A class that an operator has changed stays as it is.
UPDATE class SET pids = 1024 WHERE name = 'small' AND pids = 256;
