#!/usr/bin/python3
"""Tests that commands can be ended, listed and repeated by their ids, and which commands go on."""
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, eventually  # noqa: E402
from tap import ok, run, same  # noqa: E402

box = Box()
S = box.session()
LONG = "sleep 4000"  # wait: the test ends this command


def there(name):
    return os.path.exists(os.path.join(box.dir, "storage", S, "workspace", name))


def begin(name, command=LONG, path="/api/execute", **fields):
    """Starts a command and waits until its file says that the command has begun."""
    r = box.request(S, "POST", path, {
        "command": f"touch /workspace/{name}; {command}; touch /workspace/{name}.wrong",
        "executionId": name, **fields})
    assert eventually(lambda: there(name)), "it does not begin"
    return r


def result(request):
    j = request.all().json()
    request.close()
    return j["exitCode"], j.get("interrupted", False)


def events(request):
    text = request.all().body.decode()
    request.close()
    return [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: ")]


def cancel(name):
    a = box.call(S, "DELETE", "/api/executions/" + name)
    return a.status, a.json().get("cancelled") or a.json()["code"]


def ids():
    return sorted(x["id"] for x in box.call(S, "GET", "/api/executions").json()["executions"])


def gone(name):
    """True when the command was ended and the rest of its list did not run."""
    return eventually(lambda: name not in ids()) and not there(name + ".wrong")


# ---- output

def a_shell_that_exits_loses_no_output():
    for command, out, err, code in (
            ("echo building; echo bad >&2; exit 3", "building\n", "bad\n", 3),
            ("set -e; echo a; false; echo b", "a\n", "", 1),
            ("set -euo pipefail; echo a; echo $nosuch; echo b", "a\n", "nosuch: unbound variable\n", 1),
            ("seq 100000; exit 4", "".join("%d\n" % i for i in range(1, 100001)), "", 4),
            ("echo new; exec false", "new\n", "", 1)):
        a = box.run(S, command, sessionId="exits")
        c = a["context"]
        same((a["status"], a["code"], c["exitCode"], c.get("stdout") == out, c.get("stderr", "").endswith(err)),
             (410, "SESSION_TERMINATED", code, True, True), command[:30])
        ok("shell exited" in a["message"], "its words are those that clients look for", a["message"])
        same(box.run(S, command, sessionId="exits", shell=False).get("exitCode"), code,
             "with a process of its own it is an exit code")


def more_output_than_an_error_holds_is_told():
    a = box.run(S, "seq 400000; exit 1", sessionId="much")
    c = a["context"]
    same((len(c["stdout"]), c["stdout"][-7:], c.get("truncated")), (1 << 20, "400000\n", True),
         "of a flood the end, and that it is not all")


def what_a_new_shell_keeps():
    box.call(S, "POST", "/api/session/create", {"id": "kept", "cwd": "/tmp", "env": {"GIVEN": "yes"}})
    box.run(S, "cd /; export LATER=1; exit 1", sessionId="kept")
    same(box.run(S, "echo $GIVEN ${LATER-lost} $PWD", sessionId="kept")["stdout"], "yes lost /tmp\n",
         "what session/create gave, and nothing of what came later")


def a_process_of_its_own_is_like_the_shell():
    box.run(S, "cd /tmp; export A=1; b=2; f() { echo f$1; }", sessionId="like")
    a = box.run(S, "f 3; echo $A$b $PWD; cd /; A=9; exit 5", sessionId="like", shell=False)
    same((a["exitCode"], a["stdout"]), (5, "f3\n12 /tmp\n"), "it has the shell's state")
    same(box.run(S, "echo $A $PWD", sessionId="like")["stdout"], "1 /tmp\n", "and changes nothing of it")
    a = box.run(S, LONG, sessionId="like", shell=False, timeoutMs=100)  # wait: this limit always ends the command
    same((a["status"], a["exitCode"]), (200, 124), "a time limit holds")
    got = [e for _, e in box.stream(S, "echo a; exit 6", shell=False)]
    same([e.get("data", e.get("exitCode")) for e in got[1:]], ["a\n", 6], "a stream has one anyway")
    a = box.call(S, "POST", "/api/execute/stream", {"command": ":", "shell": True})
    same((a.status, a.json()["context"]["validationErrors"][0]["field"]), (400, "shell"), "and no other")


def bash_says_nothing_of_what_we_kill():
    for command in ("echo last >&2; " + LONG, LONG + " | cat", "trap '' TERM; echo last >&2; " + LONG,
                    "printf last >&2; trap '' TERM; " + LONG):
        a = box.run(S, command, timeoutMs=200)  # wait: this limit always ends the command
        same(a["context"]["stderr"].strip(), "last" if "last" in command else "", command)
    r = begin("said", "echo Terminated >&2; touch /workspace/said.now; " + LONG, sessionId="said")
    assert eventually(lambda: there("said.now")), "it does not come so far"
    cancel("said")
    same(r.all().json()["stderr"], "Terminated\n", "the command's own word is its own")


def lines_are_counted_from_one():
    for fields in ({}, {}, {"cwd": "/tmp"}, {"env": {"A": "b"}}, {"shell": False}, {"sessionId": "__DISABLE_SESSION__"}):
        a = box.run(S, ":\nnosuch", **fields)
        same(a["stderr"], "/bin/bash: line 2: nosuch: command not found\n", "with %r" % fields)


# ---- ids

def a_command_in_a_shell_is_ended_by_its_id():
    box.run(S, "here=kept", sessionId="one")
    r, other = begin("one", sessionId="one"), begin("two", sessionId="two")
    same(ids(), ["one", "two"], "both are listed")
    listed = box.call(S, "GET", "/api/executions").json()["executions"]
    same({(x["route"], x["sessionId"]) for x in listed}, {("execute", "one"), ("execute", "two")}, "as what they are")
    same(cancel("one"), (200, True), "one is ended")
    same(result(r), (130, True), "its caller is told")
    ok(gone("one"), "and the rest of its list did not run")
    same(box.run(S, "echo $here", sessionId="one")["stdout"], "kept\n", "its shell keeps its state")
    same(ids(), ["two"], "the other goes on")
    same(cancel("two"), (200, True), "until it is ended")
    same(result(other), (130, True), "too")
    same(cancel("two"), (404, "EXECUTION_NOT_FOUND"), "there is none any more")


def one_that_waits_for_its_shell_is_ended_at_once():
    first = begin("first", sessionId="queue")
    waits = box.request(S, "POST", "/api/execute", {"command": "touch /workspace/waits.wrong", "sessionId": "queue",
                                                    "executionId": "waits"})
    stream = box.request(S, "POST", "/api/execute/stream", {"command": "touch /workspace/waits.wrong",
                                                            "sessionId": "queue", "executionId": "stream"})
    assert eventually(lambda: ids() == ["first", "stream", "waits"]), ids()
    same((cancel("waits"), cancel("stream")), ((200, True), (200, True)), "two that wait")
    same((result(waits), events(stream)[-1].get("interrupted")), ((130, True), True), "are told")
    same(ids(), ["first"], "while the first goes on")
    cancel("first")
    result(first)
    ok(not there("waits.wrong"), "and they never run")


def streams_have_ids():
    r = begin("streamed", path="/api/execute/stream")
    same(cancel("streamed"), (200, True), "it is ended")
    got = events(r)
    same((got[0]["type"], got[0]["executionId"], got[-1]["exitCode"]), ("start", "streamed", 130), "and told")
    ok(gone("streamed"), "with all of its list")
    a = box.call(S, "POST", "/api/execute/stream", {"command": ":"})
    start = json.loads(a.body.decode().split("\n")[0][6:])
    ok(start["executionId"] == a.headers["x-execution-id"] != "", "one that nobody has chosen", a.headers)


def code_has_ids():
    code = "import time\nopen('/workspace/cell', 'w')\ntime.sleep(4000)"  # wait: the test ends this code
    r = box.request(S, "POST", "/api/execute/code", {"code": code, "executionId": "cell"})
    assert eventually(lambda: there("cell")), "it does not begin"
    # the second execution waits for its turn
    late = box.request(S, "POST", "/api/execute/code", {"code": "1", "executionId": "late"})
    assert eventually(lambda: ids() == ["cell", "late"]), ids()
    same(cancel("late"), (200, True), "a cell that waits is ended")
    same([e["type"] for e in events(late)], ["start", "error"], "and told")
    same(cancel("cell"), (200, True), "so is one that runs")
    got = events(r)
    same((got[0], got[-1]["ename"]), ({"type": "start", "executionId": "cell"}, "KeyboardInterrupt"), "and told")
    a = box.call(S, "POST", "/api/execute/code", {"code": "5"})
    same((json.loads(a.body.decode().split("\n")[0][6:])["type"], len(a.headers["x-execution-id"])), ("result", 16),
         "who says nothing has a header, and events as ever")


def an_id_is_unique_while_it_runs():
    r = begin("unique")
    for path in ("/api/execute", "/api/execute/stream"):
        a = box.call(S, "POST", path, {"command": ":", "sessionId": "b", "executionId": "unique"})
        same((a.status, a.json()["code"]), (409, "EXECUTION_ALREADY_EXISTS"), path)
    a = box.call(S, "POST", "/api/execute/code", {"code": "1", "executionId": "unique"})
    same((a.status, a.json()["code"]), (409, "EXECUTION_ALREADY_EXISTS"), "code")
    cancel("unique")
    result(r)
    same(box.run(S, ":", executionId="unique")["executionId"], "unique", "and free afterwards")
    for field, value in (("executionId", "a/b"), ("executionId", ""), ("executionId", "x" * 65), ("onDisconnect", "end")):
        a = box.run(S, ":", **{field: value})
        same((a["status"], a["context"]["validationErrors"][0]["field"]), (400, field), repr(value)[:20])
    a = box.run(S, ":", background=True, onDisconnect="kill")
    same((a["status"], a["context"]["validationErrors"][0]["field"]), (400, "onDisconnect"), "not in the background")


def one_shell_alone_is_interrupted():
    a, b, beside = begin("a", sessionId="a"), begin("b", sessionId="b"), begin(
        "beside", path="/api/execute/stream", sessionId="c")
    same(box.forward("interrupt_shell", S, shell="a")["interrupted"], 1, "what runs in a shell")
    same(result(a), (130, True), "is interrupted")
    same(ids(), ["b", "beside"], "what runs in others is not")
    same(box.forward("interrupt_shell", S, shell="c")["interrupted"], 1, "also what runs beside one")
    same(events(beside)[-1]["exitCode"], 130, "is")
    same(box.forward("interrupt_shell", S, shell="nosuch")["interrupted"], 0, "nothing runs in no shell")
    same(box.forward("interrupt_shell", S)["code"], "validation_failed", "it must be named")
    same(box.forward("interrupt", S)["interrupted"], 1, "the rest")
    same(result(b), (130, True), "is interrupted as ever")


def what_is_started_in_that_moment_ends_too():
    left = 0
    for i in range(20):
        r = begin("fork%d" % i, "for i in {1..60}; do sleep 4000 & done; wait", sessionId="forks")
        cancel("fork%d" % i)
        result(r)
        left += len(box.run(S, "pgrep -x -r R,S,D sleep", sessionId="looks")["stdout"].split())
        box.run(S, "pkill -KILL -x sleep", sessionId="looks")
    same(left, 0, "nothing is left of commands that were starting others")


def a_shell_has_its_terminal():
    marks = {"ta": "4001", "tb": "4002"}  # wait: the test ends these programs

    def alive():
        return [name for name, mark in marks.items()
                if box.run(S, "pgrep -r R,S,D -fx 'sleep %s'" % mark, sessionId="looks")["exitCode"] == 0]
    for name, mark in marks.items():
        box.call(S, "POST", "/api/terminal", {"sessionId": name})
        box.call(S, "POST", "/api/terminal/%s/input" % name, {"data": "sleep %s\n" % mark})
    assert eventually(lambda: alive() == ["ta", "tb"]), alive()
    same(box.forward("interrupt_shell", S, shell="ta")["interrupted"], 1, "what runs in its terminal is interrupted")
    ok(eventually(lambda: "ta" not in alive()), "it ends")
    same(alive(), ["tb"], "and not in another")
    for name in marks:
        box.call(S, "DELETE", "/api/terminal/" + name)


def a_client_that_does_not_read_holds_nothing_up():
    r = box.request(S, "POST", "/api/execute/stream", {
        "command": "trap '' TERM; echo $$ >/workspace/flood; yes | cat", "executionId": "flood"})
    assert eventually(lambda: there("flood")), "it does not begin"

    def blocked():
        """Nothing reads the pipe any more: `cat` waits in write(2)."""
        a = box.run(S, "cat /proc/$(pgrep -x cat)/wchan", sessionId="looks")
        return "pipe_w" in a["stdout"]
    ok(eventually(blocked), "it is held up")
    same(box.forward("interrupt", S).get("interrupted"), 1, "an interruption ends it")
    same(box.run(S, "pgrep -x -r R,S,D yes", sessionId="looks")["stdout"], "", "it is dead")
    same((ids(), cancel("flood")), ([], (404, "EXECUTION_NOT_FOUND")), "and not listed")
    same(box.forward("interrupt", S).get("interrupted"), 0, "nor interrupted again")
    r.close()


# ---- clients that leave

def a_command_ends_with_its_client_if_that_is_wanted():
    for path in ("/api/execute", "/api/execute/stream"):
        name = path.replace("/", "")
        begin(name, path=path, sessionId=name, onDisconnect="kill").close()
        ok(gone(name), path)
        same(box.run(S, "echo ok", sessionId=name)["stdout"], "ok\n", "its shell is usable")
    code = "import time\nopen('/workspace/left', 'w')\ntime.sleep(4000)"  # wait: the test ends this code
    r = box.request(S, "POST", "/api/execute/code", {"code": code, "executionId": "left", "onDisconnect": "kill"})
    assert eventually(lambda: there("left")), "it does not begin"
    r.close()
    ok(gone("left"), "code")
    begin("quiet", "sleep 4000 </dev/null >/dev/null 2>&1 & wait", sessionId="tree", onDisconnect="kill").close()
    ok(gone("quiet"), "a tree")
    same(box.run(S, "pgrep -a -x -r R,S,D sleep", sessionId="looks")["stdout"], "", "with all of it")


def else_it_goes_on():
    go = "until [ -e /workspace/go ]; do sleep 0.02; done"  # wait: for the test's file
    for path in ("/api/execute", "/api/execute/stream"):
        name = path.replace("/", "") + "on"
        begin(name, go, path=path, sessionId=name, onDisconnect="continue").close()
    first = begin("holds", go, sessionId="turn")
    r = box.request(S, "POST", "/api/execute", {"command": "touch /workspace/turn.wrong", "sessionId": "turn",
                                                "executionId": "turn", "onDisconnect": "kill"})
    assert eventually(lambda: "turn" in ids()), "it does not wait"
    r.close()
    box.run(S, "touch /workspace/go", sessionId="looks")
    first.all()
    ok(eventually(lambda: ids() == []), "all end", ids())
    ok(there("apiexecuteon.wrong") and there("apiexecutestreamon.wrong"), "those that nobody wants ended")
    ok(not there("turn.wrong"), "one whose client left before its turn did not begin")


# ---- once

def once(command, key, **fields):
    return box.call(S, "POST", "/api/execute", {"command": command, **fields}, HTTP_IDEMPOTENCY_KEY=key)


def a_key_runs_a_command_once():
    for what, command, fields, status in (
            ("a result", "echo x >>/workspace/count; wc -l </workspace/count", {}, 200),
            ("a failure", "echo x >>/workspace/count; false", {}, 200),
            ("a shell that exits", "echo x >>/workspace/count; exit 3", {}, 410),
            # wait: this limit always ends the command
            ("a timeout", "echo x >>/workspace/count; " + LONG, {"timeoutMs": 200}, 500),
            ("one beside", "echo x >>/workspace/count; exit 3", {"shell": False}, 200),
            ("a background process", "echo x >>/workspace/count", {"background": True}, 200)):
        box.run(S, "rm -f /workspace/count", sessionId="looks")
        first, again = once(command, what, **fields), once(command, what, **fields)
        same((first.status, again.status, again.body == first.body), (status, status, True), what)
        same((first.headers.get("idempotency-replayed"), again.headers.get("idempotency-replayed")), (None, "true"), "told")
        ok(eventually(lambda: box.run(S, "cat /workspace/count", sessionId="looks")["stdout"] == "x\n"), "once")


def a_key_belongs_to_its_body():
    once("echo a", "body")
    for fields in ({"sessionId": "other"}, {"env": {"A": "b"}}):
        a = once("echo a", "body", **fields)
        same((a.status, a.json()["code"]), (409, "IDEMPOTENCY_MISMATCH"), repr(fields))
    a = box.call(S, "POST", "/api/execute", {"command": "echo a"}, HTTP_IDEMPOTENCY_KEY="body", HTTP_X_SESSION_ID="other")
    same(a.status, 409, "another shell")
    same(once("echo a", "other").headers.get("idempotency-replayed"), None, "another key is another call")
    same(once("echo a", "x" * 256).status, 400, "a key has a length")


def a_repeat_waits_for_the_first():
    go = "echo x >>/workspace/waited; until [ -e /workspace/go2 ]; do sleep 0.02; done; echo done"  # wait: for the test's file
    got = []
    threads = [threading.Thread(target=lambda: got.append(once(go, "waits", sessionId="waits"))) for _ in range(5)]
    for t in threads:
        t.start()
    ok(eventually(lambda: there("waited")), "one of five runs")
    left = box.request(S, "POST", "/api/execute", {"command": go, "sessionId": "waits"}, HTTP_IDEMPOTENCY_KEY="waits")
    left.close()  # a repeat whose client leaves
    box.run(S, "touch /workspace/go2", sessionId="looks")
    for t in threads:
        t.join()
    same({(a.status, a.json()["stdout"]) for a in got}, {(200, "done\n")}, "all get its result")
    same(sorted(a.headers.get("idempotency-replayed", "") for a in got), [""] + ["true"] * 4, "four are told")
    same(box.run(S, "cat /workspace/waited", sessionId="looks")["stdout"], "x\n", "it ran once")


def what_never_ran_may_run():
    r = begin("busy", sessionId="busy")
    # wait: the shell is busy, so this command cannot begin
    same(once("touch /workspace/ran", "never", sessionId="busy", timeoutMs=50).status, 500, "its turn did not come")
    cancel("busy")
    result(r)
    same(once("touch /workspace/ran", "never", sessionId="busy").status, 200, "the key is free, also for another body")
    ok(there("ran"), "it ran")
    same(once("", "empty").status, 400, "nor does a body that is refused take the key")
    same(once(":", "empty").status, 200, "which is free")


def an_answer_that_is_too_large_is_not_kept():
    command = "echo x >>/workspace/large; head -c 2000000 /dev/zero | tr '\\0' a"
    same(len(once(command, "large").json()["stdout"]), 2000000, "the first has it")
    a = once(command, "large")
    same((a.status, a.json()["code"]), (409, "ANSWER_NOT_KEPT"), "a repeat is told that it is not kept")
    same(box.run(S, "cat /workspace/large", sessionId="looks")["stdout"], "x\n", "and does not run")
    for i in range(200):
        once("echo %d" % i, "many%d" % i)
    same((once("echo 199", "many199").headers.get("idempotency-replayed"),
          once("echo 0", "many0").headers.get("idempotency-replayed")), ("true", None), "the oldest make room")


def others_do_not_take_a_key():
    for path, body in (("/api/execute/stream", {"command": ":"}), ("/api/execute/code", {"code": "1"}),
                       ("/api/process/start", {"command": ":"}), ("/api/git/checkout", {"repoUrl": "https://a/b"})):
        a = box.call(S, "POST", path, body, HTTP_IDEMPOTENCY_KEY="k")
        same((a.status, a.json()["context"]["validationErrors"][0]["field"]), (400, "Idempotency-Key"), path)


try:
    run([a_shell_that_exits_loses_no_output, more_output_than_an_error_holds_is_told, what_a_new_shell_keeps,
         a_process_of_its_own_is_like_the_shell, bash_says_nothing_of_what_we_kill, lines_are_counted_from_one,
         a_command_in_a_shell_is_ended_by_its_id, one_that_waits_for_its_shell_is_ended_at_once, streams_have_ids,
         code_has_ids, an_id_is_unique_while_it_runs, one_shell_alone_is_interrupted, what_is_started_in_that_moment_ends_too, a_shell_has_its_terminal,
         a_client_that_does_not_read_holds_nothing_up, a_command_ends_with_its_client_if_that_is_wanted,
         else_it_goes_on, a_key_runs_a_command_once, a_key_belongs_to_its_body, a_repeat_waits_for_the_first,
         what_never_ran_may_run, an_answer_that_is_too_large_is_not_kept, others_do_not_take_a_key])
finally:
    box.close()
