#!/usr/bin/python3
"""Tests that docs/network.md has every reason for which a connection is refused, with its
text and the status of an HTTP response, in the order of src/egress/serve/deny.c."""
import os
import re
import sys

TOP = os.environ.get("top_srcdir", ".")
sys.path.insert(0, os.path.join(TOP, "t/lib"))
from tap import done, ok, same  # noqa: E402

ROW = re.compile(r'\[DENY_\w+\] = \{ "(\w+)",\s+"([^"]+)"(?:,\s+(\d+))? \}')
TOLD = re.compile(r"(?m)^\| `(\w+)` \| `(network_[^`]+)`(?: \((\d+)\))? \|")


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        return f.read()


def main():
    source = read("src/egress/serve/deny.c")
    rows = [(word, text.replace("%s", "NAME"), status)
            for word, text, status in ROW.findall(source)]
    ok(len(rows) == source.count("[DENY_") and len(rows) > 10, "every row of the table is read",
       rows)
    same(TOLD.findall(read("docs/network.md")), rows, "the page has the same")
    done()


main()
