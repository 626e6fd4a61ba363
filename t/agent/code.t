#!/usr/bin/env python3
"""Code contexts inside the wrapper: threads, kernels and pipes that come and go."""
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, eventually  # noqa: E402
from tap import ok, run, same  # noqa: E402

box = Box()
S = box.session()


def context(**fields):
    return box.call(S, "POST", "/api/contexts", fields).json()["contextId"]


def delete(cid):
    return box.call(S, "DELETE", "/api/contexts/" + cid).status


def begin(cid, code, **fields):
    return box.request(S, "POST", "/api/execute/code", {"context_id": cid, "code": code, **fields})


def events(request):
    """All of them; output that was cut into pieces is one."""
    lines = request.all().body.decode().split("\n")
    request.close()
    got = []
    for event in (json.loads(line[6:]) for line in lines if line.startswith("data: ")):
        if got and event["type"] == got[-1]["type"] == "stdout":
            got[-1]["text"] += event["text"]
        else:
            got.append(event)
    return got


def cell(cid, code, **fields):
    return events(begin(cid, code, **fields))


def ends(cid, code, **fields):
    """How it ended: the last event's type, or its ename."""
    last = cell(cid, code, **fields)[-1]
    return last.get("ename", last["type"])


def contexts_run_side_by_side():
    ids = [context() for _ in range(4)]
    got = {}

    def work(cid):
        for i in range(10):
            got[cid, i] = cell(cid, f"print({i})\nn = {i}\nn + 1")

    threads = [threading.Thread(target=work, args=(cid,)) for cid in ids for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    same({tuple(e.get("text") for e in es) for (_, i), es in got.items() if i == 3},
         {("3\n", "4", None)}, "each cell has its own output and result")
    same([delete(cid) for cid in ids], [200] * 4, "and they are deleted")
    same(delete(ids[0]), 404, "once")


def kernels_end_in_every_way():
    cid = context()
    same(ends(cid, "while True: pass", timeout_ms=200), "TimeoutError", "a loop is interrupted")
    same(ends(cid, "import signal\nsignal.signal(2, signal.SIG_IGN)\nprint('x' * 100000)\n"
              "while True: pass", timeout_ms=200), "TimeoutError", "one that is deaf is killed")
    same(ends(cid, "import os; os.kill(os.getpid(), 9)"), "KernelDied", "one dies")
    same(ends(cid, "import os; os.close(1000); os.close(1); os.close(2)"), "KernelDied",
         "one closes what it has")
    same(ends(cid, "import os\nos.write(1000, b'garbage\\nresult 4 {\"x')\nos._exit(0)"),
         "KernelDied", "one says half a word")
    same(ends(cid, "1"), "execution_complete", "there is always another")
    r = begin(cid, "import time; time.sleep(1000)")
    ok(eventually(lambda: box.forward("status", S)["running"] == 1), "one runs")
    same(box.forward("interrupt", S)["interrupted"], 1, "it is interrupted")
    same(events(r)[-1]["ename"], "KeyboardInterrupt", "and says so")
    r = begin(cid, "import time; time.sleep(1000)")
    ok(eventually(lambda: box.forward("status", S)["running"] == 1), "one runs")
    same(delete(cid), 200, "its context is deleted")
    same(events(r)[-1]["ename"], "ContextDeleted", "and it says so")
    same(box.forward("status", S)["running"], 0, "nothing runs")


def a_client_that_leaves_ends_the_stream_only():
    cid = context()
    r = begin(cid, "import os, time\nprint('begun')\n"
              "while not os.path.exists('/workspace/go'): time.sleep(0.01)\n"
              "print('y' * 1000000)\nleft = 7")
    r.read()
    r.close()
    box.run(S, "touch /workspace/go")
    same(cell(cid, "left")[0].get("text"), "7", "the code ran to its end")
    delete(cid)


def a_client_that_does_not_read_holds_nobody_else_up():
    cid = context()
    r = begin(cid, "while True: print('x' * 1000)")
    ok(eventually(lambda: box.forward("status", S)["running"] == 1), "one prints for ever")
    same(delete(cid), 200, "its context is deleted all the same")
    r.close()
    ok(eventually(lambda: box.forward("status", S)["running"] == 0), "and it is over")


def what_nobody_reads_blocks_nobody():
    cid = context()
    cell(cid, "import threading, time\ndef late():\n"
         "    while not os.path.exists('/workspace/idle'): time.sleep(0.01)\n"
         "    print('z' * 1000000)\n    open('/workspace/written', 'w')\n"
         "import os; t = threading.Thread(target=late); t.start()")
    box.run(S, "touch /workspace/idle")
    ok(eventually(lambda: box.run(S, "test -e /workspace/written")["exitCode"] == 0),
       "what is written between two cells is thrown away")
    same([e.get("text") for e in cell(cid, "t.join(); 5")], ["5", None], "and not shown later")
    delete(cid)


def results_of_any_size_pass():
    cid = context()
    text = cell(cid, "'x' * 3000000")[0]["text"]
    same(len(text), 3000002, "three megabytes")
    many = cell(cid, "for i in range(300): print(i); display(i)")
    same([e["text"].strip() for e in many[:-1]], [str(i // 2) for i in range(600)],
         "in order with what is printed")
    delete(cid)


try:
    run([contexts_run_side_by_side, kernels_end_in_every_way,
         a_client_that_leaves_ends_the_stream_only,
         a_client_that_does_not_read_holds_nobody_else_up, what_nobody_reads_blocks_nobody,
         results_of_any_size_pass])
finally:
    box.close()
