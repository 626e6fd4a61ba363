#!/usr/bin/python3
"""endings.t: tests that a client that runs something in a session is told when the
session is put to sleep or deleted, and does not get exit code 143."""
import http.client
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import processes
import service
import terminals
from service import (at, call, container_error, create, execute, expect,
                     in_background, next_event, setting, until)
from tap import PATIENCE, Skip, case, equal, run, true
from websocket import Closed, WebSocket

service.begin()

AUTH = {"Authorization": "Bearer " + setting("SANDLEASE_API_KEY")}
CLI = os.path.join(setting("STACK_BUILD"), "sandlease")
# the ways to end a session, by the reason that clients get
ENDS = {
    "session_slept": lambda sid: expect(200, call("POST", at(sid, "/sleep"))),
    "session_deleted": lambda sid: expect(200, call("DELETE", at(sid))),
}


class Events:
    """An open event stream."""

    def __init__(self, method, path, body=None):
        self.conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                               timeout=PATIENCE)
        self.conn.request(method, path, body and json.dumps(body), AUTH)
        self.answer = self.conn.getresponse()
        equal(self.answer.status, 200, path)

    def until(self, wanted):
        while (event := next_event(self.answer)) is not None:
            if wanted(event):
                return event
        raise AssertionError("it ended before")

    def rest(self):
        events = []
        while (event := next_event(self.answer)) is not None:
            events.append(event)
        return events


def told(events, reason):
    """Checks that the last event has the reason, and that no event reports a normal
    end."""
    last = events[-1]
    equal((last["type"], last["code"], last["reason"]),
          ("error", "SESSION_TERMINATED", reason), "last event")
    true(last["error"] and last["cause"], last)
    ends = [e["type"] for e in events[:-1]
            if e["type"] in ("complete", "exit", "execution_complete")]
    equal(ends, [], "no other end")


def each_end(try_one):
    """Runs the case for each way to end a session, with a new session each time."""
    def both():
        for reason, end in ENDS.items():
            sid = create(isolation="session")["id"]
            try_one(sid, reason, lambda: end(sid))
    both.__name__ = try_one.__name__
    return case(both)


def begun(sid, name):
    until(name + " runs", lambda: execute(
        sid, "pgrep -f '[s]leep %s' | wc -l" % name,
        sessionId="__DISABLE_SESSION__").strip() != "0")


@each_end
def a_command_says_why_and_what_it_printed(sid, reason, end):
    runs = [in_background("POST", at(sid, "/api/execute"), dict(
        more, command="echo said; sleep %s" % name)) for name, more in (
            ("9071", {}), ("9072", {"sessionId": "__DISABLE_SESSION__"}))]
    begun(sid, "9071")
    begun(sid, "9072")
    end()
    for r in runs:
        doc = container_error(r.join(), 410, "SESSION_TERMINATED")
        equal((doc["context"]["reason"], doc["context"]["stdout"]),
              (reason, "said\n"), "context")
        true(doc["context"]["cause"], doc)


@each_end
def so_does_one_that_does_not_end_by_itself(sid, reason, end):
    command = "trap '' TERM; echo said; while :; do sleep 9073; done"
    one = in_background("POST", at(sid, "/api/execute"), {"command": command})
    begun(sid, "9073")
    stream = Events("POST", at(sid, "/api/execute/stream"), {
        "command": command, "sessionId": "__DISABLE_SESSION__"})
    stream.until(lambda e: e.get("data") == "said\n")
    end()
    doc = container_error(one.join(), 410, "SESSION_TERMINATED")
    equal((doc["context"]["reason"], doc["context"]["stdout"]),
          (reason, "said\n"), "context")
    told(stream.rest(), reason)


@each_end
def a_stream_ends_with_the_reason(sid, reason, end):
    stream = Events("POST", at(sid, "/api/execute/stream"), {
        "command": "trap 'echo bye; exit 3' TERM; echo said; "
                   "while :; do sleep 0.02; done"})
    stream.until(lambda e: e.get("data") == "said\n")
    end()
    events = stream.rest()
    told(events, reason)
    true("bye\n" in [e.get("data") for e in events], "its last words")
    equal(events[-1]["exitCode"], 3, "its exit code")


@each_end
def a_process_ends_with_the_reason(sid, reason, end):
    pid = processes.start("echo said; sleep 9074", sid)
    stream = Events("GET", processes.path(pid + "/stream", sid))
    stream.until(lambda e: e.get("data") == "said\n")
    end()
    told(stream.rest(), reason)


def half_sent(method, path, first=b"half"):
    """Sends a request with the beginning of a body; the rest never comes."""
    conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                      timeout=PATIENCE)
    conn.putrequest(method, path)
    for name, value in dict(AUTH, **{
            "Transfer-Encoding": "chunked",
            "Content-Type": "application/octet-stream"}).items():
        conn.putheader(name, value)
    conn.endheaders()
    conn.send(b"%x\r\n%s\r\n" % (len(first), first))
    return conn


@each_end
def so_does_a_body_that_is_its_input(sid, reason, end):
    pid = processes.start("cat", sid)
    conn = half_sent("POST", processes.path(pid + "/input", sid))
    until("it has come", lambda: processes.logs(pid, sid=sid)["stdout"] == "half")
    end()
    r = conn.getresponse()
    doc = container_error(service.Reply(r.status, r.headers, r.read()), 410,
                          "SESSION_TERMINATED")
    equal((doc["context"]["reason"], doc["context"]["written"]), (reason, 4),
          "context")
    conn.close()


@each_end
def so_do_uploads(sid, reason, end):
    conns = [half_sent("PUT", at(sid, "/files/workspace/half")),
             half_sent("PUT", at(sid, "/archive/workspace/tree"))]
    until("both have begun", lambda: execute(
        sid, "ls -A /workspace | wc -l; pgrep -f '[e]xe unpack' | wc -l",
        sessionId="__DISABLE_SESSION__") == "2\n1\n")
    end()
    for conn in conns:
        r = conn.getresponse()
        doc = container_error(service.Reply(r.status, r.headers, r.read()), 410,
                              "SESSION_TERMINATED")
        equal(doc["context"]["reason"], reason, "context")
        conn.close()


@each_end
def who_watches_files_is_told_the_last_change_and_the_reason(sid, reason, end):
    execute(sid, "mkdir /workspace/seen")
    stream = Events("POST", at(sid, "/api/watch"), {"path": "/workspace/seen"})
    stream.until(lambda e: e["type"] == "watching")
    one = in_background("POST", at(sid, "/api/execute"), {
        "command": "trap 'touch /workspace/seen/last; exit' TERM; "
                   "touch /workspace/seen/first; while :; do sleep 0.02; done"})
    stream.until(lambda e: e.get("path") == "/workspace/seen/first")
    end()
    one.join()
    events = stream.rest()
    told(events, reason)
    true("/workspace/seen/last" in [e.get("path") for e in events], events)


@each_end
def who_waits_for_a_port_is_told_the_reason(sid, reason, end):
    pid = processes.start("sleep 9080", sid)
    streams = [Events("POST", at(sid, "/api/port-watch"), dict(
        more, port=9999, interval=10000)) for more in ({}, {"processId": pid})]
    for s in streams:
        s.until(lambda e: e["type"] == "watching")
    end()
    for s in streams:
        told(s.rest(), reason)


@each_end
def code_ends_with_the_reason(sid, reason, end):
    stream = Events("POST", at(sid, "/api/execute/code"), {
        "code": "import time\nprint('said', flush=True)\ntime.sleep(9075)"})
    stream.until(lambda e: e.get("text") == "said\n")
    end()
    told(stream.rest(), reason)


@each_end
def a_terminal_ends_with_the_reason(sid, reason, end):
    tid = terminals.opened(sid)["id"]
    stream = Events("GET", terminals.path(sid, tid, "/stream"))
    stream.until(lambda e: e["type"] == "output")
    end()
    told(stream.rest(), reason)


@each_end
def so_do_websockets(sid, reason, end):
    to = ("127.0.0.1", service.port())
    pty = WebSocket(to, at(sid, "/ws/pty?sessionId=default"), AUTH)
    while not isinstance(said := pty.recv(), str) or json.loads(
            said)["type"] != "ready":
        pass
    mux = WebSocket(to, at(sid, "/ws"), AUTH)
    mux.send(json.dumps({"type": "request", "id": "1", "method": "POST",
                         "path": "/api/execute",
                         "body": {"command": "sleep 9076"}}))
    begun(sid, "9076")
    end()
    last = None
    try:
        while True:
            said = pty.recv()
            if isinstance(said, str):
                last = json.loads(said)
    except Closed as c:
        equal((last["type"], last["reason"], c.reason),
              ("exit", reason, reason), "terminal")
    said = mux.json()
    equal((said["id"], said["status"], said["body"]["context"]["reason"]),
          ("1", 410, reason), "request")
    pty.sock.close()
    mux.sock.close()


@case
def an_expiry_and_a_limit_are_named():
    one = create(isolation="session")["id"]
    two = create(isolation="session")["id"]
    runs = [in_background("POST", at(sid, "/api/execute"), {"command": "sleep 9078"})
            for sid in (one, two)]
    begun(one, "9078")
    begun(two, "9078")
    service.sql("UPDATE session SET expires_at = now() - interval '1 s'"
                " WHERE id = :'v1'", one)
    service.sql("UPDATE session SET max_run_seconds = 1,"
                " started_at = now() - interval '1 h' WHERE id = :'v1'", two)
    service.reap()
    for r, why in zip(runs, (("session_deleted", "expired"),
                             ("session_slept", "max_run_time"))):
        doc = container_error(r.join(), 410, "SESSION_TERMINATED")
        equal((doc["context"]["reason"], doc["context"]["cause"]), why, "context")


@case
def a_command_that_is_suspended_goes_on_until_its_session_is_deleted():
    sid = create(isolation="session")["id"]
    one = in_background("POST", at(sid, "/api/execute"),
                        {"command": "echo said; sleep 9079"})
    begun(sid, "9079")
    r = call("POST", at(sid, "/sleep"), {"suspend": True})
    if r.status != 200:
        raise Skip("nothing can be frozen here: %r" % r)
    true(one.is_alive(), "it has not ended")
    ENDS["session_deleted"](sid)
    doc = container_error(one.join(), 410, "SESSION_TERMINATED")
    equal((doc["context"]["reason"], doc["context"]["stdout"]),
          ("session_deleted", "said\n"), "context")


@each_end
def the_command_line_says_it_and_ends_with_125(sid, reason, end):
    started = [subprocess.Popen(
        [CLI, "exec", sid, "--", "sh", "-c", "echo said; sleep 9077"],
        stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for stdin in (subprocess.DEVNULL, subprocess.PIPE)]
    started.append(subprocess.Popen(
        [CLI, "shell", sid], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE))
    for p in started:
        p.stdout.read(1)
    end()
    for p in started:
        said = p.stderr.read().decode()
        p.stdout.read()
        equal(p.wait(PATIENCE), 125, p.args)
        true({"session_slept": "was put to sleep",
              "session_deleted": "was deleted"}[reason] in said, said)
        for pipe in (p.stdin, p.stdout, p.stderr):
            pipe and pipe.close()


run(lambda: None)
