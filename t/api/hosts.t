#!/usr/bin/python3
"""hosts.t: tests two API hosts on one database.  Every route is called at the host that
does not have the sandbox: that host changes only the rows that it may change, and the
host that has the sandbox carries out the rest."""
import os
import re
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import PreviewSocket, Running, age, expose, fetch, generation, state
from hosts import Host, rows
from service import (at, call, create, execute, expect, get, new_key, problem, setting, sql,
                     until, value)
from tap import Skip, case, equal, run, true
from websocket import Closed, WebSocket

service.begin("host_name = east")

EAST = Host("east", first=True)
WEST = Host("west")
ADMIN = new_key("demo", "demo", "--scope", "admin")
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket",
           "Sec-WebSocket-Version": "13",
           "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}

S = create(name="here", isolation="session", correlationKeys=["k"], wakeOnPreview=True)["id"]
PREVIEW = expose(S)
SNAPSHOT = expect(201, call("POST", at(S, "/snapshots"), {})).json["id"]
WEBHOOK = expect(201, call("POST", "/v1/webhooks", {
    "url": "https://example.invalid/", "events": ["session.failed"]}, ADMIN)).json["id"]
DELIVERY = "d" * 20
EXECUTION = expect(202, call("POST", at(S, "/executions"), {"command": "sleep 1000"})).json["id"]
TRIGGER_BODY = {"schedule": "@yearly", "run": {"agentType": "VALIDATION", "command": "echo done",
                                                "correlationKeys": ["k"]}}
TRIGGER = expect(201, call("POST", "/v1/triggers", {"name": "here", **TRIGGER_BODY})).json["id"]
SANDBOX = get(S)["sandboxId"]
OTHERS = ["session", "lease", "event"]

# The status that the wrong host answers, and the tables that it may write.  The test
# fails if a route of src/api/route/routes.c is missing here.
CONTROL = {
    ("GET", "/v1/live"): (204, []),
    ("GET", "/v1/health"): (200, []),
    ("GET", "/v1/classes"): (200, []),
    ("GET", "/v1/presets"): (200, []),
    ("GET", "/v1/profiles"): (200, []),
    ("GET", "/v1/profiles/:type"): (200, []),
    ("PUT", "/v1/profiles/:type"): (201, ["profile", "org", "audit"], {"limits": {}}),
    ("DELETE", "/v1/profiles/:type"): (204, ["profile", "org", "audit"]),
    ("GET", "/v1/openapi.json"): (200, []),
    ("POST", "/v1/login"): (403, []),
    ("DELETE", "/v1/login"): (403, []),
    ("GET", "/v1/me"): (200, []),
    ("GET", "/v1/usage"): (200, []),
    ("GET", "/v1/usage/days"): (200, []),
    ("GET", "/v1/profiles/:type/suggestion"): (200, []),
    ("POST", "/v1/sessions"): (503, [], {"name": "here"}),
    ("POST", "/v1/executions"): (503, [], {"agentType": "VALIDATION", "command": "true",
                                           "correlationKeys": ["k"]}),
    ("POST", "/api/agents/execute"): (503, [], {"agentType": "VALIDATION", "command": "true",
                                                "correlationKeys": ["k"]}),
    ("GET", "/v1/sessions"): (200, []),
    ("GET", "/v1/sessions/:id"): (200, []),
    ("PATCH", "/v1/sessions/:id"): (503, [], {"env": {"A": "1"}, "keepAlive": True}),
    ("POST", "/v1/sessions/:id/resume"): (503, []),
    ("POST", "/v1/sessions/:id/extend"): (200, OTHERS, {"seconds": 60}),
    ("POST", "/v1/sessions/:id/interrupt"): (202, OTHERS),
    ("GET", "/v1/sessions/:id/agent-log"): (503, []),
    ("GET", "/v1/sessions/:id/events"): (200, []),
    ("PUT", "/v1/sessions/:id/aliases"): (200, ["alias", *OTHERS], {"keys": ["k"]}),
    ("DELETE", "/v1/sessions/:id/aliases"): (200, ["alias", *OTHERS]),
    ("POST", "/v1/sessions/:id/ports"): (503, [], {"port": 8001}),
    ("GET", "/v1/sessions/:id/ports"): (200, []),
    ("POST", "/v1/sessions/:id/tickets"): (201, ["ticket"], {"for": "ws"}),
    ("POST", "/v1/sessions/:id/snapshots"): (503, [], {}),
    ("POST", "/v1/sessions/:id/executions"): (202, ["execution", *OTHERS], {"command": "true"}),
    ("GET", "/v1/sessions/:id/executions"): (200, []),
    ("GET", "/v1/executions"): (200, []),
    ("GET", "/v1/executions/:execution"): (200, []),
    ("GET", "/v1/executions/:execution/logs"): (503, []),
    ("GET", "/v1/executions/:execution/stream"): (307, []),
    ("GET", "/v1/executions/:execution/recording"): (409, []),
    ("GET", "/v1/executions/:execution/artifacts"): (409, []),
    ("DELETE", "/v1/executions/:execution"): (202, ["execution", *OTHERS]),
    ("GET", "/v1/sessions/:id/snapshots"): (200, []),
    ("GET", "/v1/snapshots"): (200, []),
    ("GET", "/v1/snapshots/:snapshot"): (200, []),
    ("GET", "/v1/sessions/:id/statistics"): (503, []),
    ("GET", "/v1/sessions/:id/statistics/history"): (200, []),
    ("GET", "/v1/sandboxes/:sandbox/statistics"): (503, []),
    ("GET", "/v1/sandboxes/:sandbox/statistics/history"): (200, []),
    ("POST", "/v1/webhooks"): (201, ["webhook", "org", "audit"], {"url": "https://example.invalid/",
                                                                  "events": ["session.failed"]}),
    ("GET", "/v1/webhooks"): (200, []),
    ("GET", "/v1/webhooks/:webhook"): (200, []),
    ("PATCH", "/v1/webhooks/:webhook"): (200, ["webhook", "org", "audit"], {"rotateSecret": True}),
    ("GET", "/v1/webhooks/:webhook/deliveries"): (200, []),
    ("POST", "/v1/webhooks/:webhook/test"): (202, ["webhook", "webhook_delivery", "org"]),
    ("POST", "/v1/webhooks/:webhook/deliveries/:delivery/redeliver"): (
        404, ["webhook", "webhook_delivery", "org"]),
    ("DELETE", "/v1/webhooks/:webhook"): (204, ["webhook", "webhook_delivery", "org", "audit"]),
    ("POST", "/v1/triggers"): (201, ["org_trigger"], {"name": "there", **TRIGGER_BODY}),
    ("GET", "/v1/triggers"): (200, []),
    ("GET", "/v1/triggers/:trigger"): (200, []),
    ("PATCH", "/v1/triggers/:trigger"): (200, ["org_trigger"], {"name": "elsewhere"}),
    ("DELETE", "/v1/triggers/:trigger"): (204, ["org_trigger"]),
    ("GET", "/v1/audit"): (200, []),
    ("GET", "/v1/reaper/runs"): (200, []),
    ("POST", "/v1/sessions/:id/api/expose-port"): (503, [], {"port": 8001}),
    ("GET", "/v1/sessions/:id/api/exposed-ports"): (200, []),
}
# After such a request the right host writes rows of its own accord.  The test waits for
# these before it compares rows.
THEN = {
    ("POST", "/v1/sessions/:id/executions"): lambda reply: until(
        "its wrapper has taken the execution",
        lambda: value("SELECT limits_by FROM execution WHERE id = :'v1'", reply.json["id"])),
}
# Requests that the right host carries out later; each has a case below.
STOP_KINDS = {
    ("POST", "/v1/sessions/:id/sleep"),
    ("DELETE", "/v1/sessions/:id"),
    ("DELETE", "/v1/sessions/:id/snapshots/:snapshot"),
    ("DELETE", "/v1/snapshots/:snapshot"),
    ("DELETE", "/v1/sessions/:id/ports/:port"),
    ("POST", "/v1/sessions/:id/ports/:port/rotate"),
    ("DELETE", "/v1/sessions/:id/api/exposed-ports/:port"),
}


def routes(file):
    with open(os.path.join(service.TOP, file), encoding="utf-8") as f:
        return re.findall(r'^\t\{ "([A-Z]+)", +"(/[^"]*)"', f.read(), re.M)


def path_of(pattern):
    for name, text in ((":id", S), (":port", "8000"), (":snapshot", SNAPSHOT),
                       (":execution", EXECUTION), (":trigger", TRIGGER), (":type", "VALIDATION"),
                       (":sandbox", SANDBOX), (":webhook", WEBHOOK), (":delivery", DELIVERY)):
        pattern = pattern.replace(name, text, 1)
    return pattern


def says_where(reply, what):
    """Checks for a retryable 503 that names the host that has the sandbox."""
    doc = reply.json
    equal(reply.status, 503, what + " %r" % reply)
    true("east" in doc.get("detail", doc.get("message", doc.get("error"))),
         what + ": the message names the host: %r" % doc)
    if "context" in doc:  # the error format of the data plane
        equal([doc["context"].get(k) for k in ("reason", "host", "retryable")],
              ["other_host", "east", True], what)
    elif "retryable" in doc:
        equal([doc["code"], doc["host"], doc["retryable"]],
              ["other_host", "east", True], what)
    true(reply.header("Retry-After"), what + ": when to try again")


def unchanged(what, before, *without):
    now = rows(*without)
    equal((sorted(before - now), sorted(now - before)), ([], []),
          what + ": rows that are gone, rows that are new")


@case
def every_route_of_the_control_plane_is_in_the_table():
    equal(sorted(set(routes("src/api/route/routes.c")) - set(CONTROL) - STOP_KINDS), [],
          "routes that nobody tries at the wrong host")


@case
def the_control_plane_at_the_wrong_host_changes_only_what_is_meant():
    age(S, 40)  # old enough that activity would be written
    for (method, pattern), (status, meant, *body) in CONTROL.items():
        what = method + " " + pattern
        before = rows(*meant)
        reply = WEST.call(method, path_of(pattern), body[0] if body else None, ADMIN)
        equal(reply.status, status, what + " %r" % reply)
        if status == 503:
            says_where(reply, what)
        THEN.get((method, pattern), lambda reply: None)(reply)
        unchanged(what, before, *meant)
    equal(state(S)[::2], ["ready", "owns_wrapper"], "it goes on")


@case
def executions_are_carried_out_by_the_right_host():
    def state(x):
        return value("SELECT state FROM execution WHERE id = :'v1'", x)
    x = expect(202, WEST.call("POST", at(S, "/executions"), {"command": "sleep 1000"})).json["id"]
    # the one that the case before has cancelled is before it
    until("it runs", lambda: service.reap()[0] == 0 and
          call("GET", "/v1/executions/" + x).json["state"] == "running")
    equal(WEST.call("DELETE", "/v1/executions/" + x).status, 202, "cancelled at the wrong host")
    until("it has ended", lambda: service.reap()[0] == 0 and state(x) == "cancelled")


@case
def a_trigger_is_carried_out_where_its_session_is():
    expect(200, call("PUT", at(S, "/aliases"), {"keys": ["k"]}))
    t = expect(201, WEST.call("POST", "/v1/triggers", {"name": "both", **TRIGGER_BODY})).json
    sql("UPDATE org_trigger SET next_at = clock_timestamp() - interval '1 s'"
        " WHERE id = :'v1'", t["id"])
    WEST.reap()
    now = WEST.call("GET", "/v1/triggers/" + t["id"]).json
    equal((now["lastExecutionId"], "east" in now["lastError"]), (None, True), "not here: %r" % now)
    equal(service.reap()[0], 0, "the pass of the right host")
    now = WEST.call("GET", "/v1/triggers/" + t["id"]).json
    equal((now["lastError"], now["missed"]), (None, 0), "there")
    equal(value("SELECT session_id FROM execution WHERE id = :'v1'", now["lastExecutionId"]), S,
          "in the session that has the key")
    expect(204, call("DELETE", "/v1/triggers/" + t["id"]))


@case
def a_create_that_finds_it_or_needs_its_sandbox_is_sent_to_the_right_host():
    create(name="shared")  # the owner's shared sandbox is on the host `east` from now on
    before = rows()
    for wish in ({"correlationKeys": ["k2", "k"]}, {"name": "shared"}, {"name": "another"},
                 {"snapshot": SNAPSHOT, "isolation": "session"}):
        expect(200, call("PUT", at(S, "/aliases"), {"keys": ["k"]}))
        before = rows()
        reply = WEST.call("POST", "/v1/sessions", wish,
                          headers={"Idempotency-Key": "once"})
        says_where(reply, repr(wish))
        unchanged(repr(wish), before)
    own = expect(201, WEST.call("POST", "/v1/sessions", {"isolation": "session"})).json["id"]
    equal(value("SELECT b.host FROM session s JOIN sandbox b ON b.id = s.sandbox_id"
                " WHERE s.id = :'v1'", own), "west",
          "one of its own is made where it was asked for")
    expect(200, WEST.call("DELETE", at(own)))


def data_plane():
    """Returns (method, path, headers) of every request that nginx sends to a wrapper or relay."""
    for method, pattern in routes("src/agent/api/routes.c"):
        yield method, at(S, pattern.replace(":id", "x").replace("*", "f")), {}
    for rest in ("/ws", "/api/ws", "/ws/pty"):
        yield "GET", at(S, rest), UPGRADE
    yield "GET", at(S, "/proxy/8000/"), {}
    yield "GET", at(S, "/proxy/8000/ws"), UPGRADE


def try_data_plane(what):
    before, n = rows(), 0
    for method, path, headers in data_plane():
        says_where(WEST.call(method, path, {"command": "touch /workspace/wrong"}
                             if method == "POST" else None, headers=headers),
                   "%s %s, %s" % (method, path, what))
        n += 1
    for path in ("/", "/ws"):
        reply = service.call("GET", path, None, "", dict(
            UPGRADE if path == "/ws" else {}, Host=PREVIEW), to=WEST.port)
        equal((reply.status, reply.json["code"]), (503, "OTHER_HOST"),
              "preview, %s" % what)
    true(n > 50, "routes were found: %d" % n)
    unchanged("data plane, " + what, before)


@case
def a_data_plane_call_at_the_wrong_host_changes_nothing():
    was = generation(S)
    execute(S, "nohup sleep 86400 >/dev/null 2>&1 & echo $! >/workspace/pid")
    age(S, 40)
    try_data_plane("ready")
    execute(S, "kill -0 $(cat /workspace/pid) && ! test -e /workspace/wrong")
    equal(generation(S), was, "the same life of the session")
    expect(200, call("POST", at(S, "/sleep")))
    try_data_plane("asleep")
    equal(get(S)["state"], "asleep", "nobody woke it")
    expect(200, call("POST", at(S, "/resume")))


@case
def a_ticket_is_not_used_up_at_the_wrong_host():
    url = expect(201, call("POST", at(S, "/tickets"), {"for": "ws"})).json["url"]
    path = "/" + url.split("/", 3)[3]
    says_where(WEST.call("GET", path, key="", headers=UPGRADE), "ticket")
    WebSocket(("127.0.0.1", EAST.port), path).close()


@case
def a_start_under_way_is_left_to_its_host():
    reply = call("POST", "/v1/sessions?wait=0", {
        "isolation": "session",
        # wait: the setup sleeps between two looks
        "setup": "echo begun; until test -e /workspace/go; do sleep 0.1; done"})
    sid = expect(202, reply).json["id"]
    until("its setup was heard", lambda: value(
        "SELECT setup_offset FROM session WHERE id = :'v1'", sid) != "0")
    before = rows()
    equal(expect(200, WEST.call("GET", at(sid))).json["state"], "initializing", "GET")
    says_where(WEST.call("POST", at(sid, "/resume")), "resume")
    says_where(WEST.call("POST", at(sid, "/api/execute"), {"command": "true"}), "execute")
    unchanged("a start", before)
    before = rows("reaper_run", "sighting", "host")
    equal(WEST.reap()["failures"], 0, "failures of the wrong host's pass")
    unchanged("a pass of the wrong host", before, "reaper_run", "sighting", "host")
    expect(200, call("DELETE", at(sid)))


# ---- requests: a row on which the right host acts

def wish(method, path, status, body=None):
    """Sends the request to the wrong host, whose passes then do nothing about it."""
    reply = expect(status, WEST.call(method, path, body))
    before = rows("reaper_run", "sighting", "host")
    equal(WEST.reap()["failures"], 0, "failures of the wrong host's pass")
    unchanged("a pass of the wrong host", before, "reaper_run", "sighting", "host")
    return reply


def attempts(sid):
    return sql("SELECT state, attempts FROM lease WHERE session_id = :'v1'", sid)[0]


@case
def a_deletion_asked_for_at_the_wrong_host_is_done_by_the_right_one():
    for isolation in ("session", "shared"):
        sid = create(isolation=isolation)["id"]
        execute(sid, "nohup sleep 86400 >/dev/null 2>&1 &")
        equal(wish("DELETE", at(sid), 202).json["state"], "deleting", "state")
        equal(attempts(sid), ["stop_needed", "0"], "no attempt was spent on it")
        equal(EAST.reap()["failures"], 0, "failures")
        equal(get(sid)["state"], "deleted", "after a pass of the right host")


@case
def a_sleep_asked_for_at_the_wrong_host_is_done_by_the_right_one():
    sid = create(isolation="session")["id"]
    equal(wish("POST", at(sid, "/sleep"), 202).json["state"], "sleeping", "state")
    equal(attempts(sid), ["stop_needed", "0"], "no attempt was spent on it")
    # the wrong host cannot resume the session either
    says_where(WEST.call("POST", at(sid, "/resume")), "resume")
    EAST.reap()
    equal(get(sid)["state"], "asleep", "after a pass of the right host")
    execute(sid, "true")
    expect(200, call("DELETE", at(sid)))


@case
def a_freeze_asked_for_at_the_wrong_host_is_done_by_the_right_one():
    if setting("CGROUP") == "none":
        raise Skip("no cgroup is delegated: nothing can be frozen")
    sid = create(isolation="session", suspend=True)["id"]
    was = generation(sid)
    equal(wish("POST", at(sid, "/sleep"), 202).json["state"], "sleeping", "state")
    EAST.reap()
    s = get(sid)
    equal((s["state"], s["suspended"], s["lease"]["state"]),
          ("asleep", True, "owns_wrapper"), "after a pass of the right host")
    says_where(WEST.call("POST", at(sid, "/resume")), "resume")
    execute(sid, "true")
    equal(generation(sid), was, "it went on")
    expect(200, call("DELETE", at(sid)))


@case
def an_interruption_asked_for_at_the_wrong_host_is_done_by_the_right_one():
    sid = create(isolation="session")["id"]
    command = Running(sid, "echo on >/workspace/on; sleep 86400")
    until("it runs", lambda: execute(sid, "cat /workspace/on || true", sessionId="look"))
    problem(WEST.call("POST", at(sid, "/interrupt"), {"sessionId": "default"}), 503, "other_host")
    reply = WEST.call("POST", at(sid, "/interrupt"))
    equal((reply.status, reply.json["interrupted"]), (202, None), "interrupt")
    equal(WEST.reap()["failures"], 0, "failures of the wrong host's pass")
    equal(command.reply, None, "it still runs")
    # a pass leaves the interrupt for a while to the worker that got the request
    until("a pass interrupts it", lambda: EAST.reap() and command.reply)
    expect(200, command.result())
    equal(get(sid)["state"], "ready", "it goes on")
    expect(200, call("DELETE", at(sid)))


@case
def a_snapshot_deleted_at_the_wrong_host_goes_at_the_right_one():
    for path in (at(S, "/snapshots/"), "/v1/snapshots/"):
        sid = expect(201, call("POST", at(S, "/snapshots"), {})).json["id"]
        wish("DELETE", path + sid, 204)
        expect(404, WEST.call("GET", "/v1/snapshots/" + sid))
        equal(value("SELECT count(*) FROM snapshot WHERE id = :'v1'", sid), "1", "its row")
        EAST.reap()
        equal(value("SELECT count(*) FROM snapshot WHERE id = :'v1'", sid), "0",
              "its row, after a pass of the right host")


def ends(socket):
    try:
        while True:
            socket.recv()
    except Closed:
        return True


@case
def a_port_that_is_taken_back_at_the_wrong_host_closes_at_the_right_one():
    sid = create(isolation="session")["id"]
    for n, (method, rest) in enumerate((
            ("DELETE", "/ports/%d"), ("POST", "/ports/%d/rotate"),
            ("DELETE", "/api/exposed-ports/%d"))):
        host = expose(sid, 9000 + n)
        socket = PreviewSocket(host)
        equal(socket.echo(), "hello", "it is open")
        reply = WEST.call(method, at(sid, rest % (9000 + n)))
        true(reply.status in (200, 202), "%s %s: %r" % (method, rest, reply))
        equal(fetch(host).status, 404, "the URL has ended at once")
        WEST.reap()
        equal(socket.echo(), "hello", "what is open is not the wrong host's to end")
        equal(EAST.reap()["failures"], 0, "failures")
        true(ends(socket), "a pass of the right host ends it")
    expect(200, call("DELETE", at(sid)))


@case
def a_revoked_key_s_connections_end_at_their_own_host():
    key = new_key("guests", "g")
    sid = create(key, isolation="session")["id"]
    socket = WebSocket(("127.0.0.1", EAST.port), at(sid, "/ws"),
                       {"Authorization": "Bearer " + key})
    key_id = value("SELECT key_id FROM session WHERE id = :'v1'", sid)
    equal(WEST.run("sandlease-admin", "key", "revoke", key_id).returncode, 0, "revoke")
    equal(EAST.reap()["failures"], 0, "failures")
    true(ends(socket), "a pass of the right host ends its WebSockets")


@case
def a_drain_at_one_host_waits_for_the_other_and_is_carried_out_there():
    until("the other host's sessions", lambda: state(S)[0] == "ready")
    done = []
    drain = threading.Thread(target=lambda: done.append(
        WEST.run("sandlease-admin", "drain", "--timeout", "600")), daemon=True)
    drain.start()
    until("it is draining", lambda: value("SELECT draining FROM installation") == "t")
    until("its wishes", lambda: state(S)[0] == "sleeping")
    true(not done, "it waits while the other host's sandboxes run")
    until("it ends", lambda: EAST.reap() and done)
    equal(done[0].returncode, 0, "drain: " + done[0].stderr)
    equal(sql("SELECT id FROM sandbox WHERE state IN ('creating', 'running')"), [],
          "sandboxes that run")
    service.admin("undrain")


run(lambda: None)
