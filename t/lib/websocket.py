"""websocket.py: Debian's python3-websockets over a plain, blocking socket.

    ws = WebSocket(("127.0.0.1", port), "/ws", {"Authorization": "Bearer x"})
    ws.send({"type": "request", ...})
    ws.json()
    ws.close()          # 1000, the server's close code

The library writes and checks the handshake, frames, masks and close codes.
A server's violation of the protocol raises the library's own exception.
"""
import http.client
import json
import socket
import threading

from websockets.client import ClientConnection
from websockets.connection import State
from websockets.frames import Frame, Opcode
from websockets.uri import WebSocketURI

from tap import PATIENCE, Hope


class Refused(Exception):
    """The handshake was answered by something else than 101."""

    def __init__(self, sock):
        with http.client.HTTPResponse(sock) as answer:
            answer.begin()
            self.status, self.headers = answer.status, answer.headers
            self.body = answer.read().decode()
        super().__init__("%d %s" % (self.status, self.body[:300]))

    @property
    def json(self):
        return json.loads(self.body)


class Closed(Exception):
    """The connection has ended: with a close frame (code), or without (None)."""

    def __init__(self, close=None):
        super().__init__("closed: %s" % close)
        self.code = close.code if close else None
        self.reason = close.reason if close else ""


class WebSocket:
    """Connected to `address`, a (host, port) or the path of a unix socket."""

    def __init__(self, address, path, headers=(), timeout=PATIENCE, handshake=True,
                 subprotocols=None):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.sock = socket.socket(family)
        self.sock.settimeout(timeout)
        self.sock.connect(address)
        self.pings, self.pongs = 0, []
        self.frames = []  # received, not yet read by the test
        self.lock = threading.Lock()  # a thread may send while another receives
        self.library = ClientConnection(
            WebSocketURI(False, "127.0.0.1", 80, path, ""), max_size=None,
            subprotocols=subprotocols)
        self.request = self.library.connect()
        for name, value in dict(headers).items():
            if name in self.request.headers:
                del self.request.headers[name]  # an assignment would add a second
            self.request.headers[name] = value
        if handshake:
            self._send(self.library.send_request, self.request)
            self.handshake()

    # ---- bytes

    def send_raw(self, data):
        """Sends bytes as they are: the library neither checks nor sees them."""
        self.sock.sendall(data)

    def _flush(self):
        for data in self.library.data_to_send():
            if data:
                self.sock.sendall(data)

    def _send(self, method, *args):
        with self.lock:
            method(*args)
            self._flush()

    def _receive(self):
        try:
            data = self.sock.recv(1 << 16)
        except ConnectionError:
            data = b""
        with self.lock:
            if data:
                self.library.receive_data(data)
            else:
                self.library.receive_eof()
            self.frames += [e for e in self.library.events_received()
                            if isinstance(e, Frame)]
            try:
                self._flush()
            except ConnectionError:
                pass  # a pong or an echoed close for a server that has gone
        fault = self.library.parser_exc
        # The library wants no close frame between the fragments of a message;
        # RFC 6455 (5.4) allows it, and a server that ends at once does it.
        if self.library.close_rcvd is None and not isinstance(
                fault, (EOFError, type(None))):
            raise fault

    def handshake(self):
        """Reads and checks the server's answer.  http.client reads a refusal,
        because the library knows neither HTTP/1.0 nor chunks."""
        accepted = b"HTTP/1.1 101"
        try:
            while (got := self.sock.recv(len(accepted), socket.MSG_PEEK)) != accepted:
                if not got:
                    raise Closed
                if not accepted.startswith(got):
                    raise Refused(self.sock)
        except ConnectionError:
            raise Closed from None
        while self.library.state is State.CONNECTING:
            self._receive()
            if self.library.handshake_exc is not None:
                raise self.library.handshake_exc

    # ---- messages

    def send(self, message):
        """Sends text, bytes, or anything else as JSON."""
        if isinstance(message, bytes):
            self._send(self.library.send_binary, message)
        else:
            text = message if isinstance(message, str) else json.dumps(message)
            self._send(self.library.send_text, text.encode())

    def send_piece(self, data, first=False, last=False):
        """Sends a part of a text message that is sent in several frames."""
        if first:
            self._send(self.library.send_text, data, last)
        else:
            self._send(self.library.send_continuation, data, last)

    def ping(self, data):
        self._send(self.library.send_ping, data)

    def pong(self, data):
        self._send(self.library.send_pong, data)

    def recv(self):
        """The next message, text or bytes; the library has answered pings."""
        parts = []
        hope = Hope()
        while not parts or not parts[-1].fin:
            while not self.frames:
                if self.library.state is State.CLOSED:
                    raise Closed(self.library.close_rcvd)
                self._receive()
            frame = self.frames.pop(0)
            if frame.opcode is Opcode.PING:
                self.pings += 1
                hope.lives()
            elif frame.opcode is Opcode.PONG:
                self.pongs.append(bytes(frame.data))
            elif frame.opcode is not Opcode.CLOSE:
                parts.append(frame)
        whole = b"".join(part.data for part in parts)
        return whole.decode() if parts[0].opcode is Opcode.TEXT else whole

    def json(self):
        return json.loads(self.recv())

    def closed(self):
        """Reads until the server ends the connection; its close code."""
        try:
            while True:
                self.recv()
        except Closed as c:
            return c.code

    def close(self, code=1000):
        """Does the closing handshake; the server's close code."""
        try:
            if self.library.state is State.OPEN:
                self._send(self.library.send_close, code)
            return self.closed()
        except ConnectionError:
            return None
        finally:
            self.sock.close()
