#!/usr/bin/python3
# long: copies a small Debian first, then installs packages
"""writable.t: tests that a session of a class with a writable root is root in a system of its own."""
import os
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import rootfs
import service
import tap
from service import admin, at, call, create, execute, expect, get, problem, reap, setting, sql, until
from tap import case, equal, run, true

if rootfs.why_not():
    tap.skip_all(rootfs.why_not())
service.begin()

ROOT = setting("STACK_STATE") + "/tiny"
LIMITS = ("--memory-mb", "512", "--cpu-millis", "1000", "--disk-mb", "64", "--pids", "128")
BOB = service.new_key("bobs", "bob")


rootfs.make(ROOT, node=True)
admin("class", "add", "own", *LIMITS, "--rootfs", ROOT, "--writable-root", "yes")


def own(**more):
    return create(isolation="session", **dict({"class": "own"}, **more))["id"]


def sleep(sid):
    expect(200, call("POST", at(sid, "/sleep")))
    until("it sleeps", lambda: get(sid)["state"] == "asleep")


def storage(sid):
    """The session's directory on the host."""
    top = setting("STACK_STATE") + "/data/storage"
    found = [os.path.join(top, box, sid) for box in os.listdir(top)]
    return next(path for path in found if os.path.exists(path))


def refused(*words):
    """Runs sandlease-admin, which must refuse; its stderr."""
    done = service.run("sandlease-admin", *words)
    true(done.returncode in (1, 2), words)
    return done.stderr.decode()


@case
def only_a_class_with_a_rootfs_of_the_service_may_ask_for_it():
    true("--rootfs" in refused("class", "add", "x", *LIMITS, "--writable-root", "yes"), "none at all")
    true("--rootfs" in refused("class", "set", "small", "--writable-root", "yes"), "a class that has none")
    true("yes or no" in refused("class", "add", "x", *LIMITS, "--writable-root", "maybe"), "its value")
    if os.getuid() == 0:
        said = refused("class", "add", "x", *LIMITS, "--rootfs", "/usr", "--writable-root", "yes")
        true("another user" in said, said)
    elsewhere = tempfile.mkdtemp(dir="/dev/shm")
    try:
        os.chown(elsewhere, os.stat(ROOT).st_uid, -1)
        said = refused("class", "add", "x", *LIMITS, "--rootfs", elsewhere, "--writable-root", "yes")
        true("another file system" in said, said)
    finally:
        os.rmdir(elsewhere)
    said = refused("class", "set", "own", "--rootfs", "")
    true("--rootfs" in said, said)
    row, = [c for c in expect(200, call("GET", "/v1/classes")).json["classes"] if c["name"] == "own"]
    equal(row["writableRoot"], True, "users see it")


@case
def its_user_is_root_and_writes_where_root_does():
    sid = own()
    equal(execute(sid, "id -u; id -un; echo $USER; whoami"), "0\nroot\nroot\nroot\n", "who")
    execute(sid, "(set -e; mkdir /app; for d in /opt /app /etc /usr/local /var/lib /; do"
                 " echo mine >$d/of-mine; cat $d/of-mine; done)")
    execute(sid, "(set -e; rm /usr/bin/mawk; mv /etc/apt /etc/tpa; chmod 700 /opt; ! test -e /usr/bin/mawk)")
    expect(200, call("POST", at(sid, "/api/write"), {"path": "/test-file.txt", "content": "x"}))
    equal(execute(sid, "cat /test-file.txt"), "x", "api/write")
    expect(201, call("PUT", at(sid, "/files/opt/new/b"), b"bytes"))
    equal(execute(sid, "cat /opt/new/b; python -c 'print(1)'"), "bytes1\n", "files/, and python")
    equal(execute(sid, "getent hosts localhost >/dev/null && echo known"), "known\n", "names")


@case
def a_server_may_have_a_low_port():
    sid = own()
    equal(execute(sid, "python3 -c 'import socket; s = socket.socket(); s.bind((\"\", 80)); s.listen();"
                       " print(s.getsockname()[1])'"), "80\n", "as nginx does")


@case
def packages_are_installed():
    sid = own()
    execute(sid, "(set -e; mkdir -p p/DEBIAN p/opt/hello p/usr/bin; cd p;"
                 " printf '#!/bin/sh\\necho hello\\n' >usr/bin/hello; chmod 755 usr/bin/hello;"
                 " printf 'Package: hello\\nVersion: 1\\nArchitecture: all\\nMaintainer: a <a@b.c>\\n"
                 "Description: says it\\n' >DEBIAN/control;"
                 # as postinst scripts do: files and processes of other users
                 " printf '#!/bin/sh\\nset -e\\nchown www-data:adm /opt/hello\\n"
                 "chgrp -R mail /opt/hello\\nsetpriv --reuid=daemon --regid=daemon --clear-groups true\\n' >DEBIAN/postinst;"
                 " chmod 755 DEBIAN/postinst; dpkg-deb -b . ../hello.deb)")
    execute(sid, "dpkg -i hello.deb")
    equal(execute(sid, "hello; dpkg-query -W -f '${Status}' hello"), "hello\ninstall ok installed", "dpkg")
    execute(sid, "dpkg --purge hello; ! test -e /usr/bin/hello")
    execute(sid, "apt-get install -y ./hello.deb")
    equal(execute(sid, "hello"), "hello\n", "apt-get")
    execute(sid, "useradd -m someone; test -d /home/someone")


@case
def npm_installs_for_all():
    sid = own()
    execute(sid, "(set -e; mkdir tool; cd tool; printf '#!/usr/bin/env node\\nconsole.log(6 * 7)\\n' >tool.js;"
                 " printf '{\"name\": \"tool\", \"version\": \"1.0.0\", \"bin\": \"tool.js\"}' >package.json;"
                 " npm install -g --offline --install-links . 2>&1)")
    equal(execute(sid, "tool; command -v tool"), "42\n/usr/bin/tool\n", "where its prefix is")


@case
def files_of_a_create_may_lie_anywhere_but_in_kernel_file_systems():
    sid = own(files=[{"path": "/app/main.py", "content": "1"}, {"path": "/etc/motd", "content": "2"}])
    equal(execute(sid, "cat /app/main.py /etc/motd"), "12", "they are there")
    before = sql("SELECT count(*) FROM session")
    for name, path in (("own", "/proc/x"), ("own", "/dev/x"), ("own", "/sandlease-agent"),
                       ("small", "/app/x"), ("small", "/etc/motd")):
        r = call("POST", "/v1/sessions", {"isolation": "session", "class": name, "files": [
            {"path": "/tmp/x", "content": ""}, {"path": path, "content": ""}]})
        problem(r, 400, "validation_failed", "files[1].path")
    problem(call("POST", "/v1/sessions", {"files": [{"path": "/app/x", "content": ""}]}),
            400, "validation_failed", "files[0].path")
    equal(sql("SELECT count(*) FROM session"), before, "nothing was made")


@case
def changes_persist_and_stay_with_the_session():
    one, other = own(), own()
    execute(one, "(set -e; echo 1 >/opt/kept; echo 2 >>/etc/passwd; rm -r /usr/lib/apt; mkdir /usr/lib/apt;"
                 " touch /usr/lib/apt/new)")
    generation = get(one)["lease"]["generation"]
    sleep(one)
    equal(execute(one, "cat /opt/kept; tail -n 1 /etc/passwd; ls /usr/lib/apt"), "1\n2\nnew\n", "after a sleep")
    true(get(one)["lease"]["generation"] > generation, "in another generation")
    equal(execute(other, "ls /opt; test -e /usr/lib/apt/methods; grep -c . /usr/lib/apt/methods/file >/dev/null;"
                         " ls /usr/lib/apt/new 2>/dev/null || echo none"), "none\n", "not in another session")
    true(not os.path.exists(ROOT + "/opt/kept") and os.path.exists(ROOT + "/usr/lib/apt/methods"),
         "nor in what lies below")


@case
def a_snapshot_says_that_it_holds_no_root():
    sid = own()
    execute(sid, "echo root >/opt/of-root; echo files >/workspace/of-files")
    s = expect(201, call("POST", at(sid, "/snapshots?wait=60"), {"name": "kept"})).json
    equal(s["directories"], ["/workspace", "/home/user"], "what it holds")
    other = own(snapshot=s["id"])
    equal(execute(other, "cat of-files; test -e /opt/of-root || echo none"), "files\nnone\n", "a session of it")
    equal(execute(other, "echo mine >/opt/of-root; cat /opt/of-root"), "mine\n", "which has a root, too")


@case
def a_backup_of_what_lies_in_the_root_is_restored():
    sid = own()
    execute(sid, "mkdir -p /app/src; echo 1 >/app/src/a")
    archive = {"dir": "/app", "archivePath": "/var/backups/app.tar"}
    expect(200, call("POST", at(sid, "/api/backup/create"), archive))
    sleep(sid)
    execute(sid, "echo 2 >/app/src/a")
    expect(200, call("POST", at(sid, "/api/backup/restore"), archive))
    equal(execute(sid, "cat /app/src/a"), "1\n", "as it was")


@case
def a_root_that_belongs_to_somebody_else_is_a_clear_error():
    if os.getuid() != 0:
        raise tap.Skip("all is one user's here")
    foreign = setting("STACK_STATE") + "/foreign"
    os.mkdir(foreign)
    sql("INSERT INTO class (name, rootfs, writable_root, memory_mb, cpu_millis, disk_mb, pids)"
        " VALUES ('foreign', :'v1', true, 256, 1000, 64, 64)", foreign)
    r = call("POST", "/v1/sessions?wait=60", {"isolation": "session", "class": "foreign"})
    true(r.status == 503 and r.json["code"] == "no_rootfs", r)
    true("another user" in service.log("api"), "the operator is told")


@case
def a_sandbox_that_is_killed_while_it_writes_leaves_a_root_that_serves():
    sid = own()
    execute(sid, "echo 1 >/opt/kept; sync")
    pid = service.job(sid, "8120.%d" % os.getpid())[0]
    execute(sid, "(while :; do cp -r /usr/lib/apt /opt/copy; rm -r /opt/copy /usr/share/perl5; done"
                 " >/dev/null 2>&1 &)")
    until("it writes", lambda: execute(sid, "test -e /usr/share/perl5 || echo gone") == "gone\n")
    service.end_sandbox(pid)
    # calls fail until the service has seen that the sandbox ended
    until("it serves again", lambda: call("POST", at(sid, "/api/execute"), {"command": "true"}).status == 200)
    equal(execute(sid, "cat /opt/kept; rm -rf /opt/copy; echo 2 >/opt/more; cat /opt/more"), "1\n2\n", "all of it")


@case
def cells_of_one_sandbox_have_roots_of_their_own():
    sql("UPDATE class SET rootfs = :'v1', writable_root = true WHERE name = 'shared'", ROOT)
    one, two = (create(BOB, name=name) for name in ("one", "two"))
    equal(one["sandboxId"], two["sandboxId"], "one sandbox")
    execute(one["id"], "echo pear-4711 >/opt/secret; echo 1 >/etc/same", BOB)
    equal(execute(two["id"], "ls /opt; cat /etc/same 2>/dev/null || echo none", BOB), "none\n", "not seen")
    found = execute(two["id"], "grep -rl pear-4711 /opt /etc /var /root /srv 2>/dev/null; ls -A /sessions /lower /cell"
                               " 2>/dev/null; true", BOB)
    equal(found, "", "nor found")
    sql("UPDATE class SET writable_root = false, rootfs = '' WHERE name = 'shared'")


@case
def nothing_that_a_session_does_to_its_root_keeps_it_from_waking():
    """Nor can a session leave its root: mount points are looked up in that root only."""
    sid = own()
    said = execute(sid, "for d in /proc /dev /sys /tmp /workspace /home /home/user /sandlease-agent; do"
                        " ! mv $d /moved 2>/dev/null || echo $d is moved; rmdir $d 2>/dev/null || true;"
                        " test -e $d || echo $d is gone; done")
    equal(said, "", "mount points stay")
    for trick in ("mv /var /v; ln -s /proc/1 /var", "rm /var; ln -s /sessions /var",
                  "rm /var; mkdir /var; ln -s /proc /var/backups", "rm -rf /var; touch /var",
                  "rm -f /etc/hosts /etc/passwd; mv /etc /e; ln -s /proc/self /etc", "rm /etc; mv /e /etc",
                  "ln -s /sessions /lower; ln -s / /cell; mkdir /sessions; ln -s / /sessions/x",
                  "chmod 0 /opt /etc /home /"):
        call("POST", at(sid, "/api/execute"), {"command": trick})
        sleep(sid)
        r = call("POST", at(sid, "/api/execute"), {"command": "echo here; ls -A /sessions /cell/lower 2>/dev/null"})
        true(r.status == 200 and r.json["stdout"].startswith("here\n"), (trick, r))
        equal(execute(sid, "test -w /proc/sys/kernel/msgmax || echo locked"), "locked\n", trick)
        equal(execute(sid, "cut -d ' ' -f 5 /proc/self/mountinfo | grep -cE '^/(|lower|cell|sessions)$';"
                           " stat -c %i / /.. | uniq | wc -l"), "1\n1\n", "one root: " + trick)


def measured(sid):
    """The session's size by the next pass of the reaper, in MB."""
    sql("UPDATE session SET created_at = created_at - interval '1 hour',"
        " disk_measured_at = disk_measured_at - interval '1 hour' WHERE id = :'v1'", sid)
    equal(reap()[0], 0, "the pass")
    return int(service.value("SELECT disk_used_mb FROM session WHERE id = :'v1'", sid))


@case
def what_it_writes_counts_for_its_disk():
    sid = own()
    true(measured(sid) < 2, "what lies below is not its own")

    execute(sid, "exec 8>/opt/open; head -c 40M /dev/zero >&8; rm /opt/open;"
                 " (exec sleep 1000 >/dev/null 2>&1) & exec 8>&-")
    true(40 <= measured(sid) < 50, "a file without a name")
    execute(sid, "pkill sleep; rm /usr/bin/perl")
    true(measured(sid) < 2, "what was removed has no size")
    execute(sid, "head -c 40M /dev/zero >/opt/a; head -c 40M /dev/zero >/usr/b")
    true(80 <= measured(sid) < 90, "over its limit")
    measured(sid)
    equal((get(sid)["state"], get(sid)["reason"]), ("asleep", "disk_limit"), "the second time")
    execute(sid, "rm /opt/a /usr/b")


@case
def it_is_deleted_whole():
    sid = own()
    execute(sid, "(set -e; mkdir -p /opt/a/b/c; touch /opt/a/b/c/d; chmod 0 /opt/a/b/c /opt/a/b /opt/a; rm -r /srv)")
    where = storage(sid)
    changed = os.path.join(where, "root/upper/srv")
    true(stat.S_ISCHR(os.lstat(changed).st_mode), "what was removed is noted")
    expect(200, call("DELETE", at(sid)))
    until("it is deleted", lambda: not os.path.exists(where))

    def swept():
        reap()
        return os.listdir(setting("STACK_STATE") + "/data/trash") == []
    until("its files are gone", swept)


@case
def a_rootfs_is_not_replaced_under_changes():
    other = setting("STACK_STATE") + "/other"
    os.mkdir(other)
    subprocess.run(["chown", "--reference", ROOT, other], check=True)
    sid = own()
    said = refused("class", "set", "own", "--rootfs", other)
    true("sessions that may have changed its root" in said, said)
    admin("class", "set", "own", "--pids", "100", "--rootfs", ROOT)
    equal(execute(sid, "echo lives"), "lives\n", "it runs on")


@case
def a_root_that_was_broken_can_be_taken_away():
    sid = own()
    execute(sid, "echo precious >kept; chmod 0 /usr")
    sleep(sid)
    problem(call("POST", at(sid, "/resume")), 502, "agent_error")
    equal(get(sid)["state"], "failed", "without a shell")
    os.rename(storage(sid) + "/root", setting("STACK_STATE") + "/broken")
    expect(200, call("POST", at(sid, "/resume")))
    equal(execute(sid, "cat kept"), "precious\n", "its files")
    expect(200, call("DELETE", at(sid)))


sys.exit(run(lambda: None))
