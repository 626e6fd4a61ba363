"""A small FastCGI client, for talking to a program without nginx."""
import json
import socket
import struct

from tap import PATIENCE

BEGIN, ABORT, END, PARAMS, STDIN, STDOUT, STDERR = 1, 2, 3, 4, 5, 6, 7


def _record(kind, data=b""):
    return struct.pack("!BBHHBB", 1, kind, 1, len(data), 0, 0) + data


def _stream(kind, data):
    return b"".join(_record(kind, data[i:i + 65000]) for i in range(0, len(data), 65000))


def _pair(name, value):
    def length(n):
        return struct.pack("!B", n) if n < 128 else struct.pack("!I", n | 1 << 31)
    name, value = name.encode(), str(value).encode()
    return length(len(name)) + length(len(value)) + name + value


class Answer:
    def __init__(self, raw):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        self.headers = {}
        for line in head.decode("latin-1").split("\r\n"):
            name, _, value = line.partition(": ")
            self.headers[name.lower()] = value
        self.status = int(self.headers.get("status", "200").split()[0])

    def json(self):
        return json.loads(self.body)


class Request:
    """One request on its own connection; read() gives the answer piece by piece."""

    def __init__(self, path, params, body=b"", end=True, timeout=PATIENCE):
        data = _record(BEGIN, struct.pack("!HB5x", 1, 0))
        data += _stream(PARAMS, b"".join(_pair(k, v) for k, v in params.items()))
        data += _record(PARAMS) + _stream(STDIN, body)
        if end:
            data += _record(STDIN)
        # send at once: libfcgi drops a client that sends nothing for 2 s
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(timeout)
        self.sock.connect(path)
        try:
            self.sock.sendall(data)
        except BrokenPipeError:
            pass  # refused before the end of the body: the answer says why
        self.buffer = b""
        self.stderr = b""

    def _exactly(self, n):
        while len(self.buffer) < n:
            try:
                more = self.sock.recv(65536)
            except ConnectionResetError:
                more = b""
            if not more:
                return None
            self.buffer += more
        out, self.buffer = self.buffer[:n], self.buffer[n:]
        return out

    def read(self):
        """The next bytes of the answer; None at its end."""
        while True:
            head = self._exactly(8)
            if head is None:
                return None
            _, kind, _, length, padding, _ = struct.unpack("!BBHHBB", head)
            data = self._exactly(length + padding)
            if data is None or kind == END:
                return None
            if kind == STDERR:
                self.stderr += data[:length]
            if kind == STDOUT and length > 0:
                return data[:length]

    def until(self, text):
        """Reads until the text has come, which pieces may cut anywhere; returns
        everything that was read."""
        got = b""
        while text not in got:
            piece = self.read()
            if piece is None:
                raise EOFError(f"the answer ended without {text!r}: {got!r}")
            got += piece
        return got

    def all(self):
        pieces = []
        while True:
            piece = self.read()
            if piece is None:
                return Answer(b"".join(pieces))
            pieces.append(piece)

    def close(self):
        self.sock.close()
