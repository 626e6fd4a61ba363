#!/usr/bin/python3
"""admin.t: tests the lists of sandlease-admin over all orgs: sessions, leases, orgs,
classes, snapshots, hosts, the audit log, the reaper's passes."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (admin, at, call, create, execute, expect, new_key, problem,
                     reap, setting, sql, value)
from tap import case, equal, run, true

service.begin()

ALICE = new_key("acme", "alice", "--bot", "helper")
BOB = new_key("other", "bob")
HOST = os.uname().nodename


def lines(*words):
    """Returns the rows of a list with --json: one object a line."""
    return [json.loads(line) for line in admin(*words, "--json").splitlines()]


def table(*words):
    """Returns (titles, rows as dictionaries) of the same list as a table for people."""
    text = admin(*words).splitlines()
    titles = text[0].split()
    starts = [text[0].index(t) for t in titles] + [None]
    return titles, [dict((t, row[starts[i]:starts[i + 1]].strip())
                         for i, t in enumerate(titles)) for row in text[1:]]


def refused(*words, status=2):
    done = service.run("sandlease-admin", *words)
    equal((done.returncode, done.stdout), (status, b""), " ".join(words))
    return done.stderr.decode()


@case
def every_command_tells_of_itself_without_a_service():
    tool = service.program("sandlease-admin")
    every = [l[2:22].split() for l in subprocess.run(
        [tool, "--config", "/nonexistent", "--help"], capture_output=True, text=True, check=True)
        .stdout.splitlines() if l.startswith("  ") and l[2] != " "]
    true(len(every) > 20, "commands: %r" % every)
    for words in every:
        said = subprocess.run([tool, *words, "--help", "--config", "/nonexistent"],
                              capture_output=True, text=True, check=False)
        equal((said.returncode, said.stderr), (0, ""), " ".join(words))
        true(said.stdout.startswith("usage: sandlease-admin " + " ".join(words)), said.stdout)
    groups = {words[0] for words in every if len(words) == 2}
    for group in groups:
        of_group = [words for words in every if words[0] == group]
        said = subprocess.run([tool, "--config", "/nonexistent", group, "--help"],
                              capture_output=True, text=True, check=False)
        equal((said.returncode, said.stderr), (0, ""), group + " --help")
        equal([l.split()[:2] for l in said.stdout.splitlines()], of_group, group + " --help")
        again = subprocess.run([tool, "--config", "/nonexistent", group],
                               capture_output=True, text=True, check=False)
        equal((again.returncode, again.stdout, again.stderr), (2, "", said.stdout), group)


# ---- sessions and leases

ONE = create(ALICE, name="one", isolation="session", labels={"a": "b"})["id"]
TWO = create(BOB)["id"]


@case
def sessions_of_all_orgs_are_listed_with_their_owner():
    titles, rows = table("session", "list")
    equal(titles, ["SESSION", "ORG", "USER", "NAME", "STATE", "LEASE", "CLASS", "HOST",
                   "AGE", "REASON"], "titles")
    one, = [r for r in rows if r["SESSION"] == ONE]
    equal((one["ORG"], one["USER"], one["NAME"], one["STATE"], one["LEASE"], one["HOST"],
           one["CLASS"]), ("acme", "alice", "one", "ready", "owns_wrapper", HOST, "small"),
          "a row")
    equal([r["SESSION"] for r in rows], [TWO, ONE], "newest first")
    both = lines("session", "list")
    equal([(s["id"], s["org"], s["bot"]) for s in both],
          [(TWO, "other", ""), (ONE, "acme", "helper")], "as JSON")


@case
def filters_choose_among_them():
    for words, found in ((("--org", "acme"), [ONE]), (("--user", "bob"), [TWO]),
                         (("--state", "ready"), [TWO, ONE]), (("--state", "asleep"), []),
                         (("--host", HOST), [TWO, ONE]), (("--host", "elsewhere"), []),
                         (("--name", "one"), [ONE]), (("--org=acme", "--user=bob"), [])):
        equal([s["id"] for s in lines("session", "list", *words)], found, " ".join(words))
    true("initializing, ready" in refused("session", "list", "--state", "awake"), "which")


@case
def deleted_ones_are_shown_when_asked_for():
    gone = create(BOB)["id"]
    expect(200, call("DELETE", at(gone), key=BOB))
    true(gone not in admin("session", "list"), "not by default")
    true(gone in admin("session", "list", "--all"), "--all")
    equal([s["id"] for s in lines("session", "list", "--state", "deleted")], [gone], "--state")


@case
def one_session_is_shown_whole():
    expect(201, call("POST", at(ONE, "/ports"), {"port": 8000}, ALICE))
    doc = json.loads(admin("session", "show", ONE, "--json"))
    equal((doc["owner"]["org"], doc["owner"]["user"], doc["host"], doc["session"]["id"],
           doc["session"]["lease"]["state"], doc["session"]["labels"]),
          ("acme", "alice", HOST, ONE, "owns_wrapper", {"a": "b"}), "what it is")
    equal([(p["port"], "token" in p) for p in doc["session"]["ports"]], [(8000, False)],
          "ports, and no token")
    equal({"busy", "alive"} & set(doc["session"]), set(), "what only its wrapper knows")
    text = admin("session", "show", ONE)
    true("\nsession.lease.state" in text and "owner.user" in text, text)
    true("nosuch" in refused("session", "show", "nosuch", status=1), "it says which")
    true("SESSION" in refused("session", "show"), "usage")


@case
def what_a_tenant_named_cannot_command_the_terminal():
    sql("UPDATE session SET name = E'\\x1b[2Jcleared\\u009b31m' WHERE id = :'v1'", TWO)
    text = admin("session", "list")
    true("?[2Jcleared??31m" in text and "\x1b" not in text and "\x9b" not in text, repr(text))
    sql("UPDATE session SET name = NULL WHERE id = :'v1'", TWO)


@case
def leases_are_listed_with_org_and_owner():
    titles, rows = table("lease", "list")
    equal(titles[:6], ["SESSION", "STATE", "GENERATION", "SESSION-ROW", "ORG", "USER"], "titles")
    equal({(r["SESSION"], r["STATE"], r["ORG"], r["USER"], r["SESSION-ROW"]) for r in rows},
          {(ONE, "owns_wrapper", "acme", "alice", "yes"),
           (TWO, "owns_wrapper", "other", "bob", "yes")}, "rows")


# ---- orgs

@case
def orgs_are_listed_and_shown():
    admin("org", "set", "acme", "--max-active", "7", "--max-snapshot-mb", "9")
    rows = {o["org"]: o for o in lines("org", "list")}
    true({"acme", "other", "demo"} <= set(rows), "all of them")
    equal((rows["acme"]["sessions"], rows["acme"]["active"], rows["acme"]["keys"]),
          (1, 1, 1), "what it has")
    titles, _ = table("org", "list")
    equal(titles[0], "ORG", "titles")
    doc = json.loads(admin("org", "show", "acme", "--json"))
    equal((doc["quotas"]["active"], doc["quotas"]["snapshotMb"]["limit"],
           doc["quotas"]["sessions"]["limit"], doc["states"], doc["keys"]["living"]),
          ({"limit": 7, "own": True, "used": 1}, 9, None, {"ready": 1}, 1), "one")
    true("nobody" in refused("org", "show", "nobody", status=1), "it says which")


# ---- classes

@case
def a_class_is_added_and_used_and_changed():
    true("medium" in admin("class", "add", "medium", "--memory-mb", "512", "--cpu-millis", "500",
                           "--disk-mb", "256", "--pids", "64"), "it says so")
    rows = {c["class"]: c for c in lines("class", "list")}
    equal({"small", "shared", "medium"} - set(rows), set(), "classes")
    s = create(ALICE, isolation="session", **{"class": "medium"})
    equal({k: v["value"] for k, v in s["limits"].items() if k != "rootfs"},
          {"memoryMb": 512, "cpuMillis": 500, "diskMb": 256, "pids": 64}, "its limits")
    admin("class", "set", "medium", "--pids", "128")
    row, = [c for c in lines("class", "list") if c["class"] == "medium"]
    equal((row["pids"], row["memoryMb"], row["sandboxes"]), (128, 512, 1),
          "one is changed, the others stay")
    expect(200, call("POST", at(s["id"], "/sleep"), key=ALICE))
    expect(200, call("POST", at(s["id"], "/resume"), key=ALICE))
    equal(expect(200, call("GET", at(s["id"]), key=ALICE)).json["limits"]["pids"]["value"], 128,
          "a new start has it")
    expect(200, call("DELETE", at(s["id"]), key=ALICE))


@case
def a_bad_class_is_refused_by_name():
    good = {"--memory-mb": "512", "--cpu-millis": "500", "--disk-mb": "256", "--pids": "64"}
    for option, bad in (("--memory-mb", "0"), ("--memory-mb", "x"), ("--cpu-millis", "-5"),
                        ("--disk-mb", ""), ("--pids", "1.5"), ("--pids", "99999999999999999999"),
                        ("--rootfs", "relative"), ("--rootfs", "/nonexistent"),
                        ("--rootfs", "/etc/passwd")):
        words = [w for pair in dict(good, **{option: bad}).items() for w in pair]
        true(option in refused("class", "add", "bad", *words), option)
    for option in good:
        words = [w for k, v in good.items() if k != option for w in (k, v)]
        true(option in refused("class", "add", "bad", *words), "without " + option)
    words = [w for pair in good.items() for w in pair]
    true("class set" in refused("class", "add", "small", *words, status=1), "one that is there")
    for name in ("", "a b", "a/b", "x" * 65):
        refused("class", "add", name, *words)
    refused("class", "set", "small")
    true("nosuch" in refused("class", "set", "nosuch", "--pids", "64", status=1), "unknown")
    equal([c["class"] for c in lines("class", "list") if c["class"].startswith("bad")], [],
          "nothing is left")


# ---- networks

def network_in_table(command, title, name):
    """The column NETWORK of one row of a table for people."""
    row, = [r for r in table(command, "list")[1] if r[title] == name]
    return row["NETWORK"]


@case
def an_org_has_a_network():
    equal(lines("org", "show", "other")[0]["network"], None, "none at first")
    for spec, policy in (
            ("none", {"mode": "none"}), ("open", {"mode": "open"}),
            ("@npm,api.example.com,*.example.org,git.example.com:22",
             {"mode": "allow", "allow": ["@npm", "api.example.com", "*.example.org",
                                         "git.example.com:22"]})):
        true(spec in admin("org", "set", "other", "--network", spec), "it says so")
        equal(lines("org", "show", "other")[0]["network"], policy, spec)
        row, = [o for o in lines("org", "list") if o["org"] == "other"]
        equal(row["network"], policy, "listed")
        equal(network_in_table("org", "ORG", "other"), spec, "in the table as it was given")
        row = lines("audit", "list", "--kind", "org_changed")[0]
        equal((row["subject"], row["detail"]["network"]), ("other", policy), "audited")
    sid = expect(201, call("POST", "/v1/sessions", {"start": False}, BOB)).json["id"]
    equal(expect(200, call("GET", at(sid), key=BOB)).json["network"]["mode"], "allow", "its own")
    admin("org", "set", "other", "--isolation", "inherit")
    equal(lines("org", "show", "other")[0]["network"], policy, "another option leaves it alone")
    for bad in ("", "a.b,", "all", "allow", "@", "https://a.b", "a.b c.d", "*", "@nothing", "a.b:0",
                ",".join(["a.b"] * 101)):
        true("--network" in refused("org", "set", "other", "--network", bad,
                                    status=1 if bad == "@nothing" else 2), bad)
    equal(lines("org", "show", "other")[0]["network"], policy, "refused, nothing changes")
    refused("org", "set", "nosuch", "--network", "open", status=1)
    admin("org", "set", "other", "--network", "default")
    equal(lines("org", "show", "other")[0]["network"], None, "none again")


@case
def a_class_limits_the_network():
    def small():
        row, = [c for c in lines("class", "list") if c["class"] == "small"]
        return row["network"]
    equal(small(), {"mode": "open"}, "at first")
    for spec, policy in (("none", {"mode": "none"}),
                         ("@npm", {"mode": "allow", "allow": ["@npm"]})):
        admin("class", "set", "small", "--network-max", spec)
        equal(small(), policy, spec)
        equal(network_in_table("class", "CLASS", "small"), spec, "in the table as it was given")
    sql("UPDATE class SET network_max = network_max || '{\"maxRequests\": 9}' WHERE name = 'small'")
    equal(network_in_table("class", "CLASS", "small"), "@npm maxRequests=9", "with a limit")
    admin("class", "set", "small", "--network-max", spec)
    row = lines("audit", "list", "--kind", "class_changed")[0]
    equal((row["subject"], row["detail"]["network_max"]), ("small", policy), "audited")
    admin("class", "set", "small", "--pids", "1024")
    equal(small(), policy, "another option leaves it alone")
    for bad, status in (("default", 2), ("all", 2), ("", 2), ("*", 2), ("@nothing", 1)):
        true("--network-max" in refused("class", "set", "small", "--network-max", bad,
                                        status=status), bad)
    equal(small(), policy, "refused, nothing changes")
    admin("class", "set", "small", "--network-max", "open")
    limits = ("--memory-mb", "512", "--cpu-millis", "500", "--disk-mb", "256", "--pids", "64")
    admin("class", "add", "closed", *limits, "--network-max", "none")
    admin("class", "add", "opened", *limits)
    rows = {c["class"]: c["network"]["mode"] for c in lines("class", "list")}
    equal((rows["closed"], rows["opened"]), ("none", "open"), "of new ones")


@case
def presets_are_changed():
    rows = {p["preset"]: p for p in lines("preset", "list")}
    equal(rows["pypi"], {"preset": "pypi", "hosts": "pypi.org,files.pythonhosted.org",
                         "sessions": 0}, "one that is shipped")
    true("@mirror" in admin("preset", "set", "mirror", "a.example,*.b.example:8443"), "made")
    s = expect(201, call("POST", "/v1/sessions", {
        "start": False, "network": {"allow": ["@mirror"]}}, BOB)).json
    row, = [p for p in lines("preset", "list") if p["preset"] == "mirror"]
    equal((row["hosts"], row["sessions"]), ("a.example,*.b.example:8443", 1), "listed")
    admin("preset", "set", "@mirror", "c.example")
    row, = [p for p in lines("preset", "list") if p["preset"] == "mirror"]
    equal(row["hosts"], "c.example", "changed, also with its @")
    row = lines("audit", "list", "--kind", "preset_set")[0]
    equal((row["subject"], row["detail"]["hosts"]), ("mirror", ["c.example"]), "audited")
    for words in (("mirror",), (), ("mirror", ""), ("mirror", "a.b,"), ("mirror", "@npm"),
                  ("mirror", "https://a.b"), ("MIRROR", "a.b"), ("a b", "a.b"), ("@", "a.b"),
                  ("x" * 32, "a.b"), ("mirror", "a.b", "c.d"), ("mirror", ",".join(["a.b"] * 101))):
        refused("preset", "set", *words)
    equal([p["hosts"] for p in lines("preset", "list") if p["preset"] == "mirror"], ["c.example"],
          "refused, nothing changes")
    true("mirror" in admin("preset", "delete", "mirror"), "deleted")
    true("mirror" in refused("preset", "delete", "mirror", status=1), "once")
    equal(lines("audit", "list", "--kind", "preset_deleted")[0]["subject"], "mirror", "audited")
    equal(expect(200, call("GET", at(s["id"]), key=BOB)).json["network"]["allow"], ["@mirror"],
          "its session still names it")
    equal(value("SELECT network_policies(s)->0 FROM session s WHERE id = :'v1'", s["id"]),
          '{"mode": "allow", "allow": []}', "and may do nothing by it")


# ---- snapshots

@case
def snapshots_are_listed_shown_and_removed():
    mine = expect(201, call("POST", at(ONE, "/snapshots"), {"name": "kept"}, ALICE)).json["id"]
    theirs = expect(201, call("POST", at(TWO, "/snapshots"), {}, BOB)).json["id"]
    equal([s["id"] for s in lines("snapshot", "list")], [theirs, mine], "newest first")
    for words in (("--org", "acme"), ("--session", ONE), ("--org", "acme", "--state", "ready")):
        equal([s["id"] for s in lines("snapshot", "list", *words)], [mine], " ".join(words))
    equal(lines("snapshot", "list", "--state", "failed"), [], "none failed")
    refused("snapshot", "list", "--state", "whole")
    doc = json.loads(admin("snapshot", "show", mine, "--json"))
    equal((doc["org"], doc["sessionId"], doc["name"], doc["state"], doc["host"]),
          ("acme", ONE, "kept", "ready", HOST), "one")
    true(mine in admin("snapshot", "rm", mine), "it says which")
    problem(call("GET", "/v1/snapshots/" + mine, key=ALICE), 404, "snapshot_not_found")
    equal([s["id"] for s in lines("snapshot", "list")], [theirs], "the other one stays")
    true(mine in refused("snapshot", "rm", mine, status=1), "once")
    row, = [a for a in lines("audit", "list", "--kind", "snapshot_removed")]
    equal((row["tenant"], row["subject"]), ("acme", mine), "its owner can read of it")


# ---- the audit log, the reaper, hosts

@case
def the_audit_log_is_listed():
    new_key("acme", "later")
    rows = lines("audit", "list")
    equal(rows[0]["kind"], "key_created", "newest first")
    true({"key_created", "class_added", "class_changed", "quotas_set"} <=
         {r["kind"] for r in rows}, "what operators did")
    true(all(r["tenant"] == "acme" for r in lines("audit", "list", "--org", "acme")), "--org")
    equal({r["severity"] for r in lines("audit", "list", "--severity", "info")}, {"info"},
          "--severity")
    refused("audit", "list", "--severity", "bad")
    titles, _ = table("audit", "list")
    equal(titles, ["ID", "AT", "SEVERITY", "KIND", "ORG", "SUBJECT", "DETAIL"], "titles")


@case
def passes_of_the_reaper_are_listed():
    equal(reap()[0], 0, "a pass")
    equal(reap()[0], 0, "a pass")
    runs = lines("reaper", "runs")
    true(len(runs) >= 2 and runs[0]["id"] > runs[1]["id"], "newest first")
    equal((runs[0]["host"], runs[0]["failures"]), (HOST, 0), "one of them")
    equal(lines("reaper", "runs", "--host", "elsewhere"), [], "--host")
    equal(table("reaper", "runs")[0][:4], ["ID", "HOST", "STARTED", "MS"], "titles")


@case
def hosts_are_listed():
    here, = lines("host", "list")
    equal((here["host"], here["running"], here["lastPassFailures"]), (HOST, 2, 0), "this one")
    true(here["diskReservedMb"] >= 2 * 4096, "counted without a budget, too: %r" % here)
    with open(os.path.join(setting("STACK_STATE"), "data/storage/.id"), encoding="utf-8") as f:
        equal(here["storageId"], f.read().strip(), "and its storage")


# ---- many rows

# Inserts rows without triggers: counting for quotas would take most of the time.
MANY = """
BEGIN;
ALTER TABLE session DISABLE TRIGGER USER;
INSERT INTO session (id, tenant, user_id, isolation, class, sleep_after_seconds, state, created_at)
SELECT 'x' || lpad(n::text, 19, '0'), 'acme', 'many', 'shared', 'small', 60, 'initializing',
       clock_timestamp() - interval '1 year' + n / 3 * interval '1 ms'
  FROM generate_series(1, 100000) n;
ALTER TABLE session ENABLE TRIGGER USER;
COMMIT;
"""
FEW = """
BEGIN;
ALTER TABLE session DISABLE TRIGGER USER;
DELETE FROM session WHERE user_id = 'many';
ALTER TABLE session ENABLE TRIGGER USER;
COMMIT;
"""


@case
def a_hundred_thousand_sessions_are_listed_in_little_memory():
    sql(MANY)
    try:
        words = ["session", "list", "--json", "--user", "many"]
        done = service.run("sandlease-admin", *words)
        equal((done.returncode, len(done.stdout.splitlines())), (0, 1000), "as many as fit a look")
        true(b"--limit 0" in done.stderr, "it says that there are more")
        done = service.run("sandlease-admin", *words, "--limit", "1500")
        ids = [json.loads(l)["id"] for l in done.stdout.splitlines()]
        equal((len(ids), ids == sorted(ids, reverse=True)), (1500, True), "more than a page")
        # ru_maxrss would be the largest of all children, so this child has a limit
        everything = subprocess.run(
            ["sh", "-c", 'ulimit -v 200000; exec "$0" "$@"', service.program("sandlease-admin"),
             "--config", setting("SANDLEASE_CONFIG"), *words, "--limit", "0"],
            capture_output=True, check=False)
        equal((everything.returncode, everything.stderr), (0, b""), "status")
        ids = [json.loads(l)["id"] for l in everything.stdout.splitlines()]
        equal((len(ids), len(set(ids))), (100000, 100000), "each once")
        refused("session", "list", "--limit", "-1")
    finally:
        sql(FEW)


@case
def nothing_is_left():
    for sid, key in ((ONE, ALICE), (TWO, BOB)):
        expect(200, call("DELETE", at(sid), key=key))
    equal(reap()[0], 0, "a pass")
    equal(lines("lease", "list"), [], "leases")


run(lambda: None)
