"""disk_world.py: a whole service, PostgreSQL included, on a file system of
512 MB, and functions that fill it."""
import errno
import os
import pwd
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
import service
import tap
from service import (at, call, create, execute, get, problem, reap,
                     setting, sql, until, value)
from tap import equal, true

DISK_MB, MIN_MB, LOW_MB, BALLAST_MB = 512, 160, 64, 16
SOON_MB = 60  # a few seconds' work for a writer
CONF = """capacity_min_mb = %d
disk_low_mb = %d
ballast_mb = %d
disk_account_seconds = 300
""" % (MIN_MB, LOW_MB, BALLAST_MB)
MB = 1 << 20
GHOST = "g" * 20


def main(cgroup=None):
    why = service.cannot_mount()
    if why:
        tap.skip_all(why)
    service.begin(CONF, DISK_MB, cgroup)
    tap.run(before)


def state():
    return setting("STACK_STATE")


def data(*names):
    return os.path.join(state(), "data", *names)


def free_mb():
    v = os.statvfs(state())
    return v.f_bavail * v.f_frsize // MB


def fill(down_to_mb):
    """Writes a file that is no session's; so much is free afterwards."""
    unfill()

    def filled():
        size = os.statvfs(state())
        bytes_ = size.f_bavail * size.f_frsize - down_to_mb * MB
        try:
            if bytes_ > 0:
                os.posix_fallocate(f.fileno(), 0, bytes_)
        except OSError as e:
            if e.errno != errno.ENOSPC:
                raise
            return False  # another process took some of the room meanwhile
        return True
    with open(os.path.join(state(), "filler"), "wb") as f:
        until("it is full", filled)


def resize(mb):
    subprocess.run(["mount", "-o", "remount,size=%dm" % mb, state()],
                   check=True)


def inodes(number):
    subprocess.run(["mount", "-o", "remount,nr_inodes=%d" % number, state()],
                   check=True)


def unfill():
    try:
        os.unlink(os.path.join(state(), "filler"))
    except FileNotFoundError:
        pass


def before():
    """Removes everything that the last case has left."""
    unfill()
    for sid, key in list(OURS.items()):
        call("DELETE", at(sid), key=key)
        until("%s is deleted" % sid,
              lambda s=sid, k=key: get(s, k)["state"] == "deleted")
        del OURS[sid]
    until("no deletion is left", nothing_is_deleting)
    resize(DISK_MB)
    until("the ballast lies there", ballast)
    until("there is room", lambda: free_mb() > MIN_MB + 100)


def nothing_is_deleting():
    sql("UPDATE lease SET next_attempt_at = clock_timestamp()"
        " WHERE state = 'stop_needed'")
    reap()
    return value("SELECT count(*) FROM session WHERE state = 'deleting'") == "0"


OURS = {}


def session(key=None, **wish):
    s = create(key, **wish)
    OURS[s["id"]] = key
    return s


def ballast():
    try:
        return os.stat(data("ballast")).st_size == BALLAST_MB * MB
    except FileNotFoundError:
        return False


def leave(s, name, mb, age_seconds):
    """A workspace without a row, in the sandbox of session `s`."""
    owner = pwd.getpwuid(os.stat(data()).st_uid)
    top = data("storage", s["sandboxId"], name)
    for path in (top, top + "/workspace", top + "/home"):
        os.mkdir(path, 0o700)
    with open(top + "/workspace/big", "wb") as f:
        os.posix_fallocate(f.fileno(), 0, mb * MB)
    for path in (top, top + "/workspace", top + "/home",
                 top + "/workspace/big"):
        os.chown(path, owner.pw_uid, owner.pw_gid)
    when = time.time() - age_seconds
    os.utime(top, (when, when))
    return top


def refused(reply):
    doc = problem(reply, 507, "insufficient_storage")
    true(doc["retryable"], "it may be tried again")
    # on a disk that is full to the last byte the reaper finishes the refusal:
    # the session is then `deleting`, which strangers() does not list
    equal(strangers(), [], "no session is left of it")


def strangers():
    """Sessions that no test has made and that are not being deleted."""
    return [sid for sid, in sql(
        "SELECT id FROM session WHERE state NOT IN ('deleting', 'deleted')"
        " AND id NOT IN (SELECT unnest(string_to_array(:'v1', ',')))",
        ",".join(OURS))]


def writer(sid, key=None):
    """Starts a job that writes 20 MB a second, for ever.  Files that exist
    already do not count against a session: call fill() first, so that the disk
    is soon low."""
    execute(sid, "(while :; do head -c 2097152 /dev/zero >>big; sleep 0.1;"
            " done) >/dev/null 2>&1 &", key)


# writes 20 MB a second into a file without a name
HIDDEN_WRITER = """
import os, time
f = open("gone", "wb", 0)
os.unlink("gone")
while True:
    f.write(bytes(2 << 20))
    time.sleep(0.1)  # wait: its own beat, no limit
"""


def size(s):
    path = data("storage", s["sandboxId"], s["id"], "workspace", "big")
    return os.stat(path).st_size


def size_that_stays(s):
    """The file's size, or None while it grows: without cgroups processes are
    stopped by a signal, which may reach them after the row says so."""
    was = size(s)
    time.sleep(0.5)  # wait: asked until nothing changes meanwhile
    return was if was == size(s) else None


def postgres_lives():
    sql("CREATE TABLE IF NOT EXISTS proof (n int);"
        "INSERT INTO proof SELECT generate_series(1, 1000)")
    equal(value("SELECT count(*) > 0 FROM proof"), "t", "rows")
    sql("TRUNCATE proof")


# ---- admission
