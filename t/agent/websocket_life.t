#!/usr/bin/python3
"""websocket_life.t: tests sandlease-ws by itself; the test plays its wrapper."""
import array
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
MANY = 256
DIR = tempfile.mkdtemp()


class Program:
    def __init__(self, name):
        self.path = os.path.join(DIR, name)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(64)
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen([PROGRAM], stdin=subprocess.DEVNULL, stdout=theirs, env={})
        theirs.close()

    def connect(self, path="/ws"):
        """Returns a client, the wrapper's own descriptor of the connection, and the
        wrapper's end of its pair."""
        client = WebSocket(self.path, path, handshake=False)
        client.send_raw(client.request.serialize())
        accepted, _ = self.listener.accept()
        pair, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pair.settimeout(PATIENCE)
        self.control.sendmsg([b"{}"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array(
            "i", [accepted.fileno(), theirs.fileno()]))])
        theirs.close()
        return client, accepted, pair

    def served(self, path="/ws"):
        client, accepted, pair = self.connect(path)
        client.handshake()
        return client, accepted, pair, pair.recv(1 << 16)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.listener.close()


def leave(client, accepted, pair, *_):
    """The connection closes although the wrapper's own descriptor of it is still open."""
    equal(client.close(), 1000, "a polite end")
    equal(pair.recv(100), b"", "the wrapper's end")
    accepted.close()


def talks(client, pair):
    client.send("hello")
    equal(pair.recv(100)[1:], b"hello", "what the wrapper gets")


@case
def what_was_asked_for_comes_first():
    p = Program("asked")
    equal(p.served()[3], b'{"path":"/ws","args":{}}', "a WebSocket for requests")
    equal(p.served("/ws/pty?sessionId=s&cols=7")[3],
          b'{"path":"/ws/pty","args":{"sessionId":"s","cols":"7"}}', "a terminal")
    p.end()


@case
def the_pair_ends_when_the_connection_was_let_go():
    """The pair stays open until the last frame is sent: its end makes the wrapper close
    the connection."""
    p = Program("life")
    stays = p.served()
    for _ in range(3):
        leave(*p.served())
    client, accepted, pair, _ = p.served()
    accepted.close()
    pair.close()
    equal(client.closed(), 1011, "what a client hears whom the wrapper leaves")
    talks(stays[0], stays[2])
    p.end()


@case
def one_that_is_refused_ends_its_pair_too():
    p = Program("refused")
    client, accepted, pair = p.connect("/nothing")
    try:
        client.handshake()
        true(False, "it was let in")
    except Refused as r:
        equal(r.status, 404, "the answer")
    client.sock.close()
    equal(pair.recv(100), b"", "the wrapper's end")
    p.end()


@case
def one_too_many_is_told_so():
    p = Program("many")
    try:
        all_of_them = [p.served() for _ in range(MANY)]
        client, accepted, pair = p.connect()
        try:
            client.handshake()
            true(False, "it was let in")
        except Refused as r:
            equal((r.status, r.json["code"]), (429, "TOO_MANY_CONNECTIONS"), "the answer")
        client.sock.close()
        equal(pair.recv(100), b"", "its pair ends")
        leave(*all_of_them.pop())
        client, accepted, pair, _ = p.served()
        talks(client, pair)
        for client, accepted, pair, _ in all_of_them:
            talks(client, pair)
    finally:
        p.end()


@case
def an_end_is_told():
    p = Program("end")
    client, accepted, pair, _ = p.served()
    accepted.close()
    p.process.terminate()
    equal(client.closed(), 1001, "going away")
    equal(p.process.wait(timeout=PATIENCE), 0, "its status")


@case
def it_ends_with_its_wrapper():
    p = Program("alone")
    mine = p.served()
    p.control.close()
    equal(p.process.wait(timeout=PATIENCE), 0, "its status")
    equal(mine[2].recv(100), b"", "its end of the pair")


try:
    run_cases(lambda: None)
finally:
    shutil.rmtree(DIR)
