-- How the service itself is doing, as far as rows know.

-- Whether starts failed in the last ten minutes, and none succeeded.  A setup that
-- failed does not count: it is the tenant's command.  Only the newest 1,000 events
-- are read, so that the answer costs the same however busy the service is; a success
-- is among them if there was any.
CREATE OR REPLACE FUNCTION health_starts_fail()
RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(bool_or(e.what = 'failed'
               AND NOT EXISTS (SELECT FROM event x
                                WHERE x.session_id = e.session_id AND x.kind = 'setup'
                                  AND x.what = 'failed' AND x.generation = e.generation)), false)
           AND NOT coalesce(bool_or(e.what = 'ready'), false)
      FROM (SELECT * FROM event ORDER BY id DESC LIMIT 1000) e
     WHERE e.kind = 'state' AND e.at > clock_timestamp() - interval '10 minutes'
$$;
