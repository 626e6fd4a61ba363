#!/usr/bin/python3
"""crash-points.t: kill -9 of worker, reaper, agent, PostgreSQL at each step:
after the next passes nothing is leaked, nothing is owned twice, nothing is
lost.

Which use case passes which point is seen by running each of them once.  Then,
for each point, somebody dies there, the reaper passes twice, and rows and
reality are compared.  Time is shifted in the rows, never waited for."""
import os
import signal
import sys
import threading
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults

# nobody is measured but on purpose: which case does it must not be chance
faults.begin("disk_account_seconds = 86400\n")

import audit
import service
import tap
import uses
from service import at, call, create, execute

LIMIT = int(os.environ.get("CRASH_USES", "1"))  # use cases per point
TRIES = 10  # workers whose connection died with PostgreSQL say so once
ONLY = os.environ.get("CRASH_ONLY", "").split()


class Witness:
    """A session in the shared sandbox to which nothing may happen."""

    def __init__(self):
        self.sid = create(keepAlive=True)["id"]
        execute(self.sid, "printf sibling >/workspace/keep")
        self.generation = self.now()

    def now(self):
        return service.value("SELECT generation FROM lease"
                             " WHERE session_id = :'v1'", self.sid)

    def problems(self):
        if self.now() != self.generation:
            yield "the sibling was started again"
        if read(self.sid) != "sibling":
            yield "the sibling lost its file"

    def again(self):
        """After the agent, hence the sandbox, was killed on purpose."""
        read(self.sid)
        self.generation = self.now()


def read(sid, key=None):
    """What its file holds; asleep, failed or repaired meanwhile, whatever."""
    def answer():
        call("POST", at(sid, "/resume"), {}, key)
        r = call("POST", at(sid, "/api/execute"),
                 {"command": "cat /workspace/keep"}, key)
        return r.status == 200 and r.json["exitCode"] == 0 and r
    try:
        return service.until("%s answers" % sid, answer, 20).json["stdout"]
    except AssertionError as e:
        return str(e)


def workers_are_back():
    service.until("workers answer",
                  lambda: call("GET", "/v1/health").status == 200)


def repair():
    for _ in range(2):
        faults.shift_time()
        faults.reaper()


def problems(subject, witness):
    """Everything that is wrong after two passes."""
    found = [line for lines in audit.everything().values() for line in lines]
    found += witness.problems()
    sid = subject.find()
    if sid is None:
        return found
    state = service.get(sid, subject.key)["state"]
    if subject.goes:
        if state != "deleted":
            found.append("%s should be deleted: %s" % (sid, state))
        return found
    if subject.name is not None and state == "failed" and \
            subject.text is None and not subject.hopeless:
        r = call("POST", at(sid, "/resume"), {})
        if r.status != 200:
            found.append("%s cannot be resumed: %r" % (sid, r))
    if subject.text is not None and read(sid, subject.key) != subject.text:
        found.append("%s lost its file: %r" % (sid, read(sid, subject.key)))
    call("DELETE", at(sid), key=subject.key)
    faults.shift_time()
    faults.reaper()
    state = service.get(sid, subject.key)["state"]
    if state != "deleted":
        found.append("%s cannot be deleted: %s" % (sid, state))
    return found


# ---- which use case passes which point

def discover():
    passed = {}
    for name, prepare in uses.USES.items():
        faults.trace()
        subject = prepare()
        faults.trace()
        subject.act(subject)
        for point in faults.trace():
            passed.setdefault(point, []).append(name)
        repair()
        found = problems(subject, WITNESS)
        tap.ok(not found, "undisturbed: " + name, "\n".join(found))
    faults.untrace()
    return passed


# ---- who dies

def die(subject, point):
    faults.arm("crash", point)
    for _ in range(TRIES):
        subject.act(subject)
        pid = faults.fired(point)
        if pid is not None:
            return faults.wait_until(lambda p=pid: not service.alive(p), 20)
    return False


def paused(subject, point, meanwhile):
    """Stops who comes to that point, does something, lets it go on."""
    faults.arm("pause", point)
    for _ in range(TRIES):
        thread = threading.Thread(target=subject.act, args=(subject,))
        thread.start()
        service.until("somebody comes to " + point, lambda t=thread:
                      faults.fired(point) or not t.is_alive())
        pid = faults.fired(point)
        if pid is not None:
            break
        thread.join()
    if pid is None:
        return False
    faults.wait_until(lambda: faults.stopped(pid), 10)
    try:
        meanwhile(subject)
    finally:
        if service.alive(pid):
            os.kill(pid, signal.SIGCONT)
        thread.join()
    return True


def kill_agent(subject):
    uses.kill_sandbox(subject, ["pid"])


def kill_postgres(_):
    faults.kill_postgres()
    faults.start_postgres()


def walk_once(who, point, prepare, strike):
    faults.disarm()
    subject = prepare()
    reached = strike(subject, point)
    faults.disarm()
    workers_are_back()
    if who == "agent":
        WITNESS.again()
    repair()
    found = problems(subject, WITNESS)
    if not reached:
        found.append("nobody came to %s" % point)
    return found


def walk(who, point, names, strike):
    for name in names:
        try:
            found = walk_once(who, point, uses.USES[name], strike)
        except Exception:  # one that breaks must not hide the others
            found = traceback.format_exc().splitlines()
        tap.ok(not found, "kill -9 of %s at %s: %s" % (who, point, name),
               "\n".join(found))


workers_are_back()
WITNESS = Witness()
WATCH = faults.Watch()
PASSED = discover()
for wanted in faults.points():
    tap.ok(wanted in PASSED, "some use case passes " + wanted)
for spot, cases in PASSED.items():
    if ONLY and spot not in ONLY:
        continue
    walk("worker or reaper", spot, cases[:LIMIT], die)
    walk("agent", spot, cases[:1],
         lambda s, p: paused(s, p, kill_agent))
    walk("PostgreSQL", spot, cases[:1],
         lambda s, p: paused(s, p, kill_postgres))
DOUBLES, SAMPLES, SEEN = WATCH.end()
tap.ok(not DOUBLES and SAMPLES > 0 and SEEN > 0,
       "at no moment had a session two wrappers (%d samples, %d wrappers)"
       % (SAMPLES, SEEN), "\n".join(DOUBLES))
tap.ok(tap.failed() == 0, "kill -9 of worker, reaper, agent, PostgreSQL at"
       " each step: after the next passes nothing is leaked, nothing is owned"
       " twice, nothing is lost", "%d failed above" % tap.failed())
tap.done()
