"""A WebSocket client that does what it is told, also what it must not."""
import base64
import hashlib
import json
import os
import socket
import struct

CONT, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Refused(Exception):
    """The handshake was answered by something else than 101."""

    def __init__(self, status, headers, body):
        super().__init__("%d %s" % (status, body[:300]))
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Closed(Exception):
    """The other side has closed: with a frame (code), or just so (None)."""

    def __init__(self, code, reason=""):
        super().__init__("closed with %s %s" % (code, reason))
        self.code, self.reason = code, reason


def mask(data, key):
    n = len(data)
    pad = (key * (n // 4 + 1))[:n]
    return (int.from_bytes(data, "big") ^ int.from_bytes(pad, "big")).to_bytes(n, "big")


def frame(opcode, data=b"", fin=True, masked=True, reserved=0, length=None):
    """The bytes of one frame; `length` lies about how long it is."""
    n = len(data) if length is None else length
    head = bytes([(0x80 if fin else 0) | reserved << 4 | opcode])
    bit = 0x80 if masked else 0
    if n < 126:
        head += bytes([bit | n])
    elif n < 1 << 16:
        head += bytes([bit | 126]) + struct.pack(">H", n)
    else:
        head += bytes([bit | 127]) + struct.pack(">Q", n)
    if not masked:
        return head + data
    key = os.urandom(4)
    return head + key + mask(data, key)


class WebSocket:
    """Connected to `address`, a (host, port) or the path of a unix socket."""

    def __init__(self, address, path, headers=(), timeout=60, handshake=True):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.sock = socket.socket(family)
        self.sock.settimeout(timeout)
        self.sock.connect(address)
        self.input = b""
        self.pings, self.pongs = 0, []
        self.key = base64.b64encode(os.urandom(16)).decode()
        sent = {"Host": "127.0.0.1", "Upgrade": "websocket",
                "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": self.key, **dict(headers)}
        self.request = "\r\n".join([
            "GET %s HTTP/1.1" % path,
            *("%s: %s" % h for h in sent.items())]) + "\r\n\r\n"
        if handshake:
            self.send_bytes(self.request.encode())
            self.handshake()

    # ---- bytes

    def send_bytes(self, data):
        self.sock.sendall(data)

    def _fill(self):
        more = self.sock.recv(1 << 16)
        if not more:
            raise Closed(None)
        self.input += more

    def _take(self, n):
        while len(self.input) < n:
            self._fill()
        data, self.input = self.input[:n], self.input[n:]
        return data

    def _body(self, headers):
        if headers.get("transfer-encoding") != "chunked":
            return self._take(int(headers.get("content-length", 0)))
        body = b""
        while True:
            while b"\r\n" not in self.input:
                self._fill()
            size, _, self.input = self.input.partition(b"\r\n")
            piece = self._take(int(size, 16) + 2)
            if len(piece) == 2:
                return body
            body += piece[:-2]

    def handshake(self):
        while b"\r\n\r\n" not in self.input:
            self._fill()
        head, _, self.input = self.input.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        status = int(first.split()[1])
        self.headers = {k.lower(): v.strip() for k, _, v in
                        (line.partition(":") for line in lines)}
        if status != 101:
            raise Refused(status, self.headers, self._body(self.headers).decode())
        want = hashlib.sha1((self.key + GUID).encode()).digest()
        assert self.headers["sec-websocket-accept"] == base64.b64encode(want).decode()

    # ---- frames

    def send_frame(self, opcode, data=b"", **how):
        self.send_bytes(frame(opcode, data, **how))

    def frame(self):
        """(fin, opcode, data); what a server must not send is an error."""
        first, second = self._take(2)
        assert first & 0x70 == 0 and second & 0x80 == 0, "no server's frame"
        n = second & 0x7f
        if n == 126:
            n, = struct.unpack(">H", self._take(2))
        elif n == 127:
            n, = struct.unpack(">Q", self._take(8))
        return bool(first & 0x80), first & 0x0f, self._take(n)

    # ---- messages

    def send(self, message):
        """Text, bytes, or anything else as JSON."""
        if isinstance(message, bytes):
            self.send_frame(BINARY, message)
        else:
            text = message if isinstance(message, str) else json.dumps(message)
            self.send_frame(TEXT, text.encode())

    def recv(self):
        """The next message, text or bytes; pings are answered on the way."""
        parts, kind = [], None
        while True:
            fin, opcode, data = self.frame()
            if opcode == PING:
                self.pings += 1
                self.send_frame(PONG, data)
                continue
            if opcode == PONG:
                self.pongs.append(data)
                continue
            if opcode == CLOSE:
                code = struct.unpack(">H", data[:2])[0] if len(data) > 1 else 1005
                raise Closed(code, data[2:].decode())
            assert (kind is None) == (opcode != CONT), "fragments in order"
            kind = opcode if kind is None else kind
            parts.append(data)
            if fin:
                whole = b"".join(parts)
                return whole.decode() if kind == TEXT else whole

    def json(self):
        return json.loads(self.recv())

    def closed(self):
        """Reads to the end; the code it was closed with."""
        try:
            while True:
                self.recv()
        except Closed as c:
            return c.code
        except ConnectionError:
            return None

    def close(self, code=1000):
        """Closes politely, and waits for the other side's word."""
        try:
            self.send_frame(CLOSE, struct.pack(">H", code))
            return self.closed()
        except ConnectionError:
            return None
        finally:
            self.sock.close()
