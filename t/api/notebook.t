#!/usr/bin/python3
"""notebook.t: tests the notebook features beyond Python: IPython.display and magics."""
import base64
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import contexts
import service
from contexts import context, done, run
from service import at, call, create, execute, expect
from tap import Skip, case, equal, run as run_cases, true

service.begin()

SID = contexts.SID = create(isolation="session")["id"]
PY = context()
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def put(path, data):
    r = call("PUT", at(SID, "/files" + path), data)
    true(r.status in (200, 201), r)


def shown(code, cid=PY):
    """Returns the forms of the only result of a cell."""
    cell = done(cid, code)
    equal(len(cell.results), 1, "results of %r" % code)
    return {k: v for k, v in cell.results[0].items()
            if k not in ("type", "metadata", "timestamp")}


def refused(code):
    """Returns (name, message) of the error of a cell that fails."""
    last = run(PY, code).events[-1]
    equal(last["type"], "error", code)
    return last["ename"], last["evalue"]


# ---- IPython.display

@case
def what_ipython_display_has_is_shown():
    put("/workspace/dot.png", PNG)
    done(PY, "from IPython.display import (display, HTML, Markdown, Image, JSON, SVG,"
             " Javascript, Latex, Math, clear_output)")
    for code, form, wanted in (
            ("HTML('<b>x</b>')", "html", "<b>x</b>"),
            ("Markdown('# x')", "markdown", "# x"),
            ("Latex('$x$')", "latex", "$x$"),
            ("Math('x^2')", "latex", "$\\displaystyle x^2$"),
            ("SVG('<svg/>')", "svg", "<svg/>"),
            ("Javascript('1')", "javascript", "1"),
            ("JSON({'a': [1]})", "json", {"a": [1]}),
            ("JSON('[2]')", "json", [2]),
            ("Image('/workspace/dot.png')", "png", base64.b64encode(PNG).decode()),
            ("Image(filename='/workspace/dot.png')", "png", base64.b64encode(PNG).decode()),
            ("Image(open('/workspace/dot.png', 'rb').read())", "png",
             base64.b64encode(PNG).decode()),
            ("Image(url='https://example.com/x.png', width=5)", "html",
             '<img src="https://example.com/x.png" width="5"/>')):
        equal(shown(code).get(form), wanted, code)
        equal(shown("display(%s)" % code).get(form), wanted, "display(%s)" % code)
    equal(shown("display({'text/html': '<i>y</i>', 'text/plain': 'y'}, raw=True)"),
          {"html": "<i>y</i>", "text": "y"}, "raw")
    equal([r["text"] for r in done(PY, "display(1, 'a'); clear_output(); display(2)").results],
          ["1", "'a'", "2"], "display")
    equal(done(PY, "h = display(1, display_id='x'); h.update(2)").results[-1]["text"], "2", "update")


@case
def ipython_is_imported_as_people_do():
    cid = context()
    equal(shown("import IPython\nIPython.display.HTML('z')", cid)["html"], "z", "by its name")
    equal(shown("from IPython.core.display import HTML\nHTML('y')", cid)["html"], "y", "the old place")
    equal(run(cid, "IPython.get_ipython() is None").text, "True", "there is no shell of it")
    ename, evalue = refused("from IPython.display import Teapot")
    true(ename == "ImportError" and "Teapot" in evalue, evalue)
    ename, evalue = refused("import IPython.terminal")
    true(ename == "ModuleNotFoundError" and "IPython.terminal" in evalue, evalue)


@case
def a_real_ipython_wins():
    put("/workspace/IPython/__init__.py", b"real = True\n")
    equal(run(context(cwd="/workspace"), "import IPython; IPython.real").text, "True", "the tenant's")
    execute(SID, "rm -r /workspace/IPython")


@case
def plots_work_with_it():
    cid = context()
    if "no" in done(cid, "try:\n    import matplotlib\nexcept ImportError:\n    print('no')").stdout:
        raise Skip("no matplotlib")
    true(shown("import IPython.display\n%matplotlib inline\nimport matplotlib.pyplot as plt\n"
               "plt.plot([1, 2]);", cid)["png"].startswith("iVBOR"), "a figure")


# ---- commands

@case
def commands_know_the_variables():
    equal(done(PY, "x = 'a b'\n!echo {x.upper()} $x $HOME ${HOME}").stdout,
          "A B a b /home/user /home/user\n", "of Python first, then of the shell")
    equal(run(PY, "lines = !printf 'a\\nb\\n'\nlines").text, "['a', 'b']", "as a list")
    equal(done(PY, "for i in range(2):\n    !echo {i}\n").stdout, "0\n1\n", "in a loop")
    equal(run(PY, "!exit 3\n_exit_code").text, "3", "how it ended")
    equal(done(PY, "!echo a \\\n   b\nprint('%d'\n   % 5)").stdout, "a b\n5\n", "two lines")
    equal(run(PY, "7 \\\n% 4").text, "3", "what is Python stays Python")


@case
def pip_installs_what_the_next_line_imports():
    if "pip" not in execute(SID, "python3 -m pip --version 2>&1 || true"):
        raise Skip("no pip")
    execute(SID, "rm -rf ~/.local; mkdir -p /workspace/pkg && cd /workspace/pkg && "
                 "echo answer = 42 >quux.py && printf '%s\\n' 'from setuptools import setup' "
                 "'setup(name=\"quux\", version=\"1\", py_modules=[\"quux\"])' >setup.py")
    cid = context()
    cell = done(cid, "%pip install -q --no-index --no-build-isolation --no-use-pep517 "
                     "/workspace/pkg 2>/dev/null\nimport quux\nquux.answer")
    equal(cell.text, "42", "it is there at once")


# ---- magics

@case
def time_is_measured():
    cell = done(PY, "%time 6 * 7")
    true(cell.text == "42" and "Wall time:" in cell.stdout, cell.events)
    equal(run(PY, "y = %time 5 + 1\ny").text, "6", "and its value kept")
    true("per loop (mean" in done(PY, "%timeit -n 10 -r 3 sum(range(10))").stdout, "timeit")
    equal(run(PY, "r = %timeit -o -q -n 5 -r 2 1\nr.loops, len(r.all_runs)").text, "(5, 2)", "as a value")
    cell = done(PY, "%%time\na = 1\na + 1")
    true(cell.text == "2" and "CPU times:" in cell.stdout, cell.events)
    true("2 runs, 5 loops" in done(PY, "%%timeit -n 5 -r 2 q = 3\nq * 2").stdout, "a cell with a setup")


@case
def variables_and_directories_are_set():
    equal(done(PY, "%env FROB=1 2\n!echo $FROB").stdout, "env: FROB=1 2\n1 2\n", "set")
    equal(run(PY, "%env FROB").text, "'1 2'", "asked")
    true("no variable" in refused("%env NOPE")[1], "unknown")
    equal(run(PY, "%cd /usr/lib\n%cd ..\n%pwd").text, "'/usr'", "cd")
    equal(run(PY, "%cd\n%cd -\n%pwd").text, "'/usr'", "and back")
    done(PY, "%cd /workspace")


@case
def cells_of_other_languages_run():
    equal(done(PY, "%%bash\nfor i in 1 2; do echo $i; done").stdout, "1\n2\n", "bash")
    ename, evalue = refused("%%bash -e\nfalse\necho no")
    true(ename == "CalledProcessError" and "exit status 1" in evalue, evalue)
    equal(done(PY, "%%script sed s/a/b/\nbanana").stdout, "bbnana", "any program")
    equal(done(PY, "%%html\n<p>").results[0]["html"], "<p>", "html")
    equal(done(PY, "%%writefile f.txt\nline\n").stdout, "Writing f.txt\n", "writefile")
    equal(done(PY, "%%writefile -a f.txt\nmore\n").stdout, "Appending to f.txt\n", "and on")
    equal(execute(SID, "cat /workspace/f.txt"), "line\nmore\n", "it is there")
    equal(run(PY, "%%capture out\nprint('in')").stdout, "", "captured")
    equal(run(PY, "out.stdout").text, "'in\\n'", "and kept")


@case
def a_file_is_run_in_the_context():
    put("/workspace/r.py", b"import sys\nfrom_file = sys.argv[1:]\n")
    equal(run(PY, "%run r.py a b\nfrom_file").text, "['a', 'b']", "its names")


@case
def what_is_not_there_is_said_by_name():
    for code in ("%debug", "%%cython\nx"):
        ename, evalue = refused(code)
        true(ename == "UsageError" and code.split()[0] + " is not supported" in evalue
             and "%timeit" in evalue, evalue)
    cell = done(PY, "%load_ext autoreload\n%autoreload 2\n3")
    true(cell.text == "3" and "load_ext autoreload has no effect" in cell.stderr, cell.events)
    trace = run(PY, "x = 1\n%run nothere.py").events[-1]["traceback"]
    true(not any("kernel_" in line for line in trace) and any("line 2" in line for line in trace), trace)


@case
def a_magic_can_be_interrupted():
    # wait: however late the code begins, it is still running then
    cell = contexts.Cell(PY, "import time\n%time time.sleep(9999)", timeout_ms=1000)
    equal(cell.rest().events[-1]["type"], "error", "at its timeout")
    equal(run(PY, "8").text, "8", "and the context goes on")


sys.exit(run_cases(lambda: None))
