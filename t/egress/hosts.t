#!/usr/bin/python3
"""hosts.t: tests two hosts with one database.  Each has a sandlease-egress that serves
the sessions of its host alone, and follows changes that were made at the other one."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import internet  # noqa: E402
import service  # noqa: E402

service.begin(internet.trusting_settings() + "host_name = east\n")
from hosts import Host  # noqa: E402
from network import egress_was_well, ok, same  # noqa: E402
from service import at, expect, until  # noqa: E402
from tap import run  # noqa: E402

net = internet.Internet()
net.trust()
web = net.web("api.example.com")
other = net.web("other.example.com")
safe = net.web("safe.example.com", 443, tls=True)
EAST, WEST = Host("east", first=True), Host("west")
service.stack("egress_start")
service.stack("host_on", "west", "egress_start")
HOSTS = ((EAST, WEST), (WEST, EAST))
ALLOWED = {"mode": "allow", "allow": ["api.example.com", "safe.example.com"]}
SECRETS = [{"host": "safe.example.com", "header": "x-api-key", "value": "s3cret-of-both"}]


def create(host, **more):
    return expect(201, host.call("POST", "/v1/sessions?wait=60",
                                 dict(more, isolation="session"))).json["id"]


def fetch(host, sid, url="http://api.example.com/x"):
    r = expect(200, host.call("POST", at(sid, "/api/execute"),
                              {"command": "curl -fsS -m 20 %s 2>&1" % url})).json
    return r["exitCode"], r["stdout"]


def used(sid):
    return service.get(sid)["network"]["requests"]


def each_host_serves_its_own_sessions():
    for here, there in HOSTS:
        sid = create(here, network=ALLOWED)
        same(fetch(here, sid), (0, "GET api.example.com /x\n"), here.name + ": a session's request")
        until("the count", lambda: used(sid) == 1)
        same(expect(200, there.call("GET", at(sid))).json["network"]["requests"], 1,
             "is counted once, for both")


def a_change_at_the_other_host_counts():
    for here, there in HOSTS:
        sid = create(here, network=ALLOWED)
        same(fetch(here, sid)[0], 0, here.name + ": allowed")
        expect(200, there.call("PATCH", at(sid), {"network": {
            "mode": "allow", "allow": ["other.example.com"]}}))
        until("the new host", lambda: fetch(here, sid, "http://other.example.com/x")[0] == 0)
        ok(fetch(here, sid)[0] != 0, "taken away at the other host")
        expect(200, there.call("PATCH", at(sid), {"network": {"mode": "none"}}))
        until("none", lambda: fetch(here, sid, "http://other.example.com/x")[0] != 0)
        ok(True, "all of it, too")


def both_have_one_authority_and_all_secrets():
    for here, there in HOSTS:
        sid = create(here, network=ALLOWED, secrets=SECRETS)
        same(fetch(here, sid, "https://safe.example.com/x")[0], 0, here.name + ": TLS is trusted")
        same(safe.headers().get("x-api-key"), "s3cret-of-both", "the secret is added")
        expect(200, there.call("PATCH", at(sid), {"secrets": []}))
        until("no secret", lambda: fetch(here, sid, "https://safe.example.com/x")[0] == 60)
        ok(True, "and no longer, when it was taken away at the other host")


def the_end_of_one_does_not_concern_the_other():
    sessions = [(host, create(host, network=ALLOWED)) for host in (EAST, WEST)]
    west = int(service.stack("host_on", "west", "daemon_pid", "egress"))
    os.kill(west, signal.SIGKILL)
    until("the end", lambda: fetch(WEST, sessions[1][1])[0] != 0)
    same(fetch(EAST, sessions[0][1])[0], 0, "a session of the host that has one")
    service.stack("host_on", "west", "egress_start")
    until("the network again", lambda: fetch(WEST, sessions[1][1])[0] == 0)
    ok(True, "and one of the other, after a start")


run([each_host_serves_its_own_sessions, a_change_at_the_other_host_counts,
     both_have_one_authority_and_all_secrets, the_end_of_one_does_not_concern_the_other,
     egress_was_well])
