#!/usr/bin/python3
"""files.t: tests the content of files as JSON and as a stream, through nginx."""
import base64
import hashlib
import http.client
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from filecalls import Files, Stream, streamed
from service import (at, call, container_error, create, execute, expect, get,
                     setting, until)
from tap import case, equal, run, true

service.begin()

SID = create(isolation="session")["id"]
MIB = 1 << 20
FILES = Files(SID)
post, good, error, sh = FILES.post, FILES.good, FILES.error, FILES.sh
sh("mkfifo pipe")


def wrapper(sid, what):
    """Returns a line of /proc/.../status of the wrapper, in KiB."""
    return int(execute(sid, "grep %s: /proc/$PPID/status" % what).split()[1])


# ---- memory; first, with a new wrapper

@case
def a_stream_of_any_size_needs_no_memory():
    sid = create(isolation="session")["id"]
    execute(sid, "truncate -s 40M zeros; yes é | head -c 20000000 >t.txt;"
                 " truncate -s 32M most; mkdir many; cd many; seq 100000 |"
                 " sed s/^/name-/ | xargs touch")
    before = wrapper(sid, "VmHWM")
    for path, size in (("zeros", 40 * MIB), ("t.txt", 20000000)):
        s = Stream(sid, "/workspace/" + path)
        equal(s.event()["size"], size, "metadata of %s" % path)
        # the test does not decode each line: that would take longer than sending
        last = b""
        while (line := s.line()) != b"":
            last = line if line.startswith(b"data: ") else last
        equal(json.loads(last[6:]), {"type": "complete", "bytesRead": size},
              path)
    r = expect(200, call("POST", at(sid, "/api/list-files"),
                         {"path": "/workspace/many"})).json
    equal((r["count"], len({f["name"] for f in r["files"]})),
          (100000, 100000), "entries")
    r = expect(200, call("POST", at(sid, "/api/read"),
                         {"path": "/workspace/most"})).json
    equal((r["size"], len(r["content"])), (32 * MIB, 44739244), "read")
    grown = wrapper(sid, "VmHWM") - before
    true(grown < 8 * 1024, "the wrapper grew by %d KiB" % grown)


# ---- content

@case
def a_text_that_is_not_utf8_comes_as_base64():
    sh("{ head -c 200000 /dev/zero | tr '\\0' x; printf '\\351'; } >latin.txt")
    r = good("read", path="/workspace/latin.txt")
    equal((r["encoding"], r["isBinary"], r["mimeType"],
           base64.b64decode(r["content"])[-2:]),
          ("base64", True, "text/plain", b"x\xe9"), "read")
    meta, chunks, _ = streamed(SID, "/workspace/latin.txt")
    equal((meta["encoding"], base64.b64decode(chunks[-1])[-2:]),
          ("base64", b"x\xe9"), "stream")


@case
def thirty_two_mebibytes_are_read_and_twice_as_much_is_written():
    text = "0123456789abcde\n" * (2 * MIB)
    good("write", path="most", content=text)
    true(good("read", path="most")["content"] == text, "32 MiB")
    data = os.urandom(MIB) * 64
    whole = base64.b64encode(data).decode()
    good("write", path="twice", content=whole, encoding="base64")
    equal(sh("sha256sum <twice").split()[0], hashlib.sha256(data).hexdigest(), "64 MiB")
    more = base64.b64encode(data + b"x").decode()
    doc = error("write", 413, "FILE_TOO_LARGE", "file.write", "twice",
                path="twice", content=more, encoding="base64")
    equal((doc["context"]["maxSize"], doc["context"]["actualSize"]),
          (64 * MIB, 64 * MIB + 1), "a byte more")
    equal(sh("wc -c <twice"), "%d\n" % (64 * MIB), "the old one is still there")
    sh("rm twice; printf x >>most")
    doc = error("read", 413, "FILE_TOO_LARGE", "file.read", "most",
                path="most")
    equal((doc["context"]["maxSize"], doc["context"]["actualSize"]),
          (32 * MIB, 32 * MIB + 1), "reading a byte more")
    doc = error("read", 413, "FILE_TOO_LARGE", "file.read", "/dev/zero",
                path="/dev/zero")
    true(doc["context"]["actualSize"] > 32 * MIB, "no end")
    sh("rm most")


@case
def a_body_beyond_all_limits_is_not_read_into_memory():
    def pieces():
        yield b'{"path": "x", "content": "'
        for _ in range(90):
            yield b"x" * MIB
        yield b'"}'
    conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                      timeout=service.PATIENCE)
    conn.request("POST", at(SID, "/api/write"), pieces(),
                 {"Authorization": "Bearer " + setting("SANDLEASE_API_KEY")},
                 encode_chunked=True)
    r = conn.getresponse()
    chunked = service.Reply(r.status, r.headers, r.read())
    conn.close()
    whole = call("POST", at(SID, "/api/write"), b"".join(pieces()))
    for reply in (chunked, whole):
        context = container_error(reply, 413, "FILE_TOO_LARGE")["context"]
        equal(context, {"path": "", "operation": "file.write",
                        "maxSize": 64 * MIB,
                        "actualSize": 90 * MIB + len(b"".join(pieces())) %
                        MIB}, "context")


# ---- streams

@case
def a_stream_tells_what_it_is_and_when_it_is_over():
    good("write", path="s.json", content='{"é": 1}')
    meta, chunks, last = streamed(SID, "s.json")
    equal(meta, {"type": "metadata", "mimeType": "application/json", "size": 9,
                 "isBinary": False, "encoding": "utf-8"}, "metadata")
    equal(("".join(chunks), last), ('{"é": 1}',
                                    {"type": "complete", "bytesRead": 9}),
          "content")
    good("write", path="none", content="")
    equal(streamed(SID, "none")[1:], ([], {"type": "complete", "bytesRead": 0}),
          "nothing at all")


@case
def no_character_is_cut_and_every_block_is_base64_by_itself():
    text = "a" + "é€😀" * 30000
    good("write", path="u.txt", content=text)
    meta, chunks, _ = streamed(SID, "u.txt")
    true("".join(chunks) == text and meta["encoding"] == "utf-8", "text")
    true(len(chunks) > 3, "in several chunks")
    data = os.urandom(200000)
    good("write", path="r.bin", content=base64.b64encode(data).decode(),
         encoding="base64")
    meta, chunks, _ = streamed(SID, "r.bin")
    equal([len(base64.b64decode(c)) for c in chunks],
          [65535, 65535, 65535, 200000 - 3 * 65535], "blocks")
    true(base64.b64decode("".join(chunks)) == data, "and as one")


@case
def errors_of_a_stream_come_in_it():
    sh("mkdir -p d; ln -sf loop loop")
    for path, word in (("/workspace/nowhere", "No such file"),
                       ("/workspace/d", "directory"),
                       ("/workspace/loop", "symbolic links")):
        events = list(Stream(SID, path))
        equal([e["type"] for e in events], ["error"], path)
        true(word in events[0]["error"], "%r" % events)
    container_error(post("read/stream", path=""), 400, "VALIDATION_FAILED")


@case
def who_does_not_wait_for_the_end_frees_everything():
    sid = create(isolation="session")["id"]
    execute(sid, "mkfifo quiet")
    streams = [Stream(sid, p) for p in ("/dev/zero", "/workspace/quiet") * 3]
    for s in streams:
        s.event()
    true(get(sid)["busy"], "streams are work")
    for s in streams:
        s.close()
    until("they are over", lambda: not get(sid)["busy"])
    equal(execute(sid, "python3 -c '%s'" % """
import errno, os
try:
    os.open("quiet", os.O_WRONLY | os.O_NONBLOCK)
except OSError as e:
    print(errno.errorcode[e.errno])"""), "ENXIO\n", "nobody has it open")


@case
def devices_and_sockets_hang_nobody():
    sh("rm -f p s; mkfifo p; python3 -c 'import socket;"
       " socket.socket(socket.AF_UNIX).bind(\"s\")'")
    equal(good("read", path="p")["content"], "", "a fifo without a writer")
    error("write", 409, "RESOURCE_BUSY", "file.write", "p", path="p",
          content="x")
    error("read", 409, "RESOURCE_BUSY", "file.read", "s", path="s")
    sh("(sleep 1000 >p & echo $! >pid) 2>&1")
    equal(good("read", path="p")["content"], "", "one whose writer is silent")
    sh("kill $(cat pid)")
    equal(good("read", path="/dev/null")["size"], 0, "/dev/null")
    true("Name:" in good("read", path="/proc/self/status")["content"],
         "a file whose size nobody knows")
    good("write", path="/dev/null", content="x")
    equal(sh("stat -c %F /dev/null"), "character special file\n",
          "a device stays one")


@case
def a_fifo_is_streamed_as_it_is_written():
    s = WAITING
    equal(s.event()["isBinary"], True, "what cannot be looked at before")
    # the stream waits for a writer, and sends heartbeats meanwhile
    line = s.line()
    while line == b"\n":
        line = s.line()
    true(line.startswith(b":"), "a heartbeat: %r" % line)
    sh("(printf abc; until [ -e go ]; do sleep 0.05; done; printf defg)"
       " >/workspace/pipe 2>&1 &", sessionId="writer")
    equal(s.event(), {"type": "chunk", "data": "YWJj"}, "the first piece")
    sh("touch go")
    rest = list(s)
    equal(rest.pop(), {"type": "complete", "bytesRead": 7}, "its end")
    equal(b"".join(base64.b64decode(e["data"]) for e in rest), b"defg",
          "the rest")


WAITING = Stream(SID, "/workspace/pipe")  # its heartbeat comes during other cases
sys.exit(run(lambda: None))
