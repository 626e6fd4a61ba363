#!/usr/bin/python3
"""backup.t: tests api/backup/*: directories as archives, and back."""
import gzip
import http.client
import io
import json
import os
import sys
import tarfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, container_error, create, execute, expect, get,
                     port, reap, running, setting, sql, until, value)
from tap import case, equal, run, true

service.begin()

SID = create(isolation="session")["id"]
MB = 1 << 20


def ask(what, sid=None, **body):
    return call("POST", at(sid or SID, "/api/backup/" + what), body)


def backup(path, name="x", **more):
    r = expect(200, ask("create", dir=path, archivePath=archive(name), **more))
    equal((r.json["success"], r.json["archivePath"]), (True, archive(name)),
          "answer")
    return r.json["sizeBytes"]


def restore(path, name="x"):
    r = expect(200, ask("restore", dir=path, archivePath=archive(name)))
    equal((r.json["success"], r.json["dir"]), (True, path), "answer")


def archive(name):
    return "/var/backups/%s.sqsh" % name


def tree(path):
    return execute(SID, "cd %s && find . -mindepth 1 | LC_ALL=C sort" % path,
                   cwd="/").split()


def tar(*entries):
    """Makes an archive of (name, bytes), or TarInfo."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for one in entries:
            if isinstance(one, tarfile.TarInfo):
                t.addfile(one)
                continue
            info = tarfile.TarInfo(one[0])
            info.size = len(one[1])
            t.addfile(info, io.BytesIO(one[1]))
    return out.getvalue()


def link(name, target, kind=tarfile.SYMTYPE):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def put_archive(name, data):
    r = call("PUT", at(SID, "/files" + archive(name)), data)
    true(r.status in (200, 201), repr(r))


# ---- there and back

@case
def what_comes_back_is_what_was_there():
    execute(SID, "mkdir -p app/sub/empty app/shut; cd app; printf hello >a;"
                 " chmod 640 a; ln a hard; ln -s /nowhere l; mkfifo fifo;"
                 " printf x >$'new\\nline'; printf u >ä; chmod 777 sub;"
                 " truncate -s 30M sparse; echo end >>sparse; echo 1 >shut/in;"
                 " chmod 555 shut; touch -d 2001-02-03 a", cwd="/workspace")
    for format in ("gzip", "lz4", "zstd"):
        size = backup("/workspace/app", format,
                      compression={"format": format, "threads": 3})
        equal(execute(SID, "stat -c %s " + archive(format)), "%d\n" % size,
              "its size")
        true(size < MB, "holes take no room: %d" % size)
        restore("/workspace/back", format)
        equal(execute(SID, "rm -f app/fifo; diff -r --no-dereference app back;"
                           " stat -c '%a %Y' back/a; stat -c %a back/sub"
                           " back/shut; [ back/a -ef back/hard ] && du -m"
                           " back/sparse | cut -f1", cwd="/workspace",
                      env={"TZ": "UTC"}),
              "640 981158400\n777\n555\n1\n", format)
        execute(SID, "chmod 755 back/shut; rm -r back", cwd="/workspace")
    expect(200, ask("create", dir="/workspace/app", archivePath=archive("x"),
                    gitignore=False, excludes=[], sessionId="anybody"))


@case
def nothing_but_the_backup_is_there_afterwards():
    before = tree("/workspace/app")
    execute(SID, "echo changed >app/a; rm app/l; mkdir app/l; touch app/l/more"
                 " app/more app/.hidden; chmod 555 app/l; chmod 750 app",
            cwd="/workspace")
    restore("/workspace/app")
    equal(tree("/workspace/app"), before, "the same again")
    equal(execute(SID, "cat app/a; readlink app/l; stat -c %a app",
                  cwd="/workspace"), "hello/nowhere\n750\n", "content")
    equal(execute(SID, "ls -A", cwd="/workspace"), "app\n", "nothing beside")
    # a shell whose working directory is restored sees the restored files
    execute(SID, "cd /workspace/app; echo changed >a", sessionId="there")
    restore("/workspace/app")
    equal(execute(SID, "cat a; pwd -P", sessionId="there"),
          "hello/workspace/app\n", "without moving")
    equal(tree("/workspace/app"), before, "the same once more")


@case
def a_place_that_cannot_be_moved_gets_it_too():
    execute(SID, "mkdir -p /tmp/t/sub; echo 1 >/tmp/t/sub/f")
    backup("/tmp/t", "t")
    execute(SID, "touch /workspace/other; mkdir -p /workspace/ro/in;"
                 " chmod 555 /workspace/ro")
    restore("/workspace", "t")
    equal(tree("/workspace"), ["./sub", "./sub/f"], "all of it")
    restore("/workspace/sub/deeper/still", "t")
    equal(execute(SID, "cat /workspace/sub/deeper/still/sub/f"), "1\n",
          "one that was not there")
    execute(SID, "ln -s /workspace/sub /workspace/ln")
    restore("/workspace/ln", "t")
    equal(execute(SID, "readlink ln; cat sub/sub/f", cwd="/workspace"),
          "/workspace/sub\n1\n", "a link stays, what it leads to is replaced")


@case
def what_is_ours_is_no_part_of_it():
    execute(SID, "echo mine >/home/user/mine; echo tmp >/tmp/mine")
    started = expect(200, call("POST", at(SID, "/api/process/start"), {
        "command": "echo said; exec sleep 7321", "processId": "stays"})).json
    for path in ("/home/user", "/tmp"):
        backup(path, "ours")
        restore("/workspace/ours", "ours")
        found = execute(SID, "find /workspace/ours")
        true("stays" not in found and "/.sandlease-" not in found, found)
        execute(SID, "rm -r %s/mine" % path)
        restore(path, "ours")
        true("mine" in execute(SID, "ls " + path), "it is back")
    true("stays" in execute(SID, "find /home/user/.local"), "its record stays")
    r = expect(200, call("GET", at(SID, "/api/process/stays"))).json
    equal((r["process"]["status"], r["process"]["pid"]),
          ("running", started["pid"]), "it goes on")
    until("and its log is there", lambda: expect(200, call(
        "GET", at(SID, "/api/process/stays/logs"))).json["stdout"] == "said\n")
    expect(200, call("DELETE", at(SID, "/api/process/stays")))


# ---- excluded files

@case
def names_paths_and_patterns_are_left_out():
    execute(SID, "rm -rf ex; mkdir -p ex/node_modules/a ex/sub/node_modules/b"
                 " ex/keep ex/a/b/c; cd ex; touch x.log sub/y.log sub/z.txt"
                 " keep/one keep/two a/b/c/f a/f a/b/o.o $'\\377.log'"
                 " .sl-abcdefghijklmnop", cwd="/workspace")
    backup("/workspace/ex", "ex", excludes=[
        "node_modules", "*.log", "keep/two", "a/**/f", "a/b/?.o"])
    restore("/workspace/got", "ex")
    equal(tree("/workspace/got"),
          ["./a", "./a/b", "./a/b/c", "./keep", "./keep/one", "./sub",
           "./sub/z.txt"], "what is left")
    backup("/workspace/ex", "ex", excludes=["*"])
    restore("/workspace/got", "ex")
    equal(tree("/workspace/got"), [], "nothing at all")


@case
def git_says_what_it_ignores():
    execute(SID, "rm -rf repo; mkdir repo; cd repo; git init -q .;"
                 " printf 'build/\\n*.log\\n' >.gitignore;"
                 " mkdir -p build/x sub new; printf '!keep.log\\n*.tmp\\n'"
                 " >sub/.gitignore; touch a.c build/x/o b.log sub/keep.log"
                 " sub/other.log sub/t.tmp new/n.log new/n.c tracked.log"
                 " 'sp ace.log' $'li\\nne.log'; git add -f tracked.log;"
                 " git config core.fsmonitor 'touch /workspace/monitored; false';"
                 " git config core.untrackedCache true", cwd="/workspace")
    backup("/workspace/repo", "git", gitignore=True)
    restore("/workspace/got", "git")
    equal([name for name in tree("/workspace/got")
           if not name.startswith("./.git/")],
          ["./.git", "./.gitignore", "./a.c", "./new", "./new/n.c", "./sub",
           "./sub/.gitignore", "./sub/keep.log", "./tracked.log"], "tree")
    equal(execute(SID, "ls /workspace/monitored 2>/dev/null || :"), "",
          "nothing of the repository's was run")
    # a part of the repository, an ignored directory, all files of one, and no
    # repository
    for path, options, want in (
            ("repo/sub", True, ["./.gitignore", "./keep.log"]),
            ("repo/build", True, ["./x", "./x/o"]),
            ("repo/new", False, ["./n.c", "./n.log"]),
            ("ex/keep", True, ["./one", "./two"])):
        backup("/workspace/" + path, "git", gitignore=options)
        restore("/workspace/got", "git")
        equal(tree("/workspace/got"), want, path)


# ---- mistakes

def invalid(reply):
    doc = container_error(reply, 400, "INVALID_BACKUP_CONFIG")
    true(doc["context"]["reason"] in doc["message"], repr(doc))
    equal(doc["error"], doc["message"], "error")


@case
def paths_have_their_places():
    execute(SID, "mkdir -p real; ln -sf /etc out; ln -sf /nowhere gone;"
                 " ln -sf /workspace/real /var/backups/out", cwd="/workspace")
    for path in ("/etc", "/", "/workspace/../etc", "workspace", "/workspaces",
                 "/var/backups", "/proc", "/workspace/out",
                 "/workspace/out/ssl", "/workspace/gone"):
        for what in ("create", "restore"):
            invalid(ask(what, dir=path, archivePath=archive("x")))
    for path in ("/workspace/x", "/var/backups", "/var/backups/",
                 "/var/backups/../x", "x", "/var/backups/out/x",
                 "/var/backups/x/"):
        for what in ("create", "restore", "upload-parts"):
            invalid(ask(what, dir="/workspace/real", archivePath=path))
    for pattern in ("/etc", "..", "a/../b", "", "n" * 256):
        invalid(ask("create", dir="/workspace/real", archivePath=archive("x"),
                    excludes=[pattern]))
    for compression in ({"format": "xz"}, {"threads": 0}, {"threads": 1.5},
                        {"threads": "2"}, {"format": 1}, {"threads": 10**6}):
        container_error(ask("create", dir="/workspace/real",
                            archivePath=archive("x"), compression=compression),
                        400, "INVALID_BACKUP_CONFIG")


@case
def wrong_types_are_told():
    good = {"dir": "/workspace/real", "archivePath": archive("x")}
    for more in ({"dir": None}, {"dir": 1}, {"dir": ""}, {"dir": "/tmp/\0"},
                 {"dir": "/tmp/" + "x" * 5000}, {"archivePath": None},
                 {"archivePath": []}, {"gitignore": "yes"}, {"excludes": "a"},
                 {"excludes": [1]}, {"excludes": ["a\0b"]},
                 {"excludes": ["a"] * 1001}, {"compression": "lz4"},
                 {"sessionId": 7}):
        container_error(ask("create", **dict(good, **more)), 400,
                        "VALIDATION_FAILED")
    for what in ("create", "restore", "upload-parts"):
        for body in (b"[]", b"{", b"\xff"):
            container_error(call("POST", at(SID, "/api/backup/" + what), body),
                            400, "VALIDATION_FAILED")
        container_error(call("GET", at(SID, "/api/backup/" + what)), 405,
                        "METHOD_NOT_ALLOWED")
    r = call("POST", at(SID, "/api/backup/create"), dict(
        good, excludes=["x" * 200] * 10000))
    equal(r.status, 413, "too much is too much")


@case
def what_is_missing_is_told():
    doc = container_error(ask("create", dir="/workspace/none",
                              archivePath=archive("x")), 500,
                          "BACKUP_CREATE_FAILED")
    equal(doc["context"], {"dir": "/workspace/none", "backupId": "x"},
          "context")
    execute(SID, "touch /workspace/file")
    container_error(ask("create", dir="/workspace/file",
                        archivePath=archive("x")), 500, "BACKUP_CREATE_FAILED")
    doc = container_error(ask("restore", dir="/workspace/new",
                              archivePath=archive("none")), 404,
                          "BACKUP_NOT_FOUND")
    equal(doc["context"]["backupId"], "none", "which")
    container_error(ask("restore", dir="/workspace/file",
                        archivePath=archive("ex")), 500,
                    "BACKUP_RESTORE_FAILED")
    container_error(ask("restore", dir="/app", archivePath=archive("ex")), 500,
                    "BACKUP_RESTORE_FAILED")
    execute(SID, "mkdir -p shut; echo 1 >shut/file; chmod 0 shut/file",
            cwd="/workspace")
    doc = container_error(ask("create", dir="/workspace/shut",
                              archivePath=archive("shut")), 500,
                          "BACKUP_CREATE_FAILED")
    true("file" in doc["message"], doc["message"])
    execute(SID, "mkdir /var/backups/dir.sqsh")
    for what in ("create", "restore"):
        doc = ask(what, dir="/workspace/real", archivePath=archive("dir")).json
        true(doc["code"].startswith("BACKUP_"), repr(doc))
    equal(execute(SID, "ls -A new 2>/dev/null || :; ls -A | grep '^.sl-' || :;"
                       " ls -A /var/backups | grep -e '^.sl-' -e shut || :",
                  cwd="/workspace"), "", "nothing half done")


@case
def what_cannot_be_replaced_stays_as_it_is():
    execute(SID, "mkdir /var/backups/ro; echo old >/var/backups/ro/x.sqsh;"
                 " chmod 555 /var/backups/ro")
    container_error(ask("create", dir="/workspace/real",
                        archivePath=archive("ro/x")), 500,
                    "BACKUP_CREATE_FAILED")
    equal(execute(SID, "cat ro/x.sqsh; chmod 755 ro; rm -r ro",
                  cwd="/var/backups"), "old\n", "as it was")


@case
def a_maker_may_have_a_word_for_every_file():
    execute(SID, "mkdir words; cd words; seq 20000 | LC_ALL=C sed 's/^/\\xff/' |"
                 " xargs touch", cwd="/workspace")
    backup("/workspace/words", "words")
    restore("/workspace/words2", "words")
    equal(execute(SID, "ls words2 | wc -l; rm -r words words2",
                  cwd="/workspace"), "20000\n", "all of them")


@case
def archives_of_other_makers_are_restored():
    data = tar(("a", b"1"), ("d/b", b"22"))
    for name, sent in (("tar", data), ("gz", gzip.compress(data))):
        put_archive(name, sent)
        restore("/workspace/other", name)
        equal(execute(SID, "cat a d/b", cwd="/workspace/other"), "122", name)


@case
def broken_and_hostile_archives_change_nothing():
    execute(SID, "rm -rf jail; mkdir -p jail/in jail/out; echo mine >jail/out/v;"
                 " echo old >jail/in/old", cwd="/workspace")
    before = tree("/workspace/jail")
    execute(SID, "head -c 300000 /dev/urandom >/workspace/real/random")
    backup("/workspace/real", "whole")
    whole = expect(200, call("GET", at(SID, "/files" + archive("whole")))).body
    many = tar(("first", os.urandom(50000)), ("second", os.urandom(50000)))
    for data in (b"", os.urandom(3000), whole[:100], whole[:len(whole) // 2],
                 b"hsqs" + os.urandom(4000), many[:70000],
                 gzip.compress(many)[:70000],
                 tar(("../out/x", b"x")), tar(("a/../../out/x", b"x")),
                 tar(("/workspace/jail/out/abs", b"x")),
                 tar(link("s", "../../out"), ("s/x", b"x")),
                 tar(link("s", "/workspace/jail/out"), ("s/x", b"x")),
                 tar(link("h", "../out/v", tarfile.LNKTYPE), ("h", b"x")),
                 tar(link("h", "/workspace/jail/out/v", tarfile.LNKTYPE))):
        put_archive("bad", data)
        container_error(ask("restore", dir="/workspace/jail/in",
                            archivePath=archive("bad")), 500,
                        "BACKUP_RESTORE_FAILED")
        equal(tree("/workspace/jail"), before, repr(data[:60]))
    equal(execute(SID, "cat out/v in/old", cwd="/workspace/jail"),
          "mine\nold\n", "untouched")


@case
def a_place_without_room_keeps_what_it_had():
    execute(SID, "mkdir -p /workspace/big /tmp/full; echo old >/tmp/full/old;"
                 " truncate -s 1G /workspace/big/zeros;"
                 " head -c 64M /dev/urandom >/workspace/big/random;"
                 " fallocate -l $(($(df --output=avail -B1 /tmp | tail -1)"
                 " - (30 << 20))) /tmp/filler")
    size = backup("/workspace/big", "big")
    true(64 * MB < size < 80 * MB, "%d" % size)
    container_error(ask("restore", dir="/tmp/full",
                        archivePath=archive("big")), 500, "NO_SPACE")
    equal(execute(SID, "cat /tmp/full/old; ls -A /tmp/full /tmp | grep .sl- ||"
                       " rm /tmp/filler"), "old\n", "as it was")


@case
def archives_count_as_other_files_do():
    sql("INSERT INTO class (name, memory_mb, cpu_millis, disk_mb, pids)"
        " VALUES ('narrow', 512, 1000, 8, 64) ON CONFLICT DO NOTHING")
    sid = create(**{"class": "narrow", "isolation": "session"})["id"]
    execute(sid, "mkdir -p some; head -c 3M /dev/urandom >some/1")
    expect(200, ask("create", sid, dir="/workspace/some",
                    archivePath=archive("some")))
    sql("UPDATE session SET created_at = created_at - interval '1 hour'"
        " WHERE id = :'v1'", sid)
    equal(reap()[0], 0, "the pass")
    equal(value("SELECT disk_used_mb FROM session WHERE id = :'v1'", sid), "6",
          "what was measured")
    # an archive that exceeds the file size limit is not kept at all
    execute(sid, "for i in 2 3; do head -c 3M /dev/urandom >some/$i; done")
    container_error(ask("create", sid, dir="/workspace/some",
                        archivePath=archive("more")), 413, "FILE_TOO_LARGE")
    equal(execute(sid, "ls -A /var/backups"), "some.sqsh\n", "nothing half done")
    call("DELETE", at(sid))


# ---- upload-parts

@case
def parts_cannot_go_out_and_their_secrets_stay():
    size = backup("/workspace/real", "parts")
    secret = "X-Amz-Signature=%s" % os.urandom(8).hex()
    good = {"partNumber": 1, "url": "https://bucket.example/k?" + secret,
            "offset": 0, "size": size}
    path = archive("parts")
    r = ask("upload-parts", archivePath=path, parts=[good])
    container_error(r, 501, "NO_ROUTE_OUT")
    true(secret.encode() not in r.body, repr(r))
    for more in ({"url": "http://bucket.example/?" + secret},
                 {"url": "https://"}, {"url": 7}, {"partNumber": 0},
                 {"partNumber": "1"}, {"offset": -1}, {"offset": 1},
                 {"size": 0}, {"size": size + 1}, {"offset": 2**63 - 1},
                 {"size": 1.5}, {"partNumber": None}):
        r = ask("upload-parts", archivePath=path, parts=[dict(good, **more)])
        container_error(r, 400, "VALIDATION_FAILED")
        true(secret.encode() not in r.body, repr(r))
    for parts in ([], None, {}, [1], "x"):
        container_error(ask("upload-parts", archivePath=path, parts=parts),
                        400, "VALIDATION_FAILED")
    container_error(ask("upload-parts", archivePath=archive("none"),
                        parts=[good]), 404, "BACKUP_NOT_FOUND")
    for name in os.listdir(os.path.join(setting("STACK_STATE"), "log")):
        if name.endswith(".log"):
            true(secret not in service.log(name[:-4]), name)


# ---- interrupted backups

def at_work(word):
    """Returns processes of this test's service: other services make backups and
    list files, too."""
    return set(running(word)) & service.inside()


def hold(sid):
    """Starts a backup of a repository in which git waits for ever; returns
    (connection, name of an archive)."""
    mark = os.urandom(6).hex()
    execute(sid, "rm -rf held; mkdir held; cd held; git init -q .;"
                 " mkfifo /tmp/%s; git config core.excludesFile /tmp/%s" % (
                     mark, mark), cwd="/workspace")
    conn = http.client.HTTPConnection("127.0.0.1", port(),
                                      timeout=service.PATIENCE)
    conn.request("POST", at(sid, "/api/backup/create"), json.dumps({
        "dir": "/workspace/held", "archivePath": archive(mark),
        "gitignore": True}), {
            "Content-Type": "application/json",
            "Authorization": "Bearer " + setting("SANDLEASE_API_KEY")})
    until("git waits", lambda: at_work("ls-files"))
    return conn, mark


def nothing_left(sid):
    until("git is gone", lambda: not at_work("ls-files"))
    until("so are we", lambda: not get(sid)["busy"])
    equal(at_work("backup"), set(), "and the packer")
    equal(execute(sid, "ls -A /var/backups | grep '^.sl-' || :"), "", "no draft")


@case
def a_client_that_leaves_leaves_nothing():
    conn, _ = hold(SID)
    true(get(SID)["busy"], "it counts as work")
    conn.close()
    nothing_left(SID)


@case
def an_interruption_ends_it():
    conn, mark = hold(SID)
    equal(expect(200, call("POST", at(SID, "/interrupt"))).json["interrupted"],
          1, "one job")
    r = conn.getresponse()
    doc = json.loads(r.read())
    equal((r.status, doc["code"]), (409, "OPERATION_INTERRUPTED"), "answer")
    nothing_left(SID)
    container_error(ask("restore", dir="/workspace/new",
                        archivePath=archive(mark)), 404, "BACKUP_NOT_FOUND")


@case
def a_session_that_is_deleted_meanwhile_is_gone():
    sid = create()["id"]
    conn, _ = hold(sid)
    true(call("DELETE", at(sid)).status in (200, 202, 204), "deleted")
    true(conn.getresponse().status >= 400, "told")
    until("git is gone", lambda: not at_work("ls-files"))


@case
def many_at_once_make_whole_archives():
    execute(SID, "mkdir -p once; head -c 3M /dev/urandom >once/f",
            cwd="/workspace")
    status = []

    def make():
        status.append(ask("create", dir="/workspace/once",
                          archivePath=archive("once")).status)
        status.append(ask("restore", dir="/workspace/once2",
                          archivePath=archive("once")).status)
    threads = [threading.Thread(target=make) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    equal(status, [200] * 8, "all of them")
    equal(execute(SID, "cmp once/f once2/f && ls -A once2; ls -A | grep ^.sl- ||"
                       " ls -A /var/backups | grep ^.sl- || :",
                  cwd="/workspace"), "f\n", "whole")


# ---- places of archives

@case
def archives_are_the_sessions_own():
    one = create(name="one", isolation="shared")["id"]
    two = create(name="two", isolation="shared")["id"]
    equal(get(one)["sandboxId"], get(two)["sandboxId"], "in one sandbox")
    execute(one, "mkdir -p kept; echo 1 >kept/f", cwd="/workspace")
    expect(200, ask("create", one, dir="/workspace/kept",
                    archivePath=archive("kept")))
    equal(execute(two, "ls -A /var/backups; ls -d /sessions/* 2>&1 | head -1"),
          "ls: cannot access '/sessions/*': No such file or directory\n",
          "the other one sees none")
    expect(200, call("POST", at(one, "/sleep")))
    execute(one, "rm -r kept", cwd="/workspace")
    expect(200, ask("restore", one, dir="/workspace/kept",
                    archivePath=archive("kept")))
    equal(execute(one, "cat /workspace/kept/f"), "1\n", "after a sleep")
    for sid in (one, two):
        call("DELETE", at(sid))


run(lambda: None)
