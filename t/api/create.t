#!/usr/bin/python3
"""create.t: tests that a create that cannot work leaves nothing, and that one that finds
a session drops none of its options."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, container_error, create, execute, expect, get,
                     in_background, new_key, problem, setting, sql, until,
                     value)
from awake import passes
from tap import case, equal, run, true

# the defaults of a fresh installation, which the stack of a test does not have
DEFAULTS = [line for line in subprocess.run(
    [os.path.join(os.environ.get("top_builddir", "build"), "sandlease-api"),
     "--settings"], capture_output=True, text=True, check=True)
    .stdout.splitlines() if line.startswith("| `quota_")]
service.begin(conf="\n".join("%s = %s" % tuple(
    cell.strip(" `") for cell in line.split("|")[1:3]) for line in DEFAULTS))

ORGS = iter("org-%d" % i for i in range(100))
FAILS = {"isolation": "session", "class": "broken"}


def post(body, key=None, idempotency=None, **headers):
    if idempotency:
        headers["Idempotency-Key"] = idempotency
    return call("POST", "/v1/sessions?wait=60", body, key, headers)


def break_class():
    sql("INSERT INTO class (name, rootfs, memory_mb, cpu_millis, disk_mb, pids)"
        " VALUES ('broken', '/nonexistent', 256, 1000, 256, 64)"
        " ON CONFLICT DO NOTHING")


def sessions(key):
    """Returns all sessions but the deleted ones."""
    return expect(200, call("GET", "/v1/sessions?limit=200", key=key)).json["sessions"]


def used(key):
    quotas = expect(200, call("GET", "/v1/usage", key=key)).json["quotas"]
    return {name: quotas[name]["used"] for name in ("sessions", "active", "diskMb")}


NOTHING = {"sessions": 0, "active": 0, "diskMb": 0}


# ---- files

@case
def a_path_that_cannot_be_written_is_refused_before_anything_is_made():
    key = new_key(next(ORGS), "u")
    ok = {"path": "fine", "content": ""}
    for paths, index in ((["/etc/passwd"], 0), (["../../etc/x"], 0), (["/"], 0),
                         (["/workspace"], 0), (["dir/"], 0), (["a/.."], 0),
                         (["/workspace/../etc/x"], 0), (["/workspacex/a"], 0),
                         (["a", "b", "./a"], 2), (["a", "/workspace//a"], 1),
                         (["x/y", "x"], 1), (["x", "x/y"], 0),
                         (["/home/user"], 0), (["/proc/1/x"], 0),
                         (["/var/lib/x"], 0), (["n" * 256], 0), (["d/" * 128 + "f"], 0)):
        files = [{"path": p, "content": ""} for p in paths]
        problem(post({"files": files}, key), 400, "validation_failed",
                "files[%d].path" % index)
    for member, bad in (("mode", "rwx"), ("contentBase64", "?"), ("content", 1),
                        ("owner", "root")):
        one = {"path": "b", member: bad}
        if not member.startswith("content"):
            one["content"] = ""
        problem(post({"files": [ok, one]}, key), 400, "validation_failed",
                "files[1]." + member)
    equal((value("SELECT count(*) FROM session s WHERE s.tenant = "
                 "(SELECT tenant FROM api_key ORDER BY created_at DESC LIMIT 1)"),
           used(key)), ("0", NOTHING), "nothing was made")


@case
def every_place_that_can_be_written_takes_files():
    paths = ["/workspace/a/b", "c/../d", "/home/user/.profile", "/tmp/e",
             "/var/tmp/f", "/dev/shm/g", "/var/backups/h"]
    sid = create(files=[{"path": p, "content": p} for p in paths])["id"]
    equal(execute(sid, "cat /workspace/a/b /workspace/d ~/.profile /tmp/e"
                  " /tmp/f /dev/shm/g /var/backups/h"), "".join(paths), "files")
    expect(200, call("DELETE", at(sid)))


@case
def what_a_snapshot_has_in_the_way_is_400_and_leaves_nothing():
    key = new_key(next(ORGS), "u")
    one = create(key)["id"]
    execute(one, "mkdir dir && ln -s loop loop && touch file", key)
    snap = expect(201, call("POST", at(one, "/snapshots?wait=60"), {}, key)).json["id"]
    expect(200, call("DELETE", at(one), key=key))
    ok = {"path": "ok", "content": ""}
    for path in "dir", "file/x":
        body = {"snapshot": snap, "files": [ok, {"path": path, "content": "x"}]}
        doc = problem(post(body, key), 400, "validation_failed", "files[1].path")
        equal(doc["session"]["state"], "deleted", path)
        equal((sessions(key), used(key)), ([], NOTHING), "nothing is left")
    # with a name the failed session stays, and takes the corrected body
    body["name"] = "n"
    doc = problem(post(body, key), 400, "validation_failed", "files[1].path")
    equal((doc["session"]["name"], doc["session"]["state"]), ("n", "failed"), "told")
    body["files"] = [ok]
    s = expect(201, post(body, key)).json
    equal(execute(s["id"], "ls", key), "dir\nfile\nloop\nok\n", "the corrected one")
    expect(200, call("DELETE", at(s["id"]), key=key))


# ---- starts that fail

@case
def a_nameless_session_that_cannot_start_is_gone_and_named():
    break_class()
    key = new_key(next(ORGS), "u")
    for idempotency in None, "retry-me", "retry-me":
        r = post(FAILS, key, idempotency)
        doc = problem(r, r.status, None)
        true(r.status >= 500 and r.header("Idempotency-Replayed") is None,
             "tried, not replayed: %r" % r)
        equal(doc["session"]["state"], "deleted", "it says what became of it")
        equal(get(doc["session"]["id"], key)["state"], "deleted", "and so does GET")
        equal((sessions(key), used(key)), ([], NOTHING), "nothing is left")
    equal(value("SELECT count(*) FROM idempotency WHERE key = 'retry-me'"), "0",
          "nor its key")


@case
def the_corrected_body_under_the_same_name_is_used():
    break_class()
    key = new_key(next(ORGS), "u")
    bad = dict(FAILS, name="n", env={"A": "old"}, labels={"is": "old"},
               files=[{"path": "old", "content": ""}], correlationKeys=["k"])
    r = post(bad, key, "first")
    doc = problem(r, r.status, None)
    equal((doc["session"]["name"], doc["session"]["state"]), ("n", "failed"), "told")
    first = doc["session"]["id"]
    equal(used(key), {"sessions": 1, "active": 0, "diskMb": 0},
          "it holds no disk that it does not use")
    r = post(bad, key, "first")
    true(r.status >= 500 and r.json["session"]["id"] != first,
         "the same key tries again: %r" % r)
    good = {"name": "n", "isolation": "session", "env": {"B": "new"},
            "files": [{"path": "new", "content": ""}]}
    s = expect(201, post(good, key)).json
    equal((s["class"], s["labels"], s["correlationKeys"]), ("small", {}, []), "its own")
    equal(execute(s["id"], "ls; echo $A$B", key), "new\nnew\n", "files and env")
    equal([x["id"] for x in sessions(key)], [s["id"]], "one session")
    equal(used(key), {"sessions": 1, "active": 1, "diskMb": 4096}, "usage")
    equal(get(first, key)["state"], "deleted", "the first one")
    expect(200, call("DELETE", at(s["id"]), key=key))
    # the same for a session that is found by a correlation key
    problem(post(dict(FAILS, correlationKeys=["k"]), key), r.status, None)
    s = expect(201, post({"correlationKeys": ["k"]}, key)).json
    equal(s["state"], "ready", "by key")
    expect(200, call("DELETE", at(s["id"]), key=key))


@case
def two_corrected_creates_at_once_make_one_session():
    break_class()
    key = new_key(next(ORGS), "u")
    true(post(dict(FAILS, name="n"), key).status >= 500, "it fails")
    replies = [c.join() for c in [in_background(
        "POST", "/v1/sessions?wait=60", {"name": "n"}, key) for _ in range(4)]]
    equal(sorted({r.status for r in replies}), [200, 201], "one makes it")
    equal(len({r.json["id"] for r in replies}), 1, "all have the same")
    equal(len(sessions(key)), 1, "one session")
    expect(200, call("DELETE", at(replies[0].json["id"]), key=key))


@case
def another_tenants_failed_session_is_not_touched():
    break_class()
    mine, theirs = new_key(next(ORGS), "u"), new_key(next(ORGS), "u")
    r = post(dict(FAILS, name="n"), theirs)
    s = expect(201, post({"name": "n"}, mine)).json
    equal(get(r.json["session"]["id"], theirs)["state"], "failed", "theirs")
    expect(200, call("DELETE", at(s["id"]), key=mine))


@case
def one_that_was_ready_once_keeps_its_files_when_a_start_fails():
    key = new_key(next(ORGS), "u")
    s = create(key, name="n", isolation="session")
    execute(s["id"], "echo kept > f", key)
    expect(200, call("POST", at(s["id"], "/sleep"), key=key))
    sql("UPDATE session SET state = 'initializing' WHERE id = :'v1'", s["id"])
    sql("UPDATE session SET state = 'failed', reason = 'by hand' WHERE id = :'v1'", s["id"])
    again = expect(200, post({"name": "n"}, key)).json
    equal((again["id"], execute(s["id"], "cat f", key)), (s["id"], "kept\n"), "resumed")
    expect(200, call("DELETE", at(s["id"]), key=key))


@case
def the_reaper_takes_back_what_a_dead_worker_left():
    key = new_key(next(ORGS), "u")
    ids = [create(key, labels={"n": str(i)})["id"] for i in range(3)]
    for sid in ids:
        expect(200, call("POST", at(sid, "/sleep"), key=key))
    # never ready, as a dead worker leaves them; a client knows the second one's id
    for sid, told in zip(ids, ("false", "true", "false")):
        sql("UPDATE session SET state = 'initializing' WHERE id = :'v1'", sid)
        sql("UPDATE session SET state = 'failed', started_at = NULL, told = :'v2'"
            " WHERE id = :'v1'", sid, told)
    sql("UPDATE session SET name = 'kept' WHERE id = :'v1'", ids[2])
    passes()
    equal([get(sid, key)["state"] for sid in ids], ["deleted", "failed", "failed"],
          "only what nobody can ask for")


# ---- setup

@case
def a_failed_setup_is_a_problem_with_its_output():
    key = new_key(next(ORGS), "u")
    body = {"name": "s", "setup": "echo out; echo why >&2; exit 7"}
    for replayed in None, "true":
        r = post(body, key, "setup-1")
        doc = problem(r, 409, "setup_failed")
        equal(r.header("Idempotency-Replayed"), replayed, "replayed")
        equal(doc["detail"], "setup ended with exit code 7", "detail")
        equal((doc["session"]["name"], doc["session"]["state"], doc["retryable"]),
              ("s", "failed", False), "session")
        equal(doc["setup"], {"state": "failed", "exitCode": 7,
                             "output": "out\nwhy\n"}, "setup")
    s = get(doc["session"]["id"], key)
    equal((s["state"], s["setup"]["output"]), ("failed", "out\nwhy\n"), "GET")
    doc = problem(call("POST", at(s["id"], "/resume?wait=60"), key=key), 409,
                  "setup_failed")
    equal(doc["setup"]["output"], "out\nwhy\n", "resuming runs it again")
    s = expect(201, post({"name": "s", "setup": "echo fine"}, key)).json
    equal(s["setup"]["state"], "done", "the corrected one")
    expect(200, call("DELETE", at(s["id"]), key=key))
    # a session without a name stays: the client knows its id and output
    doc = problem(post({"setup": "exit 3"}, key), 409, "setup_failed")
    equal(get(doc["session"]["id"], key)["state"], "failed", "it can be looked at")
    expect(200, call("DELETE", at(doc["session"]["id"]), key=key))


@case
def a_deleted_session_is_not_replayed_as_made():
    key = new_key(next(ORGS), "u")
    s = expect(201, post({}, key, "gone-1")).json
    expect(200, call("DELETE", at(s["id"]), key=key))
    r = post({}, key, "gone-1")
    doc = problem(r, 410, "session_deleted")
    equal((doc["session"], r.header("Idempotency-Replayed")),
          ({"id": s["id"], "name": None, "state": "deleted"}, "true"), "told")
    s = expect(201, post({}, key, "gone-2")).json
    expect(200, call("DELETE", at(s["id"]), key=key))


@case
def a_replay_has_the_status_of_the_first_answer():
    key, other = new_key(next(ORGS), "u"), new_key(next(ORGS), "u")
    for status, name in (201, "made"), (200, "found"):
        answers = [post({"name": "r"}, key, name) for _ in range(3)]
        equal([(r.status, r.header("Idempotency-Replayed")) for r in answers],
              [(status, None)] + 2 * [(status, "true")], name)
        equal(len({r.json["id"] for r in answers}), 1, "one session")
    r = expect(201, post({"name": "r"}, other, "found"))
    true(r.json["id"] != answers[0].json["id"], "another org's key is its own")


# ---- options of a create that finds a session

@case
def what_patch_may_change_is_applied():
    key = new_key(next(ORGS), "u")
    made = create(key, name="n", labels={"a": "1"}, env={"A": "1", "B": "1"})
    for asleep in False, True:
        if asleep:
            expect(200, call("POST", at(made["id"], "/sleep"), key=key))
        s = expect(200, post({
            "name": "n", "labels": {"b": "2"}, "env": {"B": "2", "C": "3"},
            "sleepAfter": "%dm" % (20 + asleep), "keepAlive": not asleep,
            "maxRunSeconds": 1000 + asleep, "suspend": not asleep,
            "wakeOnPreview": not asleep, "expiresAt": "2099-01-01T00:00:0%dZ" % asleep,
            "baseUrl": "https://previews.example.com"}, key)).json
        equal((s["id"], s["labels"], s["sleepAfterSeconds"], s["keepAlive"],
               s["maxRunSeconds"], s["suspend"], s["wakeOnPreview"], s["expiresAt"]),
              (made["id"], {"a": "1", "b": "2"}, 1200 + 60 * asleep, not asleep,
               1000 + asleep, not asleep, not asleep, "2099-01-01T00:00:0%d.000Z" % asleep),
              "applied")
        equal(execute(made["id"], "echo $A$B$C", key), "123\n", "env")
    s = expect(200, post({"name": "n"}, key)).json
    equal((s["labels"], s["sleepAfterSeconds"], s["maxRunSeconds"]),
          ({"a": "1", "b": "2"}, 1260, 1001), "what is not given stays")
    url = expect(201, call("POST", at(made["id"], "/ports"), {"port": 8000}, key)).json["url"]
    true(url.endswith(".previews.example.com/"), url)
    problem(post({"name": "n", "baseUrl": "https://other.example.com",
                  "labels": {"c": "3"}}, key, "other-url"), 409, "base_url_already_set")
    equal((get(made["id"], key)["labels"], value(
        "SELECT count(*) FROM idempotency WHERE key = 'other-url'")),
          ({"a": "1", "b": "2"}, "0"), "refused, it changes nothing")
    expect(200, call("DELETE", at(made["id"]), key=key))


@case
def what_an_org_does_not_grant_is_not_held_against_a_session():
    org = next(ORGS)
    key = new_key(org, "u")
    wish = {"name": "n", "isolation": "shared", "files": []}
    service.admin("org", "set", org, "--isolation", "session")
    own = expect(201, post(wish, key)).json
    equal((own["isolation"], expect(200, post(wish, key)).json["id"]), ("session", own["id"]), "own")
    expect(200, call("DELETE", at(own["id"]), key=key))
    service.admin("org", "set", org, "--isolation", "shared")
    shared = expect(201, post({"name": "n", "isolation": "shared"}, key)).json
    service.admin("org", "set", org, "--isolation", "session")
    equal((shared["isolation"], expect(200, post(wish, key)).json["id"]),
          ("shared", shared["id"]), "shared, and no files are none")
    problem(post(dict(wish, isolation="session"), key), 409, "session_differs")


@case
def what_cannot_change_is_refused_by_name():
    key = new_key(next(ORGS), "u")
    one = create(key, isolation="session")["id"]
    snaps = [expect(201, call("POST", at(one, "/snapshots?wait=60"), {}, key)).json["id"]
             for _ in range(2)]
    expect(200, call("DELETE", at(one), key=key))
    body = {"name": "n", "isolation": "session", "class": "small", "agentType": "X",
            "files": [{"path": "f", "content": "1", "mode": "0600"}],
            "setup": "echo once >> runs", "snapshot": snaps[0],
            "correlationKeys": ["c"]}
    made = expect(201, post(body, key)).json
    equal(expect(200, post(body, key)).json["id"], made["id"], "the same body finds it")
    equal(execute(made["id"], "cat runs", key), "once\n", "and runs nothing again")
    sql("INSERT INTO class (name, rootfs, memory_mb, cpu_millis, disk_mb, pids)"
        " VALUES ('large', '', 8192, 4000, 16384, 1024) ON CONFLICT DO NOTHING")
    others = {"class": "large", "agentType": "Y", "setup": "echo other",
              "snapshot": snaps[1], "files": [{"path": "f", "content": "2"}]}
    for field, other in others.items():
        doc = problem(post(dict(body, labels={"new": "1"}, **{field: other}), key,
                           "differs-" + field), 409, "session_differs")
        equal((doc["fields"], doc["session"]["id"]), ([field], made["id"]), field)
        true(field in doc["detail"], doc["detail"])
    doc = problem(post({"correlationKeys": ["c"], "isolation": "shared"}, key), 409,
                  "session_differs")
    equal(doc["fields"], ["isolation"], "isolation")
    doc = problem(post(dict(body, correlationKeys=["c", "new"], **others), key), 409,
                  "session_differs")
    equal(doc["fields"], sorted(others), "all of them")
    s = get(made["id"], key)
    equal((s["labels"], s["correlationKeys"]), ({}, ["c"]), "nothing was changed")
    equal(value("SELECT count(*) FROM idempotency WHERE key LIKE 'differs-%'"), "0",
          "a key of a refused create is free")
    expect(200, call("DELETE", at(made["id"]), key=key))


@case
def who_may_only_read_changes_nothing_and_tenants_do_not_meet():
    org = next(ORGS)
    key, reader = new_key(org, "u"), new_key(org, "r", "--scope", "read")
    other = new_key(next(ORGS), "u")
    made = create(key, name="n", labels={"a": "1"})
    problem(post({"name": "n", "labels": {"a": "2"}}, reader), 403, "forbidden")
    s = expect(201, post({"name": "n", "labels": {"a": "3"}}, other)).json
    true(s["id"] != made["id"], "another's is another")
    equal(get(made["id"], key)["labels"], {"a": "1"}, "as it was")
    for sid, k in ((made["id"], key), (s["id"], other)):
        expect(200, call("DELETE", at(sid), key=k))


# ---- registered only

@case
def start_false_registers_and_the_first_call_starts():
    key = new_key(next(ORGS), "u")
    body = {"start": False, "isolation": "session", "name": "later",
            "setup": "echo ran > ran", "env": {"A": "1"},
            "files": [{"path": "f", "content": "x"}]}
    s = expect(201, post(body, key)).json
    equal((s["state"], s["reason"], s["lease"]["state"], s["lease"]["generation"],
           s["sandboxId"][:4]), ("asleep", "not_started", "none", 1, "ses-"), "registered")
    equal(used(key)["active"], 0, "it needs no memory")
    equal(value("SELECT state FROM sandbox WHERE id = :'v1'", s["sandboxId"]), "absent",
          "its sandbox")
    passes()
    equal(get(s["id"], key)["state"], "asleep", "nobody starts it")
    again = expect(200, post(body, key)).json
    equal((again["id"], again["state"]), (s["id"], "asleep"), "found, not started")
    equal(execute(s["id"], "cat f ran; echo $A", key), "xran\n1\n", "a call starts it")
    now = get(s["id"], key)
    equal((now["state"], now["sandboxId"], now["lease"]["generation"]),
          ("ready", s["sandboxId"], 2), "the same sandbox")
    expect(200, call("DELETE", at(s["id"]), key=key))
    for how in "resume", "create", "delete":
        s = expect(201, post({"start": False, "name": how}, key, how)).json
        if how == "resume":
            equal(expect(200, call("POST", at(s["id"], "/resume?wait=60"), key=key))
                  .json["state"], "ready", how)
        if how == "create":
            equal(expect(200, post({"name": how}, key)).json["state"], "ready", how)
        equal(expect(200, call("DELETE", at(s["id"]), key=key)).json["state"], "deleted",
              "deleted after " + how)
    problem(post({"start": "no"}, key), 400, "validation_failed", "start")
    equal((sessions(key), used(key)), ([], NOTHING), "nothing is left")


@case
def a_registered_session_that_cannot_start_stays():
    break_class()
    key = new_key(next(ORGS), "u")
    s = expect(201, post(dict(FAILS, start=False), key)).json
    r = call("POST", at(s["id"], "/api/execute"), {"command": "true"}, key)
    true(r.status >= 500, "it cannot: %r" % r)
    equal(get(s["id"], key)["state"], "failed", "its owner knows its id")
    expect(200, call("DELETE", at(s["id"]), key=key))


# ---- deleted snapshots

@case
def snapshot_fallback_makes_a_plain_session_and_an_event():
    key, other = new_key(next(ORGS), "u"), new_key(next(ORGS), "u")
    one = create(key)["id"]
    execute(one, "echo kept > f", key)
    snap, lost, deleted = (expect(201, call(
        "POST", at(one, "/snapshots?wait=60"), {}, key)).json["id"] for _ in range(3))
    expect(204, call("DELETE", "/v1/snapshots/" + deleted, key=key))
    until("its spare copy is made", lambda: spare(lost))
    subprocess.run(["rm", "-rf", os.path.dirname(spare(lost))], check=True)

    def events(sid):
        return [(e["what"], e["detail"]["snapshot"]) for e in expect(200, call(
            "GET", at(sid, "/events?limit=1000"), key=key)).json["events"]
            if e["kind"] == "snapshot"]

    body = {"snapshot": snap, "snapshotFallback": True}
    s = expect(201, post(body, key)).json
    equal((s["snapshot"], execute(s["id"], "cat f", key), events(s["id"])),
          (snap, "kept\n", []), "one that is there is used")
    for gone in deleted, "a" * 20, lost:
        name = "from-" + gone
        body = {"snapshot": gone, "snapshotFallback": True, "name": name}
        s = expect(201, post(body, key)).json
        equal((s["snapshot"], execute(s["id"], "ls", key)), (None, ""), "plain: " + gone)
        equal(events(s["id"]), [("fallback", gone)], "its event")
        equal(expect(200, post(body, key)).json["id"], s["id"], "the same body finds it")
        r = post({"snapshot": gone}, key)
        true(400 <= r.status, "without it: %r" % r)
    body = {"snapshot": snap, "snapshotFallback": True}
    equal(expect(201, post(body, other)).json["snapshot"], None,
          "another org's is not there")
    problem(post({"snapshotFallback": True}, key), 400, "validation_failed",
            "snapshotFallback")
    problem(post({"snapshot": snap, "snapshotFallback": 1}, key), 400,
            "validation_failed", "snapshotFallback")


def spare(snapshot):
    found = subprocess.run(
        ["find", setting("STACK_STATE") + "/data", "-path", "*%s/spare" % snapshot],
        capture_output=True, text=True, check=False).stdout.split()
    return found[0] if found else None


@case
def what_could_not_be_taken_over_is_not_told_as_done():
    key = new_key(next(ORGS), "u")
    sid = expect(201, post({"name": "n"}, key)).json["id"]
    wish = {"name": "n", "labels": {"run": "18"}, "env": {"A": "new"}, "sleepAfterSeconds": 1234}
    with service.Held("SELECT 1 FROM session WHERE id = '%s' FOR UPDATE" % sid):
        doc = problem(post(wish, key, "k"), 503, "try_again")
    equal(doc["session"]["id"], sid, "whose")
    equal(get(sid, key)["labels"], {}, "as it was")
    s = expect(200, post(wish, key, "k")).json
    equal((s["id"], s["labels"], s["sleepAfterSeconds"]), (sid, {"run": "18"}, 1234), "again")
    expect(200, call("DELETE", at(sid), key=key))


# ---- a name in a call of the data plane

@case
def the_first_call_may_name_a_nameless_session():
    org = next(ORGS)
    key, reader = new_key(org, "u"), new_key(org, "r", "--scope", "read")
    other = new_key(next(ORGS), "u")

    def ping(sid, name, who=key, **headers):
        return call("GET", at(sid, "/api/ping"), key=who,
                    headers=dict(headers, **{"X-Sandbox-Name": name}))

    a, b = (expect(201, post({"start": False}, key)).json["id"] for _ in "ab")
    expect(201, post({"start": False, "name": "n"}, other))
    for bad in ("x" * 129, b"\xff\xfe"):
        doc = container_error(ping(a, bad), 400, "BAD_SANDBOX_NAME")
        true("X-Sandbox-Name" in doc["message"], doc["message"])
    expect(200, ping(a, "n", reader))
    expect(404, ping(a, "n", other))
    expect(200, ping(a, "n", **{"X-Sandlease-Probe": "1"}))
    equal(get(a, key)["name"], None, "nobody has named it")
    expect(200, ping(a, "n\u00e4me".encode()))
    s = get(a, key)
    equal((s["name"], s["state"]), ("n\u00e4me", "ready"), "named and woken")
    expect(200, ping(a, "other"))
    equal(get(a, key)["name"], "n\u00e4me", "it keeps its name")
    expect(200, ping(b, "n\u00e4me".encode()))
    equal(get(b, key)["name"], None, "a name that another session has is no reason to refuse")
    equal(expect(200, post({"name": "n\u00e4me"}, key)).json["id"], a, "the name finds it")
    events = [(e["what"], e["detail"]["name"], e["actor"].startswith("gate:"))
              for e in expect(200, call("GET", at(a, "/events?limit=1000"), key=key))
              .json["events"] if e["kind"] == "name"]
    equal(events, [("given", "n\u00e4me", True)], "its event")
    expect(200, call("DELETE", at(a), key=key))
    expect(200, ping(b, "n\u00e4me".encode()))
    equal(get(b, key)["name"], "n\u00e4me", "a name that is free again")


# ---- defaults

@case
def a_class_that_is_not_there_is_told_which_there_are():
    sql("INSERT INTO class (name, rootfs, memory_mb, cpu_millis, disk_mb, pids)"
        " VALUES ('own', '', 256, 1000, 256, 64) ON CONFLICT DO NOTHING")
    key = new_key(next(ORGS), "u")
    doc = problem(post({"class": "huge", "isolation": "session"}, key), 400, "validation_failed")
    equal((doc["errors"][0]["field"], used(key)), ("class", NOTHING), "field")
    known = value("SELECT string_agg(name, ', ' ORDER BY name) FROM class")
    true("small" in known and "own" in known, known)
    true("there are " + known in str(doc), "all of them: %r" % doc)


@case
def a_fresh_org_has_room_for_many_sessions():
    key = new_key(next(ORGS), "u")
    sql("INSERT INTO class (name, rootfs, memory_mb, cpu_millis, disk_mb, pids)"
        " VALUES ('large', '', 8192, 4000, 16384, 1024) ON CONFLICT DO NOTHING")
    body = {"start": False, "isolation": "session"}
    for i in range(30):
        expect(201, post(dict(body, **{"class": "large"} if i % 2 else {}), key))
    expect(201, post({"start": False}, key))
    quotas = expect(200, call("GET", "/v1/usage", key=key)).json["quotas"]
    equal({n: quotas[n]["limit"] for n in ("sessions", "active", "diskMb")},
          {"sessions": 1000, "active": 100, "diskMb": None}, "limits")


sys.exit(run(lambda: None))
