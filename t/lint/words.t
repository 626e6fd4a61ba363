#!/usr/bin/python3
"""Comments name their subject, and one thing has one name (src/GLOSSARY.md)."""
import glob
import os
import re
import sys

TOP = os.environ.get("top_srcdir", ".")
sys.path.insert(0, os.path.join(TOP, "t/lib"))
from tap import done, ok  # noqa: E402

# Words that comments used for a subject without a name.
NAMELESS = re.compile(r"\b(whoever|whomever|whosoever|somebody|someone)\b", re.I)
# A comment, or a sentence in one, that begins without a noun.
BEGINS = re.compile(r"^(what|who|whom|whose|it|they|he)\b", re.I)
SENTENCE = re.compile(r"[.;:!?]\s+(Who|Whom|Whose)\b(?![^.]*\?)")

# A word of ours that the field has a name for, and that name.
RETIRED = {
    "scene": "request context", "draft": "temporary file", "drafts": "temporary files",
    "fittings": "environment and ports", "furnish": "write files", "furniture": "contents",
    "wish": "request, options", "wishes": "requests, options", "glance": "try",
    "treeend": "tree_end",
}
# PostgreSQL cannot rename a parameter of a function that old programs call.
KEPT = re.compile(r"\bp_wish\b")


def c_comments(text):
    """(line, comment) of each comment; strings are stepped over."""
    token = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
    for m in token.finditer(text):
        if m.group().startswith(("/*", "//")):
            body = m.group().strip("/").strip("*")
            body = re.sub(r"\n\s*\* ?", "\n", body)
            yield text.count("\n", 0, m.start()) + 1, body.strip()


def sql_comments(text):
    """The same for SQL: lines of -- that follow each other are one."""
    block, first = [], 0
    for n, line in enumerate(text.split("\n") + [""], 1):
        m = re.match(r"\s*-- ?(.*)", line)
        if m and not re.match(r"(name|params):", m.group(1)):
            first = first or n
            block.append(m.group(1))
            continue
        if block:
            yield first, "\n".join(block).strip()
            block, first = [], 0
        m = re.search(r"[^'-]\s--\s+(.*)", line)
        if m:
            yield n, m.group(1)


def first_words(body):
    """Where a comment's first sentence begins: after a file's own name."""
    return re.sub(r"^[\w./-]+\.(c|h|sql):\s*", "", re.sub(r"^-+\s*", "", body))


def complaints(body):
    for m in NAMELESS.finditer(body):
        yield "'%s' has no name" % m.group()
    if BEGINS.search(first_words(body)):
        yield "it begins with '%s'" % first_words(body).split()[0]
    for m in SENTENCE.finditer(re.sub(r"\s+", " ", body)):
        yield "a sentence begins with '%s'" % m.group(1)


def main():
    found, retired = [], []
    files = [(f, c_comments) for d in ("src", "t")
             for f in glob.glob(TOP + "/%s/**/*.[ch]" % d, recursive=True)]
    files += [(f, sql_comments) for f in glob.glob(TOP + "/sql/**/*.sql", recursive=True)]
    for path, comments in sorted(files, key=lambda f: f[0]):
        name = os.path.relpath(path, TOP)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for line, body in comments(text):
            found += ["%s:%d: %s" % (name, line, c) for c in complaints(body)]
        if name.startswith("t/"):  # names of cases are sentences
            continue
        for n, line in enumerate(text.split("\n"), 1):
            retired += ["%s:%d: '%s': say %s" % (name, n, w, RETIRED[w.lower()])
                        for w in re.findall(r"[A-Za-z]+", KEPT.sub("", line))
                        if w.lower() in RETIRED]
    ok(not found, "comments name their subject", "\n".join(found))
    ok(not retired, "words that were replaced do not come back", "\n".join(retired))
    done()


main()
