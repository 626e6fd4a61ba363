#!/usr/bin/python3
"""Tests that policies take effect at once, that use is counted and limited, and that
sandboxes outlive the end of egress and of the database."""
import os
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import internet  # noqa: E402
import service  # noqa: E402

service.begin(internet.settings(), egress=True)
from network import (Denials, change, egress, egress_was_well, kill_serve, ok, same,  # noqa: E402
                     session, sh)
from service import at, call, expect, until  # noqa: E402
from tap import PATIENCE, run  # noqa: E402

net = internet.Internet()
web = net.web("api.example.com")
other = net.web("other.example.com")
echo = net.echo("echo.example.com", 7000)

HOLD = """
import socket, sys
s = socket.create_connection((sys.argv[1], 7000))
s.sendall(b"one")
print(s.recv(10), flush=True)
try:
    print(s.recv(10), flush=True)
except OSError as e:
    print(type(e).__name__, flush=True)
"""


def hold(sid, host="echo.example.com", key=None):
    """Opens a connection inside that stays; its output is in /workspace/held."""
    sh(sid, "rm -f /workspace/held", key)
    expect(200, call("POST", at(sid, "/api/write"),
                     {"path": "/workspace/hold.py", "content": HOLD}, key))
    expect(200, call("POST", at(sid, "/api/process/start"), {
        "command": "/usr/bin/python3 /workspace/hold.py %s > /workspace/held 2>&1" % host}, key))
    until("a connection", lambda: "one" in held(sid, key))


def held(sid, key=None):
    return sh(sid, "cat /workspace/held", key)[1]


def fetch(sid, host="api.example.com", key=None):
    return sh(sid, "curl -sS -m 20 http://%s/x" % host, key)


def a_change_takes_effect_at_once():
    sid = session("api.example.com", "echo.example.com:7000")
    hold(sid)
    same(fetch(sid)[0], 0, "an allowed host")
    same(fetch(sid, "other.example.com")[0], 6, "another one")
    change(sid, mode="allow", allow=["other.example.com", "echo.example.com:7000"])
    same(fetch(sid, "other.example.com")[0], 0, "is allowed after a change")
    ok(fetch(sid)[0] != 0, "and the first one no longer")
    same(held(sid), "b'one'\n", "a connection that is still allowed stays open")
    denials = Denials(sid)
    change(sid, mode="allow", allow=["other.example.com"])
    until("the end", lambda: "ConnectionResetError" in held(sid))
    ok(True, "one that is no longer allowed is cut")
    denials.tell("policy_changed", "echo.example.com", 7000, "and told")
    change(sid, mode="none")
    ok(fetch(sid, "other.example.com")[0] != 0, "none is nothing")
    same(expect(200, call("PATCH", at(sid), {"network": None})).json["network"]["mode"], "none",
         "null is the org's default")


def a_session_gets_a_network_later():
    sid = service.create()["id"]
    same(fetch(sid)[0], 6, "none by default")
    change(sid, allow=["api.example.com"])
    same(fetch(sid), (0, "GET api.example.com /x\n"), "an allow list alone is a mode")
    change(sid, mode="open")
    same(fetch(sid, "other.example.com")[0], 0, "and later it is open")


def org_class_and_preset_count():
    key = service.new_key("networked", "u")
    service.admin("org", "set", "networked", "--network", "api.example.com")
    sid = service.create(key)["id"]
    same(fetch(sid, key=key)[0], 0, "the org's default")
    service.admin("org", "set", "networked", "--network", "other.example.com")
    until("the new default", lambda: fetch(sid, "other.example.com", key)[0] == 0)
    ok(fetch(sid, key=key)[0] != 0, "follows the org")
    service.admin("preset", "set", "mine", "api.example.com")
    change(sid, key, mode="allow", allow=["@mine"])
    same(fetch(sid, key=key)[0], 0, "a preset")
    service.admin("preset", "set", "mine", "other.example.com")
    until("the new preset", lambda: fetch(sid, "other.example.com", key)[0] == 0)
    ok(fetch(sid, key=key)[0] != 0, "follows its row")
    service.admin("class", "set", "shared", "--network-max", "api.example.com")
    try:
        change(sid, key, mode="allow", allow=["api.example.com", "other.example.com"])
        same(fetch(sid, key=key)[0], 0, "what class and session allow")
        denials = Denials(sid, key)
        ok(fetch(sid, "other.example.com", key)[0] != 0, "not what only the session allows")
        denials.tell("class", "other.example.com", 0, "what the class refuses is told so")
        fetch(sid, "third.example.com", key)
        denials.tell("not_allowed", "third.example.com", 0, "what nobody allows, too")
        same(service.get(sid, key)["network"].get("limitedBy"), "class", "which it says")
        change(sid, key, mode="open")
        ok(fetch(sid, "other.example.com", key)[0] != 0, "not even if it is open")
    finally:
        service.admin("class", "set", "shared", "--network-max", "open")


def an_operators_change_cuts_open_connections():
    key = service.new_key("cut", "u")
    service.admin("preset", "set", "cut", "echo.example.com:7000")
    service.admin("org", "set", "cut", "--network", "@cut")
    sid = session("@cut", key=key)
    theirs = service.create(key)["id"]  # has the org's policy
    for what, words, undo in (
            ("preset", ("preset", "set", "cut", "other.example.com"),
             ("preset", "set", "cut", "echo.example.com:7000")),
            ("class", ("class", "set", "shared", "--network-max", "other.example.com"),
             ("class", "set", "shared", "--network-max", "open"))):
        hold(sid, key=key)
        hold(theirs, key=key)
        denials = Denials(sid, key)
        service.admin(*words)
        try:
            until("the end", lambda: held(sid, key) == held(theirs, key) ==
                  "b'one'\nConnectionResetError\n")
            ok(True, "a " + what + ", of all sessions that it concerns")
            denials.tell("policy_changed", "echo.example.com", 7000, "which is told")
        finally:
            service.admin(*undo)
        until("allowed again", lambda: all(
            sh(one, "getent hosts echo.example.com", key)[0] == 0 for one in (sid, theirs)))
    hold(sid, key=key)
    hold(theirs, key=key)
    service.admin("preset", "set", "cut", "api.example.com,echo.example.com:7000")
    until("the new preset", lambda: fetch(sid, key=key)[0] == fetch(theirs, key=key)[0] == 0)
    same((held(sid, key), held(theirs, key)), ("b'one'\n", "b'one'\n"),
         "one that stays allowed stays open")
    service.admin("org", "set", "cut", "--network", "other.example.com")
    until("the end", lambda: "ConnectionResetError" in held(theirs, key))
    same(held(sid, key), "b'one'\n", "an org's policy is no matter of a session with its own")


def a_change_of_a_profile_counts_for_its_sessions():
    key = service.new_key("profiled", "u", "--scope", "admin")

    def profile(*allow):
        reply = service.call("PUT", "/v1/profiles/caller", {
            "limits": {}, "network": {"allow": list(allow)}}, key)
        ok(reply.status in (200, 201), "a profile: %s" % (allow,), reply)
    profile("echo.example.com:7000")
    sid = service.create(key, agentType="caller")["id"]
    hold(sid, key=key)
    profile("api.example.com")
    until("the end", lambda: "ConnectionResetError" in held(sid, key))
    same(fetch(sid, key=key)[0], 0, "of an org's own")
    service.expect(204, service.call("DELETE", "/v1/profiles/caller", key=key))
    until("no network", lambda: fetch(sid, key=key)[0] != 0)
    service.admin("profile", "set", "caller", "--network", "api.example.com")
    until("a network", lambda: fetch(sid, key=key)[0] == 0)
    ok(True, "and of the service's")


def many_changes_of_one_tenant_keep_nobody_waiting():
    busy, key = session("api.example.com"), service.new_key("patient", "u")
    sid = session("api.example.com", key=key)
    same((fetch(busy)[0], fetch(sid, key=key)[0]), (0, 0), "both have a network")
    # each is a transaction, so that none is left out; reading the row takes some ms
    service.sql("DO $$ BEGIN FOR i IN 1..5000 LOOP"
                " PERFORM pg_notify('sandlease_network', '%s'); COMMIT; END LOOP; END $$" % busy)
    change(sid, key, mode="allow", allow=["echo.example.com:7000"])
    same(fetch(sid, key=key)[0], 6, "a change of another is answered, and counts")
    change(busy, mode="none")
    until("its last change", lambda: fetch(busy)[0] == 6)
    ok(True, "as does the last of them")


def an_abandoned_request_gives_its_place_back():
    silent = net.web("silent.example.com")
    gate = threading.Event()
    silent.pages["/never"] = lambda handler, _: gate.wait(PATIENCE)
    sid = session("silent.example.com")
    sh(sid, "for i in $(seq 30); do curl -s -m 0.3 http://silent.example.com/never & done; wait")
    serve = egress()[1]

    def connected():
        with open("/proc/%d/net/tcp" % serve, encoding="ascii") as f:
            port = "%08X:0050" % int.from_bytes(
                bytes(map(int, silent.address.split("."))), "little")
            return sum(port in line.split()[2] for line in f if line.split()[3] == "01")
    until("all closed", lambda: connected() == 0)
    gate.set()
    ok(True, "its connection to the server is closed")


def a_narrower_policy_ends_what_was_not_checked():
    sid = service.create(network={"mode": "open"})["id"]
    hold(sid)
    change(sid, mode="allow", allow=["echo.example.com:7000"])
    until("the end", lambda: "ConnectionResetError" in held(sid))
    ok(True, "a connection of an open session ends when names count")


def requests_are_limited():
    sid = session("api.example.com", network={"maxRequests": 3})
    denials = Denials(sid)
    for i in range(3):
        same(fetch(sid)[0], 0, "request %d" % (i + 1))
    code, out = fetch(sid)
    ok("network_exceeded" in out, "the fourth is refused", out)
    denials.tell("network_exceeded", "api.example.com", 80, "and told")
    same(service.get(sid)["network"]["requests"], 3, "three are counted")
    change(sid, mode="allow", allow=["api.example.com"], maxRequests=5)
    same([fetch(sid)[1][:3] for _ in range(3)], ["GET", "GET", "net"], "a higher limit gives more")
    raw = session("echo.example.com:7000", network={"maxRequests": 1})
    hold(raw)
    ok("Error" in sh(raw, "/usr/bin/python3 /workspace/hold.py echo.example.com")[1],
       "a connection that is no HTTP counts as one")
    together = session("api.example.com", network={"maxRequests": 10})
    out = sh(together, "for i in $(seq 30); do curl -sS -m 20 http://api.example.com/$i & done; "
                       "wait")[1]
    same(out.count("GET api.example.com"), 10, "ten of thirty at once")


def sandboxes_outlive_egress():
    sid = session("api.example.com", "echo.example.com:7000")
    hold(sid)
    rows = egress()[0]
    kill_serve()
    until("the end", lambda: "ConnectionResetError" in held(sid) or "b''" in held(sid))
    ok(True, "open connections end with the serving process")
    until("another process", lambda: fetch(sid)[0] == 0)
    same(egress()[0], rows, "and another one serves")
    same(service.get(sid)["state"], "ready", "the session did not notice")
    kept = sh(sid, "getent ahostsv4 api.example.com")[1].split()[0]
    kill_serve()
    until("another process", lambda: sh(
        sid, "curl -sS --resolve api.example.com:80:%s http://api.example.com/kept" % kept)[0] == 0)
    ok(True, "an address that was kept means the same name")
    hold(sid)
    os.kill(rows, signal.SIGKILL)
    until("the end", lambda: held(sid).count("\n") == 2)
    ok(fetch(sid)[0] != 0, "without egress there is no network")
    service.stack("egress_start")
    until("the network", lambda: fetch(sid)[0] == 0)
    ok(True, "and it comes back with it")
    change(sid, mode="allow", allow=["other.example.com"])
    ok(fetch(sid)[0] != 0 and fetch(sid, "other.example.com")[0] == 0, "policies, too")


def a_socket_that_was_left_does_no_harm():
    sid = session("api.example.com")
    path = os.path.join(service.setting("STACK_RUN"), "run/egress.sock")
    left = os.stat(path).st_ino
    os.kill(egress()[0], signal.SIGKILL)
    until("the end", lambda: fetch(sid)[0] != 0)
    same(os.stat(path).st_ino, left, "egress leaves its socket when it is killed")
    # egress_start() would remove it
    service.stack("eval", 'daemon_start egress "$SVC_USER" "$(stack_program sandlease-egress)"'
                          ' --config "$(stack_conf_file)"')
    until("the network", lambda: fetch(sid)[0] == 0)
    ok(True, "a session has its network again")
    change(sid, mode="allow", allow=["other.example.com"])
    same(fetch(sid, "other.example.com")[0], 0, "and workers find egress")


def only_one_egress_runs():
    done = service.run("sandlease-egress")
    ok(done.returncode != 0 and b"another sandlease-egress" in done.stderr, "a second one ends",
       done.stderr)


def the_database_may_go_and_come():
    sid = session("api.example.com", "echo.example.com:7000")
    hold(sid)
    service.psql_idle()
    service.stack("pg_stop")
    service.stack("pg_start")
    same(held(sid), "b'one'\n", "an open connection stays")
    until("the network", lambda: fetch(sid)[0] == 0)
    change(sid, mode="allow", allow=["other.example.com"])
    until("the end", lambda: held(sid) != "b'one'\n")
    ok(fetch(sid, "other.example.com")[0] == 0, "and changes take effect again")


def sleep_and_wake_keep_the_policy():
    sid = session("api.example.com")
    call("POST", at(sid, "/sleep"))
    until("sleep", lambda: service.get(sid)["state"] == "asleep")
    same(fetch(sid)[0], 0, "after a wake")
    code, out = fetch(sid, "other.example.com")
    same(code, 6, "and nothing else")


def tenants_do_not_meet():
    a, b = service.new_key("one-org", "a"), service.new_key("two-org", "b")
    mine, theirs = session("api.example.com", key=a), session("other.example.com", key=b)
    denials = Denials(theirs, b)
    ok(fetch(theirs, "api.example.com", b)[0] != 0, "another tenant's host")
    denials.tell("not_allowed", "api.example.com", 0, "is told to the one who tried")
    same(Denials(mine, a).all(), [], "and to no other")
    same(call("PATCH", at(theirs), {"network": {"mode": "open"}}, a).status, 404,
         "nor can a policy be changed")


def a_start_without_egress_says_so():
    service.stack("egress_stop")
    try:
        r = call("POST", "/v1/sessions?wait=60", {"network": {"mode": "open"}})
        ok(r.status == 503 and r.json["code"] == "egress_unavailable", "503 with the remedy", r)
        r = call("POST", "/v1/sessions?wait=60", {})
        same(r.status, 201, "a session without a network starts")
    finally:
        service.stack("egress_start")


def nothing_is_left_behind():
    serve = egress()[1]
    # others are attached again after the last restart
    until("all are served", lambda: service.value(
        "SELECT count(*) FROM session s LEFT JOIN network_use u ON u.session_id = s.id"
        " WHERE s.state = 'ready' AND network_mode(s) <> 'none' AND u.ports IS NULL") == "0")

    def descriptors():
        return len(os.listdir("/proc/%d/fd" % serve))
    before = descriptors()
    made = [session("api.example.com") for _ in range(5)]
    for sid in made:
        fetch(sid)
    ok(descriptors() > before, "sessions have sockets")
    for sid in made:
        ok(call("DELETE", at(sid)).status in (200, 202), "a session is deleted")
    until("all gone", lambda: descriptors() <= before)
    ok(True, "deleted ones have none")


run([a_change_takes_effect_at_once, a_session_gets_a_network_later, org_class_and_preset_count,
     an_operators_change_cuts_open_connections, a_change_of_a_profile_counts_for_its_sessions,
     many_changes_of_one_tenant_keep_nobody_waiting, an_abandoned_request_gives_its_place_back,
     a_narrower_policy_ends_what_was_not_checked, requests_are_limited, sandboxes_outlive_egress,
     a_socket_that_was_left_does_no_harm, only_one_egress_runs, the_database_may_go_and_come,
     sleep_and_wake_keep_the_policy, tenants_do_not_meet, a_start_without_egress_says_so,
     nothing_is_left_behind, egress_was_well])
