"""internet.py: servers on loopback addresses that stand in for the Internet.

    import internet
    service.begin(internet.settings(), egress=True)
    net = internet.Internet()
    net.name("api.example.com", net.host())
    net.web("api.example.com")

egress resolves names with the DNS server here, and the addresses of this run,
prefix() + ".0/24", are exceptions from its rule that only public ones are reached.
Ports below 1024 need root.
"""
import atexit
import http.server
import os
import shutil
import socket
import socketserver
import ssl
import struct
import subprocess
import tempfile
import threading

from tap import PATIENCE, skip_all


def prefix():
    """The first three numbers of this run's addresses, by the number of the process
    that asks first: scripts that run at the same time have different ones."""
    if "INTERNET_PREFIX" not in os.environ:
        os.environ["INTERNET_PREFIX"] = "127.%d.%d" % (os.getpid() // 256 % 253 + 1,
                                                       os.getpid() % 256)
    return os.environ["INTERNET_PREFIX"]


def settings():
    """Settings of the service; skips the test where servers cannot listen."""
    if os.getuid() != 0:
        skip_all("only root can listen on ports 53, 80 and 443")
    return ("egress_resolver = %s.53:53\negress_allow_private = %s.0/24\n"
            % (prefix(), prefix()))


def ca_file():
    """The file with the authority of all servers here, which Internet.trust() writes."""
    return "/tmp/%s.ca.pem" % prefix()


def trusting_settings():
    """The same, with egress trusting the servers."""
    return settings() + "egress_ca_file = %s\n" % ca_file()


# ---- DNS

class Zone:
    """Names and their addresses.  A value may be a function: it is called for
    each question, so that a name can change.  Questions are kept in .asked."""

    def __init__(self):
        self.names, self.asked = {}, []

    def answer(self, query):
        ident, labels, at = query[:2], [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode("latin-1"))
            at += 1 + query[at]
        kind = struct.unpack("!H", query[at + 1:at + 3])[0]
        question = query[12:at + 5]
        name = ".".join(labels).lower()
        self.asked.append((name, kind))
        found = self.names.get(name)
        if callable(found):
            found = found()
        records = b""
        count = 0
        for address in found or []:
            v6 = ":" in address
            if kind == (28 if v6 else 1):
                packed = socket.inet_pton(socket.AF_INET6 if v6 else socket.AF_INET, address)
                records += b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 1, len(packed)) + packed
                count += 1
        code = 3 if found is None else 0
        return ident + struct.pack("!HHHHH", 0x8180 | code, 1, count, 0, 0) + question + records


class Datagram(socketserver.BaseRequestHandler):
    def handle(self):
        data, sock = self.request
        sock.sendto(self.server.zone.answer(data), self.client_address)


# ---- web

class Web(http.server.BaseHTTPRequestHandler):
    """Answers with what it was asked for, and keeps it in .server.seen."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        if self.headers.get("Transfer-Encoding"):
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(length)
        self.server.seen.append((self.command, self.headers.get("Host"), self.path,
                                 dict(self.headers), body))
        more = self.server.pages.get(self.path)
        if more:
            more(self, body)
            return
        text = ("%s %s %s\n" % (self.command, self.headers.get("Host"), self.path)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = do_OPTIONS = do_PATCH = answer

    def log_message(self, *_):
        pass


def upgrade(handler, _):
    """A page that becomes another protocol, and answers four bytes in it."""
    handler.send_response(101)
    handler.send_header("Upgrade", "websocket")
    handler.send_header("Connection", "Upgrade")
    handler.end_headers()
    handler.wfile.flush()
    handler.wfile.write(b"echo " + handler.rfile.read(4))
    handler.close_connection = True


class Echo(socketserver.BaseRequestHandler):
    """Greets first if it has a greeting, then sends back what comes; to a client that
    says so as urgent data."""

    def handle(self):
        self.server.peers.append(self.request)
        if self.server.greeting:
            self.request.sendall(self.server.greeting)
        while data := self.request.recv(1 << 16):
            self.server.heard += data
            self.request.send(data, socket.MSG_OOB if data == b"urgent" else 0)


class Threading(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 1024

    def headers(self):
        """The headers of the last request, names in lower case."""
        return {k.lower(): v for k, v in self.seen[-1][3].items()}

    def handle_error(self, request, client_address):
        pass  # clients come and go


# ---- all of it

class Internet:
    def __init__(self):
        self.zone = Zone()
        self.used = 53
        self.dir = tempfile.TemporaryDirectory()
        self.certificates = {}
        dns = socketserver.ThreadingUDPServer((prefix() + ".53", 53), Datagram)
        dns.daemon_threads = True
        self.serve(dns)
        self.resolver = dns
        dns.zone = self.zone

    @staticmethod
    def serve(server):
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server

    def host(self):
        """A new address."""
        self.used += 1
        return "%s.%d" % (prefix(), self.used)

    def name(self, name, *addresses):
        self.zone.names[name] = (addresses[0] if addresses and callable(addresses[0])
                                 else list(addresses))
        return addresses[0]

    def web(self, name, port=80, tls=False, address=None, protocol=None, curve=None):
        """A web server for the name, at a new address unless there is one.  It keeps
        the names that TLS clients give it in .named; `curve` is the only one it takes."""
        address = address or self.name(name, self.host())
        server = Threading((address, port), Web)
        server.seen, server.pages, server.named, server.address = [], {}, [], address
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificate(name))
            if protocol:
                context.set_alpn_protocols(protocol)
            if curve:
                context.set_ecdh_curve(curve)
            context.sni_callback = lambda _, said, __: server.named.append(said)
            server.socket = context.wrap_socket(server.socket, server_side=True,
                                                do_handshake_on_connect=False)
        return self.serve(server)

    def echo(self, name, port, greeting=b"", address=None):
        address = address or self.name(name, self.host())
        server = Threading((address, port), Echo)
        server.greeting, server.heard, server.peers, server.address = greeting, b"", [], address
        return self.serve(server)

    # ---- certificates

    def openssl(self, *words):
        subprocess.run(["openssl", *words], check=True, cwd=self.dir.name,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE)

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def authority(self):
        """The path of a certificate that signs those of all servers here."""
        if not os.path.exists(self.path("ca.pem")):
            self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                         "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
                         "-subj", "/CN=Test Internet", "-addext",
                         "basicConstraints=critical,CA:TRUE")
        return self.path("ca.pem")

    def trust(self):
        """Writes the file that trusting_settings() name: before egress starts."""
        atexit.register(os.unlink, shutil.copy(self.authority(), ca_file()))
        os.chmod(ca_file(), 0o644)

    def certificate(self, name):
        if name not in self.certificates:
            self.authority()
            with open(self.path(name + ".ext"), "w", encoding="ascii") as f:
                f.write("subjectAltName=DNS:%s\n" % name)
            self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                         "-keyout", name + ".key", "-out", name + ".csr", "-subj", "/CN=" + name)
            self.openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey",
                         "ca.key", "-CAcreateserial", "-out", name + ".pem", "-days", "2",
                         "-extfile", name + ".ext")
            self.certificates[name] = (self.path(name + ".pem"), self.path(name + ".key"))
        return self.certificates[name]
