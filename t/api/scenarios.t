#!/usr/bin/python3
"""Tests what a platform expects of executions, one scenario in each case, through nginx."""
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from executions import ended, how, logs
from service import at, call, expect, get, new_key, sql, until, value
from tap import PATIENCE, case, equal, run, true

service.begin()

ADMIN = new_key("demo", "boss", "--scope", "admin")
expect(201, call("PUT", "/v1/profiles/TASK", {
    "limits": {"memoryMb": 256, "cpuSeconds": 30, "wallSeconds": 60, "pids": 64, "diskMb": 50},
    "network": {"mode": "none"}}, key=ADMIN))


def once(wait=0, **body):
    body.setdefault("agentType", "TASK")
    return expect(202, call("POST", "/v1/executions?wait=%d" % wait, body)).json


def state_of(x):
    return value("SELECT state FROM session WHERE id = :'v1'", x["sessionId"])


def events(sid, kind):
    return [e for e in expect(200, call("GET", at(sid, "/events?limit=1000"))).json["events"]
            if e["kind"] == kind]


@case
def automatic_provisioning():
    before = int(value("SELECT count(*) FROM session"))
    x = ended(once(command="hostname; pwd"))
    equal(how(x), ("succeeded", 0, None), "it ran without a session that was made before")
    equal(int(value("SELECT count(*) FROM session")), before + 1, "in one that was made for it")
    true(logs(x).endswith("/workspace\n"), "with a workspace")


@case
def usage_tracking():
    x = ended(once(command="/usr/bin/python3 -c 'x = bytearray(50 << 20); sum(range(3000000))'; "
                           "head -c 3000000 /dev/zero >f; sync"))
    u = x["usage"]
    true(u["cpuUserMs"] > 20 and u["memoryPeakBytes"] > 40 << 20 and u["wallMs"] > 20, u)
    true(u["diskGrowthBytes"] >= 3000000 and u["cpuSystemMs"] >= 0, u)
    equal(u["networkRequests"], 0, "requests")
    day = expect(200, call("GET", "/v1/usage/days?agentType=TASK")).json["days"][0]
    true(day["memoryPeakBytes"] >= u["memoryPeakBytes"], day)


@case
def limit_enforcement():
    for limits, command, state in (
            ({"wallSeconds": 1}, "sleep 1000", "timed_out"),
            ({"cpuSeconds": 1}, "while :; do :; done", "cpu_exceeded"),
            ({"memoryMb": 64}, "/usr/bin/python3 -c 'x = b\"x\" * (200 << 20)'", "memory_exceeded"),
            ({"diskMb": 5}, "head -c 20000000 /dev/zero >big; sleep 1000", "disk_exceeded")):
        x = ended(once(command=command, limits=limits))
        equal(x["state"], state, repr(x))
        until("its session is deleted", lambda: state_of(x) == "deleted")


@case
def isolation_of_concurrent_executions():
    # wait: so that all four are there at the same time
    xs = [once(command="(exec -a only-%d sleep 60) & echo mine %d >only; sleep 1; cat only; ls;"
               " ps -e -o args | grep -c '^only-'" % (n, n)) for n in range(4)]
    for n, x in enumerate(xs):
        equal(logs(ended(x)), "mine %d\nonly\n1\n" % n, "it sees its own files and processes")
    equal(len({x["sessionId"] for x in xs}), 4, "each has a session")


@case
def clean_up_after_completion():
    xs = [ended(once(command=c)) for c in ("true", "false", "setsid sleep 4242 & echo daemon")]
    for x in xs:
        until("its session is deleted", lambda x=x: state_of(x) == "deleted")
    left = [p for p in service.inside() if b"4242" in service.command_line(p)]
    equal(left, [], "no process is left")
    storage = os.path.join(service.setting("STACK_STATE"), "data/storage")
    kept = [n for _, names, _ in os.walk(storage) for n in names if n in
            {x["sessionId"] for x in xs}]
    equal(kept, [], "nor its files")
    equal(logs(xs[2]), "daemon\n", "its output is")


@case
def graceful_failure():
    for command, code in (("exit 7", 7), ("no-such-program", 127), ("cd /nowhere", 1)):
        x = ended(once(command=command))
        equal((x["state"], x["exitCode"], len(x["attempts"])), ("failed", code, 1), repr(x))
    x = ended(once(command="echo why >&2; exit 3"))
    equal((x["stderrTail"], x["reason"]), ("why\n", None), "what it said")
    x = ended(once(command="true", cwd="/nowhere"))
    equal((x["state"], bool(x["reason"])), ("failed", True), "a directory that is not there: %r" % x)


@case
def recovery_from_timeout():
    first = once(command="trap 'echo cleaned up' TERM; sleep 1000 & wait", limits={"wallSeconds": 1},
                 correlationKeys=["again"], cleanup="keep")
    first = ended(first)
    equal((first["state"], logs(first)), ("timed_out", "cleaned up\n"), "with time to clean up")
    second = ended(once(command="echo fine", correlationKeys=["again"]))
    equal((second["sessionId"], how(second), logs(second)),
          (first["sessionId"], ("succeeded", 0, None), "fine\n"), "the same session goes on")


@case
def logs_in_the_record():
    x = ended(once(command="for i in $(seq 2000); do echo line $i; done; echo last >&2"))
    until("its session is deleted", lambda: state_of(x) == "deleted")
    text = logs(x, "stdout")
    equal((text.count("\n"), text.endswith("line 2000\n"), logs(x, "stderr")),
          (2000, True, "last\n"), "all of it, after the sandbox is gone")


@case
def fifty_at_once():
    got, failed = [], []

    def one(n):
        try:
            got.append(ended(once(command="echo %d" % n, taskId="fifty-%d" % n)))
        except Exception as e:  # noqa: BLE001, a thread's failure must be seen
            failed.append(e)
    threads = [threading.Thread(target=one, args=(n,)) for n in range(50)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    equal((failed, sorted(x["state"] for x in got)), ([], ["succeeded"] * 50), "all succeed")
    equal(sorted(int(logs(x)) for x in got), list(range(50)), "each its own output")
    for x in got:
        until("its session is deleted", lambda x=x: service.reap() and state_of(x) == "deleted")


@case
def lifecycle_durations():
    # wait: it must take some time
    x = ended(once(command="sleep 0.3"))
    told = events(x["sessionId"], "execution")
    equal([e["what"] for e in told], ["queued", "succeeded"] if len(told) == 2 else
          ["queued", "running", "succeeded"], "its states are events")
    true(told[-1]["durationMs"] >= 300, told[-1])
    steps = events(x["sessionId"], "step")
    true({s["what"] for s in steps} >= {"sandbox", "wrapper", "ready"} and
         all(s["durationMs"] is not None for s in steps), steps)
    # wait: of the command itself; a slow machine takes longer, never shorter
    true(300 <= x["usage"]["wallMs"] and x["createdAt"] <= x["startedAt"] <= x["endedAt"], x)


@case
def orphan_detected():
    x = ended(once(command="true", cleanup="keep", correlationKeys=["orphan"]))
    sid = x["sessionId"]
    with service.starts_left_alone():
        sql("UPDATE session SET state = 'initializing' WHERE id = :'v1'", sid)
        sql("UPDATE session SET initializing_since = initializing_since - interval '11 minutes'"
            " WHERE id = :'v1'", sid)
        equal(service.reap()[2]["orphans"], 1, "the pass counts it")
    equal(get(sid)["state"], "failed", "and ends it")
    y = ended(once(command="echo again", correlationKeys=["orphan"]))
    equal((how(y), y["sessionId"]), (("succeeded", 0, None), sid), "the next one starts it again")


@case
def stuck_detected():
    sid = ended(once(command="true", cleanup="keep"))["sessionId"]
    runner = threading.Thread(target=lambda: call("POST", at(sid, "/api/execute"),
                                                  {"command": "sleep 7201"}))
    runner.start()
    until("it is busy", lambda: get(sid)["busy"])
    service.configure(stuck_seconds=1)
    try:
        until("it is stuck", lambda: (sql("UPDATE lease SET ask_at = '-infinity'"),
                                      service.reap(), get(sid)["state"] == "asleep")[-1])
    finally:
        service.configure(stuck_seconds=1800)
    runner.join(PATIENCE)
    equal(get(sid)["reason"], "stuck", "why it sleeps")
    x = expect(202, call("POST", at(sid, "/executions?wait=30"), {"command": "echo awake"})).json
    equal((how(ended(x)), logs(x)), (("succeeded", 0, None), "awake\n"), "an execution wakes it")


sys.exit(run(lambda: None))
