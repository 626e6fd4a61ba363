#!/usr/bin/python3
"""process.t: tests the life of background processes of a session, and the calls
that end them or write to them."""
import base64
import hashlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import processes
import service
from processes import DIR, ended, kill, known, logs, path, show, start
from service import (call, container_error, create, execute, expect, running,
                     until)
from tap import case, equal, run, true

service.begin()

SID = processes.SID = create(isolation="session")["id"]
ME = os.getpid()


# ---- the life of a process

@case
def a_process_runs_is_listed_and_ends():
    r = expect(200, call("POST", path("start"), {
        "command": "echo out; echo err >&2; until [ -e /tmp/go ]; do sleep 0.02;"
                   " done; exit 3"})).json
    true(r["success"] and r["pid"] > 1 and r["timestamp"], r)
    pid = r["processId"]
    true(pid.startswith("proc_") and len(pid.split("_")[2]) == 6, pid)
    p = show(pid)
    equal((p["status"], p["pid"], p["command"], "endTime" in p, "exitCode" in p),
          ("running", r["pid"], r["command"], False, False), "running")
    equal(known()[pid], p, "in the list")
    true(pid in known(query="?status=running"), "by its status")
    true(pid not in known(query="?status=failed"), "by another status")
    execute(SID, "touch /tmp/go")
    p = ended(pid)
    equal((p["status"], p["exitCode"]), ("failed", 3), "ended")
    true(p["startTime"] < p["endTime"], p)
    l = logs(pid)
    equal((l["stdout"], l["stderr"], l["processId"]), ("out\n", "err\n", pid),
          "logs after its end")
    equal(ended(start("true"))["status"], "completed", "exit code 0")
    r = call("GET", path("list?status=what"))
    container_error(r, 400, "VALIDATION_FAILED")


@case
def it_is_like_its_shell_and_does_not_change_it():
    execute(SID, "cd /tmp; export A=exported; B=own; f() { echo f; }",
            sessionId="like")
    pid = start("pwd; echo $A; f; cd /; export A=changed", sessionId="like")
    ended(pid)
    equal(logs(pid)["stdout"], "/tmp\nexported\nf\n", "state")
    equal(show(pid)["sessionId"], "like", "sessionId")
    equal(execute(SID, "pwd; echo $A", sessionId="like"), "/tmp\nexported\n",
          "the shell")
    pid = start("pwd; echo $A $N", sessionId="like", cwd="/usr",
                env={"A": "call", "N": "new", "Z": None}, origin="user",
                encoding="utf8")
    ended(pid)
    equal(logs(pid)["stdout"], "/usr\ncall new\n", "options")
    pid = start("pwd; echo ${A-none}", sessionId="__DISABLE_SESSION__")
    ended(pid)
    equal(logs(pid)["stdout"], "/workspace\nnone\n", "sessionless")
    pid = start("echo never", cwd="/nowhere")
    p = ended(pid)
    equal((p["status"], p["exitCode"], logs(pid)["stderr"]),
          ("failed", 1, "Failed to change directory to /nowhere\n"), "cwd")


@case
def execute_in_the_background_is_a_process():
    r = expect(200, call("POST", service.at(SID, "/api/execute"), {
        "command": "echo hi; sleep 9000.%d" % ME, "background": True})).json
    true(r["success"] and r["processId"] in known(query="?status=running"), r)
    until("it says so", lambda: logs(r["processId"])["stdout"] == "hi\n")
    kill(r["processId"])
    equal(logs(r["processId"])["stdout"], "hi\n", "logs")


@case
def ids_of_the_callers_choice():
    equal(start("sleep 9001.%d" % ME, processId="web:1"), "web:1", "processId")
    r = call("POST", path("start"), {"command": "true", "processId": "web:1"})
    container_error(r, 409, "PROCESS_ALREADY_EXISTS")
    true("already exists" in r.json["message"] and r.json["error"], r)
    kill("web:1")
    equal(start("echo again", processId="web:1"), "web:1",
          "one that has ended gives its id up")
    ended("web:1")
    equal(logs("web:1")["stdout"], "again\n", "and its log")
    for bad in ("", "a/b", "..", "list", "kill-all", "x" * 129, 7, "a\nb", "ü"):
        container_error(call("POST", path("start"), {
            "command": "true", "processId": bad}), 400, "VALIDATION_FAILED")


@case
def bad_input_is_refused():
    for bad in ({}, {"command": ""}, {"command": " \n"}):
        container_error(call("POST", path("start"), bad), 400,
                        "INVALID_COMMAND")
    for bad in ({"command": 1}, {"command": "x", "env": {"1": "x"}},
                {"command": "x", "cwd": 1}, {"command": "x", "timeoutMs": -1},
                {"command": "x", "autoCleanup": "y"}, {"command": "x\0y"},
                {"command": "x", "sessionId": " "}, [], "x"):
        container_error(call("POST", path("start"), bad), 400,
                        "VALIDATION_FAILED")
    container_error(call("POST", path("start"), b"{"), 400,
                    "VALIDATION_FAILED")
    for method, rest in (("GET", ""), ("DELETE", ""), ("GET", "/logs"),
                         ("GET", "/stream"), ("POST", "/input"),
                         ("POST", "/signal")):
        r = call(method, path("nobody" + rest), {} if method == "POST" else None)
        equal(container_error(r, 404, "PROCESS_NOT_FOUND")["context"],
              {"processId": "nobody"}, "context")
    pid = start("true")
    ended(pid)
    container_error(call("DELETE", path(pid)), 404, "COMMAND_NOT_FOUND")
    container_error(call("POST", path(pid + "/signal"), {"signal": "INT"}),
                    404, "COMMAND_NOT_FOUND")
    container_error(call("POST", path(pid + "/input"), {"data": "x"}),
                    404, "COMMAND_NOT_FOUND")
    for bad in ("-1", "x", "1.5", "99999999999999999999"):
        container_error(call("GET", path(pid + "/logs?offset=" + bad)), 400,
                        "VALIDATION_FAILED")
        container_error(call("GET", path(pid + "/stream"), headers={
            "Last-Event-ID": bad}), 400, "VALIDATION_FAILED")


# ---- ending

@case
def kill_ends_the_whole_tree():
    mark = "9002.%d" % ME
    pid = start("trap '' USR1; sleep %s & setsid sleep %s & (setsid sleep %s &);"
                " bash -c 'trap \"\" TERM; echo deaf; while :; do sleep %s; done'"
                % ((mark,) * 4))
    until("all run", lambda: len(running(mark)) == 4
          and "deaf" in logs(pid)["stdout"])
    equal(kill(pid)["processId"], pid, "answer")
    equal(running(mark), [], "all are dead by the answer")
    p = show(pid)
    equal((p["status"], p["exitCode"]), ("killed", 137), "one was deaf")
    container_error(call("DELETE", path(pid)), 404, "COMMAND_NOT_FOUND")


@case
def who_listens_to_sigterm_may_tidy_up():
    pid = start("trap 'echo bye; exit 0' TERM; echo ready;"
                " while :; do sleep 0.05; done; echo never")
    until("it runs", lambda: "ready" in logs(pid)["stdout"])
    kill(pid)
    equal((show(pid)["status"], show(pid)["exitCode"], logs(pid)["stdout"]),
          ("killed", 0, "ready\nbye\n"), "its own trap")
    pid = start("bash -c 'trap \"echo bye; exit\" TERM; echo ready;"
                " while :; do sleep 0.05; done'; echo next; touch /tmp/next")
    until("it runs", lambda: "ready" in logs(pid)["stdout"])
    kill(pid)
    equal((show(pid)["status"], show(pid)["exitCode"], logs(pid)["stdout"]),
          ("killed", 143, "ready\nbye\n"), "a child's; the list does not go on")
    execute(SID, "[ ! -e /tmp/next ]")


@case
def kill_all_ends_them_side_by_side():
    sid = create()["id"]
    mark = "9003.%d" % ME
    pids = [start("trap '' TERM; sleep %s; while :; do sleep 0.05; done" % mark,
                  sid) for _ in range(3)]
    pids += [start("sleep %s" % mark, sid, sessionId="s%d" % i)
             for i in range(5)]
    done = start("true", sid)
    ended(done, sid)
    until("all run", lambda: len(running(mark)) == 8)
    equal(expect(200, call("DELETE", path("kill-all", sid))).json[
        "cleanedCount"], 8, "cleanedCount")
    equal(running(mark), [], "all are dead")
    equal({show(p, sid)["status"] for p in pids}, {"killed"}, "status")
    equal(show(done, sid)["status"], "completed", "one that had ended")
    equal(expect(200, call("POST", path("cleanup", sid))).json[
        "cleanedCount"], 9, "records that are removed")
    equal(known(sid), {}, "none is left")
    container_error(call("GET", path(done, sid)), 404, "PROCESS_NOT_FOUND")
    equal(execute(sid, "ls %s" % DIR), "", "nor on the disk")


@case
def a_timeout_kills_and_is_told():
    mark = "9004.%d" % ME
    # wait: the process never ends by itself, so only the limit ends it
    limit = {"timeoutMs": 300}
    pid = start("echo a; setsid sleep %s & sleep %s" % (mark, mark), **limit)
    p = ended(pid)
    equal((p["status"], p["exitCode"], p["timedOut"]), ("killed", 143, True),
          "status")
    equal(running(mark), [], "its tree")


@case
def a_signal_reaches_what_the_command_started():
    pid = start("python3 -c 'import signal, sys, time\n"
                "def got(n, f):\n print(\"got\", n, flush=True)\n"
                "signal.signal(signal.SIGHUP, got)\n"
                "print(\"ready\", flush=True)\n"
                "while 1: time.sleep(0.05)'; echo status $?")
    until("it runs", lambda: "ready" in logs(pid)["stdout"])
    expect(200, call("POST", path(pid + "/signal"), {"signal": "SIGHUP"}))
    until("it got it", lambda: "got 1" in logs(pid)["stdout"])
    equal(show(pid)["status"], "running", "its shell did not")
    expect(200, call("POST", path(pid + "/signal"), {"signal": "USR1"}))
    equal(ended(pid)["status"], "completed", "goes on after its command")
    equal(logs(pid)["stdout"].splitlines()[-1], "status 138", "killed by it")
    pid = start("trap 'echo trapped' USR1; echo ready; while :; do read -t 0.05;"
                " done")
    until("it runs", lambda: "ready" in logs(pid)["stdout"])
    expect(200, call("POST", path(pid + "/signal"), {"signal": "SIGUSR1"}))
    until("the shell's trap", lambda: "trapped" in logs(pid)["stdout"])
    for bad in ("SIGNOT", "9", "", 9, None):
        container_error(call("POST", path(pid + "/signal"), {"signal": bad}),
                        400, "VALIDATION_FAILED")
    expect(200, call("POST", path(pid + "/signal"), {"signal": "SIGKILL"}))
    equal((ended(pid)["status"], show(pid)["exitCode"]), ("killed", 137),
          "SIGKILL")


# ---- input

@case
def input_is_written_and_closed():
    pid = start("while read -r line; do echo \"<$line>\"; done; echo end")
    for body in ({"data": "one\ntw"}, {"data": "o\n", "encoding": "utf-8"},
                 {"data": base64.b64encode(b"\xc3\xa4\n").decode(),
                  "encoding": "base64", "close": True}):
        expect(200, call("POST", path(pid + "/input"), body))
    equal(ended(pid)["status"], "completed", "at the end of its input")
    equal(logs(pid)["stdout"], "<one>\n<two>\n<\u00e4>\nend\n", "what it read")
    pid = start("sleep 9005.%d" % ME)
    for bad in ({}, {"data": 1}, {"data": "!", "encoding": "base64"},
                {"data": "x", "encoding": "x"}, {"data": "x", "encoding": ""},
                {"data": "x", "encoding": 1}, {"data": "x", "close": 1}):
        container_error(call("POST", path(pid + "/input"), bad), 400,
                        "VALIDATION_FAILED")
    expect(200, call("POST", path(pid + "/input"), {"close": True}))
    container_error(call("POST", path(pid + "/input"), {"data": "x"}), 409,
                    "INPUT_CLOSED")
    kill(pid)
    pid = start("cat; echo end", stdin=False)
    equal((ended(pid)["status"], logs(pid)["stdout"]), ("completed", "end\n"),
          "without any")


@case
def a_large_input_waits_for_its_reader():
    pid = start("md5sum")
    data = os.urandom(400000)
    r = expect(200, call("POST", path(pid + "/input"), {
        "data": base64.b64encode(data).decode(), "encoding": "base64",
        "close": True})).json
    equal(r["written"], len(data), "written")
    ended(pid)
    true(logs(pid)["stdout"].startswith(hashlib.md5(data).hexdigest()), "same")


@case
def auto_cleanup_forgets_it():
    pid = start("true", autoCleanup=True)
    until("it is forgotten", lambda: call("GET", path(pid)).status == 404)
    execute(SID, "[ ! -e %s/%s.json ]" % (DIR, pid))


@case
def too_many_are_refused_clearly():
    sid = create()["id"]
    statuses = set()
    for _ in range(300):
        r = call("POST", path("start", sid), {"command": "exec sleep 9010.%d"
                                              % ME})
        statuses.add(r.status)
        if r.status != 200:
            break
    container_error(r, 429, "TOO_MANY_PROCESSES")
    equal(statuses, {200, 429}, "statuses")
    true(expect(200, call("DELETE", path("kill-all", sid))).json[
        "cleanedCount"] >= 100, "there were many")
    equal(running("9010.%d" % ME), [], "all are dead")
    expect(200, call("POST", path("start", sid), {"command": "true"}))


sys.exit(run(lambda: None))
