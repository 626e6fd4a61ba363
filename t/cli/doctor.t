#!/usr/bin/python3
"""doctor.t: tests that sandlease doctor leaves nothing behind, however it ends,
and says what holds the limits and why previews cannot be reached."""
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import call, expect, setting, sql, until, value
from tap import PATIENCE, case, equal, run, true

service.begin(egress=True)


def doctor(*arguments):
    """Starts doctor with both outputs in one pipe, as a log has them."""
    return subprocess.Popen(
        [service.program("sandlease"), "doctor", *arguments], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(
            os.environ, SANDLEASE_URL=setting("SANDLEASE_URL")))


def end(process):
    # wait: against hanging, never a measure
    said, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, said


def left():
    return expect(200, call("GET", "/v1/sessions")).json["sessions"]


class Locked:
    """Locks the table of sessions, so that no session can be made meanwhile."""

    def __enter__(self):
        self.psql = subprocess.Popen(
            service.psql_command(), stdin=subprocess.PIPE, text=True,
            env=service.psql_environment())
        self.psql.stdin.write("BEGIN; LOCK TABLE session IN SHARE MODE;\n")
        self.psql.stdin.flush()
        until("it is locked", lambda: value(
            "SELECT count(*) FROM pg_locks WHERE relation = 'session'::regclass"
            " AND mode = 'ShareLock' AND granted") == "1")

    def __exit__(self, *_):
        self.psql.stdin.close()
        self.psql.wait()


def asked():
    """True when doctor waits for its session to be made."""
    return value("SELECT count(*) FROM pg_locks WHERE NOT granted"
                 " AND relation = 'session'::regclass") == "1"


@case
def when_all_is_well():
    code, said = end(doctor())
    equal(code, 0, said)
    equal(left(), [], "sessions")
    equal(value("SELECT count(*) FROM session WHERE labels->>'made-by' = 'doctor'"
                " AND expires_at BETWEEN now() + interval '30 minutes'"
                " AND now() + interval '2 hours'"), "1",
          "one that is left by a crash would be deleted")


@case
def when_a_signal_ends_it():
    for number in signal.SIGINT, signal.SIGTERM:
        with Locked():
            process = doctor()
            until("it creates", asked)
            process.send_signal(number)
        code, said = end(process)
        equal(code, 128 + number, said)
        true("a command in it" not in said, "it goes no further: " + said)
        equal(left(), [], "sessions")


@case
def when_no_sandbox_can_be_started():
    sql("UPDATE class SET rootfs = '/nonexistent' WHERE name = 'small'")
    code, said = end(doctor())
    equal(code, 1, said)
    equal(left(), [], "sessions")
    sql("UPDATE class SET rootfs = '' WHERE name = 'small'")


@case
def when_it_fails_half_way():
    sql("UPDATE quota SET max_previews = 0")
    service.admin("org", "set", "demo", "--max-previews", "1")
    sid = service.create()["id"]
    expect(201, call("POST", service.at(sid, "/ports"), {"port": 8000}))
    code, said = end(doctor())
    equal(code, 1, said)
    true("quota" in said.splitlines()[-1], "the failure comes last: " + said)
    true(said.startswith("ok "), "after what was well: " + said)
    equal([s["id"] for s in left()], [sid], "sessions")


# ---- doctor says what holds the limits

TITLES = {"cpu": "cpuMillis", "memory": "memoryMb", "processes": "pids",
          "disk": "diskMb"}


def warnings(said):
    """Returns the lines that begin with an exclamation mark, without the mark."""
    return [line[1:].strip() for line in said.splitlines() if line[:1] == "!"]


def held():
    """Returns what holds each limit, as a session of the same class reports it."""
    sid = service.create(isolation="session")["id"]
    limits = service.get(sid)["limits"]
    expect(200, call("DELETE", service.at(sid)))
    return {title: limits[name]["by"] for title, name in TITLES.items()}


def tells_limits():
    by = held()
    code, said = end(doctor())
    equal(code, 0, said)
    for title, holder in by.items():
        true("%s by %s" % (title, holder) in said, (title, holder, said))
    weak = [t for t, holder in by.items() if holder in ("none", "watchdog")]
    equal([w.split(":")[0] for w in warnings(said)], weak, "warned of")
    for warning in warnings(said):
        page, section = warning.split("(")[1].rstrip(")").split(": ")
        with open(os.path.join(service.TOP, page), encoding="utf-8") as f:
            true(re.search("(?m)^#+ %s$" % section, f.read()), page + " has " + section)
    return by, said


@case
def limits_of_a_host_as_it_is():
    sql("UPDATE quota SET max_previews = 1000")
    service.admin("org", "set", "demo", "--max-previews", "1000")
    tells_limits()


@case
def the_network_of_a_host_without_egress():
    code, said = end(doctor())
    equal((code, warnings(said)), (0, []), said)
    true("a network can be served" in said, said)
    service.stack("egress_stop")
    code, said = end(doctor())
    service.stack("egress_start")
    equal(code, 0, said)
    equal([w.split(" ")[0] for w in warnings(said)], ["sandlease-egress"], "warned of")


@case
def limits_of_a_host_without_cgroups():
    service.configure(cgroup_root="none")
    service.restart()
    by, said = tells_limits()
    equal((by["cpu"], by["memory"]), ("none", "watchdog"), "holders")
    true("cpu: nothing holds the limit" in said, said)
    true("memory: only a watchdog holds the limit" in said, said)
    code, said = end(doctor("--json"))
    equal(code, 0, said)
    lines = [json.loads(line) for line in said.splitlines()]
    equal([line["about"] for line in lines if "warning" in line],
          ["cpu", "memory"], "in JSON")


# ---- previews that cannot be reached

def with_previews_at(base):
    """Runs doctor, which must fail and leave nothing; returns its last warning and
    its output."""
    service.configure(preview_base=base)
    service.restart()
    before = len(left())
    code, said = end(doctor())
    equal(code, 1, said)
    equal(len(left()), before, "sessions")
    told = warnings(said)[-1]
    true("SANDLEASE_URL" not in said, said)
    return told, said


@case
def dns_has_no_wildcard_record():
    domain = "a-rather-long-name-for-a-domain-of-previews.example.invalid"
    told, said = with_previews_at("https://" + domain)
    host = told.split()[0]
    true(host.startswith("8000-") and host.endswith("." + domain),
         "the whole name of the host: " + told)
    for words in ("A or AAAA", "*." + domain, "preview_base"):
        true(words in told, told)
    true("preview: https://%s" % host in said, said)


@case
def nothing_listens_there():
    with socket.socket() as s: # bound, no listen(): no other program gets it
        s.bind(("127.0.0.1", 0))
        name = "previews.localhost:%d" % s.getsockname()[1]
        told, said = with_previews_at("https://" + name)
    true("nothing takes connections for 8000-" in told and
         "." + name in told and "preview_base" in told, told)


@case
def the_certificate_is_not_for_previews():
    with tempfile.TemporaryDirectory() as place, socket.socket() as s:
        files = [os.path.join(place, f) for f in ("cert", "key")]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
                        "-days", "2", "-subj", "/CN=sandlease.example.com",
                        "-out", files[0], "-keyout", files[1]],
                       check=True, stderr=subprocess.DEVNULL)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
        s.bind(("127.0.0.1", 0))
        s.listen(5)

        def serve():
            while True:
                try:
                    context.wrap_socket(s.accept()[0], server_side=True)
                except ssl.SSLError:
                    pass # expected: the client does not trust this certificate
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        told, said = with_previews_at(
            "https://previews.localhost:%d" % s.getsockname()[1])
        s.shutdown(socket.SHUT_RDWR)
    true("certificate" in told and "*.previews.localhost" in told, told)
    true("PREVIEW_CERT" in told, told)


sys.exit(run(lambda: None))
