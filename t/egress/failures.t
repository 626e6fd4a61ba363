#!/usr/bin/python3
"""Tests that nothing is lost when egress cannot do its work for a moment: rows that are
locked, a database that is away, ports that are taken, descriptors that have run out."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import internet  # noqa: E402
import service  # noqa: E402

service.begin(internet.settings(), egress=True)
from network import (Denials, change, egress, egress_was_well, ok, python, same,  # noqa: E402
                     session, sh)
from service import at, call, expect, until  # noqa: E402
from tap import PATIENCE, run  # noqa: E402

net = internet.Internet()
web = net.web("api.example.com")


def fetch(sid, host="api.example.com", key=None):
    return sh(sid, "curl -sS -m 20 http://%s/x" % host, key)


def a_locked_row_keeps_nobody_waiting():
    a, b = service.new_key("one-org", "a"), service.new_key("two-org", "b")
    mine, theirs = session("api.example.com", key=a), session("api.example.com", key=b)
    fetch(mine, key=a)
    denials = Denials(mine, a)
    lock = service.psql_idle()
    lock.ask("BEGIN; SELECT FROM lease WHERE session_id = :'v1' FOR UPDATE;"
             " SELECT FROM session WHERE id = :'v1' FOR UPDATE", [mine])
    try:
        for i in range(5):
            fetch(theirs, "other%d.example.com" % i, b)  # rows is busy with denials, too
        # the call itself would wait for the row; the connection inside does not
        out = python(theirs, "import socket\nfor i in range(5):\n  try:\n"
                             "    socket.getaddrinfo('no%d.example.com' % i, 80)\n"
                             "  except OSError as e: print('none')", b)
        same(out.count("none"), 5, "another tenant's names are refused")
        change(theirs, b, mode="allow", allow=["api.example.com", "more.example.com"])
        same(fetch(theirs, key=b)[0], 0, "and a change of another tenant takes effect")
    finally:
        lock.end()
    same(fetch(mine, "denied.example.com", a)[0], 6, "a name is refused")
    denials.tell("not_allowed", "denied.example.com", 0, "and told")


def a_change_is_heard_while_a_statement_waits():
    """The notification arrives when rows waits for an answer of the database."""
    busy, other = session("api.example.com"), session("api.example.com")
    same((fetch(busy)[0], fetch(other)[0]), (0, 0), "both have a network")
    until("counts", lambda: service.get(busy)["network"]["requests"] == 1)
    lock = service.psql_idle()
    lock.ask("BEGIN; SELECT FROM network_use WHERE session_id = :'v1' FOR UPDATE", [busy])
    try:
        fetch(busy)
        until("a statement waits", lambda: service.value(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sandlease-egress'"
            " AND wait_event_type = 'Lock'") == "1")
        service.sql("UPDATE session SET network = '{\"mode\": \"none\"}' WHERE id = :'v1'", other)
    finally:
        lock.end()
    until("the change", lambda: fetch(other)[0] == 6)
    ok(True, "it counts all the same")


def denials_are_told_in_order_when_their_row_is_free_again():
    sid = session("api.example.com")
    expect(200, call("POST", at(sid, "/api/write"), {"path": "/tmp/ask.py", "content": """
import socket, time
for i in range(40):
    time.sleep(0.05)  # wait: the row is locked meanwhile
    try:
        socket.getaddrinfo('n%d.example.com' % i, 80)
    except OSError:
        pass
"""}))
    denials = Denials(sid)
    expect(200, call("POST", at(sid, "/api/process/start"),
                     {"command": "/usr/bin/python3 /tmp/ask.py"}))
    lock = service.psql_idle()
    lock.ask("BEGIN; SELECT FROM lease WHERE session_id = :'v1' FOR UPDATE", [sid])

    try:
        until("one cannot be written", lambda: 'event="denied"' in service.log("egress"))
    finally:
        lock.end()
    denials.tell("not_allowed", "n39.example.com", 0, "the last is told")
    same([host for _, host, _ in denials.new()], ["n%d.example.com" % i for i in range(40)],
         "and all before it, in order")


def what_happens_without_the_database_is_told_later():
    sid = session("api.example.com")
    fetch(sid)
    until("counts", lambda: service.get(sid)["network"]["requests"] == 1)
    expect(200, call("POST", at(sid, "/api/write"), {"path": "/tmp/ask.py", "content": """
import os, socket, time, urllib.request
while not os.path.exists('/tmp/go'):
    time.sleep(0.02)  # wait: polls
time.sleep(1.5)  # wait: until the database is away; else this tests less
try:
    socket.getaddrinfo('away.example.com', 80)
except OSError:
    urllib.request.urlopen('http://api.example.com/away').read()
"""}))
    expect(200, call("POST", at(sid, "/api/process/start"),
                     {"command": "/usr/bin/python3 /tmp/ask.py"}))
    denials, seen = Denials(sid), len(web.seen)
    for _ in range(3):  # others have denials all the time
        noisy = session("api.example.com")
        expect(200, call("POST", at(noisy, "/api/write"), {"path": "/tmp/ask.py", "content": """
import socket, time
for i in range(200):
    time.sleep(0.2)  # wait: between two denials
    try:
        socket.getaddrinfo('noise%d.example.com' % i, 80)
    except OSError:
        pass
"""}))
        expect(200, call("POST", at(noisy, "/api/process/start"),
                         {"command": "/usr/bin/python3 /tmp/ask.py"}))
    sh(sid, "touch /tmp/go")
    service.psql_idle()
    service.stack("pg_stop")
    try:
        until("the request", lambda: len(web.seen) > seen)
    finally:
        service.stack("pg_start")
    denials.tell("not_allowed", "away.example.com", 0, "a denial is told when it is back")
    until("counts", lambda: service.get(sid)["network"]["requests"] == 2)
    # a name is asked for twice: for IPv4 and for IPv6
    same(service.get(sid)["network"]["denied"], 2, "and all is counted once")


def counts_outlive_egress():
    """Requests all the time: some are counted after the last time that counts were told."""
    sid, seen = session("api.example.com"), len(web.seen)
    expect(200, call("POST", at(sid, "/api/write"), {"path": "/tmp/ask.py", "content": """
import urllib.request
while True:
    urllib.request.urlopen('http://api.example.com/last').read()
"""}))
    expect(200, call("POST", at(sid, "/api/process/start"),
                     {"command": "/usr/bin/python3 /tmp/ask.py"}))
    until("requests", lambda: len(web.seen) > seen + 20)
    service.stack("egress_stop")
    arrived = len([r for r in web.seen[seen:] if r[2] == "/last"])
    counted = service.get(sid)["network"]["requests"]
    # the last one may have been counted and not arrived
    ok(0 <= counted - arrived <= 1, "what was counted last is written", "%d of %d" % (counted, arrived))
    service.stack("egress_start")
    until("the network", lambda: fetch(sid)[0] == 0)


def a_port_that_a_program_has_taken_is_told():
    sid = session("api.example.com")
    until("served", lambda: service.get(sid)["network"]["ports"])
    expect(200, call("POST", at(sid, "/api/write"), {"path": "/tmp/take.py", "content": """
import socket, time
taken = []
for port in (3128, 3129):
    while True:
        try:
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(('127.0.0.1', port))
            s.listen()
            taken.append(s)
            break
        except OSError:
            time.sleep(0.02)  # wait: polls
print('taken', flush=True)
time.sleep(1000)
"""}))
    expect(200, call("POST", at(sid, "/api/process/start"), {
        "command": "exec /usr/bin/python3 /tmp/take.py > /tmp/taken", "processId": "take"}))
    denials = Denials(sid)
    service.stack("egress_stop")
    until("they are taken", lambda: "taken" in sh(sid, "cat /tmp/taken")[1])
    service.stack("egress_start")
    for port in 3128, 3129:
        denials.tell("port_taken", "127.0.0.1", port, "port %d is told" % port)
    ok(sh(sid, "curl -sS -m 1 http://api.example.com/")[0] != 0, "what it has does not work")
    expect(200, call("DELETE", at(sid, "/api/process/take")))
    until("it has ended", lambda: sh(sid, "pgrep -f take.py || echo none")[1].strip() == "none")
    change(sid, mode="allow", allow=["api.example.com", "other.example.com"])
    same(fetch(sid)[0], 0, "and does, when the network is set again")
    same(sh(sid, "http_proxy=http://127.0.0.1:3128 curl -sS http://api.example.com/p")[0], 0,
         "the proxy, too")


def a_session_gets_its_network_when_there_are_descriptors():
    first, second = session("api.example.com"), service.create()["id"]
    serve = egress()[1]
    owner = os.stat("/proc/%d" % service.daemon("egress"))
    with open("/proc/%d/limits" % serve, encoding="ascii") as f:
        most = [int(line.split()[4]) for line in f if line.startswith("Max open files")][0]

    def limit(files):
        subprocess.run(["prlimit", "--pid", str(serve), "--nofile=%d:%d" % (files, most)],
                       user=owner.st_uid, group=owner.st_gid, check=True, timeout=PATIENCE)
    limit(3)  # no new one, also if others are closed meanwhile
    try:
        r = call("PATCH", at(second), {
            "network": {"mode": "allow", "allow": ["api.example.com"]}})
        same((r.status, r.json.get("code")), (503, "egress_unavailable"), "a change says so")
        ok(fetch(second)[0] != 0, "and there is no network yet")
    finally:
        limit(most)
    until("the network", lambda: fetch(second)[0] == 0)
    ok(True, "it has its network when they are back")
    same(egress()[1], serve, "from the same process")
    same(fetch(first)[0], 0, "the others have theirs")


HOLD = """
import socket
s = socket.create_connection(("echo.example.com", 7000))
s.sendall(b"one")
print(s.recv(10), flush=True)
try:
    print(s.recv(10), flush=True)
except OSError as e:
    print(type(e).__name__, flush=True)
"""


def what_is_taken_away_does_not_wait_for_the_sandbox():
    net.echo("echo.example.com", 7000)
    sid = session("api.example.com", "echo.example.com:7000", isolation="session")
    expect(200, call("POST", at(sid, "/api/write"), {"path": "/tmp/hold.py", "content": HOLD}))
    expect(200, call("POST", at(sid, "/api/process/start"), {
        "command": "/usr/bin/python3 /tmp/hold.py > /tmp/held"}))
    until("a connection", lambda: "one" in sh(sid, "cat /tmp/held")[1])
    life = service.value("SELECT incarnation FROM sandbox WHERE id = :'v1'",
                         service.get(sid)["sandboxId"])
    folder = os.path.join(service.setting("STACK_RUN"), "run", "c")
    name = os.path.join(folder, [n for n in os.listdir(folder) if n.endswith(life)][0])
    os.rename(name, name + ".away")
    try:
        r = call("PATCH", at(sid), {"network": {"mode": "allow", "allow": [
            "api.example.com", "api.example.com:8080"]}})
        same((r.status, r.json.get("code")), (503, "egress_unavailable"), "a change says so")
        until("the end", lambda: "ConnectionResetError" in sh(sid, "cat /tmp/held")[1])
        ok(True, "an open connection ends all the same")
    finally:
        os.rename(name + ".away", name)
    net.echo("api.example.com", 8080, address=web.address)
    until("the rest of the change", lambda: python(
        sid, "import socket\ns = socket.create_connection(('api.example.com', 8080))\n"
             "s.sendall(b'hello')\nprint(s.recv(5))") == "b'hello'")
    ok(True, "and the rest follows when it answers")


def a_list_may_have_any_number_of_ports():
    servers = [net.echo("ports.example.com", 7000)]
    servers += [net.echo("ports.example.com", port, address=servers[0].address)
                for port in (7069, 7099)]
    sid = session(*["ports.example.com:%d" % port for port in range(7000, 7090)])
    say = ("import socket\ns = socket.create_connection(('ports.example.com', %d), 20)\n"
           "s.sendall(b'hello')\nprint(s.recv(5))")
    for port in 7000, 7069:
        same(python(sid, say % port), "b'hello'", "port %d of 90" % port)
    denials = Denials(sid)
    ok("Error" in python(sid, say % 7099) and servers[2].heard == b"", "another one is refused")
    denials.tell("not_allowed", "ports.example.com", 7099, "and told")


run([a_locked_row_keeps_nobody_waiting, a_change_is_heard_while_a_statement_waits,
     denials_are_told_in_order_when_their_row_is_free_again,
     what_happens_without_the_database_is_told_later, counts_outlive_egress,
     a_port_that_a_program_has_taken_is_told,
     a_session_gets_its_network_when_there_are_descriptors,
     what_is_taken_away_does_not_wait_for_the_sandbox, a_list_may_have_any_number_of_ports,
     egress_was_well])
