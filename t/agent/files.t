#!/usr/bin/python3
"""Tests api/write and api/read."""
import base64
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box  # noqa: E402
from tap import ok, run, same  # noqa: E402

box = Box()
S = box.session(fileMb=48, tmpMb=8)


def write(path, content, **fields):
    a = box.call(S, "POST", "/api/write", {"path": path, "content": content, **fields})
    return {"status": a.status, **a.json()}


def read(path, **fields):
    a = box.call(S, "POST", "/api/read", {"path": path, **fields})
    return {"status": a.status, **a.json()}


def sh(command):
    return box.run(S, command)["stdout"]


def what_was_written_is_read():
    for encoding in ({}, {"encoding": "utf8"}, {"encoding": "utf-8"}, {"encoding": None}):
        a = write("/workspace/t.txt", "héllo\n", **encoding)
        same((a["status"], a["success"], a["path"]), (200, True, "/workspace/t.txt"),
             f"write {encoding}")
        a = read("/workspace/t.txt", **encoding)
        same((a["content"], a["encoding"], a["isBinary"], a["mimeType"], a["size"]),
             ("héllo\n", "utf-8", False, "text/plain", 7), f"read {encoding}")
    data = bytes(range(256)) * 5
    write("/workspace/b.bin", base64.b64encode(data).decode(), encoding="base64")
    a = read("/workspace/b.bin")
    same((base64.b64decode(a["content"]), a["encoding"], a["isBinary"], a["size"]),
         (data, "base64", True, 1280), "bytes of all kinds")
    a = read("/workspace/t.txt", encoding="base64")
    same((a["encoding"], base64.b64decode(a["content"]).decode()), ("base64", "héllo\n"),
         "text as base64 when asked for")
    a = read("/workspace/b.bin", encoding="utf-8")
    same((a["encoding"], "\ufffd" in a["content"]), ("utf-8", True), "bytes as text when asked for")
    # the oldest clients send "utf8" for every file
    same(read("/workspace/b.bin", encoding="utf8")["encoding"], "base64", "bytes taken for text")
    write("/workspace/nul.txt", "h\0é\n", unknown=1)
    a = read("/workspace/nul.txt")
    same((a["content"], a["isBinary"]), ("h\0é\n", False), "a text with a NUL, and unknown fields")
    write("/workspace/empty", "")
    same((read("/workspace/empty")["content"], read("/workspace/empty")["isBinary"]), ("", False),
         "an empty file is text")


def types_by_name_and_by_content():
    png = base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()
    for name, content, encoding, mime, binary in (
            ("a.json", "{}", "utf8", "application/json", False),
            ("a.svg", "<svg/>", "utf8", "image/svg+xml", False),
            ("a.PNG", png, "base64", "image/png", True),
            ("noname", png, "base64", "image/png", True),
            ("script", "#!/bin/sh\n", "utf8", "text/x-shellscript", False),
            ("plain", "just text", "utf8", "text/plain", False),
            ("zero", "AAAA", "base64", "application/octet-stream", True),
            ("bad.txt", "//79", "base64", "text/plain", True)):
        write(f"/workspace/types/{name}", content, encoding=encoding)
        a = read(f"/workspace/types/{name}")
        same((a["mimeType"], a["isBinary"], a["encoding"] == "base64"), (mime, binary, binary), name)


def parents_modes_and_links():
    same(write("deep/er/file", "x")["status"], 200, "parents are made")
    same(sh("stat -c %a /workspace/deep/er/file"), "644\n", "with an ordinary mode")
    sh("chmod 755 /workspace/deep/er/file; ln -s er/file /workspace/deep/link; "
       "ln -s nowhere /workspace/deep/dangling; cp /workspace/deep/er/file /tmp/old")
    write("/workspace/deep/link", "through")
    same(sh("stat -c '%F %a' /workspace/deep/link /workspace/deep/er/file; "
            "cat /workspace/deep/er/file"),
         "symbolic link 777\nregular file 755\nthrough", "a link's target is written, its mode stays")
    write("/workspace/deep/dangling", "new")
    same(sh("cat /workspace/deep/nowhere"), "new", "also one that is not there yet")
    same(sh("ls -A /workspace/deep /workspace/deep/er | grep -c sl-"), "0\n", "nothing else is left")
    same(write("/dev/null", "x")["status"], 200, "a device is written to")
    same(sh("stat -c %F /dev/null"), "character special file\n", "not replaced")


def relative_paths_follow_the_shell():
    sh("mkdir -p /tmp/rel; cd /tmp/rel")
    write("here", "1")
    same(sh("cat /tmp/rel/here"), "1", "relative to the shell's directory")
    same(read("here")["content"], "1", "reading too")
    write("here", "2", sessionId="other")
    same(sh("cat /workspace/here"), "2", "a shell that was never used is in /workspace")
    sh("cd /workspace")


def errors_have_the_contracts_codes():
    sh("mkdir -p /workspace/dir; echo x >/workspace/secret; chmod 0 /workspace/secret; "
       "ln -s loop /workspace/loop; mkdir /workspace/locked; chmod 500 /workspace/locked; "
       "mkfifo /workspace/fifo; truncate -s 33M /workspace/big")
    for name, a, status, code in (
            ("missing", read("/workspace/none"), 404, "FILE_NOT_FOUND"),
            ("directory", read("/workspace/dir"), 400, "IS_DIRECTORY"),
            ("forbidden", read("/workspace/secret"), 403, "PERMISSION_DENIED"),
            ("below a file", read("/workspace/big/x"), 400, "NOT_DIRECTORY"),
            ("loop", read("/workspace/loop"), 500, "TOO_MANY_LINKS"),
            ("name", read("/workspace/" + "n" * 300), 400, "NAME_TOO_LONG"),
            ("large", read("/workspace/big"), 413, "FILE_TOO_LARGE"),
            ("endless", read("/dev/zero"), 413, "FILE_TOO_LARGE"),
            ("write to a directory", write("/workspace/dir", "x"), 400, "IS_DIRECTORY"),
            ("write to a directory's name", write("/workspace/dir/", "x"), 400, "IS_DIRECTORY"),
            ("write forbidden", write("/workspace/locked/x", "x"), 403, "PERMISSION_DENIED"),
            ("write to the system", write("/usr/bin/x", "x"), 403, "READ_ONLY"),
            ("write below a file", write("/workspace/big/x", "x"), 400, "NOT_DIRECTORY"),
            ("write through a loop", write("/workspace/loop", "x"), 500, "TOO_MANY_LINKS"),
            ("write to a fifo nobody reads", write("/workspace/fifo", "x"), 409, "RESOURCE_BUSY"),
            ("no room", write("/tmp/x", "x" * (9 << 20)), 500, "NO_SPACE")):
        same((a["status"], a["code"], a["httpStatus"]), (status, code, status), name)
        ok("path" in a["context"] and a["context"]["operation"].startswith("file."),
           f"{name}: its context", a["context"])
    a = read("/workspace/big")["context"]
    same((a["maxSize"], a["actualSize"]), (32 << 20, 33 << 20), "too large says how large")
    same(sh("ls -A /tmp | grep -c sl-"), "0\n", "a write that failed leaves nothing")
    same(read("/workspace/fifo")["content"], "", "a fifo does not hang")


def bad_bodies():
    for body, field in (({}, "path"), ({"path": ""}, "path"), ({"path": "a\0b"}, "path"),
                        ({"path": "a" * 5000}, "path"), ({"path": 1}, "path"),
                        ({"path": "a", "encoding": "latin1"}, "encoding")):
        for route in ("read", "write"):
            a = box.call(S, "POST", f"/api/{route}", {**body, "content": "x"})
            same((a.status, a.json()["context"]["validationErrors"][0]["field"]), (400, field),
                 f"{route} {str(body)[:30]}")
    for content in ("not base64!", "Zg", "Zg==\n", "Zm9v Zm9v", "é"):
        a = write("/workspace/x", content, encoding="base64")
        same((a["status"], a["code"], a["context"]["validationErrors"][0]["field"]),
             (400, "VALIDATION_FAILED", "content"), f"content that is no base64: {content!r}")
    same(read("/workspace/x")["status"], 404, "of which nothing was written")
    same(box.call(S, "POST", "/api/write", {"path": "x"}).status, 400, "no content")


def large_files():
    text = "0123456789abcdef" * (1 << 20)
    same(write("/workspace/large", text)["status"], 200, "16 MiB are written")
    ok(read("/workspace/large")["content"] == text, "and read")
    same(box.call(S, "POST", "/api/write", raw=b"x" * (87 << 20)).status, 413,
         "a body beyond 86 MiB is refused")
    same(write("/workspace/large2", "y" * (1 << 20))["status"], 200, "and the wrapper is well")


def a_cut_off_upload_changes_nothing():
    write("/workspace/precious", "old")
    r = box.request(S, "POST", "/api/write", end=False,
                    raw=b'{"path":"/workspace/precious","content":"new"}')
    r.sock.shutdown(1)
    r.all()
    r.close()
    same(sh("cat /workspace/precious"), "old", "a cut-off upload changes nothing")


try:
    run([what_was_written_is_read, types_by_name_and_by_content, parents_modes_and_links,
         relative_paths_follow_the_shell, errors_have_the_contracts_codes, bad_bodies, large_files,
         a_cut_off_upload_changes_nothing])
finally:
    box.close()
