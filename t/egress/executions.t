#!/usr/bin/python3
"""Tests that the requests of an execution are counted, and that their limit is told."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import internet  # noqa: E402
import service  # noqa: E402

service.begin(internet.settings(), egress=True)
from executions import ended, start  # noqa: E402
from network import egress_was_well, ok, same, session  # noqa: E402
from service import at, call, expect, until, value  # noqa: E402
from tap import run  # noqa: E402

net = internet.Internet()
web = net.web("api.example.com")


def counted(sid, n):
    """Waits until so many requests are recorded: they are written once a second."""
    until("%d requests" % n, lambda: value(
        "SELECT requests FROM network_use WHERE session_id = :'v1'", sid) == str(n))


def requests_are_counted_and_limited():
    sid = session("api.example.com", network={"maxRequests": 3})
    gate = "; until [ -e go ]; do sleep 0.02; done; rm go"
    x = start(sid, command="curl -sSf http://api.example.com/1 && curl -sSf http://api.example.com/2"
              + gate)
    counted(sid, 2)
    expect(200, call("POST", at(sid, "/api/execute"), {"command": "touch go"}))
    x = ended(x)
    same((x["state"], x["usage"]["networkRequests"]), ("succeeded", 2), "two requests")
    x = start(sid, command="for i in 1 2 3; do curl -sSf http://api.example.com/$i || fail=1; done"
              + gate + "; exit $fail")
    counted(sid, 3)
    until("the refusal is recorded", lambda: value(
        "SELECT exceeded_at IS NOT NULL FROM network_use WHERE session_id = :'v1'", sid) == "t")
    expect(200, call("POST", at(sid, "/api/execute"), {"command": "touch go"}))
    x = ended(x)
    same((x["state"], x["usage"]["networkRequests"], x["exitCode"]), ("network_exceeded", 1, 1),
         "one was left, the others were refused")
    ok("refused" in x["reason"], "and it says why", x["reason"])


run([requests_are_counted_and_limited, egress_was_well])
