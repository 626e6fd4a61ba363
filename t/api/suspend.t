#!/usr/bin/python3
"""suspend.t: tests suspend, a sleep that freezes, and every call and failure
during it."""
import os
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import (PreviewSocket, Running, age, expose, fetch, generation, passes,
                   state)
from service import (admin, at, call, create, execute, expect, get, job,
                     problem, running, setting, sql, until, value)
from tap import Skip, case, equal, run, true

service.begin("api_workers = 16")  # six that hang are less than half

ME = os.getpid()
COUNTER = """
import os, time
for i in range(1, 10**9):
    with open("/workspace/m", "w") as f:
        f.write(str(i))
    os.rename("/workspace/m", "/workspace/n")
    time.sleep(0.01) # wait: the beat of what is frozen, no limit
"""


def can():
    if setting("CGROUP") == "none":
        raise Skip("no cgroup is delegated: nothing can be frozen")


def suspend(sid):
    s = expect(200, call("POST", at(sid, "/sleep"), {"suspend": True})).json
    equal((s["state"], s["suspended"], s["lease"]["state"]),
          ("asleep", True, "owns_wrapper"), "suspended")
    return s


def moved(pid):
    """Returns how long a process has run, in ticks; 0 when it is gone."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
            rest = f.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(rest[11]) + int(rest[12])


def kill(pid):
    """Kills an init and waits until its memory is gone: the init waits for the
    frozen processes below it, and is no zombie until then."""
    os.kill(pid, signal.SIGKILL)
    until("it is dead", lambda: not service.command_line(pid))


def counter(sid):
    """Starts a process with a number in its memory; returns how to read it."""
    execute(sid, "cat > /tmp/count.py <<'E'\n" + COUNTER + "E\n"
            "python3 /tmp/count.py >/dev/null 2>&1 &")
    return until("it counts", lambda: count(sid) > 0)


def count(sid):
    return int(execute(sid, "cat /workspace/n 2>/dev/null || true") or 0)


# ---- nothing is lost

@case
def ten_suspensions_lose_nothing():
    can()
    sid = create()["id"]
    execute(sid, "cd /tmp; here=kept")
    counter(sid)
    was = 0
    for i in range(10):
        suspend(sid)
        if i % 2:
            expect(200, call("POST", at(sid, "/resume")))
        now = count(sid)  # any call resumes the session
        true(now >= was, "it goes on counting: %d after %d" % (now, was))
        until("it counts", lambda: count(sid) > now)
        was = now
    equal(execute(sid, "echo $here $PWD"), "kept /tmp\n", "the same shell")
    equal(generation(sid), 1, "the same wrapper")
    equal(get(sid)["suspended"], False, "suspended")


@case
def what_is_suspended_does_not_run():
    can()
    sid = create(isolation="session")["id"]
    [pid] = job(sid, "8300.%d" % ME, before="while :; do :; done & ")
    spin = until("something spins", lambda: [
        p for p in service.descendants(service.init_of(pid)) if moved(p) > 20])
    s = suspend(sid)
    equal(s["alive"]["because"], ["suspended"], "because")
    was = [moved(p) for p in spin]
    passes()
    passes()
    equal([moved(p) for p in spin], was, "no time is spent")
    equal(state(sid), ["asleep", "user-interrupt", "owns_wrapper"], "state")
    execute(sid, "true")
    until("it runs on", lambda: [moved(p) for p in spin] != was)


@case
def a_command_that_ran_goes_on_where_it_was():
    can()
    sid = create()["id"]
    work = Running(sid, "n=1; until [ -e /workspace/go ]; do sleep 0.02; done;"
                   " echo $((n + 41))")
    until("it is busy", lambda: get(sid)["busy"])
    suspend(sid)
    expect(200, call("POST", at(sid, "/resume")))
    execute(sid, "touch /workspace/go", sessionId="other")
    equal(work.result().json["stdout"], "42\n", "output")
    equal(generation(sid), 1, "the same wrapper")


@case
def an_open_websocket_goes_on_where_it_was():
    can()
    sid = create(wakeOnPreview=True)["id"]
    host = expose(sid)
    w = PreviewSocket(host)
    w.echo()
    suspend(sid)
    expect(200, call("POST", at(sid, "/resume")))
    equal(w.echo("again"), "again", "the same connection")
    suspend(sid)
    equal(fetch(host).status, 307, "a preview wakes it")
    equal(w.echo("once more"), "once more", "the same connection")
    w.close()


@case
def many_calls_at_once_resume_it_once():
    can()
    sid = create()["id"]
    suspend(sid)
    order = int(value("SELECT suspend_order FROM session WHERE id = :'v1'", sid))
    got = []
    callers = [threading.Thread(target=lambda: got.append(call(
        "GET", at(sid, "/api/ping")).status)) for _ in range(6)]
    for c in callers:
        c.start()
    for c in callers:
        c.join()
    true(set(got) <= {200, 503} and 200 in got, got)
    equal(state(sid)[0], "ready", "state")
    equal(value("SELECT suspend_order FROM session WHERE id = :'v1'", sid),
          str(order + 1), "thawed once")
    equal(generation(sid), 1, "the same wrapper")


# ---- ways to suspend

@case
def an_idle_session_with_suspend_is_frozen():
    can()
    s = create(suspend=True, sleepAfterSeconds=60)
    equal(s["suspend"], True, "suspend")
    counter(s["id"])
    until("nothing is busy", lambda: not get(s["id"])["busy"])
    sql("UPDATE lease SET keep_warm_until = clock_timestamp() WHERE"
        " session_id = :'v1'", s["id"])
    passes()
    equal(state(s["id"]), ["asleep", "idle-timeout", "owns_wrapper"], "state")
    true(get(s["id"])["suspended"], "suspended")
    true(count(s["id"]) > 0, "it goes on")
    equal(generation(s["id"]), 1, "the same wrapper")


@case
def sleep_does_what_the_session_says_unless_told_otherwise():
    can()
    sid = create(suspend=True)["id"]
    equal(expect(200, call("POST", at(sid, "/sleep"))).json["suspended"], True,
          "as the session says")
    equal(expect(200, call("POST", at(sid, "/sleep"))).json["suspended"], True,
          "twice")
    s = expect(200, call("POST", at(sid, "/sleep"), {"suspend": False})).json
    equal((s["state"], s["suspended"], s["lease"]["state"]),
          ("asleep", False, "none"), "stopped, though it was frozen")
    execute(sid, "true")
    equal(generation(sid), 2, "another wrapper")
    expect(200, call("PATCH", at(sid), {"suspend": False}))
    equal(expect(200, call("POST", at(sid, "/sleep"))).json["suspended"], False,
          "as the session says now")
    problem(call("POST", at(sid, "/sleep"), {"suspend": "yes"}), 400,
            "validation_failed", "suspend")


@case
def frozen_time_does_not_count_as_run_time():
    can()
    sid = create(maxRunSeconds=3600)["id"]
    age(sid, 3000)
    suspend(sid)
    sql("UPDATE session SET suspended_at = suspended_at - interval '1 day'"
        " WHERE id = :'v1'", sid)
    execute(sid, "true")
    passes()
    equal(state(sid)[0], "ready", "it has 10 minutes left")
    age(sid, 700)
    passes()
    equal(state(sid), ["asleep", "max_run_time", "none"], "and then none")


# ---- changes meanwhile

@case
def ports_and_env_that_change_meanwhile_hold_when_it_goes_on():
    can()
    sid = create(env={"A": "1"})["id"]
    host = expose(sid)
    w = PreviewSocket(host)
    execute(sid, "/usr/bin/python3 /workspace/app.py 8001 >/dev/null 2>&1 &")
    suspend(sid)
    expect(200, call("PATCH", at(sid), {"env": {"A": "2"}}))
    expect(202, call("DELETE", at(sid, "/ports/8000")))
    url = expect(201, call("POST", at(sid, "/ports"), {"port": 8001})).json["url"]
    expect(200, call("POST", at(sid, "/resume")))
    until("the shell knows", lambda: execute(sid, "echo $A") == "2\n")
    equal(fetch(host).status, 404, "a port that was removed")
    equal(w.closed(), None, "its open connection is cut")
    until("a new port", lambda: fetch(url.split("/")[2]).status == 200)
    equal(generation(sid), 1, "the same wrapper")


# ---- the end of a suspend

@case
def a_suspended_session_can_be_deleted():
    can()
    for isolation in ("session", "shared"):
        sid = create(isolation=isolation)["id"]
        mark = "8301.%d.%s" % (ME, isolation)
        execute(sid, "exec -a %s sleep 1000 & (trap '' TERM; exec -a %s sleep"
                " 1000) &" % (mark, mark))
        until("they run", lambda: len(running(mark)) == 2)
        suspend(sid)
        equal(expect(200, call("DELETE", at(sid))).json["state"], "deleted",
              "state")
        equal(running(mark), [], "nothing runs")


@case
def a_suspended_session_expires():
    can()
    sid = create(expiresAt="2099-01-01T00:00:00Z")["id"]
    suspend(sid)
    sql("UPDATE session SET expires_at = clock_timestamp() WHERE id = :'v1'",
        sid)
    passes()
    equal(state(sid)[0], "deleted", "state")


@case
def a_sibling_never_notices():
    can()
    one, two = create()["id"], create()["id"]
    equal(get(one)["sandboxId"], get(two)["sandboxId"], "one sandbox")
    suspend(one)
    equal(execute(two, "echo here"), "here\n", "output")
    expect(200, call("DELETE", at(one)))
    equal(execute(two, "echo still"), "still\n", "output")


@case
def a_wrapper_that_does_not_go_on_is_replaced():
    can()
    sid = create()["id"]
    execute(sid, "echo kept > /workspace/f")
    [pid] = job(sid, "8302.%d" % ME)
    suspend(sid)
    cell = pid
    while not service.stat(cell)[0].startswith("sandlease-cell"):
        cell = service.stat(cell)[2]
    for p in service.descendants(cell):
        if service.stat(p)[0].startswith("sandlease-wrap"):
            os.kill(p, signal.SIGSTOP)  # the wrapper is thawed, but stays stopped
    until("a call works", lambda: call("POST", at(sid, "/api/execute"), {
        "command": "true"}).status == 200)
    equal(execute(sid, "cat /workspace/f"), "kept\n", "files")
    equal(generation(sid), 2, "another wrapper")
    equal(running("8302.%d" % ME), [], "nothing of the old one")
    told = expect(200, call("GET", at(sid, "/events"))).json["events"]
    equal([(e["what"], e["generation"]) for e in told
           if e["kind"] == "step" and e["reason"]], [("ready", 1)],
          "the step that failed")


@case
def a_sandbox_that_dies_while_it_is_suspended_is_replaced():
    can()
    sid = create(isolation="session")["id"]
    [pid] = job(sid, "8303.%d" % ME)
    init = service.init_of(pid)
    suspend(sid)
    kill(init)
    # the sandbox's sockets may outlive its memory by a moment, in which a call
    # thaws the session
    until("a call works in another wrapper", lambda: call(
        "POST", at(sid, "/api/execute"), {"command": "true"}).status == 200
        and generation(sid) == 2)
    until("nothing of the old one", lambda: running("8303.%d" % ME) == [])


@case
def two_passes_settle_a_sandbox_that_died_while_it_was_suspended():
    can()
    sid = create(isolation="session")["id"]
    mark = "9191.%d" % ME
    init = service.init_of(job(sid, mark)[0])
    suspend(sid)
    kill(init)
    for _ in range(2):
        service.reap()
    until("what was frozen is gone", lambda: not running(mark))
    equal(sql("SELECT b.state, l.state, s.state, s.suspended_at IS NULL FROM"
              " session s JOIN sandbox b ON b.id = s.sandbox_id JOIN lease l"
              " ON l.session_id = s.id WHERE s.id = :'v1'", sid),
          [["stopped", "none", "asleep", "t"]], "the rows know")
    expect(200, call("POST", at(sid, "/resume")))


@case
def a_freeze_that_nobody_finished_is_finished():
    can()
    sid = create()["id"]
    counter(sid)
    suspend(sid)
    sql("UPDATE session SET state = 'sleeping', suspend_deadline ="
        " clock_timestamp() WHERE id = :'v1'", sid)
    passes()
    equal(state(sid)[::2], ["asleep", "owns_wrapper"], "a freeze")
    sql("UPDATE session SET state = 'initializing', suspend_deadline ="
        " clock_timestamp() WHERE id = :'v1'", sid)
    passes()
    equal(state(sid)[::2], ["asleep", "owns_wrapper"], "a thaw")
    true(get(sid)["suspended"], "suspended")
    true(count(sid) > 0, "it goes on")
    equal(generation(sid), 1, "the same wrapper")


@case
def draining_stops_what_is_suspended():
    can()
    sid = create()["id"]
    suspend(sid)
    try:
        admin("drain")
        equal(state(sid), ["asleep", "shutdown", "none"], "state")
        equal(service.cells(), [], "cells")
    finally:
        admin("undrain")
    execute(sid, "true")


# ---- all of it at once

@case
def every_transition_of_all_these_sessions_was_told():
    equal(service.untold(), [], "changes without an event, or without its who,"
          " trace and duration")


sys.exit(run(lambda: None))
