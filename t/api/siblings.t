#!/usr/bin/python3
# alone: a session must print every 100 ms, which a busy machine would delay
"""Tests that each limit of an execution bites while a session in the same sandbox goes on."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from executions import how, logs, result, start
from service import call, create, expect, value
from tap import case, equal, run, true

service.begin()

TICKS = "for i in $(seq %d); do date +%%s%%N; sleep 0.1; done"
HARM = {
    "cpu": ({"cpuSeconds": 3}, "for i in 1 2 3 4 5 6; do (while :; do :; done) & done; wait",
            "cpu_exceeded"),
    "memory": ({"memoryMb": 128}, "/usr/bin/python3 -c 'x = b\"x\" * (900 << 20)'",
               "memory_exceeded"),
    "forks": ({"pids": 64, "wallSeconds": 3}, "bomb() { bomb | bomb & }; bomb; sleep 1000",
              "timed_out"),
    "disk": ({"diskMb": 100}, "while :; do head -c 20000000 /dev/zero >>filler; done",
             "disk_exceeded"),
    "time": ({"wallSeconds": 2}, "sleep 1000", "timed_out"),
}


@case
def limits_bite_while_a_sibling_goes_on():
    """A session in the same sandbox prints every 100 ms, without a gap of a second."""
    bad, good = create()["id"], create()["id"]
    equal(len({value("SELECT sandbox_id FROM session WHERE id = :'v1'", s)
               for s in (bad, good)}), 1, "one sandbox")
    sibling = start(good, command=TICKS % 400)
    for name, (limits, command, state) in HARM.items():
        x = result(bad, command=command, limits=limits)
        equal(x["state"], state, "%s: %r" % (name, x))
        if name == "forks" and x["limitsBy"]["pids"] == "cgroup":
            true("fork" in x["stderrTail"], "no more processes: %r" % x)
        equal(how(result(bad, command="rm -f filler; echo well"))[0], "succeeded",
              "the next one after " + name)
    s = expect(200, call("DELETE", "/v1/executions/" + sibling["id"])).json
    equal((s["state"], len(s["attempts"])), ("cancelled", 1), "it ran to this moment: %r" % s)
    times = [int(t) for t in logs(sibling).split()]
    gaps = [b - a for a, b in zip(times, times[1:])]
    true(len(times) > 20 and max(gaps) < 1e9, "%d ticks, the longest gap %d ms" % (
        len(times), max(gaps) / 1e6))
    print("# %d ticks, the longest gap %d ms" % (len(times), max(gaps) / 1e6))


sys.exit(run(lambda: None))
