"""contexts.py: code contexts of a session, as their client sees them.

    import contexts
    contexts.SID = create()["id"]
    py = contexts.context()
    contexts.run(py, "1 + 1").text
"""
import http.client
import json

import service
from service import at, call, expect, setting
from tap import equal

SID = ""


def path(rest=""):
    return at(SID, "/api/contexts" + rest)


def context(language="python", **more):
    """The id of a new context."""
    return expect(200, call("POST", path(), dict(
        more, language=language))).json["contextId"]


def delete(cid):
    return expect(200, call("DELETE", path("/" + cid))).json


class Cell:
    """A stream of api/execute/code, open until its end is read."""

    def __init__(self, cid, code, sid=None, **more):
        body = dict(more, code=code)
        if cid:
            body["context_id"] = cid
        self.events = []
        self.conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                               timeout=service.PATIENCE)
        self.conn.request("POST", at(sid or SID, "/api/execute/code"),
                          json.dumps(body), {
            "Authorization": "Bearer " + setting("SANDLEASE_API_KEY"),
            "Content-Type": "application/json"})
        self.answer = self.conn.getresponse()
        if self.answer.status != 200:
            raise AssertionError("%s: %d %s" % (code, self.answer.status,
                                                self.answer.read()))
        equal(self.answer.headers["Content-Type"], "text/event-stream", "type")

    def event(self):
        """The next event; None at the end."""
        event = service.next_event(self.answer)
        if event is not None:
            self.events.append(event)
        return event

    def until(self, text):
        """Reads until this text was printed."""
        while text not in self.stdout:
            if self.event() is None:
                raise AssertionError("ended: %r" % self.events)

    def rest(self):
        while self.event() is not None:
            pass
        self.close()
        return self

    def close(self):
        self.answer.close()
        self.conn.close()

    def _said(self, which):
        return "".join(e["text"] for e in self.events if e["type"] == which)

    @property
    def stdout(self):
        return self._said("stdout")

    @property
    def stderr(self):
        return self._said("stderr")

    @property
    def results(self):
        return [e for e in self.events if e["type"] == "result"]

    @property
    def text(self):
        """The text of the only result, after a good end."""
        equal([e["type"] for e in self.events
               if e["type"] not in ("stdout", "stderr")],
              ["result", "execution_complete"], "events")
        return self.results[0]["text"]

    @property
    def error(self):
        """(ename, evalue) of the error, after a bad end."""
        end = self.events[-1]
        equal(end["type"], "error", "end of %r" % self.events[-3:])
        return end["ename"], end["evalue"]


def run(cid, code, **more):
    """Runs code to its end."""
    return Cell(cid, code, **more).rest()


def done(cid, code, **more):
    """Runs code to its end, which must be good."""
    cell = run(cid, code, **more)
    equal(cell.events[-1]["type"], "execution_complete",
          "end of %r" % cell.events[-3:])
    return cell
