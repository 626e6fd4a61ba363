"""A sandbox as the local provider starts it, driven over its control channel."""
import array
import atexit
import json
import os
import random
import shutil
import signal
import socket
import string
import subprocess
import sys
import tempfile
import time

import fcgi_client as fcgi
import tap

NOBODY = 65534


class RootLook:
    """Reads the descriptors of processes that only root may read.

    A child process does it, which stays root when the tests give root up.
    Without root there is no child, and descriptors are not tested.
    """

    def __init__(self):
        self.there = os.geteuid() == 0
        if not self.there:
            return
        self.sock, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() != 0:
            other.close()
            return
        self.sock.close()
        while True:
            ask = other.recv(64)
            if not ask:
                os._exit(0)
            other.send(json.dumps(self._read(int(ask))).encode())

    @staticmethod
    def _read(pid):
        found = {}
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                found[fd] = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            pass
        return found

    def fds(self, pid):
        self.sock.send(str(pid).encode())
        return {int(k): v for k, v in json.loads(self.sock.recv(65536)).items()}


def become_unprivileged():
    """Tests that are started as root give root up: nothing here may need it."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        os.environ["HOME"] = "/"


def new_session():
    return "".join(random.choices(string.ascii_lowercase + string.digits, k=20))


class Box:
    def __init__(self, extra=(), before="", own_launcher=False):
        if shutil.which("bwrap") is None:
            tap.skip_all("bwrap is not installed")
        agent = os.environ.get("SANDLEASE_AGENT") or os.path.join(
            os.environ.get("top_builddir", "build"), "sandlease-agent")
        with open(agent, "rb") as f:
            text = f.read()
        # a sanitizer has signal handlers of its own, and takes several times
        # the memory
        self.sanitized = b"__asan_init" in text or b"__tsan_init" in text
        programs = {"agent": agent,
                    "ws": os.path.join(os.path.dirname(agent), "sandlease-ws"),
                    "launch": os.path.join(os.path.dirname(agent), "sandlease-launch")}
        for name, path in programs.items():
            with open(path, "rb") as f:
                programs[name] = f.read()
        self.root = RootLook()
        become_unprivileged()
        # so that a test that is ended from outside ends its sandbox too
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        self.dir = tempfile.mkdtemp(prefix="slt-", dir="/tmp")
        for name, program in programs.items():
            path = os.path.join(self.dir, name)
            with open(path, "wb") as f:
                f.write(program)
            os.chmod(path, 0o755)
        for name in ("s", "storage"):
            os.mkdir(os.path.join(self.dir, name))
        # random, so that no run takes another run's sandbox for its own
        self.incarnation = "".join(random.choices(string.ascii_lowercase + "234567", k=16))
        self.sandbox = "ses-" + "0" * 48
        self.generation = {}
        self.log = os.path.join(self.dir, "agent.log")
        # `before`: commands that a shell runs before it becomes init
        self._start(list(extra), before, own_launcher)

    def _start(self, extra, before, own_launcher):
        self.control = os.path.join(self.dir, "c")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(self.control)
        listener.listen(4096)
        self.lock = open(os.path.join(self.dir, "lock"), "w")
        argv = ["bwrap"]
        keep = [listener.fileno(), self.lock.fileno()]
        if own_launcher:
            # whom nobody tells to go stays, as bwrap does
            keep += [os.open("/dev/null", os.O_RDWR) for _ in range(2)]
            argv = [os.path.join(self.dir, "launch"), "--go-fd", str(keep[2]), "--info-fd", str(keep[3])]
        for ns in ("user", "pid", "ipc", "uts", "cgroup", "net"):
            argv += ["--unshare-" + ns]
        argv += ["--disable-userns", "--as-pid-1", "--new-session", "--clearenv",
                 "--uid", "1000", "--gid", "1000", "--ro-bind", "/usr", "/usr"]
        for d in ("bin", "lib", "lib64", "sbin"):
            if os.path.islink("/" + d):
                argv += ["--symlink", os.readlink("/" + d), "/" + d]
            elif os.path.isdir("/" + d):
                argv += ["--ro-bind", "/" + d, "/" + d]
        argv += ["--dir", "/etc"]
        for f in ("alternatives", "ld.so.cache", "nsswitch.conf"):
            argv += ["--ro-bind-try", "/etc/" + f, "/etc/" + f]
        argv += ["--proc", "/proc", "--dev", "/dev", "--size", str(64 << 20), "--tmpfs", "/tmp",
                 "--bind", os.path.join(self.dir, "storage"), "/sessions",
                 "--ro-bind", os.path.join(self.dir, "agent"), "/sandlease-agent",
                 "--ro-bind", os.path.join(self.dir, "ws"), "/sandlease-ws",
                 "--hostname", "sandbox", "--cap-drop", "ALL"]
        for cap in ("SYS_ADMIN", "NET_ADMIN", "NET_BIND_SERVICE", "SYS_RESOURCE", "DAC_READ_SEARCH",
                    "SYS_PTRACE"):
            argv += ["--cap-add", "CAP_" + cap]
        first = ["/bin/sh", "-c", before + ' exec "$@"', "sh"] if before else []
        argv += extra + ["--"] + first + ["/sandlease-agent", "init", "--control-fd",
                         str(listener.fileno()), "--incarnation", self.incarnation, "--sandbox",
                         self.sandbox, "--log-level", "debug", "--log-format", "kv"]
        with open(self.log, "ab") as log, open("/dev/null", "r+b") as null:
            self.proc = subprocess.Popen(argv, stdin=null, stdout=null, stderr=log, pass_fds=keep)
        self.closed = False
        atexit.register(self.close)  # a test that forgets to leaves nothing behind
        listener.close()
        for fd in keep[2:]:
            os.close(fd)
        answer = self.ask("ping")
        if not answer.get("ok"):
            tap.skip_all("no sandbox can be started here: " + self.tail())

    def tail(self):
        with open(self.log, errors="replace") as f:
            return f.read()[-1500:]

    # ---- control channel

    def connect(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.settimeout(tap.PATIENCE)
        s.connect(self.control)
        return s

    def ask(self, op, fds=(), **fields):
        if op in ("term", "kill"):  # of the session that was launched last
            fields.setdefault("generation", self.generation.get(fields["session"], 1))
        return self.send({"op": op, "incarnation": self.incarnation, **fields}, fds)

    def send(self, message, fds=()):
        s = self.connect()
        try:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
            s.sendmsg([json.dumps(message).encode()], rights)
            data = s.recv(65536)
            return json.loads(data) if data else {"ok": False, "code": "closed"}
        except (ConnectionError, socket.timeout) as e:
            return {"ok": False, "code": "connection", "message": str(e)}
        finally:
            s.close()

    def listener(self, name):
        path = os.path.join(self.dir, "s", name)
        if os.path.exists(path):
            os.unlink(path)
        s = socket.socket(socket.AF_UNIX)
        s.bind(path)
        s.listen(4096)
        return s

    def path(self, session, port=None):
        name = f"{session}.{self.generation[session]}"
        return os.path.join(self.dir, "s", name + (f".{port}" if port else "") + ".sock")

    def storage(self, session):
        for d in ("workspace", "home", "backups"):
            os.makedirs(os.path.join(self.dir, "storage", session, d), exist_ok=True)

    def launch(self, session, generation=1, ports=(), cgroups=(), **fields):
        self.storage(session)
        sockets = [self.listener(f"{session}.{generation}{which}.sock") for which in ("", ".ws")]
        sockets += [self.listener(f"{session}.{generation}.{p}.sock") for p in ports]
        fields = {"intentMs": time.monotonic_ns() // 1000000,
                  "instance": "inst" + str(generation), "env": {}, "pids": 200, "tmpMb": 16,
                  "memoryMb": 0, "fileMb": 64, "logLevel": "debug", "logFormat": "kv", **fields}
        answer = self.ask("launch", [s.fileno() for s in sockets] + list(cgroups),
                          session=session, generation=generation, ports=list(ports),
                          cgroups=len(cgroups), **fields)
        for s in sockets:
            s.close()
        if answer.get("ok"):
            self.generation[session] = generation
        return answer

    def session(self, **fields):
        """Launches a session and waits until it serves."""
        session = new_session()
        answer = self.launch(session, **fields)
        assert answer.get("ok"), f"{answer} {self.tail()}"
        return session

    def forward(self, op, session, fds=(), **fields):
        return self.ask(op, fds, session=session, generation=self.generation[session], **fields)

    # ---- data plane

    def request(self, session, method, path, body=None, end=True, raw=None, timeout=tap.PATIENCE, **params):
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        uri = f"/v1/sessions/{session}{path}"
        query = uri.partition("?")[2]
        return fcgi.Request(self.path(session), {
            "REQUEST_METHOD": method, "REQUEST_URI": uri, "QUERY_STRING": query,
            "SL_PATH": uri.partition("?")[0], "SL_SESSION": session, "SERVER_PROTOCOL": "HTTP/1.1",
            "CONTENT_LENGTH": str(len(data)) if method == "POST" else "",
            "CONTENT_TYPE": "application/json", "SL_REQUEST_ID": "0123456789abcdef", **params},
            data, end, timeout)

    def call(self, session, method, path, body=None, **params):
        r = self.request(session, method, path, body, **params)
        try:
            return r.all()
        finally:
            r.close()

    def run(self, session, command, **fields):
        """execute, as the body of its answer with `status` beside it."""
        a = self.call(session, "POST", "/api/execute", {"command": command, **fields})
        return {"status": a.status, **a.json()}

    def stream(self, session, command, **fields):
        """execute/stream; yields (seconds since it began, event)."""
        r = self.request(session, "POST", "/api/execute/stream", {"command": command, **fields})
        begin = time.monotonic()
        hope = tap.Hope()
        text = b""
        try:
            while True:
                hope.lives()
                piece = r.read()
                if piece is None:
                    return
                text += piece
                if b"\r\n\r\n" in text and text.startswith(b"Status"):
                    text = text.partition(b"\r\n\r\n")[2]
                while b"\n\n" in text:
                    event, _, text = text.partition(b"\n\n")
                    if event.startswith(b"data: "):
                        yield time.monotonic() - begin, json.loads(event[6:])
                        hope = tap.Hope()
        finally:
            r.close()

    # ---- seen from the host

    @staticmethod
    def _children(pid):
        found = []
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as f:
                    found += [int(x) for x in f.read().split()]
        except OSError:
            pass
        return found

    def inner(self):
        """Host pids of everything in the sandbox, the first is init's."""
        out, todo = [], [self.proc.pid]
        while todo:
            children = self._children(todo.pop(0))
            out += children
            todo += children
        return out

    def named(self, name):
        """Host pids in the sandbox whose name begins so."""
        found = []
        for pid in self.inner():
            try:
                with open(f"/proc/{pid}/comm") as f:
                    if f.read().strip().startswith(name):
                        found.append(pid)
            except OSError:
                pass
        return found

    def close(self):
        if self.closed:
            return
        self.closed = True
        # init outlives bwrap, as it should, so init is killed
        for pid in self.inner()[:1] or [self.proc.pid]:
            os.kill(pid, signal.SIGKILL)
        self.proc.wait()
        self.lock.close()
        if "SANDLEASE_KEEP" not in os.environ:
            shutil.rmtree(self.dir, ignore_errors=True)
        else:
            print("# kept", self.dir, file=sys.stderr)


def eventually(claim, seconds=tap.PATIENCE):
    """True as soon as claim() is; False when it never was."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if claim():
            return True
        time.sleep(0.01)  # wait: polls, the limit is PATIENCE
    return False
