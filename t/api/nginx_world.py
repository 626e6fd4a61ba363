"""nginx_world.py: runs a real nginx with stand-ins behind it, for nginx_*.py.

The first argument of the program is a directory with copies of nginx/, www/ and
t/lib/ (see nginx.t); the run directory, logs and configuration go there, too.
"""
import http.client
import json
import os
import random
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time

WORLD = sys.argv[1]
sys.path.insert(0, os.path.join(WORLD, "lib"))
from app import App  # noqa: E402
from fcgi import Responder  # noqa: E402

PATIENCE = 120  # wait: against hanging, never a measure
A, B = "a" * 20, "b" * 20
ASLEEP, DEAD, CUT, LIES = "c" * 20, "d" * 20, "e" * 20, "f" * 20
MISSING = "m" * 20
TOKEN, OTHER_TOKEN = "abcdefghijklmnopqrstuvwxy2", "zyxwvutsrqponmlkjihgfedcb7"
KEY = "sl_" + "k" * 52
LOGIN = "loginloginloginloginlogin2"
TICKET = "ticketticketticketticket27"
SECRETS = [TOKEN, OTHER_TOKEN, KEY, LOGIN, TICKET]
JSON = [("Content-Type", "application/json")]


def free_ports():
    """Returns two free ports.  Stacks take no ports of this range, nor does the
    kernel for other connections."""
    found = []
    for port in random.sample(range(10000, 20000), 100):
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == 2:
            break
    return found


def configure(name, pattern, value):
    """Replaces every match of the pattern in a rendered file."""
    path = os.path.join(WORLD, "conf", name)
    with open(path) as f:
        text, n = re.subn(pattern, value, f.read())
    assert n >= 1, name
    with open(path, "w") as f:
        f.write(text)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.pairs = [(n.lower(), v) for n, v in response.getheaders()]
        self.headers = dict(self.pairs)
        self.body = response.read()

    def json(self):
        return json.loads(self.body)


class Stream(Responder):
    """The pool `stream`: serves FastCGI, or HTTP for WebSockets, by the first
    byte."""

    def __init__(self, path, handler, websockets):
        self.websockets = websockets
        super().__init__(path, handler)

    def _serve(self, conn):
        if conn.recv(1, socket.MSG_PEEK) == b"G":
            self.websockets._serve(conn)
        else:
            super()._serve(conn)


class World:
    def __init__(self):
        self.run_dir = WORLD + "/run"
        self.port, self.preview_port = free_ports()
        self.told = {}  # session: an answer of `auth` other than the usual one
        self.host_choice = ""  # the Host that the app shall get
        self.wakes = []
        self.nginx = None
        for name in ("run/s", "log", "state"):
            os.makedirs(os.path.join(WORLD, name))
        self.api = Responder(self.run_dir + "/api.sock", self.answer_api)
        self.read = Responder(self.run_dir + "/read.sock", self.answer_api)
        self.auth = Responder(self.run_dir + "/auth.sock", self.answer_auth)
        self.passing = App(self.run_dir + "/passing.sock", answer_passing)
        self.stream = Stream(self.run_dir + "/stream.sock", self.answer_stream,
                             self.passing)
        self.wrappers = {
            s: Responder(self.socket(s), self.answer_wrapper)
            for s in (A, B, ASLEEP, CUT)}
        self.apps = {
            s: App("%s/s/%s.7.8080.sock" % (self.run_dir, s), answer_app)
            for s in (A, B, ASLEEP, CUT)}
        self.sockets = {
            s: App("%s/s/%s.7.ws.sock" % (self.run_dir, s), answer_app)
            for s in (A, B, ASLEEP)}
        self.told_again = "@session_again"
        self.says = b""  # the raw answer of a wrapper on api/say
        self.gate = threading.Event()
        self.awake = False

    def socket(self, session, generation=7):
        return "%s/s/%s.%s.sock" % (self.run_dir, session, generation)

    # ---- stand-ins behind nginx

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
            r.reply(204, [("X-Sandlease-Upstream", "unix:" + self.socket(
                session, "7." + p["SL_PORT"] if p["SL_PORT"] else 7)),
                ("X-Sandlease-Key", "key1"), ("X-Sandlease-Tenant", "org1")])
        elif (route == "auth-preview" and session in (A, B, DEAD, CUT)
              and p["SL_TOKEN"] == TOKEN):
            r.reply(204, [("X-Sandlease-Upstream", "unix:%s/s/%s.7.%s.sock" % (
                self.run_dir, session, p["SL_PORT"])),
                ("X-Sandlease-Name", "named" if session == B else ""),
                ("X-Sandlease-Host", self.host_choice)])
        else:
            r.reply(403, [("X-Sandlease-Deny", "session_not_found")])

    def answer_api(self, r):
        route = r.params.get("SL_ROUTE")
        if route == "wake-session":
            self.awake = True
            if "SL_BODY" in r.params:
                r.reply(503, JSON + [("Retry-After", "1")], "{}")
                return
            r.reply(200, [("X-Accel-Redirect", self.told_again)])
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

    def answer_stream(self, r):
        """Answers as the pool does: for a wrapper that cannot be reached, half
        an answer."""
        session = r.params["SL_SESSION"]
        if self.says:
            r.write(self.says)
        elif session == DEAD:
            r.body()  # else r.die() would reset what nginx has not read yet
            r.write(b"X-Sandlease-Unsent: 1\r\n")
            r.die()
        elif session == CUT:
            r.die()
        else:
            r.reply(200, [("Content-Type", "text/event-stream"),
                          ("X-Sandlease-Unsent", "1")], "data: 1\n\n")

    def answer_wrapper(self, r):
        path = r.params["SL_PATH"].split("/", 4)[-1]
        if r.params["SL_SESSION"] == CUT:
            r.die()
        elif path == "api/stream":
            r.begin(200, [("Content-Type", "text/event-stream"),
                          ("X-Accel-Buffering", "yes")])
            r.write(b"data: first\n\n")
            self.gate.wait(PATIENCE)
            r.write(b"data: last\n\n")
        elif path == "api/upload":
            first = r.some_body()
            self.gate.set()
            r.reply(200, JSON, json.dumps({"first": len(first)}))
        elif path.startswith("api/status/"):
            r.reply(int(path.split("/")[-1]), JSON, "wrapper")
        elif path.endswith("/say"):
            r.write(self.says)
        elif path == "api/hostile":
            r.reply(200, HOSTILE, "<script>alert(1)</script>")
        else:
            r.reply(200, JSON, json.dumps(
                {"session": r.params["SL_SESSION"],
                 "method": r.params["REQUEST_METHOD"],
                 "body": r.body().decode("latin-1")[:100]}))

    # ---- nginx

    def start_nginx(self, address_max=None, key_max=None, few_reads=False):
        """Starts nginx; the arguments are limits for tests that must reach
        them."""
        subprocess.run(
            ["sh", WORLD + "/nginx/render", WORLD + "/conf",
             "RUN_DIR=" + self.run_dir, "PORT=%d" % self.port,
             "PREVIEW_PORT=%d" % self.preview_port,
             "PREVIEW_DOMAIN=localhost", "PUBLIC_HOST=127.0.0.1",
             "WWW_DIR=" + WORLD + "/www", "LOG_DIR=" + WORLD + "/log",
             "STATE_DIR=" + WORLD + "/state", "USER_DIRECTIVE=", "WORKERS=2",
             "PID_FILE=" + WORLD + "/nginx.pid"], check=True)
        if address_max:
            configure("limits.conf", "(limit_conn sandlease_address) [0-9]+",
                      r"\1 %d" % address_max)
        if key_max:
            configure("limits.conf", "(limit_conn sandlease_key) [0-9]+",
                      r"\1 %d" % key_max)
        if few_reads:
            # three at once, then one a minute, and no more than two wait
            configure("sandlease.conf", "(zone=sandlease_reads.*) rate=[^;]+",
                      r"\1 rate=1r/m")
            for name in ("control.conf", "main.conf"):
                configure(name, "delay=[0-9]+ burst=[0-9]+", "delay=2 burst=4")
        self.nginx = subprocess.Popen(
            ["nginx", "-e", WORLD + "/log/nginx-start.log",
             "-c", WORLD + "/conf/nginx.conf", "-g", "daemon off;"])
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                if self.nginx.poll() is not None:
                    break
                time.sleep(0.05)  # wait: polls, the limit is PATIENCE
        with open(WORLD + "/log/nginx-start.log") as f:
            print("Bail out! nginx does not start: " + f.read())
        raise SystemExit(1)

    def kill_nginx_worker(self):
        """Kills one of two workers; returns when the system reports it as
        dead."""
        with open("/proc/%d/task/%d/children" % (
                (self.nginx.pid,) * 2)) as f:
            pid = int(f.read().split()[0])
        fd = os.pidfd_open(pid)
        os.kill(pid, signal.SIGKILL)
        select.select([fd], [], [], PATIENCE)  # wait: until the worker is dead
        os.close(fd)

    def stop_nginx(self):
        self.nginx.terminate()
        self.nginx.wait(PATIENCE)

    # ---- asking

    def ask(self, path, method="GET", body=None, port=None, **headers):
        names = {n.replace("_", "-"): v for n, v in headers.items()}
        c = http.client.HTTPConnection("127.0.0.1", port or self.port,
                                       timeout=PATIENCE)
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
        for r in [self.api, self.read, self.auth, self.stream] + list(
                self.wrappers.values()):
            r.took()
        for a in list(self.apps.values()) + list(self.sockets.values()):
            while not a.heads.empty():
                a.heads.get()
        self.gate.clear()
        self.awake = False
        self.says = b""
        self.host_choice = ""
        self.apps[A].extra = []


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


def answer_passing(app, head, conn):
    if DEAD in head:
        conn.sendall(b"HTTP/1.1 502 Bad Gateway\r\nX-Sandlease-Unsent: 1\r\n")
    else:
        answer_app(app, head, conn)


def answer_app(app, head, conn):
    lines = head.split("\r\n")
    if app.says is not None:
        conn.sendall(app.says)
        conn.shutdown(socket.SHUT_WR)
        while conn.recv(65536):
            pass
        return
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
    extra = "".join("%s: %s\r\n" % pair for pair in app.extra or [
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
    # closing with an unread body would reset the connection under nginx
    conn.shutdown(socket.SHUT_WR)
    while conn.recv(65536):
        pass
