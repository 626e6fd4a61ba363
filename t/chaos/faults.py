"""faults.py: controls a build with --enable-faults (src/common/fault.h).

    import faults
    faults.begin()            # a stack of that build, then this file again
    faults.arm("crash", "launch.wrapper")
    ...
    pid = faults.fired("launch.wrapper")
"""
import ctypes
import glob
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
import service
import tap

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("SANDLEASE_FAULTS_BUILD",
                       os.path.join(service.TOP, "build-faults"))
WATCH = os.path.join(BUILD, "t/chaos/watch")
PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>
SANITIZER = re.compile(r"Sanitizer|runtime error:")

# Deadlines of seconds, and limits that many sessions at once do not reach.
with open(os.path.join(HERE, "settings"), encoding="utf-8") as f:
    SETTINGS = f.read()


def directory():
    return os.environ["SANDLEASE_FAULTS"]


def prepare():
    """The directory in which workers and reapers look for faults."""
    if "SANDLEASE_FAULTS" in os.environ:
        return
    if not os.path.exists(WATCH):
        tap.skip_all("there is no build with faults (./dev check makes it)")
    os.environ["top_builddir"] = BUILD
    os.environ["SANDLEASE_FAULTS"] = tempfile.mkdtemp(prefix="slf-")
    os.chmod(directory(), 0o777)  # other users run the programs


def begin(conf=""):
    prepare()
    if "STACK_DIR" in os.environ:
        return
    os.environ["STACK_CONF"] = SETTINGS + conf
    inherit_orphans()
    child = subprocess.Popen(["bash", service.STACK_SH, "with", sys.executable,
                              "-B", os.path.abspath(sys.argv[0])])
    status = reap_until(child.pid)
    shutil.rmtree(directory(), ignore_errors=True)
    sys.exit(status)


def inherit_orphans():
    """Processes whose parent is dead become children of this process.  In a
    container process 1 leaves some zombies for seconds, and PostgreSQL cannot
    start while its predecessor is a zombie."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_until(pid):
    """Waits for every child that dies; returns the exit status of `pid`."""
    while True:
        dead, status = os.wait()
        if dead == pid:
            return os.waitstatus_to_exitcode(status)


def points():
    return subprocess.run([os.path.join(HERE, "points")], text=True,
                          capture_output=True, check=True).stdout.split()


# ---- crash points

def path(name):
    return os.path.join(directory(), name)


def arm(how, point):
    """how: crash or pause; it strikes the first process at the point."""
    with open(path("%s@%s" % (how, point)), "w", encoding="utf-8"):
        pass


def pause(point, act, *arguments):
    """Runs act beside this thread until a process stops at the point.  Answers its pid,
    and a function that waits for act's result."""
    results = []
    disarm()  # what struck before is not what strikes now
    arm("pause", point)
    thread = threading.Thread(target=lambda: results.append(act(*arguments)))
    thread.start()
    pid = service.until("a process comes to " + point, lambda: fired(point))
    service.until("it has stopped", lambda: stopped(pid))

    def result():
        thread.join()
        return results[0]
    return pid, result


def disarm():
    for f in glob.glob(path("crash@*")) + glob.glob(path("pause@*")) \
            + glob.glob(path("fired@*")):
        try:
            os.unlink(f)
        except FileNotFoundError:
            pass


def fired(point):
    """The pid of the process that was struck at the point, or None."""
    for f in glob.glob(path("fired@%s.*" % point)):
        return int(f.rsplit(".", 1)[1])
    return None


def stopped(pid):
    """Whether the process has stopped itself (or is gone)."""
    stat = service.stat(pid)
    return stat is None or stat[1] in "TZ"


def trace():
    """Begins a new list of passed points; returns the names in the last list."""
    name = path("trace")
    try:
        with open(name, encoding="utf-8") as f:
            names = f.read().split()
    except FileNotFoundError:
        names = []
    with open(name, "w", encoding="utf-8"):
        os.chmod(name, 0o666)
    return list(dict.fromkeys(names))


def untrace():
    os.unlink(path("trace"))


def provider(*lines):
    """Sets the faults of calls of the provider from now on; no line: none."""
    with open(path("provider.new"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    os.replace(path("provider.new"), path("provider"))


# ---- our programs

def reaper(wait=True, **env):
    """A pass of the reaper with faults; its exit status, or the process."""
    process = subprocess.Popen(
        [service.program("sandlease-reaper"), "--config",
         service.setting("SANDLEASE_CONFIG")], cwd="/",
        env=dict({"PATH": os.environ["PATH"],
                  "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""),
                  "SANDLEASE_FAULTS": directory()}, **env),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if not wait:
        return process
    with open(os.path.join(service.setting("STACK_STATE"), "log/reaper.log"),
              "ab") as log:
        log.write(process.communicate()[0])
    return process.returncode


def sanitizer_reports():
    """The sanitizers' reports in all logs of the stack."""
    state = service.setting("STACK_STATE")
    found = []
    for name in glob.glob(state + "/log/*") + glob.glob(state + "/data/box/*/*"):
        if os.path.isfile(name):
            with open(name, encoding="utf-8", errors="replace") as f:
                found += ["%s: %s" % (os.path.basename(name), line.strip())
                          for line in f if SANITIZER.search(line)]
    return found


def kill_postgres():
    """Kills all processes of PostgreSQL at once.  The first process is stopped
    before, so that it starts no other: a process that were left would wait for
    ever for a lock of the dead ones."""
    top = service.daemon("postgres")
    os.kill(top, signal.SIGSTOP)
    for pid in service.children(top) + [top]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    # a zombie still counts: the next PostgreSQL only checks whether the pid in
    # the lock file exists
    service.until("PostgreSQL is gone", lambda: service.stat(top) is None)


def start_postgres():
    service.until("PostgreSQL is back", lambda: "did not start" not in
                  service.stack("pg_start", check=False))


def shift_time():
    """Makes every deadline over, every retry due and every sighting old."""
    service.sql("""
        UPDATE lease SET startup_deadline = clock_timestamp() - interval '1 s'
         WHERE state = 'owns_wrapper' AND startup_deadline IS NOT NULL;
        UPDATE lease SET next_attempt_at = clock_timestamp() - interval '1 s'
         WHERE state = 'stop_needed';
        UPDATE lease SET attempt_deadline = clock_timestamp() - interval '1 s'
         WHERE state = 'stopping';
        UPDATE lease SET changed_at = changed_at - interval '1 minute';
        UPDATE sandbox SET deadline = clock_timestamp() - interval '1 s'
         WHERE deadline IS NOT NULL;
        UPDATE sandbox SET next_attempt_at = clock_timestamp() - interval '1 s'
         WHERE next_attempt_at IS NOT NULL;
        UPDATE snapshot SET deadline = clock_timestamp() - interval '1 s'
         WHERE state = 'creating';
        UPDATE session SET suspend_deadline = clock_timestamp() - interval '1 s'
         WHERE suspend_deadline IS NOT NULL;
        UPDATE webhook_delivery SET due_at = clock_timestamp() - interval '1 minute'
         WHERE due_at IS NOT NULL;
        UPDATE warm SET deadline = clock_timestamp() - interval '1 second'
         WHERE deadline IS NOT NULL;
        UPDATE sighting SET first_at = clock_timestamp() - interval '1 hour';
    """)


class Watch:
    """The watcher of double wrappers (watch.c)."""

    def __init__(self):
        self.process = subprocess.Popen([WATCH], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.said = ""

    def wait_for_double(self, session, seconds):
        """Waits until the watcher reports that session; end() reports it too."""
        end = time.monotonic() + seconds
        out = self.process.stdout.fileno()
        while "session=" + session not in self.said:
            left = max(0, end - time.monotonic())
            if not select.select([out], [], [], left)[0]:
                return
            self.said += os.read(out, 65536).decode()

    def end(self):
        """(lines about doubles, samples, wrappers seen)"""
        self.said += self.process.communicate("\n")[0]
        lines = self.said.splitlines()
        if not lines or not lines[-1].startswith("samples="):
            raise AssertionError("the watcher died: %r" % lines)
        figures = dict(w.split("=") for w in lines[-1].split())
        return [l for l in lines[:-1] if ours(l)], int(figures["samples"]), int(figures["wrappers"])


def ours(line):
    """Whether the line is about a session of this stack; true without one."""
    if "STACK_DIR" not in os.environ:
        return True
    sid = line.split("session=")[1].split()[0]
    return service.value("SELECT count(*) FROM lease WHERE session_id = :'v1'",
                         sid) != "0"


def wait_until(question, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = question()
        if answer:
            return answer
        time.sleep(0.02)  # wait: polls, the caller has the limit
    return question()
