#!/usr/bin/python3
"""Tests networks of sandboxes on a kernel without a packet filter for them."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import internet  # noqa: E402
import service  # noqa: E402

service.begin(internet.settings() + "egress_filter = none\n", egress=True)
from network import (Denials, change, egress_was_well, ok, python, same, session,  # noqa: E402
                     sh)
from service import until  # noqa: E402
from tap import run  # noqa: E402

net = internet.Internet()
web = net.web("api.example.com")
high = net.web("api.example.com", 8443, address=web.address)
echo = net.echo("api.example.com", 7000, b"hi\n", address=web.address)

READ = ("import socket\ns = socket.create_connection((%r, %d), 10)\nprint(s.recv(10))")


def ports(sid):
    return service.get(sid)["network"]["ports"]


def the_ports_of_a_policy_are_served():
    sid = session("api.example.com", "api.example.com:7000")
    same(sh(sid, "curl -sS http://api.example.com/a")[1], "GET api.example.com /a\n", "port 80")
    same(python(sid, READ % ("api.example.com", 7000)), "b'hi\\n'", "another one")
    same(until("the ports", lambda: ports(sid)), [80, 443, 7000], "the session says which")
    ok("Refused" in python(sid, READ % ("api.example.com", 8443)), "and no other")
    change(sid, mode="allow", allow=["api.example.com:8443"])
    same(sh(sid, "curl -sS http://api.example.com:8443/b")[1],
         "GET api.example.com:8443 /b\n", "a port that comes later")
    denials = Denials(sid)
    ok("Error" in python(sid, READ % ("api.example.com", 7000)), "one that is taken away")
    denials.tell("not_allowed", "api.example.com", 7000, "is refused and told")


def there_is_no_route_to_anything_else():
    sid = session("api.example.com")
    for address in ("192.0.2.1", "169.254.169.254", "2001:db8::1"):
        ok("unreachable" in python(sid, READ % (address, 443)), address)
    ok("unreachable" in python(sid, "import socket\nsocket.socket(socket.AF_INET, "
                                    "socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))"), "UDP")


def an_open_network_has_common_ports():
    sid = service.create(network={"mode": "open"})["id"]
    same(sh(sid, "curl -sS http://api.example.com/a")[1], "GET api.example.com /a\n", "port 80")
    listed = until("the ports", lambda: ports(sid))
    ok(22 in listed and 443 in listed and 7000 not in listed, "the session says which", listed)
    ok("Refused" in python(sid, READ % ("api.example.com", 7000)), "not all")
    same(sh(sid, "curl -sS -x http://127.0.0.1:3128 -p http://api.example.com:8443/p")[1],
         "GET api.example.com:8443 /p\n", "the proxy has every port")
    denials = Denials(sid)
    ok("no public address" in sh(sid, "curl -sS http://10.1.2.3/")[1], "a private address")
    denials.tell("private_address", "10.1.2.3", 80, "is refused and told")


run([the_ports_of_a_policy_are_served, there_is_no_route_to_anything_else,
     an_open_network_has_common_ports, egress_was_well])
