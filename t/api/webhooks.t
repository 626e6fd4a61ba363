#!/usr/bin/python3
"""webhooks.t: tests webhooks: signed, tried again, sent at least once, held up by nobody
else's server, and never sent to addresses that are not public."""
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from executions import ended, result, start
from procfs import alive
from receiver import HOLD, MUTE, Receiver
from service import (at, call, create, expect, get, new_key, problem, reap, sql, until, value)
from tap import case, equal, run, true

service.begin("webhook_allow_private = 127.0.0.1")

ADMIN = new_key("demo", "boss", "--scope", "admin")
STRANGER = new_key("elsewhere", "mallory", "--scope", "admin")
R = Receiver()
SECRETS = []  # all that were ever shown


def hook(path, key=ADMIN, **body):
    sql("UPDATE org SET webhook_turn = '-infinity'")  # one case counts its changes
    w = expect(201, call("POST", "/v1/webhooks", dict({"url": R.url(path)}, **body), key)).json
    SECRETS.append(w["secret"])
    return w


def path_of(w, rest=""):
    return "/v1/webhooks/" + w["id"] + rest


def test(w, key=ADMIN):
    return expect(202, call("POST", path_of(w, "/test"), key=key)).json


def deliveries(w, key=ADMIN):
    return expect(200, call("GET", path_of(w, "/deliveries"), key=key)).json["deliveries"]


def delivery(w, d, key=ADMIN):
    return next(x for x in deliveries(w, key) if x["id"] == d["id"])


def settled(w, d, key=ADMIN):
    """The delivery, once its attempt has ended."""
    return until("its attempt ends", lambda: (lambda x: x["lastAttemptAt"] and x)(
        delivery(w, d, key)))


def delivered(w, d, key=ADMIN):
    return until("it is delivered", lambda: (lambda x: x["state"] == "delivered" and x)(
        delivery(w, d, key)))


def make_due(d, late="0 s"):
    sql("UPDATE webhook_delivery SET due_at = clock_timestamp() - :'v2'::interval"
        " WHERE id = :'v1' AND due_at IS NOT NULL", d["id"], late)


@case
def an_execution_is_told_when_it_has_ended():
    w = hook("/executions", events=["execution.finished"])
    s = create()["id"]
    x = result(s, command="echo oops >&2; exit 3", taskId="t-1")
    r = R.arrived("/executions")[0]
    true(r.is_signed(w["secret"]), "signed: %r" % r.headers.items())
    true(not r.is_signed("whsec_" + "a" * 52), "not by another secret")
    equal((r.headers["Content-Type"], r.event, r.headers["User-Agent"].split("/")[0]),
          ("application/json", "execution.finished", "Sandlease"), "headers")
    equal((r.json["id"], r.json["event"], r.json["org"]), (r.id, "execution.finished", "demo"),
          "body")
    equal(r.json["execution"], x, "the execution is as GET shows it")
    d = delivered(w, {"id": r.id})
    equal((d["event"], d["attempts"], d["lastStatus"], d["lastError"]),
          ("execution.finished", 1, 200, None), "the delivery")
    y = start(s, command="sleep 1000")
    expect(200, call("DELETE", "/v1/executions/" + y["id"]))
    equal(R.arrived("/executions", 2)[1].json["execution"]["state"], "cancelled", "a cancelled one")
    expect(200, call("DELETE", at(s)))
    equal(len(R.got("/executions")), 2, "once each")
    expect(204, call("DELETE", path_of(w), key=ADMIN))


@case
def a_session_that_fails_is_told():
    w = hook("/sessions", events=["session.failed"])
    p = problem(call("POST", "/v1/sessions?wait=60", {
        "name": "bad", "setup": "echo broken; exit 7", "labels": {"team": "x"},
        "env": {"TOKEN": "hush-hush"}, "correlationKeys": ["issue-1"]}), 409, "setup_failed")
    r = R.arrived("/sessions")[0]
    true(r.is_signed(w["secret"]), "signed")
    s = r.json["session"]
    equal((s["name"], s["state"], s["labels"], s["correlationKeys"]),
          ("bad", "failed", {"team": "x"}, ["issue-1"]), "the session")
    equal((s["setup"]["exitCode"], s["setup"]["output"]), (7, "broken\n"), "and why: %r" % s)
    shown = get(s["id"])
    equal({k: v for k, v in s.items() if shown[k] != v}, {}, "as GET shows it: %r" % p)
    true(b"hush" not in r.body and b"sealed" not in r.body and b"incarnation" not in r.body,
         r.body)
    expect(204, call("DELETE", path_of(w), key=ADMIN))


@case
def an_error_is_tried_again_with_the_same_id():
    w = hook("/flaky")
    R.answers["/flaky"] = [500, 302, 404, 200]
    d = test(w)
    equal((d["event"], d["state"], d["attempts"] in (0, 1)), ("test", "pending", True), "told")
    for n, (status, error) in enumerate(((500, None), (302, "redirects are not followed"),
                                         (404, None)), 1):
        x = until("attempt %d" % n, lambda: (lambda x: x["lastStatus"] == status and x)(
            delivery(w, d)))
        equal((x["state"], x["attempts"], x["lastError"]), ("pending", n, error), "failed")
        true(x["nextAttemptAt"] > x["lastAttemptAt"], "it is tried again: %r" % x)
        true(expect(200, call("GET", path_of(w), key=ADMIN)).json["failingSince"], "it is told")
        make_due(d)
    equal(delivered(w, d)["attempts"], 4, "attempts")
    equal({r.id for r in R.arrived("/flaky", 4)}, {d["id"]}, "one id")
    equal({r.body for r in R.got("/flaky")}, {R.got("/flaky")[0].body}, "one body")
    true(all(r.is_signed(w["secret"]) for r in R.got("/flaky")), "all are signed")
    equal(R.got("/elsewhere"), [], "a redirect is not followed")
    equal(expect(200, call("GET", path_of(w), key=ADMIN)).json["failingSince"], None, "it is over")
    again = expect(202, call("POST", path_of(w, "/deliveries/%s/redeliver" % d["id"]),
                             key=ADMIN)).json
    equal(again["id"], d["id"], "once more")
    R.arrived("/flaky", 5)


@case
def it_is_sent_at_once():
    w, rounds = hook("/prompt"), 15
    began = time.monotonic()
    for n in range(1, rounds + 1):
        test(w)
        R.arrived("/prompt", n)
    took = time.monotonic() - began
    # wait: milliseconds each; without a notification it would be 2 s each
    true(took < rounds, "%d take %.1f s" % (rounds, took))
    expect(204, call("DELETE", path_of(w), key=ADMIN))


@case
def a_server_that_is_mute_holds_up_neither_others_nor_a_pass():
    R.answers["/mute"] = [MUTE]
    mutes = [hook("/mute") for _ in range(5)]
    for w in mutes:
        for _ in range(4):
            test(w)
    R.arrived("/mute", 5)
    theirs = hook("/theirs", STRANGER)
    test(theirs, STRANGER)
    R.arrived("/theirs")
    equal([x["state"] for w in mutes for x in deliveries(w)].count("delivered"), 0,
          "the others wait")
    # clean-up: a pass does all its work, and takes its few seconds
    s = create()["id"]
    sql("UPDATE session SET expires_at = clock_timestamp() WHERE id = :'v1'", s)
    with service.webhooks_left_alone():
        sql("UPDATE webhook_delivery SET due_at = clock_timestamp() - interval '1 min',"
            " claimed = false WHERE due_at IS NOT NULL")
        sent = len(R.got("/mute"))
        began = time.monotonic()
        status, _, _ = reap()
        took = time.monotonic() - began
    equal((status, get(s)["state"]), (0, "deleted"), "the pass")
    true(len(R.got("/mute")) > sent, "it has tried")
    # wait: the part has 5 s; 20 mute requests one after the other would take 100
    true(took < 60, "it took %.1f s" % took)
    for w in mutes:
        expect(204, call("DELETE", path_of(w), key=ADMIN))


@case
def the_reaper_sends_what_nobody_has_sent():
    w = hook("/left")
    with service.webhooks_left_alone():
        d = test(w)
        equal(reap()[0], 0, "a pass")
        equal(R.got("/left"), [], "what is new is the sender's")
        make_due(d, "1 min")
        equal(reap()[0], 0, "a pass")
        equal([r.id for r in R.got("/left")], [d["id"]], "what is late is the pass's")
        equal(delivery(w, d)["state"], "delivered", "and it is settled")
        sql("UPDATE webhook_delivery SET created_at = created_at - interval '8 days'"
            " WHERE id = :'v1'", d["id"])
        equal(reap()[0], 0, "a pass")
        equal(deliveries(w), [], "after a week it is forgotten")
    expect(204, call("DELETE", path_of(w), key=ADMIN))


@case
def a_sender_that_dies_leaves_nothing_unsent():
    w = hook("/killed")
    R.answers["/killed"] = [HOLD]
    d = test(w)
    R.arrived("/killed")
    pid = service.child("sandlease-hooks")
    os.kill(pid, signal.SIGKILL)
    until("it is gone", lambda: not alive(pid))
    R.release.set()
    equal(delivery(w, d)["state"], "pending", "it is not delivered, so far as is known")
    equal(value("SELECT claimed AND due_at > clock_timestamp() FROM webhook_delivery"
                " WHERE id = :'v1'", d["id"]), "t", "and it is claimed still")
    make_due(d)  # the claim ends
    equal(delivered(w, d)["attempts"], 2, "another sender delivers it")
    equal([r.id for r in R.got("/killed")], [d["id"]] * 2, "with the same id")
    expect(204, call("DELETE", path_of(w), key=ADMIN))


@case
def a_service_that_is_stopped_waits_for_no_server():
    w = hook("/stopping")
    R.answers["/stopping"] = [MUTE]
    d = test(w)
    R.arrived("/stopping")
    began = time.monotonic()
    service.restart()
    R.arrived("/stopping", 2)
    # wait: a server has 2 s to answer; a claim that was not released lasts 60 s
    true(time.monotonic() - began < 50, "it is sent after %.1f s" % (time.monotonic() - began))
    equal(sql("SELECT attempts, last_at IS NULL FROM webhook_delivery WHERE id = :'v1'", d["id"]),
          [["2", "t"]], "the first attempt was left, not waited for")
    expect(204, call("DELETE", path_of(w), key=ADMIN))


@case
def a_server_that_is_gone_disables_its_webhook():
    w = hook("/gone")
    R.answers["/gone"] = [410]
    test(w)
    shown = until("it is disabled", lambda: (lambda x: not x["enabled"] and x)(
        expect(200, call("GET", path_of(w), key=ADMIN)).json))
    equal(shown["reason"], "its server answered 410 Gone", "it says why")
    problem(call("POST", path_of(w, "/test"), key=ADMIN), 409, "webhook_disabled")
    audit = expect(200, call("GET", "/v1/audit?kind=webhook_disabled", key=ADMIN)).json["audit"]
    equal([a["subject"] for a in audit], [w["id"]], "it is in the audit log")
    R.answers["/gone"] = [200]
    back = expect(200, call("PATCH", path_of(w), {"enabled": True}, ADMIN)).json
    equal((back["enabled"], back["reason"]), (True, None), "enabled again")
    delivered(w, test(w))


@case
def a_webhook_is_changed():
    w = hook("/before", events=["session.failed"])
    equal((w["events"], w["enabled"], w["url"]), (["session.failed"], True, R.url("/before")),
          "made")
    true(w["createdBy"].startswith("key:") and w["secret"].startswith("whsec_"), w)
    del w["secret"]
    equal(expect(200, call("GET", path_of(w), key=ADMIN)).json, w, "shown, without the secret")
    true(w in expect(200, call("GET", "/v1/webhooks", key=ADMIN)).json["webhooks"], "listed")
    x = expect(200, call("PATCH", path_of(w), {"url": R.url("/after"), "events": [
        "execution.finished", "session.failed", "session.failed"]}, ADMIN)).json
    equal((x["url"], x["events"], "secret" in x),
          (R.url("/after"), ["execution.finished", "session.failed"], False), "changed")
    rotated = expect(200, call("PATCH", path_of(w), {"rotateSecret": True}, ADMIN)).json
    SECRETS.append(rotated["secret"])
    true(rotated["secret"] not in SECRETS[:-1], "another secret")
    test(w)
    r = R.arrived("/after")[0]
    true(r.is_signed(rotated["secret"]), "signs from now on")
    equal(R.got("/before"), [], "the old URL gets nothing")
    R.answers["/after"] = [500]
    d = test(w)
    settled(w, d)
    expect(200, call("PATCH", path_of(w), {"enabled": False}, ADMIN))
    d = delivery(w, d)
    equal((d["state"], d["lastError"]), ("given_up", "the webhook was disabled"), "what waited")
    equal(expect(200, call("PATCH", path_of(w), {}, ADMIN)).json["enabled"], False, "no change")
    expect(204, call("DELETE", path_of(w), key=ADMIN))
    problem(call("GET", path_of(w), key=ADMIN), 404, "webhook_not_found")
    problem(call("DELETE", path_of(w), key=ADMIN), 404, "webhook_not_found")
    kinds = [a["kind"] for a in expect(200, call("GET", "/v1/audit?limit=200", key=ADMIN)).json[
        "audit"] if a["subject"] == w["id"]]
    equal(kinds, ["webhook_created"] + 4 * ["webhook_changed"] + ["webhook_deleted"], "audit log")


@case
def deliveries_have_pages():
    w = hook("/pages")
    ids = [test(w)["id"] for _ in range(5)]
    first = expect(200, call("GET", path_of(w, "/deliveries?limit=3"), key=ADMIN)).json
    equal([d["id"] for d in first["deliveries"]], ids[:1:-1], "newest first")
    more = expect(200, call("GET", path_of(w, "/deliveries?limit=3&cursor=" +
                                           first["nextCursor"]), key=ADMIN)).json
    equal(([d["id"] for d in more["deliveries"]], more["nextCursor"]), (ids[1::-1], None), "rest")
    R.arrived("/pages", 5)
    expect(204, call("DELETE", path_of(w), key=ADMIN))


@case
def only_an_admin_of_the_org_has_anything_to_do_with_it():
    w = hook("/mine")
    d = test(w)
    delivered(w, d)
    theirs = "/deliveries/" + d["id"] + "/redeliver"
    for method, path, body in (("GET", "", None), ("PATCH", "", {"rotateSecret": True}),
                               ("DELETE", "", None), ("GET", "/deliveries", None),
                               ("POST", "/test", None), ("POST", theirs, None)):
        problem(call(method, path_of(w, path), body, STRANGER), 404, "webhook_not_found")
        for key in (None, new_key("demo", "reader", "--scope", "read")):
            problem(call(method, path_of(w, path), body, key), 403, "forbidden")
    problem(call("GET", "/v1/webhooks"), 403, "forbidden")
    problem(call("POST", "/v1/webhooks", {"url": R.url("/x")}), 403, "forbidden")
    true(w["id"] not in [x["id"] for x in expect(200, call(
        "GET", "/v1/webhooks", key=STRANGER)).json["webhooks"]], "not listed")
    other = hook("/others", STRANGER)
    problem(call("POST", path_of(other, theirs), key=STRANGER), 404, "delivery_not_found")
    problem(call("POST", path_of(w, "/deliveries/x/redeliver"), key=ADMIN), 404,
            "delivery_not_found")
    # what happens in one org is not told to another
    result(create()["id"], command="true")
    R.arrived("/mine", 2)
    equal(R.got("/others"), [], "nothing")
    equal(len(R.got("/mine")), 2, "and nothing was sent again")
    for x, key in ((w, ADMIN), (other, STRANGER)):
        expect(204, call("DELETE", path_of(x), key=key))


@case
def bad_input_is_named():
    w = hook("/good")
    for body, field in (
            ({}, "url"), ({"url": 1}, "url"), ({"url": ""}, "url"), ({"url": "x"}, "url"),
            ({"url": "ftp://example.com/"}, "url"), ({"url": "http://u:p@example.com/"}, "url"),
            ({"url": "http://127.1/"}, "url"), ({"url": "http://[::1]/"}, "url"),
            ({"url": "http://127.0.0.2/"}, "url"), ({"url": "http://10.0.0.1/"}, "url"),
            ({"url": "http://169.254.169.254/latest/"}, "url"),
            ({"url": "http://[::ffff:127.0.0.1]/"}, "url"),
            ({"url": "https://example.com/" + "a" * 2048}, "url"),
            ({"url": "https://example.com", "events": []}, "events"),
            ({"url": "https://example.com", "events": ["test"]}, "events"),
            ({"url": "https://example.com", "events": "session.failed"}, "events"),
            ({"url": "https://example.com", "secret": "x"}, "secret")):
        problem(call("POST", "/v1/webhooks", body, ADMIN), 400, "validation_failed", field)
    for body, field in (({"url": "http://10.0.0.1"}, "url"), ({"enabled": 1}, "enabled"),
                        ({"events": [1]}, "events"), ({"id": "x"}, "id"),
                        ({"rotateSecret": "yes"}, "rotateSecret")):
        problem(call("PATCH", path_of(w), body, ADMIN), 400, "validation_failed", field)
    for query in ("limit=0", "limit=x", "cursor=x", "what=1"):
        expect(400, call("GET", path_of(w, "/deliveries?" + query), key=ADMIN))
    for path in ("/v1/webhooks/x", "/v1/webhooks/" + "a" * 20):
        for method, rest in (("GET", ""), ("DELETE", ""), ("POST", "/test"),
                             ("GET", "/deliveries")):
            problem(call(method, path + rest, key=ADMIN), 404, "webhook_not_found")
    expect(204, call("DELETE", path_of(w), key=ADMIN))


@case
def an_org_has_ten_and_changes_them_sixty_times_at_once():
    key = new_key("many", "boss", "--scope", "admin")
    theirs = hook("/others", STRANGER)
    for _ in range(10):
        w = hook("/many", key)
    r = call("POST", "/v1/webhooks", {"url": R.url("/many")}, key)
    equal(problem(r, 429, "quota_exceeded")["quota"], {"name": "webhooks", "limit": 10, "used": 10},
          "one more")
    sql("UPDATE org SET webhook_turn = clock_timestamp() + interval '1 hour' WHERE id = 'many'")
    for reply in (call("POST", path_of(w, "/test"), key=key),
                  call("PATCH", path_of(w), {}, key), call("DELETE", path_of(w), key=key)):
        equal(problem(reply, 429, "quota_exceeded")["quota"]["name"], "webhookChanges", "a change")
    expect(202, call("POST", path_of(theirs, "/test"), key=STRANGER))
    sql("UPDATE org SET webhook_turn = clock_timestamp() + 59 * interval '6 s'"
        " WHERE id = 'many'")
    expect(202, call("POST", path_of(w, "/test"), key=key))
    problem(call("POST", path_of(w, "/test"), key=key), 429, "quota_exceeded")


@case
def a_certificate_must_be_valid():
    import ssl
    secure = Receiver()
    with tempfile.TemporaryDirectory() as d:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", d + "/key", "-out", d + "/cert"], check=True,
                       capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(d + "/cert", d + "/key")
    secure.server.socket = context.wrap_socket(secure.server.socket, server_side=True)
    w = expect(201, call("POST", "/v1/webhooks", {
        "url": secure.url("/").replace("http:", "https:")}, ADMIN)).json
    equal(settled(w, test(w))["lastError"], "the server's certificate is not valid", "refused")
    equal(secure.requests, [], "nothing was sent")
    expect(204, call("DELETE", path_of(w), key=ADMIN))


@case
def the_receiver_of_the_docs_works():
    with open(os.path.join(service.TOP, "docs/api.md"), encoding="utf-8") as f:
        code = f.read().split("```python\nimport hashlib")[1].split("```")[0]
    w = hook("/", url="http://127.0.0.1:9/")
    free = Receiver()  # its port is used once it is closed
    port = free.port
    free.server.shutdown()
    free.server.server_close()
    receiver = subprocess.Popen(
        [sys.executable, "-u", "-c", "import hashlib" + code.replace("9000", str(port))],
        env={"WEBHOOK_SECRET": w["secret"]}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True)
    try:
        until("it listens", lambda: subprocess.run(
            ["bash", "-c", ": </dev/tcp/127.0.0.1/%d" % port], check=False,
            capture_output=True).returncode == 0)
        expect(200, call("PATCH", path_of(w), {
            "url": "http://127.0.0.1:%d/" % port}, ADMIN))
        d = test(w)
        equal(delivered(w, d)["lastStatus"], 204, "it takes what is signed")
        expect(202, call("POST", path_of(w, "/deliveries/%s/redeliver" % d["id"]), key=ADMIN))
        equal(delivered(w, d)["state"], "delivered", "again")
        SECRETS.append(expect(200, call("PATCH", path_of(w), {"rotateSecret": True},
                                        ADMIN)).json["secret"])
        equal(settled(w, test(w))["lastStatus"], 401, "it refuses another's")
    finally:
        receiver.terminate()
        out = receiver.communicate()[0]
    equal(out, "test None\n", "it has printed the event once")
    expect(204, call("DELETE", path_of(w), key=ADMIN))


@case
def no_secret_is_anywhere():
    true(len(SECRETS) > 15, "secrets were made")
    for table in [r[0] for r in sql("SELECT relname FROM pg_class WHERE relkind = 'r'"
                                    " AND relnamespace = 'public'::regnamespace")]:
        text = "\n".join(r[0] for r in sql("SELECT to_jsonb(x)::text FROM %s x" % table))
        true(not [s for s in SECRETS if s in text], "a row of %s has one" % table)
    logs = os.path.join(service.setting("STACK_STATE"), "log")
    for name in os.listdir(logs):
        with open(os.path.join(logs, name), encoding="utf-8", errors="replace") as f:
            text = f.read()
        true(not [s for s in SECRETS if s in text], "%s has one" % name)
        true("/flaky" not in text, "%s has a webhook's URL" % name)
    text = call("GET", "/v1/audit?limit=200", key=ADMIN).body.decode()
    true("whsec" not in text and "/after" not in text, "the audit log")


@case
def private_addresses_are_refused_unless_the_operator_allows_them():
    w, name = hook("/private"), hook("/named", url=R.url("/named", "localhost"))
    delivered(w, test(w))
    delivered(name, test(name))
    service.configure(webhook_allow_private="")
    service.restart()
    for x in (w, name):  # made before, or by a name: refused when we connect
        d = settled(x, test(x))
        equal((d["state"], d["lastStatus"], d["lastError"]),
              ("pending", None, "its address is not public"), "by the sender")
        with service.webhooks_left_alone():
            make_due(d, "1 min")
            equal(reap()[0], 0, "a pass")
        equal((lambda y: (y["attempts"], y["lastError"]))(delivery(x, d)),
              (2, "its address is not public"), "by the reaper")
    equal((len(R.got("/private")), len(R.got("/named"))), (1, 1), "nothing was sent")
    problem(call("POST", "/v1/webhooks", {"url": R.url("/x")}, ADMIN), 400, "validation_failed",
            "url")
    made = expect(201, call("POST", "/v1/webhooks", {"url": "https://example.com/"}, ADMIN)).json
    expect(204, call("DELETE", path_of(made), key=ADMIN))


sys.exit(run(lambda: None))
