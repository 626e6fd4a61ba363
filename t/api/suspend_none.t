#!/usr/bin/python3
"""suspend_none.t: tests that `suspend` stops and says so where nothing can be
frozen."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
os.environ["STACK_CGROUP"] = "none"
import service
from awake import generation, passes, state
from service import at, call, create, execute, expect, get, sql
from tap import case, equal, run, true

service.begin()


@case
def sleep_with_suspend_stops_and_says_so():
    sid = create()["id"]
    execute(sid, "echo kept > /workspace/f")
    s = expect(200, call("POST", at(sid, "/sleep"), {"suspend": True})).json
    equal((s["state"], s["suspended"], s["reason"], s["lease"]["state"]),
          ("asleep", False, "cannot_suspend", "none"), "answer")
    equal(s["alive"], {"because": [], "until": None}, "alive")
    equal(service.cells(), [], "nothing runs")
    equal(execute(sid, "cat /workspace/f"), "kept\n", "files")
    equal(generation(sid), 2, "another wrapper")


@case
def an_idle_session_with_suspend_is_stopped():
    sid = create(suspend=True)["id"]
    sql("UPDATE lease SET keep_warm_until = clock_timestamp() WHERE"
        " session_id = :'v1'", sid)
    passes()
    equal(state(sid), ["asleep", "cannot_suspend", "none"], "state")
    true(not get(sid)["suspended"], "suspended")


sys.exit(run(lambda: None))
