#!/usr/bin/python3
# long: makes sixteen sessions that never get ready
"""shares.t: tests that one org's use of the workers does not affect another org.

The first org attacks; the calls of the second must all be answered while those
of the first are still held.  The test checks this order, not how long a call
takes.
"""
import os
import re
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, create, execute, expect, get, new_key, problem,
                     until)
from tap import case, equal, run, true

WORKERS, READERS = 8, 4
service.begin("api_workers = %d\nread_workers = %d" % (WORKERS, READERS))

SHARE = WORKERS // 2
MANY = 2 * WORKERS


def connected(pool):
    return int(service.value("SELECT count(*) FROM pg_stat_activity"
                             " WHERE application_name = 'sandlease-%s'" % pool))


def rehearsed():
    """Each worker has its connection before its first request, or has said why it
    has none: a database under load may not answer in time."""
    return (connected("api") + connected("read") +
            service.log("api").count('event="rehearse"') >= WORKERS + READERS)


# before the first calls, which would connect them
until("workers are connected before their first request", rehearsed)
ATTACKER, VICTIM = new_key("mallory", "m"), new_key("acme", "a")
HELD = create(key=VICTIM)["id"]


class Asked(threading.Thread):
    """A call in the background; `reply` is set when it has been answered."""

    def __init__(self, *arguments, **more):
        super().__init__(daemon=True)
        self.reply = None
        self.ask = lambda: call(*arguments, **more)
        self.start()

    def run(self):
        self.reply = self.ask()


def pending(calls):
    return sum(c.reply is None for c in calls)


def never_ready(**more):
    """Makes a session that sleeps, and whose next shell will never begin to read
    commands."""
    s = create(key=ATTACKER, env={"BASH_ENV": "/workspace/hang"},
               isolation="session", **more)
    execute(s["id"], "echo 'exec sleep 86400' >/workspace/hang", key=ATTACKER)
    expect(200, call("POST", at(s["id"], "/sleep"), {}, key=ATTACKER))
    return s["id"]


SLEEPERS = [never_ready(wakeOnPreview=True) for _ in range(MANY)]
HOSTS = [expect(201, call("POST", at(sid, "/ports"), {"port": 8080},
                          key=ATTACKER)).json["url"].split("/")[2]
         for sid in SLEEPERS]


def the_victim_works():
    """Makes every kind of call, some often; all must succeed."""
    for _ in range(20):
        expect(200, call("GET", "/v1/sessions", key=VICTIM))
        expect(200, call("GET", "/v1/health", key=VICTIM))
        expect(204, call("GET", "/v1/live", key=""))
        expect(200, call("GET", at(HELD), key=VICTIM))
    for _ in range(3):
        sid = create(key=VICTIM)["id"]
        expect(200, call("POST", at(sid, "/sleep"), {}, key=VICTIM))
        equal(execute(sid, "echo woken", key=VICTIM), "woken\n")
        expect(200, call("DELETE", at(sid), key=VICTIM))


def held(calls, most):
    """Waits until all but a share of the calls are answered, and checks that
    some are still held."""
    until("the calls beyond the share are answered",
          lambda: pending(calls) <= most)
    true(pending(calls) > 0, "some are held")


@case
def calls_that_wait_hold_no_more_than_a_share():
    """Sends as many calls as there are workers: if they held all of them, no
    call would still be held when the victim is served."""
    # wait: as long as calls may be held, and as much again
    calls = [Asked("POST", at(sid, "/resume?wait=60"), {}, key=ATTACKER,
                   timeout=120) for sid in SLEEPERS[:WORKERS]]
    held(calls, SHARE)
    the_victim_works()
    true(pending(calls) > 0, "answered while others were held")
    for c in calls:
        c.join()
        if c.reply.status != 202:  # the answer says when to try again
            true(problem(c.reply, c.reply.status, None)["retryable"],
                 "retryable: %r" % c.reply)
            true(c.reply.header("Retry-After"), "Retry-After")


@case
def visitors_of_previews_count_for_the_org_that_has_them():
    for sid in SLEEPERS:
        until("it is stopped", lambda s=sid: call(
            "POST", at(s, "/sleep"), {}, key=ATTACKER).status == 200)
    over = threading.Event()
    answers = []

    def visit(host):
        while not over.is_set():
            answers.append(call("GET", "/", key="", headers={"Host": host}))

    visitors = [threading.Thread(target=visit, args=[h], daemon=True)
                for h in HOSTS]
    for v in visitors:
        v.start()
    try:
        until("some are refused", lambda: any(
            b"TOO_MANY_AT_ONCE" in a.body for a in answers))
        the_victim_works()
    finally:
        over.set()
    for v in visitors:
        v.join()
    equal({a.status for a in answers}, {503}, "nobody sees more than a 503")
    true(all(a.header("Retry-After") for a in answers), "Retry-After")


@case
def a_wrapper_that_is_stopped_delays_one_GET_not_each():
    before = set(service.wrappers())
    sid = create(key=ATTACKER, isolation="session")["id"]
    (wrapper,) = set(service.wrappers()) - before
    expect(200, call("GET", at(sid), key=ATTACKER))
    os.kill(wrapper, signal.SIGSTOP)
    try:
        seen = len(service.log("api"))
        for _ in range(10):
            expect(200, call("GET", at(sid), key=ATTACKER))
        took = [int(us) for us in re.findall(
            r"GET /v1/sessions/%s 200 (\d+) us" % sid,
            service.log("api")[seen:])]
        asks = [Asked("GET", at(sid), key=ATTACKER) for _ in range(64)]
        the_victim_works()
        for a in asks:
            a.join()
        equal({a.reply.status for a in asks}, {200})
        equal({a.reply.json["state"] for a in asks}, {"ready"})
    finally:
        os.kill(wrapper, signal.SIGCONT)
    equal(len(took), 10, "all are in the log")
    # wait: a vain request to the wrapper takes half a second, and one of the ten
    # calls makes it; a machine on which five more calls take as long fails
    # everywhere else, too
    slow = sum(us >= 500000 for us in took)
    true(slow <= 5, "%d of 10 have waited" % slow)
    until("it is asked again", lambda: execute(
        sid, "echo back", key=ATTACKER) == "back\n")


@case
def a_reader_that_dies_is_not_missed():
    readers = [int(pid) for pid in re.findall(
        r"read worker (\d+) ended", service.log("api"))]
    equal(readers, [], "none has died so far")
    for pid in service.workers():
        os.kill(pid, signal.SIGKILL)
        until("it is dead", lambda p=pid: not service.alive(p))
        expect(200, call("GET", "/v1/health", key=VICTIM))
        until("it is replaced", lambda: len(service.workers()) ==
              WORKERS + READERS + 4 + 2 + 5)


@case
def one_worker_and_two_are_enough():
    for n in (1, 2):
        service.configure(api_workers=n, read_workers=n, auth_workers=n)
        service.restart()
        sid = create(key=VICTIM)["id"]
        many = [Asked("GET", at(sid), key=VICTIM) for _ in range(8)]
        for a in many:
            a.join()
            equal(a.reply.json["state"], "ready")
        expect(200, call("GET", at(sid, "/events?wait=1&after=999999999"),
                         key=VICTIM))
        expect(200, call("POST", at(sid, "/sleep"), {}, key=VICTIM))
        equal(execute(sid, "echo woken", key=VICTIM), "woken\n")
        expect(200, call("DELETE", at(sid), key=VICTIM))


sys.exit(run(lambda: None))
