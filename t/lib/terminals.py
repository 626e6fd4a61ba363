"""terminals.py: terminals of a session, as a client without WebSocket uses them.

    t = Terminal(sid)
    t.type("echo hi\\r")
    t.wait("hi")
"""
import base64
import http.client
import json
import re
import socket
import threading
import urllib.parse

import pyte

import service
from service import at, call, expect, setting, until
from tap import equal


def path(sid, tid="", rest=""):
    return at(sid, "/api/terminal" + (tid and "/" + urllib.parse.quote(tid)) + rest)


def opened(sid, **wish):
    """Makes or finds a terminal; its record in the answer."""
    return expect(200, call("POST", path(sid), wish)).json["terminal"]


def show(sid, tid="default"):
    return expect(200, call("GET", path(sid, tid))).json["terminal"]


class Screen(pyte.Screen):
    """The screen that python3-pyte draws from a terminal's output."""

    def __init__(self, cols, rows):
        super().__init__(cols, rows)
        self.stream = pyte.ByteStream(self)
        self.drawn = 0

    def draw_up_to_date(self, text):
        """`text`: all output since the beginning."""
        end = len(text)  # another thread may append to the output
        self.stream.feed(text[self.drawn:end])
        self.drawn = end
        return self

    def select_graphic_rendition(self, *attributes, private=False):
        if not private:  # CSI ? 4 m is a question of vim's, and no colour
            super().select_graphic_rendition(*attributes)


class Client(threading.Thread):
    """Follows a terminal; `text` is the output so far.  `slow`: the client does
    not read until start()."""

    def __init__(self, sid, tid="default", query="", slow=False, **headers):
        super().__init__(daemon=True)
        self.conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                               timeout=service.PATIENCE)
        self.conn.request("GET", path(sid, tid, "/stream" + query), headers=dict(
            headers, Authorization="Bearer " + setting("SANDLEASE_API_KEY")))
        self.sock = self.conn.sock
        self.answer = self.conn.getresponse()
        equal((self.answer.status, self.answer.headers["Content-Type"]),
              (200, "text/event-stream"), "stream")
        self.text = b""
        self.events = []  # all events but output
        self.stream = self._events()
        _, first = next(self.stream)
        equal(first["type"], "ready", "the first event")
        self.begin = self.offset = first["offset"]
        self.screen = Screen(first["cols"], first["rows"])
        self.events.append(first)
        if not slow:
            self.start()

    def _events(self):
        last = None
        for line in self.answer:
            if line.startswith(b"id: "):
                last = int(line[4:])
            if line.startswith(b"data: "):
                yield last, json.loads(line[6:])
                last = None

    def run(self):
        for number, event in self.stream:
            self._take(number, event)

    def _take(self, number, event):
        if event["type"] == "output":
            data = base64.b64decode(event["data"])
            self.offset += len(data)
            if not number == event["offset"] == self.offset:
                self.events.append({"type": "miscounted", "event": number})
            self.text += data
            return
        if event["type"] == "lost":
            self.offset += event["bytes"]
        self.events.append(event)

    def wait(self, pattern, since=0):
        """Waits until the pattern fits in the text; where the match ends."""
        def look():
            return re.search(pattern.encode(), self.text[since:], re.S)
        # the match is kept: more output may follow, and then `$` fits no more
        found = until("%r comes; %r" % (pattern, self.text[-200:]), look)
        return since + found.end()

    def lines(self):
        """The lines on the screen.  The screen is drawn only when a test looks
        at it, because that takes seconds for megabytes of output."""
        return [line.rstrip() for line in
                self.screen.draw_up_to_date(self.text).display]

    def shows(self, row, pattern):
        """Waits until that row of the screen, from 0 on, fits."""
        until("row %d: %s" % (row, pattern),
              lambda: re.search(pattern, self.lines()[row]))

    def has_cursor_at(self, row, column):
        """Waits until the cursor is there; both from 0 on."""
        def there():
            cursor = self.screen.draw_up_to_date(self.text).cursor
            return (cursor.y, cursor.x) == (row, column)
        until("the cursor is at %d, %d" % (row, column), there)

    def exit(self):
        """Waits for the end of the terminal; its `exit` event."""
        self.join(service.PATIENCE)
        equal(self.events[-1]["type"], "exit", "the last event")
        return self.events[-1]

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.join(service.PATIENCE)
        self.answer.close()


class Terminal(Client):
    """A new terminal with its client."""

    def __init__(self, sid, tid="default", **wish):
        self.sid, self.tid = sid, tid
        self.wish = opened(sid, sessionId=tid, **wish)
        super().__init__(sid, tid)

    def send(self, data, **headers):
        return call("POST", path(self.sid, self.tid, "/input"), data, headers=dict(
            {"Content-Type": "application/octet-stream"}, **headers))

    def type(self, text):
        r = expect(200, self.send(text.encode())).json
        equal(r["written"], len(text.encode()), "what it took")

    def run_in(self, command, wanted):
        """Types a command at the prompt and waits for the wanted output."""
        self.wait(r"\$ $")
        since = len(self.text)
        self.type(command + "\r")
        return self.wait(wanted, since)

    def resize(self, cols, rows):
        """Resizes and clears the screen, so that it shows only later output."""
        self.lines()
        self.screen.resize(rows, cols)
        self.screen.erase_in_display(2)
        expect(200, call("POST", path(self.sid, self.tid, "/resize"),
                         {"cols": cols, "rows": rows}))

    def delete(self):
        return expect(200, call("DELETE", path(self.sid, self.tid))).json
