#!/usr/bin/python3
"""setup.t: tests a setup, a command that runs once before its session is ready."""
import os
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import passes, state, wrapper_of
from service import (at, call, create, execute, expect, get, problem, running,
                     sql, until, value)
from tap import case, equal, run, true

service.begin()

ME = os.getpid()
COUNT = "echo x >> /workspace/runs; "  # counts the runs of the setup


def mark(n):
    return "%d.%d" % (8500 + n, ME)


def begin(setup, wait=0, **body):
    """Creates a session whose setup goes on; returns its id."""
    r = expect(202, call("POST", "/v1/sessions?wait=%d" % wait,
                         dict(body, setup=setup)))
    equal((r.json["state"], r.json["setup"]["state"]),
          ("initializing", "pending"), "it goes on")
    return r.json["id"]


def failing(setup):
    """Creates a session whose setup fails; returns the problem document."""
    return problem(call("POST", "/v1/sessions?wait=60", {"setup": setup}), 409,
                   "setup_failed")


def pause(n):
    return "{ sleep %s || :; } 2>/dev/null" % mark(n)


def hold(n):
    """Returns a setup that goes on until let_go(n), and that a mark shows to be running."""
    return COUNT + "echo begin; %s; echo end" % pause(n)


def held(sid, n):
    """Waits until the setup runs; each GET continues the start."""
    until("it runs", lambda: get(sid)["state"] == "initializing"
          and running(mark(n)))


def let_go(n):
    for pid in running(mark(n)):
        os.kill(pid, signal.SIGTERM)


def told(sid):
    """Returns [what, text] of the setup's events."""
    events = expect(200, call("GET", at(sid, "/events?limit=1000"))).json["events"]
    return [(e["what"], e["detail"]["text"]) for e in events
            if e["kind"] == "setup"]


def ready(sid):
    until("it is ready", lambda: get(sid)["state"] == "ready")


def runs(sid):
    return execute(sid, "cat /workspace/runs").count("x")


@case
def it_runs_before_the_session_is_ready_and_only_once():
    s = create(setup=COUNT + "cat given; echo $V; pwd; echo oops >&2; touch done",
               env={"V": "value"}, files=[{"path": "given", "content": "file\n"}])
    equal((s["state"], s["setup"]), ("ready", {
        "state": "done", "exitCode": 0,
        "output": "file\nvalue\n/workspace\noops\n"}), "the session")
    sid = s["id"]
    equal("".join(t for w, t in told(sid) if w == "output"),
          "file\nvalue\n/workspace\noops\n", "output")
    equal([w for w, _ in told(sid)][-1], "done", "end")
    for _ in range(2):
        expect(200, call("POST", at(sid, "/sleep")))
        expect(200, call("POST", at(sid, "/resume")))
    equal(runs(sid), 1, "runs")
    equal(execute(sid, "ls /workspace/done"), "/workspace/done\n", "what it made")


@case
def a_session_without_one_has_none():
    equal(create()["setup"], None, "setup")


@case
def one_that_fails_is_the_sessions_failure_with_the_end_of_its_output():
    told_of = failing(COUNT + "head -c 100000 /dev/zero | tr '\\0' a; printf 'z\\0'"
               "'\\303\\244\\377'; [ $(wc -l < runs) -gt 1 ] && exit; exit 7")
    sid = told_of["session"]["id"]
    s = get(sid)
    equal(told_of["setup"], s["setup"], "the problem has it, too")
    equal((s["state"], s["reason"], s["setup"]["state"], s["setup"]["exitCode"]),
          ("failed", "setup ended with exit code 7", "failed", 7), "the session")
    true(s["setup"]["output"].endswith("aaz?\u00e4\ufffd"), "its end")
    true(4000 <= len(s["setup"]["output"]) <= 4096, "so much of it")
    equal(len("".join(t for w, t in told(sid) if w == "output")), 65536,
          "events have its beginning")
    equal(told(sid)[-1], ("failed", s["setup"]["output"]), "and its end")
    equal(get(sid)["state"], "failed", "it stays so")
    r = expect(200, call("POST", at(sid, "/resume"))).json
    equal((r["state"], r["setup"]["state"]), ("ready", "done"),
          "resumed, it is run again")
    equal(told(sid)[-1], ("done", r["setup"]["output"]), "and told as before")
    equal(runs(sid), 2, "runs")


@case
def who_does_not_wait_is_told_so_and_can_follow_it():
    sid = begin(hold(1))
    held(sid, 1)
    # wait: against hanging; the service itself answers after a while
    r = call("POST", at(sid, "/api/execute"), {"command": "true"}, timeout=300)
    equal(r.status, 503, "nobody is let in")
    seen, after = "", 0
    while "begin" not in seen:
        page = expect(200, call("GET", at(sid, "/events?wait=30&after=%d"
                                          % after))).json
        seen += "".join(e["detail"]["text"] for e in page["events"]
                        if e["kind"] == "setup")
        after = page["next"]
    let_go(1)
    while "end" not in seen:
        page = expect(200, call("GET", at(sid, "/events?wait=30&after=%d"
                                          % after))).json
        seen += "".join(e["detail"]["text"] for e in page["events"]
                        if e["kind"] == "setup")
        after = page["next"]
    ready(sid)
    equal(runs(sid), 1, "runs")


@case
def its_history_is_in_order_and_visible_while_it_runs():
    def history():
        found = expect(200, call("GET", at(sid, "/events?limit=1000"))
                       ).json["events"]
        times = [e["at"] for e in found]
        equal(times, sorted(times), "ids and times agree: %r" % [
            (e["id"], e["at"], e["kind"], e["what"]) for e in found])
        return [e["what"] for e in found if e["kind"] in ("step", "setup")]
    sid = begin(hold(16), wait=1)
    held(sid, 16)
    until("its output is told", lambda: "output" in history())
    equal(history()[:5], ["workspace", "sandbox", "admission", "wrapper",
                          "output"], "steps that are over are told")
    expect(200, call("PATCH", at(sid), {"keepAlive": True}))
    let_go(16)
    ready(sid)
    equal(history()[-2:], ["setup", "ready"], "and the others in the end")


@case
def the_reaper_moves_it_on_when_nobody_asks():
    sid = begin(hold(2))
    # a pass gives each start 5 s; the next pass continues it
    until("it runs", lambda: passes() and running(mark(2)))
    passes()
    equal(state(sid)[0], "initializing", "while it runs")
    let_go(2)
    until("it is ready", lambda: passes() and state(sid)[0] == "ready")
    equal("".join(t for w, t in told(sid) if w == "output"), "begin\nend\n",
          "output")


@case
def it_has_time_and_not_for_ever():
    sid = begin(hold(3))
    held(sid, 3)
    sql("UPDATE session SET initializing_since = initializing_since -"
        " interval '15 minutes' WHERE id = :'v1'", sid)
    passes()
    equal(state(sid)[0], "initializing", "longer than any other start")
    true(float(value("SELECT extract(epoch FROM startup_deadline -"
                     " clock_timestamp()) FROM lease WHERE session_id = :'v1'",
                     sid)) > 660, "its deadline")
    sql("UPDATE session SET initializing_since = initializing_since -"
        " interval '10 minutes' WHERE id = :'v1'", sid)
    passes()
    equal(state(sid)[0], "failed", "but not for ever")
    until("it is gone", lambda: passes() and not running(mark(3)))


@case
def one_that_takes_too_long_is_ended():
    # changed before the create: a wrapper gets the limit once, perhaps by this very call
    service.configure(setup_timeout_seconds=3)
    service.restart()
    try:
        sid = begin("echo begin; sleep %s" % mark(4))
    finally:
        service.configure(setup_timeout_seconds=600)
        service.restart()
    until("it has failed", lambda: get(sid)["state"] == "failed")
    s = get(sid)
    equal((s["reason"], s["setup"]["exitCode"]),
          ("setup was not done after 3 s", 124), "why")
    true(s["setup"]["output"].startswith("begin\n"), "output")
    equal(running(mark(4)), [], "it is gone")


class Creating(threading.Thread):
    """A create that waits in the background."""

    def __init__(self, name, setup, **headers):
        super().__init__(daemon=True)
        self.body = {"name": name, "setup": setup}
        self.headers = headers
        self.reply = None
        self.start()

    def run(self):
        try:
            # wait: against hanging; the service itself waits for 60 s
            self.reply = call("POST", "/v1/sessions?wait=60", self.body,
                              headers=self.headers, timeout=300)
        except OSError:
            pass  # the worker of this create was killed

    def sid(self):
        return until("it is there", lambda: sql(
            "SELECT id FROM session WHERE name = :'v1'", self.body["name"]))[0][0]


@case
def a_worker_that_dies_in_the_middle_is_replaced_by_whoever_asks():
    work = Creating("setup-worker", hold(5))
    sid = work.sid()
    until("it runs", lambda: running(mark(5)))
    workers = service.workers()
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    work.join(service.PATIENCE)
    # a worker that is being killed may still take a call: 503
    until("they are dead", lambda: not any(map(service.alive, workers)))
    until("others answer", lambda: call("GET", at(sid)).status == 200)
    equal(get(sid)["state"], "initializing", "it goes on")
    let_go(5)
    ready(sid)
    equal(runs(sid), 1, "runs")
    equal("".join(t for w, t in told(sid) if w == "output"), "begin\nend\n",
          "output")


@case
def nor_does_anybody_have_to_ask():
    work = Creating("setup-alone", hold(7))
    sid = work.sid()
    until("it runs", lambda: running(mark(7)))
    for pid in service.workers():
        os.kill(pid, signal.SIGKILL)
    work.join(service.PATIENCE)
    let_go(7)
    until("it is ready", lambda: sql("SELECT state FROM session WHERE id = :'v1'", sid) == [["ready"]])
    equal(runs(sid), 1, "runs")


@case
def a_wrapper_that_dies_in_the_middle_runs_it_again():
    sid = begin(hold(6))
    held(sid, 6)
    os.kill(wrapper_of(running(mark(6))[0]), signal.SIGKILL)
    until("it is gone", lambda: not running(mark(6)))
    held(sid, 6)
    let_go(6)
    ready(sid)
    equal(runs(sid), 2, "runs")


@case
def files_are_written_once():
    sid = begin("cat /workspace/f; echo changed > /workspace/f; " + pause(7),
                files=[{"path": "f", "content": "given\n"}])
    held(sid, 7)
    for _ in range(3):
        get(sid)
    let_go(7)
    ready(sid)
    equal(execute(sid, "cat /workspace/f"), "changed\n", "what it made of it")


@case
def a_start_that_lost_its_worker_is_carried_on_with_its_files():
    sid = begin(pause(13), files=[{"path": "f", "content": "given\n"}])
    held(sid, 13)
    sealed = value("SELECT files_sealed FROM session WHERE id = :'v1'", sid)
    let_go(13)
    ready(sid)
    # the row as a worker leaves it that dies between the wrapper's launch and the files
    execute(sid, "rm /workspace/f")
    sql("UPDATE session SET state = 'initializing', files_sealed = :'v2'"
        " WHERE id = :'v1'", sid, sealed)
    ready(sid)
    equal(execute(sid, "cat /workspace/f"), "given\n", "they are written")


def changed_meanwhile(sid, n):
    """Changes environment and ports while the setup runs, and checks that both take effect."""
    expect(200, call("PATCH", at(sid), {"env": {"LATE": "yes", "EARLY": None}}))
    expect(201, call("POST", at(sid, "/ports"), {"port": 8099}))
    let_go(n)
    ready(sid)
    until("the environment is there", lambda:
          execute(sid, "echo ${LATE-no} ${EARLY-no}") == "yes no\n")
    execute(sid, "python3 -m http.server 8099 >/dev/null 2>&1 &")
    until("the port answers", lambda:
          call("GET", at(sid, "/proxy/8099/")).status == 200)


@case
def what_changes_while_it_runs_is_there_when_it_is_ready():
    work = Creating("setup-change", hold(14))
    sid = work.sid()
    until("it runs", lambda: running(mark(14)))
    changed_meanwhile(sid, 14)
    work.join(service.PATIENCE)


@case
def also_if_another_carries_the_start_on():
    sid = begin(hold(15), env={"EARLY": "1"})
    held(sid, 15)
    changed_meanwhile(sid, 15)


@case
def it_can_be_deleted_in_the_middle():
    work = Creating("setup-delete", hold(8))
    sid = work.sid()
    until("it runs", lambda: running(mark(8)))
    true(call("DELETE", at(sid)).status in (200, 202), "asked for")
    until("it is deleted", lambda: get(sid)["state"] == "deleted")
    equal(running(mark(8)), [], "it is gone")
    work.join(service.PATIENCE)
    equal(work.reply.status, 409, "who waited is told")


@case
def it_can_be_put_to_sleep_in_the_middle():
    work = Creating("setup-sleep", hold(9))
    sid = work.sid()
    until("it runs", lambda: running(mark(9)))
    true(call("POST", at(sid, "/sleep")).status in (200, 202), "asked for")
    until("it is asleep", lambda: get(sid)["state"] == "asleep")
    work.join(service.PATIENCE)
    equal(work.reply.status, 409, "who waited is told")
    equal(get(sid)["state"], "asleep", "and does not wake it")
    expect(202, call("POST", at(sid, "/resume?wait=0")))
    held(sid, 9)
    let_go(9)
    ready(sid)
    equal(runs(sid), 2, "it had not succeeded")


@case
def it_can_be_interrupted():
    sid = begin(hold(10))
    held(sid, 10)
    equal(expect(200, call("POST", at(sid, "/interrupt"))).json["interrupted"],
          1, "interrupted")
    until("it has failed", lambda: get(sid)["state"] == "failed")
    equal(get(sid)["setup"]["exitCode"], 130, "exit code")


@case
def the_same_request_again_runs_it_once():
    first = Creating("setup-key", hold(11), **{"Idempotency-Key": "setup-1"})
    sid = first.sid()
    until("it runs", lambda: running(mark(11)))
    # wait: against hanging; a repeated request does not wait
    again = call("POST", "/v1/sessions?wait=60", first.body, timeout=300,
                 headers={"Idempotency-Key": "setup-1"})
    equal((again.status, again.json["id"]), (202, sid), "replayed")
    let_go(11)
    first.join(service.PATIENCE)
    equal(first.reply.status, 201, "created")
    equal(runs(sid), 1, "runs")


@case
def siblings_in_a_shared_sandbox_do_not_wait_for_it():
    sid = begin(hold(12), isolation="shared")
    held(sid, 12)
    equal(create(isolation="shared")["state"], "ready", "another one")
    let_go(12)
    ready(sid)


@case
def it_is_told_to_nobody():
    sid = create(setup="true hush-hush")["id"]
    true("hush" not in call("GET", at(sid)).body.decode(), "not shown")
    bad = failing("exit 3 # hush-hush")["session"]["id"]
    equal(value("SELECT count(*) FROM session s WHERE s::text LIKE '%hush%'"),
          "0", "sealed")
    expect(200, call("DELETE", at(bad)))
    equal(value("SELECT setup_sealed IS NULL FROM session WHERE id = :'v1'",
                bad), "t", "and gone with it")


@case
def what_is_no_command_is_refused():
    for setup in (1, "", "a\0b", "x" * 65537, ["x"]):
        problem(call("POST", "/v1/sessions", {"setup": setup}), 400, None,
                "setup")
    equal(create(setup="true " + "x" * 65000)["state"], "ready", "a long one")


@case
def history_tells_all_of_it():
    equal(service.untold(), [], "untold")


sys.exit(run(lambda: None))
