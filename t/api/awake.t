#!/usr/bin/python3
"""awake.t: tests which activity keeps a session awake, which does not, and what
GET says of it.  The tests shift times in the rows instead of waiting."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import (LongAnswer, PreviewSocket, Running, Stream, activity, age,
                   expose, fetch, passes, state, wrapper_of)
from service import (at, call, container_error, create, execute, expect, get,
                     job, problem, sql, until, value)
from tap import case, equal, run, true

service.begin()

PROBE = {"X-Sandlease-Probe": "1"}
HOUR = 3600


def because(sid):
    return get(sid)["alive"]["because"]


# ---- time alone

@case
def a_session_that_is_created_and_used_5_minutes_later_still_runs():
    s = create()
    age(s["id"], 300)
    passes()
    equal(state(s["id"]), ["ready", "", "owns_wrapper"], "after a pass")
    equal(execute(s["id"], "echo used"), "used\n", "output")
    equal(get(s["id"])["lease"]["generation"], 1, "the same wrapper")


@case
def files_survive_sleep_and_resume():
    sid = create()["id"]
    execute(sid, "echo kept > /workspace/f; echo too > ~/g")
    for _ in range(2):
        equal(expect(200, call("POST", at(sid, "/sleep"))).json["state"],
              "asleep", "state")
        equal(execute(sid, "cat /workspace/f ~/g"), "kept\ntoo\n", "files")


@case
def an_idle_session_says_why_it_is_awake_and_until_when():
    s = create(sleepAfterSeconds=100)
    equal(s["alive"]["because"], ["recent_activity"], "because")
    equal(s["alive"]["until"], s["lease"]["keepWarmUntil"], "until")
    expect(200, call("POST", at(s["id"], "/extend"), {"seconds": HOUR}))
    equal(because(s["id"]), ["recent_activity", "extended"], "extended")
    age(s["id"], 200)
    equal(because(s["id"]), ["extended"], "and nothing else after a while")
    passes()
    equal(state(s["id"])[0], "ready", "after a pass")
    expect(200, call("PATCH", at(s["id"]), {"sleepAfterSeconds": 50}))
    passes()
    equal(state(s["id"])[0], "ready", "a patch does not break the promise")
    keep = create(keepAlive=True)
    equal(keep["alive"], {"because": ["keep_alive"], "until": None}, "keepAlive")
    end = create(keepAlive=True, expiresAt="2099-01-01T00:00:00Z")
    equal((end["alive"]["until"], end["expiresAt"]),
          ("2099-01-01T00:00:00.000Z",) * 2, "expiresAt")
    s = expect(200, call("PATCH", at(end["id"]),
                         {"expiresAt": "2098-01-01T00:00:00Z"})).json
    equal(s["alive"]["until"], "2098-01-01T00:00:00.000Z", "another one")
    problem(call("PATCH", at(end["id"]), {"expiresAt": "soon and for ever ok"}),
            400, "validation_failed", "expiresAt")


@case
def what_extend_promised_outlives_its_wrapper():
    for how in ({"suspend": False}, {"suspend": True}):
        sid = create(sleepAfterSeconds=60)["id"]
        expect(200, call("POST", at(sid, "/extend"), {"seconds": HOUR}))
        expect(200, call("POST", at(sid, "/sleep"), how))
        s = expect(200, call("POST", at(sid, "/resume"))).json
        equal(s["alive"]["because"], ["recent_activity", "extended"], how)
        true(s["alive"]["until"] >= value(
            "SELECT iso(extended_until) FROM session WHERE id = :'v1'", sid),
             "so long at least, with %r: %r" % (how, s["alive"]))
        age(sid, 120)
        passes()
        equal(state(sid)[0], "ready", "after a pass")


@case
def a_day_without_a_pause_is_the_end_and_is_told():
    s = create(sleepAfterSeconds=2 * 24 * HOUR)
    end = value("SELECT iso(started_at + interval '1 day') FROM session"
                " WHERE id = :'v1'", s["id"])
    equal(s["alive"]["until"], end, "until")
    service.configure(too_old_seconds=7200)
    service.restart()
    try:
        equal(get(s["id"])["alive"]["until"], value(
            "SELECT iso(started_at + interval '2 hours') FROM session"
            " WHERE id = :'v1'", s["id"]), "as the operator says")
        expect(200, call("PATCH", at(s["id"]), {"keepAlive": True}))
        equal(get(s["id"])["alive"]["until"], None, "but with keepAlive")
    finally:
        service.configure(too_old_seconds=86400)
        service.restart()


# ---- streams

@case
def an_open_stream_keeps_it_awake():
    sid = create(sleepAfterSeconds=60)["id"]
    s = Stream(sid, "until [ -e /workspace/go ]; do sleep 0.02; done")
    until("it is busy", lambda: get(sid)["busy"])
    true({"busy", "open_stream"} <= set(because(sid)), because(sid))
    equal(get(sid)["alive"]["until"], value(
        "SELECT iso(started_at + interval '1 day') FROM session"
        " WHERE id = :'v1'", sid), "no idle date while it works")
    age(sid, HOUR)
    passes()
    equal(state(sid)[0], "ready", "after a pass")
    execute(sid, "touch /workspace/go", sessionId="other")
    s.close()
    until("it is over", lambda: not get(sid)["busy"])
    s = get(sid)
    equal(s["alive"]["until"], s["lease"]["keepWarmUntil"], "it has one now")


# ---- previews

@case
def bytes_on_an_open_websocket_keep_it_awake():
    sid = create(sleepAfterSeconds=60)["id"]
    w = PreviewSocket(expose(sid))
    age(sid, HOUR)
    before = activity(sid)
    w.echo()
    equal(activity(sid), before, "nobody asked `auth` for these bytes")
    true("preview_traffic" in because(sid), because(sid))
    passes()
    equal(state(sid)[0], "ready", "after a pass")
    left = float(value("SELECT extract(epoch FROM keep_warm_until -"
                       " clock_timestamp()) FROM lease WHERE session_id ="
                       " :'v1'", sid))
    true(0 < left <= 60, "it sleeps when nothing came for so long: %f" % left)
    w.echo()
    w.close()


@case
def a_long_answer_of_a_preview_keeps_it_awake():
    sid = create(sleepAfterSeconds=60)["id"]
    w = LongAnswer(expose(sid), "/slow")
    age(sid, HOUR)
    execute(sid, "echo >> /workspace/tick")
    w.wait(b"tick")
    age(sid, HOUR)
    passes()
    equal(state(sid)[0], "ready", "after a pass")
    w.close()


@case
def an_open_websocket_without_a_byte_does_not_keep_it_awake():
    sid = create(sleepAfterSeconds=2)["id"]
    w = PreviewSocket(expose(sid))
    w.echo()
    until("it sleeps", lambda: passes() and state(sid)[0] == "asleep")
    equal(state(sid), ["asleep", "idle-timeout", "none"], "state")
    w.close()


# ---- probes

@case
def a_probe_is_no_activity():
    sid = create(sleepAfterSeconds=60)["id"]
    host = expose(sid)
    age(sid, 50)  # every call so near the sleep is written at once
    before = activity(sid)
    for _ in range(2):
        expect(200, call("GET", at(sid, "/api/ping"), headers=PROBE))
        expect(200, call("POST", at(sid, "/api/execute"), {"command": "true"},
                         headers=PROBE))
        r = expect(200, fetch(host, **PROBE))
        true(b"\r\nX-Sandlease-Probe: 1\r\n" in r.body, "the app may know")
    equal(activity(sid), before, "a probe")
    r = expect(200, fetch(host, **{"X-Sandlease-Probe": "yes"}))
    true(b"Probe" not in r.body, "nothing but 1 is passed on: %r" % r.body)
    true(activity(sid) != before, "a call that is none")


@case
def a_probe_does_not_count_with_the_wrapper_either():
    sid = create(sleepAfterSeconds=2)["id"]
    host = expose(sid)

    def asleep():
        call("GET", at(sid, "/api/ping"), headers=PROBE)
        fetch(host, **PROBE)
        passes()
        return state(sid)[0] == "asleep"
    until("it sleeps in spite of probes", asleep)
    equal(state(sid)[1], "idle-timeout", "reason")


@case
def a_command_of_a_probe_is_not_work():
    sid = create(sleepAfterSeconds=60)["id"]
    probe = Running(sid, "echo > /workspace/runs; sleep 1000", headers=PROBE)
    until("it runs", lambda: call("POST", at(sid, "/api/read"), {
        "path": "/workspace/runs"}).status == 200)
    equal(get(sid)["busy"], False, "busy")
    sql("UPDATE lease SET keep_warm_until = clock_timestamp() WHERE"
        " session_id = :'v1'", sid)
    until("it sleeps", lambda: passes() and state(sid)[0] == "asleep")
    probe.result()  # the command ended with the session's wrapper


@case
def a_probe_wakes_nobody():
    sid = create(wakeOnPreview=True)["id"]
    host = expose(sid)
    expect(200, call("POST", at(sid, "/sleep")))
    container_error(call("GET", at(sid, "/api/ping"), headers=PROBE), 409,
                    "SESSION_ASLEEP")
    r = expect(410, fetch(host, **PROBE))
    equal(r.json["code"], "STALE_PREVIEW_URL", "code")
    equal(state(sid)[0], "asleep", "state")
    expect(200, call("GET", at(sid, "/api/ping")))
    equal(state(sid)[0], "ready", "a call that is none wakes it")


@case
def whether_a_visitor_wakes_it_can_be_changed():
    sid = create()["id"]
    host = expose(sid)
    expect(200, call("POST", at(sid, "/sleep")))
    expect(410, fetch(host))
    s = expect(200, call("PATCH", at(sid), {"wakeOnPreview": True})).json
    equal((s["wakeOnPreview"], s["state"]), (True, "asleep"), "changed")
    expect(307, fetch(host))
    equal(state(sid)[0], "ready", "a visitor wakes it")
    expect(200, call("PATCH", at(sid), {"wakeOnPreview": False}))
    expect(200, call("POST", at(sid, "/sleep")))
    expect(410, fetch(host))
    problem(call("PATCH", at(sid), {"wakeOnPreview": "yes"}), 400,
            "validation_failed", "wakeOnPreview")


@case
def a_probe_replaces_nobody():
    sid = create()["id"]
    host = expose(sid)
    wrapper = wrapper_of(job(sid, "8500.%d" % os.getpid())[0])
    os.kill(wrapper, signal.SIGKILL)
    until("it is dead", lambda: not service.alive(wrapper))
    r = call("GET", at(sid, "/api/ping"), headers=PROBE)
    equal(container_error(r, 503, "CONTAINER_UNAVAILABLE")["context"][
        "reason"], "wrapper_unavailable", "reason")
    expect(503, fetch(host, **PROBE))
    equal(get(sid)["lease"]["generation"], 1, "it was left alone")
    until("a call that is none brings another", lambda: call(
        "GET", at(sid, "/api/ping")).status == 200)
    equal(get(sid)["lease"]["generation"], 2, "another wrapper")


# ---- refusals

@case
def what_is_refused_keeps_nobody_awake():
    sid = create(sleepAfterSeconds=60)["id"]
    expose(sid)
    reader = service.new_key("demo", "asks", "--scope", "read")
    age(sid, 50)  # every call so near the sleep is written at once
    before = activity(sid)
    for _ in range(2):
        container_error(call("POST", at(sid, "/api/execute"),
                             {"command": "true"}, reader), 403, "FORBIDDEN")
        expect(403, call("GET", at(sid, "/proxy/8000/x"), key=reader,
                         headers={"Connection": "Upgrade",
                                  "Upgrade": "websocket"}))
        expect(404, call("GET", at(sid, "/proxy/8999/x")))
        expect(400, call("GET", at(sid, "/./proxy/8000/x")))
    equal(activity(sid), before, "a refusal")
    expect(200, call("GET", at(sid, "/api/ping"), key=reader))
    true(activity(sid) != before, "what a reader may do is activity")


# ---- maximum run time

@case
def a_session_sleeps_after_its_maximum_run_time_whatever_happens():
    s = create(maxRunSeconds=HOUR, keepAlive=True)
    sid = s["id"]
    equal(s["maxRunSeconds"], HOUR, "maxRunSeconds")
    true(s["alive"]["until"] is not None, "keepAlive does not lift it")
    work = Running(sid, "sleep 1000")
    until("it is busy", lambda: get(sid)["busy"])
    expect(200, call("POST", at(sid, "/extend"), {"seconds": 2 * HOUR}))
    age(sid, HOUR - 600)
    passes()
    equal(state(sid)[0], "ready", "ten minutes before")
    age(sid, 601)
    passes()
    equal(state(sid), ["asleep", "max_run_time", "none"], "state")
    work.result()  # the command has ended
    execute(sid, "true")
    passes()
    equal(state(sid)[0], "ready", "it counts from the start of the wrapper")


@case
def a_maximum_run_time_can_be_changed_and_taken_away():
    sid = create()["id"]
    equal(get(sid)["maxRunSeconds"], None, "none at first")
    expect(200, call("PATCH", at(sid), {"maxRunSeconds": 60}))
    equal(get(sid)["maxRunSeconds"], 60, "set")
    age(sid, 100)
    expect(200, call("PATCH", at(sid), {"maxRunSeconds": 0}))
    equal(get(sid)["maxRunSeconds"], None, "taken away")
    passes()
    equal(state(sid)[0], "ready", "after a pass")
    for bad in (-1, "x", 1.5):
        problem(call("PATCH", at(sid), {"maxRunSeconds": bad}), 400,
                "validation_failed", "maxRunSeconds")
    problem(call("POST", "/v1/sessions", {"maxRunSeconds": 0}), 400,
            "validation_failed", "maxRunSeconds")


sys.exit(run(lambda: None))
