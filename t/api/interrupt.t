#!/usr/bin/python3
"""interrupt.t: tests that an interrupt ends the commands of a session and leaves
the session usable."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import Running, generation, passes, state, wrapper_of
from service import (at, call, create, execute, expect, get, job, problem,
                     running, sql, until, value)
from tap import case, equal, run, true

service.begin()

ME = os.getpid()


def interrupt(sid):
    return expect(200, call("POST", at(sid, "/interrupt"))).json


def busy(sid, *marks):
    until("it is busy", lambda: get(sid)["busy"])
    for mark in marks:
        until("%s runs" % mark, lambda: running(mark))


def there(sid, path):
    until("%s is there" % path, lambda: call("POST", at(sid, "/api/read"), {
        "path": path}).status == 200)


@case
def a_command_in_a_shell_is_interrupted_and_the_shell_keeps_its_state():
    sid = create()["id"]
    mark = "8400.%d" % ME
    execute(sid, "cd /tmp; here=kept; f() { echo in $here; }; alias g='echo g'")
    work = Running(sid, "there=too; sleep %s; touch /workspace/wrong" % mark)
    busy(sid, mark)
    equal(interrupt(sid), {"id": sid, "state": "ready", "interrupted": 1},
          "answer")
    r = expect(200, work.result()).json
    equal((r["exitCode"], r.get("interrupted")), (130, True), "the command")
    equal(running(mark), [], "it is gone")
    equal(execute(sid, "echo $there $PWD; f; g"),
          "too /tmp\nin kept\ng\n", "the shell's state")
    equal(call("POST", at(sid, "/api/read"), {"path": "/workspace/wrong"})
          .status, 404, "what came after it did not run")
    equal((state(sid), generation(sid), get(sid)["busy"]),
          (["ready", "", "owns_wrapper"], 1, False), "the session")


@case
def a_loop_of_the_shell_itself_is_interrupted():
    sid = create()["id"]
    execute(sid, "here=kept")
    work = Running(sid, "while :; do n=$((n + 1));"
                   " [ $n -ne 9 ] || echo > /workspace/loops; done")
    there(sid, "/workspace/loops")
    equal(interrupt(sid)["interrupted"], 1, "interrupted")
    equal(work.result().json["exitCode"], 130, "exit code")
    equal(execute(sid, "echo $here; [ $n -gt 0 ]"), "kept\n", "state")


@case
def a_stream_is_interrupted():
    sid = create()["id"]
    mark = "8401.%d" % ME
    stream = Running(sid, "echo begin; sleep %s; echo wrong" % mark, stream=True)
    busy(sid, mark)
    equal(interrupt(sid)["interrupted"], 1, "interrupted")
    events = stream.events()
    equal([e["data"] for e in events if e["type"] == "stdout"], ["begin\n"],
          "output")
    equal((events[-1]["type"], events[-1]["exitCode"],
           events[-1]["interrupted"]), ("complete", 130, True), "its end")
    equal(running(mark), [], "it is gone")


@case
def everything_that_runs_is_interrupted_at_once():
    sid = create()["id"]
    mark = "8402.%d" % ME
    work = [Running(sid, "sleep " + mark),
            Running(sid, "sleep " + mark, sessionId="other"),
            Running(sid, "sleep " + mark, sessionId="__DISABLE_SESSION__"),
            Running(sid, "sleep " + mark, sessionId="third", stream=True)]
    until("all run", lambda: len(running(mark)) == 4)
    equal(interrupt(sid)["interrupted"], 4, "interrupted")
    for w in work:
        w.result()
    equal(running(mark), [], "all are gone")
    equal(execute(sid, "echo usable"), "usable\n", "usable")


@case
def what_ignores_sigterm_is_killed_and_what_listens_may_clean_up():
    sid = create()["id"]
    mark = "8403.%d" % ME
    deaf = Running(sid, "trap '' TERM; (setsid sleep %s &); sleep %s"
                   % (mark, mark))
    polite = Running(sid, "bash -c 'trap \"echo bye > /workspace/bye; exit\" TERM;"
                     " echo > /workspace/loops; while :; do sleep 0.05; done'",
                     sessionId="polite")
    until("all run", lambda: len(running(mark)) == 2 and get(sid)["busy"])
    there(sid, "/workspace/loops")
    equal(interrupt(sid)["interrupted"], 2, "interrupted")
    deaf.result()
    polite.result()
    equal(running(mark), [], "killed")
    equal(execute(sid, "cat /workspace/bye"), "bye\n", "cleaned up")


@case
def what_runs_in_the_background_is_left_alone():
    sid = create()["id"]
    [server] = job(sid, "8404.%d" % ME)
    work = Running(sid, "sleep 8405.%d" % ME)
    busy(sid, "8405.%d" % ME)
    equal(interrupt(sid)["interrupted"], 1, "interrupted")
    work.result()
    true(service.alive(server), "the job of an earlier command")
    equal(running("8405.%d" % ME), [], "the command")
    equal(interrupt(sid)["interrupted"], 0, "nothing runs now")
    true(service.alive(server), "the job")


@case
def it_is_persisted_and_told():
    sid = create()["id"]
    interrupt(sid)
    equal([r[0] for r in sql("SELECT what FROM event WHERE session_id = :'v1'"
                             " AND kind = 'interrupt' ORDER BY id", sid)],
          ["interrupt_requested", "interrupted"], "events")
    equal(value("SELECT interrupt_requested_at IS NULL FROM session WHERE"
                " id = :'v1'", sid), "t", "finished")


@case
def what_is_not_ready_is_refused():
    sid = create()["id"]
    expect(200, call("POST", at(sid, "/sleep")))
    problem(call("POST", at(sid, "/interrupt")), 409, "session_not_ready")
    equal(state(sid)[0], "asleep", "it sleeps on")
    expect(200, call("DELETE", at(sid)))
    problem(call("POST", at(sid, "/interrupt")), 410, "session_deleted")
    problem(call("POST", at("0" * 20, "/interrupt")), 404, "session_not_found")
    other = service.new_key("interrupt-org", "u")
    living = create()["id"]
    problem(call("POST", at(living, "/interrupt"), key=other), 404,
            "session_not_found")
    read = service.new_key("interrupt-org", "u", "--scope", "read")
    problem(call("POST", at(living, "/interrupt"), key=read), 403, None)


@case
def a_wrapper_that_stands_still_is_an_error_and_the_reaper_finishes():
    sid = create()["id"]
    mark = "8406.%d" % ME
    work = Running(sid, "sleep " + mark)
    busy(sid, mark)
    wrapper = wrapper_of(running(mark)[0])
    os.kill(wrapper, signal.SIGSTOP)
    try:
        r = call("POST", at(sid, "/interrupt"))
        equal(problem(r, 503, None)["retryable"], True, "retryable")
    finally:
        os.kill(wrapper, signal.SIGCONT)
    expect(200, work.result())  # the message waited for the wrapper
    equal(value("SELECT interrupt_requested_at IS NOT NULL FROM session WHERE"
                " id = :'v1'", sid), "t", "unfinished")
    new = Running(sid, "sleep " + mark)
    busy(sid, mark)
    sql("UPDATE session SET interrupt_requested_at = interrupt_requested_at -"
        " interval '1 minute' WHERE id = :'v1'", sid)
    passes()
    equal(value("SELECT interrupt_requested_at IS NULL FROM session WHERE"
                " id = :'v1'", sid), "t", "finished")
    true(running(mark), "what began since then was not meant")
    interrupt(sid)
    new.result()


@case
def an_interruption_whose_worker_died_is_finished_by_the_reaper():
    sid = create()["id"]
    mark = "8407.%d" % ME
    work = Running(sid, "sleep " + mark)
    busy(sid, mark)
    sql("UPDATE session SET interrupt_id = 'x', interrupt_generation = 1,"
        " interrupt_requested_at = clock_timestamp() - interval '1 hour'"
        " WHERE id = :'v1'", sid)
    passes()
    true(running(mark), "it began after what was asked")
    sql("UPDATE session SET interrupt_id = 'x', interrupt_generation = 2,"
        " interrupt_requested_at = clock_timestamp() - interval '1 hour'"
        " WHERE id = :'v1'", sid)
    passes()
    equal(value("SELECT detail->>'over' FROM event WHERE session_id = :'v1'"
                " ORDER BY id DESC LIMIT 1", sid), "true",
          "one that meant another wrapper is over")
    interrupt(sid)
    work.result()


sys.exit(run(lambda: None))
