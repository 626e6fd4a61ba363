"""upload.py: measures an upload into a session against nginx's own PUT.

    upload.py FILE OURS THEIRS NGINX WRAPPER
                                    prints lines for t/bench/files.sh: name, value, unit,
                                    aim, note; OURS and THEIRS are URLs that end with "/",
                                    NGINX and WRAPPER are pids

Both write the same bytes, sent by the same client, to a new file of the same disk, and
neither waits for the disk.  They take turns, and each begins every second round, so that
other load on the machine slows both alike.  What was written is deleted after each turn.
"""
import http.client
import os
import statistics
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from procfs import descendants

ROUNDS, WARM_ROUNDS = 25, 2
MB = 1 << 20


def figure(name, value, unit, aim="", note=""):
    print("|".join([name, value, unit, aim, note]), flush=True)


def cpu_ms(pid):
    """What a process has used, with all threads and descendants."""
    total = 0
    for one in [pid, *descendants(pid)]:
        try:
            for thread in os.listdir("/proc/%d/task" % one):
                with open("/proc/%d/task/%s/schedstat" % (one, thread), encoding="ascii") as f:
                    total += int(f.read().split()[0])
        except OSError:
            pass  # it has ended
    return total / 1e6


def request(method, url, body=b""):
    """Returns the seconds that a request took."""
    to = urllib.parse.urlsplit(url)
    conn = http.client.HTTPConnection(to.hostname, to.port)
    since = time.monotonic()
    conn.putrequest(method, to.path)
    conn.putheader("Authorization", "Bearer " + os.environ["SANDLEASE_API_KEY"])
    conn.putheader("Content-Length", str(len(body)))
    conn.endheaders()
    conn.sock.sendall(body)
    answer = conn.getresponse()
    answer.read()
    conn.close()
    if answer.status // 100 != 2:
        raise SystemExit("%s %s: %d" % (method, url, answer.status))
    return time.monotonic() - since


class Side:
    def __init__(self, body, url, pids):
        self.body, self.url, self.pids = body, url, pids
        self.mb = len(body) / MB
        self.speeds, self.cpu = [], {name: [] for name in pids}

    def turn(self, number):
        to = "%sfile-%d" % (self.url, number)
        before = {name: cpu_ms(pid) for name, pid in self.pids.items()}
        seconds = request("PUT", to, self.body)
        after = {name: cpu_ms(pid) for name, pid in self.pids.items()}
        request("DELETE", to)
        if number < 0:
            return
        self.speeds.append(self.mb / seconds)
        for name, used in self.cpu.items():
            used.append((after[name] - before[name]) / self.mb)

    def figures(self, name):
        parts = {part: statistics.median(used) for part, used in self.cpu.items()}
        figure(name, "%.0f" % statistics.median(self.speeds), "MB/s", "",
               "%.0f MB, %d rounds, %.0f to %.0f" % (self.mb, len(self.speeds),
                                                     min(self.speeds), max(self.speeds)))
        figure(name + ", CPU per MB", "%.3f" % sum(parts.values()), "ms", "",
               ", ".join("%s %.3f" % part for part in parts.items()))


def measure(path, ours, theirs, nginx, wrapper):
    with open(path, "rb") as f:
        body = f.read()
    ours = Side(body, ours, {"nginx": int(nginx), "wrapper": int(wrapper)})
    theirs = Side(body, theirs, {"nginx": int(nginx)})
    for number in range(-WARM_ROUNDS, ROUNDS):
        for side in (ours, theirs) if number % 2 == 0 else (theirs, ours):
            side.turn(number)
    ours.figures("file upload")
    theirs.figures("nginx PUT, the same file")
    ratios = [o / t for o, t in zip(ours.speeds, theirs.speeds)]
    quarters = statistics.quantiles(ratios, n=4)
    figure("file upload / nginx PUT", "%.3f" % statistics.median(ratios), "", ">= 0.95",
           "of %d pairs half are from %.3f to %.3f" % (ROUNDS, quarters[0], quarters[2]))


if __name__ == "__main__":
    measure(*sys.argv[1:])
