#!/usr/bin/python3
"""Tests api/execute and api/execute/stream: shells, timeouts, process trees, streams."""
import os
import re
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, eventually, new_session  # noqa: E402
from tap import ok, run, same  # noqa: E402

box = Box()
S = box.session(env={"FROM_SESSION": "yes"})
ALONE = "__DISABLE_SESSION__"


def small_answers():
    a = box.call(S, "GET", "/api/ping").json()
    same((a["success"], a["status"], a["message"]), (True, "healthy", "pong"), "ping")
    a = box.call(S, "GET", "/api/version").json()
    ok(a["success"] and a["version"] == box.ask("ping")["version"], "version is init's")
    a = box.call(S, "GET", "/")
    same((a.status, a.headers["content-type"].split(";")[0]), (200, "text/plain"), "greeting")
    same(box.call(S, "GET", "").status, 200, "greeting without the slash")
    a = box.call(S, "GET", "/api/nothing")
    same((a.status, a.json()["code"], a.json()["message"]),
         (404, "UNKNOWN_ERROR", "The requested endpoint was not found: GET api/nothing"), "an unknown route")
    a = box.call(S, "GET", "/api/execute")
    same((a.status, a.headers.get("allow")), (405, "POST"), "a wrong method says which is right")


def only_its_own_session_is_served():
    other = new_session()
    for name, params in {
        "another session's parameter": {"SL_SESSION": other},
        "another session's raw path": {"REQUEST_URI": f"/v1/sessions/{other}/api/ping"},
        "another session's path": {"SL_PATH": f"/v1/sessions/{other}/api/ping"},
        "a longer id in the raw path": {"REQUEST_URI": f"/v1/sessions/{S}x/api/ping"},
        "no raw path": {"REQUEST_URI": ""},
    }.items():
        same(box.call(S, "GET", "/api/ping", **params).status, 400, f"{name} is refused")


def an_answer_has_every_field():
    a = box.run(S, "echo out; echo err >&2; exit_code=7; (exit $exit_code)")
    same({k: a[k] for k in ("success", "exitCode", "stdout", "stderr", "sessionId")},
         {"success": False, "exitCode": 7, "stdout": "out\n", "stderr": "err\n",
          "sessionId": "default"}, "output, status and session")
    ok(a["command"].startswith("echo out") and a["timestamp"].endswith("Z")
       and a["duration"] >= 0, "command, time and duration")


def a_shell_keeps_its_state():
    box.run(S, "cd /tmp; export A=1; B=2; f() { echo \"f $1\"; }; alias g='echo alias'")
    same(box.run(S, "pwd; echo $A$B; f x; g y")["stdout"], "/tmp\n12\nf x\nalias y\n",
         "directory, variables, functions and aliases stay")
    same(box.run(S, "pwd; echo ${A-none}; echo $FROM_SESSION", sessionId="two")["stdout"],
         "/workspace\nnone\nyes\n", "another shell has its own")
    same(box.run(S, "pwd", sessionId=ALONE)["stdout"], "/workspace\n", "sessionless has none")
    same(box.run(S, "pwd; cd /; X=1", cwd="/usr", env={"A": "call"})["stdout"], "/usr\n",
         "cwd of one call")
    same(box.run(S, "echo $A; env | grep ^A=; f", env={"A": "it's", "N": None})["stdout"],
         "it's\nA=it's\nf \n", "env of one call reaches shell, children and functions")
    same(box.run(S, "pwd; echo $A")["stdout"], "/tmp\n1\n", "both are taken back")
    a = box.run(S, "echo x", cwd="/nowhere")
    same((a["exitCode"], a["stdout"], a["stderr"]),
         (1, "", "Failed to change directory to /nowhere\n"), "a cwd that is not there")
    a = box.run(S, "echo x", cwd="/nowhere", sessionId=ALONE)
    same((a["exitCode"], a["stdout"], a["stderr"]),
         (1, "", "Failed to change directory to /nowhere\n"), "nor sessionless")
    same(box.run(S, "cat; read x; echo $?")["stdout"], "1\n", "stdin is empty")


def odd_commands_do_no_harm():
    same(box.run(S, "-c echo x")["exitCode"], 127, "one that looks like an option")
    for command, want in {
        "break; continue": (0, ""),
        "echo \"a'b\\\\n\"": (0, "a'b\\n\n"),
        "echo 'two\nlines'": (0, "two\nlines\n"),
        "# only a comment": (0, ""),
        "cat <<EOF\nhere $((1+1))\nEOF": (0, "here 2\n"),
        "echo a; }; {": (2, ""),
        "if": (2, ""),
        "'": (2, ""),
        "return 3": (2, ""),
        "exec 5>&1; echo five >&5": (0, "five\n"),
        "no-such-command": (127, ""),
        "printf '\\x00\\xff\\xfe ok'": (0, "\0��ok".replace("ok", " ok")),
        "printf 'h\\xc3\\xa9'": (0, "hé"),
    }.items():
        a = box.run(S, command, sessionId="odd")
        same((a.get("exitCode"), a.get("stdout")), want, f"{command!r}")
    same(box.run(S, "echo fine", sessionId="odd")["stdout"], "fine\n", "the shell is well")
    long = "x" * 900000
    same(box.run(S, f"printf %s '{long}' | wc -c")["stdout"].strip(), "900000", "a long command")
    same(box.run(S, f"printf %s '{long}' | wc -c", sessionId=ALONE)["stdout"].strip(), "900000",
         "also sessionless")


def bad_bodies_name_the_field():
    for body, field in (({}, "command"), ({"command": 5}, "command"), ({"command": ""}, "command"),
                        ({"command": "x\0y"}, "command"),
                        ({"command": "x", "timeoutMs": "1"}, "timeoutMs"),
                        ({"command": "x", "timeoutMs": -1}, "timeoutMs"),
                        ({"command": "x", "sessionId": " "}, "sessionId"),
                        ({"command": "x", "sessionId": "y" * 200}, "sessionId"),
                        ({"command": "x", "env": []}, "env"),
                        ({"command": "x", "env": {"a-b": "c"}}, "env"),
                        ({"command": "x", "env": {"a": 1}}, "env"),
                        ({"command": "x", "cwd": 1}, "cwd"),
                        ({"command": "x", "cwd": "/" * 5000}, "cwd")):
        for path in ("/api/execute", "/api/execute/stream"):
            a = box.call(S, "POST", path, body)
            j = a.json()
            same((a.status, j["code"], j["context"]["validationErrors"][0]["field"]),
                 (400, "VALIDATION_FAILED", field), f"{path} {str(body)[:40]}")
    for name, raw in (("no JSON", b"{"), ("an array", b"[]"), ("deep", b"[" * 100000),
                      ("deep objects", b'{"a":' * 5000), ("bytes", b"\xff\xfe")):
        a = box.call(S, "POST", "/api/execute", raw=raw)
        same((a.status, a.json()["code"]), (400, "VALIDATION_FAILED"), f"a body that is {name}")
    same(box.call(S, "POST", "/api/execute", raw=b" " * 1100000).status, 413, "too large a body")
    a = box.call(S, "POST", "/api/execute", {"command": "echo $X", "unknown": 1, "cwd": None})
    same(a.status, 200, "unknown fields and nulls are ignored")


def a_cut_off_body_is_not_taken():
    r = box.request(S, "POST", "/api/execute", end=False,
                    raw=b'{"command":"touch /workspace/cut"}')
    r.sock.shutdown(1)
    r.all()
    r.close()
    same(box.run(S, "ls /workspace/cut 2>&1; true")["stdout"].count("No such file"), 1,
         "a body that was cut off runs nothing")


def a_background_child_does_not_hold_the_answer():
    # if the call waited for the child, no answer would come before the test's own limit
    for command in ("sleep 1000 & echo started", "(sleep 1000 &); echo started",
                    "setsid sleep 1000 & echo started"):
        for how in ({}, {"sessionId": ALONE}):
            same(box.run(S, command, **how)["stdout"], "started\n", f"{command} {how}")
        same([e["type"] for _, e in box.stream(S, command)], ["start", "stdout", "complete"],
             f"{command}, as a stream")
    ok(eventually(lambda: len(box.named("sleep")) == 9), "and they run on")
    box.run(S, "(while echo tick; do echo >>/workspace/ticks; sleep 0.02; done; "
               "echo dead >/workspace/dead) & echo $! >/workspace/ticker")
    def ticks():
        return int(box.run(S, "cat /workspace/ticks 2>/dev/null | wc -l")["stdout"])
    before = ticks()
    ok(eventually(lambda: ticks() > before + 10),
       "a background child prints after the answer")
    same(box.run(S, "kill -0 $(cat /workspace/ticker) && ls /workspace/dead 2>&1")["stdout"]
         .count("No such file"), 1, "what a background child prints later does not kill it")
    same(box.run(S, "echo clean")["stdout"], "clean\n", "nor shows in the next answer")
    box.run(S, "pkill sleep; kill $(cat /workspace/ticker)")


TREE = ("sleep 4001 & setsid sleep 4002 & (setsid bash -c 'sleep 4003 & disown; exec sleep 4004' &) ; "
        # wait: the command needs time to start its whole tree
        "env -i /bin/bash -c '(env -i /usr/bin/setsid /usr/bin/sleep 4005 &)' ; sleep 0.2; "
        "sleep 4006; echo never >/workspace/never")


def sleepers(session=None):
    found = []
    for pid in box.inner():
        try:
            with open(f"/proc/{pid}/cmdline") as f:
                words = f.read().split("\0")
        except OSError:
            continue
        if words[0].endswith("sleep") and words[1].startswith("40"):
            found.append(words[1])
    return found


def times_out(arrived, command, **fields):
    """Returns the answer of a command that timed out, and the limit used.  If a slow
    machine ends the command before it hangs (see `arrived`), the test tries a longer
    limit."""
    for ms in (150, 1500, 15000):  # the answer with the last limit counts
        a = box.run(S, command, timeoutMs=ms, **fields)
        if arrived(a):
            break
    return a, ms


def a_timeout_ends_the_whole_tree():
    for name, fields in (("in a shell", {}), ("sessionless", {"sessionId": ALONE})):
        # wait: the time limit ends this command on any machine
        a = box.run(S, TREE, timeoutMs=700, **fields)
        if fields:
            same((a["status"], a["exitCode"]), (200, 124), f"{name}: exit code 124")
            ok("Command timed out after 700ms" in a["stderr"], f"{name}: and says so", a)
        else:
            same((a["status"], a["code"], a["message"], a["context"]["shellReplaced"]),
                 (500, "COMMAND_EXECUTION_ERROR", "Command timeout after 700ms", False),
                 f"{name}: an error that says so")
        ok(eventually(lambda: sleepers() == []), f"{name}: nothing of it is left", sleepers())
        same(box.run(S, "ls /workspace")["stdout"].count("never"), 0, f"{name}: nor goes on")


def a_timeout_leaves_the_shell_and_the_rest():
    box.run(S, "cd /tmp; export KEEP=kept; plain=too; h() { echo func; }; alias i='echo ali'; "
               "umask 027; set -o pipefail; exec 7>/workspace/seven; sleep 4009 & me=$$",
            sessionId="keep")
    a, _ = times_out(lambda a: a["context"]["stdout"] == "in\n",
                     "cd /; echo in; while :; do :; done", sessionId="keep")
    same((a["status"], a["context"]["shellReplaced"]), (500, False), "a loop of builtins is ended")
    same(box.run(S, "pwd; echo $KEEP $plain; h; i; umask; set -o | grep -c 'pipefail.*on'; "
                    "[ $$ = $me ] && echo same; echo x >&7; cat /workspace/seven; jobs -r | wc -l",
                 sessionId="keep")["stdout"],
         "/\nkept too\nfunc\nali\n0027\n1\nsame\nx\n1\n", "the shell is the same")
    ok(eventually(lambda: sleepers() == ["4009"]), "what an earlier command started lives")
    a, _ = times_out(lambda a: a["context"]["stdout"] != "", "echo before; sleep 4008",
                     sessionId="keep")
    same((a["status"], a["context"]["stdout"]), (500, "before\n"), "output so far is told")
    a, _ = times_out(lambda a: a["context"]["stdout"] != "",
                     "trap '' TERM INT; echo deaf; sleep 4007; sleep 4007", sessionId="keep")
    same((a["status"], a["context"]["shellReplaced"]), (500, False), "traps do not help")
    # wait: this command takes milliseconds
    same(box.run(S, "echo quick", timeoutMs=60000)["stdout"], "quick\n", "in time is in time")
    box.run(S, "pkill -x sleep")


# After the first sleep of each list is killed, the rest of the list must not run.
LISTS = (
    "sleep 4010; touch wrong",
    "sleep 4010\ntouch wrong\nwhile :; do\ntouch wrong\ndone\n",
    "sleep 4010 || touch wrong; sleep 4010 && touch wrong || touch wrong",
    "if sleep 4010; then touch wrong; else touch wrong; fi",
    "until sleep 4010; do touch wrong; done; for i in 1 2; do touch wrong; done",
    "(sleep 4010; touch wrong); (touch wrong); { touch wrong; } | cat; touch wrong & wait",
    "x=$(sleep 4010; touch wrong); touch wrong$(touch wrong)",
    "f() { sleep 4010; touch wrong; }; g() { while f; do touch wrong; done; touch wrong; }; g; touch wrong",
    "eval 'eval \"sleep 4010; touch wrong\"; touch wrong'; touch wrong",
    "echo 'sleep 4010; touch wrong' >src; while :; do . ./src; touch wrong; done; touch wrong",
    "sleep 4010 & wait; touch wrong",
    "sleep 4010 | cat; { touch wrong; } | cat; ( touch wrong ) & touch wrong & wait",
    "sleep 4010; { echo; } >wrong; for i in 1; do :; done >wrong; while read x; do :; done < <(touch wrong)",
    "set -u; sleep 4010; touch wrong",
    "cat <(sleep 4010); time touch wrong; ! touch wrong",
    "trap 'touch wrong' DEBUG; trap - DEBUG; rm -f wrong; echo there; sleep 4010; touch wrong",
    "bash -c 'sleep 4010; touch wrong'; touch wrong",
    "f() { sleep 4010; }; f; for i in 1 2; do for j in 1 2; do touch wrong; done; done; touch wrong",
    "f() { sleep 4010; }; f; for ((i = 0; i < 5; i++)); do touch wrong; done; touch wrong",
    "f() { sleep 4010; }; f; while ((1)); do ((i++)); done; while [[ 1 ]]; do case x in x) ;; esac; done",
    "f() { sleep 4010; }; f; select i in 1 2; do touch wrong; done; if :; then touch wrong; fi",
)


def a_list_does_not_go_on_after_its_timeout():
    for i, command in enumerate(LISTS):
        name = f"list{i}"
        box.run(S, f"mkdir -p /workspace/{name}; cd /workspace/{name}; kept() {{ echo kept; }}; l=outer",
                sessionId=name)
        a, _ = times_out(lambda a: "echo there" not in command or a["context"]["stdout"] != "",
                         command, sessionId=name)
        same((a["status"], a.get("context", {}).get("shellReplaced")), (500, False), repr(command))
        same(box.run(S, "kept; echo $l; ls wrong; f2() { :; }; f2; (echo sub); shopt -q extdebug; echo $?",
                     sessionId=name)["stdout"], "kept\nouter\nsub\n1\n", "the rest is not done")
        box.call(S, "POST", "/api/session/delete", {"sessionId": name})
    ok(eventually(lambda: sleepers() == []), "nor anything of it left")


def a_shell_that_does_not_yield_is_replaced():
    for what, command in (("waits to open a fifo", "mkfifo /tmp/f1; read x </tmp/f1"),
                          ("reads", "mkfifo /tmp/f2; exec 9<>/tmp/f2; read x <&9"),
                          ("has become another program", "exec sleep 4011"),
                          ("does not hear us", "trap '' 44; while :; do :; done"),
                          ("is killed by us", "trap - 44; while :; do :; done"),
                          ("gives up at the first failure", "set -e; sleep 4011")):
        box.run(S, "cd /usr; export A=\"it's\nd 1\"; B=not-exported; rm -f /tmp/f1 /tmp/f2; "
                   "sleep 4012 & ", sessionId="stuck")
        a, ms = times_out(lambda a: a["context"]["shellReplaced"], command, sessionId="stuck")
        same((a["status"], a["context"]["shellReplaced"], a["context"]["sessionId"],
              a["message"].startswith(f"Command timeout after {ms}ms; the shell did not yield")),
             (500, True, "stuck", True), f"one that {what}")
        same(box.run(S, "pwd; echo \"$A\" ${B-gone}; export -p | grep -c ' A='",
                     sessionId="stuck")["stdout"],
             "/usr\nit's\nd 1 gone\n1\n", "its directory and exported variables are kept")
        ok(eventually(lambda: sleepers() == ["4012"]),
           "as is what runs in the background, and nothing else")
        box.run(S, "pkill -x sleep")
    times_out(lambda a: a["context"]["shellReplaced"], "exec sleep 4011", cwd="/etc",
              env={"A": "once"}, sessionId="stuck")
    same(box.run(S, "pwd; echo \"$A\"", sessionId="stuck")["stdout"], "/usr\nit's\nd 1\n",
         "what was for one call is not")


def one_shot_settings_end_with_their_call():
    box.run(S, "cd /usr; export A=1; f() { sleep 4013; }", sessionId="once")
    brief = {"timeoutMs": 100}  # wait: the time limit ends this command on any machine
    for command, more in (("false", {}), ("(exit 3)", {}), ("sleep 4013", brief),
                          ("cd /; while :; do A=3; done", brief), ("f", brief), ("if", {})):
        box.run(S, command, cwd="/etc", env={"A": "2", "NEW": "x"}, sessionId="once", **more)
        same(box.run(S, "pwd; echo $A ${NEW-unset}; env | grep ^A=", sessionId="once")["stdout"],
             "/usr\n1 unset\nA=1\n", f"after {command!r} {more}")


def a_fork_bomb_is_ended_by_its_timeout():
    bomb = "f() { f | f & }; f; sleep 4000"
    # wait: the time limit ends this command on any machine
    a = box.run(S, bomb, timeoutMs=500, sessionId="bomb")
    same(a["status"], 500, "a fork bomb is ended by its timeout")
    same(box.run(S, "echo well", sessionId="after")["stdout"], "well\n", "and the session is well")


def a_dead_shell_is_told_once():
    a = box.run(S, "exit 42", sessionId="dies")
    told = a.get("context", {})
    same((a["status"], a["code"], told.get("sessionId"), told.get("exitCode")),
         (410, "SESSION_TERMINATED", "dies", 42), "exit ends the shell")
    same(box.run(S, "echo new", sessionId="dies")["stdout"], "new\n", "the next call has a fresh one")
    pid = box.run(S, "echo $$", sessionId="dies")["stdout"].strip()
    box.run(S, f"kill -9 {pid}")
    a = box.run(S, "echo x", sessionId="dies")
    same((a["status"], a["context"]["exitCode"]), (410, 137), "one that was killed between calls")
    ok("signal 9" in a["message"], "which signal is told", a["message"])
    same(box.run(S, "echo new", sessionId="dies")["stdout"], "new\n", "and then a fresh one")


def signal(name):
    """Creates the file that a command waits for."""
    with open(os.path.join(box.dir, "storage", S, "workspace", name), "w"):
        pass


def one_shell_is_serial_others_are_not():
    out = []
    def late():
        out.append(box.run(S, "echo two >>/workspace/order", sessionId="serial"))
    r = box.request(S, "POST", "/api/execute",
                    {"command": "touch begun; until [ -e go ]; do sleep 0.02; done; echo one >>order",
                     "sessionId": "serial", "cwd": "/workspace"})
    ok(eventually(lambda: box.run(S, "test -e /workspace/begun", sessionId="parallel")
                  ["exitCode"] == 0), "another shell does not wait for it")
    t = threading.Thread(target=late)
    t.start()
    # wait: this command waits for its shell, which is busy until signal()
    a = box.run(S, "echo x", sessionId="serial", timeoutMs=50)
    same((a["status"], a["message"]), (500, "Command timeout after 50ms"),
         "waiting for one's turn counts")
    ok(eventually(lambda: box.forward("status", S)["running"] == 2), "one runs, one waits")
    signal("go")
    r.all()
    t.join()
    same(box.run(S, "cat /workspace/order")["stdout"], "one\ntwo\n", "in order")


def output_is_bounded():
    for how in ({}, {"sessionId": ALONE}):
        a = box.run(S, "head -c 40000000 /dev/zero | tr '\\0' a; echo end >&2", **how)
        same((len(a["stdout"]), a.get("truncated"), a["stderr"], a["exitCode"]),
             (32 << 20, True, "end\n", 0), f"more than 32 MiB are cut off {how}")
    ok("truncated" not in box.run(S, "head -c 11000000 /dev/zero | tr '\\0' a"), "less are not")


def a_stream_comes_line_by_line():
    # the command prints each piece only after the test has read the piece before
    after = {"one\n": "1", "two\n": "2", "thr": "3", "h\ufffd": "4"}
    events = []
    for _, e in box.stream(S, "w() { until [ -e /workspace/w$1 ]; do sleep 0.02; done; }; "
                              "echo one; w 1; echo two >&2; w 2; printf thr; w 3; printf 'ee\\n'; "
                              "printf 'h\\xc3'; w 4; printf '\\xa9'; exit 3"):
        events.append(e)
        if e.get("data") in after:
            signal("w" + after[e["data"]])
    kinds = [e["type"] for e in events]
    same((kinds[0], kinds[-1], events[-1]["exitCode"]), ("start", "complete", 3),
         "start first, complete last")
    data = [(e["type"], e["data"]) for e in events if "data" in e]
    same(data, [("stdout", "one\n"), ("stderr", "two\n"), ("stdout", "thr"), ("stdout", "ee\n"),
                ("stdout", "h\ufffd"), ("stdout", "\ufffd")],
         "lines when they are whole, pieces after a while, of characters too")


def a_stream_inherits_and_changes_nothing():
    box.run(S, "cd /usr; export V=v; w=w; k() { echo k; }", sessionId="st")
    data = [e["data"] for _, e in box.stream(S, "pwd; echo $V$w; k; cd /; export V=x; exit 5",
                                             sessionId="st") if "data" in e]
    same("".join(data), "/usr\nvw\nk\n", "directory, variables and functions are inherited")
    same(box.run(S, "pwd; echo $V", sessionId="st")["stdout"], "/usr\nv\n", "and not changed")
    data = [e["data"] for _, e in box.stream(S, "echo $PWD; echo $V", sessionId="st", cwd="lib",
                                             env={"V": "once"}) if "data" in e]
    same("".join(data), "/usr/lib\nonce\n", "cwd and env of one call")


def a_stream_with_a_timeout():
    # wait: the time limit ends this command on any machine
    events = [e for _, e in box.stream(S, "echo x; " + TREE, timeoutMs=700)]
    same([e["type"] for e in events][-2:], ["error", "complete"], "an error, then complete")
    same((events[-2]["error"], events[-2]["data"], events[-1]["exitCode"]),
         ("Command timeout after 700ms", "Command timeout after 700ms", 124), "with words and 124")
    ok(eventually(lambda: sleepers() == []), "nothing of it is left", sleepers())


def a_client_that_does_not_read_has_no_more_time():
    body = {"command": "exec yes 4031.031",
            "timeoutMs": 500}  # wait: the time limit ends this command on any machine
    r = box.request(S, "POST", "/api/execute/stream", body)
    mark = b"4031.031"

    def runs():
        found = []
        for pid in box.inner():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    found += [pid] if mark in f.read().split(b"\0") else []
            except OSError:
                pass
        return found
    ok(eventually(runs), "it writes more than anybody reads")
    ok(eventually(lambda: not runs()), "and ends when its time is over")
    kinds = re.findall(rb'"type":"(error|complete)"', r.all().body)
    same(kinds, [b"error", b"complete"], "who reads at last is told")
    r.close()


def a_client_that_leaves_ends_the_stream_only():
    r = box.request(S, "POST", "/api/execute/stream",
                    {"command": "for i in $(seq 40); do echo $i; sleep 0.05; done; "
                                "echo done >/workspace/finished"})
    r.until(b'"1\\n"')
    r.close()
    ok(eventually(lambda: box.forward("status", S)["streams"] == 0), "the stream is over")
    ok(os.path.exists(os.path.join(box.dir, "storage", S, "workspace")) and
       eventually(lambda: os.path.exists(
           os.path.join(box.dir, "storage", S, "workspace", "finished"))), "the command is not")


def a_silent_stream_has_a_heartbeat():
    r = box.request(S, "POST", "/api/execute/stream", {
        "command": "until [ -e /workspace/beat ]; do sleep 0.1; done; echo after"})
    text = r.until(b": ka\n\n")
    signal("beat")
    text += b"".join(iter(r.read, None))
    ok(0 < text.find(b": ka\n\n") < text.find(b"after\\n"), "a silent stream has a heartbeat", text)


def many_at_once():
    results = []
    def one(i):
        # wait: each command sleeps, so that many run at once
        results.append(box.run(S, f"sleep 0.5; echo {i}", sessionId=ALONE)["stdout"] == f"{i}\n")
    threads = [threading.Thread(target=one, args=(i,)) for i in range(40)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    same((len(results), all(results)), (40, True), "40 commands at once")


def too_many_shells_are_refused():
    s = box.session(pids=400)
    codes = [box.run(s, "true", sessionId=f"n{i}")["status"] for i in range(128)]
    same(codes, [200] * 128, "128 shells")
    more = (("session/create", {"id": "more"}),
            ("execute", {"command": "true", "sessionId": "more"}),
            ("execute/stream", {"command": "true", "sessionId": "more"}))
    for path, body in more:
        a = box.call(s, "POST", "/api/" + path, body)
        same((a.status, a.json()["code"], "128" in a.json()["message"]),
             (429, "TOO_MANY_SESSIONS", True), f"and no more: {path}")
    for name, how in (("deleted", ("session/delete", {"sessionId": "n7"})),
                      ("ended", ("execute", {"command": "exit 3", "sessionId": "more"}))):
        box.call(s, "POST", "/api/" + how[0], how[1])
        same(box.call(s, "POST", "/api/session/create", {"id": "more"}).status, 200,
             f"one that was {name} leaves room")
    box.ask("kill", session=s, waitMs=10000)


try:
    run([small_answers, only_its_own_session_is_served, an_answer_has_every_field,
         a_shell_keeps_its_state, odd_commands_do_no_harm, bad_bodies_name_the_field,
         a_cut_off_body_is_not_taken, a_background_child_does_not_hold_the_answer,
         a_timeout_ends_the_whole_tree, a_timeout_leaves_the_shell_and_the_rest,
         a_list_does_not_go_on_after_its_timeout, a_shell_that_does_not_yield_is_replaced,
         one_shot_settings_end_with_their_call,
         a_fork_bomb_is_ended_by_its_timeout, a_dead_shell_is_told_once,
         one_shell_is_serial_others_are_not, output_is_bounded, a_stream_comes_line_by_line,
         a_stream_inherits_and_changes_nothing, a_stream_with_a_timeout,
         a_client_that_does_not_read_has_no_more_time,
         a_client_that_leaves_ends_the_stream_only,
         a_silent_stream_has_a_heartbeat, many_at_once, too_many_shells_are_refused])
finally:
    box.close()
