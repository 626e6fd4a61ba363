#!/usr/bin/python3
"""statistics.t: tests through nginx what a session and its sandbox use, now and as a history
of samples; and that only their org sees it."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import passes
from service import (at, call, create, execute, expect, get, new_key, problem, setting, sql,
                     until, value)
from tap import case, equal, run, true

service.begin("sample_seconds = 1\ndisk_account_seconds = 1")

STRANGER = new_key("strangers", "u")
READER = new_key("demo", "reader", "--scope", "read")
MB = 1 << 20
HOG_MB = 100
NUMBERS = {"cpuMs", "cpuUserMs", "cpuSystemMs", "cpuPercent", "cpuPercentSince", "memoryBytes",
           "memoryPeakBytes", "processes", "threads", "diskMb", "diskMeasuredAt"}
SAMPLE = (NUMBERS - {"cpuPercentSince", "diskMeasuredAt"}) | {
    "at", "hourly", "cpuPercentMax", "memoryMaxBytes", "processesMax", "threadsMax"}
CGROUP = setting("CGROUP") != "none"


def now(sid, key=None):
    return expect(200, call("GET", at(sid, "/statistics"), key=key)).json


def box_path(sid, rest=""):
    return "/v1/sandboxes/" + get(sid)["sandboxId"] + "/statistics" + rest


def history(path, query="", key=None):
    return expect(200, call("GET", path + "/history" + query, key=key)).json


def samples(sid, query=""):
    return history(at(sid, "/statistics"), query)["samples"]


def sample():
    """Runs a pass that adds samples: not within a second of the last one."""
    until("the last samples are old enough", lambda: value(
        "SELECT coalesce(max(at) < clock_timestamp() - interval '1100 ms', true) FROM sample"
        " WHERE NOT hourly") == "t")
    equal(passes()["failures"], 0, "failures of the pass")


@case
def a_session_and_its_sandbox_are_measured():
    s = create(isolation="session")
    found = now(s["id"])
    equal((found["sessionId"], found["running"], found["state"]), (s["id"], True, "ready"), "session")
    equal(set(found["usage"]), NUMBERS, "numbers")
    equal(found["limits"], {name: s["limits"][name]["value"] for name in (
        "cpuMillis", "memoryMb", "pids", "diskMb")}, "limits stand beside them")
    own, box = found["usage"], found["sandbox"]["usage"]
    equal((found["sandbox"]["sandboxId"], found["sandbox"]["running"],
           found["sandbox"]["sessions"]), (s["sandboxId"], True, 1), "its sandbox")
    true(own["processes"] >= 1 and box["processes"] > own["processes"],
         "init is a process of the sandbox: %r" % found)
    true(own["cpuMs"] >= 0 and 0 < own["memoryBytes"] <= box["memoryBytes"], "used: %r" % found)
    equal((own["cpuPercent"], own["diskMb"]), (None, None), "not known yet, so not 0")
    alone = expect(200, call("GET", box_path(s["id"]))).json
    equal((alone["sandboxId"], alone["limits"], set(alone["usage"])),
          (s["sandboxId"], found["limits"], NUMBERS), "the sandbox by its own path")
    equal(now(s["id"], READER)["sessionId"], s["id"], "a key that may only read")


@case
def work_raises_the_numbers():
    sid = create(isolation="session")["id"]
    before = now(sid)["usage"]
    execute(sid, "python3 -c 'for i in range(10000000): pass'")
    after = now(sid)["usage"]
    true(after["cpuMs"] >= before["cpuMs"] + 50, "a loop: %r, %r" % (before, after))
    execute(sid, "for i in $(seq 5); do sleep 1000 >/dev/null 2>&1 & done; python3 -c 'import time;"
            " x = b\"x\" * (%d << 20); open(\"/workspace/has\", \"w\"); time.sleep(1000)'"
            " >/dev/null 2>&1 &" % HOG_MB)
    until("it has the memory", lambda: execute(sid, "ls /workspace") == "has\n")
    after = now(sid)["usage"]
    true(after["memoryBytes"] >= HOG_MB * MB, "a hog: %r" % after)
    true(after["processes"] >= before["processes"] + 6, "processes: %r, %r" % (before, after))
    if CGROUP:
        true(after["threads"] >= after["processes"], "threads: %r" % after)
        true(after["memoryPeakBytes"] >= after["memoryBytes"], "the most so far: %r" % after)
    box = now(sid)["sandbox"]["usage"]
    true(box["memoryBytes"] >= HOG_MB * MB and box["cpuMs"] >= after["cpuMs"], "the sandbox: %r" % box)
    expect(200, call("DELETE", at(sid)))


@case
def percent_is_that_since_the_last_sample():
    sid = create(isolation="session")["id"]
    sample()
    first = now(sid)["usage"]
    execute(sid, "end=$(( $(date +%s) + 3 )); while [ $(date +%s) -lt $end ]; do :; done")
    busy = now(sid)["usage"]
    true(busy["cpuPercent"] is not None and busy["cpuPercent"] > 5, "a loop: %r" % busy)
    equal(busy["cpuPercentSince"], samples(sid)[-1]["at"], "since the last sample")
    true(busy["cpuMs"] > first["cpuMs"], "%r, %r" % (first, busy))
    sample()
    one, two = samples(sid)
    equal((one["cpuPercent"], two["cpuPercent"] > 5, two["hourly"]), (None, True, False),
          "so has the sample: %r" % two)
    sql("UPDATE sample SET cpu_percent = 0.1 WHERE session_id = :'v1'", sid)
    r = expect(200, call("GET", at(sid, "/statistics/history")))
    true(b'"cpuPercent":0.1,' in r.body.replace(b" ", b""), "no digits that say nothing: %r" % r)


@case
def sessions_of_one_sandbox_are_measured_each():
    one, two = create()["id"], create()["id"]
    equal(get(one)["sandboxId"], get(two)["sandboxId"], "they share it")
    execute(one, "python3 -c 'import time; x = b\"x\" * (%d << 20); open(\"/workspace/has\", \"w\");"
            " time.sleep(1000)' >/dev/null 2>&1 &" % HOG_MB)
    until("it has the memory", lambda: execute(one, "ls /workspace") == "has\n")
    a, b = now(one), now(two)
    true(a["usage"]["memoryBytes"] >= HOG_MB * MB > b["usage"]["memoryBytes"], "%r, %r" % (a, b))
    equal((b["sandbox"]["sessions"], b["sandbox"]["usage"]["memoryBytes"] >= HOG_MB * MB), (2, True),
          "the sandbox has both: %r" % b)
    for sid in (one, two):
        expect(200, call("DELETE", at(sid)))


@case
def the_disk_is_what_the_reaper_has_measured():
    sid = create(isolation="session")["id"]
    execute(sid, "dd if=/dev/urandom of=/workspace/f bs=1M count=20 2>/dev/null")
    # the disk of a young session is not measured yet
    until("a pass measures it", lambda: passes() and now(sid)["usage"]["diskMb"] is not None)
    found = now(sid)
    true(20 <= found["usage"]["diskMb"] < 30, "20 MB were written: %r" % found)
    equal(found["sandbox"]["usage"]["diskMb"], found["usage"]["diskMb"], "the sandbox's")
    true(found["usage"]["diskMeasuredAt"] >= get(sid)["createdAt"], "and when")
    sample()
    equal(samples(sid)[-1]["diskMb"], found["usage"]["diskMb"], "a sample has it, too")


@case
def one_that_sleeps_has_its_disk_and_is_not_woken():
    sid = create(isolation="session")["id"]
    until("a pass measures it", lambda: passes() and now(sid)["usage"]["diskMb"] is not None)
    expect(200, call("POST", at(sid, "/sleep")))
    found = now(sid)
    equal((found["state"], found["running"]), ("asleep", False), "it does not run")
    equal({k: v for k, v in found["usage"].items() if v is not None and not k.startswith("disk")}, {},
          "numbers of nothing are null")
    true(found["usage"]["diskMb"] is not None, "its disk: %r" % found)
    count = len(samples(sid))
    sample()
    equal((get(sid)["state"], len(samples(sid))), ("asleep", count), "no samples while it sleeps")
    execute(sid, "true")
    sample()
    equal(samples(sid)[-1]["cpuPercent"], None, "a new life has new counters")
    equal(len(samples(sid)), count + 1, "and samples")


if CGROUP:  # without one nothing can be frozen
    @case
    def one_that_is_frozen_keeps_its_memory():
        sid = create(isolation="session", suspend=True)["id"]
        expect(200, call("POST", at(sid, "/sleep")))
        found = now(sid)
        equal((found["state"], found["running"]), ("asleep", True), "it has processes")
        true(found["usage"]["memoryBytes"] > 0, "and memory: %r" % found)
        expect(200, call("DELETE", at(sid)))


@case
def the_history_has_samples_in_their_order():
    sid = create(isolation="session")["id"]
    equal(samples(sid), [], "none before a pass")
    for _ in range(3):
        sample()
    path = at(sid, "/statistics")
    all_of_them = samples(sid)
    equal([len(all_of_them), set(all_of_them[0])], [3, SAMPLE], "three passes, three samples")
    dates = [x["at"] for x in all_of_them]
    equal(dates, sorted(dates), "oldest first")
    true(all(x["processes"] >= 1 and x["cpuMs"] >= 0 and not x["hourly"] for x in all_of_them),
         "numbers: %r" % all_of_them)
    page = history(path, "?limit=2")
    equal(page["samples"], all_of_them[:2], "a page")
    rest = history(path, "?limit=2&cursor=" + page["nextCursor"])
    equal((rest["samples"], rest["nextCursor"]), (all_of_them[2:], None), "the next")
    equal(samples(sid, "?since=" + dates[1]), all_of_them[1:], "since: that one is included")
    equal(samples(sid, "?until=" + dates[1]), all_of_them[:1], "until: that one is not")
    equal(samples(sid, "?since=%s&until=%s" % (dates[0], dates[2])), all_of_them[:2], "both")
    equal(samples(sid, "?since=2999-01-01T00:00:00%2B02:00"), [], "later than all")
    boxes = history(box_path(sid))["samples"]
    equal([len(boxes), [x["at"] for x in boxes]], [3, dates], "the sandbox has its own")
    true(boxes[0]["processes"] > all_of_them[0]["processes"], "with init: %r" % boxes[0])
    equal(set(boxes[0]), SAMPLE, "of the same form")


@case
def old_samples_become_hourly_and_go():
    sid = create(isolation="session")["id"]
    for _ in range(2):
        sample()
    sql("UPDATE sample SET at = date_trunc('hour', at) - interval '30 hours'"
        " + (at - date_trunc('day', at)) / 100 WHERE session_id = :'v1'", sid)
    old = samples(sid)
    sample()
    hour, fresh = samples(sid)
    equal((hour["hourly"], fresh["hourly"]), (True, False), "one of the hour, and a new one")
    equal((hour["cpuMs"], hour["memoryMaxBytes"]),
          (old[-1]["cpuMs"], max(x["memoryBytes"] for x in old)), "the last, the largest")
    sql("UPDATE sample SET at = at - interval '8 days' WHERE session_id = :'v1' AND hourly", sid)
    sample()
    true(all(not x["hourly"] for x in samples(sid)), "after a week none is left")


@case
def the_history_outlives_its_session():
    sid = create(isolation="session")["id"]
    sample()
    box = box_path(sid)
    expect(200, call("DELETE", at(sid)))
    equal((now(sid)["running"], len(samples(sid))), (False, 1), "deleted")
    passes()
    sql("UPDATE session SET ended_at = ended_at - interval '100 days' WHERE id = :'v1'", sid)
    until("a pass forgets it", lambda: passes() and call("GET", at(sid)).status == 404)
    equal(len(samples(sid)), 1, "its samples are still there")
    equal(len(history(box)["samples"]), 1, "and those of its sandbox")
    problem(call("GET", at(sid, "/statistics")), 404, "session_not_found")
    problem(call("GET", at(sid, "/statistics/history"), key=STRANGER), 404, "session_not_found")
    sql("DELETE FROM sample WHERE session_id = :'v1'", sid)
    problem(call("GET", at(sid, "/statistics/history")), 404, "session_not_found")


@case
def nothing_is_sampled_if_the_setting_says_so():
    sid = create(isolation="session")["id"]
    service.configure(sample_seconds=0)
    equal(passes()["failures"], 0, "failures")
    equal(samples(sid), [], "no samples")
    service.configure(sample_seconds=3600)
    passes()
    passes()
    equal(len(samples(sid)), 1, "and not more often than it says")
    service.configure(sample_seconds=1)


@case
def another_org_sees_nothing():
    sid = create(isolation="session")["id"]
    theirs = create(STRANGER, isolation="session")["id"]
    sample()
    box, missing = box_path(sid), "/v1/sandboxes/ses-" + "0" * 48 + "/statistics"
    for path in ("", "/history"):
        problem(call("GET", at(sid, "/statistics" + path), key=STRANGER), 404, "session_not_found")
        seen = []
        for where in (box + path, missing + path):
            r = call("GET", where, key=STRANGER)
            doc = problem(r, 404, "sandbox_not_found")
            seen.append({k: v for k, v in doc.items() if k not in ("traceId", "instance")})
        equal(seen[0], seen[1], "another's and a missing one are alike")
        problem(call("GET", at(sid, "/statistics" + path), key=""), 401, "unauthorized")
        problem(call("GET", box + path, key=""), 401, "unauthorized")
    equal(len(history(at(theirs, "/statistics"), key=STRANGER)["samples"]), 1, "its own it sees")


@case
def bad_parameters_are_refused_by_name():
    sid = create(isolation="session")["id"]
    for path in (at(sid, "/statistics/history"), box_path(sid, "/history")):
        for query, field in (
                ("since=yesterday", "since"), ("until=2026-02-30T00:00:00Z", "until"),
                ("since=2026-01-01", "since"), ("since=2026-01-01T00:00:00", "since"),
                ("since=0001-01-01T00:00:00Z", "since"), ("since=2026-01-01T00:00:00.Z", "since"),
                ("until=" + "9" * 60, "until"), ("since=%00", "since"), ("since=", "since"),
                ("limit=0", "limit"), ("limit=1001", "limit"), ("limit=-1", "limit"),
                ("limit=x", "limit"), ("cursor=x", "cursor"), ("cursor=-1", "cursor"),
                ("cursor=99999999999999999999", "cursor"), ("cursor=' OR 1=1", "cursor"),
                ("more=1", "more")):
            r = call("GET", path + "?" + query.replace(" ", "%20"))
            problem(r, 400, "validation_failed", field)
    problem(call("GET", at(sid, "/statistics?since=2026-01-01T00:00:00Z")), 400,
            "validation_failed", "since")
    for bad in ("x", "ses-", "a__%FF", "a__%C3%28", "__", "%27__", "x" * 300, "ses-" + "G" * 48):
        r = call("GET", "/v1/sandboxes/" + bad + "/statistics")
        true(r.status in (400, 404), "%s: %r" % (bad, r))
        r = call("GET", "/v1/sandboxes/" + bad + "/statistics/history")
        true(r.status in (400, 404), "%s: %r" % (bad, r))
    problem(call("POST", at(sid, "/statistics"), {}), 405, None)


sys.exit(run(lambda: None))
