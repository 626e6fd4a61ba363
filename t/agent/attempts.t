#!/usr/bin/python3
"""Tests attempts of executions in a wrapper: order, results, limits, output, and what is
left.  No cgroup is passed here: the limits are the wrapper's own."""
import base64
import fcntl
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, new_session  # noqa: E402
from tap import PATIENCE, ok, run, same  # noqa: E402

box = Box()


def spec_file(spec):
    f = tempfile.TemporaryFile()
    f.write(spec if isinstance(spec, bytes) else json.dumps(spec).encode())
    f.seek(0)
    return f


def put(session, name, spec, **fields):
    with spec_file(spec) as f:
        return box.forward("attempt_put", session, [f.fileno()], id=name, joins=0, meters=[],
                           **fields)


def ask(session, name, **fields):
    return box.forward("attempt_ask", session, id=name, **fields)


def ended(session, name):
    """Waits for the end of an attempt."""
    for _ in range(PATIENCE // 10 + 1):
        answer = ask(session, name, waitMs=10000)
        if answer.get("state") == "ended" or not answer.get("ok"):
            return answer
    raise AssertionError("%s does not end: %r" % (name, answer))


def output(session, name):
    """All output, as [(stream, bytes), ...], and the text of both."""
    runs, at = [], 0
    while True:
        a = ask(session, name, offset=at)
        data = base64.b64decode(a["data"])
        if not data:
            return runs
        here = 0
        for which, n in a["streams"]:
            runs.append((which, data[here:here + n]))
            here += n
        at = a["offset"] + len(data)


def text(session, name, which=0):
    return b"".join(d for w, d in output(session, name) if w == which).decode()


def result(session, name, spec):
    a = put(session, name, spec)
    same(a.get("ok"), True, "put %s %r" % (name, a))
    return ended(session, name)


def how(a):
    return a.get("reason"), a.get("exitCode"), a.get("signal")


def a_command_runs_and_tells_how_it_ended():
    s = box.session()
    for name, spec, want in (
            ("a.1", {"command": "echo out; echo err >&2"}, ("succeeded", 0, 0)),
            ("b.1", {"command": "exit 7"}, ("failed", 7, 0)),
            ("c.1", {"command": "kill -SEGV $$"}, ("failed", 139, 11)),
            ("d.1", {"argv": ["printf", "%s|", "a b", "'", "$HOME", ""]}, ("succeeded", 0, 0)),
            ("e.1", {"argv": ["nothing-of-this-name"]}, ("failed", 127, 0)),
            ("f.1", {"command": "pwd; echo $A; echo $SANDLEASE_EXECUTION", "cwd": "/tmp",
                     "env": {"A": "b c"}}, ("succeeded", 0, 0)),
            ("g.1", {"command": "true", "cwd": "/nowhere"}, ("failed", 1, 0)),
            ("h.1", {"command": "cat"}, ("succeeded", 0, 0))):
        same(how(result(s, name, spec)), want, "%s %r" % (name, spec))
    same(output(s, "a.1"), [(0, b"out\n"), (1, b"err\n")], "both streams, in order")
    same(ask(s, "a.1")["stderrTail"], "err\n", "the end of stderr")
    same(text(s, "d.1"), "a b|'|$HOME||", "words are not read by a shell")
    same(text(s, "f.1"), "/tmp\nb c\nf.1\n", "directory and environment")
    a = ask(s, "a.1")
    ok(a["began"] <= a["ended"] and a["usage"]["wallMs"] >= 0
       and a["usage"]["memoryPeak"] > 0, "times and usage", a)
    ok("/nowhere" in ask(s, "g.1")["message"], "why it could not run")


def a_known_attempt_is_not_run_again():
    s = box.session()
    spec = {"command": "echo x >>/workspace/runs"}
    result(s, "a.1", spec)
    same(put(s, "a.1", spec)["put"], False, "a second put")
    result(s, "a.2", spec)
    box.ask("kill", session=s, waitMs=10000)
    box.launch(s, generation=2)
    same(how(ask(s, "a.1")), ("succeeded", 0, 0), "the next wrapper knows it")
    same(put(s, "a.1", spec)["put"], False, "and does not run it again")
    same(how(result(s, "z.1", {"command": "test $(wc -l </workspace/runs) = 2"})),
         ("succeeded", 0, 0), "one line for each attempt")
    same(ask(s, "b.1")["known"], False, "an attempt that nobody put")


def an_attempt_that_ran_when_its_wrapper_ended_is_lost():
    s = box.session()
    put(s, "a.1", {"command": "echo begun; sleep 1000"})
    ask(s, "a.1", offset=0, waitMs=10000)
    box.ask("kill", session=s, waitMs=10000)
    box.launch(s, generation=2)
    same(how(ask(s, "a.1")), ("lost", 0, 0), "what the next wrapper says")
    same(text(s, "a.1"), "begun\n", "its output is there")


def the_queue_is_first_in_first_out():
    s = box.session()
    names = ["q%d.1" % n for n in range(6)]
    for name in names:
        # wait: so that the others must wait; without it the order is the same
        put(s, name, {"command": "echo %s >>/workspace/order; sleep 0.05" % name})
    for name in names:
        ended(s, name)
    result(s, "see.1", {"command": "cat /workspace/order"})
    same(text(s, "see.1").split(), names, "in the order of the calls")


def several_run_at_once_if_that_is_allowed():
    s = box.session()
    # each waits for the other
    for me, other in (("a", "b"), ("b", "a")):
        put(s, me + ".1", {"command": "touch /workspace/%s; until [ -e /workspace/%s ]; do"
                           " sleep 0.01; done" % (me, other), "concurrency": 2})
    same([how(ended(s, n)) for n in ("a.1", "b.1")], [("succeeded", 0, 0)] * 2, "both end")


def an_attempt_is_cancelled():
    s = box.session()
    put(s, "a.1", {"command": "trap 'echo bye; exit 3' TERM; echo on; while :; do sleep 0.05; done"})
    put(s, "b.1", {"command": "echo never"})
    ask(s, "a.1", offset=0, waitMs=10000)
    same(box.forward("attempt_cancel", s, id="b.1")["known"], True, "one that waits")
    same(how(ask(s, "b.1")), ("cancelled", 0, 0), "has ended at once")
    same(box.forward("attempt_cancel", s, id="a.1")["known"], True, "one that runs")
    same(ended(s, "a.1")["reason"], "cancelled", "ends")
    same(text(s, "a.1"), "on\nbye\n", "and has had time to clean up")
    same(output(s, "b.1"), [], "the other one did not run")
    same(box.forward("attempt_cancel", s, id="zz.1")["known"], False, "an unknown one")
    same(put(s, "zz.1", {"command": "touch /tmp/late"})["put"], False, "does not begin when it comes")
    same(how(ask(s, "zz.1")), ("cancelled", 0, 0), "and was cancelled")


def nothing_is_left_of_an_attempt():
    s = box.session()
    result(s, "a.1", {"command": "(setsid sleep 7654 &) ; (setsid nohup sleep 7655 &) ; sleep 7656 &"
                      " echo done"})
    result(s, "see.1", {"command": "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo"})
    ok("sleep 765" not in text(s, "see.1"), "daemons of it are gone", text(s, "see.1"))


def limits_end_an_attempt():
    s = box.session()
    for name, limits, command, want in (
            ("wall.1", {"wallSeconds": 1}, "sleep 1000", "timed_out"),
            ("cpu.1", {"cpuSeconds": 1}, "while :; do :; done", "cpu_exceeded"),
            ("cpus.1", {"cpuSeconds": 1}, "for i in 1 2 3 4; do (while :; do :; done) & done; wait",
             "cpu_exceeded"),
            ("nobodys.1", {"cpuSeconds": 1}, "exec /usr/bin/python3 -c '\nimport os, signal, time\n"
             "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nfor i in range(40):\n"
             "    if os.fork() == 0:\n        end = time.process_time() + 0.5\n"
             "        while time.process_time() < end: pass\n        os._exit(0)\n"
             "    try: os.wait()\n    except ChildProcessError: pass'", "cpu_exceeded"),
            ("forks.1", {"cpuSeconds": 1}, "while :; do (for i in {1..2000}; do :; done); done",
             "cpu_exceeded"),
            ("mem.1", {"memoryMb": 64}, "/usr/bin/python3 -c 'import time; x = b\"x\" * (200 << 20);"
             " time.sleep(1000)'", "memory_exceeded"),
            ("disk.1", {"diskMb": 10}, "for i in 1 2 3; do head -c 10000000 /dev/zero"
             " >/workspace/big$i; done; sleep 1000", "disk_exceeded")):
        a = result(s, name, {"command": command, "limits": limits})
        same(a["reason"], want, "%s: %r" % (name, a["usage"]))
    same(how(result(s, "after.1", {"command": "echo well", "limits": {
        "wallSeconds": 100, "cpuSeconds": 100, "memoryMb": 500, "diskMb": 100, "pids": 50}})),
         ("succeeded", 0, 0), "one within its limits is not ended")
    used = ask(s, "cpu.1")["usage"]
    ok(900000 < used["cpuUserUs"] + used["cpuSystemUs"], "the time is counted", used)


def files_that_were_there_do_not_count():
    s = box.session()
    result(s, "a.1", {"command": "head -c 20000000 /dev/zero >/workspace/old"})
    a = result(s, "b.1", {"command": "echo more >>/workspace/old; head -c 3000000 /dev/zero"
                          # wait: for a measurement meanwhile; without one the test sees less
                          " >/workspace/new; sleep 0.6", "limits": {"diskMb": 10}})
    same(a["reason"], "succeeded", "20 MB that were there before")
    ok(2900000 < a["usage"]["diskGrowth"] < 3500000, "growth", a["usage"])


def output_is_whole_and_bounded():
    s = box.session()
    result(s, "a.1", {"command": "head -c 300000 /dev/zero | tr '\\0' x; printf '\\0\\377end'"})
    data = b"".join(d for _, d in output(s, "a.1"))
    same(data, b"x" * 300000 + b"\0\xffend", "every byte")
    a = result(s, "b.1", {"command": "head -c 20000000 /dev/zero | tr '\\0' y; echo; echo last"})
    same((a["reason"], a["bytes"]), ("succeeded", 20000006), "all bytes are counted")
    first = ask(s, "b.1", offset=0)
    ok(first["offset"] >= 20000006 - (8 << 20), "the newest are kept", first["offset"])
    a = result(s, "c.1", {"command": "head -c 9000 /dev/zero | tr '\\0' z >&2; printf end >&2"})
    ok(len(a["stderrTail"]) == 4096 and a["stderrTail"].endswith("zend"), "4096 bytes of stderr")


def nonsense_is_refused():
    s = box.session()
    for name, spec in (("a.1", {}), ("a.1", {"command": ""}), ("a.1", {"command": 1}),
                       ("a.1", {"argv": []}), ("a.1", {"argv": [1]}), ("a.1", {"argv": ["a\0b"]}),
                       ("a.1", {"command": "a\0b"}), ("a.1", b"{"), ("a.1", b"[]"), ("a.1", b""),
                       ("a.1", {"command": "x", "limits": {"cpuSeconds": "1"}}),
                       ("a.1", {"command": "x", "env": {"A=": "1"}}),
                       ("a.1", {"command": "x", "concurrency": 0}),
                       ("a.1", {"command": "x" * (3 << 20)}),
                       ("../a.1", {"command": "x"}), ("a", {"command": "x"}),
                       ("a.x", {"command": "x"}), (".1", {"command": "x"}),
                       ("A.1", {"command": "x"}), ("a.1234567", {"command": "x"})):
        a = put(s, name, spec)
        ok(not a["ok"] and a["code"] != "unknown_op", "%s %.60r" % (name, spec), a)
    same(box.forward("attempt_put", s, id="a.1", joins=0, meters=[]).get("ok"), False, "no spec")
    with spec_file({"command": "x"}) as f:
        for more in ({"joins": 1}, {"joins": -1}, {"joins": 99},
                     {"joins": 0, "meters": [{"what": "procs", "part": 1}]},
                     {"joins": 0, "meters": [{"what": "nope", "part": 1}]}):
            same(box.forward("attempt_put", s, [f.fileno()], id="a.1", **more).get("ok"), False,
                 repr(more))
    same(ask(s, "a.1")["known"], False, "nothing of this has run")


def the_queue_has_an_end():
    s = box.session()
    put(s, "first.1", {"command": "sleep 1000"})
    codes = [put(s, "n%d.1" % n, {"command": "true"}).get("code") for n in range(201)]
    same((codes[198], codes[199]), (None, "execution_queue_full"), "the 201st")
    box.ask("kill", session=s, waitMs=10000)


def an_attempt_is_activity():
    s = box.session()
    put(s, "a.1", {"command": "sleep 1000"})
    put(s, "b.1", {"command": "true"})
    same(box.forward("status", s)["running"], 2, "one that runs and one that waits")
    box.forward("attempt_cancel", s, id="a.1")
    ended(s, "b.1")
    same(box.forward("status", s)["running"], 0, "none")


def read(session, name, file, size=4096, offset=0):
    """A piece of what the attempt has left, through memory of our own."""
    fd = os.memfd_create("read", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS,
                    fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
        a = box.forward("attempt_read", session, [fd], id=name, file=file, offset=offset)
        return os.pread(fd, a["bytes"], 0) if a.get("ok") else a
    finally:
        os.close(fd)


def files_are_brought_and_left():
    s = box.session()
    a = result(s, "a.1", {
        "command": "stat -c '%a %n' key sub/b plain; cat key sub/b plain; mkdir -p dist/x; echo 1 >dist/1;"
                   " echo 2 >dist/x/2; ln -s /etc/passwd dist/link; mkfifo dist/fifo; echo 3 >other;"
                   " ln key dist/hard",
        "files": [{"path": "key", "content": "k3y", "secret": True},
                  {"path": "/workspace/sub/b", "contentBase64": base64.b64encode(b"b64").decode(),
                   "mode": 0o640},
                  {"path": "plain", "content": "p"}],
        "collect": ["dist/**", "key", "sub/*"], "collectBytes": 1000})
    same(how(a), ("succeeded", 0, 0), "it ran %r" % a)
    same(text(s, "a.1"), "600 key\n640 sub/b\n644 plain\nk3yb64p", "its files")
    same(a["collected"], True, "there is a list")
    got = json.loads(read(s, "a.1", "list"))
    same(sorted(f["path"] for f in got["files"]), ["dist/1", "dist/hard", "dist/x/2", "sub/b"],
         "regular files that match, without those that were removed")
    for n, f in enumerate(got["files"]):
        same(len(read(s, "a.1", str(n))), f["bytes"], f["path"])
    same((read(s, "a.1", "log", 5), read(s, "a.1", "log", 4096, 5)),
         (b"600 k", b"ey\n640 sub/b\n644 plain\nk3yb64p"), "the log, in pieces")
    same(len(read(s, "a.1", "times")) % 8, 0, "times")
    same(read(s, "a.1", "7"), b"", "no such file")
    for file, more in (("../a.1.json", {}), ("log", {"id": "../x"}), ("log", {"offset": -1})):
        with spec_file(b"x") as f:
            same(box.forward("attempt_read", s, [f.fileno()], **dict(
                {"id": "a.1", "file": file, "offset": 0}, **more)).get("ok"), False, repr(more))
    same(box.forward("attempt_read", s, id="a.1", file="log", offset=0).get("ok"), False,
         "without memory")
    same(box.forward("attempt_kept", s, id="a.1").get("ok"), True, "all is kept")
    same((read(s, "a.1", "log"), read(s, "a.1", "list"), how(ask(s, "a.1"))),
         (b"", b"", ("succeeded", 0, 0)), "only the record stays")
    a = result(s, "b.1", {"command": "head -c 600 /dev/zero >big1; head -c 600 /dev/zero >big2",
                          "collect": ["big*"], "collectBytes": 1000})
    got = json.loads(read(s, "b.1", "list"))
    same((len(got["files"]), "too many bytes" in got["why"]), (1, True), "what fits: %r" % got)
    a = result(s, "c.1", {"command": "echo ran", "files": [{"path": "/proc/nope", "content": ""}]})
    ok(a["reason"] == "failed" and "/proc/nope" in a["message"], "a file that cannot be written: %r" % a)
    same(text(s, "c.1"), "", "nothing has run")


run([a_command_runs_and_tells_how_it_ended, a_known_attempt_is_not_run_again,
     an_attempt_that_ran_when_its_wrapper_ended_is_lost, the_queue_is_first_in_first_out,
     several_run_at_once_if_that_is_allowed, an_attempt_is_cancelled,
     nothing_is_left_of_an_attempt, limits_end_an_attempt, files_that_were_there_do_not_count,
     output_is_whole_and_bounded, nonsense_is_refused, the_queue_has_an_end,
     an_attempt_is_activity, files_are_brought_and_left])
