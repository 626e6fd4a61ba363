#!/usr/bin/python3
"""health.t: tests that the service reports that it is degraded, and why, as far as rows
know."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import passes
from service import call, create, expect, get, setting, sql
from tap import case, equal, run, true

service.begin()

OPERATOR = service.new_key("ops", "u", "--scope", "admin")


def health():
    """Returns status and reasons; checks that a client without a key gets the status
    only."""
    told = expect(200, call("GET", "/v1/health")).json
    stranger = expect(200, call("GET", "/v1/health", key="")).json
    equal(stranger, {"status": told["status"], "version": told["version"]},
          "without a key")
    equal(expect(200, call("GET", "/v1/health", key=OPERATOR)
                 ).json["reasons"], told["reasons"], "an operator's")
    return told["status"], told["reasons"]


# ---- starts; the order of these cases matters, because the service remembers a success

@case
def a_setup_that_fails_is_its_tenants_affair():
    equal(health(), ("ok", []), "at first")
    r = call("POST", "/v1/sessions", {"setup": "exit 3"})
    true(r.status >= 200, r)
    equal(sql("SELECT state FROM session"), [["failed"]], "it failed")
    equal(health(), ("ok", []), "and that is all")


@case
def a_start_that_failed_counts_although_its_session_is_gone():
    sql("INSERT INTO class (name, rootfs, memory_mb, cpu_millis, disk_mb, pids)"
        " VALUES ('broken', '/nowhere/at/all', 512, 500, 512, 256)")
    r = call("POST", "/v1/sessions", {"isolation": "session", "class": "broken"})
    true(r.status >= 500, r)
    equal(sql("SELECT state FROM session WHERE class = 'broken'"),
          [["deleted"]], "nobody could ask for it")
    equal(health(), ("degraded", ["starts_fail"]), "and yet it is known")


@case
def starts_that_all_fail_are_told_until_one_succeeds():
    r = call("POST", "/v1/sessions", {"isolation": "session",
                                      "class": "broken", "name": "b"})
    true(r.status >= 500, r)
    equal(health(), ("degraded", ["starts_fail"]), "no start succeeds")
    create()
    equal(health(), ("ok", []), "one did")
    call("POST", "/v1/sessions", {"isolation": "session", "class": "broken"})
    equal(health(), ("ok", []), "not all of them fail")


# ---- the host

@case
def a_host_that_can_start_none_is_told_whether_or_not_a_session_tells():
    bwrap = os.path.join(setting("STACK_DIR"), "bwrap")
    shutil.copy("/usr/bin/bwrap", bwrap)
    os.chmod(bwrap, 0o755)
    service.configure(bwrap_path=bwrap)
    service.restart()
    sid = create(isolation="session")["id"]
    equal(health(), ("ok", []), "while it is there")
    os.rename(bwrap, bwrap + ".off")
    try:
        equal(health(), ("degraded", ["host_not_ready"]), "workers that have used it")
        service.restart()
        equal(health(), ("degraded", ["host_not_ready"]), "workers that have not")
        service.problem(call("POST", "/v1/sessions", {"isolation": "session"}), 503,
                        "host_not_ready")
        equal(get(sid)["state"], "ready", "what runs can be looked at")
        expect(200, call("POST", service.at(sid, "/sleep")))
        service.problem(call("POST", service.at(sid, "/resume")), 503, "host_not_ready")
        equal(get(sid)["state"], "asleep", "and put to sleep, and stays so")
    finally:
        os.rename(bwrap + ".off", bwrap)
    equal(health(), ("ok", []), "it is back")
    expect(200, call("DELETE", service.at(sid)))


@case
def a_disk_that_is_not_mounted_is_told():
    storage = os.path.join(setting("STACK_STATE"), "data/storage")
    os.rename(storage, storage + ".off")
    os.mkdir(storage, 0o700)
    owner = os.stat(storage + ".off")
    os.chown(storage, owner.st_uid, owner.st_gid)
    try:
        equal(health(), ("degraded", ["storage_mismatch"]), "an empty directory")
    finally:
        os.rmdir(storage)
        os.rename(storage + ".off", storage)
    equal(health(), ("ok", []), "it is mounted again")


# ---- the reaper

@case
def a_reaper_that_does_not_run_is_told():
    sql("UPDATE session SET created_at = created_at - interval '1 hour'")
    equal(health(), ("degraded", ["reaper_late"]), "none has ever run")
    passes()
    equal(health(), ("ok", []), "after a pass")
    sql("UPDATE reaper_run SET started_at = started_at - interval '4 minutes'")
    equal(health(), ("ok", []), "a few may be late")
    sql("UPDATE reaper_run SET started_at = started_at - interval '4 minutes'")
    equal(health(), ("degraded", ["reaper_late"]), "all are")


@case
def draining_is_meant_and_comes_first():
    service.admin("drain")
    try:
        equal(health(), ("draining", ["reaper_late"]), "and the reasons stay")
    finally:
        service.admin("undrain")
    passes()
    equal(health(), ("ok", []), "afterwards")


sys.exit(run(lambda: None))
