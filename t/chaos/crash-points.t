#!/usr/bin/python3
# long: a walk for each point and kind of death
"""crash-points.t: tests the service's promise about crashes:
kill -9 of worker, reaper, agent, PostgreSQL at each step:
after the next passes nothing is leaked, nothing is owned twice, nothing is
lost.

Each use case runs once to find out which points it passes.  Then, for each
point, a program dies there, the reaper passes twice, and rows and reality are
compared.  Time is shifted in the rows, never waited for.

CRASH_STACKS stacks share the work: this file starts itself once for each stack
and gives each the next job when it has finished its last.  A job is a line of
JSON, and so is its result."""
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import traceback
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults

CONDUCTS = "CRASH_PART" not in os.environ
if not CONDUCTS:
    # no measuring of disk use but on purpose: a point must not be passed by a
    # case by chance; few workers: each connects again when PostgreSQL was killed
    os.environ["STACK_EGRESS"] = "yes"
    # only the uses of the warm pool have its class
    faults.begin("disk_account_seconds = 86400\napi_workers = 6\n"
                 "warm_sandboxes = 2\nwarm_classes = pooled\n")

import audit
import service
import tap
import execution_uses  # noqa: F401
import uses
import uses_warm
import uses_webhook
from service import at, call, create, execute

STACKS = int(os.environ.get("CRASH_STACKS", "2"))
LIMIT = int(os.environ.get("CRASH_USES", "1"))  # use cases per point
TRIES = 10  # a worker whose connection died with PostgreSQL fails one call
ONLY = os.environ.get("CRASH_ONLY", "").split()
# walk only the day's sample of the points that are passed
SAMPLED = os.environ.get("CRASH_SAMPLED") and os.environ.get("SANDLEASE_SAMPLE", "all")


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
        """Repairs the witness after the agent, hence its sandbox, was killed on
        purpose."""
        read(self.sid)
        self.generation = self.now()


def read(sid, key=None):
    """The text of the session's file.  The session may be asleep, failed or
    repaired meanwhile."""
    def answer():
        call("POST", at(sid, "/resume"), {}, key)
        r = call("POST", at(sid, "/api/execute"),
                 {"command": "cat /workspace/keep"}, key)
        return r.status == 200 and r.json["exitCode"] == 0 and r
    try:
        return service.until("%s answers" % sid, answer).json["stdout"]
    except AssertionError as e:
        return str(e)


def workers_are_back():
    service.until("workers answer",
                  lambda: call("GET", "/v1/health").status == 200)


def repair():
    for _ in range(2):
        faults.shift_time()
        faults.reaper()
    service.until("the warm pool is full", uses_warm.pool_is_full)


def ended(execution):
    def over():
        x = call("GET", "/v1/executions/%s?wait=5" % execution).json
        return x.get("endedAt") and x
    return service.until("%s ends" % execution, over)


def execution_problems(sid, subject):
    """Each execution must end; one attempt runs once, and never twice."""
    found = []
    for x in subject.cancelled:
        if ended(x)["state"] not in ("cancelled", "lost"):
            found.append("%s should be cancelled: %r" % (x, ended(x)))
    if subject.overdue and ended(subject.overdue)["state"] not in ("timed_out", "succeeded"):
        found.append("it is overdue: %r" % ended(subject.overdue))
    if not subject.runs:
        return found
    all_of_them = [ended(x["id"]) for x in call(
        "GET", at(sid, "/executions")).json["executions"]]
    r = call("POST", at(sid, "/api/execute"),
             {"command": "cat /workspace/runs; true"})
    lines = r.json["stdout"].count("run")
    attempts = sum(len(x["attempts"]) for x in all_of_them)
    if [x for x in all_of_them if x["state"] != "succeeded"] or \
            not len(all_of_them) <= lines <= attempts:
        found.append("%d lines of %r" % (lines, all_of_them))
    return found


def webhook_problems(subject):
    """Each delivery must arrive and be settled."""
    if not hasattr(subject, "webhook"):
        return []
    path = "/v1/webhooks/" + subject.webhook

    def settled():
        listed = call("GET", path + "/deliveries", key=subject.key).json["deliveries"]
        return all(d["state"] == "delivered" for d in listed) and listed
    try:
        known = {d["id"] for d in service.until("all are delivered", settled)}
    except AssertionError as e:
        known = {str(e)}
    arrived = {r.id for r in uses_webhook.receiver().got("/")}
    call("DELETE", path, key=subject.key)
    return ["delivery %s" % d for d in sorted((set(subject.told) | known) - (arrived & known))]


def limit_problems(sid, subject):
    """Whoever ended its start, it is held to its own limits, not to its class's."""
    if not subject.held_to or service.get(sid)["state"] not in ("ready", "asleep"):
        return []
    has = execute(sid, "echo $(awk '/MemTotal/ { print $2 }' /proc/meminfo) $(ulimit -f)").strip()
    return [] if has == subject.held_to else ["%s is held to %s" % (sid, has)]


def trigger_problems(subject):
    """A due time has one execution, which the trigger tells of."""
    rows = service.sql("SELECT t.last_execution = x.id, t.missed, t.last_error IS NULL,"
                       " t.next_at > clock_timestamp() FROM org_trigger t LEFT JOIN execution x"
                       " ON x.task_id LIKE 'trigger:' || t.id || ':%' WHERE t.id = :'v1'",
                       subject.trigger)
    return [] if rows == [["t", "0", "t", "t"]] else ["its trigger: %r" % rows]


def problems(subject, witness):
    """Everything that is wrong after two passes."""
    found = [line for lines in audit.everything().values() for line in lines]
    found += witness.problems()
    if subject.trigger:
        found += trigger_problems(subject)
    sid = subject.find()
    if sid is None:
        return found
    if subject.task:
        x = ended(service.value("SELECT id FROM execution WHERE task_id = :'v1'", subject.task))
        if x["state"] != "succeeded" or x["artifacts"]["error"] or x["artifacts"]["files"] != 1:
            found.append("its execution: %r" % x)
        faults.shift_time()
        faults.reaper()
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
    if subject.alias and not service.sql("SELECT 1 FROM alias WHERE session_id = :'v1'"
                                         " AND key = :'v2'", sid, subject.alias):
        found.append("%s has not got its key" % sid)
    if subject.text is not None and read(sid, subject.key) != subject.text:
        found.append("%s lost its file: %r" % (sid, read(sid, subject.key)))
    found += limit_problems(sid, subject)
    found += execution_problems(sid, subject)
    found += webhook_problems(subject)
    call("DELETE", at(sid), key=subject.key)
    faults.shift_time()
    faults.reaper()
    state = service.get(sid, subject.key)["state"]
    if state != "deleted":
        found.append("%s cannot be deleted: %s" % (sid, state))
    return found


# ---- deaths and pauses

def die(subject, point):
    faults.arm("crash", point)
    for _ in range(TRIES):
        subject.act(subject)
        pid = faults.fired(point)
        if pid is not None:
            return service.until("it is dead",
                                 lambda p=pid: not service.alive(p))
    return False


def paused(subject, point, meanwhile):
    """Stops the program that comes to the point, calls meanwhile(), and lets
    the program go on."""
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
    service.until("it has stopped", lambda: faults.stopped(pid))
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


STRIKES = {
    "worker or reaper": die,
    "agent": lambda s, p: paused(s, p, kill_agent),
    "PostgreSQL": lambda s, p: paused(s, p, kill_postgres),
}


# ---- the jobs of a stack: each answers with the problems it found

def discover(witness, use):
    """Which points the use case passes."""
    faults.trace()
    subject = uses.USES[use]()
    faults.trace()
    subject.act(subject)
    passed = faults.trace()
    faults.untrace()
    repair()
    return {"passed": passed, "found": problems(subject, witness)}


def walk(witness, use, who, point):
    faults.disarm()
    subject = uses.USES[use]()
    reached = STRIKES[who](subject, point)
    faults.disarm()
    workers_are_back()
    if who == "agent":
        witness.again()
    repair()
    found = problems(subject, witness)
    return {"found": found, "reached": bool(reached)}


JOBS = {"discover": discover, "walk": walk}


def obey():
    """Does the jobs that come on stdin until end of file."""
    say = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing else may get between the answers
    workers_are_back()
    uses_warm.begin_pool()
    watch = faults.Watch()
    witness = Witness()
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer = JOBS[job.pop("job")](witness, **job)
        except Exception:  # a job that breaks must not hide the others
            answer = {"found": traceback.format_exc().splitlines()}
        print(json.dumps(answer), file=say, flush=True)
    print(json.dumps({"watch": watch.end(),
                      "reports": faults.sanitizer_reports()}),
          file=say, flush=True)


# ---- giving the jobs to the stacks

class Part:
    """A process that runs this file with a stack of its own."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-B", os.path.abspath(__file__)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=dict(os.environ, CRASH_PART="1"))

    def do(self, job):
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        return self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"found": ["the stack is gone"]}

    def end(self):
        """The findings of the stack's watcher and of its logs."""
        self.process.stdin.close()
        answer = dict({"watch": (["nobody watched"], 0, 0), "reports": []},
                      **self.answer())
        self.process.wait()
        return answer


def share(parts, jobs):
    """Yields (job, result) as jobs end; each free part takes the next job."""
    waiting, done = queue.SimpleQueue(), queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)

    def work(part):
        while True:
            try:
                job = waiting.get_nowait()
            except queue.Empty:
                return
            done.put((job, part.do(job)))
    for part in parts:
        threading.Thread(target=work, args=(part,)).start()
    for _ in jobs:
        yield done.get()


def wanted(point):
    if SAMPLED and SAMPLED != "all" and zlib.crc32(point.encode()) % 7 != int(SAMPLED):
        return False
    return not ONLY or point in ONLY


def walk_all(parts, walks, passed):
    """Walks, and returns those to be done with another use case: one that came to
    the point only by chance, in discover(), may not come there again."""
    others = []
    for job, answer in share(parts, walks):
        uses_left = passed[job["point"]][passed[job["point"]].index(job["use"]) + 1:]
        if not answer["found"] and not answer["reached"] and uses_left:
            others.append(dict(job, use=uses_left[0]))
            continue
        if not answer.get("reached"):
            answer["found"].append("nobody came to %s" % job["point"])
        tap.ok(not answer["found"], "kill -9 of %s at %s: %s" % (
            job["who"], job["point"], job["use"]), "\n".join(answer["found"]))
    return others


def conduct():
    if not os.path.exists(faults.WATCH):
        tap.skip_all("there is no build with faults (./dev check makes it)")
    parts = [Part() for _ in range(STACKS)]
    traces = {}
    for job, answer in share(parts, [{"job": "discover", "use": use}
                                     for use in uses.USES]):
        traces[job["use"]] = answer.get("passed", [])
        tap.ok(not answer["found"], "undisturbed: " + job["use"],
               "\n".join(answer["found"]))
    passed = {}
    for use in uses.USES:
        for point in traces[use]:
            passed.setdefault(point, []).append(use)
    for point in faults.points():
        tap.ok(point in passed, "some use case passes " + point)
    walks = [{"job": "walk", "who": who, "point": point, "use": use}
             for point in passed if wanted(point)
             for who in STRIKES
             for use in passed[point][:LIMIT if STRIKES[who] is die else 1]]
    while walks:
        walks = walk_all(parts, walks, passed)
    for part in parts:
        last = part.end()
        doubles, samples, seen = last["watch"]
        tap.ok(not doubles and samples > 0 and seen > 0,
               "at no moment had a session two wrappers (%d samples,"
               " %d wrappers)" % (samples, seen), "\n".join(doubles))
        tap.ok(not last["reports"], "no sanitizer found anything",
               "\n".join(last["reports"]))
    tap.ok(tap.failed() == 0, "kill -9 of worker, reaper, agent, PostgreSQL at"
           " each step: after the next passes nothing is leaked, nothing is"
           " owned twice, nothing is lost", "%d failed above" % tap.failed())
    tap.done()


if CONDUCTS:
    conduct()
else:
    obey()
