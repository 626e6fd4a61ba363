#!/usr/bin/python3
"""sandbox_ids.t: tests which sandbox a session lives in, and that it stays
there."""
import hashlib
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (admin, at, call, create, execute, expect, get, new_key,
                     problem, setting, sql, until, value)
from tap import case, equal, run, true

service.begin()


def derived(prefix, text):
    return prefix + "-" + hashlib.sha256(text.encode()).hexdigest()[:48]


def storage(sandbox, *more):
    return os.path.join(setting("STACK_STATE"), "data/storage", sandbox, *more)


def preview_status(s):
    """Returns the status of the session's first preview: 502 with a page when
    nothing listens there, which shows that the way is open."""
    url = expect(200, call("GET", at(s, "/ports"))).json["ports"][0]["url"]
    host = url.split("/")[2]
    return call("GET", "/", key="", headers={"Host": host}).status


@case
def ids_are_derived_from_the_owner():
    bot = new_key("org-id", "user-id", "--bot", "reviewer")
    org = new_key("org-id", "user-id")
    alone = admin("key", "create", "--user", "user-id").strip()
    lone_bot = admin("key", "create", "--user", "user-id", "--bot",
                     "reviewer").strip()
    for key, wanted in (
            # two known test vectors
            (org, "org-aa6ba1f356e062c430f121b97b5fd9cfd64c51487e5f28c5"),
            (bot, "bot-4415e0ae1dcbda7236e3bf04b66f13344682f349eac4500d"),
            (alone, "usr-3c060fe2d53dd0b6e7a7e03084b290b64c8e0f67a8988161"),
            (lone_bot, derived("ubt", "user:user-id__user-id__bot:reviewer"))):
        s = create(key)
        equal((s["sandboxId"], s["class"], s["isolation"]),
              (wanted, "shared", "shared"), "shared")
        s = create(key, isolation="session")
        equal((s["sandboxId"], s["class"], s["isolation"]),
              (derived("ses", s["id"]), "small", "session"), "isolated")


@case
def sessions_of_one_owner_share_a_sandbox_but_not_files():
    a, b = create(), create()
    equal(a["sandboxId"], b["sandboxId"], "sandbox")
    execute(a["id"], "echo mine >f")
    equal(execute(b["id"], "ls -A"), "", "the other's files")
    expect(200, call("DELETE", at(a["id"])))
    equal(execute(b["id"], "echo lives"), "lives\n", "the other lives on")
    other = create(new_key("demo", "another-user"))
    true(other["sandboxId"] != b["sandboxId"], "another user, another sandbox")


@case
def an_org_can_be_set_to_isolation():
    key = new_key("strict", "u")
    equal(create(key)["isolation"], "shared", "before")
    admin("org", "set", "strict", "--isolation", "session")
    s = create(key)
    equal((s["sandboxId"], s["class"]), (derived("ses", s["id"]), "small"),
          "session")
    # a client cannot undo the operator's setting
    equal(create(key, isolation="shared")["isolation"], "session",
          "a request cannot leave it")
    admin("org", "set", "strict", "--isolation", "shared")
    equal(create(key)["isolation"], "shared", "shared")
    equal(get(s["id"], key)["sandboxId"], s["sandboxId"], "the old one stays")


@case
def a_salt_moves_new_sessions_only():
    key = new_key("sick", "u")
    old = create(key)
    true("sick" in admin("org", "set", "sick", "--salt", "v2"), "it says so")
    new = create(key)
    equal((old["sandboxId"], new["sandboxId"]),
          (derived("org", "sick__u"), derived("org", "v2:sick__u")), "ids")
    expect(200, call("POST", at(old["id"], "/sleep"), key=key))
    s = expect(200, call("POST", at(old["id"], "/resume"), key=key)).json
    equal(s["sandboxId"], old["sandboxId"], "the old one stays")
    admin("org", "set", "sick", "--salt", "")
    equal(create(key)["sandboxId"], old["sandboxId"], "and can be gone back to")
    equal(sql("SELECT detail->>'salt' FROM audit WHERE kind = 'org_changed'"
              " AND tenant = 'sick' ORDER BY id"), [["v2"], [""]], "audit")


@case
def the_list_isolates_and_what_is_stored_wins_after_it_was_emptied():
    key, other = new_key("listed", "u"), new_key("not-listed", "u")
    before = create(key)
    service.configure(per_session_orgs="foo, ,listed ,bar")
    service.restart()
    s = create(key)
    equal((s["sandboxId"], s["class"]), (derived("ses", s["id"]), "small"),
          "listed")
    equal(create(other)["isolation"], "shared", "not listed")
    equal(get(before["id"], key)["sandboxId"], before["sandboxId"],
          "what was there stays")
    execute(s["id"], "echo kept >f", key=key)
    expect(201, call("POST", at(s["id"], "/ports"), {"port": 8080}, key))
    expect(200, call("POST", at(s["id"], "/sleep"), key=key))
    service.configure(per_session_orgs="")
    service.restart()
    equal(create(key)["isolation"], "shared", "new ones are shared again")
    r = expect(200, call("POST", at(s["id"], "/resume"), key=key)).json
    equal((r["sandboxId"], r["class"], r["limits"]["memoryMb"]["value"]),
          (s["sandboxId"], "small", 2048), "id and class")
    equal(execute(s["id"], "cat f", key=key), "kept\n", "files")
    expect(200, call("GET", at(s["id"], "/agent-log"), key=key))
    host = r["ports"][0]["url"].split("/")[2]
    equal(call("GET", "/", key="", headers={"Host": host}).status, 502,
          "its preview leads to it, where nothing listens")
    expect(200, call("DELETE", at(s["id"]), key=key))
    true(not os.path.exists(storage(s["sandboxId"])), "its sandbox is gone")


@case
def the_environment_adds_to_the_list():
    key, alone = new_key("by-env", "u"), admin("key", "create", "--user",
                                               "lonely").strip()
    service.configure(per_session_orgs="listed")
    service.restart("'PER_SESSION_SANDBOX_ORG_IDS= by-env , '")
    equal(create(key)["isolation"], "session", "by the environment")
    equal(create(new_key("listed", "u"))["isolation"], "session",
          "by the setting")
    equal(create(alone)["isolation"], "shared", "no org never matches")
    service.configure(per_session_orgs="*")
    service.restart()
    equal(create(alone)["isolation"], "session", "* matches everybody")
    equal(create(key)["isolation"], "session", "* matches orgs")
    service.configure(per_session_orgs="")
    service.restart()


@case
def a_row_without_an_id_is_derived_once_and_persisted():
    for isolation in ("shared", "session"):
        s = create(isolation=isolation)
        execute(s["id"], "echo kept >f")
        expect(200, call("POST", at(s["id"], "/sleep")))
        sql("UPDATE session SET sandbox_id = NULL WHERE id = :'v1'", s["id"])
        expect(200, call("POST", at(s["id"], "/resume")))
        equal(value("SELECT sandbox_id FROM session WHERE id = :'v1'",
                    s["id"]), s["sandboxId"], "persisted")
        equal(execute(s["id"], "cat f"), "kept\n", "files")
    s = create()
    sid = s["id"]
    expect(200, call("POST", at(sid, "/sleep")))
    sql("UPDATE session SET sandbox_id = NULL WHERE id = :'v1'", sid)
    equal(get(sid)["sandboxId"], s["sandboxId"], "a look is enough")
    service.configure(per_session_orgs="demo")
    service.restart()
    expect(200, call("POST", at(sid, "/resume")))
    equal(get(sid)["sandboxId"], s["sandboxId"],
          "the list does not move it afterwards")
    service.configure(per_session_orgs="")
    service.restart()


@case
def a_row_without_an_id_can_be_deleted_and_listed():
    s = create()
    expect(200, call("POST", at(s["id"], "/sleep")))
    sql("UPDATE session SET sandbox_id = NULL WHERE id = :'v1'", s["id"])
    expect(200, call("GET", "/v1/sessions?state=asleep"))
    r = expect(200, call("DELETE", at(s["id"]))).json
    equal(r["state"], "deleted", "state")
    true(not os.path.exists(storage(s["sandboxId"], s["id"])), "files")


@case
def a_legacy_id_is_used_as_it_is():
    legacy = "demo__demo/../x"
    name = derived("leg", legacy)
    s = create()
    execute(s["id"], "echo kept >f")
    expect(200, call("POST", at(s["id"], "/sleep")))
    sql("INSERT INTO sandbox (id, tenant, class) VALUES"
        " (:'v1', 'demo', 'shared')", legacy)
    sql("UPDATE session SET sandbox_id = :'v1' WHERE id = :'v2'", legacy,
        s["id"])
    # moves the files to where an older version would have left them
    os.makedirs(storage(name), mode=0o700)
    owner = os.stat(storage(s["sandboxId"]))
    os.chown(storage(name), owner.st_uid, owner.st_gid)
    shutil.move(storage(s["sandboxId"], s["id"]), storage(name, s["id"]))
    equal(execute(s["id"], "cat f"), "kept\n", "resumed with its files")
    r = get(s["id"])
    equal((r["sandboxId"], r["class"]), (legacy, "shared"), "id")
    expect(200, call("GET", at(s["id"], "/agent-log")))
    expect(201, call("POST", at(s["id"], "/ports"), {"port": 8080}))
    equal(preview_status(s["id"]), 502, "its preview leads to it")
    expect(200, call("DELETE", at(s["id"])))
    equal(service.reap()[0], 0, "the reaper has no trouble with it")


@case
def anything_else_that_is_stored_is_an_error_that_names_it():
    s = create()
    expect(200, call("POST", at(s["id"], "/sleep")))
    sql("INSERT INTO sandbox (id, tenant, class) VALUES"
        " ('org-tooshort', 'demo', 'shared')")
    sql("UPDATE session SET sandbox_id = 'org-tooshort' WHERE id = :'v1'",
        s["id"])
    problem(call("POST", at(s["id"], "/resume")), 500, "internal")
    until("the log names it", lambda: "org-tooshort" in service.log("api"))


@case
def class_is_chosen_only_with_isolation():
    problem(call("POST", "/v1/sessions", {"class": "small"}), 400,
            "validation_failed", "class")
    problem(call("POST", "/v1/sessions",
                 {"class": "small", "isolation": "shared"}), 400,
            "validation_failed", "class")
    sql("INSERT INTO class (name, memory_mb, cpu_millis, disk_mb, pids)"
        " VALUES ('tiny', 64, 500, 100, 32)")
    s = create(isolation="session", **{"class": "tiny"})
    equal((s["class"], s["limits"]["memoryMb"]["value"]), ("tiny", 64), "tiny")
    expect(200, call("POST", at(s["id"], "/sleep")))
    s = expect(200, call("POST", at(s["id"], "/resume"))).json
    equal(s["class"], "tiny", "after a resume")


sys.exit(run(lambda: None))
