"""kernel_notebook.py: adds the parts of notebooks that Python lacks.

These are magics, and the module IPython.display where no real IPython is
installed.  kernel_python.py loads this file when code first needs one of them,
and passes its functions as `kernel`.
"""
import contextlib
import importlib
import importlib.machinery
import io
import os
import re
import shlex
import subprocess
import sys
import time
import types

kernel = None  # set by kernel_python.py: NotebookFinder.load()
space = None  # the tenant's module __main__


class UsageError(Exception):
    """A magic does not exist, or was used wrongly."""


# ---- IPython.display

class DisplayObject:
    """Something to show, given as data, as a file's name or as a URL."""
    method = None

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        if data is not None and not isinstance(data, (str, bytes, dict, list)):
            raise TypeError("%s expects text, not %r"
                            % (type(self).__name__, data))
        if url is not None:
            from urllib.request import urlopen
            data = urlopen(url).read().decode()
        elif filename is not None:
            with open(filename, encoding="utf-8") as file:
                data = file.read()
        self.data, self.url, self.filename = data, url, filename
        self.metadata = metadata

    def __repr__(self):
        return "<IPython.core.display.%s object>" % type(self).__name__


def shown_as(name, method):
    """Makes a class with one method, which returns the data."""
    return type(name, (DisplayObject,), {method: lambda self: self.data})


HTML = shown_as("HTML", "_repr_html_")
Markdown = shown_as("Markdown", "_repr_markdown_")
Latex = shown_as("Latex", "_repr_latex_")
SVG = shown_as("SVG", "_repr_svg_")
Javascript = shown_as("Javascript", "_repr_javascript_")


class Math(Latex):
    def _repr_latex_(self):
        return "$\\displaystyle %s$" % self.data.strip("$")


class Pretty(DisplayObject):
    def __repr__(self):
        return self.data


class JSON(DisplayObject):
    def __init__(self, data=None, *rest, **more):
        super().__init__(data, *rest, **more)
        if isinstance(self.data, str):
            import json
            self.data = json.loads(self.data)

    def _repr_json_(self):
        return self.data


class Image(DisplayObject):
    """An image: shows the bytes of a file or of `data`; of a URL only a link."""
    MAGIC = ((b"\x89PNG", "png"), (b"\xff\xd8", "jpeg"), (b"GIF8", "gif"),
             (b"RIFF", "webp"))

    def __init__(self, data=None, url=None, filename=None, format=None,
                 embed=None, width=None, height=None, **_):
        if isinstance(data, str):
            if data.startswith(("http:", "https:", "data:")):
                data, url = None, data
            else:
                data, filename = None, data
        if filename is not None:
            with open(filename, "rb") as file:
                data = file.read()
        super().__init__(data)
        self.url, self.filename = url, filename
        self.width, self.height = width, height
        known = [f for begin, f in self.MAGIC if (data or b"").startswith(begin)]
        self.format = {"jpg": "jpeg"}.get(format, format) or (known or ["png"])[0]

    def _of(self, format):
        return self.data if self.format == format else None

    def _repr_png_(self):
        return self._of("png")

    def _repr_jpeg_(self):
        return self._of("jpeg")

    def _repr_html_(self):
        if self.data is not None and self.format in ("png", "jpeg"):
            return None
        url = self.url or "data:image/%s;base64,%s" % (
            self.format, kernel.as_text(self.data))
        size = "".join(' %s="%s"' % (name, getattr(self, name))
                       for name in ("width", "height") if getattr(self, name))
        return '<img src="%s"%s/>' % (url, size)


class IFrame:
    def __init__(self, src, width, height, **_):
        self.html = '<iframe width="%s" height="%s" src="%s"></iframe>' % (
            width, height, src)

    def _repr_html_(self):
        return self.html


class DisplayHandle:
    """An update shows the value again: output sent earlier cannot change."""

    def __init__(self, display_id=None):
        self.display_id = display_id

    def display(self, value, **more):
        display(value, **more)

    update = display


class Bundle:
    """A value given as a dictionary: MIME type to data."""

    def __init__(self, data):
        self.forms = data

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.forms

    def __repr__(self):
        return self.forms.get("text/plain", "")


def display(*values, raw=False, display_id=None, **_):
    for value in values:
        kernel.show(Bundle(value) if raw else value)
    return DisplayHandle(display_id) if display_id else None


def update_display(value, **more):
    display(value, **more)


def publish_display_data(data, metadata=None, **_):
    display(data, raw=True)


def clear_output(wait=False):
    """Does nothing: the client has the output already."""


DISPLAY = (DisplayObject, HTML, Markdown, Latex, Math, SVG, Javascript, JSON,
           Image, Pretty, IFrame, DisplayHandle, display, update_display,
           publish_display_data, clear_output)
MODULES = {
    "IPython": {"get_ipython": lambda: None},
    "IPython.core": {},
    "IPython.core.display": {thing.__name__: thing for thing in DISPLAY},
    "IPython.display": {thing.__name__: thing for thing in DISPLAY},
}


class Loader:
    """Makes the modules of MODULES."""

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        module.__dict__.update(MODULES[module.__name__])
        if module.__name__ == "IPython":
            importlib.import_module("IPython.display")
        module.__doc__ = "The parts of IPython that code contexts have."


def find_spec(name):
    if name not in MODULES:
        return None
    return importlib.machinery.ModuleSpec(
        name, Loader, origin="kernel_notebook.py",
        is_package=name in ("IPython", "IPython.core"))


# ---- programs

def expand(text):
    """Replaces {expression} and $name by values of the tenant's variables."""
    def value(match):
        braced, name = match.groups()
        if name is not None and name not in space.__dict__:
            return match.group()  # a variable of the shell
        try:
            return str(eval(braced or name, space.__dict__))
        except Exception:
            return match.group()
    return re.sub(r"\{([^{}]+)\}|\$([A-Za-z_]\w*)", value, text)


def shell(command):
    space._exit_code = subprocess.call(command, shell=True,
                                       executable="/bin/bash")


def lines_of(command):
    """Runs `name = !command`: returns the lines of its output."""
    done = subprocess.run(command, shell=True, executable="/bin/bash",
                          stdout=subprocess.PIPE, text=True, check=False)
    space._exit_code = done.returncode
    return done.stdout.splitlines()


def script(program, line, body):
    argv = [program] + shlex.split(line)
    subprocess.run(argv, input=body.encode(), check=True)


def pip(rest):
    shell("%s -m pip %s" % (shlex.quote(sys.executable), rest))
    # the first package makes this directory, which Python's start did not see
    import site
    place = site.getusersitepackages()
    if site.ENABLE_USER_SITE and os.path.isdir(place) and place not in sys.path:
        site.addsitedir(place)
    importlib.invalidate_caches()


# ---- line magics

def cd(rest):
    to = os.path.expanduser(rest.strip("'\"") or "~")
    if to == "-":
        to = space.__dict__.get("_dh", [os.getcwd()])[-1]
    before = os.getcwd()
    os.chdir(to)
    space._dh = space.__dict__.get("_dh", []) + [before]


def env(rest):
    name, sign, value = rest.partition("=" if "=" in rest else " ")
    name = name.strip()
    if not name:
        return dict(os.environ)
    if not sign:
        if name not in os.environ:
            raise UsageError("%%env: there is no variable %s" % name)
        return os.environ[name]
    os.environ[name] = value.strip()
    print("env: %s=%s" % (name, value.strip()))
    return None


def options(rest, known):
    """Parses options: (those at the start of `rest`, the text after them)"""
    found = {}
    while True:
        match = re.match(r"-([a-z])\s*(\d*)\s*", rest)
        if match is None:
            return found, rest
        if match[1] not in known:
            raise UsageError("-%s is not supported here" % match[1])
        found[match[1]] = int(match[2] or 0)
        rest = rest[match.end():]


def in_words(seconds):
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "\u00b5s")):
        if seconds >= scale:
            return "%.3g %s" % (seconds / scale, unit)
    return "%.3g ns" % (seconds / 1e-9)


def timeit(rest, body=None):
    from timeit import Timer
    found, statement = options(rest, "nrqo")
    setup = statement if body is not None else "pass"
    timer = Timer(statement if body is None else body, setup or "pass",
                  globals=space.__dict__)
    count = found.get("n") or timer.autorange()[0]
    runs = [t / count for t in timer.repeat(found.get("r") or 7, count)]
    mean = sum(runs) / len(runs)
    deviation = (sum((t - mean) ** 2 for t in runs) / len(runs)) ** 0.5
    if "q" not in found:
        print("%s \u00b1 %s per loop (mean \u00b1 std. dev. of %d runs, "
              "%s loops each)" % (in_words(mean), in_words(deviation),
                                  len(runs), format(count, ",")))
    return types.SimpleNamespace(all_runs=runs, average=mean, best=min(runs),
                                 loops=count) if "o" in found else None


@contextlib.contextmanager
def timed():
    cpu, wall = os.times(), time.perf_counter()
    try:
        yield
    finally:
        wall, now = time.perf_counter() - wall, os.times()
        user, system = now[0] - cpu[0], now[1] - cpu[1]
        print("CPU times: user %s, sys: %s, total: %s\nWall time: %s"
              % (in_words(user), in_words(system), in_words(user + system),
                 in_words(wall)))


def time_line(rest):
    with timed():
        return kernel.value_of(rest)


def matplotlib(rest):
    if rest.split()[:1] not in ([], ["inline"], ["agg"], ["Agg"], ["notebook"]):
        warn("%%matplotlib %s: figures are shown as images" % rest)
    import matplotlib.pyplot  # raises ModuleNotFoundError if it is missing
    matplotlib.pyplot.switch_backend("agg")


def warn(text):
    print("Warning: " + text, file=sys.stderr)


def without_effect(name):
    def say(rest):
        warn("%%%s %s has no effect here" % (name, rest))
    return say


def run_file(rest):
    import runpy
    words = shlex.split(rest)
    if not words:
        raise UsageError("%run needs the name of a file")
    before, sys.argv = sys.argv, words
    try:
        space.__dict__.update(
            (name, value) for name, value in runpy.run_path(
                words[0], run_name="__main__").items()
            if not name.startswith("__"))
    finally:
        sys.argv = before


def names():
    return [n for n, v in space.__dict__.items() if not n.startswith("_")
            and not isinstance(v, types.ModuleType)]


def reset(rest):
    for name in names():
        del space.__dict__[name]


LINES = {
    "cd": cd,
    "config": without_effect("config"),
    "autoreload": without_effect("autoreload"),
    "env": env,
    "load_ext": without_effect("load_ext"),
    "ls": lambda rest: shell("ls -C " + rest),
    "lsmagic": lambda rest: print(supported()),
    "matplotlib": matplotlib,
    "pip": pip,
    "pwd": lambda rest: os.getcwd(),
    "reset": reset,
    "run": run_file,
    "set_env": env,
    "sx": lines_of,
    "system": shell,
    "time": time_line,
    "timeit": timeit,
    "who": lambda rest: print("\t".join(names())),
}


# ---- cell magics

def write_file(line, body):
    words = shlex.split(line)
    more = words[:1] in (["-a"], ["--append"])
    if len(words) != 1 + more:
        raise UsageError("%%writefile needs the name of one file")
    path = os.path.expanduser(words[-1])
    print(("Appending to" if more else "Overwriting" if os.path.exists(path)
           else "Writing"), words[-1])
    with open(path, "a" if more else "w", encoding="utf-8") as file:
        file.write(body)


def time_cell(line, body):
    with timed():
        kernel.run_text(body)


def capture(line, body):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        kernel.run_text(body)
    if line.strip():
        space.__dict__[line.split()[0]] = types.SimpleNamespace(
            stdout=out.getvalue(), stderr=err.getvalue())


def program(name):
    return lambda line, body: script(name, line, body)


def shower(kind):
    return lambda line, body: display(kind(body))


def any_program(line, body):
    words = line.split(None, 1)
    if not words:
        raise UsageError("%%script needs the name of a program")
    script(words[0], words[1] if words[1:] else "", body)


CELLS = {
    "bash": program("bash"),
    "capture": capture,
    "html": shower(HTML),
    "javascript": shower(Javascript),
    "js": shower(Javascript),
    "latex": shower(Latex),
    "markdown": shower(Markdown),
    "perl": program("perl"),
    "python3": program("python3"),
    "script": any_program,
    "sh": program("sh"),
    "svg": shower(SVG),
    "time": time_cell,
    "timeit": timeit,
    "writefile": write_file,
}


# ---- by name

def supported():
    return ", ".join(["%" + n for n in sorted(LINES)] +
                     ["%%" + n for n in sorted(CELLS)])


def line_magic(name, rest, assigned):
    """Runs `%name rest` or `!rest`; `assigned`: its value is used."""
    rest = expand(rest)
    if name == "!":
        return lines_of(rest) if assigned else shell(rest)
    if name not in LINES:
        raise UsageError("%%%s is not supported here; supported are %s"
                         % (name, supported()))
    return LINES[name](rest)


def cell_magic(name, line, body):
    if name not in CELLS:
        raise UsageError("%%%%%s is not supported here; supported are %s"
                         % (name, supported()))
    return CELLS[name](expand(line), body)
