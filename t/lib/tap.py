"""tap.py: test cases as functions whose names are sentences, printed as TAP."""
import sys
import traceback

CASES = []


class Skip(Exception):
    """Raised by a case that cannot be tried here; its text says why."""


def case(function):
    CASES.append(function)
    return function


def equal(got, wanted, what="value"):
    if got != wanted:
        raise AssertionError("%s: got %r, wanted %r" % (what, got, wanted))


def true(claim, what):
    if not claim:
        raise AssertionError(what)


def run(before, *arguments):
    """Calls before(), then the case with `arguments`, for every case; the
    exit status says if all passed."""
    failed = 0
    print("1..%d" % len(CASES))
    for number, function in enumerate(CASES, 1):
        name = function.__name__.replace("_", " ")
        try:
            before()
            function(*arguments)
            print("ok %d - %s" % (number, name), flush=True)
        except Skip as why:
            print("ok %d - %s # SKIP %s" % (number, name, why), flush=True)
        except Exception:
            failed += 1
            print("not ok %d - %s" % (number, name))
            for line in traceback.format_exc().splitlines():
                print("# " + line)
            sys.stdout.flush()
    return 1 if failed else 0
