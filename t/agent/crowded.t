#!/usr/bin/python3
"""Tests that a session answers while its processes use up their limit: its last thread takes no stream."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, eventually  # noqa: E402
from tap import ok, run, same  # noqa: E402

box = Box()
S = box.session(pids=60)
# forks until it may not, and again whenever it may
CROWD = ("import os, time\n"
         "while True:\n"
         " try:\n"
         "  if os.fork() == 0:\n"
         "   time.sleep(1000)\n"
         " except OSError:\n"
         "  open('/workspace/full', 'w').close()\n"
         # wait: its own beat, no limit
         "  time.sleep(0.01)\n")


def watch():
    return box.request(S, "POST", "/api/watch", {"path": "/workspace"})


def the_last_thread_takes_no_stream():
    streams = [watch()]
    ok(b"200 OK" in streams[0].read(), "a stream")
    # not in a shell of the session: the shell could start nothing more
    box.run(S, "cat >/tmp/crowd.py <<'END'\n%sEND\n(setsid python3 /tmp/crowd.py >/dev/null 2>&1 &)" % CROWD)
    there = os.path.join(box.dir, "storage", S, "workspace", "full")
    ok(eventually(lambda: os.path.exists(there)), "all processes are used up")
    refused = None
    for _ in range(12):
        r = watch()
        first = r.read()
        if b"200 OK" not in first:
            refused = first + (r.read() or b"")
            break
        streams.append(r)
    ok(refused is not None and b"TOO_MANY_STREAMS" in refused, "then a stream is refused", refused)
    ok(len(streams) >= 2, "not before", len(streams))
    for _ in range(20):
        assert box.call(S, "GET", "/api/ping").status == 200
    ok(True, "calls are answered")
    for r in streams:
        r.close()
    same(box.ask("kill", session=S, waitMs=10000).get("wrappers"), [], "and it can be ended")


try:
    run([the_last_thread_takes_no_stream])
finally:
    box.close()
