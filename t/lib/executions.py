"""executions.py: makes executions through nginx and waits for them."""
import time

from service import at, call, expect
from tap import PATIENCE


def post(sid, wait=0, key=None, **body):
    return call("POST", at(sid, "/executions?wait=%d" % wait), body, key=key)


def start(sid, **body):
    return expect(202, post(sid, **body)).json


def ended(x, key=None):
    """Waits for the end of an execution."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        x = expect(200, call("GET", "/v1/executions/%s?wait=10" % x["id"], key=key)).json
        if x["endedAt"]:
            return x
    raise AssertionError("it does not end: %r" % x)


def result(sid, **body):
    return ended(start(sid, **body))


def how(x):
    return x["state"], x["exitCode"], x["signal"]


def logs(x, stream=None):
    """All output, as text."""
    out, offset = "", 0
    while True:
        r = expect(200, call("GET", "/v1/executions/%s/logs?wait=5&offset=%d%s" % (
            x["id"], offset, "&stream=" + stream if stream else ""))).json
        out += "".join(o["data"] for o in r["output"])
        if r["done"]:
            return out
        offset = r["next"]
