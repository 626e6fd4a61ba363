#!/usr/bin/python3
"""archive.t: tests archive/{path}: directories as tar streams, out and in."""
import gzip
import io
import os
import socket
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, container_error, create, execute, expect, port,
                     setting, until)
from tap import case, equal, run, true

service.begin()

SID = create(isolation="session")["id"]
WRAPPER = service.wrappers()[0]  # the only one so far
MB = 1 << 20


def archive(method, path, body=None, **headers):
    return call(method, at(SID, "/archive" + path), body, headers=headers)


def zstd(data, *options):
    return subprocess.run(["zstd", "-qc", *options], input=data, check=True,
                          stdout=subprocess.PIPE).stdout


def entry(name, **more):
    info = tarfile.TarInfo(name)
    for key, value in more.items():
        setattr(info, key, value)
    return info


def tar(*entries, form=tarfile.PAX_FORMAT):
    """Makes an archive of (TarInfo or name, bytes)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as t:
        for info, data in entries:
            if isinstance(info, str):
                info = entry(info, mode=0o644)
            if data is not None:
                info.size = len(data)
            t.addfile(info, io.BytesIO(data or b""))
    return out.getvalue()


def link(name, target, kind=tarfile.SYMTYPE):
    return entry(name, type=kind, linkname=target), None


def members(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as t:
        return {m.name: (m, t.extractfile(m).read() if m.isreg() else None)
                for m in t.getmembers()}


def tree(path):
    return execute(SID, "cd %s && find . -mindepth 1 | LC_ALL=C sort" % path,
                   cwd="/")


# ---- out of a session

@case
def a_directory_comes_as_a_tar():
    execute(SID, "mkdir -p out/sub/empty; cd out; printf hello >a; chmod 750 a;"
                 " printf 'x%.0s' $(seq 3000) >sub/b; ln -s ../a sub/link;"
                 " ln a hard; mkfifo fifo; ln -s /nowhere dangling;"
                 " printf n >$'new\\nline'; printf u >ä; printf y >$'\\377';"
                 " touch -d '2020-01-01 00:00:00.123456789' sub/b",
            cwd="/workspace")
    for query, kind, undo in (
            ("", "application/x-tar", lambda data: data),
            ("?format=tar", "application/x-tar", lambda data: data),
            ("?format=tar.gz", "application/gzip", gzip.decompress),
            ("?format=tar.zst", "application/zstd",
             lambda data: zstd(data, "-d"))):
        r = expect(200, archive("GET", "/workspace/out" + query))
        equal(r.header("Content-Type"), kind, query)
        true("attachment" in r.header("Content-Disposition")
             and "out.tar" in r.header("Content-Disposition"), repr(r.headers))
        got = members(undo(r.body))
        equal(sorted(got), sorted([
            "a", "sub", "sub/b", "sub/empty", "sub/link", "hard", "dangling",
            "new\nline", "ä", "\udcff"]), "names")
        equal(got["sub/b"][1], b"x" * 3000, "content")
        equal((got["sub/link"][0].issym(), got["sub/link"][0].linkname),
              (True, "../a"), "a link stays one")
        links = [got["a"][0].islnk(), got["hard"][0].islnk()]
        equal(sorted(links), [False, True], "one file with two names")
        equal(got["a"][0].mode & 0o777, 0o750, "mode")
        equal(got["sub/b"][0].pax_headers["mtime"].split(".")[1],
              "123456789", "time to the nanosecond")
        true(not got["a"][0].pax_headers.keys()
             & {"SCHILY.acl.access", "atime", "ctime"},
             "no more than a tar has")


@case
def accept_chooses_the_format():
    for accept, kind in (("application/gzip", "application/gzip"),
                         ("application/zstd;q=1", "application/zstd"),
                         ("application/x-tar", "application/x-tar"),
                         ("*/*", "application/x-tar")):
        r = expect(200, archive("GET", "/workspace/out", Accept=accept))
        equal(r.header("Content-Type"), kind, accept)
    doc = container_error(archive("GET", "/workspace/out?format=zip"), 400,
                          "VALIDATION_FAILED")
    equal(doc["context"]["validationErrors"][0]["field"], "format", "field")


@case
def a_file_is_an_archive_of_one():
    got = members(expect(200, archive("GET", "/workspace/out/sub/b")).body)
    equal(list(got), ["b"], "its name")
    r = expect(200, archive("HEAD", "/workspace/out"))
    equal(r.body, b"", "HEAD")
    execute(SID, "mkdir -p /workspace/nothing")
    equal(members(expect(200, archive("GET", "/workspace/nothing")).body), {},
          "an empty one is empty")
    container_error(archive("GET", "/workspace/none"), 404, "FILE_NOT_FOUND")
    container_error(archive("GET", "/workspace/out/a/"), 400, "NOT_DIRECTORY")
    container_error(archive("GET", "/dev/null"), 400, "VALIDATION_FAILED")
    container_error(archive("DELETE", "/workspace/out"), 405,
                    "METHOD_NOT_ALLOWED")


@case
def what_cannot_be_read_is_no_whole_archive():
    execute(SID, "mkdir -p closed/a; echo x >closed/secret; chmod 0 closed/secret",
            cwd="/workspace")
    doc = container_error(archive("GET", "/workspace/closed"), 403,
                          "PERMISSION_DENIED")
    true("secret" in doc["message"], doc["message"])
    # the same behind more bytes than the wrapper holds back
    execute(SID, "head -c 3000000 /dev/urandom >closed/0", cwd="/workspace")
    execute(SID, "mkdir -p ordered/below; mv closed/0 ordered/;"
                 " mv closed/secret ordered/below/", cwd="/workspace")
    with socket.create_connection(("127.0.0.1", port()),
                                  service.PATIENCE) as c:
        c.sendall(("GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                   "Connection: close\r\n\r\n" % (at(SID, "/archive/workspace/ordered"),
                             setting("SANDLEASE_API_KEY"))).encode())
        got = b""
        while more := c.recv(MB):
            got += more
    true(got.startswith(b"HTTP/1.1 200") and len(got) > MB,
         "it began: %d %r" % (len(got), got[:300]))
    true(not got.endswith(b"0\r\n\r\n"), "and has no end: %r" % got[-20:])


@case
def files_that_change_meanwhile_break_nothing():
    execute(SID, "mkdir -p moving; cd moving; for i in $(seq 40); do"
                 " head -c 300000 /dev/urandom >f$i; done; cd ..;"
                 " (until [ -e stop ]; do for i in $(seq 40); do"
                 " head -c $((RANDOM * 10)) /dev/zero >moving/f$i;"
                 " rm -f moving/g$i; : >moving/g$i; done; done)"
                 " >/dev/null 2>&1 &", cwd="/workspace")
    for _ in range(5):
        got = members(expect(200, archive("GET", "/workspace/moving")).body)
        true(len(got) >= 40, "%d entries" % len(got))
    execute(SID, "touch stop; wait", cwd="/workspace")


# ---- into a session

@case
def an_archive_goes_where_it_is_put():
    data = tar(("a", b"1"), ("d/b", b"22"), (entry(
        "exe", mode=0o4755), b"#!/bin/sh\n"), link("l", "d/b"),
        link("h", "a", tarfile.LNKTYPE), ("ä\n", b"x"))
    for name, sent in (("tar", data), ("gz", gzip.compress(data)),
                       ("zst", zstd(data))):
        r = expect(200, archive("PUT", "/workspace/in/" + name, sent))
        equal((r.json["entries"], r.json["bytes"], r.json["skipped"],
               r.json["path"]), (6, 14, 0, "/workspace/in/" + name), "answer")
        equal(execute(SID, "cat a d/b l h; stat -c %a exe a; ls | wc -l",
                      cwd="/workspace/in/" + name),
              "122221755\n644\n7\n", name)


@case
def there_and_back_is_the_same():
    execute(SID, "cd /workspace; truncate -s 50M out/sparse; echo end >>out/sparse;"
                 " mkdir -p out/$(printf 'l%.0s' $(seq 200));"
                 " touch -d 2001-02-03 out/a")
    for query in ("", "?format=tar.gz", "?format=tar.zst"):
        data = expect(200, archive("GET", "/workspace/out" + query)).body
        true(len(data) < 10 * MB, "holes are not sent: %d" % len(data))
        expect(200, archive("PUT", "/workspace/back", data))
        equal(execute(SID, "rm -f out/fifo; diff -r --no-dereference out back;"
                           " stat -c '%Y %a %i' back/a | cut -d' ' -f1,2;"
                           " [ back/a -ef back/hard ] && du -m back/sparse",
                      cwd="/workspace", env={"TZ": "UTC"}),
              "981158400 750\n1\tback/sparse\n", query)
        execute(SID, "rm -r back", cwd="/workspace")


# ---- hostile archives

def refused(body, *words, where="/workspace/jail/in"):
    doc = container_error(archive("PUT", where, body), 400,
                          "VALIDATION_FAILED")
    for word in words:
        true(word in doc["message"], "%s: %s" % (word, doc["message"]))
    return doc


@case
def nothing_lands_outside():
    execute(SID, "mkdir -p jail/in jail/out; echo mine >jail/out/victim;"
                 " ln -s ../out jail/in/there", cwd="/workspace")
    before = tree("/workspace/jail")
    absolute = entry("/workspace/jail/out/abs")
    for body, words in (
            (tar(("../out/x", b"x")), ["..", "entry 1"]),
            (tar(("a/../../out/x", b"x")), [".."]),
            (tar((absolute, b"x")), ["absolute"]),
            (tar(link("s", "../out"), ("s/x", b"x")), ["symlink", "s"]),
            (tar(link("s", "/workspace/jail/out"), ("s/x", b"x")), ["symlink"]),
            (tar(link("s", ".."), link("s2", "s/../out"), ("s2/x", b"x")),
             ["symlink"]),
            (tar(("there/x", b"x")), ["symlink"]),
            (tar(link("hard", "../out/victim", tarfile.LNKTYPE)), ["hard"]),
            (tar(link("hard", "/workspace/jail/out/victim",
                      tarfile.LNKTYPE)), ["hard"]),
            (tar(link("hard", "there/victim", tarfile.LNKTYPE)), ["hard"]),
            (tar((entry("../out/d", type=tarfile.DIRTYPE), None)), [".."])):
        refused(body, *words)
        execute(SID, "rm -f in/s in/s2", cwd="/workspace/jail")
        equal(tree("/workspace/jail"), before, "nothing is there")
    equal(execute(SID, "cat /workspace/jail/out/victim"), "mine\n", "untouched")


@case
def a_link_in_the_way_is_replaced_not_followed():
    execute(SID, "rm -f in/v; ln -s ../out/victim in/v", cwd="/workspace/jail")
    expect(200, archive("PUT", "/workspace/jail/in", tar(("v", b"new"))))
    equal(execute(SID, "cat out/victim in/v", cwd="/workspace/jail"),
          "mine\nnew", "both")
    # the same with an archive that makes the link itself
    expect(200, archive("PUT", "/workspace/jail/in", tar(
        link("w", "../out/victim"), ("w", b"new"))))
    equal(execute(SID, "cat out/victim in/w", cwd="/workspace/jail"),
          "mine\nnew", "both")


@case
def devices_are_left_out():
    r = expect(200, archive("PUT", "/workspace/dev", tar(
        (entry("null", type=tarfile.CHRTYPE, devmajor=1, devminor=3), None),
        (entry("sda", type=tarfile.BLKTYPE, devmajor=8), None),
        (entry("pipe", type=tarfile.FIFOTYPE), None), ("file", b"x"))))
    equal((r.json["entries"], r.json["skipped"]), (1, 3), "counted")
    equal(tree("/workspace/dev"), "./file\n", "one file")


@case
def the_last_of_two_wins_and_long_names_are_told():
    expect(200, archive("PUT", "/workspace/two", tar(("f", b"1"), ("f", b"2"))))
    equal(execute(SID, "cat /workspace/two/f"), "2", "the second")
    container_error(archive("PUT", "/workspace/two", tar(("n" * 300, b""))),
                    400, "NAME_TOO_LONG")
    long = "/".join(["d" * 100] * 60)
    expect(200, archive("PUT", "/workspace/two", tar((long, b"deep"))))
    expect(200, call("DELETE", at(SID, "/files/workspace/two?recursive=true")))
    r = archive("PUT", "/workspace/two", tar(("x/" * 3000, b"")))
    true(r.status in (200, 400), repr(r))
    expect(200, call("DELETE", at(SID, "/files/workspace/two?recursive=true")))


@case
def a_broken_archive_says_where():
    data = tar(("first", os.urandom(50000)), ("second", os.urandom(50000)))
    packed = gzip.compress(data)
    for body, entry_number in ((packed[:len(packed) * 3 // 4], 2),
                               (data[:75000], 2),
                               (zstd(data)[:70000], 1),
                               (os.urandom(5000), 1), (b"", 1),
                               (b"\x1f\x8b" + bytes(100), 1),
                               (gzip.compress(os.urandom(3000)), 1),
                               (packed[:30000] + bytes(30000)
                                + packed[60000:], None)):
        doc = refused(body, where="/workspace/broken")
        if entry_number:
            true("entry %d" % entry_number in doc["message"], doc["message"])
            equal(doc["context"]["entries"], entry_number - 1, "how far")
        equal(execute(SID, "[ ! -e second ] || wc -c <second",
                      cwd="/workspace/broken"), "", "no half file")
        execute(SID, "rm -f /workspace/broken/*")


@case
def a_full_disk_and_a_wrong_place_are_told():
    doc = container_error(archive("PUT", "/dev/shm/bomb", gzip.compress(
        tar(("small", b"x"), ("big", bytes(100 * MB))))), 500, "NO_SPACE")
    equal((doc["context"]["entry"], doc["context"]["entries"]), ("big", 1),
          "where")
    equal(tree("/dev/shm/bomb"), "./small\n", "what fit")
    container_error(archive("PUT", "/workspace/out/a", tar(("x", b""))), 409,
                    "FILE_EXISTS")
    container_error(archive("PUT", "/etc/x", tar(("x", b""))), 403,
                    "READ_ONLY")
    container_error(archive("PUT", "/etc", tar(("x", b""))), 403, "READ_ONLY")


@case
def a_client_that_vanishes_leaves_whole_files():
    data = tar(("one", b"1" * 5000), ("two", b"2" * (50 * MB)))
    with socket.create_connection(("127.0.0.1", port())) as c:
        c.sendall(("PUT %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                   "Content-Length: %d\r\n\r\n" % (
                       at(SID, "/archive/workspace/vanish"),
                       setting("SANDLEASE_API_KEY"), len(data))).encode())
        c.sendall(data[:20 * MB])
        until("it has begun", lambda: call(
            "GET", at(SID, "/files/workspace/vanish/two")).status == 200)
    until("nobody is busy", lambda: not service.get(SID)["busy"])
    equal(tree("/workspace/vanish"), "./one\n", "what was whole")


@case
def a_large_archive_needs_little_memory():
    def most_memory_kb():
        with open("/proc/%d/status" % WRAPPER, encoding="utf-8") as f:
            (line,) = [line for line in f if line.startswith("VmHWM:")]
        return int(line.split()[1])

    before = most_memory_kb()
    execute(SID, "mkdir -p big; head -c 200M /dev/zero >big/f", cwd="/workspace")
    r = expect(200, archive("GET", "/workspace/big"))
    true(len(r.body) > 200 * MB, "%d bytes" % len(r.body))
    r = expect(200, archive("PUT", "/workspace/big2", r.body))
    equal(r.json["bytes"], 200 * MB, "and back")
    execute(SID, "cmp big/f big2/f; rm -r big big2", cwd="/workspace")
    grown = most_memory_kb() - before
    true(grown < 4096, "%d KB at the top, and then %d more" % (before, grown))


run(lambda: None)
