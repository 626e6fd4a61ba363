#!/usr/bin/python3
"""bytes.t: tests that `sandlease exec` passes bytes exactly and without delay."""
import hashlib
import os
import random
import select
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import create, execute, setting
from tap import PATIENCE, Skip, case, equal, run, true

service.begin()

CLI = os.path.join(setting("STACK_BUILD"), "sandlease")
SID = create(isolation="session")["id"]
ROUNDS = 50
# wait: bytes held back for the rest of a character would never come; an answer
# takes milliseconds, so a slow machine has a thousand times as long
STALL = PATIENCE


class Exec(subprocess.Popen):
    """A `sandlease exec` that is killed when its case fails."""

    def __init__(self, *words):
        super().__init__([CLI, "exec", *words], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)

    def __exit__(self, *error):
        self.kill()
        super().__exit__(*error)


def read_exactly(pipe, count):
    """Reads `count` bytes; returns fewer when no more come in time."""
    got, end = b"", time.monotonic() + STALL
    while len(got) < count:
        left = end - time.monotonic()
        if left <= 0 or not select.select([pipe], [], [], left)[0]:
            break
        piece = os.read(pipe.fileno(), count - len(got))
        if piece == b"":
            break
        got += piece
    return got


# ---- large amounts

def file_of(data):
    f = tempfile.TemporaryFile(dir=setting("STACK_DIR"))
    f.write(data)
    f.seek(0)
    return f


# This command reads nothing for longer than the service waits, so the service
# refuses the bytes and the command line sends them again.  The other cases run
# meanwhile.
LATE_BYTES = random.randbytes(3000000)
# wait: in the command; a shorter sleep makes the test weaker, never red
LATE = subprocess.Popen([CLI, "exec", SID, "--", "sh", "-c", "sleep 35; sha256sum"],
                        stdin=file_of(LATE_BYTES), stdout=subprocess.PIPE)


@case
def much_input_arrives_whole():
    data = random.randbytes(30000000)  # takes several calls
    done = subprocess.run([CLI, "exec", SID, "--", "sha256sum"],
                          stdin=file_of(data), stdout=subprocess.PIPE,
                          timeout=PATIENCE, check=True)
    equal(done.stdout.split()[0].decode(), hashlib.sha256(data).hexdigest(), "sum")


# ---- ping-pong: the test waits for each answer before the next question

# Each looks like the beginning of a character of two, three or four bytes.
TAILS = [b"\xc3", b"\xe2\x82", b"\xe2", b"\xf0\x9f\x98", b"\xf0"]


@case
def bytes_that_begin_a_character_come_back_at_once():
    with Exec(SID, "--", "cat") as cat:
        for n in range(ROUNDS):
            ping = random.randbytes(n) + TAILS[n % len(TAILS)]
            cat.stdin.write(ping)
            cat.stdin.flush()
            equal(read_exactly(cat.stdout, len(ping)), ping, "round %d" % n)
        cat.stdin.close()
        equal(cat.wait(), 0, "exit code")


@case
def so_do_those_of_a_command_without_input():
    """The output of a command without input comes by another stream."""
    go = "/tmp/go"
    script = ("for i in 1 2 3; do printf 'A\\303'; "
              "until [ -e %s$i ]; do sleep 0.01; done; done" % go)
    with Exec("-n", "-c", script, SID) as c:
        for n in range(1, 4):
            equal(read_exactly(c.stdout, 2), b"A\xc3", "round %d" % n)
            execute(SID, "touch %s%d" % (go, n))
        equal(c.wait(), 0, "exit code")


# ---- OpenSSH by a ProxyCommand: the longest binary conversation

DIR = "/workspace/ssh"
CONFIG = """HostKey {0}/host
AuthorizedKeysFile {0}/authorized
PidFile none
UsePAM no
StrictModes no
"""


def prepare_ssh():
    """Returns the words of an ssh command that connects to the session."""
    for tool in ("/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/ssh-keygen"):
        if not os.access(tool, os.X_OK):
            raise Skip(tool + " is not installed")
    home = os.path.join(setting("STACK_DIR"), "ssh")
    os.mkdir(home, 0o700)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                    home + "/key"], check=True)
    with open(home + "/key.pub", encoding="ascii") as f:
        public = f.read().strip()
    host = execute(SID, """mkdir -m 700 {0} && cd {0} && ssh-keygen -q \
        -t ed25519 -N '' -f host && echo '{1}' >authorized &&
        printf %s '{2}' >config && cat host.pub""".format(
            DIR, public, CONFIG.format(DIR)))
    with open(home + "/known", "w", encoding="ascii") as f:
        f.write("box " + host)
    user = execute(SID, "id -un").strip()
    return ["ssh", "-F", "none", "-i", home + "/key",
            "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes",
            "-o", "UserKnownHostsFile=" + home + "/known",
            "-o", "GlobalKnownHostsFile=none",
            "-o", "StrictHostKeyChecking=yes",
            "-o", "ProxyCommand=%s exec %s -- /usr/sbin/sshd -i -f %s/config" % (
                CLI, SID, DIR),
            user + "@box"]


@case
def ssh_works_over_exec_again_and_again():
    ssh = prepare_ssh()
    for n in range(ROUNDS):
        sent = random.randbytes(3000)
        done = subprocess.run(ssh + ["cat; echo end >&2; exit %d" % n],
                              input=sent, capture_output=True, check=False,
                              timeout=STALL)
        equal((done.returncode, done.stdout == sent), (n, True),
              "round %d: %r" % (n, done.stderr))
    true(done.stderr.endswith(b"end\n"), done.stderr)


@case
def input_for_a_late_reader_arrives_once():
    said, _ = LATE.communicate(timeout=PATIENCE)
    equal(said.split()[0].decode(), hashlib.sha256(LATE_BYTES).hexdigest(), "sum")


run(lambda: None)
