#!/usr/bin/python3
"""watch.t: files are watched through the whole service, and checked later."""
import http.client
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, container_error, create, execute, expect,
                     setting, until)
from tap import case, equal, run, true

service.begin()

SID = create(isolation="session", name="watch")["id"]
STREAMS_MAX = 64  # watch.h


def ask(route, sid=SID, **body):
    return call("POST", at(sid, route), body)


def check(path, sid=SID, **more):
    return expect(200, ask("/api/watch/check", sid, path=path, **more)).json


class Watch:
    """An open api/watch."""

    def __init__(self, path, sid=SID, **more):
        self.conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                               timeout=service.PATIENCE)
        self.conn.request(
            "POST", at(sid, "/api/watch"), json.dumps(dict(more, path=path)),
            {"Authorization": "Bearer " + setting("SANDLEASE_API_KEY")})
        self.answer = self.conn.getresponse()
        equal((self.answer.status, self.answer.getheader("Content-Type")),
              (200, "text/event-stream"), "a stream")
        self.first = self.event()
        equal(self.first["type"], "watching", "the first event")

    def event(self):
        while True:
            line = self.answer.readline()
            if line == b"":
                return None
            if line.startswith(b"data: "):
                return json.loads(line[len("data: "):])

    def until(self, kind, path):
        """All events up to that one, as (type, path)."""
        seen = []
        while not seen or seen[-1] != (kind, path):
            e = self.event()
            true(e is not None, "the stream ended: %r" % seen)
            seen.append((e.get("eventType", e["type"]), e.get("path")))
        return seen

    def close(self):
        self.answer.close()
        self.conn.close()


def place(name):
    """A directory of its own for a case."""
    execute(SID, "rm -rf /workspace/%s && mkdir /workspace/%s" % (name, name))
    return "/workspace/" + name


# ---- the stream

@case
def what_a_command_does_to_files_is_told():
    where = place("told")
    w = Watch(where)
    equal(w.first["path"], where, "path")
    execute(SID, "cd %s && mkdir -p a/b/c && echo 1 > a/b/c/f && mv a z" %
            where, sessionId="told")
    seen = w.until("move_to", where + "/z")
    true(("create", where + "/a") in seen, repr(seen))
    execute(SID, "echo 2 >> z/b/c/f && rm -r z/b", sessionId="told")
    seen = w.until("delete", where + "/z/b")
    true(("modify", where + "/z/b/c/f") in seen, repr(seen))
    w.close()


@case
def paths_are_meant_in_the_shells_directory():
    where = place("there")
    execute(SID, "mkdir %s/sub; cd %s" % (where, where), sessionId="there")
    w = Watch("sub/", sessionId="there")
    equal(w.first["path"], where + "/sub", "path")
    execute(SID, "echo > %s/sub/f" % where)
    equal(w.event()["path"], where + "/sub/f", "event")
    w.close()


@case
def only_the_workspace_can_be_watched():
    execute(SID, "ln -sfn /etc /workspace/out; ln -sfn /workspace /tmp/in;"
                 " ln -sfn none /workspace/broken")
    for path in ("/etc", "/", "/tmp", "/home/user", "/workspace/out",
                 "/workspace/..", "/workspace/../etc", "/workspacex", "/none",
                 "/proc/self/cwd/../etc"):
        for route in ("/api/watch", "/api/watch/check"):
            r = container_error(ask(route, path=path), 403,
                                "PERMISSION_DENIED")
            equal((r["context"]["path"], r["error"]), (path, r["message"]),
                  "context")
    for path in ("/workspace/none", "none/at/all", "/workspace/broken"):
        for route in ("/api/watch", "/api/watch/check"):
            container_error(ask(route, path=path), 404, "FILE_NOT_FOUND")
    w = Watch("/tmp/in")
    w.close()
    container_error(ask("/api/watch", path="/workspace/" + "x" * 300), 400,
                    "NAME_TOO_LONG")


@case
def wishes_that_make_no_sense_are_refused():
    where = place("refused")
    for route in ("/api/watch", "/api/watch/check"):
        for body in (
                {}, {"path": ""}, {"path": 5}, {"path": where + "\0"},
                {"path": "/" * 5000}, {"path": where, "recursive": "yes"},
                {"path": where, "events": "create"},
                {"path": where, "events": ["open"]},
                {"path": where, "events": [1]},
                {"path": where, "events": ["create"] * 7},
                {"path": where, "include": "*.ts"},
                {"path": where, "include": [1]},
                {"path": where, "include": [""]},
                {"path": where, "include": ["[ab].ts"]},
                {"path": where, "exclude": ["{a,b}"]},
                {"path": where, "exclude": ["!a"]},
                {"path": where, "exclude": ["a\\*"]},
                {"path": where, "exclude": ["@(a|b)"]},
                {"path": where, "exclude": ["x" * 256]},
                {"path": where, "exclude": ["x"] * 65},
                {"path": where, "include": ["a"], "exclude": ["b"]},
                {"path": where, "sessionId": ""},
                {"path": where, "since": 5}):
            container_error(ask(route, **body), 400, "VALIDATION_FAILED")
        for body in (b"{", b"[]", b"\xff", b"[" * 10000):
            container_error(call("POST", at(SID, route), body), 400,
                            "VALIDATION_FAILED")
        r = call("GET", at(SID, route))
        container_error(r, 405, "METHOD_NOT_ALLOWED")
    r = container_error(ask("/api/watch", path=where, include=["[a"]), 400,
                        "VALIDATION_FAILED")
    equal([e["field"] for e in r["context"]["validationErrors"]], ["include"],
          "which")


@case
def members_that_say_nothing_change_nothing():
    where = place("nulls")
    for more in ({"recursive": None, "events": None, "include": None,
                  "exclude": None, "since": None, "sessionId": None},
                 {"include": [], "exclude": ["x"]},
                 {"include": ["x"], "exclude": []}, {"events": []},
                 {"unknown": 1}):
        Watch(where, **more).close()
        equal(check(where, **more)["status"], "unchanged", repr(more))


# ---- checks

@case
def after_a_restart_everything_may_have_changed():
    sid = create(isolation="session")["id"]
    w = Watch("/workspace", sid)
    one = check("/workspace", sid)
    expect(200, call("POST", at(sid, "/sleep")))
    last = None
    for e in iter(w.event, None):
        last = e
    equal(last["type"], "error", "a stream does not end in silence")
    two = check("/workspace", sid, since=one["version"])
    equal((two["status"], two["reason"]), ("resync", "restarted"), "and known")
    equal(check("/workspace", sid, since=two["version"])["status"],
          "unchanged", "then as before")
    expect(200, call("DELETE", at(sid)))


run(lambda: None)
