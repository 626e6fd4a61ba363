#!/usr/bin/python3
"""Tests executions in a session through nginx: results, limits, output, cancellation, and
what is left when workers, wrappers or the database die."""
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from executions import ended, how, logs, post, result, start
from service import at, call, create, execute, expect, get, new_key, problem, until, value
from tap import Skip, case, equal, run, true

service.begin()

S = create()["id"]
STRANGER = new_key("elsewhere", "mallory")
READER = new_key("demo", "reader", "--scope", "read")


@case
def a_command_runs_and_tells_how_it_ended():
    x = start(S, command="echo out; echo err >&2; exit 3", agentType="VALIDATION")
    true(x["state"] in ("queued", "running", "failed"), x)
    x = ended(x)
    equal(how(x), ("failed", 3, None), "how it ended")
    equal((x["stderrTail"], x["agentType"], x["sessionId"]), ("err\n", "VALIDATION", S), "result")
    equal([(a["attempt"], a["state"]) for a in x["attempts"]], [(1, "failed")], "attempts")
    equal(x["limits"]["cpuSeconds"], 60, "the profile's limits")
    true(x["usage"]["wallMs"] >= 0 and x["usage"]["memoryPeakBytes"] > 0, x["usage"])
    true(x["createdAt"] <= x["startedAt"] <= x["endedAt"], "times")
    equal((logs(x), logs(x, "stdout"), logs(x, "stderr")), ("out\nerr\n", "out\n", "err\n"), "logs")
    equal(how(result(S, argv=["sh", "-c", "exit $1", "sh", "4"])), ("failed", 4, None), "argv")
    equal(how(result(S, command="kill -9 $$")), ("failed", 137, 9), "a signal")
    x = expect(202, post(S, wait=20, command="pwd; echo $A", cwd="/tmp", env={"A": "b"})).json
    equal((how(x), logs(x)), (("succeeded", 0, None), "/tmp\nb\n"), "one call that waits")


@case
def limits_are_held_and_told_by_name():
    for limits, command, state in (
            ({"wallSeconds": 1}, "sleep 1000", "timed_out"),
            ({"cpuSeconds": 1}, "while :; do :; done", "cpu_exceeded"),
            ({"memoryMb": 64}, "/usr/bin/python3 -c 'x = b\"x\" * (300 << 20)'",
             "memory_exceeded"),
            ({"diskMb": 10}, "head -c 30000000 /dev/zero >big; sleep 1000", "disk_exceeded")):
        x = result(S, command=command, limits=limits)
        equal(x["state"], state, repr(x))
    true(set(x["limitsBy"]) == {"memoryMb", "cpuSeconds", "wallSeconds", "pids", "diskMb"},
         x["limitsBy"])
    x = result(S, command="rm -f big; for i in $(seq 100); do sleep 5 & done; wait",
               limits={"pids": 32})
    if x["limitsBy"]["pids"] == "cgroup":
        true("fork" in x["stderrTail"] or "unavailable" in x["stderrTail"], x)
    problem(post(S, command="true", limits={"memoryMb": 1 << 20}), 400, None, "limits.memoryMb")
    problem(post(S, command="true", limits={"networkRequests": 1}), 400, None,
            "limits.networkRequests")
    problem(post(S, command="true", limits={"nope": 1}), 400, None, "limits.nope")


@case
def the_queue_is_first_in_first_out():
    sid = create()["id"]
    # wait: so that the others must wait; without it the order is the same
    all_of_them = [start(sid, command="echo %d >>order; sleep 0.02" % n) for n in range(8)]
    for x in all_of_them:
        equal(ended(x)["state"], "succeeded", "each")
    x = result(sid, command="cat order")
    equal(logs(x).split(), [str(n) for n in range(8)], "order")
    listed = expect(200, call("GET", at(sid, "/executions?limit=3"))).json
    equal(([e["id"] for e in listed["executions"]], bool(listed["nextCursor"])),
          ([x["id"]] + [e["id"] for e in reversed(all_of_them)][:2], True), "a list of them")


@case
def several_run_at_once_if_the_session_says_so():
    sid = create(concurrency=2)["id"]
    # each waits for the other
    both = [start(sid, command="touch %s; until [ -e %s ]; do sleep 0.02; done" % pair)
            for pair in (("a", "b"), ("b", "a"))]
    equal([ended(x)["state"] for x in both], ["succeeded"] * 2, "both end")
    equal(get(sid)["concurrency"], 2, "it is shown")
    expect(200, call("PATCH", at(sid), {"concurrency": 3}))
    equal(get(sid)["concurrency"], 3, "and changed")
    problem(call("PATCH", at(sid), {"concurrency": 17}), 400, None, "concurrency")


@case
def an_execution_wakes_its_session():
    sid = create()["id"]
    expect(200, call("POST", at(sid, "/sleep"), {}))
    equal(how(result(sid, command="echo x")), ("succeeded", 0, None), "it was asleep")
    equal(get(sid)["state"], "ready", "and is awake")


@case
def a_task_id_is_one_execution():
    body = {"command": "echo once >>/workspace/once", "taskId": "task-1"}
    first = expect(202, post(S, **body)).json
    again = expect(200, post(S, **body)).json
    equal(again["id"], first["id"], "the same")
    problem(post(S, command="echo other", taskId="task-1"), 409, "idempotency_mismatch")
    ended(first)
    equal(logs(result(S, command="cat /workspace/once")), "once\n", "it ran once")


@case
def an_execution_is_cancelled():
    x = start(S, command="sleep 1000")
    y = start(S, command="echo never")
    expect(200, call("DELETE", "/v1/executions/" + y["id"]))
    y = ended(y)
    equal((how(y), y["startedAt"]), (("cancelled", None, None), None), "one that waits")
    x = expect(200, call("DELETE", "/v1/executions/" + x["id"])).json
    equal(x["state"], "cancelled", "one that runs")
    equal(expect(200, call("DELETE", "/v1/executions/" + x["id"])).json["state"], "cancelled",
          "again")
    done = result(S, command="true")
    equal(expect(200, call("DELETE", "/v1/executions/" + done["id"])).json["state"],
          "succeeded", "one that has ended stays as it is")


@case
def others_see_nothing_of_it():
    x = result(S, command="echo secret")
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/logs")):
        problem(call(method, "/v1/executions/%s%s" % (x["id"], path), key=STRANGER), 404,
                "execution_not_found")
    problem(post(S, command="true", key=STRANGER), 404, "session_not_found")
    problem(call("GET", at(S, "/executions"), key=STRANGER), 404, "session_not_found")
    equal(expect(200, call("GET", "/v1/executions", key=STRANGER)).json["executions"], [], "none")
    problem(post(S, command="true", key=READER), 403, "forbidden")
    expect(200, call("GET", "/v1/executions/" + x["id"], key=READER))
    for body in ({}, {"command": "x", "argv": ["x"]}, {"command": ""}, {"argv": []},
                 {"argv": [""]}, {"command": "a\0b"}, {"command": "x", "maxRetries": 11},
                 {"command": "x", "agentType": "a b"}, {"command": "x", "env": {"A": 1}}):
        expect(400, call("POST", at(S, "/executions"), body))
    problem(call("GET", "/v1/executions/nope"), 404, "execution_not_found")
    for path in ("/v1/executions", at(S, "/executions")):
        why = problem(call("GET", path + "?state=bogus"), 400, "validation_failed", "state")
        true("queued, running, succeeded" in repr(why["errors"]), why)
    listed = expect(200, call("GET", "/v1/executions?state=succeeded")).json["executions"]
    equal((x["id"] in [y["id"] for y in listed], {y["state"] for y in listed}),
          (True, {"succeeded"}), "by state")
    for query in ("wait=x", "wait=61", "offset=-1", "stream=x"):
        expect(400, call("GET", "/v1/executions/%s/logs?%s" % (x["id"], query)))


def create_with_wrapper():
    before = set(service.wrappers())
    sid = create()["id"]
    (wrapper,) = set(service.wrappers()) - before
    return sid, wrapper


@case
def a_lost_wrapper_costs_an_attempt():
    sid, wrapper = create_with_wrapper()
    x = start(sid, command="echo run >>runs; [ $(wc -l <runs) -gt 1 ] || sleep 1000")
    until("it runs", lambda: logs_of(sid, "runs"))
    os.kill(wrapper, 9)
    x = ended(x)
    equal(how(x), ("succeeded", 0, None), "the second attempt")
    equal([(a["attempt"], a["state"]) for a in x["attempts"]], [(1, "lost"), (2, "succeeded")],
          "attempts")


@case
def a_lost_wrapper_is_seen_by_the_next_call_or_the_reaper():
    def next_call(sid):
        call("POST", at(sid, "/api/execute"), {"command": "true"})

    def reaper(_):
        service.reap()

    for sees in next_call, reaper:
        sid, wrapper = create_with_wrapper()
        x = start(sid, command="echo run >>runs; [ $(wc -l <runs) -gt 1 ] || sleep 1000")
        until("it runs", lambda: logs_of(sid, "runs"))
        os.kill(wrapper, 9)

        def tried_again():
            sees(sid)
            return value("SELECT attempt FROM execution WHERE id = :'v1'", x["id"]) == "2"
        until("another attempt", tried_again)
        equal(how(ended(x)), ("succeeded", 0, None), sees.__name__)


@case
def what_waited_in_a_lost_wrapper_stays_in_order():
    def kill(wrapper):
        os.kill(wrapper, 9)

    def drain(_):
        service.admin("drain")
        service.admin("undrain")

    for end in kill, drain:
        sid, wrapper = create_with_wrapper()
        all_of_them = [start(sid, command="[ -e once ] || { touch once; sleep 1000; }; echo 0 >>order")]
        all_of_them += [start(sid, command="echo %d >>order" % n) for n in range(1, 6)]
        until("it runs", lambda: "once" in execute(sid, "ls"))
        end(wrapper)
        for x in reversed(all_of_them):
            equal(ended(x)["state"], "succeeded", end.__name__)
        equal(logs_of(sid, "order").split(), [str(n) for n in range(6)], end.__name__)


def logs_of(sid, name):
    return call("POST", at(sid, "/api/execute"), {"command": "cat " + name}).json.get("stdout")


def await_journal(sid, x):
    """Waits until the wrapper has written the end of the first attempt."""
    path = "/home/user/.local/state/sandlease/executions/%s.1.json" % x["id"]
    until("the journal has its end", lambda: '"state":"ended"' in (logs_of(sid, path) or ""))


@case
def a_result_that_nobody_has_asked_for_is_found_after_the_wrapper_is_lost():
    sid, wrapper = create_with_wrapper()
    x = start(sid, command="echo run >>runs")
    await_journal(sid, x)
    os.kill(wrapper, 9)
    x = ended(x)
    equal((how(x), len(x["attempts"])), (("succeeded", 0, None), 1), "the first attempt's")
    equal(logs_of(sid, "runs"), "run\n", "it was not run again")


@case
def many_may_wait_for_one_execution():
    x = start(S, command="sleep 1.5; echo done")  # wait: so that all of them wait
    got = []
    threads = [threading.Thread(target=lambda: got.append(ended(x))) for _ in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    equal([g["state"] for g in got], ["succeeded"] * 12, "each gets the end")


@case
def a_frozen_session_stands_still():
    sid = create()["id"]
    x = start(sid, command="for i in 1 2 3; do echo $i; sleep 0.3; done")
    if service.setting("CGROUP") == "none":
        raise Skip("nothing can be frozen")
    expect(200, call("POST", at(sid, "/sleep"), {"suspend": True}))
    true(get(sid)["suspended"], "it is frozen")
    frozen = expect(200, call("GET", "/v1/executions/" + x["id"])).json
    equal(frozen["endedAt"], None, "it has not ended")
    expect(200, call("POST", at(sid, "/resume")))
    equal((how(ended(x)), logs(x)), (("succeeded", 0, None), "1\n2\n3\n"), "and goes on")


@case
def the_reaper_takes_results_that_nobody_asks_for():
    x = start(S, command="echo quiet")
    until("it has ended", lambda: service.reap()[0] == 0 and value(
        "SELECT state FROM execution WHERE id = :'v1'", x["id"]) == "succeeded")
    equal(ended(x)["attempts"][0]["state"], "succeeded", "in one attempt")


@case
def workers_and_the_database_may_die_meanwhile():
    sid = create()["id"]
    x = start(sid, command="for i in $(seq 60); do echo tick $i; sleep 0.1; done")
    y = start(sid, command="echo after >>order")
    for _ in range(2):
        for pid in service.workers():
            os.kill(pid, 9)
        # wait: the workers die in the middle of the run
        time.sleep(0.5)
    service.stack("pg_stop")
    # wait: as long as the database is away
    time.sleep(3)
    service.stack("pg_start")
    until("the service is back", lambda: call("GET", "/v1/health").status == 200)
    x, y = ended(x), ended(y)
    equal([(how(e), len(e["attempts"])) for e in (x, y)], [(("succeeded", 0, None), 1)] * 2, "both")
    equal(logs(x), "".join("tick %d\n" % i for i in range(1, 61)), "all output")
    equal(logs_of(sid, "order"), "after\n", "and each ran once")


@case
def a_deleted_session_cancels_what_it_has_and_its_output_stays():
    for method, path, why in (("DELETE", "", "the session was deleted"),
                              ("POST", "/sleep", "the session was put to sleep")):
        sid = create()["id"]
        x = start(sid, command="echo said; echo left >f; echo err >&2; sleep 1000",
                  collect=["f"])
        y = start(sid, command="echo never >>/workspace/f")
        until("it has begun", lambda: b"err" in call("GET", "/v1/executions/%s/logs" % x["id"]).body)
        expect(200, call(method, at(sid, path)))
        for e in (x, y):
            e = ended(e)
            equal((e["state"], e["reason"]), ("cancelled", why), e)
        x, y = ended(x), ended(y)
        equal((logs(x), x["stderrTail"], x["artifacts"]["files"]), ("said\nerr\n", "err\n", 1), x)
        true(x["usage"]["wallMs"] > 0, x["usage"])
        equal((y["startedAt"], logs(y)), (None, ""), "the other has never begun")


@case
def an_end_that_nobody_saw_has_its_own_time():
    # wait: as long as it takes, which is told
    x = start(S, command="echo 0123456789; sleep 0.3")
    equal(value("SELECT state IN ('queued', 'running') FROM execution WHERE id = :'v1'", x["id"]),
          "t", "nobody has asked")
    await_journal(S, x)
    # wait: so that the end lies well before the question
    time.sleep(3)
    x = ended(x)
    since, took, ago = map(float, value(
        "SELECT concat_ws(' ', extract(epoch FROM ended_at - created_at),"
        " extract(epoch FROM ended_at - started_at), extract(epoch FROM clock_timestamp() - ended_at))"
        " FROM execution WHERE id = :'v1'", x["id"]).split())
    true(since >= 0.3 and took > 0 and ago >= 3,
         "it took %s of %s, and that was %s ago" % (took, since, ago))
    # wait: the time of the question would be three seconds later
    true(abs(took * 1000 - x["usage"]["wallMs"]) < 1000, x["usage"])
    equal(x["artifacts"]["bytes"], 11, "what is kept has the bytes of its output")


@case
def what_is_left_is_there_when_the_stream_has_said_end():
    for path, word in (("/recording", b"said"), ("/artifacts", b'"log"'),
                       ("/artifacts?kind=log", b"said")):
        x = start(S, command="echo said; until [ -e go ]; do sleep 0.02; done; rm go")
        problem(call("GET", "/v1/executions/%s%s" % (x["id"], path)), 409, "execution_runs")
        there = expect(307, call("GET", "/v1/executions/%s/stream" % x["id"])).headers["Location"]
        execute(S, "touch go")
        events = call("GET", there).body
        true(b'"type":"end"' in events, events)
        answer = expect(200, call("GET", "/v1/executions/%s%s" % (x["id"], path)))
        true(word in answer.body, answer)


@case
def a_wait_goes_on_until_the_next_attempt_has_ended():
    x = expect(202, post(create()["id"], wait=30, maxRetries=1,
                         command="[ -e once ] && exit; touch once; kill -9 -1")).json
    equal((x["state"], [a["state"] for a in x["attempts"]], x["reason"]),
          ("succeeded", ["lost", "succeeded"], None), x)


sys.exit(run(lambda: None))
