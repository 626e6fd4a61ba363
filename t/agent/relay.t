#!/usr/bin/python3
"""Tests the relay of exposed ports: one request and its response, tunnels, backpressure,
hostile answers."""
import array
import fcntl
import os
import socket
import sys
import termios
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, eventually  # noqa: E402
from tap import PATIENCE, ok, run, same  # noqa: E402

box = Box()
S = box.session(ports=[8000, 8001], pids=2000)

UPGRADE = b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"
GET = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\n"
FORGED = OK + b"Content-Length: 6\r\n\r\nFORGED"

SERVER = r"""
import os, socket, sys, threading, time
def until_end(c):
    while True:
        d = c.recv(1 << 20)
        if not d: return
        yield d
def serve(c, how):
    head = b""
    if how == "hasty": c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nFORGED")
    while b"\r\n\r\n" not in head:
        d = c.recv(65536)
        if not d: return
        head += d
    rest = head.partition(b"\r\n\r\n")[2]
    if how == "echo":          # until the client has said its last, then a word more
        c.sendall(b"HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n" + rest)
        for d in until_end(c): c.sendall(d)
        c.sendall(b"|bye")
    elif how == "flood":
        try:
            c.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(4096): c.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            c.sendall(b"0\r\n\r\n")
        except OSError: pass
    elif how == "sink":
        n = b"%d" % (len(rest) + sum(len(d) for d in until_end(c)))
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(n) + n)
    elif how == "broken":      # goes on with nonsense when the client has seen the beginning
        c.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        c.recv(1)
        c.sendall(b"nonsense\r\n")
    elif how == "stuck":
        time.sleep(1000)
    elif how == "say":         # what the request's body is, and stays
        n = [int(l.split(b":")[1]) for l in head.lower().split(b"\r\n") if l.startswith(b"x-said")][0]
        while len(rest) < n: rest += c.recv(65536)
        try:
            c.sendall(rest)
            for _ in until_end(c): pass
        except OSError: pass
    c.close()
port, how, family = int(sys.argv[1]), sys.argv[2], sys.argv[3]
l = socket.socket(socket.AF_INET6 if family == "6" else socket.AF_INET)
l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if family == "6": l.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
l.bind(("::1" if family == "6" else "127.0.0.1", port))
l.listen(1024)
open("/workspace/up-%d" % port, "w").close()
while True:
    c, _ = l.accept()
    threading.Thread(target=serve, args=(c, how), daemon=True).start()
"""


def start(port, how, family="4"):
    box.call(S, "POST", "/api/write", {"path": "/workspace/server.py", "content": SERVER})
    box.run(S, f"rm -f up-{port}; python3 server.py {port} {how} {family} >/dev/null 2>&1 &")
    up = os.path.join(box.dir, "storage", S, "workspace", f"up-{port}")
    assert eventually(lambda: os.path.exists(up)), "server did not start"


def expose(port, **more):
    listener = box.listener(f"{S}.1.{port}.sock")
    a = box.forward("expose", S, [listener.fileno()], port=port, **more)
    listener.close()
    return a


def dial(port):
    c = socket.socket(socket.AF_UNIX)
    c.settimeout(PATIENCE)
    c.connect(box.path(S, port))
    return c


def ask(port, request=GET):
    c = dial(port)
    c.sendall(request)
    return c


def heard(c, word, begin=b"HTTP/1.1 101 "):
    """Returns the bytes up to `word`; the head of the answer may precede them."""
    out = b""
    while not out.endswith(word):
        piece = c.recv(65536)
        if not piece:
            return out
        out += piece
    return word if out == word or out.startswith(begin) else out


def rest(c):
    out = b""
    while True:
        try:
            piece = c.recv(1 << 20)
        except ConnectionResetError:
            return out
        if not piece:
            return out
        out += piece


def relays():
    return box.forward("status", S)["relays"]


def nothing_listens():
    start(8099, "echo")
    c = dial(8000)
    c.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n")
    a = rest(c)
    head, _, body = a.partition(b"\r\n\r\n")
    ok(head.startswith(b"HTTP/1.1 502 "), "a 502", a[:100])
    ok(b"Connection: close" in head and b"text/html" in head, "a page, and the end")
    ok(b"port 8000" in body and b" 8099" in body, "which names the port and one that listens", body)
    same(int(head.lower().partition(b"content-length: ")[2].split()[0]), len(body), "of that length")
    c = dial(8000)
    c.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nupgrade: websocket\r\n\r\n")
    a = rest(c)
    ok(b"application/json" in a and b'"port":8000' in a, "JSON for an upgrade", a)
    c = dial(8000)
    c.sendall(b"POST / HTTP/1.1\r\n\r\n" + b"b" * 300000)
    ok(rest(c).startswith(b"HTTP/1.1 502 "), "a body does not tear it away")
    c = dial(8000)
    c.sendall(b"x" * 20000)
    ok(rest(c).startswith(b"HTTP/1.1 502 "), "a head without an end is cut short")
    c = dial(8000)
    same(rest(c), b"", "a silent one is closed in the end")
    ok(eventually(lambda: relays() == 0), "and none is left")


def a_tunnel_goes_both_ways_and_is_half_closed():
    start(8000, "echo")
    c = ask(8000, UPGRADE)
    for word in (b"hello", b"again"):
        c.sendall(word)
        same(heard(c, word), word, f"{word} comes back at once")
    same(relays(), 1, "it is counted")
    c.shutdown(socket.SHUT_WR)
    same(rest(c), b"|bye", "after our end the other may still speak")
    ok(eventually(lambda: relays() == 0), "then it is over")


def ipv6_is_tried_too():
    start(8001, "echo", "6")
    c = ask(8001, UPGRADE + b"six")
    same(heard(c, b"six"), b"six", "a server on ::1 only is reached")
    c.close()


def large_transfers():
    ok(expose(8002)["ok"] and expose(8003)["ok"] and expose(8004)["ok"], "expose while it runs")
    start(8002, "flood")
    start(8003, "sink")
    c = ask(8002)
    total = 0
    while True:
        piece = c.recv(1 << 20)
        total += piece.count(b"x")
        if not piece:
            break
    same(total, 4096 * 65536, "256 MiB out")
    c = ask(8003)
    block = b"y" * (1 << 20)
    for _ in range(64):
        c.sendall(block)
    c.shutdown(socket.SHUT_WR)
    ok(rest(c).endswith(b"\r\n\r\n%d" % (64 << 20)), "64 MiB in")


def memory():
    for pid in box.named("sandlease-wrap"):
        with open(f"/proc/{pid}/status") as f:
            for line in f:
                if line.startswith("VmRSS"):
                    return int(line.split()[1])
    return 0


def unread(c):
    """Returns how many bytes wait unread in the client's socket."""
    size = array.array("i", [0])
    fcntl.ioctl(c, termios.FIONREAD, size)
    return size[0]


def who_does_not_read_holds_no_memory():
    before = memory()
    slow = [ask(8002) for _ in range(50)]
    ok(eventually(lambda: all(unread(c) > 65536 for c in slow)), "it comes as far as their sockets")
    # The relay needs 64 KiB for each client, several times that with a sanitizer; without
    # backpressure each client could take 256 MiB.
    ok(memory() - before < 50 * 512, "50 readers that do not read", f"{before} {memory()}")
    start(8004, "stuck")
    stuck = ask(8004)
    stuck.settimeout(1)  # wait: a slower relay takes less, which is no fault
    sent = 0
    try:
        while sent < 1 << 26:
            sent += stuck.send(b"z" * 65536)
    except socket.timeout:
        pass
    ok(sent < 16 << 20, "a server that does not read stops the sender", sent)
    c = ask(8000, UPGRADE + b"quick")
    same(heard(c, b"quick"), b"quick", "and others are served meanwhile")
    for s in slow + [stuck, c]:
        s.close()
    ok(eventually(lambda: relays() == 0), "all of them end", relays())


def many_connections():
    conns = [ask(8000, UPGRADE + b"|%d|" % i) for i in range(300)]
    same(all(heard(c, b"|%d|" % i) == b"|%d|" % i for i, c in enumerate(conns)), True, "300 at once")
    same(relays(), 300, "all counted")
    for c in conns:
        c.close()
    ok(eventually(lambda: relays() == 0), "all ended")
    more = [ask(8000, UPGRADE + b"|x|") for _ in range(600)]
    ok(eventually(lambda: relays() == 512), "no more than 512", relays())
    for c in more[:300]:
        c.close()
    same(heard(more[-1], b"|x|"), b"|x|", "those beyond are served when there is room")
    for c in more:
        c.close()
    ok(eventually(lambda: relays() == 0), "and end", relays())


def unexpose_closes_what_is_open():
    c = ask(8000, UPGRADE + b"|a|")
    heard(c, b"|a|")
    ok(box.forward("unexpose", S, port=8000)["ok"], "unexpose answers")
    same(rest(c), b"", "an open connection is closed")
    try:
        dial(8000)
        ok(False, "nobody listens any more")
    except ConnectionRefusedError:
        ok(True, "nobody listens any more")
    ok(box.forward("unexpose", S, port=8000)["ok"], "again is fine")
    ok(expose(8000)["ok"], "it can be exposed again")
    c = ask(8000, UPGRADE + b"back")
    same(heard(c, b"back"), b"back", "and works")
    c.close()
    same(box.forward("expose", S, port=8000).get("code"), "validation_failed",
         "expose without a socket is refused")
    same(box.forward("expose", S, port=70000).get("code"), "validation_failed", "or with a bad port")


def a_late_change_undoes_no_newer_one():
    start(8005, "echo")
    ok(expose(8005, order=10)["ok"], "exposed")
    c = ask(8005, UPGRADE + b"a")
    same(heard(c, b"a"), b"a", "and in use")
    same(box.forward("unexpose", S, port=8005, order=9).get("code"), "stale_order",
         "a late unexpose is refused")
    c.sendall(b"b")
    same(c.recv(1), b"b", "and closes nothing")
    ok(expose(8005, order=10)["ok"], "the same change once more is fine")
    ok(box.forward("unexpose", S, port=8005, order=12)["ok"], "a newer one closes it")
    same(rest(c), b"", "with what was open")
    same(expose(8005, order=10).get("code"), "stale_order", "a late expose is refused")
    same(box.forward("unexpose", S, port=8005, order=12)["ok"], True, "closed stays closed")
    ok(expose(8005, order=14)["ok"] and expose(8006, order=2)["ok"], "each port has its own order")
    ok(box.forward("unexpose", S, port=8005)["ok"], "who counts no changes is obeyed")


def the_number_of_ports_has_a_limit():
    said = [expose(9000 + i) for i in range(65)]
    same([a.get("code") for a in said if not a["ok"]][-1:], ["too_many_ports"], "64 are relayed")
    for i in range(65):
        box.forward("unexpose", S, port=9000 + i)


def nothing_is_answered_before_it_is_asked():
    start(8009, "hasty")
    expose(8009)
    c = dial(8009)
    c.settimeout(0.3)  # wait: nothing may come; a slower machine only hides a fault
    try:
        ok(False, "an app that speaks first is not heard", c.recv(65536))
    except socket.timeout:
        ok(True, "an app that speaks first is not heard")
    c.settimeout(PATIENCE)
    c.sendall(GET)
    ok(rest(c).startswith(b"HTTP/1.1 200 "), "until it is asked")


def bytes_are_activity():
    ok(eventually(lambda: relays() == 0), "what was open has ended")
    ok(eventually(lambda: box.forward("status", S)["idleMs"] >= 100), "it has been idle")
    c = ask(8000, UPGRADE)
    heard(c, b"\r\n\r\n")
    begin = time.monotonic()
    c.sendall(b"x")
    c.recv(1)
    a = box.forward("status", S)
    same((a["busy"], a["relays"]), (False, 1), "an open connection is not work")
    # wait: the test's own clock is the upper bound
    ok(a["idleMs"] <= (time.monotonic() - begin) * 1000 + 1, "a byte on it is", a)
    c.close()


def said(what, method=b"GET", more=b""):
    """Returns what the relay passes on when the app sends `what` and keeps its connection open."""
    return rest(ask(8007, b"%s / HTTP/1.1\r\nHost: x\r\n%sX-Said: %d\r\n\r\n%s" % (
        method, more, len(what), what)))


def an_answer_passes_whole_and_alone():
    ok(expose(8007)["ok"], "expose")
    start(8007, "say")
    close = b"Connection: close\r\n\r\n"
    hi = OK + b"Content-Length: 2\r\n" + close + b"hi"
    for name, what, passed in (
            ("by its length", OK + b"Content-Length: 2\r\n\r\nhi", hi),
            ("with nothing after it", OK + b"Content-Length: 2\r\n\r\nhi" + FORGED, hi),
            ("without what was before it", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
             b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\nhi" + FORGED, hi),
            ("in chunks", OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n" + FORGED,
             OK + b"Transfer-Encoding: chunked\r\n" + close + b"2\r\nhi\r\n0\r\n\r\n"),
            ("without a body", b"HTTP/1.1 204 X\r\n\r\n" + FORGED, b"HTTP/1.1 204 X\r\n" + close)):
        same(said(what), passed, "an answer passes " + name)
    same(said(OK + b"Content-Length: 2\r\n\r\n" + FORGED, b"HEAD"),
         OK + b"Content-Length: 2\r\n" + close, "an answer to HEAD passes without a body")


def an_answer_that_is_none_is_502():
    forged = b"FORGED"
    for name, what in (
            ("an empty line before the status line", b"\r\n" + FORGED),
            ("no status line", b"<html>FORGED"),
            ("101 that nobody asked for", b"HTTP/1.1 101 Go\r\nUpgrade: websocket\r\n"
             b"Connection: upgrade\r\n\r\n" + FORGED),
            ("HTTP/2", b"HTTP/2 200 OK\r\n\r\nFORGED"),
            ("status 099", b"HTTP/1.1 099 X\r\n\r\n" + FORGED),
            ("status 600", b"HTTP/1.1 600 X\r\n\r\n" + FORGED),
            ("a length and chunks", OK + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n"
             b"0\r\n\r\n" + FORGED),
            ("two lengths", OK + b"Content-Length: 0\r\nContent-Length: 50\r\n\r\n" + FORGED),
            ("an unknown coding", OK + b"Transfer-Encoding: x\r\n\r\n" + FORGED),
            ("a head without an end", OK + b"X: yyyyyyyyyy\r\n" * 10000),
            ("a header without a name", OK + b": x\r\n\r\n" + FORGED)):
        answer = said(what)
        ok(answer.startswith(b"HTTP/1.1 502 ") and forged not in answer
           and answer.count(b"HTTP/1.1") == 1, name + " is 502", answer[:300])
    answer = said(b"nothing", more=b"X-Forwarded-Prefix: /v1/sessions/x/proxy/8007\r\n")
    ok(b"application/json" in answer and b"No valid HTTP response" in answer, "in JSON for a program", answer)
    ok(eventually(lambda: relays() == 0), "and none is left", relays())


def an_answer_that_breaks_is_cut_off():
    start(8010, "broken")
    expose(8010)
    c = ask(8010, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n")
    seen = b""
    while b"hello" not in seen:
        seen += c.recv(65536)
    c.sendall(b"x")
    same(rest(c).strip(), b"", "nothing of ours stands in the middle of it")


def a_second_request_on_a_connection_has_no_answer():
    first = b"GET / HTTP/1.1\r\nHost: x\r\nX-Said: %d\r\n\r\n" % len(FORGED)
    answer = rest(ask(8007, first + FORGED + first + FORGED))
    ok(answer.count(b"HTTP/1.1") == 1, "one answer, and the end", answer)


try:
    run([nothing_listens, a_tunnel_goes_both_ways_and_is_half_closed, ipv6_is_tried_too, large_transfers,
         who_does_not_read_holds_no_memory, many_connections, unexpose_closes_what_is_open,
         a_late_change_undoes_no_newer_one, the_number_of_ports_has_a_limit,
         nothing_is_answered_before_it_is_asked, bytes_are_activity, an_answer_passes_whole_and_alone,
         an_answer_that_is_none_is_502, an_answer_that_breaks_is_cut_off,
         a_second_request_on_a_connection_has_no_answer])
finally:
    box.close()
