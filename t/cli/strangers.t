#!/usr/bin/python3
"""strangers.t: tests the command line against a server that is no Sandlease service, and
against a service that goes away."""
import http.server
import os
import signal
import stat
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
PATIENCE_S = 120  # wait: against hanging, never a measure


class Service(http.server.ThreadingHTTPServer):
    """A server that answers {"METHOD path": (status, headers, body)}.  It redirects all
    other requests, and calls a function with the handler if there is one instead of a
    tuple."""
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.seen = []
        self.clients = []
        self.over = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def go(self):
        """Stops the server and cuts the answers that are under way."""
        self.over.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        pass  # the client has gone

    def __enter__(self):
        return self

    def __exit__(self, *why):
        for p in self.clients:
            p.kill()
            p.wait()
        if not self.over.is_set():
            self.go()

    def run(self, *words, **options):
        p = self.start(*words, **options)
        out, err = p.communicate(timeout=PATIENCE_S)
        return p.returncode, out.decode("latin-1"), err.decode("latin-1")

    def start(self, *words, stdin=subprocess.DEVNULL):
        p = subprocess.Popen(
            [CLI, *words], stdin=stdin, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, cwd=WORK, env={**os.environ, "HOME": WORK, "XDG_CONFIG_HOME": "",
                           "SANDLEASE_API_KEY": "sl_any",
                           "SANDLEASE_URL":
                           f"http://127.0.0.1:{self.server_port}"})
        self.clients.append(p)
        return p


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
    """Returns a function that sends these events and then nothing, until the service goes."""
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
LINE = b'{"type": "stdout", "data": "b25lCg=="}'  # base64 of "one\n"
PROCESS = f"{AT}/api/process/p1"
FILE = f"{AT}/files/workspace/x"


def looked_at(status):
    """Returns a function that lets a look at the file succeed and answers its fetch with
    `status`."""
    def send(handler):
        part = "Range" in handler.headers
        handler.send_response(206 if part else status)
        handler.send_header("Content-Length", "1" if part else "0")
        handler.end_headers()
        handler.wfile.write(b"x" if part else b"")
    return send


# ---- redirects to another address

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


# ---- another release

@case
def a_code_of_another_release_is_told_and_taken_for_none_of_ours():
    kept = local("kept", "precious")
    for code, ends, says in (
            ("IS_DIRECTORY", 2, "-r copies it"),
            ("IS_DIRECTORY_2", 1, "not so (400 IS_DIRECTORY_2)")):
        refusal = f'{{"code": "{code}", "message": "not so"}}'
        with Service({f"GET {FILE}": json(refusal, 400)}) as s:
            fails(s.run("cp", f"{ID}:x", kept), ends, says)
    equal(text_of(kept), "precious", "the local file")


# ---- a service that goes away

def begun(s, *words, **options):
    """Starts a command and waits for its first line."""
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
            handler.server.over.set()  # ends the stream
            stream(LINE)(handler)
            handler.server.over.clear()
    with Service({f"POST {AT}/api/process/start": STARTED,
                  f"POST {PROCESS}/input": json("{}"),
                  f"GET {PROCESS}/stream": again}) as s:
        code, out, _ = s.run("exec", ID, "--", "any", stdin=subprocess.PIPE)
        equal([code, out], [7, "one\n"], "code and output")


@case
def a_session_of_run_whose_creation_is_not_answered_is_deleted():
    def cut(handler):
        handler.connection.close()

    def find(handler):
        handler.server.asked = handler.path
        body = b'{"sessions": [{"id": "%s"}]}' % ID.encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
    with Service({"POST /v1/sessions": cut, "GET /v1/sessions": find,
                  f"DELETE {AT}": json('{"state": "deleted"}')}) as s:
        equal(s.run("run", "--", "true")[0], 125, "code")
        true("label=sandlease-run%3A" in s.asked
             or "label=sandlease-run:" in s.asked, s.asked)
        equal([what for what, _ in s.seen][-1], f"DELETE {AT}", "last call")


@case
def a_session_of_run_that_cannot_be_deleted_is_named():
    with Service({"POST /v1/sessions": json(
            '{"id": "%s", "state": "failed", "reason": "no"}' % ID)}) as s:
        fails(s.run("run", "--", "true"), 125,
              "may still be there: sandlease rm --label sandlease-run=")


# ---- readers that close early

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

# ---- files that are none

@case
def what_is_no_file_is_written_into():
    pipe = os.path.join(WORK, "pipe")
    os.mkfifo(pipe)
    with Service({f"GET {FILE}": (200, {}, b"through")}) as s:
        fd = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        equal(s.run("cp", f"{ID}:x", pipe)[0], 0, "code")
        equal(os.read(fd, 100), b"through", "what was read")
        os.close(fd)
    true(stat.S_ISFIFO(os.lstat(pipe).st_mode), "it is no pipe any more")


@case
def a_name_that_cannot_be_sent_is_refused():
    local("plain", "text")
    with Service({"POST /v1/sessions": json('{"state": "ready"}')}) as s:
        fails(s.run("create", "-f", b"plain:\xff"), 2, "only UTF-8")
        equal(s.seen, [], "calls")


# ---- words

@case
def the_words_of_a_refusal_command_no_terminal():
    with Service({f"DELETE {AT}": json(
            '{"code": "X", "detail": "no\\u001b[2Jway"}', 409)}) as s:
        equal(s.run("rm", ID, ID)[2], "sandlease: no[2Jway (409 X)\n" * 2,
              "what is said")


@case
def a_beginning_that_two_ids_have_is_not_enough():
    with Service({"GET /v1/sessions": json('{"sessions": [%s]}' % ", ".join(
            '{"id": "%s"}' % (c * 10) for c in ("ab", "ac", "bb")))}) as s:
        fails(s.run("logs", "a"), 1, '"a" begins the ids of 2 sessions')


@case
def completion_wakes_nobody():
    with Service({f"GET {AT}/api/process/list": json(
            '{"processes": [{"id": "p1", "command": "any"}]}')}) as s:
        equal(s.run("complete", "--", "logs", ID, "")[1], "p1\tany\n", "words")
        equal([h["X-Sandlease-Probe"] for _, h in s.seen], ["1"], "headers")

if not os.access(CLI, os.X_OK):
    from tap import skip_all
    skip_all(f"{CLI} is not built")
with tempfile.TemporaryDirectory() as WORK:
    run(lambda: None)
