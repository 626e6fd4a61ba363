"""mux.py: /ws of a session as the SDK uses it."""
import json

import service
from service import at, setting
from tap import Hope, equal
from websocket import WebSocket


def connect(sid, path="/ws", key=None, headers=None, **how):
    """`key`: "" for none."""
    sent = dict(headers or {})
    if key != "":
        sent["Authorization"] = "Bearer " + (key or setting("SANDLEASE_API_KEY"))
    return WebSocket(("127.0.0.1", service.port()), at(sid, path), sent, **how)


class Mux:
    """/ws as the SDK uses it: requests by number."""

    def __init__(self, sid, path="/ws", **how):
        self.ws = connect(sid, path, **how)
        self.count = 0

    def begin(self, method, path, body=None, **more):
        self.count += 1
        name = "ws_%d" % self.count
        message = {"type": "request", "id": name, "method": method, "path": path}
        if body is not None:
            message["body"] = body
        self.ws.send(dict(message, **more))
        return name

    def ask(self, method, path, body=None, **more):
        """(status, body) of the response to the only request that runs."""
        name = self.begin(method, path, body, **more)
        m = self.ws.json()
        equal((m["type"], m["id"], m.get("done")), ("response", name, True),
              "a response: %r" % m)
        return m["status"], m.get("body")

    def events(self, name):
        """Events of a stream; the response that ends it has no body."""
        found = []
        hope = Hope()
        while True:
            hope.lives()
            m = self.ws.json()
            equal(m["id"], name, "whose")
            if m["type"] == "response":
                equal(m, {"type": "response", "id": name, "status": 200,
                          "done": True}, "the end")
                return found
            equal(m["type"], "stream", repr(m))
            found.append(json.loads(m["data"]))
