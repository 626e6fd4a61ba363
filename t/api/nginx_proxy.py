"""nginx_proxy.py: tests proxy/{port}, a port of a session for clients with a key."""
import os
import re
import socket

from nginx_world import (A, ASLEEP, B, CUT, DEAD, HOSTILE, KEY, LIES, LOGIN,
                         MISSING, PATIENCE, TOKEN, WORLD)
from tap import case, equal, true


def at(rest="", session=A, port="8080"):
    return "/v1/sessions/%s/proxy/%s%s" % (session, port, rest)


def location(w, sent):
    """Returns the Location and the X-Proxy-Location that the client gets."""
    w.apps[A].extra = [("Location", sent)]
    try:
        answer = w.ask(at("/status/302"))
    finally:
        w.apps[A].extra = []
    equal((answer.status, answer.body), (302, b"app"), sent)
    return (answer.headers.get("location"),
            answer.headers.get("x-proxy-location"))


@case
def a_port_is_reached_by_its_raw_path(w):
    for rest, wanted in (("", "/"), ("/", "/"), ("?q=%20", "/?q=%20"),
                         ("/x%2fy//z?q=%20", "/x%2fy//z?q=%20"),
                         ("/a/./../b", "/a/./../b")):
        answer = w.ask(at(rest), "PUT", b"abc", Authorization="Bearer " + KEY)
        equal((answer.status, answer.body), (200, b"app"), rest)
        (auth,) = w.auth.took()
        equal((auth["SL_ROUTE"], auth["SL_SESSION"], auth["SL_PORT"],
               auth["REQUEST_URI"], auth["CONTENT_LENGTH"]),
              ("auth-session", A, "8080", at(rest), ""), rest)
        line, h = w.apps[A].head()
        equal(line, "PUT %s HTTP/1.1" % wanted)
        equal(h["content-length"], ["3"])
    equal(w.api.took() + w.wrappers[A].took(), [])


@case
def an_app_behind_a_key_hears_where_it_is_and_no_credential(w):
    w.ask(at("/x"), Authorization="Bearer " + KEY, X_API_Key=KEY,
          Proxy_Authorization="Basic x", X_Forwarded_Host="forged",
          X_Forwarded_Prefix="forged", X_Sandlease_Name="forged",
          X_Own="its own",
          Cookie="a=1; sandlease=%s; __Host-sandlease=%s" % (LOGIN, LOGIN))
    _, h = w.apps[A].head()
    host = "127.0.0.1:%d" % w.port
    for name, value in (
            ("host", "localhost:8080"), ("x-forwarded-host", host),
            ("x-forwarded-prefix", at()), ("x-forwarded-proto", "http"),
            ("x-sandbox-name", A), ("x-own", "its own"),
            ("x-original-url", "http://%s%s" % (host, at("/x")))):
        equal(h[name], [value], name)
    true(KEY not in str(h) and LOGIN not in str(h), "no secret anywhere")
    true(not [n for n in h if "authorization" in n or "api-key" in n
              or n.startswith("x-sandlease")], "none of ours: %r" % h)


@case
def nothing_an_app_says_acts_on_the_dashboards_origin(w):
    w.apps[A].extra = HOSTILE
    try:
        answer = w.ask(at("/bare"))
    finally:
        w.apps[A].extra = []
    equal(sorted(n for n, _ in answer.pairs), sorted([
        "server", "date", "content-type", "content-length", "connection",
        "x-request-id", "x-content-type-options", "referrer-policy",
        "cross-origin-resource-policy", "content-security-policy",
        "cache-control", "x-proxy-location"]))
    equal(answer.headers["x-proxy-location"], "http://evil/")
    true(answer.headers["content-security-policy"].startswith(
        "sandbox; default-src 'none'"), "policy")
    true(answer.headers["x-request-id"] != "forged", "request id")


@case
def what_is_hidden_of_a_wrapper_is_hidden_of_an_app(w):
    def hidden(name, kind):
        with open(os.path.join(WORLD, "nginx", name)) as f:
            return set(re.findall(kind + r"_hide_header (\S+);", f.read()))
    equal(hidden("wrapper.params.in", "fastcgi") -
          hidden("preview.params.in", "proxy") -
          hidden("proxy.params.in", "proxy"), set())


@case
def a_redirect_within_the_port_is_passed_on(w):
    for sent, wanted in (
            ("/", at("/")), ("/next?a=%2e%2e#f", at("/next?a=%2e%2e#f")),
            ("/x?back=/a/../b", at("/x?back=/a/../b")), ("/a%2fb.c/.d", at("/a%2fb.c/.d")),
            ("http://localhost:8080/x", at("/x")),
            ("http://127.0.0.1:8080/x:y", at("/x:y")),
            ("login?next=1", "login?next=1"), ("?a=b", "?a=b")):
        equal(location(w, sent), (wanted, None), sent)


@case
def a_redirect_elsewhere_is_only_told(w):
    for sent in ("http://evil/", "https://localhost:8080/", "//evil/x",
                 "http://localhost:80801/", "http://localhost:8080@evil/",
                 "http://127.0.0.1:%d/v1/sessions/%s" % (w.port, B),
                 "/../../x", "/a/%2E./b", "/x/..", "/./x", "..", "../../x",
                 ".", "/\\evil", "\\\\evil", "x\\..\\y", "javascript:alert(1)",
                 "/a b", "/..\x01", "data:x", "/..%2fx", "/%2e%2e%2F%2e%2e%2Fx",
                 "/a%2f..", "/a%2F.%2fx", "%2e%2e%2fx", "x%2f..%2f..%2fy",
                 "http://localhost:8080/%2e%2e%2fx", "/x%2f..?y", "/x%2f..#y"):
        equal(location(w, sent), (None, sent), sent)


@case
def websockets_pass_by_key_and_the_app_hears_the_same(w):
    with socket.create_connection(("127.0.0.1", w.port), PATIENCE) as s:
        s.sendall(("GET %s HTTP/1.1\r\nHost: x\r\nUpgrade: WebSocket\r\n"
                   "Connection: Upgrade\r\nAuthorization: Bearer %s\r\n"
                   "Sec-WebSocket-Key: x\r\n\r\n" % (at("/ws"), KEY)).encode())
        data = b""
        while b"\r\n\r\n" not in data:
            data += s.recv(4096)
        true(data.startswith(b"HTTP/1.1 101"), data)
        s.sendall(b"hello")
        equal(s.recv(4096), b"HELLO")
    line, h = w.apps[A].head()
    equal((line, h["host"], "authorization" in h),
          ("GET /ws HTTP/1.1", ["localhost:8080"], False))
    equal(w.auth.took()[0]["HTTP_UPGRADE"], "WebSocket", "auth may judge it")


@case
def statuses_of_a_proxied_app_are_its_own(w):
    for status in (400, 401, 403, 404, 413, 500, 502, 503, 504):
        answer = w.ask(at("/status/%d" % status))
        equal((answer.status, answer.body), (status, b"app"))
    equal(w.api.took(), [])


@case
def a_refused_port_is_told_with_its_number(w):
    for session, port in ((MISSING, "8080"), (MISSING, "x%0ay"), ("x", "1")):
        answer = w.ask(at("/y", session, port))
        equal((answer.status, answer.json()["surface"]), (404, "data"))
        _, deny = w.auth.took()
        equal((deny["SL_ROUTE"], deny["SL_PORT"]),
              ("deny", port.replace("%0a", "\n")))


@case
def a_sleeping_session_gets_the_proxied_request_when_it_is_awake(w):
    w.told_again = "@proxy_again"
    try:
        answer = w.ask(at("/x?y", ASLEEP), "POST", b"x" * 999999,
                       Authorization="Bearer " + KEY)
    finally:
        w.told_again = "@session_again"
    equal((answer.status, answer.body), (200, b"app"))
    (wake,) = w.api.took()
    equal((wake["SL_ROUTE"], wake["SL_SESSION"], wake["SL_PORT"]),
          ("wake-session", ASLEEP, "8080"))
    line, h = w.apps[ASLEEP].head()
    equal((line, h["content-length"]),
          ("POST /x?y HTTP/1.1", ["999999"]))


@case
def a_dead_port_is_told_with_what_is_known(w):
    w.ask(at("", DEAD))  # this session has no socket
    (p,) = w.api.took()
    equal((p["SL_ROUTE"], p["SL_PORT"], p["SL_CONNECT"]),
          ("dead-session", "8080", "-"))
    w.ask(at("/die", CUT))
    true(re.fullmatch(r"[0-9.]+", w.api.took()[0]["SL_CONNECT"]), "a number")


@case
def an_upstream_that_is_not_the_ports_own_socket_is_refused(w):
    own = "unix:%s/s/%s.7.8080.sock" % (w.run_dir, LIES)
    for told in (own.replace(LIES, B), own.replace("8080", "8081"),
                 "unix:" + w.socket(LIES), own + ":/x", "127.0.0.1:80", ""):
        w.told[LIES] = told
        answer = w.ask(at("", LIES))
        equal((answer.status, answer.json()["code"]),
              (503, "CONTAINER_UNAVAILABLE"), told)
    w.told.clear()


@case
def a_page_of_a_preview_cannot_reach_a_port_by_key(w):
    referer = "http://8080-%s-%s.localhost:%d/" % (A, TOKEN, w.port)
    answer = w.ask(at(), Referer=referer)
    equal((answer.status, answer.json()["code"]), (403, "FORBIDDEN"))
    equal(w.auth.took(), [])
