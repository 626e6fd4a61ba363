#!/usr/bin/python3
"""Tests that api/watch reports every change of files exactly once."""
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box  # noqa: E402
from tap import ok, run, same  # noqa: E402
from watching import World  # noqa: E402

box = Box()
world = World(box)
here, put, fresh = world.here, world.put, world.fresh


# ---- reported events

def every_kind_of_change_is_told():
    where = fresh("kinds")
    w = world.watch(where)
    same((w.first["type"], w.first["path"]), ("watching", where), "it says what it watches")
    ok(w.first["watchId"].startswith("watch-"), "and has an id")
    put("kinds", "f")
    os.chmod(here("kinds", "f"), 0o600)
    os.rename(here("kinds", "f"), here("kinds", "g"))
    os.unlink(here("kinds", "g"))
    os.mkdir(here("kinds", "d"))
    events = w.events_until("kinds/d")
    same([(e["eventType"], e["path"]) for e in events],
         [("create", where + "/f"), ("modify", where + "/f"), ("attrib", where + "/f"),
          ("move_from", where + "/f"), ("move_to", where + "/g"), ("delete", where + "/g"),
          ("create", where + "/d")], "in their order")
    same([e["isDirectory"] for e in events], [False] * 6 + [True], "what is a directory")
    ok(all(e["timestamp"].endswith("Z") for e in events), "and when")
    w.close()


def a_storm_on_one_file_is_one_event_at_a_time():
    where = fresh("storm")
    put("storm", "f")
    w = world.watch(where)
    with world.stopped():
        for _ in range(500):
            with open(here("storm", "f"), "a") as f:
                f.write("x")
            os.chmod(here("storm", "f"), 0o600)
        put("storm", "end")
    same(w.until("storm/end"), [("modify", "storm/f"), ("attrib", "storm/f"),
                                ("create", "storm/end")], "a thousand changes are two")
    w.close()


def names_may_be_anything():
    where = fresh("names")
    w = world.watch(where)
    for name in (b"a\nb", b"q\"uote", b"\xff\xfe", "\u00e4 \U0001f600".encode()):
        with open(here("names").encode() + b"/" + name, "w"):
            pass
        event = w.next()
        same(event["path"], where + "/" + name.decode(errors="replace"), repr(name))
    w.close()


# ---- trees

def grow(at):
    """Makes a tree at that place; returns the paths of all that is in it."""
    made = [at]
    os.makedirs(here(at, "b/c/d"))
    for sub in ("", "b", "b/c", "b/c/d"):
        made += [os.path.join(at, sub)] if sub else []
        for name in ("x", "y"):
            put(at, sub, name)
            made += [os.path.join(at, sub, name)]
    return made


def until_made(w, wanted):
    """Returns the created paths until all wanted ones were reported; any other event is
    an error."""
    made = []
    while not set(made) >= set(wanted):
        event = w.next()
        if event is None or event["type"] != "event":
            raise AssertionError("%r after %r" % (event, made))
        if event["eventType"] == "create":
            made.append(event["path"][len("/workspace/"):])
    return made


def what_is_made_in_new_directories_is_told_once():
    where = fresh("deep")
    w = world.watch(where)
    with world.stopped():
        wanted = grow("deep/r")
        put("deep/m")
    same(sorted(until_made(w, wanted + ["deep/m"])), sorted(wanted + ["deep/m"]),
         "all of it, once")
    # the kernel may report a path late, so the wrapper may report it twice
    for i in range(30):
        until_made(w, grow("deep/r%d" % i))
    ok(True, "all of it, while it is made")
    w.close()


def what_is_in_a_directory_that_moves_on_is_seen():
    where = fresh("lag")
    os.mkdir(here("lag/t"))
    w = world.watch(where)
    with world.stopped():  # the events name a path that has changed when the wrapper reads them
        for i in range(10):
            os.makedirs(here("lag/t/x%d/y" % i))
        os.rename(here("lag/t"), here("lag/u"))
    w.until("lag/u", "move_to")
    w.mark("lag/m")
    inside = ["lag/u/x%d/y/f" % i for i in range(10)]
    for name in inside:
        put(name)
    until_made(w, inside)
    ok(True, "all of it")
    w.close()


def many_at_once_lose_nothing():
    where = fresh("many")
    w = world.watch(where)

    def work(k):
        for i in range(6):
            os.makedirs(here("many", "t%d" % k, "d%d" % i, "e"))
            for n in range(5):
                put("many", "t%d" % k, "d%d" % i, "e", "f%d" % n)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    until_made(w, {"many/t%d/d%d/e/f%d" % (k, i, n)
                   for k in range(6) for i in range(6) for n in range(5)})
    ok(True, "all of it")
    w.close()


def directories_are_followed_where_they_go():
    where = fresh("moves")
    os.makedirs(here("moves", "in", "a", "b"))
    os.makedirs(here("elsewhere", "x", "y"), exist_ok=True)
    put("elsewhere", "x", "y", "old")
    w = world.watch(where + "/in")
    os.rename(here("moves/in/a"), here("moves/in/c"))
    put("moves/in/c/b/f")
    same(w.until("moves/in/c/b/f"),
         [("move_from", "moves/in/a"), ("move_to", "moves/in/c"), ("create", "moves/in/c/b/f")],
         "renamed: it has its new name and what is in it is not told")
    os.rename(here("moves/in/c/b"), here("moves/in/b"))
    put("moves/in/b/g")
    ok(("create", "moves/in/b/g") in w.until("moves/in/b/g"), "moved up: still seen")
    os.rename(here("moves/in/b"), here("moves/out"))
    put("moves/out/h")
    os.rename(here("elsewhere/x"), here("moves/in/x"))
    put("moves/in/x/y/new")
    seen = w.until("moves/in/x/y/new")
    ok(not [p for _, p in seen if "out" in p or p.endswith("/h")], "moved out: no more", seen)
    if ("create", "moves/in/x/y/old") not in seen:  # these events come in any order
        seen += w.until("moves/in/x/y/old")
    same(sorted({p for kind, p in seen if kind == "create"}),
         ["moves/in/x/y", "moves/in/x/y/new", "moves/in/x/y/old"],
         "moved in: what came with it is told")
    os.mkdir(here("moves/in/n"))
    os.rename(here("moves/in/x"), here("moves/in/n/x"))
    put("moves/in/n/x/y/last")
    seen = w.until("moves/in/n/x/y/last")
    ok(not [p for kind, p in seen if p.endswith("/old")], "into a new one: known all the same", seen)
    w.close()


def what_is_excluded_is_not_looked_at():
    where = fresh("filter")
    for d in (".git", "node_modules", "src", "dist"):
        os.mkdir(here("filter", d))
    w = world.watch(where)
    chosen = world.watch(where, include=["*.ts", "src/**/*.c"])
    bare = world.watch(where, exclude=[])
    most = world.watch(where, exclude=["dist/**", "*.o", "src/?.c"])
    flat = world.watch(where, recursive=False)
    for name in (".git/x", "node_modules/x", "src/a.ts", "src/b.o", "src/c.c", "src/dd.c", "dist/x",
                 ".DS_Store", "m.ts"):
        put("filter", name)

    def made(watch):
        return {p[len("filter/"):] for kind, p in watch.until("filter/m.ts") if kind == "create"}
    everything = {".git/x", "node_modules/x", "src/a.ts", "src/b.o", "src/c.c", "src/dd.c",
                  "dist/x", ".DS_Store", "m.ts"}
    same(made(w), everything - {".git/x", "node_modules/x", ".DS_Store"}, "without a word")
    same(made(chosen), {"src/a.ts", "src/c.c", "src/dd.c", "m.ts"}, "include")
    same(made(bare), everything, "nothing excluded")
    same(made(most), everything - {"dist/x", "src/b.o", "src/c.c"}, "exclude")
    same(made(flat), {"m.ts"}, "not recursive")
    os.rename(here("filter/src"), here("filter/node_modules2"))
    os.rename(here("filter/node_modules2"), here("filter/node_modules/src"))
    os.rename(here("filter/node_modules"), here("filter/back"))
    put("filter/back/src/z")
    seen = w.until("filter/back/src/z")
    ok(("create", "filter/back/src") in seen, "what comes out of the dark is seen", seen)
    for one in (w, chosen, bare, most, flat):
        one.close()


def each_watch_hears_what_it_wants():
    where = fresh("two")
    made, gone = world.watch(where, events=["create"]), world.watch(where, events=["delete", "modify"])
    put("two", "f")
    os.unlink(here("two", "f"))
    os.mkdir(here("two", "d"))
    put("two", "d", "g")
    same(made.until("two/d/g"), [("create", "two/f"), ("create", "two/d"), ("create", "two/d/g")],
         "one of them")
    os.unlink(here("two", "d", "g"))
    seen = gone.until("two/d/g", "delete")
    ok(seen[:2] == [("modify", "two/f"), ("delete", "two/f")] and
       not [k for k, _ in seen if k == "create"], "the other", seen)
    made.close()
    put("two", "still")
    ok(gone.until("two/still", "modify"), "and when one goes, the other stays")
    gone.close()


def links_are_not_followed_but_may_be_named():
    where = fresh("links")
    os.makedirs(here("links/real/sub"))
    os.symlink("real", here("links/link"))
    w = world.watch(where + "/link")
    whole = world.watch(where)
    put("links/real/sub/f")
    same(w.next()["path"], where + "/link/sub/f", "told under the name that was asked for")
    same(whole.next()["path"], where + "/real/sub/f", "and once under the real one")
    w.close()
    whole.close()


# ---- one file

def a_file_may_be_watched_and_replaced():
    where = fresh("file")
    put("file", "f")
    w = world.watch(where + "/f")
    same(w.first["path"], where + "/f", "watching")
    put("file", "other")
    put("file", "new")
    os.rename(here("file/new"), here("file/f"))
    same(w.next()["eventType"], "move_to", "replaced as editors do")
    with open(here("file/f"), "a") as f:
        f.write("y")
    same([(e["eventType"], e["path"], e["isDirectory"]) for e in w.events_until("file/f", "modify")],
         [("modify", where + "/f", False)], "and still seen")
    os.unlink(here("file/f"))
    put("file", "f")
    same(w.until("file/f"), [("delete", "file/f"), ("create", "file/f")], "gone and back")
    w.close()


def what_we_write_ourselves_looks_as_it_should():
    where = fresh("ours")
    w = world.watch(where)
    seen = []
    for kind in ("create", "modify"):
        box.call(world.session, "POST", "/api/write", {"path": where + "/sub/f", "content": kind})
        seen += w.until("ours/sub/f", kind)
    same(seen, [("create", "ours/sub"), ("create", "ours/sub/f"), ("modify", "ours/sub/f")],
         "a file is made, then modified; drafts are nobody's business")
    w.close()


try:
    run([every_kind_of_change_is_told, a_storm_on_one_file_is_one_event_at_a_time,
         names_may_be_anything, what_is_made_in_new_directories_is_told_once,
         what_is_in_a_directory_that_moves_on_is_seen,
         many_at_once_lose_nothing, directories_are_followed_where_they_go,
         what_is_excluded_is_not_looked_at, each_watch_hears_what_it_wants,
         links_are_not_followed_but_may_be_named, a_file_may_be_watched_and_replaced,
         what_we_write_ourselves_looks_as_it_should])
finally:
    box.close()
