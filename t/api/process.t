#!/usr/bin/env python3
"""process.t: background processes of a session: their life, their output and
what is done to them."""
import base64
import http.client
import json
import os
import signal
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import age, passes, state, wrapper_of
from service import (at, call, container_error, create, execute, expect, get,
                     running, setting, until)
from tap import case, equal, run, true

service.begin()

SID = create(isolation="session")["id"]
ME = os.getpid()
DIR = "/home/user/.local/state/sandlease/processes"


def path(rest, sid=None):
    return at(sid or SID, "/api/process/" + rest)


def start(command, sid=None, **more):
    """The id of a new process."""
    return expect(200, call("POST", path("start", sid),
                            dict(more, command=command))).json["processId"]


def show(pid, sid=None):
    return expect(200, call("GET", path(pid, sid))).json["process"]


def logs(pid, query="", sid=None):
    return expect(200, call("GET", path(pid + "/logs" + query, sid))).json


def ended(pid, sid=None):
    """What is known of it once it has ended."""
    return until(pid + " has ended", lambda: show(pid, sid)["status"]
                 != "running" and show(pid, sid))


def kill(pid, sid=None):
    return expect(200, call("DELETE", path(pid, sid))).json


def known(sid=None, query=""):
    r = expect(200, call("GET", path("list" + query, sid))).json
    return {p["id"]: p for p in r["processes"]}


class Stream:
    """The open stream of a process."""

    def __init__(self, pid, sid=None, query="", **headers):
        self.conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                               timeout=service.PATIENCE)
        self.conn.request("GET", path(pid + "/stream" + query, sid), headers=dict(
            headers, Authorization="Bearer " + setting("SANDLEASE_API_KEY")))
        self.answer = self.conn.getresponse()
        equal((self.answer.status, self.answer.headers["Content-Type"]),
              (200, "text/event-stream"), "stream")

    def event(self):
        """(id, event); None at the end."""
        last = None
        while True:
            line = self.answer.readline()
            if line == b"":
                return None
            if line.startswith(b"id: "):
                last = int(line[4:])
            if line.startswith(b"data: "):
                return last, json.loads(line[6:])

    def rest(self):
        events = []
        while (event := self.event()) is not None:
            events.append(event)
        return events

    def close(self):
        self.answer.close()
        self.conn.close()


def text(events, which="stdout"):
    return "".join(e["data"] for _, e in events if e["type"] == which)


# ---- the life of one

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
    r = expect(200, call("POST", at(SID, "/api/execute"), {
        "command": "echo hi; sleep 9000.%d" % ME, "background": True})).json
    true(r["success"] and r["processId"] in known(query="?status=running"), r)
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
    pid = start("echo a; setsid sleep %s & sleep %s" % (mark, mark),
                timeoutMs=300)
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
                {"data": "x", "encoding": "x"}, {"data": "x", "close": 1}):
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
    import hashlib
    true(logs(pid)["stdout"].startswith(hashlib.md5(data).hexdigest()), "same")


# ---- output

@case
def logs_have_offsets():
    pid = start("printf 'h\\303\\251'; printf x >&2; sleep 0.1; printf yz >&2;"
                " printf end")
    ended(pid)
    l = logs(pid)
    equal((l["stdout"], l["stderr"], l["offset"], l["nextOffset"],
           l["truncated"]), ("h\u00e9end", "xyz", 0, 9, False), "all")
    l = logs(pid, "?offset=4")
    equal((l["stdout"] + "|" + l["stderr"], l["nextOffset"]),
          ("end|yz" if l["stderr"] == "yz" else "|", 9), "from an offset on")
    l = logs(pid, "?offset=9")
    equal((l["stdout"], l["stderr"], l["nextOffset"]), ("", "", 9), "the end")


@case
def output_nobody_reads_does_not_block():
    size = 20 * 1000 * 1000
    pid = start("head -c %d /dev/zero | tr '\\0' x; echo done >&2" % size)
    equal(ended(pid)["status"], "completed", "20 MB later")
    l = logs(pid)
    equal((l["nextOffset"], l["truncated"], l["stderr"]),
          (size + 5, True, "done\n"), "what is told")
    equal(len(l["stdout"]), l["nextOffset"] - l["offset"] - 5, "what is left")
    true(8 << 20 >= len(l["stdout"]) > (8 << 20) - 64, "as much as the ring has")
    true(int(execute(SID, "du -k %s/%s.log" % (DIR, pid)).split()[0])
         < 10 * 1024, "its file is bounded")


@case
def a_stream_tells_all_from_the_beginning_to_the_end():
    pid = start("echo one; echo two >&2; until [ -e /tmp/go2 ]; do sleep 0.02;"
                " done; printf 'three\\nfo'; sleep 0.2; printf 'ur\\n'; exit 4")
    until("it has begun", lambda: logs(pid)["nextOffset"] == 8)
    s = Stream(pid)
    first = s.event()
    equal((first[0], first[1]["type"], first[1]["status"],
           first[1]["processId"], "echo one" in first[1]["command"]),
          (None, "process_info", "running", pid, True), "process_info")
    replay = [s.event(), s.event()]
    equal(sorted((e["type"], e["data"]) for _, e in replay),
          [("stderr", "two\n"), ("stdout", "one\n")], "replay")
    execute(SID, "touch /tmp/go2")
    rest = s.rest()
    equal(text(rest), "three\nfour\n", "live")
    equal(rest[-1][1]["type"], "exit", "the last")
    equal((rest[-1][1]["exitCode"], rest[-1][1]["data"]),
          (4, "Process failed with exit code 4"), "how it ended")
    again = Stream(pid).rest()
    equal([e["type"] for _, e in again][::len(again) - 1],
          ["process_info", "exit"], "after its end")
    equal((text(again), text(again, "stderr")), ("one\nthree\nfour\n", "two\n"),
          "the same once more")


@case
def a_stream_goes_on_where_it_was_cut_off():
    count = 3000
    pid = start("for i in {1..%d}; do echo \"line $i \u00e4\"; [ $((i %% 7)) -gt 0"
                " ] || echo \"err $i\" >&2; done; echo end" % count)
    events, last, rounds = [], None, 0
    while not events or events[-1][1]["type"] != "exit":
        headers = {} if last is None else {"Last-Event-ID": str(last)}
        s = Stream(pid, **headers)
        equal(s.event()[1]["type"], "process_info", "first")
        for _ in range(2 + rounds % 3):
            event = s.event()
            events.append(event)
            last = event[0]
            if event[1]["type"] == "exit":
                break
        s.close()
        rounds += 1
    equal(text(events), "".join("line %d \u00e4\n" % i for i in
                                range(1, count + 1)) + "end\n", "stdout")
    equal(text(events, "stderr"), "".join("err %d\n" % i for i in range(
        7, count + 1, 7)), "stderr")
    equal(rounds > 1, True, "in several rounds")
    at_end = Stream(pid, **{"Last-Event-ID": str(last)}).rest()
    equal([e["type"] for _, e in at_end], ["process_info", "exit"], "at the end")
    early = Stream(pid, query="?offset=5").rest()
    equal(text(early)[:5], "1 \u00e4\nl", "an offset")


@case
def characters_are_never_split():
    pid = start("for i in {1..40}; do printf '\\xe2'; printf '\\x82' ; sleep 0.001;"
                " printf '\\xac'; done; head -c 100000 /dev/zero |"
                " sed 's/\\x0/\\xe2\\x82\\xac/g'")
    events = Stream(pid).rest()
    true(text(events) == "\u20ac" * 100040, "in a stream")
    true(logs(pid)["stdout"] == "\u20ac" * 100040, "in the logs")


@case
def a_client_that_vanishes_frees_its_stream():
    sid = create()["id"]
    pid = start("sleep 9006.%d" % ME, sid)
    [wrapper] = {wrapper_of(p) for p in until(
        "it runs", lambda: running("9006.%d" % ME))}

    def threads():
        return len(os.listdir("/proc/%d/task" % wrapper))
    streams = [Stream(pid, sid) for _ in range(30)]
    for s in streams:
        s.event()
    many = threads()
    true(many >= 30, "they are there: %d" % many)
    for s in streams:
        s.conn.sock and s.conn.sock.shutdown(socket.SHUT_RDWR)
        s.close()
    until("their threads end before any heartbeat",
          lambda: threads() <= many - 20, 10)
    equal(get(sid)["busy"], True, "the process runs on")
    kill(pid, sid)
    until("then nothing does", lambda: not get(sid)["busy"])


# ---- the session around them

@case
def what_runs_keeps_the_session_awake():
    sid = create(sleepAfterSeconds=60)["id"]
    pid = start("sleep 9007.%d" % ME, sid)
    equal(get(sid)["busy"], True, "busy")
    age(sid, 3600)
    passes()
    equal(state(sid)[0], "ready", "after a pass")
    kill(pid, sid)
    equal(get(sid)["busy"], False, "no longer")


@case
def an_interruption_leaves_it_alone():
    pid = start("sleep 9008.%d" % ME)
    expect(200, call("POST", at(SID, "/interrupt")))
    equal((show(pid)["status"], len(running("9008.%d" % ME))), ("running", 1),
          "it runs on")
    kill(pid)


@case
def records_survive_sleep():
    sid = create()["id"]
    done = start("echo kept; exit 5", sid)
    was = ended(done, sid)
    ran = start("trap 'echo last word; exit 7' TERM; echo ready; while :; do"
                " sleep 0.05; done", sid)
    until("it runs", lambda: "ready" in logs(ran, sid=sid)["stdout"])
    expect(200, call("POST", at(sid, "/sleep")))
    equal(show(done, sid), was, "one that had ended")
    equal(logs(done, sid=sid)["stdout"], "kept\n", "its log")
    equal(logs(ran, sid=sid)["stdout"], "ready\nlast word\n", "the other's")
    p = show(ran, sid)
    equal((p["status"], p["exitCode"]), ("failed", 7), "as it ended by itself")
    events = Stream(done, sid).rest()
    equal([e["type"] for _, e in events], ["process_info", "stdout", "exit"],
          "stream")


@case
def records_survive_the_wrapper():
    sid = create()["id"]
    mark = "9009.%d" % ME
    done = start("echo kept", sid)
    was = ended(done, sid)
    gone = start("true", sid, autoCleanup=True)
    ran = start("echo unfinished; sleep " + mark, sid)
    until("it runs", lambda: logs(ran, sid=sid)["nextOffset"] and running(mark))
    execute(sid, "echo nonsense > %s/bad.json; echo x > %s/odd.log;"
            " ln -s /etc/passwd %s/link.json; mkfifo %s/fifo.json"
            % ((DIR,) * 4))
    wrapper = wrapper_of(running(mark)[0])
    os.kill(wrapper, signal.SIGKILL)
    until("another serves", lambda: not service.alive(wrapper) and call(
        "GET", path("list", sid)).status == 200)
    equal(show(done, sid), was, "one that had ended")
    equal(logs(done, sid=sid)["stdout"], "kept\n", "its log")
    p = show(ran, sid)
    equal((p["status"], p["exitCode"]), ("killed", 137), "one that ran")
    equal(logs(ran, sid=sid)["stdout"], "unfinished\n", "its log")
    equal(sorted(known(sid)), sorted([done, ran]), "nothing else")
    equal(sorted(execute(sid, "ls " + DIR).split()), sorted(
        p + e for p in (done, ran) for e in (".json", ".log")), "on the disk")
    true(gone not in known(sid), "autoCleanup")


@case
def a_log_that_is_taken_away_does_not_hurt():
    sid = create()["id"]
    pid = start("until [ -e /tmp/go ]; do sleep 0.02; done; echo after", sid)
    execute(sid, "rm -rf %s; touch /tmp/go" % DIR)
    equal(ended(pid, sid)["status"], "completed", "it ends well")
    expect(200, call("GET", path(pid + "/logs", sid)))
    execute(sid, "rm -rf %s; echo file > %s" % (DIR, DIR))
    pid = start("echo nowhere; exit 2", sid)
    p = ended(pid, sid)
    equal((p["status"], p["exitCode"], p["droppedBytes"]), ("failed", 2, 8),
          "what cannot be kept is counted")
    l = logs(pid, sid=sid)
    equal((l["stdout"], l["droppedBytes"]), ("", 8), "and said")
    events = [e for _, e in Stream(pid, sid).rest()]
    equal([(e["type"], e.get("bytes")) for e in events],
          [("process_info", None), ("dropped", 8), ("exit", None)], "stream")


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
