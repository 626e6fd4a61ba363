#!/usr/bin/python3
"""Tests which protocols pass on ports other than 80 and 443, and that requests of HTTP
and names of TLS are seen there, too."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import internet  # noqa: E402
import service  # noqa: E402

service.begin(internet.settings(), egress=True)
from network import Denials, egress_was_well, ok, python, refused, same, session  # noqa: E402
from tap import run  # noqa: E402

net = internet.Internet()

RAW = """
import socket
s = socket.create_connection(("alt.example.com", 8080), 10)
s.sendall(%r)
said = b""
while piece := s.recv(4096):
    said += piece
print(said.decode())
"""


class Bytes:
    """An expression for many bytes, for a program inside."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def a_request_cannot_hide_on_another_port():
    alt = net.web("alt.example.com", 8080)
    hidden = session("alt.example.com:8080", network={"maxRequests": 50})
    for data, what in [
            (b"GET /n HTTP/1.1 \r\nHost: forbidden.example.com\r\n\r\n", "a space at its end"),
            (b"\r\nGET /n HTTP/1.1\r\nHost: forbidden.example.com\r\n\r\n", "an empty line"),
            (b"get /n http/1.1\r\nHost: forbidden.example.com\r\n\r\n", "small letters"),
            (b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\nHost: forbidden.example.com\r\n\r\n",
             "a long line"),
            (b"M-SEARCH /n HTTP/1.1\r\nHost: forbidden.example.com\r\n\r\n", "a method with -"),
            (b"GE_T /n HTTP/1.1\r\nHost: forbidden.example.com\r\n\r\n", "one with _"),
            (b"A" * 40 + b" /n HTTP/1.1\r\nHost: forbidden.example.com\r\n\r\n", "a long one"),
            (b"GET\t/n\tHTTP/1.1\r\nHost: forbidden.example.com\r\n\r\n", "tabs"),
            (b"GET /n\r\nHost: forbidden.example.com\r\n\r\n", "no version"),
            (b"GET http://forbidden.example.com/n\n", "nor one, but a host"),
            (b"FOO\x1c/n\x1cHTTP/1.1\r\nHost: forbidden.example.com\r\n\r\n", "other blanks"),
            (b"\x80 /n HTTP/1.1\r\nHost: forbidden.example.com\r\n\r\n", "a byte as method"),
            (b"\0GET /n HTTP/1.1\r\nHost: forbidden.example.com\r\n\r\n", "a NUL before it"),
            (b"GET /n RTSP/1.0\r\nHost: forbidden.example.com\r\n\r\n", "another protocol"),
            (Bytes('b"\\r\\n" * (1 << 20) + '
                   'b"GET /n HTTP/1.1\\r\\nHost: forbidden.example.com\\r\\n\\r\\n"'),
             "a million empty lines")]:
        out = python(hidden, RAW % data)
        ok("200 OK" not in out, what, out[:200])
    denials = Denials(hidden)
    # that the parts arrive one by one is likely; if not, the cases above are tested again
    parts = """
import socket, time
s = socket.create_connection(("alt.example.com", 8080))
for part in (b"GE_", b"T /n HT", b"TP/1.1\\r\\nHost: forbidden.example.com\\r\\n\\r\\n"):
    s.sendall(part)
    time.sleep(0.5)  # wait: as above
print(s.recv(1000))
"""
    out = python(hidden, parts)
    ok("ConnectionReset" in out, "in parts", out[:200])
    denials.tell("bad_request", "alt.example.com", 8080, "which is told")
    same(alt.seen, [], "nothing of this has arrived")


ECHOED = """
import socket
s = socket.create_connection(("other-protocol.example.com", 7003), 10)
s.sendall(%r)
print(s.recv(1000))
"""


def other_protocols_pass_on_another_port():
    net.echo("other-protocol.example.com", 7003)
    other = session("other-protocol.example.com:7003")
    for data, what in ((b"U\0\0\0 'GET / HTTP/1.1'", "bytes, with a request in them"),
                       (b"get key\r\n", "a command in small letters"),
                       (b"USER anonymous\r\n", "one in capitals"), (b"word", "a word"),
                       (b"GET", "a word of HTTP, and no more"),
                       (b"\r\n", "an empty line"), (b"SSH-2.0-x y\r\n", "a version of SSH"),
                       (b"\x16\1\0\1\x85\xa6\xff\0uu", "a login of MySQL, of 278 bytes"),
                       (b"\x15\1\0\1\x85\xa6\xff\0uu", "one of 277"),
                       (b"\x17\3\0\0\1\0\0\0\0\0", "a message of MongoDB"),
                       (b'<34>1 h a "GET / HTTP/1.1" 200\n', "a line of a log")):
        same(python(other, ECHOED % data), repr(data), what)
    same(python(other, (ECHOED % b"GET").replace("print", "s.shutdown(1)\nprint")), repr(b"GET"),
         "the same, and its end")
    # the answer is a warning of TLS, too: access denied; or a reset, if the server
    # was reached before the client spoke, because the server may have spoken then
    for major in (1, 3, 15):
        refused(other, ECHOED % (b"\x15%c\x01\0\2\1\x5a\x16\x03\x01" % major), "server_name",
                "other-protocol.example.com", 7003,
                "a warning of version %d before the hello of TLS" % major,
                repr(b"\x15\x03\x03\0\2\2\x31"), "ConnectionResetError")


run([a_request_cannot_hide_on_another_port, other_protocols_pass_on_another_port,
     egress_was_well])
