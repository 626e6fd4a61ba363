#!/usr/bin/python3
"""proxy.t: tests proxy/{port} of a session, HTTP and WebSocket, by key."""
import hashlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
import websocket_echo
from service import (at, call, container_error, create, execute, expect, get,
                     setting, until)
from tap import case, equal, run, true
from websocket import Refused, WebSocket

service.begin()

KEY = setting("SANDLEASE_API_KEY")
STRANGER = service.new_key("elsewhere", "mallory")
READER = service.new_key("demo", "reader", "--scope", "read")

# This app returns the request it got; the path chooses what else it does.
APP = websocket_echo.SOURCE + r"""
import hashlib, json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def upgrade(self):
        lines = ["%s: %s" % header for header in self.headers.items()]
        websocket_echo(self.connection, self.raw_requestline + "\r\n".join(
            lines + ["", ""]).encode())

    def any(self):
        self.close_connection = True
        if (self.headers["Upgrade"] or "").lower() == "websocket":
            return self.upgrade()
        if self.path == "/die":
            return
        body, left = hashlib.sha1(), int(self.headers["Content-Length"] or 0)
        while left > 0:
            piece = self.rfile.read(min(left, 65536))
            body.update(piece)
            left -= len(piece)
        answer = json.dumps({"method": self.command, "path": self.path,
                             "headers": dict(self.headers.items()),
                             "sha1": body.hexdigest()}).encode()
        if self.path == "/large":
            answer = b"y" * 20000000
        self.send_response(302 if self.path == "/move" else 207)
        self.send_header("Content-Length", str(len(answer)))
        self.send_header("X-Own", "its own")
        self.send_header("Set-Cookie", "sandlease=stolen")
        if self.path == "/move":
            self.send_header("Location", "/next")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = any
    do_OPTIONS = any

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def proxied(rest="", sid=None, port=8080):
    return at(sid or SID, "/proxy/%s%s" % (port, rest))


def serve(sid, port):
    expect(200, call("POST", at(sid, "/api/write"),
                     {"path": "/workspace/app.py", "content": APP}))
    execute(sid, "(/usr/bin/python3 /workspace/app.py %d >/dev/null 2>&1 &)" % port)
    until("it listens", lambda: expect(200, call(
        "POST", at(sid, "/api/port-check"), {"port": port, "mode": "tcp"})
        ).json["ready"])


def expose(sid, port):
    expect(200, call("POST", at(sid, "/api/expose-port"), {"port": port}))


def connect(path, key=KEY, **headers):
    """Opens a WebSocket to the app."""
    if key:
        headers["Authorization"] = "Bearer " + key
    headers.setdefault("Host", "127.0.0.1:%d" % service.port())
    return WebSocket(("127.0.0.1", service.port()), path, headers)


def refused(status, path=None, **more):
    try:
        connect(path or proxied("/ws"), **more)
    except Refused as r:
        equal((r.status, r.headers["Content-Type"]),
              (status, "application/json"), "a refusal")
        return
    raise AssertionError("it was opened")


SID = create(isolation="session", name="proxied")["id"]
serve(SID, 8080)
expose(SID, 8080)


@case
def a_request_passes_as_it_is():
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        body = b"hello" if method in ("POST", "PUT", "PATCH") else None
        r = expect(207, call(method, proxied("/a%2Fb?c=d%20e"), body,
                             headers={"X-Theirs": "1"}))
        equal((r.json["method"], r.json["path"], r.json["sha1"]),
              (method, "/a%2Fb?c=d%20e",
               hashlib.sha1(body or b"").hexdigest()), method)
        equal(r.json["headers"]["X-Theirs"], "1", "its headers")
        equal(r.header("X-Own"), "its own", "the app's headers")
        equal(r.header("Set-Cookie"), None, "but no cookie")
        true("sandbox" in r.header("Content-Security-Policy"), "no page")
    for rest in ("", "/"):
        equal(expect(207, call("GET", proxied(rest))).json["path"], "/", rest)
    equal(expect(207, call("HEAD", proxied("/"))).body, b"", "HEAD")


@case
def no_key_reaches_the_app():
    for headers in ({}, {"Authorization": "", "X-API-Key": KEY}):
        r = expect(207, call("GET", proxied("/"), key="" if headers else None,
                             headers=headers))
        true(KEY not in r.body.decode(), r.body)
        true(not {"authorization", "x-api-key"} &
             {n.lower() for n in r.json["headers"]}, r.body)
        equal(r.json["headers"]["Host"], "localhost:8080", "Host")
        equal(r.json["headers"]["X-Forwarded-Prefix"], proxied(), "prefix")
    # two keys: the service does not guess which one is meant
    container_error(call("GET", proxied("/"), headers={"X-API-Key": KEY}),
                    401, "UNAUTHORIZED")


@case
def the_header_that_has_no_key_of_ours_is_the_apps():
    def ask(authorization, key):
        return call("GET", proxied("/"), key="", headers={
            "Authorization": authorization, "X-API-Key": key})
    ours = "Bearer " + KEY
    for authorization, key, passed in (("Bearer its", KEY, "Authorization"),
                                       (ours, "its", "X-Api-Key")):
        r = expect(207, ask(authorization, key)).json["headers"]
        got = {n.lower(): v for n, v in r.items()}
        equal({n: got[n] for n in ("authorization", "x-api-key") if n in got},
              {passed.lower(): "Bearer its" if key == KEY else "its"}, passed)
        true(KEY not in str(got), got)
    for authorization, key in (("Bearer its", "its"), ("Bearer its", STRANGER),
                               ("Bearer " + STRANGER, KEY)):
        r = ask(authorization, key)
        true(r.status in (401, 404), r)
    # the other header is the app's only below proxy/
    container_error(call("GET", at(SID, "/api/ping"), key="", headers={
        "Authorization": "Bearer its", "X-API-Key": KEY}), 401, "UNAUTHORIZED")


@case
def a_redirect_leads_to_the_same_port():
    r = expect(302, call("GET", proxied("/move")))
    equal(r.header("Location"), proxied("/next"), "Location")
    equal(expect(207, call("GET", r.header("Location"))).json["path"],
          "/next", "followed")


@case
def large_bodies_pass_both_ways():
    body = os.urandom(20000000)
    r = expect(207, call("POST", proxied("/x"), body))
    equal(r.json["sha1"], hashlib.sha1(body).hexdigest(), "up")
    equal(len(expect(207, call("GET", proxied("/large"))).body), 20000000,
          "down")


@case
def websockets_pass():
    ws = connect(proxied("/ws"))
    for message in ("hello", b"\x00\xff" * 50000, "", "\u20ac" * 300):
        ws.send(message)
        equal(ws.recv() == message, True, "both ways")
    equal(ws.close(3999), 3999, "the app's close code")


@case
def a_port_that_is_not_exposed_is_not_found():
    for port in ("8081", "80", "0", "08080", "8080x", "65536", "-1",
                 "99999999999999999999", "%20", "%00x", "%ff"):
        r = call("GET", proxied("/", port=port))
        if r.status == 400:  # nginx itself refuses a NUL
            continue
        doc = container_error(r, 404, "PORT_NOT_EXPOSED")
        equal((doc["error"], "message" in doc, "port" in doc),
              ("Port not found", True, True), port)
    equal(call("GET", proxied("/", port=8081)).json["port"], 8081, "port")
    refused(404, proxied("/ws", port=8081))


@case
def nobody_listening_is_502():
    expose(SID, 8082)
    for method in ("GET", "POST"):
        doc = container_error(call(method, proxied("/", port=8082), b"x"
                                   if method == "POST" else None), 502,
                              "SERVICE_NOT_RESPONDING")
        equal((doc["error"], doc["port"], doc["context"]["listening"]),
              ("Proxy error", 8082, [8080]), method)
    refused(502, proxied("/ws", port=8082))
    doc = container_error(call("GET", proxied("/die")), 502,
                          "SERVICE_NOT_RESPONDING")
    equal((doc["error"], doc["port"]), ("Proxy error", 8080), "hung up")


@case
def who_may_not_is_told_nothing():
    container_error(call("GET", proxied("/"), key=""), 401, "UNAUTHORIZED")
    for sid in (SID, "a" * 20, "short"):
        container_error(call("GET", proxied("/", sid), key=STRANGER), 404,
                        "SESSION_NOT_FOUND")
        container_error(call("GET", proxied("/", sid, 1), key=STRANGER), 404,
                        "SESSION_NOT_FOUND")
    refused(401, key="")
    refused(404, key=STRANGER)
    expect(207, call("GET", proxied("/"), key=READER))
    container_error(call("POST", proxied("/"), b"x", key=READER), 403,
                    "FORBIDDEN")
    refused(403, key=READER)


@case
def the_dashboards_cookie_opens_no_port():
    ours = setting("SANDLEASE_URL")
    r = expect(204, call("POST", "/v1/login", {"key": KEY}, key="",
                         headers={"Origin": ours}))
    cookie = r.header("Set-Cookie").split(";")[0]
    for headers in ({}, {"Origin": ours}, {"Origin": "http://evil.example"},
                    {"Origin": ours, "Sec-Fetch-Site": "same-origin",
                     "Sec-Fetch-Dest": "empty"},
                    {"Sec-Fetch-Site": "same-origin",
                     "Sec-Fetch-Dest": "document"}):
        headers["Cookie"] = cookie + "; theirs=1"
        for method in ("GET", "POST"):
            container_error(call(method, proxied("/"), key="",
                                 headers=headers), 401, "UNAUTHORIZED")
        refused(401, key="", **headers)
    r = expect(207, call("GET", proxied("/"), headers={
        "Cookie": cookie + "; theirs=1"}))
    true(cookie.split("=", 1)[1] not in r.body.decode(), "nor reaches it")


@case
def a_path_that_leads_elsewhere_is_refused():
    other = create(isolation="session")["id"]
    for path in (proxied("/%2e%2e/%2e%2e/%2e%2e/", other) + SID
                 + "/proxy/8080/x",
                 proxied("/x").replace("8080", "%38080"),
                 "/v1//sessions/" + SID + "/proxy/8080/x"):
        container_error(call("GET", path), 400, "VALIDATION_FAILED")
    # dots that stay below the port are passed to the app
    equal(expect(207, call("GET", proxied("/a/../b"))).json["path"],
          "/a/../b", "raw")
    call("DELETE", at(other))


@case
def an_unexposed_port_closes_what_is_open():
    serve(SID, 8083)
    expose(SID, 8083)
    ws = connect(proxied("/ws", port=8083))
    expect(200, call("DELETE", at(SID, "/api/exposed-ports/8083")))
    equal(ws.closed(), None, "it is cut")
    container_error(call("GET", proxied("/", port=8083)), 404,
                    "PORT_NOT_EXPOSED")


@case
def a_session_asleep_is_woken_but_not_by_a_probe_or_for_nothing():
    sid = create(isolation="session")["id"]
    expose(sid, 8080)
    expect(200, call("POST", at(sid, "/sleep")))
    container_error(call("GET", proxied("/", sid), headers={
        "X-Sandlease-Probe": "1"}), 409, "SESSION_ASLEEP")
    container_error(call("GET", proxied("/", sid, 8081)), 404,
                    "PORT_NOT_EXPOSED")
    equal(get(sid)["state"], "asleep", "so far")
    # the app ended with the sleep, so nothing listens now
    container_error(call("POST", proxied("/", sid), b"x" * 100000), 502,
                    "SERVICE_NOT_RESPONDING")
    equal(get(sid)["state"], "ready", "awake")
    expect(200, call("POST", at(sid, "/sleep")))
    refused(502, proxied("/ws", sid))
    equal(get(sid)["state"], "ready", "awake again")
    expect(200, call("POST", at(sid, "/sleep")))
    container_error(call("GET", proxied("/", sid), key="", headers={
        "Authorization": "Bearer its", "X-API-Key": KEY}), 502,
        "SERVICE_NOT_RESPONDING")
    equal(get(sid)["state"], "ready", "also beside credentials of the app's")
    call("DELETE", at(sid))


@case
def a_dead_wrapper_is_replaced_and_the_port_reached_again():
    sid = create(isolation="session")["id"]
    expose(sid, 8080)
    expect(500, call("POST", at(sid, "/api/execute"),
                     {"command": "kill -9 $PPID"}))
    r = container_error(call("GET", proxied("/", sid)), 503,
                        "CONTAINER_UNAVAILABLE")
    equal(r["context"]["reason"], "container_replaced", "reason")
    serve(sid, 8080)
    expect(207, call("GET", proxied("/", sid)))
    call("DELETE", at(sid))


@case
def no_key_is_in_any_log():
    for name in ("log", "nginx/log"):
        folder = os.path.join(setting("STACK_STATE"), name)
        for file in os.listdir(folder):
            with open(os.path.join(folder, file), errors="replace") as f:
                true(KEY not in f.read(), file)


sys.exit(run(lambda: None))
