"""processes.py: background processes of a session, as its client sees them.

    import processes
    processes.SID = create()["id"]     # the session, unless a call names one
    pid = start("echo hi")
    ended(pid)
"""
import http.client
import json

import service
from service import at, call, expect, setting, until
from tap import Hope, equal

SID = ""
DIR = "/home/user/.local/state/sandlease/processes"


def path(rest, sid=None):
    return at(sid or SID, "/api/process/" + rest)


def start(command, sid=None, **more):
    """The id of a new process."""
    return expect(200, call("POST", path("start", sid),
                            dict(more, command=command))).json["processId"]


def show(pid, sid=None):
    return expect(200, call("GET", path(pid, sid))).json["process"]


def logs(pid, query="", sid=None):
    return expect(200, call("GET", path(pid + "/logs" + query, sid))).json


def ended(pid, sid=None):
    """The record of the process, once it has ended."""
    return until(pid + " has ended", lambda: show(pid, sid)["status"]
                 != "running" and show(pid, sid))


def kill(pid, sid=None):
    return expect(200, call("DELETE", path(pid, sid))).json


def known(sid=None, query=""):
    r = expect(200, call("GET", path("list" + query, sid))).json
    return {p["id"]: p for p in r["processes"]}


class Stream:
    """The open stream of a process."""

    def __init__(self, pid, sid=None, query="", **headers):
        self.conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                               timeout=service.PATIENCE)
        self.conn.request("GET", path(pid + "/stream" + query, sid), headers=dict(
            headers, Authorization="Bearer " + setting("SANDLEASE_API_KEY")))
        self.answer = self.conn.getresponse()
        equal((self.answer.status, self.answer.headers["Content-Type"]),
              (200, "text/event-stream"), "stream")

    def event(self):
        """(id, event); None at the end."""
        last = None
        hope = Hope()
        while True:
            hope.lives()
            line = self.answer.readline()
            if line == b"":
                return None
            if line.startswith(b"id: "):
                last = int(line[4:])
            if line.startswith(b"data: "):
                return last, json.loads(line[6:])

    def rest(self):
        events = []
        while (event := self.event()) is not None:
            events.append(event)
        return events

    def close(self):
        self.answer.close()
        self.conn.close()


def text(events, which="stdout"):
    return "".join(e["data"] for _, e in events if e["type"] == which)
