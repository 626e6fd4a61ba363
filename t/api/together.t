#!/usr/bin/python3
"""Tests executions beside each other and beside a session that starts, ends or is kept:
secrets stay with theirs, and what was cut off is no result."""
import http.client
import os
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from executions import ended, how, logs, post, result, start
from service import (at, call, create, execute, expect, next_event, problem, until,
                     value)
from tap import PATIENCE, case, equal, run, true

service.begin(conf="quota_artifact_mb = 1")

WAITS = "touch up%d; until [ -e go%d ]; do sleep 0.02; done; "
SECRET = {"path": "tok/secret.txt", "content": "HUSH", "secret": True}


def files_of(x):
    return {a["path"] for a in expect(200, call(
        "GET", "/v1/executions/%s/artifacts" % x["id"])).json["artifacts"] if a["path"]}


def is_there(sid, name):
    return name in execute(sid, "ls").split()


# ---- secret files

@case
def a_secret_is_no_artifact_of_another_execution():
    sid = create(concurrency=2)["id"]
    b = start(sid, command=WAITS % (1, 1) + "cat tok/secret.txt", files=[SECRET])
    until("it runs", lambda: is_there(sid, "up1"))
    a = result(sid, command="echo a >a", collect=["**"])
    equal(files_of(a), {"a", "up1"}, "what is collected beside it")
    execute(sid, "touch go1")
    equal(logs(ended(b)), "HUSH", "it has it to its end")
    equal(execute(sid, "ls tok"), "", "and then nobody has")


@case
def two_may_bring_the_same_secret():
    sid = create(concurrency=2)["id"]
    xs = [start(sid, command=WAITS % (n, n) + "cat tok/secret.txt", files=[SECRET]) for n in (1, 2)]
    until("both run", lambda: is_there(sid, "up1") and is_there(sid, "up2"))
    for n, x in enumerate(xs, 1):
        execute(sid, "touch go%d" % n)
        equal((ended(x)["state"], logs(x)), ("succeeded", "HUSH"), "number %d" % n)
    equal(execute(sid, "ls tok"), "", "the last one takes it along")


@case
def a_secret_that_comes_while_a_snapshot_is_taken_is_not_in_it():
    sid = create()["id"]
    # the directory comes before the home, and takes the packer some time
    execute(sid, "mkdir a; head -c 200000000 /dev/urandom >a/large")
    taken = []
    t = threading.Thread(target=lambda: taken.append(expect(201, call(
        "POST", at(sid, "/snapshots?wait=60"), {})).json))
    t.start()
    packer = until("it is being taken", lambda: [
        p for p in service.inside() if service.command_line(p)[1:2] == [b"keep"]])[0]
    os.kill(packer, signal.SIGSTOP)
    x = start(sid, command=WAITS % (1, 1), files=[dict(SECRET, path="/home/user/secret.txt")])
    until("the secret is there", lambda: "secret" in execute(sid, "ls /home/user"))
    os.kill(packer, signal.SIGCONT)
    t.join()
    execute(sid, "touch go1")
    ended(x)
    two = create(snapshot=taken[0]["id"])["id"]
    equal(execute(two, "ls /home/user a"), "/home/user:\n\na:\nlarge\n", "what the next one gets")


# ---- a session that ends

@case
def what_was_cut_off_is_no_result_even_if_a_client_waits():
    for trap in ("", "trap 'exit 0' TERM; "):
        sid = create()["id"]
        x = start(sid, command=trap + "echo run >>runs; [ $(wc -l <runs) -gt 1 ] ||"
                  " for i in $(seq 10000); do sleep 0.1; done")
        until("it runs", lambda: is_there(sid, "runs"))
        got = []
        t = threading.Thread(target=lambda: got.append(ended(x)))
        t.start()
        until("a client waits", lambda: int(value(
            "SELECT count(*) FROM execution WHERE id = :'v1' AND state = 'running'", x["id"])))
        service.admin("drain")
        service.admin("undrain")
        t.join()
        equal((got[0]["state"], [a["state"] for a in got[0]["attempts"]]),
              ("succeeded", ["lost", "succeeded"]), "%r: %r" % (trap, got[0]))


# ---- a session that starts

@case
def a_start_that_takes_long_costs_no_attempt():
    # wait: longer than a worker stays with a start
    s = expect(202, call("POST", "/v1/sessions?wait=0", {"setup": "sleep 5"})).json
    x = start(s["id"], command="echo ran", maxRetries=0)
    equal((x["state"], x["attempts"]), ("queued", []), "it waits for the session")
    x = ended(x)
    equal((how(x), len(x["attempts"])), (("succeeded", 0, None), 1), repr(x))


# ---- output

@case
def output_that_changes_its_stream_all_the_time_can_be_read():
    sid = create()["id"]
    x = start(sid, command="/usr/bin/python3 -c '\nimport os\nfor i in range(6000):\n"
              "    os.write(1, b\"a\"); os.write(2, b\"b\")'; " + WAITS % (1, 1))
    until("it is written", lambda: is_there(sid, "up1"))
    out, offset = "", 0
    while offset < 12000:
        r = expect(200, call("GET", "/v1/executions/%s/logs?wait=10&offset=%d" % (
            x["id"], offset))).json
        true(r["next"] > offset, "the next page: %r" % r["next"])
        out, offset = out + "".join(o["data"] for o in r["output"]), r["next"]
    equal((out.count("a"), out.count("b")), (6000, 6000), "while it runs")
    execute(sid, "touch go1")
    out = logs(ended(x))
    equal((out.count("a"), out.count("b")), (6000, 6000), "and afterwards")


def events(x, last=None):
    """An open stream of an execution that runs."""
    headers = {"Authorization": "Bearer " + service.setting("SANDLEASE_API_KEY")}
    if last:
        headers["Last-Event-ID"] = last
    r = call("GET", "/v1/executions/%s/stream" % x["id"])
    equal(r.status, 307, "it runs")
    conn = http.client.HTTPConnection("127.0.0.1", service.port(), timeout=PATIENCE)
    conn.request("GET", r.header("location"), headers=headers)
    return conn, conn.getresponse()


@case
def a_stream_that_was_lost_goes_on_where_it_was():
    sid = create()["id"]
    x = start(sid, command="echo one; " + WAITS % (1, 1) + "echo two")
    conn, answer = events(x)
    while not (line := answer.readline()).startswith(b"id: "):
        true(line, "it goes on")
    last = line[len(b"id: "):].decode().strip()
    equal(next_event(answer)["data"], "one\n", "the first event")
    conn.close()
    _, answer = events(x, last)
    execute(sid, "touch go1")
    equal([next_event(answer).get("data") for _ in range(2)], ["two\n", None], "only the rest")
    equal(logs(ended(x)), "one\ntwo\n", "all of it")


@case
def output_that_was_not_kept_has_an_end():
    x = result(create()["id"], command="head -c 3000000 /dev/zero | tr '\\0' x")
    true(x["artifacts"]["error"], "there is no room for it")
    r = expect(200, call("GET", "/v1/executions/%s/logs" % x["id"])).json
    equal((r["done"], r["output"], r["droppedBytes"] > 0), (True, [], True), "nothing is left of it")


# ---- words that are no UTF-8

@case
def a_path_that_is_no_text_is_the_callers_mistake():
    for path in "/v1/triggers/%FF", "/v1/profiles/%FF", "/v1/profiles/%FF/suggestion":
        r = call("GET", path)
        true(r.status in (400, 404), "%s: %r" % (path, r))
    problem(post(create()["id"], command="true", taskId="x" * 1000), 400, "validation_failed")


sys.exit(run(lambda: None))
