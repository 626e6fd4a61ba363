#!/usr/bin/python3
"""deletion.t: tests that a session can be deleted from every state, twice, and
when a process, a file or a program stands in the way."""
import os
import shutil
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from paused import Paused
from service import (at, call, container_error, create, execute, expect, get,
                     problem, setting, sql, until, value)
from tap import case, equal, run, true

# a short deadline, so that an agent that does not answer costs less than ten
# seconds
service.begin("discovery_seconds = 3")

ME = os.getpid()
DATA = os.path.join(setting("STACK_STATE"), "data")


def delete(sid):
    """Deletes the session; its state afterwards, which the status must match."""
    r = call("DELETE", at(sid))
    state = r.json["state"]
    equal(r.status, {"deleted": 200, "deleting": 202}.get(state), "status")
    return state


def make_due(sid):
    sql("UPDATE lease SET next_attempt_at = clock_timestamp(),"
        " attempt_deadline = CASE WHEN state = 'stopping' THEN"
        " clock_timestamp() END WHERE session_id = :'v1'"
        " AND state IN ('stop_needed', 'stopping')", sid)


def finished(sid):
    """Checks that the reaper finishes the deletion and leaves nothing."""
    def ended():
        make_due(sid)
        service.reap()
        return get(sid)["state"] == "deleted"
    until("the reaper ends it", ended)
    gone(sid)


def gone(sid):
    equal(sql("SELECT s.state, l.state, s.ended_at IS NOT NULL,"
              " s.env_sealed IS NULL FROM session s JOIN lease l ON"
              " l.session_id = s.id WHERE s.id = :'v1'", sid),
          [["deleted", "none", "t", "t"]], "rows")
    equal(sql("SELECT session_id FROM port WHERE session_id = :'v1' UNION ALL"
              " SELECT session_id FROM alias WHERE session_id = :'v1'", sid),
          [], "tokens and aliases")
    box = value("SELECT sandbox_id FROM session WHERE id = :'v1'", sid)
    true(not os.path.exists(os.path.join(DATA, "storage", box, sid)), "files")
    equal([n for n in os.listdir(os.path.join(setting("STACK_RUN"), "run/s"))
           if n.startswith(sid)], [], "sockets")
    if box.startswith("ses-"):
        equal(value("SELECT state FROM sandbox WHERE id = :'v1'", box),
              "absent", "its sandbox")
    equal(delete(sid), "deleted", "and once more")
    refused(sid, 410, "session_deleted")


def refused(sid, status, code):
    """Checks that every call but GET and DELETE is refused with this code."""
    for method, path, body in (("PATCH", "", {"keepAlive": True}),
                               ("POST", "/resume", None),
                               ("POST", "/sleep", None),
                               ("POST", "/extend", {}),
                               ("POST", "/interrupt", None),
                               ("PUT", "/aliases", {"keys": ["a:b"]}),
                               ("POST", "/ports", {"port": 8080}),
                               ("POST", "/ports/8080/rotate", None)):
        problem(call(method, at(sid, path), body), status, code)
    for method, path, body in (("GET", "/api/ping", None),
                               ("POST", "/api/execute", {"command": "true"}),
                               ("GET", "/files/workspace/x", None)):
        container_error(call(method, at(sid, path), body), status,
                        code.upper())
    equal("session_" + get(sid)["state"], code, "GET tells")


def mark(n):
    return "%d.%d" % (n, ME)


# ---- from every state

@case
def ready():
    for isolation in ("session", "shared"):
        sid = create(isolation=isolation, env={"A": "1"})["id"]
        equal(delete(sid), "deleted", isolation)
        gone(sid)


@case
def ready_with_a_token_and_an_alias():
    key = {"correlationKeys": ["ticket:%d" % ME]}
    sid = create(**key)["id"]
    url = expect(201, call("POST", at(sid, "/ports"),
                           {"port": 8080})).json["url"]
    equal(call("GET", url, key="").status, 502, "the token is known")
    equal(delete(sid), "deleted", "state")
    gone(sid)
    equal(call("GET", url, key="").json["code"], "INVALID_TOKEN",
          "the token is revoked")
    again = expect(201, call("POST", "/v1/sessions", key)).json["id"]
    true(again != sid, "the alias is free")


@case
def twice_at_once():
    sid = create(isolation="session")["id"]
    said = []
    asks = [threading.Thread(target=lambda: said.append(delete(sid)))
            for _ in range(3)]
    for ask in asks:
        ask.start()
    for ask in asks:
        ask.join(service.PATIENCE)
    equal(len(said), 3, "each is answered: %r" % said)
    finished(sid)


@case
def asleep():
    sid = create(isolation="session")["id"]
    expect(200, call("POST", at(sid, "/sleep")))
    equal(delete(sid), "deleted", "state")
    gone(sid)


@case
def initializing_while_a_worker_is_at_it():
    for where, isolation in (("flock", "session"), ("connect", "shared")):
        with Paused(where) as p:
            p.create(isolation=isolation)
            true(delete(p.sid) in ("deleted", "deleting"), "state")
            p.go_on()
        finished(p.sid)


@case
def initializing_without_a_worker():
    with Paused("flock") as p:
        p.create(isolation="session")
        p.kill()
    true(delete(p.sid) in ("deleted", "deleting"), "state")
    finished(p.sid)


@case
def initializing_with_an_agent_that_never_said_a_word():
    before = service.sandbox_pids()
    with Paused("connect") as p:
        p.create(isolation="session")
        fresh = set(service.sandbox_pids()) - set(before)
        true(fresh, "its sandbox is there")
        for pid in fresh:
            os.kill(pid, signal.SIGSTOP)
        p.kill()
    true(delete(p.sid) in ("deleted", "deleting"), "state")
    finished(p.sid)
    equal(service.sandbox_pids(), before, "sandboxes")


@case
def failed():
    sid = create(isolation="session")["id"]
    expect(200, call("POST", at(sid, "/sleep")))
    for state in "initializing", "failed":
        sql("UPDATE session SET state = :'v2', reason = 'for this test'"
            " WHERE id = :'v1'", sid, state)
    equal(delete(sid), "deleted", "state")
    gone(sid)


@case
def lost():
    s = create(isolation="session")
    expect(200, call("POST", at(s["id"], "/sleep")))
    shutil.rmtree(os.path.join(DATA, "storage", s["sandboxId"], s["id"]))
    call("POST", at(s["id"], "/resume"))
    equal(get(s["id"])["state"], "lost", "before")
    equal(delete(s["id"]), "deleted", "state")
    gone(s["id"])


@case
def sleeping_while_its_agent_is_stopped():
    sid = create(isolation="session")["id"]
    init = service.init_of(service.job(sid, mark(8101))[0])
    os.kill(init, signal.SIGSTOP)
    try:
        equal(expect(202, call("POST", at(sid, "/sleep"))).json["state"],
              "sleeping", "a sleep that cannot be confirmed")
        equal(delete(sid), "deleting", "and the deletion waits for it")
        refused(sid, 409, "session_deleting")
        true(service.running(mark(8101)), "nothing was killed blindly")
    finally:
        os.kill(init, signal.SIGCONT)
    finished(sid)
    equal(service.running(mark(8101)), [], "what ran in it")


@case
def stopping_while_another_worker_is_at_it():
    sid = create(isolation="session")["id"]
    init = service.init_of(service.job(sid, mark(8108))[0])
    os.kill(init, signal.SIGSTOP)
    try:
        ask = threading.Thread(target=call, args=("POST", at(sid, "/sleep")))
        ask.start()
        until("its stop is under way", lambda: get(sid)["lease"]["state"] ==
              "stopping")
        equal(delete(sid), "deleting", "the wish is there")
        equal(value("SELECT reason FROM lease WHERE session_id = :'v1'", sid),
              "user-interrupt", "the first reason stays")
        refused(sid, 409, "session_deleting")
    finally:
        os.kill(init, signal.SIGCONT)
    ask.join(service.PATIENCE)
    finished(sid)
    equal(service.running(mark(8108)), [], "what ran in it")


# ---- obstacles

@case
def with_the_agent_stopped():
    sid = create(isolation="session")["id"]
    init = service.init_of(service.job(sid, mark(8102))[0])
    os.kill(init, signal.SIGSTOP)
    try:
        equal(delete(sid), "deleting", "state")
        lease = get(sid)["lease"]
        equal((lease["state"], lease["stop"]["attempts"]), ("stop_needed", 1),
              "a failed look releases nothing")
        true(lease["stop"]["lastError"], "and says why")
        # so late that even a slow machine gets here before
        sql("UPDATE lease SET next_attempt_at = next_attempt_at + interval"
            " '1 h' WHERE session_id = :'v1'", sid)
        due = get(sid)["lease"]["stop"]["nextAttemptAt"]
        equal(delete(sid), "deleting", "again")
        equal(get(sid)["lease"]["stop"]["nextAttemptAt"], due,
              "backoff is kept")
        make_due(sid)
        service.reap()
        equal(get(sid)["state"], "deleting", "nor does the reaper's")
    finally:
        os.kill(init, signal.SIGCONT)
    finished(sid)


@case
def with_the_wrapper_stopped():
    sid = create(isolation="session")["id"]
    init = service.init_of(service.job(sid, mark(8103))[0])
    for pid in service.descendants(init):
        os.kill(pid, signal.SIGSTOP)
    equal(delete(sid), "deleted", "state")
    gone(sid)


@case
def with_the_agent_dead():
    sid = create(isolation="session")["id"]
    os.kill(service.init_of(service.job(sid, mark(8104))[0]), signal.SIGKILL)
    # the kernel may still be ending the processes
    true(delete(sid) in ("deleted", "deleting"), "state")
    finished(sid)


@case
def with_the_sandbox_gone():
    s = create(isolation="session")
    service.end_sandbox(service.job(s["id"], mark(8105))[0])
    shutil.rmtree(os.path.join(DATA, "box", s["sandboxId"]))
    shutil.rmtree(os.path.join(DATA, "storage", s["sandboxId"]))
    true(delete(s["id"]) in ("deleted", "deleting"), "state")
    finished(s["id"])


@case
def with_the_provider_refusing():
    sid = create(isolation="session")["id"]
    trash = os.path.join(DATA, "trash")
    mode = os.stat(trash).st_mode
    os.chmod(trash, 0)
    try:
        equal(delete(sid), "deleting", "state")
        equal(get(sid)["lease"]["state"], "none", "its wrapper is gone")
        refused(sid, 409, "session_deleting")
        done = service.run("sandlease-reaper")
        true(done.returncode != 0 and b"trash" in done.stderr,
             "the reaper says so")
        equal(delete(sid), "deleting", "still")
    finally:
        os.chmod(trash, mode)
    sql("UPDATE sandbox SET deadline = clock_timestamp() FROM session s"
        " WHERE s.sandbox_id = sandbox.id AND s.id = :'v1'", sid)
    finished(sid)


@case
def with_the_database_stopped_in_the_middle():
    sid = create(isolation="session")["id"]
    init = service.init_of(service.job(sid, mark(8106))[0])
    os.kill(init, signal.SIGSTOP)  # so that the stop takes long
    ask = subprocess.Popen(
        ["curl", "-s", "-o", os.devnull, "-X", "DELETE", "-H",
         "Authorization: Bearer " + setting("SANDLEASE_API_KEY"),
         setting("SANDLEASE_URL") + at(sid)])
    try:
        until("it is asked for", lambda: value(
            "SELECT state FROM session WHERE id = :'v1'", sid) == "deleting")
        service.stack("pg_stop")
    finally:
        os.kill(init, signal.SIGCONT)
    ask.wait(service.PATIENCE)
    service.stack("pg_start")
    until("it answers", lambda: call("GET", "/v1/health").status == 200)
    finished(sid)


@case
def a_shared_sandbox_stays_and_so_does_the_sibling():
    sibling, sid = create()["id"], create()["id"]
    execute(sibling, "echo kept >f")
    service.job(sibling, mark(8107))
    equal(delete(sid), "deleted", "state")
    gone(sid)
    equal(execute(sibling, "cat f"), "kept\n", "the sibling's files")
    equal(len(service.running(mark(8107))), 1, "and what runs in it")
    equal(delete(sibling), "deleted", "sibling")


@case
def a_name_is_free_again_and_an_unknown_session_is_none():
    sid = create(name="again")["id"]
    equal(delete(sid), "deleted", "state")
    true(create(name="again")["id"] != sid, "another session")
    problem(call("DELETE", at("a" * 20)), 404, "session_not_found")


sys.exit(run(lambda: None))
