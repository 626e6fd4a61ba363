#!/usr/bin/python3
"""Tests that every case of the lease's contract is a test of that name.

A name is compared by its letters and digits only: a function's underscores and a
sentence's commas are the same.  A test's name may go on after the sentence.
"""
import os
import re
import sys

TOP = os.environ.get("top_srcdir", ".")
sys.path.insert(0, os.path.join(TOP, "t/lib"))
from tap import done, ok  # noqa: E402

# one line each; where a case has two halves, each half is one
CASES = """
a due clean-up is claimed before provider I/O
a stale watchdog expires without settling the late attempt
an expired readiness deadline is repaired when accepted work proves delivery
stopping one instance still requires the whole session to be gone
a failed look never kills and never releases; a second look that succeeds does
a permission error on a temporary file is not capacity evidence
a transient `df` failure rejects without destroying
backoff is kept while retention or deletion is pending
a warm reuse that fails invalidates the wrapper
a hot one leaves it alone
two creates with the same idempotency key make one sandbox; with a different body, 409
a worker stopped (SIGSTOP) between allocate and launch, a delete meanwhile, then SIGCONT: no wrapper
the same with ensure and destroy
and with PostgreSQL restarted in between
a child that double-forks, setsids, clears, overwrites or forges its environment, is non-dumpable, or forks without end, is gone after a stop, and the sibling's session never noticed
a reaper on another host, or of another installation, releases and destroys nothing
a reboot (another boot id) leaves sessions asleep with their files, not lost
retiring an idle shared sandbox while a session is being created: one of the two waits, nobody loses
a neighbour's full disk destroys nobody's sandbox
a session that is created and used 5 minutes later still runs
kill -9 of worker, reaper, agent, PostgreSQL at each step: after the next passes nothing is leaked, nothing is owned twice, nothing is lost
"""


def bare(text):
    return re.sub(r"[^a-z0-9]", "", text.lower())


def names(text):
    """The names that a file's tests may have: cases, strings that were joined,
    and the names of cmocka's tests."""
    for name in re.findall(r"(?m)^@case\ndef (\w+)\(", text):
        yield bare(name)
    for name in re.findall(r"WORLD_TEST\(\s*(\w+)\)", text):
        yield bare(name)
    for string in re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', text):
        yield bare(re.sub(r'"\s*"', "", string))


def main():
    found = set()
    for folder, _, files in os.walk(os.path.join(TOP, "t")):
        if os.path.basename(folder) == "lint":
            continue
        for name in files:
            if name.endswith((".t", ".py", ".c", ".sh")):
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    found.update(names(f.read()))
    for sentence in CASES.strip().splitlines():
        ok(any(n.startswith(bare(sentence)) for n in found),
           "there is a test: " + sentence)
    done()


main()
