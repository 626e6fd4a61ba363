#!/usr/bin/python3
"""raw-files.t: tests files/{path} as bytes: ranges, conditions, streams both
ways."""
import http.client
import json
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, container_error, create, execute, expect, port,
                     setting, until)
from tap import case, equal, run, true

service.begin()

SID = create(isolation="session")["id"]
WRAPPER = service.wrappers()[0]  # the only wrapper so far
MB = 1 << 20
GB = 1 << 30
# a whole gigabyte in the deep check; the wrapper needs the same few megabytes
MUCH = GB if os.environ.get("SANDLEASE_SAMPLE", "all") == "all" else GB // 4


def raw(method, path, body=None, **headers):
    return call(method, at(SID, "/files" + path), body, headers={
        name.replace("_", "-"): value for name, value in headers.items()})


def put(path, body=b"", **headers):
    return raw("PUT", path, body, **headers)


def head_of_request(method, path, *lines):
    return "\r\n".join(["%s %s HTTP/1.1" % (method, at(SID, "/files" + path)),
                        "Host: x", "Authorization: Bearer "
                        + setting("SANDLEASE_API_KEY"), *lines, "", ""]).encode()


def leftovers(where):
    return execute(SID, "find %s -name '.sl-*'" % where)


def most_memory_kb():
    """Returns the most memory that the wrapper ever had."""
    with open("/proc/%d/status" % WRAPPER, encoding="utf-8") as f:
        (line,) = [line for line in f if line.startswith("VmHWM:")]
    return int(line.split()[1])


# ---- there and back

@case
def what_is_put_is_got():
    data = os.urandom(700001)
    r = expect(201, put("/workspace/a/b/new.bin", data))
    equal((r.json["success"], r.json["path"], r.json["size"]),
          (True, "/workspace/a/b/new.bin", len(data)), "answer")
    got = expect(200, raw("GET", "/workspace/a/b/new.bin"))
    true(got.body == data, "%d bytes, the same" % len(got.body))
    equal(got.header("Content-Length"), str(len(data)), "length")
    equal(got.header("ETag"), r.header("ETag"), "the tag that PUT told")
    equal(got.header("Accept-Ranges"), "bytes", "ranges")
    equal(expect(200, put("/workspace/a/b/new.bin", b"other")).json["size"],
          5, "replaced")
    equal(expect(200, raw("GET", "/workspace/a/b/new.bin")).body, b"other",
          "the new one")


@case
def an_empty_file_is_a_file():
    expect(201, put("/workspace/empty", b""))
    r = expect(200, raw("GET", "/workspace/empty"))
    equal((r.body, r.header("Content-Length")), (b"", "0"), "empty")
    tag = r.header("ETag")
    expect(304, raw("GET", "/workspace/empty", If_None_Match=tag))
    expect(200, put("/workspace/empty", b"1", If_Match=tag))


@case
def a_chunked_body_has_no_length():
    conn = http.client.HTTPConnection("127.0.0.1", port())
    conn.request("PUT", at(SID, "/files/workspace/chunked"),
                 (b"%05d" % i * 2000 for i in range(100)),
                 {"Authorization": "Bearer " + setting("SANDLEASE_API_KEY")},
                 encode_chunked=True)
    equal(conn.getresponse().status, 201, "status")
    equal(execute(SID, "wc -c </workspace/chunked"), "1000000\n", "size")


@case
def head_tells_what_get_would():
    expect(201, put("/workspace/h.txt", b"12345"))
    r = expect(200, raw("HEAD", "/workspace/h.txt"))
    equal((r.body, r.header("Content-Length"), r.header("Content-Type")),
          (b"", "5", "text/plain"), "HEAD")
    equal(expect(404, raw("HEAD", "/workspace/nothing")).body, b"", "nothing")


@case
def a_mode_is_kept_or_chosen():
    expect(201, put("/workspace/tool?mode=0755", b"#!/bin/sh\n"))
    equal(execute(SID, "stat -c %a /workspace/tool"), "755\n", "chosen")
    expect(200, put("/workspace/tool", b"#!/bin/sh\n:\n"))
    equal(execute(SID, "stat -c %a /workspace/tool"), "755\n", "kept")
    expect(201, put("/workspace/plain", b""))
    equal(execute(SID, "stat -c %a /workspace/plain"), "644\n", "usual")
    for bad in ("4755", "1000", "9", "0888", "-1", "rwx"):
        doc = container_error(put("/workspace/x?mode=" + bad, b""), 400,
                              "VALIDATION_FAILED")
        equal(doc["context"]["validationErrors"][0]["field"], "mode", bad)


# ---- names

@case
def names_are_bytes_decoded_once():
    for sent, name in (("/workspace/%C3%A4%20b", "ä b"),
                       ("/workspace/new%0Aline", "new\nline"),
                       ("/workspace/100%25", "100%"),
                       ("/workspace/%2525", "%25"),
                       ("/workspace/a+b", "a+b"),
                       ("/workspace/q%3Fx%23y", "q?x#y"),
                       ("/workspace/...", "..."),
                       ("/workspace/%22;%5C", '";\\')):
        expect(201, put(sent, sent.encode()))
        equal(expect(200, raw("GET", sent)).body, sent.encode(), sent)
        equal(call("POST", at(SID, "/api/read"),
                   {"path": "/workspace/" + name}).json["content"], sent, name)
    expect(201, put("/workspace/%FFx", b"not UTF-8"))
    equal(execute(SID, r"cat /workspace/$'\377x'"), "not UTF-8", "a byte")
    for bad in ("/workspace/a%00b", "/workspace/%zz", "/workspace/%"):
        true(raw("GET", bad).status == 400, bad)
    container_error(put("/workspace/" + "n" * 300, b""), 400, "NAME_TOO_LONG")


@case
def slashes_and_dots_mean_what_they_say():
    expect(201, put("/workspace/d/one", b"1"))
    for same in ("//workspace//d/one", "/workspace/./d/one",
                 "/workspace/d/x/../one", "/workspace/d/x/%2e%2e/one",
                 "/workspace%2Fd%2Fone"):
        equal(expect(200, raw("GET", same)).body, b"1", same)
    r = container_error(call("GET", at(SID, "//files/workspace/d/one?x=/../")),
                        400, "VALIDATION_FAILED")
    true(r["message"].startswith("x: "), "its query, not its path: %r" % r)
    container_error(raw("GET", "/workspace/d/one/"), 400, "NOT_DIRECTORY")
    true(b"root" in expect(200, raw("GET", "/etc/passwd")).body, "from the root")


@case
def dots_lead_to_no_other_route_or_session():
    other = create()["id"]
    call("PUT", at(other, "/files/workspace/secret"), b"s")
    for path in ("/files/../api/ping", "/files/workspace/../../api/ping",
                 "/api/../files/etc/passwd", "/files/%2e%2e/api/ping",
                 "/files/..%2fapi/ping", "/api/%2e%2e/files/etc/passwd",
                 "/files/../../%s/files/workspace/secret" % other,
                 "/files/%%2e%%2e/%%2e%%2e/%s/files/workspace/secret" % other,
                 "/%66iles/../api/ping"):
        r = call("GET", at(SID, path))
        true(400 <= r.status < 500 and b"healthy" not in r.body
             and r.body != b"s", "%s: %r" % (path, r))


# ---- conditions and ranges

@case
def a_range_is_a_part():
    data = bytes(range(256)) * 1000
    expect(201, put("/workspace/r", data))
    for wanted, first, last in (("0-0", 0, 0), ("0-", 0, 255999),
                                ("100000-199999", 100000, 199999),
                                ("255000-999999999", 255000, 255999),
                                ("-7", 255993, 255999),
                                ("-999999999", 0, 255999)):
        r = expect(206, raw("GET", "/workspace/r", Range="bytes=" + wanted))
        true(r.body == data[first:last + 1], wanted)
        equal(r.header("Content-Range"), "bytes %d-%d/256000" % (first, last),
              wanted)
    for whole in ("bytes=0-1,5-6", "bytes=5-1", "bytes=x-", "lines=1-2",
                  "bytes=", "bytes=-", "bytes=1", "bytes=%s-" % ("9" * 40)):
        true(expect(200, raw("GET", "/workspace/r", Range=whole)).body == data,
             whole)
    for beyond in ("bytes=256000-", "bytes=-0"):
        r = raw("GET", "/workspace/r", Range=beyond)
        container_error(r, 416, "RANGE_NOT_SATISFIABLE")
        equal(r.header("Content-Range"), "bytes */256000", beyond)
    r = expect(206, raw("HEAD", "/workspace/r", Range="bytes=5-9"))
    equal((r.body, r.header("Content-Length")), (b"", "5"), "HEAD")


@case
def a_range_of_what_has_changed_is_the_whole():
    tag = expect(201, put("/workspace/i", b"0123456789")).header("ETag")
    r = expect(206, raw("GET", "/workspace/i", Range="bytes=2-3", If_Range=tag))
    equal(r.body, b"23", "unchanged")
    when = r.header("Last-Modified")
    expect(206, raw("GET", "/workspace/i", Range="bytes=2-3", If_Range=when))
    expect(200, put("/workspace/i", b"abcdefghij"))
    r = expect(200, raw("GET", "/workspace/i", Range="bytes=2-3", If_Range=tag))
    equal(r.body, b"abcdefghij", "changed")


@case
def what_a_client_has_is_not_sent_again():
    expect(201, put("/workspace/c", b"cached"))
    first = expect(200, raw("GET", "/workspace/c"))
    tag, when = first.header("ETag"), first.header("Last-Modified")
    for headers in ({"If_None_Match": tag}, {"If_None_Match": '"x", W/' + tag},
                    {"If_None_Match": "*"}, {"If_Modified_Since": when},
                    {"If_None_Match": tag, "Range": "bytes=0-0"}):
        r = expect(304, raw("GET", "/workspace/c", **headers))
        equal((r.body, r.header("ETag")), (b"", tag), repr(headers))
    for headers in ({"If_None_Match": '"x"'},
                    {"If_Modified_Since": "Thu, 01 Jan 1970 00:00:00 GMT"},
                    {"If_Modified_Since": "yesterday"},
                    {"If_None_Match": '"x"', "If_Modified_Since": when},
                    {"If_Match": tag}):
        expect(200, raw("GET", "/workspace/c", **headers))
    for headers in ({"If_Match": '"x"'}, {"If_Match": "W/" + tag},
                    {"If_Unmodified_Since": "Thu, 01 Jan 1970 00:00:00 GMT"}):
        container_error(raw("GET", "/workspace/c", **headers), 412,
                        "PRECONDITION_FAILED")


@case
def a_write_can_depend_on_what_is_there():
    tag = expect(201, put("/workspace/w", b"1", If_None_Match="*")).header("ETag")
    container_error(put("/workspace/w", b"2", If_None_Match="*"), 412,
                    "PRECONDITION_FAILED")
    container_error(put("/workspace/w", b"2", If_Match='"x"'), 412,
                    "PRECONDITION_FAILED")
    container_error(put("/workspace/w2", b"2", If_Match="*"), 412,
                    "PRECONDITION_FAILED")
    equal(expect(200, raw("GET", "/workspace/w")).body, b"1", "as it was")
    expect(200, put("/workspace/w", b"2", If_Match=tag))
    container_error(raw("DELETE", "/workspace/w", If_Match=tag), 412,
                    "PRECONDITION_FAILED")
    container_error(put("/workspace/w", b"3", Content_Range="bytes 0-0/9"), 400,
                    "VALIDATION_FAILED")
    equal(expect(200, raw("GET", "/workspace/w")).body, b"2", "the second")


@case
def a_write_also_depends_on_what_came_meanwhile():
    tag = expect(201, put("/workspace/slow", b"1")).header("ETag")
    conn = http.client.HTTPConnection("127.0.0.1", port(),
                                      timeout=service.PATIENCE)
    conn.putrequest("PUT", at(SID, "/files/workspace/slow"))
    for name, value in (("Authorization",
                         "Bearer " + setting("SANDLEASE_API_KEY")),
                        ("Content-Length", str(2 * MB)), ("If-Match", tag)):
        conn.putheader(name, value)
    conn.endheaders(bytes(MB))
    until("it has begun", lambda: leftovers("/workspace"))
    expect(200, put("/workspace/slow", b"other"))
    conn.send(bytes(MB))
    equal(conn.getresponse().status, 412, "it came too late")
    conn.close()
    equal(expect(200, raw("GET", "/workspace/slow")).body, b"other", "theirs")
    equal(leftovers("/workspace"), "", "no draft")


# ---- a browser does not show files as pages

@case
def a_page_of_a_sandbox_is_saved_not_shown():
    expect(201, put("/workspace/x%22;%20y.html", b"<script>alert(1)</script>"))
    r = expect(200, raw("GET", "/workspace/x%22;%20y.html"))
    equal(r.header("Content-Type"), "text/html", "type")
    equal(r.header("Content-Disposition"),
          "attachment; filename*=UTF-8''x%22%3B%20y.html", "saved")
    equal(r.header("X-Content-Type-Options"), "nosniff", "not guessed")
    true("sandbox" in r.header("Content-Security-Policy"), "nor run")
    equal(r.header("Cache-Control"), "private, no-cache", "nor kept by others")


# ---- directories and special files

@case
def directories_and_devices_do_not_hang():
    doc = container_error(raw("GET", "/workspace"), 400, "IS_DIRECTORY")
    true("archive/" in doc["message"], "a hint: %s" % doc["message"])
    equal(doc["context"], {"path": "/workspace", "operation": "file.read"},
          "context")
    container_error(raw("GET", "/"), 400, "IS_DIRECTORY")
    container_error(put("/workspace/", b""), 400, "IS_DIRECTORY")
    container_error(put("/workspace", b"x" * (50 * MB)), 400, "IS_DIRECTORY")
    execute(SID, "mkfifo /workspace/fifo; ln -s loop /workspace/loop")
    for path in ("/workspace/fifo", "/dev/zero", "/dev/tty", "/dev/null"):
        r = raw("GET", path)
        true(r.status in (400, 409), "%s: %r" % (path, r))
    container_error(put("/workspace/fifo", b"x"), 409, "RESOURCE_BUSY")
    container_error(raw("GET", "/workspace/loop"), 500, "TOO_MANY_LINKS")
    container_error(raw("GET", "/workspace/none"), 404, "FILE_NOT_FOUND")
    container_error(put("/etc/x", b"x"), 403, "READ_ONLY")
    container_error(call("POST", at(SID, "/files/workspace/x"), b""), 405,
                    "METHOD_NOT_ALLOWED")


@case
def the_kernels_files_are_read_to_their_end():
    r = expect(200, raw("GET", "/proc/self/status"))
    true(b"sandlease-wrap" in r.body, "read: %r" % r)
    equal(r.header("ETag"), None, "nothing to compare")
    expect(200, raw("HEAD", "/proc/self/status"))
    # a file that has a size, but cannot be sent without a copy
    size = execute(SID, "stat -c %s /proc/config.gz 2>/dev/null || echo none")
    if size != "none\n":
        equal(len(expect(200, raw("GET", "/proc/config.gz")).body), int(size),
              "/proc/config.gz")


@case
def a_file_that_shrinks_is_not_taken_for_whole():
    execute(SID, "truncate -s 1G /workspace/shrinks")
    with socket.create_connection(("127.0.0.1", port()),
                                  service.PATIENCE) as c:
        c.sendall(head_of_request("GET", "/workspace/shrinks"))
        got = len(c.recv(65536))
        execute(SID, "truncate -s 1M /workspace/shrinks")
        while more := c.recv(MB):
            got += len(more)
    true(got < GB, "the connection ended early, after %d" % got)


# ---- interrupted transfers

@case
def a_client_that_vanishes_leaves_the_old_file():
    expect(201, put("/workspace/v/file", b"old"))
    for head, piece in (("Content-Length: %d" % (100 * MB), b"x" * MB),
                        ("Transfer-Encoding: chunked",
                         b"%x\r\n" % MB + b"x" * MB + b"\r\n")):
        with socket.create_connection(("127.0.0.1", port())) as c:
            c.sendall(head_of_request("PUT", "/workspace/v/file", head))
            c.sendall(piece)
            until("its bytes are on the way", lambda: leftovers("/workspace/v"))
        until("nothing is left of it", lambda: not leftovers("/workspace/v"))
        equal(expect(200, raw("GET", "/workspace/v/file")).body, b"old", head)


@case
def a_client_that_stops_reading_frees_us():
    execute(SID, "truncate -s 1G /workspace/huge")
    with socket.create_connection(("127.0.0.1", port())) as c:
        c.sendall(head_of_request("GET", "/workspace/huge"))
        true(c.recv(9) == b"HTTP/1.1 ", "it began")
        true(service.get(SID)["busy"], "a download is work")
    until("nothing is busy", lambda: not service.get(SID)["busy"])


@case
def a_full_disk_is_told_and_hangs_nobody():
    expect(201, put("/dev/shm/f", b"old"))
    for headers in ({}, {"Transfer-Encoding": "chunked"}):
        conn = http.client.HTTPConnection("127.0.0.1", port(),
                                          timeout=service.PATIENCE)
        conn.request("PUT", at(SID, "/files/dev/shm/f"),
                     (b"x" * MB for _ in range(200)) if headers
                     else b"x" * (200 * MB),
                     dict(headers, Authorization="Bearer "
                          + setting("SANDLEASE_API_KEY")),
                     encode_chunked=bool(headers))
        answer = conn.getresponse()
        r = service.Reply(answer.status, answer.headers, answer.read())
        container_error(r, 500, "NO_SPACE")
        equal(expect(200, raw("GET", "/dev/shm/f")).body, b"old", "the old one")
        equal(leftovers("/dev/shm"), "", "and nothing else")


# ---- DELETE

@case
def delete_removes_links_not_what_they_point_to():
    execute(SID, "mkdir -p /workspace/del/sub; echo kept >/workspace/kept;"
                 " ln -s /workspace/kept /workspace/del/link;"
                 " ln -s /workspace/keptdir /workspace/del/dirlink;"
                 " mkdir /workspace/keptdir; touch /workspace/keptdir/f")
    expect(200, raw("DELETE", "/workspace/del/link"))
    expect(200, raw("DELETE", "/workspace/del/dirlink?recursive=true"))
    equal(execute(SID, "ls /workspace/del /workspace/keptdir; cat kept",
                  cwd="/workspace"),
          "/workspace/del:\nsub\n\n/workspace/keptdir:\nf\nkept\n", "targets")
    doc = container_error(raw("DELETE", "/workspace/del"), 400, "IS_DIRECTORY")
    true("recursive" in doc["message"], "a hint")
    execute(SID, "ln -s /workspace/keptdir /workspace/del/again")
    expect(200, raw("DELETE", "/workspace/del?recursive=true"))
    equal(execute(SID, "ls /workspace/keptdir"), "f\n", "not through a link")
    container_error(raw("DELETE", "/workspace/del?recursive=true"), 404,
                    "FILE_NOT_FOUND")
    container_error(raw("DELETE", "/workspace/kept?recursive=yes"), 400,
                    "VALIDATION_FAILED")


@case
def delete_goes_as_deep_as_there_is_something():
    execute(SID, "mkdir -p deep/$(printf 'd/%.0s' $(seq 700)); touch deep/f",
            cwd="/workspace")
    expect(200, raw("DELETE", "/workspace/deep?recursive=true"))
    container_error(raw("GET", "/workspace/deep"), 404, "FILE_NOT_FOUND")


@case
def a_place_that_stays_keeps_what_is_in_it():
    container_error(raw("DELETE", "/workspace?recursive=true"), 403,
                    "READ_ONLY")
    expect(200, raw("GET", "/workspace/kept"))
    container_error(raw("DELETE", "/usr?recursive=true"), 403, "READ_ONLY")


# ---- any size

@case
def any_size_comes_and_goes_in_little_memory():
    before = most_memory_kb()
    execute(SID, "truncate -s %d /workspace/big" % MUCH)
    conn = http.client.HTTPConnection("127.0.0.1", port())
    key = {"Authorization": "Bearer " + setting("SANDLEASE_API_KEY")}
    conn.request("GET", at(SID, "/files/workspace/big"), headers=key)
    answer, got = conn.getresponse(), 0
    while more := answer.read(4 * MB):
        got += len(more)
    equal(got, MUCH, "all of it")
    piece = bytes(4 * MB)
    conn.request("PUT", at(SID, "/files/workspace/big"),
                 (piece for _ in range(MUCH // len(piece))),
                 dict(key, **{"Content-Length": str(MUCH)}))
    answer = conn.getresponse()
    equal((answer.status, len(answer.read()) > 0), (200, True), "and back")
    equal(execute(SID, "stat -c %s /workspace/big; rm /workspace/big"),
          "%d\n" % MUCH, "there")
    grown = most_memory_kb() - before
    true(grown < 4096, "%d KB at the top, and then %d more" % (before, grown))


@case
def a_session_that_sleeps_wakes_for_it():
    sid = create()["id"]
    data = os.urandom(3 * MB)
    for method, body, status in (("PUT", data, 201), ("GET", None, 200),
                                 ("HEAD", None, 200), ("DELETE", None, 200)):
        expect(200, call("POST", at(sid, "/sleep")))
        r = expect(status, call(method, at(sid, "/files/workspace/a%20b"), body))
        if method == "GET":
            true(r.body == data, "the same")


@case
def what_nobody_can_send_on_is_asked_for_again_once_it_is_awake():
    sid = create()["id"]
    expect(200, call("POST", at(sid, "/sleep")))
    conn = http.client.HTTPConnection("127.0.0.1", port())
    conn.putrequest("PUT", at(sid, "/files/workspace/x"))
    conn.putheader("Authorization", "Bearer " + setting("SANDLEASE_API_KEY"))
    conn.putheader("Transfer-Encoding", "chunked")
    # without a length nginx notices the size only when it has read so much
    conn.endheaders(b"200000\r\n" + b"x" * (MB + 1))
    answer = conn.getresponse()
    doc = json.loads(answer.read())
    equal((answer.status, doc["code"], doc["context"]["reason"]),
          (503, "CONTAINER_UNAVAILABLE", "waking"), "send it again")
    conn.close()
    expect(200, call("GET", at(sid, "/api/ping"), headers={
        "X-Sandlease-Probe": "1"}))  # a probe wakes no session


run(lambda: None)
