#!/usr/bin/python3
"""sessions.t: tests a session from create to delete, through nginx."""
import json
import os
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, create, execute, expect, get,
                     new_key, problem, setting, sql, until, value)
from tap import case, equal, run, true

service.begin()

SECRET = "hush-e2b1c0ffee"
FIELDS = {"id", "name", "state", "busy", "reason", "sandboxId", "isolation",
          "class", "provider", "cell", "agentType", "labels", "lease",
          "correlationKeys", "limits", "network", "alive", "sleepAfterSeconds", "keepAlive",
          "setup", "snapshot", "maxRunSeconds", "concurrency", "cleanup", "expiresAt", "suspend", "suspended",
          "secrets", "wakeOnPreview", "ports", "urls", "createdAt", "startedAt",
          "lastActivityAt", "endedAt"}
LEASE_FIELDS = {"state", "generation", "instance", "startupDeadline",
                "keepWarmUntil", "stop"}
EVERYTHING = {
    "name": "everything", "isolation": "session", "class": "small",
    "agentType": "reviewer", "labels": {"team": "blue", "n": "1"},
    "env": {"SECRET": SECRET, "EMPTY": ""},
    "files": [
        {"path": "/workspace/a/b.txt", "content": "text\n", "mode": "0640"},
        {"path": "bin.sh", "content": "#!/bin/sh\necho ran\n", "mode": 0o755},
        {"path": "/home/user/raw", "contentBase64": "AAEC/w=="}],
    "sleepAfterSeconds": 1234, "keepAlive": False,
    "expiresAt": "2099-01-01T00:00:00Z", "wakeOnPreview": True,
    "baseUrl": "https://previews.example.com"}
MINE = {}  # the session with all options


@case
def a_session_with_every_field_is_created_and_ready():
    r = expect(201, call("POST", "/v1/sessions?wait=30", EVERYTHING))
    s = r.json
    MINE.update(s)
    true(r.header("X-Request-Id"), "X-Request-Id is there")
    equal(set(s), FIELDS, "fields")
    equal(set(s["lease"]), LEASE_FIELDS, "fields of the lease")
    for name in ("name", "isolation", "class", "agentType", "labels",
                 "sleepAfterSeconds", "keepAlive", "wakeOnPreview"):
        equal(s[name], EVERYTHING[name], name)
    equal((s["state"], s["reason"], s["provider"], s["cell"], s["endedAt"]),
          ("ready", None, "local", "namespace", None), "state")
    equal((s["lease"]["state"], s["lease"]["generation"], s["lease"]["stop"]),
          ("owns_wrapper", 1, None), "lease")
    true(len(s["id"]) == 20 and s["id"].isalnum() and
         s["id"] == s["id"].lower(), "id has 20 of [a-z0-9]")
    true(s["sandboxId"].startswith("ses-"), "a sandbox of its own")
    equal(s["alive"], {"because": ["recent_activity"],
                       "until": s["lease"]["keepWarmUntil"]}, "alive")
    equal(s["urls"], {
        "api": setting("SANDLEASE_URL") + at(s["id"]),
        "terminal": "ws" + setting("SANDLEASE_URL")[len("http"):] +
                    at(s["id"], "/ws/pty?sessionId=default")}, "urls")
    equal(set(s["limits"]), {"memoryMb", "cpuMillis", "diskMb", "pids"},
          "limits")
    for name, limit in s["limits"].items():
        true(limit["by"] in ("cgroup", "rlimit", "watchdog", "none", "quota",
                             "accounting"),
             "who holds %s: %r" % (name, limit))
    equal(s["limits"]["memoryMb"]["value"], 2048, "memory of class small")


@case
def get_shows_the_same_session():
    s = get(MINE["id"])
    equal(set(s), FIELDS, "fields")
    for name in FIELDS - {"lastActivityAt", "alive", "lease"}:
        equal(s[name], MINE[name], name)


@case
def files_are_written_with_their_modes():
    equal(execute(MINE["id"], "stat -c '%a %s %n' a/b.txt bin.sh ~/raw"),
          "640 5 a/b.txt\n755 19 bin.sh\n644 4 /home/user/raw\n", "stat")
    equal(execute(MINE["id"], "cat a/b.txt; ./bin.sh; od -An -tx1 ~/raw"),
          "text\nran\n 00 01 02 ff\n", "content")


@case
def env_reaches_commands():
    equal(execute(MINE["id"], 'echo "$SECRET" "[${EMPTY-unset}]"'),
          SECRET + " []\n", "env")


@case
def env_is_sealed_and_in_no_response():
    for method, path in (("GET", at(MINE["id"])), ("GET", "/v1/sessions"),
                         ("GET", at(MINE["id"], "/agent-log")),
                         ("POST", at(MINE["id"], "/resume"))):
        r = expect(200, call(method, path))
        true(SECRET.encode() not in r.body, "%s %s hides it" % (method, path))
    dump = subprocess.run(
        ["pg_dump", "-w", "-h", setting("STACK_RUN") + "/pg", "-U",
         "sandlease", "sandlease"], capture_output=True, check=True,
        env={"PGPASSFILE": setting("STACK_STATE") + "/etc/pgpass",
             "PATH": os.environ["PATH"]}).stdout
    true(MINE["id"].encode() in dump, "the dump is one")
    true(SECRET.encode() not in dump, "not in the database")
    true(b"echo ran" not in dump, "nor is a file's content")
    true(SECRET not in service.log("api"), "not in the log")


@case
def env_is_in_no_argv_or_environ_of_ours():
    for pid in service.sandbox_pids() + service.workers():
        for name in ("cmdline", "environ"):
            try:
                with open("/proc/%d/%s" % (pid, name), "rb") as f:
                    true(SECRET.encode() not in f.read(), "%d %s" % (pid, name))
            except (PermissionError, FileNotFoundError, ProcessLookupError):
                pass


@case
def a_name_finds_the_same_session():
    r = expect(200, call("POST", "/v1/sessions", {"name": "everything"}))
    equal(r.json["id"], MINE["id"], "id")
    equal(r.json["lease"]["generation"], 1, "nothing was started")
    r = expect(200, call("POST", "/v1/sessions", {},
                         headers={"X-Sandbox-Name": "everything"}))
    equal(r.json["id"], MINE["id"], "id by header")


@case
def a_name_may_come_from_the_header_but_not_twice():
    r = expect(201, call("POST", "/v1/sessions", {},
                         headers={"X-Sandbox-Name": "by-header"}))
    equal(r.json["name"], "by-header", "name")
    problem(call("POST", "/v1/sessions", {"name": "a"},
                 headers={"X-Sandbox-Name": "b"}), 400, "validation_failed",
            "name")
    problem(call("PATCH", at(r.json["id"]), {"name": "other"}), 400,
            "validation_failed", "name")


@case
def base_url_is_set_once():
    same = {"name": "everything", "baseUrl": EVERYTHING["baseUrl"]}
    other = {"name": "everything", "baseUrl": "https://other.example.com"}
    expect(200, call("POST", "/v1/sessions", same))
    problem(call("POST", "/v1/sessions", other), 409, "base_url_already_set")
    problem(call("PATCH", at(MINE["id"]), {"baseUrl": other["baseUrl"]}), 409,
            "base_url_already_set")
    url = expect(201, call("POST", at(MINE["id"], "/ports"),
                           {"port": 8080})).json["url"]
    true(url.startswith("https://8080-%s-" % MINE["id"]) and
         url.endswith(".previews.example.com/"), url)
    late = create()["id"]
    expect(200, call("PATCH", at(late), {"baseUrl": other["baseUrl"]}))
    problem(call("PATCH", at(late), {"baseUrl": EVERYTHING["baseUrl"]}), 409,
            "base_url_already_set")


@case
def idle_time_may_be_given_in_words():
    for words, seconds in (("45s", 45), ("10m", 600), ("2h", 7200)):
        equal(create(sleepAfter=words)["sleepAfterSeconds"], seconds, words)
    equal(create()["sleepAfterSeconds"], 600, "default")


@case
def wait_0_may_answer_202_and_the_session_gets_ready():
    r = call("POST", "/v1/sessions?wait=0", {})
    true(r.status in (201, 202), repr(r))
    equal(r.status == 201, r.json["state"] == "ready", "201 means ready")
    until("it is ready", lambda: get(r.json["id"])["state"] == "ready")
    for bad in ("61", "-1", "x", "1.5"):
        problem(call("POST", "/v1/sessions?wait=" + bad, {}), 400,
                "validation_failed", "wait")


def state_in_the_row(sid):
    """Reads the state from the row: a GET would continue the start."""
    return sql("SELECT state FROM session WHERE id = :'v1'", sid)[0][0]


@case
def a_start_that_nobody_asks_for_goes_on():
    for isolation in ("session", "shared"):
        r = expect(202, call("POST", "/v1/sessions?wait=0",
                             {"isolation": isolation}))
        sid = r.json["id"]
        until("it is ready", lambda: state_in_the_row(sid) == "ready")
        equal(execute(sid, "echo hello"), "hello\n", "it works")


@case
def it_is_started_once():
    def starts():
        until("it is ready", lambda: state_in_the_row(sid) == "ready")
        return value("SELECT count(*) FROM event WHERE session_id = :'v1'"
                     " AND what = 'allocate'", sid)

    for body in ({"isolation": "session"}, {}, {"setup": "sleep 0.2"}):
        sid = expect(202, call("POST", "/v1/sessions?wait=0", body)).json["id"]
        equal((starts(), get(sid)["reason"]), ("1", None), body)
    expect(200, call("POST", at(sid, "/sleep")))
    r = expect(202, call("POST", at(sid, "/resume?wait=0")))
    equal(r.json["state"], "initializing", "answered before it is ready")
    equal(starts(), "2", "one for the create, one for the resume")


@case
def who_does_not_wait_is_answered_while_the_start_hangs():
    key = new_key("hangs", "u")
    before = set(service.sandbox_pids())
    create(key=key)
    init, = service.inits(set(service.sandbox_pids()) - before)
    os.kill(init, signal.SIGSTOP)
    try:
        sid = expect(202, call("POST", "/v1/sessions?wait=0", {}, key=key)).json["id"]
        # wait: its worker goes on for ten seconds; no other process holds such a lock
        equal(value("SELECT count(*) > 0 FROM pg_locks l JOIN pg_stat_activity a USING (pid)"
                    " WHERE l.locktype = 'advisory' AND a.application_name = 'sandlease-api'"),
              "t", "its worker is at it")
    finally:
        os.kill(init, signal.SIGCONT)
    until("it is ready", lambda: get(sid, key=key)["state"] == "ready")


@case
def one_that_fails_when_its_id_was_told_stays_and_tells_why():
    sid = expect(202, call("POST", "/v1/sessions?wait=0",
                           {"setup": "exit 3"})).json["id"]
    until("it has failed", lambda: state_in_the_row(sid) == "failed")
    true("exit code 3" in get(sid)["reason"], get(sid))


@case
def starts_that_nobody_waits_for_share_a_sandbox_that_is_not_there_yet():
    key = new_key("impatient", "u")
    made = []

    def begin():
        made.append(call("POST", "/v1/sessions?wait=0", {}, key=key).json["id"])

    crowd = [threading.Thread(target=begin) for _ in range(6)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    for sid in made:
        until("it is ready", lambda: get(sid, key=key)["state"] == "ready")


# ---- idempotency keys

@case
def an_idempotency_key_replays():
    header = {"Idempotency-Key": "k1"}
    a = expect(201, call("POST", "/v1/sessions", {"labels": {"x": "1"}},
                         headers=header))
    b = expect(201, call("POST", "/v1/sessions", {"labels": {"x": "1"}},
                         headers=header))
    equal(b.json["id"], a.json["id"], "id")
    equal(a.header("Idempotency-Replayed"), None, "first")
    equal(b.header("Idempotency-Replayed"), "true", "second")
    equal(value("SELECT count(*) FROM session WHERE labels = '{\"x\":\"1\"}'"),
          "1", "sessions")
    problem(call("POST", "/v1/sessions", {"labels": {"x": "2"}},
                 headers=header), 409, "idempotency_mismatch")
    expect(200, call("DELETE", at(a.json["id"])))
    c = problem(call("POST", "/v1/sessions", {"labels": {"x": "1"}},
                     headers=header), 410, "session_deleted")
    equal(c["session"]["id"], a.json["id"], "deleted, it is no answer any more")


@case
def an_idempotency_key_is_one_users_own():
    header = {"Idempotency-Key": "k2"}
    a = expect(201, call("POST", "/v1/sessions", {}, headers=header)).json
    other = new_key("demo", "somebody-else")
    b = expect(201, call("POST", "/v1/sessions", {}, other,
                         headers=header)).json
    true(a["id"] != b["id"], "two sessions")


@case
def a_refused_create_releases_its_key():
    header = {"Idempotency-Key": "k3"}
    problem(call("POST", "/v1/sessions",
                 {"isolation": "session", "class": "nope"}, headers=header),
            400, "validation_failed", "class")
    expect(201, call("POST", "/v1/sessions", {}, headers=header))


@case
def two_creates_at_once_with_one_key_make_one_session():
    calls = [subprocess.Popen(
        ["curl", "-s", "-X", "POST", setting("SANDLEASE_URL") +
         "/v1/sessions", "-H", "Authorization: Bearer " +
         setting("SANDLEASE_API_KEY"), "-H", "Idempotency-Key: k4", "-d",
         '{"agentType": "TWIN"}'], stdout=subprocess.PIPE) for _ in range(4)]
    ids = {json.loads(c.communicate()[0])["id"] for c in calls}
    equal(len(ids), 1, "ids")
    equal(value("SELECT count(*) FROM session WHERE agent_type = 'TWIN'"),
          "1", "sessions")


@case
def a_bad_idempotency_key_is_refused():
    for bad in ("x" * 256, "a\u00e9"):
        problem(call("POST", "/v1/sessions", {},
                     headers={"Idempotency-Key": bad.encode("utf-8")}),
                400, "validation_failed", "Idempotency-Key")


# ---- lists

@case
def lists_filter_and_page():
    key = new_key("lists", "u")
    ids = [create(key, labels={"odd": str(i % 2), "n": "a:%d" % i})["id"]
           for i in range(7)]
    expect(200, call("POST", at(ids[2], "/sleep"), key=key))
    seen, cursor, pages = [], "", 0
    while cursor is not None:
        r = expect(200, call("GET", "/v1/sessions?limit=3" + (
            "&cursor=" + cursor if cursor else ""), key=key)).json
        equal(set(r), {"sessions", "nextCursor"}, "fields")
        true(len(r["sessions"]) <= 3, "a page has at most 3")
        seen += [s["id"] for s in r["sessions"]]
        cursor, pages = r["nextCursor"], pages + 1
    equal((seen, pages), (ids[::-1], 3), "all, newest first, each once")
    expect(200, call("DELETE", at(ids[5]), key=key))

    def ids_of(query):
        return [s["id"] for s in expect(200, call(
            "GET", "/v1/sessions?" + query, key=key)).json["sessions"]]
    equal(ids_of(""), [i for i in ids[::-1] if i != ids[5]],
          "the deleted are left out unless asked for")
    equal(ids_of("state=asleep"), [ids[2]], "by state")
    equal(ids_of("state=deleted"), [ids[5]], "deleted ones")
    equal(ids_of("label=odd:1&state=ready"), [ids[3], ids[1]], "by both")
    equal(ids_of("label=n:a:4"), [ids[4]], "the first colon divides")
    equal(ids_of("label=n%3Aa%3A4"), [ids[4]], "encoded")
    equal(ids_of("label=odd:2"), [], "no such value")
    for field, bad in (("state", "x"), ("limit", "0"), ("limit", "201"),
                       ("limit", "x"), ("label", "x"), ("cursor", "x"),
                       ("cursor", "1.2_short"), ("cursor", "%00")):
        problem(call("GET", "/v1/sessions?%s=%s" % (field, bad), key=key), 400,
                "validation_failed", field)


# ---- changes

@case
def patch_merges_labels_and_sets_times():
    sid = create(labels={"a": "1", "b": "2"})["id"]
    s = expect(200, call("PATCH", at(sid), {
        "labels": {"b": None, "c": "3"}, "sleepAfterSeconds": 4321})).json
    equal(s["labels"], {"a": "1", "c": "3"}, "labels")
    equal(s["sleepAfterSeconds"], 4321, "sleepAfterSeconds")
    left = float(value("SELECT extract(epoch FROM keep_warm_until -"
                       " clock_timestamp()) FROM lease"
                       " WHERE session_id = :'v1'", sid))
    true(4000 < left <= 4321, "it stays awake so long: %f" % left)
    s = expect(200, call("PATCH", at(sid), {"keepAlive": True})).json
    equal((s["keepAlive"], s["alive"]), (True, {"because": ["keep_alive"],
                                                "until": None}), "keepAlive")
    s = expect(200, call("PATCH", at(sid), {"keepAlive": False})).json
    true(s["alive"]["until"] is not None, "an end again")
    expect(200, call("PATCH", at(sid), {}))


@case
def patches_do_not_pile_up_labels():
    sid = create(labels={"a": "1"})["id"]
    many = {"m%d" % i: "x" for i in range(63)}
    expect(200, call("PATCH", at(sid), {"labels": many}))
    problem(call("PATCH", at(sid), {"labels": {"more": "x"}}), 409,
            "too_many_labels")
    s = expect(200, call("PATCH", at(sid), {
        "labels": {"m0": None, "more": "x"}})).json
    equal(len(s["labels"]), 64, "one for another")
    s = expect(200, call("PATCH", at(sid), {"labels": dict.fromkeys(many)}))
    equal(s.json["labels"], {"a": "1", "more": "x"}, "null removes")


@case
def patched_env_is_exported_into_a_living_shell():
    sid = create(env={"A": "1", "B": "2"})["id"]
    execute(sid, "here=kept; cd /tmp")
    expect(200, call("PATCH", at(sid), {"env": {"A": "new $x '\"", "B": None,
                                                "C": "3"}}))
    equal(execute(sid, 'echo "$A|${B-unset}|$C|$here|$PWD"; printenv C'),
          "new $x '\"|unset|3|kept|/tmp\n3\n", "in the same shell")
    equal(execute(sid, 'echo "$A|${B-unset}|$C"', sessionId="another"),
          "new $x '\"|unset|3\n", "in a new shell")
    expect(200, call("POST", at(sid, "/sleep")))
    equal(execute(sid, 'echo "$A|${B-unset}|$C"'), "new $x '\"|unset|3\n",
          "after a resume")


@case
def of_many_who_change_the_env_at_once_nobody_is_lost():
    sid = create()["id"]
    expect(200, call("POST", at(sid, "/sleep")))
    names = ["MANY_%d" % n for n in range(24)]
    replies = []

    def change(some):
        for name in some:
            replies.append(call("PATCH", at(sid), {"env": {name: "1"}}))
    crowd = [threading.Thread(target=change, args=(names[i::4],))
             for i in range(4)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    equal([r.status for r in replies], [200] * len(names), "replies")
    equal(sorted(execute(sid, "env | grep -o '^MANY_[0-9]*'").split()), sorted(names), "what it has")


@case
def extend_moves_the_end():
    sid = create(sleepAfterSeconds=60)["id"]
    s = expect(200, call("POST", at(sid, "/extend"), {"seconds": 5000})).json
    left = float(value("SELECT extract(epoch FROM keep_warm_until -"
                       " clock_timestamp()) FROM lease"
                       " WHERE session_id = :'v1'", sid))
    true(4900 < left <= 5000, "seconds left: %f" % left)
    true(s["alive"]["until"] == s["lease"]["keepWarmUntil"], "alive.until")
    expect(200, call("POST", at(sid, "/extend"), {"seconds": 1}))
    true(get(sid)["alive"]["until"] >= s["alive"]["until"],
         "it never gets shorter")
    expect(200, call("POST", at(sid, "/sleep")))
    problem(call("POST", at(sid, "/extend"), {"seconds": 60}), 409,
            "session_not_ready")


# ---- sleep and resume

@case
def a_session_sleeps_and_resumes_with_its_files():
    for isolation in ("shared", "session"):
        sid = create(isolation=isolation)["id"]
        execute(sid, "echo kept >f; echo kept >~/g; echo gone >/tmp/h")
        service.job(sid, "4242.%d" % os.getpid())
        s = expect(200, call("POST", at(sid, "/sleep"))).json
        equal((s["state"], s["lease"]["state"], s["lease"]["generation"]),
              ("asleep", "none", 1), "asleep")
        equal(s["alive"], {"because": [], "until": None}, "alive")
        true(s["endedAt"], "endedAt")
        equal(service.running("4242.%d" % os.getpid()), [], "the job is gone")
        again = expect(200, call("POST", at(sid, "/sleep"))).json
        equal(again["state"], "asleep", "sleeping twice")
        s = expect(200, call("POST", at(sid, "/resume"))).json
        equal((s["state"], s["lease"]["generation"], s["endedAt"]),
              ("ready", 2, None), "resumed")
        equal(s["sandboxId"], again["sandboxId"], "sandbox")
        equal(execute(sid, "cat f ~/g; ls /tmp"), "kept\nkept\n", "files")
        s = expect(200, call("POST", at(sid, "/resume"))).json
        equal(s["lease"]["generation"], 2, "resuming what is awake")


@case
def a_data_plane_call_resumes_with_its_body_intact():
    sid = create(isolation="session")["id"]
    for generation, size in ((2, 10), (3, 900000), (4, 3000000)):
        expect(200, call("POST", at(sid, "/sleep")))
        content = os.urandom(size // 2).hex()
        body = {"path": "f", "content": content}
        expect(200, call("POST", at(sid, "/api/write"), body))
        equal(get(sid)["lease"]["generation"], generation, "generation")
        r = expect(200, call("POST", at(sid, "/api/read"), {"path": "f"}))
        true(r.json["content"] == content, "%d bytes intact" % size)
    expect(200, call("POST", at(sid, "/sleep")))
    expect(200, call("GET", at(sid, "/api/ping")))
    equal(get(sid)["state"], "ready", "a GET wakes too")


# ---- the end

@case
def delete_answers_200_and_the_same_again():
    for isolation in ("shared", "session"):
        s = create(isolation=isolation, name="to-go",
                   env={"SECRET": SECRET})
        sid = s["id"]
        service.job(sid, "4343.%d" % os.getpid())
        for _ in range(2):
            r = expect(200, call("DELETE", at(sid))).json
            equal((r["id"], r["state"], r["lease"]["state"]),
                  (sid, "deleted", "none"), "deleted")
        equal(service.running("4343.%d" % os.getpid()), [], "nothing runs")
        equal(get(sid)["state"], "deleted", "GET")
        equal(sql("SELECT env_sealed, files_sealed FROM session"
                  " WHERE id = :'v1'", sid), [["", ""]], "secrets are gone")
        for method, path, body in (
                ("PATCH", "", {}), ("POST", "/resume", None),
                ("POST", "/sleep", None), ("POST", "/extend", {}),
                ("POST", "/ports", {"port": 8080})):
            problem(call(method, at(sid, path), body), 410,
                    "session_deleted")
        service.container_error(call("GET", at(sid, "/api/ping")), 410,
                                "SESSION_DELETED")
    fresh = create(name="to-go")
    true(fresh["id"] != sid, "the name is free again")


@case
def a_deleted_session_leaves_no_files():
    s = create(isolation="session")
    storage = os.path.join(setting("STACK_STATE"), "data/storage",
                           s["sandboxId"], s["id"])
    true(os.path.isdir(storage), "storage is there")
    expect(200, call("DELETE", at(s["id"])))
    true(not os.path.exists(storage), "storage is gone")


@case
def an_unknown_session_is_404():
    for sid in ("a" * 20, "short", "A" * 20, "x" * 300, "..", "%00"):
        r = call("GET", at(sid))
        true(r.status in (400, 404), "%s: %r" % (sid, r))
    problem(call("GET", at("a" * 20)), 404, "session_not_found")
    problem(call("DELETE", at("a" * 20)), 404, "session_not_found")


@case
def the_agents_log_can_be_read():
    sid = create(isolation="session")["id"]
    r = expect(200, call("GET", at(sid, "/agent-log")))
    equal(r.header("Content-Type"), "text/plain; charset=utf-8", "type")
    true(b"sandlease-init" in r.body and sid.encode() in r.body, repr(r))
    expect(200, call("POST", at(sid, "/sleep")))
    expect(200, call("GET", at(sid, "/agent-log")))


@case
def a_session_used_after_five_minutes_is_still_ready():
    sid = create()["id"]
    sql("UPDATE lease SET keep_warm_until = keep_warm_until -"
        " interval '5 minutes' WHERE session_id = :'v1'", sid)
    status, _, _ = service.reap()
    equal(status, 0, "exit status of the reaper")
    equal(get(sid)["state"], "ready", "state")


sys.exit(run(lambda: None))
