#!/usr/bin/python3
"""shared.t: tests that sessions with a sandbox in common do not suffer from each
other's end, crash or excess."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, create, execute, expect, get, job, sql, until,
                     value)
from tap import Skip, case, equal, run, true

service.begin()

ME = os.getpid()
# small limits, so that a runaway session here does not slow this machine
sql("UPDATE class SET pids = 160, memory_mb = 512, cpu_millis = 500"
    " WHERE name = 'shared'")
KEY = service.new_key("shared", "u")
MARK = "9201.%d" % ME


def make_due(sid):
    sql("UPDATE lease SET next_attempt_at = clock_timestamp() WHERE"
        " session_id = :'v1' AND state = 'stop_needed'", sid)


def state(sid):
    return sql("SELECT s.state, l.state FROM session s JOIN lease l ON"
               " l.session_id = s.id WHERE s.id = :'v1'", sid)[0]


SIBLING = create(KEY)
JOBS = job(SIBLING["id"], MARK, KEY)
execute(SIBLING["id"], "echo kept >file", KEY)


def another():
    s = create(KEY)
    equal(s["sandboxId"], SIBLING["sandboxId"], "the same sandbox")
    return s["id"]


def the_sibling_never_noticed():
    s = get(SIBLING["id"], KEY)
    equal((s["state"], s["lease"]["state"], s["lease"]["generation"],
           s["lease"]["instance"]),
          ("ready", "owns_wrapper", 1, SIBLING["lease"]["instance"]),
          "the sibling's lease")
    equal(service.running(MARK), JOBS, "the sibling's job")
    equal(execute(SIBLING["id"], "cat file", KEY), "kept\n", "its files")


def cell_of(sid, mark):
    """The first process of a session's cell."""
    pid, = job(sid, mark, KEY)
    while not service.stat(pid)[0].startswith("sandlease-cell"):
        pid = service.stat(pid)[2]
    return pid


def stopped(sid, cell):
    """Puts the session to sleep and checks that no process of it is left."""
    r = call("POST", at(sid, "/sleep"), key=KEY)
    true(r.status in (200, 202), repr(r))
    until("it is asleep", lambda: make_due(sid) or service.reap() and
          state(sid) == ["asleep", "none"])
    true(not service.alive(cell), "its cell is gone")
    the_sibling_never_noticed()
    expect(200, call("DELETE", at(sid), key=KEY))


@case
def one_sessions_stop_never_touches_a_sibling():
    sid = another()
    expect(200, call("POST", at(sid, "/sleep"), key=KEY))
    equal(state(sid), ["asleep", "none"], "it sleeps")
    the_sibling_never_noticed()
    equal(execute(sid, "echo awake", KEY), "awake\n", "and wakes")
    the_sibling_never_noticed()
    expect(200, call("DELETE", at(sid), key=KEY))


@case
def one_sessions_crash_never_touches_a_sibling():
    sid = another()
    os.kill(cell_of(sid, "9202.%d" % ME), signal.SIGKILL)
    until("all in it is gone", lambda: not service.running("9202.%d" % ME))
    the_sibling_never_noticed()
    until("the next call works", lambda: call(
        "POST", at(sid, "/api/execute"), {"command": "true"},
        KEY).status == 200)
    equal(get(sid, KEY)["lease"]["generation"], 2, "in the next generation")
    the_sibling_never_noticed()
    expect(200, call("DELETE", at(sid), key=KEY))


@case
def one_sessions_deletion_never_touches_a_sibling():
    sid = another()
    execute(sid, "echo mine >file", KEY)
    equal(expect(200, call("DELETE", at(sid), key=KEY)).json["state"],
          "deleted", "state")
    the_sibling_never_noticed()


@case
def one_sessions_fork_bomb_never_touches_a_sibling():
    if SIBLING["limits"]["pids"]["by"] != "cgroup":
        raise Skip("without cgroups the processes of a sandbox are one number")
    sid = another()
    cell = cell_of(sid, "9203.%d" % ME)
    # each process forks as often as it may, and all of them stay
    execute(sid, "printf '%s\\n' 'import os, time' 'while True:' ' try:'"
                 # wait: their own beat, no limit
                 " '  os.fork()' ' except OSError:' '  time.sleep(1)'"
                 " >bomb.py; (setsid python3 bomb.py >/dev/null 2>&1 &)",
            KEY)
    until("there are many", lambda: len(service.descendants(cell)) > 30)
    the_sibling_never_noticed()
    stopped(sid, cell)


@case
def one_sessions_memory_hog_never_touches_a_sibling():
    sid = another()
    cell = cell_of(sid, "9204.%d" % ME)
    call("POST", at(sid, "/api/execute"), {
        "command": "(setsid sh -c 'while :; do python3 -c \"x = bytearray(1 <<"
                   " 40)\"; python3 -c \"x = b\\\"a\\\" * (900 << 20)\"; echo"
                   " >>hogged; sleep 0.2; done' >/dev/null 2>&1 &)"}, KEY)
    hogged = os.path.join(service.setting("STACK_STATE"), "data/storage",
                          SIBLING["sandboxId"], sid, "workspace/hogged")
    until("it has had all it gets, twice", lambda: os.path.exists(hogged) and
          os.stat(hogged).st_size >= 2)
    the_sibling_never_noticed()
    stopped(sid, cell)


@case
def one_sessions_cpu_hog_never_touches_a_sibling():
    sid = another()
    cell = cell_of(sid, "9205.%d" % ME)
    execute(sid, "for i in 1 2; do (setsid sh -c 'while :; do :; done'"
                 " >/dev/null 2>&1 &); done", KEY)
    the_sibling_never_noticed()
    stopped(sid, cell)


@case
def an_empty_shared_sandbox_is_retired_after_its_grace():
    box = SIBLING["sandboxId"]
    equal(expect(200, call("DELETE", at(SIBLING["id"]), key=KEY)).json[
        "state"], "deleted", "the last one goes")
    equal(service.running(MARK), [], "with its job")
    service.reap()
    equal(value("SELECT state FROM sandbox WHERE id = :'v1'", box), "running",
          "its grace is not over")
    sql("UPDATE sandbox SET idle_since = idle_since - interval '11 minutes'"
        " WHERE id = :'v1'", box)
    service.reap()
    true(value("SELECT state FROM sandbox WHERE id = :'v1'", box) in
         ("stopped", "absent"), "it is retired")
    equal(service.sandbox_pids(), [], "nothing of it runs")
    sid = create(KEY)["id"]
    equal(get(sid, KEY)["sandboxId"], box, "whoever comes next has it again")
    equal(execute(sid, "echo works", KEY), "works\n", "and it works")


@case
def a_ses_sandbox_is_retired_with_its_session():
    before = service.sandbox_pids()
    s = create(KEY, isolation="session")
    true(s["sandboxId"].startswith("ses-"), "its own")
    true(service.sandbox_pids() != before, "it runs")
    equal(expect(200, call("DELETE", at(s["id"]), key=KEY)).json["state"],
          "deleted", "state")
    equal(service.sandbox_pids(), before, "nothing of it runs")
    equal(value("SELECT state FROM sandbox WHERE id = :'v1'", s["sandboxId"]),
          "absent", "its row")
    true(not os.path.exists(os.path.join(
        service.setting("STACK_STATE"), "data/storage", s["sandboxId"])),
         "its files")


run(lambda: None)
