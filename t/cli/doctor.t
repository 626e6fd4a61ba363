#!/usr/bin/python3
"""doctor.t: sandlease doctor leaves nothing behind, however it ends."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import call, expect, setting, sql, until, value
from tap import PATIENCE, case, equal, run, true

service.begin()


def doctor():
    """Both of its outputs in one pipe, as a log has them."""
    return subprocess.Popen(
        [service.program("sandlease"), "doctor"], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(
            os.environ, SANDLEASE_URL=setting("SANDLEASE_URL")))


def end(process):
    # wait: against hanging, never a measure
    said, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, said


def left():
    return expect(200, call("GET", "/v1/sessions")).json["sessions"]


class Locked:
    """Nobody makes a session meanwhile."""

    def __enter__(self):
        self.psql = subprocess.Popen(
            service.psql_command(), stdin=subprocess.PIPE, text=True,
            env=service.psql_environment())
        self.psql.stdin.write("BEGIN; LOCK TABLE session IN SHARE MODE;\n")
        self.psql.stdin.flush()
        until("it is locked", lambda: value(
            "SELECT count(*) FROM pg_locks WHERE relation = 'session'::regclass"
            " AND mode = 'ShareLock' AND granted") == "1")

    def __exit__(self, *_):
        self.psql.stdin.close()
        self.psql.wait()


def asked():
    """It waits for its session to be made."""
    return value("SELECT count(*) FROM pg_locks WHERE NOT granted"
                 " AND relation = 'session'::regclass") == "1"


@case
def when_all_is_well():
    code, said = end(doctor())
    equal(code, 0, said)
    equal(left(), [], "sessions")
    equal(value("SELECT count(*) FROM session WHERE labels->>'made-by' = 'doctor'"
                " AND expires_at BETWEEN now() + interval '30 minutes'"
                " AND now() + interval '2 hours'"), "1",
          "one that is left by a crash would be deleted")


@case
def when_a_signal_ends_it():
    for number in signal.SIGINT, signal.SIGTERM:
        with Locked():
            process = doctor()
            until("it creates", asked)
            process.send_signal(number)
        code, said = end(process)
        equal(code, 128 + number, said)
        true("a command in it" not in said, "it goes no further: " + said)
        equal(left(), [], "sessions")


@case
def when_no_sandbox_can_be_started():
    sql("UPDATE class SET rootfs = '/nonexistent' WHERE name = 'small'")
    code, said = end(doctor())
    equal(code, 1, said)
    equal(left(), [], "sessions")
    sql("UPDATE class SET rootfs = '' WHERE name = 'small'")


@case
def when_it_fails_half_way():
    sql("UPDATE quota SET max_previews = 0")
    service.admin("org", "set", "demo", "--max-previews", "1")
    sid = service.create()["id"]
    expect(201, call("POST", service.at(sid, "/ports"), {"port": 8000}))
    code, said = end(doctor())
    equal(code, 1, said)
    true("quota" in said.splitlines()[-1], "the failure comes last: " + said)
    true(said.startswith("ok "), "after what was well: " + said)
    equal([s["id"] for s in left()], [sid], "sessions")


sys.exit(run(lambda: None))
