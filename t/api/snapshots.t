#!/usr/bin/python3
"""snapshots.t: tests snapshots of a session's files, and sessions that are made from
them."""
import glob
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import wrapper_of
from service import (at, call, create, execute, expect, get, new_key, problem,
                     reap, running, setting, sql, until, value)
from tap import case, equal, run, true

service.begin("sighting_seconds = 0\n")

DATA = os.path.join(setting("STACK_STATE"), "data")
LISTING = ("cd /; find workspace home/user -path '*/.local' -prune -o"
           " -printf '%p %y %m %n %l %T@\\n' | grep -av gitconfig |"
           " LC_ALL=C sort; find workspace -type f -exec md5sum {} + | sort; cd /workspace")
FILL = r"""
set -e; cd /workspace; umask 022
printf hello > a; chmod 640 a; ln a b; ln -s a link; ln -s /etc/passwd away
ln -s nowhere dangling; printf '#!/bin/sh\n' > run; chmod 4755 run
mkdir -p deep/er; printf x > deep/er/x; chmod 500 deep; printf y > "$(printf 'a\nb')"
printf z > $'na\xc3\xafve'; printf r > $'bytes\xff'; truncate -s 40M sparse
printf end | dd of=sparse bs=1 seek=41943030 conv=notrunc status=none
mkdir open; chmod 1777 open; touch -d 2001-02-03T04:05:06Z a link -h; mkfifo pipe
printf home > /home/user/of-home; touch -d 2002-02-02T02:02:02Z deep open .
"""


def paths(pattern):
    return glob.glob(os.path.join(DATA, pattern))


def directory(snapshot):
    found = paths("snapshots/*/" + snapshot)
    return found[0] if found else None


def take(sid, key=None, **body):
    return expect(201, call("POST", at(sid, "/snapshots"), body, key)).json


def ids(path, key=None):
    return [s["id"] for s in expect(200, call("GET", path, key=key)).json["snapshots"]]


def passes():
    status, text, summary = reap()
    equal(status, 0, "exit status, with %s" % text)
    return summary


def write(sid, name, text):
    execute(sid, "printf '%%s' '%s' > /workspace/%s" % (text, name))


def read(sid, name):
    return execute(sid, "cat /workspace/" + name)


@case
def it_keeps_all_there_is():
    one = create(isolation="session")["id"]
    execute(one, FILL)
    before = execute(one, LISTING)
    s = take(one, name="first")
    equal((s["name"], s["state"], s["sessionId"], s["error"]),
          ("first", "ready", one, None), "what is said of it")
    true(s["files"] > 10 and s["sizeBytes"] > 20, "files and size: %r" % s)
    equal(s["directories"], ["/workspace", "/home/user"], "what it holds")
    true(s["createdAt"] and s["createdBy"], "when and by whom")
    other = create(snapshot=s["id"])
    equal(other["snapshot"], s["id"], "the session says what it is made of")
    lines = [l for l in before.splitlines() if not l.startswith("workspace/pipe")]
    now = execute(other["id"], LISTING).splitlines()
    equal(now, lines, "all of it")
    equal(execute(other["id"], "stat -c %i a b | uniq | wc -l; test -x run;"
                  " cat /home/user/of-home; du -k sparse | cut -f1"
                  " | awk '{ print $1 < 1000 }'"), "1\nhome1\n",
          "links, homes, holes")
    equal(paths("storage/*/.copy-*"), [], "nothing is left of a copy")


@case
def it_is_as_it_was_then_and_each_session_has_its_own():
    one = create()["id"]
    write(one, "f", "old")
    s = take(one)["id"]
    write(one, "f", "new")
    two, three = create(snapshot=s)["id"], create(snapshot=s, isolation="session")["id"]
    equal((read(two, "f"), read(three, "f"), read(one, "f")), ("old", "old", "new"),
          "the files")
    write(two, "f", "two")
    execute(three, "rm f; ln -s /etc f")
    equal((read(two, "f"), execute(three, "readlink f"), read(create(snapshot=s)["id"], "f")),
          ("two", "/etc\n", "old"), "neither sees the other")
    for sid in (two, three):
        expect(200, call("POST", at(sid, "/sleep")))
        expect(200, call("POST", at(sid, "/resume")))
    equal((read(two, "f"), execute(three, "readlink f")), ("two", "/etc\n"),
          "and keeps its own when it has slept")
    again = take(two)["id"]
    equal(read(create(snapshot=again)["id"], "f"), "two", "a snapshot of what is made of one")


@case
def files_and_setup_come_on_top():
    one = create()["id"]
    write(one, "f", "old")
    write(one, "g", "old")
    s = create(snapshot=take(one)["id"], files=[{"path": "f", "content": "given"}],
               setup="cat f g > both")
    equal(read(s["id"], "both"), "givenold", "in that order")


@case
def one_that_sleeps_is_woken():
    one = create()["id"]
    write(one, "f", "slept")
    expect(200, call("POST", at(one, "/sleep")))
    s = take(one)
    equal((get(one)["state"], read(create(snapshot=s["id"])["id"], "f")),
          ("ready", "slept"), "it was taken")


@case
def they_are_listed_and_deleted():
    key = new_key("lists", "someone")
    one, two = create(key)["id"], create(key)["id"]
    a, b, c = [take(sid, key, name=n)["id"] for sid, n in
               ((one, "a"), (one, "b"), (two, "b"))]
    equal((ids(at(one, "/snapshots"), key), ids(at(two, "/snapshots"), key),
           ids("/v1/snapshots", key)), ([b, a], [c], [c, b, a]), "newest first")
    page = expect(200, call("GET", "/v1/snapshots?limit=2", key=key)).json
    equal(([s["id"] for s in page["snapshots"]],
           ids("/v1/snapshots?cursor=" + page["nextCursor"], key)), ([c, b], [a]), "pages")
    equal(expect(200, call("GET", "/v1/snapshots/" + a, key=key)).json["name"], "a", "one")
    problem(call("DELETE", at(two, "/snapshots/") + a, key=key), 404, "snapshot_not_found")
    expect(204, call("DELETE", at(one, "/snapshots/") + a, key=key))
    expect(204, call("DELETE", "/v1/snapshots/" + b, key=key))
    for path in ("/v1/snapshots/" + a, at(one, "/snapshots/") + a):
        problem(call("DELETE", path, key=key), 404, "snapshot_not_found")
    equal((ids("/v1/snapshots", key), directory(a), directory(b)), ([c], None, None), "gone")
    usage = expect(200, call("GET", "/v1/usage", key=key)).json["quotas"]
    equal((usage["snapshots"]["used"], usage["snapshotMb"]["used"]), (1, 1), "and counted")


@case
def it_outlives_its_session():
    one = create(isolation="session")["id"]
    write(one, "f", "kept")
    s = take(one)["id"]
    expect(200, call("DELETE", at(one)))
    passes()
    true(s in ids("/v1/snapshots"), "it is listed")
    equal(read(create(snapshot=s)["id"], "f"), "kept", "and good")


@case
def nobody_else_sees_it():
    theirs = new_key("others", "someone")
    one = create()["id"]
    s = take(one)["id"]
    problem(call("GET", "/v1/snapshots/" + s, key=theirs), 404, "snapshot_not_found")
    problem(call("DELETE", "/v1/snapshots/" + s, key=theirs), 404, "snapshot_not_found")
    for method, path in (("GET", "/snapshots"), ("POST", "/snapshots"),
                         ("DELETE", "/snapshots/" + s)):
        problem(call(method, at(one, path), {} if method == "POST" else None, theirs), 404, None)
    equal(ids("/v1/snapshots", theirs), [], "nor in a list")
    problem(call("POST", "/v1/sessions", {"snapshot": s}, theirs), 400,
            "validation_failed", "snapshot")
    readonly = new_key("acme", "reader", "--scope", "read")
    for method, path in (("POST", at(one, "/snapshots")), ("DELETE", "/v1/snapshots/" + s)):
        expect(403, call(method, path, {} if method == "POST" else None, readonly))
    expect(200, call("GET", "/v1/snapshots/" + s))


@case
def bad_input_is_told():
    one = create(name="found")["id"]
    for body, field in (({"name": ""}, "name"), ({"name": "x" * 129}, "name"),
                        ({"name": 1}, "name"), ({"name": "a\nb"}, "name")):
        problem(call("POST", at(one, "/snapshots"), body), 400, "validation_failed", field)
    problem(call("POST", at(one, "/snapshots?wait=x"), {}), 400, "validation_failed", "wait")
    problem(call("GET", at(one, "/snapshots?cursor=x")), 400, "validation_failed", "cursor")
    for s in ("nonsense", "../../../../etc", "a" * 20, "A" * 20, "x" * 21, 1):
        problem(call("POST", "/v1/sessions", {"snapshot": s}), 400, "validation_failed",
                "snapshot")
    for s in ("nonsense", "%2e%2e", "a" * 20):
        problem(call("DELETE", "/v1/snapshots/" + s), 404, None)
    equal(problem(call("POST", "/v1/sessions", {
        "name": "found", "snapshot": "a" * 20}), 409, "session_differs")["fields"],
          ["snapshot"], "a session that is there is not made of anything else")
    problem(call("POST", at("a" * 20, "/snapshots"), {}), 404, "session_not_found")


@case
def what_cannot_be_read_is_told():
    one = create()["id"]
    execute(one, "printf secret > shut; chmod 0 shut")
    p = problem(call("POST", at(one, "/snapshots"), {}), 409, "snapshot_failed")
    true("shut" in p["detail"], "it says which: %s" % p["detail"])
    s = expect(200, call("GET", at(one, "/snapshots"))).json["snapshots"][0]
    equal((s["state"], "shut" in s["error"], directory(s["id"])), ("failed", True, None),
          "what is left of it")
    problem(call("POST", "/v1/sessions", {"snapshot": s["id"]}), 409, "snapshot_not_ready")
    expect(204, call("DELETE", "/v1/snapshots/" + s["id"]))


@case
def quotas_hold():
    key = new_key("small", "someone")
    service.admin("org", "set", "small", "--max-snapshots", "2", "--max-snapshot-mb", "3")
    one = create(key, isolation="session")["id"]
    execute(one, "head -c 2000000 /dev/zero | tr '\\0' x > two", key)
    first = take(one, key)["id"]
    problem(call("POST", at(one, "/snapshots"), {}, key), 507, "insufficient_storage")
    execute(one, "rm two", key)
    take(one, key)
    p = problem(call("POST", at(one, "/snapshots"), {}, key), 429, "quota_exceeded")
    equal((p["quota"]["name"], p["quota"]["limit"]), ("snapshots", 2), "which")
    expect(204, call("DELETE", "/v1/snapshots/" + first, key=key))
    take(one, key)


@case
def a_class_must_have_room_for_it():
    one = create(isolation="session")["id"]
    s = take(one)["id"]
    sql("UPDATE snapshot SET size_bytes = 1::bigint << 40 WHERE id = :'v1'", s)
    problem(call("POST", "/v1/sessions", {"snapshot": s}), 507, "insufficient_storage")
    expect(204, call("DELETE", "/v1/snapshots/" + s))


# ---- copies made in advance

def spare(snapshot):
    """Returns the inode of the copy's /workspace, if the copy is whole."""
    try:
        for report in paths("snapshots/*/%s/spare/report" % snapshot):
            if os.path.getsize(report) > 0:
                return os.stat(os.path.dirname(report) + "/workspace").st_ino
    except FileNotFoundError:
        pass  # the copy is being replaced
    return None


def workspace(s):
    return os.stat(os.path.join(DATA, "storage", s["sandboxId"], s["id"], "workspace")).st_ino


@case
def the_next_session_finds_its_files_ready():
    one = create()["id"]
    write(one, "f", "ready")
    s = take(one)["id"]
    for _ in range(2):
        made = until("a copy is made in advance", lambda: spare(s))
        two = create(snapshot=s)
        equal((workspace(two), read(two["id"], "f")), (made, "ready"), "it is taken")
        write(two["id"], "f", "changed")
    ids_of = [create(snapshot=s)["id"] for _ in range(3)]
    equal([read(sid, "f") for sid in ids_of], ["ready"] * 3, "more at once than there are")
    expect(204, call("DELETE", "/v1/snapshots/" + s))
    passes()
    equal(directory(s), None, "it goes with its snapshot")


@case
def many_at_once_have_all_of_it():
    one = create()["id"]
    execute(one, "for i in $(seq 3000); do echo $i > f$i; done")
    s = take(one)["id"]
    # a file that is copied too late is missing in the setup's count
    body = {"snapshot": s, "setup": "cat f* | wc -l > /home/user/seen"}
    with ThreadPoolExecutor(8) as many:
        # a client with too many starts at once tries again
        made = list(many.map(lambda _: until("it is begun", lambda: call(
            "POST", "/v1/sessions", body).json.get("id")), range(12)))
    for sid in made:
        until("it is ready", lambda sid=sid: get(sid)["state"] == "ready")
    equal([execute(sid, "cat /home/user/seen") for sid in made], ["3000\n"] * 12, "files")
    equal(paths("storage/*/.copy-*"), [], "nothing is left of a copy")
    until("nobody writes there any more", lambda: spare(s))
    expect(204, call("DELETE", "/v1/snapshots/" + s))


@case
def one_that_failed_is_made_anew():
    one = create()["id"]
    write(one, "f", "whole")
    s = take(one)["id"]
    until("a copy is made in advance", lambda: spare(s))
    # the copy as if it had been cut off half-way
    half = os.path.join(directory(s), "spare")
    os.rename(half + "/workspace/f", half + "/workspace/.draft")
    os.truncate(half + "/report", 0)
    equal(execute(create(snapshot=s)["id"], "ls -A; cat f"), "f\nwhole", "it is not taken")
    until("but replaced", lambda: spare(s))


@case
def it_is_given_up_when_room_is_short():
    one = create()["id"]
    s = take(one)["id"]
    until("a copy is made in advance", lambda: spare(s))
    service.configure(capacity_min_mb=1 << 30)
    passes()
    equal(spare(s), None, "it is gone")
    service.configure(capacity_min_mb=0)
    passes()
    create(snapshot=s)
    until("and made again", lambda: spare(s))


@case
def what_is_no_directory_is_not_taken_for_one():
    s = take(create()["id"])["id"]
    until("a copy is made in advance", lambda: spare(s))
    files = os.path.join(directory(s), "files")
    os.rename(os.path.join(directory(s), "spare"), os.path.join(DATA, "trash/a-spare"))
    os.rename(files + "/workspace", files + "/elsewhere")
    os.symlink("/sessions", files + "/workspace")
    r = call("POST", "/v1/sessions", {"snapshot": s, "name": "linked"})
    problem(r, 409, None)
    equal(value("SELECT state FROM session WHERE name = 'linked'"), "failed", "its session")
    expect(204, call("DELETE", "/v1/snapshots/" + s))


# ---- workers and helpers that die

def unfinished(sid, state="creating", deadline="-1 hour"):
    """Inserts the row of a snapshot whose worker died; returns its id."""
    return sql("INSERT INTO snapshot (id, tenant, session_id, state, size_bytes, host, deadline)"
               " SELECT substr(md5(random()::text), 1, 20), s.tenant, s.id, :'v2', 0, b.host,"
               " clock_timestamp() + :'v3' FROM session s JOIN sandbox b ON b.id = s.sandbox_id"
               " WHERE s.id = :'v1' RETURNING id", sid, state, deadline)[0][0]


@case
def a_worker_that_does_not_wait_has_lost_nothing():
    one = create()["id"]
    write(one, "f", "later")
    r = call("POST", at(one, "/snapshots?wait=0"), {})
    s = r.json["id"]
    true(r.status in (201, 202), "it goes on: %r" % r)
    until("it is ready", lambda: call("GET", "/v1/snapshots/" + s).json["state"] == "ready")
    r = call("POST", "/v1/sessions?wait=0", {"snapshot": s})
    true(r.status in (201, 202), "it goes on: %r" % r)
    until("so is its session", lambda: get(r.json["id"])["state"] == "ready")
    equal(read(r.json["id"], "f"), "later", "its files")


def sender(wrapper):
    """Returns the process that sends files for that wrapper now, or None."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        pid = int(path.split("/")[2])
        try:
            with open(path, "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if words[1:2] == [b"keep"] and (service.stat(pid) or [0] * 3)[2] == wrapper:
            return pid
    return None


def wrapper(sid):
    mark = "7400.%d" % os.getpid()
    execute(sid, "sleep %s >/dev/null 2>&1 &" % mark)
    return wrapper_of(until("it runs", lambda: running(mark))[0])


def stop(pid):
    try:
        os.kill(pid, signal.SIGSTOP)
    except ProcessLookupError:
        return False
    return True


def under_way():
    """Returns a session, a snapshot of it that does not finish, and the stopped process
    in the middle of it."""
    sid = create(isolation="session")["id"]
    execute(sid, "head -c 200000000 /dev/zero | tr '\\0' x > large")
    ours = wrapper(sid)
    for _ in range(20):
        s = call("POST", at(sid, "/snapshots?wait=0"), {}).json["id"]

        def over(s=s):
            return call("GET", "/v1/snapshots/" + s).json["state"] != "creating"
        until("it is sent, or over", lambda: sender(ours) or over())
        pid = sender(ours)
        if pid and stop(pid) and not over():
            return sid, s, pid
        until("it is over", over)
        expect(204, call("DELETE", "/v1/snapshots/" + s))
    raise AssertionError("it is always over too soon")


@case
def the_end_of_its_session_is_the_end_of_it():
    sid, s, _ = under_way()
    equal(get(sid)["busy"], True, "the session is at work")
    expect(200, call("DELETE", at(sid)))
    until("it has failed",
          lambda: call("GET", "/v1/snapshots/" + s).json["state"] == "failed")
    until("and left nothing", lambda: passes() and not directory(s))


@case
def one_that_is_deleted_while_it_is_taken_goes_when_it_is_over():
    sid, s, pid = under_way()
    for other in running("7400.%d" % os.getpid()):
        os.kill(other, signal.SIGKILL)
    expect(204, call("DELETE", "/v1/snapshots/" + s))
    problem(call("GET", "/v1/snapshots/" + s), 404, "snapshot_not_found")
    passes()
    true(directory(s), "somebody writes there")
    os.kill(pid, signal.SIGKILL)
    until("then it goes", lambda: passes() and not directory(s))
    equal(execute(sid, "echo alive"), "alive\n", "its session goes on")


@case
def what_nobody_finished_is_ended_by_the_reaper():
    one = create()["id"]
    late, early = unfinished(one), unfinished(one, deadline="1 hour")
    gone = unfinished(one, state="deleting")
    stray = take(one)["id"]
    home = directory(stray)
    sql("DELETE FROM snapshot WHERE id = :'v1'", stray)
    passes()
    equal([value("SELECT coalesce((SELECT state FROM snapshot WHERE id = :'v1'), '')", s)
           for s in (late, early, gone)], ["failed", "creating", ""], "rows")
    true(os.path.isdir(home), "what no row knows is seen twice")
    passes()
    true(not os.path.exists(home), "then it goes")
    sql("UPDATE snapshot SET changed_at = clock_timestamp() - interval '3 days'"
        " WHERE id = :'v1'", late)
    passes()
    equal(value("SELECT count(*) FROM snapshot WHERE id = :'v1'", late), "0",
          "what failed is forgotten after a while")
    sql("DELETE FROM snapshot WHERE id = :'v1'", early)


@case
def one_that_a_new_session_still_needs_keeps_its_files():
    one = create()["id"]
    write(one, "f", "needed")
    s = take(one)["id"]
    two = create(snapshot=s, isolation="session")
    # the session as if its first start had not copied the files yet
    expect(200, call("POST", at(two["id"], "/sleep")))
    sql("UPDATE session SET started_at = NULL WHERE id = :'v1'", two["id"])
    os.rename(paths("storage/%s/%s" % (two["sandboxId"], two["id"]))[0],
              os.path.join(DATA, "trash/aside-" + two["id"]))
    expect(204, call("DELETE", "/v1/snapshots/" + s))
    passes()
    true(directory(s), "they are kept")
    problem(call("GET", "/v1/snapshots/" + s), 404, "snapshot_not_found")
    problem(call("POST", "/v1/sessions", {"snapshot": s}), 400, "validation_failed", "snapshot")
    expect(200, call("POST", at(two["id"], "/resume")))
    equal(read(two["id"], "f"), "needed", "and used")
    passes()
    equal(directory(s), None, "then they go")


# ---- snapshots whose files are lost

def told(sid):
    """Returns the snapshot events in the session's history."""
    events = expect(200, call("GET", at(sid, "/events?limit=1000"))).json["events"]
    return [(e["what"], e["detail"]["snapshot"]) for e in events if e["kind"] == "snapshot"]


@case
def the_reaper_finds_that_files_are_gone_and_that_they_are_back():
    one = create()["id"]
    write(one, "f", "back")
    s, other = take(one)["id"], take(one)["id"]
    until("nobody writes there any more", lambda: spare(s))
    used = expect(200, call("GET", "/v1/usage")).json["quotas"]["snapshots"]["used"]
    home, away = directory(s), os.path.join(DATA, "away-" + s)
    os.rename(home, away)
    passes()
    doc = expect(200, call("GET", "/v1/snapshots/" + s)).json
    equal((doc["state"], doc["error"], doc["sizeBytes"]), ("lost", "its files are gone", None),
          "what is said of it")
    equal((told(one), value("SELECT severity FROM audit WHERE kind = 'snapshot_lost'"
                            " AND subject = :'v1'", s)), ([("lost", s)], "critical"), "told")
    equal(expect(200, call("GET", "/v1/usage")).json["quotas"]["snapshots"]["used"], used - 1,
          "it takes no room")
    problem(call("POST", "/v1/sessions", {"snapshot": s}), 409, "snapshot_lost")
    equal(expect(200, call("GET", "/v1/snapshots/" + other)).json["state"], "ready", "the other")
    passes()
    equal(told(one), [("lost", s)], "told once")
    os.rename(away, home)
    passes()
    equal(read(create(snapshot=s)["id"], "f"), "back", "it is good again")
    equal(told(one), [("lost", s), ("found", s)], "and that is told")


@case
def whoever_needs_it_finds_that_its_files_are_gone():
    one = create()["id"]
    write(one, "f", "x")
    s = take(one)["id"]
    two = create(snapshot=s, isolation="session")
    until("nobody writes there any more", lambda: spare(s))
    # a report without files is no snapshot
    for part in ("files", "spare"):
        os.rename(os.path.join(directory(s), part), os.path.join(DATA, "trash", part + "-" + s))
    stranger = new_key("strangers", "someone")
    problem(call("POST", "/v1/sessions", {"snapshot": s}, stranger), 400, "validation_failed",
            "snapshot")
    before = value("SELECT count(*) FROM session")
    p = problem(call("POST", "/v1/sessions", {"snapshot": s}), 409, "snapshot_lost")
    true(not p["retryable"], "asking again does not help")
    equal(value("SELECT count(*) FROM session"), before, "no session is left of it")
    # a start that began earlier and has not copied the files yet
    expect(200, call("POST", at(two["id"], "/sleep")))
    sql("UPDATE session SET started_at = NULL WHERE id = :'v1'", two["id"])
    sql("UPDATE snapshot SET state = 'ready' WHERE id = :'v1'", s)
    os.rename(paths("storage/%s/%s" % (two["sandboxId"], two["id"]))[0],
              os.path.join(DATA, "trash/aside-" + two["id"]))
    problem(call("POST", at(two["id"], "/resume")), 409, "snapshot_lost")
    equal(expect(200, call("GET", "/v1/snapshots/" + s)).json["state"], "lost", "the snapshot")
    expect(200, call("DELETE", at(two["id"])))
    expect(204, call("DELETE", "/v1/snapshots/" + s))
    passes()
    equal(directory(s), None, "what is left of it goes with it")


@case
def history_tells_all_of_it():
    equal(service.untold(), [], "untold")


sys.exit(run(lambda: None))
