#!/usr/bin/python3
"""Tests that code contexts in the wrapper survive kernels that hang, die or flood, and
clients that leave."""
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
    """Returns all events of the stream; consecutive stdout events are joined into one."""
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
    """Returns how the code ended: the type of the last event, or its ename."""
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
    # wait: the time limit ends this code on any machine
    same(ends(cid, "while True: pass", timeout_ms=200), "TimeoutError", "a loop is interrupted")
    # wait: the time limit ends this code on any machine
    same(ends(cid, "import signal\nsignal.signal(2, signal.SIG_IGN)\nprint('x' * 100000)\n"
              "while True: pass", timeout_ms=200), "TimeoutError", "one that is deaf is killed")
    same(ends(cid, "import os; os.kill(os.getpid(), 9)"), "KernelDied", "one dies")
    same(ends(cid, "import os; os.close(1000); os.close(1); os.close(2)"), "KernelDied",
         "one closes what it has")
    same(ends(cid, "1"), "execution_complete", "there is always another")
    r = begin(cid, "import time; open('/workspace/runs', 'w'); time.sleep(1000)")
    # the wrapper counts the code as running before an interrupt can find it
    ok(eventually(lambda: box.call(S, "POST", "/api/read", {"path": "/workspace/runs"}).status
                  == 200), "one runs")
    same(box.forward("interrupt", S)["interrupted"], 1, "it is interrupted")
    same(events(r)[-1]["ename"], "KeyboardInterrupt", "and says so")
    r = begin(cid, "import time; time.sleep(1000)")
    ok(eventually(lambda: box.forward("status", S)["running"] == 1), "one runs")
    same(delete(cid), 200, "its context is deleted")
    same(events(r)[-1]["ename"], "ContextDeleted", "and it says so")
    same(box.forward("status", S)["running"], 0, "nothing runs")


def half_a_result_is_an_event_of_its_own():
    cid = context()
    r = begin(cid, "import os\nos.write(1000, b'garbage\\nresult 1 {\"x')\nos._exit(0)")
    half, whole = r.all().body.decode().strip().split("\n\n")
    r.close()
    same((half, json.loads(whole[6:])["ename"]), ('data: {"x', "KernelDied"),
         "who passes over what is no JSON sees the rest")
    delete(cid)


def an_end_of_nonsense_is_no_harm():
    cid = context()
    # wait: the time limit ends this code on any machine
    same(ends(cid, "import os, time\ntry: time.sleep(1000)\nexcept KeyboardInterrupt:\n"
              "    os.write(1000, b'error 1 ' + b'[' * 2000 + b']' * 2000 + b'\\n')",
              timeout_ms=200), "TimeoutError", "an error of brackets")
    delete(cid)


def what_is_shown_too_late_blocks_nobody():
    cid = context()
    cell(cid, "import os, threading, time\nbegun = threading.Event()\n"
         "class Slow:\n    def _repr_html_(self):\n        begun.set()\n"
         "        while not os.path.exists('/workspace/show'): time.sleep(0.01)\n"
         "def late():\n    display(Slow())\n    open('/workspace/shown', 'w')\n"
         "threading.Thread(target=late).start(); begun.wait()")
    box.run(S, "touch /workspace/show")
    ok(eventually(lambda: box.run(S, "test -e /workspace/shown")["exitCode"] == 0),
       "a thread that shows something after its cell goes on")
    same([e.get("text") for e in cell(cid, "5")], ["5", None], "and so does the context")
    delete(cid)


def who_leaves_before_its_turn_does_not_run():
    cid = context()
    first = begin(cid, "import os, time; ran = []\n"
                  "while not os.path.exists('/workspace/turn'): time.sleep(0.01)")
    ok(eventually(lambda: box.forward("status", S)["running"] == 1), "one runs")
    second = begin(cid, "ran.append(2)")
    ok(eventually(lambda: box.forward("status", S)["running"] == 2), "one waits")
    second.close()
    box.run(S, "touch /workspace/turn")
    events(first)
    same(cell(cid, "ran")[0].get("text"), "[]", "it has gone")
    delete(cid)


def what_cannot_start_is_told_to_all_who_ask():
    s = box.session(env={"PATH": "/workspace/bin:/usr/bin:/bin"})
    box.run(s, "mkdir bin && printf '#!/bin/sh\\ntouch begun; while [ ! -e go ]; do sleep 0.1;"
            " done; exit 3' > bin/python3 && chmod +x bin/python3")
    asked = [box.request(s, "POST", "/api/execute/code", {"code": "1"})]
    ok(eventually(lambda: box.run(s, "test -e begun")["exitCode"] == 0), "it begins")
    asked.append(box.request(s, "POST", "/api/execute/code", {"code": "1"}))
    box.run(s, "touch go")
    same([r.all().status for r in asked], [500, 500], "both are refused")
    for r in asked:
        r.close()


def a_client_that_leaves_ends_the_stream_only():
    cid = context()
    r = begin(cid, "import os, time\nprint('begun')\n"
              "while not os.path.exists('/workspace/go'): time.sleep(0.01)\n"
              "print('y' * 1000000)\nleft = 7")
    r.until(b"begun")  # a client that left earlier would leave while its code still waits
    r.close()
    box.run(S, "touch /workspace/go")
    same(cell(cid, "left")[0].get("text"), "7", "the code ran to its end")
    delete(cid)


def a_client_that_does_not_read_holds_nobody_else_up():
    cid = context()
    r = begin(cid, "import os; n = 0; to = os.open('/workspace/n', os.O_WRONLY | os.O_CREAT)\n"
              "while True: print('x' * 1000); n += 1; os.pwrite(to, b'%d' % n, 0)")

    def blocked():
        before = box.run(S, "cat /workspace/n")["stdout"]
        # wait: the test asks until the number no longer changes
        return before == box.run(S, "sleep 0.2; cat /workspace/n")["stdout"] != ""
    ok(eventually(blocked), "one prints until nobody takes it")
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
         half_a_result_is_an_event_of_its_own, an_end_of_nonsense_is_no_harm,
         what_is_shown_too_late_blocks_nobody, who_leaves_before_its_turn_does_not_run,
         what_cannot_start_is_told_to_all_who_ask,
         a_client_that_leaves_ends_the_stream_only,
         a_client_that_does_not_read_holds_nobody_else_up, what_nobody_reads_blocks_nobody,
         results_of_any_size_pass])
finally:
    box.close()
