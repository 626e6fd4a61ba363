#!/usr/bin/python3
"""network.t: tests what a session may connect to, as clients and operators set it.

sandlease-egress is played by a thread that listens on its socket.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, create, execute, expect, get, in_background, new_key,
                     problem, running, setting, sql, until, value)
from tap import case, equal, run, true

service.begin()

HUSH = "hush-5ec2e7-value"
STRANGER = new_key("elsewhere", "mallory")
NOTHING = {"ports": None, "connections": 0, "requests": 0, "bytesIn": 0,
           "bytesOut": 0, "denied": 0}
ONE = [{"host": "api.example.com", "header": "X-Api-Key", "value": HUSH}]
NAMES = [{"host": "api.example.com", "header": "X-Api-Key"}]


class Egress:
    """Listens as sandlease-egress does, and answers each request the same."""

    path = setting("STACK_RUN") + "/run/egress.sock"

    def __init__(self, answer=b'{"ok": true}'):
        self.answer, self.asked = answer, []
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.bind(self.path)
        os.chmod(self.path, 0o666)
        self.sock.listen(64)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            try:
                c = self.sock.accept()[0]
            except OSError:
                return
            text = c.recv(65536)
            if text:  # a connection without a request asks whether it listens
                self.asked.append(json.loads(text))
                c.sendall(self.answer)
            c.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        os.unlink(self.path)
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()
        self.thread.join()


def wish(**body):
    return call("POST", "/v1/sessions?wait=60", body)


def patch(sid, **body):
    return call("PATCH", at(sid), body)


def changes(sid):
    """The details of the events about changed settings."""
    events = expect(200, call("GET", at(sid, "/events?limit=1000"))).json["events"]
    return [e["detail"] for e in events
            if (e["kind"], e["what"]) == ("change", "settings")]


def order(sid):
    return int(value("SELECT network_order FROM session WHERE id = :'v1'", sid))


def class_max(policy, name="small"):
    sql("UPDATE class SET network_max = :'v1'::jsonb WHERE name = :'v2'",
        json.dumps(policy), name)


class Limit:
    """`with Limit(policy):` the class small allows no more."""

    def __init__(self, **policy):
        self.policy = policy

    def __enter__(self):
        class_max(self.policy)

    def __exit__(self, *error):
        class_max({"mode": "open"})


# ---- policies

@case
def without_a_policy_there_is_no_network():
    with Egress() as egress:
        s = create(isolation="session", name="plain")
        equal(s["network"], dict(NOTHING, mode="none"), "shown")
        equal(s["secrets"], [], "secrets")
        equal(egress.asked, [], "nobody is asked to serve it")
    s = create(isolation="session", network={"mode": "none"})
    equal(s["network"]["mode"], "none", "nor needed")


@case
def a_policy_is_shown_as_it_was_given():
    allow = ["api.example.com", "*.packages.example.org", "git.example.com:22",
             "@npm", "203.0.113.7:5432", "[2001:db8::1]:443"]
    for given, shown in (
            ({"mode": "allow", "allow": allow, "maxRequests": 20},
             {"mode": "allow", "allow": allow, "maxRequests": 20}),
            ({"allow": allow}, {"mode": "allow", "allow": allow}),
            ({"mode": "allow", "allow": []}, {"mode": "allow", "allow": []}),
            ({"mode": "none"}, {"mode": "none"}),
            ({"mode": "open"}, {"mode": "open"})):
        s = expect(201, wish(isolation="session", network=given, start=False)).json
        equal(s["network"], dict(NOTHING, **shown), repr(given))
        listed = expect(200, call("GET", "/v1/sessions")).json["sessions"]
        equal([x["network"] for x in listed if x["id"] == s["id"]],
              [s["network"]], "in a list, too")


@case
def what_was_used_is_shown():
    s = expect(201, wish(isolation="session", network={"mode": "open"}, start=False)).json
    sql("INSERT INTO network_use VALUES (:'v1', 1, 2, 3, 4, 5, '{80,443}')", s["id"])
    equal(get(s["id"])["network"],
          {"mode": "open", "ports": [80, 443], "connections": 1, "requests": 2,
           "bytesIn": 3, "bytesOut": 4, "denied": 5}, "shown")


BAD = (
    ({}, "network.mode"),
    ({"maxRequests": 5}, "network.mode"),
    ("x", "network"), (5, "network"), ([], "network"),
    ({"mode": "all"}, "network.mode"), ({"mode": None}, "network.mode"),
    ({"allowed": []}, "network.allowed"), ({"allow": "a.b"}, "network.allow"),
    ({"allow": [5]}, "network.allow[0]"), ({"allow": ["a.b", None]}, "network.allow[1]"),
    ({"allow": ["*"]}, "network.allow[0]"), ({"allow": [""]}, "network.allow[0]"),
    ({"allow": ["https://a.b"]}, "network.allow[0]"),
    ({"allow": ["a.b/c"]}, "network.allow[0]"), ({"allow": ["u@a.b"]}, "network.allow[0]"),
    ({"allow": ["a.b:0"]}, "network.allow[0]"), ({"allow": ["a.b:65536"]}, "network.allow[0]"),
    ({"allow": ["a.*.b"]}, "network.allow[0]"), ({"allow": ["127.1"]}, "network.allow[0]"),
    ({"allow": ["b\u00fccher.example"]}, "network.allow[0]"),
    ({"allow": ["a\0.b"]}, "network.allow[0]"), ({"allow": ["a" * 300]}, "network.allow[0]"),
    ({"allow": ["a.b"] * 101}, "network.allow"),
    ({"mode": "open", "allow": ["a.b"]}, "network.allow"),
    ({"mode": "none", "allow": ["a.b"]}, "network.allow"),
    ({"mode": "allow"}, "network.allow"),
    ({"mode": "open", "maxRequests": 0}, "network.maxRequests"),
    ({"maxRequests": -1}, "network.maxRequests"), ({"maxRequests": "5"}, "network.maxRequests"),
    ({"maxRequests": 1.5}, "network.maxRequests"),
    ({"allow": ["a.b", "@nothing"]}, "network.allow"), ({"allow": ["@NPM"]}, "network.allow[0]"),
    ({"allow": ["@"]}, "network.allow[0]"))


@case
def a_policy_that_is_none_is_refused_and_named():
    sid = get_id("plain")
    before = value("SELECT count(*) FROM session")
    for network, field in BAD:
        for reply in (wish(isolation="session", network=network), patch(sid, network=network)):
            problem(reply, 400, "validation_failed", field)
    problem(wish(network=None), 400, "validation_failed", "network")
    doc = problem(wish(network={"allow": ["@nothing"]}), 400, "validation_failed")
    true("@nothing" in doc["detail"] and "@npm" in doc["detail"], doc["detail"])
    equal((value("SELECT count(*) FROM session"), get(sid)["network"]["mode"], order(sid)),
          (before, "none", 0), "nothing was made or changed")


def get_id(name):
    return value("SELECT id FROM session WHERE name = :'v1' AND state <> 'deleted'", name)


@case
def a_patch_replaces_the_policy_and_says_so():
    sid = get_id("plain")
    with Egress() as egress:
        a = {"mode": "allow", "allow": ["a.example"], "maxRequests": 3}
        s = expect(200, patch(sid, network=a)).json
        equal(s["network"], dict(NOTHING, **a), "set")
        equal(egress.asked, [{"op": "attach", "session": sid, "generation": 1}],
              "it is served from now on")
        expect(200, patch(sid, network=a))
        equal((order(sid), len(changes(sid))), (1, 1), "the same again is no change")
        s = expect(200, patch(sid, network={"allow": ["b.example"]})).json
        equal(s["network"], dict(NOTHING, mode="allow", allow=["b.example"]),
              "nothing is merged")
        expect(200, patch(sid, keepAlive=False))
        equal(get(sid)["network"], s["network"], "another patch leaves it alone")
        equal(order(sid), 2, "changes are counted")
        asked = len(egress.asked)
        expect(200, patch(sid, labels={"a": "b"}))
        equal(len(egress.asked), asked, "and not told")
    equal(changes(sid)[:2], [
        {"network": {"from": None, "to": a}},
        {"network": {"from": a, "to": {"mode": "allow", "allow": ["b.example"]}}}], "events")
    expect(200, patch(sid, network=None))
    equal(get(sid)["network"]["mode"], "none", "null is the org's default again")
    equal(value("SELECT network IS NULL FROM session WHERE id = :'v1'", sid), "t", "in the row")


@case
def a_patch_without_egress_is_written_all_the_same():
    sid = get_id("plain")
    expect(200, patch(sid, network={"mode": "open"}))
    equal(get(sid)["network"]["mode"], "open", "set")
    expect(200, patch(sid, network=None))
    with Egress(b'{"ok": false, "message": "too many"}'):
        doc = problem(patch(sid, network={"mode": "open"}), 503, "egress_unavailable")
        true("too many" in doc["detail"], doc["detail"])
    expect(200, patch(sid, network=None))


@case
def a_create_that_finds_a_session_changes_it():
    sid = get_id("plain")
    r = expect(200, wish(name="plain", network={"allow": ["c.example"]}, secrets=ONE)).json
    equal((r["id"], r["network"]["allow"], r["secrets"]), (sid, ["c.example"], NAMES), "changed")
    r = expect(200, wish(name="plain")).json
    equal((r["network"]["allow"], r["secrets"]), (["c.example"], NAMES), "and left alone")
    problem(wish(name="plain", network={"allow": ["@nothing"]}), 400,
            "validation_failed", "network.allow")
    equal(get(sid)["network"]["allow"], ["c.example"], "and not by half")
    expect(200, patch(sid, network=None, secrets=[]))


# ---- the class and the org

@case
def a_class_without_a_network_refuses_one():
    sid = get_id("plain")
    with Limit(mode="none"):
        for reply in (wish(isolation="session", network={"mode": "open"}),
                      wish(isolation="session", network={"allow": ["a.example"]}),
                      patch(sid, network={"mode": "open"}),
                      wish(name="plain", network={"mode": "open"})):
            doc = problem(reply, 400, "validation_failed", "network")
            true("small" in doc["detail"] and "sandlease-admin class set" in doc["detail"],
                 doc["detail"])
        for network in ({"mode": "none"}, None):
            expect(200, patch(sid, network=network))
        s = expect(201, wish(isolation="session", network={"mode": "none"}, start=False)).json
        equal(s["network"], dict(NOTHING, mode="none"), "none is none")
    r = expect(201, wish(isolation="shared", network={"mode": "open"}, start=False)).json
    equal((r["class"], r["network"]["mode"]), ("shared", "open"), "another class")


@case
def the_narrower_of_class_and_session_wins():
    for most, given, shown in (
            ({"mode": "allow", "allow": ["a.example", "@npm"]}, {"mode": "open"},
             {"mode": "allow", "allow": ["a.example", "@npm"], "limitedBy": "class"}),
            ({"mode": "allow", "allow": ["a.example", "@npm"]},
             {"mode": "allow", "allow": ["registry.npmjs.org"]},
             {"mode": "allow", "allow": ["registry.npmjs.org"]}),
            ({"mode": "allow", "allow": ["a.example"]},
             {"mode": "allow", "allow": ["a.example", "b.example"]},
             {"mode": "allow", "allow": ["a.example", "b.example"], "limitedBy": "class"}),
            ({"mode": "open", "maxRequests": 5}, {"mode": "open", "maxRequests": 9},
             {"mode": "open", "maxRequests": 5, "limitedBy": "class"}),
            ({"mode": "open", "maxRequests": 9}, {"mode": "open", "maxRequests": 5},
             {"mode": "open", "maxRequests": 5}),
            ({"mode": "allow", "allow": ["a.example"]}, {"mode": "none"}, {"mode": "none"})):
        with Limit(**most):
            s = expect(201, wish(isolation="session", network=given, start=False)).json
            equal(s["network"], dict(NOTHING, **shown), "%r of %r" % (given, most))
    with Limit(mode="none"):
        equal(get(s["id"])["network"]["mode"], "none", "a class is narrowed later")


@case
def an_org_has_a_default():
    sql("UPDATE org SET network = '{\"mode\": \"allow\", \"allow\": [\"@pypi\"]}'"
        " WHERE id = 'elsewhere'")
    r = expect(201, call("POST", "/v1/sessions", {"start": False}, STRANGER)).json
    equal(r["network"], dict(NOTHING, mode="allow", allow=["@pypi"]), "theirs")
    r = expect(200, call("PATCH", at(r["id"]), {"network": {"mode": "none"}}, STRANGER)).json
    equal(r["network"], dict(NOTHING, mode="none"), "a session's own comes first")
    r = expect(200, call("PATCH", at(r["id"]), {"network": None}, STRANGER)).json
    equal(r["network"]["allow"], ["@pypi"], "and can be given up")
    r = expect(201, wish(start=False)).json
    equal(r["network"]["mode"], "none", "not ours")


@case
def classes_and_presets_are_listed():
    with Limit(mode="allow", allow=["@npm"]):
        found = expect(200, call("GET", "/v1/classes", key=STRANGER)).json["classes"]
        equal([c["network"] for c in found],
              [{"mode": "open"}, {"mode": "allow", "allow": ["@npm"]}], "classes")
    found = expect(200, call("GET", "/v1/presets", key=STRANGER)).json["presets"]
    equal([p["name"] for p in found],
          ["anthropic", "crates", "debian", "github", "npm", "openai", "pypi"], "presets")
    equal(found[0], {"name": "anthropic", "allow": ["api.anthropic.com:443"]}, "one of them")
    expect(401, call("GET", "/v1/presets", key=""))


@case
def another_tenant_changes_and_sees_nothing():
    sid = get_id("plain")
    problem(call("PATCH", at(sid), {"network": {"mode": "open"}, "secrets": ONE}, STRANGER),
            404, "session_not_found")
    reader = new_key("demo", "reader", "--scope", "read")
    problem(call("PATCH", at(sid), {"network": {"mode": "open"}}, reader), 403, "forbidden")
    s = get(sid)
    equal((s["network"]["mode"], s["secrets"]), ("none", []), "as it was")


# ---- starts

@case
def a_start_waits_for_egress_and_says_when_it_is_missing():
    doc = problem(call("POST", "/v1/sessions?wait=1", {
        "isolation": "session", "network": {"mode": "open"}}), 503, "egress_unavailable")
    true("sandlease-egress" in doc["detail"], doc["detail"])
    with Egress() as egress:
        s = create(isolation="session", name="online", network={"mode": "open"},
                   setup="echo done >/workspace/setup")
        equal(egress.asked, [{"op": "attach", "session": s["id"], "generation": 1}], "asked")
        steps = [e["what"] for e in expect(200, call("GET", at(s["id"], "/events?limit=1000"))
                                           ).json["events"] if e["kind"] == "step"]
        equal(steps, ["workspace", "sandbox", "admission", "wrapper", "network", "setup",
                      "ready"], "its steps")
        expect(200, call("POST", at(s["id"], "/sleep")))
    problem(call("POST", at(s["id"], "/resume?wait=1")), 503, "egress_unavailable")
    equal(get(s["id"])["state"], "asleep", "it has not failed")
    with Egress() as egress:
        expect(200, call("POST", at(s["id"], "/resume?wait=60")))
        equal([a["generation"] for a in egress.asked], [2], "its next generation is served")
        execute(s["id"], "cat /workspace/setup")


MARK = "9100.%d" % os.getpid()


@case
def a_policy_that_comes_while_it_starts_is_followed():
    start = in_background("POST", "/v1/sessions?wait=60", {
        "isolation": "session", "name": "late", "setup": "{ sleep %s || :; } 2>/dev/null" % MARK})
    until("the setup runs", lambda: running(MARK))
    sid = get_id("late")
    with Egress(b'{"ok": false}') as egress:
        expect(200, patch(sid, network={"mode": "allow", "allow": ["a.example"]}))
        equal(len(egress.asked), 1, "it is asked at once; a refusal is not the client's matter")
    with Egress() as egress:
        for pid in running(MARK):
            os.kill(pid, signal.SIGTERM)
        equal(expect(201, start.join()).json["state"], "ready", "state")
        equal(egress.asked, [{"op": "attach", "session": sid, "generation": 1}],
              "and again when it is ready")


# ---- secrets

@case
def a_secret_is_stored_sealed_and_shown_without_its_value():
    s = expect(201, wish(isolation="session", name="keeper", secrets=[
        dict(ONE[0], host="API.Example.com.")], start=False)).json
    equal(s["secrets"], NAMES, "shown")
    sid = s["id"]
    expect(200, patch(sid, secrets=ONE + [
        {"host": "b.example", "header": "authorization", "value": "Bearer " + HUSH}]))
    more = NAMES + [{"host": "b.example", "header": "authorization"}]
    equal(get(sid)["secrets"], more, "all of them")
    expect(200, patch(sid, keepAlive=True))
    equal(get(sid)["secrets"], more, "another patch leaves them alone")
    before = order(sid)
    expect(200, patch(sid, secrets=[dict(ONE[0], value=HUSH + "-2")]))
    expect(200, patch(sid, secrets=[dict(ONE[0], value=HUSH + "-3")]))
    equal(order(sid), before + 2, "a new value is a change")
    equal([d["secrets"] for d in changes(sid) if "secrets" in d],
          [{"from": NAMES, "to": more}, {"from": more, "to": NAMES},
           {"from": NAMES, "to": NAMES}], "events have hosts and headers")
    expect(200, patch(sid, secrets=[]))
    equal(get(sid)["secrets"], [], "removed")
    equal(sql("SELECT secrets, secrets_sealed FROM session WHERE id = :'v1'", sid),
          [["", ""]], "in the row, too")
    expect(200, patch(sid, secrets=ONE))


BAD_SECRETS = (
    ("x", "secrets"), ({}, "secrets"), (None, "secrets"), ([5], "secrets[0]"),
    ([{}], "secrets[0].host"), (ONE * 2, "secrets[1].header"),
    ([dict(ONE[0], header="x-%d" % n) for n in range(21)], "secrets"))


@case
def a_secret_that_is_none_is_refused_without_its_value():
    sid = get_id("keeper")
    cases = list(BAD_SECRETS) + [([dict(ONE[0], **{name: bad})], "secrets[0]." + name)
                                 for name, bads in (
        ("host", ("", 5, "a.b:443", "*.a.b", "https://a.b", "203.0.113.7", "::1", "@npm", "a b")),
        ("header", ("", 5, "x y", "x:", "x\r\ny", "Host", "content-length", "Transfer-Encoding",
                    "Connection", "upgrade", "expect", "TE", "trailer", "Proxy-Connection")),
        ("value", ("", 5, HUSH + "\r\nHost: b", HUSH + "\n", HUSH + "\0", HUSH + "\x7f",
                   HUSH + "x" * 8192)),
        ("more", (1,))) for bad in bads]
    for secrets, field in cases:
        for reply in (wish(isolation="session", secrets=secrets, start=False),
                      patch(sid, secrets=secrets)):
            problem(reply, 400, "validation_failed", field)
            true(HUSH.encode() not in reply.body, reply)
    equal(get(sid)["secrets"], NAMES, "as it was")


@case
def values_are_nowhere_in_clear():
    sid = get_id("keeper")
    true(value("SELECT secrets_sealed FROM session WHERE id = :'v1'", sid), "it is stored")
    for path in ("", "/events?limit=1000"):
        true(HUSH.encode() not in expect(200, call("GET", at(sid, path))).body, path)
    for path in ("/v1/sessions", "/v1/openapi.json"):
        true(HUSH.encode() not in expect(200, call("GET", path)).body, path)
    dump = subprocess.run(
        ["pg_dump", "-w", "-h", setting("STACK_RUN") + "/pg", "-U",
         "sandlease", "sandlease"], capture_output=True, check=True,
        env={"PGPASSFILE": setting("STACK_STATE") + "/etc/pgpass",
             "PATH": os.environ["PATH"]}).stdout
    true(sid.encode() in dump and HUSH.encode() not in dump, "not in the database")
    logs = setting("STACK_STATE") + "/log"
    for name in os.listdir(logs):
        with open(os.path.join(logs, name), "rb") as f:
            true(HUSH.encode() not in f.read(), "in log/" + name)


@case
def egress_hears_of_changes():
    sid = get_id("keeper")
    psql = service.Psql()
    psql.ask("LISTEN sandlease_network")

    def heard(text, *values):
        sql(text, *values)
        return [line.split('payload "')[1].split('"')[0] for line in psql.ask("SELECT 1")
                if "sandlease_network" in line]
    try:
        for text, payload in (
                ("UPDATE session SET network = '{\"mode\": \"open\"}' WHERE id = :'v1'", [sid]),
                ("UPDATE session SET secrets = NULL WHERE id = :'v1'", [sid]),
                ("UPDATE session SET keep_alive = true, network = network WHERE id = :'v1'", []),
                ("UPDATE org SET network = '{\"mode\": \"none\"}' WHERE id = 'elsewhere'", ["*"]),
                ("UPDATE org SET salt = '', network = network WHERE id = 'elsewhere'", []),
                ("UPDATE class SET network_max = '{\"mode\": \"none\"}'", ["*"]),
                ("UPDATE class SET network_max = '{\"mode\": \"open\"}'", ["*"]),
                ("UPDATE network_preset SET allow = '{a.b}' WHERE name = 'npm'", ["*"]),
                ("INSERT INTO network_preset VALUES ('x', '{a.b}')", ["*"]),
                ("DELETE FROM network_preset WHERE name = 'x'", ["*"])):
            equal(heard(text, sid), payload, text)
    finally:
        psql.end()


sys.exit(run(lambda: None))
