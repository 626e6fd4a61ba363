"""Tests that a tenant notices nothing when another takes all that the kernel gives it.

Runs against SANDLEASE_URL.  For the kernel both are one user.  So each resource that
the kernel counts for the user or for the machine must be limited for each sandbox,
refused, or so large that the sandbox's memory is the limit.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import service  # noqa: E402
import tap  # noqa: E402
from service import at, call, execute, expect, until  # noqa: E402
from websocket import WebSocket  # noqa: E402

CGROUP = os.environ["SANDLEASE_LIMITS"] == "cgroup"
MALLORY, ALICE = service.new_key("mallory", "m"), service.new_key("alice", "a")
WATCHES = 6000000  # more than the kernel allows a user by itself, on most machines


def number(path):
    with open(path, encoding="utf-8") as f:
        return int(f.read())


class Attack:
    """A program of Mallory's that takes all it can, says how much, and stays."""

    def __init__(self, program, copies=1, **wish):
        self.sid = service.create(MALLORY, **dict({"isolation": "session"}, **wish))["id"]
        program = ("import ctypes, os, socket, sys, time\nlibc = ctypes.CDLL(None, use_errno=True)\n"
                   "import resource\nn = 0\n%s\n"
                   "open('/workspace/took.t', 'a').write('%%d\\n' %% n)\n"
                   "time.sleep(100000)\n" % program)
        expect(200, call("POST", at(self.sid, "/api/write"),
                         {"path": "/workspace/attack.py", "content": program}, MALLORY))
        for _ in range(copies):
            execute(self.sid, "python3 attack.py >>errors 2>&1 &", MALLORY)
        self.took = [int(n) for n in until("it has all it can get", lambda: self.said(copies))]

    def said(self, copies):
        lines = execute(self.sid, "cat took.t 2>/dev/null || true", MALLORY).split()
        if len(lines) == copies:
            return lines
        errors = execute(self.sid, "cat errors", MALLORY)
        if errors:
            raise AssertionError(errors[-500:])
        return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        call("DELETE", at(self.sid), key=MALLORY)


victim = service.create(ALICE, isolation="session")["id"]


def alice(program):
    """Runs a program of Alice's; its output."""
    expect(200, call("POST", at(victim, "/api/write"),
                     {"path": "/tmp/p.py", "content": "import ctypes, os\nlibc = ctypes.CDLL(None, "
                      "use_errno=True)\n" + program}, ALICE))
    r = expect(200, call("POST", at(victim, "/api/execute"), {"command": "python3 /tmp/p.py"}, ALICE)).json
    return (r["stdout"] + r["stderr"]).strip()


def terminals():
    with Attack("keep = []\ntry:\n    while n < 5000:\n        keep.append(os.openpty())\n        n += 1\n"
                "except OSError:\n    pass") as attack:
        tap.ok(0 < attack.took[0] <= 64, "terminals: a session has its own number", attack.took)
        tap.same(alice("os.openpty()\nprint('ok')"), "ok", "terminals: another opens one")
        tap.same(call("POST", at(victim, "/api/terminal"), {}, ALICE).status, 200, "terminals: and the API does")


def inotify_watches():
    with Attack("fd = libc.inotify_init1(0)\nos.mkdir('/tmp/w')\n"
                "while n < 100000:\n    p = b'/tmp/w/%d' % n\n    os.mknod(p)\n"
                "    if libc.inotify_add_watch(fd, p, 2) < 0:\n        break\n    n += 1") as attack:
        tap.ok(0 < attack.took[0] <= 65536, "inotify watches: a sandbox has its own number", attack.took)
        tap.same(alice("fd = libc.inotify_init1(0)\nprint(libc.inotify_add_watch(fd, b'/tmp', 2) > 0)"),
                 "True", "inotify watches: another gets one")


def queued_signals():
    with Attack("import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [40])\n"
                "while n < 200000 and libc.sigqueue(os.getpid(), 40, None) == 0:\n    n += 1") as attack:
        tap.ok(0 < attack.took[0] <= 4096, "signals: a sandbox has its own number", attack.took)
        tap.same(alice("import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [40])\n"
                       "print(libc.sigqueue(os.getpid(), 40, None))"), "0", "signals: another queues one")


def message_queues():
    take = ("rt = ctypes.CDLL('librt.so.1', use_errno=True)\n"
            "while n < 300 and rt.mq_open(b'/q%d' % n, os.O_CREAT | os.O_RDWR, 0o600, None) >= 0:\n    n += 1\n")
    with Attack(take) as attack:
        tap.ok(0 < attack.took[0] < 9, "message queues: a sandbox has its own number", attack.took)
        tap.ok(int(alice("n = 0\n" + take + "print(n)")) > 0, "message queues: another opens one")


def aio_and_fanotify():
    machine = {"io_setup": (0, 206), "fanotify_init": (262, 300)}
    arm = os.uname().machine == "aarch64"
    for name, want in (("io_setup", 38), ("fanotify_init", 1)):
        nr = machine[name][0 if arm else 1]
        tap.same(alice("x = ctypes.c_ulong(0)\nprint(libc.syscall(%d, 1, ctypes.byref(x)), ctypes.get_errno())"
                       % nr), "-1 %d" % want, "%s is refused" % name)


def epoll_watches():
    """Each process watches as many descriptors as it may have, again and again."""
    enough = number("/proc/sys/fs/epoll/max_user_watches") > WATCHES
    program = ("import select\nfds = []\n"
               "resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))\n"
               "a, b = os.pipe()\n"
               "for _ in range(2000):\n    fds.append(os.dup(a))\n"
               "polls = []\n"
               "try:\n"
               "    while n < %d:\n"
               "        polls.append(select.epoll())\n"
               "        for fd in fds:\n            polls[-1].register(fd, 1)\n            n += 1\n"
               "except OSError:\n    pass\n" % (WATCHES // 2))
    with Attack(program, copies=2) as attack:
        tap.ok(sum(attack.took) > 100000, "epoll: it has taken many", attack.took)
        events = call("POST", at(victim, "/api/execute/stream"), {"command": "echo streamed"}, ALICE)
        tap.ok(events.status == 200 and b"streamed" in events.body, "epoll: another's event stream", events)
        started = call("POST", at(victim, "/api/process/start"), {"command": "echo processed"}, ALICE)
        tap.same(started.status, 200, "epoll: another's process is watched")
        logs = until("it has ended", lambda: b"processed" in call(
            "GET", at(victim, "/api/process/%s/logs" % started.json["processId"]), key=ALICE).body)
        tap.ok(logs, "epoll: and what it writes is there")
        tap.same(call("POST", at(victim, "/ports"), {"port": 8080}, ALICE).status, 201, "epoll: a port is exposed")
        if enough:
            tap.same(alice("import asyncio\nasyncio.run(asyncio.sleep(0))\nprint('ok')"), "ok",
                     "epoll: another's program has an event loop")
        else:
            tap.ok(True, "epoll: another's program has an event loop # SKIP "
                   "fs.epoll.max_user_watches is not raised here (sandlease.sysctl)")


def pages_of_pipes():
    """The kernel gives a user that has too many pipes only pipes of two pages."""
    soft = number("/proc/sys/fs/pipe-user-pages-soft")
    with Attack("keep = []\ntry:\n    while n < 2000:\n        keep.append(os.pipe())\n        n += 1\n"
                "except OSError:\n    pass") as attack:
        tap.ok(attack.took[0] * 16 > 16384, "pipes: it has more than the kernel's own limit", attack.took)
        size = alice("import fcntl\nprint(fcntl.fcntl(os.pipe()[0], 1032))")
        if soft in (0, 1073741824):
            tap.same(size, "65536", "pipes: another's are as large as ever")
        else:
            tap.ok(True, "pipes: another's are as large as ever # SKIP "
                   "fs.pipe-user-pages-soft is not raised here (sandlease.sysctl)")


def filters_of_sockets():
    """The kernel charges no cgroup for the memory of a socket's filter."""
    tap.same(alice("import errno, socket, struct\ns = socket.socket()\n"
                   "p = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 65535))\n"
                   "for option, value in ((26, struct.pack('HQ', 1, ctypes.addressof(p))), (60, b'\\1\\0\\0\\0')):\n"
                   "    try:\n        s.setsockopt(1, option, value)\n        print('taken')\n"
                   "    except OSError as e:\n        print(errno.errorcode[e.errno])"),
             "ENOPROTOOPT\nENOPROTOOPT", "a socket takes no filter, and sends nothing without copying")


def descriptors_in_flight():
    with Attack("import array\nkeep = []\n"
                "try:\n"
                "    while n < 100000:\n"
                "        s = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n        keep.append(s)\n"
                "        fds = array.array('i', [s[0].fileno()] * 250)\n"
                "        for _ in range(8):\n"
                "            s[0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)],"
                " socket.MSG_DONTWAIT)\n            n += 250\n"
                "except OSError:\n    pass\n") as attack:
        tap.ok(attack.took[0] < 10000, "descriptors in flight: it has no more than its limit", attack.took)
        host, port = service.setting("SANDLEASE_URL").split("//")[1].split(":")
        w = WebSocket((host, int(port)), at(victim, "/ws"), {"Authorization": "Bearer " + ALICE})
        w.send({"type": "request", "id": "x", "method": "GET", "path": "/api/ping"})
        tap.same(w.json()["body"]["message"], "pong", "descriptors in flight: another's WebSocket works")
        w.close()
        with_launch = service.create(ALICE, isolation="session")["id"]
        tap.same(execute(with_launch, "echo launched", ALICE), "launched\n",
                 "descriptors in flight: another's session is launched")
        tap.same(service.reap()[0], 0, "descriptors in flight: and a pass of the reaper goes well")
        call("DELETE", at(with_launch), key=ALICE)


def group_of(sid, controller):
    """The group of a session's cell."""
    mark = "1%d" % int.from_bytes(os.urandom(6), "big")
    pid = service.job(sid, mark, MALLORY)[0]
    with open("/proc/%d/cgroup" % pid, encoding="utf-8") as f:
        for line in f:
            _, names, path = line.strip().split(":", 2)
            if controller in names.split(","):
                return "/sys/fs/cgroup/" + controller + path
            if names == "" and os.path.exists("/sys/fs/cgroup" + path + "/memory.max"):
                return "/sys/fs/cgroup" + path
    return None


def buffers_of_sockets():
    """Fills the buffers of connections that no program reads."""
    if not CGROUP:
        return
    with Attack("l = socket.socket()\nl.bind(('127.0.0.1', 0))\nl.listen(100)\nkeep = []\n"
                "for _ in range(60):\n"
                "    c = socket.create_connection(l.getsockname())\n    c.setblocking(False)\n"
                "    keep += [c, l.accept()[0]]\n"
                "    try:\n"
                "        while True:\n            n += c.send(bytes(1 << 16))\n"
                "    except OSError:\n        pass\n", **{"class": "tiny"}) as attack:
        tap.ok(attack.took[0] < 64 << 20, "TCP buffers are limited", attack.took)
        group = group_of(attack.sid, "memory")
        usage = group + "/memory.kmem.tcp.usage_in_bytes"
        if os.path.exists(usage):
            tap.ok(number(usage) <= 20 << 20, "as a part of the session's memory", number(usage))


def all_sandboxes_together():
    if not CGROUP:
        return
    with Attack("") as attack:
        ram = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
        for controller, files, most in (
                ("memory", ("memory.limit_in_bytes", "memory.max"), ram),
                ("pids", ("pids.max",), number("/proc/sys/kernel/pid_max"))):
            group = os.path.dirname(os.path.dirname(group_of(attack.sid, controller)))
            tap.same(os.path.basename(group), "box", "%s: the group above all sandboxes" % controller)
            have = [number(os.path.join(group, f)) for f in files if os.path.exists(os.path.join(group, f))]
            tap.ok(len(have) == 1 and 0 < have[0] < most, "%s: has a limit below the machine's" % controller, have)


def used_ticks(mark):
    used = 0
    for pid in service.running(mark):
        with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
            used += sum(int(n) for n in f.read().rpartition(")")[2].split()[11:13])
    return used / os.sysconf("SC_CLK_TCK")


def siblings_share_the_processor():
    """In one sandbox sixty busy processes get no more than one of a sibling's, which
    must have at least a fifth of the time."""
    if not CGROUP:
        return
    busy, quiet = (service.create(MALLORY, name="sibling-%d" % i)["id"] for i in range(2))
    tap.same(*(service.get(s, MALLORY)["sandboxId"] for s in (busy, quiet)), "siblings share a sandbox")
    mark = "busy-%d" % os.getpid()
    execute(busy, "for i in $(seq 60); do python3 -c 'while True: pass' %s & done >/dev/null 2>&1" % mark, MALLORY)
    until("all are busy", lambda: len(service.running(mark)) == 60)
    before = used_ticks(mark)
    # wait: a slow machine slows both, and their shares are compared
    mine = float(execute(quiet, "python3 -c '\nimport time\nend = time.monotonic() + 3\n"
                         "while time.monotonic() < end: pass\nprint(time.process_time())'", MALLORY))
    theirs = used_ticks(mark) - before
    tap.ok(mine > (mine + theirs) / 5, "a quiet sibling has its share", "%.2f s of %.2f s" % (mine, mine + theirs))
    for s in (busy, quiet):
        call("DELETE", at(s), key=MALLORY)


try:
    tap.run([terminals, inotify_watches, queued_signals, message_queues, aio_and_fanotify, epoll_watches,
             pages_of_pipes, filters_of_sockets, descriptors_in_flight, buffers_of_sockets, all_sandboxes_together, siblings_share_the_processor])
finally:
    call("DELETE", at(victim), key=ALICE)
