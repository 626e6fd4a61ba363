#!/usr/bin/python3
"""auth_cache.t: tests that `auth` answers by itself what it has asked before, and never
longer than the right lasts, whatever stops working: the process that hears of
revocations, its connection, the database.

Whether the database was asked shows when a row changes without a word (silently()): the
answer that was kept is the one before."""
import contextlib
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import fetch, passes, state
from service import (admin, at, call, create, execute, expect, new_key, sql,
                     stack, until)
from tap import case, equal, run, true

# One worker, so that an answer that was kept is the answer of the next request; and
# an answer is kept for longer than a test waits.
service.begin("auth_workers = 1\nactivity_write_seconds = 3600")

PORT = 8000
LISTENER = "sandlease-hear"


def silently(text):
    """Changes rows so that no trigger runs and nobody is told."""
    stack("pg_super", "-d", "sandlease", "-c",
          "SET session_replication_role = replica", "-c", text)


class Preview:
    """The address of a port of a session of its own; no app listens there."""

    def __init__(self, **settings):
        self.sid = create(**settings)["id"]
        url = expect(201, call("POST", at(self.sid, "/ports"),
                               {"port": PORT})).json["url"]
        self.host = url.split("/")[2]
        self.visit()  # the first call is written down, and not kept

    def visit(self):
        return fetch(self.host).status

    def admitted(self):
        return self.visit() == 502  # by the relay: nothing listens

    def close_silently(self, closed=True):
        silently("UPDATE port SET closing_at = %s WHERE session_id = '%s'" % (
            "clock_timestamp()" if closed else "NULL", self.sid))

    def is_kept(self):
        """Whether it is still admitted when its row says no; the row is as it was
        afterwards."""
        true(self.admitted(), "it is exposed")
        self.close_silently()
        kept = self.admitted()
        self.close_silently(False)
        return kept

    def must_be_kept(self):
        until("the answer is kept", self.is_kept)


class Command:
    """A session that a key may use."""

    def __init__(self, org="demo"):
        self.key = new_key(org, "u")
        self.sid = create(key=self.key)["id"]
        self.key_id = expect(200, call("GET", "/v1/me", key=self.key)).json["keyId"]
        self.admitted()

    def admitted(self, key=None, method="GET", **headers):
        words = ("POST", at(self.sid, "/api/execute"), {"command": "true"}) \
            if method == "POST" else ("GET", at(self.sid, "/api/ping"), None)
        return call(*words, key or self.key, headers=headers).status == 200

    def is_kept(self):
        true(self.admitted(), "the key counts")
        silently("UPDATE api_key SET revoked_at = clock_timestamp() WHERE id = '%s'" % self.key_id)
        kept = self.admitted()
        silently("UPDATE api_key SET revoked_at = NULL WHERE id = '%s'" % self.key_id)
        return kept

    def must_be_kept(self):
        until("the answer is kept", self.is_kept)


def ends(what, right, how):
    """A right that was kept has ended soon after how() has returned, and stays so."""
    right.must_be_kept()
    how()
    until(what, lambda: not right.admitted())
    for _ in range(20):
        true(not right.admitted(), what + ", for good")


@case
def an_answer_is_given_again_without_the_database():
    Preview().must_be_kept()
    Command().must_be_kept()


@case
def whatever_takes_the_right_away_ends_it():
    p = Preview()
    ends("unexposed", p, lambda: expect(204, call(
        "DELETE", at(p.sid, "/ports/%d" % PORT))))
    p = Preview()
    ends("rotated", p, lambda: expect(200, call(
        "POST", at(p.sid, "/ports/%d/rotate" % PORT), {})))
    p = Preview()
    ends("asleep", p, lambda: expect(200, call("POST", at(p.sid, "/sleep"), {})))
    p = Preview()
    ends("deleted", p, lambda: call("DELETE", at(p.sid)))
    c = Command()
    ends("revoked", c, lambda: admin("key", "revoke", c.key_id))
    c = Command()
    ends("deleted", c, lambda: call("DELETE", at(c.sid), key=c.key))


@case
def a_right_ends_at_its_date_whatever_is_told():
    p = Preview()
    expect(200, call("POST", at(p.sid, "/ports"), {"port": PORT, "expiresInSeconds": 2}))
    until("it has expired", lambda: p.visit() == 404)


@case
def a_new_generation_has_a_new_socket():
    c = Command()
    c.must_be_kept()
    expect(200, call("POST", at(c.sid, "/sleep"), {}, c.key))
    equal(execute(c.sid, "echo woken", key=c.key), "woken\n")
    c.must_be_kept()


# ---- other keys, other tenants


@case
def an_answer_is_for_its_key_and_for_what_the_key_may():
    c = Command()
    reads = new_key("demo", "reader", "--scope", "read")
    other = new_key("elsewhere", "u")
    until("both answers are kept", lambda: c.is_kept() and c.admitted(reads))
    true(not c.admitted(other), "a key of another tenant")
    true(c.admitted(reads), "a key that reads")
    equal(call("POST", at(c.sid, "/api/execute"), {"command": "true"}, reads).status, 403,
          "what it may read is no right to write")
    true(not c.admitted("sl_" + "a" * 52), "a key that is none")


@case
def a_session_is_named_though_the_answer_is_kept():
    c = Command()
    c.must_be_kept()
    true(c.admitted(**{"X-Sandbox-Name": "mine"}), "a call that brings a name")
    equal(service.get(c.sid, c.key)["name"], "mine")


@case
def a_probe_asks_the_database():
    c = Command()
    probe = {"X-Sandlease-Probe": "1"}

    def probed():
        true(c.admitted() and c.admitted(**probe), "the key counts")
        silently("UPDATE api_key SET revoked_at = clock_timestamp() WHERE id = '%s'" % c.key_id)
        seen = c.admitted(**probe), c.admitted()
        silently("UPDATE api_key SET revoked_at = NULL WHERE id = '%s'" % c.key_id)
        true(not seen[0], "a probe")
        return seen[1]

    until("other calls do not", probed)


@case
def one_tenant_that_ends_rights_all_the_time_costs_no_other_its_answers():
    p = Preview()
    stop = threading.Event()
    busy = new_key("busy", "u")
    sid = create(key=busy)["id"]

    def expose_and_close():
        while not stop.is_set():
            call("POST", at(sid, "/ports"), {"port": PORT}, busy)
            call("DELETE", at(sid, "/ports/%d" % PORT), key=busy)

    thread = threading.Thread(target=expose_and_close)
    thread.start()
    try:
        for _ in range(3):
            p.must_be_kept()
    finally:
        stop.set()
        thread.join()


@case
def a_session_that_is_visited_stays_awake():
    p = Preview(sleepAfterSeconds=4)

    def activity():
        return int(sql("SELECT activity_seq FROM session WHERE id = :'v1'", p.sid)[0][0])

    before = activity()
    end = time.monotonic() + 8  # wait: twice as long as it stays awake without visits
    while time.monotonic() < end:
        true(p.admitted(), "it is ready")
    true(activity() >= before + 4, "activity is written about every second")
    passes()
    equal(state(p.sid)[0], "ready")


# ---- nobody hears of revocations


def asks_the_database(right):
    """True once no kept answer is given any more; the row says no meanwhile."""
    right.close_silently()
    until("the database is asked", lambda: right.visit() == 404)
    for _ in range(20):
        equal(right.visit(), 404, "each time")
    right.close_silently(False)


def is_not_remembered(how):
    """What was kept before how() is not given any more when answers are kept again."""
    p, other = Preview(), Preview()
    p.must_be_kept()
    p.close_silently()
    how()
    other.must_be_kept()
    equal(p.visit(), 404, "what was kept is asked again")
    p.close_silently(False)
    p.must_be_kept()


@case
def a_listener_that_was_killed_is_replaced():
    def kill():
        old = service.child(LISTENER)
        os.kill(old, signal.SIGKILL)
        until("it is dead", lambda: not service.alive(old))

    is_not_remembered(kill)


@case
def a_listener_that_hangs_is_noticed():
    p = Preview()
    p.must_be_kept()
    with service.left_alone(LISTENER):
        asks_the_database(p)
        true(not p.is_kept(), "nor is anything kept meanwhile")
        expect(204, call("DELETE", at(p.sid, "/ports/%d" % PORT)))
        equal(p.visit(), 404, "a revocation counts at once")
        q = Preview()
    equal(p.visit(), 404, "and after it goes on")
    q.must_be_kept()


def backend():
    """The pid of PostgreSQL's process for the listener; 0: there is none."""
    return int(sql("SELECT coalesce(max(pid), 0) FROM pg_stat_activity"
                   " WHERE application_name = 'sandlease-listener'")[0][0])


@contextlib.contextmanager
def backend_paused():
    """PostgreSQL's process for the listener hangs."""
    pid = until("the listener is connected", backend)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@case
def a_connection_that_hangs_is_noticed():
    p = Preview()
    p.must_be_kept()
    with backend_paused():
        asks_the_database(p)
    p.must_be_kept()


@case
def a_connection_that_is_lost_is_noticed():
    def cut():
        old = backend()
        sql("SELECT pg_terminate_backend(%d)" % old)
        until("it connects again", lambda: backend() not in (0, old))

    is_not_remembered(cut)


@case
def without_its_triggers_the_database_is_asked():
    p = Preview()
    p.must_be_kept()
    sql("ALTER TABLE port DISABLE TRIGGER auth_port_changed")
    os.kill(service.child(LISTENER), signal.SIGKILL)
    until("the log says why",
          lambda: "does not tell of all revocations" in service.log("api"))
    true(not p.is_kept(), "nothing is kept")
    sql("ALTER TABLE port ENABLE TRIGGER auth_port_changed")
    p.must_be_kept()


@case
def without_a_database_nothing_is_admitted():
    p, c = Preview(), Command()
    p.must_be_kept()
    c.must_be_kept()
    stack("pg_stop")
    until("the visitor is told", lambda: p.visit() == 503)
    until("so is the client", lambda: not c.admitted())
    for _ in range(20):
        equal(p.visit(), 503)
    stack("pg_start")
    until("the database is back", p.admitted)
    p.must_be_kept()


# ---- settings


@case
def it_can_be_switched_off():
    p = Preview()
    service.configure(auth_cache_entries=0)
    service.restart()
    until("it serves", p.admitted)
    for _ in range(3):
        true(not p.is_kept(), "nothing is kept")
    equal([w for w in service.workers() if service.stat(w)[0] == LISTENER], [])
    service.configure(auth_cache_entries=1)
    service.restart()
    until("it serves", p.admitted)
    p.must_be_kept()


sys.exit(run(lambda: None))
