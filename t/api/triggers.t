#!/usr/bin/python3
"""triggers.t: tests triggers through nginx: what they show, that each due time has one
execution, and that a command inside gives its session a correlation key."""
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from executions import ended, how, logs, result
from service import (admin, at, call, create, execute, expect, get, new_key, problem, reap, sql,
                     until, value)
from tap import case, equal, run, true

service.begin()

STRANGER = new_key("elsewhere", "mallory")
READER = new_key("demo", "reader", "--scope", "read")
ADMIN = new_key("demo", "boss", "--scope", "admin")
RUN = {"agentType": "VALIDATION", "command": "echo done", "network": {"mode": "none"}}
YEARLY = "0 0 1 1 *"  # not due while the test runs, unless it is made so


def trigger(key=None, **body):
    """A trigger that is due only when due() says so."""
    made = {"name": "t%d" % trigger.count, "schedule": YEARLY, "run": RUN}
    trigger.count += 1
    return expect(201, call("POST", "/v1/triggers", dict(made, **body), key)).json


trigger.count = 0


def look(t, key=None):
    return expect(200, call("GET", "/v1/triggers/" + t["id"], key=key)).json


def due(t, ago="1 second"):
    """Has the trigger be due; the time."""
    return value("UPDATE org_trigger SET next_at = clock_timestamp() - :'v2'::interval"
                 " WHERE id = :'v1' RETURNING iso(next_at)", t["id"], ago)


def executions(t):
    return [row[0] for row in sql("SELECT id FROM execution WHERE task_id LIKE"
                                  " 'trigger:' || :'v1' || ':%' ORDER BY created_at", t["id"])]


def fires(t):
    """A pass, and the execution that it has recorded."""
    due(t)
    equal(reap()[0], 0, "the pass")
    return ended({"id": look(t)["lastExecutionId"]})


@case
def a_trigger_is_shown_without_its_secrets():
    t = trigger(name="nightly", schedule="30 3 * * 1-5", timeZone="Europe/Berlin",
                run=dict(RUN, env={"TOKEN": "hidden-1"}, correlationKeys=["nightly"],
                         files=[{"path": "f", "content": "hidden-2", "secret": True}]))
    equal((t["name"], t["schedule"], t["timeZone"], t["enabled"], t["missed"]),
          ("nightly", "30 3 * * 1-5", "Europe/Berlin", True, 0), "as asked")
    equal(t["run"], {"agentType": "VALIDATION", "command": "echo done",
                     "correlationKeys": ["nightly"]}, "of the run")
    equal((t["lastAt"], t["lastExecutionId"], t["lastError"]), (None, None, None), "not yet")
    true(t["nextAt"][11:16] in ("01:30", "02:30"), t["nextAt"])
    equal(look(t), t, "one of them")
    true(t in expect(200, call("GET", "/v1/triggers", key=READER)).json["triggers"], "in the list")
    true("hidden" not in value("SELECT string_agg(t::text, '') FROM org_trigger t"), "sealed")
    changed = expect(200, call("PATCH", "/v1/triggers/" + t["id"], {
        "name": "early", "schedule": "@daily", "timeZone": "UTC", "enabled": False})).json
    equal((changed["name"], changed["schedule"], changed["enabled"], changed["nextAt"]),
          ("early", "@daily", False, None), "changed")
    equal(changed["run"], t["run"], "the run stays")
    changed = expect(200, call("PATCH", "/v1/triggers/" + t["id"], {
        "enabled": True, "run": {
            "agentType": "VALIDATION", "argv": ["echo", "a b"]}})).json
    equal((changed["run"]["command"], changed["run"]["correlationKeys"]), ("echo 'a b'", []),
          "another run")
    true(changed["nextAt"].endswith("T00:00:00.000Z"), changed["nextAt"])
    expect(204, call("DELETE", "/v1/triggers/" + t["id"]))
    problem(call("GET", "/v1/triggers/" + t["id"]), 404, "trigger_not_found")


@case
def bad_input_names_its_field():
    good = {"name": "bad", "schedule": YEARLY, "run": RUN}
    for change, field in (
            ({"name": ""}, "name"), ({"name": "a\nb"}, "name"), ({"name": "x" * 129}, "name"),
            ({"schedule": "* * * *"}, "schedule"), ({"schedule": "60 * * * *"}, "schedule"),
            ({"schedule": "0 0 30 2 *"}, "schedule"), ({"schedule": "x" * 300}, "schedule"),
            ({"timeZone": "CET"}, "timeZone"), ({"timeZone": "Mars/Olympus"}, "timeZone"),
            ({"timeZone": "Foo/Bar+5"}, "timeZone"), ({"timeZone": "'; --/x"}, "timeZone"),
            ({"enabled": "yes"}, "enabled"), ({"nope": 1}, "nope"), ({"run": []}, "run"),
            ({"run": {}}, "run.agentType"), ({"run": {"agentType": "NOBODY", "command": "x"}},
                                             "run.agentType"),
            ({"run": {"agentType": "VALIDATION"}}, "run.command"),
            ({"run": dict(RUN, taskId="t")}, "run.taskId"),
            ({"run": dict(RUN, nope=1)}, "run.nope"),
            ({"run": dict(RUN, env={"A=B": "x"})}, "run.env"),
            ({"run": dict(RUN, limits={"pids": 1})}, "run.limits.pids"),
            ({"run": dict(RUN, correlationKeys=["a\x01"])}, "run.correlationKeys"),
            ({"run": dict(RUN, network={"mode": "allow", "allow": ["@nope"]})},
             "run.network.allow"),
            ({"run": dict(RUN, files=[{"path": ""}])}, "run.files[0].path")):
        problem(call("POST", "/v1/triggers", dict(good, **change)), 400, None, field)
    for missing in good:
        problem(call("POST", "/v1/triggers", {k: v for k, v in good.items() if k != missing}),
                400, None, missing)
    t = trigger(name="taken")
    problem(call("POST", "/v1/triggers", dict(good, name="taken")), 409, "name_taken")
    problem(call("PATCH", "/v1/triggers/" + t["id"], {"schedule": "0 0 31 2 *"}), 400, None,
            "schedule")
    problem(call("PATCH", "/v1/triggers/" + t["id"], {"run": dict(RUN, taskId="x")}), 400, None,
            "run.taskId")
    for path in t["id"][:-1], "0" * 20, "a.b":
        problem(call("GET", "/v1/triggers/" + path), 404, "trigger_not_found")
        problem(call("PATCH", "/v1/triggers/" + path, {}), 404, "trigger_not_found")
        problem(call("DELETE", "/v1/triggers/" + path), 404, "trigger_not_found")


@case
def other_orgs_have_triggers_of_their_own():
    t = trigger(name="mine")
    theirs = trigger(STRANGER, name="mine")
    for method, body in (("GET", None), ("PATCH", {"enabled": False}), ("DELETE", None)):
        problem(call(method, "/v1/triggers/" + t["id"], body, STRANGER), 404, "trigger_not_found")
    equal([x["id"] for x in expect(200, call("GET", "/v1/triggers", key=STRANGER)).json["triggers"]],
          [theirs["id"]], "their list")
    problem(call("POST", "/v1/triggers", {}, READER), 403, "forbidden")
    problem(call("PATCH", "/v1/triggers/" + t["id"], {}, READER), 403, "forbidden")
    problem(call("DELETE", "/v1/triggers/" + t["id"], key=READER), 403, "forbidden")
    equal(look(t)["enabled"], True, "as it was")


@case
def one_that_is_due_runs_once():
    t = trigger(run=dict(RUN, command="echo $SANDLEASE_TASK_ID $A", env={"A": "b"}))
    was = due(t)
    equal(reap()[0], 0, "the pass")
    now = look(t)
    equal((now["lastAt"], now["lastError"], now["missed"]), (was, None, 0), "told")
    true(now["nextAt"] == t["nextAt"], now)
    x = ended({"id": now["lastExecutionId"]})
    equal((how(x), logs(x)), (("succeeded", 0, None), "trigger:%s:%s b\n" % (t["id"], was)),
          "it has run, with no client")
    equal((x["taskId"], x["cleanup"]), ("trigger:%s:%s" % (t["id"], was), "on_completion"), "one task")
    true(x["createdBy"].startswith("trigger:%s/" % t["id"]), x["createdBy"])
    until("its session goes", lambda: get(x["sessionId"])["state"] in ("deleting", "deleted"))
    reap()
    equal(executions(t), [x["id"]], "and is not due any more")


@case
def the_next_time_finds_the_session_by_its_key():
    t = trigger(run=dict(RUN, command="echo x >>seen; wc -l <seen", correlationKeys=["pr-7"],
                         cleanup="keep"))
    first = fires(t)
    equal(logs(first), "1\n", "a new session")
    expect(200, call("POST", at(first["sessionId"], "/sleep"), {}))
    second = fires(t)
    equal((logs(second), second["sessionId"]), ("2\n", first["sessionId"]), "the same, woken")
    expect(200, call("DELETE", at(first["sessionId"])))


@case
def two_reapers_at_once_fire_once():
    some = [trigger() for _ in range(5)]
    for t in some:
        due(t)
    passes = [threading.Thread(target=reap) for _ in range(3)]
    for p in passes:
        p.start()
    for p in passes:
        p.join()
    for t in some:
        equal(len(executions(t)), 1, "executions of " + t["id"])
        equal(look(t)["lastExecutionId"], executions(t)[0], "and it is told")


@case
def missed_times_are_told_and_run_once():
    t = trigger(schedule="* * * * *")
    value("UPDATE org_trigger SET next_at = date_trunc('minute', clock_timestamp())"
          " - interval '5 minutes' WHERE id = :'v1' RETURNING id", t["id"])
    equal(reap()[0], 0, "the pass")
    now = look(t)
    true(now["missed"] in (5, 6), now)  # a minute may have begun
    true(now["nextAt"] > now["lastAt"], now)
    first = executions(t)
    equal(len(first), 1, "one execution for all of them")
    told = [row for row in expect(200, call("GET", "/v1/audit?kind=trigger_missed", key=ADMIN)).json["audit"]
            if row["subject"] == t["id"]]
    equal([(row["severity"], row["detail"]["missed"], row["detail"]["name"]) for row in told],
          [("warning", now["missed"], t["name"])], "in the audit log")
    expect(204, call("DELETE", "/v1/triggers/" + t["id"]))


@case
def what_cannot_run_says_why():
    expect(201, call("PUT", "/v1/profiles/SHORT", {"limits": {}}, ADMIN))
    t = trigger(run={"agentType": "SHORT", "command": "true"})
    expect(204, call("DELETE", "/v1/profiles/SHORT", key=ADMIN))
    due(t)
    equal(reap()[0], 0, "a refusal is no failure of the pass")
    now = look(t)
    true("profile" in now["lastError"], now)
    equal((now["missed"], now["nextAt"], executions(t)), (1, t["nextAt"], []), "on to the next time")
    high = trigger(run=dict(RUN, limits={"memoryMb": 1 << 20}))
    due(high)
    reap()
    true("at most" in look(high)["lastError"], look(high))
    off = trigger(enabled=False)
    equal(off["nextAt"], None, "disabled")


@case
def what_may_pass_is_tried_again():
    key = new_key("full", "someone")
    create(key)
    admin("org", "set", "full", "--max-active", "1")
    t = trigger(key)
    due(t)
    equal(reap()[0], 0, "the pass")
    now = look(t, key)
    true("quota" in now["lastError"] and now["nextAt"] < t["nextAt"], now)
    equal((now["missed"], executions(t)), (0, []), "nothing is recorded")
    admin("org", "set", "full", "--max-active", "2")
    equal(reap()[0], 0, "the next pass")
    now = look(t, key)
    equal((now["lastError"], now["nextAt"]), (None, t["nextAt"]), "and then it is")
    equal(ended({"id": now["lastExecutionId"]}, key)["state"], "succeeded", "run")


@case
def a_trigger_outlives_its_key():
    key = new_key("demo", "leaver")
    t = trigger(key)
    admin("key", "revoke", value("SELECT id FROM api_key WHERE user_id = 'leaver'"))
    equal(fires(t)["state"], "succeeded", "it runs")
    equal(value("SELECT user_id FROM execution WHERE id = :'v1'", executions(t)[0]), "leaver",
          "as the user who made it")


@case
def an_org_has_a_hundred_at_most():
    key = new_key("many", "someone")
    t = trigger(key, name="first")
    sql("INSERT INTO org_trigger SELECT (jsonb_populate_record(t, jsonb_build_object("
        "'id', lpad(i::text, 20, 'z'), 'name', i::text))).*"
        " FROM org_trigger t, generate_series(2, 100) i WHERE t.id = :'v1'", t["id"])
    problem(call("POST", "/v1/triggers", {"name": "x", "schedule": YEARLY, "run": RUN}, key),
            429, "quota_exceeded")


# ---- keys that commands inside ask for

def keys(sid, key=None):
    return sorted(get(sid, key)["correlationKeys"])


def key_events(sid):
    return [(e["what"], e["detail"]["key"]) for e in expect(
        200, call("GET", at(sid, "/events?limit=1000"))).json["events"] if e["kind"] == "key"]


@case
def a_command_gives_its_session_a_key():
    theirs = create(STRANGER, correlationKeys=["issue:9"])["id"]
    first = ended(expect(202, call("POST", "/v1/executions", dict(
        RUN, cleanup="keep", command="echo mine >seen; /sandlease-agent key issue:9"))).json)
    equal(how(first), ("succeeded", 0, None), logs(first))
    sid = first["sessionId"]
    equal((keys(sid), key_events(sid)), (["issue:9"], [("given", "issue:9")]), "with its end")
    t = trigger(run=dict(RUN, command="cat seen", correlationKeys=["issue:9"]))
    x = fires(t)
    equal((x["sessionId"], logs(x)), (sid, "mine\n"), "the next trigger finds it")
    equal(keys(theirs, STRANGER), ["issue:9"], "another org's session keeps its own")
    expect(200, call("DELETE", at(sid, "/aliases")))
    equal((result(sid, command="true")["state"], keys(sid)), ("succeeded", []),
          "a key that was freed stays free")
    expect(200, call("DELETE", at(sid)))


@case
def a_key_of_another_session_is_refused_and_told():
    owner = create(correlationKeys=["taken"])["id"]
    sid = create()["id"]
    x = result(sid, command="/sandlease-agent key free && /sandlease-agent key taken &&"
               " /sandlease-agent key free")
    equal(how(x), ("succeeded", 0, None), logs(x))
    equal((keys(sid), keys(owner)), (["free"], ["taken"]), "only what was free")
    equal(key_events(sid), [("given", "free"), ("refused", "taken")], "told once")
    result(sid, command="true")
    equal(len(key_events(sid)), 2, "and not again")


@case
def an_option_is_no_key():
    sid = create()["id"]
    for words in "--help", "-k", "--", "-k x":
        x = result(sid, command="/sandlease-agent key " + words)
        equal((how(x), "usage:" in x["stderrTail"]), (("failed", 2, None), True), words)
    equal(keys(sid), [], "none was asked for")
    x = result(sid, command="/sandlease-agent key -- --help")
    equal((how(x), keys(sid)), (("succeeded", 0, None), ["--help"]), "one that follows --")


@case
def a_key_that_cannot_be_one_is_refused_inside():
    sid = create()["id"]
    for bad in "", "x" * 256, "$'a\\nb'", "$'\\xff'":
        x = result(sid, command="/sandlease-agent key " + (bad or "''"))
        equal(how(x), ("failed", 1, None), "%r %r" % (bad, x))
        true("printable" in x["stderrTail"], x["stderrTail"])
    equal(how(result(sid, command="env -i /sandlease-agent key x")), ("failed", 1, None),
          "without its session")
    x = result(sid, command="for i in $(seq 20); do /sandlease-agent key k$i || exit 9; done")
    equal((how(x), "16" in x["stderrTail"]), (("failed", 9, None), True), "the 17th")
    equal(len(keys(sid)), 16, "the others are given")
    # a file that the tenant forges: the host takes what can be a key, and 16 of them
    x = result(sid, command="cd ~/.local/state/sandlease; f=keys-$SANDLEASE_SESSION_ID.json;"
               " printf '{\"keys\": [1, \"a\\\\u0000b\", \"%s\"]}' forged >$f")
    equal((how(x), "forged" in keys(sid), len(keys(sid))), (("succeeded", 0, None), True, 17),
          "what is left of it")
    x = result(sid, command="cd ~/.local/state/sandlease; rm keys-*; mkfifo"
               " keys-$SANDLEASE_SESSION_ID.json")
    equal(how(x), ("succeeded", 0, None), "a file that is none")


@case
def the_reaper_takes_keys_of_other_commands():
    sid = create()["id"]
    execute(sid, "/sandlease-agent key chat:1")
    equal(keys(sid), [], "nobody has asked yet")
    until("the first call is recorded", lambda: sql(
        "SELECT 1 FROM lease WHERE session_id = :'v1' AND accepted_generation = generation", sid))
    sql("UPDATE lease SET keep_warm_until = clock_timestamp() - interval '1 hour'"
        " WHERE session_id = :'v1'", sid)
    equal(reap()[0], 0, "the pass")
    equal(keys(sid), ["chat:1"], "when it asks")


@case
def a_copy_asks_for_nothing():
    sid = create()["id"]
    result(sid, command="/sandlease-agent key original")
    snapshot = expect(201, call("POST", at(sid, "/snapshots"), {})).json["id"]
    copy = create(snapshot=snapshot)["id"]
    result(copy, command="ls ~/.local/state/sandlease")
    equal((keys(copy), key_events(copy)), ([], []), "of a snapshot")


sys.exit(run(lambda: None))
