#!/usr/bin/python3
"""Tests that a session cannot see, signal or disturb others, leave its cell, or outlive it."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, eventually  # noqa: E402
from tap import ok, run, same  # noqa: E402

box = Box()
A = box.session(env={"SECRET_OF_A": "alpha"})
B = box.session(env={"SECRET_OF_B": "beta"})


def sh(session, command, **fields):
    a = box.run(session, command, **fields)
    return (a.get("stdout", "") + a.get("stderr", "")).strip()


PYTHON = "python3 -c '%s' 2>&1"


def a_sibling_is_not_seen():
    sh(A, "sleep 5001 & echo private >/workspace/private; echo t >/tmp/of-a; echo h >~/of-a")
    ok(eventually(lambda: "5001" in sh(A, "ps -ef")), "its own processes are seen")
    ok("5001" not in sh(B, "ps -ef"), "a sibling's are not")
    same(sh(B, "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c SECRET_OF_A"), "0",
         "nor its variables")
    same(sh(B, "ls -A /workspace /tmp ~ | grep -c -e of-a -e private"), "0", "nor its files")
    same(sh(B, "ls -A /sessions | wc -l"), "0", "/sessions is empty")
    ok("Read-only" in sh(B, "touch /sessions/x 2>&1"), "and cannot be written")
    for where in ("/x", "/dev/x", "/etc/x", "/home/x", "/usr/x"):
        ok("Read-only" in sh(B, f"touch {where} 2>&1"), f"what siblings share is read-only: {where}")
    same(sh(B, "ls /root /var /run /etc/shadow /etc/passwd 2>&1 | grep -vc 'No such'"), "0",
         "nothing of the host's is there")
    sh(A, "python3 -m http.server 8123 >/dev/null 2>&1 &")
    ok(eventually(lambda: "Directory" in sh(A, PYTHON % (
        'import urllib.request as u; print(u.urlopen("http://127.0.0.1:8123").read())'))),
       "a port of its own is reached")
    ok("refused" in sh(B, PYTHON % (
        'import urllib.request as u; u.urlopen("http://127.0.0.1:8123")')).lower(),
       "a sibling's is not")
    same(sh(B, "ls /sys/class/net 2>/dev/null; cat /proc/net/dev | grep -c :"), "1",
         "there is no network but lo")
    sh(A, PYTHON % ('import pty, os, time; m, s = pty.openpty(); '
                    'os.system("touch /workspace/has-pty"); time.sleep(1000)') + " &")
    ok(eventually(lambda: sh(A, "ls /workspace/has-pty; ls /dev/pts").endswith("0\nptmx")),
       "its own terminals are seen")
    same(sh(B, "ls /dev/pts"), "ptmx", "nor are a sibling's terminals")
    for ns in ("ipc", "mnt", "net", "pid"):
        link = f"readlink /proc/self/ns/{ns}"
        ok(sh(A, link).startswith(ns) and sh(A, link) != sh(B, link),
           f"nor is the {ns} namespace one")


def a_sibling_is_not_signalled():
    r = box.request(B, "POST", "/api/execute",
                    {"command": "kill -9 -1; for i in $(seq 2 400); do kill -9 $i; done"})
    r.all()
    r.close()
    ok(eventually(lambda: box.ask("look", session=B)["wrappers"] == []), "who kills all kills itself")
    same(sh(A, "pgrep -f 'sleep 5001' | wc -l"), "1", "a sibling's processes live")
    same(box.forward("prove", A).get("output"), "ready", "and its wrapper")
    box.launch(B, generation=2)


def nothing_can_be_mounted_or_unshared():
    for command in ("mount -t tmpfs none /mnt", "unshare -U true", "unshare -m true",
                    "unshare -n true", "unshare -p true", "chroot / true", "umount /tmp",
                    "umount /sessions", "nsenter -t 1 -m true", "hostname x", "bwrap --dev-bind / / true",
                    "ip link set lo down", "dmesg", "reboot -f", "date -s 2001-01-01"):
        same(sh(A, f"command -v {command.split()[0]} >/dev/null || {{ echo refused; exit; }}; "
                   f"({command}) >/dev/null 2>&1 && echo done || echo refused",
                sessionId="__DISABLE_SESSION__"), "refused", command)


SYSCALLS = r"""
import ctypes, errno, platform, json
c = ctypes.CDLL(None, use_errno=True)
arm = {"keyctl": 219, "add_key": 217, "request_key": 218, "bpf": 280, "perf_event_open": 241,
       "userfaultfd": 282, "io_uring_setup": 425, "mount": 40, "setns": 268,
       "open_by_handle_at": 265, "pidfd_getfd": 438, "clone3": 435, "fsopen": 430,
       "move_mount": 429, "init_module": 105}
x86 = {"keyctl": 250, "add_key": 248, "request_key": 249, "bpf": 321, "perf_event_open": 298,
       "userfaultfd": 323, "io_uring_setup": 425, "mount": 165, "setns": 308,
       "open_by_handle_at": 304, "pidfd_getfd": 438, "clone3": 435, "fsopen": 430,
       "move_mount": 429, "init_module": 175}
numbers = arm if platform.machine() == "aarch64" else x86
out = {}
for name, nr in numbers.items():
    c.syscall(nr, 0, 0, 0, 0, 0, 0)
    out[name] = errno.errorcode.get(ctypes.get_errno(), "0")
clone = 220 if platform.machine() == "aarch64" else 56
for ns in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
    if c.syscall(clone, ns | 17, 0, 0, 0, 0) == 0:
        c._exit(0)
    out["clone %x" % ns] = errno.errorcode.get(ctypes.get_errno(), "0")
    c.unshare(ns)
    out["unshare %x" % ns] = errno.errorcode.get(ctypes.get_errno(), "0")
import fcntl
try:
    fcntl.ioctl(0, 0x5412, b"x")
    out["TIOCSTI"] = "0"
except OSError as e:
    out["TIOCSTI"] = errno.errorcode[e.errno]
print(json.dumps(out))
"""


def system_calls_are_refused():
    box.call(A, "POST", "/api/write", {"path": "/tmp/calls.py", "content": SYSCALLS})
    text = sh(A, "python3 /tmp/calls.py")
    for name, got in json.loads(text).items():
        same(got, "ENOSYS" if name == "clone3" else "EPERM", f"system call {name}")


def no_privilege_is_left():
    status = sh(A, "grep -E '^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp):' /proc/self/status")
    same(status.split(), ["CapInh:", "0" * 16, "CapPrm:", "0" * 16, "CapEff:", "0" * 16, "CapAmb:",
                          "0" * 16, "NoNewPrivs:", "1", "Seccomp:", "2"], "of a command")
    same(sh(A, "ulimit -Hn; ulimit -Hu; ulimit -Hc; ulimit -Hf").split(),
         ["4096", "200", "0", str(64 * 1024)], "limits")
    same(sh(A, "cat /proc/self/oom_score_adj"), "500", "commands die first")
    same(sh(A, "cat /proc/sys/user/max_inotify_instances"), "64", "inotify instances are limited")


def the_wrapper_is_closed_to_its_tenant():
    # the cell's first process is a copy of init, whose memory held data of other sessions
    for who, pid in (("its", sh(A, "pgrep -f 'sandlease-agent wrapper'")), ("the cell's", "1")):
        same(sh(A, f"cat /proc/{pid}/environ /proc/{pid}/maps 2>&1 | grep -vc denied; "
                   f"ls /proc/{pid}/fd 2>&1 | grep -c denied"), "0\n1",
             f"{who} memory and descriptors are")
    same(sh(A, f"tr '\\0' ' ' </proc/1/cmdline"), "sandlease-cell",
         "the first process shows nothing of the sandbox's names")
    same(sh(A, "env | cut -d= -f1 | grep -E '^(SANDLEASE|SANDBOX)' | sort").split(),
         ["SANDLEASE_SESSION_ID"], "a command sees its session's id and no more")


def descriptors_of_commands_are_the_allowed_ones():
    look = ("import os; print([f for f in sorted(map(int, os.listdir(\"/proc/self/fd\"))) "
            "if f != 3])")  # descriptor 3 is the one that listdir() opened
    for name, fields in (("in a shell", {"sessionId": "fds"}),
                         ("sessionless", {"sessionId": "__DISABLE_SESSION__"})):
        for how, command in (("", f"python3 -c '{look}'"), (" behind a pipe", f"true | python3 -c '{look}'"),
                             (" in the background", f"python3 -c '{look}' & wait $!"),
                             (" with cwd", f"cd /tmp; python3 -c '{look}'")):
            same(sh(A, command, **fields), "[0, 1, 2]", f"{name}{how}: three and no more")
    data = "".join(e["data"] for _, e in box.stream(A, f"python3 -c '{look}'") if "data" in e)
    same(data, "[0, 1, 2]\n", "in a stream: three and no more")


def kinds(fds):
    """Returns the kinds of the descriptors, without the numbers of sockets."""
    return sorted(v.partition(":")[0].partition("[")[0] for v in fds.values())


def descriptors_of_ours_are_the_allowed_ones():
    if not box.root.there:
        return
    s = box.session(ports=[9000])
    init = box.inner()[0]
    standard = ["/dev/null", "/dev/null", box.log]
    same(kinds(box.root.fds(box.proc.pid))[:3], standard, "bwrap: the standard three")
    same(len(box.root.fds(box.proc.pid)) <= 6, True, "bwrap: listener, lock and its own")
    ours = box.root.fds(init)
    same(sorted(set(ours.values()) & {"/dev/null", box.log, box.lock.name}),
         sorted({"/dev/null", box.log, box.lock.name}), "init: the standard three and the lock")
    channels = len(box.ask("list")["cells"])
    # init closes a connection after its answer: this request's may still be open
    sockets = lambda: len([v for v in box.root.fds(init).values() if v.startswith("socket:")])
    eventually(lambda: sockets() == 1 + channels)
    same(sockets(), 1 + channels, "init: the listener and a channel per cell")
    same([v for v in ours.values() if v.startswith("/") and v not in
          ("/dev/null", box.log, box.lock.name)], [], "init: no other file")
    for pid in box.named("sandlease-cell"):
        # a cell's first process closes its channel after it has started the wrapper, so
        # the wrapper may serve before
        eventually(lambda: kinds(box.root.fds(pid)) == standard)
        same(kinds(box.root.fds(pid)), standard, "a cell's first process: the standard three")
    wrapper = box.root.fds(box.named("sandlease-wrap")[-1])
    same([v for v in wrapper.values() if v.startswith("/") and v not in ("/dev/null", box.log)], [],
         "the wrapper: no file of the host's, not the lock")
    same(len([v for v in wrapper.values() if v.startswith("socket:")]), 4,
         "the wrapper: channel, data, WebSocket and relay sockets")
    box.ask("kill", session=s, waitMs=10000)


def what_is_killed_is_gone():
    sh(A, "sleep 5002 &")
    hostile = ("env -i /usr/bin/setsid /bin/bash -c '(/usr/bin/setsid /bin/sleep 6001 &) ; exec /bin/sleep 6002' & "
               "(trap '' TERM INT HUP; python3 -c 'import ctypes,time; ctypes.CDLL(None).prctl(4,0); time.sleep(6003)') & "
               "f() { f | f & }; f")
    box.request(B, "POST", "/api/execute", {"command": hostile})
    ok(eventually(lambda: len(box.inner()) > 100), "a fork bomb fills its session",
       len(box.inner()))
    a = box.ask("kill", session=B, waitMs=10000)
    same(a.get("wrappers"), [], "after kill nothing of it is left")
    left = []
    for pid in box.inner():
        try:
            with open(f"/proc/{pid}/cmdline") as f:
                left.append(f.read())
        except OSError:
            pass
    same([x for x in left if "600" in x], [], "neither double-forked nor cleared nor non-dumpable")
    same(sh(A, "pgrep -f 'sleep 5002' | wc -l"), "1", "the sibling has lost nothing")
    same(box.forward("prove", A).get("output"), "ready", "and answers")


def where_no_group_limits_memory_init_does():
    if box.sanitized:
        return  # a sanitized wrapper alone needs more memory than this limit
    s = box.session(memoryMb=96)
    hog = 'x = bytearray(40 << 20); open("of-%d", "w"); import time; time.sleep(1000)'
    for i in range(4):
        box.run(s, f"setsid python3 -c '{hog % i}' >/dev/null 2>&1 & disown")
        there = os.path.join(box.dir, "storage", s, "workspace", f"of-{i}")
        assert eventually(lambda: os.path.exists(there)), "it did not start"
    ok(eventually(lambda: int(box.run(s, "pgrep -c python3")["stdout"]) < 3),
       "the largest are ended", sh(s, "ps -eo rss,args"))
    same(sh(s, "echo lives"), "lives", "the session goes on")
    box.ask("kill", session=s, waitMs=10000)


def a_full_tmp_hurts_only_its_owner():
    ok("No space" in sh(A, "head -c 100M /dev/zero >/tmp/fill"), "/tmp has a size")
    same(sh(A, "rm /tmp/fill; echo ok"), "ok", "and can be emptied")
    ok("File too large" in sh(A, "trap '' XFSZ; head -c 100M /dev/zero >/workspace/fill; rm /workspace/fill"),
       "a file has a size")


try:
    run([a_sibling_is_not_seen, a_sibling_is_not_signalled, nothing_can_be_mounted_or_unshared,
         system_calls_are_refused, no_privilege_is_left, the_wrapper_is_closed_to_its_tenant,
         descriptors_of_commands_are_the_allowed_ones,
         descriptors_of_ours_are_the_allowed_ones, what_is_killed_is_gone,
         where_no_group_limits_memory_init_does, a_full_tmp_hurts_only_its_owner])
finally:
    box.close()
