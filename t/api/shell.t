#!/usr/bin/python3
"""shell.t: tests shell sessions as their clients use them, through nginx."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import Running
from service import (alive, at, call, container_error, create, execute, expect,
                     running, until)
from tap import case, equal, run, true

service.begin()

ME = os.getpid()
SID = create(env={"FROM_SESSION": "yes"})["id"]


def post(path, body, sid=SID):
    return call("POST", at(sid, "/api/" + path), body)


def new(name=None, **more):
    return expect(200, post("session/create",
                            dict(more, **({"id": name} if name else {})))).json


def delete(name):
    return post("session/delete", {"sessionId": name})


def names(sid=SID):
    return expect(200, call("GET", at(sid, "/api/session/list"))).json["data"]


def said(command, shell, **more):
    return execute(SID, command, sessionId=shell, **more)


def timeout(shell, ms, command, replaced=None, sid=SID, **more):
    """Checks the answer to a command that takes too long.  A shell has a second to stop
    its command; `replaced` says whether a new shell takes its place, where that is
    certain."""
    doc = container_error(post("execute", dict(
        more, command=command, sessionId=shell), sid), 500,
        "COMMAND_EXECUTION_ERROR")
    begin = "Command timeout after %dms" % ms
    true(doc["message"].startswith(begin) and doc["error"] == doc["message"],
         doc["message"])
    equal((doc["context"]["sessionId"], doc["context"]["command"]),
          (shell, command), "context")
    told = doc["context"]["shellReplaced"]
    equal(doc["message"] == begin, not told, "says whether it was replaced")
    true(replaced in (None, told), "replaced: %r" % told)
    return doc


@case
def a_session_is_created_with_all_that_clients_read():
    doc = new("made", env={"A": "1", "N": None}, cwd="/tmp",
              commandTimeoutMs=60000)
    equal((doc["success"], doc["id"], bool(doc["message"]),
           doc["data"]["id"], doc["containerPlacementId"]),
          (True, "made", True, "made", None), "answer")
    true(doc["timestamp"].endswith("Z"), "time")
    equal(said("pwd; echo $A ${N-unset} $FROM_SESSION; env | grep ^A=", "made"),
          "/tmp\n1 unset yes\nA=1\n", "its directory and environment")
    equal(execute(SID, "echo ${A-unset}; pwd"), "unset\n/workspace\n",
          "others do not have them")


@case
def a_session_that_gives_no_name_gets_one():
    first, second = new()["id"], new()["id"]
    true(first and second and first != second, "two names")
    true({first, second} <= set(names()), "they are listed")
    equal(said("pwd", first), "/workspace\n", "it can be used")
    equal(said("pwd", new(cwd="/nowhere")["id"]), "/home/user\n",
          "a directory that is not there")


@case
def a_name_is_there_once():
    new("twice")
    doc = container_error(post("session/create", {"id": "twice"}), 409,
                          "SESSION_ALREADY_EXISTS")
    equal((doc["message"], doc["context"]),
          ("Session 'twice' already exists", {"sessionId": "twice"}), "words")
    said("true", "by-itself")
    container_error(post("session/create", {"id": "by-itself"}), 409,
                    "SESSION_ALREADY_EXISTS")


@case
def bad_bodies_are_refused_and_name_the_field():
    for path, body, field in (
            ("session/create", {"id": ""}, "id"),
            ("session/create", {"id": " \t"}, "id"),
            ("session/create", {"id": 5}, "id"),
            ("session/create", {"id": "x" * 200}, "id"),
            ("session/create", {"id": "a\0b"}, "id"),
            ("session/create", {"id": "__DISABLE_SESSION__"}, "id"),
            ("session/create", {"env": []}, "env"),
            ("session/create", {"env": {"a b": "c"}}, "env"),
            ("session/create", {"env": {"a": 1}}, "env"),
            ("session/create", {"cwd": 1}, "cwd"),
            ("session/create", {"cwd": "/" * 5000}, "cwd"),
            ("session/create", {"commandTimeoutMs": "1"}, "commandTimeoutMs"),
            ("session/create", {"commandTimeoutMs": -1}, "commandTimeoutMs"),
            ("session/delete", {}, "sessionId"),
            ("session/delete", {"sessionId": " "}, "sessionId"),
            ("session/delete", {"sessionId": ["x"]}, "sessionId"),
            ("execute", {"command": "true", "sessionId": ""}, "sessionId"),
            ("execute", {"command": "true", "sessionId": " \n"}, "sessionId"),
            ("execute/stream", {"command": "true", "sessionId": " "},
             "sessionId")):
        doc = container_error(post(path, body), 400, "VALIDATION_FAILED")
        equal(doc["context"]["validationErrors"][0]["field"], field,
              "%s %r" % (path, body))
    for raw in (b"{", b"[]", b"\xff", b"[" * 5000):
        container_error(post("session/create", raw), 400, "VALIDATION_FAILED")
    before = len(names())
    new("lenient", cwd=None, env=None, commandTimeoutMs=None, unknown=1)
    equal(len(names()), before + 1, "nulls and unknown fields are ignored")


@case
def the_call_the_session_and_the_environment_say_how_long():
    mark = "8601.%d" % ME
    new("patient", commandTimeoutMs=300)
    timeout("patient", 300, "sleep " + mark)
    for ms, what in ((600000, "the call's own comes first"),
                     (0, "also if it is none")):
        # wait: 0.6 s, twice the session's limit; the limit of the call is never reached
        equal(said("sleep 0.6; echo long", "patient", timeoutMs=ms), "long\n",
              what)
    other = create(env={"COMMAND_TIMEOUT_MS": "250"})["id"]
    for shell in ("default", "another"):
        timeout(shell, 250, "sleep " + mark, sid=other)
    r = expect(200, post("execute", {"command": "sleep " + mark, "sessionId":
                                     "__DISABLE_SESSION__"}, other)).json
    equal((r["exitCode"], r["stderr"]),
          (124, "Command timed out after 250ms\n"), "sessionless")
    new("own", env={"COMMAND_TIMEOUT_MS": "200"})
    timeout("own", 200, "sleep " + mark)
    new("odd", env={"COMMAND_TIMEOUT_MS": "soon"})
    # wait: 0.3 s in the command, and no limit that could end it
    equal(said("sleep 0.3; echo done", "odd"), "done\n", "one that is no number")
    equal(running(mark), [], "nothing is left")


@case
def a_shell_that_ends_is_told_once():
    new("mortal", env={"A": "1"}, cwd="/tmp")
    doc = container_error(post("execute", {"command": "exit 42",
                                           "sessionId": "mortal"}), 410,
                          "SESSION_TERMINATED")
    equal((doc["context"]["sessionId"], doc["context"]["exitCode"]), ("mortal", 42), "context")
    true("mortal" not in names(), "it is not listed")
    equal(said("echo $A; pwd", "mortal"), "1\n/tmp\n", "a fresh one, as made")
    pid = said("echo $$", "mortal").strip()
    execute(SID, "kill -9 " + pid)
    until("it is gone", lambda: "mortal" not in names())
    new("mortal", cwd="/usr", env={"B": "2"})
    equal(said("echo ${A-unset}; pwd", "mortal"), "unset\n/usr\n", "made anew")
    pid = said("echo $$", "mortal").strip()
    execute(SID, "kill -9 " + pid)
    doc = container_error(post("execute", {"command": "true",
                                           "sessionId": "mortal"}), 410,
                          "SESSION_TERMINATED")
    equal((doc["context"]["sessionId"], doc["context"]["exitCode"]), ("mortal", 137), "killed")
    equal(said("echo new", "mortal"), "new\n", "and a fresh one")
    execute(SID, "kill -9 " + said("echo $$", "mortal").strip())
    doc = container_error(post("execute/stream", {
        "command": "true", "sessionId": "mortal"}), 410, "SESSION_TERMINATED")
    equal(doc["context"], {"sessionId": "mortal", "exitCode": 137}, "a stream")


@case
def a_deleted_session_takes_everything_along():
    mark = "8602.%d" % ME
    new("doomed")
    said("sleep %s &" % mark, "doomed")
    job = until("a job of an earlier command", lambda: running(mark))
    said("true", "other")
    work = Running(SID, "sleep %s; touch /workspace/wrong" % mark,
                   sessionId="doomed")
    until("it runs", lambda: len(running(mark)) == 2)
    stream = Running(SID, "echo begun; sleep " + mark, stream=True,
                     sessionId="other")
    beside = Running(SID, "echo begun; sleep " + mark, stream=True,
                     sessionId="__DISABLE_SESSION__")
    until("all run", lambda: len(running(mark)) == 4)
    equal(expect(200, delete("doomed")).json["sessionId"], "doomed", "answer")
    doc = container_error(work.result(), 410, "SESSION_DESTROYED")
    equal(doc["context"]["sessionId"], "doomed", "the call that was in it")
    true(not alive(job[0]), "the job")
    equal(len(running(mark)), 2, "others go on")
    expect(200, delete("other"))
    events = stream.events()
    equal([e["type"] for e in events], ["start", "stdout", "error", "complete"],
          "a stream beside it")
    true("destroyed" in events[2]["error"] and
         events[2]["data"] == events[2]["error"], "says why")
    equal(len(running(mark)), 1, "and has ended")
    expect(200, call("POST", at(SID, "/interrupt")))
    beside.result()
    doc = container_error(delete("doomed"), 500, "INTERNAL_ERROR")
    true("not found" in doc["message"], doc["message"])
    true("doomed" not in names(), "it is not listed")
    equal(said("echo fresh; ls /workspace/wrong 2>/dev/null; true", "doomed"),
          "fresh\n", "its name can be used again")


@case
def what_a_replaced_shell_left_behind_and_its_processes_go_with_it():
    mark = "8606.%d" % ME
    # a shell that ignores the signal before its command begins is always replaced
    said("sleep %s & trap '' 44" % mark, "changed")
    # wait: the command never ends by itself, so only the limit ends it
    timeout("changed", 200, "while :; do :; done", replaced=True, timeoutMs=200)
    until("a job outlives the shell it was started in",
          lambda: len(running(mark)) == 1)
    expect(200, post("process/start", {"command": "sleep " + mark,
                                       "sessionId": "changed"}))
    expect(200, post("process/start", {"command": "sleep " + mark,
                                       "sessionId": "unchanged"}))
    until("all run", lambda: len(running(mark)) == 3)
    expect(200, delete("changed"))
    until("two have ended", lambda: len(running(mark)) == 1)
    expect(200, call("DELETE", at(SID, "/api/process/kill-all")))
    equal(running(mark), [], "nothing is left")


@case
def one_who_waits_for_a_session_that_is_deleted_is_told():
    mark = "8603.%d" % ME
    said("true", "queue")
    first = Running(SID, "sleep " + mark, sessionId="queue")
    until("it runs", lambda: running(mark))
    second = Running(SID, "echo wrong >/workspace/wrong", sessionId="queue")
    # wait: the first command never ends, so only the limit ends this one
    timeout("queue", 100, "true", timeoutMs=100)  # behind the second
    expect(200, delete("queue"))
    container_error(first.result(), 410, "SESSION_DESTROYED")
    r = second.result()
    true(r.status == 410 or r.json["stdout"] == "", r)
    equal(running(mark), [], "nothing is left")


@case
def a_stream_is_like_its_session_but_for_its_timeout():
    new("streams", commandTimeoutMs=100, env={"A": "1"}, cwd="/tmp")
    # wait: 0.4 s in the command, longer than the session's timeout and no other limit
    events = Running(SID, "echo $A; pwd; sleep 0.4; echo done", stream=True,
                     sessionId="streams").events()
    equal([(e["type"], e.get("data")) for e in events],
          [("start", None), ("stdout", "1\n"), ("stdout", "/tmp\n"),
           ("stdout", "done\n"), ("complete", None)], "events")


@case
def sessions_run_side_by_side_and_a_stream_does_not_hold_its_own():
    mark = "8605.%d" % ME
    said("export V=v; f() { echo f$V; }; cd /usr", "side")
    stream = Running(SID, "f; pwd; V=changed; cd /; sleep " + mark,
                     stream=True, sessionId="side")
    until("it runs", lambda: running(mark))
    equal(said("f; pwd", "side"), "fv\n/usr\n", "its shell is free, unchanged")
    work = Running(SID, "sleep " + mark, sessionId="side")
    until("both run", lambda: len(running(mark)) == 2)
    equal(said("echo here", "side2"), "here\n", "another is free")
    expect(200, call("POST", at(SID, "/interrupt")))
    equal([e.get("data") for e in stream.events()][1:3], ["fv\n", "/usr\n"],
          "it inherits functions, variables and directory")
    expect(200, work.result())


sys.exit(run(lambda: None))
