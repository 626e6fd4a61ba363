#!/usr/bin/python3
"""warm_limits.t: tests that a session with limits of its own, or of its agent type, takes a
member of the warm pool, and is held to them as if its wrapper had been launched with them."""
import glob
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from pool import claimed, full, in_member, members, new, steps
import service
from service import at, call, create, execute, expect, get, until
from tap import case, equal, run, true

service.begin(egress=True)


def held_to(sid):
    """The limits of a session, as it and its host see them."""
    inside = execute(sid, "for p in self $PPID 1; do grep -E 'processes|file size|data size'"
                     " /proc/$p/limits; done | tr -s ' ' | sort -u; df -m --output=size /tmp | tail -1;"
                     " grep MemTotal /proc/meminfo; cat /sys/fs/cgroup/memory.max"
                     " /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || :")
    groups = glob.glob("/sys/fs/cgroup/**/s-%s" % sid, recursive=True)
    files = ("memory.max", "memory.swap.max", "memory.limit_in_bytes",
             "memory.memsw.limit_in_bytes", "memory.kmem.tcp.limit_in_bytes", "pids.max")
    outside = {}
    for path in (os.path.join(g, f) for g in groups for f in files):
        if os.path.exists(path):
            with open(path, encoding="ascii") as f:
                outside[path] = f.read()
    return inside, outside, get(sid)["limits"]


def sleep_and_wake(sid):
    """Its next wrapper is launched, not adopted."""
    expect(200, call("POST", at(sid, "/sleep"), {}))
    until("it sleeps", lambda: get(sid)["state"] == "asleep")
    execute(sid, ":")
    equal(get(sid)["lease"]["generation"], 2)


@case
def its_own_limits_are_those_of_a_launch():
    class_has = held_to(claimed()["id"])
    for more in ({"limits": {"memoryMb": 96}}, {"limits": {"diskMb": 20}}, {"limits": {"pids": 40}},
                 {"limits": {"memoryMb": 128, "diskMb": 30, "pids": 50}, "env": {"A": "1"},
                  "setup": "ulimit -f 10; sleep 1000 & echo set >up"}):
        sid = claimed(**more)["id"]
        adopted = held_to(sid)
        true(adopted != class_has, "%s changes something" % more["limits"])
        for name, most in more["limits"].items():
            equal(adopted[2][name]["value"], most, name)
        sleep_and_wake(sid)
        launched = held_to(sid)
        for i, what in enumerate(("inside", "groups", "limits")):
            equal(adopted[i], launched[i], "%s of %s" % (what, more["limits"]))


@case
def it_cannot_have_more():
    sid = claimed(limits={"memoryMb": 96, "diskMb": 20, "pids": 40})["id"]
    hog = expect(200, call("POST", at(sid, "/api/execute"), {
        "command": "python3 -c 'x = b\"x\" * (200 << 20); print(len(x))'"})).json
    true(hog["exitCode"] != 0 and "209715200" not in hog["stdout"], "memory")
    equal(execute(sid, "dd if=/dev/zero of=big bs=1M count=30 2>/dev/null || wc -c <big"),
          "%d\n" % (20 << 20), "disk")
    true("start new thread" in execute(sid, "python3 -c 'import threading, time\nfor i in range(100):"
                                       " threading.Thread(target=time.sleep, args=(1,)).start()' 2>&1 || :"),
         "threads")


@case
def an_agent_type_takes_one():
    for kind, memory in (("ELICITATION", 256), ("TEST_WRITER", 512), ("IMPLEMENTATION", 1024),
                         ("CONTEXT_GATHERING", 256), ("VALIDATION", 512)):
        full()
        before = members()
        s = create(isolation="session", agentType=kind)
        true(s["id"] in before, "%s has a member's id" % kind)
        equal((s["limits"]["memoryMb"]["value"], s["limits"]["pids"]["value"], s["network"]["mode"]),
              (memory, 128, "allow"), kind)
        equal(steps(s["id"])["network"], "attached", "its network")
        equal(int(execute(s["id"], "awk '/MemTotal/ { print $2 }' /proc/meminfo")), memory * 1024)
        answer = execute(s["id"], "curl -sS -m 10 http://example.invalid 2>&1 || :")
        true("403" in answer or "not allowed" in answer or "resolve" in answer, answer)
        expect(200, call("DELETE", at(s["id"])))


@case
def one_that_cannot_have_the_limits_costs_a_generation():
    full()
    for sid in members():  # whichever is taken: its /tmp is fuller than it may be
        in_member(sid, "head -c 20000000 /dev/zero >/tmp/full")
    s = new(limits={"memoryMb": 64})
    equal((s["state"], s["lease"]["generation"]), ("ready", 2))
    equal(execute(s["id"], "df -m --output=size /tmp | tail -1; ls /tmp/full 2>/dev/null || :").split(), ["16"])
    equal(held_to(s["id"])[2]["memoryMb"]["value"], 64)


sys.exit(run(lambda: None))
