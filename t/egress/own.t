#!/usr/bin/python3
"""Tests that the host's own addresses are refused, also public ones.

The service runs in a network namespace whose loopback device has two public addresses.
"""
import fcntl
import os
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import internet  # noqa: E402
import service  # noqa: E402

OWN = ["11.22.33.44", "2600::1122"]
SETTINGS = internet.settings()
# of <linux/sockios.h> and <linux/if.h>
SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK, IFF_UP = 0x8914, 0x8916, 0x891c, 1


def add_addresses():
    """What `ip link set lo up` and `ip address add` do."""
    def request(name, address):
        return struct.pack("16sHH4s16x", name, socket.AF_INET, 0, socket.inet_aton(address))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as v4, \
            socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as v6:
        fcntl.ioctl(v4, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))
        fcntl.ioctl(v4, SIOCSIFADDR, request(b"lo:1", OWN[0]))
        fcntl.ioctl(v4, SIOCSIFNETMASK, request(b"lo:1", "255.255.255.255"))
        fcntl.ioctl(v6, SIOCSIFADDR, socket.inet_pton(socket.AF_INET6, OWN[1]) +
                    struct.pack("Ii", 128, socket.if_nametoindex("lo")))


if "OWN_NAMESPACE" not in os.environ:
    os.environ["OWN_NAMESPACE"] = "yes"
    os.execvp("unshare", ["unshare", "--net", sys.executable, "-B", os.path.abspath(sys.argv[0])])
if "STACK_DIR" not in os.environ:
    add_addresses()
service.begin(SETTINGS, egress=True)
from network import Denials, egress_was_well, ok, same, session, sh  # noqa: E402
from tap import run  # noqa: E402

net = internet.Internet()
net.web("api.example.com")


def the_hosts_own_addresses_are_refused():
    sid = session("api.example.com", "own.example.com", "own6.example.com")
    same(sh(sid, "curl -sS http://api.example.com/a"), (0, "GET api.example.com /a\n"),
         "an exception is reached")
    net.name("own.example.com", OWN[0])
    own = net.web("own.example.com", address=OWN[0])
    denials = Denials(sid)
    out = sh(sid, "curl -sS http://own.example.com/")[1]
    same(out, "network_denied: own.example.com has no public address\n", "a name of the host")
    denials.tell("private_address", "own.example.com", 80, "is told")
    net.name("own6.example.com", OWN[1])
    out = sh(sid, "curl -sS http://own6.example.com/")[1]
    same(out, "network_denied: own6.example.com has no public address\n", "IPv6")
    denials.tell("private_address", "own6.example.com", 80, "is told, too")
    opened = service.create(network={"mode": "open"})["id"]
    denials = Denials(opened)
    out = sh(opened, "curl -sS http://%s/" % OWN[0])[1]
    same(out, "network_denied: %s has no public address\n" % OWN[0], "an address of the host")
    denials.tell("private_address", OWN[0], 80, "is told in an open session")
    same(own.seen, [], "nothing has arrived")


def an_address_of_another_host_is_not():
    net.name("far.example.com", "11.22.33.45")
    sid = session("far.example.com")
    out = sh(sid, "curl -sS http://far.example.com/")[1]
    ok("network_failed" in out, "a public address is tried; here it has no route", out)


run([the_hosts_own_addresses_are_refused, an_address_of_another_host_is_not, egress_was_well])
