"""standin.py DIR PORT: the dashboard without a service behind it.

For work on www/: a real nginx with the shipped configuration and, in the place
of the workers and wrappers, a toy that keeps sessions in memory.  The key is
`sl_demo`.  Tests of the dashboard use the real service, never this.
"""
import datetime
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

from fcgi import Responder

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
JSON = ("Content-Type", "application/json")
PROBLEM = ("Content-Type", "application/problem+json")
KEY, COOKIE = "sl_demo", "demologin"
SESSIONS = {}


def when(seconds=0):
    return (datetime.datetime.now(datetime.timezone.utc) +
            datetime.timedelta(seconds=seconds)).isoformat(
                timespec="milliseconds").replace("+00:00", "Z")


def letters(n):
    return "".join(random.choice("abcdefghijklmnopqrstuvwxyz234567")
                   for _ in range(n))


def make(name=None, state="ready", age=0, reason=None, **more):
    shared = more.get("isolation") == "shared"
    sleep_after = more.get("sleepAfterSeconds") or 600
    active = state in ("initializing", "ready", "sleeping")
    s = {
        "id": letters(20), "name": name, "state": state, "busy": False,
        "reason": reason,
        "sandboxId": ("usr-" if shared else "ses-") + "%048x" %
        random.getrandbits(192),
        "isolation": "shared" if shared else "session",
        "class": "shared" if shared else "small", "provider": "local",
        "cell": "namespace", "agentType": more.get("agentType"),
        "labels": more.get("labels") or {},
        "lease": {"state": "owns_wrapper" if active else "none",
                  "generation": 3, "instance": letters(16),
                  "startupDeadline": None,
                  "keepWarmUntil": when(sleep_after) if active else None,
                  "stop": None},
        "limits": {"memoryMb": {"value": 2048, "by": "cgroup"},
                   "cpus": {"value": 1, "by": "cgroup"},
                   "pids": {"value": 256, "by": "cgroup"},
                   "diskMb": {"value": 4096, "by": "none"}},
        "network": {"mode": "none"},
        "alive": {"because": ["keep_warm"] if active else [],
                  "until": when(sleep_after) if active else None},
        "sleepAfterSeconds": sleep_after,
        "keepAlive": bool(more.get("keepAlive")),
        "wakeOnPreview": bool(more.get("wakeOnPreview")), "ports": [],
        "urls": {"api": "", "terminal": ""}, "createdAt": when(-age),
        "startedAt": when(-age + 1), "lastActivityAt": when(-age / 9),
        "endedAt": None if active else when(-age / 10)}
    SESSIONS[s["id"]] = s
    return s


def populate():
    s = make("checkout-refactor", age=3900, agentType="IMPLEMENTATION",
             labels={"team": "payments", "ticket": "PAY-1182"})
    expose(s, 8080, "web")
    expose(s, 5173, None)
    s["busy"] = True
    make("flaky-test-hunt", age=260, agentType="TEST_WRITER")
    make(None, age=41, isolation="shared", agentType="VALIDATION")
    make("docs-site", "asleep", 90000, "idle", wakeOnPreview=True)
    make("nightly-eval-0412", "initializing", 4)
    make("schema-migration", "failed", 7200, "provider_unavailable")
    make("import-legacy", "lost", 400000, "storage_gone")
    s = make("release-notes", "deleting", 5000, "session-delete")
    s["lease"].update(state="stopping", stop={
        "target": "session", "reason": "session-delete", "attempts": 2,
        "requestedAt": when(-70), "attemptDeadline": when(30),
        "lastError": "2 processes still in the cell"})
    for n in range(70):
        make("batch-%03d" % n, "deleted", 200000 + 3000 * n)


def expose(s, port, name):
    s["ports"] = [p for p in s["ports"] if p["port"] != port] + [{
        "port": port, "name": name, "status": "active", "expiresAt": None,
        "url": "http://%d-%s-%s.localhost:%s/" % (
            port, s["id"], letters(26), sys.argv[2])}]
    s["ports"].sort(key=lambda p: p["port"])
    return next(p for p in s["ports"] if p["port"] == port)


def problem(r, status, code, detail, errors=()):
    titles = {400: "Bad Request", 401: "Unauthorized", 404: "Not Found",
              409: "Conflict", 503: "Service Unavailable"}
    r.reply(status, [PROBLEM], json.dumps({
        "type": "about:blank", "title": titles[status], "status": status,
        "detail": detail, "code": code, "retryable": status == 503,
        "traceId": r.params["SL_REQUEST_ID"], "errors": list(errors)}))


def allowed(r):
    return ("sandlease=" + COOKIE in r.params.get("HTTP_COOKIE", "")
            or r.params.get("HTTP_AUTHORIZATION") == "Bearer " + KEY)


def later(seconds, change):
    threading.Timer(seconds, change).start()


def api(r):
    p = r.params
    method, path = p["REQUEST_METHOD"], p["SL_PATH"]
    query = dict(urllib.parse.parse_qsl(p["QUERY_STRING"]))
    if p.get("SL_ROUTE"):
        return r.reply(503, [JSON], "{}")
    try:
        body = json.loads(r.body() or b"{}")
    except ValueError:
        return problem(r, 400, "bad_json", "not JSON")
    if path == "/v1/login" and method == "POST":
        if body.get("key") != KEY:
            return problem(r, 401, "unauthorized", "This key is not known.")
        return r.reply(200, [JSON, ("Set-Cookie", "sandlease=%s; HttpOnly; "
                                    "SameSite=Strict; Path=/" % COOKIE)], "{}")
    if not allowed(r):
        return problem(r, 401, "unauthorized", "A key is needed.")
    if path == "/v1/login":
        return r.reply(204, [("Set-Cookie", "sandlease=; Max-Age=0; Path=/")])
    if path == "/v1/me":
        return r.reply(200, [JSON], json.dumps({
            "org": "acme", "user": "mira", "bot": None, "scope": "tenant",
            "keyId": "k7f3qz2m"}))
    if path == "/v1/sessions":
        return sessions(r, method, query, body)
    m = re.fullmatch(r"/v1/sessions/(\w+)(?:/(.*))?", path)
    s = m and SESSIONS.get(m.group(1))
    if not s:
        return problem(r, 404, "not_found", "There is no such session.")
    return session(r, method, s, m.group(2) or "", body)


def sessions(r, method, query, body):
    if method == "POST":
        name = body.get("name")
        if name and not re.fullmatch("[a-z0-9-]{1,63}", name):
            return problem(r, 400, "validation_failed", "name: must be made "
                           "of a-z, 0-9 and -", [{
                               "field": "name",
                               "message": "must be made of a-z, 0-9 and -"}])
        s = make(state="initializing", **body)
        later(1, lambda: s.update(state="ready"))
        return r.reply(201, [JSON], json.dumps(s))
    found = sorted((s for s in SESSIONS.values()
                    if query.get("state") in (None, s["state"])),
                   key=lambda s: s["createdAt"], reverse=True)
    start, limit = int(query.get("cursor", 0)), int(query.get("limit", 50))
    more = start + limit < len(found)
    r.reply(200, [JSON], json.dumps({
        "sessions": found[start:start + limit],
        "nextCursor": str(start + limit) if more else None}))


def session(r, method, s, rest, body):
    if method == "DELETE" and not rest:
        s.update(state="deleting")
        later(1.5, lambda: s.update(state="deleted", endedAt=when()))
        return r.reply(202, [JSON], json.dumps(s))
    if rest == "resume":
        s.update(state="initializing", reason=None)
        later(1, lambda: s.update(state="ready"))
    elif rest == "sleep":
        s.update(state="sleeping")
        later(1, lambda: s.update(state="asleep", reason="requested"))
    elif rest == "ports" and method == "POST":
        port = body.get("port")
        if not isinstance(port, int) or not 1024 <= port <= 65535:
            return problem(r, 400, "validation_failed",
                           "port: must be from 1024 to 65535", [{
                               "field": "port",
                               "message": "must be from 1024 to 65535"}])
        return r.reply(201, [JSON], json.dumps(
            expose(s, port, body.get("name"))))
    elif rest.startswith("ports/"):
        port = int(rest.split("/")[1])
        if rest.endswith("/rotate"):
            return r.reply(200, [JSON], json.dumps(expose(s, port, "web")))
        s["ports"] = [p for p in s["ports"] if p["port"] != port]
        return r.reply(204)
    elif rest == "agent-log":
        return r.reply(200, [("Content-Type", "text/plain")],
                       "level=info msg=\"wrapper ready\"\n" * 9)
    return r.reply(200, [JSON], json.dumps(s))


def auth(r):
    s = SESSIONS.get(r.params.get("SL_SESSION"))
    if r.params["SL_ROUTE"] == "deny":
        code = r.params["SL_DENY"].upper()
        return r.reply(404, [JSON], json.dumps({
            "code": code, "message": "There is no such session.",
            "context": {}, "httpStatus": 404, "timestamp": when()}))
    if not s or not allowed(r):
        return r.reply(403, [("X-Sandlease-Deny", "session_not_found")])
    path = "%s/run/s/%s.1.sock" % (sys.argv[1], s["id"])
    if not os.path.exists(path):
        Responder(path, wrapper)
    return r.reply(204, [("X-Sandlease-Upstream", "unix:" + path)])


def wrapper(r):
    body = json.loads(r.body())
    place = sys.argv[1] + "/workspace"
    if r.params["SL_PATH"].endswith("/api/write"):
        with open(body["path"].replace("/workspace", place), "w") as f:
            f.write(body["content"])
        return r.reply(200, [JSON], '{"success": true}')
    command = body["command"].replace("/workspace", place)
    r.begin(200, [("Content-Type", "text/event-stream")])

    def send(**event):
        r.write(b"data: %s\n\n" % json.dumps(event).encode())
    send(type="start", command=command, timestamp=when())
    child = subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)

    def pump(kind, stream):
        for line in stream:
            send(type=kind, data=line, timestamp=when())
    threads = [threading.Thread(target=pump, args=a) for a in (
        ("stdout", child.stdout), ("stderr", child.stderr))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    send(type="complete", exitCode=child.wait(), timestamp=when())


def main():
    world, port = os.path.abspath(sys.argv[1]), sys.argv[2]
    sys.argv[1] = world
    for name in ("run/s", "log", "state", "workspace"):
        os.makedirs(os.path.join(world, name), exist_ok=True)
    populate()
    Responder(world + "/run/api.sock", api)
    Responder(world + "/run/read.sock", api)
    Responder(world + "/run/auth.sock", auth)
    subprocess.run(
        [TOP + "/nginx/render", world + "/conf", "RUN_DIR=" + world + "/run",
         "PORT=" + port, "PREVIEW_PORT=%d" % (int(port) + 1),
         "PREVIEW_DOMAIN=localhost", "PUBLIC_HOST=127.0.0.1",
         "WWW_DIR=" + TOP + "/www", "LOG_DIR=" + world + "/log",
         "STATE_DIR=" + world + "/state", "USER_DIRECTIVE=", "WORKERS=1",
         "PID_FILE=" + world + "/nginx.pid"], check=True)
    nginx = subprocess.Popen(["nginx", "-e", "stderr", "-c",
                              world + "/conf/nginx.conf", "-g", "daemon off;"])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print("http://127.0.0.1:%s/  key: %s" % (port, KEY), flush=True)
    try:
        while nginx.poll() is None:
            time.sleep(1)  # wait: polls until it is ended
    finally:
        nginx.terminate()
        nginx.wait()


if __name__ == "__main__":
    main()
