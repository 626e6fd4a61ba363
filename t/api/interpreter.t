#!/usr/bin/python3
"""interpreter.t: tests the life of code contexts, and how code in them ends."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import contexts
import service
from contexts import Cell, context, delete, done, path, run
from service import (at, call, container_error, create, execute, expect,
                     running, until)
from tap import case, equal, run as run_cases, true

service.begin()

SID = contexts.SID = create(isolation="session")["id"]
ME = os.getpid()
PY = context()

LOST = "its state is lost, the next call gets a new one"
KEPT = "the context keeps its state"


def known():
    r = expect(200, call("GET", path())).json
    true(r["success"] and r["timestamp"], r)
    return {c["id"]: c for c in r["contexts"]}


def touch(name):
    execute(SID, "touch /tmp/" + name, sessionId="touch")


WAIT = """
import os, time
def wait(name):
    while not os.path.exists("/tmp/" + name):
        time.sleep(0.01) # wait: polls inside, the limit is the call's
"""
done(PY, WAIT)


# ---- contexts

@case
def a_context_is_made_listed_and_deleted():
    r = expect(200, call("GET", at(SID, "/api/interpreter/health"))).json
    equal((r["success"], r["status"], r["languages"]["python"]),
          (True, "healthy", True), "health")
    r = expect(200, call("POST", path(), {"language": "python",
                                          "cwd": "/tmp"})).json
    cid = r["contextId"]
    true(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", cid), cid)
    equal((r["success"], r["language"], r["cwd"]), (True, "python", "/tmp"),
          "created")
    equal({k: known()[cid][k] for k in ("id", "language", "cwd", "running")},
          {"id": cid, "language": "python", "cwd": "/tmp", "running": False},
          "listed")
    equal(run(cid, "import os; os.getcwd()").text, "'/tmp'", "cwd")
    pid = int(run(cid, "os.getpid()").text)
    equal(delete(cid)["contextId"], cid, "deleted")
    true(cid not in known(), "not listed")
    execute(SID, "! kill -0 %d" % pid)
    for method, rest, body in (("DELETE", path("/" + cid), None),
                               ("POST", at(SID, "/api/execute/code"),
                                {"context_id": cid, "code": "1"})):
        r = container_error(call(method, rest, body), 404, "CONTEXT_NOT_FOUND")
        equal((r["context"], bool(r["error"])), ({"contextId": cid}, True),
              "context")


@case
def languages_have_aliases_and_defaults():
    for name, language in (("python3", "python"), ("js", "javascript"),
                           ("node", "javascript")):
        cid = context(name)
        equal(known()[cid]["language"], language, name)
        delete(cid)
    r = expect(200, call("POST", path(), {})).json
    equal((r["language"], r["cwd"]), ("python", "/workspace"), "defaults")
    delete(r["contextId"])
    done(None, "here = 1")
    equal(run(None, "here", language="python3").text, "1",
          "without a context there is one for each language")
    equal(run(None, "typeof here", language="js").text, "'undefined'", "js")
    equal(sorted(c["language"] for c in known().values() if c["id"] != PY),
          ["javascript", "python"], "they are contexts")


@case
def bad_input_is_refused():
    for bad in ({"language": "cobol"}, {"language": 1}, {"cwd": 7},
                {"cwd": "/nowhere"}, {"cwd": "/etc/passwd"}, {"cwd": "x" * 5000},
                {"env_vars": []}, {"env_vars": {"1": "x"}},
                {"env_vars": {"A": 1}}, [], "x"):
        container_error(call("POST", path(), bad), 400, "VALIDATION_FAILED")
    code = at(SID, "/api/execute/code")
    for bad in ({}, {"code": 1}, {"code": "a\0b"}, {"code": "1", "language": "x"},
                {"code": "1", "timeout_ms": -1}, {"code": "1", "context_id": 1},
                {"code": "1", "timeout_ms": "1"}, {"code": "1", "env_vars": 1},
                {"code": "1", "context_id": "x" * 100}, [], b"{"):
        r = container_error(call("POST", code, bad), 400, "VALIDATION_FAILED")
        true(r["error"], r)
    container_error(call("POST", code, {"code": "1", "context_id": "../.."}),
                    404, "CONTEXT_NOT_FOUND")
    container_error(call("DELETE", path("/" + "y" * 200)), 404,
                    "CONTEXT_NOT_FOUND")
    r = call("POST", code, b'{"code":"' + b"x" * (9 << 20) + b'"}')
    equal(r.status, 413, "a body that is too large")


@case
def a_missing_interpreter_is_501():
    for language, code in (("python", "PYTHON_NOT_AVAILABLE"),
                           ("javascript", "JAVASCRIPT_NOT_AVAILABLE"),
                           ("typescript", "JAVASCRIPT_NOT_AVAILABLE")):
        before = len(known())
        r = call("POST", path(), {"language": language,
                                  "env_vars": {"PATH": "/nowhere"}})
        container_error(r, 501, code)
        equal(len(known()), before, "nothing is left of it")


@case
def what_is_no_interpreter_says_why():
    execute(SID, "mkdir -p /tmp/fake && printf '#!/bin/sh\\necho broken >&2;"
            " exit 3\\n' > /tmp/fake/python3 && chmod +x /tmp/fake/python3")
    r = call("POST", path(), {"env_vars": {"PATH": "/tmp/fake"}})
    doc = container_error(r, 500, "CODE_EXECUTION_ERROR")
    true("broken" in doc["message"], doc)


@case
def their_number_is_bounded():
    made = []
    while len(known()) < 32:
        made.append(context())
    container_error(call("POST", path(), {}), 429, "TOO_MANY_CONTEXTS")
    for cid in made:
        delete(cid)
    delete(context())


# ---- running

@case
def state_stays_in_its_context():
    other = context()
    done(PY, "x = 41")
    equal(run(PY, "x + 1").text, "42", "state")
    equal(run(other, "x").error[0], "NameError", "of another context")
    cell = run(PY, "x")
    equal(cell.events[-1]["execution_count"],
          run(PY, "x").events[-1]["execution_count"] - 1, "count")
    delete(other)


@case
def variables_are_the_contexts_and_the_calls():
    cid = context(env_vars={"WHO": "context", "GONE": None})
    ask = "import os; (os.environ['WHO'], os.environ.get('MORE'))"
    equal(run(cid, ask).text, "('context', None)", "of the context")
    equal(run(cid, ask, env_vars={"WHO": "call", "MORE": "m"}).text,
          "('call', 'm')", "of the call")
    equal(run(cid, ask).text, "('context', None)", "and only of it")
    delete(cid)


@case
def output_comes_while_the_code_runs():
    cell = Cell(PY, "import subprocess, sys\nprint('own')\n"
                "subprocess.run(['echo', 'child'])\nprint('part', end='')\n"
                "wait('seen'); print('end')")
    cell.until("own\nchild\npart")
    touch("seen")
    equal(cell.rest().stdout, "own\nchild\npartend\n", "stdout")


@case
def output_and_results_are_in_order():
    code = "".join("print(%d, 'x' * 3000)\nos.system('echo %d')\ndisplay(%d)\n"
                   % (i, i, i) for i in range(30))
    cell = done(PY, code)
    seen = ""
    for event in cell.events[:-1]:
        if event["type"] == "stdout":
            seen += event["text"]
            continue
        equal([line.split()[0] for line in seen.splitlines()],
              [event["text"]] * 2, "what comes before the result")
        seen = ""
    cell = done(PY, "import sys\nprint('ü😀' * 20000, file=sys.stderr)")
    equal(cell.stderr, "ü😀" * 20000 + "\n", "no character is cut")
    cell = done(PY, "sys.stdout.buffer.write(b'a\\xff\\0b')")
    equal(cell.stdout, "a\ufffd\0b", "bytes that are no text")


@case
def much_output_is_streamed():
    cell = Cell(PY, "for i in range(400): print('y' * 99999)")
    size = 0
    while (event := cell.event()) is not None:
        size += len(event.get("text", ""))
        last = cell.events.pop()
    equal((size, last["type"]), (400 * 100000, "execution_complete"), "all")
    cell.close()


@case
def a_result_that_is_too_large_is_an_error():
    equal(run(PY, "'x' * (33 << 20)").error[0], "ValueError", "error")
    equal(len(run(PY, "'x' * (20 << 20)").text), (20 << 20) + 2, "a large one")


@case
def what_is_written_between_two_cells_blocks_nobody():
    done(PY, "import threading\nthreading.Thread(target=lambda: (wait('idle'),"
         " [print('z' * 9999) for i in range(100)],"
         " open('/tmp/written', 'w'))).start()")
    touch("idle")
    until("it is written", lambda: call("POST", at(SID, "/api/exists"), {
        "path": "/tmp/written"}).json["exists"])
    equal(run(PY, "print('now')").stdout, "now\n", "only what belongs to it")


@case
def one_context_in_turn_and_several_at_once():
    other = context()
    done(other, WAIT)
    first = Cell(PY, "print('in'); open('/tmp/one', 'w'); wait('two');"
                 " order = 'first'")
    first.until("in")
    second = Cell(PY, "order")
    done(other, "wait('one'); open('/tmp/two', 'w')")
    first.rest()
    equal(second.rest().text, "'first'", "in turn")
    delete(other)


# ---- ending

@case
def a_time_limit_interrupts_and_the_state_stays():
    for x, code in enumerate((
            "while True: pass", "time.sleep(9000)",
            "os.system('sleep 9000.%d')" % ME,
            "import asyncio; await asyncio.sleep(9000)")):
        done(PY, "x = %d" % x)
        # wait: none of these ends by itself, so only the limit ends it
        cell = run(PY, code, timeout_ms=300)
        equal(cell.error, ("TimeoutError",
                           "Execution timed out after 300ms; " + KEPT), code)
        equal(run(PY, "x").text, str(x), "state after " + code)
    # wait: 3 s to reach the loop, which takes milliseconds
    trace = run(PY, "def f():\n    while True: pass\nf()",
                timeout_ms=3000).events[-1]["traceback"]
    true("    while True: pass" in trace and trace[-1] == "KeyboardInterrupt",
         trace)
    equal(running("9000.%d" % ME), [], "what it had started is gone")
    blocked = Cell(PY, "print('here'); wait('blocked')")
    blocked.until("here")
    # wait: the code before waits for the test, so only the limit ends this one
    equal(run(PY, "1", timeout_ms=200).error[0], "TimeoutError",
          "also while it waits for its turn")
    touch("blocked")
    blocked.rest()


@case
def one_that_does_not_yield_is_killed_and_replaced():
    cid = context()
    done(cid, "import signal, subprocess\nx = 5\n"
         "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
         "job = subprocess.Popen(['sleep', '9001.%d'])" % ME)
    # wait: 2 s for the output, which takes milliseconds; then the code never ends
    cell = run(cid, "print('last words')\nwhile True: pass", timeout_ms=2000)
    equal(cell.error, ("TimeoutError", "Execution timed out after 2000ms; the"
                       " kernel did not yield and was killed: " + LOST), "error")
    equal(cell.stdout, "last words\n", "output")
    equal(running("9001.%d" % ME), [], "its tree is gone")
    equal(run(cid, "x").error[0], "NameError", "the same context, a new kernel")
    delete(cid)


@case
def a_kernel_that_dies_is_told_and_replaced():
    cid = context(env_vars={"WHO": "context"})
    cell = run(cid, "import os\nprint('bye')\nos.kill(os.getpid(), 9)")
    equal((cell.error, cell.stdout), (("KernelDied", "The python kernel was killed"
                                       " by signal 9: " + LOST), "bye\n"), "told")
    pid = int(run(cid, "import os; os.environ['WHO']; os.getpid()").text)
    execute(SID, "kill -9 %d" % pid)
    until("it is dead", lambda: "Z" in execute(
        SID, "cut -d' ' -f3 /proc/%d/stat" % pid))
    equal(run(cid, "os").error[0], "KernelDied", "also what died in between")
    # wait: 1 ms is over before any kernel has started
    equal(run(cid, "1", timeout_ms=1).error,
          ("TimeoutError", "Execution timed out after 1ms; " + KEPT),
          "no time is left when the new one is there")
    equal(run(cid, "1").text, "1", "replaced")
    equal(run(cid, "import os; os._exit(7)").error[1],
          "The python kernel ended with exit code 7: " + LOST, "exit")
    delete(cid)


@case
def an_interruption_of_the_session_ends_the_cell_only():
    done(PY, "import subprocess\n"
         "job = subprocess.Popen(['sleep', '9002.%d']); x = 6" % ME)
    cell = Cell(PY, "print('runs')\nsubprocess.run(['sleep', '9003.%d'])" % ME)
    cell.until("runs")
    until("all runs", lambda: running("9003.%d" % ME))
    r = expect(200, call("POST", at(SID, "/interrupt"))).json
    equal(r["interrupted"], 1, "interrupted")
    equal(cell.rest().error, ("KeyboardInterrupt", "Execution was interrupted; "
                              + KEPT), "error")
    equal((len(running("9002.%d" % ME)), running("9003.%d" % ME)), (1, []),
          "what an earlier cell has started goes on")
    equal(run(PY, "job.kill(); x").text, "6", "state")


@case
def deleting_a_context_ends_its_cell():
    cid = context()
    cell = Cell(cid, "print('runs', flush=True)\nimport time\ntime.sleep(9000)")
    cell.until("runs")
    waits = Cell(cid, "1")
    delete(cid)
    for c in (cell, waits):
        equal(c.rest().error, ("ContextDeleted", "The context was deleted"),
              "error")


@case
def code_goes_on_when_its_client_leaves():
    cell = Cell(PY, "left = 0; print('runs'); wait('left'); left = 1")
    cell.until("runs")
    cell.close()
    touch("left")
    equal(run(PY, "left").text, "1", "it has run to its end")


@case
def sleep_ends_kernels_and_contexts():
    sid = create()["id"]
    mark = "9004.%d" % ME
    cell = Cell(None, "import subprocess\nx = 1\n"
                "subprocess.Popen(['sleep', '%s'])\n1" % mark, sid=sid).rest()
    equal(cell.text, "1", "runs")
    true(service.get(sid)["busy"] is False, "a kernel that waits is no work")
    expect(200, call("POST", at(sid, "/sleep")))
    equal(running(mark), [], "nothing is left")
    equal(Cell(None, "'x' in dir()", sid=sid).rest().text, "False",
          "a call wakes the session; its contexts are new")
    expect(200, call("DELETE", at(sid)))


sys.exit(run_cases(lambda: None))
