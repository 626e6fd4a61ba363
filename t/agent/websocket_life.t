#!/usr/bin/python3
# idle: it waits for programs that end when nobody is connected for 2 s
"""websocket_life.t: sandlease-ws by itself, with the test as its wrapper."""
import os
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from tap import PATIENCE, case, equal, run_cases, true
from websocket import Refused, WebSocket

PROGRAM = os.path.join(os.path.dirname(os.environ.get("SANDLEASE_AGENT") or os.path.join(
    os.environ.get("top_builddir", "build"), "x")), "sandlease-ws")
IDLE_MS = 2000  # wait: a program that starts has its first client long before
MANY = 256
DIR = tempfile.mkdtemp()


class Program:
    """Started with the first client in its queue, so that it is not idle."""

    def __init__(self, name, idle_ms=IDLE_MS):
        self.path = os.path.join(DIR, name)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path)
        listener.listen(64)
        listener.setblocking(False)
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(PATIENCE)
        first = WebSocket(self.path, "/ws", handshake=False)
        first.send_raw(first.request.serialize())
        self.process = subprocess.Popen([PROGRAM, str(idle_ms)], stdin=listener, stdout=theirs, env={})
        theirs.close()
        first.handshake()
        self.first = first, self.pair()

    def pair(self):
        _, fds, _, _ = socket.recv_fds(self.control, 1 << 16, 1)
        return socket.socket(fileno=fds[0])

    def connect(self):
        return WebSocket(self.path, "/ws"), self.pair()

    def end(self):
        self.process.kill()
        self.process.wait()


def idle_time_passes():
    """Another one, left by its only client later than the one that is watched,
    has ended: who had counted wrong would have ended before."""
    twin = Program("twin")
    leave(*twin.first)
    equal(twin.process.wait(timeout=PATIENCE), 0, "the twin's end")
    os.unlink(twin.path)


def talks(client, pair):
    client.send("hello")
    equal(pair.recv(100)[1:], b"hello", "what the wrapper gets")


def leave(client, pair):
    client.close()
    equal(pair.recv(100), b"", "the wrapper's end")
    pair.close()


@case
def it_lives_as_long_as_one_is_connected():
    p = Program("life")
    stays = p.connect()
    leave(*p.first)
    for _ in range(2):  # each was counted for two once
        leave(*p.connect())
    idle_time_passes()
    equal(p.process.poll(), None, "after more than the idle time")
    talks(*stays)
    leave(*stays)
    equal(p.process.wait(timeout=PATIENCE), 0, "its end, when the last has gone")


@case
def one_whom_the_wrapper_leaves_counts_once_too():
    p = Program("left")
    stays = p.connect()
    p.first[1].close()
    equal(p.first[0].closed(), 1011, "what its client hears")
    idle_time_passes()
    talks(*stays)
    stays[1].close()
    equal(p.process.wait(timeout=PATIENCE), 0, "its end, when the last has gone")


@case
def one_too_many_is_told_so():
    p = Program("many", 60000)
    try:
        all_of_them = [p.first] + [p.connect() for _ in range(MANY - 1)]
        try:
            WebSocket(p.path, "/ws")
            true(False, "it was let in")
        except Refused as r:
            equal((r.status, r.json["code"]), (429, "TOO_MANY_CONNECTIONS"), "the answer")
        leave(*all_of_them.pop())
        talks(*p.connect())
        for pair in all_of_them:
            talks(*pair)
    finally:
        p.end()


@case
def an_end_is_told():
    p = Program("end", 60000)
    p.process.terminate()
    equal(p.first[0].closed(), 1001, "going away")
    equal(p.process.wait(timeout=PATIENCE), 0, "its status")


try:
    run_cases(lambda: None)
finally:
    shutil.rmtree(DIR)
