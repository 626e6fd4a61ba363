"""watching.py: api/watch and api/watch/check of a Box; tests change its files from outside."""
import json
import os
import shutil
import signal
import time

from box import eventually
from tap import PATIENCE


class World:
    """A session of the box and its /workspace."""

    def __init__(self, box):
        self.box = box
        self.session = box.session()
        self.dir = os.path.join(box.dir, "storage", self.session, "workspace")

    def here(self, *names):
        return os.path.join(self.dir, *names)

    def put(self, *names):
        with open(self.here(*names), "w") as f:
            f.write("x")

    def fresh(self, name):
        """Makes a directory for a case; its path in the session."""
        shutil.rmtree(self.here(name), ignore_errors=True)
        os.mkdir(self.here(name))
        return "/workspace/" + name

    def watch(self, path="/workspace", **more):
        return Watch(self, path, **more)

    def check(self, path="/workspace", since=None, **more):
        more.update({"since": since} if since else {})
        answer = self.box.call(self.session, "POST", "/api/watch/check", dict(more, path=path))
        assert answer.status == 200, answer.body
        return answer.json()

    def stopped(self):
        return Stopped(self.box)


class Watch:
    """An open api/watch."""

    def __init__(self, world, path, **more):
        self.world = world
        self.request = world.box.request(world.session, "POST", "/api/watch",
                                         dict(more, path=path))
        self.text = b""
        self.first = self.next()

    def next(self):
        """The next event; None at the end.  Fails when no event comes."""
        end = time.monotonic() + PATIENCE
        while True:
            event = self._next()
            if event is None or event.startswith(b"data: "):
                return event and json.loads(event[6:])
            assert time.monotonic() < end, "nothing comes"  # only heartbeats come

    def _next(self):
        while b"\n\n" not in self.text:
            piece = self.request.read()
            if piece is None:
                return None
            self.text += piece
            if self.text.startswith(b"Status"):
                self.text = self.text.partition(b"\r\n\r\n")[2]
        event, _, self.text = self.text.partition(b"\n\n")
        return event

    def events_until(self, name, kind="create"):
        """Whole events up to the one of that path below /workspace, or the end."""
        found = []
        for event in iter(self.next, None):
            found.append(event)
            if (event.get("eventType"), event.get("path")) == (kind, "/workspace/" + name):
                break
        return found

    def until(self, name, kind="create"):
        """events_until(), each as (eventType, path below /workspace)."""
        return [(e["eventType"], e["path"][len("/workspace/"):])
                if e["type"] == "event" else (e["type"], "")
                for e in self.events_until(name, kind)]

    def mark(self, name):
        """Makes a file of that name; the events that came before its own."""
        self.world.put(name)
        return self.until(name)[:-1]

    def rest(self):
        return list(iter(self.next, None))

    def close(self):
        self.request.close()


class Stopped:
    """Stops the wrapper for a `with`; meanwhile the kernel queues the changes."""

    def __init__(self, box):
        self.pid = box.named("sandlease-wrap")[-1]

    def __enter__(self):
        os.kill(self.pid, signal.SIGSTOP)
        assert eventually(self.stands)

    def stands(self):
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{task}/stat") as f:
                if f.read().rpartition(")")[2].split()[0] != "T":
                    return False
        return True

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGCONT)
