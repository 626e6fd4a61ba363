#!/usr/bin/python3
"""lost-intent.t: tests what the client of a create is told whose intent is lost.

The intent of a create is not waited for on the disk (`lazy` in
sql/functions/session_start.sql), so a crash of the database may lose it.
crash-points.t tests that nothing is leaked then."""
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults

faults.begin("api_workers = 4\n")

import service
from service import call, problem
from tap import case, equal, run, true

BODY = {"isolation": "session", "network": {"mode": "none"}}


def create_across_a_crash(point, path="/v1/sessions", body=None):
    """PostgreSQL is killed while the create is at the point; returns the reply."""
    pid, reply = faults.pause(point, call, "POST", path, body or BODY)
    faults.kill_postgres()
    faults.start_postgres()
    os.kill(pid, signal.SIGCONT)
    return reply()


def known():
    return int(service.value("SELECT count(*) FROM session WHERE state <> 'deleted'"))


def lose_an_intent(point):
    """What PostgreSQL has not yet written is lost with it.  It writes after 10 s
    at the latest, or because something else is committed: then again."""
    for _ in range(5):
        before = known()
        reply = create_across_a_crash(point)
        if reply.status != 201:
            break
        service.get(reply.json["id"])
    problem(reply, 503, "try_again")
    equal(known(), before, "sessions after a crash at " + point)


@case
def a_client_that_waits_is_asked_to_try_again():
    service.stack("pg_super", "-q", "-c", "ALTER SYSTEM SET wal_writer_delay = '10s'",
                  "-c", "SELECT pg_reload_conf()")
    for point in "launch.storage", "launch.proved":
        lose_an_intent(point)


@case
def a_client_that_was_told_an_id_finds_its_session():
    reply = create_across_a_crash("create.intent", "/v1/sessions?wait=0")
    # 201: another process went on with the start while this worker connected again
    true(reply.status in (201, 202, 503), "answered with %d" % reply.status)
    equal(service.get(reply.json["id"])["id"], reply.json["id"])


sys.exit(run(lambda: None))
