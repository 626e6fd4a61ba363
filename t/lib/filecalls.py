"""filecalls.py: the files of a session, as JSON and as a stream."""
import http.client
import json

import service
from service import at, call, container_error, execute, expect
from tap import equal


class Files:
    def __init__(self, sid):
        self.sid = sid

    def post(self, route, **body):
        return call("POST", at(self.sid, "/api/" + route), body)

    def good(self, route, **body):
        return expect(200, self.post(route, **body)).json

    def sh(self, command, **more):
        return execute(self.sid, command, **more)

    def error(self, route, status, code, operation, of, **body):
        doc = container_error(self.post(route, **body), status, code)
        equal((doc["context"].get("path"), doc["context"].get("operation")),
              (of, operation), "%s %.60r: context" % (route, body))
        equal(doc["error"], doc["message"], "error beside message")
        return doc


class Stream:
    """An open api/read/stream; events as they come."""

    def __init__(self, sid, path, **more):
        self.conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                               timeout=service.PATIENCE)
        self.conn.request(
            "POST", at(sid, "/api/read/stream"),
            json.dumps(dict(more, path=path)),
            {"Authorization": "Bearer " + service.setting("SANDLEASE_API_KEY"),
             "Content-Type": "application/json"})
        self.answer = self.conn.getresponse()
        equal((self.answer.status, self.answer.getheader("Content-Type")),
              (200, "text/event-stream"), "stream of %s" % path)

    def line(self):
        return self.answer.readline()

    def event(self):
        """The next event; None at the end."""
        while (raw := self.line()) != b"":
            if raw.startswith(b"data: "):
                return json.loads(raw[len("data: "):])
        return None

    def __iter__(self):
        while (event := self.event()) is not None:
            yield event

    def close(self):
        # the socket itself: http.client would keep it for the answer
        self.answer.close()
        self.conn.close()


def streamed(sid, path, **more):
    """(metadata, the chunks' data, the last event)"""
    events = list(Stream(sid, path, **more))
    equal([events[0]["type"], events[-1]["type"]], ["metadata", "complete"],
          "first and last of %s" % path)
    equal({e["type"] for e in events[1:-1]} - {"chunk"}, set(), "others")
    return events[0], [e["data"] for e in events[1:-1]], events[-1]
