"""executions.py: measures executions beside plain commands.

Prints lines for t/bench/executions.sh: name, value, unit, aim, note.  Commands and
executions take turns, so that other load on the machine slows both alike.
"""
import http.client
import json
import os
import statistics
import threading
import time

ROUNDS, CALLS, SESSIONS, EACH = 200, 100, 20, 10


class Client:
    def __init__(self):
        self.conn = http.client.HTTPConnection(os.environ["SANDLEASE_URL"].split("//")[1])
        self.headers = {"Authorization": "Bearer " + os.environ["SANDLEASE_API_KEY"],
                        "Content-Type": "application/json"}

    def call(self, method, path, body=None):
        self.conn.request(method, path, None if body is None else json.dumps(body), self.headers)
        r = self.conn.getresponse()
        text = r.read()
        if r.status >= 400:
            raise SystemExit("%s %s: %d %s" % (method, path, r.status, text[:500]))
        return json.loads(text) if text else None

    def timed(self, *words):
        began = time.perf_counter()
        answer = self.call(*words)
        return (time.perf_counter() - began) * 1000, answer


def figure(name, value, unit, aim="", note=""):
    print("|".join([name, value, unit, aim, note]), flush=True)


def p99(times):
    return sorted(times)[int(len(times) * .99)]


def must_succeed(x):
    if x["state"] != "succeeded":
        raise SystemExit("an execution: %r" % x)


def overhead(client):
    sid = client.call("POST", "/v1/sessions", {})["id"]
    plain, limited = [], []
    for _ in range(ROUNDS):
        plain.append(client.timed("POST", "/v1/sessions/%s/api/execute" % sid,
                                  {"command": "/bin/true"})[0])
        ms, x = client.timed("POST", "/v1/sessions/%s/executions?wait=30" % sid,
                             {"command": "/bin/true", "agentType": "VALIDATION"})
        must_succeed(x)
        limited.append(ms)
    figure("execution, in a session p50", "%.1f" % statistics.median(limited), "ms", "",
           "n %d, p99 %.1f, a plain command %.1f" % (ROUNDS, p99(limited),
                                                     statistics.median(plain)))
    figure("execution, added p50", "%.1f" % statistics.median(
        l - p for l, p in zip(limited, plain)), "ms", "<= 5")
    client.call("DELETE", "/v1/sessions/" + sid)


def one_call(client):
    times = []
    for _ in range(CALLS):
        ms, x = client.timed("POST", "/v1/executions?wait=30", {
            "command": "true", "agentType": "VALIDATION", "network": {"mode": "none"}})
        must_succeed(x)
        times.append(ms)
    figure("execution, one call p50", "%.1f" % statistics.median(times), "ms", "<= 40",
           "n %d, p99 %.1f, from POST to the result of true" % (CALLS, p99(times)))


def queued(client):
    sids = [client.call("POST", "/v1/sessions", {})["id"] for _ in range(SESSIONS)]
    ids, lock = [], threading.Lock()

    def put(sid):
        own = Client()
        for _ in range(EACH):
            x = own.call("POST", "/v1/sessions/%s/executions" % sid, {"command": "true"})
            with lock:
                ids.append(x["id"])

    began = time.perf_counter()
    threads = [threading.Thread(target=put, args=(sid,)) for sid in sids]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    accepted = time.perf_counter() - began
    for one in ids:
        x = client.call("GET", "/v1/executions/%s?wait=60" % one)
        while not x["endedAt"]:
            x = client.call("GET", "/v1/executions/%s?wait=60" % one)
        must_succeed(x)
    took = time.perf_counter() - began
    figure("execution, %d on %d sessions" % (SESSIONS * EACH, SESSIONS), "%.2f" % took, "s", "",
           "all accepted after %.2f" % accepted)
    for sid in sids:
        client.call("DELETE", "/v1/sessions/" + sid)


def main():
    client = Client()
    overhead(client)
    one_call(client)
    queued(client)


main()
