#!/usr/bin/python3
# idle: waits for programs that end when no client has been connected for a while
"""websocket_idle.t: tests that a session has sandlease-ws only while a client is
connected."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from box import Box, eventually
from tap import case, equal, run_cases, true
from websocket import WebSocket

box = Box()


def connect(session):
    return WebSocket(os.path.join(box.dir, "s", "%s.1.ws.sock" % session), "/ws")


def is_served(w):
    w.send({"type": "request", "id": "x", "method": "GET", "path": "/api/ping"})
    equal(w.json()["body"]["message"], "pong", "an answer")


@case
def it_ends_when_nobody_is_connected_and_not_before():
    busy, idle = box.session(), box.session()
    stays, leaves = connect(busy), connect(busy)
    leaves.close()
    w = connect(idle)
    equal(len(box.named("sandlease-ws")), 2, "programs")
    w.close()
    # the busy session's program was started first, so it would have ended first
    true(eventually(lambda: len(box.named("sandlease-ws")) == 1), "one has ended")
    is_served(stays)
    stays.close()
    true(eventually(lambda: not box.named("sandlease-ws")), "the other has ended, too")
    is_served(connect(busy))


try:
    run_cases(lambda: None)
finally:
    box.close()
