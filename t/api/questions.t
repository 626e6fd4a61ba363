#!/usr/bin/python3
"""questions.t: tests the messages for mistakes that people make in requests."""
import http.client
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, container_error, create, expect, problem,
                     setting)
from tap import case, equal, run, true

service.begin()

KEY = setting("SANDLEASE_API_KEY")
SID = create(isolation="session", name="questions")["id"]


def raw(path, *headers):
    """Sends a GET with exactly these headers; a header may occur twice."""
    conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                      timeout=service.PATIENCE)
    conn.putrequest("GET", path)
    for name, value in headers:
        conn.putheader(name, value)
    conn.endheaders()
    answer = conn.getresponse()
    reply = service.Reply(answer.status, answer.headers, answer.read())
    conn.close()
    return reply


def says(reply, status, *words):
    """Checks the problem's detail, or the message of the data plane."""
    expect(status, reply)
    told = reply.json.get("detail") or reply.json["message"]
    for word in words:
        true(word in told, "%r in %r" % (word, told))


# ---- queries

@case
def a_parameter_that_is_not_known_is_refused_and_the_known_ones_are_named():
    for method, path, field, words in (
            ("GET", "/v1/sessions?stat=ready", "stat",
             ("state", "label", "correlationKey", "limit", "cursor")),
            ("GET", "/v1/sessions?limit=5&Limit=5", "Limit", ("limit",)),
            ("GET", "/v1/sessions?limit", "limit", ("value",)),
            ("GET", "/v1/sessions?limit=5&limit=6", "limit", ("once",)),
            ("GET", at(SID, "?wait=1"), "wait", ("none",)),
            ("GET", at(SID, "/events?since=4"), "since", ("after", "wait")),
            ("POST", "/v1/sessions?waitSeconds=1", "waitSeconds", ("wait",)),
            ("DELETE", at(SID, "?force=true"), "force", ("none",)),
            ("DELETE", at(SID, "/aliases?keys=a"), "keys", ("key",)),
            ("GET", "/v1/usage?verbose", "verbose", ("none",))):
        r = call(method, path)
        problem(r, 400, "validation_failed", field)
        says(r, 400, *words)
    equal(call("GET", at(SID)).json["state"], "ready", "nothing was done")


@case
def files_and_archives_know_theirs_and_the_sdks_routes_take_any():
    path = at(SID, "/files/workspace/f")
    expect(201, call("PUT", path + "?mode=0600", b"x"))
    for method, more in (("GET", "?offset=1"), ("PUT", "?modus=0600"),
                         ("DELETE", "?force=1")):
        r = call(method, path + more, b"y" if method == "PUT" else None)
        container_error(r, 400, "VALIDATION_FAILED")
        says(r, 400, more[1:].split("=")[0])
    equal(expect(200, call("GET", path)).body, b"x", "nothing was done")
    r = call("GET", at(SID, "/archive/workspace?compress=gz"))
    says(r, 400, "compress", "format")
    expect(200, call("GET", at(SID, "/api/ping?session=x&nonce=1")))
    expect(200, call("GET", at(SID, "/api/exposed-ports?session=x")))


# ---- keys

@case
def the_scheme_may_be_written_in_any_case():
    for scheme in ("bearer", "BEARER", "Bearer", "bEaReR "):
        for path in ("/v1/me", at(SID, "/api/ping")):
            expect(200, raw(path, ("Authorization", scheme + " " + KEY)))
    expect(200, raw("/v1/me", ("X-API-Key", KEY)))
    for bad in ("Basic " + KEY, "Bearer" + KEY, KEY, "Bearer"):
        expect(401, raw("/v1/me", ("Authorization", bad)))


@case
def every_401_says_how_to_authenticate():
    for headers in ((), (("Authorization", "Bearer wrong"),),
                    (("Authorization", "Basic eDp5"),),
                    (("Authorization", "Bearer " + KEY), ("X-API-Key", KEY))):
        for path in ("/v1/me", "/v1/sessions", at(SID), at(SID, "/api/ping"),
                     at(SID, "/files/workspace/f"), at(SID, "/proxy/8000/"),
                     at(SID, "/api/exposed-ports")):
            r = expect(401, raw(path, *headers))
            equal(r.header("WWW-Authenticate"), 'Bearer realm="sandlease"',
                  "%s with %r" % (path, headers))
    r = expect(401, raw(at(SID, "/ws"), ("Connection", "Upgrade"),
                        ("Upgrade", "websocket")))
    equal(r.header("WWW-Authenticate"), 'Bearer realm="sandlease"', "WebSocket")
    equal(raw("/v1/me", ("X-API-Key", KEY)).header("WWW-Authenticate"), None,
          "and nothing else does")


@case
def a_key_that_is_given_twice_is_told_so():
    both = (("Authorization", "Bearer " + KEY), ("X-API-Key", KEY))
    for path in ("/v1/me", at(SID, "/api/ping")):
        says(raw(path, *both), 401, "more than once", "X-API-Key")
        says(raw(path, ("Authorization", "Bearer " + KEY),
                 ("Authorization", "Bearer " + KEY)), 400,
             "Authorization", "twice")


@case
def a_key_that_may_read_may_read_files_in_every_way():
    reader = service.new_key("demo", "files", "--scope", "read")
    stranger = service.new_key("elsewhere", "mallory", "--scope", "read")
    path = {"path": "/workspace/r"}
    expect(201, call("PUT", at(SID, "/files/workspace/r"), b"text"))
    for name, body in (("read", path), ("read/stream", path),
                       ("exists", path),
                       ("list-files", {"path": "/workspace"})):
        expect(200, call("POST", at(SID, "/api/" + name), body, reader))
        expect(404, call("POST", at(SID, "/api/" + name), body, stranger))
    for name, body in (("write", dict(path, content="x")), ("delete", path),
                       ("execute", {"command": "true"}),
                       ("mkdir", path), ("read/", path), ("reads", path),
                       ("read/../write", dict(path, content="x")),
                       ("write/../read/../write", dict(path, content="x"))):
        container_error(call("POST", at(SID, "/api/" + name), body, reader),
                        403, "FORBIDDEN")
    container_error(call("DELETE", at(SID, "/api/read"), key=reader), 403,
                    "FORBIDDEN")
    equal(expect(200, call("GET", at(SID, "/files/workspace/r"))).body,
          b"text", "nothing was written")


# ---- addresses

@case
def an_address_that_is_nearly_right_is_told_what_is_wrong_with_it():
    says(call("GET", "/v1/v1/sessions"), 404, "without /v1")
    says(call("GET", "/v1/sessions/"), 404, "slash")
    says(call("POST", at(SID, "/resume/")), 404, "slash")
    r = call("POST", at(SID, "/api/exec"), {"command": "true"})
    container_error(r, 404, "UNKNOWN_ERROR")
    says(r, 404, "POST api/exec", "is it api/execute?")
    for typed, meant in ("api/executee", "api/execute"), \
            ("api/exeucte/stream", "api/execute/stream"), \
            ("api/proces/p-1/logs", "api/process/:id/logs"):
        says(call("POST", at(SID, "/" + typed), {}), 404, "POST " + typed,
             "is it %s?" % meant)
    r = call("POST", at(SID, "/api/frobnicate"), {})
    says(r, 404, "POST api/frobnicate")
    true("is it" not in r.json["error"], "none is near: %r" % r.json)


@case
def the_address_of_previews_says_that_the_api_is_elsewhere():
    preview = int(setting("STACK_PREVIEW_PORT"))
    r = expect(404, call("GET", "/v1/sessions", to=preview))
    true("another address" in r.json["error"], r)
    told = subprocess.run(
        [os.path.join(os.environ["top_builddir"], "sandlease"), "ls"],
        env=dict(os.environ, SANDLEASE_URL="http://127.0.0.1:%d" % preview),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    true(told.returncode != 0 and b"another address" in told.stdout, told)


# ---- values

@case
def values_that_are_not_known_are_told_which_are():
    r = call("POST", "/v1/sessions", {"expiresAt": "tomorrow"})
    problem(r, 400, "validation_failed", "expiresAt")
    says(r, 400, "RFC 3339", "2030-01-31T12:00:00Z")
    says(call("PATCH", at(SID), {"expiresAt": "soon"}), 400, "RFC 3339")
    r = call("GET", "/v1/sessions?state=running")
    problem(r, 400, "validation_failed", "state")
    says(r, 400, "initializing", "ready", "asleep", "deleted")
    r = call("POST", "/v1/sessions", {"isolation": "session",
                                      "class": "gigantic"})
    problem(r, 400, "validation_failed", "class")
    says(r, 400, "shared", "small")


@case
def classes_are_listed_with_their_limits():
    reader = service.new_key("demo", "reader", "--scope", "read")
    found = expect(200, call("GET", "/v1/classes", key=reader)).json["classes"]
    equal([c["name"] for c in found], ["shared", "small"], "names")
    equal(found[1], {"name": "small", "provider": "local", "memoryMb": 2048,
                     "cpuMillis": 1000, "diskMb": 4096, "pids": 1024,
                     "cpuSeconds": 86400, "wallSeconds": 86400, "writableRoot": False,
                     "network": {"mode": "open"}}, "one of them")
    expect(401, call("GET", "/v1/classes", key=""))


@case
def extend_without_seconds_is_ten_minutes():
    sid = create(sleepAfterSeconds=1)["id"]
    for body in (None, {}):
        expect(200, call("POST", at(sid, "/extend"), body))
    left = float(service.value(
        "SELECT extract(epoch FROM extended_until - clock_timestamp())"
        " FROM session WHERE id = :'v1'", sid))
    # wait: an upper bound that no slow machine exceeds, and a minute's slack
    true(540 < left <= 600, "left: %f" % left)


sys.exit(run(lambda: None))
