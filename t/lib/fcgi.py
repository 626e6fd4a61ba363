"""fcgi.py: a FastCGI responder for tests, in the place of workers and wrappers.

A Responder listens on a unix socket and calls handler(request) in a thread of
its own for every request.  The handler sees the parameters as they came and
reads the body only if it wants to.
"""
import os
import queue
import socket
import struct
import threading

BEGIN, END, PARAMS, STDIN, STDOUT = 1, 3, 4, 5, 6


class Gone(Exception):
    """nginx closed the connection."""


class Request:
    def __init__(self, conn):
        self.conn = conn
        self.params = {}
        self.ended = False

    def _exactly(self, n):
        data = b""
        while len(data) < n:
            more = self.conn.recv(n - len(data))
            if not more:
                raise Gone
            data += more
        return data

    def _record(self):
        _, kind, _, length, padding, _ = struct.unpack(
            ">BBHHBB", self._exactly(8))
        content = self._exactly(length)
        self._exactly(padding)
        return kind, content

    def read_params(self):
        data = b""
        while True:
            kind, content = self._record()
            if kind == PARAMS and not content:
                break
            if kind == PARAMS:
                data += content
        while data:
            sizes = []
            for _ in range(2):
                if data[0] < 128:
                    sizes.append(data[0])
                    data = data[1:]
                else:
                    sizes.append(struct.unpack(">I", data[:4])[0] & 0x7fffffff)
                    data = data[4:]
            name, value = data[:sizes[0]], data[sizes[0]:sum(sizes)]
            self.params[name.decode()] = value.decode("latin-1")
            data = data[sum(sizes):]

    def body(self):
        """The whole body; Gone if nginx went away before its end."""
        data = b""
        while True:
            kind, content = self._record()
            if kind == STDIN and not content:
                return data
            if kind == STDIN:
                data += content

    def some_body(self):
        """The next piece of the body, b"" at its end."""
        return self._record()[1]

    def write(self, data):
        for at in range(0, len(data), 65000):
            part = data[at:at + 65000]
            try:
                self.conn.sendall(struct.pack(
                    ">BBHHBB", 1, STDOUT, 1, len(part), 0, 0) + part)
            except OSError as e:
                raise Gone from e

    def begin(self, status, headers=()):
        lines = ["Status: %d" % status]
        lines += ["%s: %s" % pair for pair in headers]
        self.write(("\r\n".join(lines) + "\r\n\r\n").encode())

    def reply(self, status, headers=(), body=b""):
        if isinstance(body, str):
            body = body.encode()
        self.begin(status, headers)
        if body:
            self.write(body)

    def die(self):
        """Closes the connection without an answer, as a crash does."""
        self.ended = True

    def end(self):
        if not self.ended:
            self.conn.sendall(struct.pack(">BBHHBBIBBBB", 1, END, 1, 8, 0, 0,
                                          0, 0, 0, 0, 0))


class Responder:
    def __init__(self, path, handler):
        self.path = path
        self.handler = handler
        self.seen = queue.Queue()
        self.errors = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(512)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(conn,),
                             daemon=True).start()

    def _serve(self, conn):
        request = Request(conn)
        try:
            request.read_params()
            self.seen.put(request.params)
            self.handler(request)
            request.end()
            # As libfcgi does: the rest of the request is read and dropped, so
            # that close() does not reset an answer that is on its way.
            if not request.ended:
                conn.shutdown(socket.SHUT_WR)
                while conn.recv(65536):
                    pass
        except (Gone, OSError):
            pass
        except Exception as e:  # the test looks at these
            self.errors.append(repr(e))
        finally:
            conn.close()

    def took(self):
        """Parameters of the requests since the last call, oldest first."""
        out = []
        while not self.seen.empty():
            out.append(self.seen.get())
        return out

    def close(self):
        """Refuses connections from now on; the socket's name stays."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def remove(self):
        self.close()
        os.unlink(self.path)
