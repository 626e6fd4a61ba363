#!/usr/bin/python3
"""Tests that every route reports the members of a body that it does not know."""
import itertools
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box  # noqa: E402
from tap import ok, run, same  # noqa: E402

box = Box()
S = box.session()
numbers = itertools.count()
TOP = os.environ.get("top_srcdir", ".")

# A body for each route that takes one; every route knows the fields of the SDK.
HOUR = 3600000  # wait: a limit that no request here comes near
BODIES = {
    "/api/session/create": {"id": "fields", "cwd": "/tmp", "env": {}, "commandTimeoutMs": HOUR},
    "/api/session/delete": {"sessionId": "fields"},
    "/api/execute": {"command": ":", "sessionId": "x", "timeoutMs": HOUR, "env": {}, "cwd": "/tmp", "origin": "user",
                     "shell": True, "executionId": "e", "onDisconnect": "kill"},
    "/api/execute/stream": {"command": ":", "sessionId": "x", "timeoutMs": HOUR, "origin": "user", "encoding": "utf8",
                            "shell": False, "executionId": "e", "onDisconnect": "continue"},
    "/api/process/start": {"command": ":", "sessionId": "x", "origin": "user", "processId": "fields", "timeoutMs": HOUR,
                           "env": {}, "cwd": "/tmp", "encoding": "utf-8", "autoCleanup": False, "stdin": True},
    "/api/process/:id/input": {"data": "", "encoding": "utf-8", "close": True},
    "/api/process/:id/signal": {"signal": "SIGTERM"},
    "/api/mkdir": {"path": "/workspace/d", "sessionId": "x", "recursive": True},
    "/api/write": {"path": "/workspace/f", "content": "", "sessionId": "x", "encoding": "utf-8"},
    "/api/read": {"path": "/workspace/f", "sessionId": "x", "encoding": "utf-8"},
    "/api/read/stream": {"path": "/workspace/f", "sessionId": "x"},
    "/api/rename": {"oldPath": "/workspace/f", "newPath": "/workspace/g", "sessionId": "x"},
    "/api/move": {"sourcePath": "/workspace/g", "destinationPath": "/workspace/f", "sessionId": "x"},
    "/api/list-files": {"path": "/workspace", "sessionId": "x", "options": {
        "recursive": True, "includeHidden": True, "sessionId": "x"}},
    "/api/exists": {"path": "/workspace/f", "sessionId": "x"},
    "/api/delete": {"path": "/workspace/f", "sessionId": "x"},
    "/api/port-check": {"port": 9, "mode": "tcp"},
    "/api/port-watch": {"port": 9, "mode": "http", "path": "/", "statusMin": 200, "statusMax": 299, "interval": 1000,
                        "processId": "nosuch"},
    "/api/git/checkout": {"repoUrl": "https://localhost/a.git", "sessionId": "x", "targetDir": "/workspace/r",
                          "branch": "main", "depth": 1, "timeoutMs": HOUR, "executionId": "e", "onDisconnect": "kill"},
    "/api/terminal": {"sessionId": "x", "cols": 80, "rows": 24, "shell": "/bin/sh", "cwd": "/tmp"},
    "/api/terminal/:id/input": {"data": "", "encoding": "utf-8"},
    "/api/terminal/:id/resize": {"cols": 81, "rows": 24},
    "/api/backup/create": {"dir": "/workspace/d", "archivePath": "/var/backups/b.sqsh", "gitignore": False, "excludes": [],
                           "compression": {"format": "lz4", "threads": 1}, "sessionId": "x"},
    "/api/backup/restore": {"dir": "/workspace/d", "archivePath": "/var/backups/b.sqsh", "sessionId": "x"},
    "/api/backup/upload-parts": {"archivePath": "/var/backups/b.sqsh", "parts": [], "sessionId": "x"},
    "/api/contexts": {"language": "python", "cwd": "/workspace", "env_vars": {}},
    "/api/execute/code": {"code": "1", "language": "python", "timeout_ms": HOUR, "env_vars": {}, "executionId": "e",
                          "onDisconnect": "continue"},
    "/api/watch": {"path": "/workspace", "recursive": True, "exclude": [], "sessionId": "x"},
    "/api/watch/check": {"path": "/workspace", "recursive": True, "include": [], "since": "0", "sessionId": "x"},
}
LIMITS = {"timeoutMs", "timeout_ms", "commandTimeoutMs"}


def path_of(route):
    return route.replace(":id", "x" if "terminal" in route else "fields")


def post(route, more=None):
    """Returns the head of the answer and its first JSON object."""
    body = {**BODIES[route], **(more or {})}
    if "executionId" in body:  # a stream whose client left may still run under its id
        body["executionId"] = "e%d" % next(numbers)
    r = box.request(S, "POST", path_of(route), body)
    text = b""
    while b"}" not in text.partition(b"\r\n\r\n")[2]:
        piece = r.read()
        if piece is None:
            break
        text += piece
    if b"event-stream" not in text:
        text += r.all().body
    r.close()
    head, _, body = text.partition(b"\r\n\r\n")
    found = re.search(rb"X-Ignored-Fields: (.*)\r\n", head + b"\r\n")
    body = body[6:].split(b"\n\n")[0] if body.startswith(b"data: ") else body
    return found and found.group(1).decode(), json.loads(body) if body[:1] == b"{" else {}


def every_route_has_a_body_here():
    with open(os.path.join(TOP, "src/agent/api/routes.c")) as f:
        routes = set(re.findall(r'\{ "POST", +"([^"]+)"', f.read()))
    same(sorted(routes - set(BODIES) - {"/api/process/cleanup"}), [], "every route that takes a body is tried")


def what_is_known_is_not_called_ignored():
    # the order matters: some routes make files and processes that later routes need
    for route in BODIES:
        header, body = post(route)
        ok(header is None and "ignored" not in body, route, (header, body))


def what_is_not_known_is_told():
    for route in BODIES:
        header, body = post(route, {"colour": "red", "a,b": 1})
        same(header, "colour", route)
        # an error reports unknown members in the header only
        if "code" not in body and body.get("type") != "error":
            same(body.get("ignored"), ["colour", "a,b"], route + " and its first object")


def members_of_members_are_told_as_well():
    for route, outer in (("/api/list-files", "options"), ("/api/backup/create", "compression")):
        header, _ = post(route, {outer: {**BODIES[route][outer], "depth": 3}})
        same(header, outer + ".depth", route)
    _, body = post("/api/execute", {"env": {"any": "name"}})
    ok("ignored" not in body, "but names of variables are the caller's", body)


def a_limit_of_time_is_never_dropped():
    for route, body in BODIES.items():
        if not LIMITS & set(body):
            continue
        for name in {"timeout", "timeoutSeconds", "timeoutMs", "timeout_ms"} - set(body):
            a = box.call(S, "POST", path_of(route), {**body, name: 5})
            errors = a.json()["context"].get("validationErrors") or [{}]
            same((a.status, errors[0].get("field")), (400, name), route)
            ok(any(limit in a.json()["message"] for limit in LIMITS), "what to say instead is told", a.json()["message"])


def there_may_be_many_of_them():
    a = box.run(S, ":", **{"n%d" % i: 1 for i in range(1000)})
    same((a["status"], len(a["ignored"])), (200, 32), "some of a thousand are named")


try:
    run([every_route_has_a_body_here, what_is_known_is_not_called_ignored, what_is_not_known_is_told,
         members_of_members_are_told_as_well, a_limit_of_time_is_never_dropped, there_may_be_many_of_them])
finally:
    box.close()
