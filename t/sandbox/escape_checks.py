"""Tests that tenant code can get neither out of a sandbox nor into a sibling's.

Runs against SANDLEASE_URL; each case says what must fail.  SANDLEASE_LIMITS is
"cgroup" or "none": the mechanism that must hold the limits.  SANDLEASE_ROOT is
"writable" where the tenant is root in a root of its own.  SANDLEASE_LAUNCHER is
"bwrap" where bubblewrap has made the sandbox, of which a process stays.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import tap  # noqa: E402
import service  # noqa: E402
from api import Session, call  # noqa: E402
from box import eventually  # noqa: E402
from service import until  # noqa: E402

LIMITS = os.environ.get("SANDLEASE_LIMITS", "cgroup")
WRITABLE = os.environ.get("SANDLEASE_ROOT") == "writable"
BWRAP = os.environ.get("SANDLEASE_LAUNCHER") == "bwrap"
a = Session(name="escape-a", env={"SECRET_OF_A": "pear-4711"})
b = Session(name="escape-b")
tiny = Session(name="escape-tiny", isolation="session", **{"class": "tiny"})


def the_two_share_a_sandbox_and_the_third_does_not():
    tap.same(a.json["sandboxId"], b.json["sandboxId"], "siblings share a sandbox")
    tap.ok(tiny.json["sandboxId"].startswith("ses-"), "the third has its own")


def host_files_are_not_there():
    if not WRITABLE:
        tap.same(a.run("find /var")[1], "/var\n/var/tmp\n/var/backups\n", "of /var: places of the session's own")
    ours = ("/lower", "/cell", "/sessions") if WRITABLE else ("/root", "/run")
    for path in ours + ("/etc/shadow", "/etc/ssh", "/boot", os.environ["STACK_DIR"],
                        os.environ["SANDLEASE_CONFIG"]):
        code, out, err = a.run("ls -d %s" % path)
        tap.ok(code != 0, "%s is not there" % os.path.basename(path), out + err)
    tap.same(a.run("ls /home")[1], "user\n", "/home holds the user's own directory only")
    tap.same(a.run("ls -A /sessions")[1], "", "other sessions' storage is not to be seen")
    shared = ("/proc/sys/net/ipv4/ip_forward", "/proc/sys/kernel/msgmax", "/dev/x", "/sys/x"
              ) if WRITABLE else ("/usr/bin/x", "/etc/passwd", "/x")
    for path in shared + ("/sandlease-agent", "/sandlease-ws"):
        tap.ok(a.run("echo x >%s" % path)[0] != 0, "%s cannot be written" % path)


def host_processes_are_neither_seen_nor_signalled():
    code, out, err = a.run("cat /proc/[0-9]*/comm")
    names = set(out.split())
    tap.ok(names <= {"sandlease-cell", "sandlease-wrap", "bash", "cat"},
           "only its own processes are seen", sorted(names))
    host = subprocess.run(["pgrep", "-f", "nginx: worker"], capture_output=True,
                          text=True).stdout.split()
    tap.ok(len(host) > 0, "the host has processes to look for")
    for pid in host[:2]:
        tap.ok(a.run("kill -0 %s" % pid)[0] != 0, "host process is out of reach")


def a_sibling_is_neither_seen_nor_signalled():
    a.run("(exec -a sibling-marker sleep 1000 >/dev/null 2>&1 &)")
    until("it runs", lambda: a.run("pgrep -f sibling-marker")[0] == 0)
    code, out, err = b.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    tap.ok("sibling-marker" not in out, "a sibling's processes are not seen", out)
    code, out, err = b.run("kill -9 -1; echo done")
    code, out, err = a.run("pgrep -f sibling-marker >/dev/null && echo alive")
    tap.same(out, "alive\n", "kill -9 -1 beside it does not reach it")
    # the kill ended b's own wrapper; calls fail until that is seen
    until("it starts again", lambda: b.run("true")[0] == 0)


def a_sibling_cannot_take_a_socket():
    code, out, err = b.python(
        "import ctypes, os\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "pidfd = libc.syscall(434, os.getpid(), 0)\n"
        "assert pidfd >= 0\n"
        "print(libc.syscall(438, pidfd, 0, 0), ctypes.get_errno())\n")
    tap.same(out, "-1 1\n", "pidfd_getfd is denied")
    code, out, err = b.run("cat /proc/2/environ /proc/2/mem 2>&1 | head -c 200")
    tap.ok("SANDLEASE_" not in out, "the wrapper's memory and environment are closed", out)
    code, out, err = b.run("ls -l /proc/2/fd 2>&1")
    tap.ok("socket:" not in out, "the wrapper's descriptors are closed", out)


def a_sibling_has_other_ports_files_and_environment():
    a.run("echo of-a >/tmp/mine; echo of-a >/workspace/mine; echo of-a >~/mine")
    a.run("(python3 -m http.server 9000 >/dev/null 2>&1 &)")
    until("it serves itself", lambda: a.run("(: </dev/tcp/127.0.0.1/9000)")[0] == 0)
    tap.ok(b.run("(: </dev/tcp/127.0.0.1/9000)")[0] != 0, "its port is not the sibling's")
    a.run("echo of-a >/opt/mine")
    for path in ("/tmp/mine", "/workspace/mine", "~/mine", "/opt/mine"):
        tap.ok(b.run("cat %s" % path)[0] != 0, "%s is not the sibling's" % path)
    tap.same(a.run("echo $SECRET_OF_A")[1], "pear-4711\n", "its environment is its own")
    out = b.run("env; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'")[1]
    tap.ok("pear-4711" not in out, "and nobody else's")
    code, out, err = a.python(
        "import socket\ns = socket.socket(socket.AF_UNIX); s.bind('\\0shared'); s.listen()\n"
        "import os\nif os.fork() == 0:\n  os.setsid(); import time; time.sleep(1000)\n")
    code, out, err = b.python(
        "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('\\0shared')\n")
    tap.ok(code != 0, "abstract sockets are not shared")


def there_is_no_network():
    for s in (a, tiny):
        where = "shared" if s is a else "its own sandbox"
        tap.same(s.run("cat /proc/net/route | wc -l")[1].strip(), "1", "no route leads out, " + where)
        tap.same(s.run("tail -n +3 /proc/net/dev | cut -d: -f1")[1].split(), ["lo"],
                 "loopback is the only device, " + where)
        tap.ok(s.run("(: </dev/tcp/127.0.0.1/%d)" % service.port())[0] != 0,
               "the host's nginx is out of reach, " + where)


def the_database_is_out_of_reach():
    code, out, err = a.run("find / -xdev -name '.s.PGSQL*' 2>/dev/null; "
                           "find / -name '*.sock' -not -path '/proc/*' 2>/dev/null")
    tap.same(out, "", "no socket of ours or of PostgreSQL's is to be found")


def nothing_can_be_mounted_and_no_namespace_made():
    for command in ("mount -t tmpfs none /mnt", "unshare -U true", "unshare -m true",
                    "unshare -r true", "umount /workspace", "bwrap --ro-bind / / true",
                    "chroot / true", "mknod /tmp/d c 1 3"):
        tap.ok(a.run(command)[0] != 0, "%s fails" % command.split()[0])
    tap.same(a.run("grep -h CapEff /proc/self/status | cut -f2")[1], "0" * 16 + "\n",
             "a command has no capability")
    if WRITABLE:
        tap.same(a.run("grep -h CapBnd /proc/self/status | cut -f2")[1], "0" * 16 + "\n",
                 "and can get none, though it is root")
    tap.same(a.run("grep -h Seccomp: /proc/self/status | cut -f2")[1], "2\n",
             "a command runs under the filter")
    tap.same(a.run("grep -h NoNewPrivs /proc/self/status | cut -f2")[1], "1\n",
             "a command gains nothing by set-uid files")


def dangerous_calls_are_denied():
    code, out, err = a.python(
        "import ctypes, errno\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "# bpf perf_event_open userfaultfd io_uring_setup keyctl add_key\n"
        "import platform\n"
        "arm = platform.machine() == 'aarch64'\n"
        "numbers = [280, 241, 282, 425, 219, 217] if arm else [321, 298, 323, 425, 250, 248]\n"
        "for n in numbers:\n"
        "    r = libc.syscall(n, 0, 0, 0, 0, 0)\n"
        "    print(n, r, errno.errorcode[ctypes.get_errno()])\n")
    lines = out.splitlines()
    tap.ok(len(lines) == 6 and all(l.split()[1] == "-1" and l.split()[2] in ("EPERM", "ENOSYS")
                                   for l in lines), "bpf, perf, userfaultfd, io_uring, keys", out + err)


def only_four_socket_families_are_open():
    """vsock knows no network namespaces: with it a sandbox would reach the hypervisor."""
    for s, where in ((a, "shared"), (tiny, "its own sandbox")):
        code, out, err = s.python(
            "import errno, socket\n"
            "bad = []\n"
            "for f in list(range(64)) + [1 << b for b in range(6, 31)]:\n"
            "    for kind in (1, 2, 3, 5, 10):\n"
            "        try:\n            socket.socket(f, kind, 0).close()\n"
            "        except OSError as e:\n"
            "            if e.errno == errno.EAFNOSUPPORT:\n                continue\n"
            "        bad.append(f)\n"
            "print(sorted(set(bad)))\n")
        tap.same(out, "[1, 2, 10, 16]\n", "every other family is refused, " + where)
        tap.same(s.python("import socket\nsocket.socket(40, 1)\n")[2].splitlines()[-1:],
                 ["OSError: [Errno 97] Address family not supported by protocol"],
                 "vsock is one of them, " + where)
        code, out, err = s.python(
            "import socket\nok = []\n"
            "for p in range(32):\n"
            "    try:\n        socket.socket(16, 3, p).close()\n        ok.append(p)\n"
            "    except OSError:\n        pass\n"
            "print(ok)\nsocket.getaddrinfo('localhost', 80)\n")
        tap.same((code, out), (0, "[0]\n"), "of netlink, routes alone, " + where)


def kernel_limits_of_the_user_are_not_used_up_for_others():
    code, out, err = a.python(
        "import ctypes, os, time\n"
        "libc = ctypes.CDLL(None)\nn = 0\n"
        "while n < 5000 and libc.inotify_init1(0) >= 0:\n    n += 1\nprint(n)\n"
        "if os.fork() == 0:\n    time.sleep(1000)\n")
    tap.ok(0 < int(out or 0) <= 128, "inotify instances are limited", out + err)
    code, out, err = tiny.python("import ctypes\nprint(ctypes.CDLL(None).inotify_init1(0) >= 0)\n")
    tap.same(out, "True\n", "another sandbox still gets one")
    a.run("pkill -9 -f '^python3 /tmp/p.py'")
    code, out, err = a.python(
        "import array, socket, os\n"
        "n = 0\nkeep = []\n"
        "try:\n"
        "    while n < 100000:\n"
        "        s = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "        keep.append(s)\n"
        "        fds = array.array('i', [s[0].fileno()] * 250)\n"
        "        for _ in range(8):\n"
        "            s[0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)], socket.MSG_DONTWAIT)\n"
        "            n += 250\n"
        "except OSError as e:\n    print(e.errno)\n"
        "print(n)\n"
        "if os.fork() == 0:\n    import time; time.sleep(1000)\n")
    with Session(isolation="session") as s:
        tap.same(s.run("echo launched")[1], "launched\n", "a launch still passes descriptors")
    a.run("pkill -9 -f '^python3 /tmp/p.py'")


def a_memory_hog_dies_alone():
    hog = ("x = []\nwhile True:\n    x.append(bytearray(8 << 20))\n")
    code, out, err = tiny.python(hog)
    tap.ok(code != 0, "the hog ends (%d)" % code, err)
    tap.same(call("GET", tiny.path + "/api/ping").status, 200, "its session answers")
    tap.same(tiny.run("echo still here")[1], "still here\n", "and runs commands")
    tap.same(b.run("echo sibling")[1], "sibling\n", "others did not notice")
    tap.same(tiny.get()["lease"]["generation"], 1, "nothing was restarted")


def many_small_processes_share_one_limit():
    code, out, err = tiny.python(
        "import os, time\n"
        "for _ in range(4):\n"
        "    if os.fork() == 0:\n"
        "        x = bytearray(os.urandom(1 << 20)) * 60; time.sleep(1000)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]))\n")  # without a limit none ends
    tiny.run("pkill -9 -f '^python3 /tmp/p.py'")
    tap.ok(out in ("-9\n", ""), "together they are too large, and one ends", out + err)
    tap.same(tiny.run("echo still here")[1], "still here\n", "the session lives on")
    tap.same(tiny.get()["lease"]["generation"], 1, "and nothing was restarted")


def processes_are_limited():
    # small processes: where a watchdog sums memory, many interpreters would exceed the limit
    call("POST", tiny.path + "/api/write", {"path": "/workspace/bomb.py", "content":
         "import os, time\npids = []\n"
         "try:\n"
         "    while len(pids) < 5000:\n"
         "        pids.append(os.posix_spawn('/bin/sleep', ['sleep', '1000'], {}))\n"
         "except OSError:\n    pass\n"
         "open('/workspace/count.t', 'w').write(str(len(pids)))\n"
         "os.rename('/workspace/count.t', '/workspace/count')\n"
         "while not os.path.exists('/workspace/enough'):\n    time.sleep(0.05)\n"
         "for pid in pids:\n    os.kill(pid, 9)\n    os.waitpid(pid, 0)\n"})
    tiny.run("(python3 bomb.py >/dev/null 2>&1 &)")

    def count():
        answer = call("POST", tiny.path + "/api/read", {"path": "/workspace/count"})
        return answer if answer.status == 200 else None
    answer = until("it has made as many as it may", count)
    tap.ok(0 < int(answer.json["content"]) < 70,
           "no more than the class allows", answer.body)
    tap.same(call("GET", tiny.path + "/api/ping").status, 200, "its session answers meanwhile")
    tap.same(b.run("echo sibling")[1], "sibling\n", "others did not notice")
    call("POST", tiny.path + "/api/write", {"path": "/workspace/enough", "content": ""})
    until("it is over", lambda: tiny.run("pgrep -f bomb.py >/dev/null")[0] == 1)
    tap.same(tiny.run("echo again")[1], "again\n", "and works again when it is over")


def files_are_limited_in_size():
    code, out, err = tiny.run("head -c 80M /dev/zero >big 2>&1; stat -c %s big")
    size = int(out.split()[-1])
    tap.ok(size <= 64 << 20, "a file may not be larger than the class's disk", out)
    tiny.run("rm -f big")
    code, out, err = tiny.run("head -c 3G /dev/zero >/tmp/big; stat -c %s /tmp/big")
    tap.ok(int(out.split()[-1]) < 3 << 30, "/tmp has a size", out)
    tiny.run("rm -f /tmp/big")


def the_session_says_who_holds_each_limit():
    limits = tiny.get()["limits"]
    want = {"cgroup": ("cgroup",), "none": ("rlimit", "watchdog")}[LIMITS]
    for name in ("memoryMb", "pids"):
        tap.ok(limits[name]["by"] in want, "%s by %s" % (name, limits[name]["by"]))
    tap.same(limits["memoryMb"]["value"], 128, "with its value")


def host_pids(session):
    """Processes of the session's sandbox as the host sees them, by name."""
    out = {}
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                words = f.read().split(b"\0")
            with open("/proc/%s/stat" % pid) as f:
                parent = int(f.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        out[int(pid)] = (words, parent)
    box = session.json["sandboxId"].encode()
    mine = {p for p, (w, _) in out.items() if box in w}
    grown = True
    while grown:
        more = {p for p, (_, parent) in out.items() if parent in mine} - mine
        grown = bool(more)
        mine |= more
    return {p: out[p][0] for p in mine}


def descriptors(pid):
    found = {}
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            found[int(fd)] = os.readlink("/proc/%d/fd/%s" % (pid, fd))
        except OSError:
            pass
    return found


def holds_only_its_own(pid, most):
    fds = descriptors(pid)
    return len(fds) <= most and all(
        t.startswith(("/dev/null", "socket:", "pipe:", "anon_inode:", "/memfd:"))
        # /tmp/meminfo is the file that the cell sees as /proc/meminfo
        or t.endswith(("agent.log", "/lock")) or t == "/tmp/meminfo"
        for t in fds.values())


def nobody_inherits_a_descriptor():
    """Checks the kinds of descriptors by role: any other descriptor is a leak."""
    tiny.run("(exec -a fd-marker sleep 1000 >/dev/null 2>&1 &)")
    until("it runs", lambda: tiny.run("pgrep -f fd-marker")[0] == 0)
    seen = set()
    for pid, words in host_pids(tiny).items():
        if words[0].endswith(b"bwrap"):
            role, most = "bwrap", 8
        elif b"init" in words[1:2] and words[0].endswith(b"agent"):
            role, most = "init", 10
        elif b"wrapper" in words[1:2]:
            role, most = "wrapper", 40
        elif words[0] == b"fd-marker":
            role, most = "command", 3
        else:
            continue
        seen.add(role)
        if role == "init":
            with open("/proc/%d/status" % pid, encoding="utf-8") as file:
                used, = [int(l.split()[1], 16) for l in file if l.startswith("CapEff")]
            # SYS_ADMIN, NET_ADMIN, SYS_RESOURCE, and SETPCAP where the tenant is root
            tap.same(hex(used), hex(1 << 21 | 1 << 12 | 1 << 24 | (1 << 8 if WRITABLE else 0)),
                     "init uses what cells need, and no right to files")
        # init's watchdog opens files of /proc for a moment; a leaked descriptor stays
        tap.ok(eventually(lambda: holds_only_its_own(pid, most)),
               "%s holds only what it needs" % role, descriptors(pid))
        if role == "command":
            fds = descriptors(pid)
            tap.ok(set(fds) <= {0, 1, 2}, "a command has 0, 1 and 2", fds)
    tap.same(sorted(seen), (["bwrap"] if BWRAP else []) + ["command", "init", "wrapper"],
             "each role was looked at")
    out = tiny.run("ls -l /proc/self/fd | grep -c socket:")[1]
    tap.same(out.strip(), "0", "a command holds no socket")


try:
    tap.run([f for f in list(globals().values())
             if callable(f) and getattr(f, "__module__", "") == "__main__"
             and f.__name__ not in ("host_pids", "descriptors", "holds_only_its_own")])
finally:
    for s in (a, b, tiny):
        s.delete()
