#!/usr/bin/python3
"""Tests api/terminal with many clients at once, and the end of a session that has terminals."""
import base64
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, eventually  # noqa: E402
from tap import ok, run, same  # noqa: E402

box = Box()


def open_one(session, tid="default", **more):
    return box.call(session, "POST", "/api/terminal", dict(more, sessionId=tid)).json()


def type_in(session, text, tid="default"):
    return box.call(session, "POST", f"/api/terminal/{tid}/input", raw=text.encode(),
                    CONTENT_TYPE="application/octet-stream").status


def events(session, tid="default"):
    """Returns all events of a terminal that ends."""
    answer = box.call(session, "GET", f"/api/terminal/{tid}/stream").body.decode()
    return [json.loads(line[6:]) for line in answer.splitlines() if line.startswith("data: ")]


def output(got):
    return b"".join(base64.b64decode(e["data"]) for e in got if e["type"] == "output")


def at_once(*jobs):
    threads = [threading.Thread(target=job) for job in jobs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def what_was_written_before_the_end_is_there():
    s = box.session()
    for i in range(20):
        open_one(s)
        type_in(s, f"stty -opost; seq 1 5000; exit {i}\n")
        got = events(s)
        if b"\n4999\n5000\nexit" not in output(got) or got[-1] != {"type": "exit", "code": i}:
            break
    else:
        got = None
    ok(got is None, "to the last line, and how it ended, every time",
       got and (output(got)[-200:], got[-1]))


def a_body_that_stalls_keeps_nobody_from_typing():
    s = box.session()
    open_one(s)
    r = box.request(s, "POST", "/api/terminal/default/input", raw=b"x" * 70000, end=False,
                    CONTENT_TYPE="application/octet-stream", CONTENT_LENGTH="140000")
    same(type_in(s, "echo > /workspace/typed\n"), 200, "somebody types")
    ok(eventually(lambda: box.run(s, "test -e /workspace/typed")["exitCode"] == 0),
       "without what has half come")
    r.close()


def many_do_everything_at_once():
    s = box.session(pids=1000)

    def client(n):
        tid = f"t{n % 3}"
        for i in range(6):
            open_one(s, tid, cols=20 + n, rows=10 + i)
            type_in(s, f"echo {n}-{i}; yes | head -c 300000\n", tid)
            box.call(s, "POST", f"/api/terminal/{tid}/resize", {"cols": 50 + i, "rows": 9})
            box.call(s, "GET", "/api/terminal")
            box.forward("status", s)
            if i == n % 6:
                box.forward("interrupt", s)
                box.call(s, "DELETE", f"/api/terminal/{tid}")
        open_one(s, tid)

    def reader(n):
        while not over.is_set():
            r = box.request(s, "GET", f"/api/terminal/t{n}/stream")
            while r.read() is not None:
                pass
            r.close()
    over = threading.Event()
    for n in range(3):
        open_one(s, f"t{n}")
    readers = [threading.Thread(target=reader, args=[n % 3]) for n in range(6)]
    for r in readers:
        r.start()
    at_once(*[lambda n=n: client(n) for n in range(6)])
    over.set()
    for n in range(3):
        box.call(s, "DELETE", f"/api/terminal/t{n}")
    for r in readers:
        r.join()
    same(box.call(s, "GET", "/api/terminal").json()["terminals"], [], "all have ended")
    ok(eventually(lambda: box.forward("status", s)["streams"] == 0), "nobody is counted any more")
    same(open_one(s)["terminal"]["created"], True, "the next one begins")


def one_that_ends_while_it_is_opened_takes_nothing_along():
    """Opening finds a running terminal, which ends before it is resized."""
    s = box.session(pids=1000)
    open_one(s, "witness")

    def client():
        for _ in range(2000):
            if seen.count(409) > 10:  # enough have ended in between
                return
            try:
                seen.append(box.call(s, "POST", "/api/terminal", {
                    "sessionId": "brief", "shell": "true", "cols": 80, "rows": 24}).status)
            except (OSError, EOFError) as e:
                seen.append(repr(e))
                return
    seen = []
    at_once(*[client] * 8)
    same(set(seen) - {200, 409}, set(), "opened, or told that it has ended")
    same(open_one(s, "witness")["terminal"]["created"], False, "another terminal runs on")


def the_end_of_the_session_does_not_wait_for_a_prompt():
    s = box.session()
    open_one(s, "a")
    open_one(s, "b")
    type_in(s, "trap 'echo left > /workspace/left' EXIT; echo > /workspace/trapped; bash\n", "b")
    ok(eventually(lambda: box.run(s, "cat /workspace/trapped")["exitCode"] == 0), "it runs")
    box.ask("seal", session=s, generation=1)
    box.ask("term", session=s, generation=1)
    ok(eventually(lambda: box.ask("look", session=s, generation=1)["wrappers"] == []),
       "all end by themselves")
    with open(os.path.join(box.dir, "storage", s, "workspace", "left")) as f:
        same(f.read(), "left\n", "and in order")


try:
    run([what_was_written_before_the_end_is_there,
         a_body_that_stalls_keeps_nobody_from_typing, many_do_everything_at_once,
         one_that_ends_while_it_is_opened_takes_nothing_along,
         the_end_of_the_session_does_not_wait_for_a_prompt])
finally:
    box.close()
