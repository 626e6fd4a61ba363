#!/usr/bin/python3
"""Tests executions whose commands attack the service, their wrapper or the limits."""
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from executions import ended, how, logs, result, start
from service import at, call, create, execute, expect, get, new_key, sql, until, value
from tap import case, equal, run, true

service.begin(conf="quota_artifact_mb = 20")

OTHER = new_key("elsewhere", "bob")
JOURNAL = "/home/user/.local/state/sandlease/executions"


@case
def each_of_many_runs_once():
    sid = create(concurrency=4)["id"]
    all_of_them = [start(sid, command="echo %d >>count" % n) for n in range(150)]
    until("all have run", lambda: execute(sid, "wc -l <count || echo 0").strip() == "150")
    for x in all_of_them:
        equal((how(ended(x)), len(ended(x)["attempts"])), (("succeeded", 0, None), 1), "each")
    equal(execute(sid, "wc -l <count").strip(), "150", "nobody's question runs it again")


@case
def a_silent_wrapper_delays_nobody_else():
    """Pid 2 is the wrapper: its own commands may stop it."""
    sids = [create()["id"] for _ in range(6)]
    xs = [start(s, command="kill -STOP 2; sleep 1000", limits={"wallSeconds": 60}) for s in sids]
    threads = [threading.Thread(target=lambda x=x: [call("GET", "/v1/executions/" + x["id"])
                                                    for _ in range(3)]) for x in xs for _ in range(3)]
    for t in threads:
        t.start()
    slowest = 0
    for _ in range(20):
        began = time.monotonic()
        expect(200, call("GET", "/v1/usage", key=OTHER))
        expect(200, call("GET", "/v1/health"))
        slowest = max(slowest, time.monotonic() - began)
    for t in threads:
        t.join()
    # wait: without a share of workers these took a quarter of a minute
    true(slowest < 5, "another org waited %.1f s" % slowest)
    # past its time limit it is ended from outside
    sql("UPDATE execution SET given_at = given_at - interval '1 h', started_at = now() - interval '1 h'"
        " WHERE state IN ('queued', 'running')")
    value("WITH u AS (UPDATE execution SET state = 'running' WHERE state = 'queued' RETURNING 1)"
          " SELECT count(*) FROM u")
    until("all are ended", lambda: service.reap() and value(
        "SELECT count(*) FROM execution WHERE state IN ('queued', 'running')") == "0")
    for x in xs:
        equal(ended(x)["state"], "timed_out", "how it ended")
    equal(how(result(sids[0], command="echo well")), ("succeeded", 0, None), "the session goes on")


@case
def nothing_is_left_of_an_execution():
    sid = create()["id"]
    x = result(sid, command="sleep 5353 & setsid sleep 5354 & true")
    equal(how(x), ("succeeded", 0, None), "it has ended")
    equal(execute(sid, "ps -e -o args | grep -c '^sleep 535[34]' || true").strip(), "0", "its daemons")
    if x["limitsBy"]["pids"] != "cgroup":
        return
    # wait: it once took the five seconds after which nobody waits any more
    true(x["usage"]["wallMs"] < 4000, x["usage"])
    # wait: so that the chains have begun
    x = result(sid, limits={"pids": 200}, command='link() { date +%s%N >beat; (sleep 0.002; link) & }; '
               # wait: the same
               'for i in 1 2 3 4 5 6 7 8; do (setsid bash -c "$(declare -f link); link" &); done; sleep 0.5')
    equal(how(x), ("succeeded", 0, None), "chains of processes: %r" % x)
    before = execute(sid, "cat beat")
    # wait: as long as a chain would need for many links
    time.sleep(0.5)
    equal(execute(sid, "cat beat"), before, "no link is made any more")


@case
def forged_records_harm_nobody():
    before = set(service.wrappers())
    sid = create()["id"]
    (wrapper,) = set(service.wrappers()) - before
    record = {"id": "", "state": "ended", "reason": "succeeded", "exitCode": 0, "signal": 0,
              "began": 9223372036854775807, "ended": 1, "message": "", "stderrTail": "", "bytes": 9223372036854775807,
              "usage": {n: 9223372036854775807 for n in (
                  "cpuUserUs", "cpuSystemUs", "memoryPeak", "wallMs", "written", "diskGrowth")}}
    text = json.dumps(record).replace('"id": ""', '"id": "\'$SANDLEASE_EXECUTION\'"')
    x = start(sid, command="printf '%%s' '%s' >%s/$SANDLEASE_EXECUTION.json; touch forged; sleep 1000" % (
        text, JOURNAL), agentType="ELICITATION")
    until("it is forged", lambda: "forged" in execute(sid, "ls"))
    os.kill(wrapper, 9)
    x = ended(x)
    equal((x["state"], x["usage"].get("cpuUserMs")), ("succeeded", None), "as it says: %r" % x)
    true(x["createdAt"] <= x["startedAt"] <= x["endedAt"], "but its times are possible: %r" % x)
    y = result(create()["id"], command="true", agentType="ELICITATION")
    equal(how(y), ("succeeded", 0, None), "others of the type end")
    days = expect(200, call("GET", "/v1/usage/days?agentType=ELICITATION")).json["days"]
    true(days[0]["cpuMs"] < 1 << 40, days)
    # its journal is gone, and so is its output: that is told
    x = result(sid, command="echo said; rm -rf " + JOURNAL)
    equal((x["state"], bool(x["artifacts"]["error"])), ("succeeded", True), "%r" % x["artifacts"])
    equal(logs(result(sid, command="echo again")), "again\n", "the next one keeps its own")


@case
def a_backup_has_no_secret_files():
    sid = create()["id"]
    x = start(sid, command="sleep 1000", files=[
        {"path": "key", "content": "s3cret", "secret": True},
        {"path": "sub/key", "content": "s3cret", "secret": True}])
    until("it runs", lambda: "key" in execute(sid, "ls"))
    execute(sid, "echo kept >kept")
    r = expect(200, call("POST", at(sid, "/api/backup/create"), {
        "dir": "/workspace", "archivePath": "/var/backups/b.sqsh"}))
    true(r.json["success"], r)
    expect(200, call("DELETE", "/v1/executions/" + x["id"]))
    expect(200, call("POST", at(sid, "/api/backup/restore"), {
        "dir": "/workspace", "archivePath": "/var/backups/b.sqsh"}))
    equal(execute(sid, "ls -R").split(), [".:", "kept", "sub", "./sub:"], "what the backup has")


@case
def a_drain_costs_no_attempt():
    sid = create()["id"]
    expect(200, call("POST", at(sid, "/sleep"), {}))
    service.admin("drain")
    try:
        value("WITH i AS (INSERT INTO execution (id, tenant, user_id, session_id, hash, command, limits,"
              " work_sealed) SELECT 'drained00drained0000', tenant, user_id, id, '', 'x', '{}', 'x'"
              " FROM session WHERE id = :'v1' RETURNING 1) SELECT count(*) FROM i", sid)
        call("GET", "/v1/executions/drained00drained0000?wait=2")
        equal(value("SELECT attempt || state FROM execution WHERE id = 'drained00drained0000'"),
              "0queued", "it waits")
    finally:
        service.admin("undrain")
    expect(200, call("DELETE", "/v1/executions/drained00drained0000"))


@case
def an_org_keeps_its_quota_when_many_end_at_once():
    xs = []
    sids = [create(key=OTHER)["id"] for _ in range(6)]
    for s in sids:
        xs.append(expect(202, call("POST", at(s, "/executions"), {
            "command": "head -c 5000000 /dev/urandom | base64 -w0; echo >done"}, key=OTHER)).json)
    for s in sids:
        until("it ran", lambda s=s: "done" in expect(200, call("POST", at(s, "/api/execute"), {
            "command": "ls"}, key=OTHER)).json["stdout"])
    threads = [threading.Thread(target=ended, args=(x, OTHER)) for x in xs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    kept = [not ended(x, OTHER)["artifacts"]["error"] for x in xs]
    equal((sum(kept), int(value("SELECT sum(bytes) FROM artifact WHERE tenant = 'elsewhere'"))
           <= 20 << 20), (3, True), "20 MB: %r" % kept)


sys.exit(run(lambda: None))
