#!/usr/bin/python3
"""Tests that a session which sends without end what is dear to parse keeps no other
tenant waiting."""
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import internet  # noqa: E402
import service  # noqa: E402

service.begin(internet.settings(), egress=True)
from network import change, egress_was_well, ok, same, session, sh  # noqa: E402
from service import at, call, expect, until  # noqa: E402
from tap import run  # noqa: E402

net = internet.Internet()
net.web("api.example.com")
BAD, GOOD = service.new_key("bad", "a"), service.new_key("good", "b")

# Sends a beginning, and then the same bytes for as long as they are taken.
FLOOD = """
import socket, ssl
begin = b"POST / HTTP/1.1\\r\\nHost: sink.example.com\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"
port, more = %r
if port == 443:
    come, go = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = ssl.create_default_context().wrap_bio(come, go, server_hostname="sink.example.com")
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        begin = go.read()
s = socket.socket()
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1000)
s.connect(("sink.example.com", port))
s.sendall(begin)
open("/tmp/began", "w")
while True:
    s.sendall(more * 200000)
"""


def swallow(address, port):
    """A server that reads and says nothing."""
    server = socket.create_server((address, port))

    def read(conn):
        room = bytearray(1 << 20)
        try:
            while conn.recv_into(room):
                pass
        except OSError:
            pass

    def accept():
        while True:
            threading.Thread(target=read, args=(server.accept()[0],), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()


def others_do_not_wait_for_a_flood():
    address = net.name("sink.example.com", net.host())
    for port in 80, 443:
        swallow(address, port)
    good = session("api.example.com", key=GOOD)
    for name, port, more in (("chunks of a byte", 80, b"1\r\nx\r\n"),
                             ("records without data", 443, b"\x17\x03\x03\0\0")):
        bad = session("sink.example.com", key=BAD)
        expect(200, call("POST", at(bad, "/api/write"), {
            "path": "/tmp/flood.py", "content": FLOOD % ((port, more),)}, BAD))
        expect(200, call("POST", at(bad, "/api/process/start"), {
            "command": "exec /usr/bin/python3 /tmp/flood.py", "processId": "flood"}, BAD))
        until("it has begun", lambda b=bad: sh(b, "test -e /tmp/began", BAD)[0] == 0)
        for i in range(3):
            same(sh(good, "curl -sS http://api.example.com/%d" % i, GOOD),
                 (0, "GET api.example.com /%d\n" % i), name + ": another tenant has an answer")
            change(good, GOOD, mode="allow", allow=["api.example.com", "a%d.example.com" % i])
        ok(True, name + ": and its changes take effect")
        same(sh(bad, "cat /proc/*/cmdline | tr '\\0' ' ' | grep -c flood.p[y]", BAD)[0], 0,
             name + ": all while it goes on")
        expect(200, call("DELETE", at(bad, "/api/process/flood"), key=BAD))


run([others_do_not_wait_for_a_flood, egress_was_well])
