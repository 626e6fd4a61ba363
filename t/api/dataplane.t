#!/usr/bin/python3
"""dataplane.t: tests calls that nginx passes straight to a session's wrapper."""
import http.client
import json
import os
import select
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, container_error, create, execute, expect, get,
                     setting, sql, until)
from tap import case, equal, run, true

service.begin()

SID = create(isolation="session")["id"]
ME = os.getpid()


class Stream:
    """An open api/execute/stream; returns events as they come."""

    def __init__(self, sid, command, **more):
        self.conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                               timeout=service.PATIENCE)
        self.conn.request(
            "POST", at(sid, "/api/execute/stream"),
            json.dumps(dict(more, command=command, cwd="/workspace")),
            {"Authorization": "Bearer " + setting("SANDLEASE_API_KEY"),
             "Content-Type": "application/json"})
        self.answer = self.conn.getresponse()

    def line(self):
        return self.answer.readline().decode().rstrip("\n")

    def event(self):
        """Returns the next event; None at the end of the stream."""
        end = time.monotonic() + service.PATIENCE
        while time.monotonic() < end:
            raw = self.answer.readline()
            if raw == b"":
                return None
            if raw.startswith(b"data: "):
                return json.loads(raw[len("data: "):])
        raise AssertionError("only heartbeats")

    def rest(self):
        events = []
        while (event := self.event()) is not None:
            events.append(event)
        return events

    def close(self):
        # closes the socket itself: http.client would keep it for the answer
        self.answer.close()
        self.conn.close()


def read(path, sid=None):
    return call("POST", at(sid or SID, "/api/read"), {"path": path})


# ---- small calls

@case
def ping_and_version():
    r = expect(200, call("GET", at(SID, "/api/ping")))
    equal(r.json["message"], "pong", "message")
    true(r.json["success"] is True and r.json["timestamp"], repr(r))
    r = expect(200, call("GET", at(SID, "/api/version")))
    with open(os.path.join(service.TOP, "configure.ac"),
              encoding="utf-8") as f:
        true('[%s]' % r.json["version"] in f.read(), repr(r))
    expect(200, call("GET", at(SID, "/")))


@case
def large_output_arrives_whole():
    r = execute(SID, "head -c 5000000 /dev/zero | tr '\\0' x")
    true(r == "x" * 5000000, "%d bytes" % len(r))


@case
def a_large_file_is_written_and_read():
    text = os.urandom(2500000).hex()
    expect(200, call("POST", at(SID, "/api/write"),
                     {"path": "/workspace/big", "content": text}))
    true(expect(200, read("/workspace/big")).json["content"] == text, "same")
    r = call("POST", at(SID, "/api/write"), b"x" * (70 << 20))
    true(r.status in (400, 413), "a body beyond the limit: %d" % r.status)


# ---- ends of commands

# ---- streams

@case
def a_stream_arrives_line_by_line():
    s = Stream(SID, "rm -f go1 go2; echo one; until [ -e go1 ]; do sleep 0.05;"
                    " done; echo two >&2; until [ -e go2 ]; do sleep 0.05;"
                    " done; (exit 4)")
    equal(s.answer.getheader("Content-Type").split(";")[0],
          "text/event-stream", "type")
    equal(s.event()["type"], "start", "first")
    # the test reads each event before the command may go on
    e = s.event()
    equal((e["type"], e["data"]), ("stdout", "one\n"), "second")
    expect(200, call("POST", at(SID, "/api/write"),
                     {"path": "/workspace/go1", "content": ""}))
    e = s.event()
    equal((e["type"], e["data"]), ("stderr", "two\n"), "third")
    expect(200, call("POST", at(SID, "/api/write"),
                     {"path": "/workspace/go2", "content": ""}))
    e = s.event()
    equal((e["type"], e["exitCode"]), ("complete", 4), "last")
    equal(s.event(), None, "the end")


@case
def a_client_that_goes_away_ends_the_stream_not_the_command():
    s = Stream(SID, "rm -f done1; n=0; while [ ! -e stop1 ]; do"
                    " echo $((n += 1)); sleep 0.05; done; echo ended >done1")
    equal(s.event()["type"], "start", "first")
    s.event()
    s.close()
    true(get(SID)["busy"], "the command still runs")
    execute(SID, "touch /workspace/stop1")
    until("it ended by itself", lambda: read("/workspace/done1").status == 200)
    until("nothing is busy", lambda: not get(SID)["busy"])


@case
def a_client_that_goes_away_during_execute_does_not_end_it():
    body = json.dumps({"command": "echo x >/workspace/runs2;"
                                  " until [ -e /workspace/left ]; do sleep 0.05;"
                                  " done; echo x >/workspace/done2",
                       "sessionId": "left-alone"})
    with socket.create_connection(("127.0.0.1", service.port())) as c:
        c.sendall(("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                   "Content-Length: %d\r\n\r\n%s" % (
                       at(SID, "/api/execute"), setting("SANDLEASE_API_KEY"),
                       len(body), body)).encode())
        until("it runs", lambda: read("/workspace/runs2").status == 200)
        true(get(SID)["busy"], "it counts")
    execute(SID, "touch /workspace/left")
    until("it ended", lambda: read("/workspace/done2").status == 200)


# ---- bodies that are cut off

@case
def a_body_cut_off_is_never_taken_as_complete():
    body = json.dumps({"path": "/workspace/cut", "content": "y" * 200000})
    for name, head, sent in (
            ("length", "Content-Length: %d\r\n\r\n" % len(body),
             body[:100000]),
            # the JSON is whole and valid; only the last chunk is missing
            ("chunked", "Transfer-Encoding: chunked\r\n\r\n",
             "%x\r\n%s\r\n" % (len(body), body))):
        with socket.create_connection(("127.0.0.1", service.port())) as c:
            c.sendall(("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer"
                       " %s\r\n%s%s" % (at(SID, "/api/write"),
                                        setting("SANDLEASE_API_KEY"), head,
                                        sent)).encode())
            # wait: 0.3 s for nginx to pass on the body; a shorter wait makes the
            # test weaker, never red
            time.sleep(0.3)
        # the same wrapper answers later calls: it has seen the end by then
        for _ in range(5):
            # wait: 0.05 s in the command; a shorter wait makes the test weaker,
            # never red
            execute(SID, "sleep 0.05")
        container_error(read("/workspace/cut"), 404, "FILE_NOT_FOUND")
        equal(execute(SID, "ls -A /workspace | grep -c cut || true"), "0\n",
              "%s: no temporary file either" % name)


@case
def a_chunked_body_is_read_to_its_end():
    def pieces():
        yield b'{"path": "/workspace/chunked", '
        yield b'"content": "' + b"z" * 100000
        yield b'"}'
    conn = http.client.HTTPConnection("127.0.0.1", service.port())
    conn.request("POST", at(SID, "/api/write"), pieces(),
                 {"Authorization": "Bearer " + setting("SANDLEASE_API_KEY")},
                 encode_chunked=True)
    equal(conn.getresponse().status, 200, "status")
    equal(execute(SID, "wc -c </workspace/chunked"), "100000\n", "size")


# ---- which session a path names

@case
def a_path_that_leads_elsewhere_is_refused():
    other = create()["id"]
    for path in (at(other, "/api/%2e%2e/%2e%2e/") + SID + "/api/ping",
                 at(other, "/api/../../") + SID + "/api/ping",
                 at(SID, "/../") + other + "/api/ping",
                 "/x/.." + at(SID, "/api/ping"),
                 "/v1//sessions/" + SID + "/api/ping",
                 "/v1/sessions/%s%%2fapi/ping" % SID,
                 "/v1/sessions/%s/api/ping" % SID.upper(),
                 "/v1/sessions/%%%02x%s/api/ping" % (ord(SID[0]), SID[1:])):
        r = call("GET", path)
        true(400 <= r.status < 500, "%s: %r" % (path, r))


@case
def what_is_not_there_is_404_in_the_containers_dress():
    container_error(call("GET", at("a" * 20, "/api/ping")), 404,
                    "SESSION_NOT_FOUND")
    container_error(call("GET", at("short", "/api/ping")), 404,
                    "SESSION_NOT_FOUND")
    r = call("GET", at(SID, "/api/nothing"))
    equal((r.status, set(r.json) >= {"code", "message", "context",
                                     "httpStatus", "timestamp"}),
          (404, True), "an unknown route")
    r = expect(405, call("GET", at(SID, "/api/execute")))
    equal(r.header("Allow"), "POST", "Allow")
    container_error(call("GET", at(SID, "/api/ping"), key=""), 401,
                    "UNAUTHORIZED")


@case
def bad_bodies_are_400_and_name_the_field():
    # t/agent/execute.t tests the rules of every field
    for path, body, field in (("/api/execute", b"{", None),
                              ("/api/execute", {}, "command"),
                              ("/api/execute/stream", {}, "command")):
        r = call("POST", at(SID, path), body)
        doc = container_error(r, 400, r.json.get("code"))
        if field is not None:
            equal([e["field"] for e in doc["context"]["validationErrors"]],
                  [field], "%s %r" % (path, body))


@case
def a_connection_that_may_be_used_again_can_be():
    """Sends the body late; the connection can be used again whatever the answer
    was."""
    for rest, why in ((at("a" * 20, "/api/execute"), "nobody's session"),
                      (at(SID, "/api/nothing"), "no such route"),
                      (at(SID, "/api/execute"), "a bad body")):
        head = ("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
                "Authorization: Bearer %s\r\n\r\n" % (
                    rest, setting("SANDLEASE_API_KEY"))).encode()
        with socket.create_connection(("127.0.0.1", service.port()),
                                      timeout=service.PATIENCE) as s:
            s.sendall(head)
            # wait: 0.3 s for an answer before the body; no answer is right, too
            select.select([s], [], [], 0.3)
            s.sendall(b"nope")
            first = http.client.HTTPResponse(s, method="POST")
            first.begin()
            first.read()
            if first.getheader("Connection") == "close":
                continue
            s.sendall(head + b"nope")
            again = http.client.HTTPResponse(s, method="POST")
            again.begin()
            equal(again.status, first.status, why)


# ---- the wrapper dies

@case
def a_dead_wrapper_is_replaced():
    sid = create(isolation="session")["id"]
    execute(sid, "echo kept >f")
    # the wrapper has the request, so the client must not repeat it
    r = call("POST", at(sid, "/api/execute"), {"command": "kill -9 $PPID"})
    expect(500, r)
    true(not r.json["context"].get("retryable"), repr(r))
    equal(r.header("Retry-After"), None, "Retry-After")
    # the kernel closes the socket on which it listens after that connection
    r = until("it is gone", lambda: [r for r in [call("GET", at(sid, "/api/ping"))]
                                     if r.status != 500])[0]
    doc = container_error(r, 503, "CONTAINER_UNAVAILABLE")
    equal((doc["context"]["reason"], doc["context"]["retryable"]),
          ("container_replaced", True), "context")
    true(r.header("Retry-After"), "Retry-After")
    equal(execute(sid, "cat f"), "kept\n", "the next call works")
    s = get(sid)
    equal((s["state"], s["lease"]["generation"]), ("ready", 2), "generation")
    died = sql("SELECT generation, detail->>'log' FROM event WHERE"
               " session_id = :'v1' AND kind = 'agent' AND what = 'died'", sid)
    equal(len({row[0] for row in died if len(row) > 1}), 1, "one event")
    true(any("sandlease-init" in row[1] for row in died if len(row) > 1),
         "with the tail of the log: %r" % died)


@case
def a_dead_sandbox_is_replaced_too():
    sid = create(isolation="session")["id"]
    execute(sid, "echo kept >f")
    init = service.init_of(service.job(sid, "5454.%d" % ME)[0])
    os.kill(init, 9)
    # the kernel removes init only after all processes in its namespace
    until("it is gone", lambda: not service.alive(init))
    r = call("GET", at(sid, "/api/ping"))
    container_error(r, 503, "CONTAINER_UNAVAILABLE")
    equal(execute(sid, "cat f"), "kept\n", "the next call works")
    equal(get(sid)["lease"]["generation"], 2, "generation")


sys.exit(run(lambda: None))
