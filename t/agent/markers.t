#!/usr/bin/env python3
"""Wrappers of an older version, which no cell encloses, are found by their markers."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, eventually, new_session  # noqa: E402
from tap import ok, run, same  # noqa: E402

OLD, HIDDEN, DEAF = new_session(), new_session(), new_session()
box = Box(before=f"""
SANDLEASE_SESSION_ID={OLD} SANDLEASE_INSTANCE_ID=old SANDLEASE_GENERATION=2 sleep 1000 &
NOTE=SANDLEASE_SESSION_ID={HIDDEN} sleep 1000 &
(trap '' TERM; SANDLEASE_SESSION_ID={DEAF} SANDLEASE_INSTANCE_ID=deaf SANDLEASE_GENERATION=1 exec sleep 1000) &""")


def look(session):
    return box.ask("look", session=session)["wrappers"]


def a_wrapper_outside_every_cell_is_found():
    ok(eventually(lambda: look(OLD) == [{"instance": "old", "generation": 2}]),
       "look lists a wrapper of an older version, with what its markers say")
    same(box.ask("seal", session=OLD, generation=2)["wrappers"],
         [{"instance": "old", "generation": 2}], "and so does seal")
    same(look(HIDDEN), [], "a marker inside another value is none")
    same(look(new_session()), [], "another session has nothing of it")


def nobody_in_a_cell_passes_for_another_session():
    s = box.session()
    other = new_session()
    box.run(s, f"SANDLEASE_SESSION_ID={other} sleep 1000 &")
    same(look(other), [], "a process in a cell that forges a sibling's marker is not that sibling's")
    same(len(look(s)), 1, "and adds nothing to its own session, whose cell was counted")
    box.ask("kill", session=s, waitMs=10000)


def it_can_be_ended():
    ok(box.ask("term", session=OLD)["ok"], "SIGTERM reaches it")
    ok(eventually(lambda: look(OLD) == []), "and it is gone")
    deaf = [{"instance": "deaf", "generation": 1}]
    ok(eventually(lambda: look(DEAF) == deaf), "one that ignores SIGTERM runs")
    box.ask("term", session=DEAF)
    same(look(DEAF), deaf, "it is still there after it")
    box.ask("kill", session=DEAF, waitMs=10000)
    ok(eventually(lambda: look(DEAF) == []), "SIGKILL ends it")


try:
    run([a_wrapper_outside_every_cell_is_found, nobody_in_a_cell_passes_for_another_session,
         it_can_be_ended])
finally:
    box.close()
