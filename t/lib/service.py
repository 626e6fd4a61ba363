"""service.py: a private service for a test file, and calls on it.

    import service
    service.begin()     # runs this file again inside `t/lib/stack.sh with`
    sid = service.create(name="a")["id"]
    service.execute(sid, "echo hi")

Calls go through nginx unless they say otherwise.  stack() reaches the
functions of t/lib/dev-stack.sh: stack("api_stop"), stack("pg_start"), ...
"""
import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from procfs import alive, children, descendants, stat
from tap import PATIENCE, Hope

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
STACK_SH = os.path.join(TOP, "t/lib/stack.sh")


def begin(conf="", disk_mb=0, cgroup=None, egress=False):
    """Starts a service for the rest of the test file.  `conf`: settings, one per
    line.  `disk_mb`: the service's state is on a file system of that size, which
    only root can mount; call cannot_mount() first.  `cgroup`: "none".  `egress`:
    sandboxes may have a network."""
    if "STACK_DIR" not in os.environ:
        os.environ["STACK_CONF"] = conf
        if cgroup:
            os.environ["STACK_CGROUP"] = cgroup
        if egress:
            os.environ["STACK_EGRESS"] = "yes"
        before = []
        if disk_mb:
            os.environ["STACK_DISK_MB"] = str(disk_mb)
            before = PRIVATE_MOUNTS
        os.execvp((before + ["bash"])[0], before + [
            "bash", STACK_SH, "with", sys.executable, "-B",
            os.path.abspath(sys.argv[0])])


PRIVATE_MOUNTS = ["unshare", "--mount", "--propagation", "private"]


def cannot_mount():
    """Why no file system can be mounted here, or nothing."""
    if os.getuid() != 0:
        return "only root can mount a small file system"
    tried = subprocess.run(
        PRIVATE_MOUNTS + ["mount", "-t", "tmpfs", "-o", "size=1m", "t", "/mnt"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    return "" if tried.returncode == 0 else tried.stdout.strip()


def setting(name):
    """The value of STACK_STATE, SANDLEASE_API_KEY, ... of this service."""
    return os.environ[name]


# ---- HTTP

class Reply:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    def header(self, name):
        return self.headers.get(name)

    def __repr__(self):
        return "<%d %s %.600r>" % (self.status,
                                   self.headers.get("Content-Type"), self.body)


def port():
    return int(setting("STACK_PORT"))


def whole(answer):
    """The body of an answer.  A stream that sends only heartbeats fails."""
    if answer.headers["Content-Type"] != "text/event-stream":
        return answer.read()
    body, hope = b"", Hope()
    while piece := answer.read1(1 << 16):
        body += piece
        if piece.startswith(b": "):
            hope.lives()
        else:
            hope = Hope()
    return body


def call(method, path, body=None, key=None, headers=None, timeout=PATIENCE,
         to=None):
    """Sends one request.  `body`: bytes as they are, anything else as JSON.
    `key`: "" for none.  `to`: another port of nginx."""
    sent = dict(headers or {})
    if key != "":
        sent["Authorization"] = "Bearer " + (
            key or setting("SANDLEASE_API_KEY"))
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
        sent.setdefault("Content-Type", "application/json")
    conn = http.client.HTTPConnection("127.0.0.1", to or port(), timeout=timeout)
    try:
        conn.request(method, path, body, sent)
        answer = conn.getresponse()
        reply = Reply(answer.status, answer.headers, whole(answer))
    finally:
        conn.close()
    check_no_host(path, reply)
    return reply


# The answers of these paths come from programs in sessions and may have any text.
OF_A_SESSION = re.compile("/v1/sessions/[^/]+/(api|files|archive|proxy|ws)")


def check_no_host(path, reply):
    """Checks that the service's own answer names no directory of the host."""
    if reply.status < 400 and (OF_A_SESSION.match(path) or
                               not path.startswith("/v1/")):
        return
    for name in ("STACK_STATE", "STACK_RUN"):
        if setting(name).encode() in reply.body:
            raise AssertionError("%s names the host: %r" % (path, reply))


def in_background(*request):
    """Begins a call; join() gives its reply."""
    class Call(threading.Thread):
        reply = None

        def run(self):
            self.reply = call(*request)

        def join(self, timeout=PATIENCE):
            super().join(timeout)
            if self.reply is None:
                raise AssertionError("%r does not end" % (request,))
            return self.reply
    c = Call()
    c.start()
    return c


def expect(status, reply):
    if reply.status != status:
        raise AssertionError("wanted %d, got %r" % (status, reply))
    return reply


def problem(reply, status, code, field=None):
    """Checks an error in the native format, problem+json, with all its members."""
    expect(status, reply)
    if reply.header("Content-Type") != "application/problem+json":
        raise AssertionError("no problem document: %r" % reply)
    doc = reply.json
    missing = {"type", "title", "status", "detail", "code", "retryable",
               "traceId", "errors"} - set(doc)
    if missing or doc["status"] != status or (code and doc["code"] != code):
        raise AssertionError("wanted %s %s: %r" % (status, code, reply))
    if field is not None and [e["field"] for e in doc["errors"]] != [field]:
        raise AssertionError("does not name %s: %r" % (field, reply))
    if not reply.header("X-Request-Id"):
        raise AssertionError("no X-Request-Id: %r" % reply)
    return doc


def container_error(reply, status, code):
    """Checks an error in the format of the data plane."""
    expect(status, reply)
    doc = reply.json
    missing = {"code", "message", "context", "httpStatus",
               "timestamp"} - set(doc)
    if missing or doc["httpStatus"] != status or doc["code"] != code:
        raise AssertionError("wanted %s %s: %r" % (status, code, reply))
    return doc


def at(sid, rest=""):
    return "/v1/sessions/" + sid + rest


def create(key=None, **body):
    """Creates a session and waits until it is ready; without `wait` the service
    would answer 202 after 10 s."""
    return expect(201, call("POST", "/v1/sessions?wait=60", body, key)).json


def get(sid, key=None):
    return expect(200, call("GET", at(sid), key=key)).json


def execute(sid, command, key=None, **more):
    """Runs a command that must succeed; its output."""
    r = expect(200, call("POST", at(sid, "/api/execute"),
                         dict(more, command=command), key)).json
    if r["exitCode"] != 0:
        raise AssertionError("%s: %r" % (command, r))
    return r["stdout"]


# ---- behind the scenes

def stack(*words, check=True):
    """Calls a function of t/lib/dev-stack.sh; its output."""
    done = subprocess.run(["bash", STACK_SH, "do", *words], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    if check and done.returncode != 0:
        raise AssertionError("%s: %s" % (" ".join(words), done.stdout))
    return done.stdout


def program(name):
    return os.path.join(setting("STACK_STATE"), "bin", name)


def run(name, *arguments, env=None, stdin=b""):
    """Runs one of our programs with this service's settings; the program drops
    root itself."""
    return subprocess.run(
        [program(name), "--config", setting("SANDLEASE_CONFIG"), *arguments],
        input=stdin, capture_output=True, cwd="/", check=False,
        env=dict({"PATH": os.environ["PATH"]}, **(env or {})))


def admin(*words):
    """Runs sandlease-admin, which must succeed; its output."""
    done = run("sandlease-admin", *words)
    if done.returncode != 0:
        raise AssertionError("admin %s: %s" % (" ".join(words), done.stderr))
    return done.stdout.decode()


def new_key(org, user, *more):
    return admin("key", "create", "--org", org, "--user", user, *more).strip()


def reap(*arguments):
    """Runs one pass of the reaper; (exit status, output, summary)."""
    done = run("sandlease-reaper", *arguments)
    text = done.stdout.decode()
    lines = [l[l.index("{"):] for l in text.splitlines() if " reaper: {" in l]
    if len(lines) != 1:
        raise AssertionError("no summary line: %s %s" % (text, done.stderr))
    summary = lines[0][:lines[0].rindex("}") + 1]
    for line in done.stderr.decode().splitlines() if done.returncode else []:
        print("# " + line)
    return done.returncode, text, json.loads(summary)


def configure(**settings):
    """Changes settings; programs that run already do not notice."""
    with open(setting("SANDLEASE_CONFIG"), "r+", encoding="utf-8") as f:
        lines = [l for l in f.read().splitlines()
                 if l.split("=")[0].strip() not in settings]
        lines += ["%s = %s" % pair for pair in settings.items()]
        f.seek(0)
        f.truncate()
        f.write("\n".join(lines) + "\n")


def restart(environment=""):
    """Restarts the workers, with NAME=VALUE in their environment if given."""
    stack("api_stop")
    stack("eval", "AS_ENV=(%s); api_start" % environment)


def psql_command():
    return ["psql", "-X", "-w", "-q", "-At", "-h", setting("STACK_RUN") + "/pg",
            "-U", "sandlease", "sandlease"]


def psql_environment():
    return {"PGPASSFILE": setting("STACK_STATE") + "/etc/pgpass",
            "PATH": os.environ["PATH"]}


class Psql:
    """A psql that serves many questions: to start one for each question costs
    more than most questions.  It ends with the first error, as a psql for one
    question does."""

    END = "=end of the answer="

    def __init__(self):
        self.said = tempfile.TemporaryFile("w+", encoding="utf-8",
                                           errors="replace")
        self.process = subprocess.Popen(
            psql_command() + ["-F", "\x1f", "-v", "ON_ERROR_STOP=1"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said,
            encoding="utf-8", env=psql_environment())

    def ask(self, text, values=()):
        """The lines of the answer; None when psql has ended before the last."""
        names = "".join("\\set v%d '%s'\n" % (
            number, str(value).replace("\\", "\\\\").replace("'", "''")
            .replace("\n", "\\n")) for number, value in enumerate(values, 1))
        try:
            self.process.stdin.write("%s%s\n;\n\\echo %s\n" % (
                names, text, self.END))
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        lines = []
        for line in self.process.stdout:
            if line == self.END + "\n":
                return lines
            lines.append(line[:-1])
        return None

    def end(self):
        """Ends psql and its connection; the text of its stderr."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.stdout.close()
        self.process.wait()
        self.said.seek(0)
        with self.said:
            return self.said.read()


IDLE = []  # Psql objects without a question: one for each thread that asked at once


def psql_idle():
    """A Psql whose connection still stands and has no state of its own."""
    while True:
        try:
            psql = IDLE.pop()
        except IndexError:
            return Psql()
        if psql.ask("DISCARD ALL") is not None:
            return psql
        psql.end()  # PostgreSQL was restarted since


def sql(text, *values):
    """The rows as lists of strings; in `text` the values are :'v1', :'v2', ..."""
    psql = psql_idle()
    lines = psql.ask(text, values)
    if lines is None:
        raise AssertionError("%s: %s" % (text, psql.end()))
    if "BEGIN" in text:
        psql.end()  # a transaction that was left open must not stay
    else:
        IDLE.append(psql)
    return [line.split("\x1f") for line in lines]


def next_event(answer):
    """The next event of a stream; None at the end.  Heartbeats are no events, and
    a stream that sends nothing else fails."""
    hope = Hope()
    while True:
        line = answer.readline()
        if line == b"":
            return None
        if line.startswith(b"data: "):
            return json.loads(line[len("data: "):])
        hope.lives()


class Held:
    """`with Held(SQL):` another connection has run SQL in a transaction that stays
    open."""

    def __init__(self, text):
        self.psql = subprocess.Popen(
            psql_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=psql_environment())
        self.psql.stdin.write("BEGIN; %s; SELECT 'held';\n" % text)
        self.psql.stdin.flush()
        for line in self.psql.stdout:
            if line == "held\n":
                return
        raise AssertionError("it could not be done: " + text)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.psql.stdin.close()
        self.psql.wait()
        self.psql.stdout.close()


def value(text, *values):
    return sql(text, *values)[0][0]


# The history of a session is a chain: each event names the state before it, and
# the last event names the row's state.  Every event has actor, trace and duration.
UNTOLD = """
WITH told AS (
    SELECT e.*, e.detail->>'from' AS was,
           CASE kind WHEN 'lease' THEN e.detail->>'to' ELSE what END AS is_now
      FROM event e WHERE kind IN ('lease', 'state')
), chain AS (
    SELECT told.*, lag(is_now) OVER w AS before, lead(id) OVER w IS NULL AS latest
      FROM told WINDOW w AS (PARTITION BY session_id, kind ORDER BY id)
)
SELECT session_id, kind, what, 'was ' || coalesce(was, '-'),
       'told before ' || coalesce(before, '-')
  FROM chain
 WHERE was IS DISTINCT FROM CASE WHEN kind = 'lease' THEN coalesce(before, 'none')
                                 ELSE before END
   AND NOT (before IS NULL -- forgotten: the oldest of many, and all with its session's row
            AND ((SELECT count(*) FROM event x WHERE x.session_id = chain.session_id) >= 1000
                 OR NOT EXISTS (SELECT FROM session s WHERE s.id = chain.session_id)))
UNION ALL
SELECT c.session_id, c.kind, c.what, 'is ' || l.state, 'of ' || l.generation
  FROM chain c JOIN lease l ON l.session_id = c.session_id
 WHERE latest AND kind = 'lease' AND (is_now, c.generation) <> (l.state, l.generation)
UNION ALL
SELECT s.id, 'state', coalesce(c.what, '-'), 'is ' || s.state, ''
  FROM session s LEFT JOIN chain c ON c.session_id = s.id AND latest AND kind = 'state'
 WHERE is_now IS DISTINCT FROM s.state
UNION ALL
SELECT session_id, kind, what, 'by ' || coalesce(actor, '-'),
       concat_ws(' ', 'trace', coalesce(trace_id, '-'), 'ms', coalesce(duration_ms::text, '-'))
  FROM event
 WHERE kind IN ('lease', 'state', 'step')
   AND actor IS DISTINCT FROM 'psql' -- a test, playing somebody
   AND (actor IS NULL OR trace_id IS NULL
        OR duration_ms IS NULL AND (kind <> 'state' OR detail ? 'from'))
"""


def untold():
    """Changes of a session or its lease that are missing in its history."""
    return [" ".join(row) for row in sql(UNTOLD)]


def log(name):
    with open(os.path.join(setting("STACK_STATE"), "log", name + ".log"),
              encoding="utf-8", errors="replace") as f:
        return f.read()


def until(what, question, seconds=PATIENCE):
    """Calls question() until its answer is true, and returns the answer."""
    end = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError("waited %d s in vain: %s" % (seconds, what))
        time.sleep(0.05)  # wait: polls, the limit is PATIENCE


# ---- processes

def job(sid, mark, key=None, before="", count=1):
    """Starts a background job in a session, `sleep MARK`, and waits until it runs;
    its pids as the host numbers them.  `count`: the jobs of that mark then."""
    execute(sid, before + "sleep %s >/dev/null 2>&1 &" % mark, key)
    return until("sleep %s runs" % mark, lambda: len(running(mark)) == count
                 and running(mark))


def daemon(name):
    """The pid of postgres, api or nginx, as its pid file has it."""
    with open(os.path.join(setting("STACK_STATE"), "pid", name),
              encoding="utf-8") as f:
        return int(f.read().split()[0])


def master():
    return daemon("api")


def workers():
    return sorted(children(master()))


def child(name):
    """The pid of the master's child of that name."""
    return until("%s runs" % name, lambda: next(
        (p for p in workers() if stat(p)[0] == name), None))


@contextlib.contextmanager
def left_alone(name):
    """Stops the master's child of that name."""
    pid = child(name)
    os.kill(pid, signal.SIGSTOP)
    try:
        until("it stands still", lambda: stat(pid)[1] == "T")
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def starts_left_alone():
    """Meanwhile a start goes on only in a call that asks for it."""
    return left_alone("sandlease-start")


def webhooks_left_alone():
    """Meanwhile nothing but a pass of the reaper sends."""
    return left_alone("sandlease-hooks")


def sandbox_pids():
    """bwrap and init of every sandbox of this service."""
    return sorted({int(pid) for pid in
                   stack("stack_noted_pids", "*", check=False).split()})


def init_of(pid):
    """The init of the sandbox in which `pid` runs."""
    inits = sandbox_pids()
    while pid not in inits:
        pid = stat(pid)[2]
    return pid


def inits(pids):
    """Those of `pids` that are an init, not a bwrap."""
    return [pid for pid in pids if (stat(pid) or ("",))[0].startswith("sandlease-agent")]


def bwrap_of(init):
    """The pid of init's bwrap, or 0 when it is gone: then init's parent is the
    process that adopts orphans."""
    above = (stat(init) or (0, 0, 0))[2]
    return above if (stat(above) or ("",))[0] == "bwrap" else 0


def end_sandbox(pid):
    """Kills the sandbox in which `pid` runs, without the provider, and waits for
    its end.  bwrap ends last: until then the sandbox counts as running."""
    init = init_of(pid)
    bwrap = bwrap_of(init)
    os.kill(init, signal.SIGKILL)
    until("the sandbox is gone", lambda: not alive(init)
          and not (bwrap and alive(bwrap)))


def inside():
    """All processes in the sandboxes of this service."""
    return {pid for top in sandbox_pids() for pid in descendants(top)}


def named(pids, name):
    """The pids whose name begins so; a process that is gone has no name."""
    return sorted(pid for pid in pids
                  if (stat(pid) or ("",))[0].startswith(name))


def cells():
    """The first processes of all cells of this service."""
    return named(inside(), "sandlease-cell")


def wrappers():
    """The wrappers of all cells of this service."""
    return named(inside(), "sandlease-wrap")


def command_line(pid):
    """The words of the process's command line; none when it is dead or gone."""
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            return list(filter(None, f.read().split(b"\0")))
    except OSError:
        return []


def running(mark):
    """Pids, as the host numbers them, whose command line has `mark` as one
    of its words."""
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
            if pid != os.getpid() and mark.encode() in command_line(pid)]
