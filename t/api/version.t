#!/usr/bin/python3
"""version.t: one version everywhere, and an agent of another one is told."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import at, call, create, execute, expect, setting, until, value
from tap import case, equal, run, true

service.begin()

with open(os.path.join(service.TOP, "configure.ac"), encoding="utf-8") as ac:
    VERSION = re.search(r"AC_INIT\(\[[^]]*\], *\[([^]]*)\]", ac.read())[1]
OTHER = VERSION[:-1] + ("8" if VERSION[-1] == "9" else "9")


@case
def every_program_says_it():
    for name in ("sandlease-api", "sandlease-reaper", "sandlease-agent",
                 "sandlease-ws", "sandlease-admin", "sandlease"):
        said = subprocess.run([service.program(name), "--version"],
                              capture_output=True, text=True, check=True)
        equal((said.stdout, said.stderr), ("%s %s\n" % (name, VERSION), ""),
              name)


@case
def every_surface_says_it():
    sid = create()["id"]
    equal(call("GET", at(sid, "/api/version")).json["version"], VERSION,
          "api/version")
    equal(call("GET", "/v1/health").json["version"], VERSION, "health")
    equal(call("GET", "/v1/openapi.json").json["info"]["version"], VERSION,
          "openapi")
    equal(value("SELECT agent_version FROM sandbox LIMIT 1"), VERSION,
          "the sandbox's row")
    true("agent_version" not in service.log("api"), "no warning")


def other_agent():
    """The same agent, but for the version it was built with."""
    with open(service.program("sandlease-agent"), "rb") as f:
        program = f.read()
    changed = program.replace(VERSION.encode() + b"\0", OTHER.encode() + b"\0")
    true(changed != program, "the version was found in the program")
    path = os.path.join(setting("STACK_STATE"), "bin/other-agent")
    with open(path, "wb") as f:
        f.write(changed)
    os.chmod(path, 0o755)
    return path


@case
def an_agent_of_another_version_is_a_warning_and_no_obstacle():
    ours = service.program("sandlease-agent")
    service.configure(agent_path=other_agent())
    service.restart()
    s = create(isolation="session")
    equal(call("GET", at(s["id"], "/api/version")).json["version"], OTHER,
          "it is the other one")
    equal(execute(s["id"], "echo works"), "works\n", "it works")
    line, = [l for l in service.log("api").splitlines()
             if "agent_version" in l]
    for word in ("warn", VERSION, OTHER, "sleep and resume"):
        true(word in line, "%r is told: %s" % (word, line))
    equal(value("SELECT agent_version FROM sandbox WHERE id = :'v1'",
                s["sandboxId"]), OTHER, "the sandbox's row")
    # and what to do helps
    service.configure(agent_path=ours)
    service.restart()
    expect(200, call("POST", at(s["id"], "/sleep")))
    expect(200, call("POST", at(s["id"], "/resume")))
    until("it is the new one", lambda: call(
        "GET", at(s["id"], "/api/version")).json["version"] == VERSION)


sys.exit(run(lambda: None))
