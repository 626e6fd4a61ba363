"""awake.py: functions for the tests of sleep, suspension and interruption."""
import http.client
import json
import threading

import service
import websocket_echo
from service import at, call, execute, expect, setting, sql, until
from websocket import WebSocket

# A server that shows its requests and echoes over WebSocket; /slow answers
# without end, a line for every line in /workspace/tick.
APP = websocket_echo.SOURCE + r"""
import os, socket, sys, threading, time
def serve(c):
    head = b""
    while b"\r\n\r\n" not in head:
        d = c.recv(4096)
        if not d:
            return
        head += d
    if b"upgrade: websocket" in head.lower():
        return websocket_echo(c, head)
    c.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    if b" /slow " in head.split(b"\r\n")[0]:
        seen = 0
        while True:
            now = os.path.exists("/workspace/tick") and os.path.getsize("/workspace/tick")
            if now > seen:
                seen = now
                c.sendall(b"tick\n")
            time.sleep(0.02)  # wait: of the app, between two looks
    c.sendall(head)
    c.close()
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    c, _ = s.accept()
    threading.Thread(target=serve, args=(c,), daemon=True).start()
"""


def passes():
    """A pass of the reaper that must succeed; its summary."""
    status, text, summary = service.reap()
    if status != 0:
        raise AssertionError("the pass failed: %s" % text)
    return summary


def state(sid):
    """[state, reason, lease]"""
    return sql("SELECT s.state, coalesce(s.reason, ''), l.state FROM session s"
               " JOIN lease l ON l.session_id = s.id WHERE s.id = :'v1'",
               sid)[0]


def generation(sid):
    return service.get(sid)["lease"]["generation"]


def wrapper_of(pid):
    """The wrapper that serves the session of a process."""
    while not service.stat(pid)[0].startswith("sandlease-wrap"):
        pid = service.stat(pid)[2]
    return pid


def age(sid, seconds):
    """Shifts the rows: nothing has happened in the session for so long."""
    sql("UPDATE session SET last_activity_at = last_activity_at -"
        " make_interval(secs => :'v2'), started_at = started_at -"
        " make_interval(secs => :'v2') WHERE id = :'v1'", sid, seconds)
    sql("UPDATE lease SET keep_warm_until = keep_warm_until -"
        " make_interval(secs => :'v2') WHERE session_id = :'v1'", sid, seconds)


def activity(sid):
    """The columns that a call changes when it counts as activity."""
    return sql("SELECT activity_seq, last_activity_at FROM session"
               " WHERE id = :'v1'", sid)[0]


# ---- previews

def expose(sid, port=8000):
    """Starts APP in the session and exposes it; the preview's host name."""
    expect(200, call("POST", at(sid, "/api/write"),
                     {"path": "/workspace/app.py", "content": APP}))
    execute(sid, "/usr/bin/python3 /workspace/app.py %d >/dev/null 2>&1 &" % port)
    url = expect(201, call("POST", at(sid, "/ports"), {"port": port})).json["url"]
    host = url.split("/")[2]
    until("the app listens", lambda: fetch(host).status == 200)
    return host


def fetch(host, path="/", **headers):
    return call("GET", path, key="", headers=dict(headers, Host=host))


class PreviewSocket(WebSocket):
    """An open WebSocket to the app behind a preview."""

    def __init__(self, host):
        super().__init__(("127.0.0.1", service.port()), "/ws", {"Host": host})

    def echo(self, text="hello"):
        self.send(text)
        return self.recv()


class LongAnswer:
    """An answer of the app behind a preview that does not end."""

    def __init__(self, host, path):
        # wait: PATIENCE without a byte is a hang
        self.conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                               timeout=service.PATIENCE)
        self.conn.request("GET", path, headers={"Host": host})
        self.answer = self.conn.getresponse()

    def wait(self, text):
        got = b""
        while text not in got:
            more = self.answer.read1(4096)
            if not more:
                raise AssertionError("closed after %r" % got)
            got += more

    def close(self):
        self.answer.close()
        self.conn.close()


# ---- commands that take their time

class Running:
    """A call of api/execute, or of its stream, in a thread."""

    def __init__(self, sid, command, stream=False, **more):
        self.reply = None
        self.thread = threading.Thread(target=self._run, args=(
            sid, command, stream, more), daemon=True)
        self.thread.start()

    def _run(self, sid, command, stream, more):
        headers = more.pop("headers", None)
        self.reply = call("POST", at(sid, "/api/execute" + (
            "/stream" if stream else "")), dict(more, command=command),
            headers=headers)

    def result(self):
        self.thread.join(service.PATIENCE)
        if self.reply is None:
            raise AssertionError("no answer")
        return self.reply

    def events(self):
        return [json.loads(line[len("data: "):]) for line in
                self.result().body.decode().splitlines()
                if line.startswith("data: ")]


class Stream:
    """A stream whose client may leave."""

    def __init__(self, sid, command):
        self.conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                               timeout=service.PATIENCE)
        self.conn.request(
            "POST", at(sid, "/api/execute/stream"),
            json.dumps({"command": command}),
            {"Authorization": "Bearer " + setting("SANDLEASE_API_KEY"),
             "Content-Type": "application/json"})
        self.answer = self.conn.getresponse()

    def close(self):
        self.answer.close()
        self.conn.close()
