#!/usr/bin/python3
"""Tests that the examples of docs/network.md, a coding agent in a session, work as printed,
against servers that stand in for the npm registry and the model.

One line is added to each, before npm is called: it tells npm in the session which
certificate the registry here has.  The real one needs none.
"""
import base64
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import internet  # noqa: E402
import service  # noqa: E402

service.begin(internet.trusting_settings())
from tap import PATIENCE, ok, run, same, skip_all  # noqa: E402

if not os.path.exists("/usr/bin/npm"):
    skip_all("there is no npm in sandboxes here")

net = internet.Internet()
net.trust()
service.stack("egress_start")

# the program that the example installs: asks the model, and writes what it says
PACKAGE = "@anthropic-ai/claude-code"
PROGRAM = """#!/usr/bin/env node
const key = process.env.ANTHROPIC_API_KEY;
const prompt = process.argv.at(-1);
fetch("https://api.anthropic.com/v1/messages",
    { method: "POST", headers: { "x-api-key": key }, body: JSON.stringify({ prompt }) })
    .then((r) => r.json())
    .then((r) => require("fs").writeFileSync("hello.py", r.text))
    .then(() => console.log("the key inside is " + key));
"""


def send(handler, body, kind):
    handler.send_response(200)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def package():
    """The program as npm's archive, and what the registry says about it."""
    about = {"name": PACKAGE, "version": "1.0.0", "bin": {"claude": "claude.js"}}
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as t:
        for name, text in (("package.json", json.dumps(about)), ("claude.js", PROGRAM)):
            info = tarfile.TarInfo("package/" + name)
            info.size = len(text)
            t.addfile(info, io.BytesIO(text.encode()))
    data = made.getvalue()
    digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
    dist = {"tarball": "https://registry.npmjs.org/program.tgz", "integrity": "sha512-" + digest}
    return data, json.dumps({"name": PACKAGE, "dist-tags": {"latest": "1.0.0"},
                             "versions": {"1.0.0": dict(about, dist=dist)}}).encode()


registry = net.web("registry.npmjs.org", 443, tls=True)
archive, description = package()
registry.pages["/" + PACKAGE.replace("/", "%2f")] = \
    lambda handler, _: send(handler, description, "application/json")
registry.pages["/program.tgz"] = lambda handler, _: send(handler, archive, "application/gzip")
model = net.web("api.anthropic.com", 443, tls=True)
model.pages["/v1/messages"] = lambda handler, _: send(
    handler, json.dumps({"text": "print('hello from the model')\n"}).encode(), "application/json")


def page(name):
    with open(os.path.join(service.TOP, name), encoding="utf-8") as f:
        return f.read()


EXAMPLES = re.findall(r"(?ms)^<!-- example -->\n```sh\n(.*?)^```", page("docs/network.md"))
# call() and field(), which the page takes from the tour
HELPERS = "".join(re.findall(r"(?m)^(?:call|field)\(\) .*\n", page("docs/tour.md")))
TRUST = ("sandlease cp %s coder:/home/user/registry.pem &&\n"
         "    sandlease exec coder -- npm config set cafile /home/user/registry.pem\n"
         % internet.ca_file())


def typed(example):
    """Runs the example in the simplest shell; its output, stderr included."""
    lines = re.sub(r"(?m)^(?=.*npm install)", lambda _: TRUST, example, count=1)
    done = subprocess.run(
        ["sh", "-e", "-c", HELPERS + lines], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False,
        cwd=service.setting("STACK_DIR"),
        env=dict(os.environ, ANTHROPIC_API_KEY="sk-of-my-shell",
                 PATH=service.setting("STACK_BUILD") + ":" + os.environ["PATH"]))
    same(done.returncode, 0, "it works as printed")
    return done.stdout


def check(example, key):
    del model.seen[:]
    out = typed(example)
    ok("hello from the model" in out, "the agent's program runs", out)
    ok("the key inside is added-outside" in out, "the agent has no key", out)
    ok(key not in out, "nor is it printed", out)
    same([(r[0], r[2], r[3].get("x-api-key")) for r in model.seen],
         [("POST", "/v1/messages", key)], "the model gets it")
    ok(b"Write hello.py" in model.seen[-1][4], "with the prompt", model.seen[-1][4])
    same(service.call("GET", "/v1/sessions?state=ready").json["sessions"], [], "no session is left")


def the_command_line_runs_an_agent():
    check(EXAMPLES[0], re.search(r"ANTHROPIC_API_KEY=(\S+)", EXAMPLES[0]).group(1))


def curl_runs_an_agent():
    check(EXAMPLES[1], "sk-of-my-shell")


def they_are_short():
    same(len(EXAMPLES), 2, "the page has two examples")
    ok("```sh\n%s```" % EXAMPLES[0] in page("README.md"), "the README has the first one")
    ok(all(e.count("\n") <= 10 for e in EXAMPLES), "of ten lines at most")


run([they_are_short, the_command_line_runs_an_agent, curl_runs_an_agent])
