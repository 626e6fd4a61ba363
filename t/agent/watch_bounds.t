#!/usr/bin/python3
"""Tests the limits and ends of api/watch, and that watch/check knows of earlier changes."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, eventually  # noqa: E402
from tap import ok, run, same  # noqa: E402
from watching import World  # noqa: E402

DIRS_MAX, STREAMS_MAX, RETAINED_MAX, PENDING_MAX = 16384, 64, 64, 1000  # watch.h, changes.h
box = Box()
world = World(box)
here, put, fresh = world.here, world.put, world.fresh


# ---- ends

def a_watch_ends_with_its_root():
    def ends(how, kind, path="/workspace/end/a/b"):
        os.makedirs(here("end/a/b/c"), exist_ok=True)
        w = world.watch(path)
        how()
        last = w.rest()[-2:]
        same([(e["type"], e.get("eventType"), e.get("path")) for e in last],
             [("event", kind, path), ("stopped", None, None)], how.__name__)
        ok(last[-1]["reason"], "and says why")
        w.close()
        shutil.rmtree(here("end"), ignore_errors=True)
        shutil.rmtree(here("end2"), ignore_errors=True)

    def deleted():
        shutil.rmtree(here("end/a/b"))

    def moved():
        os.rename(here("end/a/b"), here("end/a/x"))

    def moved_far_above():
        os.rename(here("end"), here("end2"))

    def deleted_while_somebody_is_in_it():
        fd = os.open(here("end/a/b"), os.O_RDONLY)
        shutil.rmtree(here("end/a/b"))
        box.call(world.session, "GET", "/api/ping")
        os.close(fd)
    ends(deleted, "delete")
    ends(moved, "move_from")
    ends(moved_far_above, "move_from")
    ends(deleted_while_somebody_is_in_it, "delete")


def what_the_kernel_drops_is_said():
    with open("/proc/sys/fs/inotify/max_queued_events") as f:
        queue = int(f.read())
    where = fresh("flood")
    w = world.watch(where, include=["told", "*.end"])
    before = world.check(where, include=["told", "*.end"])["version"]
    with world.stopped():
        for i in range(queue // 2 + 100):
            put("flood", "f%d" % (i % 3000))
            os.unlink(here("flood", "f%d" % (i % 3000)))
        os.makedirs(here("flood/unseen/deep"))
    event = w.next()
    same((event["type"], bool(event["error"])), ("error", True), "something was lost")
    same(world.check(where, before, include=["told", "*.end"])["status"], "changed", "so it has changed")
    put("flood/unseen/deep/told")
    same(w.next()["path"], where + "/unseen/deep/told", "what was made meanwhile is watched")
    w.close()


def what_is_too_much_is_counted():
    where = fresh("much")
    w = world.watch(where, events=["create"])
    with world.stopped():
        for i in range(PENDING_MAX + 500):
            open(here("much", "f%d" % i), "w").close()
    told, dropped = 0, 0
    while told + dropped < PENDING_MAX + 500:
        event = w.next()
        told += event["type"] == "event"
        dropped += event.get("dropped", 0)
    same(told + dropped, PENDING_MAX + 500, "told and dropped are all (%d dropped)" % dropped)
    same(w.mark("much/after"), [], "and it goes on")
    w.close()


def there_is_an_end_to_directories_and_to_watches():
    where = fresh("bound")
    for i in range(DIRS_MAX):
        os.mkdir(here("bound", "d%d" % i))
    answer = box.call(world.session, "POST", "/api/watch", {"path": where})
    same((answer.status, answer.json()["code"]), (429, "WATCH_START_ERROR"), "too many at once")
    for i in range(500):
        os.rmdir(here("bound", "d%d" % i))
    w = world.watch(where)
    for i in range(500):
        os.mkdir(here("bound", "d%d" % i))
    same(w.rest()[-1]["type"], "stopped", "one too many ends a watch")
    w.close()
    shutil.rmtree(here("bound"))
    fresh("bound")
    watches = [world.watch(where) for _ in range(STREAMS_MAX)]
    answer = box.call(world.session, "POST", "/api/watch", {"path": where})
    same((answer.status, answer.json()["code"]), (429, "WATCH_START_ERROR"), "too many watches")
    for w in watches:
        w.close()

    def again():
        w = world.watch(where)
        w.close()
        return w.first is not None and w.first["type"] == "watching"
    # wait: 8 s, for a moment's work; a wrapper that only notices by writing needs 15 s, a
    # heartbeat
    ok(eventually(lambda: box.call(world.session, "POST", "/api/watch/check", {"path": where}).status == 200
                  and again(), 8), "those that went have left room")


# ---- check

def a_check_says_whether_something_changed():
    where = fresh("check")
    one = world.check(where)
    same((one["success"], one["status"]), (True, "unchanged"), "it begins")
    same(world.check(where, one["version"])["status"], "unchanged", "nothing happened")
    same(world.check(where, one["version"])["version"], one["version"], "the version stays")
    for i in range(20):  # no pause: a check counts all changes made before it
        put("check", "f%d" % i)
        two = world.check(where, one["version"])
        if two["status"] != "changed" or two["version"] == one["version"]:
            ok(False, "a change is seen at once", (i, one, two))
        one = two
    same(world.check(where, one["version"])["status"], "unchanged", "then nothing again")
    os.mkdir(here("check/node_modules"))
    put("check/node_modules/x")
    same(world.check(where, one["version"])["status"], "unchanged", "what is excluded does not count")
    os.makedirs(here("check/a/b"))
    one = world.check(where, one["version"])
    put("check/a/b/f")
    same(world.check(where, one["version"])["status"], "changed", "deep down")
    old = world.check(where)["version"]
    put("check/again")
    same((world.check(where)["status"], world.check(where, old)["status"]), ("unchanged", "changed"),
         "without a version it begins anew, with one it does not")


def a_root_that_was_replaced_has_changed():
    where = fresh("swap")
    one = world.check(where)
    shutil.rmtree(here("swap"))
    answer = box.call(world.session, "POST", "/api/watch/check", {"path": where, "since": one["version"]})
    same((answer.status, answer.json()["code"]), (404, "FILE_NOT_FOUND"), "gone")
    fresh("swap")
    two = world.check(where, one["version"])
    same(two["status"], "changed", "back")
    put("swap/f")
    same(world.check(where, two["version"])["status"], "changed", "and watched")


def a_version_of_something_else_is_no_version():
    where = fresh("else")
    one = world.check(where)
    two = world.check(where, one["version"], recursive=False)
    same((two["status"], two["reason"]), ("resync", "expired"), "with other options")
    same(world.check(where, two["version"], recursive=False)["status"], "unchanged", "then it is known")
    foreign = "watch-1-1600000000000:5"
    same([world.check(where, foreign)[k] for k in ("status", "reason")], ["resync", "restarted"],
         "of another wrapper")
    ahead = one["version"].split(":")[0] + ":999999"
    same(world.check(where, ahead)["status"], "resync", "one that never was")
    for bad in ("x", "watch-1:2", "watch-1-2", "watch-1-2:", "watch-a-2:3", "watch-1-2:3x", " ",
                "watch-1-2:-3", "x" * 500):
        answer = box.call(world.session, "POST", "/api/watch/check", {"path": where, "since": bad})
        same((answer.status, answer.json()["code"]), (400, "VALIDATION_FAILED"), repr(bad[:20]))


def the_oldest_is_forgotten():
    where = fresh("old")
    one = world.check(where)
    for i in range(RETAINED_MAX):
        world.check(where, include=["f%d" % i])
    two = world.check(where, one["version"])
    same((two["status"], two["reason"]), ("resync", "expired"), "and that is said")
    ok(two["version"] != one["version"], "with a version to go on with")
    same(world.check(where, two["version"])["status"], "unchanged", "which works")


def an_idle_session_has_nothing_of_it():
    idle = World(box)
    pid = box.named("sandlease-wrap")[-1]

    def instances():
        return [v for v in box.root.fds(pid).values() if "inotify" in v]
    if not box.root.there:
        return
    same(instances(), [], "at first")
    a, b = idle.watch(), idle.watch()
    same(len(instances()), 1, "one instance for all")
    a.close()
    b.close()
    ok(eventually(lambda: instances() == []), "and none when the last has gone")


try:
    run([a_watch_ends_with_its_root, what_the_kernel_drops_is_said, what_is_too_much_is_counted,
         there_is_an_end_to_directories_and_to_watches, a_check_says_whether_something_changed,
         a_root_that_was_replaced_has_changed, a_version_of_something_else_is_no_version,
         the_oldest_is_forgotten, an_idle_session_has_nothing_of_it])
finally:
    box.close()
