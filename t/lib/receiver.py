"""receiver.py: a server that gets webhooks, as a customer would write it.

    r = Receiver()
    r.url("/a")             # http://127.0.0.1:PORT/a
    r.answers["/a"] = [500, 200]    # what it answers in turn, the last one again and again
    r.got("/a")             # the requests so far
"""
import hashlib
import hmac
import http.server
import json
import threading
import time

from service import until

MUTE = object()  # takes the request and never answers
HOLD = object()  # answers 200 once release is set


class Got:
    def __init__(self, path, headers, body):
        self.path = path
        self.headers = headers
        self.body = body
        self.json = json.loads(body)
        self.id = headers["Sandlease-Delivery"]
        self.event = headers["Sandlease-Event"]

    def is_signed(self, secret):
        """Checks the signature as docs/api.md says."""
        parts = dict(p.split("=", 1) for p in self.headers["Sandlease-Signature"].split(","))
        wanted = hmac.new(secret.encode(), parts["t"].encode() + b"." + self.body,
                          hashlib.sha256).hexdigest()
        # wait: a signature is of now; the bound is against clocks that differ
        return hmac.compare_digest(wanted, parts["v1"]) and abs(time.time() - int(parts["t"])) < 300


class Receiver:
    def __init__(self):
        self.answers = {}
        self.requests = []
        self.lock = threading.Lock()
        self.release = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = receiver.note(Got(self.path, self.headers, body))
                if answer is MUTE:
                    self.rfile.read(1)  # until the sender goes
                    self.close_connection = True
                    return
                if answer is HOLD:
                    receiver.release.wait()
                    answer = 200
                self.send_response(answer)
                if 300 <= answer < 400:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

        self.server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def port(self):
        return self.server.server_address[1]

    def url(self, path, host="127.0.0.1"):
        return "http://%s:%d%s" % (host, self.port, path)

    def note(self, request):
        with self.lock:
            self.requests.append(request)
            answers = self.answers.get(request.path, [200])
            return answers.pop(0) if len(answers) > 1 else answers[0]

    def got(self, path):
        with self.lock:
            return [r for r in self.requests if r.path == path]

    def arrived(self, path, count=1):
        """Waits for so many requests and returns them."""
        return until("%d requests to %s" % (count, path),
                     lambda: len(self.got(path)) >= count and self.got(path))
