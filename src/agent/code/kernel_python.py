"""kernel_python.py: runs the cells of one Python context.

kernel_start.c starts Python with this text on descriptor 0 and a socket on
descriptor 3; kernel.h describes the protocol.  Descriptors 1 and 2 are pipes.
This process and its children write to them without a buffer, so that output
keeps its place between the results.
"""
import ast
import builtins
import json
import linecache
import os
import re
import signal
import sys
import traceback
import types
from _thread import allocate_lock, get_ident
from base64 import b64encode

RESULT_MAX = 32 * 1024 * 1024
ERROR_MAX = 1024 * 1024  # the wrapper drops a longer error
TRACEBACK_MAX = 200  # lines
LINE_MAX = (4096, 256)  # the second if the first makes the error too long
NOTEBOOK = "kernel_notebook.py"
TRACEBACK_HEAD = "Traceback (most recent call last):"
CHANNEL = 1000  # so high that the tenant's code does not close it by accident
CO_COROUTINE = 0x80
SHORT_FORM = re.compile(
    r"^([ \t]*)([\w.,\[\]'\" ]+?[ \t]*=[ \t]*)?"
    r"(?:(!)|%([A-Za-z_]\w*))((?:.*\\\n)*.*)$", re.MULTILINE)
CELL_FORM = re.compile(r"\s*%%([A-Za-z_]\w*)[ \t]*(.*)\n?")

METHODS = (
    ("html", "_repr_html_"),
    ("markdown", "_repr_markdown_"),
    ("svg", "_repr_svg_"),
    ("png", "_repr_png_"),
    ("jpeg", "_repr_jpeg_"),
    ("latex", "_repr_latex_"),
    ("json", "_repr_json_"),
    ("javascript", "_repr_javascript_"),
)
MIMES = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
}


class Channel:
    """The socket to the wrapper."""

    def __init__(self):
        self.fd = self.move(3)
        self.lines = open(self.fd, "rb", closefd=False)
        self.lock = allocate_lock()
        self.main = get_ident()
        self.seq = 0
        self.running = False  # the tenant's code runs and may be interrupted
        self.sending = False  # a line must be sent whole: delay interrupts
        self.interrupted = False  # SIGINT came while sending
        signal.signal(signal.SIGINT, self.on_interrupt)

    @staticmethod
    def move(fd):
        import fcntl
        for least in (CHANNEL, fd + 1):
            try:
                moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, least)
            except OSError:
                continue
            os.close(fd)
            return moved
        raise SystemExit("no descriptor left")

    def on_interrupt(self, *_):
        if not self.running:
            return
        if self.sending:
            self.interrupted = True
        else:
            raise KeyboardInterrupt

    def send(self, kind, text, wait=False):
        """Sends a line; `wait`: until the wrapper has read it."""
        with self.lock:
            if wait and not self.running:
                return  # a thread of an ended cell: no cell takes its result
            line = memoryview(b"%s %d %s\n" % (kind, self.seq, text))
            while line:
                line = line[os.write(self.fd, line):]
            if wait:
                self.lines.readline()

    def send_whole(self, *what):
        """Sends a line whole and delays SIGINT, which only the main thread gets."""
        if get_ident() != self.main:
            return self.send(*what)
        self.sending = True
        try:
            self.send(*what)
        finally:
            self.sending = False
        if self.interrupted:
            self.interrupted = False
            raise KeyboardInterrupt

    def requests(self):
        for line in self.lines:
            if line != b"\n":
                yield json.loads(line)


channel = Channel()
home = os.getpid()
space = types.ModuleType("__main__")
loop = None


# ---- results

def encode(body):
    return json.dumps(body, separators=(",", ":")).encode()


def as_text(data):
    return b64encode(data).decode() if isinstance(data, bytes) else data


def call_method(value, name, *arguments):
    """The result of a method of the value; None if it has none, or it fails."""
    method = getattr(type(value), name, None)
    if method is None or isinstance(value, type):
        return None
    try:
        said = method(value, *arguments)
    except Exception:
        return None
    return said[0] if isinstance(said, tuple) else said


def figure_png(figure):
    from io import BytesIO
    to = BytesIO()
    figure.savefig(to, format="png", bbox_inches="tight")
    return to.getvalue()


def is_figure(value):
    known = sys.modules.get("matplotlib.figure")
    return isinstance(value, getattr(known, "Figure", ()))


def plain_json(value):
    """The value, if JSON can represent it; else None."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None
    return value


def describe(value):
    """The members of a result event for the value."""
    shown = {}
    for mime, data in (call_method(value, "_repr_mimebundle_", None, None) or {}).items():
        if mime in MIMES and data is not None:
            shown[MIMES[mime]] = as_text(data)
    for member, method in METHODS:
        if member not in shown:
            said = call_method(value, method)
            if said is not None:
                shown[member] = as_text(said)
    if is_figure(value):
        shown["png"] = as_text(figure_png(value))
        sys.modules["matplotlib.pyplot"].close(value)
    if "json" not in shown and isinstance(value, (dict, list)):
        plain = plain_json(value)
        if plain is not None:
            shown["json"] = plain
    shown.setdefault("text", repr(value))
    return shown


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # the tenant's code may have replaced or closed the stream


def show(value):
    if not channel.running or os.getpid() != home:
        return  # a thread of an ended cell, or a forked process
    text = encode({"type": "result", **describe(value), "metadata": {}})
    if len(text) > RESULT_MAX:
        raise ValueError("a result of %d bytes: at most %d can be shown"
                         % (len(text), RESULT_MAX))
    flush()
    channel.send_whole(b"result", text, True)


def display(*values, **_):
    """Shows values in the way the last expression of a cell is shown."""
    for value in values:
        show(value)


def show_figures():
    """Shows the open figures, if the tenant's code has imported pyplot."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if not hasattr(pyplot, "get_fignums"):
        return
    for number in pyplot.get_fignums():
        show(pyplot.figure(number))


# ---- running

def remember(name, code):
    """Stores the code of a cell, so that tracebacks can show its lines."""
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)


class NotebookFinder:
    """Loads kernel_notebook.py when code first needs IPython or a magic."""
    loaded = None

    @classmethod
    def load(cls):
        if cls.loaded is None:
            module = types.ModuleType("kernel_notebook")
            exec(compile(notebook_text, NOTEBOOK, "exec"), module.__dict__)
            module.kernel = types.SimpleNamespace(
                show=show, as_text=as_text, value_of=value_of,
                run_text=run_text)
            module.space = space
            cls.loaded = module
        return cls.loaded

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] != "IPython":
            return None
        return cls.load().find_spec(name)


def line_magic(*what):
    return NotebookFinder.load().line_magic(*what)


def cell_magic(*what):
    return NotebookFinder.load().cell_magic(*what)


def spell_out(match):
    """Turns a line magic (%name, !command) into Python with as many lines."""
    indent, target, sign, name, rest = match.groups()
    words = re.sub(r"\\\n", " ", rest).strip()
    return "%s%s__magic__(%r, %r, %r%s)" % (
        indent, target or "", sign or name, words, target is not None,
        "\n" * rest.count("\n"))


def spell_out_cell(code):
    match = CELL_FORM.match(code)
    if match is None:
        return code
    return "__cell_magic__(%r, %r, %r)" % (
        match[1], match[2].strip(), code[match.end():])


def parse(code, name):
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST
    code = spell_out_cell(code)
    try:
        return compile(code, name, "exec", flags, True)
    except SyntaxError:
        plain = SHORT_FORM.sub(spell_out, code)
        if plain == code:
            raise
    return compile(plain, name, "exec", flags, True)


def compile_cell(code, name):
    """Compiles a cell: (the statements, the last expression or None)"""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree = parse(code, name)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        end = tree.body.pop()
        last = compile(ast.Expression(end.value), name, "eval", flags, True)
        if code.rstrip().endswith(";"):  # as in notebooks: do not show it
            tree.body.append(end)
            last = None
    return compile(tree, name, "exec", flags, True), last


def wait_for(coroutine):
    global loop
    import asyncio
    if loop is None or loop.is_closed():
        loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except KeyboardInterrupt:
        task.cancel()
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            pass
        raise


def evaluate(code):
    value = eval(code, space.__dict__)
    return wait_for(value) if code.co_flags & CO_COROUTINE else value


def value_of(code, name="<magic>"):
    """Runs the code and returns the value of its last expression, or None."""
    body, last = compile_cell(code, name)
    evaluate(body)
    return evaluate(last) if last is not None else None


def run(code, name):
    value = value_of(code, name)
    if value is not None:
        space._ = value
        show(value)


def run_text(code):
    """Runs the part of a cell that a magic passes on."""
    name = "<cell %d, part>" % channel.seq
    remember(name, code)
    run(code, name)


def trace_of(error):
    """The lines of the error's traceback, without frames of this program."""
    trace = traceback.TracebackException.from_exception(error)
    frames = [frame for frame in trace.stack if frame.filename not in (__file__, NOTEBOOK)]
    while frames and not frames[0].filename.startswith("<cell "):
        del frames[0]
    trace.stack[:] = frames
    lines = "".join(trace.format()).splitlines()
    return lines if frames else [l for l in lines if l != TRACEBACK_HEAD]


def explain(error):
    """(the error's message, the lines of its traceback)"""
    try:
        evalue = str(error)
        lines = trace_of(error)
    except Exception as worse:
        evalue, lines = "", ["cannot be shown: " + type(worse).__name__]
    if len(lines) > TRACEBACK_MAX:
        half = TRACEBACK_MAX // 2
        lines[half:-half] = ["  ..."]
    return evalue, lines


def encode_error(error):
    """Makes the error event, cut so that the wrapper does not drop it."""
    evalue, lines = explain(error)
    for longest in LINE_MAX:
        text = encode({"type": "error", "ename": type(error).__name__[:longest],
                       "evalue": evalue[:16 * longest],
                       "traceback": [line[:longest] for line in lines]})
        if len(text) < ERROR_MAX:
            break
    return text


def attempt(code, name):
    """Runs a cell.  Returns its exception, or None."""
    failed = None
    channel.interrupted = False
    try:
        channel.running = True
        try:
            run(code, name)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            failed = error
        if os.getpid() == home:
            show_figures()
        channel.running = False
    except BaseException as error:
        channel.running = False
        failed = failed or error
    if isinstance(failed, SystemExit) and failed.code in (None, 0):
        return None
    return failed


class Variables:
    """Sets a request's environment variables, and restores the old ones."""

    def __init__(self, wanted):
        self.before = {name: os.environ.get(name) for name in wanted}
        self.put(wanted)

    @staticmethod
    def put(values):
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def restore(self):
        self.put(self.before)


def run_request(request):
    name = "<cell %d>" % request["seq"]
    channel.seq = request["seq"]
    variables = Variables(request.get("env") or {})
    remember(name, request["code"])
    failed = attempt(request["code"], name)
    if os.getpid() != home:  # a child that the tenant's code has forked
        os._exit(1 if failed else 0)
    variables.restore()
    flush()
    if failed is None:
        channel.send(b"done", b"{}")
    else:
        channel.send(b"error", encode_error(failed))


def main():
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.environ.setdefault("MPLBACKEND", "agg")
    space.__builtins__ = builtins
    sys.modules["__main__"] = space
    sys.argv = [""]
    builtins.display = display
    builtins.__magic__ = line_magic
    builtins.__cell_magic__ = cell_magic
    sys.meta_path.append(NotebookFinder)  # last: a real IPython wins
    builtins.exit = builtins.quit = sys.exit  # those of site.py close stdin
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, "")  # PYTHON_BOOT (kernel_start.c) removed it
    channel.send(b"ready", b"{}")
    for request in channel.requests():
        run_request(request)


main()
