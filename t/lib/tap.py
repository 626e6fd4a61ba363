"""tap.py: prints the Test Anything Protocol, and skips tests that cannot run."""
import os
import sys
import time
import traceback

# Seconds that anything may take that a test waits for.
# wait: against hanging, never a measure; t/mutation sets less
PATIENCE = int(os.environ.get("TAP_PATIENCE", 120))


class Hope:
    """The limit of a wait for an event on a stream whose heartbeats would keep a
    reader waiting for ever: call lives() at each heartbeat; it raises when the
    time is over."""

    def __init__(self):
        self.end = time.monotonic() + PATIENCE

    def lives(self):
        if time.monotonic() > self.end:
            raise AssertionError("nothing comes but heartbeats")


_count = 0
_failed = 0


def ok(claim, name, detail=""):
    global _count, _failed
    _count += 1
    if not claim:
        _failed += 1
    print(f"{'ok' if claim else 'not ok'} {_count} - {name}", flush=True)
    if not claim and detail != "":
        for line in str(detail)[:2000].splitlines():
            print(f"# {line}", flush=True)
    if not claim and os.environ.get("TAP_UNTIL_FAILURE"):
        sys.exit(1)  # the first failure is enough
    return bool(claim)


def same(got, want, name):
    return ok(got == want, name, f"got  {got!r}\nwant {want!r}")


class Skip(Exception):
    """Raised by a case that cannot be tried here; its text says why."""


def skip_all(why):
    if os.environ.get("SANDLEASE_MUST_RUN") == "1":
        ok(False, f"cannot run: {why}")
        done()
    print(f"1..0 # SKIP {why}", flush=True)
    sys.exit(0)


def failed():
    return _failed


def done():
    print(f"1..{_count}", flush=True)
    sys.exit(1 if _failed else 0)


def run(tests, *arguments):
    """Runs functions; the name of each is the sentence that it proves."""
    if callable(tests):
        return run_cases(tests, *arguments)
    for test in tests:
        try:
            test()
        except Skip as why:
            ok(True, "%s # SKIP %s" % (test.__name__.replace("_", " "), why))
        except Exception:  # one broken test must not hide the others
            ok(False, test.__name__.replace("_", " "), traceback.format_exc())
    done()


# ---- cases as functions that raise: for suites with one world for all

CASES = []


def case(function):
    CASES.append(function)
    return function


def equal(got, wanted, what="value"):
    if got != wanted:
        raise AssertionError(f"{what}: got {got!r}, wanted {wanted!r}")


def true(claim, what):
    if not claim:
        raise AssertionError(what)


def run_cases(before, *arguments):
    """Calls before(), then the case with `arguments`, for every case."""
    for function in CASES:
        name = function.__name__.replace("_", " ")
        try:
            before()
            function(*arguments)
            ok(True, name)
        except Skip as why:
            ok(True, f"{name} # SKIP {why}")
        except Exception:
            ok(False, name, traceback.format_exc())
    done()
