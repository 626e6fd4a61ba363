#!/usr/bin/python3
"""causes.t: tests, on a whole service, for which causes the reaper ends a
session, and which things without a row it finds.  Time is shifted in the rows or
set short."""
import glob
import os
import shutil
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, create, execute, expect, get, job, problem,
                     reap, setting, sql, until, value)
from tap import case, equal, run, true

service.begin()

ME = os.getpid()
DATA = os.path.join(setting("STACK_STATE"), "data")
SOCKETS = os.path.join(setting("STACK_RUN"), "run", "s")


def passes(*arguments):
    """A pass of the reaper that must succeed; its summary."""
    status, text, summary = reap(*arguments)
    equal(status, 0, "exit status, with %s" % text)
    return summary


def state(sid):
    return sql("SELECT s.state, coalesce(s.reason, ''), l.state FROM session s"
               " JOIN lease l ON l.session_id = s.id WHERE s.id = :'v1'",
               sid)[0]


def storage(s):
    return os.path.join(DATA, "storage", s["sandboxId"], s["id"])


# ---- causes

@case
def a_command_that_does_nothing_is_stuck():
    sid = create()["id"]
    busy = create()["id"]
    runners = [threading.Thread(target=lambda s=s, c=c: call(
        "POST", at(s, "/api/execute"), {"command": c}))
        for s, c in ((sid, "read x </dev/tcp/127.0.0.1/9 || sleep 7201"),
                     (busy, "while :; do :; done"))]
    for r in runners:
        r.start()
    until("both are busy", lambda: get(sid)["busy"] and get(busy)["busy"])
    service.configure(stuck_seconds=1)
    try:
        sql("UPDATE lease SET ask_at = '-infinity'")
        passes()  # the first sighting
        equal((state(sid)[0], state(busy)[0]), ("ready", "ready"), "states")
        until("it is stuck", lambda: (
            sql("UPDATE lease SET ask_at = '-infinity'"), passes(),
            state(sid)[0] == "asleep")[-1])
        equal(state(sid), ["asleep", "stuck", "none"], "state")
        equal(state(busy)[0], "ready", "who uses the CPU is not")
    finally:
        service.configure(stuck_seconds=1800)
    expect(200, call("DELETE", at(busy)))
    for r in runners:
        r.join(service.PATIENCE)


@case
def output_a_stream_or_a_limit_of_its_own_is_not_stuck():
    sid, limited = create()["id"], create()["id"]
    bodies = ((sid, {"command": "while sleep 0.05; do echo; done"}),
              # wait: a limit that is never reached
              (limited, {"command": "sleep 7202", "timeoutMs": 600000}))
    runners = [threading.Thread(target=lambda s=s, b=b: call(
        "POST", at(s, "/api/execute/stream"), b)) for s, b in bodies]
    for r in runners:
        r.start()
    until("both are busy", lambda: get(sid)["busy"] and get(limited)["busy"])
    service.configure(stuck_seconds=1)
    try:
        for _ in range(3):
            sql("UPDATE lease SET ask_at = '-infinity'")
            sql("UPDATE session SET cpu_at = cpu_at - interval '1 hour'")
            equal(passes()["stuck"], 0, "stuck")
    finally:
        service.configure(stuck_seconds=1800)
    equal((state(sid)[0], state(limited)[0]), ("ready", "ready"), "states")
    for s in (sid, limited):
        expect(200, call("DELETE", at(s)))
    for r in runners:
        r.join(service.PATIENCE)


@case
def a_day_without_a_pause_is_enough_but_for_keep_alive():
    s, keep = create(), create(keepAlive=True)["id"]
    execute(s["id"], "echo kept >f")
    sql("UPDATE session SET started_at = started_at - interval '25 hours'"
        " WHERE id IN (:'v1', :'v2')", s["id"], keep)
    summary = passes()
    equal(summary["old"], 1, "old")
    equal(sql("SELECT scanned, stopped, orphans, stuck, old, failures,"
              " duration_ms >= 0 AND started_at < clock_timestamp()"
              " FROM reaper_run ORDER BY id DESC LIMIT 1"),
          [[str(summary[n]) for n in ("scanned", "stopped", "orphans",
                                      "stuck", "old", "failures")] + ["t"]],
          "so it is on record")
    equal(state(s["id"]), ["asleep", "too-old", "none"], "state")
    equal(state(keep)[0], "ready", "keepAlive")
    equal(execute(s["id"], "cat f"), "kept\n", "files, and it wakes")
    equal(passes()["old"], 0, "a pause is a pause")


@case
def a_session_that_initializes_for_ten_minutes_is_an_orphan():
    s = create(isolation="session")
    job(s["id"], "8201.%d" % ME)
    with service.starts_left_alone():
        sql("UPDATE session SET state = 'initializing' WHERE id = :'v1'", s["id"])
        equal(passes()["orphans"], 0, "not yet")
        sql("UPDATE session SET initializing_since = initializing_since"
            " - interval '11 minutes' WHERE id = :'v1'", s["id"])
        equal(passes()["orphans"], 1, "orphans")
    equal(state(s["id"])[::2], ["failed", "none"], "state")
    equal(service.running("8201.%d" % ME), [], "nothing runs")


@case
def a_failed_session_loses_its_files_after_a_day_and_its_row_after_90():
    s = create()
    execute(s["id"], "echo kept >f")
    sql("SELECT session_request_stop(:'v1', 'fail',"
        " '{\"reason\": \"startup-failed\"}')", s["id"])
    passes()
    equal(state(s["id"])[::2], ["failed", "none"], "state")
    true(os.path.exists(storage(s)), "its files are there")
    sql("UPDATE session SET ended_at = ended_at - interval '25 hours'"
        " WHERE id = :'v1'", s["id"])
    passes()
    true(not os.path.exists(storage(s)), "its files are gone")
    problem(call("POST", at(s["id"], "/resume")), 409, "session_lost")
    equal(get(s["id"])["state"], "failed", "the row stays")
    sql("UPDATE session SET ended_at = ended_at - interval '90 days'"
        " WHERE id = :'v1'", s["id"])
    passes()
    problem(call("GET", at(s["id"])), 404, "session_not_found")


@case
def a_wrapper_that_was_killed_leaves_its_session_asleep():
    s = create()
    execute(s["id"], "echo kept >f")
    pid, = job(s["id"], "8202.%d" % ME)
    while not service.stat(pid)[0].startswith("sandlease-cell"):
        pid = service.stat(pid)[2]
    os.kill(pid, signal.SIGKILL)
    # init lists the cell until it has reaped the cell's first process
    until("it is gone", lambda: service.stat(pid) is None)
    sql("UPDATE lease SET changed_at = changed_at - interval '1 minute'")
    equal(passes()["sandboxGone"], 1, "sandboxGone")
    equal(state(s["id"]), ["asleep", "wrapper_gone", "none"], "state")
    equal(glob.glob(os.path.join(SOCKETS, s["id"] + "*")), [], "sockets")
    equal(execute(s["id"], "cat f"), "kept\n", "files")


# ---- things

@case
def sockets_of_generations_that_are_over_go():
    s = create()
    living = glob.glob(os.path.join(SOCKETS, s["id"] + ".1.sock"))
    equal(len(living), 1, "its socket")
    left = [os.path.join(SOCKETS, s["id"] + rest) for rest in (
        ".0.sock", ".0.ws.sock", ".0.8080.sock")]
    stranger = os.path.join(SOCKETS, "strangerstrangerstra.1.sock")
    other = os.path.join(SOCKETS, "not-one-of-ours")
    for path in left + [stranger, other]:
        with open(path, "w", encoding="utf-8"):
            pass
    passes()
    equal([p for p in left if os.path.exists(p)], [], "leftovers")
    true(os.path.exists(stranger), "what no row knows must ripen")
    sql("UPDATE sighting SET first_at = first_at - interval '6 minutes'")
    passes()
    true(not os.path.exists(stranger), "seen twice over five minutes")
    true(os.path.exists(other) and os.path.exists(living[0]), "others")
    equal(execute(s["id"], "echo fine"), "fine\n", "it serves")
    os.unlink(other)


@case
def directories_without_a_row_go_to_the_trash():
    s = create()
    user = os.stat(storage(s))
    paths = [os.path.join(os.path.dirname(storage(s)), name) for name in (
        "strangerstrangerstra", "not-a-session")]
    for path in paths:
        os.makedirs(os.path.join(path, "workspace"))
        for d in (path, os.path.join(path, "workspace")):
            os.chown(d, user.st_uid, user.st_gid)
    passes()
    equal([os.path.exists(p) for p in paths], [True, True], "one sighting")
    sql("UPDATE sighting SET first_at = first_at - interval '6 minutes'")
    passes()
    equal([os.path.exists(p) for p in paths], [False, True], "two")
    true(os.path.exists(storage(s)), "the others")
    shutil.rmtree(paths[1])
    # the directory of a session that is deleted needs no second sighting
    expect(200, call("DELETE", at(s["id"])))
    os.makedirs(storage(s))
    for d in (os.path.dirname(storage(s)), storage(s)):
        os.chown(d, user.st_uid, user.st_gid)
    passes()
    true(not os.path.exists(storage(s)), "a deleted session has none")


# ---- sharing, dying, hanging

def start_reaper():
    return subprocess.Popen(
        [service.program("sandlease-reaper"), "--config",
         setting("SANDLEASE_CONFIG")], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, cwd="/")


@case
def a_reaper_that_was_killed_is_followed_by_one_that_goes_on():
    service.configure(reaper_batch=2)
    ids = [create(isolation="session" if i % 2 else "shared")["id"]
           for i in range(8)]
    sql("UPDATE session SET expires_at = clock_timestamp() WHERE id IN"
        " ('%s')" % "','".join(ids))
    rounds = 0
    while any(state(sid)[0] != "deleted" for sid in ids):
        rounds += 1
        true(rounds < 60, "in time: %r" % [state(sid) for sid in ids])
        one = start_reaper()
        until("it is at work, or done", lambda one=one, n=len(
            sql("SELECT id FROM event")): one.poll() is not None
              or len(sql("SELECT id FROM event")) > n)
        if rounds < 12 and one.poll() is None:
            one.kill()
        one.communicate()
        # the killed reaper's stops and destroys would wait for their deadline
        sql("UPDATE lease SET attempt_deadline = clock_timestamp(),"
            " next_attempt_at = clock_timestamp()"
            " WHERE state IN ('stopping', 'stop_needed');"
            "UPDATE sandbox SET deadline = clock_timestamp()"
            " WHERE state = 'destroying'")
    service.configure(reaper_batch=50)
    passes()
    for sid in ids:
        equal(glob.glob(os.path.join(SOCKETS, sid + "*")), [], "sockets")
        equal(glob.glob(os.path.join(DATA, "storage", "*", sid)), [], "files")


@case
def two_reapers_share_the_work():
    service.configure(reaper_batch=3)
    ids = [create()["id"] for _ in range(18)]
    sql("UPDATE session SET expires_at = clock_timestamp() WHERE id IN"
        " ('%s')" % "','".join(ids))
    both = [start_reaper(), start_reaper()]
    said = [one.communicate(timeout=service.PATIENCE) for one in both]
    service.configure(reaper_batch=50)
    equal([one.returncode for one in both], [0, 0], "status, with %r" % said)
    passes()
    equal({state(sid)[0] for sid in ids}, {"deleted"}, "states")
    equal(sql("SELECT session_id FROM event WHERE what = 'stop_absent'"
              " AND session_id IN ('%s') GROUP BY 1 HAVING count(*) <> 1"
              % "','".join(ids)), [], "each was stopped once")


@case
def a_sandbox_that_hangs_costs_the_others_nothing():
    service.configure(discovery_seconds=3)  # leaves time for the other session
    bad, good = create(isolation="session"), create()["id"]
    init = service.init_of(job(bad["id"], "8203.%d" % ME)[0])
    sql("SELECT session_request_stop(id, 'sleep',"
        " '{\"reason\": \"user-interrupt\"}') FROM session WHERE id IN"
        " (:'v1', :'v2')", bad["id"], good)
    os.kill(init, signal.SIGSTOP)
    try:
        status, _, summary = reap()
        equal((status, summary["stopped"]), (1, 1), "told, and the other one")
        equal(state(good)[0], "asleep", "the other")
        equal(state(bad["id"])[::2], ["sleeping", "stop_needed"], "it")
        true(service.running("8203.%d" % ME), "nothing was killed")
    finally:
        os.kill(init, signal.SIGCONT)
        service.configure(discovery_seconds=10)
    sql("UPDATE lease SET next_attempt_at = clock_timestamp()"
        " WHERE state = 'stop_needed'")
    passes()
    equal(state(bad["id"])[::2], ["asleep", "none"], "once it answers")


@case
def a_wrapper_of_a_lease_that_is_none_is_stopped_unless_a_life_has_begun():
    create()  # so that the sandbox is in use
    sid = create()["id"]
    instance = value("SELECT instance FROM lease WHERE session_id = :'v1'", sid)
    job(sid, "8205.%d" % ME)
    leaked = ("UPDATE session SET state = 'asleep' WHERE id = '%s';"
              "SELECT lease_apply(session_id, 'owned_absent', jsonb_build_object("
              "'instance', instance, 'generation', generation))"
              " FROM lease WHERE session_id = '%s'" % (sid, sid))
    sql(leaked)
    # a resume that is not committed when the rows are compared
    with service.Held(
            "SELECT session_apply('%s', 'start', '{}');"
            "SELECT session_apply('%s', 'verified', '{}');"
            "SELECT lease_apply('%s', 'allocate', jsonb_build_object("
            "'instance', '%s', 'seconds', 600))"
            % (sid, sid, sid, instance)) as resume:
        one = start_reaper()
        until("it is done, or waits for the row", lambda: one.poll() is not None
              or sql("SELECT pid FROM pg_locks WHERE NOT granted"))
        resume.psql.stdin.write("COMMIT;\n")
    one.communicate(timeout=service.PATIENCE)
    equal(state(sid), ["ready", "", "owns_wrapper"], "who was resumed")
    sql(leaked)
    equal(passes()["leaked"], 1, "leaked")
    equal(state(sid)[::2], ["asleep", "stop_needed"], "it is to be stopped")
    passes()
    equal(state(sid)[::2], ["asleep", "none"], "the next pass did")
    equal(service.running("8205.%d" % ME), [], "nothing runs")


@case
def a_lease_without_metadata_is_shown_and_released_by_proof():
    s = create()
    job(s["id"], "8204.%d" % ME)
    sql("DELETE FROM session WHERE id = :'v1'", s["id"])
    passes()
    equal(value("SELECT state FROM lease WHERE session_id = :'v1'", s["id"]),
          "owns_wrapper", "kept")
    true(service.running("8204.%d" % ME), "nothing was touched")
    shown = service.admin("lease", "list", "--without-session")
    true(s["id"] in shown and "SESSION-ROW" in shown and " no " in shown,
         "listed: %s" % shown)
    key = service.new_key("ops", "u", "--scope", "admin")
    health = call("GET", "/v1/health", key=key).json
    equal((health["leasesWithoutMetadata"], health["status"],
           "leases_without_metadata" in health["reasons"]),
          (1, "degraded", True), "health tells an admin")
    true("leasesWithoutMetadata" not in call(
        "GET", "/v1/health", key=service.new_key("t", "u")).json,
         "and nobody else")
    sql("UPDATE lease SET changed_at = changed_at - interval '11 minutes'"
        " WHERE session_id = :'v1'", s["id"])
    equal(passes()["orphans"], 1, "orphans")
    equal(value("SELECT state FROM lease WHERE session_id = :'v1'", s["id"]),
          "none", "released by a look that found nothing")
    equal(service.running("8204.%d" % ME), [], "nothing runs")
    equal(call("GET", "/v1/health", key=key).json["leasesWithoutMetadata"], 0,
          "health")


@case
def only_force_releases_what_nobody_can_look_at():
    s = create(isolation="session")
    sql("UPDATE sandbox SET host = 'gone-for-good' WHERE id = :'v1'",
        s["sandboxId"])
    sql("SELECT session_request_stop(:'v1', 'delete',"
        " '{\"reason\": \"session-delete\"}')", s["id"])
    passes()
    equal(state(s["id"])[::2], ["deleting", "stop_needed"], "kept")
    done = service.run("sandlease-admin", "lease", "release", s["id"])
    equal(done.returncode, 2, "without --force")
    true(b"--force" in done.stderr, "words: %r" % done.stderr)
    for bad, status in (("nonsense", 2), ("a" * 20, 1)):
        equal(service.run("sandlease-admin", "lease", "release", "--force",
                          bad).returncode, status, bad)
    forced = ("SELECT severity, subject, detail->>'was' FROM audit"
              " WHERE kind = 'lease_force_release'")
    equal(sql(forced), [], "no line yet")
    said = service.admin("lease", "release", "--force", s["id"])
    true("stop_needed" in said, "it tells: %s" % said)
    equal(state(s["id"])[2], "none", "released")
    equal(sql(forced), [["critical", s["id"], "stop_needed"]],
          "the audit log has it")
    sql("UPDATE sandbox SET host = :'v2' WHERE id = :'v1'", s["sandboxId"],
        value("SELECT host FROM reaper_run ORDER BY id DESC LIMIT 1"))
    passes()
    equal(state(s["id"])[0], "deleted", "and the rest is finished")


@case
def force_releases_a_lease_without_metadata_and_the_audit_log_has_it():
    s = create(isolation="session")
    sql("DELETE FROM session WHERE id = :'v1'", s["id"])
    sql("UPDATE sandbox SET host = 'gone-for-good' WHERE id = :'v1'",
        s["sandboxId"])
    sql("UPDATE lease SET changed_at = changed_at - interval '11 minutes'"
        " WHERE session_id = :'v1'", s["id"])
    for _ in range(2):
        passes()
        equal(value("SELECT state FROM lease WHERE session_id = :'v1'",
                    s["id"]), "stop_needed", "nobody can look at it: kept")
    service.admin("lease", "release", "--force", s["id"])
    equal(value("SELECT state FROM lease WHERE session_id = :'v1'", s["id"]),
          "none", "released")
    equal(sql("SELECT severity, detail->>'was' FROM audit WHERE kind ="
              " 'lease_force_release' AND subject = :'v1'", s["id"]),
          [["critical", "stop_needed"]], "the audit log has it")
    service.admin("lease", "release", "--force", s["id"])
    equal(value("SELECT count(*) FROM audit WHERE subject = :'v1'", s["id"]),
          "1", "what was none is not released again")
    sql("UPDATE sandbox SET host = :'v2' WHERE id = :'v1'", s["sandboxId"],
        value("SELECT host FROM reaper_run ORDER BY id DESC LIMIT 1"))


@case
def a_stop_that_failed_five_times_is_told_by_passes_and_health():
    service.configure(discovery_seconds=1)
    key = service.new_key("ops", "w", "--scope", "admin")
    s = create(isolation="session")
    init = service.init_of(job(s["id"], "8205.%d" % ME)[0])
    sql("SELECT session_request_stop(:'v1', 'sleep',"
        " '{\"reason\": \"user-interrupt\"}')", s["id"])
    os.kill(init, signal.SIGSTOP)
    try:
        for attempts in (4, 5):
            sql("UPDATE lease SET attempts = :'v2'::int - 1, next_attempt_at ="
                " clock_timestamp() WHERE session_id = :'v1'", s["id"],
                attempts)
            said = [l for l in service.run("sandlease-reaper").stderr.decode()
                    .splitlines() if "stop_fails" in l]
            equal(value("SELECT attempts FROM lease WHERE session_id = :'v1'",
                        s["id"]), str(attempts), "attempts")
            equal(len(said), attempts - 4, "log: %r" % said)
            health = call("GET", "/v1/health", key=key).json
            equal((health["failingStops"],
                   "failing_stops" in health["reasons"]),
                  (attempts - 4, attempts == 5), "health")
        for word in (s["id"], "user-interrupt", "5 attempts"):
            true(word in said[0], "%s: %s" % (word, said[0]))
    finally:
        os.kill(init, signal.SIGCONT)
        service.configure(discovery_seconds=10)
    sql("UPDATE lease SET next_attempt_at = clock_timestamp()"
        " WHERE state = 'stop_needed'")
    passes()
    equal(state(s["id"])[::2], ["asleep", "none"], "once it answers")


# ---- the reaper's report

@case
def every_pass_is_on_record():
    key = service.new_key("ops", "v", "--scope", "admin")
    passes()
    first = expect(200, call("GET", "/v1/reaper/runs?limit=1", key=key)).json
    equal(len(first["runs"]), 1, "a page of one")
    for field in ("id", "host", "startedAt", "durationMs", "scanned",
                  "stopped", "orphans", "stuck", "old", "failures"):
        true(field in first["runs"][0], "%s: %r" % (field, first))
    second = expect(200, call(
        "GET", "/v1/reaper/runs?limit=1&cursor=" + first["nextCursor"],
        key=key)).json
    true(second["runs"][0]["id"] < first["runs"][0]["id"], "newest first")
    everything = expect(200, call("GET", "/v1/reaper/runs?limit=200",
                                  key=key)).json
    equal(everything["nextCursor"], None, "the last page")
    equal(len(everything["runs"]), int(value("SELECT count(*) FROM"
                                             " reaper_run")), "all")
    for bad in ("limit=0", "limit=x", "cursor=x", "cursor=-1"):
        problem(call("GET", "/v1/reaper/runs?" + bad, key=key), 400,
                "validation_failed")
    problem(call("GET", "/v1/reaper/runs", key=service.new_key("t", "v")),
            403, "forbidden")


# ---- the history of all these sessions

@case
def every_transition_of_all_these_sessions_was_told():
    equal(service.untold(), [], "changes without an event, or without its who,"
          " trace and duration")


sys.exit(run(lambda: None))
