"""git_server.py: the repositories below /workspace/served over smart HTTP.

Runs inside a session.  A path that begins with /private/ wants the user `me`
with the password in /workspace/password; below /slow/ nothing is ever answered.
"""
import base64
import http.server
import os
import subprocess
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.serve(b"")

    def do_POST(self):
        self.serve(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def allowed(self):
        with open("/workspace/password", encoding="utf-8") as f:
            wanted = "me:" + f.read()
        return self.headers.get("Authorization", "") == "Basic " + (
            base64.b64encode(wanted.encode()).decode())

    def serve(self, body):
        path, _, query = self.path.partition("?")
        if path.startswith("/slow/"):
            open("/workspace/asked", "w").close()
            self.connection.recv(1)  # until the client hangs up
            return
        if path.startswith("/private/"):
            path = path[len("/private"):]
            if not self.allowed():
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.end_headers()
                return
        done = subprocess.run(
            ["git", "http-backend"], input=body, stdout=subprocess.PIPE,
            env=dict(os.environ, GIT_PROJECT_ROOT="/workspace/served",
                     GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path,
                     QUERY_STRING=query, REQUEST_METHOD=self.command,
                     CONTENT_TYPE=self.headers.get("Content-Type", ""),
                     HTTP_CONTENT_ENCODING=self.headers.get(
                         "Content-Encoding", ""),
                     GIT_PROTOCOL=self.headers.get("Git-Protocol", "")),
            check=False).stdout
        head, _, rest = done.partition(b"\r\n\r\n")
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n"))
        self.send_response(int(fields.pop(b"Status", b"200").split()[0]))
        for name, value in fields.items():
            self.send_header(name.decode(), value.decode())
        self.end_headers()
        self.wfile.write(rest)


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])),
                                Handler).serve_forever()
