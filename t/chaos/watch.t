#!/usr/bin/python3
"""watch.t: the watcher of chaos sees two wrappers of one session, and only
those."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import audit
import faults
import service
import tap

if not os.path.exists(faults.WATCH):
    tap.skip_all("there is no build with faults (./dev check makes it)")


def pretender(session, generation, apart=True):
    """A process that has a wrapper's marks, in a cell of its own."""
    cell = ["unshare", "--user", "--pid", "--fork", "--kill-child"] \
        if apart else []
    return subprocess.Popen(
        cell + ["env", "SANDLEASE_SESSION_ID=" + session,
                "SANDLEASE_INSTANCE_ID=i",
                "SANDLEASE_GENERATION=%d" % generation, "sleep", "600"])


def watched(*processes, double=False):
    """What the watcher says while these live; double: once it says so."""
    watch = faults.Watch()
    started = [p() for p in processes]
    try:
        service.until("all are there", lambda: len(pretenders()) == len(started))
        if double:
            watch.wait_for_double(ME, service.PATIENCE)
        else:
            time.sleep(0.5)  # for it to be wrong in
        return watch.end()
    finally:
        for p in started:
            p.kill()
            p.wait()
        service.until("all are gone", lambda: not pretenders())


ME = "watch%015d" % os.getpid()
OTHER = "other" + ME[5:]


def pretenders():
    return [w for w in audit.wrappers() if w["session"] in (ME, OTHER)]


lines, samples, seen = watched(lambda: pretender(ME, 1, False))
tap.ok(samples > 1, "it looks again and again")
tap.ok(seen >= 1, "it sees a wrapper")
tap.same(lines, [], "one wrapper is none too many")

lines, _, _ = watched(lambda: pretender(ME, 1, False),
                      lambda: pretender(ME, 1, False))
tap.same(lines, [], "what a wrapper forks, in its own cell, is no second one")

lines, _, _ = watched(lambda: pretender(ME, 1), lambda: pretender(ME, 2),
                      double=True)
tap.ok(any("session=" + ME in l for l in lines),
       "two wrappers of one session are seen", lines)

lines, _, _ = watched(lambda: pretender(ME, 1), lambda: pretender(ME, 1),
                      double=True)
tap.ok(any("session=" + ME in l for l in lines),
       "also when they are of one generation", lines)

lines, _, _ = watched(lambda: pretender(ME, 1),
                      lambda: pretender(OTHER, 1))
tap.same(lines, [], "two sessions are not one")
tap.done()
