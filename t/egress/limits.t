#!/usr/bin/python3
"""Tests the limits of a session's network: bytes in a second, entries of a policy, names,
time for a first request."""
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import internet  # noqa: E402
import service  # noqa: E402

MB_PER_SECOND = 2
service.begin(internet.settings() + "egress_mb_per_second = %d\n" % MB_PER_SECOND, egress=True)
from network import Denials, change, egress_was_well, ok, same, session, sh  # noqa: E402
from service import at, call, expect, problem, until  # noqa: E402
from tap import run  # noqa: E402

net = internet.Internet()
web = net.web("api.example.com")
tls = net.web("api.example.com", 443, tls=True, address=web.address)
echo = net.echo("api.example.com", 7000, address=web.address)

MB = 1000 * 1000
SIZE = 10 * MB
# An idle session has saved up to a second's worth, and the last read may take too much.
AT_LEAST = SIZE / MB / MB_PER_SECOND - 1.3


def fetch(sid, host="api.example.com", key=None):
    return sh(sid, "curl -sS http://%s/x" % host, key)


# ---- bytes

def big(handler, _):
    handler.send_response(200)
    handler.send_header("Content-Length", str(SIZE))
    handler.end_headers()
    for _ in range(SIZE // MB):
        handler.wfile.write(b"x" * MB)


ECHOED = """
import socket, threading, time
s = socket.create_connection(("api.example.com", 7000))
began = time.monotonic()
threading.Thread(target=s.sendall, args=(b"x" * %d,)).start()
left = %d
while left > 0:
    left -= len(s.recv(1 << 16))
print(time.monotonic() - began)
""" % (SIZE // 2, SIZE // 2)
CURL = "curl -sS -o /dev/null -w '%%{time_total}' %s"
TRANSFERS = {
    "a response": CURL % "http://api.example.com/big",
    "a request": "head -c %d /dev/zero >f; %s" % (SIZE, CURL % "-T f http://api.example.com/up"),
    "a response in TLS": CURL % "-k https://api.example.com/big",
    "both ways together": "/usr/bin/python3 /workspace/echoed.py",
}


def bytes_of_a_second_are_limited():
    web.pages["/big"] = tls.pages["/big"] = big
    turns = {}
    for what, command in TRANSFERS.items():
        sid = session("api.example.com", "api.example.com:7000", files=[
            {"path": "echoed.py", "content": ECHOED}])
        turns[what] = sid, service.in_background("POST", at(sid, "/api/execute"),
                                                 {"command": command})
    for what, (sid, turn) in turns.items():
        out = expect(200, turn.join()).json["stdout"]
        ok(float(out or 0) >= AT_LEAST, "%s takes its time" % what, out)
        use = until("counts", lambda: (lambda n: n if n["bytesIn"] + n["bytesOut"] >= SIZE
                                       else None)(service.get(sid)["network"]))
        ok(use["bytesIn"] + use["bytesOut"] < 1.01 * SIZE, "and arrives whole", use)


def others_are_served_meanwhile():
    gate = threading.Event()

    def endless(handler, _):
        handler.send_response(200)
        handler.end_headers()
        handler.close_connection = True
        while not gate.is_set():
            handler.wfile.write(b"x" * 100000)
    web.pages["/endless"] = endless
    greedy, other = session("api.example.com"), session("api.example.com")
    expect(200, call("POST", at(greedy, "/api/process/start"), {
        "command": "curl -sS -o /dev/null http://api.example.com/endless; echo $? >end"}))
    # more than it may have saved: from now on it has to wait
    until("it waits", lambda: service.get(greedy)["network"]["bytesIn"] > 3 * MB_PER_SECOND * MB)
    same(fetch(other), (0, "GET api.example.com /x\n"), "another session has an answer")
    same(fetch(greedy), (0, "GET api.example.com /x\n"), "and so has the same session")
    same(sh(greedy, "test -e end")[0], 1, "before the long one has ended")
    gate.set()
    until("its end", lambda: sh(greedy, "cat end")[1] == "0\n")


# ---- entries

def long_name(number):
    """A name of 250 characters."""
    return "n%03d.%s.example.com" % (number, ".".join(c * n for c, n in (
        ("a", 60), ("b", 60), ("c", 60), ("d", 50))))


def a_policy_may_be_large():
    names = [long_name(i) for i in range(102)]
    for name in (names[0], names[50], names[99], names[100]):
        net.name(name, web.address)
    key = service.new_key("huge", "u")
    service.admin("org", "set", "huge", "--network", ",".join(names[:100]))
    service.admin("class", "set", "shared", "--network-max", ",".join(names[:100]))
    try:
        for sid in (service.create(key)["id"], session(*names[:100], key=key)):
            same(service.get(sid, key)["network"]["allow"], names[:100], "100 entries")
            for number in (0, 50, 99):
                same(fetch(sid, names[number], key),
                     (0, "GET %s /x\n" % names[number]), "entry %d" % number)
            same(fetch(sid, names[100], key)[0], 6, "and no other")
        change(sid, key, mode="allow", allow=names[1:101])
        same([fetch(sid, names[number], key)[0] == 0 for number in (0, 50, 99, 100)],
             [False, True, True, False], "100 others, as far as the class has them")
        for reply in (call("PATCH", at(sid), {"network": {"allow": names[:101]}}, key),
                      call("POST", "/v1/sessions", {"network": {"allow": names[:101]}}, key)):
            doc = problem(reply, 400, "validation_failed", "network.allow")
            ok("100" in doc["detail"], "101 entries are refused", doc)
        for words in (("org", "set", "huge", "--network"), ("preset", "set", "huge"),
                      ("class", "set", "shared", "--network-max")):
            done = service.run("sandlease-admin", *words, ",".join(names[:101]))
            ok(done.returncode != 0 and b"100" in done.stderr, words[0] + ", too", done)
        same(fetch(sid, names[99], key)[0], 0, "all of this changes nothing")
    finally:
        service.admin("class", "set", "shared", "--network-max", "open")


def presets_may_be_many():
    for number in range(11):
        service.admin("preset", "set", "many%d" % number, ",".join(
            "n%d.many%d.example.com" % (i, number) for i in range(100)))
    for name in ("n0.many0.example.com", "n99.many10.example.com"):
        net.name(name, web.address)
    sid = session(*["@many%d" % number for number in range(11)])
    for name in ("n0.many0.example.com", "n99.many10.example.com"):
        same(fetch(sid, name), (0, "GET %s /x\n" % name), "one of 1100 hosts")
    same(fetch(sid, "n100.many10.example.com")[0], 6, "and no other")


# ---- names

ASK = """
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(20)  # wait: for one answer
s.connect(("127.0.0.1", 53))
found, refused = set(), []
for i in range(int(sys.argv[1]), int(sys.argv[2])):
    name = "n%d.wild.example.com" % i
    labels = b"".join(bytes([len(l)]) + l.encode() for l in name.split("."))
    s.send(struct.pack("!HHHHHH", i & 0xffff, 0x100, 1, 0, 0, 0) + labels + b"\\0\\0\\1\\0\\1")
    answer = s.recv(4096)
    if answer[3] & 15 == 0 and answer[7] == 1:
        found.add(answer[-4:])
    else:
        refused.append(i)
print(len(found), len(refused), *refused[:1])
"""


class Wild(dict):
    """Every name below wild.example.com."""

    def get(self, name):
        return [web.address] if name.endswith(".wild.example.com") else dict.get(self, name)


def names_of_a_session_are_limited():
    net.zone.names = Wild(net.zone.names)
    files = [{"path": "ask.py", "content": ASK}]
    sid, other = (session("*.wild.example.com", files=files) for _ in range(2))

    def ask(who, first, last):
        return sh(who, "/usr/bin/python3 /workspace/ask.py %d %d" % (first, last))[1]
    same(ask(sid, 0, 3000), "3000 0\n", "3000 names have an address each")
    denials = Denials(sid)
    same(ask(sid, 3000, 4200), "1096 104 4096\n", "and 4096, but no more")
    denials.tell("too_many_names", "n4096.wild.example.com", 0, "which is told")
    ok(all(d[0] == "too_many_names" for d in denials.new()), "as what it is", denials.new()[:3])
    same(ask(sid, 0, 100), "100 0\n", "those that it has stay")
    same(fetch(sid, "n4095.wild.example.com")[0], 0, "and lead to their hosts")
    same(fetch(sid, "n5000.wild.example.com")[0], 6, "others do not exist")
    same(ask(other, 4100, 4200), "100 0\n", "another session has its own number")
    same(fetch(other, "n5000.wild.example.com")[0], 0, "and its own names")
    call("POST", at(sid, "/sleep"))
    until("sleep", lambda: service.get(sid)["state"] == "asleep")
    same(fetch(sid, "n5000.wild.example.com")[0], 0, "after a sleep all begins again")


# ---- time

UNFINISHED = """
import socket, sys
port = int(sys.argv[1])
s = socket.create_connection(("127.0.0.1" if port == 3128 else "api.example.com", port))
s.sendall(bytes.fromhex(sys.argv[2]))
try:
    while s.recv(1000):
        pass
except OSError:
    pass
open("/workspace/given-up-" + sys.argv[3], "w")
"""
FIRSTS = {"a letter": (80, b"G"), "half a head": (80, b"GET / HTTP/1.1\r\nHost: "),
          "half a hello": (443, b"\x16\x03\x01\x02"), "half a request to the proxy": (3128, b"GET "),
          "a tunnel without a word": (3128, b"CONNECT api.example.com:80 HTTP/1.1\r\n\r\n")}
HALF_CLOSED = """
import socket
s = socket.create_connection(("api.example.com", 80))
s.sendall(b"GET /drops HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n")
s.shutdown(socket.SHUT_WR)
said = b""
try:
    while more := s.recv(1000):
        said += more
except OSError as e:
    said += type(e).__name__.encode()
open("/workspace/drops", "wb").write(said)
"""
DROPS = 7
slow = None


def drops(handler, _):
    """Longer than a silent response may take after the client's end."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(DROPS))
    handler.end_headers()
    for _ in range(DROPS):
        time.sleep(2)  # wait: a longer one is no less right, up to 10 s
        handler.wfile.write(b"x")


def first_requests_begin():
    """That they are given up takes half a minute, so other cases come in between."""
    global slow
    web.pages["/drops"] = drops
    slow = session("api.example.com", isolation="session")  # of another class than the others
    expect(200, call("POST", at(slow, "/api/write"), {
        "path": "/workspace/unfinished.py", "content": UNFINISHED}))
    expect(200, call("POST", at(slow, "/api/write"), {
        "path": "/workspace/half.py", "content": HALF_CLOSED}))
    expect(200, call("POST", at(slow, "/api/process/start"), {
        "command": "/usr/bin/python3 half.py"}))
    for i, (port, data) in enumerate(FIRSTS.values()):
        expect(200, call("POST", at(slow, "/api/process/start"), {
            "command": "/usr/bin/python3 unfinished.py %d %s %d" % (port, data.hex(), i)}))


def first_requests_must_be_finished():
    for i, what in enumerate(FIRSTS):
        until(what, lambda i=i: sh(slow, "test -e /workspace/given-up-%d" % i)[0] == 0)
        ok(True, what + " is given up")
    until("the response", lambda: sh(slow, "test -s /workspace/drops")[0] == 0)
    same(sh(slow, "tail -c %d /workspace/drops" % DROPS)[1], "x" * DROPS,
         "a response that comes slowly arrives, after the client's end, too")


def a_long_host_arrives_whole():
    sid = service.create(network={"mode": "open"})["id"]
    host = "a" * 290
    sh(sid, "curl -sS -H 'Host: %s' http://api.example.com/x" % host)
    same(web.seen[-1][1], host, "a header Host of 290 characters")


run([first_requests_begin, bytes_of_a_second_are_limited, others_are_served_meanwhile,
     a_policy_may_be_large,
     presets_may_be_many, a_long_host_arrives_whole, names_of_a_session_are_limited,
     first_requests_must_be_finished, egress_was_well])
