#!/usr/bin/python3
"""failures.t: tests that nothing is lost, doubled or leaked when parts of the service die."""
import glob
import json
import os
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from paused import Paused
from service import (at, call, container_error, create, execute, expect, get,
                     problem, setting, sql, stack, until, value)
from tap import case, equal, run, true

service.begin()

SID = create(isolation="session")["id"]
HOST = expect(201, call("POST", at(SID, "/ports"),
                        {"port": 8080})).json["url"].split("/")[2]
ME = os.getpid()


def storage(s):
    return os.path.join(setting("STACK_STATE"), "data/storage",
                        s["sandboxId"], s["id"])


def preview():
    return call("GET", "/", key="", headers={"Host": HOST})


def unavailable_everywhere():
    """Checks for 503 with Retry-After, in the error format of each API."""
    for method, path in (("GET", at(SID)), ("GET", "/v1/sessions"),
                         ("POST", "/v1/sessions"), ("DELETE", at(SID)),
                         ("GET", "/v1/health")):
        r = call(method, path, {} if method == "POST" else None)
        true(problem(r, 503, None)["retryable"], "retryable")
        true(r.header("Retry-After"), "Retry-After: %r" % r)
    r = call("POST", at(SID, "/api/execute"), {"command": "touch twice"})
    container_error(r, 503, "CONTAINER_UNAVAILABLE")
    true(r.json["context"]["retryable"], "retryable: %r" % r)
    true(r.header("Retry-After"), "Retry-After: %r" % r)
    r = expect(503, preview())
    equal(set(r.json), {"error", "code"}, "a preview's dress")
    true(r.header("Retry-After"), "Retry-After: %r" % r)


def back_again():
    until("it answers", lambda: call("GET", "/v1/health").status == 200)
    equal(get(SID)["state"], "ready", "state")
    equal(execute(SID, "ls"), "", "nothing ran meanwhile")
    equal(preview().status, 502, "the preview's way is open")


# ---- PostgreSQL

@case
def without_a_database_everything_is_503_and_recovers_by_itself():
    workers = service.workers()
    stack("pg_stop")
    unavailable_everywhere()
    equal(call("GET", "/v1/live").status, 204, "live needs no database")
    true(service.alive(service.sandbox_pids()[0]), "the sandbox lives on")
    stack("pg_start")
    back_again()
    equal(service.workers(), workers, "the same workers")


@case
def a_database_that_drops_its_connections_is_not_noticed():
    create()  # every worker has a connection after this
    for _ in range(3):
        sql("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
            " WHERE application_name LIKE 'sandlease%'")
        expect(200, call("GET", at(SID)))
        expect(200, call("GET", at(SID, "/api/ping")))
        expect(201, call("POST", "/v1/sessions", {}))


@case
def a_start_that_met_a_stopped_database_is_finished_later():
    sid = create(isolation="session")["id"]
    expect(200, call("POST", at(sid, "/sleep")))
    stack("pg_stop")
    r = call("GET", at(sid, "/api/ping"))
    expect(503, r)
    stack("pg_start")
    until("it resumes", lambda: call("GET", at(sid, "/api/ping")).status == 200)


# ---- workers

@case
def killing_master_and_workers_leaves_a_job_running():
    s = get(SID)
    execute(SID, "nohup sh -c 'while :; do echo x >>grows; sleep 0.05; done'"
                 " >/dev/null 2>&1 &")
    grows = os.path.join(storage(s), "workspace/grows")
    until("it grows", lambda: os.path.exists(grows) and
          os.stat(grows).st_size > 4)
    master = service.master()
    for pid in [master] + service.workers():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # workers end with their master
    until("all are gone", lambda: not service.alive(master) and
          not service.children(master))
    size = os.stat(grows).st_size
    until("it grows without them", lambda: os.stat(grows).st_size > size + 8)
    unavailable_everywhere()
    stack("api_start")
    until("it answers", lambda: call("GET", "/v1/health").status == 200)
    size = os.stat(grows).st_size
    until("it still grows", lambda: os.stat(grows).st_size > size + 8)
    equal(get(SID)["lease"], s["lease"], "the same wrapper")
    # wait: polls; a process that is not dead yet could make its file again
    execute(SID, "pkill -f grows; while pgrep -f grows >/dev/null; do"
                 " sleep 0.05; done; rm grows")
    back_again()


@case
def a_restart_leaves_sandboxes_alone():
    before = (service.sandbox_pids(), get(SID)["lease"]["instance"])
    stack("api_stop")
    unavailable_everywhere()
    stack("api_start")
    back_again()
    equal((service.sandbox_pids(), get(SID)["lease"]["instance"]), before,
          "the same processes")


@case
def a_killed_worker_is_replaced():
    before = service.workers()
    killed = {before[0], before[-1]}
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    until("there are as many again, and neither of them", lambda: len(
        set(service.workers()) - killed) == len(before))
    back_again()


@case
def a_worker_that_cannot_be_replaced_now_is_replaced_later():
    before, master = service.workers(), service.master()
    failed = service.log("api").count('event="fork"')

    def prlimit(*words):
        return stack("eval", 'as "$SVC_USER" prlimit --pid %d %s' % (
            master, " ".join(words))).strip()
    was = prlimit("--nproc", "--raw", "--noheadings", "--output", "SOFT")
    prlimit("--nproc=1:")
    try:
        os.kill(before[0], signal.SIGKILL)
        until("it is tried in vain", lambda: service.log("api").count(
            'event="fork"') > failed)
    finally:
        prlimit("--nproc=%s:" % was)
    until("there are as many again",
          lambda: len(service.workers()) == len(before))
    back_again()


@case
def a_worker_killed_in_mid_create_leaves_what_the_next_call_finishes():
    with Paused("flock") as p:
        p.create(isolation="session")
        p.kill()
    equal(value("SELECT state FROM session WHERE id = :'v1'", p.sid),
          "initializing", "the intent is there")
    until("a look moves it on", lambda: get(p.sid)["state"] == "ready")
    equal(execute(p.sid, "echo works"), "works\n", "it works")


# ---- late effects: a worker pauses between intent and act

def nothing_of(sid, sandboxes):
    equal(glob.glob(os.path.join(setting("STACK_RUN"), "run/s", sid + "*")),
          [], "sockets")
    equal(service.sandbox_pids(), sandboxes, "sandboxes")
    equal(sql("SELECT s.state, l.state FROM session s JOIN lease l ON"
              " l.session_id = s.id WHERE s.id = :'v1'", sid),
          [["deleted", "none"]], "rows")


@case
def a_launch_after_a_delete_makes_no_wrapper():
    other = create()["id"]  # keeps the shared sandbox running
    sandboxes = service.sandbox_pids()
    cells = service.cells()
    true(cells, "cells are seen")
    with Paused("connect") as p:
        p.create()
        p.lose_its_connection()
        r = expect(200, call("DELETE", at(p.sid))).json
        equal(r["state"], "deleted", "deleted meanwhile")
        true(p.go_on() >= 400, "the late create fails")
    equal(service.cells(), cells, "cells")
    nothing_of(p.sid, sandboxes)
    equal(execute(other, "echo fine"), "fine\n", "the sibling")


@case
def a_start_after_a_delete_makes_no_sandbox():
    sandboxes = service.sandbox_pids()
    with Paused("flock") as p:
        p.create(isolation="session")
        p.lose_its_connection()
        r = call("DELETE", at(p.sid))
        true(r.status in (200, 202), repr(r))
        true(p.go_on() >= 400, "the late create fails")
    until("it is deleted", lambda: service.reap() and
          get(p.sid)["state"] == "deleted")
    nothing_of(p.sid, sandboxes)


def it_sleeps_on(p, cells, sandboxes):
    """The session's files are there, so only the fences refuse the late start.  The late
    worker must not start a session that a client has put to sleep."""
    p.lose_its_connection()
    equal(expect(200, call("POST", at(p.sid, "/sleep"))).json["state"],
          "asleep", "asleep meanwhile")
    equal(p.go_on(), 409, "start_stopped")
    s = get(p.sid)
    equal((s["state"], s["lease"]["generation"]), ("asleep", 1), "the row")
    equal(service.cells(), cells, "cells")
    expect(200, call("DELETE", at(p.sid)))
    equal(service.sandbox_pids(), sandboxes, "sandboxes")


@case
def a_sleep_during_a_resume_is_the_last_word():
    sid = create(isolation="session")["id"]
    met = 0
    for n in range(12):
        until("it sleeps", lambda: call("POST", at(sid, "/sleep")).json["state"] == "asleep")
        before = get(sid)["lease"]["generation"]
        resume = service.in_background("POST", at(sid, "/resume?wait=%d" % (n % 2 * 60)), {})
        time.sleep(0.005 + 0.002 * n)  # wait: at any moment of the resume; a miss is no failure
        r = call("POST", at(sid, "/sleep"))
        s = r.json
        equal(r.status == 202, s["state"] == "sleeping" or s["lease"]["stop"] is not None,
              "a sleep that goes on is carried out by somebody: %r" % r)
        resume.join()
        if (s["state"], s["lease"]["generation"]) == ("asleep", before + 1):
            met += 1
            until("nobody is at it", lambda: "0" == value(
                "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE"
                " l.locktype = 'advisory' AND a.application_name = 'sandlease-api'"))
            s = get(sid)
            equal((s["state"], s["lease"]["generation"]), ("asleep", before + 1), "round %d" % n)
    print("# a sleep met a resume %d times" % met)
    expect(200, call("DELETE", at(sid)))


@case
def a_launch_after_a_sleep_is_refused_by_the_seal():
    create()
    cells, sandboxes = service.cells(), service.sandbox_pids()
    with Paused("connect") as p:
        p.create()
        it_sleeps_on(p, cells, sandboxes)


@case
def a_start_after_a_sleep_is_refused_by_the_incarnation():
    cells, sandboxes = service.cells(), service.sandbox_pids()
    with Paused("flock") as p:
        p.create(isolation="session")
        incarnation = value("SELECT b.incarnation FROM sandbox b JOIN session"
                            " s ON s.sandbox_id = b.id WHERE s.id = :'v1'",
                            p.sid)
        it_sleeps_on(p, cells, sandboxes)
    true(incarnation not in " ".join(os.listdir(os.path.join(
        setting("STACK_RUN"), "run/c"))), "the old incarnation never ran")


def owner_of(sid):
    lease = get(sid)["lease"]
    return lease["state"], lease["generation"], lease["instance"]


@case
def a_launch_after_a_restart_of_the_database_makes_no_second_wrapper():
    create()
    with Paused("connect") as p:
        p.create()
        stack("pg_stop")
        stack("pg_start")
        until("it answers", lambda: call("GET", "/v1/health").status == 200)
        # GET continues the start
        until("it is ready", lambda: get(p.sid)["state"] == "ready")
        owner = owner_of(p.sid)
        service.job(p.sid, "7171.%d" % ME)
        p.go_on()
    equal(owner_of(p.sid), owner, "the owner is the same")
    equal(len(service.running("7171.%d" % ME)), 1, "its job runs on")
    equal(len(glob.glob(os.path.join(setting("STACK_RUN"), "run/s",
                                     p.sid + ".*.sock"))), 2,
          "its two sockets, once")
    expect(200, call("DELETE", at(p.sid)))


# ---- sandboxes and files

@case
def a_killed_init_costs_nothing_but_what_ran():
    s = create(isolation="session")
    execute(s["id"], "echo kept >f")
    os.kill(service.init_of(service.job(s["id"], "7272.%d" % ME)[0]),
            signal.SIGKILL)
    until("all in it is gone", lambda: not service.running("7272.%d" % ME))
    s = expect(200, call("POST", at(s["id"], "/resume"))).json
    equal((s["state"], s["lease"]["generation"]), ("ready", 2), "resumed")
    equal(execute(s["id"], "cat f"), "kept\n", "files")


@case
def a_session_whose_files_are_gone_is_lost():
    s = create(isolation="session")
    expect(200, call("POST", at(s["id"], "/sleep")))
    shutil.rmtree(storage(s))
    r = call("POST", at(s["id"], "/resume"))
    true(r.status in (409, 410), repr(r))
    r = get(s["id"])
    equal((r["state"], r["reason"]), ("lost", "storage_gone"), "lost")
    problem(call("POST", at(s["id"], "/resume")), 409, "session_lost")
    container_error(call("GET", at(s["id"], "/api/ping")), 410,
                    "SESSION_LOST")
    equal(expect(200, call("DELETE", at(s["id"]))).json["state"], "deleted",
          "it can be deleted")


@case
def a_sandbox_that_cannot_start_is_failed_with_a_reason():
    bwrap = os.path.join(setting("STACK_DIR"), "no-bwrap")
    with open(bwrap, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\necho no sandboxes today >&2\nexit 1\n")
    os.chmod(bwrap, 0o755)
    sleeper = create(isolation="session")["id"]
    expect(200, call("POST", at(sleeper, "/sleep")))
    service.configure(bwrap_path=bwrap, launcher="bwrap")
    service.restart()
    asleep = call("GET", at(sleeper, "/api/ping"))
    true(asleep.status in (500, 503), "the data plane: %r" % asleep)
    r = call("POST", "/v1/sessions", {"isolation": "session", "name": "doomed",
                                      "labels": {"is": "doomed"}})
    true(r.status in (500, 503), repr(r))
    s, = call("GET", "/v1/sessions?label=is:doomed").json["sessions"]
    equal((s["state"], s["lease"]["state"]), ("failed", "none"), "state")
    true(s["reason"], "it says why")
    for answer in (r.body, asleep.body, json.dumps(s).encode()):
        true(setting("STACK_DIR").encode() not in answer,
             "nothing of this host is told: %r" % answer)
    container_error(call("GET", at(s["id"], "/api/ping")), 409,
                    "SESSION_FAILED")
    service.configure(bwrap_path="/usr/bin/bwrap", launcher="auto")
    service.restart()
    r = expect(200, call("POST", at(s["id"], "/resume"))).json
    equal(r["state"], "ready", "it can be resumed")


@case
def a_failure_that_names_a_file_of_the_host_is_told_without_it():
    """service.py looks for paths of the host in every answer; the log must have the path."""
    sleeper = create(isolation="session")["id"]
    expect(200, call("POST", at(sleeper, "/sleep")))
    state = os.path.join(setting("STACK_STATE"), "data")
    bwrap = os.path.join(setting("STACK_DIR"), "no-bwrap")
    with open(bwrap, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\necho cannot mkdir %s/secret-7474 >&2\nexit 1\n"
                % state)
    os.chmod(bwrap, 0o755)
    service.configure(bwrap_path=bwrap, launcher="bwrap")
    service.restart()
    for path in ("/resume", "/snapshots"):
        true(call("POST", at(sleeper, path), {}).status >= 400, path)
    true(call("GET", at(sleeper, "/api/ping")).status >= 400, "the data plane")
    r = call("POST", "/v1/sessions", {"isolation": "session", "name": "untold",
                                      "labels": {"is": "untold"}})
    true(r.status >= 500, repr(r))
    s, = call("GET", "/v1/sessions?label=is:untold").json["sessions"]
    for sid in (sleeper, s["id"]):
        for path in ("", "/events?limit=1000", "/agent-log", "/snapshots"):
            reply = call("GET", at(sid, path))
            true(b"secret-7474" not in reply.body, repr(reply))
    true("secret-7474" in service.log("api"), "the operator can read it")
    service.configure(bwrap_path="/usr/bin/bwrap", launcher="auto")
    service.restart()


@case
def an_agent_that_dies_at_once_is_no_success():
    ours = service.program("sandlease-agent")
    broken = os.path.join(setting("STACK_STATE"), "bin/broken-agent")
    shutil.copy("/bin/false", broken)
    service.configure(agent_path=broken)
    service.restart()
    r = call("POST", "/v1/sessions", {"isolation": "session",
                                      "labels": {"is": "nameless"}})
    state = problem(r, 503, None)["session"]["state"]
    true(state in ("deleting", "deleted"), "nameless: gone, not %s" % state)
    r = call("POST", "/v1/sessions", {"isolation": "session", "name": "mute",
                                      "labels": {"is": "mute"}})
    true(problem(r, 503, None)["retryable"], "retryable")
    s, = call("GET", "/v1/sessions?label=is:mute").json["sessions"]
    equal(s["lease"]["state"], "none", "nothing is owned")
    true(s["state"] in ("asleep", "failed"), "state: %s" % s["state"])
    r = call("POST", at(s["id"], "/resume"))
    true(r.status in (202, 503), "nor is a resume: %r" % r)
    service.configure(agent_path=ours)
    service.restart()
    equal(expect(200, call("POST", at(s["id"], "/resume"))).json["state"],
          "ready", "it can be resumed")


@case
def nothing_is_left_in_the_end():
    for row in sql("SELECT id FROM session WHERE state <> 'deleted'"):
        expect(200, call("DELETE", at(row[0])))
    equal(sql("SELECT session_id, state FROM lease WHERE state <> 'none'"), [],
          "leases")
    sql("UPDATE sandbox SET idle_since = idle_since - interval '1 hour'")
    service.reap()
    equal(service.sandbox_pids(), [], "sandboxes")
    equal(os.listdir(os.path.join(setting("STACK_RUN"), "run/s")), [],
          "sockets")


sys.exit(run(lambda: None))
