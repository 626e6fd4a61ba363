#!/usr/bin/python3
"""Tests the sockets that init opens in a cell's network namespace for the host."""
import array
import json
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box  # noqa: E402
from tap import PATIENCE, ok, run, same  # noqa: E402

box = Box()


class Link:
    """One request for sockets: .sockets by (name, port), .conn stays open."""

    def __init__(self, session, **fields):
        self.conn = box.connect()
        fields.setdefault("generation", box.generation[session])
        self.conn.send(json.dumps({"op": "network", "incarnation": box.incarnation,
                                   "session": session, **fields}).encode())
        self.sockets, self.answers = {}, []
        more = True
        while more:
            data, rights, *_ = self.conn.recvmsg(65536, socket.CMSG_SPACE(64 * 4))
            answer = json.loads(data) if data else {"ok": False, "code": "closed"}
            self.answers.append(answer)
            fds = array.array("i")
            for level, kind, value in rights:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    fds.frombytes(value)
            for about, fd in zip(answer.get("sockets", []), fds):
                s = socket.socket(fileno=fd)
                s.settimeout(PATIENCE)
                self.sockets[about["name"], about["port"], about["stream"]] = s
            more = answer.get("more")
        self.code = self.answers[0].get("code")

    def close(self):
        for s in self.sockets.values():
            s.close()
        self.conn.close()


CONNECT = """
import socket, sys
s = socket.create_connection(("%s", %d), 20)
s.sendall(b"hello from inside")
print(s.recv(100).decode())
"""


def a_connection_to_a_stand_in_reaches_the_host_and_says_which_one():
    s = box.session()
    link = Link(s, base=True, ports=[443, 22])
    same(sorted(link.sockets), [("dns", 53, False), ("dns", 53, True), ("port", 22, True),
                                ("port", 443, True), ("proxy", 3128, True)], "the sockets")
    r = box.request(s, "POST", "/api/execute",
                    {"command": "python3 -c '" + CONNECT % ("198.19.7.8", 443) + "'"})
    conn, peer = link.sockets["port", 443, True].accept()
    same(conn.getsockname(), ("198.19.7.8", 443), "which stand-in was meant")
    same(conn.recv(100), b"hello from inside", "what it says")
    conn.sendall(b"hello from outside")
    conn.close()
    same(r.all().json()["stdout"].strip(), "hello from outside", "and the answer")
    r.close()
    link.close()


def the_resolver_has_a_socket_for_datagrams_and_one_for_streams():
    s = box.session()
    link = Link(s, base=True, ports=[])
    r = box.request(s, "POST", "/api/execute", {"command": "getent ahostsv4 a.example"})
    query, client = link.sockets["dns", 53, False].recvfrom(4096)
    ok(b"\x01a\x07example\x00" in query, "the query of a program that knows nothing of us")
    # an answer with one address: the name is that of the question
    question = query[12:query.index(b"\x00", 12) + 5]
    link.sockets["dns", 53, False].sendto(
        query[:2] + b"\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00" + question +
        b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc6\x12\x01\x02", client)
    ok("198.18.1.2" in r.all().json()["stdout"], "is answered by the host")
    r.close()
    link.close()


def without_a_request_there_is_no_way_out():
    s = box.session()
    for address in ("198.18.0.9", "192.0.2.1", "8.8.8.8"):
        ok("unreachable" in box.run(s, f"bash -c ': </dev/tcp/{address}/443' 2>&1")["stdout"],
           f"no route to {address}")


def only_stand_ins_arrive_unless_the_session_is_open():
    s = box.session()
    reach = "bash -c ': </dev/tcp/192.0.2.1/443' 2>&1; echo $?"
    link = Link(s, base=True, ports=[443])
    ok("unreachable" in box.run(s, reach)["stdout"], "another address")
    link.close()
    link = Link(s, base=True, open=True, ports=[443])
    same(box.run(s, reach)["stdout"].strip(), "0", "every address, in an open session")
    conn, _ = link.sockets["port", 443, True].accept()
    same(conn.getsockname()[0], "192.0.2.1", "and which one")
    conn.close()
    link.close()
    link = Link(s, base=True, ports=[443])
    ok("unreachable" in box.run(s, reach)["stdout"], "and not any more when it is closed again")
    link.close()


def a_port_that_a_program_has_is_left_out():
    s = box.session()
    r = box.request(s, "POST", "/api/execute/stream", {
        "command": "python3 -c 'import socket, time; s = socket.socket(); "
                   's.bind(("", 8443)); s.listen(); print("lis" + "tens", flush=True); '
                   "time.sleep(1000)'"})
    text = b""
    while b"listens" not in text:
        text += r.read()
    link = Link(s, base=True, ports=[443, 8443, 9443])
    same(sorted(p for n, p, _ in link.sockets if n == "port"), [443, 9443], "the others")
    more = Link(s, ports=[443, 1234])
    same(list(more.sockets), [("port", 1234, True)], "and more ports later, once each")
    for x in (link, more, r):
        x.close()


def many_ports_come_in_several_messages():
    s = box.session()
    ports = list(range(5000, 5040))
    link = Link(s, base=True, ports=ports)
    ok(len(link.answers) > 2, "several messages")
    same(sorted(p for n, p, _ in link.sockets if n == "port"), ports, "all ports")
    link.close()


def the_link_ends_with_the_cell():
    s = box.session()
    link = Link(s, base=True, ports=[443])
    more = Link(s, ports=[22])
    same(more.conn.recv(10), b"", "a request for more ports ends with its answer")
    box.ask("kill", session=s, waitMs=10000)
    same(link.conn.recv(10), b"", "the link when the cell has ended")
    link.close()


def a_request_for_another_generation_is_refused():
    s = box.session()
    same(Link(s, base=True, generation=9).code, "stale_generation", "a later one")
    box.ask("seal", session=s, generation=1)
    same(Link(s, base=True).code, "stale_generation", "one that is being ended")
    box.ask("kill", session=s, waitMs=10000)
    same(Link(s, base=True).code, "no_such_session", "one that has ended")


def sessions_have_networks_of_their_own():
    a, b = box.session(), box.session()
    link = Link(a, base=True, ports=[443])
    ok("unreachable" in box.run(b, "bash -c ': </dev/tcp/198.18.0.9/443' 2>&1")["stdout"],
       "a sibling's stand-in is not there")
    link.close()


def bad_ports_are_refused():
    s = box.session()
    for ports in ([0], [65536], ["x"], list(range(2000, 2100))):
        same(Link(s, base=True, ports=ports).answers[-1]["ok"], False, str(ports)[:20])


try:
    run([a_connection_to_a_stand_in_reaches_the_host_and_says_which_one,
         the_resolver_has_a_socket_for_datagrams_and_one_for_streams,
         without_a_request_there_is_no_way_out, only_stand_ins_arrive_unless_the_session_is_open,
         a_port_that_a_program_has_is_left_out, many_ports_come_in_several_messages,
         the_link_ends_with_the_cell, a_request_for_another_generation_is_refused,
         sessions_have_networks_of_their_own, bad_ports_are_refused])
finally:
    box.close()
