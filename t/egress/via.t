#!/usr/bin/python3
"""Tests that servers are reached through the proxy of the site."""
import os
import socket
import socketserver
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import internet  # noqa: E402
import service  # noqa: E402

service.begin(internet.settings() + "egress_proxy = http://%s.9:8888/\n" % internet.prefix(),
              egress=True)
from network import Denials, egress_was_well, ok, python, same, session, sh  # noqa: E402
from tap import run  # noqa: E402

net = internet.Internet()


class Proxy(socketserver.StreamRequestHandler):
    """Answers CONNECT by the names of the test."""

    def handle(self):
        line = self.rfile.readline().decode()
        while self.rfile.readline() not in (b"\r\n", b""):
            pass
        self.server.asked.append(line.split()[1])
        host, port = line.split()[1].rsplit(":", 1)
        if host == "half.example.com":
            self.wfile.write(b"HTTP/1.1 200 ")
            return
        if host not in ADDRESSES:
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nno!\n")
            return
        server = socket.create_connection((ADDRESSES[host], int(port)))
        self.wfile.write(b"HTTP/1.1 200 Connection established\r\nVia: us\r\n\r\n")

        def copy(source, target):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        threading.Thread(target=copy, args=(server, self.connection), daemon=True).start()
        try:
            copy(self.connection, server)
            server.recv(1)
        except OSError:
            pass


proxy = internet.Threading((internet.prefix() + ".9", 8888), Proxy)
proxy.asked = []
net.serve(proxy)
web = net.web("api.example.com")
net.web("api.example.com", 443, tls=True, address=web.address)
net.echo("api.example.com", 7000, b"first\n", address=web.address)
# this site has no names of the Internet: only the proxy knows them
ADDRESSES = {"api.example.com": net.zone.names.pop("api.example.com")[0]}


def servers_are_reached_through_it():
    sid = session("api.example.com", "api.example.com:7000", "lost.example.com",
                  "half.example.com")
    same(sh(sid, "curl -sS http://api.example.com/a")[1], "GET api.example.com /a\n", "HTTP")
    same(sh(sid, "curl -skS https://api.example.com/b")[1], "GET api.example.com /b\n", "TLS")
    same(python(sid, "import socket\ns = socket.create_connection(('api.example.com', 7000))\n"
                     "print(s.recv(10))"), "b'first\\n'", "a server that speaks first")
    same(proxy.asked, ["api.example.com:80", "api.example.com:443", "api.example.com:7000"],
         "by name and port")
    same(net.zone.asked, [], "no name is asked for here")
    out = sh(sid, "curl -sS http://lost.example.com/")[1]
    ok("network_failed: lost.example.com: the site's proxy refuses it" in out,
       "a refusal is told", out)
    out = sh(sid, "curl -sS -m 20 http://half.example.com/")[1]
    ok("the site's proxy refuses it" in out, "half an answer is one, at once", out)


def the_policy_still_decides():
    sid = session("api.example.com")
    count = len(proxy.asked)
    same(sh(sid, "curl -sS http://evil.example.com/")[0], 6, "another name")
    opened = service.create(network={"mode": "open"})["id"]
    denials = Denials(opened)
    ok("no public address" in sh(opened, "curl -sS http://10.1.2.3/")[1], "a private address")
    denials.tell("private_address", "10.1.2.3", 80, "is told")
    same(len(proxy.asked), count, "the proxy hears of neither")


run([servers_are_reached_through_it, the_policy_still_decides, egress_was_well])
