"""auth.py: measures authorisation against a worker that does nothing.

    auth.py rights COUNT FILE       writes "session token" lines to FILE, and prints
                                    "session,hash" for the rows
    auth.py measure FILE PORT NGINX API NOOP POSTGRES
                                    prints lines for t/bench/auth.sh: name, value, unit,
                                    aim, note; the last four are pids

Both programs take turns, so that other load on the machine slows both alike.  What
counts is CPU time: of nginx and the program, and for ours of PostgreSQL and of the
process that hears of revocations, too.
"""
import base64
import hashlib
import http.client
import os
import secrets
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from procfs import descendants
from service import new_key, sql

ROUNDS, SECONDS, WARM_SECONDS, CONNECTIONS = 21, 1, 4, 16
REVOCATIONS, LOAD_CONNECTIONS, PROBES = 250, 4, 24
HERE = os.path.dirname(os.path.abspath(__file__))


def figure(name, value, unit, aim="", note=""):
    print("|".join([name, value, unit, aim, note]), flush=True)


# ---- rights


def random_text(length):
    return base64.b32encode(secrets.token_bytes(20)).decode().lower()[:length]


def hash_of(token):
    return hashlib.blake2b(token.encode(), digest_size=32).hexdigest()


def write_rights(count, path):
    with open(path, "w", encoding="ascii") as f:
        for _ in range(count):
            session, token = random_text(20), random_text(26)
            f.write("%s %s\n" % (session, token))
            print("%s,%s" % (session, hash_of(token)))


# ---- CPU time of a request


def cpu_us(pids):
    """What these processes and their descendants have used."""
    total = 0
    for pid in {p for pid in pids for p in [pid, *descendants(pid)]}:
        try:
            with open("/proc/%d/schedstat" % pid, encoding="ascii") as f:
                total += int(f.read().split()[0])
        except OSError:
            pass  # it has ended
    return total / 1000


class Load:
    """wrk, which asks for all rights of the file in turn."""

    def __init__(self, port, program, kind, rights):
        self.url = "http://127.0.0.1:%d/" % port
        self.words = ["POST", os.environ["SANDLEASE_API_KEY"]] \
            if kind == "session" else ["GET"]
        self.paths = os.path.join(os.environ["STACK_DIR"], "bench",
                                  "paths-%s-%s" % (program, kind))
        with open(self.paths, "w", encoding="ascii") as f:
            for session, token in rights:
                f.write("/%s/%s/%s\n" % (program, kind, session if kind == "session"
                                         else session + "/" + token))

    def run(self, seconds, connections=CONNECTIONS):
        """Returns the number of requests and the seconds that they took."""
        done = subprocess.run(
            ["wrk", "-t1", "-c%d" % connections, "-d%ds" % seconds, "-s",
             os.path.join(HERE, "auth.lua"), self.url, "--", self.paths, *self.words],
            text=True, stdout=subprocess.PIPE, check=True).stdout
        if "Non-2xx" in done or "Socket errors" in done:
            raise SystemExit("a request was refused: " + done)
        words = next(l for l in done.splitlines() if " requests in " in l).split()
        return int(words[0]), float(words[3].rstrip("s,"))


def cost(load, pids):
    """CPU microseconds per request by program, and requests a second."""
    before = {name: cpu_us([pid]) for name, pid in pids.items()}
    count, seconds = load.run(SECONDS)
    return {name: (cpu_us([pid]) - before[name]) / count
            for name, pid in pids.items()}, count / seconds


def parts(rounds):
    """Where the time went, by program."""
    return ", ".join("%s %.1f" % (name, statistics.median(r[name] for r in rounds))
                     for name in rounds[0])


def compare(kind, name, aim, port, rights, pids):
    ours, theirs = (Load(port, p, kind, rights) for p in ("auth", "noop"))
    ours.run(WARM_SECONDS)
    theirs.run(1)
    rounds = []
    for _ in range(ROUNDS):
        rounds.append((cost(ours, {n: pids[n] for n in ("nginx", "api", "postgres")}),
                       cost(theirs, {n: pids[n] for n in ("nginx", "noop")})))
    (us, rates), (noop_us, noop_rates) = (zip(*r) for r in zip(*rounds))
    ratios = [sum(n.values()) / sum(o.values()) for o, n in zip(us, noop_us)]
    ours, theirs = (statistics.median(sum(u.values()) for u in all_us)
                    for all_us in (us, noop_us))
    figure(name + ", CPU per request", "%.1f" % ours, "us", "", parts(us))
    figure("no-op FastCGI, CPU per request", "%.1f" % theirs, "us", "", parts(noop_us))
    figure(name, "%.0f" % statistics.median(rates), "/s", "",
           "no-op FastCGI %.0f" % statistics.median(noop_rates))
    quarters = statistics.quantiles(ratios, n=4)
    figure("no-op / %s, CPU" % name, "%.3f" % (theirs / ours), "", aim,
           "%d sessions; of %d pairs half are from %.3f to %.3f" % (
               len(rights), ROUNDS, quarters[0], quarters[2]))


# ---- a revocation, from its commit to the last request that still passed

# Each has a statement that takes the right away, and one that gives it back.
KINDS = {
    "unexpose": ("UPDATE port SET closing_at = clock_timestamp() WHERE session_id = :'v1'",
                 "UPDATE port SET closing_at = NULL WHERE session_id = :'v1'"),
    "rotate": ("UPDATE port SET token_hash = token_hash || 'x' WHERE session_id = :'v1'",
               "UPDATE port SET token_hash = rtrim(token_hash, 'x') WHERE session_id = :'v1'"),
    "stop": ("UPDATE lease SET state = 'stop_needed', reason = 'bench', next_attempt_at = 'infinity'"
             " WHERE session_id = :'v1'",
             "UPDATE lease SET state = 'owns_wrapper' WHERE session_id = :'v1'"),
    "revoke": ("UPDATE api_key SET revoked_at = clock_timestamp() WHERE hash = :'v2'",
               "UPDATE api_key SET revoked_at = NULL WHERE hash = :'v2'"),
}


class Client:
    def __init__(self, port, key):
        self.conn = http.client.HTTPConnection("127.0.0.1", port)
        self.headers = {"Authorization": "Bearer " + key}

    def passes(self, kind, session, token):
        """Whether the right counts, and when the request was sent."""
        at = time.monotonic()
        if kind == "revoke":
            self.conn.request("POST", "/auth/session/" + session, headers=self.headers)
        else:
            self.conn.request("GET", "/auth/preview/%s/%s" % (session, token))
        answer = self.conn.getresponse()
        answer.read()
        return answer.status == 204, at


def revoke_once(client, kind, session, token, key_hash):
    """Milliseconds from the commit to the last request that passed, or 0."""
    for _ in range(PROBES):  # every worker has kept it
        if not client.passes(kind, session, token)[0]:
            raise SystemExit("%s of %s: refused before" % (kind, session))
    sql(KINDS[kind][0], session, key_hash)
    since, last = time.monotonic(), None
    for _ in range(PROBES):
        passed, at = client.passes(kind, session, token)
        if passed:
            last = at
    sql(KINDS[kind][1], session, key_hash)
    return 0 if last is None else (last - since) * 1000


def revocations(port, rights):
    """Under load, with sessions that the load does not touch."""
    key = new_key("demo", "bench")
    key_hash, client = hash_of(key), Client(port, key)
    load = Load(port, "auth", "preview", rights[100:])
    stop = threading.Event()

    def keep_busy():
        while not stop.is_set():
            load.run(1, LOAD_CONNECTIONS)

    busy = threading.Thread(target=keep_busy)
    busy.start()
    try:
        for kind in KINDS:
            late = [revoke_once(client, kind, *rights[i % 100], key_hash)
                    for i in range(REVOCATIONS)]
            figure("%s, request that passed last" % kind, "%.1f" % max(late), "ms", "<= 50",
                   "of %d; %d passed no request, p99 %.1f" % (
                       len(late), late.count(0), sorted(late)[int(len(late) * .99)]))
    finally:
        stop.set()
        busy.join()


def measure(path, port, *pids):
    with open(path, encoding="ascii") as f:
        rights = [tuple(line.split()) for line in f]
    pids = dict(zip(("nginx", "api", "noop", "postgres"), map(int, pids)))
    compare("preview", "preview check", ">= 0.9", int(port), rights, pids)
    compare("session", "execute's check", ">= 0.8", int(port), rights, pids)
    revocations(int(port), rights)


if __name__ == "__main__":
    if sys.argv[1] == "rights":
        write_rights(int(sys.argv[2]), sys.argv[3])
    else:
        measure(*sys.argv[2:])
