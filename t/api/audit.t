#!/usr/bin/python3
"""audit.t: tests which events are in the audit log, who may read them, and that
no secret is in it."""
import hashlib
import os
import pwd
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (admin, at, call, container_error, create, expect,
                     new_key, problem, reap, setting, sql, until, value)
from tap import case, equal, run, true

service.begin()

FIELDS = {"id", "at", "kind", "severity", "tenant", "subject", "traceId",
          "detail"}
SECRETS = [setting("SANDLEASE_API_KEY")]  # no log may contain any of these


def secret(text):
    SECRETS.append(text)
    return text


def key_of(org, user, *more):
    return secret(new_key(org, user, *more))


def key_id(key):
    return expect(200, call("GET", "/v1/me", key=key)).json["keyId"]


def prefix(text):
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()[:8]


ADMIN = key_of("demo", "boss", "--scope", "admin")
STRANGER = key_of("strangers", "u")
THEIR_ADMIN = key_of("strangers", "boss", "--scope", "admin")
SID = create(isolation="session")["id"]
URL = expect(201, call("POST", at(SID, "/ports"), {"port": 8080})).json["url"]
TOKEN = secret(URL.split("/")[2].split("-", 2)[2].split(".")[0])
DOMAIN = URL.split("/")[2].split(TOKEN)[1]


def audit(query="", key=ADMIN):
    return expect(200, call("GET", "/v1/audit" + query, key=key)).json


def entries(kind, subject=None, key=ADMIN):
    return [e for e in audit("?limit=1000&kind=" + kind, key)["audit"]
            if subject in (None, e["subject"])]


def times(kind, subject, key=ADMIN, **detail):
    """Returns how often the event occurred, over all minutes; its detail
    contains the given values."""
    return sum(e["detail"]["times"] for e in entries(kind, subject, key)
               if detail.items() <= e["detail"].items())


def told(kind, subject, count, key=ADMIN, **detail):
    """Waits until the entry is written, which is after the answer, and checks
    its count."""
    until("%s %s is told" % (kind, subject),
          lambda: times(kind, subject, key, **detail) >= count)
    equal(times(kind, subject, key, **detail), count, "so often")
    return [e for e in entries(kind, subject, key)
            if detail.items() <= e["detail"].items()][0]


# ---- keys

@case
def a_key_nobody_knows_is_told_by_its_hash():
    bad = secret("sl_" + "a" * 52)
    problem(call("GET", at(SID), key=bad, headers={"X-Trace-Id": "tr-1"}),
            401, "unauthorized")
    told("key_refused", prefix(bad), 1, why="unknown")  # first reason is kept
    problem(call("GET", "/v1/health", key=bad), 401, "unauthorized")
    container_error(call("GET", at(SID, "/api/ping"), key=bad), 401,
                    "UNAUTHORIZED")
    problem(call("POST", "/v1/login", {"key": bad}, "",
                 {"Origin": setting("SANDLEASE_URL")}), 401, "unauthorized")
    e = told("key_refused", prefix(bad), 4, why="unknown")
    equal(set(e), FIELDS, "fields")
    equal((e["severity"], e["tenant"], e["traceId"], e["detail"]["from"]),
          ("warning", None, "tr-1", "127.0.0.1"), "entry")


@case
def a_revoked_and_an_expired_key_are_told_by_their_id():
    key = key_of("demo", "short")
    kid = key_id(key)
    admin("key", "revoke", kid)
    problem(call("GET", at(SID), key=key), 401, "unauthorized")
    container_error(call("POST", at(SID, "/api/execute"), {"command": "id"},
                         key), 401, "UNAUTHORIZED")
    e = told("key_refused", kid, 2, why="revoked")
    equal((e["severity"], e["tenant"]), ("warning", "demo"), "revoked")
    key = key_of("demo", "short", "--expires", "2001-01-01T00:00:00Z")
    problem(call("GET", at(SID), key=key), 401, "unauthorized")
    until("it is told", lambda: [e for e in entries("key_refused")
                                 if e["detail"]["why"] == "expired"])
    equal([e["severity"] for e in entries("key_refused")
           if e["detail"]["why"] == "expired"], ["info"], "expired")


@case
def what_is_no_key_is_told_but_no_key_at_all_is_not():
    def malformed():
        return sum(e["detail"]["times"] for e in entries("key_refused")
                   if e["detail"]["why"] == "malformed")
    before = malformed()
    for path in (at(SID), at(SID, "/api/ping")):
        equal(call("GET", path, key="").status, 401, "none")
        equal(call("GET", path, key="", headers={
            "X-API-Key": STRANGER, "Authorization": "Bearer " +
            STRANGER}).status, 401, "two")
        equal(call("GET", path, key=secret("x" * 5000)).status, 401, "long")
    until("all are told", lambda: malformed() >= before + 4)
    equal(malformed(), before + 4, "and no more")


# ---- sessions of another org

@case
def a_foreign_id_is_told_to_its_owner_only():
    kid = key_id(STRANGER)
    missing = "z" * 20
    for method, rest in (("GET", ""), ("GET", "/events"), ("DELETE", ""),
                         ("GET", "/api/ping"), ("POST", "/api/execute")):
        body = {"command": "id"} if method == "POST" else None
        theirs = call(method, at(SID, rest), body, STRANGER)
        none = call(method, at(missing, rest), body, STRANGER)
        equal((theirs.status, none.status), (404, 404), rest)
    e = told("session_foreign", SID, 5, keyId=kid)
    equal((e["severity"], e["tenant"]), ("warning", "demo"), "entry")
    true("strangers" not in str(e), "who they are is not told: %r" % e)
    equal(entries("session_foreign", key=THEIR_ADMIN), [],
          "whoever asked learns nothing by it")
    equal(entries("session_foreign", missing), [], "what is not there is not")


# ---- previews

def preview(port, sid, token):
    return call("GET", "/", key="", headers={
        "Host": "%d-%s-%s%s" % (port, sid, token, DOMAIN)})


@case
def a_wrong_token_is_told_by_its_hash_and_a_port_by_its_number():
    bad = secret("b" * 26)
    for sid in (SID, "z" * 20):
        equal(preview(8080, sid, bad).status, 404, "a wrong token")
    equal(preview(8081, SID, TOKEN).status, 404, "another port")
    e = told("preview_token_refused", prefix(bad), 1, session=SID)
    equal((e["tenant"], e["severity"], e["detail"]["port"]),
          ("demo", "warning", "8080"), "entry")
    told("preview_token_refused", prefix(bad), 1, session="z" * 20)
    e = told("port_refused", SID + ":8081", 1)
    equal((e["tenant"], e["severity"]), ("demo", "warning"), "a port")
    equal(preview(8080, SID, TOKEN).status, 502, "the right one: nothing"
          " listens")


@case
def a_port_that_may_not_be_exposed_is_told():
    for port in (22, 3128, 65536):
        problem(call("POST", at(SID, "/ports"), {"port": port}), 400,
                "validation_failed", "port")
        e = told("port_refused", "%s:%d" % (SID, port), 1)
        equal(e["detail"]["keyId"], key_id(None), "by which key")
    problem(call("POST", at(SID, "/ports"), {"port": "x"}), 400,
            "validation_failed", "port")
    problem(call("POST", at(SID, "/ports"), {"port": 8082, "y": 1}), 400,
            "validation_failed", "y")
    equal(len(entries("port_refused", SID + ":8082")), 0, "other mistakes are"
          " not")


# ---- operators

@case
def what_operators_do_is_told():
    key = key_of("demo", "made", "--scope", "read")
    kid = key_id(key)
    made, = entries("key_created", kid)
    equal((made["severity"], made["tenant"], made["detail"]["user"],
           made["detail"]["scope"], made["detail"]["by"]),
          ("info", "demo", "made", "read", "admin:" +
           pwd.getpwuid(os.getuid()).pw_name), "created")
    admin("key", "revoke", kid)
    equal(len(entries("key_revoked", kid)), 1, "revoked")
    admin("org", "set", "demo", "--isolation", "shared")
    equal([e["detail"]["isolation"] for e in entries("org_changed", "demo")],
          ["shared"], "org")
    admin("org", "set", "demo", "--max-active", "77", "--max-previews",
          "inherit")
    equal([(e["detail"]["active"], e["detail"]["previews"])
           for e in entries("quotas_set", "demo")], [("77", "inherit")],
          "its quotas")
    admin("drain")
    admin("undrain")
    for kind in ("drain", "undrain"):
        equal([e["tenant"] for e in entries(kind)], [None], kind)


@case
def a_forced_release_is_critical():
    sid = create(isolation="session")["id"]
    admin("lease", "release", sid, "--force")
    e, = entries("lease_force_release", sid)
    equal((e["severity"], e["tenant"], e["detail"]["was"]),
          ("critical", "demo", "owns_wrapper"), "entry")
    true(e in audit("?limit=1000&severity=critical")["audit"], "by severity")
    expect(200, call("DELETE", at(sid)))


# ---- reading the log

@case
def only_admins_read_it_and_only_what_is_theirs():
    for scope in ("tenant", "read"):
        problem(call("GET", "/v1/audit", key=key_of("demo", "x", "--scope",
                                                    scope)), 403, "forbidden")
    problem(call("GET", "/v1/audit", key=""), 401, "unauthorized")
    everything = sql("SELECT coalesce(tenant, '') FROM audit")
    for org, key in (("demo", ADMIN), ("strangers", THEIR_ADMIN)):
        seen = audit("?limit=1000", key)["audit"]
        equal({e["tenant"] for e in seen}, {org, None}, org)
        equal(len(seen), len([t for t, in everything if t in ("", org)]),
              "all of it")


@case
def pages_and_filters():
    everything = audit("?limit=1000")
    found, after = [], 0
    while True:
        page = audit("?limit=4&after=%d" % after)
        if not page["audit"]:
            break
        true(len(page["audit"]) <= 4, "a page")
        found += page["audit"]
        after = page["next"]
    equal(found, everything["audit"], "all of it, once")
    equal(after, everything["next"], "next")
    for severity in ("info", "warning", "critical"):
        equal(audit("?limit=1000&severity=" + severity)["audit"],
              [e for e in found if e["severity"] == severity], severity)
    equal(audit("?limit=1000&kind=key_created&severity=info")["audit"],
          [e for e in found if e["kind"] == "key_created"], "both")
    equal(audit("?kind=nothing")["audit"], [], "a kind there is not")
    for query, field in (("after=x", "after"), ("limit=0", "limit"),
                         ("severity=bad", "severity"),
                         ("severity=", "severity"),
                         ("kind=" + "k" * 100, "kind")):
        problem(call("GET", "/v1/audit?" + query, key=ADMIN), 400,
                "validation_failed", field)


# ---- a log that cannot be written, and the end of entries

@case
def a_refusal_goes_out_though_it_cannot_be_written_down():
    bad = secret("sl_" + "c" * 52)
    with service.Held("LOCK TABLE audit"):
        problem(call("GET", at(SID), key=bad), 401, "unauthorized")
        container_error(call("GET", at(SID, "/api/ping"), key=bad), 401,
                        "UNAUTHORIZED")
        until("the log tells", lambda: service.log("api").count(
            'event="audit"') >= 2)
    problem(call("GET", at(SID), key=bad), 401, "unauthorized")
    told("key_refused", prefix(bad), 1)


@case
def retention_takes_what_is_old():
    sql("INSERT INTO audit (id, at, kind, severity) OVERRIDING SYSTEM VALUE"
        " VALUES (-1, clock_timestamp() - interval '1000 days', 'ancient',"
        " 'info')")
    before = int(value("SELECT count(*) FROM audit"))
    reap()
    equal(value("SELECT count(*) FROM audit WHERE kind = 'ancient'"), "0",
          "it went")
    equal(int(value("SELECT count(*) FROM audit")), before - 1,
          "and nothing else")


@case
def no_key_and_no_token_is_written_down():
    everything = "\n".join(row for row, in sql("SELECT a::text FROM audit a"))
    true("key_refused" in everything and prefix("b" * 26) in everything,
         "there is something to look at")
    for text in SECRETS:
        true(text not in everything, "a secret is in the audit log")
        full = hashlib.blake2b(text.encode(), digest_size=32).hexdigest()
        true(full[:12] not in everything, "nor more of its hash")


run(lambda: None)
