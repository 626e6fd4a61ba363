"""network.py: measures the network of a sandbox beside the loopback of the host.

Prints lines for t/bench/network.sh: name, value, unit, aim, note.  The same
programs send and receive in both cases; they take turns, so that other load on
the machine slows both alike.
"""
import http.client
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
import threading

ADDRESS, NAME = "127.77.1.1", "bench.example.com"
DNS = ("127.77.1.53", 5353)
MEGABYTES, ROUNDS, CONNECTS, CROWD = 1024, 5, 300, 1000

RECEIVE = """
import socket, sys, time
def once(host, port):
    s = socket.create_connection((host, port))
    s.sendall(b"\\x01")
    buffer = bytearray(1 << 20)
    total, began = 0, time.perf_counter()
    while n := s.recv_into(buffer):
        total += n
    return total / 1e6 / (time.perf_counter() - began)
print(once(sys.argv[1], int(sys.argv[2])))
"""
CONNECT = """
import socket, sys, time
address = socket.gethostbyname(sys.argv[1])
times = []
for _ in range(int(sys.argv[3])):
    began = time.perf_counter()
    s = socket.create_connection((address, int(sys.argv[2])))
    s.sendall(b"\\x02")
    s.recv(1)
    times.append((time.perf_counter() - began) * 1000)
    s.close()
print(sorted(times)[len(times) // 2], sorted(times)[int(len(times) * .99)])
"""
HOLD = """
import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
held = [socket.create_connection((sys.argv[1], int(sys.argv[2]))) for _ in range(int(sys.argv[3]))]
for s in held:
    s.sendall(b"\\x02")
    s.recv(1)
print(len(held), flush=True)
time.sleep(600)
"""


def serve_names():
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(DNS)
    while True:
        query, client = sock.recvfrom(4096)
        end = query.index(b"\0", 12) + 5
        found = query[end - 4:end - 2] == b"\0\1"
        answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(ADDRESS) if found else b""
        sock.sendto(query[:2] + struct.pack("!HHHHH", 0x8180, 1, found, 0, 0) + query[12:end] +
                    answer, client)


def answer(conn):
    block = bytes(1 << 20)
    with conn:
        while want := conn.recv(1):
            if want == b"\x02":
                conn.sendall(b"!")
                continue
            for _ in range(MEGABYTES):
                conn.sendall(block)
            return


def serve_bytes():
    """A process of its own: the client measures, this only sends."""
    listener = socket.create_server((ADDRESS, 0), backlog=1024)
    pid = os.fork()
    if pid:
        return listener.getsockname()[1], pid
    while True:
        conn, _ = listener.accept()
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=answer, args=(conn,), daemon=True).start()


class Session:
    def __init__(self, port):
        self.port = port
        self.sid = self.call("POST", "/v1/sessions?wait=60", {
            "network": {"allow": ["%s:%d" % (NAME, port)]}})["id"]
        for name, text in (("receive", RECEIVE), ("connect", CONNECT), ("hold", HOLD)):
            self.call("POST", "/v1/sessions/%s/api/write" % self.sid,
                      {"path": "/workspace/%s.py" % name, "content": text})

    @staticmethod
    def call(method, path, body=None):
        conn = http.client.HTTPConnection(os.environ["SANDLEASE_URL"].split("//")[1], timeout=300)
        conn.request(method, path, body and json.dumps(body), {
            "Authorization": "Bearer " + os.environ["SANDLEASE_API_KEY"],
            "Content-Type": "application/json"})
        r = conn.getresponse()
        text = r.read()
        if r.status >= 300:
            raise SystemExit("%s %s: %d %s" % (method, path, r.status, text[:300]))
        return json.loads(text) if text else None

    def run(self, program, *words):
        r = self.call("POST", "/v1/sessions/%s/api/execute" % self.sid, {
            "command": "/usr/bin/python3 /workspace/%s.py %s %d %s" % (
                program, NAME, self.port, " ".join(words))})
        if r["exitCode"]:
            raise SystemExit(r["stderr"])
        return r["stdout"].split()

    def hold(self, count):
        self.call("POST", "/v1/sessions/%s/api/process/start" % self.sid, {
            "command": "/usr/bin/python3 /workspace/hold.py %s %d %d > /workspace/held" % (
                NAME, self.port, count)})
        while self.call("POST", "/v1/sessions/%s/api/execute" % self.sid,
                        {"command": "cat /workspace/held"})["stdout"].strip() != str(count):
            pass


def outside(text, port, *words):
    return subprocess.run([sys.executable, "-c", text, ADDRESS, str(port), *words], check=True,
                          capture_output=True, text=True).stdout.split()


def figure(name, value, unit, aim="", note=""):
    print("|".join([name, value, unit, aim, note]), flush=True)


def memory(pid):
    with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as f:
        return sum(int(l.split()[1]) for l in f if l.startswith("Pss:")) / 1000


def main():
    threading.Thread(target=serve_names, daemon=True).start()
    port, server = serve_bytes()
    try:
        s = Session(port)
        s.run("receive")
        direct, through = [], []
        for _ in range(ROUNDS):
            direct.append(float(outside(RECEIVE, port)[0]))
            through.append(float(s.run("receive")[0]))
        ratio = statistics.median(t / d for t, d in zip(through, direct))
        figure("network, direct", "%.0f" % statistics.median(direct), "MB/s", "",
               "n %d, host's loopback" % ROUNDS)
        figure("network, sandbox", "%.0f" % statistics.median(through), "MB/s")
        figure("network, sandbox / direct", "%.2f" % ratio, "", ">= 0.5")
        near = outside(CONNECT, port, str(CONNECTS))
        far = s.run("connect", str(CONNECTS))
        figure("network, connection p50", "%.2f" % float(far[0]), "ms", "",
               "n %d, p99 %s, direct %.2f" % (CONNECTS, far[1][:5], float(near[0])))
        figure("network, added p50", "%.2f" % (float(far[0]) - float(near[0])), "ms", "<= 1")
        serve = int(sys.argv[1])
        before = memory(serve)
        sessions = [Session(port) for _ in range(CROWD // 250)]
        for one in sessions:
            one.hold(250)
        figure("network, %d connections" % CROWD, "%.1f" % (memory(serve) - before), "MB", "",
               "PSS of the serving process, %.1f before" % before)
        for one in sessions + [s]:
            one.call("DELETE", "/v1/sessions/" + one.sid)
    finally:
        os.kill(server, 9)


main()
