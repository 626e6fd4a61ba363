#!/usr/bin/python3
"""waits.t: tests that every sleep and every number of seconds in a test has a
comment that says why the test cannot fail on a loaded machine.

    t/lint/waits.t --list [PATH...]    prints all of them with their reasons

The reason is a comment that begins with `wait:`, on the line or right before
it.  A named limit (PATIENCE, SOON_MS) has it once, where the name gets its
number.  Two kinds of `sleep` need none: one of 100 s or more, which is a job
that a test starts, and one in a loop of a command, between two looks.
"""
import ast
import io
import os
import re
import subprocess
import sys
import tokenize

TOP = os.path.abspath(os.environ.get("top_srcdir", "."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import tap

REASON = re.compile(r"(?:#|//|/\*|\*)\s*wait:\s*(\S.*?)\s*(?:\*/)?\s*$")
COMMENT = re.compile(r"\s*(#|//|/\*|\*)")

LIMIT = r"\b[A-Z][A-Z_]*(?:_MS|_S|SECONDS)\s*=[^=;]*[0-9]|\bPATIENCE\s*=[^=]"
# a number of seconds in the code of a language that is not Python
WAITS = {
    "c": [LIMIT, r"\b(?:u|nano)?sleep\(", r"\balarm\([1-9]",
          r"\bpoll\([^;()]*, [1-9][0-9]*\)", r"\bclock_[mu]s\(\) \+ [1-9]",
          r"\bclock_[mu]s\(\) - .*[<>]", r"\bclock_left_ms\(.*[<>]=? [1-9]",
          r"\b(?:wait|timeout)_ms = [1-9]"],
    "mjs": [LIMIT, r"\b(?:setTimeout|pause)\(", r"\btimeout\w*: [1-9]",
            r"\bDate\.now\(\) [-+] [\w.]+ ?[<>]|\bDate\.now\(\) \+ [1-9]",
            r"\bAbortSignal\.timeout\("],
    "sh": [LIMIT, r"(?:^|[;&|({]|\b(?:do|then|else))\s*sleep [\"$]",
           r"(?<![-\w])timeout (?:-\S+ (?:[0-9]+ )?)*[0-9]", r"\b(?:wait_for|daemon_wait \S+|daemon_stop \S+ \S+) [1-9]",
           r"\bread\b.* -t ?[1-9]",
           r"\bcurl\b.* (?:-m|--max-time|--connect-timeout) ?[1-9]",
           r"\bSECONDS\s*(?:[-<>]|-[lg][te]\b)"],
}
# in any language, in strings too: commands that a test gives to a shell
IN_TEXTS = re.compile(r"\bsleep[ (]\(?([0-9.]+)|timeoutMs\"?[=:] ?[1-9]")
LOOP = re.compile(r"\b(?:while|until|for)\b.*\bsleep|\bsleep [0-9.]+; *done")
# calls of Python whose numbers are seconds
CALLS = {"settimeout", "wait", "join", "until", "eventually", "wait_until",
         "wait_for_double", "select", "alarm", "result", "create_connection"}
CLOCKS = {"monotonic", "time", "perf_counter"}


def name(node):
    return getattr(node, "attr", None) or getattr(node, "id", "")


def number(node):
    """Whether the expression contains a number other than 0."""
    return any(isinstance(n, ast.Constant) and isinstance(n.value, (int, float))
               and not isinstance(n.value, bool) and n.value
               for n in ast.walk(node))


def is_seconds(node):
    """Whether it is a sum of numbers and names; `"%s" % 5` and `[x] * 5` are not."""
    parts = (ast.Constant, ast.BinOp, ast.Name, ast.Attribute, ast.operator, ast.expr_context)
    return number(node) and all(isinstance(n, parts) and not isinstance(
        getattr(n, "value", None), (str, bytes)) for n in ast.walk(node))


def reads_clock(node):
    return any(isinstance(n, ast.Call) and name(n.func) in CLOCKS
               and isinstance(n.func, ast.Attribute) and name(n.func.value) == "time"
               for n in ast.walk(node))


def is_wait(node):
    if isinstance(node, ast.Call):
        if name(node.func) == "sleep" and name(getattr(node.func, "value", None)) == "time":
            return True
        if any(k.arg and k.arg.startswith(("timeout", "seconds")) and number(k.value)
               for k in node.keywords):
            return True
        return name(node.func) in CALLS and any(is_seconds(a) for a in node.args)
    if isinstance(node, (ast.Compare, ast.BinOp)):
        return reads_clock(node) and number(node)
    if isinstance(node, ast.Assign):
        return bool(re.fullmatch(r"PATIENCE|[A-Z_]+_(MS|S|SECONDS)", name(node.targets[0]))
                    ) and number(node.value)
    if isinstance(node, ast.arguments):
        given = list(zip((node.posonlyargs + node.args)[::-1], node.defaults[::-1]))
        return any(re.match("timeout|seconds|patience", a.arg) and number(d) for a, d in given)
    return False


def waits_of_python(text):
    """The lines on which a wait begins and ends."""
    for node in ast.walk(ast.parse(text)):
        if is_wait(node):
            if isinstance(node, ast.arguments):
                yield node.args[0].lineno, node.args[-1].end_lineno
            else:
                yield node.lineno, node.end_lineno


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def without_comments(language, text):
    if language == "python":
        lines = text.splitlines(keepends=True)
        for t in tokenize.generate_tokens(io.StringIO(text).readline):
            if t.type == tokenize.COMMENT:
                row = t.start[0] - 1
                lines[row] = lines[row][:t.start[1]] + "\n"
        return "".join(lines)
    if language == "sh":
        return re.sub(r"(?m)(?:^|(?<=\s))#.*$", blank, text)
    return re.sub(r"(?s)/\*.*?\*/|(?m:(?<![:\w])//.*$)", blank, text)


def without_texts(language, text):
    if language == "sh":
        return text  # "$(...)" is code
    quoted = r'"(?:\\.|[^"\\\n])*"' + (r"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`"
                                      if language == "mjs" else "")
    return re.sub(quoted, blank, text)


def waits(language, text):
    """(first line, last line) of each wait, counted from 1."""
    if language == "python":
        yield from waits_of_python(text)
    bare = without_comments(language, text)
    for row, line in enumerate(bare.splitlines(), 1):
        found = list(IN_TEXTS.finditer(line))
        if any(not m[1] or 0 < float(m[1].rstrip(".") or 0) < 100 and not LOOP.search(line)
               for m in found):
            yield row, row
    for row, line in enumerate(without_texts(language, bare).splitlines(), 1):
        if any(re.search(p, line) for p in WAITS.get(language, ())):
            yield row, row


def reason(lines, first, last):
    """The reason in the wait's comment; "" without one."""
    rows = list(range(first - 1, last))
    while rows[0] > 0 and COMMENT.match(lines[rows[0] - 1]):
        rows.insert(0, rows[0] - 1)
    if rows[0] == first - 1 and first > 1:
        rows.insert(0, first - 2)
    return next((m[1] for m in (REASON.search(lines[r]) for r in rows) if m), "")


def language_of(path, text):
    end = os.path.splitext(path)[1]
    shebang = text.partition("\n")[0]
    if end == ".py" or "python" in shebang:
        return "python"
    if end in (".c", ".h", ".mjs"):
        return end[1:].replace("h", "c")
    return "sh" if end == ".sh" or re.match(r"#!.*sh$", shebang) else None


def look(text, language):
    """(line, code, reason) of every wait, once for each line."""
    lines = text.splitlines()
    found = {}
    for first, last in sorted(waits(language, text)):
        found[first] = (first, lines[first - 1].strip(), found.get(first, ("",) * 3)[2]
                        or reason(lines, first, last))
    return list(found.values())


def files():
    for folder, below, names in os.walk(os.path.join(TOP, "t")):
        below[:] = [d for d in below if d not in ("node_modules", "corpus", "bench", "__pycache__")]
        for n in names:
            path = os.path.relpath(os.path.join(folder, n), TOP)
            if path != "t/lint/waits.t" and not n.endswith((".md", ".mk", ".json", ".pml")):
                yield path


def all_waits(only=()):
    for path in sorted(files()):
        if only and not path.startswith(tuple(only)):
            continue
        with open(os.path.join(TOP, path), encoding="utf-8", errors="replace") as f:
            text = f.read()
        language = language_of(path, text)
        if language:
            yield path, look(text, language)


# waits that this test must find, and code that it must not take for a wait
FINDS = [
    ("python", "time.sleep(0.5)"), ("python", "x.settimeout(5)"),
    ("python", "call(a,\n     timeout=5)"), ("python", "until('x', f, 20)"),
    ("python", "ok(time.monotonic() - t < 3)"), ("python", "def f(timeout=5): pass"),
    ("python", "run(s, 'true; sleep 0.5')"), ("python", "PATIENCE = 60"),
    ("python", "p.wait(timeout=60)"), ("python", "run(s, 'x', timeoutMs=300)"),
    ("c", "usleep(10);"), ("c", "poll(&p, 1, 500);"), ("c", "enum { SOON_MS = 5000 };"),
    ("c", "f(clock_ms() + 20, &e);"), ("c", "alarm(60);"),
    ("sh", "sleep 1"), ("sh", "timeout 5 true"), ("sh", "wait_for 10 f"), ("sh", "daemon_stop x INT 5"),
    ("sh", "do sleep \"$x\""), ("sh", "read -t 5 x"), ("sh", "curl -s -m 5 u"),
    ("sh", "[ $SECONDS -lt 5 ]"), ("mjs", "await pause(50);"),
    ("mjs", "f({ timeoutMs: 300 });"), ("mjs", "t.says('a; sleep 0.2')"),
]
IGNORES = [
    ("python", "run(s, 'sleep 1000 &')"), ("python", "until('x', f)"),
    ("python", "x.settimeout(PATIENCE)"), ("python", "t.join(service.PATIENCE)"),
    ("python", "'until [ -e go ]; do sleep 0.1; done'"), ("python", "# time.sleep(1)"),
    ("python", "a, b = time.monotonic(), 'usleep(5)'"), ("python", "'/'.join(['d'] * 60)"),
    ("python", "until('%s' % 5, f)"),
    ("c", "f(clock_ms() + SOON_MS);"), ("c", "poll(&p, 1, 0);"), ("c", "run(\"usleep(5)\");"),
    ("sh", "exec -- sleep 600 &"), ("sh", "wait_for \"$PATIENCE\" f"), ("sh", "# sleep 1"),
    ("mjs", "t.start('sleep 600')"), ("mjs", "// pause(5)"),
]
REASONS = [("python", "# wait: why\ntime.sleep(1)"), ("sh", "sleep 1 # wait: why"),
           ("c", "/* wait: why */\nusleep(5);"), ("c", "/* wait: why\n * so */\nusleep(5);"),
           ("mjs", "await pause(5); // wait: why"), ("python", "f(a,  # wait: why\n  timeout=5)")]


def main():
    if sys.argv[1:2] == ["--list"]:
        for path, found in all_waits(sys.argv[2:]):
            for row, what, why in found:
                print("%s:%d: %s\n\t%s" % (path, row, what, why or "NO REASON"))
        return
    tap.same([c for c in FINDS if not look(c[1], c[0])], [], "waits are found")
    tap.same([c for c in IGNORES if look(c[1], c[0])], [], "and nothing else is")
    tap.same([c for c in FINDS if any(w[2] for w in look(c[1], c[0]))], [],
             "they have no reason when none is given")
    tap.same([c for c in REASONS if [w[2] for w in look(c[1], c[0])] != ["why"]], [],
             "and have it when one is")
    areas = {}
    for path, found in all_waits():
        bad = areas.setdefault("/".join(path.split("/")[:2]), [])
        bad += ["%s:%d: %s" % (path, row, what) for row, what, why in found if not why]
    for area, bad in sorted(areas.items()):
        tap.ok(not bad, "every wait in %s says why it cannot be red" % area,
               "\n".join(bad))
    tap.done()


main()
