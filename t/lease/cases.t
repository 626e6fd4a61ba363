#!/usr/bin/python3
"""cases.t: tests the rare cases of the lease's contract, each under its own
sentence.

t/lint/cases.t has the list; the cases that need a provider that fails on demand
are in t/control.
"""
import glob
import os
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from paused import Paused
from service import (at, call, create, execute, expect, get, in_background,
                     job, problem, setting, sql, stack, until, value)
from tap import case, equal, run, true

# a short deadline, so that an agent that does not answer costs less than ten
# seconds
service.begin("discovery_seconds = 3")

ME = os.getpid()


def mark(n):
    """A number of seconds that no other test's job sleeps."""
    return "%d.%d" % (n, ME)


def lease(sid):
    return sql("SELECT state, attempts, coalesce(attempt_id, '') FROM lease"
               " WHERE session_id = :'v1'", sid)[0]


def make_due(sid):
    sql("UPDATE lease SET next_attempt_at = clock_timestamp() WHERE"
        " session_id = :'v1' AND state = 'stop_needed'", sid)


def state(sid):
    return sql("SELECT s.state, l.state FROM session s JOIN lease l ON"
               " l.session_id = s.id WHERE s.id = :'v1'", sid)[0]


# ---- stops

@case
def a_due_clean_up_is_claimed_before_provider_i_o():
    sid = create(isolation="session")["id"]
    init = service.init_of(job(sid, mark(9101))[0])
    os.kill(init, signal.SIGSTOP)  # from now on no call of the provider ends
    try:
        c = in_background("POST", at(sid, "/sleep"))
        until("the claim is there", lambda: lease(sid)[0] == "stopping")
        true(service.running(mark(9101)), "and nothing was done yet")
    finally:
        os.kill(init, signal.SIGCONT)
    c.join()
    until("it ends", lambda: make_due(sid) or service.reap() and
          state(sid) == ["asleep", "none"])


@case
def a_stale_watchdog_expires_without_settling_the_late_attempt():
    sid = create(isolation="session")["id"]
    init = service.init_of(job(sid, mark(9102))[0])
    os.kill(init, signal.SIGSTOP)
    try:
        c = in_background("POST", at(sid, "/sleep"))
        until("an attempt is under way", lambda: lease(sid)[0] == "stopping")
        sql("UPDATE lease SET attempt_deadline = clock_timestamp() - interval"
            " '1 s' WHERE session_id = :'v1' AND state = 'stopping'", sid)
        service.reap()
        equal(lease(sid)[0], "stop_needed", "it expired")
        sql("UPDATE lease SET next_attempt_at = clock_timestamp() + interval"
            " '1 h' WHERE session_id = :'v1'", sid)
        before = lease(sid)
    finally:
        os.kill(init, signal.SIGCONT)
    c.join()
    equal(lease(sid), before, "what the late attempt says is ignored")
    until("the next one settles it", lambda: make_due(sid) or service.reap()
          and state(sid) == ["asleep", "none"])
    equal(service.running(mark(9102)), [], "what ran in it")


@case
def an_expired_readiness_deadline_is_repaired_when_accepted_work_proves_delivery():
    worker, idler = (create(isolation="session")["id"] for _ in range(2))
    for sid in (worker, idler):  # as if recording the delivery had failed
        sql("UPDATE lease SET startup_deadline = clock_timestamp() - interval"
            " '1 s', keep_warm_until = NULL WHERE session_id = :'v1'", sid)
    c = in_background("POST", at(worker, "/api/execute"), {
        "command": "until [ -e go ]; do sleep 0.05; done"})
    until("it works", lambda: service.call(
        "GET", at(worker)).json["busy"])
    sql("UPDATE lease SET startup_deadline = clock_timestamp() - interval"
        " '1 s' WHERE session_id = :'v1'", worker)
    service.reap()
    equal(state(worker), ["ready", "owns_wrapper"], "who works")
    equal(value("SELECT startup_deadline IS NULL FROM lease WHERE"
                " session_id = :'v1'", worker), "t", "its deadline")
    equal(state(idler)[0], "failed", "who does not")
    execute(worker, "touch go", sessionId="other")
    expect(200, c.join())


# ---- creates

@case
def two_creates_with_the_same_idempotency_key_make_one_sandbox_with_a_different_body_409():
    head = {"Idempotency-Key": "once-%d" % ME}
    body = {"isolation": "session", "labels": {"is": "once"}}
    sandboxes = int(value("SELECT count(*) FROM sandbox"))
    calls = [in_background("POST", "/v1/sessions", body, None, head)
             for _ in range(2)]
    replies = [c.join() for c in calls]
    true(all(r.status in (201, 202) for r in replies), repr(replies))
    equal(len({r.json["id"] for r in replies}), 1, "sessions")
    equal(sorted(r.header("Idempotency-Replayed") or "" for r in replies),
          ["", "true"], "one of them is told")
    equal(int(value("SELECT count(*) FROM sandbox")), sandboxes + 1,
          "sandboxes")
    problem(call("POST", "/v1/sessions", {"isolation": "session"},
                 headers=head), 409, "idempotency_mismatch")
    equal(int(value("SELECT count(*) FROM sandbox")), sandboxes + 1,
          "and the other body made none")


# ---- late effects

def restart_postgresql():
    stack("pg_stop")
    stack("pg_start")
    until("it answers", lambda: call("GET", "/v1/health").status == 200)


def nothing_came_of(sid, cells, sandboxes):
    equal(service.cells(), cells, "cells")
    equal(service.sandbox_pids(), sandboxes, "sandboxes")
    equal(glob.glob(os.path.join(setting("STACK_RUN"), "run/s", sid + "*")),
          [], "sockets")
    equal(state(sid), ["deleted", "none"], "rows")


def deleted_meanwhile(where, restart, **body):
    """A worker is paused at `where`; the session is deleted; the worker goes
    on."""
    cells, sandboxes = service.cells(), service.sandbox_pids()
    with Paused(where) as p:
        p.create(**body)
        if restart:
            restart_postgresql()
        else:
            p.lose_its_connection()
        r = call("DELETE", at(p.sid))
        true(r.status in (200, 202), repr(r))
        until("it is deleted", lambda: make_due(p.sid) or service.reap() and
              get(p.sid)["state"] == "deleted")
        true(p.go_on() >= 400, "the late create fails")
    nothing_came_of(p.sid, cells, sandboxes)


@case
def a_worker_stopped_sigstop_between_allocate_and_launch_a_delete_meanwhile_then_sigcont_no_wrapper():
    sibling = create()["id"]  # keeps the shared sandbox running
    deleted_meanwhile("connect", False)
    equal(execute(sibling, "echo fine"), "fine\n", "the sibling")


@case
def the_same_with_ensure_and_destroy():
    deleted_meanwhile("flock", False, isolation="session")


def used_meanwhile(restart):
    """A reaper is paused before it ends an idle sandbox; a session starts in
    the sandbox; the reaper goes on."""
    key = service.new_key("late-%d" % restart, "u")
    first = create(key)
    expect(200, call("DELETE", at(first["id"]), key=key))
    sql("UPDATE sandbox SET idle_since = clock_timestamp() - interval '1 h'"
        " WHERE id = :'v1'", first["sandboxId"])
    with Paused("flock") as p:
        p.reap()
        if restart:
            restart_postgresql()
        else:
            p.lose_its_connection()
        s = create(key)
        equal(s["sandboxId"], first["sandboxId"], "the same sandbox")
        jobs = job(s["id"], mark(9107 + restart), key)
        p.finish()
    equal(service.running(mark(9107 + restart)), jobs, "what it runs")
    equal(get(s["id"], key)["lease"]["generation"], 1, "generation")
    equal(execute(s["id"], "echo fine", key), "fine\n", "and it works")


@case
def the_same_with_the_end_of_an_idle_sandbox_and_a_create():
    used_meanwhile(False)


@case
def and_with_postgresql_restarted_in_between():
    sibling = create()["id"]
    deleted_meanwhile("connect", True)
    deleted_meanwhile("flock", True, isolation="session")
    used_meanwhile(True)
    equal(execute(sibling, "echo fine"), "fine\n", "the sibling")


# ---- processes that resist their end

HOSTILE = r"""
import ctypes, os, sys, time
seconds = sys.argv[1]
libc = ctypes.CDLL(None)
PR_SET_DUMPABLE = 4

def child(how):
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    env = {"cleared": {}, "overwritten": {"A": "x" * 4096},
           "forged": {"SANDLEASE_SESSION_ID": "%s",
                      "SANDLEASE_INSTANCE_ID": "%s",
                      "SANDLEASE_GENERATION": "1"}}.get(how, dict(os.environ))
    if how == "mute":
        libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        while True:
            time.sleep(1) # wait: a life without end, no limit
    if how == "deaf":
        import signal
        for n in range(1, 32):
            try:
                signal.signal(n, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
    os.execve("/bin/sleep", ["sleep", seconds], env)

for how in ("plain", "cleared", "overwritten", "forged", "mute", "deaf"):
    child(how)
if os.fork() == 0:
    os.setsid()
    while os.fork() == 0:  # without end, and never the same one
        time.sleep(0.01) # wait: the beat of its forks, no limit
"""


@case
def a_child_that_double_forks_setsids_clears_overwrites_or_forges_its_environment_is_non_dumpable_or_forks_without_end_is_gone_after_a_stop_and_the_siblings_session_never_noticed():
    key = service.new_key("hostile", "u")
    sibling = create(key)
    sid = create(key)["id"]
    equal(get(sid, key)["sandboxId"], sibling["sandboxId"], "one sandbox")
    jobs = job(sibling["id"], mark(9103), key)
    before = get(sibling["id"], key)["lease"]
    cells = service.cells()
    expect(200, call("POST", at(sid, "/api/write"), {
        "path": "/workspace/h.py",
        "content": HOSTILE % (sibling["id"], before["instance"])}, key))
    execute(sid, "(python3 h.py %s >/dev/null 2>&1 &)" % mark(9104), key)
    # the children that sleep, the non-dumpable one, and the one that forks
    until("they run", lambda: len(service.running(mark(9104))) >= 7)
    cell, = {c for c in cells for p in service.running(mark(9104))
             if p in service.descendants(c)}
    r = call("POST", at(sid, "/sleep"), key=key)
    true(r.status in (200, 202), repr(r))
    until("it is asleep", lambda: make_due(sid) or service.reap() and
          state(sid) == ["asleep", "none"])
    equal(service.running(mark(9104)), [], "its children")
    true(cell not in service.cells(), "its cell")
    equal(service.running(mark(9103)), jobs, "the sibling's job")
    after = get(sibling["id"], key)
    equal((after["state"], after["lease"]["instance"],
           after["lease"]["generation"]),
          ("ready", before["instance"], before["generation"]), "the sibling")
    equal(execute(sibling["id"], "echo fine", key), "fine\n", "and it works")


# ---- hosts and boots

@case
def a_reaper_on_another_host_or_of_another_installation_releases_and_destroys_nothing():
    s = create(isolation="session")
    job(s["id"], mark(9105))
    rows = [sql("SELECT s.state, l.state, b.state, b.incarnation FROM session"
                " s JOIN lease l ON l.session_id = s.id JOIN sandbox b ON"
                " b.id = s.sandbox_id WHERE s.id = :'v1'", s["id"])]
    # the idle date is over, so that a reaper would stop the session
    sql("UPDATE lease SET keep_warm_until = clock_timestamp() - interval '1 h'"
        " WHERE session_id = :'v1'", s["id"])

    def unharmed(who):
        equal(service.running(mark(9105)) != [], True, "its job, by " + who)
        rows.append(sql("SELECT b.state, b.incarnation FROM sandbox b WHERE"
                        " b.id = :'v1'", s["sandboxId"]))
        equal(rows[-1], [rows[0][0][2:]], "its sandbox's row, by " + who)
        true(lease(s["id"])[0] != "none", "nobody released it, but " + who)

    conf = os.path.join(setting("STACK_STATE"), "etc/elsewhere.conf")
    with open(setting("SANDLEASE_CONFIG"), encoding="utf-8") as f:
        text = [l for l in f.read().splitlines()
                if not l.startswith("host_name")]
    with open(conf, "w", encoding="utf-8") as f:
        f.write("\n".join(text + ["host_name = elsewhere", ""]))
    os.chown(conf, *(getattr(os.stat(setting("SANDLEASE_CONFIG")), n)
                     for n in ("st_uid", "st_gid")))
    os.chmod(conf, os.stat(setting("SANDLEASE_CONFIG")).st_mode & 0o777)
    for _ in range(2):
        subprocess.run([service.program("sandlease-reaper"), "--config", conf],
                       cwd="/", check=False, capture_output=True)
    unharmed("another host's reaper")
    ours = value("SELECT id FROM installation")
    sql("UPDATE sandbox SET host = 'x' WHERE id = :'v1'", s["sandboxId"])
    sql("UPDATE installation SET id = gen_random_uuid()")
    try:
        for _ in range(2):
            service.reap()
            sql("UPDATE sighting SET first_at = first_at - interval '1 h'")
        unharmed("another installation's reaper")
    finally:
        sql("UPDATE installation SET id = :'v1'", ours)
        sql("UPDATE sandbox SET host = h.host FROM (SELECT host FROM sandbox"
            " WHERE host NOT IN ('x', '') LIMIT 1) h WHERE id = :'v1'",
            s["sandboxId"])
    call("DELETE", at(s["id"]))


@case
def a_reboot_another_boot_id_leaves_sessions_asleep_with_their_files_not_lost():
    s = create(isolation="session")
    execute(s["id"], "echo kept >f")
    service.end_sandbox(job(s["id"], mark(9106))[0])
    sql("UPDATE sandbox SET boot_id = '00000000-0000-4000-8000-000000000000'"
        " WHERE id = :'v1'", s["sandboxId"])
    service.reap()
    equal(state(s["id"]), ["asleep", "none"], "state")
    equal(execute(s["id"], "cat f"), "kept\n", "files")


@case
def retiring_an_idle_shared_sandbox_while_a_session_is_being_created_one_of_the_two_waits_nobody_loses():
    key = service.new_key("retired", "u")
    box = create(key)["sandboxId"]
    for _ in range(5):
        for row in sql("SELECT id FROM session WHERE sandbox_id = :'v1' AND"
                       " state <> 'deleted'", box):
            expect(200, call("DELETE", at(row[0]), key=key))
        sql("UPDATE sandbox SET idle_since = clock_timestamp() - interval"
            " '1 h', changed_at = clock_timestamp() - interval '1 h' WHERE"
            " id = :'v1'", box)
        reaper = threading.Thread(target=service.reap)
        reaper.start()
        r = call("POST", "/v1/sessions?wait=60", {}, key)
        reaper.join(service.PATIENCE)
        true(r.status in (201, 202), repr(r))
        sid = r.json["id"]
        equal(r.json["sandboxId"], box, "the same sandbox")
        until("it is ready", lambda: get(sid, key)["state"] == "ready")
        equal(execute(sid, "echo works", key), "works\n", "it works")


run(lambda: None)
