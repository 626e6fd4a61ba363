#!/usr/bin/python3
"""profiles.t: tests profiles of agent types, and that sessions are held to them."""
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (admin, at, call, create, execute, expect, get, new_key, problem, sql,
                     until, value)
from tap import case, equal, run, true

service.begin(egress=True)

ADMIN = new_key("demo", "boss", "--scope", "admin")
STRANGER = new_key("elsewhere", "mallory", "--scope", "admin")
SHIPPED = {  # design: memory, CPU time, wall time, network requests, disk
    "ELICITATION": (256, 30, 300, 10, 50),
    "TEST_WRITER": (512, 60, 600, 20, 100),
    "IMPLEMENTATION": (1024, 120, 900, 50, 200),
    "CONTEXT_GATHERING": (256, 30, 300, 30, 50),
    "VALIDATION": (512, 60, 600, 20, 100)}
SMALL = {"limits": {"memoryMb": 96, "pids": 40, "diskMb": 20, "cpuSeconds": 5,
                    "wallSeconds": 6, "networkRequests": 7}}


def profiles(key=None):
    all_of_them = expect(200, call("GET", "/v1/profiles", key=key)).json["profiles"]
    return {p["agentType"]: p for p in all_of_them}


def put(kind, body, key=ADMIN):
    return call("PUT", "/v1/profiles/" + kind, body, key)


def get_profile(kind, key=None):
    return expect(200, call("GET", "/v1/profiles/" + kind, key=key)).json


def said(sid, command):
    """What a command says, whether it succeeds or not."""
    return expect(200, call("POST", at(sid, "/api/execute"), {"command": command})).json


def values(s):
    return {name: limit["value"] for name, limit in s["limits"].items()}


@case
def five_are_shipped():
    found = profiles()
    equal(set(found), set(SHIPPED), "types")
    for kind, (memory, cpu, wall, requests, disk) in SHIPPED.items():
        p = found[kind]
        equal(p["limits"], {"memoryMb": memory, "cpuSeconds": cpu, "wallSeconds": wall,
                            "networkRequests": requests, "pids": 128, "diskMb": disk}, kind)
        equal((p["network"]["mode"], p["own"]), ("allow", False), kind)
        true("@anthropic" in p["network"]["allow"], kind + " may call a model")
        equal(expect(200, call("GET", "/v1/profiles/" + kind)).json, p, "one of them")
    problem(call("GET", "/v1/profiles/NOBODY"), 404, "profile_not_found")


@case
def an_org_has_its_own():
    made = expect(201, put("linter", SMALL)).json
    equal((made["agentType"], made["own"], made["limits"], made["network"]),
          ("linter", True, SMALL["limits"], None), "a new type")
    equal(expect(200, put("linter", dict(SMALL, network={"allow": ["@npm"]}))).json["network"],
          {"mode": "allow", "allow": ["@npm"]}, "replaced")
    mine = expect(201, put("VALIDATION", {"limits": {"memoryMb": 128}})).json
    equal((mine["own"], mine["limits"]), (True, {"memoryMb": 128}), "instead of the service's")
    equal(profiles()["VALIDATION"], mine, "is what counts")
    others = profiles(STRANGER)
    equal((others["VALIDATION"]["own"], others["VALIDATION"]["limits"]["memoryMb"]),
          (False, 512), "another org has the service's")
    true("linter" not in others, "and not the new one")
    problem(call("GET", "/v1/profiles/linter", key=STRANGER), 404, "profile_not_found")
    problem(call("DELETE", "/v1/profiles/linter", key=STRANGER), 404, "profile_not_found")
    expect(204, call("DELETE", "/v1/profiles/VALIDATION", key=ADMIN))
    equal(profiles()["VALIDATION"]["limits"]["memoryMb"], 512, "the service's counts again")
    problem(call("DELETE", "/v1/profiles/VALIDATION", key=ADMIN), 404, "profile_not_found")
    audit = expect(200, call("GET", "/v1/audit?kind=profile_deleted", key=ADMIN)).json["audit"]
    equal([a["subject"] for a in audit], ["VALIDATION"], "a deletion is in the audit log")
    true(audit[0]["detail"]["by"].startswith("key:"), "with who it was")


@case
def only_an_admin_changes_them():
    for key in (None, new_key("demo", "reader", "--scope", "read")):
        problem(put("mine", SMALL, key), 403, "forbidden")
        problem(call("DELETE", "/v1/profiles/linter", key=key), 403, "forbidden")
    true("mine" not in profiles(), "nothing is made")


@case
def a_bad_profile_is_refused_by_name():
    for body, field in (
            ({}, "limits"),
            ({"limits": []}, "limits"),
            ({"limits": {"memoryMb": 63}}, "limits.memoryMb"),
            ({"limits": {"memoryMb": "512"}}, "limits.memoryMb"),
            ({"limits": {"pids": 0}}, "limits.pids"),
            ({"limits": {"cpuSeconds": 0}}, "limits.cpuSeconds"),
            ({"limits": {"wallSeconds": 1e99}}, "limits.wallSeconds"),
            ({"limits": {"networkRequests": -1}}, "limits.networkRequests"),
            ({"limits": {"diskMb": None}}, "limits.diskMb"),
            ({"limits": {"memory": 512}}, "limits.memory"),
            ({"limits": {}, "network": {"allow": ["http://x"]}}, "network.allow[0]"),
            ({"limits": {}, "network": {"allow": ["@nothing"]}}, "network.allow"),
            ({"limits": {}, "more": 1}, "more")):
        problem(put("bad", body), 400, "validation_failed", field)
    for kind in ("a%20b", "x" * 65, "a%2Fb", "%C3%A4"):
        true(put(kind, SMALL).status in (400, 404), kind)
    true(set(profiles()) <= set(SHIPPED) | {"linter"}, "nothing is made")


@case
def a_session_is_held_to_its_profile():
    s = create(agentType="linter", isolation="session")
    equal(values(s), {"memoryMb": 96, "pids": 40, "diskMb": 20, "cpuMillis": 1000,
                      "networkRequests": 7}, "limits")
    equal((s["network"]["mode"], s["network"]["allow"], s["network"]["maxRequests"]),
          ("allow", ["@npm"], 7), "network")
    sid = s["id"]
    shown = execute(sid, "awk '/MemTotal/ { print $2 }' /proc/meminfo")
    equal(int(shown), 96 * 1024, "programs see that memory")
    hog = said(sid, "python3 -c 'x = b\"x\" * (200 << 20); print(len(x))'")
    true(hog["exitCode"] != 0 and "209715200" not in hog["stdout"], "more is not to be had")
    bomb = said(sid, "python3 -c 'import threading, time\nfor i in range(100):"
                " threading.Thread(target=time.sleep, args=(1,)).start()'")
    true("start new thread" in bomb["stderr"], "nor more threads: %r" % bomb["stderr"][-200:])
    equal(said(sid, "dd if=/dev/zero of=big bs=1M count=30 2>&1")["exitCode"] == 0, False,
          "nor a larger file")


@case
def own_limits_replace_the_profiles():
    s = create(agentType="linter", isolation="session",
               limits={"memoryMb": 200, "networkRequests": 3})
    equal(values(s), {"memoryMb": 200, "pids": 40, "diskMb": 20, "cpuMillis": 1000,
                      "networkRequests": 3}, "limits")
    equal(s["network"]["maxRequests"], 3, "requests")
    s = create(isolation="session", limits={"memoryMb": 200}, network={"mode": "none"})
    equal((s["limits"]["memoryMb"]["value"], s["limits"]["pids"]["value"]),
          (200, int(value("SELECT pids FROM class WHERE name = 'small'"))), "without a profile")
    s = create(agentType="linter", network={"allow": ["example.com"]})
    equal((s["network"]["allow"], s["network"]["maxRequests"]), (["example.com"], 7),
          "its own network, with the profile's number of requests")
    s = create(agentType="unknown", isolation="session")
    equal((s["agentType"], s["network"]["mode"], s["limits"]["memoryMb"]["value"]),
          ("unknown", "none", 2048), "a type without a profile is only a word")


@case
def no_more_than_the_class_has():
    for name, column in (("memoryMb", "memory_mb"), ("pids", "pids"), ("diskMb", "disk_mb"),
                         ("cpuSeconds", "cpu_seconds"), ("wallSeconds", "wall_seconds")):
        most = int(value("SELECT %s FROM class WHERE name = 'small'" % column))
        r = problem(call("POST", "/v1/sessions", {
            "isolation": "session", "limits": {name: most + 1}}), 400, "validation_failed",
                    "limits." + name)
        true(str(most) in r["errors"][0]["message"], "and what there is")
        equal(expect(201, call("POST", "/v1/sessions", {
            "isolation": "session", "start": False, "limits": {name: most}})).status, 201, name)
    sql("UPDATE class SET network_max = '{\"mode\": \"open\", \"maxRequests\": 5}'"
        " WHERE name = 'small'")
    problem(call("POST", "/v1/sessions", {
        "isolation": "session", "limits": {"networkRequests": 6}}), 400, "validation_failed",
            "limits.networkRequests")
    admin("profile", "set", "HUGE", "--memory-mb", "999999", "--network", "@npm",
          "--network-requests", "100")
    s = create(agentType="HUGE", isolation="session")
    equal((values(s)["memoryMb"], values(s)["networkRequests"], s["network"]["maxRequests"]),
          (2048, 5, 5), "a profile is cut to the class's")
    sql("UPDATE class SET network_max = '{\"mode\": \"open\"}' WHERE name = 'small'")


@case
def the_smaller_number_of_requests_counts():
    expect(200, put("linter", {"limits": {"networkRequests": 7}, "network": {
        "allow": ["@npm"], "maxRequests": 4}}))
    equal(create(agentType="linter", start=False)["network"]["maxRequests"], 4, "of the profile's")
    expect(200, put("linter", {"limits": {"networkRequests": 7}}))
    admin("org", "set", "demo", "--network", "@npm")
    sql("UPDATE org SET network = network || '{\"maxRequests\": 3}' WHERE id = 'demo'")
    equal(create(agentType="linter", start=False)["network"]["maxRequests"], 3, "or the org's")
    equal(create(agentType="linter", start=False, limits={"networkRequests": 9})["network"][
        "maxRequests"], 9, "but the session's own replaces them")
    admin("org", "set", "demo", "--network", "none")


@case
def an_org_has_a_hundred_at_most():
    key = new_key("many", "boss", "--scope", "admin")
    sql("INSERT INTO profile (tenant, agent_type, limits) SELECT 'many', 'p' || n, '{}'"
        " FROM generate_series(1, 99) n")
    expect(201, put("last", SMALL, key))
    equal(problem(put("more", SMALL, key), 429, "quota_exceeded")["quota"]["name"], "profiles",
          "one more")
    expect(200, put("last", SMALL, key))


@case
def an_org_changes_them_sixty_times_at_once():
    key = new_key("restless", "boss", "--scope", "admin")
    expect(201, put("x", SMALL, key))
    for _ in range(29):
        expect(204, call("DELETE", "/v1/profiles/x", key=key))
        expect(201, put("x", SMALL, key))
    sql("UPDATE org SET profile_turn = profile_turn + interval '5 s' WHERE id = 'restless'")
    for reply in (put("x", SMALL, key), call("DELETE", "/v1/profiles/x", key=key)):
        equal(problem(reply, 429, "quota_exceeded")["quota"]["name"], "profileChanges",
              "one more")
        true(1 <= int(reply.headers["Retry-After"]) <= 6, reply.headers["Retry-After"])
    equal(get_profile("x", key)["limits"], SMALL["limits"], "is as it was")
    expect(201, put("x", SMALL, STRANGER))
    admin("profile", "set", "x", "--org", "restless", "--pids", "64")
    sql("UPDATE org SET profile_turn = profile_turn - interval '6 s' WHERE id = 'restless'")
    expect(200, put("x", SMALL, key))


@case
def two_at_once_are_not_both_the_hundredth():
    key = new_key("pair", "boss", "--scope", "admin")
    sql("INSERT INTO profile (tenant, agent_type, limits) SELECT 'pair', 'p' || n, '{}'"
        " FROM generate_series(1, 99) n")
    with ThreadPoolExecutor(8) as pool:
        got = [r.status for r in pool.map(lambda n: put("q%d" % n, SMALL, key), range(8))]
    equal(sorted(got), [201] + 7 * [429], "one of eight")


@case
def a_name_with_other_limits_is_a_conflict():
    create(name="kept", limits={"memoryMb": 100}, start=False)
    r = problem(call("POST", "/v1/sessions", {
        "name": "kept", "limits": {"memoryMb": 101}}), 409, "session_differs")
    equal(r["fields"], ["limits"], "which says why")
    equal(expect(200, call("POST", "/v1/sessions", {
        "name": "kept", "limits": {"memoryMb": 100}})).json["name"], "kept", "the same finds it")


@case
def a_change_counts_for_sessions_that_are_there():
    expect(201, put("moving", {"limits": {"memoryMb": 128}, "network": {"allow": ["@npm"]}}))
    sid = create(agentType="moving")["id"]
    expect(200, put("moving", {"limits": {"memoryMb": 160}, "network": {"allow": ["@pypi"]}}))
    equal(get(sid)["network"]["allow"], ["@pypi"], "network")
    expect(200, call("POST", at(sid, "/sleep")))
    until("it sleeps", lambda: get(sid)["state"] == "asleep")
    expect(200, call("POST", at(sid, "/resume?wait=60")))
    shown = execute(sid, "awk '/MemTotal/ { print $2 }' /proc/meminfo")
    equal(int(shown), 160 * 1024, "limits, when it is started next")


@case
def what_is_shown_can_be_given_back():
    expect(201, put("round", {"limits": {"memoryMb": 128}}))
    shown = profiles()["round"]
    expect(200, put("round", {name: shown[name] for name in ("limits", "network", "command")}))
    after = profiles()["round"]
    equal({**after, "changedAt": shown["changedAt"]}, shown, "and changes nothing")


@case
def an_operator_changes_those_of_the_service():
    text = admin("profile", "list")
    for kind in SHIPPED:
        true(kind in text, kind)
    admin("profile", "set", "ELICITATION", "--memory-mb", "300")
    p = profiles()["ELICITATION"]
    equal((p["limits"]["memoryMb"], p["limits"]["cpuSeconds"], p["network"]["mode"]),
          (300, 30, "allow"), "what is not named stays")
    admin("profile", "set", "ELICITATION", "--org", "elsewhere", "--pids", "64")
    p = profiles(STRANGER)["ELICITATION"]
    equal((p["own"], p["limits"]["pids"], p["limits"]["memoryMb"]), (True, 64, 300),
          "an org's begins as the service's")
    admin("profile", "set", "ELICITATION", "--network", "default")
    equal(profiles()["ELICITATION"]["network"], None, "a network can be taken away")
    equal(profiles(STRANGER)["ELICITATION"]["network"]["mode"], "allow", "not the org's own")
    admin("profile", "delete", "ELICITATION", "--org", "elsewhere")
    equal(profiles(STRANGER)["ELICITATION"]["own"], False, "deleted")
    long = "make check && " * 4 + "true"
    admin("profile", "set", "ELICITATION", "--command", long)
    p = profiles()["ELICITATION"]
    equal((p["command"], p["limits"]["memoryMb"]), (long, 300), "a command")
    line, = [s for s in admin("profile", "list").splitlines() if s.startswith("ELICITATION")]
    true(line.endswith(" " + long[:40] + "..."), "its beginning: %r" % line)
    equal([json.loads(s)["command"] for s in admin("profile", "list", "--json").splitlines()
           if "ELICITATION" in s], [long], "all of it")
    admin("profile", "set", "ELICITATION", "--memory-mb", "301")
    equal(profiles()["ELICITATION"]["command"], long, "stays if it is not named")
    admin("profile", "set", "ELICITATION", "--command", "")
    equal(profiles()["ELICITATION"]["command"], None, "and can be taken away")
    for words, text in (
            (("set", "X", "--command", "x" * 65537), "must be a text of up to 65536 bytes"),
            (("set", "X", "--command", b"\xff"), "must be a text of up to 65536 bytes"),
            (("set", "X", "--org", "nobody", "--pids", "64"), "there is no such org"),
            (("set", "X", "--pids", "1"), "must be a number from 32"),
            (("set", "X", "--network", "@nothing"), "--network: there is no preset @nothing"),
            (("set", "X"), "usage"),
            (("set", "a b", "--pids", "64"), "an agent type has"),
            (("delete", "X"), "there is no such profile")):
        r = service.run("sandlease-admin", "profile", *words)
        true(r.returncode != 0 and text in r.stderr.decode(), "%r: %r" % (words, r.stderr))


sys.exit(run(lambda: None))
