#!/usr/bin/python3
"""storage.t: tests that a disk that is not mounted, or is another one, costs no session
or snapshot: programs refuse to act, and an operator can say that the disk is right."""
import glob
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (admin, at, call, create, execute, expect, get, problem, setting, sql,
                     stack, until, value)
from tap import case, equal, run, true

# one worker, so that each case reaches a worker that has opened the storage before
service.begin("host_name = first\nsighting_seconds = 0\napi_workers = 1\n")

DATA = os.path.join(setting("STACK_STATE"), "data")
AWAY = DATA + ".away"


def asleep(**body):
    """Makes a session with a file, and puts it to sleep."""
    sid = create(isolation="session", **body)["id"]
    execute(sid, "echo kept >f")
    expect(200, call("POST", at(sid, "/sleep")))
    return sid


def state(sid):
    return value("SELECT state FROM session WHERE id = :'v1'", sid)


def snapshot_state(snapshot):
    return call("GET", "/v1/snapshots/" + snapshot).json["state"]


def storage_id():
    with open(DATA + "/storage/.id", encoding="utf-8") as f:
        return f.read().strip()


def on_record(host="first"):
    return value("SELECT coalesce(storage_id, '') FROM host WHERE name = :'v1'", host)


def make_data():
    stack("eval", "mkdir -m 700 %s && chown $SVC_USER: %s" % (DATA, DATA))


def unmount():
    """Leaves an empty directory, as for a file system that is not mounted."""
    os.rename(DATA, AWAY)
    make_data()


def mount():
    stack("eval", "rm -rf " + DATA)
    os.rename(AWAY, DATA)


def refused_pass():
    """Checks that the reaper does nothing; returns its message."""
    before = sql("SELECT id, state FROM session ORDER BY id")
    done = service.run("sandlease-reaper")
    equal((done.returncode, sql("SELECT id, state FROM session ORDER BY id")), (1, before),
          "a pass: %s" % done.stderr)
    return done.stderr.decode()


def refused_start():
    """Checks that workers do not start; returns the reason, which is in the log."""
    stack("api_stop")
    said = stack("api_start", check=False)
    true("did not start" in said, "they do not start: " + said)
    check = service.run("sandlease-api", "--check")
    equal(check.returncode, 1, "--check fails, too")
    why = check.stderr.decode().splitlines()[-1]  # after warnings about the machine's kernel
    true(why in said, "%s is told: %s" % (check.stderr, said))
    return why


def work(sid):
    equal(execute(sid, "cat f"), "kept\n", "its files are there")
    expect(200, call("POST", at(sid, "/sleep")))


SID = asleep(name="asleep")
SNAPSHOT = expect(201, call("POST", at(SID, "/snapshots"), {})).json["id"]
expect(200, call("POST", at(SID, "/sleep")))


@case
def a_storage_gets_an_id_with_its_first_use():
    true(len(storage_id()) == 20, "the file: " + storage_id())
    equal(on_record(), storage_id(), "the row of the host")
    equal(glob.glob(DATA + "/storage/.id.*"), [], "no draft is left")


@case
def a_disk_that_is_not_mounted_makes_nobody_lost():
    unmount()
    # a worker that already runs notices, too
    for path, body in ((at(SID, "/resume"), None), ("/v1/sessions", {"isolation": "session"}),
                       ("/v1/sessions", {"snapshot": SNAPSHOT})):
        true(problem(call("POST", path, body), 503, None)["retryable"], path)
    container = call("POST", at(SID, "/api/execute"), {"command": "true"})
    equal(container.status, 503, "a call that would wake it: %r" % container)
    equal(sql("SELECT id, state FROM session"), [[SID, "asleep"]], "nothing was begun")
    for said in (refused_pass(), refused_start()):
        for word in (DATA + "/storage", "first", "mounted", "host adopt-storage"):
            true(word in said, "%s is told: %s" % (word, said))
    mount()
    stack("api_start")
    equal((state(SID), snapshot_state(SNAPSHOT)), ("asleep", "ready"), "nothing is lost")
    work(SID)
    equal(service.reap()[0], 0, "the reaper is content")


@case
def workers_that_began_without_the_database_refuse_later():
    stack("api_stop")
    stack("pg_stop")
    stack("api_start")
    unmount()
    stack("pg_start")
    problem(until("the database is back", lambda: (lambda r: r if r.json["code"] !=
                  "database_unavailable" else None)(call("POST", at(SID, "/resume")))),
            503, "storage_mismatch")
    mount()
    until("they go on by themselves", lambda: call("POST", at(SID, "/resume")).status == 200)
    work(SID)


@case
def another_disk_is_refused_until_somebody_says_that_it_is_right():
    unmount()
    stack("eval", "as $SVC_USER mkdir -p -m 700 %s/storage && echo another | as $SVC_USER tee "
          "%s/storage/.id" % (DATA, DATA))
    # a worker that already runs looks again before it declares a session lost
    problem(call("POST", at(SID, "/resume")), 503, "storage_mismatch")
    problem(call("POST", "/v1/sessions", {"snapshot": SNAPSHOT}), 503, "storage_mismatch")
    for said in (refused_pass(), refused_start()):
        true("is not the one that host first had" in said, said)
    stack("eval", "echo '../x' | as $SVC_USER tee %s/storage/.id" % DATA)
    true("is not an id" in refused_start(), "an id has a form")
    mount()
    stack("api_start")
    work(SID)


@case
def another_name_of_the_host_is_told_from_another_host():
    service.configure(host_name="second")
    for said in (refused_pass(), refused_start()):
        true("is that of host first" in said and "--from first" in said, said)
    done = service.run("sandlease-admin", "host", "adopt-storage")
    equal(done.returncode, 1, "not by accident")
    true(b"--from first" in done.stderr, "it says how: %s" % done.stderr)
    done = service.run("sandlease-admin", "host", "adopt-storage", "--from", "nobody")
    equal(done.returncode, 1, "not from nobody: %s" % done.stderr)
    said = admin("host", "adopt-storage", "--from", "first")
    true("second" in said and "1 snapshots of host first" in said, said)
    stack("api_start")
    work(SID)
    equal(expect(201, call("POST", "/v1/sessions?wait=60", {"snapshot": SNAPSHOT})).json["state"],
          "ready", "its snapshots moved with it")
    hosts = [json.loads(l)["host"] for l in admin("host", "list", "--json").splitlines()]
    true("second" in hosts and on_record("second") == storage_id(), "hosts: %r" % hosts)
    equal(service.reap()[0], 0, "the reaper is content")
    row, = sql("SELECT severity, detail->>'from' FROM audit WHERE kind = 'storage_adopted'")
    equal(row, ["critical", "first"], "the audit log has it")
    admin("host", "adopt-storage", "--from", "second")  # has no effect
    service.configure(host_name="first")
    admin("host", "adopt-storage", "--from", "second")
    service.restart()
    work(SID)


@case
def what_the_last_release_left_gets_an_id():
    sql("UPDATE host SET storage_id = NULL")
    os.unlink(DATA + "/storage/.id")
    service.restart()
    work(SID)
    equal(on_record(), storage_id(), "one id in both places")
    # a worker that died between writing the file and the row has broken nothing
    sql("UPDATE host SET storage_id = NULL")
    service.restart()
    work(SID)
    equal(on_record(), storage_id(), "one id in both places")
    # a host whose disk is not mounted is known by its sessions
    sql("UPDATE host SET storage_id = NULL")
    unmount()
    true("has files" in refused_start(), "it says why")
    true("has files" in refused_pass(), "it says why")
    mount()
    stack("api_start")
    work(SID)


@case
def files_that_are_gone_are_accepted_as_gone():
    unmount()
    true("has files" in refused_start(), "it says why")
    true("first" in admin("host", "adopt-storage"), "it says so")
    stack("api_start")
    problem(call("POST", "/v1/sessions", {"snapshot": SNAPSHOT, "name": "of-lost"}), 409,
            "snapshot_lost")
    equal(sql("SELECT id FROM session WHERE name = 'of-lost'"), [], "nothing is left of it")
    equal(snapshot_state(SNAPSHOT), "lost", "the snapshot")
    r = call("POST", at(SID, "/resume"))
    true(r.status in (409, 410), "its files are gone: %r" % r)
    equal(get(SID)["state"], "lost", "the session")
    equal(service.reap()[0], 0, "the reaper is content")
    work(asleep())


@case
def a_host_that_has_nothing_to_lose_begins_anew_by_itself():
    for sid, in sql("SELECT id FROM session WHERE state <> 'deleted'"):
        expect(200, call("DELETE", at(sid)))
    expect(204, call("DELETE", "/v1/snapshots/" + SNAPSHOT))
    equal(service.reap()[0], 0, "a pass")
    stack("api_stop")
    stack("eval", "rm -rf %s %s" % (DATA, AWAY))
    make_data()
    stack("api_start")
    work(asleep())
    equal(on_record(), storage_id(), "one id in both places")


run(lambda: None)
