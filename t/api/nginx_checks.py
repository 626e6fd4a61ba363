"""nginx_checks.py DIR: the facts about routing that the rest relies on.

DIR holds copies of nginx/, www/ and t/lib/ (see nginx.t) and takes the run
directory, logs and rendered configuration.
"""
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time

WORLD = sys.argv[1]
sys.path.insert(0, os.path.join(WORLD, "lib"))
from app import App  # noqa: E402
from fcgi import Gone, Responder  # noqa: E402
from tap import case, equal, run_cases, true  # noqa: E402

A, B = "a" * 20, "b" * 20
ASLEEP, DEAD, CUT, LIES = "c" * 20, "d" * 20, "e" * 20, "f" * 20
MISSING = "m" * 20
TOKEN, OTHER_TOKEN = "abcdefghijklmnopqrstuvwxy2", "zyxwvutsrqponmlkjihgfedcb7"
KEY = "sl_" + "k" * 52
LOGIN = "loginloginloginloginlogin2"
SECRETS = [TOKEN, OTHER_TOKEN, KEY, LOGIN]
JSON = [("Content-Type", "application/json")]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def free_ports():
    """Two different ones: the second is looked for while the first is held."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1], free_port()


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.pairs = [(n.lower(), v) for n, v in response.getheaders()]
        self.headers = dict(self.pairs)
        self.body = response.read()

    def json(self):
        return json.loads(self.body)


class World:
    def __init__(self):
        self.run_dir = WORLD + "/run"
        self.port, self.preview_port = free_ports()
        self.told = {}  # what `auth` says for a session instead
        self.wakes = []
        self.nginx = None
        for name in ("run/s", "log", "state"):
            os.makedirs(os.path.join(WORLD, name))
        self.api = Responder(self.run_dir + "/api.sock", self.answer_api)
        self.auth = Responder(self.run_dir + "/auth.sock", self.answer_auth)
        self.wrappers = {
            s: Responder(self.socket(s), self.answer_wrapper)
            for s in (A, B, ASLEEP, CUT)}
        self.apps = {
            s: App("%s/s/%s.7.8080.sock" % (self.run_dir, s), answer_app)
            for s in (A, B, CUT)}
        self.gate = threading.Event()
        self.awake = False

    def socket(self, session, generation=7):
        return "%s/s/%s.%d.sock" % (self.run_dir, session, generation)

    # ---- what stands behind nginx

    def answer_auth(self, r):
        p = r.params
        route, session = p.get("SL_ROUTE"), p.get("SL_SESSION")
        if route == "deny":
            r.reply(404, JSON, json.dumps(
                {"code": p["SL_DENY"], "surface": p["SL_SURFACE"]}))
        elif session in self.told:
            r.reply(204, [("X-Sandlease-Upstream", self.told[session])])
        elif session == ASLEEP and not self.awake:
            r.reply(401, [("X-Sandlease-Deny", "wake")])
        elif route == "auth-session" and session in (A, B, ASLEEP, DEAD, CUT):
            r.reply(204, [("X-Sandlease-Upstream",
                           "unix:" + self.socket(session))])
        elif (route == "auth-preview" and session in (A, B, DEAD, CUT)
              and p["SL_TOKEN"] == TOKEN):
            r.reply(204, [("X-Sandlease-Upstream", "unix:%s/s/%s.7.%s.sock" % (
                self.run_dir, session, p["SL_PORT"])),
                ("X-Sandlease-Name", "named" if session == B else "")])
        else:
            r.reply(403, [("X-Sandlease-Deny", "session_not_found")])

    def answer_api(self, r):
        route = r.params.get("SL_ROUTE")
        if route == "wake-session":
            self.awake = True
            r.reply(200, [("X-Accel-Redirect", "@session_again")])
        elif route == "wake-preview":
            r.reply(307, [("Location", r.params["REQUEST_URI"])])
        elif route:
            r.reply(503, JSON + [("Retry-After", "1")], json.dumps(
                {"route": route, "connect": r.params["SL_CONNECT"]}))
        elif r.params["SL_PATH"] == "/v1/accel":
            r.reply(200, JSON + [("X-Accel-Redirect", "/index.html")], "{}")
        elif r.params["SL_PATH"] == "/v1/crash":
            r.die()
        else:
            r.reply(200, JSON + [("X-Request-Id", "worker's"),
                                 ("Set-Cookie", "sandlease=x; HttpOnly")],
                    json.dumps({"pool": "api", "body": len(r.body())}))

    def answer_wrapper(self, r):
        path = r.params["SL_PATH"].split("/", 4)[-1]
        if r.params["SL_SESSION"] == CUT:
            r.die()
        elif path == "api/stream":
            r.begin(200, [("Content-Type", "text/event-stream"),
                          ("X-Accel-Buffering", "yes")])
            r.write(b"data: first\n\n")
            self.gate.wait(20)
            r.write(b"data: last\n\n")
        elif path == "api/upload":
            first = r.some_body()
            self.gate.set()
            r.reply(200, JSON, json.dumps({"first": len(first)}))
        elif path.startswith("api/status/"):
            r.reply(int(path.split("/")[-1]), JSON, "wrapper")
        elif path == "api/hostile":
            r.reply(200, HOSTILE, "<script>alert(1)</script>")
        else:
            r.reply(200, JSON, json.dumps(
                {"session": r.params["SL_SESSION"],
                 "method": r.params["REQUEST_METHOD"],
                 "body": r.body().decode("latin-1")[:100]}))

    # ---- nginx

    def start_nginx(self):
        subprocess.run(
            ["sh", WORLD + "/nginx/render", WORLD + "/conf",
             "RUN_DIR=" + self.run_dir, "PORT=%d" % self.port,
             "PREVIEW_PORT=%d" % self.preview_port,
             "PREVIEW_DOMAIN=localhost", "PUBLIC_HOST=127.0.0.1",
             "WWW_DIR=" + WORLD + "/www", "LOG_DIR=" + WORLD + "/log",
             "STATE_DIR=" + WORLD + "/state", "USER_DIRECTIVE=", "WORKERS=2",
             "PID_FILE=" + WORLD + "/nginx.pid"], check=True)
        self.nginx = subprocess.Popen(
            ["nginx", "-e", WORLD + "/log/nginx-start.log",
             "-c", WORLD + "/conf/nginx.conf", "-g", "daemon off;"])
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                if self.nginx.poll() is not None:
                    break
                time.sleep(0.05)
        with open(WORLD + "/log/nginx-start.log") as f:
            print("Bail out! nginx does not start: " + f.read())
        raise SystemExit(1)

    def stop_nginx(self):
        self.nginx.terminate()
        self.nginx.wait(20)

    # ---- asking

    def ask(self, path, method="GET", body=None, port=None, **headers):
        names = {n.replace("_", "-"): v for n, v in headers.items()}
        c = http.client.HTTPConnection("127.0.0.1", port or self.port,
                                       timeout=20)
        c.putrequest(method, path, skip_host="Host" in names,
                     skip_accept_encoding=True)
        if body is not None:
            names["Content-Length"] = str(len(body))
        for name, value in names.items():
            c.putheader(name, value)
        c.endheaders(body)
        answer = Answer(c.getresponse())
        c.close()
        return answer

    def preview(self, path="/", session=A, token=TOKEN, **more):
        host = "8080-%s-%s.localhost:%d" % (session, token, self.port)
        return self.ask(path, Host=host, **more)

    def by_path(self, path, session=A, token=TOKEN, **more):
        return self.ask("/p/8080-%s-%s%s" % (session, token, path),
                        port=self.preview_port,
                        Host="localhost:%d" % self.preview_port, **more)

    def forget(self):
        for r in [self.api, self.auth] + list(self.wrappers.values()):
            r.took()
        for a in self.apps.values():
            while not a.heads.empty():
                a.heads.get()
        self.gate.clear()
        self.awake = False


HOSTILE = [
    ("Content-Type", "text/html"), ("Set-Cookie", "sandlease=mine"),
    ("Clear-Site-Data", '"*"'), ("Alt-Svc", 'h2="evil:443"'),
    ("Strict-Transport-Security", "max-age=1"),
    ("Service-Worker-Allowed", "/"), ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Allow-Credentials", "true"),
    ("WWW-Authenticate", "Basic"), ("Location", "http://evil/"),
    ("Refresh", "0; url=http://evil/"), ("NEL", "{}"), ("Report-To", "{}"),
    ("Content-Security-Policy", "default-src *"),
    ("X-Accel-Redirect", "/index.html"), ("X-Accel-Charset", "koi8-r"),
    ("X-Request-Id", "forged"), ("X-Sandlease-Upstream", "unix:/x"),
]


def answer_app(app, head, conn):
    lines = head.split("\r\n")
    if "upgrade: websocket" in head.lower():
        conn.sendall(b"HTTP/1.1 101 Switching Protocols\r\n"
                     b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        while True:
            data = conn.recv(4096)
            if not data:
                return
            conn.sendall(data.upper())
    if " /die" in lines[0]:
        return
    extra = "".join("%s: %s\r\n" % pair for pair in [
        ("X-Accel-Redirect", "/index.html"), ("X-Request-Id", "forged"),
        ("Service-Worker-Allowed", "/"), ("X-Sandlease-Deny", "x"),
        ("Set-Cookie", "a=1; Path=/x; Domain=localhost"),
        ("Set-Cookie", "b=2; Path=/"), ("Location", "/next")])
    body = b"app"
    asked = re.search(r" /status/([0-9]+)", lines[0])
    status = asked.group(1) if asked else "200"
    conn.sendall(("HTTP/1.1 " + status + " X\r\nContent-Type: text/plain\r\n%s"
                  "Content-Length: %d\r\n\r\n" % (extra, len(body))).encode()
                 + body)


# ---- control plane and dashboard

@case
def control_routes_go_to_the_api_pool_without_a_route_name(w):
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
        (p,) = w.api.took()
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
def answers_of_workers_keep_their_cookie_and_carry_one_request_id(w):
    answer = w.ask("/v1/login", "POST", b"{}")
    ids = [v for n, v in answer.pairs if n == "x-request-id"]
    equal(ids, [w.api.took()[0]["SL_REQUEST_ID"]])
    equal(answer.headers["set-cookie"], "sandlease=x; HttpOnly")
    equal(answer.headers["x-content-type-options"], "nosniff")


@case
def a_client_cannot_name_a_route_or_set_an_internal_parameter(w):
    w.ask("/v1/me", SL_ROUTE="wake-session", SL_SESSION=B, Proxy="http://evil")
    (p,) = w.api.took()
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
    equal(w.auth.took() + w.api.took(), [])


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
        with socket.create_connection(("127.0.0.1", w.port), 20) as s:
            s.sendall(head + b"\r\n\r\n")
            answer = s.recv(65536)
        true(answer.startswith(b"HTTP/1.1 %d " % status), answer[:80])
        true(b"json\r\n" in answer and b"\r\nX-Request-Id: " in answer, answer)
    equal(w.api.took(), [])


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


# ---- data plane

@case
def data_routes_ask_auth_and_go_to_the_wrapper(w):
    for method, rest in [
            ("POST", "api/execute"), ("GET", "api/ping"), ("GET", "ws"),
            ("GET", "api/ws"), ("GET", "ws/pty"), ("GET", "proxy/8080/x"),
            ("PUT", "files/a%20b"), ("GET", "archive/x"), ("GET", "")]:
        uri = "/v1/sessions/%s/%s" % (A, rest)
        answer = w.ask(uri + "?x=%2f", method, b"hello",
                       Authorization="Bearer " + KEY)
        equal(answer.status, 200, uri)
        equal(answer.json(), {"session": A, "method": method, "body": "hello"})
        (auth,), (wrapper,) = w.auth.took(), w.wrappers[A].took()
        path = uri.replace("%20", " ")
        for p in (auth, wrapper):
            equal(p["SL_SESSION"], A)
            equal(p["SL_PATH"], path)
            equal(p["REQUEST_URI"], uri + "?x=%2f")
            equal(p["REQUEST_METHOD"], method)
        equal(auth["SL_ROUTE"], "auth-session")
        equal(auth["CONTENT_LENGTH"], "")
        equal(auth["HTTP_AUTHORIZATION"], "Bearer " + KEY)
        equal(wrapper["SL_REQUEST_ID"], auth["SL_REQUEST_ID"])
        equal(wrapper["SL_REQUEST_ID"], answer.headers["x-request-id"])
    equal(w.api.took(), [])


@case
def the_wrapper_gets_listed_headers_and_no_credential(w):
    w.ask("/v1/sessions/%s/api/ping" % A, "POST", b"{}", Accept="a/b",
          Range="bytes=0-1", If_None_Match='"x"', Last_Event_ID="7",
          traceparent="00-1", X_Trace_Id="tr_1", X_Session_Id="s",
          Connect_Protocol_Version="1", Content_Type="application/json",
          Authorization="Bearer " + KEY, X_API_Key=KEY,
          Cookie="sandlease=" + LOGIN, X_Sandlease_Upstream="unix:/x",
          User_Agent="me", Referer="http://x/")
    (p,) = w.wrappers[A].took()
    equal({n: v for n, v in p.items() if n.startswith("HTTP_")}, {
        "HTTP_ACCEPT": "a/b", "HTTP_RANGE": "bytes=0-1",
        "HTTP_IF_NONE_MATCH": '"x"', "HTTP_LAST_EVENT_ID": "7",
        "HTTP_TRACEPARENT": "00-1", "HTTP_X_TRACE_ID": "tr_1",
        "HTTP_X_SESSION_ID": "s", "HTTP_CONNECT_PROTOCOL_VERSION": "1"})
    equal(p["CONTENT_TYPE"], "application/json")
    equal(p["CONTENT_LENGTH"], "2")
    true(KEY not in str(p) and LOGIN not in str(p), "no secret anywhere")


@case
def who_is_meant_follows_the_normalised_path(w):
    for uri in ("/v1/sessions/%s/api/%%2e%%2e/%%2e%%2e/%s/api/x" % (A, B),
                "/v1/sessions/%s/api/../../%s/api/x" % (A, B),
                "/v1/sessions/%s/..%%2f%s/api/x" % (A, B)):
        answer = w.ask(uri)
        equal(answer.json()["session"], B, uri)
        equal(w.auth.took()[0]["SL_SESSION"], B)
        (p,) = w.wrappers[B].took()
        equal(p["SL_SESSION"], B)
        equal(p["REQUEST_URI"], uri, "the raw one, for the wrapper to refuse")
        equal(p["SL_PATH"], "/v1/sessions/%s/api/x" % B)
    equal(w.wrappers[A].took(), [])
    w.ask("/v1/sessions/%s/api/%%2e%%2e/resume" % A, "POST", b"")
    equal(w.api.took()[0]["SL_PATH"], "/v1/sessions/%s/resume" % A)


@case
def what_is_no_id_reaches_auth_as_none(w):
    for bad in ("short", A.upper(), A + "x", A + "%0a", "%20" + A[1:]):
        answer = w.ask("/v1/sessions/%s/api/ping" % bad)
        equal(answer.status, 404, bad)
        equal(answer.json(), {"code": "session_not_found", "surface": "data"})
        equal([p["SL_SESSION"] for p in w.auth.took()], ["", ""])


@case
def a_refusal_comes_before_the_body_is_read(w):
    for session, status in ((MISSING, b"404"), ("x", b"404")):
        with socket.create_connection(("127.0.0.1", w.port), 20) as s:
            s.sendall(b"POST /v1/sessions/%s/api/write HTTP/1.1\r\nHost: x\r\n"
                      b"Content-Length: 200000000\r\n\r\n{" % session.encode())
            answer = s.recv(4096)
            true(answer.startswith(b"HTTP/1.1 " + status), answer)
            true(b"session_not_found" in answer, answer)
    asked = w.auth.took()
    equal([p["SL_ROUTE"] for p in asked], ["auth-session", "deny"] * 2)
    equal(asked[1]["SL_DENY"], "session_not_found")
    equal(asked[1]["SL_SURFACE"], "data")


@case
def a_refusal_survives_a_client_that_keeps_sending(w):
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", w.port), 20) as s:
            s.sendall(b"POST /v1/sessions/%s/api/write HTTP/1.1\r\nHost: x\r\n"
                      b"Transfer-Encoding: chunked\r\n\r\n" % MISSING.encode())
            try:
                for _ in range(40):
                    s.sendall(b"8000\r\n" + b"x" * 0x8000 + b"\r\n")
            except OSError:
                pass
            answer = s.recv(4096)
            true(answer.startswith(b"HTTP/1.1 404"), answer)


@case
def a_large_body_reaches_the_wrapper_while_it_is_being_sent(w):
    with socket.create_connection(("127.0.0.1", w.port), 20) as s:
        s.sendall(b"POST /v1/sessions/%s/api/upload HTTP/1.1\r\nHost: x\r\n"
                  b"Content-Length: 100000000\r\n\r\nfirst" % A.encode())
        true(w.gate.wait(20), "the wrapper has the first bytes")
        true(s.recv(4096).startswith(b"HTTP/1.1 200"), "and may answer")


@case
def a_stream_arrives_as_it_is_written(w):
    with socket.create_connection(("127.0.0.1", w.port), 20) as s:
        s.sendall(b"GET /v1/sessions/%s/api/stream HTTP/1.1\r\nHost: x\r\n"
                  b"Connection: close\r\n\r\n" % A.encode())
        data = b""
        while b"first" not in data:  # the wrapper waits for the gate
            more = s.recv(4096)
            true(more, "the stream stays open")
            data += more
        true(b"last" not in data, "only the first event so far")
        w.gate.set()
        while True:
            more = s.recv(4096)
            if not more:
                break
            data += more
        true(b"data: last" in data, "the last event")


@case
def a_sleeping_session_is_woken_and_gets_the_same_request_with_its_body(w):
    for method, body in (("POST", b"x" * 3000000), ("PUT", b"small"),
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
    with socket.create_connection(("127.0.0.1", w.port), 20) as s:
        s.sendall(b"POST /v1/sessions/%s/api/run HTTP/1.1\r\nHost: x\r\n"
                  b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                  b"200005\r\nhello%s\r\n0\r\n\r\n"
                  % (ASLEEP.encode(), b"x" * 0x200000))
        data = b""
        while True:
            more = s.recv(4096)
            if not more:
                break
            data += more
    true(data.startswith(b"HTTP/1.1 200") and b'"hello' in data, data)
    equal(w.wrappers[ASLEEP].took()[0]["CONTENT_LENGTH"], str(0x200005))


@case
def a_body_too_large_to_keep_wakes_the_session_and_is_asked_for_again(w):
    with socket.create_connection(("127.0.0.1", w.port), 20) as s:
        s.sendall(b"PUT /v1/sessions/%s/files/x HTTP/1.1\r\nHost: x\r\n"
                  b"Content-Length: 100000000\r\n\r\nfirst" % ASLEEP.encode())
        answer = s.recv(4096)
    true(answer.startswith(b"HTTP/1.1 503"), answer)
    true(b"\r\nRetry-After: 1\r\n" in answer, answer)
    (p,) = w.api.took()
    equal((p["SL_ROUTE"], p["SL_SESSION"]), ("wake-session", ASLEEP))
    equal(p["SL_PATH"], "/v1/sessions/%s/files/x" % ASLEEP)
    true(w.awake, "woken")
    equal(w.wrappers[ASLEEP].took(), [])


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
    gone.close()  # the name stays: ECONNREFUSED
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
        answer = w.preview(session=LIES)
        equal((answer.status, answer.json()["code"]),
              (503, "PREVIEW_UNAVAILABLE"), told)
    w.told.clear()
    equal(w.api.took() + w.wrappers[B].took(), [])


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


# ---- previews

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
    equal(h["host"], [host])
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
                 "8080-%s-%s" % (A, TOKEN)):
        answer = w.ask("/", Host="%s:%d" % (host, w.port))
        equal((answer.status, answer.json()["code"]), (404, "INVALID_TOKEN"),
              host)
        true(answer.headers.get("x-request-id"), "has a request id")
    for path in ("/", "/p/x/", "/v1/sessions", "/p/8080-%s-short/" % A):
        answer = w.ask(path, port=w.preview_port,
                       Host="localhost:%d" % w.preview_port)
        equal((answer.status, answer.json()["code"]), (404, "INVALID_TOKEN"))
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
    answer = w.preview(session=DEAD)  # no such socket
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
        with socket.create_connection(("127.0.0.1", port), 20) as s:
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
    with socket.create_connection(("127.0.0.1", w.port), 20) as s:
        s.sendall(("GET / HTTP/1.1\r\nHost: %s\r\nUpgrade: h2c\r\n"
                   "Connection: Upgrade\r\n\r\n" % host).encode())
        true(s.recv(4096).startswith(b"HTTP/1.1 200"), "only WebSockets")


@case
def a_refused_websocket_gets_JSON_and_no_redirect(w):
    for answer in (w.preview(token=OTHER_TOKEN, Upgrade="websocket",
                             Connection="Upgrade"),
                   w.by_path("", Upgrade="websocket", Connection="Upgrade")):
        equal(answer.status, 404)


# ---- pools that are not there

@case
def pools_that_are_gone_are_503_and_say_when_to_try_again(w):
    w.auth.remove()
    for answer, code in (
            (w.ask("/v1/sessions/%s/api/ping" % A), "CONTAINER_UNAVAILABLE"),
            (w.preview(), "PREVIEW_UNAVAILABLE"),
            (w.by_path("/"), "PREVIEW_UNAVAILABLE")):
        equal((answer.status, answer.json()["code"]), (503, code))
        equal(answer.headers["retry-after"], "1")
        true(answer.headers.get("x-request-id"), "has a request id")
    w.api.remove()
    for method in ("GET", "POST"):
        answer = w.ask("/v1/sessions", method, b"{}")
        equal(answer.status, 503)
        equal(answer.headers["content-type"], "application/problem+json")
        equal((answer.json()["code"], answer.json()["retryable"]),
              ("unavailable", True))
        equal(answer.headers["retry-after"], "1")
    answer = w.ask("/v1/sessions/%s/api/expose-port" % A, "POST", b"{}")
    equal((answer.status, answer.json()["code"]),
          (503, "CONTAINER_UNAVAILABLE"))


@case
def a_dead_wrapper_without_an_api_pool_still_says_whether_to_repeat(w):
    w.auth = Responder(w.run_dir + "/auth.sock", w.answer_auth)
    answer = w.ask("/v1/sessions/%s/api/run" % DEAD, "POST", b"{}")
    equal((answer.status, answer.json()["context"]["retryable"]), (503, True))
    equal(answer.headers["retry-after"], "1")
    answer = w.ask("/v1/sessions/%s/api/run" % CUT, "POST", b"{}")
    equal((answer.status, answer.json()["context"]["retryable"]), (500, False))
    true("retry-after" not in answer.headers, "no Retry-After")
    equal(w.preview(session=DEAD).status, 503)


# ---- logs, last: they have seen all of the above

@case
def no_secret_stands_in_any_log(w):
    w.stop_nginx()
    logs = ""
    for name in sorted(os.listdir(WORLD + "/log")):
        with open(os.path.join(WORLD, "log", name)) as f:
            logs += f.read()
    for secret in SECRETS:
        true(secret not in logs, "found " + secret)
    true("/v1/sessions/%s/api/run" % CUT in logs, "requests are logged")
    true("session=%s port=8080" % A in logs, "previews are logged")
    true("connect() to unix:" in logs, "errors of the main server are logged")


@case
def the_stand_ins_saw_nothing_they_do_not_understand(w):
    for r in [w.api, w.auth] + list(w.wrappers.values()):
        equal(r.errors, [])


def main():
    w = World()
    w.start_nginx()
    try:
        run_cases(w.forget, w)
    finally:
        if w.nginx.poll() is None:
            w.stop_nginx()


if __name__ == "__main__":
    sys.exit(main())
