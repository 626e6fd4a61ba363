#!/usr/bin/python3
"""Tests api/process on a full disk, and processes that outlive the one that started them."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, eventually  # noqa: E402
from tap import ok, run, same  # noqa: E402

box = Box()


def start(session, command, **more):
    return box.call(session, "POST", "/api/process/start",
                    dict(more, command=command)).json()["processId"]


def show(session, pid):
    return box.call(session, "GET", "/api/process/" + pid).json()["process"]


def logs(session, pid):
    return box.call(session, "GET", f"/api/process/{pid}/logs").json()


def ended(session, pid):
    return eventually(lambda: show(session, pid)["status"] != "running") and show(session, pid)


def a_disk_that_takes_no_more_does_not_hurt():
    s = box.session(fileMb=3)  # the limit also applies to the wrapper's own files, such as logs
    pid = start(s, "echo first; head -c 6000000 /dev/zero | tr '\\0' x; echo last >&2; exit 3")
    p = ended(s, pid)
    same((p["status"], p["exitCode"]), ("failed", 3), "it runs to its end")
    a = logs(s, pid)
    ok(a["stdout"].startswith("first\nxxx") and not a["truncated"], "what came before is kept")
    ok(a["droppedBytes"] > 1000000, "what did not fit is counted", a["droppedBytes"])
    same(a["nextOffset"] + a["droppedBytes"], 6000011, "together it is all")
    events = box.call(s, "GET", f"/api/process/{pid}/stream").body.decode()
    ok('"type":"dropped"' in events and '"type":"exit"' in events, "a stream says so too")


def a_child_that_is_left_behind_lives_on():
    s = box.session()
    pid = start(s, "while :; do echo noise && echo >> /workspace/ticks; sleep 0.01; done & echo")
    same(ended(s, pid)["status"], "completed", "the process ends without it")
    end = logs(s, pid)["nextOffset"]

    def ticks():
        return int(box.run(s, "cat /workspace/ticks 2>/dev/null | wc -l")["stdout"])
    before = ticks()
    ok(eventually(lambda: ticks() > before + 5), "what it writes is still read")
    same(logs(s, pid)["nextOffset"], end, "and no longer kept")


try:
    run([a_disk_that_takes_no_more_does_not_hurt, a_child_that_is_left_behind_lives_on])
finally:
    box.close()
