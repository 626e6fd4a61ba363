#!/usr/bin/python3
"""Tests that init finds wrappers of an older version, which have no cell, by their markers."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, eventually, new_session  # noqa: E402
from tap import ok, run, same  # noqa: E402

OLD, HIDDEN, DEAF, MANY = [new_session() for _ in range(4)]
# These processes have no capabilities, like a wrapper: init could not read the
# environment of a process that has some.
SLEEP = "setpriv --ambient-caps -all --inh-caps -all sleep 1000 &"
box = Box(before=f"""
SANDLEASE_SESSION_ID={OLD} SANDLEASE_INSTANCE_ID=old SANDLEASE_GENERATION=2 {SLEEP}
NOTE=SANDLEASE_SESSION_ID={HIDDEN} {SLEEP}
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do SANDLEASE_SESSION_ID={MANY} {SLEEP} done
trap '' TERM
SANDLEASE_SESSION_ID={DEAF} SANDLEASE_INSTANCE_ID=$(printf '\\377') {SLEEP}
trap - TERM
""")


def look(session, **fields):
    return box.ask("look", session=session, **fields)["wrappers"]


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


def it_is_given_the_time_that_was_asked_for():
    with box.connect() as waiting:
        waiting.send(json.dumps({"op": "look", "incarnation": box.incarnation, "session": OLD,
                                 "waitMs": 10000}).encode())
        box.ask("ping")  # init has read the earlier request by then
        ok(box.ask("term", session=OLD)["ok"], "SIGTERM reaches it")
        same(json.loads(waiting.recv(65536))["wrappers"], [], "a look waits until it is gone")


def one_that_does_not_hear_is_killed():
    there = [{"instance": "", "generation": 0}]
    ok(eventually(lambda: look(DEAF) == there), "a name that is no name hides nobody")
    box.ask("term", session=DEAF)
    same(look(DEAF, waitMs=100), there, "a look whose time is over says who is left")
    same(box.ask("kill", session=DEAF, waitMs=10000)["wrappers"], [], "SIGKILL ends it")


def all_of_them_are_ended():
    # 13 with the HIDDEN process; a process has its marker once it has become sleep
    ok(eventually(lambda: len(box.named("sleep")) == 13), "twelve are there")
    same(len(look(MANY)), 8, "a list has an end")
    same(box.ask("kill", session=MANY, waitMs=10000)["wrappers"], [], "SIGKILL reaches the others as well")


try:
    run([a_wrapper_outside_every_cell_is_found, nobody_in_a_cell_passes_for_another_session,
         it_is_given_the_time_that_was_asked_for, one_that_does_not_hear_is_killed,
         all_of_them_are_ended])
finally:
    box.close()
