#!/usr/bin/env python3
"""files.t: files of a session as JSON and as a stream, through nginx."""
import base64
import http.client
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, container_error, create, execute, expect, get,
                     setting, until)
from tap import case, equal, run, true

service.begin()

SID = create(isolation="session")["id"]
MIB = 1 << 20
execute(SID, "mkfifo pipe")


def post(route, **body):
    return call("POST", at(SID, "/api/" + route), body)


def good(route, **body):
    return expect(200, post(route, **body)).json


def sh(command, **more):
    return execute(SID, command, **more)


def error(route, status, code, operation, of, **body):
    doc = container_error(post(route, **body), status, code)
    equal((doc["context"].get("path"), doc["context"].get("operation")),
          (of, operation), "%s %.60r: context" % (route, body))
    equal(doc["error"], doc["message"], "error beside message")
    return doc


class Stream:
    """An open api/read/stream; events as they come."""

    def __init__(self, path, sid=None, **more):
        self.conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                               timeout=service.PATIENCE)
        self.conn.request(
            "POST", at(sid or SID, "/api/read/stream"),
            json.dumps(dict(more, path=path)),
            {"Authorization": "Bearer " + setting("SANDLEASE_API_KEY"),
             "Content-Type": "application/json"})
        self.answer = self.conn.getresponse()
        equal((self.answer.status, self.answer.getheader("Content-Type")),
              (200, "text/event-stream"), "stream of %s" % path)

    def line(self):
        return self.answer.readline()

    def event(self):
        """The next event; None at the end."""
        while (raw := self.line()) != b"":
            if raw.startswith(b"data: "):
                return json.loads(raw[len("data: "):])
        return None

    def __iter__(self):
        while (event := self.event()) is not None:
            yield event

    def close(self):
        # the socket itself: http.client would keep it for the answer
        self.answer.close()
        self.conn.close()


def streamed(path, **more):
    """(metadata, the chunks' data, the last event)"""
    events = list(Stream(path, **more))
    equal([events[0]["type"], events[-1]["type"]], ["metadata", "complete"],
          "first and last of %s" % path)
    equal({e["type"] for e in events[1:-1]} - {"chunk"}, set(), "others")
    return events[0], [e["data"] for e in events[1:-1]], events[-1]


def wrapper(sid, what):
    """A line of /proc/.../status of the wrapper, in KiB."""
    return int(execute(sid, "grep %s: /proc/$PPID/status" % what).split()[1])


# ---- memory; first, in a session of its own

@case
def a_stream_of_any_size_needs_no_memory():
    sid = create(isolation="session")["id"]
    execute(sid, "truncate -s 64M zeros; yes é | head -c 30000000 >t.txt;"
                 " truncate -s 32M most; mkdir many; cd many; seq 100000 |"
                 " sed s/^/name-/ | xargs touch")
    before = wrapper(sid, "VmHWM")
    for path, size in (("zeros", 64 * MIB), ("t.txt", 30000000)):
        s = Stream("/workspace/" + path, sid)
        equal(s.event()["size"], size, "metadata of %s" % path)
        # only looked at: decoding would take longer than sending
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
def what_is_written_is_read_in_every_encoding():
    for encoding in ({}, {"encoding": "utf8"}, {"encoding": "utf-8"},
                     {"encoding": None}):
        r = good("write", path="/workspace/new/dir/é.txt", content="h\0é\n",
                 unknown=1, **encoding)
        equal(set(r), {"success", "path", "timestamp"}, "answer")
        r = good("read", path="/workspace/new/dir/é.txt", **encoding)
        del r["timestamp"]
        equal(r, {"success": True, "path": "/workspace/new/dir/é.txt",
                  "content": "h\0é\n", "encoding": "utf-8", "isBinary": False,
                  "mimeType": "text/plain", "size": 5}, "%r" % encoding)
    data = bytes(range(256)) * 999
    good("write", path="b", content=base64.b64encode(data).decode(),
         encoding="base64")
    for more in ({}, {"encoding": "base64"}):
        r = good("read", path="b", **more)
        equal((base64.b64decode(r["content"]), r["encoding"], r["isBinary"],
               r["mimeType"], r["size"]),
              (data, "base64", True, "application/octet-stream", len(data)),
              "bytes")
    r = good("read", path="b", encoding="utf-8")
    true(r["encoding"] == "utf-8" and "\ufffd" in r["content"],
         "bytes as text when that is wanted")
    # what the oldest clients say of every file
    equal(good("read", path="b", encoding="utf8")["encoding"], "base64",
          "bytes that were taken for text")


@case
def a_text_that_is_not_utf8_comes_as_base64():
    sh("{ head -c 200000 /dev/zero | tr '\\0' x; printf '\\351'; } >latin.txt")
    r = good("read", path="/workspace/latin.txt")
    equal((r["encoding"], r["isBinary"], r["mimeType"],
           base64.b64decode(r["content"])[-2:]),
          ("base64", True, "text/plain", b"x\xe9"), "read")
    meta, chunks, _ = streamed("/workspace/latin.txt")
    equal((meta["encoding"], base64.b64decode(chunks[-1])[-2:]),
          ("base64", b"x\xe9"), "stream")


@case
def base64_is_checked_to_its_last_character():
    for content in ("not base64!", "Zg", "Zg=", "Zg==\n", "Zm9-", "Z===",
                    "Zm9v Zm9v", "é"):
        doc = error("write", 400, "VALIDATION_FAILED", "file.write", "x",
                    path="x", content=content, encoding="base64")
        equal(doc["context"]["validationErrors"][0]["field"], "content",
              content)
    equal(good("exists", path="x")["exists"], False, "nothing was written")


@case
def thirty_two_mebibytes_are_the_limit_of_json():
    text = "0123456789abcde\n" * (2 * MIB)
    good("write", path="most", content=text)
    true(good("read", path="most")["content"] == text, "32 MiB")
    doc = error("write", 413, "FILE_TOO_LARGE", "file.write", "most",
                path="most", content=text + "x")
    equal((doc["context"]["maxSize"], doc["context"]["actualSize"]),
          (32 * MIB, 32 * MIB + 1), "a byte more")
    equal(sh("wc -c <most"), "%d\n" % (32 * MIB), "the old one is still there")
    sh("printf x >>most")
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
        for _ in range(60):
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
                        "maxSize": 32 * MIB,
                        "actualSize": 60 * MIB + len(b"".join(pieces())) %
                        MIB}, "context")


# ---- streams

@case
def a_stream_tells_what_it_is_and_when_it_is_over():
    good("write", path="s.json", content='{"é": 1}')
    meta, chunks, last = streamed("s.json")
    equal(meta, {"type": "metadata", "mimeType": "application/json", "size": 9,
                 "isBinary": False, "encoding": "utf-8"}, "metadata")
    equal(("".join(chunks), last), ('{"é": 1}',
                                    {"type": "complete", "bytesRead": 9}),
          "content")
    good("write", path="none", content="")
    equal(streamed("none")[1:], ([], {"type": "complete", "bytesRead": 0}),
          "nothing at all")


@case
def no_character_is_cut_and_every_block_is_base64_by_itself():
    text = "a" + "é€😀" * 30000
    good("write", path="u.txt", content=text)
    meta, chunks, _ = streamed("u.txt")
    true("".join(chunks) == text and meta["encoding"] == "utf-8", "text")
    true(len(chunks) > 3, "in several chunks")
    data = os.urandom(200000)
    good("write", path="r.bin", content=base64.b64encode(data).decode(),
         encoding="base64")
    meta, chunks, _ = streamed("r.bin")
    equal([len(base64.b64decode(c)) for c in chunks],
          [65535, 65535, 65535, 200000 - 3 * 65535], "blocks")
    true(base64.b64decode("".join(chunks)) == data, "and as one")


@case
def errors_of_a_stream_come_in_it():
    sh("mkdir -p d; ln -sf loop loop")
    for path, word in (("/workspace/nowhere", "No such file"),
                       ("/workspace/d", "directory"),
                       ("/workspace/loop", "symbolic links")):
        events = list(Stream(path))
        equal([e["type"] for e in events], ["error"], path)
        true(word in events[0]["error"], "%r" % events)
    container_error(post("read/stream", path=""), 400, "VALIDATION_FAILED")


@case
def who_does_not_wait_for_the_end_frees_everything():
    sid = create(isolation="session")["id"]
    execute(sid, "mkfifo quiet")
    streams = [Stream(p, sid) for p in ("/dev/zero", "/workspace/quiet") * 3]
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


# ---- names

@case
def relative_paths_are_meant_where_the_shell_is():
    sh("mkdir -p /tmp/here; cd /tmp/here", sessionId="elsewhere")
    good("write", path="f", content="1", sessionId="elsewhere")
    good("mkdir", path="./d//e/.", recursive=True, sessionId="elsewhere")
    good("move", sourcePath="f", destinationPath="d/e", sessionId="elsewhere")
    equal(sh("cat /tmp/here/d/e/f"), "1", "write, mkdir, move")
    r = good("list-files", path="d", options={"recursive": True},
             sessionId="elsewhere")
    equal(sorted(f["absolutePath"] for f in r["files"]),
          ["/tmp/here/d/e", "/tmp/here/d/e/f"], "list")
    equal(good("exists", path="d/e/f", sessionId="elsewhere")["exists"], True,
          "exists")
    equal(good("exists", path="d/e/f")["exists"], False, "in another shell")
    equal(streamed("d/e/f", sessionId="elsewhere")[1], ["1"], "stream")
    good("delete", path="d/e/f", sessionId="elsewhere")
    equal(sh("ls /tmp/here/d/e"), "", "delete")
    r = call("POST", at(SID, "/api/exists?session=elsewhere"), {"path": "d"})
    equal(r.json["exists"], True, "named in the query")
    r = call("POST", at(SID, "/api/exists"), {"path": "d/e"},
             headers={"X-Session-Id": "elsewhere"})
    equal(r.json["exists"], True, "named in the header")


@case
def directories_are_made():
    r = good("mkdir", path="m")
    equal((r["success"], r["path"], r["recursive"]), (True, "m", False), "m")
    true(r["timestamp"], "timestamp")
    for path in ("m", "m/n/o"):
        error("mkdir", 500, "FILESYSTEM_ERROR", "directory.create", path,
              path=path, recursive=False)
    for _ in range(2):
        equal(good("mkdir", path="m/n/o", recursive=True)["recursive"], True,
              "m/n/o")
    sh("touch m/f; mkdir -p m/locked; chmod 500 m/locked")
    for path, status, code in (
            ("m/f", 500, "FILESYSTEM_ERROR"),
            ("m/f/x", 400, "NOT_DIRECTORY"),
            ("m/locked/x", 403, "PERMISSION_DENIED"),
            ("/usr/x", 403, "READ_ONLY"),
            ("m/" + "n" * 300, 400, "NAME_TOO_LONG")):
        error("mkdir", status, code, "directory.create", path, path=path,
              recursive=True)


@case
def files_are_deleted_and_directories_are_not():
    sh("mkdir -p x/dir; touch x/f x/'a\nb'; ln -sf dir x/to-dir;"
       " ln -sf none x/dangling")
    for name in ("f", "a\nb", "to-dir", "dangling"):
        r = good("delete", path="x/" + name)
        equal((r["success"], r["path"]), (True, "x/" + name), name)
    equal(sh("ls -A x"), "dir\n", "what is left")
    for path, status, code in (
            ("x/dir", 400, "IS_DIRECTORY"), ("x/f", 404, "FILE_NOT_FOUND"),
            ("x/f/g", 404, "FILE_NOT_FOUND"),
            ("/usr/bin/env", 403, "READ_ONLY"),
            ("x/" + "n" * 300, 400, "NAME_TOO_LONG")):
        error("delete", status, code, "file.delete", path, path=path)


@case
def a_move_is_mv():
    for route, old, new in (("rename", "oldPath", "newPath"),
                            ("move", "sourcePath", "destinationPath")):
        sh("rm -rf v; mkdir -p v/d v/full/e v/e; echo 1 >v/a; echo 2 >v/b;"
           " touch v/full/e/x; mkdir v/locked; chmod 500 v/locked")

        def go(a, b):
            return good(route, **{old: a, new: b})
        r = go("v/a", "v/b")
        equal({k: r[k] for k in ("success", "path", "newPath")},
              {"success": True, "path": "v/a", "newPath": "v/b"}, route)
        equal(sh("cat v/b; ls v"), "1\nb\nd\ne\nfull\nlocked\n", "over a file")
        go("v/b", "v/d")
        go("v/d", "v/é\n")
        equal(sh("cat v/é*/b"), "1\n", "into a directory")
        for a, b, status, code in (
                ("v/none", "v/x", 404, "FILE_NOT_FOUND"),
                ("v/e", "v/none/x", 500, "FILESYSTEM_ERROR"),
                ("v/e", "v/full", 409, "FILE_EXISTS"),
                ("v/full", "v/full/e", 400, "VALIDATION_FAILED"),
                ("v/full", "v/é\n/b", 400, "NOT_DIRECTORY"),
                ("v/e", "v/locked", 403, "PERMISSION_DENIED"),
                ("v/e", "/usr/x", 403, "READ_ONLY")):
            error(route, status, code, "file." + route, a, **{old: a, new: b})


@case
def between_file_systems_nothing_is_lost():
    sh("rm -rf /tmp/t out t; mkdir -p /tmp/t/sub; echo 1 >/tmp/t/sub/f;"
       " chmod 751 /tmp/t/sub/f; ln -s sub/f /tmp/t/link; mkfifo /tmp/t/pipe;"
       " touch -d '2001-02-03 04:05:06.789 UTC' /tmp/t/sub/f /tmp/t/sub;"
       " truncate -s 1T /tmp/t/sparse; chmod 750 /tmp/t/sub")
    look = ("cd %s; find . -printf '%%P %%y %%m %%s %%l\\n' | grep -v '^sub d'"
            " | sort; stat -c '%%y %%a' sub sub/f; cat link")
    before = sh("(" + look % "/tmp/t" + ")").replace(
        sh("stat -c %s /tmp/t").strip(), "")
    true(sh("stat -c %d /tmp/t") != sh("stat -c %d /workspace"), "two of them")
    good("move", sourcePath="/tmp/t", destinationPath="/workspace")
    after = sh("(" + look % "/workspace/t" + ")").replace(
        sh("stat -c %s /workspace/t").strip(), "")
    equal(after, before, "the tree")
    equal(sh("ls /tmp/t 2>&1 || true; ls -A /workspace | grep -c '^.sl-'"
             " || true"), "ls: cannot access '/tmp/t': No such file or"
          " directory\n0\n", "what is left behind")
    sh("rm -rf t")


@case
def a_full_disk_keeps_what_was_there():
    free = int(sh("rm -f /tmp/*.bin; df --output=avail -B1 /tmp | tail -1"))
    good("write", path="/tmp/keep", content="old")
    sh("head -c %d /dev/zero >/tmp/fill.bin" % (free - 2 * MIB))
    error("write", 500, "NO_SPACE", "file.write", "/tmp/keep",
          path="/tmp/keep", content="x" * (4 * MIB))
    sh("mkdir -p big/sub; echo kept >big/f; seq 1000000 >big/sub/g;"
       " chmod 500 big/sub")
    error("move", 500, "NO_SPACE", "file.move", "big", sourcePath="big",
          destinationPath="/tmp/big")
    equal(sh("cat /tmp/keep big/f; wc -c <big/sub/g; ls -A /tmp |"
             " grep -c 'sl-\\|big' || true; rm /tmp/*.bin; chmod 700 big/sub"),
          "oldkept\n6888896\n0\n", "what was there, and nothing beside it")
    error("write", 500, "NO_SPACE", "file.write", "/dev/full",
          path="/dev/full", content="x")


@case
def what_is_there_exists():
    sh("mkdir -p ex/locked; touch ex/f ex/locked/f; ln -sf f ex/link;"
       " ln -sf none ex/dangling; ln -sf loop ex/loop; chmod 0 ex/locked")
    for path, there in (("ex", True), ("ex/f", True), ("ex/link", True),
                        ("ex/none", False), ("ex/f/x", False),
                        ("ex/dangling", False), ("ex/loop", False),
                        ("ex/locked/f", False), ("n" * 300, False),
                        ("/dev/zero", True)):
        r = good("exists", path=path)
        equal((r["success"], r["path"], r["exists"]), (True, path, there),
              path)
    sh("chmod 700 ex/locked")


# ---- lists

def listed(path, **options):
    r = good("list-files", path=path, options=options)
    equal((r["path"], r["count"]), (path, len(r["files"])), "path, count")
    return {f["relativePath"]: f for f in r["files"]}


@case
def an_entry_says_all_of_a_file():
    sh("rm -rf l; mkdir -p l/sub/.deep; echo 12345 >l/f; chmod 754 l/f;"
       " touch -d '2020-01-02 03:04:05.678 UTC' l/f; touch l/.hidden"
       " l/sub/.deep/x l/sub/y; ln -s ../.. l/sub/up; mkfifo l/pipe;"
       " chmod 500 l/sub")
    r = listed("/workspace/l")
    equal(sorted(r), ["f", "pipe", "sub"], "names")
    equal(r["f"], {
        "name": "f", "absolutePath": "/workspace/l/f", "relativePath": "f",
        "type": "file", "size": 6, "modifiedAt": "2020-01-02T03:04:05.678Z",
        "mode": "rwxr-xr--", "permissions": {
            "readable": True, "writable": True, "executable": True}}, "f")
    equal((r["sub"]["type"], r["sub"]["mode"], r["sub"]["permissions"],
           r["pipe"]["type"]),
          ("directory", "r-x------", {"readable": True, "writable": False,
                                      "executable": True}, "other"), "others")
    equal(sorted(listed("l", includeHidden=True)),
          [".hidden", "f", "pipe", "sub"], "hidden ones")
    r = listed("l/", recursive=True)
    equal(sorted(r), ["f", "pipe", "sub", "sub/up", "sub/y"], "below")
    equal((r["sub/up"]["type"], r["sub/up"]["size"], r["sub/y"]["name"],
           r["sub/y"]["absolutePath"]),
          ("symlink", 5, "y", "/workspace/l/sub/y"), "links are not followed")
    equal(sorted(listed("l", recursive=True, includeHidden=True)),
          [".hidden", "f", "pipe", "sub", "sub/.deep", "sub/.deep/x",
           "sub/up", "sub/y"], "all")
    sh("chmod 700 l/sub")
    equal(good("list-files", path="l")["count"], 3, "without options")


@case
def any_name_and_any_tree_can_be_listed():
    sh("rm -rf n; mkdir -p n/secret n/dir; cd n; touch -- $'a\\nb' $'q\"\\\\'"
       " $'\\xff\\xfe' '-rf' ' '; ln -s . loop; ln -s dir link; touch dir/x;"
       " touch secret/x; chmod 0 secret; cd ..")
    r = listed("n", recursive=True)
    equal(sorted(r), [" ", "-rf", "a\nb", "dir", "dir/x", "link", "loop",
                      'q"\\', "secret", "\ufffd\ufffd"], "names")
    equal(sorted(listed("n/link")), ["x"], "through a link that is asked for")
    sh("chmod 700 n/secret")
    sh("rm -rf deep; mkdir deep; (cd deep; for i in $(seq 300); do mkdir d;"
       " cd d; touch f; done)")
    r = listed("deep", recursive=True)
    equal((len(r), max(p.count("/") for p in r)), (600, 300), "depth")
    for path, status, code in (
            ("n/none", 404, "FILE_NOT_FOUND"), ("n/dir/x", 400,
                                                "NOT_DIRECTORY"),
            ("n/dir/x/y", 400, "NOT_DIRECTORY"),
            ("n" * 300, 400, "NAME_TOO_LONG")):
        error("list-files", status, code, "directory.list", path, path=path)
    sh("mkdir -p n/shut; chmod 300 n/shut")
    error("list-files", 403, "PERMISSION_DENIED", "directory.list", "n/shut",
          path="n/shut")


@case
def a_list_of_what_changes_meanwhile_is_a_list():
    sh("rm -rf busy; mkdir busy; rm -f halt; (until [ -e halt ]; do"
       " mkdir -p busy/a/b; touch busy/a/b/c$RANDOM; rm -rf busy/a; done)"
       " >/dev/null 2>&1 &", sessionId="churn")
    for _ in range(50):
        listed("busy", recursive=True)
    sh("touch halt")


# ---- bad input

@case
def bad_bodies_are_400_and_name_the_field():
    routes = {"mkdir": "path", "write": "path", "read": "path",
              "read/stream": "path", "delete": "path", "list-files": "path",
              "exists": "path", "rename": "newPath",
              "move": "destinationPath"}
    other = {"rename": {"oldPath": "a"}, "move": {"sourcePath": "a"},
             "write": {"content": ""}}
    for route, field in routes.items():
        for bad in (None, "", 1, [], {}, True, "a\0b", "x" * 4097):
            doc = container_error(post(route, **dict(
                other.get(route, {}), **{field: bad})), 400,
                "VALIDATION_FAILED")
            equal([e["field"] for e in doc["context"]["validationErrors"]],
                  [field], "%s %.20r" % (route, bad))
        for raw in (b"", b"{", b"[]", b"null", b'"x"', b"\xff", b"{}" * 2,
                    b"[" * 5000):
            container_error(call("POST", at(SID, "/api/" + route), raw), 400,
                            "VALIDATION_FAILED")
        expect(405, call("GET", at(SID, "/api/" + route)))
        container_error(call("POST", at(SID, "/api/" + route), b"x" * 70000),
                        400 if route == "write" else 413,
                        "VALIDATION_FAILED" if route == "write"
                        else "BODY_TOO_LARGE")
    for route, body, field in (
            ("mkdir", {"path": "x", "recursive": "yes"}, "recursive"),
            ("write", {"path": "x"}, "content"),
            ("write", {"path": "x", "content": 1}, "content"),
            ("write", {"path": "x", "content": "", "encoding": "latin1"},
             "encoding"),
            ("read", {"path": "x", "encoding": 1}, "encoding"),
            ("read", {"path": "x", "sessionId": " "}, "sessionId"),
            ("rename", {"newPath": "x"}, "oldPath"),
            ("move", {"destinationPath": "x"}, "sourcePath"),
            ("list-files", {"path": "x", "options": []}, "options"),
            ("list-files", {"path": "x", "options": {"recursive": 1}},
             "recursive")):
        doc = container_error(post(route, **body), 400, "VALIDATION_FAILED")
        equal([e["field"] for e in doc["context"]["validationErrors"]],
              [field], "%s %r" % (route, body))
    equal(good("exists", path="/workspace")["exists"], True,
          "and the wrapper is well")


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
    # it waits for a writer, and says that it lives
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


WAITING = Stream("/workspace/pipe")  # its heartbeat comes meanwhile
sys.exit(run(lambda: None))
