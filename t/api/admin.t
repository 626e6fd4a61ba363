#!/usr/bin/python3
"""admin.t: the operator's tool."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (admin, at, call, container_error, create, execute,
                     expect, get, new_key, problem, setting, until, value)
from tap import case, equal, run, true

service.begin()


def fails(*words):
    """It must say no in one line; the line."""
    done = service.run("sandlease-admin", *words)
    equal((done.returncode, done.stdout), (1, b""), " ".join(words))
    return done.stderr.decode()


def listed():
    lines = admin("key", "list").splitlines()
    equal(lines[0].split(), ["ID", "ORG", "USER", "BOT", "SCOPE", "CREATED",
                             "ENDS"], "head")
    return lines[1:]


@case
def a_key_is_shown_once_and_kept_as_a_hash():
    done = service.run("sandlease-admin", "key", "create", "--org", "o",
                       "--user", "u", "--bot", "b", "--scope", "read",
                       "--expires", "2999-12-31")
    equal(done.returncode, 0, "status")
    key = done.stdout.decode()
    true(re.fullmatch(r"sl_[a-z2-7]{52}\n", key), "only the key: %r" % key)
    me = expect(200, call("GET", "/v1/me", key=key.strip())).json
    equal((me["org"], me["user"], me["bot"], me["scope"]),
          ("o", "u", "b", "read"), "me")
    line, = [l for l in listed() if l.startswith(me["keyId"])]
    for word in ("o", "u", "b", "read"):
        true(word in line.split(), line)
    true("2999" in line, line)
    dump = "".join("".join(row) for row in service.sql(
        "SELECT k::text FROM api_key k"))
    true(key.strip() not in dump and key.strip() not in admin("key", "list"),
         "the key itself is nowhere")


@case
def keys_are_revoked_once_and_stay_listed():
    key = new_key("o", "gone")
    key_id = call("GET", "/v1/me", key=key).json["keyId"]
    true(key_id in admin("key", "revoke", key_id), "it says which")
    problem(call("GET", "/v1/me", key=key), 401, "unauthorized")
    line, = [l for l in listed() if l.startswith(key_id)]
    true("revoked" in line, line)
    true("no-such-id" in fails("key", "revoke", "no-such-id"), "it says so")


@case
def bad_usage_is_refused_with_words():
    for words, says in (
            ((), "usage"), (("fly",), "usage"), (("key",), "usage"),
            (("key", "create"), "--user"),
            (("key", "create", "--user"), "--user"),
            (("key", "create", "--user", "a b"), "--user"),
            (("key", "create", "--user", "a__b"), "--user"),
            (("key", "create", "--user", ""), "--user"),
            (("key", "create", "--user", "u", "--org", "a/b"), "--org"),
            (("key", "create", "--user", "u", "--org", "x" * 200), "--org"),
            (("key", "create", "--user", "u", "--scope", "root"), "--scope"),
            (("key", "create", "--user", "u", "--expires", "soon"),
             "--expires"),
            (("key", "create", "--user", "u", "more"), "more"),
            (("key", "list", "more"), "more"), (("key", "revoke"), "id"),
            (("org", "set"), "org set"), (("org", "set", "o"), "--isolation"),
            (("org", "set", "o", "--isolation", "some"), "--isolation"),
            (("drain", "--timeout", "x"), "--timeout"),
            (("undrain", "now"), "now"),
            (("migrate", "--sql", "/nonexistent"), "/nonexistent")):
        true(says in fails(*words), "%s: %s" % (words, fails(*words)))
    done = service.run("sandlease-admin", "--config", "/nonexistent", "drain")
    true(done.returncode == 1, "two --config")


@case
def migrate_again_does_nothing():
    out = admin("migrate", "--sql", os.path.join(service.TOP, "sql"))
    true(out.startswith("0 migrations applied"), out)


@case
def org_set_changes_new_sessions():
    key = new_key("changing", "u")
    for isolation in ("session", "shared", "inherit"):
        true("changing" in admin("org", "set", "changing", "--isolation",
                                 isolation), "it says so")
        equal(value("SELECT isolation FROM org WHERE id = 'changing'"),
              isolation, "row")
        equal(create(key)["isolation"],
              "session" if isolation == "session" else "shared", isolation)


@case
def a_drain_puts_everything_to_sleep_and_admits_nothing():
    mark = "6161.%d" % os.getpid()
    ids = [create(isolation=i)["id"] for i in ("shared", "session", "shared")]
    for count, sid in enumerate(ids, 1):
        service.job(sid, mark, before="echo kept >f; ", count=count)
    asleep = create(name="early-sleeper")["id"]
    expect(200, call("POST", at(asleep, "/sleep")))
    equal(len(service.running(mark)), 3, "jobs")
    true("drained" in admin("drain"), "it says so")
    equal(service.running(mark), [], "no job runs")
    equal(service.sandbox_pids(), [], "no sandbox runs")
    for sid in ids:
        s = get(sid)
        equal((s["state"], s["lease"]["state"]), ("asleep", "none"), "state")
    equal(call("GET", "/v1/health").json["status"], "draining", "health")
    for method, path, body in (
            ("POST", "/v1/sessions", {}),
            ("POST", "/v1/sessions", {"name": "early-sleeper"}),
            ("POST", at(asleep, "/resume"), None)):
        r = call(method, path, body)
        true(problem(r, 503, "draining")["retryable"], "retryable")
        true(r.header("Retry-After"), "Retry-After")
    r = call("GET", at(asleep, "/api/ping"))
    doc = container_error(r, 503, "CONTAINER_UNAVAILABLE")
    true(doc["context"]["retryable"] and r.header("Retry-After"), repr(r))
    true("drained" in admin("drain"), "draining twice is harmless")
    expect(200, call("DELETE", at(ids[2])))
    equal(service.reap()[0], 0, "a pass while draining")
    admin("undrain")
    equal(call("GET", "/v1/health").json["status"], "ok", "health")
    equal(execute(ids[0], "cat f"), "kept\n", "shared, with its files")
    equal(execute(ids[1], "cat f"), "kept\n", "isolated, with its files")
    expect(201, call("POST", "/v1/sessions", {}))


@case
def a_process_that_ignores_sigterm_does_not_stop_a_drain():
    sid = create()["id"]
    mark = "6262.%d" % os.getpid()
    execute(sid, "(trap '' TERM; setsid sh -c \"trap '' TERM; while :; do"
                 " sleep %s; done\" >/dev/null 2>&1 &)" % mark)
    until("it runs", lambda: service.running(mark))
    admin("drain", "--timeout", "60")
    equal(service.running(mark), [], "it is gone")
    equal(get(sid)["state"], "asleep", "state")
    admin("undrain")


@case
def the_tool_works_while_the_service_is_down():
    service.stack("api_stop")
    key = new_key("demo", "offline")
    service.stack("api_start")
    expect(200, call("GET", "/v1/me", key=key))


@case
def without_a_database_it_says_so():
    service.stack("pg_stop")
    said = fails("key", "list")
    service.stack("pg_start")
    true("sandlease-admin: " in said and said.count("\n") <= 3, said)
    until("the service is back",
          lambda: call("GET", "/v1/health").status == 200)


sys.exit(run(lambda: None))
