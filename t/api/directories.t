#!/usr/bin/python3
"""directories.t: tests names, moves and lists of files, and watches, through
nginx.  The events of a watch are tested in t/agent/watch*.t."""
import http.client
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from filecalls import Files, streamed
from service import (at, call, container_error, create, execute, expect,
                     setting)
from tap import case, equal, run, true

service.begin()

SID = create(isolation="session")["id"]
MIB = 1 << 20
FILES = Files(SID)
post, good, error, sh = FILES.post, FILES.good, FILES.error, FILES.sh


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
    equal(streamed(SID, "d/e/f", sessionId="elsewhere")[1], ["1"], "stream")
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
            ("/workspace", 400, "IS_DIRECTORY"), ("/usr", 400, "IS_DIRECTORY"),
            ("x/f/g", 404, "FILE_NOT_FOUND"),
            ("/usr/bin/env", 403, "READ_ONLY"),
            ("x/" + "n" * 300, 400, "NAME_TOO_LONG")):
        doc = error("delete", status, code, "file.delete", path, path=path)
        equal("Cannot delete directory" in doc["message"], code == "IS_DIRECTORY",
              "as the SDK's tests want it: " + doc["message"])


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


# ---- watching

def ask(route, sid=SID, **body):
    return call("POST", at(sid, route), body)


def check(path, sid=SID, **more):
    return expect(200, ask("/api/watch/check", sid, path=path, **more)).json


class Watch:
    """An open api/watch."""

    def __init__(self, path, sid=SID, **more):
        self.conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                               timeout=service.PATIENCE)
        self.conn.request(
            "POST", at(sid, "/api/watch"), json.dumps(dict(more, path=path)),
            {"Authorization": "Bearer " + setting("SANDLEASE_API_KEY")})
        self.answer = self.conn.getresponse()
        equal((self.answer.status, self.answer.getheader("Content-Type")),
              (200, "text/event-stream"), "a stream")
        self.first = self.event()
        equal(self.first["type"], "watching", "the first event")

    def event(self):
        return service.next_event(self.answer)

    def until(self, kind, path):
        """Returns all events up to that one, as (type, path)."""
        seen = []
        while not seen or seen[-1] != (kind, path):
            e = self.event()
            true(e is not None, "the stream ended: %r" % seen)
            seen.append((e.get("eventType", e["type"]), e.get("path")))
        return seen

    def close(self):
        self.answer.close()
        self.conn.close()


def place(name):
    """Makes a directory for one case."""
    execute(SID, "rm -rf /workspace/%s && mkdir /workspace/%s" % (name, name))
    return "/workspace/" + name


@case
def what_a_command_does_to_files_is_told():
    where = place("told")
    w = Watch(where)
    equal(w.first["path"], where, "path")
    execute(SID, "cd %s && mkdir -p a/b/c && echo 1 > a/b/c/f && mv a z" %
            where, sessionId="told")
    seen = w.until("move_to", where + "/z")
    true(("create", where + "/a") in seen, repr(seen))
    execute(SID, "echo 2 >> z/b/c/f && rm -r z/b", sessionId="told")
    seen = w.until("delete", where + "/z/b")
    true(("modify", where + "/z/b/c/f") in seen, repr(seen))
    w.close()


@case
def paths_are_meant_in_the_shells_directory():
    where = place("there")
    execute(SID, "mkdir %s/sub; cd %s" % (where, where), sessionId="there")
    w = Watch("sub/", sessionId="there")
    equal(w.first["path"], where + "/sub", "path")
    execute(SID, "echo > %s/sub/f" % where)
    equal(w.event()["path"], where + "/sub/f", "event")
    w.close()


@case
def only_the_workspace_can_be_watched():
    execute(SID, "ln -sfn /etc /workspace/out; ln -sfn /workspace /tmp/in;"
                 " ln -sfn none /workspace/broken")
    for path in ("/etc", "/", "/tmp", "/home/user", "/workspace/out",
                 "/workspace/..", "/workspace/../etc", "/workspacex", "/none",
                 "/proc/self/cwd/../etc"):
        for route in ("/api/watch", "/api/watch/check"):
            r = container_error(ask(route, path=path), 403,
                                "PERMISSION_DENIED")
            equal((r["context"]["path"], r["error"]), (path, r["message"]),
                  "context")
    for path in ("/workspace/none", "none/at/all", "/workspace/broken"):
        for route in ("/api/watch", "/api/watch/check"):
            container_error(ask(route, path=path), 404, "FILE_NOT_FOUND")
    w = Watch("/tmp/in")
    w.close()
    container_error(ask("/api/watch", path="/workspace/" + "x" * 300), 400,
                    "NAME_TOO_LONG")


@case
def wishes_that_make_no_sense_are_refused():
    where = place("refused")
    for route in ("/api/watch", "/api/watch/check"):
        for body in (
                {}, {"path": ""}, {"path": 5}, {"path": where + "\0"},
                {"path": "/" * 5000}, {"path": where, "recursive": "yes"},
                {"path": where, "events": "create"},
                {"path": where, "events": ["open"]},
                {"path": where, "events": [1]},
                {"path": where, "events": ["create"] * 7},
                {"path": where, "include": "*.ts"},
                {"path": where, "include": [1]},
                {"path": where, "include": [""]},
                {"path": where, "include": ["[ab].ts"]},
                {"path": where, "exclude": ["{a,b}"]},
                {"path": where, "exclude": ["!a"]},
                {"path": where, "exclude": ["a\\*"]},
                {"path": where, "exclude": ["@(a|b)"]},
                {"path": where, "exclude": ["x" * 256]},
                {"path": where, "exclude": ["x"] * 65},
                {"path": where, "include": ["a"], "exclude": ["b"]},
                {"path": where, "sessionId": ""},
                {"path": where, "since": 5}):
            container_error(ask(route, **body), 400, "VALIDATION_FAILED")
        for body in (b"{", b"[]", b"\xff", b"[" * 10000):
            container_error(call("POST", at(SID, route), body), 400,
                            "VALIDATION_FAILED")
        r = call("GET", at(SID, route))
        container_error(r, 405, "METHOD_NOT_ALLOWED")
    r = container_error(ask("/api/watch", path=where, include=["[a"]), 400,
                        "VALIDATION_FAILED")
    equal([e["field"] for e in r["context"]["validationErrors"]], ["include"],
          "which")


@case
def members_that_say_nothing_change_nothing():
    where = place("nulls")
    for more in ({"recursive": None, "events": None, "include": None,
                  "exclude": None, "since": None, "sessionId": None},
                 {"include": [], "exclude": ["x"]},
                 {"include": ["x"], "exclude": []}, {"events": []},
                 {"unknown": 1}):
        Watch(where, **more).close()
        equal(check(where, **more)["status"], "unchanged", repr(more))


@case
def after_a_restart_everything_may_have_changed():
    sid = create(isolation="session")["id"]
    w = Watch("/workspace", sid)
    one = check("/workspace", sid)
    expect(200, call("POST", at(sid, "/sleep")))
    last = None
    for e in iter(w.event, None):
        last = e
    equal(last["type"], "error", "a stream does not end in silence")
    two = check("/workspace", sid, since=one["version"])
    equal((two["status"], two["reason"]), ("resync", "restarted"), "and known")
    equal(check("/workspace", sid, since=two["version"])["status"],
          "unchanged", "then as before")
    expect(200, call("DELETE", at(sid)))


sys.exit(run(lambda: None))
