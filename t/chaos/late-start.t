#!/usr/bin/python3
"""late-start.t: tests a create that has failed while another process starts its session.

The process that goes on with starts may begin another generation in the moment in which
a create gives up.  A call of this test does so in its place."""
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults

faults.begin("api_workers = 4\nwarm_sandboxes = 0\n")

import service
from service import call, problem, setting
from tap import case, equal, run, true

BODY = {"isolation": "session", "network": {"mode": "none"}}
BWRAP = os.path.join(setting("STACK_DIR"), "sometimes-bwrap")
BROKEN = os.path.join(setting("STACK_DIR"), "broken")


def break_starts_at_will():
    """From now on no sandbox starts while there is the file BROKEN."""
    with open(BWRAP, "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\n[ ! -e %s ] || exit 1\nexec /usr/bin/bwrap "$@"\n' % BROKEN)
    os.chmod(BWRAP, 0o755)
    service.configure(bwrap_path=BWRAP, launcher="bwrap")
    service.restart()


def fail_a_create():
    """A create whose worker is about to take its session back: pid, reply, id."""
    with open(BROKEN, "w", encoding="utf-8"):
        pid, reply = faults.pause("create.failed", call, "POST", "/v1/sessions", BODY)
    os.unlink(BROKEN)
    sid, state = service.sql("SELECT id, state FROM session ORDER BY created_at DESC LIMIT 1")[0]
    equal(state, "failed")
    return pid, reply, sid


@case
def a_session_that_was_started_meanwhile_is_the_answer():
    pid, create, sid = fail_a_create()
    equal(call("POST", "/v1/sessions/%s/resume" % sid).json["state"], "ready")
    os.kill(pid, signal.SIGCONT)
    reply = create()
    equal((reply.status, reply.json["id"], reply.json["state"]), (201, sid, "ready"))
    equal(call("POST", "/v1/sessions/%s/api/execute" % sid, {"command": "echo 1"}).status, 200)
    equal(call("DELETE", "/v1/sessions/%s" % sid).status, 200)


@case
def a_session_that_is_being_started_is_deleted():
    pid, create, sid = fail_a_create()
    starter, resume = faults.pause("restart.intent", call, "POST",
                                  "/v1/sessions/%s/resume" % sid)
    equal(service.value("SELECT state FROM session WHERE id = '%s'" % sid), "initializing")
    os.kill(pid, signal.SIGCONT)
    state = problem(create(), 503, "start_failed")["session"]["state"]
    true(state in ("deleting", "deleted"), state)
    os.kill(starter, signal.SIGCONT)
    true(resume().status >= 400, "there is nothing to start any more")
    service.reap()
    equal(service.value("SELECT state FROM session WHERE id = '%s'" % sid), "deleted")
    equal(service.sandbox_pids(), [], "sandboxes")


sys.exit(run(break_starts_at_will))
