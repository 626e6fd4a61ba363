#!/usr/bin/python3
"""ports.t: tests that a closed port stays closed, that a port that lost its relay
gets it back, and that a stopped wrapper evades neither."""
import glob
import os
import signal
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import PreviewSocket, expose, fetch, passes, state, wrapper_of
from service import (at, call, create, expect, get, job, reap, setting, sql,
                     until, value)
from tap import case, equal, run, true

service.begin()

ME = os.getpid()


class Stopped:
    """Stops the session's wrapper for a `with`."""

    def __init__(self, sid, mark):
        self.pid = wrapper_of(job(sid, "%s.%d" % (mark, ME))[0])

    def __enter__(self):
        os.kill(self.pid, signal.SIGSTOP)

    def __exit__(self, *_):
        if service.alive(self.pid):
            os.kill(self.pid, signal.SIGCONT)


def ports(sid):
    return {p["port"]: p["status"]
            for p in expect(200, call("GET", at(sid, "/ports"))).json["ports"]}


def unexpose(sid, port=8000):
    return call("DELETE", at(sid, "/ports/%d" % port)).status


def sockets(sid):
    """The sockets of the session's relays."""
    return glob.glob(os.path.join(setting("STACK_RUN"),
                                  "run/s/%s.[0-9]*.[0-9]*.sock" % sid))


# ---- closing

@case
def a_port_that_cannot_be_closed_yet_says_so_and_lets_nobody_in():
    sid = create()["id"]
    host = expose(sid)
    visitor = PreviewSocket(host)
    equal(visitor.echo(), "hello", "it is open")
    with Stopped(sid, "8701"):
        equal(unexpose(sid), 202, "not yet")
        equal(ports(sid), {8000: "closing"}, "it is shown")
        equal(fetch(host).status, 404, "nobody is let in")
        equal(call("GET", at(sid, "/proxy/8000/")).status, 404, "by no way")
        equal(unexpose(sid), 202, "nor the second time")
    passes()
    equal(ports(sid), {}, "a pass has closed it")
    visitor.closed()  # the connection ended with the port
    equal(unexpose(sid), 404, "and it is over")
    equal(fetch(host).status, 404, "for good")


@case
def a_wrapper_that_stands_still_is_asked_once_in_a_pass_whatever_it_has_to_close():
    ids = [create()["id"], create()["id"]]
    for sid in ids:
        for port in (8000, 8001, 8002):
            expect(201, call("POST", at(sid, "/ports"), {"port": port}))
    with Stopped(ids[0], "8707"), Stopped(ids[1], "8708"):
        sql("UPDATE port SET closing_at = clock_timestamp(), pending = true,"
            " change_order = nextval('port_order')")
        for n in (1, 2, 3):
            told = service.run("sandlease-reaper").stderr
            equal(told.count(b'event="ports"'), 2, "pass %d: %r" % (n, told))
    passes()
    equal([ports(sid) for sid in ids], [{}, {}], "when they go on all are closed")


@case
def what_is_closing_can_be_exposed_and_is_another_one():
    sid = create()["id"]
    host = expose(sid)
    visitor = PreviewSocket(host)
    equal(visitor.echo(), "hello", "it is open")
    with Stopped(sid, "8702"):
        equal(unexpose(sid), 202, "closing")
    r = expect(201, call("POST", at(sid, "/ports"), {"port": 8000}))
    new = r.json["url"].split("/")[2]
    true(new != host, "another URL")
    equal((fetch(host).status, fetch(new).status), (404, 200), "old and new")
    visitor.closed()  # the connection ended with the old relay
    passes()
    equal((ports(sid), fetch(new).status), ({8000: "active"}, 200),
          "and it stays so")


@case
def an_expired_port_ends_what_is_open_even_if_that_takes_a_while():
    sid = create()["id"]
    host = expose(sid)
    visitor = PreviewSocket(host)
    equal(visitor.echo(), "hello", "it is open")
    sql("UPDATE port SET expires_at = clock_timestamp()"
        " WHERE session_id = :'v1'", sid)
    with Stopped(sid, "8703"):
        equal(reap()[0], 1, "the pass that could not tell it")
        equal(fetch(host).status, 404, "nobody is let in")
        equal(ports(sid), {8000: "closing"}, "it is not forgotten")
    passes()
    visitor.closed()  # closed
    equal(ports(sid), {}, "over")


@case
def a_port_of_a_sleeping_session_is_closed_at_once():
    sid = create()["id"]
    expose(sid)
    expect(200, call("POST", at(sid, "/sleep")))
    equal((unexpose(sid), ports(sid)), (204, {}), "closed")


@case
def a_suspended_session_closes_it_when_it_goes_on():
    sid = create(suspend=True)["id"]
    host = expose(sid)
    expect(200, call("POST", at(sid, "/sleep")))
    if not get(sid)["suspended"]:
        return
    equal(unexpose(sid), 202, "it cannot confirm")
    passes()
    equal(ports(sid), {8000: "closing"}, "nor in a pass")
    expect(200, call("POST", at(sid, "/resume")))
    equal((ports(sid), fetch(host).status), ({}, 404), "when it goes on")


# ---- lost relays

@case
def a_visitor_who_finds_the_relay_dead_has_it_repaired():
    sid = create()["id"]
    host = expose(sid)
    for _ in range(2):
        for s in sockets(sid):
            os.unlink(s)
        equal(fetch(host).status, 503, "not now")
        equal(fetch(host).status, 200, "but the next time")
    for s in sockets(sid):
        os.unlink(s)
    equal(call("GET", at(sid, "/proxy/8000/")).status, 503, "with a key, too")
    equal(call("GET", at(sid, "/proxy/8000/")).status, 200, "the next time")
    equal(get(sid)["lease"]["generation"], 1, "the same wrapper")


@case
def so_has_one_who_finds_a_socket_on_which_nobody_listens():
    sid = create()["id"]
    host = expose(sid)
    (path,) = sockets(sid)
    os.unlink(path)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(path)
    os.chmod(path, 0o666)
    equal(fetch(host).status, 503, "not now")
    equal(fetch(host).status, 200, "but the next time")
    equal(get(sid)["lease"]["generation"], 1, "the same wrapper")


@case
def a_lost_relay_is_repaired_by_a_resume_and_by_a_pass():
    sid = create()["id"]
    host = expose(sid)
    for repair in (lambda: expect(200, call("POST", at(sid, "/resume"))),
                   passes):
        for s in sockets(sid):
            os.unlink(s)
        repair()
        equal(fetch(host).status, 200, "it works")
    equal(get(sid)["lease"]["generation"], 1, "the same wrapper")


# ---- a wrapper that stands still

@case
def to_stop_ones_own_wrapper_does_not_evade_sleep():
    sid = create(isolation="session")["id"]
    other = create()["id"]
    with Stopped(sid, "8704"):
        sql("UPDATE lease SET keep_warm_until = clock_timestamp()"
            " WHERE session_id = :'v1'", sid)
        equal(passes()["slept"], 0, "silent once")
        equal(state(sid)[0], "ready", "which proves nothing")
        equal(passes()["slept"], 1, "silent twice")
    equal(state(sid), ["asleep", "unhealthy-wrapper", "none"], "it sleeps")
    equal(state(other)[0], "ready", "the other does not")
    equal(value("SELECT count(*) FROM sighting"), "1", "noted until")
    passes()
    equal(value("SELECT count(*) FROM sighting"), "0", "the next pass")
    until("it wakes", lambda: call("GET", at(sid, "/api/ping")).status == 200)


sys.exit(run(lambda: None))
