#!/usr/bin/python3
"""busy.t: tests that every answer that shows a session says whether the session
is busy now, and until when it stays awake, as its wrapper knows; not as an
earlier call saw it."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import wrapper_of
from service import at, call, create, execute, expect, get, job, sql, until, value
from tap import case, equal, run, true

service.begin()


def listed(sid):
    """Returns the session as the list shows it; makes no single GET."""
    page = expect(200, call("GET", "/v1/sessions?limit=200")).json
    return [s for s in page["sessions"] if s["id"] == sid][0]


def work(sid):
    """Starts background work that ends with stop_work()."""
    expect(200, call("POST", at(sid, "/api/process/start"), {
        "command": "until [ -e /workspace/stop ]; do sleep 0.02; done",
        "processId": "work"}))


def stop_work(sid):
    execute(sid, "touch /workspace/stop")


def day_after_start(sid):
    return value("SELECT iso(started_at + interval '1 day') FROM session"
                 " WHERE id = :'v1'", sid)


@case
def the_list_knows_what_runs_without_a_single_get():
    create()  # a second session, so that the list has several
    sid = create(sleepAfterSeconds=600)["id"]
    s = listed(sid)
    equal((s["busy"], s["alive"]["until"]),
          (False, s["lease"]["keepWarmUntil"]), "idle")
    work(sid)
    s = listed(sid)
    equal(s["busy"], True, "busy")
    true("busy" in s["alive"]["because"], s["alive"])
    equal(s["alive"]["until"], day_after_start(sid), "no idle date")
    stop_work(sid)
    until("the list sees its end", lambda: listed(sid)["busy"] is False)
    s = listed(sid)
    equal(s["alive"]["until"], s["lease"]["keepWarmUntil"], "an idle date")
    true("busy" not in s["alive"]["because"], s["alive"])


@case
def every_other_answer_knows_it_too():
    sid = create(name="known", sleepAfterSeconds=600)["id"]
    work(sid)
    answers = {
        "extend": call("POST", at(sid, "/extend"), {"seconds": 700}),
        "patch": call("PATCH", at(sid), {"labels": {"a": "b"}}),
        "find": call("POST", "/v1/sessions", {"name": "known"}),
        "aliases": call("PUT", at(sid, "/aliases"), {"keys": ["k"]}),
        "resume": call("POST", at(sid, "/resume")),
    }
    for name, reply in answers.items():
        s = expect(200, reply).json
        equal((s["busy"], s["alive"]["until"], "busy" in s["alive"]["because"]),
              (True, day_after_start(sid), True), name)
        true("agent" not in s and "untilIfBusy" not in s["alive"],
             "%s shows nothing of how it was asked: %r" % (name, s))
    stop_work(sid)


@case
def a_wrapper_that_does_not_answer_is_not_guessed_and_not_waited_for():
    mute, works = create()["id"], create()["id"]
    work(works)
    wrapper = wrapper_of(job(mute, "8501.%d" % os.getpid())[0])
    os.kill(wrapper, signal.SIGSTOP)
    try:
        s = listed(mute)
        equal((s["state"], s["busy"]), ("ready", None), "not known")
        true("busy" not in s["alive"]["because"], s["alive"])
        equal(get(mute)["busy"], None, "nor by a single GET")
        equal(listed(works)["busy"], True, "others are known")
    finally:
        os.kill(wrapper, signal.SIGCONT)
    # the service does not ask a silent wrapper again for five seconds
    until("it is asked again", lambda: listed(mute)["busy"] is not None)
    stop_work(works)


@case
def what_is_on_another_host_cannot_be_asked():
    sid = create()["id"]
    here = value("SELECT b.host FROM sandbox b JOIN session s ON"
                 " s.sandbox_id = b.id WHERE s.id = :'v1'", sid)
    move = ("UPDATE sandbox SET host = :'v2' WHERE id = (SELECT sandbox_id"
            " FROM session WHERE id = :'v1')")
    sql(move, sid, "elsewhere")
    try:
        equal((listed(sid)["busy"], get(sid)["busy"]), (None, None), "busy")
    finally:
        sql(move, sid, here)
    equal(listed(sid)["busy"], False, "and here it can")


@case
def a_session_without_a_wrapper_is_not_busy():
    sid = create()["id"]
    expect(200, call("POST", at(sid, "/sleep")))
    s = listed(sid)
    equal((s["state"], s["busy"], s["alive"]),
          ("asleep", False, {"because": [], "until": None}), "asleep")


sys.exit(run(lambda: None))
