#!/usr/bin/python3
"""warm.t: tests the warm pool: a create takes a sandbox that runs already, and gets one
like any other; members that do not fit or live any more cost no client an error."""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from pool import MEMBERS, OWN, claimed, counts, full, members, new, steps
import service
from service import (admin, at, call, configure, container_error, create, execute, expect,
                     get, new_key, problem, reap, restart, sql, until, value)
from tap import case, equal, run, true

service.begin()
KEYS = iter(new_key("org-%d" % i, "u") for i in range(20))


def init_of_member(sid):
    sandbox = value("SELECT sandbox_id FROM warm WHERE session_id = :'v1'", sid)
    return next(pid for pid in service.sandbox_pids()
                if service.command_line(pid)[1:2] == [b"init"]
                and sandbox.encode() in service.command_line(pid))


@case
def a_create_takes_a_member():
    s = claimed()
    equal(s["state"], "ready")
    equal(s["lease"]["generation"], 1)
    equal(steps(s["id"]), {"workspace": "warm", "sandbox": "warm", "admission": "admitted",
                           "wrapper": "adopted", "ready": "proved"})
    equal(execute(s["id"], "echo $SANDLEASE_SESSION_ID; pwd"), "%s\n/workspace\n" % s["id"])
    full()  # another one takes its place


@case
def members_are_nobodys():
    full()
    key = next(KEYS)
    for sid in members():
        for k in (key, None):
            problem(call("GET", at(sid), key=k), 404, "session_not_found")
            problem(call("DELETE", at(sid), key=k), 404, "session_not_found")
            container_error(call("POST", at(sid, "/api/execute"), {"command": "id"}, key=k),
                            404, "SESSION_NOT_FOUND")
    equal(expect(200, call("GET", "/v1/sessions", key=key)).json["sessions"], [])
    quotas = expect(200, call("GET", "/v1/usage", key=key)).json["quotas"]
    equal([quotas[q]["used"] for q in ("sessions", "active", "diskMb")], [0, 0, 0])


@case
def an_operator_sees_them():
    full()
    hits, misses = counts()
    key = new_key("ops", "boss", "--scope", "admin")
    want = {"hits": hits, "misses": misses, "members": [
        {"host": value("SELECT DISTINCT host FROM warm"), "class": "small", "ready": MEMBERS,
         "preparing": 0, "retiring": 0}]}
    equal(expect(200, call("GET", "/v1/health", key=key)).json["warm"], want, "health")
    equal(json.loads(admin("warm", "show", "--json")), want, "sandlease-admin")
    for k in (next(KEYS), ""):
        true("warm" not in expect(200, call("GET", "/v1/health", key=k)).json, "no other does")
    new()
    shown = json.loads(admin("warm", "show", "--json"))
    equal((shown["hits"], shown["misses"]), (hits + 1, misses), "a hit")
    sql("UPDATE warm SET state = 'preparing', deadline = clock_timestamp() + interval '1 h'")
    new()
    shown = json.loads(admin("warm", "show", "--json"))
    equal((shown["hits"], shown["misses"]), (hits + 1, misses + 1), "a miss")
    true(shown["members"][0]["preparing"] >= MEMBERS - 1, shown)
    sql("UPDATE warm SET deadline = clock_timestamp()")
    reap()


@case
def a_pass_leaves_members_alone():
    full()
    before = members()
    for _ in range(2):
        told = reap()[2]
        equal([told[n] for n in ("leaked", "orphans", "retired", "failures")], [0] * 4, "a pass")
    equal(members(), before)


@case
def the_session_is_like_any_other():
    files = [{"path": "a/b", "content": "text"}]
    s = claimed(name="warm one", env={"A": "1 2", "BASH_ENV": "/workspace/rc"},
                files=files + [{"path": "rc", "content": "SEEN=yes\n"}])
    equal(execute(s["id"], 'echo "$A|$SEEN|$SANDLEASE_SESSION_NAME|$PIP_RETRIES"; cat a/b'),
          "1 2|yes|warm one|1\ntext")
    equal(execute(s["id"], "git config user.name; git config user.email").splitlines(),
          execute(create(isolation="shared")["id"],
                  "git config user.name; git config user.email").splitlines())
    named_only = claimed(name="warm two")
    equal(execute(named_only["id"], "echo $SANDLEASE_SESSION_NAME; env | grep -c SANDLEASE_"),
          "warm two\n2\n")


@case
def a_setup_runs_in_it():
    s = claimed(setup="echo made >made")
    equal(s["setup"]["state"], "done")
    equal(execute(s["id"], "cat made"), "made\n")


@case
def it_sleeps_and_comes_back():
    s = claimed(env={"A": "1"})
    execute(s["id"], "echo kept >kept")
    expect(200, call("POST", at(s["id"], "/sleep"), {}))
    until("it sleeps", lambda: get(s["id"])["state"] == "asleep")
    equal(execute(s["id"], "cat kept; echo $A"), "kept\n1\n")
    equal(get(s["id"])["lease"]["generation"], 2)
    true(call("DELETE", at(s["id"])).status in (200, 202), "it is deleted")


@case
def the_same_key_finds_it_again():
    full()
    headers = {"Idempotency-Key": "warm-1"}
    first = expect(201, call("POST", "/v1/sessions", OWN, headers=headers))
    again = call("POST", "/v1/sessions", OWN, headers=headers)
    equal(again.json["id"], first.json["id"])
    equal(again.headers["Idempotency-Replayed"], "true")


@case
def others_do_not_take_one():
    full()
    hits = counts()[0]
    for more in ({"isolation": "shared"},
                 dict(OWN, start=False)):
        expect(201, call("POST", "/v1/sessions", more))
    equal(counts()[0], hits, "hits")


@case
def a_refused_create_gives_it_back():
    key = next(KEYS)
    org = expect(200, call("GET", "/v1/me", key=key)).json["org"]
    sql("SELECT quota_set(:'v1', ARRAY[NULL, '1', NULL, NULL, NULL, NULL, NULL])", org)
    full()
    before = members()
    first = new(key=key)
    replies = [call("POST", "/v1/sessions", dict(OWN, env={"A": "1"}), key=key)
               for _ in range(3)]
    for r in replies:
        problem(r, 429, "quota_exceeded")
    true(set(before) - {first["id"]} <= set(members()), "the others are still members")
    expect(200, call("DELETE", at(first["id"]), key=key))


@case
def a_dead_member_costs_a_generation():
    full()
    for sid in members():  # whichever is taken
        service.end_sandbox(init_of_member(sid))
    for more in ({}, {"env": {"A": "1"}}):
        s = new(**more)
        equal(s["state"], "ready")
        equal(execute(s["id"], "echo $A; echo works"), "%s\nworks\n" % more.get("env", {}).get("A", ""))
        true(s["lease"]["generation"] > 1, "it has its second wrapper")
    reap()
    full()
    equal(new()["lease"]["generation"], 1)


@case
def a_dead_wrapper_costs_a_generation():
    full()
    inits = [init_of_member(sid) for sid in members()]
    for pid in service.wrappers():
        if service.init_of(pid) in inits:
            os.kill(pid, signal.SIGKILL)
            until("it is dead", lambda p=pid: not service.alive(p))
    s = new()
    equal(execute(s["id"], "echo works"), "works\n")
    equal(s["lease"]["generation"], 2)


@case
def a_changed_class_retires_its_members():
    full()
    before = set(members())
    misses = counts()[1]
    admin("class", "set", "small", "--pids", "200")
    try:
        s = new()
        true(s["id"] not in before, "a member with other limits is not taken")
        equal(counts()[1], misses + 1, "misses")
        reap()
        until("they are replaced", lambda: not before & set(members("true"))
              and len(members()) == MEMBERS)
        equal(new()["limits"]["pids"]["value"], 200)
    finally:
        admin("class", "set", "small", "--pids", "256")
        reap()


@case
def another_launcher_retires_them():
    full()
    before = set(members())
    configure(launcher="bwrap")
    try:
        restart()
        s = new()
        true(s["id"] not in before, "one that another program has started is not taken")
        reap()
        until("they are replaced", lambda: not before & set(members("true"))
              and len(members()) == MEMBERS)
    finally:
        configure(launcher="auto")
        restart()
        reap()


@case
def one_that_is_not_ready_in_time_is_ended():
    full()
    sid = members()[0]
    sql("UPDATE warm SET state = 'preparing', deadline = clock_timestamp() - interval '1 s'"
        " WHERE session_id = :'v1'", sid)
    pid = init_of_member(sid)
    reap()
    true(not service.alive(pid), "its sandbox is gone")
    equal(members("session_id = '%s'" % sid), [])
    full()


def forget_a_claim(key):
    """A session of the key's tenant, with a file; then the database has forgotten that it
    claimed a member, which is the only one that can be claimed now."""
    full()
    columns = "session_id, sandbox_id, incarnation, instance, host, boot_id, class, shape, state"
    rows = {row[0]: row for row in sql("SELECT %s FROM warm" % columns)}
    s = new(key=key)
    execute(s["id"], "echo secret >/workspace/file", key=key)
    sql("UPDATE warm SET state = 'preparing', deadline = 'infinity'")  # no other is claimed
    for table, column in ("port", "session_id"), ("lease", "session_id"), ("session", "id"):
        sql("DELETE FROM %s WHERE %s = :'v1'" % (table, column), s["id"])
    sql("DELETE FROM sandbox WHERE id = :'v1'", s["sandboxId"])
    sql("INSERT INTO warm (%s) VALUES (:'v1', :'v2', :'v3', :'v4', :'v5', :'v6', :'v7', :'v8', :'v9')"
        % columns, *rows[s["id"]])
    return s


def remember():
    sql("UPDATE warm SET deadline = clock_timestamp()")
    reap()


@case
def a_claim_that_is_forgotten_gives_no_other_tenant_the_sandbox():
    first, second = next(KEYS), next(KEYS)
    s = forget_a_claim(first)
    problem(call("POST", "/v1/sessions", OWN, key=second), 503, "already_adopted")
    reply = call("POST", at(s["id"], "/api/execute"), {"command": "cat /workspace/file"},
                 key=second)
    true(reply.status >= 400 and b"secret" not in reply.body, repr(reply))
    remember()


@case
def nor_the_files_if_it_died():
    first, second = next(KEYS), next(KEYS)
    s = forget_a_claim(first)
    service.end_sandbox(init_of_member(s["id"]))
    again = new(key=second)
    equal((again["id"], again["lease"]["generation"]), (s["id"], 2), "the same member")
    equal(execute(s["id"], "ls -A /workspace", key=second), "", "files")
    remember()


@case
def a_drain_ends_them():
    until("there is one", lambda: members("true"))
    admin("drain", "--timeout", "60")
    equal(members("true"), [])
    admin("undrain")
    until("the pool is filled again", lambda: members())


sys.exit(run(lambda: None))
