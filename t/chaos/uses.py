"""uses.py: use cases that together pass every boundary in src/control/.

A use case prepares its session and returns a Subject, whose act() is then
interrupted.  A call that act() makes may fail, but not hang for ever.
"""
import glob
import itertools
import os
import signal

import audit
import faults
import service
from service import at, call, execute, sql

USES = {}
NUMBERS = itertools.count(1)


def use(function):
    USES[function.__name__.replace("_", " ")] = function
    return function


class Subject:
    """The session that a use case is about."""

    def __init__(self, act, sid=None, name=None, key=None, label=None):
        self.act = act
        self.sid = sid
        self.name = name
        self.label = label  # finds a session that has no name
        self.key = key
        self.goes = False  # whether the session is deleted on purpose
        self.hopeless = False  # whether no start of the session can succeed
        self.runs = False  # whether its executions write to /workspace/runs
        self.cancelled = []  # ids of executions
        self.task = None  # of an execution that brings its session
        self.overdue = None  # id of an execution that is past its limit
        self.trigger = None  # that has recorded the task
        self.alias = None  # a correlation key that it must have
        self.held_to = None  # the limits that it must have, as limit_problems() sees them
        self.text = None   # of the session's file, once the write was acknowledged

    def find(self):
        """The session's id, from its row if the create was interrupted before
        it answered."""
        if self.sid is None and self.task:
            rows = sql("SELECT session_id FROM execution WHERE task_id = :'v1'", self.task)
            self.sid = rows[0][0] if rows else None
        elif self.sid is None:
            rows = sql("SELECT id FROM session WHERE name = :'v1' OR"
                       " labels->>'use' = :'v2' ORDER BY created_at DESC",
                       self.name or "", self.label or "")
            self.sid = rows[0][0] if rows else None
        return self.sid

    def sandbox(self):
        rows = sql("SELECT sandbox_id FROM session WHERE id = :'v1'",
                   self.find() or "")
        return rows[0][0] if rows else None


def ask(method, path, body=None, key=None):
    """The reply, or None when the service sent none."""
    try:
        return call(method, path, body, key)
    except OSError:
        return None


def name():
    return "crash-%d-%d" % (os.getpid(), next(NUMBERS))


def session(act, key=None, **wish):
    """A session that is ready and has a file."""
    s = Subject(act, key=key)
    s.sid = service.create(key, **wish)["id"]
    s.text = "text of " + s.sid
    execute(s.sid, "printf '%%s' '%s' >/workspace/keep" % s.text, key)
    return s


def snapshot(s):
    return service.expect(201, call("POST", at(s.sid, "/snapshots"), {},
                                    s.key)).json["id"]


def post(path):
    return lambda s: ask("POST", at(s.sid, path), {}, s.key)


def delete(s):
    s.goes = True
    ask("DELETE", at(s.sid), key=s.key)


def reap(_):
    faults.reaper()


def kill_wrapper(sid):
    for w in audit.wrappers():
        if w["session"] == sid:
            os.kill(w["pid"], signal.SIGKILL)
            service.until("the wrapper is gone",
                          lambda p=w["pid"]: not service.alive(p))


def kill_sandbox(s, whom=("bwrap", "pid")):
    for i in audit.inits():
        if i["sandbox"] == s.sandbox():
            for pid in filter(None, (i[one] for one in whom)):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            # an init whose cells are frozen dies only when they are thawed
            # wait: polls; not to have waited long enough is harmless
            faults.wait_until(lambda p=i["pid"]: not service.alive(p), 3)


def lease(sid, change):
    sql("UPDATE lease SET %s WHERE session_id = :'v1'" % change, sid)


def unproved(s, deadline):
    """Makes the session's start one that nobody has proved.  The first call of
    the session is recorded after its answer, and would end the deadline."""
    service.until("the first call is recorded", lambda: sql(
        "SELECT 1 FROM lease WHERE session_id = :'v1'"
        " AND accepted_generation = generation", s.sid))
    sql("UPDATE session SET state = 'initializing' WHERE id = :'v1'", s.sid)
    lease(s.sid, "startup_deadline = clock_timestamp() %s interval '1 hour',"
          " keep_warm_until = NULL" % deadline)


def new_class(called, change):
    """Like `small`, but for the change."""
    sql("INSERT INTO class SELECT (jsonb_populate_record(c, jsonb_build_object("
        "'name', :'v1', %s))).* FROM class c"
        " WHERE name = 'small' ON CONFLICT DO NOTHING" % change, called)


def suffering(line, act):
    """An act() during which calls of the provider have the fault of `line`."""
    def suffer(s):
        faults.provider(line)
        try:
            act(s)
        finally:
            faults.provider()
    return suffer


# ---- starting

def creates(**wish):
    def act(s):
        ask("POST", "/v1/sessions", dict(wish, name=s.name, files=[
            {"path": "/workspace/first", "content": "first"}]))
    return Subject(act, name=name())


@use
def create_in_a_sandbox_of_its_own():
    return creates(isolation="session")


@use
def create_with_a_setup():
    return creates(isolation="session", setup="echo said; touch /workspace/set-up")


@use
def go_on_with_a_setup_that_nobody_waits_for():
    s = Subject(lambda s: ask("GET", at(s.sid)))
    mark = "2.86%d" % os.getpid()
    s.sid = service.expect(202, call("POST", "/v1/sessions?wait=0", {
        "setup": "echo said; sleep " + mark})).json["id"]
    service.until("it runs", lambda: ask("GET", at(s.sid)) and
                  service.running(mark))
    return s


@use
def create_in_a_shared_sandbox():
    return creates()


@use
def create_that_fails():
    new_class("broken", "'rootfs', '/nonexistent'")
    s = creates(isolation="session", **{"class": "broken"})
    s.hopeless = True
    return s


@use
def create_without_a_name_that_fails():
    new_class("broken", "'rootfs', '/nonexistent'")
    s = Subject(lambda s: ask("POST", "/v1/sessions", {
        "isolation": "session", "class": "broken", "labels": {"use": s.label}}),
                label=name())
    s.goes = True
    return s


@use
def create_that_replaces_one_that_failed():
    failed = create_that_fails()
    failed.act(failed)
    s = creates(isolation="session")
    s.name, s.hopeless = failed.name, True
    return s


@use
def create_without_room():
    s = creates(isolation="session")
    s.act, s.goes = suffering("provider-full: storage_make 1", s.act), True
    return s


@use
def resume_in_a_sandbox_of_its_own():
    s = session(post("/resume"), isolation="session")
    service.expect(200, call("POST", at(s.sid, "/sleep"), {}))
    return s


@use
def resume_in_a_shared_sandbox():
    s = session(post("/resume"))
    service.expect(200, call("POST", at(s.sid, "/sleep"), {}))
    return s


@use
def resume_with_ports():
    s = session(post("/resume"))
    for port in range(8000, 8010):
        call("POST", at(s.sid, "/ports"), {"port": port})
    service.expect(200, call("POST", at(s.sid, "/sleep"), {}))
    return s


@use
def call_whose_wrapper_is_dead():
    s = session(lambda s: ask("POST", at(s.sid, "/api/execute"),
                              {"command": "true"}))
    kill_wrapper(s.sid)
    return s


@use
def resume_whose_sandbox_is_dead():
    s = session(post("/resume"), isolation="session")
    kill_sandbox(s)
    return s


@use
def resume_of_a_start_nobody_has_proved():
    s = session(post("/resume"), isolation="session")
    unproved(s, "+")
    return s


@use
def resume_while_a_stranger_is_there():
    s = session(post("/resume"), isolation="session")
    sql("UPDATE session SET state = 'asleep' WHERE id = :'v1'", s.sid)
    sql("SELECT lease_apply(session_id, 'owned_absent', jsonb_build_object("
        "'instance', instance, 'generation', generation, 'trace', 'forged'))"
        " FROM lease WHERE session_id = :'v1'", s.sid)
    return s


@use
def resume_of_a_warm_session():
    return session(post("/resume"))


@use
def resume_of_a_warm_session_that_does_not_answer():
    # wait: longer than a silence must be to count
    s = session(post("/resume?wait=6"), isolation="session")
    for w in audit.wrappers():
        if w["session"] == s.sid:
            os.kill(w["pid"], signal.SIGSTOP)
    return s


# ---- stopping

@use
def sleep_in_a_sandbox_of_its_own():
    return session(post("/sleep"), isolation="session")


@use
def sleep_of_a_row_that_is_older_than_its_wrapper():
    s = session(post("/sleep"))
    service.expect(200, call("POST", at(s.sid, "/sleep"), {}))
    service.expect(200, call("POST", at(s.sid, "/resume?wait=60"), {}))
    lease(s.sid, "generation = generation - 1")
    return s


@use
def sleep_in_a_shared_sandbox():
    return session(post("/sleep"))


@use
def suspend():
    return session(post("/sleep"), suspend=True)


@use
def resume_what_was_suspended():
    s = session(post("/resume"), suspend=True)
    service.expect(200, call("POST", at(s.sid, "/sleep"), {}))
    return s


@use
def delete_what_was_suspended():
    s = session(delete, suspend=True)
    service.expect(200, call("POST", at(s.sid, "/sleep"), {}))
    return s


@use
def delete_with_a_sandbox_of_its_own():
    return session(delete, isolation="session")


@use
def delete_in_a_shared_sandbox():
    return session(delete)


@use
def delete_while_the_agent_is_dead():
    s = session(delete, isolation="session")
    kill_sandbox(s, ["pid"])
    return s


@use
def interrupt():
    return session(post("/interrupt"))


# ---- other calls

@use
def expose_rotate_and_close_a_port():
    def act(s):
        ask("POST", at(s.sid, "/ports"), {"port": 8080})
        ask("POST", at(s.sid, "/ports/8080/rotate"), {})
        ask("DELETE", at(s.sid, "/ports/8080"))
    return session(act)


@use
def rotate_a_port():
    s = session(lambda s: ask("POST", at(s.sid, "/ports/8080/rotate"), {}))
    service.expect(201, call("POST", at(s.sid, "/ports"), {"port": 8080}))
    return s


@use
def close_a_port():
    s = session(lambda s: ask("DELETE", at(s.sid, "/ports/8080")))
    service.expect(201, call("POST", at(s.sid, "/ports"), {"port": 8080}))
    return s


@use
def revoke_a_key():
    key = service.new_key("demo", "revoked-%d" % next(NUMBERS))
    key_id = call("GET", "/v1/me", key=key).json["keyId"]
    s = session(lambda _: service.run(
        "sandlease-admin", "key", "revoke", key_id,
        env={"SANDLEASE_FAULTS": faults.directory()}))
    service.expect(201, call("POST", at(s.sid, "/ports"), {"port": 8080}))
    return s


@use
def adopt_a_storage():
    s = session(lambda _: service.run(
        "sandlease-admin", "host", "adopt-storage",
        env={"SANDLEASE_FAULTS": faults.directory()}))
    sql("UPDATE host SET storage_id = NULL")
    return s


@use
def pass_over_an_expired_port():
    s = session(reap)
    service.expect(201, call("POST", at(s.sid, "/ports"), {"port": 8080}))
    sql("UPDATE port SET expires_at = clock_timestamp()"
        " WHERE session_id = :'v1'", s.sid)
    return s


@use
def change_the_environment():
    return session(lambda s: ask("PATCH", at(s.sid), {"env": {"A": "1"}}))


@use
def create_with_a_network():
    return creates(network={"mode": "allow", "allow": ["api.example.com"]}, secrets=[
        {"host": "api.example.com", "header": "x-key", "value": "secret"}])


@use
def change_the_network():
    return session(lambda s: ask("PATCH", at(s.sid), {"network": {"mode": "none"}}))


@use
def take_a_snapshot():
    return session(post("/snapshots"))


@use
def delete_a_snapshot():
    s = session(lambda s: ask("DELETE", "/v1/snapshots/" + s.snapshot))
    s.snapshot = snapshot(s)
    return s


@use
def create_from_a_snapshot():
    source = session(None)
    s = creates(isolation="session", snapshot=snapshot(source))
    s.text = source.text
    call("DELETE", at(source.sid))
    return s


@use
def create_from_a_snapshot_that_must_be_copied():
    s = create_from_a_snapshot()
    data = os.path.join(service.setting("STACK_STATE"), "data")
    for spare in glob.glob(os.path.join(data, "snapshots/*/*/spare")):
        os.rename(spare, os.path.join(data, "trash/spare-%d" % next(NUMBERS)))
    return s


# ---- the reaper

@use
def pass_over_an_idle_session():
    s = session(reap, isolation="session")
    lease(s.sid, "keep_warm_until = clock_timestamp() - interval '1 hour'")
    return s


@use
def pass_over_a_deletion():
    s = session(reap, isolation="session")
    s.goes = True
    sql("SELECT session_request_stop(:'v1', 'delete',"
        " '{\"reason\": \"session-delete\"}')", s.sid)
    return s


@use
def pass_over_two_deletions():
    """Their sandboxes are ended side by side."""
    other = service.create(None, isolation="session")["id"]
    s = session(reap, isolation="session")
    s.goes = True
    for sid in (other, s.sid):
        sql("SELECT session_request_stop(:'v1', 'delete',"
            " '{\"reason\": \"session-delete\"}')", sid)
    return s


@use
def pass_over_a_start_past_its_deadline():
    s = session(reap)
    unproved(s, "-")
    return s


@use
def pass_over_a_dead_sandbox():
    s = session(reap, isolation="session")
    kill_sandbox(s)
    return s


@use
def pass_over_an_expired_session():
    s = session(reap, isolation="session", expiresAt="2099-01-01T00:00:00Z")
    s.goes = True
    sql("UPDATE session SET expires_at = clock_timestamp() WHERE id = :'v1'",
        s.sid)
    return s


@use
def pass_over_an_idle_shared_sandbox():
    key = service.new_key("idle-%d" % next(NUMBERS), "someone")
    s = session(reap, key)
    service.expect(200, call("POST", at(s.sid, "/sleep"), {}, key))
    sql("UPDATE sandbox SET idle_since = clock_timestamp() - interval '1 hour'"
        " WHERE id = :'v1'", s.sandbox())
    return s


@use
def pass_over_a_dead_wrapper():
    s = session(reap)
    kill_wrapper(s.sid)
    faults.shift_time()  # the reaper does not look right after a start
    return s


@use
def pass_over_a_wrapper_that_no_row_knows():
    s = session(reap)
    for table in ("port", "session", "lease"):
        sql("DELETE FROM %s WHERE %s = :'v1'" % (
            table, "id" if table == "session" else "session_id"), s.sid)
    s.sid, s.name, s.text = None, "nobody", None
    faults.reaper()  # the first sighting
    faults.shift_time()
    return s


@use
def pass_over_the_files_of_a_failed_session():
    s = session(reap)
    service.expect(200, call("POST", at(s.sid, "/sleep"), {}))
    for state in "initializing", "failed":
        sql("UPDATE session SET state = :'v2', ended_at = clock_timestamp()"
            " - interval '3 days' WHERE id = :'v1'", s.sid, state)
    s.text = None
    return s


# ---- the disk.  The watcher of the disk looks at times of its own.  The case
# that meets it only by chance comes last, so that no point is walked with it.

@use
def pass_over_a_full_disk():
    def act(s):
        suffering("provider-full: capacity 1", reap)(s)
        reap(s)  # the disk has room again
    s = session(act, isolation="session")
    execute(s.sid, "head -c 8388608 /dev/zero >/workspace/large")
    return s


@use
def pass_over_a_session_beyond_its_limit():
    new_class("tiny", "'disk_mb', 8")
    s = session(reap, isolation="session", **{"class": "tiny"})
    execute(s.sid, "for i in 1 2 3; do"
            " head -c 4194304 /dev/zero >/workspace/f$i; done")
    sql("UPDATE session SET disk_over_since = clock_timestamp(),"
        " disk_measured_at = 'epoch' WHERE id = :'v1'", s.sid)
    return s


@use
def resume_in_a_sandbox_that_was_probed_in_vain():
    key = service.new_key("vain-%d" % next(NUMBERS), "someone")
    # wait: as long as a silence must be to count, and the agent's is longer
    s = session(suffering("provider-hang: agent.launch 10s",
                          post("/resume?wait=9")), key)
    service.expect(200, call("POST", at(s.sid, "/sleep"), {}, key))
    sql("UPDATE sandbox SET probe_failures = 1,"
        " probe_failed_at = clock_timestamp() - interval '1 minute'"
        " WHERE id = :'v1'", s.sandbox())
    # other sandboxes do serve, which is evidence against this one
    sql("UPDATE sandbox SET changed_at = clock_timestamp()"
        " WHERE id <> :'v1' AND state = 'running'", s.sandbox())
    return s


@use
def create_where_something_stale_is_in_the_way():
    stale = create_that_fails()
    stale.act(stale)
    sql("UPDATE session SET ended_at = clock_timestamp() - interval '1 hour'"
        " WHERE id = :'v1'", stale.find())
    s = creates(isolation="session")
    s.act = suffering("provider-full: capacity 1", s.act)
    return s
