"""Tests that development servers work behind a preview, as a browser talks to them."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap  # noqa: E402
import service  # noqa: E402
from service import until  # noqa: E402
from api import Session, call  # noqa: E402
from websocket import WebSocket  # noqa: E402

# A preview domain that no development server knows; browsers send it as Host.
DOMAIN = "previews.example.com"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}

WEBPACK = """
const webpack = require("webpack"), Server = require("webpack-dev-server");
new Server({ port: 8090 }, webpack({ mode: "development", entry: "./entry.js",
    output: { path: "/workspace/out" } })).start();
"""

# ALLOWED_HOSTS is empty, as startproject leaves it: in debug mode Django then accepts
# localhost only.
DJANGO = r"""
import sys
from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpResponse, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.urls import path

settings.configure(
    DEBUG=True, SECRET_KEY="x", ROOT_URLCONF=__name__,
    CSRF_TRUSTED_ORIGINS=[".previews.example.com"],
    MIDDLEWARE=["django.middleware.common.CommonMiddleware",
                "django.middleware.csrf.CsrfViewMiddleware"])

def form(request):
    if request.method == "POST":
        return HttpResponseRedirect(request.build_absolute_uri("/done"))
    return HttpResponse(get_token(request))

urlpatterns = [path("form", form)]
execute_from_command_line(sys.argv)
"""

# Copies of the checks of frameworks that are too large for a test.  Each check says
# whether it would let the request through.
FRAMEWORKS = r"""
import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlsplit

def local(host):
    name = host.rsplit(":", 1)[0]
    return name == "localhost" or name.endswith(".localhost")

def origin_host(h):
    return urlsplit(h.get("Origin", "")).netloc

class Handler(BaseHTTPRequestHandler):
    def any(self):
        h = self.headers
        host, forwarded = h["Host"], h.get("X-Forwarded-Host")
        scheme = h.get("X-Forwarded-Proto") or "http"
        answer = json.dumps({
            # blockCrossSite() of next dev: the page's host, for WebSockets
            "next dev": local(origin_host(h)),
            # Server Actions of Next, actions of React Router
            "next actions": origin_host(h) == (forwarded or host),
            # ActionDispatch::HostAuthorization
            "rails hosts": local(host) and (not forwarded or local(forwarded)),
            # protect_from_forgery, with the base URL that Rails computes
            "rails origin": h["Origin"] == "%s://%s" % (scheme, forwarded or host),
            # CsrfViewMiddleware since Django 4, as set up by startproject ...
            "django": h["Origin"] == "http://" + host,
            # ... and with CSRF_TRUSTED_ORIGINS = ["https://*.previews.example.com"]
            "django trusted": h["Origin"] == "http://" + host
                or h["Origin"].startswith("https://") and h["Origin"].endswith(".previews.example.com"),
            # forms of SvelteKit and Astro while they are developed
            "sveltekit": h["Origin"] == "http://" + host,
        }).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = any

HTTPServer(("127.0.0.1", 7000), Handler).serve_forever()
"""

session = Session(isolation="session")


def write(name, text):
    answer = call("POST", session.path + "/api/write", {"path": "/workspace/" + name, "content": text})
    assert answer.status == 200, answer.body


def start(command):
    answer = call("POST", session.path + "/api/process/start", {"command": command})
    assert answer.status == 200, answer.body


def listens(port):
    return call("POST", session.path + "/api/port-check", {"port": port, "mode": "tcp"}).json["ready"]


def expose(port, **more):
    """Exposes the port; returns the host name under which a browser finds it."""
    answer = session.preview(port, hostname=DOMAIN, **more)
    assert answer.status in (200, 201), answer.body
    return answer.json["url"].split("/")[2]


def fetch(host, path="/", method="GET", headers=None, body=None):
    return call(method, path, key=None, host=host, headers=headers, body=body)


def socket(host, path, **more):
    """Opens a WebSocket as a script of the page does."""
    return WebSocket(("127.0.0.1", service.port()), path,
                     {"Host": host, "Origin": "https://" + host}, **more)


def hear(ws, kind):
    """Returns the next message of that type."""
    seen = []
    while True:
        seen.append(ws.json())
        if seen[-1]["type"] == kind:
            return seen[-1]
        if seen[-1]["type"] == "error":
            raise AssertionError(seen)


def upload():
    tar = subprocess.run(["tar", "-C", os.environ["SANDLEASE_NODE_DIR"], "-c", "node_modules"],
                         stdout=subprocess.PIPE, check=True).stdout
    answer = call("PUT", session.path + "/archive/workspace", tar)
    assert answer.status == 200, answer.body


def vite_shows_its_page_and_reloads_what_changes():
    host = expose(5173)
    page = fetch(host, headers={"Accept": "text/html"})
    tap.ok(page.status == 200 and b"/@vite/client" in page.body, "the page", (page.status, page.body))
    client = fetch(host, "/@vite/client").body.decode()
    token = re.search(r'wsToken = "([^"]+)"', client).group(1)
    tap.same(fetch(host, "/main.js").status, 200, "its script")
    ws = socket(host, "/?token=" + token, subprotocols=["vite-hmr"])
    hear(ws, "connected")
    write("main.js", "import.meta.hot.accept(); // changed\n")
    tap.same(hear(ws, "update")["updates"][0]["path"], "/main.js", "a change is told")
    ws.sock.close()


def vite_refuses_the_public_name_where_that_is_wanted():
    host = expose(5173, host="public")
    answer = fetch(host, headers={"Accept": "text/html"})
    tap.ok(answer.status == 403 and DOMAIN in answer.body.decode(), "its own check", answer.body)
    expose(5173, host="localhost")
    tap.same(fetch(host, headers={"Accept": "text/html"}).status, 200, "and back")


def webpack_shows_its_script_and_reloads_what_changes():
    host = expose(8090)
    script = fetch(host, "/main.js")
    tap.ok(script.status == 200 and b"first version" in script.body, "the script", script.body[:300])
    ws = socket(host, "/ws")
    hear(ws, "ok")
    write("entry.js", "console.log('second version');\n")
    hear(ws, "invalid")
    # webpack may build once more for a file that was written just before it started
    while b"second version" not in fetch(host, "/main.js").body:
        hear(ws, "ok")
    tap.ok(True, "a change is built and told")
    ws.sock.close()


def django_takes_its_form():
    host = expose(8800)
    answer = fetch(host, "/form")
    cookie = (answer.headers["Set-Cookie"] or "").split(";")[0]
    tap.ok(answer.status == 200 and cookie.startswith("csrftoken="), "the form", answer.body[:300])
    answer = fetch(host, "/form", "POST", dict(FORM, Origin="https://" + host, Cookie=cookie,
                                               Referer="https://%s/form" % host),
                   b"csrfmiddlewaretoken=" + answer.body)
    tap.same((answer.status, answer.headers["Location"]), (302, "http://%s/done" % host),
             "sends on to the public address")


# The checks that pass by each choice of `host`; other checks need a setting of the
# framework.
PASSES = {
    "localhost": ({"next dev"}, {"next actions", "django trusted"}),
    "localhost-only": ({"next dev"}, {"next actions", "rails hosts", "rails origin", "django",
                                      "django trusted", "sveltekit"}),
    "public": (set(), {"next actions", "django trusted"}),
}


def the_checks_of_frameworks_pass():
    for choice, (upgrade, post) in PASSES.items():
        host = expose(7000, host=choice)
        headers = {"Origin": "https://" + host}
        for method, wanted in (("GET", upgrade), ("POST", post)):
            checks = fetch(host, "/", method, headers).json
            passed = {name for name, ok in checks.items() if ok}
            tap.ok(wanted <= passed, "%s %s" % (choice, method), checks)
    # a page of another site is refused, whatever Host the app gets
    for choice in PASSES:
        host = expose(7000, host=choice)
        checks = fetch(host, "/", "POST", {"Origin": "https://evil.example"}).json
        checks.pop("rails hosts")
        tap.ok(not any(checks.values()), "%s, from another site" % choice, checks)


def begin():
    write("index.html", "<!doctype html><script type=module src=/main.js></script>")
    write("main.js", "import.meta.hot.accept();\n")
    write("entry.js", "console.log('first version');\n")
    write("webpack.js", WEBPACK)
    write("site.py", DJANGO)
    write("frameworks.py", FRAMEWORKS)
    upload()
    for command in ("node node_modules/vite/bin/vite.js", "node webpack.js",
                    "python3 site.py runserver 8800 --noreload", "python3 frameworks.py"):
        start(command)
    for port in (5173, 8090, 8800, 7000):
        until("%d listens" % port, lambda: listens(port))


try:
    begin()
    tap.run([vite_shows_its_page_and_reloads_what_changes,
             vite_refuses_the_public_name_where_that_is_wanted,
             webpack_shows_its_script_and_reloads_what_changes,
             django_takes_its_form, the_checks_of_frameworks_pass])
finally:
    session.delete()
