#!/usr/bin/python3
"""audit.t: tests that audit.py, by which chaos and the crash points judge,
finds every kind of fault.  Each case breaks one thing by hand; before and after
all cases the audit finds nothing."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults

faults.begin()

import audit
import service
import tap
from service import at, call, create, expect, setting, sql, until

DATA = os.path.join(setting("STACK_STATE"), "data")
RUN = os.path.join(setting("STACK_RUN"), "run")
STRANGER = "strangerstrangerstra"
GROUPS = audit.group_dirs()


def clean(what):
    found = audit.everything()
    tap.ok(not any(found.values()), what, found)


def init_of(s):
    return [i for i in audit.inits() if i["sandbox"] == s["sandboxId"]][0]


def made(*path):
    os.makedirs(os.path.join(*path))
    return os.path.join(*path)


CASES = []


def case(function):
    """A case breaks one thing, yields kind and words of the complaint that the
    audit must make, and mends the thing."""
    CASES.append(function)
    return function


def group_case(function):
    return case(function) if GROUPS else function


def sees(found, kind, text, name):
    tap.ok(any(text in line for line in found[kind]),
           "%s: %s" % (kind, name), found)


# ---- things without a row

@case
def a_directory_of_nobodys(s):
    path = made(DATA, "storage", s["sandboxId"], STRANGER)
    yield "leaks", STRANGER
    os.rmdir(path)


@case
def a_directory_of_a_deleted_session(_):
    gone = create()
    expect(200, call("DELETE", at(gone["id"])))
    path = made(DATA, "storage", gone["sandboxId"], gone["id"])
    yield "leaks", "storage/%s/%s" % (gone["sandboxId"], gone["id"])
    os.rmdir(path)
    faults.reaper()  # unlinks the session's files, which are in the trash


@case
def a_sandboxs_directory(_):
    path = made(DATA, "box", "ses-" + "0" * 48)
    yield "leaks", "box/ses-000"
    os.rmdir(path)


@case
def something_in_the_trash(_):
    path = made(DATA, "trash", "left")
    yield "leaks", "trash/left"
    os.rmdir(path)


@case
def a_socket_of_a_generation_that_is_over(s):
    path = os.path.join(RUN, "s", s["id"] + ".0.sock")
    os.mknod(path)
    yield "leaks", "%s.0.sock" % s["id"]
    os.unlink(path)


@case
def a_control_socket(_):
    path = os.path.join(RUN, "c", "x." + "a" * 16)
    os.mknod(path)
    yield "leaks", "socket c/x."
    os.unlink(path)


@group_case
def a_sandboxs_group(_):
    path = made(GROUPS[0], "ses-" + "0" * 48)
    yield "leaks", "cgroup " + path
    os.rmdir(path)


@group_case
def a_cells_group(s):
    path = made(GROUPS[0], s["sandboxId"], "s-" + STRANGER)
    yield "leaks", "cgroup " + path
    os.rmdir(path)


@case
def a_wrapper_whose_lease_is_none(s):
    change = "UPDATE lease SET state = '%s' WHERE session_id = :'v1'"
    sql(change % "none", s["id"])
    yield "leaks", "wrapper of session " + s["id"]
    sql(change % "owns_wrapper", s["id"])


@case
def a_sandbox_of_another_incarnation(s):
    change = "UPDATE sandbox SET incarnation = :'v2' WHERE id = :'v1'"
    sql(change, s["sandboxId"], "a" * 16)
    yield "leaks", "init of sandbox " + s["sandboxId"]
    sql(change, s["sandboxId"], init_of(s)["incarnation"])


@case
def a_relay_that_no_row_wants(s):
    name = "%s.%s.8002.sock" % (s["id"], s["lease"]["generation"])
    with open(os.path.join(RUN, "s", name), "w", encoding="utf-8"):
        pass
    yield "leaks", "relay s/" + name
    os.unlink(os.path.join(RUN, "s", name))


# ---- rows without their thing

@case
def a_session_whose_wrapper_is_dead(_):
    s = create()
    for w in audit.wrappers():
        if w["session"] == s["id"]:
            os.kill(w["pid"], signal.SIGKILL)
            until("it is gone", lambda p=w["pid"]: not service.alive(p))
    yield "missing", "session %s has a wrapper on paper" % s["id"]
    expect(200, call("DELETE", at(s["id"])))
    faults.reaper()


@case
def a_sandbox_that_is_dead(_):
    s = create(isolation="session")
    pid = init_of(s)["pid"]
    os.kill(pid, signal.SIGKILL)
    until("it is gone", lambda: not service.alive(pid))
    yield "missing", "sandbox %s runs on paper" % s["sandboxId"]
    expect(200, call("DELETE", at(s["id"])))
    faults.reaper()


@case
def a_session_without_its_files(s):
    path = os.path.join(DATA, "storage", s["sandboxId"], s["id"])
    os.rename(path, path + ".away")
    yield "missing", "session %s has no files" % s["id"]
    os.rename(path + ".away", path)


@case
def a_port_without_its_relay(s):
    expect(201, call("POST", at(s["id"], "/ports"), {"port": 8000}))
    path = os.path.join(RUN, "s/%s.%s.8000.sock" % (
        s["id"], s["lease"]["generation"]))
    os.rename(path, path + ".away")
    yield "missing", "8000.sock is on paper"
    os.rename(path + ".away", path)
    expect(204, call("DELETE", at(s["id"], "/ports/8000")))


# ---- two of one, and what does not end

@case
def a_port_that_does_not_close(s):
    expect(201, call("POST", at(s["id"], "/ports"), {"port": 8001}))
    sql("UPDATE port SET closing_at = clock_timestamp()")
    yield "stuck", "port 8001 of %s is stuck" % s["id"]
    sql("UPDATE port SET closing_at = NULL")
    expect(204, call("DELETE", at(s["id"], "/ports/8001")))


@case
def a_revocation_that_nobody_carried_out(s):
    sql("UPDATE session SET bounce_at = clock_timestamp() WHERE id = :'v1'",
        s["id"])
    yield "stuck", "session %s keeps WebSockets" % s["id"]
    sql("UPDATE session SET bounce_at = NULL")


@case
def a_second_wrapper(s):
    other = subprocess.Popen(
        ["unshare", "--user", "--pid", "--fork", "--kill-child", "env",
         "SANDLEASE_SESSION_ID=" + s["id"], "SANDLEASE_INSTANCE_ID=i",
         "SANDLEASE_GENERATION=1", "sleep", "600"])
    until("it runs", lambda: len({w["cell"] for w in audit.wrappers()
                                  if w["session"] == s["id"]}) == 2)
    yield "doubles", s["id"]
    other.kill()
    other.wait()
    until("it is gone", lambda: not audit.everything()["doubles"])


@case
def a_session_that_is_being_deleted(_):
    s = create()
    sql("UPDATE session SET state = 'deleting' WHERE id = :'v1'", s["id"])
    yield "stuck", s["id"]
    sql("SELECT lease_apply(:'v1', 'request_stop',"
        " '{\"reason\": \"recovery\"}')", s["id"])
    faults.reaper()


@case
def a_stop_that_is_owed(_):
    s = create()
    sql("SELECT lease_apply(:'v1', 'request_stop',"
        " '{\"reason\": \"recovery\"}')", s["id"])
    yield "stuck", s["id"]
    expect(200, call("DELETE", at(s["id"])))
    faults.reaper()


@case
def a_sandbox_that_is_being_destroyed(s):
    change = "UPDATE sandbox SET state = '%s' WHERE id = :'v1'"
    sql(change % "destroying", s["sandboxId"])
    yield "stuck", "sandbox " + s["sandboxId"]
    sql(change % "running", s["sandboxId"])


ONE = create(keepAlive=True)
clean("nothing is wrong to begin with")
for broken in CASES:
    steps = broken(ONE)
    thing, words = next(steps)
    sees(audit.everything(), thing, words, broken.__name__.replace("_", " "))
    next(steps, None)
clean("nothing is wrong once all is mended")
END = audit.in_the_end(1)  # wait: a process is left on purpose
sees(END, "stuck", "session %s is ready" % ONE["id"],
     "in the end, a session that nobody deleted")
sees(END, "leaks", "process %d:" % init_of(ONE)["pid"],
     "in the end, a process that nobody ended")
tap.done()
