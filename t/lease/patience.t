#!/usr/bin/python3
"""patience.t: tests that a client that does not wait for its answer does no harm,
and that a client that waits gets its answer."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, create, execute, expect, get, in_background, job,
                     problem, sql, until, value)
from tap import case, equal, run, true

service.begin()

ME = os.getpid()


def generation(sid):
    return int(value("SELECT generation FROM lease WHERE session_id = :'v1'",
                     sid))


def lease(sid):
    return value("SELECT state FROM lease WHERE session_id = :'v1'", sid)


def open_stop(sid):
    """Begins a stop as a worker does that then dies."""
    sql("SELECT session_request_stop(:'v1', 'sleep',"
        " '{\"reason\": \"user-interrupt\"}')", sid)
    sql("SELECT FROM session_stop_begin(:'v1',"
        " '{\"attempt\": \"nobody\", \"seconds\": 3600}')", sid)
    equal(lease(sid), "stopping", "a stop is under way")


def end_stop(sid):
    """Makes the stop's deadline over and lets the reaper finish the stop."""
    sql("UPDATE lease SET attempt_deadline = clock_timestamp()"
        " WHERE session_id = :'v1'", sid)

    def settled():
        service.reap()
        sql("UPDATE lease SET next_attempt_at = clock_timestamp() WHERE"
            " session_id = :'v1' AND state = 'stop_needed'", sid)
        return lease(sid) not in ("stopping", "stop_needed")
    until("the stop is settled", settled)


def waits(sid):
    return int(value("SELECT count(*) FROM event_waiter"
                     " WHERE session_id = :'v1'", sid))


def must_wait(reply):
    doc = problem(reply, 409, "lease_busy")
    equal(doc["retryable"], True, "it can be repeated")
    true("being stopped" in doc["detail"], doc["detail"])


# ---- impatience

@case
def a_resume_that_does_not_wait_leaves_a_healthy_session_alone():
    sid = create()["id"]
    execute(sid, "kept=yes; cd /usr")
    for _ in range(3):
        r = expect(200, call("POST", at(sid, "/resume?wait=0"))).json
        equal(r["state"], "ready", "state")
    (wrapper,) = service.wrappers()
    os.kill(wrapper, signal.SIGSTOP)  # so that it surely does not answer in time
    try:
        expect(200, call("POST", at(sid, "/resume?wait=0")))
    finally:
        os.kill(wrapper, signal.SIGCONT)
    equal(generation(sid), 1, "the same wrapper")
    equal(execute(sid, "echo $kept $PWD"), "yes /usr\n", "with its shell")


@case
def nor_does_a_create_that_finds_it():
    sid = create(name="found")["id"]
    for _ in range(3):
        r = expect(200, call("POST", "/v1/sessions?wait=0", {"name": "found"}))
        equal(r.json["id"], sid, "found")
    equal(generation(sid), 1, "the same wrapper")


@case
def creates_that_do_not_wait_are_no_evidence_against_their_sandbox():
    key = service.new_key("hasty", "u")
    old = create(key)
    pids = job(old["id"], "9201.%d" % ME, key)
    ids = [call("POST", "/v1/sessions?wait=0", {}, key=key).json["id"]
           for _ in range(6)]
    for sid in ids:
        until("it is ready", lambda: get(sid, key)["state"] == "ready")
    equal(service.running("9201.%d" % ME), pids, "who was there lives on")
    equal(get(old["id"], key)["sandboxId"], old["sandboxId"], "in its sandbox")
    equal(value("SELECT count(*) FROM event WHERE what = 'sandbox_destroyed'"),
          "0", "nobody was condemned")


def unwaited():
    return expect(202, call("POST", "/v1/sessions?wait=0",
                            {"isolation": "session"})).json["id"]


def state_in_the_row(sid):
    return value("SELECT state FROM session WHERE id = :'v1'", sid)


@case
def a_worker_goes_on_with_the_start_that_it_has_answered():
    with service.starts_left_alone():
        sid = unwaited()
        until("it is ready", lambda: state_in_the_row(sid) == "ready")
    equal(generation(sid), 1, "its first start")


@case
def if_it_dies_then_the_start_is_finished_without_it():
    sid = unwaited()
    for pid in service.named(service.workers(), "sandlease-api"):
        os.kill(pid, signal.SIGKILL)
    until("it is ready", lambda: state_in_the_row(sid) == "ready")
    until("there are workers again",
          lambda: call("GET", at(sid)).status == 200)
    equal(execute(sid, "echo hello"), "hello\n", "it works")


# ---- patience

@case
def a_resume_during_a_stop_waits_and_starts_the_next_generation():
    sid = create(isolation="session")["id"]
    open_stop(sid)
    c = in_background("POST", at(sid, "/resume?wait=60"))
    until("it waits", lambda: waits(sid))
    end_stop(sid)
    r = expect(200, c.join()).json
    equal((r["state"], generation(sid), waits(sid)), ("ready", 2, 0), "ready")


@case
def so_does_a_create_that_finds_the_session():
    sid = create(isolation="session", name="slow")["id"]
    open_stop(sid)
    c = in_background("POST", "/v1/sessions?wait=60", {"name": "slow"})
    until("it waits", lambda: waits(sid))
    end_stop(sid)
    r = expect(200, c.join()).json
    equal((r["id"], r["state"], generation(sid)), (sid, "ready", 2), "ready")


@case
def what_is_not_waited_for_is_refused_and_can_be_repeated():
    sid = create(isolation="session", name="later")["id"]
    open_stop(sid)
    must_wait(call("POST", at(sid, "/resume?wait=0")))
    again = {"Idempotency-Key": "later.%d" % ME}
    must_wait(call("POST", "/v1/sessions?wait=0", {"name": "later"},
                   headers=again))
    end_stop(sid)
    equal(get(sid)["state"], "asleep", "nobody has promised anything")
    r = expect(200, call("POST", "/v1/sessions?wait=60", {"name": "later"},
                         headers=again))
    equal((r.json["state"], r.header("Idempotency-Replayed")), ("ready", None),
          "the repetition is no replay")


@case
def a_stop_that_is_due_takes_no_longer_than_the_caller_waits():
    service.configure(discovery_seconds=60)  # the time of an unbounded attempt
    service.restart()
    sid = create(isolation="session")["id"]
    init = service.init_of(job(sid, "9320.%d" % ME)[0])
    sql("SELECT session_request_stop(:'v1', 'sleep',"
        " '{\"reason\": \"user-interrupt\"}')", sid)
    os.kill(init, signal.SIGSTOP)
    try:
        for wait in (0, 2):
            began = time.monotonic()
            must_wait(call("POST", at(sid, "/resume?wait=%d" % wait)))
            took = time.monotonic() - began
            # wait: without the bound it is a minute, and with it two seconds
            true(took < 30, "wait=%d took %.1f s" % (wait, took))
        equal(value("SELECT state || ' ' || attempts FROM lease WHERE"
                    " session_id = :'v1'", sid), "stop_needed 0",
              "haste is not an attempt that failed")
    finally:
        os.kill(init, signal.SIGCONT)
        service.configure(discovery_seconds=10)
        service.restart()
    equal(expect(200, call("POST", at(sid, "/resume?wait=50"))).json["state"],
          "ready", "an init that answers is stopped and started again")
    equal(generation(sid), 2, "the next generation")


sys.exit(run(lambda: None))
