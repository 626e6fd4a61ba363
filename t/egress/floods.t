#!/usr/bin/python3
"""Tests that a session which sends without end what is dear to parse keeps no other
tenant waiting."""
import os
import signal
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import internet  # noqa: E402
import service  # noqa: E402

service.begin(internet.settings(), egress=True)
from network import Denials, change, egress, egress_was_well, ok, same, session, sh  # noqa: E402
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


# Resolves names that are not allowed.
DENIED = """
import socket
for i in range(60):
    try:
        socket.getaddrinfo("%d.of-a-name-that-is-long-enough-to-fill-a-queue.example.org" % i, 80)
    except OSError:
        pass
"""


def denials_leave_room_for_what_is_counted():
    bad = [session("api.example.com", key=BAD) for _ in range(12)]
    good = session("api.example.com", key=GOOD, network={"maxRequests": 100})
    for sid in bad:
        expect(200, call("POST", at(sid, "/api/write"), {
            "path": "/tmp/denied.py", "content": DENIED}, BAD))
    rows = egress()[0]
    os.kill(rows, signal.SIGSTOP)
    try:
        for sid in bad:
            sh(sid, "/usr/bin/python3 /tmp/denied.py", BAD)
        expect(200, call("POST", at(good, "/api/process/start"), {
            "command": "curl -sS http://api.example.com/x > /tmp/answer; echo . >> /tmp/answer"},
            GOOD))
        until("the request", lambda: sh(good, "grep ':0050 01' /proc/net/tcp", GOOD)[0] == 0 or
              sh(good, "cat /tmp/answer", GOOD)[1].endswith(".\n"))
    finally:
        os.kill(rows, signal.SIGCONT)
    until("its end", lambda: sh(good, "cat /tmp/answer", GOOD)[1].endswith(".\n"))
    same(sh(good, "cat /tmp/answer", GOOD)[1], "GET api.example.com /x\n.\n",
         "a request waits while rows is slow, and is counted, whoever was denied before")


# Reads nothing from many connections.
DEAF = """
import socket
all = [socket.socket() for _ in range(100)]
for s in all:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
    s.connect(("source.example.com", 7000))
    s.sendall(b"\\0")
input()
"""


def clients_that_do_not_read_take_little_memory():
    source = socket.create_server((net.name("source.example.com", net.host()), 7000), backlog=100)
    source.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    bad = session("source.example.com:7000", key=BAD)
    expect(200, call("POST", at(bad, "/api/write"), {"path": "/tmp/deaf.py", "content": DEAF}, BAD))
    expect(200, call("POST", at(bad, "/api/process/start"), {
        "command": "/usr/bin/python3 /tmp/deaf.py"}, BAD))
    conns, sent = [source.accept()[0] for _ in range(100)], 0
    # wait: as long as there is room the next bytes are taken much sooner
    conns[-1].settimeout(2)
    try:
        while sent < 64 << 20:
            sent += conns[-1].send(b"x" * 65536)
    except socket.timeout:
        pass
    ok(sent < 3 << 20, "a server can send this much, and then waits: %d bytes" % sent)


# Asks, says its end, reads nothing; goes when it is told to.
UNREAD = """
import os, socket, sys, time
path, count = sys.argv[1], int(sys.argv[2])
all = []
for i in range(count):
    try:  # one too many is reset: while it connects, or later
        s = socket.create_connection(("unread.example.com", 80))
        all.append(s)
        s.sendall(("GET %s HTTP/1.1\\r\\nHost: unread.example.com\\r\\n"
                   "Connection: close\\r\\n\\r\\n" % path).encode())
        s.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    time.sleep(0.02)  # wait: the server should have answered, so that only the answers count
open("/workspace/asked", "w")
while not os.path.exists("/workspace/go"):
    time.sleep(0.1)  # wait: a poll
"""


def answers_that_nobody_reads_count():
    def whole(handler, _):
        handler.send_response(200)
        handler.send_header("Content-Length", "200000")
        handler.end_headers()
        handler.wfile.write(b"x" * 200000)

    def cut(handler, _):
        handler.send_response(200)
        handler.send_header("Content-Length", "900000")
        handler.end_headers()
        handler.wfile.write(b"x" * 200000)
        handler.close_connection = True
    net.web("unread.example.com").pages.update({"/unread": whole, "/unread-cut": cut})
    sid = session("unread.example.com")
    expect(200, call("POST", at(sid, "/api/write"),
                     {"path": "/workspace/unread.py", "content": UNREAD}))
    serve = egress()[1]

    def descriptors():
        return len(os.listdir("/proc/%d/fd" % serve))
    before = descriptors()
    for path in ("/unread", "/unread-cut"):
        denials = Denials(sid)
        sh(sid, "rm -f asked go")
        expect(200, call("POST", at(sid, "/api/process/start"), {
            "command": "/usr/bin/python3 unread.py %s 300" % path}))
        until("all have asked", lambda: sh(sid, "test -e asked")[0] == 0)
        denials.tell("too_many_connections", "unread.example.com", 80, path + " counts")
        sh(sid, "touch go")
        until("they are gone", lambda: descriptors() <= before)
        ok(True, "until its clients are gone")


run([others_do_not_wait_for_a_flood, clients_that_do_not_read_take_little_memory,
     denials_leave_room_for_what_is_counted, answers_that_nobody_reads_count,
     egress_was_well])
