#!/usr/bin/python3
"""websocket.t: tests that sandlease-ws and the wrapper withstand any client that may connect."""
import os
import random
import signal
import struct
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from box import Box, eventually
from tap import Skip, case, equal, run_cases, true
from websocket import Closed, Opcode, Refused, WebSocket
from websockets.exceptions import ProtocolError

MANY = 100
MB = 1 << 20
box = Box()
S = box.session(pids=2000)


def connect(path="/ws", session=None, **how):
    session = session or S
    return WebSocket(os.path.join(box.dir, "s", "%s.1.ws.sock" % session), path, **how)


def raw_frame(opcode, data=b"", fin=True, reserved=0, masked=True, length=None):
    """Builds a frame that the library would refuse to write; `length` may be false."""
    n = len(data) if length is None else length
    size = (bytes([n]) if n < 126 else b"\x7e" + struct.pack(">H", n) if n < 1 << 16
            else b"\x7f" + struct.pack(">Q", n))
    if masked:  # a mask of zeros changes nothing
        size = bytes([size[0] | 0x80]) + size[1:] + bytes(4)
    return bytes([fin << 7 | reserved << 4 | opcode]) + size + data


def request(w, path="/api/ping", method="GET", name="x", **more):
    w.send({"type": "request", "id": name, "method": method, "path": path, **more})


def answers(w, **how):
    """Sends a request; returns all messages up to its response, which is the last."""
    request(w, **how)
    got = [w.json()]
    while got[-1]["type"] == "stream":
        got.append(w.json())
    return got


def lives(w=None):
    """Checks that the program serves this connection, or a new one."""
    mine = w or connect()
    equal(answers(mine)[-1]["body"]["message"], "pong", "an answer")
    if w is None:
        equal(mine.close(), 1000, "a polite end")


def fds(name):
    return sum(len(box.root.fds(pid)) for pid in box.named(name))


# ---- protocol

@case
def messages_in_fragments_with_pings_between_are_whole():
    w = connect()
    text = b'{"type":"request","id":"f","method":"GET","path":"/api/ping"}'
    for i, byte in enumerate(text):
        w.send_piece(bytes([byte]), first=i == 0)
        if i % 7 == 0:
            w.ping(b"%d" % i)
        if i % 11 == 0:
            w.pong(b"nobody asked")
    w.send_piece(b"", last=True)
    equal(w.json()["body"]["message"], "pong", "the answer")
    true(w.pongs and set(w.pongs) <= {b"%d" % i for i in range(len(text))}, repr(w.pongs))
    lives(w)


@case
def what_is_no_websocket_is_closed_with_its_code():
    for what, data, codes in (
            ("reserved bits", raw_frame(Opcode.TEXT, b"x", reserved=4), [1002]),
            ("reserved opcodes", raw_frame(3), [1002]),
            ("reserved control frames", raw_frame(11), [1002, None]),
            ("a control frame in pieces", raw_frame(Opcode.PING, b"x", fin=False), [1002]),
            ("a long control frame", raw_frame(Opcode.PING, b"x" * 126), [1002, None]),
            ("text that is none", raw_frame(Opcode.TEXT, b"\xc3\x28"), [1007]),
            ("text that is cut", raw_frame(Opcode.TEXT, b"\xe2\x82"), [1007]),
            ("a continuation of nothing", raw_frame(Opcode.CONT, b"x"), [1002]),
            ("a message in a message", raw_frame(Opcode.TEXT, b"x", fin=False) + raw_frame(Opcode.TEXT, b"x"), [1002]),
            ("no length at all", raw_frame(Opcode.TEXT, b"", length=1 << 63), [1009, 1002, None]),
            ("a close code that is none", raw_frame(Opcode.CLOSE, struct.pack(">H", 1)), [1002]),
            # fixed seeds: other noise may begin a valid frame, and the program would wait
            # for its rest
            *(("noise %d" % n, random.Random(n).randbytes(4096) + b"\xff" * 20,
               [1002, 1007, 1009, None]) for n in range(10))):
        w = connect()
        w.send_raw(data)
        code = w.closed()
        true(code in codes, "%s: %r, wanted one of %r" % (what, code, codes))
    lives()


@case
def half_a_close_code_ends_the_connection():
    """RFC 6455 wants code 1002; libwebsockets echoes the half code that came."""
    w = connect()
    w.send_raw(raw_frame(Opcode.CLOSE, b"\x03"))
    try:
        equal(w.closed(), 1002, "its code")
    except ProtocolError as e:
        equal(str(e), "close frame too short", "the echo")
    lives()


@case
def an_unmasked_frame_harms_nobody():
    """libwebsockets accepts an unmasked frame; the mask protects proxies that are not ours."""
    w = connect()
    w.send_raw(raw_frame(Opcode.TEXT, b"x{", masked=False))
    equal(w.json()["code"], "PARSE_ERROR", "it is a message like others")
    lives(w)


@case
def text_may_be_cut_anywhere():
    w = connect()
    text = '{"type":"nothing","id":"\u20ac\U0001f600"}'.encode()
    for cut in range(1, len(text)):
        w.send_piece(text[:cut], first=True)
        w.send_piece(text[cut:], last=True)
        equal(w.json()["id"], "\u20ac\U0001f600", "cut at %d" % cut)


@case
def thousands_of_tiny_frames_are_one_message():
    w = connect()
    text = b'{"type":"cancel","id":"' + b"x" * 20000 + b'"}'
    w.send_raw(b"".join([raw_frame(Opcode.TEXT, fin=False)] + [
        raw_frame(Opcode.CONT, text[i:i + 1], fin=False) for i in range(len(text))] + [
        raw_frame(Opcode.CONT)]))  # one write, so that all frames arrive at once
    equal(w.json()["code"], "INVALID_REQUEST", "an id that is too long")
    lives(w)


@case
def a_message_too_large_is_closed_with_1009():
    w = connect()

    def flood():
        try:
            w.send_raw(raw_frame(Opcode.TEXT, fin=False))
            for _ in range(89):
                w.send_raw(raw_frame(Opcode.CONT, b" " * MB, fin=False))
        except OSError:
            pass

    t = threading.Thread(target=flood)
    t.start()
    equal(w.closed(), 1009, "its code")
    w.sock.close()
    t.join()
    lives()


# ---- clients that behave badly

@case
def who_never_reads_waits_alone():
    w = connect()
    for i in range(4):
        request(w, "/api/execute", "POST", "r%d" % i, body={"command": "head -c 4M /dev/zero | base64"})
    lives()
    equal(len(w.json()["body"]["stdout"]) > 4 * MB, True, "and gets it when he reads")
    for _ in range(3):
        w.json()
    lives(w)


@case
def who_leaves_while_much_is_sent_leaves_nothing():
    before = box.forward("status", S)
    for _ in range(5):
        w = connect()
        # wait: a time limit for a command whose output nobody reads
        request(w, "/api/execute/stream", "POST", body={"command": "yes", "timeoutMs": 2000})
        w.json()
        w.sock.close()
    true(eventually(lambda: box.forward("status", S)["streams"] == before["streams"]),
         "no stream is left")


@case
def a_cancelled_stream_sees_its_client_gone():
    before = box.forward("status", S)["streams"]
    w = connect()
    request(w, "/api/process/start", "POST", body={"command": "sleep 1000", "processId": "p"})
    equal(w.json()["status"], 200, "a process that says nothing")
    request(w, "/api/process/p/stream", name="s")
    true(eventually(lambda: box.forward("status", S)["streams"] > before), "it is followed")
    w.send({"type": "cancel", "id": "s"})
    true(eventually(lambda: box.forward("status", S)["streams"] == before), "and is no more")
    request(w, "/api/process/p", "DELETE", "end")
    while w.json()["id"] != "end":
        pass


@case
def half_of_a_connection_is_none():
    w = connect()
    request(w, "/api/execute/stream", "POST", body={"command": "sleep 1000"})
    equal(w.json()["type"], "stream", "it has begun")
    w.sock.shutdown(1)
    true(w.closed() in (None, 1000, 1001, 1006), "it is ended")


@case
def a_hundred_connections_are_served_at_once_and_leave_nothing():
    lives()
    true(eventually(lambda: fds("sandlease-ws") <= 8), "none is open")
    idle = fds("sandlease-wrap")
    all_of_them = [connect() for _ in range(MANY)]
    for w in all_of_them:
        request(w, "/api/execute", "POST", body={"command": "echo $((6 * 7))", "sessionId": "__DISABLE_SESSION__"})
    for w in all_of_them:
        equal(w.json()["body"]["stdout"], "42\n", "each has its answer")
    for w in all_of_them:
        w.sock.close()
    true(eventually(lambda: fds("sandlease-ws") <= 8), "descriptors: %d" % fds("sandlease-ws"))
    true(eventually(lambda: fds("sandlease-wrap") <= idle), "descriptors: %d" % fds("sandlease-wrap"))


@case
def half_a_handshake_holds_nobody_up():
    slow = connect(handshake=False)
    head = slow.request.serialize()
    slow.send_raw(head[:40])
    others = [connect(handshake=False) for _ in range(20)]
    lives()
    slow.send_raw(head[40:])
    slow.handshake()
    lives(slow)
    for w in others:
        w.sock.close()


# ---- handshakes

@case
def what_is_no_path_of_ours_is_refused_before_the_upgrade():
    for path, status in (("/", 404), ("/ws/", 404), ("/ws/pty/x", 404), ("/ws/pty", 400),
                         ("/ws/pty?sessionId=", 400), ("/ws/pty?sessionId=%ff", 400),
                         ("/ws/pty?sessionId=" + "x" * 3000, 400)):
        try:
            connect(path)
            true(False, path + " was accepted")
        except Refused as r:
            equal((r.status, r.json["httpStatus"]), (status, status), path)
        except Closed:
            true(len(path) > 2000, path + " has an answer")
    lives()


# ---- the program's life

def until_gone(pids):
    true(eventually(lambda: not set(box.named("sandlease-ws")) & set(pids)),
         "it is gone")


@case
def a_program_that_is_killed_is_started_again():
    w = connect()
    for _ in range(5):
        old = box.named("sandlease-ws")
        equal(len(old), 1, "one program")
        box.run(S, "kill -9 $(pgrep -x sandlease-ws)", sessionId="__DISABLE_SESSION__")
        equal(w.closed(), None, "those it served")
        until_gone(old)  # a client that is handed to a dying program dies with it
        w = connect()
        lives(w)
        true(box.named("sandlease-ws") != old, "another one")


@case
def all_can_be_made_to_come_again():
    sockets = [connect(), connect("/ws/pty?sessionId=bounced")]
    lives(sockets[0])
    true(box.forward("ws_bounce", S)["ok"], "it answers")
    equal([w.closed() for w in sockets], [1001] * 2, "a close frame for each")
    lives()
    true(box.forward("ws_bounce", S)["ok"], "again is fine")
    lives()


@case
def whoever_does_not_yield_is_cut_off():
    """The wrapper cuts the connection also when the program does not obey because the
    tenant controls it."""
    w = connect()
    lives(w)
    box.run(S, "kill -STOP $(pgrep -x sandlease-ws)", sessionId="__DISABLE_SESSION__")
    true(box.forward("ws_bounce", S)["ok"], "it answers")
    w.sock.settimeout(0)  # the connection is closed before ws_bounce is answered
    equal(w.closed(), None, "the connection")
    lives()


@case
def the_listener_is_the_wrappers_alone():
    if not box.root.there:
        raise Skip("only root can look")
    lives()
    with open("/proc/net/unix", encoding="utf-8") as f:
        lines = [line.split() for line in f]
    # SO_ACCEPTCON in Flags marks a listening socket
    inode, = [l[6] for l in lines if l[7:] == [os.path.join(box.dir, "s", "%s.1.ws.sock" % S)]
              and int(l[3], 16) & 0x10000]
    holders = {name for name in ("sandlease-wrap", "sandlease-ws", "sandlease-cell", "bash")
               for pid in box.named(name) if "socket:[%s]" % inode in box.root.fds(pid).values()}
    equal(holders, {"sandlease-wrap"}, "who has it")


@case
def it_has_no_rights_and_its_tenant_cannot_look_into_it():
    lives()
    pid, = box.named("sandlease-ws")
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        status = dict(line.split(":\t", 1) for line in f.read().splitlines())
    equal((int(status["CapEff"], 16), status["NoNewPrivs"], status["Seccomp"]), (0, "1", "2"), "rights")
    a = box.run(S, "ls /proc/$(pgrep -x sandlease-ws)/fd")
    true(a["exitCode"] != 0, "its descriptors: %r" % a)


@case
def an_end_is_told_to_all_and_waits_for_no_command():
    s = box.session()
    sockets = [connect(session=s) for _ in range(10)]
    for w in sockets:
        lives(w)
    request(sockets[0], "/api/execute/stream", "POST", body={"command": "sleep 1000"})
    while "start" not in sockets[0].json()["data"]:
        pass
    box.ask("term", session=s)
    equal([w.closed() for w in sockets], [1001] * 10, "a close frame for each")
    # a wrapper with LeakSanitizer needs many seconds of processor time for its end
    true(eventually(lambda: box.ask("look", session=s, waitMs=10000)["wrappers"] == []),
         "nothing is left")


@case
def a_frozen_program_is_ended_all_the_same():
    s = box.session()
    w = connect(session=s)
    lives(w)
    box.run(s, "kill -STOP $(pgrep -x sandlease-ws)")
    box.ask("kill", session=s)
    equal(box.ask("look", session=s, waitMs=10000)["wrappers"], [], "nothing is left")
    equal(w.closed(), None, "the connection")


try:
    run_cases(lambda: None)
finally:
    box.close()
