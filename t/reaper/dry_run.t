#!/usr/bin/python3
"""dry_run.t: tests that a dry run leaves executions, their files, triggers and webhooks
as they are.  All of it is due: a real pass is seen to do it."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from executions import result, start
from receiver import Receiver
from service import call, create, expect, new_key, reap, setting, sql, value
from tap import case, equal, run, true

service.begin("webhook_allow_private = 127.0.0.1")

ADMIN = new_key("demo", "boss", "--scope", "admin")
R = Receiver()
FILES = os.path.join(setting("STACK_STATE"), "data/artifacts")
TABLES = ("execution", "execution_day", "artifact", "artifact_use", "org_trigger", "webhook",
          "webhook_delivery", "session", "lease", "event", "audit", "reaper_run")
SLOTS = 256  # of an org's files; a pass looks at one of them, by the clock


def rows():
    return {table: sql("SELECT t::text FROM %s t ORDER BY 1" % table) for table in TABLES}


def files():
    """All files with their times: an org's folder, a slot, a hash."""
    return {os.path.join(d, name): os.stat(os.path.join(d, name)).st_mtime_ns
            for d, _, names in os.walk(FILES) for name in names}


def stray_files():
    """A file in each slot that no row has, and that is old enough to go."""
    org = os.path.join(FILES, os.listdir(FILES)[0])
    owner = os.stat(org)
    made = set()
    for slot in range(SLOTS):
        d = os.path.join(org, "%02x" % slot)
        path = os.path.join(d, "%02x" % slot + 62 * "0")
        os.makedirs(d, 0o700, exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write("x")
        for name in (d, path):
            os.chown(name, owner.st_uid, owner.st_gid)
        os.utime(path, (owner.st_mtime - 7200, owner.st_mtime - 7200))
        made.add(path)
    return made


def known(table, name):
    return value("SELECT count(*) FROM %s WHERE id = :'v1'" % table, name) == "1"


def executions():
    """One whose result no client has asked for, one past its retention, and one whose
    output is too old."""
    sid = create()["id"]
    old, aged = (result(sid, command="echo " + word)["id"] for word in ("old", "aged"))
    sql("UPDATE execution SET ended_at = ended_at - interval '1000 days' WHERE id = :'v1'", old)
    sql("UPDATE artifact SET created_at = created_at - interval '31 days'"
        " WHERE execution_id = :'v1'", aged)
    return start(sid, command="true")["id"], old, aged


def trigger():
    t = expect(201, call("POST", "/v1/triggers", {
        "name": "due", "schedule": "0 0 1 1 *",
        "run": {"agentType": "VALIDATION", "command": "true", "network": {"mode": "none"}}})).json
    sql("UPDATE org_trigger SET next_at = clock_timestamp() - interval '1 s' WHERE id = :'v1'",
        t["id"])
    return t["id"]


def deliveries():
    """One that nobody has sent, and one that is to be forgotten."""
    w = expect(201, call("POST", "/v1/webhooks", {
        "url": R.url("/hook"), "events": ["session.failed"]}, ADMIN)).json["id"]
    late, over = (expect(202, call("POST", "/v1/webhooks/%s/test" % w, key=ADMIN)).json["id"]
                  for _ in range(2))
    sql("UPDATE webhook_delivery SET due_at = due_at - interval '1 min' WHERE id = :'v1'", late)
    sql("UPDATE webhook_delivery SET due_at = NULL, given_up_at = clock_timestamp(),"
        " created_at = created_at - interval '8 days' WHERE id = :'v1'", over)
    return late, over


def outputs(execution):
    return value("SELECT count(*) FROM artifact WHERE execution_id = :'v1'", execution)


@case
def a_dry_run_touches_nothing_that_a_pass_touches():
    with service.webhooks_left_alone(), service.starts_left_alone():
        asked, old, aged = executions()
        fires, (late, over), stray = trigger(), deliveries(), stray_files()
        before, kept = rows(), files()
        status, text, _ = reap("--dry-run")
        equal(status, 0, "exit status")
        true("trigger: %s\n" % fires in text, "it tells of the trigger: %s" % text)
        after = rows()
        for table in TABLES:
            equal(after[table], before[table], "rows of " + table)
        equal(files(), kept, "files")
        equal(R.requests, [], "requests")

        service.until("a real pass takes the result", lambda: reap()[0] == 0 and value(
            "SELECT state FROM execution WHERE id = :'v1'", asked) == "succeeded")
        equal(known("execution", old), False, "it forgets what is past its retention")
        equal((outputs(aged), known("execution", aged)), ("0", True), "and output that is old")
        gone = stray - set(files())
        true(gone, "it removes files that no row has")
        equal(value("SELECT count(*) FROM execution WHERE task_id LIKE 'trigger:' || :'v1' || ':%'",
                    fires), "1", "it carries the trigger out")
        equal([r.id for r in R.got("/hook")], [late], "it sends what nobody has sent")
        equal(known("webhook_delivery", over), False, "and forgets what is over")


sys.exit(run(lambda: None))
