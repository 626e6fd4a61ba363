#!/usr/bin/python3
"""Tests that init freezes and thaws cells in the order of its requests, refuses late
ones, and thaws a cell before ending it."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, new_session  # noqa: E402
from tap import run, same  # noqa: E402

box = Box()


class Freezer:
    """Stands in for the kernel's freezer file; word() is the last word written there."""

    def __init__(self):
        self.file = tempfile.TemporaryFile()

    def word(self):
        return os.pread(self.file.fileno(), 16, 0).decode()

    def freeze(self, session, order, **fields):
        return box.forward("freeze", session, [self.file.fileno()], order=order,
                           frozen="FROZEN", thawed="THAWED", **fields)


def thaw(session, order):
    return box.forward("thaw", session, order=order)


def a_cell_is_frozen_and_thawed():
    s, f = box.session(), Freezer()
    same((f.freeze(s, 1)["ok"], f.word()), (True, "FROZEN"), "freeze")
    same((thaw(s, 2)["ok"], f.word()), (True, "THAWED"), "thaw")
    same((f.freeze(s, 3)["ok"], f.word()), (True, "FROZEN"), "again")
    same((f.freeze(s, 3)["ok"], f.word()), (True, "FROZEN"), "the same order twice is harmless")
    box.ask("kill", session=s, waitMs=10000)


def an_order_that_comes_too_late_is_refused():
    s, f = box.session(), Freezer()
    f.freeze(s, 1)
    thaw(s, 2)
    same((f.freeze(s, 1).get("code"), f.word()), ("stale_order", "THAWED"),
         "a freeze that was overtaken by a thaw")
    f.freeze(s, 4)
    same((thaw(s, 3).get("code"), f.word()), ("stale_order", "FROZEN"),
         "a thaw that was overtaken by a freeze")
    same(box.ask("freeze", [f.file.fileno()], session=s, generation=9, order=9, frozen="F",
                 thawed="T").get("code"), "stale_generation", "another generation's")
    box.ask("seal", session=s, generation=1)
    same(f.freeze(s, 10).get("code"), "stale_generation", "one of a sealed generation")
    box.ask("kill", session=s, waitMs=10000)


def what_is_to_end_is_let_go():
    for op in ("term", "kill"):
        s, f = box.session(), Freezer()
        f.freeze(s, 1)
        box.ask(op, session=s, waitMs=10000)
        same(f.word(), "THAWED", op)
        box.ask("kill", session=s, waitMs=10000)


def nonsense_is_refused():
    s, f = box.session(), Freezer()
    same(box.forward("freeze", s, order=1, frozen="F", thawed="T").get("code"),
         "validation_failed", "no descriptor")
    same(box.forward("freeze", s, [f.file.fileno()], order=1).get("code"),
         "validation_failed", "no words")
    same(box.forward("freeze", s, [f.file.fileno()]).get("code"), "validation_failed", "no order")
    same(box.ask("freeze", [f.file.fileno()], session=new_session(), generation=1,
                 order=1).get("code"), "no_such_session", "no cell")
    same(box.forward("prove", s).get("output"), "ready", "the cell never noticed")
    box.ask("kill", session=s, waitMs=10000)


try:
    run([a_cell_is_frozen_and_thawed, an_order_that_comes_too_late_is_refused,
         what_is_to_end_is_let_go, nonsense_is_refused])
finally:
    box.close()
