#!/usr/bin/python3
# long: has mmdebstrap make a small Debian, which takes a minute or two
"""rootfs.t: tests that a root file system is made, run, kept while it is used, and removed."""
import glob
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
import tap
from service import at, call, create, execute, expect, setting, sql, until
from tap import case, equal, run, true


def mirror():
    """The mirror that this machine's own packages come from."""
    for path in glob.glob("/etc/apt/sources.list") + glob.glob("/etc/apt/sources.list.d/*"):
        with open(path, encoding="utf-8") as file:
            for line in file:
                found = re.match(r"(?:URIs:|deb(?: \[.*?\])?)\s+(\S+/debian)/?\s", line)
                if found:
                    return found[1]
    return ""


def why_not():
    if os.getuid() != 0:
        return "only root can make one here"
    if not shutil.which("mmdebstrap"):
        return "mmdebstrap is not installed"
    try:
        # wait: against hanging; a mirror that does not answer in a minute is none
        urllib.request.urlopen(mirror() + "/dists/bookworm/InRelease", timeout=60).close()
    except (OSError, ValueError) as why:
        return "no mirror of Debian: %s" % why
    return ""


if why_not():
    tap.skip_all(why_not())
service.begin()

ROOTS = setting("STACK_STATE") + "/data/rootfs"
ROOT = ROOTS + "/tiny/root"


def command(*words):
    return [service.program("sandlease-admin"), "--config", setting("SANDLEASE_CONFIG"),
            "rootfs", *words]


def admin(*words, **changes):
    """(exit status, stdout, stderr); `changes` are variables of its environment."""
    done = subprocess.run(command(*words), stdout=subprocess.PIPE, env={**os.environ, **changes},
                          stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def listed():
    return [json.loads(line) for line in admin("list", "--json")[1].splitlines()]


def there():
    return sorted(os.listdir(ROOTS)) if os.path.isdir(ROOTS) else []


@case
def what_cannot_be_a_recipe_is_refused():
    for words, said in ((("make", "../x", "--packages", "hello"), "NAME"),
                        (("make", ".x", "--packages", "hello"), "NAME"),
                        (("make", "x"), "--packages"),
                        (("make", "x", "--packages", "a b"), "--packages"),
                        (("make", "x", "--packages", "a", "--suite", "-x"), "--suite"),
                        (("make", "x", "--packages", "a", "--mirror", "--x"), "--mirror"),
                        (("make", "x", "--packages", "a", "more"), "more"),
                        (("rm", "../box"), "no root file system"), (("rm",), "NAME")):
        status, _, error = admin(*words)
        true(status in (1, 2) and said in error, (words, error))
    equal(there(), [], "nothing was made")


@case
def it_is_made_by_a_recipe():
    status, out, error = admin("make", "tiny", "--packages", "hello", "--mirror", mirror())
    equal((status, out.strip()), (0, ROOT), error[-2000:])
    equal(there(), ["tiny"], "and nothing else")
    status, _, error = admin("make", "tiny", "--packages", "hello")
    true(status == 1 and "already" in error, error)
    one, = listed()
    equal([one[k] for k in ("name", "suite", "classes", "root", "packages", "mirror")],
          ["tiny", "bookworm", [], ROOT, "hello", mirror()], "list")
    true(one["made"].startswith("20"), one["made"])
    titles, row = admin("list")[1].splitlines()
    equal(titles.index("ROOTFS"), row.index(ROOT), "as a table")
    owner = pwd.getpwnam("sandlease").pw_uid
    others = [path for top, dirs, files in os.walk(ROOT) for path in
              (os.path.join(top, name) for name in dirs + files) if os.lstat(path).st_uid != owner]
    equal(others, [], "all of it is the service's")


@case
def a_session_of_a_class_runs_it():
    sql("INSERT INTO class (name, rootfs, memory_mb, cpu_millis, disk_mb, pids)"
        " VALUES ('tiny', :'v1', 256, 1000, 512, 64)", ROOT)
    sql("INSERT INTO class (name, rootfs, writable_root, memory_mb, cpu_millis, disk_mb, pids)"
        " VALUES ('own', :'v1', true, 256, 1000, 512, 64)", ROOT)
    sid = create(isolation="session", name="in-tiny", **{"class": "tiny"})["id"]
    equal(execute(sid, "hello; . /usr/lib/os-release; echo $VERSION_CODENAME"),
          "Hello, world!\nbookworm\n", "its package")
    equal(execute(sid, "command -v git python3 nginx || true"), "", "nothing of the host's")
    equal(execute(sid, "echo 1 >/var/tmp/f; cat /tmp/f; test -d /var/backups; "
                       "touch /usr/x 2>/dev/null || echo read-only"), "1\nread-only\n", "as cells need it")
    equal(listed()[0]["classes"], ["own", "tiny"], "list names the classes")


@case
def in_a_class_with_a_writable_root_packages_come_and_go():
    sid = create(isolation="session", name="in-own", **{"class": "own"})["id"]
    execute(sid, "apt-get purge -y hello && ! command -v hello && apt-get check")
    expect(200, call("DELETE", at(sid)))
    sql("UPDATE class SET writable_root = false, rootfs = '' WHERE name = 'own'")


@case
def it_stays_while_it_is_used():
    status, _, error = admin("rm", "tiny")
    true(status == 1 and "class tiny" in error, error)
    sql("UPDATE class SET rootfs = '' WHERE name = 'tiny'")
    status, _, error = admin("rm", "tiny")
    true(status == 1 and "a sandbox runs from it" in error, error)
    equal(there(), ["tiny"], "it is there")
    sid = expect(200, call("GET", "/v1/sessions?limit=1")).json["sessions"][0]["id"]
    equal(execute(sid, "hello"), "Hello, world!\n", "and runs")
    expect(200, call("DELETE", at(sid)))
    until("its sandbox is gone", lambda: admin("rm", "tiny")[0] == 0)
    equal(there(), [], "and then it is removed")


@case
def one_that_is_not_there_is_a_clear_error():
    sql("UPDATE class SET rootfs = :'v1' WHERE name = 'tiny'", ROOT)
    r = call("POST", "/v1/sessions?wait=60", {"isolation": "session", "class": "tiny"})
    true(r.status >= 500 and "no_rootfs" in r.body.decode(), r)


@case
def a_maker_that_is_killed_leaves_nothing_that_counts():
    maker = subprocess.Popen(command("make", "half", "--packages", "hello", "--mirror", mirror()),
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until("it has begun", lambda: glob.glob(ROOTS + "/.make-*/root/usr") or maker.poll() is not None
          or glob.glob(ROOTS + "/.make-*/root"))
    maker.send_signal(signal.SIGKILL)
    maker.wait()
    equal(listed(), [], "no half one")
    true(there() and there()[0].startswith(".make-"), there())
    status, _, error = admin("make", "bad", "--packages", "no-such-package", "--mirror",
                             "file:///nonexistent")
    true(status == 1 and "mmdebstrap failed" in error, error[-500:])
    equal(there(), [], "the next one clears up, after itself too")


@case
def a_recipe_that_fails_takes_only_itself_along():
    with tempfile.TemporaryDirectory() as first:
        with open(first + "/mmdebstrap", "w", encoding="utf-8") as script:
            script.write("#!/bin/sh\ntrap '' HUP; kill -HUP 0; exit 25\n")
        os.chmod(script.name, 0o755)
        status, _, error = admin("make", "hung-up", "--packages", "hello",
                                 PATH=first + ":" + os.environ["PATH"])
    true(status == 1 and "mmdebstrap failed: exit code 25" in error, (status, error[-500:]))
    equal(there(), [], "and leaves nothing")


sys.exit(run(lambda: None))
