#!/usr/bin/python3
# long: the test ends 70,000 sessions one after the other
"""Tests that init launches, stops and refuses sessions correctly after more sessions have
ended than it could remember by number."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, new_session  # noqa: E402
from tap import ok, run, same  # noqa: E402

MANY = 70000  # more than a 16-bit counter holds

box = Box()


def now():
    """Returns the time in the form in which a launch states its intent."""
    return time.monotonic_ns() // 1000000


def stop(session):
    box.ask("seal", session=session, generation=1)
    return box.ask("kill", session=session, generation=1, waitMs=10000)  # wait: against hanging


def any_number_of_sessions_may_end_in_one_sandbox():
    lives = box.session()
    first, early = new_session(), now()
    same(box.ask("seal", session=first, generation=1)["wrappers"], [], "the first is sealed")
    refused = [a for a in (box.ask("seal", session=new_session(), generation=1)
                           for _ in range(MANY)) if not a.get("ok")]
    same(refused[:1], [], "each of %d sessions can be ended" % MANY)
    last = box.session(intentMs=now())
    same(box.run(last, "echo hi")["stdout"], "hi\n", "a session after them works")
    same(stop(last).get("wrappers"), [], "and is stopped")
    for name, session in (("the first", first), ("the last", last)):
        same(box.launch(session, generation=1, intentMs=early).get("code"), "stale_generation",
             name + " cannot come back by a launch that is late")
    same(box.launch(last, generation=2, intentMs=now()).get("ok"), True, "its next generation can")
    ok(box.run(lives, "true")["exitCode"] == 0, "who was there all the time lives on")


run([any_number_of_sessions_may_end_in_one_sandbox])
