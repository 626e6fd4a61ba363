"""monkey.py: causes faults by a schedule that a seed replays.

Kinds and times come from the seed alone.  The victim is a random number of the
seed, applied to the list of the processes that exist at that time."""
import os
import random
import signal
import subprocess
import sys
import threading
import time

import audit
import faults
import service

# kind of fault: its weight among the others
KINDS = {"worker": 6, "reaper": 3, "init": 2, "wrapper": 4, "sandbox": 3,
         "postgres-restart": 1, "postgres-stop": 1, "sigstop": 4,
         "disk-full": 1, "provider-fail": 2, "provider-hang": 2}
CALLS = ["ensure", "inspect", "list", "stop", "destroy", "storage_make",
         "storage_exists", "storage_drop", "cell_gone", "suspend", "resume",
         "capacity", "agent.launch",
         "agent.prove", "agent.seal", "agent.look", "agent.term",
         "agent.kill", "agent.status", "*"]


def schedule(seed, seconds, gap):
    """[(second, kind, random number)]: every kind once, then by weight."""
    rng = random.Random("monkey %s" % seed)
    count = max(len(KINDS), int(seconds * 0.85 / gap))
    kinds = list(KINDS) + rng.choices(list(KINDS), list(KINDS.values()),
                                      k=count - len(KINDS))
    rng.shuffle(kinds)
    return [(1 + i * seconds * 0.85 / count, kind, rng.getrandbits(32))
            for i, kind in enumerate(kinds)]


def kill(pid, sig=signal.SIGKILL):
    try:
        os.kill(pid, sig)
        return True
    except ProcessLookupError:
        return False


class Monkey:
    def __init__(self, seed, seconds, gap, pause):
        self.plan = schedule(seed, seconds, gap)
        self.pause = pause  # seconds: beyond every deadline
        self.points = faults.points()
        self.counts = {kind: 0 for kind in KINDS}
        self.paused = set()
        self.threads = []
        self.postgres = threading.Lock()
        self.lock = threading.Lock()
        self.master = service.master()
        self.began = time.monotonic()

    def say(self, kind, target):
        with self.lock:
            self.counts[kind] += 1
        print("fault=%s target=%s" % (kind, target), flush=True)

    def run(self, stop):
        for at, kind, number in self.plan:
            if stop.wait(max(0, self.began + at - time.monotonic())):
                break
            strike = getattr(self, kind.replace("-", "_"))
            thread = threading.Thread(target=self.guarded, args=(
                strike, random.Random(number)))
            thread.start()
            self.threads.append(thread)

    def guarded(self, strike, rng):
        try:
            strike(rng)
        except Exception as e:  # the monkey must survive its own faults
            print("monkey: %s: %r" % (strike.__name__, e), file=sys.stderr,
                  flush=True)

    def end(self):
        """Takes back all faults and continues all stopped processes."""
        for thread in self.threads:
            thread.join()
        for pid in list(self.paused):
            kill(pid, signal.SIGCONT)
        faults.disarm()
        faults.provider()

    # ---- killed processes

    def workers(self):
        return [p for p in service.children(self.master)]

    # wait: a fault that strikes no process in time is one fault fewer
    def strike_at_point(self, rng, how, seconds=2):
        """(point, pid) of the process that was struck, or (point, None)."""
        point = rng.choice(self.points)
        faults.arm(how, point)
        pid = faults.wait_until(lambda: faults.fired(point), seconds)
        if pid is None:
            try:
                os.unlink(faults.path("%s@%s" % (how, point)))
            except FileNotFoundError:
                # wait: as above
                pid = faults.wait_until(lambda: faults.fired(point), 1)
        if pid is not None:
            os.unlink(faults.path("fired@%s.%d" % (point, pid)))
        return point, pid

    def worker(self, rng):
        if rng.random() < 0.5:
            point, pid = self.strike_at_point(rng, "crash")
            if pid is not None:
                self.say("worker", "%d@%s" % (pid, point))
                return
        pid = rng.choice(self.workers())
        kill(pid)
        self.say("worker", pid)

    def reaper(self, rng):
        process = faults.reaper(wait=False)
        time.sleep(rng.random() * 0.3)  # wait: the fault itself, any time will do
        process.kill()
        process.communicate()
        self.say("reaper", process.pid)

    @staticmethod
    def inits():
        """All inits; waits until there is one."""
        return faults.wait_until(lambda: list(audit.inits()), service.PATIENCE)

    @staticmethod
    def wrappers():
        return faults.wait_until(lambda: [
            w for w in audit.wrappers() if audit.in_our_groups(w["pid"])],
            service.PATIENCE)

    def init(self, rng):
        found = self.inits()
        if found:
            one = rng.choice(found)
            kill(one["pid"])
            self.say("init", "%d of %s" % (one["pid"], one["sandbox"]))

    def wrapper(self, rng):
        found = self.wrappers()
        if found:
            one = rng.choice(found)
            kill(one["pid"])
            self.say("wrapper", "%d of %s" % (one["pid"], one["session"]))

    def sandbox(self, rng):
        found = self.inits()
        if found:
            one = rng.choice(found)
            if one["bwrap"] > 0:
                kill(one["bwrap"])
            if rng.random() < 0.7:
                kill(one["pid"])
            self.say("sandbox", one["sandbox"])

    # ---- PostgreSQL

    def stop_postgres(self, rng):
        if rng.random() < 0.5:
            faults.kill_postgres()
            return "killed"
        top = service.daemon("postgres")
        kill(top, signal.SIGQUIT if rng.random() < 0.5 else signal.SIGINT)
        service.until("PostgreSQL is gone", lambda: service.stat(top) is None)
        return "asked"

    def restart_postgres(self, rng, pause):
        with self.postgres:
            how = self.stop_postgres(rng)
            time.sleep(pause)  # wait: the fault itself
            faults.start_postgres()
            return how

    def postgres_restart(self, rng):
        self.say("postgres-restart", self.restart_postgres(rng, 0))

    def postgres_stop(self, rng):
        pause = 1 + 2 * rng.random()
        how = self.restart_postgres(rng, pause)
        self.say("postgres-stop", "%s for %.1fs" % (how, pause))

    # ---- processes that are stopped and go on too late

    def hold(self, pid, seconds):
        self.paused.add(pid)
        time.sleep(seconds)  # wait: the fault itself
        kill(pid, signal.SIGCONT)
        self.paused.discard(pid)

    def sigstop(self, rng):
        dice = rng.random()
        if dice < 0.6:
            point, pid = self.strike_at_point(rng, "pause", 5)
            if pid is not None:
                also = ""
                if rng.random() < 0.6:
                    self.restart_postgres(rng, 0)
                    also = " while PostgreSQL restarts"
                self.say("sigstop", "%d@%s%s" % (pid, point, also))
                self.hold(pid, self.pause)
                return
        if dice < 0.8:
            found = [w["pid"] for w in audit.wrappers()
                     if audit.in_our_groups(w["pid"])]
            whom = "wrapper"
        else:
            found = [i["pid"] for i in audit.inits()]
            whom = "init"
        if not found:
            found, whom = self.workers(), "worker"
        pid = rng.choice(found)
        kill(pid, signal.SIGSTOP)
        self.say("sigstop", "%s %d" % (whom, pid))
        self.hold(pid, self.pause)

    # ---- the disk and the provider

    def disk_full(self, rng):
        seconds = 0.5 + 1.5 * rng.random()
        data = os.path.join(service.setting("STACK_STATE"), "data")
        if os.environ.get("CHAOS_DISK") == "tmpfs":
            # repeated: a session may write meanwhile, so that the data does not
            # fit into the new size
            service.until("the disk is full", lambda: shrink(data))
            time.sleep(seconds)  # wait: the fault itself
            resize(data, int(os.environ["CHAOS_DISK_SIZE"]))
        else:  # no file system of our own: let the calls that write fail
            self.for_a_while(seconds, ["provider-fail: storage_make 1",
                                       "provider-fail: ensure 1"])
        self.say("disk-full", "%s for %.1fs" % (data, seconds))

    def for_a_while(self, seconds, lines):
        faults.provider(*lines)
        time.sleep(seconds)  # wait: the fault itself
        faults.provider()

    def provider_fail(self, rng):
        call, chance = rng.choice(CALLS), rng.choice([0.1, 0.3, 1])
        self.say("provider-fail", "%s %s" % (call, chance))
        self.for_a_while(1 + 2 * rng.random(),
                         ["provider-fail: %s %s" % (call, chance)])

    def provider_hang(self, rng):
        call, seconds = rng.choice(CALLS), 1 + 4 * rng.random()
        self.say("provider-hang", "%s %.1fs" % (call, seconds))
        self.for_a_while(1 + 2 * rng.random(),
                         ["provider-hang: %s %.1fs 0.3" % (call, seconds)])


def resize(data, size):
    subprocess.run(["mount", "-o", "remount,size=%d" % size, data],
                   check=True)


def shrink(data):
    """Shrinks the file system to the used size; False: that size grew
    meanwhile."""
    v = os.statvfs(data)
    used = (v.f_blocks - v.f_bfree) * v.f_frsize
    try:
        resize(data, used + 65536)
    except subprocess.CalledProcessError:
        return False
    return True
