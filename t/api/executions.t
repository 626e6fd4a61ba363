#!/usr/bin/python3
"""executions.t: tests through nginx that one command is ended by its id, or ends with its
client."""
import json
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import Running
from service import (at, call, container_error, create, execute, expect, new_key,
                     problem, running, setting, sql, until)
from tap import case, equal, run, true
from websocket import WebSocket

service.begin()

ME = os.getpid()
MARKS = iter("86%02d.%d" % (n, ME) for n in range(100))


class Aborted:
    """A request whose client does not wait for the answer; it has a plain socket."""

    def __init__(self, sid, path, body, more=""):
        text = json.dumps(body).encode()
        self.sock = socket.create_connection(("127.0.0.1", service.port()),
                                             service.PATIENCE)
        head = ("POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
                "Content-Type: application/json\r\nContent-Length: %d\r\n%s\r\n" % (
                    at(sid, path), setting("SANDLEASE_API_KEY"), len(text), more))
        self.sock.sendall(head.encode() + text)

    def leave(self):
        self.sock.close()


def sleep(mark):
    """Returns a command that has a child process; no other process on this machine has
    this mark."""
    return "sleep %s & sleep %s; touch /workspace/wrong" % (mark, mark)


def code(mark):
    return "import subprocess\nsubprocess.run(['sleep', '%s'])" % mark


def runs(*marks):
    for mark in marks:
        until("%s runs" % mark, lambda: running(mark))


def ends(mark):
    until("%s has ended" % mark, lambda: not running(mark))


def ids(sid):
    return sorted(x["id"] for x in expect(200, call(
        "GET", at(sid, "/api/executions"))).json["executions"])


BODIES = (("/api/execute", lambda mark: {"command": sleep(mark)}),
          ("/api/execute/stream", lambda mark: {"command": sleep(mark)}),
          ("/api/execute/code", lambda mark: {"code": code(mark)}))


@case
def a_client_that_aborts_ends_its_command_if_it_says_so():
    sid = create()["id"]
    for path, body in BODIES:
        mark = next(MARKS)
        client = Aborted(sid, path, dict(body(mark), onDisconnect="kill"))
        runs(mark)
        client.leave()
        ends(mark)
        until("it is not listed", lambda: ids(sid) == [])
    equal(execute(sid, "ls /workspace; echo usable"), "usable\n", "the shell")


@case
def else_the_command_goes_on_without_its_client():
    sid = create()["id"]
    for n, (path, body) in enumerate(BODIES):
        mark = next(MARKS)
        # each command has its own shell or context: a shared one would run them in turn
        client = Aborted(sid, path, dict(
            body(mark), executionId="n%d" % n, **({"sessionId": "n%d" % n} if n < 2 else {})))
        runs(mark)
        client.leave()
        # nginx has noticed that the client left when it has answered a later call
        expect(200, call("GET", at(sid, "/api/ping")))
        true(running(mark), "%s goes on" % path)
    equal(ids(sid), ["n0", "n1", "n2"], "they are listed")
    for n in range(3):
        equal(expect(200, call("DELETE", at(sid, "/api/executions/n%d" % n))).json["cancelled"],
              True, "they can be ended still")
    equal(ids(sid), [], "all of them")


@case
def over_a_websocket_a_cancel_and_a_close_are_leaving_too():
    sid = create()["id"]

    def connect():
        return WebSocket(("127.0.0.1", service.port()), at(sid, "/ws"), {
            "Authorization": "Bearer " + setting("SANDLEASE_API_KEY")})

    def ask(ws, name, path, body):
        ws.send({"type": "request", "id": name, "method": "POST", "path": path,
                 "body": dict(body, onDisconnect="kill")})

    for path, body in BODIES:
        ws, cancelled, closed = connect(), next(MARKS), next(MARKS)
        ask(ws, "a", path, dict(body(cancelled), **({} if "code" in path else {"sessionId": "a"})))
        runs(cancelled)
        ws.send({"type": "cancel", "id": "a"})
        ends(cancelled)
        ask(ws, "b", path, dict(body(closed), **({} if "code" in path else {"sessionId": "b"})))
        runs(closed)
        ws.close()
        ends(closed)


@case
def one_shell_is_interrupted_and_the_others_are_not():
    sid = create()["id"]
    a, b = next(MARKS), next(MARKS)
    first = Running(sid, sleep(a), sessionId="a")
    other = Running(sid, sleep(b), sessionId="b")
    runs(a, b)
    path = at(sid, "/interrupt")
    equal(expect(200, call("POST", path, {"sessionId": "a"})).json,
          {"id": sid, "state": "ready", "interrupted": 1}, "the answer")
    r = expect(200, first.result()).json
    equal((r["exitCode"], r["interrupted"]), (130, True), "the command")
    ends(a)
    true(running(b), "the other goes on")
    equal(sql("SELECT what, detail->>'sessionId', detail->>'count', actor <> '' FROM event"
              " WHERE session_id = :'v1' AND kind = 'interrupt'", sid),
          [["interrupted", "a", "1", "t"]], "the history")
    equal(sql("SELECT interrupt_id FROM session WHERE id = :'v1'", sid), [[""]], "no wish is left")
    equal(expect(200, call("POST", path, {"sessionId": "nosuch"})).json["interrupted"], 0, "no shell")
    problem(call("POST", path, {"shell": "a"}), 400, "validation_failed", "shell")
    problem(call("POST", path, {"sessionId": ""}), 400, "validation_failed", "sessionId")
    problem(call("POST", path, {"sessionId": 1}), 400, "validation_failed", "sessionId")
    problem(call("POST", path, {"sessionId": "a"}, key=new_key("strangers", "u")), 404, "session_not_found")
    true(running(b), "nothing of this has ended it")
    equal(expect(200, call("POST", path)).json["interrupted"], 1, "without a body all are meant")
    equal(other.result().json["exitCode"], 130, "the other")
    expect(200, call("POST", at(sid, "/sleep")))
    problem(call("POST", path, {"sessionId": "a"}), 409, "session_not_ready")


@case
def nobody_else_ends_or_sees_a_command():
    sid = create()["id"]
    mark = next(MARKS)
    work = Running(sid, sleep(mark), executionId="mine")
    runs(mark)
    stranger, reader = new_key("strangers", "u"), new_key("demo", "r", "--scope", "read")
    container_error(call("DELETE", at(sid, "/api/executions/mine"), key=stranger), 404, "SESSION_NOT_FOUND")
    container_error(call("GET", at(sid, "/api/executions"), key=stranger), 404, "SESSION_NOT_FOUND")
    equal(call("DELETE", at(sid, "/api/executions/mine"), key=reader).status, 403, "a read key")
    other = create(isolation="session")["id"]
    container_error(call("DELETE", at(other, "/api/executions/mine")), 404, "EXECUTION_NOT_FOUND")
    true(running(mark), "it goes on")
    r = expect(200, call("DELETE", at(sid, "/api/executions/mine")))
    equal(r.json["executionId"], "mine", "the answer")
    r = work.result()
    equal((r.json["exitCode"], r.header("X-Execution-Id")), (130, "mine"), "the command")


@case
def an_interrupted_stream_whose_client_does_not_read_is_no_failure():
    sid = create()["id"]
    mark = next(MARKS)
    client = Aborted(sid, "/api/execute/stream", {
        "command": "sleep %s & trap '' TERM; yes" % mark, "executionId": "flood"})
    runs(mark)

    def stands():
        """True when `yes` writes no more: all buffers between it and the client are full."""
        look = "cat /proc/$(pgrep -x yes)/io | grep wchar"
        seen = execute(sid, look, sessionId="looks")
        return seen == execute(sid, "sleep 0.5; " + look, sessionId="looks")  # wait: the test only asks again
    until("it is held up", stands)
    equal(expect(200, call("POST", at(sid, "/interrupt"))).json["interrupted"], 1, "it is interrupted")
    ends(mark)
    client.leave()


@case
def a_shell_that_exits_loses_no_output():
    sid = create()["id"]
    for command, out, err, exit_code in (("echo building; echo bad >&2; exit 3", "building\n", "bad\n", 3),
                                         ("set -e; echo a; false", "a\n", "", 1)):
        doc = container_error(call("POST", at(sid, "/api/execute"), {"command": command}),
                              410, "SESSION_TERMINATED")
        context = doc["context"]
        equal((context["stdout"], context["stderr"], context["exitCode"]), (out, err, exit_code), command)
        true("shell exited" in doc["message"], doc["message"])
        r = expect(200, call("POST", at(sid, "/api/execute"), {"command": command, "shell": False})).json
        equal((r["stdout"], r["stderr"], r["exitCode"]), (out, err, exit_code), "in a process of its own")


@case
def a_key_runs_a_command_once_until_the_session_sleeps():
    sid = create()["id"]
    body = {"command": "echo x >>/workspace/count; wc -l </workspace/count"}

    def again(**more):
        return call("POST", at(sid, "/api/execute"), dict(body, **more), headers={"Idempotency-Key": "k-1"})
    first, repeat = expect(200, again()), expect(200, again())
    equal((first.json["stdout"], repeat.body == first.body), ("1\n", True), "the result")
    equal((first.header("Idempotency-Replayed"), repeat.header("Idempotency-Replayed")), (None, "true"), "told")
    container_error(again(cwd="/tmp"), 409, "IDEMPOTENCY_MISMATCH")
    ws = WebSocket(("127.0.0.1", service.port()), at(sid, "/ws"), {
        "Authorization": "Bearer " + setting("SANDLEASE_API_KEY")})
    ws.send({"type": "request", "id": "w", "method": "POST", "path": "/api/execute", "body": body,
             "headers": {"Idempotency-Key": "k-1"}})
    equal(json.loads(ws.recv())["body"]["stdout"], "1\n", "over a WebSocket too")
    ws.close()
    # a client that lost its connection repeats the request and gets the result
    lost = {"command": "echo y >>/workspace/lost; until [ -e /workspace/go ]; do sleep 0.02; done;"
            " cat /workspace/lost", "executionId": "lost"}  # wait: for the test's file
    client = Aborted(sid, "/api/execute", lost, "Idempotency-Key: k-2\r\n")
    until("it runs", lambda: call("POST", at(sid, "/api/read"), {"path": "/workspace/lost"}).status == 200)
    client.leave()
    repeat = Running(sid, **lost, headers={"Idempotency-Key": "k-2"})
    execute(sid, "touch /workspace/go", sessionId="looks")
    equal(repeat.result().json["stdout"], "y\n", "it ran once")
    expect(200, call("POST", at(sid, "/sleep")))
    equal(expect(200, again()).json["stdout"], "2\n", "a sleep forgets it")


@case
def what_a_body_says_too_much_is_told():
    sid = create()["id"]
    r = expect(200, call("POST", at(sid, "/api/execute"), {"command": ":", "colour": "red"}))
    equal((r.json["ignored"], r.header("X-Ignored-Fields")), (["colour"], "colour"), "told twice")
    doc = container_error(call("POST", at(sid, "/api/execute"), {"command": ":", "timeout": 5}),
                          400, "VALIDATION_FAILED")
    equal(doc["context"]["validationErrors"][0]["field"], "timeout", "a limit of time is refused")


@case
def git_says_how_to_reach_a_host():
    sid = create()["id"]
    doc = container_error(call("POST", at(sid, "/api/git/checkout"), {"repoUrl": "https://github.com/a/b"}),
                          502, "GIT_NETWORK_ERROR")
    true("network.allow" in doc["suggestion"] and "suggestion" not in doc["context"], doc)


@case
def a_kernel_that_does_not_start_says_how_it_ended():
    sid = create()["id"]
    execute(sid, "mkdir -p /workspace/bin; printf '#!/bin/sh\\nkill -SEGV $$\\n' >/workspace/bin/python3;"
            " chmod +x /workspace/bin/python3")
    body = {"language": "python", "env_vars": {"PATH": "/workspace/bin:/usr/bin:/bin"}}
    doc = container_error(call("POST", at(sid, "/api/contexts"), body), 500, "CODE_EXECUTION_ERROR")
    true("exit code 139 (signal 11" in doc["message"], doc["message"])
    execute(sid, "printf '#!/bin/sh\\necho so >&2; exit 7\\n' >/workspace/bin/python3")
    doc = container_error(call("POST", at(sid, "/api/contexts"), body), 500, "CODE_EXECUTION_ERROR")
    true("exit code 7: so" in doc["message"], doc["message"])


sys.exit(run(lambda: None))
