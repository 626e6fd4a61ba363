#!/usr/bin/python3
"""Tests the one call through nginx: it makes a session, runs, keeps what is left and deletes it."""
import base64
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from executions import ended, how, logs, post, result, start
from service import at, call, create, execute, expect, get, new_key, problem, until, value
from tap import case, equal, run, true

service.begin(conf="artifact_mb = 1\nquota_artifact_mb = 40", egress=True)

ARTIFACTS = os.path.join(service.setting("STACK_STATE"), "data/artifacts")
STRANGER = new_key("elsewhere", "mallory")
READER = new_key("demo", "reader", "--scope", "read")
ADMIN = new_key("demo", "boss", "--scope", "admin")


def once(wait=20, key=None, path="/v1/executions", **body):
    body.setdefault("agentType", "VALIDATION")
    return call("POST", "%s?wait=%d" % (path, wait), body, key=key)


def ran(**body):
    return ended(expect(202, once(**body)).json)


def gone(x):
    """Its session was deleted, which may take a moment after the answer."""
    until("the session is deleted", lambda: get(x["sessionId"])["state"] == "deleted")
    return get(x["sessionId"])


def artifacts(x, key=None):
    return expect(200, call("GET", "/v1/executions/%s/artifacts" % x["id"],
                            key=key)).json["artifacts"]


def content(x, query, key=None):
    return call("GET", "/v1/executions/%s/artifacts?%s" % (x["id"], query), key=key)


@case
def one_call_does_it_all():
    x = expect(202, once(command="echo out; echo err >&2; mkdir -p dist/a; echo js >dist/a/b.js; "
                         "echo top >dist/t; echo no >other", collect=["dist/**"])).json
    equal(how(x), ("succeeded", 0, None), "it has ended")
    equal((x["cleanup"], x["agentType"]), ("on_completion", "VALIDATION"), "as asked")
    session = gone(x)
    equal((session["reason"], session["agentType"], session["cleanup"]),
          ("completed", "VALIDATION", "on_completion"), "the session")
    equal((logs(x), logs(x, "stdout"), logs(x, "stderr")), ("out\nerr\n", "out\n", "err\n"),
          "its output is kept")
    equal([(a["kind"], a["path"]) for a in artifacts(x)],
          [("log", None), ("file", "dist/a/b.js"), ("file", "dist/t")], "and its files")
    for a, text in zip(artifacts(x), ("out\nerr\n", "js\n", "top\n")):
        equal((a["bytes"], a["sha256"]),
              (len(text), hashlib.sha256(text.encode()).hexdigest()), "size and hash")
    r = expect(200, content(x, "path=dist/a/b.js"))
    equal((r.body, r.header("content-disposition"), r.header("x-content-type-options")),
          (b"js\n", "attachment; filename*=UTF-8''b.js", "nosniff"), "as an attachment")
    equal(expect(200, content(x, "kind=log")).body, b"out\nerr\n", "all output")
    equal(x["artifacts"], {"files": 2, "bytes": x["artifacts"]["bytes"], "error": None}, "summary")
    problem(content(x, "path=other"), 404, "artifact_not_found")
    problem(content(x, "path="), 400, None, "path")
    problem(content(x, "kind=times"), 400, None, "kind")


@case
def a_client_need_not_wait():
    x = expect(202, once(wait=0, command="echo later")).json
    true(x["state"] in ("queued", "running"), x)
    equal((how(ended(x)), logs(x)), (("succeeded", 0, None), "later\n"), "its result")
    gone(x)
    # nobody asks: the reaper takes the result, and cleans up
    x = expect(202, once(wait=0, command="echo alone")).json
    until("the reaper ends it", lambda: service.reap()[0] == 0 and value(
        "SELECT state FROM session WHERE id = :'v1'", x["sessionId"]) == "deleted")
    equal(logs(ended(x)), "alone\n", "its output")


@case
def the_context_is_a_file():
    x = ran(command='cat .sandlease/context.json; echo; env | grep ^SANDLEASE_ | sort',
            context={"goal": "größer", "n": [1, 2]}, taskId="task-ctx", env={"A": "b"},
            collect=["**"])
    text = logs(x).split("\n")
    equal(json.loads(text[0]), {"goal": "größer", "n": [1, 2]}, "the file")
    names = dict(line.split("=", 1) for line in text[1:] if "=" in line)
    equal((names["SANDLEASE_EXECUTION_ID"], names["SANDLEASE_TASK_ID"],
           names["SANDLEASE_AGENT_TYPE"], names["SANDLEASE_CONTEXT"]),
          (x["id"], "task-ctx", "VALIDATION", "/workspace/.sandlease/context.json"), "environment")
    equal([a["kind"] for a in artifacts(x)], ["log"], "it is not collected")
    # {taskId, agentType, context}, as another client sends it
    x = expect(202, once(path="/api/agents/execute", taskId="task-agents",
                         context={"command": "echo from the context"})).json
    equal(logs(x), "from the context\n", "its command")
    again = expect(200, once(path="/api/agents/execute", taskId="task-agents",
                             context={"command": "echo from the context"})).json
    equal(again["id"], x["id"], "the same task")
    problem(once(taskId="task-agents", context={"command": "other"}), 409, "idempotency_mismatch")
    problem(once(context={"x": 1}), 400, None, "command")
    problem(once(context={"command": 1}), 400, None, "context.command")
    problem(once(context=[1], command="true"), 400, None, "context")


@case
def a_profile_may_have_the_command():
    expect(201, call("PUT", "/v1/profiles/GREETER", {"limits": {"wallSeconds": 20},
                                                     "command": "echo hello; pwd"}, key=ADMIN))
    equal(expect(200, call("GET", "/v1/profiles/GREETER")).json["command"], "echo hello; pwd",
          "it is shown")
    x = ran(agentType="GREETER", context={})
    equal((logs(x), x["limits"]["wallSeconds"]), ("hello\n/workspace\n", 20), "it runs")
    problem(once(agentType="GREETER", key=STRANGER), 400, None, "command")
    problem(once(agentType="NOBODY", command="true"), 400, None, "agentType")
    problem(call("POST", "/v1/executions", {"command": "true"}), 400, None, "agentType")
    sid = create()["id"]
    problem(post(sid, command="true", agentType="NOBODY"), 400, None, "agentType")


@case
def secret_files_are_nowhere_afterwards():
    secret = "hunter2-" + os.urandom(8).hex()
    x = expect(202, once(
        wait=0, cleanup="keep", collect=["**"], correlationKeys=["secret-files"],
        command="stat -c %a key; cat key | wc -c; cp plain copy; until [ -e go ]; do sleep 0.05; done",
        files=[{"path": "key", "content": secret, "secret": True},
               {"path": "sub/key2", "contentBase64": base64.b64encode(secret.encode()).decode(),
                "secret": True},
               {"path": "plain", "content": "plain", "mode": "0640"}])).json
    sid = x["sessionId"]
    until("it runs", lambda: execute(sid, "cat copy || true") == "plain")
    equal(execute(sid, "cat sub/key2; stat -c %a plain"), secret + "640\n", "files")
    # a snapshot that is taken meanwhile does not have them
    shot = expect(201, call("POST", at(sid, "/snapshots?wait=30"), {})).json
    copy = create(snapshot=shot["id"])["id"]
    equal(execute(copy, "ls -A . sub").split(), [".:", "copy", "plain", "sub", "sub:"],
          "what the snapshot has")
    true(secret not in execute(copy, "grep -r . /workspace /home/user 2>/dev/null"),
         "no secret in the snapshot")
    execute(sid, "touch go")
    x = ended(x)
    equal(logs(x), "600\n%d\n" % len(secret), "mode and size")
    equal(execute(sid, "ls key sub/key2 2>&1 | grep -c 'No such'"), "2\n", "removed")
    equal(sorted(a["path"] for a in artifacts(x) if a["kind"] == "file"), ["copy", "go", "plain"],
          "not collected")
    for place in ("execution", "event", "artifact", "session"):
        equal(value("SELECT count(*) FROM %s t WHERE t::text LIKE '%%' || :'v1' || '%%'" % place,
                    secret), "0", "not in table " + place)
    logs_dir = os.path.join(service.setting("STACK_STATE"), "log")
    true(os.listdir(logs_dir), "there are logs")
    for folder, _, names in [*os.walk(ARTIFACTS), *os.walk(logs_dir)]:
        for n in names:
            with open(os.path.join(folder, n), "rb") as f:
                true(secret.encode() not in f.read(), n)
    for wrong, field in (({"path": "a", "content": "x", "secret": 1}, "files[0].secret"),
                         ({"path": "a", "content": "x", "secret": True, "mode": "0644"},
                          "files[0].mode"),
                         ({"path": "/proc/x", "content": "x"}, "files[0].path"),
                         ({"path": "/etc/x", "content": "x"}, "files[0].path")):
        problem(once(command="true", files=[wrong]), 400, None, field)
    # one that cannot be written is a failure that names it
    x = ran(command="true", files=[{"path": "/workspace/d/x", "content": ""},
                                   {"path": "/tmp/ok", "content": ""}])
    equal(how(x), ("succeeded", 0, None), "parents are made")


@case
def a_killed_wrapper_leaves_no_secret_behind():
    before = set(service.wrappers())
    sid = create()["id"]
    (wrapper,) = set(service.wrappers()) - before
    x = start(sid, command="cat key; sleep 1000", maxRetries=0,
              files=[{"path": "key", "content": "s3cret", "secret": True}])
    until("it runs", lambda: execute(sid, "cat key || true") == "s3cret")
    os.kill(wrapper, 9)
    equal(ended(x)["state"], "lost", "no attempt is left")
    equal(execute(sid, "ls -A /workspace"), "", "the next wrapper removes it")


@case
def keys_lead_to_the_same_session():
    first = ran(command="echo one >>log; cat log", correlationKeys=["pr-1"], cleanup="keep")
    second = ran(command="echo two >>log; cat log", correlationKeys=["pr-1"])
    equal((first["sessionId"] == second["sessionId"], logs(second)), (True, "one\ntwo\n"), "found")
    equal(get(first["sessionId"])["state"], "ready", "and kept")
    expect(200, call("POST", at(first["sessionId"], "/sleep"), {}))
    third = ran(command="cat log", correlationKeys=["pr-1"], cleanup="on_completion",
                agentType="TEST_WRITER", limits={"wallSeconds": 5})
    equal((logs(third), third["limits"]["wallSeconds"]), ("one\ntwo\n", 5), "resumed")
    gone(third)
    fourth = ran(command="ls", correlationKeys=["pr-1"])
    true(fourth["sessionId"] != first["sessionId"], "a new one after that")
    # made for executions: it goes with the last of them
    # wait: so that the second one finds the session
    a = expect(202, once(wait=0, command="sleep 0.5; echo a", correlationKeys=["pr-2"])).json
    b = expect(202, once(wait=0, command="echo b", correlationKeys=["pr-2"])).json
    equal(a["sessionId"], b["sessionId"], "both in one session")
    equal([how(ended(x)) for x in (a, b)], [("succeeded", 0, None)] * 2, "both ran")
    gone(a)
    # a session that was there before is not deleted by default
    sid = create(correlationKeys=["pr-3"])["id"]
    x = ran(command="true", correlationKeys=["pr-3"])
    equal((x["sessionId"], x["cleanup"], get(sid)["state"]), (sid, "keep", "ready"), "it stays")


@case
def limits_and_network_are_the_sessions_too():
    x = ran(command="true", limits={"memoryMb": 128, "networkRequests": 3}, cleanup="keep",
            network={"mode": "none"})
    s = get(x["sessionId"])
    equal((s["limits"]["memoryMb"]["value"], s["network"]["mode"], x["limits"]["memoryMb"]),
          (128, "none", 128), "limits")
    true("networkRequests" not in x["limits"] and x["usage"]["networkRequests"] == 0, x)
    problem(once(command="true", limits={"memoryMb": 1 << 20}), 400, None, "limits.memoryMb")
    problem(once(command="true", network={"mode": "x"}), 400, None, "network.mode")
    problem(once(command="true", **{"class": "small"}), 400, None, "class")
    problem(once(command="true", isolation="session", **{"class": "nope"}), 400, None, "class")
    problem(once(command="true", cleanup="never"), 400, None, "cleanup")
    for pattern in ("/etc/*", "a[b]", "", "..", "../x", "a/../../x", "./../x", "a/.."):
        problem(once(command="true", collect=[pattern]), 400, None, "collect")
    x = ran(command="mkdir ..a; touch ..a/b..", collect=["..a/*.."])
    equal([a["path"] for a in artifacts(x) if a["kind"] == "file"], ["..a/b.."], "a name, no part")


@case
def what_is_too_much_is_not_kept_and_told():
    x = ran(command="echo hi; head -c 700000 /dev/urandom >a; head -c 700000 /dev/urandom >b; "
            "mkfifo fifo; ln -s /etc/passwd link; ln -s /proc/self/environ env", collect=["*"])
    equal(how(x), ("succeeded", 0, None), "it succeeded all the same")
    equal(x["artifacts"]["files"], 1, "one fits")
    true("too many bytes" in x["artifacts"]["error"], x["artifacts"])
    equal(logs(x), "hi\n", "the output is kept")
    x = ran(command="for i in $(seq 1005); do echo $i >f$i; done", collect=["f*"])
    equal(x["artifacts"]["files"], 1000, "not more than 1000")
    true("1000 files" in x["artifacts"]["error"], x["artifacts"])
    # more output than is kept: the newest
    x = ran(command="seq 1500000")
    text = expect(200, content(x, "kind=log")).body
    true(text.endswith(b"1499999\n1500000\n") and 8 << 20 >= len(text) > (8 << 20) - 100, len(text))
    r = expect(200, call("GET", "/v1/executions/%s/logs" % x["id"])).json
    total = sum(len(str(n)) + 1 for n in range(1, 1500001))
    equal((r["offset"], r["droppedBytes"]), (total - len(text),) * 2, "dropped")
    equal(r["output"][0]["data"].encode(), text[:len(r["output"][0]["data"])], "its beginning")


@case
def an_org_keeps_no_more_than_its_quota():
    sid = create(key=STRANGER)["id"]
    states = []
    for _ in range(7):
        x = expect(202, call("POST", at(sid, "/executions?wait=30"),
                             {"command": "head -c 8000000 /dev/urandom | base64 -w0"},
                             key=STRANGER)).json
        states.append(bool(ended(x, key=STRANGER)["artifacts"]["error"]))
    equal(states, [False] * 4 + [True] * 3, "40 MB")
    equal(ran(command="echo fine")["artifacts"]["error"], None, "others keep theirs")


@case
def the_output_can_be_replayed():
    # wait: so that the halves of a character come apart, and times differ
    x = ran(command="printf 'gr\\303'; sleep 0.3; printf '\\274n\\n'; echo err >&2; sleep 0.2; echo end >&2")
    r = expect(200, call("GET", "/v1/executions/%s/recording" % x["id"]))
    equal(r.header("content-type"), "application/x-asciicast", "type")
    lines = [json.loads(line) for line in r.body.decode().splitlines()]
    equal((lines[0]["version"], lines[0]["width"] > 0, lines[0]["height"] > 0), (2, True, True),
          "header")
    # wait: it was made just now, and a slow machine has ten minutes
    true(abs(lines[0]["timestamp"] - time.time()) < 600 and lines[0]["title"].startswith("printf"),
         lines[0])
    equal("".join(e[2] for e in lines[1:]), "grün\r\nerr\r\nend\r\n", "text")
    true(all(e[1] == "o" for e in lines[1:]), lines)
    with tempfile.NamedTemporaryFile(suffix=".cast") as f:
        f.write(r.body)
        f.flush()
        played = subprocess.run(["script", "-qec", "asciinema play -s 100 " + f.name, "/dev/null"],
                                stdin=subprocess.DEVNULL, capture_output=True, check=True,
                                start_new_session=True, env=dict(os.environ, LC_ALL="C.UTF-8"))
        true("grün\r\nerr\r\nend" in played.stdout.decode(), "a player shows it: %r" % played)
    times = [e[0] for e in lines[1:]]
    true(times == sorted(times) and 0.4 <= times[-1] < 20, times)
    # wait: so that it still runs
    runs = expect(202, once(wait=0, command="sleep 2")).json
    problem(call("GET", "/v1/executions/%s/recording" % runs["id"]), 409, "execution_runs")
    empty = ran(command="true")
    equal(expect(200, call("GET", "/v1/executions/%s/recording" % empty["id"])).body.count(b"\n"), 1,
          "no output: a header")
    ended(runs)


def stream(path, last=None, key=None):
    """Events of a stream to its end; a redirect is followed, as a browser does."""
    headers = {"Last-Event-ID": last} if last else {}
    r = call("GET", path, headers=headers, key=key)
    if r.status == 307:
        r = call("GET", r.header("location"), headers=headers, key=key)
    expect(200, r)
    equal(r.header("content-type"), "text/event-stream", "type")
    events = []
    for block in r.body.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "data" in fields:
            events.append((fields["id"], json.loads(fields["data"])))
    return events


@case
def a_character_that_comes_in_halves_is_one():
    # wait: so that the halves are read one by one, also on a slow machine
    command = r"printf 'a\xc3'; sleep 4; printf '\xbc\n'"
    sid = create()["id"]
    live = stream("/v1/executions/%s/stream" % start(sid, command=command)["id"])
    equal([(n, e.get("data")) for n, e in live], [("1.1", "a"), ("1.4", "\u00fc\n"), ("1.4", None)],
          "as a stream while it runs")
    x = start(sid, command=command)
    path = "/v1/executions/%s/stream" % x["id"]
    first = until("half of it", lambda: [r for r in [expect(200, call(
        "GET", "/v1/executions/%s/logs" % x["id"])).json] if r["output"]])[0]
    equal((first["output"], first["next"]), ([{"stream": "stdout", "data": "a"}], 1), "the first half")
    r = expect(200, call("GET", "/v1/executions/%s/logs?offset=1&wait=10" % x["id"])).json
    equal([o["data"] for o in r["output"]][0][:1], "\u00fc", "the rest is waited for: %r" % r)
    text = lambda s: "".join(e.get("data", "") for _, e in s)
    ended(x)
    equal((text(stream(path)), logs(x)), ("a\u00fc\n",) * 2, "and afterwards")
    equal(text(stream(path, last="1.1")), "\u00fc\n", "a client that comes back there")


@case
def the_output_is_a_stream():
    sid = create()["id"]
    x = start(sid, command="for i in 1 2 3; do echo $i; echo e$i >&2; sleep 0.2; done; exit 4")
    path = "/v1/executions/%s/stream" % x["id"]
    live = stream(path)
    text = "".join(e["data"] for _, e in live if e["type"] == "stdout")
    equal((text, live[-1][1]), ("1\n2\n3\n", {"type": "end", "state": "failed", "exitCode": 4}),
          "while it runs")
    true(len(live) >= 3, live)
    ended(x)
    kept = stream(path)
    equal([("".join(e["data"] for _, e in s if e["type"] == t)) for s in (live, kept)
           for t in ("stdout", "stderr")], ["1\n2\n3\n", "e1\ne2\ne3\n"] * 2, "and afterwards")
    equal((kept[-1][1], kept[-1][0]), (live[-1][1], live[-1][0]), "the same end")
    middle = live[0][0]
    again = stream(path, last=middle)
    both = lambda s: "".join(e.get("data", "") for _, e in s)
    equal(both(live[:1]) + both(again), both(live), "from the middle")
    equal(both(stream(path, last="7.3")), both(live), "an id of another attempt: all of it")
    expect(400, call("GET", path, headers={"Last-Event-ID": "x"}))
    problem(call("GET", path, key=STRANGER), 404, "execution_not_found")
    # one that waits says when to come back
    # wait: so that the next one has to
    x = start(sid, command="sleep 0.5; echo late")
    y = start(sid, command="echo after")
    equal([e for _, e in stream("/v1/executions/%s/stream" % y["id"])],
          [{"type": "stdout", "data": "after\n"}, {"type": "end", "state": "succeeded", "exitCode": 0}],
          "a stream of one that waits in the wrapper")
    ended(x)
    x = start(sid, command="sleep 1000")
    y = start(sid, command="echo never")
    r = expect(307, call("GET", "/v1/executions/%s/stream" % y["id"]))
    expect(200, call("DELETE", "/v1/executions/" + y["id"]))
    for path in r.header("location"), "/v1/executions/%s/stream" % y["id"]:
        equal([e for _, e in stream(path)], [{"type": "end", "state": "cancelled", "exitCode": None}],
              "one that was cancelled before it began: " + path)
    expect(200, call("DELETE", "/v1/executions/" + x["id"]))


@case
def others_see_nothing():
    x = ran(command="echo mine >f", collect=["f"])
    for path in ("", "/logs", "/stream", "/recording", "/artifacts", "/artifacts?path=f"):
        problem(call("GET", "/v1/executions/%s%s" % (x["id"], path), key=STRANGER), 404,
                "execution_not_found")
    expect(200, content(x, "path=f", key=READER))
    problem(once(command="true", key=READER), 403, "forbidden")
    # the same task id is another org's own
    mine = ran(command="echo a", taskId="shared-id")
    theirs = expect(202, once(command="echo b", taskId="shared-id", key=STRANGER)).json
    true(mine["id"] != theirs["id"], "two executions")
    # nor does a key of one org lead to the session of another
    kept = ran(command="true", correlationKeys=["same-key"], cleanup="keep")
    other = ended(expect(202, once(command="true", correlationKeys=["same-key"],
                                   key=STRANGER)).json, key=STRANGER)
    true(kept["sessionId"] != other["sessionId"], "two sessions")


@case
def many_calls_with_one_task_run_once():
    got, sid = [], create()["id"]
    threads = [threading.Thread(target=lambda: got.append(once(
        command="echo x", taskId="race", correlationKeys=["race"]))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    equal(sorted(r.status for r in got), [200] * 7 + [202], "one makes it")
    equal(len({r.json["id"] for r in got}), 1, "all see it")


@case
def sums_and_suggestions_follow():
    days = expect(200, call("GET", "/v1/usage/days?agentType=VALIDATION")).json["days"]
    today = time.strftime("%Y-%m-%d", time.gmtime())
    true(days[0]["day"] <= today and days[0]["executions"] >= 10, days)
    equal(sum(days[0]["states"].values()), days[0]["executions"], "each has a state")
    true(days[0]["states"]["succeeded"] > 5 and days[0]["wallMs"] > 0, days)
    equal(expect(200, call("GET", "/v1/usage/days", key=new_key("third", "x"))).json["days"], [],
          "another org's")
    for query in ("since=x", "since=2026-02-30", "since=2026-11-18T00:00:00Z", "since=%00"):
        why = problem(call("GET", "/v1/usage/days?" + query), 400, "validation_failed", "since")
        true("must be a day as 2030-01-31" in repr(why["errors"]), why)
    for query in ("limit=0", "limit=x"):
        expect(400, call("GET", "/v1/usage/days?" + query))
    s = expect(200, call("GET", "/v1/profiles/VALIDATION/suggestion")).json
    equal((s["percentile"], s["enough"]), (95, s["sampleSize"] >= 20), "honest")
    true(s["limits"]["memoryMb"] >= 64 and s["limits"]["wallSeconds"] >= 1, s)
    s = expect(200, call("GET", "/v1/profiles/ELICITATION/suggestion?percentile=50")).json
    equal((s["sampleSize"], s["enough"], set(s["limits"].values())), (0, False, {None}), "nothing")
    expect(400, call("GET", "/v1/profiles/VALIDATION/suggestion?percentile=0"))
    problem(call("GET", "/v1/profiles/NOPE/suggestion"), 404, "profile_not_found")


def in_slot(slot):
    """A line whose hash is in a slot."""
    n = 0
    while hashlib.sha256(b"slot %d\n" % n).digest()[0] != slot:
        n += 1
    return n


@case
def old_files_are_removed_and_known_ones_stay():
    # a pass looks at one slot of 256, by the clock; the clock may go on by one
    # wait: if the minute ends, the next slot's file is there
    slot = int(time.time() / 60) % 256
    a, b = in_slot(slot), in_slot((slot + 1) % 256)
    command = "echo slot %d >a; echo slot %d >b" % (a, b)
    x, y = ran(command=command, collect=["a", "b"]), ran(command="echo kept; " + command,
                                                         collect=["a"])
    files = {n: os.path.join(f, n) for f, _, names in os.walk(ARTIFACTS) for n in names}
    hashes = [hashlib.sha256(b"slot %d\n" % n).hexdigest() for n in (a, b)]
    true(all(h in files for h in hashes), "the files are there")
    for e in (x, y):
        value("WITH d AS (DELETE FROM artifact WHERE execution_id = :'v1' AND path = :'v2' "
              "RETURNING 1) SELECT count(*) FROM d", e["id"], "b")
    value("WITH d AS (DELETE FROM artifact WHERE execution_id = :'v1' AND path = 'a' "
          "RETURNING 1) SELECT count(*) FROM d", x["id"])
    for h in hashes:
        os.utime(files[h], (1, 1))
    service.reap()
    equal(expect(200, content(y, "path=a")).body, b"slot %d\n" % a, "another execution has it")
    value("WITH d AS (DELETE FROM artifact WHERE execution_id = :'v1' RETURNING 1) "
          "SELECT count(*) FROM d", y["id"])
    service.reap()
    true(not all(os.path.exists(files[h]) for h in hashes), "one that no row has is removed")
    # rows go with their age
    z = ran(command="echo z")
    value("WITH u AS (UPDATE artifact SET created_at = now() - interval '31 days' "
          "WHERE execution_id = :'v1' RETURNING 1) SELECT count(*) FROM u", z["id"])
    service.reap()
    equal((artifacts(z), expect(200, call("GET", "/v1/executions/%s/logs" % z["id"])).json["output"]),
          ([], []), "and output")
    problem(call("GET", "/v1/executions/%s/recording" % z["id"]), 410, "artifact_gone")
    equal(value("SELECT bytes = (SELECT coalesce(sum(bytes), 0) FROM artifact WHERE tenant = 'demo') "
                "FROM artifact_use WHERE tenant = 'demo'"), "t", "and the sum of the org is right")


sys.exit(run(lambda: None))
