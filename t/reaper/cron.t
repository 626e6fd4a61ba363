#!/usr/bin/python3
# idle: waits for two minutes of cron
"""cron.t: tests that the installed cron file makes passes of the reaper.

A cron of its own runs in a mount namespace, because cron knows only the machine's
directories; that needs root.  The machine's cron is not touched."""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import setting, sql, until, value
from tap import Skip, case, equal, run, true

service.begin()

DEST = os.path.join(setting("STACK_DIR"), "dest")
TWO_PASSES = 600  # wait: seconds; cron makes two passes within 120

# The namespace of cron: $1 the installed tree, $2 its prefix, $3 the cron file.
# cron accepts the file only if it is root's and no other user may write it.
NAMESPACE = """
set -e
mount --bind "$1$2" "$2"
mount -t tmpfs none /run
mount -t tmpfs none /var/spool/cron
mkdir -p /var/spool/cron/crontabs
mount --bind /dev/null /etc/crontab
mount -t tmpfs none /etc/cron.d
install -o root -g root -m 644 "$3" /etc/cron.d/sandlease
exec cron -f
"""


def install():
    """Runs `make install`; the path of the installed cron file, or Skip."""
    if os.getuid() != 0:
        raise Skip("a private cron needs root")
    if not shutil.which("cron"):
        raise Skip("cron is not installed")
    done = subprocess.run(
        ["make", "-C", setting("STACK_BUILD"), "install", "DESTDIR=" + DEST],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    equal(done.returncode, 0, "make install: %s" % done.stdout[-2000:])
    files = glob.glob(DEST + "/**/cron.d/*", recursive=True)
    equal(len(files), 1, "cron files of make install")
    os.chmod(DEST, 0o755)
    return files[0]


def configure(cron_file):
    """Puts this service's settings where the cron line expects them; the prefix
    of the installation."""
    with open(cron_file, encoding="utf-8") as f:
        text = f.read()
    program = re.search(r"(\S+)/sbin/sandlease-reaper", text)
    conf = re.search(r"--config (\S+)", text)
    true(program and conf, "the line runs the reaper: %s" % text)
    prefix = program[1]
    if prefix in ("", "/usr") or not conf[1].startswith(prefix + "/"):
        raise Skip("configured with --prefix=%s: another test's directories"
                   " would have to be covered" % prefix)
    os.makedirs(os.path.dirname(DEST + conf[1]), exist_ok=True)
    shutil.copy(setting("SANDLEASE_CONFIG"), DEST + conf[1])
    owner = os.stat(setting("SANDLEASE_CONFIG"))
    os.chown(DEST + conf[1], owner.st_uid, owner.st_gid)
    return prefix


@case
def the_shipped_cron_file_makes_a_pass_every_minute():
    cron_file = install()
    prefix = configure(cron_file)
    sid = service.create()["id"]
    sql("UPDATE lease SET keep_warm_until = clock_timestamp() WHERE"
        " session_id = :'v1'", sid)
    with open(os.path.join(setting("STACK_DIR"), "cron.log"), "wb") as log:
        cron = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             NAMESPACE, "sh", DEST, prefix, cron_file], stdout=log,
            stderr=log, start_new_session=True)
    try:
        until("two passes, or cron has ended", lambda: cron.poll() is not None
              or value("SELECT count(*) FROM reaper_run") == "2", TWO_PASSES)
        with open(log.name, encoding="utf-8") as f:
            equal(cron.poll(), None, "cron runs: %s" % f.read())
    finally:
        os.killpg(cron.pid, signal.SIGTERM)
        cron.wait(service.PATIENCE)
    times = sql("SELECT to_char(started_at, 'HH24:MI') FROM reaper_run"
                " ORDER BY id LIMIT 2")
    true(times[0] != times[1], "in two minutes: %r" % times)
    equal(service.get(sid)["state"], "asleep", "and it did its work")


sys.exit(run(lambda: None))
