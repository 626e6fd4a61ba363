#!/usr/bin/python3
"""pass.t: tests one pass of the reaper over everything that is due.  Time is
shifted in the rows, never waited for."""
import glob
import json
import os
import re
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, create, execute, expect, get, job, problem,
                     reap, setting, sql, stack, until, value)
from tap import case, equal, run, true

service.begin()

ME = os.getpid()
DATA = os.path.join(setting("STACK_STATE"), "data")


def passes(*arguments):
    """A pass of the reaper that must succeed; its summary."""
    status, text, summary = reap(*arguments)
    equal(status, 0, "exit status, with %s" % text)
    return summary


def storage(s):
    return os.path.join(DATA, "storage", s["sandboxId"], s["id"])


def shift(sid, column, interval="1 hour"):
    sql("UPDATE lease SET %s = clock_timestamp() - interval '%s'"
        " WHERE session_id = :'v1'" % (column, interval), sid)


def state(sid):
    return sql("SELECT s.state, coalesce(s.reason, ''), l.state FROM session s"
               " JOIN lease l ON l.session_id = s.id WHERE s.id = :'v1'",
               sid)[0]


def world():
    """All rows but the reaper's own."""
    return {table: sql("SELECT t::text FROM %s t ORDER BY 1" % table)
            for table in ("session", "lease", "sandbox", "port", "event",
                          "sighting", "idempotency", "reaper_run")}


# ---- the reaper's output

@case
def a_pass_with_nothing_to_do_says_so():
    status, text, summary = reap()
    equal((status, text.count("\n")), (0, 1), "one line: %r" % text)
    true(re.match(r"20\d\d-\d\d-\d\dT[\d:.]+Z info reaper: {.*} in \d+ ms\n$", text), text)
    equal({k: v for k, v in summary.items() if k != "scanned" and v}, {},
          "nothing was done")
    equal(json.loads(value("SELECT summary FROM reaper_run ORDER BY id DESC"
                           " LIMIT 1")), summary, "it is on record")
    true(call("GET", "/v1/health").json["lastReaperPass"], "health tells")


@case
def bad_usage_and_a_missing_database_are_failures():
    done = service.run("sandlease-reaper", "--fly")
    equal(done.returncode, 1, "bad usage")
    true(b"usage" in done.stderr, "words")
    stack("pg_stop")
    done = service.run("sandlease-reaper")
    stack("pg_start")
    equal((done.returncode, done.stdout), (1, b""), "no database")
    true(b"database" in done.stderr, "words: %r" % done.stderr)
    until("the service is back",
          lambda: call("GET", "/v1/health").status == 200)


# ---- sessions

@case
def a_start_past_its_deadline_has_failed():
    s = create(isolation="session")
    job(s["id"], "8101.%d" % ME)
    with service.starts_left_alone():
        sql("UPDATE session SET state = 'initializing' WHERE id = :'v1'", s["id"])
        shift(s["id"], "keep_warm_until = NULL, startup_deadline")
        equal(passes()["failedStarts"], 1, "failedStarts")
    got = state(s["id"])
    equal((got[0], got[2]), ("failed", "none"), "state")
    true(got[1], "it says why")
    equal(service.running("8101.%d" % ME), [], "nothing runs")
    r = expect(200, call("POST", at(s["id"], "/resume"))).json
    equal(r["state"], "ready", "it can be resumed")


@case
def an_idle_session_sleeps():
    s = create()
    keep = create(keepAlive=True)["id"]
    busy = create()["id"]
    job(s["id"], "8102.%d" % ME)  # a background job does not count as work
    shift(s["id"], "keep_warm_until")
    summary = passes()
    equal(summary["slept"], 1, "slept")
    equal(state(s["id"]), ["asleep", "idle-timeout", "none"], "state")
    equal(service.running("8102.%d" % ME), [], "nothing runs")
    equal((state(keep)[0], state(busy)[0]), ("ready", "ready"), "the others")


@case
def an_idle_session_does_not_sleep_while_a_command_runs():
    sid = create()["id"]
    runner = threading.Thread(target=lambda: call(
        "POST", at(sid, "/api/execute"),
        {"command": "until [ -e /workspace/go ]; do sleep 0.05; done"}))
    runner.start()
    until("it is busy", lambda: get(sid)["busy"])
    equal(get(sid)["alive"]["because"], ["recent_activity", "busy"], "because")
    shift(sid, "keep_warm_until")
    equal(passes()["slept"], 0, "slept")
    equal(state(sid)[0], "ready", "state")
    true(value("SELECT keep_warm_until > clock_timestamp() FROM lease"
               " WHERE session_id = :'v1'", sid) == "t", "it is kept warm")
    execute(sid, "touch /workspace/go", sessionId="other")
    runner.join(service.PATIENCE)
    until("nothing is busy", lambda: not get(sid)["busy"])
    shift(sid, "keep_warm_until")
    equal(passes()["slept"], 1, "slept afterwards")


@case
def an_expired_session_is_deleted_whatever_happens():
    s = create(keepAlive=True, expiresAt="2099-01-01T00:00:00Z")
    sql("UPDATE session SET expires_at = clock_timestamp() WHERE id = :'v1'",
        s["id"])
    equal(passes()["deleted"], 1, "deleted")
    equal(state(s["id"])[0], "deleted", "state")
    true(not os.path.exists(storage(s)), "files")


@case
def a_deletion_is_finished_when_the_workers_died():
    for isolation in ("shared", "session"):
        s = create(isolation=isolation)
        job(s["id"], "8103.%d" % ME)
        # the first step of a worker, which then died
        sql("SELECT session_request_stop(:'v1', 'delete',"
            " '{\"reason\": \"session-delete\"}')", s["id"])
        stack("api_stop")
        passes()
        equal(state(s["id"])[0], "deleted", "state")
        equal(service.running("8103.%d" % ME), [], "nothing runs")
        true(not os.path.exists(storage(s)), "files")
        stack("api_start")


@case
def a_deletion_whose_attempt_hangs_is_tried_again_after_its_watchdog():
    s = create()
    job(s["id"], "8104.%d" % ME)
    sql("SELECT session_request_stop(:'v1', 'delete',"
        " '{\"reason\": \"session-delete\"}')", s["id"])
    sql("SELECT * FROM session_stop_begin(:'v1',"
        " '{\"attempt\": \"aaaaaaaaaaaaaaaa\", \"seconds\": 45}')", s["id"])
    passes()
    equal(state(s["id"]), ["deleting", "session-delete", "stopping"],
          "inside its watchdog it is left alone")
    true(service.running("8104.%d" % ME), "nothing was killed")
    shift(s["id"], "attempt_deadline")
    passes()
    equal(state(s["id"])[2], "stop_needed", "expired, with backoff")
    shift(s["id"], "next_attempt_at")
    passes()
    equal(state(s["id"])[0], "deleted", "state")
    equal(service.running("8104.%d" % ME), [], "nothing runs")


@case
def what_is_stopped_late_in_a_pass_is_deleted_by_the_same():
    """The first session takes six seconds to stop, more than the share of stops
    (a fifth); the second is stopped when all parts have had their share."""
    service.configure(reaper_pass_seconds=20, reaper_batch=1,
                      stop_looks_ms=6000)
    ids = []
    for before in ("trap '' TERM; ", ""):
        sid = create()["id"]
        job(sid, "8105.%d" % ME, before=before, count=len(ids) + 1)
        sql("SELECT session_request_stop(:'v1', 'delete',"
            " '{\"reason\": \"session-delete\"}')", sid)
        ids.append(sid)
    try:
        passes()
    finally:
        service.configure(reaper_pass_seconds=50, reaper_batch=50,
                          stop_looks_ms="100,500,1000")
    equal([state(sid)[0] for sid in ids], ["deleted"] * 2, "states")


@case
def a_sleeper_whose_worker_died_last_is_settled():
    sid = create()["id"]
    expect(200, call("POST", at(sid, "/sleep")))
    sql("UPDATE session SET state = 'sleeping' WHERE id = :'v1'", sid)
    passes()
    equal(state(sid)[0], "asleep", "state")


# ---- sandboxes

def forget(s):
    """No row knows the sandbox any more."""
    sql("DELETE FROM lease WHERE session_id = :'v1'", s["id"])
    sql("DELETE FROM session WHERE id = :'v1'", s["id"])
    sql("DELETE FROM sandbox WHERE id = :'v1'", s["sandboxId"])


def old_sighting():
    sql("UPDATE sighting SET first_at = first_at - interval '6 minutes'")


@case
def a_sandbox_without_a_row_is_destroyed_after_two_sightings_and_5_minutes():
    s = create(isolation="session")
    job(s["id"], "8105.%d" % ME)
    forget(s)
    equal(passes()["orphans"], 1, "first sighting")
    passes()
    true(service.running("8105.%d" % ME), "twice, but within five minutes")
    old_sighting()
    passes()
    equal(service.running("8105.%d" % ME), [], "nothing runs")
    true(not os.path.exists(os.path.dirname(storage(s))), "files")
    equal(sql("SELECT * FROM sighting"), [], "and it is forgotten")
    equal(passes()["orphans"], 0, "no more sightings")


@case
def one_sighting_is_not_enough_however_old():
    s = create(isolation="session")
    job(s["id"], "8106.%d" % ME)
    keep = [sql("SELECT row_to_json(t) FROM %s t WHERE %s = :'v1'" % (
        table, column), key)[0][0] for table, column, key in (
            ("sandbox", "id", s["sandboxId"]), ("session", "id", s["id"]),
            ("lease", "session_id", s["id"]))]
    forget(s)
    passes()
    old_sighting()
    for table, row in zip(("sandbox", "session", "lease"), keep):
        sql("INSERT INTO %s SELECT * FROM json_populate_record(NULL::%s,"
            " :'v1'::json)" % (table, table), row)
    passes()
    true(service.running("8106.%d" % ME), "a row came back: it is ours")
    equal(execute(s["id"], "echo fine"), "fine\n", "and works")
    forget(s)
    old_sighting()
    passes()
    true(service.running("8106.%d" % ME), "the old sighting counts no more")
    passes()
    old_sighting()
    passes()
    equal(service.running("8106.%d" % ME), [], "two new ones do")


@case
def another_installations_sandbox_is_never_touched():
    s = create(isolation="session")
    job(s["id"], "8107.%d" % ME)
    label = os.path.join(DATA, "box", s["sandboxId"], "label")
    with open(label, encoding="utf-8") as f:
        ours = f.read()
    theirs = ours.replace(value("SELECT id FROM installation"),
                          "00000000-0000-4000-8000-000000000000")
    true(ours != theirs, "the label names the installation")
    with open(label, "w", encoding="utf-8") as f:
        f.write(theirs)
    forget(s)
    for _ in range(3):
        equal(passes()["orphans"], 0, "orphans")
        old_sighting()
    true(service.running("8107.%d" % ME), "it runs")
    true(os.path.exists(storage(s)), "its files are there")
    with open(label, "w", encoding="utf-8") as f:
        f.write(ours)
    passes()
    old_sighting()
    passes()
    equal(service.running("8107.%d" % ME), [], "with our label it is ours")


@case
def a_session_whose_sandbox_vanished_is_asleep_with_its_files():
    s = create(isolation="session")
    execute(s["id"], "echo kept >f")
    service.end_sandbox(job(s["id"], "8108.%d" % ME)[0])
    equal(passes()["sandboxGone"], 1, "sandboxGone")
    equal(state(s["id"]), ["asleep", "sandbox_gone", "none"], "state")
    equal(execute(s["id"], "cat f"), "kept\n", "files")


@case
def all_sessions_of_a_shared_sandbox_that_vanished_are_asleep():
    key = service.new_key("vanish", "u")
    ids = [create(key)["id"] for _ in range(3)]
    expect(200, call("POST", at(ids[2], "/sleep"), key=key))
    service.end_sandbox(job(ids[0], "8109.%d" % ME, key)[0])
    passes()
    for sid in ids[:2]:
        equal(state(sid), ["asleep", "sandbox_gone", "none"], "state")
    equal(state(ids[2])[0], "asleep", "who slept sleeps on")


@case
def after_a_reboot_sessions_are_asleep_not_lost():
    s = create(isolation="session")
    execute(s["id"], "echo kept >f")
    service.end_sandbox(job(s["id"], "8110.%d" % ME)[0])
    sql("UPDATE sandbox SET boot_id = '00000000-0000-4000-8000-000000000000'"
        " WHERE id = :'v1'", s["sandboxId"])
    passes()
    equal(state(s["id"]), ["asleep", "sandbox_gone", "none"], "state")
    equal(execute(s["id"], "cat f"), "kept\n", "files")


@case
def another_hosts_sandbox_is_left_alone():
    s = create(isolation="session")
    job(s["id"], "8111.%d" % ME)
    ours = value("SELECT host FROM sandbox WHERE id = :'v1'", s["sandboxId"])
    sql("UPDATE sandbox SET host = 'elsewhere' WHERE id = :'v1'",
        s["sandboxId"])
    passes()
    equal(state(s["id"]), ["ready", "", "owns_wrapper"], "state")
    true(service.running("8111.%d" % ME), "it runs")
    sql("UPDATE sandbox SET host = :'v2' WHERE id = :'v1'", s["sandboxId"],
        ours)
    equal(execute(s["id"], "echo fine"), "fine\n", "and works")


@case
def an_empty_shared_sandbox_is_stopped_after_ten_minutes():
    key = service.new_key("empty", "u")
    s = create(key)
    pids = set(service.sandbox_pids())
    expect(200, call("POST", at(s["id"], "/sleep"), key=key))
    passes()
    equal(set(service.sandbox_pids()), pids, "not at once")
    sql("UPDATE sandbox SET idle_since = idle_since - interval '11 minutes'"
        " WHERE id = :'v1'", s["sandboxId"])
    true(passes()["retired"] >= 1, "retired")
    true(len(service.sandbox_pids()) < len(pids), "its processes are gone")
    equal(value("SELECT state FROM sandbox WHERE id = :'v1'", s["sandboxId"]),
          "stopped", "state")
    execute(s["id"], "echo works", key=key)


# ---- the rest

@case
def a_dry_run_changes_nothing():
    idle, doomed, late = (create()["id"] for _ in range(3))
    shift(idle, "keep_warm_until")
    sql("UPDATE session SET expires_at = clock_timestamp() WHERE id = :'v1'",
        late)
    sql("SELECT session_request_stop(:'v1', 'delete',"
        " '{\"reason\": \"session-delete\"}')", doomed)
    orphan = create(isolation="session")
    forget(orphan)
    expect(201, call("POST", at(create()["id"], "/ports"), {"port": 8080}))
    sql("UPDATE port SET expires_at = clock_timestamp()")
    before, pids = world(), service.sandbox_pids()
    trash = os.listdir(os.path.join(DATA, "trash"))
    status, text, _ = reap("--dry-run")
    equal(status, 0, "exit status")
    for name in (idle, doomed, late, orphan["sandboxId"]):
        true(name in text, "it tells of %s: %s" % (name, text))
    equal(world(), before, "rows")
    equal(service.sandbox_pids(), pids, "processes")
    equal(os.listdir(os.path.join(DATA, "trash")), trash, "trash")
    passes()
    equal([state(sid)[0] for sid in (idle, doomed, late)],
          ["asleep", "deleted", "deleted"], "a real pass does it")
    equal(sql("SELECT * FROM port WHERE expires_at IS NOT NULL"), [],
          "expired ports are gone")


@case
def several_at_once_do_everything_once():
    ids = [create()["id"] for _ in range(6)]
    gone = [create(isolation="session")["id"] for _ in range(3)]
    for sid in ids:
        shift(sid, "keep_warm_until")
    for sid in gone:
        sql("SELECT session_request_stop(:'v1', 'delete',"
            " '{\"reason\": \"session-delete\"}')", sid)
    many = [subprocess.Popen(
        [service.program("sandlease-reaper"), "--config",
         setting("SANDLEASE_CONFIG")], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, cwd="/") for _ in range(4)]
    for one in many:
        _, said = one.communicate(timeout=service.PATIENCE)
        equal(one.returncode, 0, "exit status, with %s" % said)
    passes()
    for sid in ids:
        equal(state(sid)[0], "asleep", "state")
    for sid in gone:
        equal(state(sid)[0], "deleted", "state")
    equal(sql("SELECT session_id FROM event WHERE what = 'stop_absent'"
              " AND session_id IN ('%s') GROUP BY 1 HAVING count(*) <> 1"
              % "','".join(ids + gone)), [], "each was stopped once")


@case
def a_pass_that_meets_trouble_does_the_rest_and_says_so():
    bad, *others = sorted((create(isolation="session") for _ in range(3)),
                          key=lambda s: s["id"])  # the order of deletions
    doomed, good = [s["id"] for s in others], create()["id"]
    expect(200, call("POST", at(bad["id"], "/sleep")))
    sql("INSERT INTO sandbox (id, tenant, class) VALUES"
        " ('not-an-id', 'demo', 'shared')")
    sql("UPDATE session SET sandbox_id = 'not-an-id', state = 'deleting'"
        " WHERE id = :'v1'", bad["id"])
    shift(good, "keep_warm_until")
    for sid in doomed:
        sql("SELECT session_request_stop(:'v1', 'delete',"
            " '{\"reason\": \"session-delete\"}')", sid)
    service.configure(reaper_batch=1)
    status, _, summary = reap()
    service.configure(reaper_batch=50)
    equal(status, 1, "exit status")
    equal({state(sid)[0] for sid in doomed}, {"deleted"},
          "what cannot be deleted holds up nobody")
    true(summary["failures"] >= 1, "failures: %r" % summary)
    equal(state(good)[0], "asleep", "the others")
    equal(state(bad["id"])[0], "deleting", "nothing is pretended")
    sql("UPDATE session SET sandbox_id = :'v2' WHERE id = :'v1'", bad["id"],
        bad["sandboxId"])
    sql("DELETE FROM sandbox WHERE id = 'not-an-id'")
    passes()
    equal(state(bad["id"])[0], "deleted", "deleted once it can be")


@case
def trash_is_emptied():
    s = create()
    execute(s["id"], "mkdir -p a/b/c; touch a/b/c/d; ln -s / a/root;"
                     " mkfifo a/pipe; chmod 000 a/b; touch -- '-rf' '\n'")
    expect(200, call("DELETE", at(s["id"])))
    passes()
    equal(os.listdir(os.path.join(DATA, "trash")), [], "trash")
    true(os.path.exists("/usr/bin/env"), "links were not followed")


@case
def rows_end_after_their_retention():
    sid = create()["id"]
    expect(200, call("DELETE", at(sid)))
    sql("UPDATE session SET ended_at = ended_at - interval '89 days'"
        " WHERE id = :'v1'", sid)
    passes()
    equal(get(sid)["state"], "deleted", "before")
    # a wrapper of the session was seen since, and its clean-up is not over
    sql("SELECT lease_apply(:'v1', 'request_stop',"
        " '{\"reason\": \"unexpected-wrapper\"}')", sid)
    sql("UPDATE lease SET next_attempt_at = clock_timestamp() + interval '1 year'"
        " WHERE session_id = :'v1'", sid)
    sql("UPDATE session SET ended_at = ended_at - interval '2 days'"
        " WHERE id = :'v1'", sid)
    passes()
    equal(get(sid)["state"], "deleted", "an open clean-up postpones it")
    sql("UPDATE lease SET next_attempt_at = clock_timestamp() WHERE"
        " session_id = :'v1'", sid)
    passes()
    problem(call("GET", at(sid)), 404, "session_not_found")
    equal(sql("SELECT * FROM lease WHERE session_id = :'v1'", sid), [],
          "its lease too")


@case
def a_lease_without_its_session_is_kept():
    sid = create()["id"]
    sql("DELETE FROM session WHERE id = :'v1'", sid)
    reap()
    equal(value("SELECT count(*) FROM lease WHERE session_id = :'v1'", sid),
          "1", "never erased")
    true(glob.glob(os.path.join(setting("STACK_RUN"), "run/s", sid + "*")),
         "nothing was touched")


sys.exit(run(lambda: None))
