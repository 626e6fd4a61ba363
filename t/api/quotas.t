#!/usr/bin/python3
"""quotas.t: tests the quotas of an org over HTTP: exact under a burst, counted
right after a storm."""
import concurrent.futures
import os
import random
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (admin, at, call, container_error, create, execute, expect,
                     get, new_key, problem, sql, until, value)
from tap import Skip, case, equal, run, true

# enough workers: a slow burst must not hold half of them (org_share.h)
service.begin(conf="""api_workers = 40
quota_sessions = 1000
quota_active = 100
quota_creates_per_minute = 0
quota_previews = 50
quota_disk_mb = 0
""")

CALLS = 40  # calls of each client in the storm
ORGS = iter("org-%d" % i for i in range(100))


class Org:
    """A fresh org with its own limits."""

    def __init__(self, *limits):
        self.name = next(ORGS)
        self.key = new_key(self.name, "u")
        if limits:
            self.set(*limits)

    def set(self, *limits):
        return admin("org", "set", self.name, *limits)

    def call(self, method, path, body=None, headers=None):
        return call(method, path, body, self.key, headers)

    def create(self, headers=None, **body):
        return self.call("POST", "/v1/sessions?wait=60", body, headers)

    def made(self, **body):
        return expect(201, self.create(**body)).json["id"]

    def usage(self):
        return expect(200, self.call("GET", "/v1/usage")).json

    def used(self, name):
        return self.usage()["quotas"][name]["used"]

    def counted(self):
        """Returns (the counters, the true numbers), read at one moment."""
        row, = sql("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT q.sessions,"
                   " q.active, q.previews, q.disk_mb, c.* FROM quota q,"
                   " quota_count(:'v1') c WHERE q.tenant = :'v1'; COMMIT",
                   self.name)
        return [row[:4]], [row[4:]]


def many(calls):
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        return [f.result() for f in [pool.submit(c) for c in calls]]


def refused(reply, name, limit, used):
    doc = problem(reply, 429, "quota_exceeded")
    equal(doc["quota"], {"name": name, "limit": limit, "used": used}, "quota")
    equal(doc["retryable"], True, "retryable")
    true(1 <= int(reply.header("Retry-After")) <= 120, "Retry-After")
    true(str(limit) in doc["detail"], doc["detail"])
    return doc


@case
def usage_shows_every_quota_and_state():
    org = Org("--max-active", "7")
    equal(org.usage(), {
        "quotas": {"sessions": {"limit": 1000, "used": 0},
                   "active": {"limit": 7, "used": 0},
                   "createsPerMinute": {"limit": None, "used": 0},
                   "findsPerMinute": {"limit": None, "used": 0},
                   "previews": {"limit": 50, "used": 0},
                   "diskMb": {"limit": None, "used": 0},
                   "snapshots": {"limit": 100, "used": 0},
                   "snapshotMb": {"limit": 20480, "used": 0}},
        "states": {"initializing": 0, "ready": 0, "sleeping": 0, "asleep": 0,
                   "deleting": 0, "failed": 0, "lost": 0}}, "nothing yet")
    a = org.made(isolation="session")
    b = org.made(isolation="session")
    expect(201, org.call("POST", at(a, "/ports"), {"port": 8080}))
    expect(200, org.call("POST", at(b, "/sleep")))
    u = org.usage()
    equal({n: q["used"] for n, q in u["quotas"].items()},
          {"sessions": 2, "active": 1, "createsPerMinute": 2,
           "findsPerMinute": 0, "previews": 1,
           "diskMb": 8192, "snapshots": 0, "snapshotMb": 0}, "used")
    equal((u["states"]["ready"], u["states"]["asleep"]), (1, 1), "states")
    read = new_key(org.name, "reader", "--scope", "read")
    equal(expect(200, call("GET", "/v1/usage", key=read)).json, u,
          "a key that may read may know")
    problem(call("GET", "/v1/usage", key=""), 401, "unauthorized")
    for sid in (a, b):
        expect(200, org.call("DELETE", at(sid)))
    u = org.usage()
    equal([q["used"] for n, q in u["quotas"].items()
           if n != "createsPerMinute"], [0] * 7, "nothing is left")
    equal(sum(u["states"].values()), 0, "no state has one")


@case
def active_sessions_are_limited_and_sleep_makes_room():
    org = Org("--max-active", "2")
    a, b = org.made(isolation="session"), org.made(isolation="session")
    refused(org.create(), "active", 2, 2)
    equal(org.used("sessions"), 2, "nothing was made")
    expect(200, org.call("POST", at(a, "/sleep")))
    c = org.made(isolation="session")
    refused(org.call("POST", at(a, "/resume")), "active", 2, 2)
    equal(expect(200, org.call("GET", at(a))).json["state"], "asleep",
          "it sleeps on")
    r = org.call("POST", at(a, "/api/execute"), {"command": "true"})
    doc = service.container_error(r, 429, "QUOTA_EXCEEDED")
    equal(doc["context"]["quota"]["name"], "active", "the data plane says so")
    true(r.header("Retry-After"), "Retry-After")
    expect(200, org.call("DELETE", at(b)))
    expect(200, org.call("POST", at(a, "/resume?wait=60")))
    refused(org.create(name="x"), "active", 2, 2)
    expect(200, org.call("DELETE", at(c)))
    expect(201, org.create(name="x"))
    equal(expect(200, org.create(name="x")).json["state"], "ready",
          "what is found needs no room")


@case
def whoever_wakes_a_session_needs_room_for_it():
    org = Org("--max-active", "1")
    s = org.made(isolation="session", wakeOnPreview=True,
                 correlationKeys=["k"], name="n")
    host = expect(201, org.call("POST", at(s, "/ports"), {
        "port": 8000})).json["url"].split("/")[2]
    expect(200, org.call("POST", at(s, "/sleep")))
    other = org.made(isolation="session")
    refused(org.create(correlationKeys=["k"]), "active", 1, 1)
    refused(org.create(name="n"), "active", 1, 1)
    r = expect(429, call("GET", "/", key="", headers={"Host": host}))
    equal(r.json["code"], "QUOTA_EXCEEDED", "a preview")
    true(r.header("Retry-After"), "Retry-After")
    for size in (10, 2 << 20):  # nginx buffers only the first size
        container_error(org.call("PUT", at(s, "/files/workspace/x"),
                                 b"x" * size), 429, "QUOTA_EXCEEDED")
    equal(expect(200, org.call("GET", at(s))).json["state"], "asleep",
          "it sleeps on")
    expect(200, org.call("DELETE", at(other)))
    equal(call("GET", "/", key="", headers={"Host": host}).status, 307,
          "once there is room a preview wakes it")


@case
def what_is_frozen_keeps_its_memory_and_is_active():
    org = Org("--max-active", "2")
    a, b = (org.made(isolation="session", suspend=True) for _ in "ab")
    for s in (a, b):
        if not expect(200, org.call("POST", at(s, "/sleep"))).json["suspended"]:
            raise Skip("nothing can be frozen here")
    equal(org.used("active"), 2, "freezing makes no room")
    refused(org.create(isolation="session"), "active", 2, 2)
    expect(200, org.call("POST", at(a, "/resume")))
    equal(org.used("active"), 2, "and going on needs none")
    expect(200, org.call("POST", at(b, "/sleep"), {"suspend": False}))
    until("it is stopped", lambda: org.used("active") == 1)
    c = org.made(isolation="session")
    refused(org.call("POST", at(b, "/resume")), "active", 2, 2)
    equal(expect(200, org.call("GET", at(b))).json["state"], "asleep",
          "one that was stopped needs room again")
    org.set("--max-active", "1")
    expect(200, org.call("POST", at(a, "/sleep")))
    expect(200, org.call("POST", at(a, "/resume")))
    equal(org.used("active"), 2, "a lower limit ends nobody, and wakes the"
          " frozen all the same")
    expect(200, org.call("DELETE", at(c)))
    equal(*org.counted(), "the counters")


@case
def creates_that_find_a_session_cost_something_and_leave_little():
    org = Org("--creates-per-minute", "100")
    sid = org.made(name="n", isolation="session")

    def size():
        return {table: int(value("SELECT count(*) FROM %s" % table)) for table
                in ("session", "sandbox", "lease", "alias", "port", "audit")}

    def steps():
        return value("SELECT count(*) FROM event WHERE kind = 'step' AND"
                     " session_id = :'v1'", sid)

    before, told = size(), steps()
    for i in range(300):
        r = expect(200, org.create({"Idempotency-Key": "find-%d" % i},
                                   name="n"))
        equal(r.json["id"], sid, "it is found")
    equal(size(), before, "rows")
    equal(steps(), told, "what starts nothing tells no steps")
    true(int(value("SELECT count(*) FROM event WHERE session_id = :'v1'",
                   sid)) <= 1500, "a session's events are bounded")
    equal(org.used("createsPerMinute"), 1, "it is no create")
    # wait: within two minutes no find is too old to count at all
    true(0 < org.used("findsPerMinute") <= 300, "but a find")
    org.set("--creates-per-minute", "1")
    doc = problem(org.create({"Idempotency-Key": "one-more"}, name="n"),
                  429, "quota_exceeded")
    equal((doc["quota"]["name"], doc["quota"]["limit"]),
          ("findsPerMinute", 10), "which quota")
    equal(value("SELECT count(*) FROM idempotency WHERE key = 'one-more'"),
          "0", "it leaves no row")
    equal(expect(200, org.create({"Idempotency-Key": "find-0"}, name="n"))
          .json["id"], sid, "a repetition costs nothing")


@case
def a_refused_create_releases_its_keys():
    org = Org("--max-sessions", "1")
    s = org.made(isolation="session")
    again = {"Idempotency-Key": "again"}
    refused(org.create(again, name="n", correlationKeys=["k"]),
            "sessions", 1, 1)
    expect(200, org.call("DELETE", at(s)))
    r = expect(201, org.create(again, name="n", correlationKeys=["k"]))
    equal(r.header("Idempotency-Replayed"), None, "it is made, not replayed")
    equal(r.json["correlationKeys"], ["k"], "with its key")
    equal(expect(201, org.create(again, name="n", correlationKeys=["k"]))
          .header("Idempotency-Replayed"), "true", "replaying needs no room")


@case
def creates_a_minute_are_limited():
    org = Org("--creates-per-minute", "3")
    for _ in range(3):
        expect(200, org.call("DELETE", at(org.made(isolation="session"))))
    doc = refused(org.create(), "createsPerMinute", 3, 3)
    true("a minute" in doc["detail"], doc["detail"])
    sql("UPDATE quota SET minute_at = minute_at - interval '2 minutes'"
        " WHERE tenant = :'v1'", org.name)
    equal(org.used("createsPerMinute"), 0, "two minutes later")
    expect(201, org.create())


@case
def previews_are_limited_over_all_sessions():
    org = Org("--max-previews", "2")
    a, b = org.made(), org.made()
    expect(201, org.call("POST", at(a, "/ports"), {"port": 2000}))
    expect(201, org.call("POST", at(b, "/ports"), {"port": 2000}))
    refused(org.call("POST", at(b, "/ports"), {"port": 2001}),
            "previews", 2, 2)
    expect(200, org.call("POST", at(b, "/ports"), {"port": 2000}))
    expect(200, org.call("POST", at(b, "/ports/2000/rotate")))
    expect(204, org.call("DELETE", at(a, "/ports/2000")))
    expect(201, org.call("POST", at(b, "/ports"), {"port": 2001}))
    expect(200, org.call("DELETE", at(b)))
    equal(org.used("previews"), 0, "a deletion ends them")


@case
def disk_is_reserved_by_class_and_shared_with_the_sandbox():
    org = Org("--max-disk-mb", "12288")
    shared = [org.made() for _ in range(3)]
    equal(org.used("diskMb"), 8192, "three sessions, one sandbox")
    own = org.made(isolation="session")
    refused(org.create(isolation="session"), "diskMb", 12288, 12288)
    expect(200, org.call("POST", at(own, "/sleep")))
    refused(org.create(isolation="session"), "diskMb", 12288, 12288)
    expect(200, org.call("DELETE", at(own)))
    equal(org.used("diskMb"), 8192, "files that are gone need none")
    for sid in shared:
        expect(200, org.call("DELETE", at(sid)))
    equal(org.used("diskMb"), 0, "the last one of the sandbox")


@case
def an_orgs_own_limits_are_the_operators():
    org = Org("--max-sessions", "1", "--max-active", "5")
    said = org.set("--max-active", "9", "--isolation", "session")
    true("max-active" in said and "9" in said and "session" in said, said)
    equal(sql("SELECT kind, detail->>'active', detail->>'by' <> ''"
              " FROM audit WHERE tenant = :'v1' AND kind = 'quotas_set'"
              " ORDER BY id", org.name),
          [["quotas_set", "5", "t"], ["quotas_set", "9", "t"]], "audit")
    quotas = org.usage()["quotas"]
    equal((quotas["sessions"]["limit"], quotas["active"]["limit"]), (1, 9),
          "limits")
    true(expect(201, org.create()).json["sandboxId"].startswith("ses-"),
         "isolation")
    refused(org.create(), "sessions", 1, 1)
    org.set("--max-sessions", "0")
    equal(org.usage()["quotas"]["sessions"]["limit"], None, "0 is none")
    expect(201, org.create())
    org.set("--max-sessions", "inherit")
    equal(org.usage()["quotas"]["sessions"]["limit"], 1000, "the setting's")
    for words, says in ((("--max-active", "-1"), "--max-active"),
                        (("--max-active", "many"), "--max-active"),
                        (("--max-disk-mb", "99999999999"), "--max-disk-mb"),
                        (("--max-previews", "1.5"), "--max-previews"),
                        (("--max-everything", "1"), "org set"), ((), "org set"),
                        (("--max-active", "1", "more"), "more"),
                        (("--max-active", "1", "--isolation", "some"),
                         "org set")):
        done = service.run("sandlease-admin", "org", "set", org.name, *words)
        true(done.returncode == 2 and says in done.stderr.decode(),
             "%s: %s" % (words, done.stderr))
    equal(org.usage()["quotas"]["active"]["limit"], 9, "nothing changed")
    other = Org()
    equal(other.usage()["quotas"]["active"]["limit"], 100,
          "another org has its own")
    expect(201, other.create())


@case
def a_burst_does_not_overshoot():
    org = Org("--max-active", "5", "--max-sessions", "7")
    replies = many([lambda: org.create(isolation="session")] * 16)
    made = [r for r in replies if r.status in (201, 202)]
    equal(len(made), 5, "sessions that were made")
    for r in replies:
        if r not in made:
            refused(r, "active", 5, 5)
    counted, is_so = org.counted()
    equal(counted, is_so, "counters")
    # the same for a burst of starts
    ids = [r.json["id"] for r in made]
    for sid in ids:
        expect(200, org.call("POST", at(sid, "/sleep")))
    org.set("--max-active", "2")
    replies = many([lambda s=s: org.call("POST", at(s, "/resume?wait=60"))
                    for s in ids])
    equal(sorted(r.status for r in replies), [200, 200, 429, 429, 429],
          "starts")
    equal(org.used("active"), 2, "active")
    # the same for a burst of previews
    org.set("--max-previews", "3")
    awake = [r.json["id"] for r in replies if r.status == 200][0]
    replies = many([lambda p=p: org.call("POST", at(awake, "/ports"),
                                         {"port": 3000 + p})
                    for p in range(10)])
    equal(sorted(r.status for r in replies), [201] * 3 + [429] * 7, "ports")


@case
def no_quota_is_overshot_by_a_burst():
    for option, limit, name, used in (
            ("--max-sessions", 3, "sessions", 3),
            ("--creates-per-minute", 3, "createsPerMinute", 3),
            ("--max-disk-mb", 3 * 4096, "diskMb", 3 * 4096)):
        org = Org(option, str(limit))
        replies = many([lambda o=org: o.create(isolation="session")] * 10)
        made = [r for r in replies if r.status in (201, 202)]
        equal(len(made), 3, option)
        for r in replies:
            if r not in made:
                refused(r, name, limit, used)
        equal(value("SELECT count(*) FROM session WHERE tenant = :'v1'",
                    org.name), "3", "nothing else was made")


@case
def no_lock_is_left_behind_by_what_was_refused():
    org = Org("--max-active", "1")
    many([lambda: org.create(isolation="session")] * 12)
    equal(value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"),
          "0", "advisory locks")


@case
def recount_tells_and_repairs():
    org = Org()
    a = org.made(isolation="session")
    org.made(isolation="session")
    true("0 counters" in admin("org", "recount", org.name), "all is well")
    sql("UPDATE quota SET sessions = 40, active = 0 WHERE tenant = :'v1'",
        org.name)
    sql("UPDATE sandbox SET quota_disk_mb = 0 WHERE id = (SELECT sandbox_id"
        " FROM session WHERE id = :'v1')", a)
    said = admin("org", "recount", org.name)
    for line in ("sessions was 40, is 2", "active was 0, is 2", "2 counters"):
        true(line in said, said)
    equal(org.counted()[0], [["2", "2", "0", "8192"]], "right again")
    equal(sql("SELECT severity, detail->'was'->>'sessions' FROM audit"
              " WHERE tenant = :'v1' AND kind = 'quotas_recounted'",
              org.name), [["warning", "40"]], "the operator may find it")
    true("0 counters" in admin("org", "recount"), "of all orgs")
    done = service.run("sandlease-admin", "org", "recount", "nobody")
    true(done.returncode == 1 and b"nobody" in done.stderr, done.stderr)


@case
def after_a_storm_the_counters_equal_reality():
    org = Org("--max-active", "6", "--max-sessions", "9",
              "--max-previews", "4")
    made = [0] * 5  # calls of each client

    def client(seed):
        try:
            return calls_of(seed)
        finally:
            made[seed] = CALLS  # so that monkey() does not wait for more calls

    def calls_of(seed):
        dice = random.Random(seed)
        statuses = set()
        mine = []
        for _ in range(CALLS):
            made[seed] += 1
            what = dice.randrange(6)
            if what < 2 or not mine:
                r = org.create(
                    isolation=dice.choice(["session", "shared"]),
                    correlationKeys=["s:%d" % dice.randrange(8)])
                if r.status in (200, 201, 202):
                    mine.append(r.json["id"])
            else:
                sid = dice.choice(mine)
                r = org.call(*dice.choice((
                    ("DELETE", at(sid)), ("POST", at(sid, "/sleep")),
                    ("POST", at(sid, "/resume")), ("POST", at(sid, "/ports"),
                     {"port": 4000 + dice.randrange(3)}),
                    ("POST", at(sid, "/api/execute"), {"command": "true"}))))
            statuses.add(r.status)
            u = sql("SELECT active, sessions, previews FROM quota"
                    " WHERE tenant = :'v1'", org.name)[0]
            true(int(u[0]) <= 6 and int(u[1]) <= 9 and int(u[2]) <= 4,
                 "over: %r" % u)
        return statuses

    def monkey():
        """Kills a worker or sandbox for every 25 calls."""
        dice = random.Random(7)
        for due in range(25, 5 * CALLS, 25):
            # wait: polls; 25 calls take seconds, 600 s only when one hangs
            until("so many calls", lambda: sum(made) >= due, 600)
            pids = (service.workers if dice.randrange(2) else
                    service.sandbox_pids)()
            if pids:
                try:
                    os.kill(dice.choice(pids), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        return set()

    seen = set().union(*many([lambda n=n: client(n) for n in range(5)] +
                             [monkey]))
    true({200, 201} <= seen, "it was a storm: %r" % seen)
    until("the service is back", lambda: call("GET", "/v1/health").status
          == 200)
    true("deadlock detected" not in service.log("postgres"),
         "nobody stood in each other's way")
    counted, is_so = org.counted()
    equal(counted, is_so, "in the middle of it")
    sql("UPDATE lease SET next_attempt_at = clock_timestamp()"
        " WHERE state = 'stop_needed'")
    for _ in range(3):
        service.reap()
    counted, is_so = org.counted()
    equal(counted, is_so, "after a pass")
    true("0 counters" in admin("org", "recount", org.name), "says recount")
    for (sid,) in sql("SELECT id FROM session WHERE tenant = :'v1'"
                      " AND state <> 'deleted'", org.name):
        org.call("DELETE", at(sid))

    def all_gone():
        sql("UPDATE lease SET next_attempt_at = clock_timestamp()"
            " WHERE state = 'stop_needed'")
        service.reap()
        return value("SELECT count(*) FROM session WHERE tenant = :'v1'"
                     " AND state <> 'deleted'", org.name) == "0"

    until("everything is deleted", all_gone)
    equal(org.counted()[0], [["0", "0", "0", "0"]], "nothing is left")


sys.exit(run(lambda: None))
