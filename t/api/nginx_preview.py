"""nginx_preview.py: tests previews by host name and by path."""
import re
import socket

from nginx_world import (A, ASLEEP, B, CUT, DEAD, KEY, LOGIN, OTHER_TOKEN,
                         PATIENCE, TOKEN)
from tap import case, equal, true


@case
def a_preview_by_host_name_reaches_its_port(w):
    answer = w.preview("/x%2fy/../z?q=%20", Authorization="Bearer " + KEY,
                       X_API_Key=KEY, X_Forwarded_Host="forged",
                       Cookie="a=1; sandlease=%s; b=2; __Host-sandlease=%s"
                       % (LOGIN, LOGIN))
    equal((answer.status, answer.body), (200, b"app"))
    (auth,) = w.auth.took()
    equal((auth["SL_ROUTE"], auth["SL_SESSION"], auth["SL_PORT"],
           auth["SL_TOKEN"]), ("auth-preview", A, "8080", TOKEN))
    line, h = w.apps[A].head()
    host = "8080-%s-%s.localhost:%d" % (A, TOKEN, w.port)
    equal(line, "GET /x%2fy/../z?q=%20 HTTP/1.1", "the raw path")
    equal(h["host"], ["localhost:8080"])
    equal(h["x-forwarded-host"], [host])
    equal(h["x-forwarded-proto"], ["http"])
    equal(h["x-original-url"], ["http://%s/x%%2fy/../z?q=%%20" % host])
    equal(h["x-sandbox-name"], [A])
    w.preview(session=B)
    equal(w.apps[B].head()[1]["x-sandbox-name"], ["named"])
    equal(h["cookie"][0].replace(" ", "").strip(";"), "a=1;b=2")
    true("authorization" not in h and "x-api-key" not in h, "no credential")
    true(KEY not in str(h) and LOGIN not in str(h), "no secret anywhere")


@case
def only_our_cookies_are_taken_from_a_preview(w):
    for sent, wanted in (
            ("a=1", "a=1"), ("sandlease=x", None), ("__Host-sandlease=x", None),
            ("sandlease=x; a=1", "a=1"), ("a=1; sandlease=x", "a=1;"),
            ("mysandlease=1; sandlease2=2", "mysandlease=1; sandlease2=2"),
            ("a=sandlease=1", "a=sandlease=1"),
            ("sandlease=x; sandlease=y; sandlease=z; a=1", None)):
        w.preview(Cookie=sent)
        got = w.apps[A].head()[1].get("cookie", [None])[0]
        equal(got.strip() if got else None, wanted, sent)


@case
def nothing_a_preview_answers_steers_nginx(w):
    for answer in (w.preview(), w.by_path("/")):
        equal((answer.status, answer.body), (200, b"app"))
        true("x-accel-redirect" not in answer.headers, "X-Accel-Redirect")
        true("x-sandlease-deny" not in answer.headers, "ours")
        ids = [v for n, v in answer.pairs if n == "x-request-id"]
        true(len(ids) == 1 and ids != ["forged"], "one request id, ours")


@case
def cookies_of_a_preview_stay_with_it(w):
    host = "8080-%s-%s.localhost" % (A, TOKEN)
    cookies = [v for n, v in w.preview().pairs if n == "set-cookie"]
    equal(cookies, ["a=1; Path=/x; Domain=" + host, "b=2; Path=/"])
    prefix = "/p/8080-%s-%s" % (A, TOKEN)
    answer = w.by_path("/")
    cookies = [v for n, v in answer.pairs if n == "set-cookie"]
    equal(cookies, ["a=1; Path=%s/x; Domain=localhost" % prefix,
                    "b=2; Path=%s/" % prefix])
    equal(answer.headers["location"], prefix + "/next")
    true("service-worker-allowed" not in answer.headers, "worker scope")


@case
def a_preview_by_path_gets_the_rest_of_the_raw_path(w):
    answer = w.by_path("/x%2fy?q=%20")
    equal((answer.status, answer.body), (200, b"app"))
    line, h = w.apps[A].head()
    equal(line, "GET /x%2fy?q=%20 HTTP/1.1")
    equal(h["x-forwarded-prefix"], ["/p/8080-%s-%s" % (A, TOKEN)])
    answer = w.by_path("")
    equal((answer.status, answer.headers["location"]),
          (308, "/p/8080-%s-%s/" % (A, TOKEN)))
    answer = w.by_path("/..%2f8080-" + B + "-" + TOKEN + "/x")
    equal((answer.status, answer.json()["code"]), (404, "INVALID_TOKEN"))
    true(w.apps[B].heads.empty(), "the other app was not asked")


@case
def what_only_looks_like_a_preview_is_none(w):
    for host in ("8080-%s.localhost" % A, "8080-%s-short.localhost" % A,
                 "80-%s-%s.localhost" % (A, TOKEN),
                 "8080-%sx-%s.localhost" % (A, TOKEN), "8080-x.example.com",
                 "123456-%s-%s.localhost" % (A, TOKEN),
                 "8080-%s-%s" % (A, TOKEN),
                 # only previews are below their domain: a browser would take a
                 # dashboard there for a part of the tenants' site
                 "x.localhost", "www.8080-%s-%s.localhost" % (A, TOKEN)):
        answer = w.ask("/", Host="%s:%d" % (host, w.port))
        equal((answer.status, answer.json()["code"]), (404, "INVALID_TOKEN"),
              host)
        true(answer.headers.get("x-request-id"), "has a request id")
    for path, code in (("/", "INVALID_TOKEN"), ("/p/x/", "INVALID_TOKEN"),
                       ("/p/8080-%s-short/" % A, "INVALID_TOKEN"),
                       ("/v1/sessions", "NOT_FOUND")):
        answer = w.ask(path, port=w.preview_port,
                       Host="localhost:%d" % w.preview_port)
        equal((answer.status, answer.json()["code"]), (404, code), path)
    path = "/p/8080-%s-%s/" % (A, TOKEN)
    equal(w.ask(path, port=w.preview_port).status, 404,
          "the dashboard's host name")
    equal(w.ask(path).status, 404, "the dashboard's port")
    equal(w.auth.took() + w.api.took(), [])


@case
def other_host_names_get_the_dashboard(w):
    for host in ("localhost", "sandlease.example.com", "my-8080.example.com"):
        equal(w.ask("/", Host=host).headers["content-type"],
              "text/html; charset=utf-8", host)


@case
def a_wrong_token_is_refused_by_auth_in_the_dress_of_previews(w):
    for ask in (w.preview, w.by_path):
        answer = ask("/", token=OTHER_TOKEN)
        equal(answer.status, 404)
        equal(answer.json()["surface"], "preview")
        asked = w.auth.took()
        equal([p["SL_ROUTE"] for p in asked], ["auth-preview", "deny"])
        equal((asked[1]["SL_TOKEN"], asked[1]["SL_PORT"]),
              (OTHER_TOKEN, "8080"))


@case
def a_sleeping_preview_asks_the_api_pool_to_wake_it(w):
    answer = w.preview("/x?y", session=ASLEEP, method="POST", body=b"abc")
    equal((answer.status, answer.headers["location"]), (307, "/x?y"))
    (p,) = w.api.took()
    equal((p["SL_ROUTE"], p["SL_SESSION"], p["SL_PORT"], p["SL_TOKEN"]),
          ("wake-preview", ASLEEP, "8080", TOKEN))
    equal(p["REQUEST_METHOD"], "POST")


@case
def a_dead_preview_is_told_with_what_is_known(w):
    answer = w.preview(session=DEAD)  # this session has no socket
    equal((answer.status, answer.json()["route"]), (503, "dead-preview"))
    equal(w.api.took()[0]["SL_CONNECT"], "-")
    answer = w.by_path("/die", session=CUT)
    equal(answer.json()["route"], "dead-preview")
    true(re.fullmatch(r"[0-9.]+", w.api.took()[0]["SL_CONNECT"]), "a number")


@case
def websockets_pass_in_both_forms(w):
    host = "8080-%s-%s.localhost" % (A, TOKEN)
    for port, name, path in (
            (w.port, host, "/ws"),
            (w.preview_port, "localhost", "/p/8080-%s-%s/ws" % (A, TOKEN))):
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as s:
            s.sendall(("GET %s HTTP/1.1\r\nHost: %s:%d\r\nUpgrade: WebSocket"
                       "\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\n\r\n"
                       % (path, name, port)).encode())
            data = b""
            while b"\r\n\r\n" not in data:
                data += s.recv(4096)
            true(data.startswith(b"HTTP/1.1 101"), data)
            for word in (b"hello", b"again"):
                s.sendall(word)
                equal(s.recv(4096), word.upper())
    with socket.create_connection(("127.0.0.1", w.port), PATIENCE) as s:
        s.sendall(("GET / HTTP/1.1\r\nHost: %s\r\nUpgrade: h2c\r\n"
                   "Connection: Upgrade\r\n\r\n" % host).encode())
        true(s.recv(4096).startswith(b"HTTP/1.1 200"), "only WebSockets")


@case
def a_refused_websocket_gets_JSON_and_no_redirect(w):
    for answer in (w.preview(token=OTHER_TOKEN, Upgrade="websocket",
                             Connection="Upgrade"),
                   w.by_path("", Upgrade="websocket", Connection="Upgrade")):
        equal(answer.status, 404)
