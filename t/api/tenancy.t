#!/usr/bin/python3
"""tenancy.t: tests that every route treats another org's session as one that
does not exist."""
import http.client
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (admin, at, call, container_error, create, execute,
                     expect, get, new_key, problem, setting, until)
from tap import case, equal, run, true

service.begin()

MISSING = "z" * 20
THEIRS = create(name="theirs", isolation="session")["id"]
URL = expect(201, call("POST", at(THEIRS, "/ports"),
                       {"port": 8080})).json["url"]
STRANGER = new_key("strangers", "u")
# the headers that a browser sends with a call by a script of the dashboard
OWN_SCRIPT = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "empty"}
DATA_PLANE = (
    ("GET", "/"), ("GET", "/api/ping"), ("GET", "/api/version"),
    ("POST", "/api/execute"), ("POST", "/api/execute/stream"),
    ("POST", "/api/write"), ("POST", "/api/read"), ("GET", "/api/nothing"),
    ("GET", "/api/commands"), ("POST", "/api/port-check"),
    ("POST", "/api/port-watch"), ("POST", "/api/contexts"),
    ("POST", "/api/execute/code"), ("POST", "/api/terminal"),
    ("POST", "/api/terminal/default/input"), ("POST", "/api/watch"),
    ("POST", "/api/backup/create"),
    ("GET", "/ws"), ("GET", "/api/ws"), ("GET", "/ws/pty"),
    ("GET", "/proxy/8080/"), ("GET", "/files/f"), ("PUT", "/files/f"),
    ("GET", "/archive/"), ("POST", "/api/expose-port"),
    ("GET", "/api/exposed-ports"), ("DELETE", "/api/exposed-ports/8080"))
BODIES = {"/ports": {"port": 8081}, "/extend": {"seconds": 60},
          "/aliases": {"keys": ["stolen"]},
          "/executions": {"command": "touch stolen"},
          "/api/execute": {"command": "touch stolen"},
          "/api/execute/stream": {"command": "touch stolen"},
          "/api/write": {"path": "stolen", "content": ""},
          "/api/read": {"path": "f"}, "/api/expose-port": {"port": 8081},
          "/api/execute/code": {"code": "open('stolen', 'w')"}}
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket",
           "Sec-WebSocket-Version": "13",
           "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}


def control_routes():
    """Returns (method, path after the id) of each route that names a session."""
    out = subprocess.run([service.program("sandlease-api"), "--routes"],
                         capture_output=True, text=True, check=True).stdout
    found = re.findall(r"\| `(\w+)` \| `/v1/sessions/:id([^`]*)`", out)
    true(len(found) >= 11, "routes were found: %r" % found)
    return [(m, p.replace(":port", "8080")) for m, p in found]


def seen(reply, sid):
    """Returns the whole answer without the values that differ each time."""
    body = reply.body.decode().replace(sid, "<id>")
    body = re.sub(r'"(traceId|timestamp)": ?"[^"]*"', r'"\1":""', body)
    headers = sorted((n, v) for n, v in reply.headers.items()
                     if n not in ("Date", "X-Request-Id"))
    return reply.status, headers, body


def told():
    return int(service.value(
        "SELECT coalesce(sum((detail->>'times')::int), 0) FROM audit"
        " WHERE kind = 'session_foreign' AND severity = 'warning'"
        " AND subject = :'v1' AND tenant = 'demo'", THEIRS))


@case
def another_orgs_session_is_the_same_404_as_none_on_every_route():
    routes = control_routes() + list(DATA_PLANE)
    asked = 0
    for method, rest in routes:
        body = BODIES.get(rest)
        more = UPGRADE if rest in ("/ws", "/api/ws", "/ws/pty") else None
        for state in ("ready", "asleep") if rest == "/api/ping" else ("",):
            if state == "asleep":
                expect(200, call("POST", at(THEIRS, "/sleep")))
            theirs = call(method, at(THEIRS, rest), body, STRANGER, more)
            asked += 1
            none = call(method, at(MISSING, rest), body, STRANGER, more)
            what = "%s %s %s" % (method, rest, state)
            equal(theirs.status, 404, what)
            equal(seen(theirs, THEIRS), seen(none, MISSING), what)
    s = get(THEIRS)
    equal((s["state"], len(s["ports"])), ("asleep", 1), "nothing happened")
    # an event for the owner is written each time, after the answer
    until("all of it is told", lambda: told() >= asked)
    equal(told(), asked, "once for each call")
    expect(200, call("POST", at(THEIRS, "/resume")))
    equal(execute(THEIRS, "ls"), "", "nothing was written")


@case
def names_lists_and_keys_of_orgs_do_not_meet():
    s = create(STRANGER, name="theirs")
    true(s["id"] != THEIRS, "the same name is another session")
    listed = call("GET", "/v1/sessions", key=STRANGER).json["sessions"]
    equal([x["id"] for x in listed], [s["id"]], "list")
    cursor = "1.000000_" + THEIRS
    equal(call("GET", "/v1/sessions?cursor=" + cursor,
               key=STRANGER).json["sessions"], [], "a forged cursor")
    me = expect(200, call("GET", "/v1/me", key=STRANGER)).json
    equal((me["org"], me["user"], me["scope"]), ("strangers", "u", "tenant"),
          "me")


@case
def users_of_one_org_share_its_sessions():
    colleague = new_key("demo", "colleague")
    equal(get(THEIRS, colleague)["id"], THEIRS, "an org is the tenant")


@case
def a_preview_token_opens_its_own_session_only():
    port_, sid, rest = URL.split("/")[2].split("-", 2)
    token = rest.split(".")[0]
    domain = rest[len(token):]
    other = create(STRANGER)["id"]
    expect(201, call("POST", at(other, "/ports"), {"port": 8080}, STRANGER))

    def preview(host_port, host_id, host_token):
        return call("GET", "/", key=STRANGER, headers={
            "Host": "%s-%s-%s%s" % (host_port, host_id, host_token, domain)})
    # nothing listens: the relay's own page shows that the way is open
    equal(preview(port_, sid, token).status, 502, "its own")
    wrong = {}
    for what, r in (("another session", preview("8080", other, token)),
                    ("a missing one", preview("8080", MISSING, token)),
                    ("another port", preview("8081", sid, token)),
                    ("another token", preview("8080", sid, "a" * 26))):
        expect(404, r)
        equal(r.json["code"], "INVALID_TOKEN", what)
        wrong[r.body] = what
    equal(len(wrong), 1, "all alike: %r" % wrong)


# ---- keys

def refused_everywhere(key, headers=None, sid=THEIRS):
    for method, path in (("GET", at(sid)), ("GET", "/v1/sessions"),
                         ("POST", "/v1/sessions"), ("GET", "/v1/me")):
        problem(call(method, path, {} if method == "POST" else None, key,
                     headers), 401, "unauthorized")
    for method, rest in (("GET", "/api/ping"), ("POST", "/api/execute")):
        container_error(call(method, at(sid, rest), {"command": "true"},
                             key, headers), 401, "UNAUTHORIZED")


@case
def no_key_and_wrong_keys_are_401():
    refused_everywhere("")
    refused_everywhere("sl_" + "a" * 52)
    refused_everywhere("x" * 5000)
    refused_everywhere("", {"Authorization": "Basic eDp5"})
    refused_everywhere("", {"Authorization": "Bearer"})
    refused_everywhere("", {"X-API-Key": "' OR 1=1"})
    cookie = {"Cookie": "sandlease=" + "a" * 26}
    problem(call("GET", at(THEIRS), key="", headers=cookie), 401,
            "unauthorized")
    container_error(call("GET", at(THEIRS, "/api/ping"), key="",
                         headers=dict(cookie, **OWN_SCRIPT)), 401,
                    "UNAUTHORIZED")


@case
def both_ways_to_give_a_key_work_but_not_two_at_once():
    key = setting("SANDLEASE_API_KEY")
    header = {"X-API-Key": key}
    expect(200, call("GET", at(THEIRS), key="", headers=header))
    expect(200, call("GET", at(THEIRS, "/api/ping"), key="", headers=header))
    refused_everywhere(key, header)
    refused_everywhere(key, {"X-API-Key": STRANGER})


@case
def one_header_twice_is_refused():
    key = setting("SANDLEASE_API_KEY")
    for name, values in (
            ("X-API-Key", (key, STRANGER)), ("X-API-Key", (STRANGER, key)),
            ("X-API-Key", (key, key)),
            ("Authorization", ("Bearer " + key, "Bearer " + STRANGER)),
            ("Authorization", ("Bearer " + STRANGER, "Bearer " + key))):
        for path in (at(THEIRS), at(THEIRS, "/api/ping")):
            conn = http.client.HTTPConnection("127.0.0.1", service.port())
            conn.putrequest("GET", path)
            for v in values:
                conn.putheader(name, v)
            conn.endheaders()
            status = conn.getresponse().status
            true(status in (400, 401), "%s twice on %s: %d" % (
                name, path, status))


@case
def a_revoked_key_stops_at_once():
    key = new_key("demo", "short")
    key_id = expect(200, call("GET", "/v1/me", key=key)).json["keyId"]
    origin = {"Origin": setting("SANDLEASE_URL")}
    cookie = expect(204, call("POST", "/v1/login", {"key": key}, "",
                              origin)).header("Set-Cookie").split(";")[0]
    expect(200, call("GET", at(THEIRS, "/api/ping"), key=key))
    expect(200, call("GET", at(THEIRS), key="", headers={"Cookie": cookie}))
    script = dict(OWN_SCRIPT, Cookie=cookie)
    expect(200, call("GET", at(THEIRS, "/api/ping"), key="", headers=script))
    admin("key", "revoke", key_id)
    refused_everywhere(key)
    problem(call("GET", at(THEIRS), key="", headers={"Cookie": cookie}), 401,
            "unauthorized")
    container_error(call("GET", at(THEIRS, "/api/ping"), key="",
                         headers=script), 401, "UNAUTHORIZED")


@case
def on_the_data_plane_a_cookie_counts_for_the_dashboards_scripts_only():
    origin = {"Origin": setting("SANDLEASE_URL")}
    cookie = {"Cookie": expect(204, call(
        "POST", "/v1/login", {"key": setting("SANDLEASE_API_KEY")}, "",
        origin)).header("Set-Cookie").split(";")[0]}
    for site, dest in (("", ""), ("same-origin", "document"),
                       ("same-origin", "iframe"), ("same-origin", ""),
                       ("same-origin", "script"), ("same-site", "empty"),
                       ("cross-site", "empty"), ("none", "document"),
                       ("", "empty")):
        says = dict(cookie, **{"Sec-Fetch-Site": site, "Sec-Fetch-Dest": dest})
        for path in ("/api/ping", "/files/x", "/archive/x", "/api/list-files"):
            container_error(call("GET", at(THEIRS, path), key="",
                                 headers=says), 403, "ORIGIN_MISMATCH")
        container_error(call("POST", at(THEIRS, "/api/execute"), {}, "",
                             dict(says, **origin)), 403, "ORIGIN_MISMATCH")
    container_error(call("POST", at(THEIRS, "/api/execute"), {}, "",
                         dict(cookie, **OWN_SCRIPT)), 403, "ORIGIN_MISMATCH")
    expect(200, call("GET", at(THEIRS, "/api/ping"), key="",
                     headers=dict(cookie, **OWN_SCRIPT)))


@case
def an_expired_key_is_none():
    key = new_key("demo", "u", "--expires", "2999-01-01T00:00:00Z")
    expect(200, call("GET", "/v1/me", key=key))
    service.sql("UPDATE api_key SET expires_at = clock_timestamp()"
                " WHERE expires_at IS NOT NULL")
    refused_everywhere(key)
    refused_everywhere(new_key("demo", "u", "--expires",
                               "2001-01-01T00:00:00Z"))


@case
def a_read_key_only_reads():
    key = new_key("demo", "reader", "--scope", "read")
    for method, rest in control_routes():
        r = call(method, at(THEIRS, rest), BODIES.get(rest), key)
        if method == "GET":
            expect(200, r)
        else:
            problem(r, 403, "forbidden")
    expect(200, call("GET", "/v1/sessions", key=key))
    problem(call("POST", "/v1/sessions", {}, key), 403, "forbidden")
    expect(200, call("GET", at(THEIRS, "/api/ping"), key=key))
    for rest in ("/api/execute", "/api/execute/stream", "/api/write"):
        container_error(call("POST", at(THEIRS, rest), BODIES[rest], key),
                        403, "FORBIDDEN")


@case
def a_cookie_needs_the_dashboards_origin_to_change_anything():
    ours = {"Origin": setting("SANDLEASE_URL")}
    body = {"key": setting("SANDLEASE_API_KEY")}
    r = expect(204, call("POST", "/v1/login", body, "", ours))
    full = r.header("Set-Cookie")
    true("HttpOnly" in full and "SameSite=Strict" in full, full)
    cookie = {"Cookie": full.split(";")[0]}
    expect(200, call("GET", "/v1/sessions", key="", headers=cookie))
    for origin in ({}, {"Origin": "http://evil.example"},
                   {"Origin": URL.rstrip("/")}, {"Origin": "null"}):
        headers = dict(cookie, **origin)
        problem(call("POST", "/v1/sessions", {}, "", headers), 403,
                "origin_mismatch")
        container_error(call("POST", at(THEIRS, "/api/execute"),
                             {"command": "true"}, "", headers), 403,
                        "ORIGIN_MISMATCH")
        problem(call("POST", "/v1/login", body, "", origin), 403,
                "origin_mismatch")
    expect(201, call("POST", "/v1/sessions", {}, "", dict(cookie, **ours)))
    expect(204, call("DELETE", "/v1/login", None, "", dict(cookie, **ours)))
    problem(call("GET", "/v1/sessions", key="", headers=cookie), 401,
            "unauthorized")


@case
def health_tells_strangers_little():
    equal(set(call("GET", "/v1/health", key="").json), {"status", "version"},
          "without a key")
    health = call("GET", "/v1/health").json
    true("activeSessions" in health, "with one")
    true("disk" not in health, "how full the host is, no tenant is told")
    disk = call("GET", "/v1/health", key=service.new_key(
        "keepers", "u", "--scope", "admin")).json["disk"]
    has = os.statvfs(service.setting("STACK_STATE"))
    equal((disk["totalMb"], disk["totalInodes"] > 0),
          (has.f_blocks * has.f_frsize >> 20, has.f_files > 0), "an operator is")
    true(0 <= disk["freeInodes"] <= disk["totalInodes"] and
         0 < disk["freeMb"] <= disk["totalMb"], "free: %r" % disk)
    problem(call("GET", "/v1/health", key="wrong"), 401, "unauthorized")
    equal(call("GET", "/v1/live", key="").status, 204, "live")


@case
def no_key_or_token_stands_in_a_log():
    token = URL.split("/")[2].split("-", 2)[2].split(".")[0]
    logs = ""
    for folder in ("log", "nginx/log"):
        folder = os.path.join(setting("STACK_STATE"), folder)
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), errors="replace",
                      encoding="utf-8") as f:
                logs += f.read()
    true(THEIRS in logs, "logs were read")
    for secret in (token, setting("SANDLEASE_API_KEY"), STRANGER):
        true(secret not in logs, "a secret is in the logs")


sys.exit(run(lambda: None))
