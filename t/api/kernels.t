#!/usr/bin/python3
"""kernels.t: tests how Python, JavaScript and TypeScript run code."""
import base64
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import contexts
import service
from contexts import context, done, run
from service import call, create, execute, expect
from tap import case, equal, run as run_cases, true

service.begin()

SID = contexts.SID = create()["id"]
PY = context("python")
JS = context("javascript")
TS = context("typescript")
PNG = b"\x89PNG\r\n\x1a\n"


def shown(cid, code):
    """Returns the forms of the only result, without its type and metadata."""
    cell = done(cid, code)
    equal(len(cell.results), 1, "results of " + code)
    return {k: v for k, v in cell.results[0].items()
            if k not in ("type", "metadata")}


def failure(cid, code):
    """Returns (ename, evalue, traceback)."""
    end = run(cid, code).events[-1]
    equal(end["type"], "error", code)
    return end["ename"], end["evalue"], end["traceback"]


# ---- Python

@case
def python_shows_the_last_expression():
    for code, text in (("1 + 1", "2"), ("x = 'ü'\nx", "'ü'"), ("None", None),
                       ("x = 2", None), ("1;", None), ("", None),
                       ("# nothing", None), ("def f():\n  return 3\nf()", "3"),
                       ("_", "3"), ("for i in (1, 2): i", None)):
        equal([r["text"] for r in done(PY, code).results],
              [text] if text else [], code)
    equal(shown(PY, "{'a': [1, None, 'x']}"), {
        "text": "{'a': [1, None, 'x']}", "json": {"a": [1, None, "x"]}}, "json")
    equal(shown(PY, "[object, 1]")["text"], "[<class 'object'>, 1]", "no JSON")


@case
def python_shows_what_objects_say_of_themselves():
    r = shown(PY, """
class Rich:
    def __repr__(self): return "plain"
    def _repr_html_(self): return "<b>html</b>"
    def _repr_png_(self): return b"png bytes"
    def _repr_jpeg_(self): return b"jpeg bytes"
    def _repr_svg_(self): return "<svg/>"
    def _repr_latex_(self): return "$x$"
    def _repr_markdown_(self): return "*m*", {"isolated": True}
    def _repr_json_(self): return {"j": 1}
    def _repr_javascript_(self): raise ValueError
Rich()""")
    equal(r, {"text": "plain", "html": "<b>html</b>", "svg": "<svg/>",
              "png": base64.b64encode(b"png bytes").decode(),
              "jpeg": base64.b64encode(b"jpeg bytes").decode(),
              "latex": "$x$", "markdown": "*m*", "json": {"j": 1}}, "rich")
    equal([r["text"] for r in done(PY, "display(Rich, 2)\n3").results],
          ["<class '__main__.Rich'>", "2", "3"], "display")
    r = shown(PY, """
class Bundle:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": "t", "text/html": "h", "x/y": 1}
Bundle()""")
    equal(r, {"text": "t", "html": "h"}, "a bundle")


@case
def python_draws():
    cell = done(PY, "import matplotlib.pyplot as plt\n"
                "plt.plot([1, 2, 3])\nplt.figure(); plt.plot([3, 1]);")
    pngs = [base64.b64decode(r["png"]) for r in cell.results if "png" in r]
    equal([p[:8] for p in pngs], [PNG, PNG], "open figures are shown")
    equal((cell.stderr, run(PY, "plt.get_fignums()").text), ("", "[]"),
          "and closed")
    cell = done(PY, "fig, ax = plt.subplots()\nfig")
    equal([base64.b64decode(r["png"])[:8] for r in cell.results], [PNG],
          "a figure that is the value is shown once")
    equal(execute(SID, "python3 -c 'import matplotlib.pyplot as p; p.plot([1]);"
                  " p.savefig(\"/tmp/f.png\")' && head -c 4 /tmp/f.png | tail -c 3"),
          "PNG", "without a context too")


@case
def python_has_tables():
    r = shown(PY, "import pandas as pd\npd.DataFrame({'a': [1], 'b': ['x']})")
    true("<table" in r["html"] and "<td>x</td>" in r["html"], r["html"])
    equal(r["text"], "   a  b\n0  1  x", "text")


@case
def python_tells_errors_by_the_tenants_lines():
    ename, evalue, trace = failure(PY, "def g(n):\n    return 1 / n\n\ng(0)")
    equal((ename, evalue), ("ZeroDivisionError", "division by zero"), "error")
    equal([l.strip() for l in trace if "^" not in l][0::2],
          ["Traceback (most recent call last):", "g(0)", "return 1 / n"],
          "the lines of the cell")
    true(trace[-1] == "ZeroDivisionError: division by zero"
         and not any("kernel" in l for l in trace), trace)
    ename, _, trace = failure(PY, "a b")
    equal((ename, trace[1].strip()), ("SyntaxError", "a b"), "syntax")
    ename, evalue, trace = failure(
        PY, "try:\n    {}['k']\nexcept KeyError as e:\n"
        "    raise ValueError('second') from e")
    true(ename == "ValueError" and "KeyError: 'k'" in trace, trace)
    equal(failure(PY, "class E(Exception):\n  def __str__(self): 1/0\nraise E")[:2],
          ("E", ""), "one that cannot be shown")
    equal(failure(PY, "def r(): r()\nr()")[0], "RecursionError", "deep")
    ename, evalue, trace = failure(
        PY, "raise ValueError('\\n'.join(['\U0001f600' * 5000] * 300))")
    true(ename == "ValueError" and evalue and len(trace) > 100, "a large one")
    equal(run(PY, "1").text, "1", "afterwards")


@case
def python_is_not_ended_by_its_code():
    equal(failure(PY, "import sys; sys.exit(3)")[:2], ("SystemExit", "3"), "exit 3")
    done(PY, "exit()")
    equal(failure(PY, "input()")[0], "EOFError", "nothing comes in")
    cell = done(PY, "import threading\nts = [threading.Thread(target=display,"
                " args=(i,)) for i in range(20)]\n"
                "[t.start() for t in ts]\n[t.join() for t in ts];")
    equal(sorted(int(r["text"]) for r in cell.results), list(range(20)),
          "results of threads")
    cell = run(PY, "import os\npid = os.fork()\npid > 0")
    equal(cell.text, "True", "a fork that comes back is not a second kernel")
    equal(run(PY, "os.waitpid(pid, 0)[0] == pid").text, "True", "and has ended")
    done(PY, "os.closerange(3, 64)")
    equal(run(PY, "2").text, "2", "the channel is out of the way")
    done(PY, "sys.stdout = None")
    equal(run(PY, "print(1)\n5").text, "5", "without stdout")
    equal(run(PY, "sys.stdout = sys.__stdout__; print(6)").stdout, "6\n", "with it")


@case
def python_knows_the_short_forms_of_notebooks():
    cell = done(PY, "%matplotlib inline\nif True:\n    !echo said; echo bad >&2\n"
                "%cd /tmp\nimport os; os.getcwd()")
    equal((cell.stdout, cell.stderr, cell.text), ("said\n", "bad\n", "'/tmp'"), "all")
    done(PY, "%cd /workspace")
    true("pip" in done(PY, "!true\n%pip --version || echo no pip").stdout, "pip")
    ename, _, trace = failure(PY, "!true\n1 +")
    equal((ename, trace[1].strip()), ("SyntaxError", "1 +"), "what is wrong is not hidden")


@case
def python_awaits():
    equal(run(PY, "import asyncio\nawait asyncio.sleep(0, 'done')").text,
          "'done'", "await")
    equal(run(PY, "async def f(): return 4\nasyncio.run(f())").text, "4", "run")


@case
def python_finds_modules_of_its_directory():
    expect(200, call("POST", service.at(SID, "/api/write"), {
        "path": "/workspace/mine.py", "content": "value = 7\n"}))
    equal(run(PY, "import mine; mine.value").text, "7", "module")
    equal(run(PY, "import pickle\nclass P: pass\n"
              "type(pickle.loads(pickle.dumps(P()))) is P").text, "True", "pickle")
    names = ("enum", "re", "signal", "json", "base64")
    for name in names:
        execute(SID, "echo 'raise SystemExit(name)' > /workspace/%s.py" % name)
    cid = context("python")
    equal(run(cid, "import enum, mine; mine.value").text, "7",
          "which are not taken for the kernel's own")
    contexts.delete(cid)
    execute(SID, "cd /workspace && rm " + " ".join(n + ".py" for n in names))


# ---- JavaScript

@case
def javascript_keeps_names_and_allows_them_again():
    done(JS, "const a = 1; let b = 2; function f() { return a + b; } class C {}")
    equal(run(JS, "f()").text, "3", "state")
    done(JS, "const a = 10; let b = 20; class C { x = 1 }")
    equal(run(JS, "[a, b, new C().x]").results[0]["json"], [10, 20, 1], "again")


@case
def javascript_shows_the_last_expression():
    for code, text in (("1 + 1", "2"), ("'ü😀'", "'ü😀'"), ("undefined", None),
                       ("let u = 1", None), ("null", "null"), ("-0", "-0"),
                       ("10n ** 20n", "1" + "0" * 20 + "n"), ("NaN", "NaN"),
                       ("Symbol('s')", "Symbol(s)"), ("// nothing", None),
                       ("new Map([[1, 2]])", "Map(1) { 1 => 2 }"), ("", None)):
        equal([r["text"] for r in done(JS, code).results],
              [text] if text else [], code)
    equal(shown(JS, "({ a: [1, null, 'x'] })"), {
        "text": "{ a: [ 1, null, 'x' ] }", "json": {"a": [1, None, "x"]}}, "json")
    equal(shown(JS, "const o = {}; o.self = o; o"),
          {"text": "<ref *1> { self: [Circular *1] }"}, "no JSON")
    equal(shown(JS, "({ [Symbol.for('Jupyter.display')]() {"
                " return { 'text/plain': 't', 'text/html': '<b>' } } })"),
          {"text": "t", "html": "<b>", "json": {}}, "rich")
    equal([r["text"] for r in done(JS, "display(1, [2]); 3").results],
          ["1", "[ 2 ]", "3"], "display")


@case
def javascript_awaits_requires_and_imports():
    equal(run(JS, "await new Promise((r) => setTimeout(r, 5, 'late'))").text,
          "'late'", "await")
    equal(run(JS, "require('path').join('a', 'b')").text, "'a/b'", "require")
    equal(run(JS, "(await import('node:path')).join('a', 'b')").text, "'a/b'",
          "import()")
    done(JS, "import fs, { existsSync as there } from 'fs';"
         " import * as os from 'os'; import 'util';")
    equal(run(JS, "[there('/tmp'), fs.existsSync('/no'), typeof os.cpus]")
          .results[0]["json"], [True, False, "function"], "import")
    equal(run(JS, "`import x from 'y'`").text, '"import x from \'y\'"', "a string")
    equal(failure(JS, "import 'no-such-module'")[0], "Error", "what is not there")
    cell = done(JS, "for (let i = 0; i < 50; i++) { console.log(i); display(i); }")
    equal([e["text"].strip() for e in cell.events[:-1]],
          [str(i // 2) for i in range(100)], "output and results are in order")
    cell = done(JS, "console.log('out', process.env.HOME); console.error('err')")
    equal((cell.stdout, cell.stderr), ("out /home/user\n", "err\n"), "console")


@case
def javascript_tells_errors_by_the_tenants_lines():
    ename, evalue, trace = failure(JS, "function g() {\n  null.x;\n}\ng();")
    equal(ename, "TypeError", "error")
    true(trace[0] == "TypeError: " + evalue and len(trace) == 3 and
         ":2:8)" in trace[1] and ":4:1" in trace[2], trace)
    equal(failure(JS, "let let = 1")[0], "SyntaxError", "syntax")
    equal(failure(JS, "throw 'words'")[:2], ("Thrown", "'words'"), "no error")
    ename, evalue, trace = failure(
        JS, "throw new RangeError(Array(300).fill('ü'.repeat(5000)).join('\\n'))")
    true(ename == "RangeError" and evalue and len(trace) == 200, "a large one")
    equal(failure(JS, "throw Object.defineProperty(new Error, 'stack',"
                  " { get() { throw 1; } })")[:2], ("Error", ""),
          "one that cannot be shown")
    equal(failure(JS, "await Promise.reject(new RangeError('r'))")[:2],
          ("RangeError", "r"), "a promise")
    cell = done(JS, "setTimeout(() => { throw new Error('stray') }, 1);"
                " await new Promise((r) => setTimeout(r, 50))")
    true("stray" in cell.stderr, cell.events)


@case
def javascript_is_not_ended_by_its_code():
    equal(failure(JS, "process.exit(3)")[:2], ("Exit", "process.exit(3)"), "exit 3")
    done(JS, "process.exit()")
    equal(run(JS, "a").text, "10", "state")
    cid = context("javascript")
    equal(run(cid, "require('fs').closeSync(3)").error[0], "KernelDied",
          "it has closed its channel")
    equal(run(cid, "1").text, "1", "and is replaced")
    contexts.delete(cid)


@case
def javascript_loses_no_output():
    for cid in (JS, TS):
        cell = done(cid, "for (let i = 0; i < 40; i++)"
                    " console.log('y'.repeat(99999));"
                    " console.error('z'.repeat(999999))")
        equal((len(cell.stdout), len(cell.stderr)), (4000000, 1000000), "all")


@case
def javascript_is_interrupted():
    for code in ("while (true) {}", "await new Promise(() => {})",
                 "require('child_process').execSync('sleep 9000')"):
        # wait: none of these ends by itself, so only the limit ends it
        cell = run(JS, code, timeout_ms=300)
        equal(cell.error, ("TimeoutError", "Execution timed out after 300ms;"
                           " the context keeps its state"), code)
        equal(run(JS, "a").text, "10", "state after " + code)
    # wait: 3 s to reach the loop, which takes milliseconds
    equal(run(JS, "setImmediate(() => { while (true) {} }); await new Promise("
              "() => {})", timeout_ms=3000).error[0], "TimeoutError",
          "where it cannot be interrupted")
    equal(failure(JS, "a")[0], "ReferenceError", "it is replaced")


@case
def javascript_has_variables_of_a_call():
    equal(run(JS, "process.env.WHO", env_vars={"WHO": "call"}).text, "'call'", "set")
    equal(run(JS, "process.env.WHO ?? 'none'").text, "'none'", "and gone")


# ---- TypeScript

@case
def typescript_is_javascript_with_types():
    done(TS, "interface P { a: number }\nenum Color { Red, Green }\n"
         "const twice = (p: P): number => p.a * 2;\nimport * as path from 'path';")
    equal(run(TS, "twice({ a: 4 } as P) + Color.Green").text, "9", "state")
    equal(run(TS, "path.basename('a/b')").text, "'b'",
          "what is imported in one cell is there in the next")
    equal(run(TS, "const x: number = await Promise.resolve(3); x").text, "3", "await")
    equal(failure(TS, "const = 3")[0], "SyntaxError", "syntax")
    equal(failure(TS, "throw new TypeError('t')")[:2], ("TypeError", "t"), "error")


sys.exit(run_cases(lambda: None))
