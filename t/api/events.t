#!/usr/bin/python3
"""events.t: tests the history of a session, and calls that wait for its next event."""
import http.client
import os
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, create, execute, expect, get, job, new_key,
                     problem, reap, setting, sql, stack, until, value)
from tap import Skip, case, equal, run, true

WORKERS = 4  # one of them may wait
service.begin("api_workers = %d" % WORKERS)

FIELDS = {"id", "at", "kind", "what", "actor", "reason", "generation",
          "traceId", "durationMs", "detail"}
STEPS = ["workspace", "sandbox", "admission", "wrapper", "ready"]
ME = expect(200, call("GET", "/v1/me")).json
ACTOR = "key:%s/%s" % (ME["keyId"], ME["user"])


def events(sid, query=""):
    return expect(200, call("GET", at(sid, "/events") + query)).json


def last(sid):
    """Returns the position after the newest event."""
    return events(sid)["next"]


def new(sid, after):
    return events(sid, "?after=%d" % after)["events"]


def what(found, kind=None):
    return [e["what"] for e in found if kind in (None, e["kind"])]


def steps(found):
    """Returns [(what, how)] of the steps, and checks that each has a duration and a
    generation."""
    for e in found:
        if e["kind"] == "step":
            true(isinstance(e["durationMs"], int) and e["durationMs"] >= 0,
                 "a duration: %r" % e)
            true(e["generation"], "a generation: %r" % e)
    return [(e["what"], e["detail"].get("how")) for e in found
            if e["kind"] == "step"]


def waiting():
    return int(value("SELECT count(*) FROM event_waiter"
                     " WHERE until > clock_timestamp()"))


class Waiter(threading.Thread):
    """A call that waits in the background; `answer` is set once it has come."""

    # wait: the service's limit; an event ends the call before
    def __init__(self, sid, after, seconds=30):
        super().__init__(daemon=True)
        self.path = at(sid, "/events?after=%d&wait=%d" % (after, seconds))
        self.answer = None
        self.start()

    def run(self):
        self.answer = call("GET", self.path)

    def result(self):
        self.join(service.PATIENCE)
        true(self.answer is not None, "an answer came")
        return self.answer


# ---- reported events

@case
def a_cold_start_tells_each_step_and_how_long_it_took():
    sid = create(isolation="session")["id"]
    found = events(sid)["events"]
    for e in found:
        equal(set(e), FIELDS, "fields")
    equal(steps(found), list(zip(STEPS, ("made", "started", "admitted",
                                         "launched", "proved"))), "steps")
    equal(what(found, "state"), ["initializing", "ready"], "states")
    equal(what(found, "lease"), ["allocate", "startup_verified",
                                 "retain_warm"], "transitions")
    equal((what(found)[0], what(found)[-1]), ("initializing", "ready"),
          "from the first to the last")
    ids = [e["id"] for e in found]
    equal(ids, sorted(ids), "in order")
    equal({e["generation"] for e in found[1:]}, {1}, "generation")
    started = sum(e["durationMs"] for e in found if e["kind"] == "step")
    true(found[-1]["durationMs"] >= started, "the whole is no shorter than"
         " its parts: %r" % found)


@case
def a_resume_tells_its_steps_and_what_starts_nothing_tells_none():
    sid = create(isolation="session")["id"]
    expect(200, call("POST", at(sid, "/sleep")))
    after = last(sid)
    expect(200, call("POST", at(sid, "/resume")))
    found = new(sid, after)
    equal(steps(found), list(zip(STEPS, ("kept", "started", "admitted",
                                         "launched", "proved"))), "resume")
    equal({e["generation"] for e in found if e["kind"] == "step"}, {2}, "2")
    after = last(sid)
    expect(200, call("POST", at(sid, "/resume")))
    found = new(sid, after)
    equal(what(found), ["reuse", "startup_verified", "retain_warm"],
          "a warm one is proved: transitions, and no steps")
    work = threading.Thread(daemon=True, target=lambda: execute(
        sid, "until [ -e go ]; do sleep 0.1; done"))
    work.start()
    until("it works", lambda: get(sid)["busy"])
    # the event of a call is written after its answer
    until("the first call is told", lambda: "delivery_accepted" in what(new(sid, after)))
    after = last(sid)
    expect(200, call("POST", at(sid, "/resume")))
    found = new(sid, after)
    equal(found, [], "a hot one is left alone")
    expect(200, call("POST", at(sid, "/api/write"),
                     {"path": "go", "content": ""}))
    work.join(service.PATIENCE)


@case
def the_first_work_of_each_generation_is_told_once():
    sid = create(isolation="session")["id"]

    def accepted():
        return [(e["generation"], e["actor"]) for e in events(sid)["events"]
                if e["what"] == "delivery_accepted"]

    equal(accepted(), [], "a start is no work")
    call("POST", at(sid, "/api/execute"), {"command": "true"},
         headers={"X-Sandlease-Probe": "1"})
    equal(accepted(), [], "nor is a probe")
    gate = ACTOR.replace("key:", "gate:")
    execute(sid, "true")
    until("the first call is", accepted)  # written after the answer
    for _ in range(3):
        execute(sid, "true")
        equal(accepted(), [(1, gate)], "the first call was")
    expect(200, call("POST", at(sid, "/resume")))
    execute(sid, "true")
    equal(accepted(), [(1, gate)], "once, though it was reused")
    expect(200, call("POST", at(sid, "/sleep")))
    expect(200, call("POST", at(sid, "/resume")))
    equal(accepted(), [(1, gate)], "the next generation has done nothing yet")
    execute(sid, "true")
    until("then it has", lambda: len(accepted()) > 1)
    execute(sid, "true")
    equal(accepted(), [(1, gate), (2, gate)], "once")


@case
def what_was_frozen_tells_its_steps_too():
    sid = create(suspend=True)["id"]
    if not expect(200, call("POST", at(sid, "/sleep"))).json["suspended"]:
        raise Skip("nothing can be frozen here")
    after = last(sid)
    execute(sid, "true")
    found = new(sid, after)
    equal(steps(found), [(s, "reused") for s in STEPS[:-1]] +
          [("ready", "proved")], "steps")
    equal(what(found, "state"), ["initializing", "ready"], "states")
    equal({e["actor"] for e in found}, {ACTOR.replace("key:", "gate:")}, "who")


@case
def a_wrapper_that_died_is_told_and_so_is_the_next_one():
    sid = create()["id"]
    mark = "8401.%d" % os.getpid()
    pid = job(sid, mark)[0]
    while not service.stat(pid)[0].startswith("sandlease-cell"):
        pid = service.stat(pid)[2]
    after = last(sid)
    os.kill(pid, signal.SIGKILL)
    until("it is dead", lambda: not service.alive(pid))
    until("it is replaced", lambda: call("GET", at(sid, "/api/ping")).status
          == 200)
    found = new(sid, after)
    equal([(e["what"], e["reason"], e["generation"]) for e in found
           if e["kind"] == "lease"][:2],
          [("owned_absent", "wrapper_gone", 1), ("allocate", None, 2)], "why")
    equal(dict(steps(found)), dict(zip(STEPS, (
        "kept", "reused", "admitted", "launched", "proved"))), "steps")


@case
def a_second_session_tells_that_it_found_its_sandbox():
    create()
    sid = create()["id"]
    equal(dict(steps(events(sid)["events"])),
          dict(zip(STEPS, ("made", "reused", "admitted", "launched",
                           "proved"))), "steps")


@case
def a_start_that_fails_tells_the_step_and_why():
    sql("INSERT INTO class (name, rootfs, memory_mb, cpu_millis, disk_mb,"
        " pids) VALUES ('broken', '/nonexistent', 256, 1000, 256, 64)")
    r = call("POST", "/v1/sessions", {"isolation": "session",
                                      "class": "broken", "name": "broken"})
    true(r.status >= 500, "refused: %r" % r)
    sid = value("SELECT id FROM session WHERE name = 'broken'")
    found = events(sid)["events"]
    equal([w for w, _ in steps(found)], ["workspace", "sandbox"], "steps")
    failed = [e for e in found if e["kind"] == "step"][-1]
    true(failed["reason"] and not failed["detail"], "why: %r" % failed)
    true("startup-failed" in [e["reason"] for e in found
                              if e["what"] == "request_stop"], "the stop's")
    equal(what(found, "state"), ["initializing", "failed"], "states")


@case
def every_event_names_who_why_and_the_trace():
    trace = {"X-Trace-Id": "history-1"}
    sid = expect(201, call("POST", "/v1/sessions", {"sleepAfterSeconds": 60},
                           headers=trace)).json["id"]
    equal({(e["actor"], e["traceId"]) for e in events(sid)["events"]},
          {(ACTOR, "history-1")}, "a key")
    after = last(sid)
    expect(200, call("POST", at(sid, "/sleep"),
                     headers={"X-Trace-Id": "history-2"}))
    equal({(e["actor"], e["reason"], e["traceId"]) for e in new(sid, after)},
          {(ACTOR, "user-interrupt", "history-2")}, "a stop")
    after = last(sid)
    execute(sid, "true")
    equal({e["actor"] for e in new(sid, after)},
          {ACTOR.replace("key:", "gate:")}, "woken by a call")
    expect(201, call("POST", at(sid, "/ports"), {"port": 8080}))
    sql("UPDATE session SET wake_on_preview = true WHERE id = :'v1'", sid)
    expect(200, call("POST", at(sid, "/sleep")))
    after = last(sid)
    url = get(sid)["ports"][0]["url"]
    equal(call("GET", "/", key="", headers={
        "Host": url.split("/")[2]}).status, 307, "a preview")
    equal({e["actor"] for e in new(sid, after)}, {"gate"}, "woken by it")
    after = last(sid)
    sql("UPDATE lease SET keep_warm_until = clock_timestamp()"
        " - interval '1 hour' WHERE session_id = :'v1'", sid)
    reap()
    found = new(sid, after)
    equal({(e["actor"], e["reason"]) for e in found},
          {("reaper", "idle-timeout")}, "the reaper")
    equal(what(found, "state"), ["sleeping", "asleep"], "states")
    after = last(sid)
    expect(200, call("DELETE", at(sid), headers=trace))
    equal({(e["actor"], e["reason"], e["traceId"]) for e in new(sid, after)},
          {(ACTOR, "session-delete", "history-1")}, "a deletion, to its end")


@case
def a_change_tells_what_was_changed_by_whom_and_no_secret():
    sid = create(labels={"a": "1", "b": "2"}, sleepAfterSeconds=100,
                 env={"OLD": "x"})["id"]
    after = last(sid)
    expect(200, call("PATCH", at(sid), {
        "keepAlive": True, "sleepAfterSeconds": 100, "maxRunSeconds": 500,
        "wakeOnPreview": True, "labels": {"a": "1", "b": None, "c": "3"},
        "env": {"TOKEN": "very-secret", "OLD": None}}))
    found = new(sid, after)
    equal([(e["kind"], e["what"], e["detail"]) for e in found],
          [("change", "settings", {
              "keepAlive": {"from": False, "to": True},
              "wakeOnPreview": {"from": False, "to": True},
              "maxRunSeconds": {"from": None, "to": 500},
              "labels": ["b", "c"]}),
           ("change", "env", {"env": ["TOKEN", "OLD"]})], "events")
    for e in found:
        true(e["actor"] == ACTOR and e["traceId"] and e["generation"] == 1,
             "who: %r" % e)
    equal(value("SELECT count(*) FROM event WHERE event::text LIKE"
                " '%very-secret%'"), "0", "no value of env")
    after = last(sid)
    expect(200, call("PATCH", at(sid), {"keepAlive": True, "labels": {
        "a": "1"}}))
    expect(200, call("PATCH", at(sid), {}))
    equal(new(sid, after), [],
          "what changes nothing leaves none")
    problem(call("PATCH", at(sid), {"keepAlive": False}, service.new_key(
        "elsewhere", "mallory")), 404, "session_not_found")
    equal(new(sid, after), [], "nor does a stranger")


@case
def a_transition_says_how_long_the_last_state_lasted():
    sid = create()["id"]
    after = last(sid)
    sql("UPDATE lease SET changed_at = changed_at - interval '1 hour'"
        " WHERE session_id = :'v1'", sid)
    expect(200, call("POST", at(sid, "/sleep")))
    stop = new(sid, after)[0]
    equal(stop["what"], "request_stop", "the first")
    true(3600 * 1000 <= stop["durationMs"] < 2 * 3600 * 1000, "an hour: %r" %
         stop)


# ---- reading the history

@case
def pages_follow_each_other():
    sid = create()["id"]
    everything = events(sid)
    found, after = [], 0
    while True:
        page = events(sid, "?limit=3&after=%d" % after)
        true(len(page["events"]) <= 3, "a page")
        if not page["events"]:
            equal(page["next"], after, "where it stands")
            break
        found += page["events"]
        after = page["next"]
    equal(found, everything["events"], "all of them, once")


@case
def bad_questions_name_their_field():
    sid = create()["id"]
    for query, field in (("after=-1", "after"), ("after=x", "after"),
                         ("after=99999999999999999999", "after"),
                         ("wait=31", "wait"), ("wait=-1", "wait"),
                         ("wait=1s", "wait"), ("limit=0", "limit"),
                         ("limit=1001", "limit"), ("limit=%zz", "limit")):
        problem(call("GET", at(sid, "/events?" + query)), 400,
                "validation_failed", field)


@case
def it_can_be_read_until_the_row_goes_and_by_its_tenant_only():
    sid = create()["id"]
    expect(200, call("DELETE", at(sid)))
    equal(get(sid)["state"], "deleted", "state")
    equal(what(events(sid)["events"], "state")[-2:], ["deleting", "deleted"],
          "the end of it")
    stranger = new_key("strangers", "u")
    for query in ("", "?wait=5", "?after=1000000&wait=5"):
        problem(call("GET", at(sid, "/events" + query), key=stranger), 404,
                "session_not_found")
    equal(waiting(), 0, "nobody waits for what is not theirs")
    expect(200, call("GET", at(sid, "/events"),
                     key=new_key("demo", "r", "--scope", "read")))


# ---- waiting for an event

@case
def who_waits_is_woken_by_the_next_event():
    sid = create()["id"]
    w = Waiter(sid, last(sid))
    until("it waits", lambda: waiting() == 1)
    after = last(sid)
    expect(200, call("POST", at(sid, "/sleep")))
    r = expect(200, w.result())
    equal(r.json["events"][0]["what"], "request_stop", "the first")
    equal(r.json["events"], [e for e in new(sid, after)
                             if e["id"] <= r.json["next"]], "what came")
    equal(r.header("Retry-After"), None, "it had its turn")
    equal(value("SELECT count(*) FROM event_waiter"), "0", "nothing is left")


@case
def what_is_there_is_answered_without_waiting():
    sid = create()["id"]
    r = expect(200, call("GET", at(sid, "/events?wait=30")))
    true(r.json["events"], "what there is")
    equal(value("SELECT count(*) FROM pg_stat_activity"
                " WHERE application_name = 'sandlease-api'"
                " AND query LIKE '%LISTEN%'"), "0", "nobody listened")


@case
def time_that_is_over_is_an_empty_page():
    sid = create()["id"]
    after = last(sid)
    equal(events(sid, "?after=%d&wait=1" % after),
          {"events": [], "next": after}, "nothing")
    equal(value("SELECT count(*) FROM event_waiter"), "0", "nothing is left")


@case
def waiters_never_starve_a_create():
    sid = create()["id"]
    after = last(sid)
    first = Waiter(sid, after)
    until("it waits", lambda: waiting() == 1)
    for w in [Waiter(sid, after) for _ in range(3 * WORKERS)]:
        r = w.result()
        equal((r.status, r.json["events"], r.header("Retry-After")),
              (200, [], "1"), "at once, with what there is")
    for _ in range(WORKERS):
        create()
    equal((waiting(), first.answer), (1, None), "one has been waiting all"
          " along")
    expect(200, call("DELETE", at(sid)))
    true(expect(200, first.result()).json["events"], "and is woken")


@case
def rows_that_somebody_holds_are_no_failure():
    sid = create()["id"]
    after = last(sid)
    with service.Held("SELECT 1 FROM lease WHERE session_id = '%s' FOR UPDATE"
                      % sid):
        r = expect(200, call("GET", at(sid, "/events?after=%d&wait=30" %
                                       after)))
    equal((r.json["events"], r.header("Retry-After")), ([], "1"), "ask again")
    equal(value("SELECT count(*) FROM event_waiter"), "0", "nothing is left")


@case
def a_client_that_goes_away_frees_its_worker():
    sid = create()["id"]
    conn = http.client.HTTPConnection("127.0.0.1", service.port())
    conn.request("GET", at(sid, "/events?after=%d&wait=30" % last(sid)),
                 headers={"Authorization": "Bearer " +
                          setting("SANDLEASE_API_KEY")})
    until("it waits", lambda: waiting() == 1)
    end = value("SELECT until FROM event_waiter")
    conn.close()
    until("it waits no more",
          lambda: value("SELECT count(*) FROM event_waiter") == "0")
    equal(value("SELECT clock_timestamp() < :'v1'::timestamptz", end), "t",
          "long before its time")


@case
def a_restart_ends_waiting_with_an_answer():
    sid = create()["id"]
    w = Waiter(sid, last(sid))
    until("it waits", lambda: waiting() == 1)
    end = value("SELECT until FROM event_waiter")
    service.restart()
    equal(expect(200, w.result()).json["events"], [], "nothing had happened")
    equal(value("SELECT clock_timestamp() < :'v1'::timestamptz", end), "t",
          "before its time")


@case
def a_restart_just_before_it_waits_does_too():
    sid = create()["id"]
    after = last(sid)
    with service.Held("SELECT 1 FROM lease WHERE session_id = '%s' FOR UPDATE"
                      % sid):
        w = Waiter(sid, after)
        # after 2 s the call is answered without the lock, and its worker ends, too
        until("it is about to", lambda: w.answer or value(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type ="
            " 'Lock' AND application_name = 'sandlease-api'") == "1")
        master = service.master()
        os.kill(master, signal.SIGTERM)
        until("the idle ones have ended", lambda: len(
            service.children(master)) <= 1)
    try:
        equal(expect(200, w.result()).json["events"], [], "an answer")
    finally:
        service.restart()


@case
def a_database_that_goes_away_ends_waiting():
    sid = create()["id"]
    after = last(sid)
    w = Waiter(sid, after)
    until("it waits", lambda: waiting() == 1)
    stack("pg_stop")
    problem(w.result(), 503, "database_unavailable")
    stack("pg_start")
    until("it is back", lambda: call("GET", "/v1/health").status == 200)
    sql("DELETE FROM event_waiter")  # the row of a waiter that could not remove it
    w = Waiter(sid, after)
    until("it waits again", lambda: waiting() == 1)
    expect(200, call("POST", at(sid, "/sleep")))
    true(expect(200, w.result()).json["events"], "and is woken")


# ---- the end of the history

@case
def retention_takes_old_events_and_nothing_else_does():
    sid = create()["id"]
    try:
        sql("DELETE FROM event WHERE session_id = :'v1'", sid)
        true(False, "it was deleted")
    except AssertionError as e:
        true("append-only" in str(e), str(e))
    sql("INSERT INTO event (id, session_id, at, kind, what)"
        " OVERRIDING SYSTEM VALUE VALUES (-1, :'v1', clock_timestamp()"
        " - interval '1000 days', 'state', 'ancient')", sid)
    before = what(events(sid)["events"])
    reap()
    equal(value("SELECT count(*) FROM event WHERE what = 'ancient'"), "0",
          "it went")
    equal(what(events(sid)["events"]), before, "the others are there")


# ---- the history of a whole life

@case
def every_transition_of_all_these_sessions_was_told():
    equal(service.untold(), [], "changes without an event, or without its who,"
          " trace and duration")


run(lambda: None)
