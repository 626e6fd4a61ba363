"""clients.py: many clients of the service, and a ledger of the service's
promises to them."""
import http.client
import json
import random
import threading
import time

import service

FILE = "/workspace/keep"
WAIT = 5       # seconds a create or resume may take before it is a 202
PATIENCE = 15  # wait: until a client gives up on an answer, and then asks again
KEPT_MAX = 60  # sessions that are kept; all others are deleted soon


class Entry:
    """One session that was acknowledged."""

    def __init__(self, sid, key):
        self.sid = sid
        self.key = key
        self.texts = {None}    # contents that its file may have; None: no file
        self.late = set()      # texts of unanswered writes, which may still land
        self.deleted = False   # a deletion was acknowledged
        self.perhaps = False   # a deletion was asked for, its answer got lost
        self.lost = False      # its loss was reported already
        self.lock = threading.Lock()


class Ledger:
    def __init__(self, keys):
        self.keys = keys
        self.lock = threading.Lock()
        self.entries = {}
        self.kept = []
        self.tasks = {}  # task id: (id of its execution, key)
        self.violations = []
        self.counts = {}
        self.stop = threading.Event()

    def count(self, what, n=1):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + n

    def violation(self, sid, text):
        with self.lock:
            self.violations.append((sid, text))
        print("violation: %s %s" % (sid, text), flush=True)

    def acknowledged(self, sid, key):
        with self.lock:
            entry = self.entries.get(sid)
            if entry is None:
                entry = self.entries[sid] = Entry(sid, key)
                self.counts["creates"] = self.counts.get("creates", 0) + 1
        return entry

    def keep(self, entry):
        """Keeps one more session; returns the one to be deleted for it, if any."""
        with self.lock:
            self.kept.append(entry)
            return self.kept.pop(0) if len(self.kept) > KEPT_MAX else None

    def some_kept(self, rng):
        with self.lock:
            return rng.choice(self.kept) if self.kept else None


class Client:
    """One connection, one thread at a time."""

    def __init__(self, ledger):
        self.ledger = ledger
        self.conn = None

    def call(self, method, path, key, body=None, headers=None):
        """(status, body as JSON or None); status 0: no answer."""
        sent = dict(headers or {}, Authorization="Bearer " + key)
        if body is not None:
            body = json.dumps(body)
            sent["Content-Type"] = "application/json"
        try:
            if self.conn is None:
                self.conn = http.client.HTTPConnection(
                    "127.0.0.1", service.port(), timeout=PATIENCE)
            self.conn.request(method, path, body, sent)
            reply = self.conn.getresponse()
            data = reply.read()
        except (OSError, http.client.HTTPException):
            self.close()
            self.ledger.count("no answer")
            return 0, None
        self.ledger.count("calls")
        try:
            return reply.status, json.loads(data) if data else None
        except ValueError:
            return reply.status, None

    def close(self):
        if self.conn is not None:
            self.conn.close()
            self.conn = None

    # ---- on one session

    def on(self, entry, method, rest="", body=None):
        status, doc = self.call(method, service.at(entry.sid, rest),
                                entry.key, body)
        code = str((doc or {}).get("code", "")).lower() \
            if isinstance(doc, dict) else ""
        gone = status == 404 and "session" in code or code == "session_lost" \
            or isinstance(doc, dict) and doc.get("state") == "lost"
        if gone and not (entry.deleted or entry.perhaps or entry.lost):
            entry.lost = True
            self.ledger.violation(entry.sid, "%s %s: %d %r" % (
                method, rest, status, doc))
        return status, doc

    def create(self, rng):
        """An entry, or None when the service acknowledged nothing."""
        key = rng.choice(self.ledger.keys)
        wish = {"sleepAfterSeconds": rng.choice([3, 600, 600, 600])}
        if rng.random() < 0.2:
            wish["suspend"] = True
        if rng.random() < 0.5:
            wish["isolation"] = "session"
        headers = {"Idempotency-Key": "%032x" % rng.getrandbits(128)}
        entry = None
        for _ in range(4):
            status, doc = self.call("POST", "/v1/sessions?wait=%d" % WAIT,
                                    key, wish, headers)
            if status in (200, 201, 202):
                if entry is not None and entry.sid != doc["id"]:
                    self.ledger.violation(entry.sid, "and %s have the same"
                                          " idempotency key" % doc["id"])
                entry = self.ledger.acknowledged(doc["id"], key)
                if rng.random() < 0.95:  # else asked again, as a test
                    return entry
            # wait: between two tries
            elif self.ledger.stop.wait(0.2 + 0.3 * rng.random()):
                break
        if entry is None:
            self.ledger.count("creates refused")
        return entry

    def write(self, entry, text):
        with entry.lock:
            entry.texts.add(text)
            entry.late.add(text)
            status, _ = self.on(entry, "POST", "/api/write",
                                {"path": FILE, "content": text})
            if status == 200:
                entry.late.remove(text)
                entry.texts = {text} | entry.late
        return status == 200

    def read(self, entry):
        """True: the file has a text that it may have.  None: no answer tells."""
        with entry.lock:
            status, doc = self.on(entry, "POST", "/api/read", {"path": FILE})
            if status == 200:
                text = doc.get("content")
            elif status == 404 and "file" in str(doc).lower():
                text = None
            else:
                return None
            if text not in entry.texts:
                self.ledger.violation(entry.sid, "holds %r, not %r" % (
                    text, entry.texts))
                return False
            entry.texts = {text} | entry.late
            return True

    def execute(self, entry):
        status, doc = self.on(entry, "POST", "/api/execute",
                              {"command": "echo $((6 * 7))"})
        if status == 200 and doc.get("stdout", "").strip() != "42":
            if doc.get("exitCode") == 0:
                self.ledger.violation(entry.sid, "answered %r" % doc)
        return status == 200

    def delete(self, entry):
        for _ in range(4):
            entry.perhaps = True
            status, _ = self.on(entry, "DELETE")
            if status in (200, 202):
                entry.deleted = True
                self.ledger.count("deletes")
                return
            if self.ledger.stop.wait(0.3):  # wait: between two tries
                return

    def task(self, rng):
        """One call that brings its session; asked again until it is acknowledged."""
        key, task = rng.choice(self.ledger.keys), "%016x" % rng.getrandbits(64)
        body = {"agentType": "VALIDATION", "taskId": task, "network": {"mode": "none"},
                "command": "echo %s; echo %s >left" % (task, task), "collect": ["left"]}
        for _ in range(4):
            status, doc = self.call("POST", "/v1/executions?wait=%d" % rng.choice([0, WAIT]),
                                    key, body)
            if status in (200, 202):
                known = self.ledger.tasks.setdefault(task, (doc["id"], key))
                if known[0] != doc["id"]:
                    self.ledger.violation(doc["sessionId"], "task %s is also %s" % (task, known[0]))
                self.ledger.count("tasks")
                if rng.random() < 0.9:  # else asked again, as a test
                    return
            # wait: between two tries
            elif self.ledger.stop.wait(0.2 + 0.3 * rng.random()):
                return

    def check_task(self, task):
        """False: it has not ended, or no answer tells."""
        xid, key = self.ledger.tasks[task]
        status, x = self.call("GET", "/v1/executions/%s?wait=5" % xid, key)
        if status != 200 or not x["endedAt"]:
            return False
        if x["state"] == "lost" and len(x["attempts"]) == 4:
            self.ledger.count("tasks lost")
            return True
        if x["state"] != "succeeded":
            self.ledger.violation(x["sessionId"], "task %s: %r" % (task, x))
            return True
        status, logs = self.call("GET", "/v1/executions/%s/logs" % xid, key)
        if status != 200:
            return False
        text = "".join(o["data"] for o in logs["output"])
        if x["artifacts"]["error"]:  # as when the disk is full, and it says so
            self.ledger.count("tasks not kept")
        elif text != task + "\n" or x["artifacts"]["files"] != 1:
            self.ledger.violation(x["sessionId"], "task %s: said %r, left %r" % (
                task, text, x["artifacts"]))
        return True

    # ---- a client's day

    def life(self, rng):
        """One session from its beginning to its end, or until it is kept."""
        entry = self.create(rng)
        if entry is None:
            return
        dice = rng.random()
        if dice < 0.5:
            self.write(entry, "%016x" % rng.getrandbits(64))
        if dice < 0.3:
            self.execute(entry)
        if dice < 0.15:
            self.on(entry, "POST", "/sleep", {})
            if dice < 0.10:
                self.on(entry, "POST", "/resume?wait=%d" % WAIT, {})
            self.read(entry)
        if dice < 0.20:
            entry = self.ledger.keep(entry)
        if entry is not None:
            self.delete(entry)

    def look_after(self, rng):
        """Makes a random call on a session that is kept."""
        entry = self.ledger.some_kept(rng)
        if entry is None or entry.perhaps:
            return
        rng.choice([
            lambda: self.read(entry),
            lambda: self.execute(entry),
            lambda: self.write(entry, "%016x" % rng.getrandbits(64)),
            lambda: self.on(entry, "POST", "/sleep", {}),
            lambda: self.on(entry, "POST", "/resume?wait=%d" % WAIT, {}),
            lambda: self.on(entry, "GET"),
        ])()

    def run(self, seed):
        rng = random.Random(seed)
        while not self.ledger.stop.is_set():
            dice = rng.random()
            if dice < 0.65:
                self.life(rng)
            elif dice < 0.75:
                self.task(rng)
            else:
                self.look_after(rng)
        self.close()


def start(ledger, count, seed):
    threads = []
    for number in range(count):
        threads.append(threading.Thread(
            target=Client(ledger).run, args=("%s/%d" % (seed, number),)))
        threads[-1].start()
    return threads


def verify(ledger):
    """Every session that was acknowledged and not deleted is there, with its
    file.  The faults are over: each must answer within PATIENCE."""
    alive = [e for e in ledger.entries.values() if not e.perhaps]
    todo = iter(alive)
    lock = threading.Lock()

    def work():
        client = Client(ledger)
        while True:
            with lock:
                entry = next(todo, None)
            if entry is None:
                break
            end = time.monotonic() + service.PATIENCE
            while client.read(entry) is None:
                client.on(entry, "POST", "/resume?wait=%d" % WAIT, {})
                if time.monotonic() > end:
                    ledger.violation(entry.sid, "does not answer: %r" % (
                        client.on(entry, "GET"),))
                    break
        client.close()

    def work_on_tasks():
        client = Client(ledger)
        for task in list(ledger.tasks):
            end = time.monotonic() + service.PATIENCE
            while not client.check_task(task):
                if time.monotonic() > end:
                    ledger.violation(task, "does not end")
                    break
        client.close()

    threads = [threading.Thread(target=work) for _ in range(8)] + [
        threading.Thread(target=work_on_tasks)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return len(alive)
