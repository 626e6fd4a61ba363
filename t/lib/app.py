"""app.py: an HTTP server on a unix socket that a test controls.

The server takes the place of the relay of an exposed port.  handler(app, head,
conn) gets the raw head of the request and the connection, and writes any answer.
"""
import os
import queue
import socket
import threading

from tap import PATIENCE


class App:
    def __init__(self, path, handler):
        self.path = path
        self.handler = handler
        self.says = None  # bytes of its answers, for the handler
        self.extra = []  # headers of its answers, for the handler
        self.heads = queue.Queue()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
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
        try:
            data = b""
            while b"\r\n\r\n" not in data:
                more = conn.recv(65536)
                if not more:
                    return
                data += more
            head = data.split(b"\r\n\r\n")[0].decode("latin-1")
            self.heads.put(head)
            self.handler(self, head, conn)
        except OSError:
            pass
        finally:
            conn.close()

    def head(self):
        """The request line and the headers, names in lower case, of the oldest
        request that the test has not yet taken."""
        lines = self.heads.get(timeout=PATIENCE).split("\r\n")
        headers = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            headers.setdefault(name.lower(), []).append(value.strip())
        return lines[0], headers

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def remove(self):
        self.close()
        os.unlink(self.path)
