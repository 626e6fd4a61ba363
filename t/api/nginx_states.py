"""nginx_states.py: tests sessions that sleep or are dead, and wrappers that
send false answers."""
import os
import re
import socket

from fcgi import Responder
from nginx_world import (A, ASLEEP, B, CUT, DEAD, KEY, LIES, PATIENCE, TOKEN)
from service import until
from tap import case, equal, true


@case
def a_sleeping_session_is_woken_and_gets_the_same_request_with_its_body(w):
    for method, body in (("POST", b"x" * 999999), ("PUT", b"small"),
                         ("DELETE", None), ("GET", None)):
        w.awake = False
        answer = w.ask("/v1/sessions/%s/api/run?q=1" % ASLEEP, method, body,
                       Authorization="Bearer " + KEY)
        equal(answer.status, 200, method)
        equal(answer.json(), {"session": ASLEEP, "method": method,
                              "body": (body or b"").decode()[:100]})
        (wake,), (p,) = w.api.took(), w.wrappers[ASLEEP].took()
        equal(wake["SL_ROUTE"], "wake-session")
        equal(wake["SL_SESSION"], ASLEEP)
        equal(wake["REQUEST_METHOD"], method)
        equal(p["CONTENT_LENGTH"], str(len(body)) if body else "")
        equal(p["QUERY_STRING"], "q=1")
        equal(p["SL_REQUEST_ID"], wake["SL_REQUEST_ID"])
        equal([a["SL_ROUTE"] for a in w.auth.took()], ["auth-session"] * 2)


@case
def a_chunked_body_survives_the_wake_up(w):
    with socket.create_connection(("127.0.0.1", w.port), PATIENCE) as s:
        s.sendall(b"POST /v1/sessions/%s/api/run HTTP/1.1\r\nHost: x\r\n"
                  b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                  b"f0005\r\nhello%s\r\n0\r\n\r\n"
                  % (ASLEEP.encode(), b"x" * 0xf0000))
        data = b""
        while True:
            more = s.recv(4096)
            if not more:
                break
            data += more
    true(data.startswith(b"HTTP/1.1 200") and b'"hello' in data, data)
    equal(w.wrappers[ASLEEP].took()[0]["CONTENT_LENGTH"], str(0xf0005))


def woken_by(w):
    """Checks that there was one wake-up; returns it."""
    (p,) = w.api.took()
    equal((p["SL_ROUTE"], p["SL_SESSION"]), ("wake-session", ASLEEP))
    equal(p["SL_PATH"], "/v1/sessions/%s/files/x" % ASLEEP)
    true(w.awake, "woken")
    return p


@case
def a_body_too_large_to_keep_is_read_when_the_session_is_awake(w):
    for size, first in ((1000000, b""), (3000000, b"first")):
        w.forget()
        with socket.create_connection(("127.0.0.1", w.port), PATIENCE) as s:
            s.sendall(b"PUT /v1/sessions/%s/files/x HTTP/1.1\r\nHost: x\r\n"
                      b"Content-Length: %d\r\n\r\n%s"
                      % (ASLEEP.encode(), size, first))
            until("it is awake", lambda: w.awake)
            s.sendall(b"y" * (size - len(first)))
            answer = s.recv(4096)
        true(answer.startswith(b"HTTP/1.1 200"), answer)
        woken_by(w)
        (p,) = w.wrappers[ASLEEP].took()
        equal(p["CONTENT_LENGTH"], str(size))
        equal([a["SL_ROUTE"] for a in w.auth.took()], ["auth-session"] * 2)


@case
def one_that_turns_out_too_large_wakes_the_session_and_is_asked_for_again(w):
    """The body stalls, so an answer comes only if nginx stops reading."""
    w.forget()
    with socket.create_connection(("127.0.0.1", w.port), PATIENCE) as s:
        s.sendall(b"PUT /v1/sessions/%s/files/x HTTP/1.1\r\nHost: x\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n4000000\r\n%s"
                  % (ASLEEP.encode(), b"x" * (1024 * 1024 + 1)))
        answer = s.recv(4096)
    true(answer.startswith(b"HTTP/1.1 503"), answer)
    true(b"\r\nRetry-After: 1\r\n" in answer, answer)
    equal(woken_by(w)["SL_BODY"], "lost", "it is not sent on")
    equal(w.wrappers[ASLEEP].took(), [])


@case
def why_a_session_is_not_woken_is_told_whatever_the_body(w):
    asked = w.api.handler

    def refuse(r):
        r.reply(429, [], b'{"code":"quota"}')
    w.api.handler = refuse
    try:
        for size in (10, 3000000):
            w.forget()
            with socket.create_connection(("127.0.0.1", w.port),
                                          PATIENCE) as s:
                s.sendall(b"PUT /v1/sessions/%s/files/x HTTP/1.1\r\nHost: x\r\n"
                          b"Content-Length: %d\r\n\r\n1234567890"
                          % (ASLEEP.encode(), size))
                answer = s.recv(4096)
            true(answer.startswith(b"HTTP/1.1 429") and b"quota" in answer,
                 answer)
            equal(w.wrappers[ASLEEP].took(), [])
    finally:
        w.api.handler = asked


@case
def statuses_of_a_wrapper_or_an_app_are_their_own(w):
    for status in (400, 401, 403, 404, 413, 500, 502, 503, 504):
        answer = w.ask("/v1/sessions/%s/api/status/%d" % (A, status))
        equal((answer.status, answer.body), (status, b"wrapper"))
        answer = w.preview("/status/%d" % status)
        equal((answer.status, answer.body), (status, b"app"))
    equal(w.api.took(), [])


@case
def still_asleep_after_a_wake_up_is_503_and_no_circle(w):
    asked = w.api.handler

    def no_wake(r):
        r.reply(200, [("X-Accel-Redirect", "@session_again")])
    w.api.handler = no_wake
    try:
        answer = w.ask("/v1/sessions/%s/api/run" % ASLEEP, "POST", b"{}")
    finally:
        w.api.handler = asked
    equal((answer.status, answer.json()["code"]),
          (503, "CONTAINER_UNAVAILABLE"))
    equal(answer.headers["retry-after"], "1")
    equal(len(w.api.took()), 1)
    equal(w.wrappers[ASLEEP].took(), [])


@case
def a_refusal_after_the_wake_up_is_told_as_any_other(w):
    asked = w.api.handler

    def gone(r):
        w.told[ASLEEP] = ""
        r.reply(200, [("X-Accel-Redirect", "@session_again")])
    auth = w.auth.handler

    def refuse(r):
        if ASLEEP in w.told and r.params["SL_ROUTE"] != "deny":
            r.reply(403, [("X-Sandlease-Deny", "session_deleting")])
        else:
            auth(r)
    w.api.handler, w.auth.handler = gone, refuse
    try:
        answer = w.ask("/v1/sessions/%s/api/run" % ASLEEP, "POST", b"{}")
    finally:
        w.api.handler, w.auth.handler = asked, auth
        w.told.clear()
    equal((answer.status, answer.json()["code"]), (404, "session_deleting"))


@case
def a_wrapper_that_is_not_there_was_sent_nothing(w):
    w.ask("/v1/sessions/%s/api/run" % DEAD, "POST", b"{}")  # no such socket
    (p,) = w.api.took()
    equal((p["SL_ROUTE"], p["SL_SESSION"], p["SL_CONNECT"]),
          ("dead-session", DEAD, "-"))
    gone = Responder(w.socket(DEAD), None)
    gone.close()  # the socket's name stays: connect() gives ECONNREFUSED
    answer = w.ask("/v1/sessions/%s/api/run" % DEAD, "POST", b"{}")
    os.unlink(gone.path)
    (p,) = w.api.took()
    equal(p["SL_CONNECT"], "-")
    equal((answer.status, answer.json()["connect"]), (503, "-"))
    equal(answer.headers["retry-after"], "1")


@case
def a_wrapper_that_dies_with_the_request_in_hand_is_told_apart(w):
    w.ask("/v1/sessions/%s/api/run" % CUT, "POST", b"{}")
    (p,) = w.api.took()
    equal(p["SL_ROUTE"], "dead-session")
    true(re.fullmatch(r"[0-9]+\.[0-9]+", p["SL_CONNECT"]), p["SL_CONNECT"])


@case
def the_pool_of_streams_says_itself_whether_anything_was_sent(w):
    answer = w.ask("/v1/sessions/%s/api/execute/stream" % DEAD, "POST", b"{}")
    (p,) = w.api.took()
    equal((p["SL_ROUTE"], p["SL_SESSION"], p["SL_CONNECT"]),
          ("dead-session", DEAD, "-"))
    equal((answer.status, answer.json()["connect"]), (503, "-"))
    w.ask("/v1/sessions/%s/api/execute/stream" % CUT, "POST", b"{}")
    (p,) = w.api.took()
    equal(p["SL_ROUTE"], "dead-session")
    true(re.fullmatch(r"[0-9]+\.[0-9]+", p["SL_CONNECT"]), p["SL_CONNECT"])


@case
def a_wrapper_cannot_say_so_on_another_route(w):
    asked = w.wrappers[CUT].handler

    def half(r):
        r.write(b"X-Sandlease-Unsent: 1\r\n")
        r.die()
    w.wrappers[CUT].handler = half
    try:
        w.ask("/v1/sessions/%s/api/run" % CUT, "POST", b"{}")
    finally:
        w.wrappers[CUT].handler = asked
    (p,) = w.api.took()
    true(re.fullmatch(r"[0-9]+\.[0-9]+", p["SL_CONNECT"]), p["SL_CONNECT"])


@case
def the_last_upstream_counts_when_a_woken_wrapper_is_dead(w):
    w.told[ASLEEP] = "unix:" + w.socket(DEAD)[:-len(DEAD + ".7.sock")] + \
        ASLEEP + ".8.sock"
    auth = w.auth.handler

    def first_asleep(r):
        if w.awake:
            auth(r)
        else:
            r.reply(401, [("X-Sandlease-Deny", "wake")])
    w.auth.handler = first_asleep
    try:
        w.ask("/v1/sessions/%s/api/run" % ASLEEP, "POST", b"{}")
    finally:
        w.auth.handler = auth
        w.told.clear()
    wake, dead = w.api.took()
    equal((wake["SL_ROUTE"], dead["SL_ROUTE"]),
          ("wake-session", "dead-session"))
    equal(dead["SL_CONNECT"], "-")


@case
def an_upstream_that_is_not_the_sessions_own_socket_is_refused(w):
    own = "unix:" + w.socket(LIES)
    for told in ("unix:" + w.socket(B), "unix:/etc/passwd", "127.0.0.1:80",
                 "unix:%s/api.sock" % w.run_dir, own + "x", own + ":/x",
                 "unix:%s/s/../s/%s.7.sock" % (w.run_dir, LIES),
                 own.replace(".7.", ".7.9090."), "sandlease_api", ""):
        w.told[LIES] = told
        answer = w.ask("/v1/sessions/%s/api/run" % LIES, "POST", b"{}")
        equal((answer.status, answer.json()["code"]),
              (503, "CONTAINER_UNAVAILABLE"), told)
        answer = w.ask("/v1/sessions/%s/api/watch" % LIES, "POST", b"{}")
        equal((answer.status, answer.json()["code"]),
              (503, "CONTAINER_UNAVAILABLE"), told)
        answer = w.preview(session=LIES)
        equal((answer.status, answer.json()["code"]),
              (503, "PREVIEW_UNAVAILABLE"), told)
    w.told.clear()
    equal(w.api.took() + w.wrappers[B].took() + w.stream.took(), [])


@case
def nothing_a_wrapper_says_steers_nginx_or_a_browser(w):
    answer = w.ask("/v1/sessions/%s/api/hostile" % A)
    equal(answer.status, 200)
    equal(answer.body, b"<script>alert(1)</script>", "no internal redirect")
    equal(sorted(n for n, _ in answer.pairs), sorted([
        "server", "date", "content-type", "transfer-encoding", "connection",
        "x-request-id", "x-content-type-options", "referrer-policy",
        "cross-origin-resource-policy", "content-security-policy",
        "cache-control"]))
    equal(answer.headers["cache-control"], "no-store")
    true(answer.headers["x-request-id"] != "forged", "request id")
    true(answer.headers["content-security-policy"].startswith(
        "sandbox; default-src 'none'"), "policy")
    equal(answer.headers["content-type"], "text/html")


@case
def a_page_of_a_preview_cannot_reach_the_API(w):
    referer = "http://8080-%s-%s.localhost:%d/" % (A, TOKEN, w.port)
    for path in ("/v1/sessions", "/v1/sessions/%s/api/ping" % A,
                 "/v1/sessions/%s/api/exposed-ports" % A):
        equal(w.ask(path, Referer=referer).status, 403, path)
    equal(w.api.took() + w.auth.took(), [])
    equal(w.ask("/", Referer=referer).status, 200)
