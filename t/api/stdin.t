#!/usr/bin/python3
"""stdin.t: tests that raw bytes go to a process's standard input as they come."""
import base64
import hashlib
import http.client
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import processes
import service
from processes import Stream, ended, kill, logs, path, start
from service import (call, container_error, create, execute, expect,
                     in_background, new_key, setting, until)
from tap import PATIENCE, case, equal, run, true

service.begin()

SID = processes.SID = create(isolation="session")["id"]
BYTES = {"Content-Type": "application/octet-stream"}


def put(pid, data, query="", **more):
    return call("POST", path(pid + "/input" + query), data, headers=BYTES, **more)


class Body:
    """A request whose body is sent piece by piece, in chunks."""

    def __init__(self, pid, query=""):
        self.conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                               timeout=PATIENCE)
        self.conn.putrequest("POST", path(pid + "/input" + query))
        for name, value in dict(BYTES, Authorization="Bearer " + setting(
                "SANDLEASE_API_KEY"), **{"Transfer-Encoding": "chunked"}).items():
            self.conn.putheader(name, value)
        self.conn.endheaders()

    def send(self, data):
        self.conn.send(b"%x\r\n%s\r\n" % (len(data), data))

    def answer(self):
        r = self.conn.getresponse()
        return service.Reply(r.status, r.headers, r.read())

    def end(self):
        self.conn.send(b"0\r\n\r\n")
        return self.answer()

    def cut(self):
        self.conn.close()


def hears(pid, wanted, query=""):
    """Waits until the log of a `cat` has these bytes."""
    until("%d bytes have come" % len(wanted),
          lambda: logs(pid)["nextOffset"] == len(wanted))
    stream = Stream(pid, query="?encoding=base64")
    got = b""
    while len(got) < len(wanted):
        _, e = stream.event()
        if e["type"] == "stdout":
            got += base64.b64decode(e["data"])
    stream.close()
    equal(got, wanted, "what has come")


# This process reads nothing, and its client gets an error after half a minute,
# while the other cases run.
UNREAD = start("sleep 9061")
TOLD = in_background("POST", path(UNREAD + "/input"), b"x" * 1000000, None, BYTES)


@case
def any_bytes_go_in_and_the_end_with_them():
    data = os.urandom(20 * 1000 * 1000)
    pid = start("sha256sum")
    r = expect(200, put(pid, data, "?close=true")).json
    equal((r["success"], r["processId"], r["written"]), (True, pid, len(data)),
          "answer")
    ended(pid)
    equal(logs(pid)["stdout"].split()[0], hashlib.sha256(data).hexdigest(), "sum")


@case
def a_body_without_an_end_goes_in_as_it_comes():
    pid = start("cat")
    body = Body(pid)
    sent = b""
    for piece in (b"\x00\xff\xc3", b"\n", b"x" * 100000, b"\xe2"):
        body.send(piece)
        sent += piece
        hears(pid, sent)
    equal(expect(200, body.end()).json["written"], len(sent), "written")
    expect(200, put(pid, b"more", "?close=false"))
    hears(pid, sent + b"more")
    expect(200, put(pid, b"", "?close=true"))
    equal(ended(pid)["exitCode"], 0, "its end")
    container_error(put(pid, b"x"), 404, "COMMAND_NOT_FOUND")


@case
def what_makes_no_sense_is_refused():
    pid = start("cat")
    for bad in ("?close=1", "?close="):
        doc = container_error(put(pid, b"x", bad), 400, "VALIDATION_FAILED")
        equal(doc["context"]["validationErrors"][0]["field"], "close", bad)
    container_error(put("nobody", b"x"), 404, "PROCESS_NOT_FOUND")
    container_error(put(pid, b"x", key=new_key("other", "eve")), 404,
                    "SESSION_NOT_FOUND")
    equal(logs(pid)["nextOffset"], 0, "and nothing of it has come")
    kill(pid)


@case
def a_process_that_ends_ends_the_body():
    pid = start("head -c 1000 >/dev/null")
    body = Body(pid)
    body.send(b"x" * 5000)
    # the body has no end: the answer does not wait for it
    doc = container_error(body.answer(), 404, "COMMAND_NOT_FOUND")
    equal((doc["context"]["processId"], doc["context"]["written"]), (pid, 5000),
          "context")
    body.cut()
    pid = start("head -c 1000 >/dev/null")
    doc = container_error(put(pid, b"x" * 30000000), 404, "COMMAND_NOT_FOUND")
    true(1000 <= doc["context"]["written"] < 30000000, doc)


@case
def what_two_send_is_not_mixed():
    pid = start("cat")
    one = Body(pid)
    one.send(b"a" * 100000)
    until("the first has begun", lambda: logs(pid)["nextOffset"] > 0)
    two = in_background("POST", path(pid + "/input"), b"b" * 1000000, None, BYTES)
    for _ in range(10):
        one.send(b"a" * 100000)  # the second request waits meanwhile
    equal(expect(200, one.end()).json["written"], 1100000, "the first")
    equal(expect(200, two.join()).json["written"], 1000000, "the second")
    expect(200, put(pid, b"", "?close=true"))
    ended(pid)
    true(logs(pid)["stdout"] == "a" * 1100000 + "b" * 1000000,
         "one after the other")


@case
def a_body_that_is_cut_off_is_no_end():
    pid = start("cat")
    body = Body(pid, "?close=true")
    body.send(b"half")
    hears(pid, b"half")
    body.cut()
    # the turn of the cut request is over, and the input is still open
    expect(200, put(pid, b" whole", "?close=true"))
    ended(pid)
    equal(logs(pid)["stdout"], "half whole", "all of it")


@case
def a_client_is_slowed_down_by_its_reader():
    pid = start("until [ -e /tmp/read ]; do sleep 0.02; done; wc -c")
    body = Body(pid, "?close=true")
    body.conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    # wait: bytes not taken for a second are not buffered; a slow machine takes
    # less in that time, which makes the test weaker and never red
    body.conn.sock.settimeout(1)
    piece = b"x" * 65536
    sent = 0
    try:
        while sent < 1000 * len(piece):
            body.send(piece)
            sent += len(piece)
    except TimeoutError:
        pass
    true(sent < 16000000, "it took %d bytes that nobody reads" % sent)
    body.cut()
    execute(SID, "touch /tmp/read")
    expect(200, put(pid, b"", "?close=true"))
    ended(pid)
    true(0 < int(logs(pid)["stdout"]) <= sent + len(piece), logs(pid))


@case
def a_process_that_does_not_read_is_told_of():
    doc = container_error(TOLD.join(), 409, "INPUT_FULL")
    equal(doc["context"]["processId"], UNREAD, "whom")
    true(60000 < doc["context"]["written"] <= 65536, "as much as a pipe holds")
    kill(UNREAD)


run(lambda: None)
