#!/usr/bin/python3
"""tickets.t: tests tickets, which stand for a key in a WebSocket's address, at the
gate."""
import datetime
import hashlib
import os
import re
import sys
import threading
import urllib.parse
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import fcgi_client
import service
from service import (admin, at, call, create, expect, get, new_key, problem,
                     setting, sql, until, value)
from tap import case, equal, run, true
from websocket import Refused, WebSocket

service.begin()

SID = create(isolation="session")["id"]
OTHER = create(isolation="session")["id"]
ORIGIN = setting("SANDLEASE_URL")
TICKETS = []  # no log may contain any of these


def make(sid=None, key=None, **body):
    made = expect(201, call("POST", at(sid or SID, "/tickets"), body, key)).json
    TICKETS.append(made["ticket"])
    return made


def ticket(*args, **more):
    return make(*args, **more)["ticket"]


def ask(route, sid=None, path="/ws/pty", pool="auth", request=None, **params):
    """Asks the gate as nginx does for a browser's handshake."""
    sent = {"REQUEST_METHOD": "GET", "SL_ROUTE": route,
            "SL_SESSION": sid or SID, "SL_PATH": at(sid or SID, path),
            "SL_REQUEST_ID": request or uuid.uuid4().hex,
            "SL_SCHEME": "http", "SL_HOST": ORIGIN.split("/")[2],
            "REMOTE_ADDR": "127.0.0.1", "HTTP_UPGRADE": "websocket"}
    sent.update(params)
    return fcgi_client.Request(
        "%s/run/%s.sock" % (setting("STACK_RUN"), pool), sent).all()


def auth(wanted="", **more):
    """Returns 204, "wake", or the reason of the refusal."""
    a = ask("auth-session", SL_TICKET=wanted, **more)
    return a.headers.get("x-sandlease-deny", a.status)


def told(one, why):
    """Waits for the audit entry, which has the ticket's hash and comes after the
    answer; the first reason stays for a minute."""
    subject = hashlib.blake2b(one.encode(), digest_size=32).hexdigest()[:8]
    rows = until("it is told", lambda: sql(
        "SELECT tenant, detail->>'session', detail->>'why' FROM audit WHERE"
        " kind = 'ticket_refused' AND subject = :'v1' ORDER BY id", subject))
    true(rows[0][0] == "demo" and rows[0][1] in (SID, OTHER), rows)
    equal(rows[0][2], why, "why")


def cookie():
    reply = expect(204, call("POST", "/v1/login", {
        "key": setting("SANDLEASE_API_KEY")}, "", {"Origin": ORIGIN}))
    return reply.header("Set-Cookie").split(";")[0]


# ---- making a ticket

@case
def a_ticket_comes_with_its_address_and_its_end():
    made = make()
    equal(set(made), {"ticket", "for", "expiresAt", "url"}, "fields")
    true(re.fullmatch("[a-z2-7]{26}", made["ticket"]), made["ticket"])
    equal((made["for"], made["url"]), (
        "terminal", get(SID)["urls"]["terminal"] + "&ticket=" +
        made["ticket"]), "where it goes")
    left = datetime.datetime.fromisoformat(
        made["expiresAt"].replace("Z", "+00:00")) - datetime.datetime.now(
            datetime.timezone.utc)
    true(0 < left.total_seconds() <= 60, "a minute: %s" % left)
    equal(make(**{"for": "terminal"})["for"], "terminal", "as it says")
    made = make(**{"for": "ws"})
    equal(made["url"], "ws" + ORIGIN[len("http"):] +
          at(SID, "/ws?ticket=" + made["ticket"]), "the multiplex")
    equal(call("POST", at(SID, "/tickets"), b"").status, 201, "no body")


@case
def a_bad_wish_is_told():
    for body in ({"for": "everything"}, {"for": 1}, {"for": None},
                 {"for": ["terminal"]}):
        problem(call("POST", at(SID, "/tickets"), body), 400,
                "validation_failed", "for")
    problem(call("POST", at(SID, "/tickets"), {"ttl": 3600}), 400,
            "validation_failed", "ttl")
    for path in (at("z" * 20, "/tickets"), at("x", "/tickets")):
        problem(call("POST", path), 404, "session_not_found")
    problem(call("POST", at(SID, "/tickets"), key=new_key("other", "u")), 404,
            "session_not_found")
    problem(call("POST", at(SID, "/tickets"), key=new_key(
        "demo", "reader", "--scope", "read")), 403, "forbidden")
    problem(call("POST", at(SID, "/tickets"), key=""), 401, "unauthorized")
    gone = create(isolation="session")["id"]
    expect(200, call("DELETE", at(gone)))
    problem(call("POST", at(gone, "/tickets")), 410, "session_deleted")


@case
def the_dashboard_makes_them_with_its_cookie_from_its_own_pages():
    with_cookie = {"Cookie": cookie(), "Origin": ORIGIN}
    made = expect(201, call("POST", at(SID, "/tickets"), {}, "",
                            with_cookie)).json
    equal(auth(made["ticket"]), 204, "it counts")
    for origin in ({"Origin": "http://evil.example"}, {}):
        problem(call("POST", at(SID, "/tickets"), {}, "", dict(
            Cookie=with_cookie["Cookie"], **origin)), 403, "origin_mismatch")


@case
def a_session_has_so_many_at_a_time():
    full = create(isolation="session")["id"]
    for _ in range(100):
        ticket(full)
    reply = call("POST", at(full, "/tickets"))
    doc = problem(reply, 429, "too_many_tickets")
    true(doc["retryable"], doc)
    true(1 <= int(reply.header("Retry-After")) <= 60, reply.headers)
    ticket(OTHER)


# ---- using a ticket

@case
def what_is_refused_is_told_by_its_hash():  # first: ten a minute are written
    expired = ticket()
    sql("UPDATE ticket SET expires_at = clock_timestamp()")
    key = new_key("demo", "short")
    orphan = ticket(key=key)
    admin("key", "revoke", expect(200, call("GET", "/v1/me",
                                            key=key)).json["keyId"])
    used, one, two = ticket(), ticket(), ticket()
    equal(auth(used), 204, "used")
    for mine, how, why in (
            ("a" * 26, {}, "unknown"), (expired, {}, "expired"),
            (used, {}, "used"), (one, {"path": "/ws"}, "other_purpose"),
            (two, {"sid": OTHER}, "other_session"), (orphan, {}, "key_over")):
        equal(auth(mine, **how), "invalid_ticket", why)
        told(mine, why)
    equal((auth(one), auth(two)), (204, 204), "what was not for it stays good")


def connect(made, **headers):
    """Connects as a browser does, at the address that came with the ticket."""
    url = urllib.parse.urlsplit(made["url"])
    return WebSocket((url.hostname, url.port), url.path + "?" + url.query,
                     headers)


def refused(made, status, code, **headers):
    try:
        connect(made, **headers).close()
    except Refused as r:
        equal((r.status, r.json["code"]), (status, code), "refused")
        return
    raise AssertionError("it was opened")


def answer_of(ws, command, wanted):
    """Types a command, and reads until the terminal has answered."""
    seen = b""
    ws.send(command.encode() + b"\r")
    while wanted not in seen:
        message = ws.recv()
        if isinstance(message, bytes):
            seen += message


@case
def a_terminal_opens_at_its_address_once():
    made = make()
    ws = connect(made)
    answer_of(ws, "echo $((6*7))answers", b"42answers")
    refused(made, 401, "INVALID_TICKET")
    answer_of(ws, "echo $((7*7))answers", b"49answers")  # the open terminal goes on
    ws.close()
    refused(dict(made, url=make(OTHER)["url"].replace(OTHER, SID)), 401,
            "INVALID_TICKET")
    refused(make(), 401, "UNAUTHORIZED",
            **{"X-API-Key": setting("SANDLEASE_API_KEY")})


@case
def the_multiplex_opens_with_its_own():
    made = make(**{"for": "ws"})
    terminal = make()
    refused(dict(made, url=made["url"].replace(made["ticket"],
                                               terminal["ticket"])),
            401, "INVALID_TICKET")
    ws = connect(made)
    ws.send({"type": "request", "id": "1", "method": "GET",
             "path": "/api/ping"})
    equal(ws.json()["status"], 200, "an answer")
    ws.close()


@case
def a_sleeping_session_wakes_for_who_has_one():
    expect(200, call("POST", at(OTHER, "/sleep")))
    made = make(OTHER)
    ws = connect(made)
    answer_of(ws, "echo $((6*7))answers", b"42answers")
    ws.close()
    equal(get(OTHER)["state"], "ready", "awake")
    refused(made, 401, "INVALID_TICKET")


@case
def the_cookie_opens_a_terminal_for_our_own_pages_only():
    plain = {"url": get(SID)["urls"]["terminal"]}
    login = cookie()
    host = {"Cookie": login}
    for origin in ("http://evil.example", "null"):
        refused(plain, 403, "ORIGIN_MISMATCH", Origin=origin, **host)
    refused(plain, 403, "ORIGIN_MISMATCH", **host)
    refused(plain, 401, "UNAUTHORIZED")
    connect(make(), Origin="http://elsewhere.example", **host).close()

@case
def it_opens_what_it_is_for_once():
    one = ticket()
    equal(auth(one), 204, "its own")
    equal(auth(one), "invalid_ticket", "once")
    for path in ("/ws", "/api/ws"):
        one = ticket(**{"for": "ws"})
        equal(auth(one, path="/ws/pty"), "invalid_ticket", "no terminal")
        equal(auth(one, path=path), 204, path)
        equal(auth(one, path=path), "invalid_ticket", "once")


@case
def it_opens_nothing_but_a_websocket():
    one = ticket()
    equal(auth(one, HTTP_UPGRADE=""), "unauthorized", "a link that is followed")
    for path in ("/api/execute", "/files/f", "/proxy/8080/", "/ws/pty/", "/"):
        equal(auth(one, path=path), "unauthorized", path)
    equal(call("GET", at(SID, "/ws/pty?ticket=" + one), key="").status, 426,
          "no WebSocket")
    for path in ("/api/ping?", "/files/?", "/api/list-files?"):
        equal(call("GET", at(SID, path + "ticket=" + one), key="").status,
              401, path)
    equal(call("GET", at(SID, "?ticket=" + one), key="").status, 400,
          "on the control plane, whose errors are logged with the query")
    equal(auth(one), 204, "all that has not used it up")


@case
def beside_a_key_it_is_refused_and_before_the_cookie_it_counts():
    one = ticket()
    key = setting("SANDLEASE_API_KEY")
    equal(auth(one, HTTP_AUTHORIZATION="Bearer " + key), "unauthorized", "two")
    equal(auth(one, HTTP_X_API_KEY=key), "unauthorized", "two")
    equal(auth(one, HTTP_COOKIE=cookie(), HTTP_ORIGIN="http://evil.example"),
          204, "wherever its page is from: it was given to it")
    equal(auth(one, HTTP_COOKIE=cookie(), HTTP_ORIGIN=ORIGIN),
          "invalid_ticket", "and the cookie is no second chance")


@case
def a_cookie_alone_opens_a_socket_for_our_own_pages_only():
    login = cookie()
    for path in ("/ws/pty", "/ws", "/api/ws"):
        for origin in ("http://evil.example", "null", "", ORIGIN + ".example",
                       ORIGIN.replace("http:", "https:")):
            equal(auth(path=path, HTTP_COOKIE=login, HTTP_ORIGIN=origin),
                  "origin_mismatch", (path, origin))
            equal(auth(path=path, HTTP_COOKIE=login, HTTP_ORIGIN=origin,
                       HTTP_UPGRADE=""), "origin_mismatch", "not asking")
    equal(auth(HTTP_COOKIE=login, HTTP_ORIGIN=ORIGIN), 204, "our own")


@case
def of_many_at_once_one_has_it():
    for _ in range(5):
        one = ticket()
        got = []
        threads = [threading.Thread(target=lambda t=one: got.append(auth(t)))
                   for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        equal(sorted(got, key=str), [204] + ["invalid_ticket"] * 7, "one")


@case
def a_sleeping_session_is_woken_by_the_one_request_that_has_it():
    expect(200, call("POST", at(SID, "/sleep")))
    one, mine, yours = ticket(), uuid.uuid4().hex, uuid.uuid4().hex

    def wake(request):
        return ask("wake-session", pool="api", request=request, SL_TICKET=one)
    equal(wake(mine).status, 401, "it has to be taken first")
    equal(auth(one, request=mine), "wake", "asleep")
    equal(auth(one, request=yours), "invalid_ticket", "it is taken")
    equal(wake(yours).status, 401, "and wakes for nobody else")
    equal(get(SID)["state"], "asleep", "nothing has woken it yet")
    sql("UPDATE ticket SET expires_at = clock_timestamp()")  # after a slow start
    equal(wake(mine).headers.get("x-accel-redirect"), "@session_again", "awake")
    equal(auth(one, request=mine), 204, "the same request again")
    equal(auth(one, request=yours), "invalid_ticket", "and no other")
    event = sql("SELECT actor FROM event WHERE session_id = :'v1' AND what ="
                " 'ready' ORDER BY id DESC LIMIT 1", SID)[0][0]
    true(event.startswith("gate:") and event.endswith("/" + value(
        "SELECT user_id FROM session WHERE id = :'v1'", SID)), event)


@case
def a_wrapper_that_died_is_replaced_for_who_has_a_ticket():
    one, mine = ticket(), uuid.uuid4().hex
    equal(auth(one, request=mine), 204, "admitted")
    dead = ask("dead-session", pool="api", request=mine, SL_TICKET=one,
               SL_CONNECT="-")
    equal((dead.status, dead.json()["code"]), (503, "CONTAINER_UNAVAILABLE"),
          "send it again")
    equal(ask("dead-session", pool="api", SL_TICKET=one,
              SL_CONNECT="-").status, 401, "nobody else")


@case
def a_deleted_session_opens_to_nobody():
    gone = create(isolation="session")["id"]
    one = ticket(gone)
    expect(200, call("DELETE", at(gone)))
    equal(auth(one, sid=gone), "session_deleted", "deleted")


@case
def the_refusal_has_its_own_words():
    a = ask("deny", SL_DENY="invalid_ticket", SL_SURFACE="data")
    equal((a.status, a.json()["code"]), (401, "INVALID_TICKET"), "dressed")


@case
def no_ticket_is_written_down():
    text = "".join(service.log(name[:-len(".log")]) for name in os.listdir(
        setting("STACK_STATE") + "/log") if name.endswith(".log"))
    rows = str(sql("SELECT * FROM ticket")) + str(sql("SELECT * FROM audit"))
    true(len(TICKETS) > 100, "tickets were made")
    equal([t for t in TICKETS if t in text or t in rows], [], "logs and rows")


run(lambda: None)
