#!/usr/bin/env python3
"""strangers.t: the command line and a service that is none, or goes away."""
import http.server
import os
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from tap import case, equal, run, true

TOP = os.path.abspath(os.environ.get("top_srcdir", "."))
CLI = os.path.join(os.path.abspath(os.environ.get(
    "top_builddir", os.path.join(TOP, "build"))), "sandlease")
ID = "a" * 20
AT = f"/v1/sessions/{ID}"
PATIENCE_S = 60


class Service(http.server.ThreadingHTTPServer):
    """Answers {"METHOD path": (status, headers, body)}; what is not in it is
    sent elsewhere.  A function instead is called with the handler."""
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.seen = []
        self.over = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def go(self):
        """Nobody answers any more, and what was begun is cut."""
        self.over.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        pass  # who asked has gone

    def __enter__(self):
        return self

    def __exit__(self, *why):
        if not self.over.is_set():
            self.go()

    def run(self, *words, **options):
        p = self.start(*words, **options)
        try:
            out, err = p.communicate(timeout=PATIENCE_S)
        finally:
            p.kill()
        return p.returncode, out.decode("latin-1"), err.decode("latin-1")

    def start(self, *words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE):
        return subprocess.Popen(
            [CLI, *words], stdin=stdin, stdout=stdout, stderr=subprocess.PIPE,
            cwd=WORK, env={**os.environ, "HOME": WORK, "XDG_CONFIG_HOME": "",
                           "SANDLEASE_API_KEY": "sl_any",
                           "SANDLEASE_URL":
                           f"http://127.0.0.1:{self.server_port}"})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        service = self.server
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        what = f"{self.command} {self.path.split('?')[0]}"
        service.seen.append((what, self.headers))
        a = service.answers.get(what, (301, {"Location": "/elsewhere"}, b""))
        if callable(a):
            self.close_connection = True
            try:
                a(self)
            except OSError:
                pass
            return
        status, headers, body = a
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *words):
        pass


def stream(*events):
    """Sends them, then nothing, until the service goes."""
    def send(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        for i, event in enumerate(events):
            handler.wfile.write(b"id: %d\ndata: %s\n\n" % (i + 1, event))
        handler.wfile.flush()
        handler.server.over.wait(PATIENCE_S)
    return send


def json(text, status=200):
    return status, {"Content-Type": "application/json"}, text.encode()


def local(name, text):
    path = os.path.join(WORK, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def text_of(path):
    with open(path) as f:
        return f.read()


def fails(result, code, words):
    equal(result[0], code, "code")
    true(words in result[2], f"{words!r} is not in {result[2]!r}")


STARTED = json('{"success": true, "processId": "p1"}')
LINE = b'{"type": "stdout", "data": "b25lCg=="}'  # one
PROCESS = f"{AT}/api/process/p1"
FILE = f"{AT}/files/workspace/x"


def looked_at(status):
    """A look at the file succeeds; fetching it has this status."""
    def send(handler):
        part = "Range" in handler.headers
        handler.send_response(206 if part else status)
        handler.send_header("Content-Length", "1" if part else "0")
        handler.end_headers()
        handler.wfile.write(b"x" if part else b"")
    return send


# ---- another address

@case
def a_redirect_is_no_success():
    kept = local("kept", "precious")
    with Service({}) as s:
        for words in (["ls"], ["rm", ID], ["rm", "--no-wait", ID],
                      ["sleep", ID], ["resume", ID], ["create"],
                      ["logs", ID], ["logs", "-f", ID, "p1"],
                      ["cp", f"{ID}:x", kept], ["cp", kept, f"{ID}:x"],
                      ["cp", f"{ID}:x", "-"], ["ports", "ls", ID]):
            fails(s.run(*words), 1, "is SANDLEASE_URL right?")
        fails(s.run("exec", ID, "--", "true"), 125, "answers 301 to")
        fails(s.run("exec", ID, "--", "true", stdin=subprocess.PIPE), 125,
              "answers 301 to")
    equal(text_of(kept), "precious", "the local file")


@case
def a_redirect_at_the_last_step_is_none_either():
    kept = local("kept", "precious")
    with Service({f"GET {AT}/api/ping": json("{}"),
                  f"POST {AT}/api/process/start": STARTED,
                  f"GET {FILE}": looked_at(301)}) as s:
        fails(s.run("exec", ID, "--", "true"), 125, "answers 301 to POST")
        fails(s.run("exec", ID, "--", "true", stdin=subprocess.PIPE), 125,
              "answers 301 to")
        fails(s.run("cp", f"{ID}:x", kept), 1, "answers 301 to GET")
    equal(text_of(kept), "precious", "the local file")
    equal([n for n in os.listdir(WORK) if n.startswith(".kept")], [], "drafts")


@case
def no_file_is_no_empty_file():
    kept = local("kept", "precious")
    with Service({f"GET {FILE}": looked_at(202)}) as s:
        fails(s.run("cp", f"{ID}:x", kept), 1, "202 instead of a file")
    equal(text_of(kept), "precious", "the local file")



# ---- one that goes away

def begun(s, *words, **options):
    """A command whose first line has come."""
    p = s.start(*words, **options)
    equal(p.stdout.readline(), b"one\n", "its first line")
    return p


@case
def exec_without_a_service_ends_when_it_is_told_to():
    with Service({f"POST {AT}/api/process/start": STARTED,
                  f"GET {PROCESS}/stream": stream(LINE)}) as s:
        p = begun(s, "exec", ID, "--", "any", stdin=subprocess.PIPE)
        s.go()
        p.send_signal(signal.SIGTERM)
        p.communicate(timeout=PATIENCE_S)
        equal(p.returncode, 128 + signal.SIGTERM, "code")


@case
def exec_goes_on_behind_what_it_has_seen():
    def again(handler):
        if handler.headers.get("Last-Event-ID") == "1":
            stream(b'{"type": "exit", "exitCode": 7}')(handler)
        else:
            handler.server.over.set()  # ends it
            stream(LINE)(handler)
            handler.server.over.clear()
    with Service({f"POST {AT}/api/process/start": STARTED,
                  f"POST {PROCESS}/input": json("{}"),
                  f"GET {PROCESS}/stream": again}) as s:
        code, out, _ = s.run("exec", ID, "--", "any", stdin=subprocess.PIPE)
        equal([code, out], [7, "one\n"], "code and output")


# ---- readers that have enough

def read_once(s, *words):
    p = s.start(*words)
    true(p.stdout.readline() != b"", "there is a line")
    p.stdout.close()
    equal(p.wait(timeout=PATIENCE_S), 128 + signal.SIGPIPE, "code")


@case
def logs_end_when_nobody_reads_them():
    answers = {f"GET {PROCESS}": json("{}"),
               f"GET {PROCESS}/stream": stream(LINE)}
    with Service(answers) as s:
        read_once(s, "logs", "-f", ID, "p1")
        read_once(s, "logs", "-f", "--json", ID, "p1")
        s.answers[f"GET {PROCESS}/stream"] = stream(*[LINE] * 100000)
        read_once(s, "logs", "-f", ID, "p1")
        read_once(s, "logs", "-f", "--json", ID, "p1")


@case
def events_end_when_nobody_reads_them():
    with Service({f"GET {AT}/events":
                  json('{"events": [{"id": 1, "kind": "state"}]}')}) as s:
        read_once(s, "logs", "-f", ID)

if not os.access(CLI, os.X_OK):
    from tap import skip_all
    skip_all(f"{CLI} is not built")
with tempfile.TemporaryDirectory() as WORK:
    run(lambda: None)
