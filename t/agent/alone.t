#!/usr/bin/python3
"""Tests that a session without siblings has a network of its own, in each generation, though
init is in the same: at first in that which sandlease-launch has made."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, eventually  # noqa: E402
from tap import ok, run, same  # noqa: E402

box = Box(own_launcher=True)
S = box.session()
TCP = "tail -n +2 /proc/net/tcp | wc -l"
# a server that ends a connection first: its side of it stays in TIME_WAIT
TALK = ("python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 8124)); "
        "c = socket.create_connection((\"127.0.0.1\", 8124)); p, _ = s.accept(); p.close(); "
        "c.recv(1); c.close(); print(1)'")


def sh(session, command):
    a = box.run(session, command)
    return (a.get("stdout", "") + a.get("stderr", "")).strip()


def it_has_a_loopback_and_nothing_else():
    same(sh(S, "tail -n +3 /proc/net/dev | cut -d: -f1 | xargs; tail -n +2 /proc/net/route | wc -l"), "lo\n0",
         "its network")
    same(sh(S, TALK), "1", "it can talk to itself")
    same(sh(S, "cut -d' ' -f8- /proc/net/unix | grep -c /"), "0", "no socket of init's has a name in it")
    ok("refused" in sh(S, "(: </dev/tcp/127.0.0.1/22) 2>&1").lower(), "the host is out of reach")


def one_that_comes_later_has_another():
    t = box.session()
    link = "readlink /proc/self/ns/net"
    ok(sh(S, link).startswith("net:") and sh(S, link) != sh(t, link), "the namespaces are two")
    same(sh(t, TCP), "0", "with no connection of the first")
    sh(S, "python3 -m http.server 8125 >/dev/null 2>&1 &")
    ok(eventually(lambda: sh(S, "(: </dev/tcp/127.0.0.1/8125) 2>&1 && echo there") == "there"), "a port of its own")
    ok("refused" in sh(t, "(: </dev/tcp/127.0.0.1/8125) 2>&1").lower(), "is not the other's")
    same(box.ask("kill", session=t, waitMs=10000).get("wrappers"), [], "it ends")
    same(sh(S, "(: </dev/tcp/127.0.0.1/8125) && echo there"), "there", "the first keeps its own")


def the_next_generation_finds_nothing_of_the_last():
    same(sh(S, TALK), "1", "a connection")
    ok(int(sh(S, TCP)) > 0, "leaves a trace", sh(S, "cat /proc/net/tcp"))
    for generation in (2, 3):
        same(box.ask("kill", session=S, waitMs=10000).get("wrappers"), [], "it ends")
        ok(box.launch(S, generation=generation).get("ok"), "the next one starts")
        same(sh(S, TCP), "0", "and sees no trace")
        same(sh(S, TALK), "1", "it can talk to itself")


try:
    run([it_has_a_loopback_and_nothing_else, one_that_comes_later_has_another,
         the_next_generation_finds_nothing_of_the_last])
finally:
    box.close()
