#!/usr/bin/python3
"""revoke.t: tests that connections of a revoked key end at once, in any session of its
tenant, and that connections of others go on or can be opened again."""
import http.client
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import APP, PreviewSocket, fetch, passes, state, wrapper_of
from service import (admin, at, call, create, execute, expect, job, new_key,
                     problem, sql, until)
from tap import case, equal, run, true
from websocket import WebSocket

service.begin()

PORT = 8000


def key_of(user, org="demo"):
    """Returns a key and its id."""
    key = new_key(org, user)
    return key, expect(200, call("GET", "/v1/me", key=key)).json["keyId"]


def serve(sid, key=None):
    """Starts the app in the session; returns the host name of its preview."""
    expect(200, call("POST", at(sid, "/api/write"),
                     {"path": "/workspace/app.py", "content": APP}, key))
    execute(sid, "/usr/bin/python3 /workspace/app.py %d >/dev/null 2>&1 &"
            % PORT, key)
    url = expect(201, call("POST", at(sid, "/ports"), {"port": PORT},
                           key)).json["url"]
    host = url.split("/")[2]
    until("the app listens", lambda: fetch(host).status == 200)
    return host


class Answer:
    """An answer that does not end by itself."""

    def __init__(self, method, path, key, body=None):
        # wait: PATIENCE without a byte is a hang
        self.conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                               timeout=service.PATIENCE)
        self.conn.request(method, path, body and json.dumps(body),
                          {"Authorization": "Bearer " + key,
                           "Content-Type": "application/json"})
        self.answer = self.conn.getresponse()
        equal(self.answer.status, 200, path)
        self.got = b""

    def until(self, text):
        """Reads on until the text has come."""
        while text not in self.got:
            more = self.answer.read1(4096)
            if not more:
                raise AssertionError("it ended after %r" % self.got)
            self.got += more

    def end(self):
        """Returns the whole answer, once it has ended."""
        try:
            # no clock: an answer that goes on has 600 pieces, on any machine
            for _ in range(600):
                more = self.answer.read1(65536)
                if not more:
                    return self.got
                self.got += more
        except (http.client.IncompleteRead, ConnectionError):
            return self.got
        raise AssertionError("it goes on: %r" % self.got[-100:])

    def close(self):
        self.answer.close()
        self.conn.close()


def ticking(sid, key, mark):
    """Opens a stream that sends an event again and again."""
    return Answer("POST", at(sid, "/api/execute/stream"), key, {
        "command": "while :; do echo %s; sleep 0.1; done" % mark})


def slow(sid, key):
    a = Answer("GET", at(sid, "/proxy/%d/slow" % PORT), key)
    execute(sid, "echo >> /workspace/tick", key)
    a.until(b"tick\n")
    return a


@case
def what_a_revoked_key_opened_in_any_session_of_its_tenant_ends():
    key, kid = key_of("leaves")
    other, _ = key_of("stays")
    sid = create(key=other)["id"]  # the other key makes the session
    serve(sid, other)
    stream, proxied = ticking(sid, key, "one"), slow(sid, key)
    stream.until(b"one")
    theirs = ticking(sid, other, "two")
    theirs.until(b"two")
    socket = WebSocket(("127.0.0.1", service.port()), at(sid, "/ws"),
                       {"Authorization": "Bearer " + key})
    admin("key", "revoke", kid)
    words = stream.end()
    true(b"UNAUTHORIZED" in words, "the stream says why: %r" % words[-300:])
    proxied.end()
    equal(socket.closed(), 1001, "the WebSocket")
    theirs.got = b""
    theirs.until(b"two")  # the stream of another key goes on
    theirs.close()
    expect(200, call("GET", at(sid, "/proxy/%d/" % PORT), key=other))
    equal(call("GET", at(sid, "/proxy/%d/" % PORT), key=key).status, 401,
          "with the revoked one nothing begins")


class HalfSent:
    """A command whose body comes in two halves."""

    def __init__(self, sid, key, mark):
        self.body = json.dumps({"command": "echo ran > /workspace/" + mark}).encode()
        # wait: PATIENCE without a byte is a hang
        self.conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                               timeout=service.PATIENCE)
        self.conn.putrequest("POST", at(sid, "/api/execute"))
        self.conn.putheader("Authorization", "Bearer " + key)
        self.conn.putheader("Content-Type", "application/json")
        self.conn.putheader("Content-Length", str(len(self.body)))
        self.conn.endheaders(self.body[:10])

    def finish(self):
        self.conn.send(self.body[10:])
        answer = self.conn.getresponse()
        text = answer.read()
        self.conn.close()
        return answer.status, text


def opened(fds):
    """The sockets that a process has open."""
    found = set()
    for name in os.listdir(fds):
        try:
            found.add(os.readlink(os.path.join(fds, name)))
        except OSError:
            pass  # closed meanwhile
    return {f for f in found if f.startswith("socket:")}


@case
def a_command_that_was_half_sent_does_not_run():
    key, kid = key_of("leaves-halfway")
    other, _ = key_of("stays-there")
    sid = create(key=other)["id"]
    fds = "/proc/%d/fd" % wrapper_of(job(sid, "8602.%d" % os.getpid(),
                                         key=other)[0])
    before = opened(fds)
    half = HalfSent(sid, key, "half")
    until("the session has the first half", lambda: opened(fds) - before)
    admin("key", "revoke", kid)
    status, text = half.finish()
    equal(status, 503, "the rest comes too late: %r" % text)
    equal(HalfSent(sid, other, "later").finish()[0], 200, "the next one runs")
    equal(execute(sid, "ls /workspace", other), "later\n",
          "the first did not")


@case
def previews_of_its_own_sessions_end_and_their_URLs_stay():
    key, kid = key_of("shows")
    sid = create(key=key)["id"]
    host = serve(sid, key)
    socket = PreviewSocket(host)
    equal(socket.echo(), "hello", "it is open")
    admin("key", "revoke", kid)
    socket.closed()  # waits until the connection is closed
    equal(fetch(host).status, 200, "the URL is its tenant's")


@case
def another_tenant_notices_nothing():
    key, kid = key_of("leaves-too")
    create(key=key)
    theirs, _ = key_of("mallory", "elsewhere")
    sid = create(key=theirs)["id"]
    host = serve(sid, theirs)
    socket, proxied = PreviewSocket(host), slow(sid, theirs)
    stream = ticking(sid, theirs, "three")
    stream.until(b"three")
    admin("key", "revoke", kid)
    equal(socket.echo("still"), "still", "a preview")
    execute(sid, "echo >> /workspace/tick", theirs)
    proxied.got = b""
    proxied.until(b"tick\n")
    stream.got = b""
    stream.until(b"three")
    for one in (proxied, stream):
        one.close()
    equal(sql("SELECT count(*) FROM port WHERE session_id = :'v1' AND cut",
              sid), [["0"]], "nothing was asked of it")


@case
def what_could_not_be_told_at_once_is_told_by_a_pass():
    key, kid = key_of("hides")
    other, _ = key_of("looks")
    sid = create(key=other)["id"]
    serve(sid, other)
    wrapper = wrapper_of(job(sid, "8600.%d" % os.getpid(), key=other)[0])
    proxied = slow(sid, key)
    os.kill(wrapper, signal.SIGSTOP)
    try:
        admin("key", "revoke", kid)
    finally:
        os.kill(wrapper, signal.SIGCONT)
    passes()
    proxied.end()
    equal(sql("SELECT pending, cut FROM port WHERE session_id = :'v1'", sid),
          [["f", "f"]], "and it is noted that it was")
    equal(state(sid)[0], "ready", "the session goes on")
    expect(200, call("GET", at(sid, "/proxy/%d/" % PORT), key=other))


@case
def who_stands_still_keeps_nothing_that_a_key_opened():
    key, kid = key_of("freezes")
    other, _ = key_of("wakes")
    sid = create(key=other, keepAlive=True)["id"]
    wrapper = wrapper_of(job(sid, "8601.%d" % os.getpid(), key=other)[0])
    socket = WebSocket(("127.0.0.1", service.port()), at(sid, "/ws"),
                       {"Authorization": "Bearer " + key})
    os.kill(wrapper, signal.SIGSTOP)
    admin("key", "revoke", kid)
    passes()
    equal(state(sid)[0], "ready", "one silence is no reason")
    passes()
    passes()
    equal(state(sid)[0], "asleep", "it is stopped")
    socket.closed()  # connections that were open have ended
    equal(execute(sid, "echo again", other), "again\n", "others wake it")


@case
def an_expired_key_ends_its_streams_too():
    key, kid = key_of("ends")
    sid = create()["id"]
    stream = ticking(sid, key, "four")
    stream.until(b"four")
    sql("UPDATE api_key SET expires_at = clock_timestamp() WHERE id = :'v1'",
        kid)
    true(b"UNAUTHORIZED" in stream.end(), "it says why")


@case
def who_asks_about_keys_and_hangs_is_replaced():
    key, kid = key_of("hangs")
    sid = create()["id"]
    stream = ticking(sid, key, "five")
    stream.until(b"five")
    askers = until("somebody asks", lambda: [
        q for p in service.named(service.workers(), "sandlease-strm")
        for q in service.named(service.children(p), "sandlease-keys")])
    for pid in askers:
        os.kill(pid, signal.SIGSTOP)
    try:
        admin("key", "revoke", kid)
        true(b"UNAUTHORIZED" in stream.end(), "it says why")
    finally:
        for pid in askers:
            os.kill(pid, signal.SIGCONT)
    # a process of another pool may have no key to ask about, and keeps its asker
    until("the one that was asked has left", lambda: not all(map(service.alive, askers)))


@case
def who_waits_for_events_with_a_key_that_ends_is_told_nothing():
    key, kid = key_of("waits")
    sid = create()["id"]
    last = expect(200, call("GET", at(sid, "/events?limit=1000"))).json["next"]
    waiting = http.client.HTTPConnection("127.0.0.1", service.port(),
                                         timeout=service.PATIENCE)
    waiting.request("GET", at(sid, "/events?wait=30&after=%d" % last),
                    headers={"Authorization": "Bearer " + key})
    until("it waits", lambda: service.value(
        "SELECT count(*) FROM event_waiter WHERE session_id = :'v1'", sid) == "1")
    admin("key", "revoke", kid)
    expect(200, call("POST", at(sid, "/sleep")))
    r = waiting.getresponse()
    equal(r.status, 401, "status, with %r" % r.read())
    problem(call("GET", at(sid, "/events"), key=key), 401, "unauthorized")


sys.exit(run(lambda: None))
