-- Triggers: when they are due, and what became of it.

-- ---- the next time of a schedule

CREATE OR REPLACE FUNCTION schedule_set(p_sets jsonb, p_name text)
RETURNS integer[] LANGUAGE sql IMMUTABLE AS $$
    SELECT array_agg(v::integer) FROM jsonb_array_elements_text(p_sets->p_name) v
$$;

-- The first time of a day that is after p_after; NULL: none is.  A schedule of every hour
-- follows the real time: 25 hours of a day that has them.  One of some hours follows the
-- clock on the wall: a time that is skipped in spring comes as much later, and one that
-- is there twice in autumn counts once.
CREATE OR REPLACE FUNCTION schedule_in_day(p_day date, p_zone text, p_hours integer[],
    p_minutes integer[], p_after timestamptz)
RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_begin timestamptz := p_day::timestamp AT TIME ZONE p_zone;
    v_end   timestamptz := (p_day + 1)::timestamp AT TIME ZONE p_zone;
BEGIN
    IF cardinality(p_hours) < 24 THEN
        RETURN (SELECT min(t) FROM unnest(p_hours) h, unnest(p_minutes) m,
                       LATERAL (SELECT (p_day + make_time(h, m, 0)) AT TIME ZONE p_zone) x (t)
                 WHERE t > p_after);
    END IF;
    v_begin := greatest(v_begin, date_trunc('minute', p_after));
    RETURN (SELECT min(t) FROM generate_series(v_begin,
                   least(v_end - interval '1 minute', v_begin + interval '2 hours'),
                   interval '1 minute') t
             WHERE t > p_after
               AND extract(minute FROM t AT TIME ZONE p_zone)::integer = ANY (p_minutes));
END $$;

-- The first time of a schedule after p_after; NULL: none in nine years.  29 February
-- comes after eight years at the latest.
CREATE OR REPLACE FUNCTION schedule_next(p_sets jsonb, p_zone text, p_after timestamptz)
RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_minutes  integer[] := schedule_set(p_sets, 'minutes');
    v_hours    integer[] := schedule_set(p_sets, 'hours');
    v_days     integer[] := schedule_set(p_sets, 'days');
    v_months   integer[] := schedule_set(p_sets, 'months');
    v_weekdays integer[] := schedule_set(p_sets, 'weekdays');
    v_either   boolean := (p_sets->>'either')::boolean;
    v_day      date := (p_after AT TIME ZONE p_zone)::date;
    v_last     date := v_day + 9 * 366;
    v_date     boolean;
    v_weekday  boolean;
    v_at       timestamptz;
BEGIN
    WHILE v_day <= v_last LOOP
        IF NOT extract(month FROM v_day)::integer = ANY (v_months) THEN
            v_day := date_trunc('month', v_day) + interval '1 month';
            CONTINUE;
        END IF;
        v_date := extract(day FROM v_day)::integer = ANY (v_days);
        v_weekday := extract(dow FROM v_day)::integer = ANY (v_weekdays);
        IF v_date AND v_weekday OR v_either AND (v_date OR v_weekday) THEN
            v_at := schedule_in_day(v_day, p_zone, v_hours, v_minutes, p_after);
            IF v_at IS NOT NULL THEN
                RETURN v_at;
            END IF;
        END IF;
        v_day := v_day + 1;
    END LOOP;
    RETURN NULL;
END $$;

-- Raises SX433 unless there is such a time zone.  A name with a digit may also be a rule
-- in the form of POSIX, which PostgreSQL would take.
CREATE OR REPLACE FUNCTION schedule_must_know(p_zone text)
RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM clock_timestamp() AT TIME ZONE p_zone;
    IF p_zone ~ '[0-9]' AND NOT EXISTS (SELECT FROM pg_timezone_names WHERE name = p_zone) THEN
        RAISE invalid_parameter_value;
    END IF;
EXCEPTION WHEN invalid_parameter_value THEN
    RAISE SQLSTATE 'SX433' USING MESSAGE =
        'there is no such time zone; names are as Europe/Berlin, or UTC';
END $$;

-- The next time from now on.  Raises SX434 if none comes.
CREATE OR REPLACE FUNCTION schedule_from_now(p_sets jsonb, p_zone text)
RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_at timestamptz;
BEGIN
    PERFORM schedule_must_know(p_zone);
    v_at := schedule_next(p_sets, p_zone, clock_timestamp());
    IF v_at IS NULL THEN
        RAISE SQLSTATE 'SX434' USING MESSAGE = 'never comes in the next nine years';
    END IF;
    RETURN v_at;
END $$;

-- ---- calls of clients

CREATE OR REPLACE FUNCTION trigger_json(t org_trigger)
RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN json_build_object(
        'id', t.id,
        'name', t.name,
        'schedule', t.schedule,
        'timeZone', t.time_zone,
        'run', json_build_object('agentType', t.agent_type, 'command', t.command,
            'correlationKeys', t.correlation_keys),
        'enabled', t.enabled,
        'nextAt', iso(t.next_at),
        'lastAt', iso(t.last_at),
        'lastExecutionId', t.last_execution,
        'lastError', t.last_error,
        'missed', t.missed,
        'user', t.user_id,
        'createdAt', iso(t.created_at),
        'changedAt', iso(t.changed_at));
END $$;

-- Raises what an execution with this run would be refused for.
CREATE OR REPLACE FUNCTION trigger_must_run(p_tenant text, p jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p ? 'run' THEN
        PERFORM execution_must_know(p_tenant, p->>'agentType');
        PERFORM network_must_know(nullif(p->'network', 'null'));
    END IF;
END $$;

-- Makes a trigger.  p: id, tenant, org, user, bot, keyId, name, schedule, sets, timeZone, run
-- (sealed), agentType, command, correlationKeys, network, enabled.
CREATE OR REPLACE FUNCTION trigger_create(p jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c_most constant bigint := 100;
    v_next timestamptz := schedule_from_now(p->'sets', p->>'timeZone');
    v_has  bigint;
BEGIN
    PERFORM trigger_must_run(p->>'tenant', p);
    PERFORM FROM org WHERE id = p->>'tenant' FOR NO KEY UPDATE; -- one at a time, for the count
    SELECT count(*) INTO v_has FROM org_trigger WHERE tenant = p->>'tenant';
    IF v_has >= c_most THEN
        PERFORM quota_refuse('triggers', 'triggers', c_most, v_has, 60);
    END IF;
    INSERT INTO org_trigger (id, tenant, org, user_id, bot, key_id, name, schedule, sets,
                             time_zone, run_sealed, agent_type, command, correlation_keys, enabled,
                             next_at)
    VALUES (p->>'id', p->>'tenant', p->>'org', p->>'user', p->>'bot', p->>'keyId', p->>'name',
            p->>'schedule', p->'sets', p->>'timeZone', p->>'run', p->>'agentType', p->>'command',
            p->'correlationKeys', (p->>'enabled')::boolean,
            CASE WHEN (p->>'enabled')::boolean THEN v_next END);
END $$;

-- Changes what p names.  A new schedule or time zone, and enabling it, let it begin anew:
-- what was due is not caught up with.  False: there is no such trigger.
CREATE OR REPLACE FUNCTION trigger_patch(p_tenant text, p_id text, p jsonb)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    t      org_trigger%ROWTYPE;
    v_anew boolean;
BEGIN
    SELECT * INTO t FROM org_trigger WHERE id = p_id AND tenant = p_tenant FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM trigger_must_run(p_tenant, p);
    v_anew := p ? 'sets' OR p ? 'timeZone' OR (p->>'enabled')::boolean AND NOT t.enabled;
    t.name := coalesce(p->>'name', t.name);
    t.schedule := coalesce(p->>'schedule', t.schedule);
    t.sets := coalesce(p->'sets', t.sets);
    t.time_zone := coalesce(p->>'timeZone', t.time_zone);
    t.enabled := coalesce((p->>'enabled')::boolean, t.enabled);
    IF p ? 'run' THEN
        t.run_sealed := p->>'run';
        t.agent_type := p->>'agentType';
        t.command := p->>'command';
        t.correlation_keys := p->'correlationKeys';
        t.org := p->>'org';
        t.user_id := p->>'user';
        t.bot := p->>'bot';
        t.key_id := p->>'keyId';
    END IF;
    IF v_anew THEN
        t.next_at := schedule_from_now(t.sets, t.time_zone);
    END IF;
    UPDATE org_trigger o
       SET name = t.name, schedule = t.schedule, sets = t.sets, time_zone = t.time_zone,
           enabled = t.enabled, run_sealed = t.run_sealed, agent_type = t.agent_type,
           command = t.command, correlation_keys = t.correlation_keys, org = t.org,
           user_id = t.user_id, bot = t.bot, key_id = t.key_id,
           next_at = CASE WHEN t.enabled THEN t.next_at END,
           last_error = CASE WHEN v_anew OR p ? 'run' THEN NULL ELSE o.last_error END,
           changed_at = clock_timestamp()
     WHERE o.id = p_id;
    RETURN true;
END $$;

-- ---- carried out by the reaper

-- The task id of the execution for a due time: the tenant has one execution of it at most.
CREATE OR REPLACE FUNCTION trigger_task(p_id text, p_due timestamptz)
RETURNS text LANGUAGE sql STABLE AS $$
    SELECT 'trigger:' || p_id || ':' || iso(p_due)
$$;

-- The trigger's first time after p_after.  NULL: none comes, or its time zone is not known
-- any more, as after an upgrade of the operating system.
CREATE OR REPLACE FUNCTION trigger_next(t org_trigger, p_after timestamptz)
RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN schedule_next(t.sets, t.time_zone, p_after);
EXCEPTION WHEN invalid_parameter_value THEN
    RETURN NULL;
END $$;

-- How many times of the schedule lie after p_due and not after p_until, at most a
-- thousand, and the last of them; p_due if there is none.
CREATE OR REPLACE FUNCTION trigger_skipped(t org_trigger, p_due timestamptz,
    p_until timestamptz, OUT count bigint, OUT last timestamptz)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    c_most constant bigint := 1000;
    v_at   timestamptz := trigger_next(t, p_due);
BEGIN
    count := 0;
    last := p_due;
    WHILE v_at <= p_until AND count < c_most LOOP
        count := count + 1;
        last := v_at;
        v_at := trigger_next(t, last);
    END LOOP;
END $$;

-- Writes when the trigger is due next, what was missed and why; its row is locked.
CREATE OR REPLACE FUNCTION trigger_go_on(t org_trigger, p_next timestamptz, p_missed bigint,
    p_error text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE org_trigger o
       SET next_at = p_next, missed = o.missed + p_missed,
           last_error = CASE WHEN p_next IS NULL THEN 'its schedule has no next time'
                             ELSE p_error END
     WHERE o.id = t.id;
    IF p_missed > 0 THEN
        -- bounded, as refusals are: a tenant may have many that fail every minute
        PERFORM audit_refused('trigger_missed', 'warning', t.tenant, t.id, jsonb_build_object(
            'name', t.name, 'due', iso(t.next_at), 'missed', p_missed, 'error', p_error));
    END IF;
END $$;

-- The execution for p_due is recorded.  Times that have passed since are missed.  p_due
-- is what the caller saw: another may have been faster.
CREATE OR REPLACE FUNCTION trigger_fired(p_id text, p_due timestamptz, p_execution text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_at timestamptz;
    t    org_trigger%ROWTYPE;
BEGIN
    SELECT * INTO t FROM org_trigger WHERE id = p_id FOR UPDATE;
    UPDATE org_trigger SET last_at = p_due, last_execution = p_execution
     WHERE id = p_id AND (next_at = p_due OR last_at IS NULL OR last_at <= p_due);
    IF t.next_at IS DISTINCT FROM p_due THEN
        RETURN;
    END IF;
    v_at := clock_timestamp();
    PERFORM trigger_go_on(t, trigger_next(t, v_at),
        (trigger_skipped(t, p_due, v_at)).count, NULL);
END $$;

-- No execution could be recorded for p_due.  p_passes: it is tried again until the next
-- time has come; p_due is missed then.
CREATE OR REPLACE FUNCTION trigger_failed(p_id text, p_due timestamptz, p_why text,
    p_passes boolean)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_at timestamptz;
    k    record;
    t    org_trigger%ROWTYPE;
    v_id text;
BEGIN
    SELECT * INTO t FROM org_trigger WHERE id = p_id AND next_at = p_due FOR UPDATE;
    IF NOT FOUND THEN
        RETURN; -- another reaper was faster
    END IF;
    SELECT e.id INTO v_id FROM execution e
     WHERE e.tenant = t.tenant AND e.task_id = trigger_task(p_id, p_due);
    IF FOUND THEN -- another reaper has recorded it, or the tenant itself
        PERFORM trigger_fired(p_id, p_due, v_id);
        RETURN;
    END IF;
    v_at := clock_timestamp();
    k := trigger_skipped(t, p_due, v_at);
    IF p_passes THEN
        PERFORM trigger_go_on(t, k.last, k.count, left(p_why, 500));
    ELSE
        PERFORM trigger_go_on(t, trigger_next(t, v_at), k.count + 1,
            left(p_why, 500));
    END IF;
END $$;
