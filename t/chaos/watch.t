#!/usr/bin/python3
"""watch.t: tests that the watcher of chaos reports two wrappers of one session,
and nothing else."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import audit
import faults
import service
import tap

if not os.path.exists(faults.WATCH):
    tap.skip_all("there is no build with faults (./dev check makes it)")


def pretender(session, generation, apart=True):
    """A process with the environment of a wrapper, in a cell of its own."""
    cell = ["unshare", "--user", "--pid", "--fork", "--kill-child"] \
        if apart else []
    return subprocess.Popen(
        cell + ["env", "SANDLEASE_SESSION_ID=" + session,
                "SANDLEASE_INSTANCE_ID=i",
                "SANDLEASE_GENERATION=%d" % generation, "sleep", "600"])


def let_it_look(watch, number):
    """Starts two wrappers of one session and waits until the watcher reports
    them: by then the watcher has seen all earlier processes, too."""
    session = "canar%d" % number + ME[6:]
    two = [pretender(session, 1), pretender(session, 2)]
    try:
        watch.wait_for_double(session, service.PATIENCE)
        assert session in watch.said, "the watcher does not look"
    finally:
        end(two)


def end(processes):
    for p in processes:
        p.kill()
        p.wait()


def watched(*processes, double=False):
    """The reports of the watcher while these processes live."""
    watch = faults.Watch()
    started = [p() for p in processes]
    try:
        service.until("all are there", lambda: len(pretenders()) == len(started))
        if double:
            watch.wait_for_double(ME, service.PATIENCE)
        else:
            let_it_look(watch, 1)
            let_it_look(watch, 2)
        lines, samples, seen = watch.end()
        return [l for l in lines if ME in l or OTHER in l], samples, seen
    finally:
        end(started)
        service.until("all are gone", lambda: not pretenders())


ME = "watch%015d" % os.getpid()
OTHER = "other" + ME[5:]


def pretenders():
    return [w for w in audit.wrappers() if w["session"] in (ME, OTHER)]


lines, samples, seen = watched(lambda: pretender(ME, 1, False))
tap.ok(samples > 1, "it looks again and again")
tap.ok(seen >= 5, "it sees a wrapper", seen)
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
