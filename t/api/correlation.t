#!/usr/bin/python3
"""correlation.t: tests that any of its correlation keys finds a session, and that many
clients at once find the same one."""
import concurrent.futures
import os
import random
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, create, execute, expect, get, new_key,
                     problem, sql, until, value)
from tap import Skip, case, equal, run, true

# enough workers: a slow start of many must not hold half of them (org_share.h)
service.begin("api_workers = 32")

OTHER = new_key("rivals", "eve")


def ask(*keys, key=None, headers=None, **body):
    """Creates or finds a session with these keys."""
    return call("POST", "/v1/sessions?wait=60",
                dict(body, correlationKeys=list(keys)), key, headers)


def keys_of(sid):
    return get(sid)["correlationKeys"]


def many(calls):
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        return [f.result() for f in [pool.submit(c) for c in calls]]


@case
def any_key_finds_and_all_of_them_name_it():
    first = expect(201, ask("slack:thread:C1/17", "git:branch:repo:main")).json
    equal(first["correlationKeys"],
          ["git:branch:repo:main", "slack:thread:C1/17"], "keys")
    found = expect(200, ask("git:branch:repo:main", "issue:9")).json
    equal((found["id"], found["lease"]["generation"]), (first["id"], 1),
          "the same session, as it runs")
    equal(expect(200, ask("issue:9")).json["id"], first["id"],
          "what came with it names it, too")
    equal(len(keys_of(first["id"])), 3, "keys")
    true(expect(201, ask("issue:10")).json["id"] != first["id"],
         "another key makes another session")


@case
def a_key_wakes_what_sleeps():
    s = expect(201, ask("wake:1", isolation="session")).json
    execute(s["id"], "echo kept > /workspace/f")
    expect(200, call("POST", at(s["id"], "/sleep")))
    found = expect(200, ask("wake:1")).json
    equal((found["id"], found["state"], found["lease"]["generation"]),
          (s["id"], "ready", 2), "it was resumed")
    equal(execute(s["id"], "cat /workspace/f"), "kept\n", "its files")


@case
def keys_of_two_sessions_are_a_conflict_that_names_them():
    a = expect(201, ask("two:a")).json["id"]
    b = expect(201, ask("two:b")).json["id"]
    before = value("SELECT count(*) FROM session")
    doc = problem(ask("two:new", "two:a", "two:b"), 409,
                  "correlation_conflict")
    equal(doc["sessions"], sorted([a, b]), "both are named")
    true(a in doc["detail"] and b in doc["detail"], doc["detail"])
    equal(value("SELECT count(*) FROM session"), before, "nothing was made")
    expect(201, ask("two:new"))
    r = ask("two:a", "two:b", headers={"Idempotency-Key": "conflict"})
    problem(r, 409, "correlation_conflict")
    expect(200, ask("two:a", headers={"Idempotency-Key": "conflict"}))


@case
def a_key_of_another_org_is_another_key():
    mine = expect(201, ask("both:1")).json["id"]
    theirs = expect(201, ask("both:1", key=OTHER)).json["id"]
    true(mine != theirs, "two sessions")
    problem(call("PUT", at(mine, "/aliases"), {"keys": ["x"]}, OTHER), 404,
            "session_not_found")
    problem(call("DELETE", at(mine, "/aliases"), key=OTHER), 404,
            "session_not_found")
    equal(keys_of(mine), ["both:1"], "nothing changed")


@case
def names_come_first_and_must_agree():
    s = expect(201, ask("named:1", name="named")).json["id"]
    equal(expect(200, ask("named:2", name="named")).json["id"], s, "by name")
    equal(keys_of(s), ["named:1", "named:2"], "the key was added")
    other = expect(201, ask("named:3")).json["id"]
    doc = problem(ask("named:3", name="named"), 409, "correlation_conflict")
    equal(doc["sessions"], sorted([s, other]), "both")
    found = expect(200, ask("named:3", name="free")).json
    equal((found["id"], found["name"]), (other, None),
          "what a key finds keeps its name")
    r = ask("named:1", "named:3", name="named",
            headers={"Idempotency-Key": "n"})
    problem(r, 409, "correlation_conflict")
    r = expect(200, ask("named:1", headers={"Idempotency-Key": "m"}))
    again = expect(200, ask("named:1", headers={"Idempotency-Key": "m"}))
    equal((again.json["id"], again.header("Idempotency-Replayed")),
          (r.json["id"], "true"), "an idempotency key comes before all")


@case
def aliases_are_set_freed_and_found():
    s = expect(201, ask("set:1", "set:2")).json["id"]
    other = expect(201, ask("set:9")).json["id"]
    path = at(s, "/aliases")
    r = expect(200, call("PUT", path, {"keys": ["set:2", "set:3", "set:3"]}))
    equal((r.json["id"], r.json["correlationKeys"]),
          (s, ["set:2", "set:3"]), "the whole set")
    doc = problem(call("PUT", path, {"keys": ["set:2", "set:9"]}), 409,
                  "correlation_conflict")
    equal(doc["sessions"], sorted([s, other]), "whose it is")
    equal((keys_of(s), keys_of(other)), (["set:2", "set:3"], ["set:9"]),
          "nothing changed")
    true(expect(201, ask("set:1")).json["id"] != s, "what was dropped is free")
    r = expect(200, call("DELETE", path + "?key=set%3A2"))
    equal(r.json["correlationKeys"], ["set:3"], "one is freed")
    problem(call("DELETE", path + "?key=set%3A2"), 404, "key_not_found")
    problem(call("DELETE", path + "?key=set%3A9"), 404, "key_not_found")
    for slip, named in (("?key", "key"), ("?keys=set%3A3", "keys"), ("?Key=set%3A3", "Key")):
        problem(call("DELETE", path + slip), 400, "validation_failed", named)
    equal(keys_of(s), ["set:3"], "a slip frees none")
    equal(expect(200, call("DELETE", path)).json["correlationKeys"], [], "all")
    expect(200, call("DELETE", path))
    equal(expect(200, call("PUT", path, {"keys": []})).json[
        "correlationKeys"], [], "none")
    odd = "a b/%?&=\u00e4\U0001f600"
    expect(200, call("PUT", path, {"keys": [odd]}))
    quoted = urllib.parse.quote(odd, safe="")
    found = expect(200, call("GET", "/v1/sessions?correlationKey=" + quoted))
    equal([x["id"] for x in found.json["sessions"]], [s], "the list finds it")
    equal(expect(200, call("GET", "/v1/sessions?correlationKey=nobody")).json[
        "sessions"], [], "and nothing else")
    equal(expect(200, ask(odd)).json["id"], s, "so does a create")
    read = new_key("demo", "reader", "--scope", "read")
    problem(call("PUT", path, {"keys": []}, read), 403, "forbidden")
    problem(call("DELETE", path, key=read), 403, "forbidden")


@case
def deleting_frees_the_keys():
    s = expect(201, ask("del:1", "del:2", isolation="session")).json["id"]
    gone = call("DELETE", at(s))
    true(gone.status in (200, 202), gone)
    equal(gone.json["correlationKeys"], [], "none left")
    for method, body in (("PUT", {"keys": ["del:3"]}), ("DELETE", None)):
        problem(call(method, at(s, "/aliases"), body),
                *((410, "session_deleted") if gone.status == 200 else
                  (409, "session_deleting")))
    fresh = expect(201, ask("del:2")).json["id"]
    true(fresh != s, "the key makes another session")
    equal(value("SELECT count(*) FROM alias WHERE session_id = :'v1'", s),
          "0", "rows")


@case
def a_session_has_a_bounded_number_of_keys():
    s = create()["id"]
    keys = ["b:%d" % i for i in range(64)]
    expect(200, call("PUT", at(s, "/aliases"), {"keys": keys}))
    problem(ask("b:0", "b:64"), 409, "too_many_keys")
    equal(len(keys_of(s)), 64, "keys")


@case
def many_creates_of_one_anchor_make_one_session():
    # each client sends the anchor's key and its own one, in any order
    for burst in range(3):
        anchor = "race:%d" % burst
        before = int(value("SELECT count(*) FROM session"))
        calls = []
        for i in range(12):
            keys = [anchor, "%s:%d" % (anchor, i)]
            random.shuffle(keys)
            calls.append(lambda k=tuple(keys): ask(*k))
        replies = many(calls)
        equal(sorted(r.status for r in replies), [200] * 11 + [201], "one "
              "makes it, the others wait for it and find it")
        ids = {r.json["id"] for r in replies}
        equal(len(ids), 1, "ids")
        equal({r.json["lease"]["generation"] for r in replies}, {1},
              "it was started once")
        equal(int(value("SELECT count(*) FROM session")), before + 1,
              "sessions")
        equal(len(keys_of(ids.pop())), 13, "all keys are its own")


@case
def different_keys_of_one_anchor_lead_to_it_all_at_once():
    keys = ["anchor:%d" % i for i in range(6)]
    s = expect(201, ask(*keys, isolation="session")).json["id"]
    expect(200, call("POST", at(s, "/sleep")))
    before = value("SELECT count(*) FROM session")
    replies = many([lambda k=k: ask(k) for k in keys] +
                   [lambda k=k: ask(k, "new:" + k) for k in keys])
    equal([(r.status, r.json["id"]) for r in replies], [(200, s)] * 12,
          "each finds it")
    equal(get(s)["lease"]["generation"], 2, "it was resumed once")
    equal(value("SELECT count(*) FROM session"), before, "and none was made")
    equal(len(keys_of(s)), 12, "what came along names it, too")


@case
def so_do_many_creates_of_one_name():
    for isolation in ("shared", "session"):
        replies = many([lambda: call("POST", "/v1/sessions?wait=60", {
            "name": "race " + isolation, "isolation": isolation})] * 12)
        equal(sorted(r.status for r in replies), [200] * 11 + [201],
              isolation)
        equal({r.json["lease"]["generation"] for r in replies}, {1},
              "it was started once")


@case
def and_with_one_idempotency_key():
    for isolation in ("shared", "session"):
        replies = many([lambda: call(
            "POST", "/v1/sessions?wait=60", {"isolation": isolation},
            headers={"Idempotency-Key": "race " + isolation})] * 12)
        true(all(r.status in (201, 202) for r in replies), replies)
        equal(sum(r.header("Idempotency-Replayed") is None
                  for r in replies), 1, "one makes it")
        sid, = {r.json["id"] for r in replies}
        s = get(sid)
        equal((s["state"], s["lease"]["generation"]), ("ready", 1),
              "it was started once")


@case
def who_looks_at_a_start_does_not_disturb_it():
    # GET continues a start only when no worker is busy with it
    def make():
        return call("POST", "/v1/sessions?wait=60", {"isolation": "session"})

    def poll():
        seen = []
        for _ in range(30):
            for s in expect(200, call("GET", "/v1/sessions?limit=5")).json[
                    "sessions"]:
                seen.append(call("GET", at(s["id"])))
        return seen

    replies = many([make] * 6 + [poll] * 3)
    for r in replies[:6]:
        equal((expect(201, r).json["state"], r.json["lease"]["generation"]),
              ("ready", 1), "started once")
    for seen in replies[6:]:
        true(all(r.status == 200 for r in seen), "every GET is answered")


@case
def many_who_wake_one_session_start_it_once():
    s = expect(201, ask("wake:many", isolation="session")).json["id"]
    expect(200, call("POST", at(s, "/sleep")))
    replies = many([lambda: ask("wake:many")] * 4 +
                   [lambda: call("POST", at(s, "/resume?wait=60"))] * 4 +
                   [lambda: call("POST", at(s, "/api/execute"),
                                 {"command": "echo hi"})] * 4)
    equal([r.status for r in replies], [200] * 12, "all are served")
    equal(get(s)["lease"]["generation"], 2, "by one start")


@case
def many_who_wake_a_frozen_one_find_it_as_it_was():
    s = expect(201, ask("thaw:many", isolation="session", suspend=True)).json[
        "id"]
    execute(s, "FROZEN=yes")
    if not expect(200, call("POST", at(s, "/sleep"))).json["suspended"]:
        raise Skip("nothing can be frozen here")
    replies = many([lambda: ask("thaw:many")] * 6 +
                   [lambda: call("POST", at(s, "/api/execute"),
                                 {"command": "echo $FROZEN"})] * 6)
    equal([r.status for r in replies], [200] * 12, "all are served")
    equal({r.json["stdout"] for r in replies[6:]}, {"yes\n"}, "its memory")
    equal(get(s)["lease"]["generation"], 1, "the same life")


@case
def a_start_whose_worker_died_is_taken_over_at_once():
    # the lock of a worker ends with its connection
    s = expect(201, ask("lost:1", isolation="session")).json["id"]
    expect(200, call("POST", at(s, "/sleep")))
    sql("UPDATE session SET state = 'initializing' WHERE id = :'v1'", s)
    sql("SELECT lease_apply(:'v1', 'allocate', '{\"instance\": \"gone\","
        " \"seconds\": 600}')", s)
    found = expect(200, ask("lost:1")).json
    equal((found["state"], found["lease"]["generation"]), ("ready", 3),
          "the next life")


@case
def a_chain_of_keys_ends_in_one_session():
    # neighbours share a key; a client whose keys name two sessions gets an error
    calls = [lambda i=i: ask("chain:%d" % i, "chain:%d" % (i + 1))
             for i in range(8)]
    replies = many(calls)
    for r in replies:
        if r.status not in (200, 201, 202):
            problem(r, 409, "correlation_conflict")
    rows = sql("SELECT key, count(DISTINCT session_id) FROM alias"
               " WHERE key LIKE 'chain:%' GROUP BY key")
    true(rows and all(n == "1" for _, n in rows), "each key names one: %r" %
         rows)


@case
def keys_move_while_everybody_asks():
    # PUT, DELETE and creates at the same time: no 5xx, and no key with two sessions
    sids = [create(name="move:%d" % i)["id"] for i in range(3)]

    def storm(seed):
        dice = random.Random(seed)
        seen = []
        for _ in range(12):
            keys = dice.sample(["m:%d" % i for i in range(4)], 2)
            sid = dice.choice(sids)
            what = dice.randrange(3)
            if what == 0:
                r = call("PUT", at(sid, "/aliases"), {"keys": keys})
            elif what == 1:
                r = call("DELETE", at(sid, "/aliases?key=" + keys[0]))
            else:
                r = ask(*keys)
            seen.append(r)
        return seen

    for replies in many([lambda n=n: storm(n) for n in range(6)]):
        for r in replies:
            true(r.status in (200, 201, 202, 404, 409), r)
    true("deadlock detected" not in service.log("postgres"),
         "nobody stood in each other's way")
    true(sql("SELECT 1 FROM alias a JOIN session s ON s.id = a.session_id"
             " WHERE s.state IN ('deleting', 'deleted')") == [],
         "no key names what is deleted")


sys.exit(run(lambda: None))
