#!/usr/bin/python3
"""Tests that links between our pages lead somewhere, that the README leads to every
page of docs/, and that it stays short."""
import glob
import os
import re
import sys

TOP = os.environ.get("top_srcdir", ".")
sys.path.insert(0, os.path.join(TOP, "t/lib"))
from tap import done, ok  # noqa: E402

README_LINES = 200
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"(?ms)^```.*?^```|`[^`\n]*`")


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        return f.read()


def anchors(text):
    """The names that a page's headings get: lower case, dashes, no signs."""
    text = re.sub(r"(?ms)^```.*?^```", "", text)
    for heading in re.findall(r"(?m)^#+ +(.*)$", text):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def broken(page):
    for link in LINK.findall(CODE.sub("", read(page))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(os.path.join(TOP, target)):
            yield f"{page}: {link}: there is no {target}"
        elif anchor and anchor not in set(anchors(read(target))):
            yield f"{page}: {link}: {target} has no such heading"


def main():
    pages = [os.path.relpath(p, TOP) for p in sorted(
        glob.glob(os.path.join(TOP, "*.md")) + glob.glob(os.path.join(TOP, "docs/*.md")) +
        glob.glob(os.path.join(TOP, "src/**/*.md"), recursive=True) +
        glob.glob(os.path.join(TOP, "[st]*/README.md")))]
    ok("README.md" in pages and len(pages) > 10, "the pages are found", repr(pages))
    for page in sorted(set(pages)):
        wrong = list(broken(page))
        ok(not wrong, f"every link of {page} leads somewhere", "\n".join(wrong))

    linked = " ".join(LINK.findall(read("README.md")))
    for page in pages:
        if page.startswith("docs/"):
            ok(page in linked, f"the README leads to {page}")
    lines = read("README.md").count("\n")
    ok(lines <= README_LINES, f"README.md has at most {README_LINES} lines", f"it has {lines}")
    done()


main()
