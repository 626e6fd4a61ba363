"""Tests preview URLs as a browser and an attacker use them, against the real service."""
import base64
import http.client
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap  # noqa: E402
import service  # noqa: E402
import websocket_echo  # noqa: E402
from service import until  # noqa: E402
from api import KEY, Session, call  # noqa: E402
from websocket import Refused, WebSocket  # noqa: E402

TOKENS = []
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
PREVIEW_PORT = int(os.environ["SANDLEASE_PREVIEW_URL"].rsplit(":", 1)[1])

# This app answers with the request as it came, echoes over WebSocket, and tries to steer
# nginx on /steer.
APP = websocket_echo.SOURCE + r"""
import socket, sys, threading, time
port = int(sys.argv[1])
def serve(c):
    head = b""
    while b"\r\n\r\n" not in head:
        d = c.recv(4096)
        if not d:
            return
        head += d
    head, body = head.split(b"\r\n\r\n", 1)
    head += b"\r\n\r\n"
    want = [int(l.split(b":")[1]) for l in head.lower().split(b"\r\n") if l.startswith(b"content-length:")]
    while len(body) < sum(want):
        body += c.recv(65536)
    line = head.split(b"\r\n")[0].split()
    lower = head.lower()
    if b"upgrade: websocket" in lower:
        return websocket_echo(c, head)
    if line[1].startswith(b"/say/"):    # first this, then that again and again
        first, then = (bytes.fromhex(x.decode()) for x in line[1].split(b"/")[2:4])
        try:
            c.sendall(first)
            while True:
                c.sendall(then)
                time.sleep(0.01)  # wait: paces a sender that ends with its reader
        except OSError:
            return
    extra = b""
    if line[1].startswith(b"/steer"):
        extra = (b"X-Accel-Redirect: /v1/health\r\nX-Accel-Buffering: yes\r\n"
                 b"X-Sandlease-Upstream: unix:/run/x\r\nSet-Cookie: sandlease=stolen; Domain=localhost\r\n")
    body = head
    c.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" + extra +
              b"Content-Length: " + str(len(body)).encode() + b"\r\nConnection: close\r\n\r\n" + body)
    c.close()
s = socket.create_server(("127.0.0.1", port))
while True:
    c, _ = s.accept()
    threading.Thread(target=serve, args=(c,), daemon=True).start()
"""


def serve(session, port):
    call("POST", session.path + "/api/write", {"path": "/workspace/app.py", "content": APP})
    session.run("(/usr/bin/python3 /workspace/app.py %d >/dev/null 2>&1 &)" % port)
    until("it listens", lambda: session.run("(: </dev/tcp/127.0.0.1/%d)" % port)[0] == 0)


def expose(session, port, **more):
    answer = session.preview(port, **more)
    assert answer.status in (200, 201), answer.body
    url = answer.json["url"]
    host = re.match(r"http://([^/]+)/$", url).group(1)
    TOKENS.append(host.split(".")[0].rsplit("-", 1)[1])
    return host


def fetch(host, path="/", method="GET", headers=None, body=None):
    """Fetches as a browser would: without a key, with the preview's own host."""
    return call(method, path, key=None, host=host, headers=headers, body=body)


def fetch_path(host, path="/", **more):
    label = host.split(".")[0]
    return call("GET", "/p/%s%s" % (label, path), key=None, port=PREVIEW_PORT,
                host="localhost:%d" % PREVIEW_PORT, **more)


def heard(answer):
    """Returns the headers of the request as the app received them."""
    lines = answer.body.decode().split("\r\n\r\n")[0].split("\r\n")[1:]
    return {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}


def page(answer, status, words, name):
    """Checks that the answer is a page for people, with these words and no script."""
    text = answer.body.decode()
    tap.ok(answer.status == status and words in text, "%s: a page" % name, (answer.status, text))
    tap.same(answer.headers["Content-Type"], "text/html; charset=utf-8", "which is HTML")
    policy = answer.headers["Content-Security-Policy"]
    tap.ok(policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy, "strict", policy)
    tap.ok(not any(token in text for token in TOKENS), "without the token")
    return text


def websocket(host):
    return WebSocket(("127.0.0.1", service.port()), "/ws", {"Host": host})


def refused(host, status, name):
    """Checks that an upgrade is answered with JSON and without a redirect."""
    try:
        websocket(host)
        found = "it was opened"
    except Refused as r:
        found = (r.status, r.headers.get_content_type(), r.headers["Location"])
    tap.same(found, (status, "application/json", None), name)


session = Session(name="previews")
serve(session, 8000)
host = expose(session, 8000, name="web")


def a_preview_url_shows_the_app():
    r = fetch(host, "/a/b?c=d%2Fe")
    tap.same(r.status, 200, "host form")
    tap.ok(b"GET /a/b?c=d%2Fe HTTP/1.1" in r.body, "path and query come as they were", r.body)
    r = fetch_path(host, "/a%2Fb/?q=1")
    tap.same(r.status, 200, "path form")
    tap.ok(b"GET /a%2Fb/?q=1 HTTP/1.1" in r.body, "undecoded", r.body)
    r = fetch(host, "/post", method="POST", body=b"x" * 100000)
    tap.same(r.status, 200, "bodies pass")


def the_app_hears_where_it_is_and_nothing_else_of_ours():
    r = fetch(host, "/", headers={
        "Authorization": "Bearer " + KEY, "X-API-Key": KEY, "X-Sandlease-Upstream": "unix:/x",
        "Cookie": "theirs=1; sandlease=SECRETCOOKIE; __Host-sandlease=SECRETCOOKIE; other=2"})
    text = r.body.decode()
    tap.ok(KEY not in text and "SECRETCOOKIE" not in text, "no credential of ours reaches it", text)
    tap.ok("theirs=1" in text and "other=2" in text, "its own cookies do", text)
    tap.ok("x-sandlease" not in text.lower(), "no internal header")
    for name, value in (("host", "localhost:8000"), ("x-forwarded-host", host), ("x-forwarded-proto", "http"),
                        ("x-original-url", "http://%s/" % host), ("x-sandbox-name", "previews")):
        tap.same(heard(r).get(name), value, name)


def an_app_has_credentials_of_its_own():
    def credentials(r):
        return [heard(r).get(n) for n in ("authorization", "x-api-key")]
    for ask in (fetch, fetch_path):
        for value in ("Bearer its.own.jwt", "Basic dXNlcjpwYXNzd29yZC10aGF0LWlzLWxvbmc="):
            r = ask(host, "/", headers={"Authorization": value, "X-API-Key": "its-own"})
            tap.same(credentials(r), [value, "its-own"], "they pass")
        for value in ("Bearer " + KEY, "bearer " + KEY, KEY,
                      "Basic " + base64.b64encode(("x:" + KEY).encode()).decode(),
                      "Basic " + base64.b64encode((KEY + ":").encode()).decode()):
            r = ask(host, "/", headers={"Authorization": value, "X-API-Key": value})
            tap.same(credentials(r), [None, None], "ours do not")


def the_choice_of_a_host_counts_at_once():
    public = host.split(".")[0] + ".previews.example.com"
    for choice, told, forwarded in (("public", public, public), ("localhost-only", "localhost:8000", None),
                                    ("localhost", "localhost:8000", public)):
        expose(session, 8000, host=choice)
        h = heard(fetch(public, "/", headers={"Origin": "https://" + public}))
        tap.same((h["host"], h.get("x-forwarded-host")), (told, forwarded), choice)
        tap.same(h["origin"], "https://" + public if choice == "public" else "http://localhost:8000", "Origin")


def nothing_the_app_answers_steers_nginx():
    r = fetch(host, "/steer")
    tap.ok(b"GET /steer" in r.body, "X-Accel-Redirect gets nowhere", r.body)
    tap.ok(r.headers.get("X-Sandlease-Upstream") is None, "internal headers are stripped")
    cookie = r.headers.get("Set-Cookie") or ""
    tap.ok("domain=localhost;" not in cookie.lower() + ";", "no cookie for the siblings' domain", cookie)


def websockets_pass():
    ws = websocket(host)
    for message in ("hello", b"\x00\xff" * 50000):
        ws.send(message)
        tap.ok(ws.recv() == message, "messages go both ways")
    tap.same(ws.close(3999), 3999, "the app's close code")


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
FORGED = (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 24\r\n\r\n"
          b'{"org":"FORGED","me":""}')
# The first bytes of an app's answer, and the status that the client gets.
BEGINNINGS = (
    ("a whole response", OK, 200),
    ("103", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + OK, 200),
    ("100 and 102", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 X\r\n\r\n" + OK, 200),
    ("chunks", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", 200),
    ("204", b"HTTP/1.1 204 X\r\n\r\n", 204),
    ("304", b"HTTP/1.1 304 X\r\nContent-Length: 2\r\n\r\n", 304),
    ("an empty line", b"\r\n", 502),
    ("no status line", b"<html>", 502),
    ("101 unasked", b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n", 502),
    ("status 000", b"HTTP/1.1 000 X\r\n\r\n", 502),
    ("status 999", b"HTTP/1.1 999 X\r\n\r\n", 502),
    ("a length and chunks",
     b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 502),
    ("two lengths", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 2\r\n\r\n", 502),
)


def pooled(requests):
    """Sends the requests one after the other on one connection, as a proxy before nginx
    does, and opens a new one only where it was closed."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port(), timeout=tap.PATIENCE)
    for path, headers in requests:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        yield answer.status, answer.read()
    connection.close()


def no_app_answers_the_next_call_on_a_connection():
    key = {"Authorization": "Bearer " + KEY}
    for name, first, status in BEGINNINGS:
        said = "/say/%s/%s" % (first.hex(), FORGED.hex())
        for way, path, headers in (("a preview", said, {"Host": host}),
                                   ("a port", session.path + "/proxy/8000" + said, key)):
            heard = list(pooled(((path, headers), ("/v1/me", key), (path, headers), ("/v1/me", key))))
            tap.ok([s for s, _ in heard] == [status, 200, status, 200]
                   and not any(b"FORGED" in body for _, body in heard),
                   "%s says %s: %d, and the next call has its own answer" % (way, name, status), heard)


def a_wrong_token_port_or_session_is_the_same_404():
    label = host.split(".")[0]
    port, sid, token = label.split("-")
    rest = host.split(".", 1)[1]
    other = "".join("a" if c != "a" else "b" for c in token)
    shown = set()
    for what, name in (("token", "%s-%s-%s" % (port, sid, other)),
                       ("port", "8001-%s-%s" % (sid, token)),
                       ("session", "%s-%s-%s" % (port, "a" * 20, token)),
                       ("malformed", "%s-%s-short" % (port, sid))):
        r = fetch("%s.%s" % (name, rest))
        tap.ok(r.status == 404 and r.json["code"] == "INVALID_TOKEN", "wrong %s" % what, r.body)
        refused("%s.%s" % (name, rest), 404, "and so is an upgrade")
        shown.add(page(fetch("%s.%s" % (name, rest), headers=BROWSER), 404, "There is no preview here", what).strip())
        shown.add(page(fetch_path(name + ".", headers=BROWSER), 404, "There is no preview here", what).strip())
    tap.same(len(shown), 1, "and the page is always the same")


def an_unexposed_port_closes_with_its_connections():
    serve(session, 8100)
    h = expose(session, 8100)
    ws = websocket(h)
    tap.same(call("DELETE", session.path + "/ports/8100").status, 204, "unexpose")
    tap.same(ws.closed(), None, "the open connection is cut")
    tap.same(fetch(h).json["code"], "INVALID_TOKEN", "and the URL is over")
    tap.same(call("DELETE", session.path + "/ports/8100").status, 404, "twice is 404")


def a_rotated_port_has_a_new_url():
    serve(session, 8200)
    old = expose(session, 8200)
    ws = websocket(old)
    r = call("POST", session.path + "/ports/8200/rotate")
    tap.same(r.status, 200, "rotate")
    new = r.json["url"][len("http://"):-1]
    TOKENS.append(new.split(".")[0].rsplit("-", 1)[1])
    tap.same(ws.closed(), None, "what the old one opened is cut")
    tap.same(fetch(old).status, 404, "the old URL is over")
    tap.same(fetch(new).status, 200, "the new one works")
    tap.same(expose(session, 8200), new, "exposing again keeps it")


def a_preview_expires():
    h = expose(session, 8000 + 300, expiresInSeconds=1)
    until("404 after its time", lambda: fetch(h).status == 404)
    page(fetch(h, headers=BROWSER), 404, "There is no preview here", "expired")
    tap.same([p["status"] for p in session.get()["ports"] if p["port"] == 8300], ["expired"],
             "and the session says so")


def nothing_listening_is_a_page_that_names_what_does():
    h = expose(session, 8400)
    text = page(fetch(h, headers=BROWSER), 502, "Nothing listens on port 8400", "no listener")
    tap.ok("8000" in text, "it names what does", text)
    for accept in ("*/*", "application/json"):
        r = fetch(h, headers={"Accept": accept})
        tap.ok(r.status == 502 and r.json["code"] == "SERVICE_NOT_RESPONDING"
               and 8000 in r.json["context"]["listening"], "JSON for " + accept, r.body)
    refused(h, 502, "JSON for an upgrade")


def asleep_without_a_wish_to_wake_is_410():
    with Session(name="sleeper") as s:
        h = expose(s, 8000)
        call("POST", s.path + "/sleep")
        r = fetch(h)
        tap.ok(r.status == 410 and r.json["code"] == "STALE_PREVIEW_URL", "410", r.body)
        text = page(fetch(h, headers=BROWSER), 410, "This session does not run", "asleep")
        tap.ok('href="%s/#/sessions/%s"' % (os.environ["SANDLEASE_URL"], s.id) in text,
               "it leads to the dashboard", text)
        tap.same(s.get()["state"], "asleep", "and it sleeps on")
        call("POST", s.path + "/resume")
        serve(s, 8000)
        tap.same(fetch(h).status, 200, "the same URL works after a resume")


def asleep_with_a_wish_to_wake_wakes():
    with Session(name="waker", wakeOnPreview=True) as s:
        h = expose(s, 8000)
        call("POST", s.path + "/sleep")
        r = fetch(h)
        tap.ok(r.status == 307 and r.headers["Location"] == "http://%s/" % h, "307 to itself", r.body)
        tap.same(s.get()["state"], "ready", "it is awake")
        call("POST", s.path + "/sleep")
        r = fetch(h, method="POST", body=b"x")
        tap.ok(r.status == 503 and r.headers["Retry-After"], "a POST is told to come again", r.body)
        call("POST", s.path + "/sleep")
        r = fetch(h, method="POST", body=b"x", headers=BROWSER)
        tap.ok("refresh" not in page(r, 503, "send it again", "a form"), "which a browser does not by itself")
        call("POST", s.path + "/sleep")
        refused(h, 503, "so is an upgrade")


def a_deleted_session_takes_its_urls_along():
    s = Session()
    h = expose(s, 8000)
    s.delete()
    tap.same(fetch(h).status, 404, "404 afterwards")
    page(fetch(h, headers=BROWSER), 404, "There is no preview here", "deleted")


def bad_ports_are_refused():
    for port in (0, 80, 1023, 65536, 3128, "8000", 8000.5, None):
        r = session.preview(port)
        tap.ok(r.status == 400 and r.json["errors"][0]["field"] == "port", "port %r" % (port,), r.body)


def more_ports_than_fit_one_message_survive_a_resume():
    with Session(name="many-ports") as s:
        hosts = {p: expose(s, p) for p in range(9000, 9014)}
        call("POST", s.path + "/sleep")
        call("POST", s.path + "/resume")
        serve(s, 9013)
        tap.same(fetch(hosts[9013]).status, 200, "the fourteenth too")


def the_wrapper_cannot_act_on_the_dashboards_origin():
    session.run("printf '<script>alert(1)</script>' >/workspace/x.html")
    r = call("POST", session.path + "/api/read", {"path": "/workspace/x.html"})
    tap.ok(r.headers["Content-Type"].startswith("application/json"), "files come as JSON")
    tap.ok("sandbox" in r.headers["Content-Security-Policy"], "in a sandbox of the browser's")
    tap.same(r.headers["X-Content-Type-Options"], "nosniff", "and are not sniffed")
    tap.ok(r.headers.get("Set-Cookie") is None, "no cookie is set")


def no_token_is_in_any_log():
    # wait: 0.2 s for the last lines; a shorter wait makes the test weaker, never red
    time.sleep(0.2)
    for token in TOKENS + [KEY]:
        found = subprocess.run(["grep", "-rlF", token, os.environ["STACK_STATE"] + "/log",
                                os.environ["STACK_STATE"] + "/nginx/log",
                                os.environ["STACK_STATE"] + "/box"],
                               capture_output=True, text=True).stdout
        if not tap.ok(found == "", "a token stands in no log", found):
            break
    found = os.listdir(os.environ["STACK_STATE"] + "/nginx/log")
    tap.ok("preview.log" in found, "there are logs to look at", found)


try:
    tap.run([f for n, f in list(globals().items())
             if callable(f) and getattr(f, "__module__", "") == "__main__"
             and n not in ("serve", "expose", "fetch", "fetch_path", "websocket", "refused", "pooled",
                       "heard", "page")])
finally:
    session.delete()
