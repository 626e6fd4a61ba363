#!/usr/bin/python3
"""Tests that relay and init do not loop when they have no descriptor left for accept()."""
import os
import resource
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box  # noqa: E402
from tap import PATIENCE, Skip, case, equal, run_cases, true  # noqa: E402

LOOK_S = 1.5  # wait: a busy loop uses less on a slow machine, which never fails the test
SPARE_S = 0.1  # seconds of CPU time; a busy loop takes ten times as much

INIT_POLLS = 66  # entries in init's poll(); with as many descriptors init still takes requests

box = Box()
S = box.session(ports=[8000])
WRAPPER, = box.named("sandlease-wrap")


def used_s(pid):
    with open(f"/proc/{pid}/stat") as f:
        words = f.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Starved:
    """Lowers the descriptor limit of a process to `most`, so that it can open no more.  A
    lower limit would make poll() fail, because poll() refuses a longer list than that."""

    def __init__(self, pid, most):
        self.pid, self.most = pid, most
        self.had = resource.prlimit(pid, resource.RLIMIT_NOFILE)

    def __enter__(self):
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (self.most, self.had[1]))

    def __exit__(self, *_):
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, self.had)


def connected(path, kind=socket.SOCK_STREAM):
    s = socket.socket(socket.AF_UNIX, kind)
    s.settimeout(PATIENCE)
    s.connect(path)
    return s


def waits_quietly(pid, path, kind=socket.SOCK_STREAM, most=4):
    """Checks that a starved process does not loop; returns the client that waits for it."""
    with Starved(pid, most):
        client = connected(path, kind)
        before = used_s(pid)
        time.sleep(LOOK_S)  # wait: see LOOK_S
        took = used_s(pid) - before
    true(took <= SPARE_S, "it took %.2f s of the processor" % took)
    return client


@case
def a_relay_waits_until_there_is_one():
    client = waits_quietly(WRAPPER, box.path(S, 8000))
    client.sendall(b"GET / HTTP/1.0\r\n\r\n")
    equal(client.recv(9), b"HTTP/1.1 ", "the answer, when there is one again")


@case
def init_waits_until_there_is_one():
    init = box.inner()[0]
    if not box.root.there:
        raise Skip("only root can see how many it has")
    asking = []
    while len(box.root.fds(init)) < INIT_POLLS:  # init keeps silent connections open
        asking.append(connected(box.control, socket.SOCK_SEQPACKET))
    client = waits_quietly(init, box.control, socket.SOCK_SEQPACKET, max(box.root.fds(init)) + 1)
    client.send(b'{"op":"ping","incarnation":"%s"}' % box.incarnation.encode())
    true(b'"ok":' in client.recv(4096), "init answers, when there is one again")
    for s in asking:
        s.close()


@case
def websockets_wait_until_there_is_one():
    client = waits_quietly(WRAPPER, box.path(S, "ws"))
    client.sendall(b"GET /ws HTTP/1.1\r\nHost: x\r\n\r\n")
    equal(client.recv(9), b"HTTP/1.1 ", "the answer, when there is one again")


try:
    run_cases(lambda: None)
finally:
    box.close()
