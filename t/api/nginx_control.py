"""nginx_control.py: tests the routes of the control plane and the
dashboard."""
import re
import socket

from nginx_world import A, B, DEAD, KEY, PATIENCE, TICKET, TOKEN
from tap import case, equal, true


@case
def control_routes_go_to_their_pool_without_a_route_name(w):
    for method, path in [
            ("GET", "/v1/sessions"), ("POST", "/v1/sessions"),
            ("GET", "/v1/sessions/" + A), ("PATCH", "/v1/sessions/" + A),
            ("DELETE", "/v1/sessions/" + A),
            ("POST", "/v1/sessions/%s/resume" % A),
            ("POST", "/v1/sessions/%s/sleep" % A),
            ("POST", "/v1/sessions/%s/extend" % A),
            ("GET", "/v1/sessions/%s/ports" % A),
            ("DELETE", "/v1/sessions/%s/ports/8080" % A),
            ("POST", "/v1/sessions/%s/ports/8080/rotate" % A),
            ("GET", "/v1/sessions/%s/agent-log" % A),
            ("GET", "/v1/sessions/%s/events" % A),
            ("GET", "/v1/sessions/%s/unknown" % A),
            ("POST", "/v1/sessions/%s/api/expose-port" % A),
            ("GET", "/v1/sessions/%s/api/exposed-ports" % A),
            ("DELETE", "/v1/sessions/%s/api/exposed-ports/8080" % A),
            ("GET", "/v1/health"), ("POST", "/v1/login"), ("GET", "/v1/me")]:
        answer = w.ask(path + "?q=1", method, Authorization="Bearer " + KEY)
        equal(answer.status, 200, path)
        pool, other = (w.read, w.api) if method == "GET" else (w.api, w.read)
        (p,) = pool.took()
        equal(other.took(), [], "the other pool for " + path)
        equal(p["SL_PATH"], path)
        equal(p["REQUEST_URI"], path + "?q=1")
        equal(p["QUERY_STRING"], "q=1")
        equal(p["REQUEST_METHOD"], method)
        equal(p["HTTP_AUTHORIZATION"], "Bearer " + KEY)
        equal(p["SL_SCHEME"], "http")
        equal(p["SL_HOST"], "127.0.0.1:%d" % w.port)
        equal(p["REMOTE_ADDR"], "127.0.0.1")
        true(re.fullmatch("[0-9a-f]{32}", p["SL_REQUEST_ID"]), "request id")
        equal(p.get("SL_ROUTE"), None, "route of " + path)
        equal(w.auth.took(), [], "auth for " + path)


@case
def a_GET_that_waits_is_no_plain_GET(w):
    for method, query, pool in (
            ("GET", "?wait=30", w.api), ("GET", "?after=1&wait=30", w.api),
            ("GET", "?after=1", w.read), ("HEAD", "", w.read),
            ("POST", "", w.api)):
        equal(w.ask("/v1/sessions/%s/events%s" % (A, query), method).status,
              200)
        equal(len(pool.took()), 1, method + query)
    equal(w.api.took() + w.read.took(), [])


@case
def answers_of_workers_keep_their_cookie_and_carry_one_request_id(w):
    answer = w.ask("/v1/login", "POST", b"{}")
    ids = [v for n, v in answer.pairs if n == "x-request-id"]
    equal(ids, [w.api.took()[0]["SL_REQUEST_ID"]])
    equal(answer.headers["set-cookie"], "sandlease=x; HttpOnly")
    equal(answer.headers["x-content-type-options"], "nosniff")


@case
def a_client_cannot_name_a_route_or_set_an_internal_parameter(w):
    w.ask("/v1/me", SL_ROUTE="wake-session", SL_SESSION=B, Proxy="http://evil")
    (p,) = w.read.took()
    equal(p.get("SL_ROUTE"), None)
    equal(p.get("SL_SESSION"), None)
    equal(p.get("HTTP_PROXY", ""), "")


@case
def a_control_body_over_1_MB_is_refused_by_a_problem_document(w):
    answer = w.ask("/v1/sessions", "POST", b"x" * (1024 * 1024 + 1))
    equal(answer.status, 413)
    equal(answer.headers["content-type"], "application/problem+json")
    equal(answer.json()["status"], 413)
    equal(answer.json()["code"], "too_large")
    true(answer.headers.get("x-request-id"), "has a request id")
    answer = w.ask("/v1/sessions/%s/api/expose-port" % A, "POST",
                   b"x" * (1024 * 1024 + 1))
    equal((answer.status, answer.json()["httpStatus"]), (413, 413))
    equal(w.api.took(), [])


@case
def internal_locations_cannot_be_asked_for(w):
    for path in ("/.sandlease/auth-session", "/.sandlease/problem",
                 "/.sandlease/container-problem", "/%2esandlease/problem"):
        answer = w.ask(path)
        equal((answer.status, answer.json()["code"]), (404, "not_found"), path)
    equal(w.preview("/.sandlease/auth-preview").status, 404)
    equal(w.auth.took() + w.api.took() + w.read.took(), [])


@case
def the_dashboard_is_served_with_a_strict_policy(w):
    answer = w.ask("/")
    equal(answer.status, 200)
    equal(answer.headers["content-type"], "text/html; charset=utf-8")
    policy = answer.headers["content-security-policy"]
    for part in ("default-src 'none'", "script-src 'self'", "base-uri 'none'",
                 "frame-ancestors 'none'", "form-action 'self'"):
        true(part in policy, part)
    true("unsafe" not in policy and "*" not in policy, policy)
    equal(answer.headers["x-content-type-options"], "nosniff")
    equal(answer.headers["x-frame-options"], "DENY")
    true(answer.headers.get("x-request-id"), "has a request id")
    equal(w.ask("/app.js").headers["content-type"],
          "text/javascript; charset=utf-8")
    equal(w.ask("/", "POST", b"").status, 405)


@case
def unknown_paths_get_a_problem_document(w):
    answer = w.ask("/nothing/here")
    equal((answer.status, answer.json()["code"]), (404, "not_found"))
    true(answer.headers.get("x-request-id"), "has a request id")


@case
def what_nginx_itself_refuses_is_JSON_with_a_request_id(w):
    label = "8080-%s-%s" % (A, TOKEN)
    for head, status in ((b"GET /v1/me HTTP/1.1\r\nHost: x\r\nA: %s" %
                          (b"a" * 9000), 431),
                         (b"GET /%s HTTP/1.1\r\nHost: x" % (b"a" * 9000), 414),
                         (b"GET / HTTP/1.1\r\nHost: %s.localhost\r\nA: %s" %
                          (label.encode(), b"a" * 9000), 431),
                         (b"GET /%zz HTTP/1.1\r\nHost: x", 400),
                         (b"GET / HTTP/1.1\r\nHost: x\r\nHost: y", 400)):
        with socket.create_connection(("127.0.0.1", w.port), PATIENCE) as s:
            s.sendall(head + b"\r\n\r\n")
            answer = s.recv(65536)
        true(answer.startswith(b"HTTP/1.1 %d " % status), answer[:80])
        true(b"json\r\n" in answer and b"\r\nX-Request-Id: " in answer, answer)
    equal(w.api.took(), [])


@case
def more_cookies_than_nginx_takes_are_taken_away(w):
    """A page of the same site can set cookies; it must not lock the user out
    of the other pages."""
    cookies = "a=" + "b" * 9000
    for answer in (w.ask("/", Cookie=cookies), w.preview(Cookie=cookies),
                   w.by_path("/", Cookie=cookies)):
        equal((answer.status, answer.headers["clear-site-data"]),
              (431, '"cookies"'))


@case
def no_error_is_logged_with_a_secret(w):
    """This case only causes errors; no_secret_stands_in_any_log reads the logs
    at the end."""
    referer = "http://8080-%s-%s.localhost/x" % (A, TOKEN)
    large = {"Content-Length": str(2 << 20)}
    ticket = "ticket=" + TICKET
    for path, more, status in (
            ("/v1/sessions", {"Referer": referer}, 403),
            ("/v1/sessions", {"Host": "x.8080-%s-%s.x" % (A, TOKEN)}, 403),
            ("/v1/sessions?" + ticket, {}, 400),
            ("/v1/sessions?at=" + referer, {}, 400),
            ("/v1/sessions/8080-%s-%s" % (A, TOKEN), {}, 400),
            ("/v1/sessions/%s/ws/?x=1&%s" % (A, ticket), {}, 400),
            ("/v1/sessions/%s?%s" % (A, ticket), {}, 400),
            ("/v1/sessions/%s/ws%%3f%s" % (A, ticket), {}, 400),
            ("/v1/sessions/%s/ws/%%3f%s" % (A, ticket), {}, 400),
            ("/v1/sessions/%s/ws/pty/%%3Fa&%s?x=1" % (A, ticket), {}, 400),
            ("/v1/sessions/%s/api/expose-port?%s" % (A, ticket),
             {"Referer": referer}, 413)):
        equal(w.ask(path, "POST", **dict(more, **large)).status, status, path)
    for path in ("/v1/sessions/%s/api/run?" % DEAD, "/nothing/?", "/vendor?",
                 "/v1/sessions/%s/proxy/8080/?" % DEAD,
                 "/8080-%s-%s/?" % (A, TOKEN), "/%s%%3f" % ticket):
        w.ask(path + ticket, Referer=referer)
        w.ask(path + ticket)
    w.ask("/v1/sessions?state=ready&label=ticket%3Dabc")
    equal(w.read.took()[-1]["QUERY_STRING"], "state=ready&label=ticket%3Dabc",
          "what only looks like one passes")


@case
def only_a_wake_up_may_redirect_inside(w):
    answer = w.ask("/v1/accel")
    equal((answer.status, answer.body), (200, b"{}"))
    true("x-accel-redirect" not in answer.headers, "not shown either")


@case
def a_worker_that_dies_in_the_middle_of_a_POST_is_not_to_be_asked_again(w):
    answer = w.ask("/v1/crash", "POST", b"{}")
    equal((answer.status, answer.json()["retryable"]), (502, False))
    true("retry-after" not in answer.headers, "no Retry-After")
    answer = w.ask("/v1/crash")
    equal((answer.status, answer.json()["retryable"]), (503, True))
    equal(answer.headers["retry-after"], "1")
