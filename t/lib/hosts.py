"""hosts.py: a second API host on a test's database (host_begin of stack.sh)."""
import json
import os
import subprocess

import service


class Host:
    """One API host.  The first is the stack's own; this class starts others."""

    def __init__(self, name, first=False, conf=""):
        self.name = name
        self.state = service.setting("STACK_STATE")
        self.port = service.port()
        self.preview_port = int(service.setting("STACK_PREVIEW_PORT"))
        if not first:
            ports = service.stack("host_begin", name, conf).splitlines()[-1]
            self.port, self.preview_port = map(int, ports.split())
            self.state = os.path.join(service.setting("STACK_DIR"), name)

    def call(self, method, path, body=None, key=None, headers=None):
        return service.call(method, path, body, key, headers, to=self.port)

    def run(self, name, *arguments):
        """Runs a program of this host with the host's settings."""
        return subprocess.run(
            [os.path.join(self.state, "bin", name), "--config",
             os.path.join(self.state, "etc/sandlease.conf"), *arguments],
            capture_output=True, text=True, cwd="/", check=False,
            env={"PATH": os.environ["PATH"]})

    def reap(self, *arguments):
        """Runs one pass of this host's reaper; its summary."""
        done = self.run("sandlease-reaper", *arguments)
        line = [l[l.index("{"):] for l in done.stdout.splitlines() if " reaper: {" in l]
        if len(line) != 1:
            raise AssertionError("no summary: %s %s" % (done.stdout, done.stderr))
        summary = json.loads(line[0][:line[0].rindex("}") + 1])
        if summary["failures"]:
            print("# " + done.stderr.replace("\n", "\n# "))
        return summary


def rows(*without):
    """Every row of every table, as text, but those of the tables `without`."""
    tables = [r[0] for r in service.sql(
        "SELECT relname FROM pg_class WHERE relkind = 'r'"
        " AND relnamespace = 'public'::regnamespace ORDER BY 1")]
    found = set()
    for t in tables:
        if t not in without:
            found |= {t + " " + r[0] for r in service.sql(
                "SELECT to_jsonb(x)::text FROM %s x" % t)}
    return found
