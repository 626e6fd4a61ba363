"""network.py: sessions with a network, what their events tell, and whether egress was well."""
import os
import re
import signal

import service
from procfs import alive, children
from service import at, call, expect
from tap import ok, same


def session(*allow, key=None, **more):
    """A new session that may reach these hosts."""
    network = dict({"mode": "allow", "allow": list(allow)}, **more.pop("network", {}))
    return service.create(key, network=network, **more)["id"]


def change(sid, key=None, **network):
    """PATCH: from now on the session may reach what `network` says."""
    return expect(200, call("PATCH", at(sid), {"network": network}, key)).json


def sh(sid, command, key=None):
    """Runs a command: its exit code and its output, stderr included."""
    r = expect(200, call("POST", at(sid, "/api/execute"),
                         {"command": command + " 2>&1"}, key)).json
    return r["exitCode"], r["stdout"]


def python(sid, text, key=None):
    """Runs a Python program; its output, with the last line of a traceback."""
    expect(200, call("POST", at(sid, "/api/write"),
                     {"path": "/tmp/t.py", "content": text}, key))
    return sh(sid, "/usr/bin/python3 /tmp/t.py", key)[1].strip()


class Denials:
    """The denials of a session since this was made."""

    def __init__(self, sid, key=None):
        self.sid, self.key = sid, key
        self.seen = len(self.all())

    def all(self):
        after, found = 0, []
        while True:
            page = expect(200, call("GET", at(self.sid, "/events?after=%d&limit=1000" % after),
                                    key=self.key)).json
            found += [e for e in page["events"] if e["kind"] == "network"]
            if len(page["events"]) < 1000:
                return found
            after = page["next"]

    def new(self):
        return [(e["reason"], e["detail"].get("host"), e["detail"].get("port"))
                for e in self.all()[self.seen:]]

    def tell(self, reason, host, port, name):
        """Waits for the event of a denial."""
        want = (reason, host, port)
        try:
            service.until("a denial", lambda: want in self.new())
        except AssertionError:
            pass
        return ok(want in self.new(), name, "want %r\ngot  %r" % (want, self.new()))


def refused(sid, program, reason, host, port, name, *said, key=None):
    """Runs a Python program in the session that must print "refused" or raise, or print
    one of `said`, and looks for the event."""
    denials = Denials(sid, key)
    out = python(sid, program, key)
    if said:
        ok(any(text in out for text in said), name + ": is refused", out)
    else:
        ok(out.endswith("refused") or "Error" in out, name + ": is refused", out)
    denials.tell(reason, host, port, name + ": is told")
    return out


# ---- sandlease-egress itself

SANITIZER = re.compile(r"Sanitizer|runtime error:")
KILLED = []  # serving processes that the test has killed


def egress():
    """The pids of the process that reads rows, and of the one that serves."""
    rows = service.daemon("egress")
    service.until("the serving process", lambda: children(rows))
    return rows, children(rows)[0]


def kill_serve():
    """Kills the serving process; egress starts another one."""
    KILLED.append(egress()[1])
    os.kill(KILLED[-1], signal.SIGKILL)


def egress_was_well():
    """The last case of a script: ends egress, so that leaks are reported, too."""
    ok(alive(service.daemon("egress")), "egress runs to the end")
    service.stack("egress_stop")
    lines = service.log("egress").splitlines()
    ended = [line for line in lines if "serve_ended" in line]
    ok(len(ended) == len(KILLED) and all("(signal 9)" in line for line in ended),
       "the serving process has not ended by itself", "\n".join(ended))
    same([line for line in lines if SANITIZER.search(line)], [], "no sanitizer has found a fault")


__all__ = ["Denials", "change", "egress", "egress_was_well", "kill_serve", "ok", "python",
           "refused", "same", "session", "sh"]
