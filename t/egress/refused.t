#!/usr/bin/python3
"""Tests that nothing leaves a sandbox but what its policy allows, and that each try
leaves an event."""
import os
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import internet  # noqa: E402
import service  # noqa: E402

service.begin(internet.settings(), egress=True)
from network import (Denials, change, egress_was_well, ok, python, refused, same,  # noqa: E402
                     session, sh)
from procfs import children  # noqa: E402
from service import until  # noqa: E402
from tap import run  # noqa: E402

net = internet.Internet()
web = net.web("api.example.com")
tls = net.web("api.example.com", 443, tls=True, address=web.address)
# another name of the same server: what a shared front end is
net.name("other.example.com", web.address)
sid = None

CONNECT = """
import socket
HOST = (%r).encode()
s = socket.create_connection((HOST, %d), 10)
s.sendall(b"GET / HTTP/1.1\\r\\nHost: %%s\\r\\n\\r\\n" %% HOST)
said = s.recv(100)
print("refused" if b" 403 " in said or not said else said)
"""
RAW = """
import socket
s = socket.create_connection(("api.example.com", %d), 10)
s.sendall(%r)
said = b""
while piece := s.recv(4096):
    said += piece
print(said.decode())
"""


def send_raw(data, port=80):
    return RAW % (port, data)


def fresh():
    """A session of its own: how many denials are told in a minute is limited."""
    global sid
    sid = session("api.example.com", "*.wild.example.org", "git.example.com:22")


def a_raw_address_is_refused():
    fresh()
    refused(sid, CONNECT % ("192.0.2.7", 443), "packet", "192.0.2.7", 443, "IPv4")
    refused(sid, CONNECT % (web.address.replace("127.", "10.", 1), 80), "packet",
            web.address.replace("127.", "10.", 1), 80, "a private one")
    refused(sid, CONNECT % ("169.254.169.254", 80), "packet", "169.254.169.254", 80,
            "that of metadata")
    refused(sid, CONNECT % ("2001:db8::7", 443), "packet", "2001:db8::7", 443, "IPv6")
    # the sandbox's own loopback
    ok("ConnectionRefused" in python(sid, CONNECT % ("::ffff:127.0.0.1", 80)),
       "a mapped one is the sandbox's own")
    ok("ConnectionRefused" in python(sid, CONNECT % (web.address, 80)),
       "and so is the host's loopback")
    same(web.seen, [], "nothing has arrived")


def datagrams_are_refused():
    fresh()
    send = ("import socket\ns = socket.socket(%s, socket.SOCK_DGRAM)\n"
            "s.sendto(b'x' * 100, (%r, %d))\nprint('sent')")
    refused(sid, send % ("socket.AF_INET", "192.0.2.7", 123), "packet", "192.0.2.7", 123, "UDP")
    refused(sid, send % ("socket.AF_INET6", "2001:db8::7", 443), "packet", "2001:db8::7", 443,
            "UDP over IPv6")
    refused(sid, send % ("socket.AF_INET", "192.0.2.53", 53), "packet", "192.0.2.53", 53,
            "DNS to another server")
    refused(sid, CONNECT % ("192.0.2.53", 53), "packet", "192.0.2.53", 53,
            "DNS to another server over TCP")


def question(name, kind=1):
    labels = b"".join(bytes([len(l)]) + l for l in name.encode("latin-1").split(b".") if l)
    return (struct.pack("!HHHHHH", 7, 0x100, 1, 0, 0, 1) + labels + b"\0" +
            struct.pack("!HH", kind, 1) + b"\0\0\x29\x04\xd0\0\0\0\0\0\0")


def ask(name, kind=1):
    """Sends a question to the sandbox's resolver; code, number of answers, the rest."""
    out = python(sid, "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                      "s.settimeout(10)\ns.sendto(%r, ('127.0.0.1', 53))\n"
                      "print(s.recv(4096).hex())" % question(name, kind))
    answer = bytes.fromhex(out)
    return answer[3] & 15, struct.unpack("!H", answer[6:8])[0], answer


def names_are_no_tunnel():
    fresh()
    del net.zone.asked[:]
    denials = Denials(sid)
    code, count, answer = ask("secret-data.evil.example.net")
    same((code, count), (3, 0), "a name that is not allowed does not exist")
    ok(b"network_denied: add secret-data.evil.example.net to network.allow" in answer,
       "and the answer says what to do", answer)
    denials.tell("not_allowed", "secret-data.evil.example.net", 0, "it is told")
    long = ".".join(["a" * 60] * 4)
    same(ask(long + ".evil.net")[0], 3, "nor does a long one")
    denials.tell("not_allowed", long + ".evil.net", 0, "which is told, too")
    same(ask("evil.example.net", 16)[:2], (3, 0), "nor a text")
    denials.tell("not_allowed", "evil.example.net", 0, "which is told")
    for kind in (16, 28, 65, 255, 15):
        same(ask("api.example.com", kind)[:2], (0, 0), "type %d of an allowed name is empty" % kind)
    same(ask("a\\b.example.com")[0], 3, "a name that no host has")
    same(net.zone.asked, [], "nothing of this was asked outside")
    same(ask("api.example.com")[:2], (0, 1), "an allowed name has an address")
    same(ask("missing.wild.example.org")[:2], (3, 0), "one that is allowed and not there has none")
    ok(("missing.wild.example.org", 1) in net.zone.asked, "which was asked outside",
       net.zone.asked)
    same(ask("api.example.com.")[:2], (0, 1), "a dot at the end changes nothing")
    same(ask("API.Example.COM")[:2], (0, 1), "nor do capitals")
    same(ask("api.example.com.evil.net")[0], 3, "a name that begins with an allowed one")
    same(ask("xapi.example.com")[0], 3, "one that ends with it")
    same(ask("wild.example.org")[0], 3, "the name above a wildcard")
    same(ask("xn--80ak6aa92e.example.com")[0], 3, "a name that looks like it")


def a_stand_in_that_was_not_given_leads_nowhere():
    fresh()
    refused(sid, CONNECT % ("198.19.200.201", 443), "unknown_address", "198.19.200.201", 443,
            "an address that no name has")
    other = session("api.example.com")
    theirs = socket.inet_ntoa(bytes.fromhex(python(
        other, "import socket\nprint(socket.inet_aton(socket.gethostbyname("
               "'api.example.com')).hex())")))
    lonely = session("unrelated.example.com")
    refused(lonely, CONNECT % (theirs, 80), "unknown_address", theirs, 80, "a sibling's stand-in")


def the_listener_itself_leads_nowhere():
    fresh()
    for address in "127.0.0.1", "::1":
        refused(sid, CONNECT % (address, 3129), "unknown_address", address, 3129, address)


def the_port_must_be_allowed():
    fresh()
    denials = Denials(sid)
    ok("ConnectionRefused" in python(sid, CONNECT % ("api.example.com", 8080)),
       "another port is refused at once")
    denials.tell("not_allowed", "api.example.com", 8080, "and told by name")
    code, out = sh(sid, "curl -sS -m 20 -x http://127.0.0.1:3128 -p https://api.example.com:22/")
    ok(code != 0 and "403" in out, "CONNECT to another port", out)
    denials.tell("not_allowed", "api.example.com", 22, "is told")
    refused(sid, CONNECT % ("api.example.com", 22), "not_allowed", "api.example.com", 22,
            "a port that only another name may use")


def the_host_of_a_request_must_be_the_targets():
    fresh()
    del web.seen[:]
    for data, what in [
            (b"GET / HTTP/1.1\r\nHost: other.example.com\r\n\r\n", "another Host"),
            (b"GET / HTTP/1.1\r\nHost: api.example.com:81\r\n\r\n", "another port in Host"),
            (b"GET http://other.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
             "another host in the target"),
            (b"GET http://api.example.com@other.example.com/ HTTP/1.1\r\n"
             b"Host: api.example.com\r\n\r\n", "a user in the target"),
            (b"GET / HTTP/1.1\r\nHost: api.example.com@other.example.com\r\n\r\n",
             "a user in Host"),
            (b"GET / HTTP/1.1\r\nHost: api%2eexample%2ecom\r\n\r\n", "an encoded name"),
            (b"GET http://api%2eexample.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
             "an encoded target")]:
        refused(sid, send_raw(data), "host_header", "api.example.com", 80, what, " 403 ")
    for data, what in [
            (b"GET / HTTP/1.1\r\nHost: api.example.com\r\nHost: other.example.com\r\n\r\n",
             "two hosts"),
            (b"GET / HTTP/1.1\r\n\r\n", "no Host"),
            (b"POST / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 3\r\n"
             b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "two framings"),
            (b"POST / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 3\r\n"
             b"Content-Length: 30\r\n\r\nabc", "two lengths"),
            (b"POST / HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: xchunked\r\n\r\n",
             "an unknown coding"),
            (b"GET / HTTP/1.1\r\nHost: api.example.com\r\nA : b\r\n\r\n",
             "a space before a colon"),
            (b"GET / HTTP/1.1\r\nHost: api.example.com\r\nA: \x00\r\n\r\n",
             "a zero byte")]:
        refused(sid, send_raw(data), "bad_request", "api.example.com", 80, what, " 400 ")
    denials = Denials(sid)
    out = python(sid, send_raw(b"GET / HTTP/1.1\r\nHost: api.example.com\r\nA: " +
                               b"a" * 100000 + b"\r\n\r\n"))
    ok(" 431 " in out or "Error" in out, "too large a head", out[:200])
    denials.tell("too_large", "api.example.com", 80, "too large a head: is told")
    for data, what in [(b"\x00\x01\x02 anything else\r\n\r\n", "no HTTP"),
                       (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2"),
                       (b"hello there, how are you\r\n", "text")]:
        denials = Denials(sid)
        out = python(sid, send_raw(data))
        ok("200 OK" not in out, what + " on port 80", out)
        service.until("an event", denials.new)
        ok(denials.new()[0][1:] == ("api.example.com", 80), what + " is told", denials.new())
    same(web.seen, [], "nothing of this has arrived")


def a_name_that_is_no_text_ends_nothing():
    fresh()
    other = session("api.example.com")
    serve = children(service.daemon("egress"))
    refused(sid, send_raw(b"GET / HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n"), "host_header",
            "api.example.com", 80, "bytes that are no text", " 403 ")
    same(children(service.daemon("egress")), serve, "the same process serves on")
    ok("/on" in sh(other, "curl -sS http://api.example.com/on")[1], "and others do not notice")


def a_kept_connection_serves_one_host():
    fresh()
    del web.seen[:]
    denials = Denials(sid)
    out = python(sid, send_raw(b"GET /a HTTP/1.1\r\nHost: api.example.com\r\n\r\n"
                               b"GET /b HTTP/1.1\r\nHost: other.example.com\r\n\r\n"))
    ok("/a" in out and " 403 " in out, "the first request passes, the second does not", out)
    denials.tell("host_header", "api.example.com", 80, "which is told")
    same([r[2] for r in web.seen], ["/a"], "and does not arrive")
    out = python(sid, "import http.client\nc = http.client.HTTPConnection('127.0.0.1', 3128)\n"
                      "for h in ('api', 'other', 'api'):\n"
                      "    c.request('GET', 'http://%s.example.com/p' % h)\n"
                      "    print(c.getresponse().read().decode())\n")
    ok("add other.example.com to network.allow" in out, "a proxy's connection, too", out)


URGENT = """
import socket
s = socket.create_connection(("%s", %d))
s.settimeout(20)
s.sendall(%r)
s.send(b"!", socket.MSG_OOB)
s.sendall(b"more")
while s.recv(1000):
    pass
print("through")
"""


def urgent_data_does_not_pass():
    # neither a peek nor a splice comes past it
    fresh()
    echo = net.echo("echo.example.com", 7001)
    change(sid, mode="allow", allow=["api.example.com", "echo.example.com:7001"])
    for what, host, port, first in (
            ("the beginning of a request", "api.example.com", 80, b"GET / HT"),
            ("its body", "api.example.com", 80,
             b"PUT / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 9\r\n\r\n"),
            ("a hello of TLS", "echo.example.com", 7001, b"\x16\x03\x01\x02"),
            ("other bytes", "echo.example.com", 7001, b"\x00raw")):
        refused(sid, URGENT % (host, port, first), "urgent", host, port, "urgent data in " + what)
    denials = Denials(sid)
    out = python(sid, "import socket\ns = socket.create_connection(('echo.example.com', 7001))\n"
                      "s.settimeout(20)\ns.sendall(b'urgent')\nwhile s.recv(1000):\n    pass\n"
                      "print('through')")
    ok("ConnectionReset" in out, "of the server", out)
    denials.tell("urgent", "echo.example.com", 7001, "is told")
    same(echo.heard.count(b"more"), 0, "nothing after it has arrived")


def a_proxy_is_asked_as_a_proxy():
    fresh()
    for target, host, port in (("/", "", 0), ("https://api.example.com/", "api.example.com", 443)):
        denials = Denials(sid)
        out = python(sid, "import http.client\nc = http.client.HTTPConnection('127.0.0.1', 3128)\n"
                          "c.request('GET', %r)\nr = c.getresponse()\n"
                          "print(r.status, r.read().decode())\n" % target)
        ok("400 network_denied: this is a proxy" in out, "not for " + target, out)
        denials.tell("proxy_request", host, port, "which is told")


def a_client_that_has_gone_is_denied_too():
    """The denial finds a connection that can no longer be written to."""
    fresh()
    seconds = ["GET https://api.example.com/ HTTP/1.1", "GET / HTTP/1.1",
               "GET http://[/ HTTP/1.1", "GET http://other.example.com/ HTTP/1.1",
               "TRACE http://api.example.com/ HTTP/1.1", "CONNECT api.example.com:80 HTTP/1.1",
               "GET http://api.example.com/"]
    denials = Denials(sid)
    python(sid, "import socket\n"
           "first = 'GET http://api.example.com/ HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n'\n"
           "for second in %r:\n"
           "    for i in range(5):\n"
           "        s = socket.create_connection(('127.0.0.1', 3128))\n"
           "        s.sendall((first + second + '\\r\\n\\r\\n').encode())\n"
           "        s.close()\n" % seconds)
    until("denials", lambda: len(denials.all()) > denials.seen)  # not all: there are many
    same(sh(sid, "curl -sS http://api.example.com/on")[0], 0, "egress serves on")


def the_server_name_of_tls_must_be_the_targets():
    fresh()
    denials = Denials(sid)
    code, out = sh(sid, "curl -skS -m 20 --connect-to other.example.com:443:api.example.com:443 "
                        "https://other.example.com/")
    ok(code != 0 and "denied" in out, "another name is cut", out)
    denials.tell("server_name", "api.example.com", 443, "and told")
    denials = Denials(sid)
    out = python(sid, "import socket, ssl\nx = ssl._create_unverified_context()\n"
                      "s = x.wrap_socket(socket.create_connection(('api.example.com', 443)))\n"
                      "print('through')")
    ok("through" not in out, "no name", out)
    denials.tell("server_name", "api.example.com", 443, "is told")
    code, out = sh(sid, "curl -skS -m 20 -x http://127.0.0.1:3128 -p --connect-to "
                        "other.example.com:443:api.example.com:443 https://other.example.com/")
    ok(code != 0 and "through" not in out, "another name in a tunnel", out)
    code, out = sh(sid, "curl -skS -m 20 https://API.Example.com/")
    ok("GET " in out, "capitals are the same name", out)
    refused(sid, RAW % (443, b"not TLS at all\r\n\r\n"), "protocol", "api.example.com", 443,
            "no TLS on its port", "")


# A client of TLS whose first hello makes the server ask for another one.
RETRY = """import socket, ssl
context = ssl._create_unverified_context()
come, go = ssl.MemoryBIO(), ssl.MemoryBIO()
tls = context.wrap_bio(come, go, server_hostname="retry.example.com")


def hello():
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return go.read()


def connect():
    s = socket.create_connection(("retry.example.com", 443))
    s.settimeout(10)  # wait: a silence is a failure
    return s


def answer(s):
    try:
        return s.recv(65536)
    except OSError:
        return b""


def end(s):
    said = b""
    while more := answer(s):
        said += more
    # "access denied"
    print("refused" if said.endswith(bytes.fromhex("15030300020231")) else said)


def hear(s):
    said = answer(s)
    assert said
    come.write(said)


def finish(s):
    while True:
        hear(s)
        try:
            tls.do_handshake()
            print(tls.version())
            return
        except ssl.SSLWantReadError:
            pass


first = hello()
s = connect()
s.sendall(first)
second = b""
while not second:
    hear(s)
    second = hello()
forged = second.replace(b"retry.example.com", b"other.example.com")
assert b"retry.example.com" in second and forged != second
%s
"""


def a_second_hello_of_tls_must_be_for_the_target_too():
    fresh()
    web = net.web("retry.example.com", 443, tls=True, curve="secp384r1")
    sid = session("retry.example.com")
    code, out = sh(sid, "curl -skS -m 20 https://retry.example.com/")
    ok("GET retry.example.com" in out, "a server may ask for a second hello", out)
    same(web.named, ["retry.example.com"] * 2, "and gets the right name twice")
    # wait: the portions arrive one by one; else this tests less
    out = python(sid, RETRY % 's.sendall(second[:9])\nimport time; time.sleep(0.1)\n'
                              's.sendall(second[9:])\nfinish(s)')
    same(out, "TLSv1.3", "in portions, too")
    for name, program in (
            ("another name", "s.sendall(forged)"),
            # wait: as above
            ("in portions", "s.sendall(forged[:70])\nimport time; time.sleep(0.1)\n"
                            "s.sendall(forged[70:])"),
            ("before the server has answered", "s = connect(); s.sendall(first + forged)"),
            ("behind another record",
             "s = connect(); s.sendall(first + bytes.fromhex('140303000101') + forged)"),
            ("two messages in one record",
             "s = connect(); s.sendall(first[:3] + (int.from_bytes(first[3:5], 'big') + 1)"
             ".to_bytes(2, 'big') + first[5:] + b'\\x01')")):
        denials, seen = Denials(sid), len(web.named)
        out = python(sid, RETRY % (program + "\nend(s)"))
        same(out, "refused", name + " is cut")
        denials.tell("server_name", "retry.example.com", 443, name + " is told")
        ok("other.example.com" not in web.named[seen:], "the server never sees it", web.named)


def an_allowed_name_may_not_lead_inside():
    fresh()
    for number, address in enumerate([
            "127.0.0.1", "10.1.2.3", "169.254.169.254", "100.64.1.1", "192.168.1.1", "172.16.9.9",
            "0.0.0.0", "198.18.0.9", "224.0.0.1", "::1", "::ffff:127.0.0.1", "fe80::1", "fd00::1",
            "64:ff9b::7f00:1"]):
        name = "a%d.wild.example.org" % number
        net.name(name, address)
        refused(sid, CONNECT % (name, 80), "private_address", name, 80, address)
    out = sh(sid, "curl -sS -m 20 http://a0.wild.example.org/")[1]
    ok("network_denied: a0.wild.example.org has no public address" in out, "the text says why",
       out)


def rebinding_does_not_help():
    fresh()
    turns = iter([[web.address], ["127.0.0.1"], ["127.0.0.1"], ["127.0.0.1"], ["127.0.0.1"]])
    last = ["127.0.0.1"]
    net.name("flip.wild.example.org", lambda: next(turns, last))
    refused(sid, CONNECT % ("flip.wild.example.org", 80), "private_address",
            "flip.wild.example.org", 80, "a name that changes between question and connection")


def a_redirect_leads_nowhere():
    fresh()
    def away(handler, _):
        handler.send_response(302)
        handler.send_header("Location", "http://other.example.com/stolen")
        handler.send_header("Content-Length", "0")
        handler.end_headers()
    web.pages["/away"] = away
    denials = Denials(sid)
    code, out = sh(sid, "curl -sSL -m 20 http://api.example.com/away")
    ok(code == 6, "the other host does not resolve", out)
    denials.tell("not_allowed", "other.example.com", 0, "and is told")


def a_thousand_connections_are_too_many():
    fresh()
    crowd = session("api.example.com")
    denials = Denials(crowd)
    out = python(crowd, """
import resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
all, failed = [], 0
for i in range(1000):
    s = socket.socket()
    s.settimeout(20)
    try:
        s.connect(("api.example.com", 80))
        all.append(s)
    except OSError:
        failed += 1
time.sleep(1)  # wait: the last refusals arrive
held = 0
for s in all:
    s.settimeout(0.0)
    try:
        s.recv(1)
    except BlockingIOError:
        held += 1
    except OSError:
        pass
print(held)
""")
    ok(out.isdigit() and int(out) <= 256, "no more than the limit are held", out)
    denials.tell("too_many_connections", "api.example.com", 80, "the others are told")
    ok(len(denials.new()) < 100, "but not one by one", len(denials.new()))
    use = service.get(crowd)["network"]
    ok(use["denied"] >= 700, "all of them are counted", use)
    ok("/near" in sh(sid, "curl -sS -m 20 http://api.example.com/near")[1],
       "another session does not notice")


def a_flood_of_connections_is_slowed_down():
    """Each leaves an entry in the kernel's table for a while."""
    flood = session("api.example.com")
    began = time.monotonic()
    out = python(flood, """
import socket
host = socket.gethostbyname("api.example.com")
for i in range(6000):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex((host, 80))
    s.close()
print("done")
""")
    same(out, "done", "6000 attempts")
    # wait: the more time has passed, the more may get through
    most = 2000 + 200 * (time.monotonic() - began)
    made = until("counts", lambda: service.get(flood)["network"]["connections"])
    ok(0 < made <= most, "no more get through than may", "%d of %d" % (made, most))
    until("the next", lambda: "GET" in sh(flood, "curl -sS http://api.example.com/")[1])
    ok(True, "and others do, a little later")


run([a_raw_address_is_refused, datagrams_are_refused, names_are_no_tunnel,
     a_stand_in_that_was_not_given_leads_nowhere, the_listener_itself_leads_nowhere,
     the_port_must_be_allowed,
     the_host_of_a_request_must_be_the_targets, a_name_that_is_no_text_ends_nothing,
     a_kept_connection_serves_one_host,
     a_proxy_is_asked_as_a_proxy, a_client_that_has_gone_is_denied_too, urgent_data_does_not_pass,
     the_server_name_of_tls_must_be_the_targets,
     a_second_hello_of_tls_must_be_for_the_target_too, an_allowed_name_may_not_lead_inside,
     rebinding_does_not_help, a_redirect_leads_nowhere, a_thousand_connections_are_too_many,
     a_flood_of_connections_is_slowed_down, egress_was_well])
