"""nginx_final.py: tests that an app or a wrapper can answer each request only once."""
import http.client
import io
import socket

from nginx_world import A, KEY, PATIENCE, TOKEN
from tap import case, equal, true

FORGED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\nFORGED"
UPGRADE = b"Upgrade: websocket\r\nConnection: upgrade\r\n"

# answers over FastCGI and HTTP that nginx does not take for a final response
STATUSES = ["100 Continue", "101 Switching Protocols", "102 Processing",
            "103 Early Hints", "199 X", "099 X", "000 X", "600 X", "999 X"]
RECORDS = [b"Status: %s\r\n\r\n" % s.encode() for s in STATUSES]
LINES = [b"HTTP/1.1 %s\r\n\r\n" % s.encode() for s in STATUSES] + [
    b"HTTP/1.1 101 X\r\n" + UPGRADE + b"\r\n", b"\r\n", b"\n", b"x\r\n", b""]

# final responses, whose body is nothing of what follows, or all of it
BODIES = [b"204 X\r\n\r\n", b"304 X\r\n\r\n", b"205 X\r\n\r\n",
          b"200 OK\r\nContent-Length: 0\r\n\r\n",
          b"200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
          b"200 OK\r\nTransfer-Encoding: x\r\n\r\n"]


def twice(w, first, host=b"x"):
    """Sends two requests on one connection; returns all bytes that come back."""
    heard = b""
    with socket.create_connection(("127.0.0.1", w.port), PATIENCE) as s:
        try:
            s.sendall(first % host)
            s.sendall(b"GET /v1/me HTTP/1.1\r\nHost: x\r\n"
                      b"Connection: close\r\n\r\n")
            while True:
                more = s.recv(65536)
                if not more:
                    break
                heard += more
        except ConnectionError:
            pass
    return heard


def at(rest, more=b""):
    return (b"GET /v1/sessions/%s/%s HTTP/1.1\r\nHost: %%s\r\n"
            b"Authorization: Bearer %s\r\n%s\r\n" % (
                A.encode(), rest, KEY.encode(), more))


class Heard(io.BytesIO):
    """Bytes that stand in for a socket and for the file made of it."""

    def makefile(self, _mode):
        return self

    def close(self):
        """Does nothing: HTTPResponse closes after each response, and the next one reads on."""


def responses(data, method):
    """Returns (status, type, body) of each response that a client would read in the data."""
    heard = Heard(data)
    while heard.tell() < len(data):
        r = http.client.HTTPResponse(heard, method=method)
        r.begin()
        yield r.status, r.getheader("Content-Type"), r.read()
        method = "GET"


def nothing_forged(w, first, what, **more):
    heard = twice(w, first, **more)
    true(heard == b"" or heard.startswith(b"HTTP/1.1 "), "%r: %r" % (what, heard))
    found = list(responses(heard, first.split()[0].decode()))
    true(len(found) <= 2, "%r: one answer each, %r" % (what, found))
    true(all(200 <= status <= 599 for status, _, _ in found), (what, found))
    for status, kind, body in found[1:]:
        equal((status, kind), (200, "application/json"), what)
        true(b'"pool": "api"' in body, "%r: %r" % (what, body))
    return found


@case
def a_wrapper_answers_once(w):
    for rest in (b"api/say", b"api/watch", b"files/say"):
        for says in RECORDS:
            w.says = says + FORGED
            for more in (b"", UPGRADE):
                equal(nothing_forged(w, at(rest, more), (rest, says)), [], says)
    for says in BODIES:
        w.says = b"Status: " + says + FORGED
        equal(len(nothing_forged(w, at(b"api/say"), says)), 2, says)
        nothing_forged(w, at(b"api/say").replace(b"GET", b"HEAD", 1), says)
    w.says = b"Status: 200 OK\r\n\r\nfine"
    true(b"fine" in twice(w, at(b"api/say")), "others pass")


@case
def a_relay_answers_once(w):
    try:
        for says in LINES:
            w.apps[A].says = says + FORGED if says else b"FORGED"
            equal(nothing_forged(w, at(b"proxy/8080/x"), says), [], says)
            nothing_forged(w, b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n", says,
                           host=b"8080-%s-%s.localhost" % (
                               A.encode(), TOKEN.encode()))
        for says in BODIES:
            w.apps[A].says = b"HTTP/1.1 " + says + FORGED
            nothing_forged(w, at(b"proxy/8080/x"), says)
        w.apps[A].says = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"
        true(b"fine" in twice(w, at(b"proxy/8080/x")), "others pass")
    finally:
        w.apps[A].says = None


@case
def an_upgrade_that_was_not_asked_for_as_a_websocket_is_none(w):
    """Without this rule nginx would tunnel any upgrade that the client names."""
    answer = w.ask("/v1/sessions/%s/proxy/8080/x" % A, Upgrade="h2c",
                   Connection="Upgrade, HTTP2-Settings")
    equal(answer.status, 200, "answered as if it had not been said")
    true("upgrade" not in w.apps[A].head()[1], "the app does not hear of it")
    w.apps[A].says = b"HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n" + FORGED
    try:
        equal(nothing_forged(w, at(b"proxy/8080/x", b"Upgrade: h2c\r\nConnection: upgrade\r\n"),
                             "h2c"), [], "and has no say in it")
    finally:
        w.apps[A].says = None


@case
def the_program_of_websockets_answers_once(w):
    try:
        for says in LINES:
            if b" 101 " in says:
                continue  # the upgrade was asked for
            for path, program in ((b"ws/pty", w.sockets[A]), (b"ws", w.passing)):
                program.says = says + FORGED if says else b"FORGED"
                nothing_forged(w, at(path, UPGRADE), says)
    finally:
        w.sockets[A].says = w.passing.says = None
