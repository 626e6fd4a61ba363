"""The service as a client sees it, through nginx, for tests in Python."""
import http.client
import json
import os
import urllib.parse

URL = urllib.parse.urlsplit(os.environ["SANDLEASE_URL"])
KEY = os.environ["SANDLEASE_API_KEY"]


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)


def call(method, path, body=None, key=KEY, headers=None, host=None, port=None):
    """One request; a dict is sent as JSON, bytes as they are."""
    connection = http.client.HTTPConnection(URL.hostname, port or URL.port, timeout=90)
    headers = dict(headers or {})
    if key:
        headers.setdefault("Authorization", "Bearer " + key)
    if host:
        headers["Host"] = host
    if isinstance(body, (dict, list)):
        body = json.dumps(body).encode()
        headers.setdefault("Content-Type", "application/json")
    try:
        connection.request(method, path, body=body, headers=headers)
        return Answer(connection.getresponse())
    finally:
        connection.close()


class Session:
    """One session; `with` deletes it at the end."""

    def __init__(self, **wish):
        answer = call("POST", "/v1/sessions", wish)
        if answer.status not in (200, 201):
            raise RuntimeError("create: %d %s" % (answer.status, answer.body))
        self.json = answer.json
        self.id = self.json["id"]
        self.path = "/v1/sessions/" + self.id

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.delete()

    def get(self):
        return call("GET", self.path).json

    def delete(self):
        return call("DELETE", self.path)

    def run(self, command, **more):
        """What a command printed and how it ended: (exit code, stdout, stderr)."""
        answer = call("POST", self.path + "/api/execute", dict(command=command, **more))
        if answer.status != 200:
            return (-answer.status, "", answer.body.decode())
        r = answer.json
        return (r["exitCode"], r["stdout"], r["stderr"])

    def python(self, program):
        """Runs a Python program inside; the same triple."""
        call("POST", self.path + "/api/write", {"path": "/tmp/p.py", "content": program})
        return self.run("python3 /tmp/p.py")

    def preview(self, port, **more):
        return call("POST", self.path + "/ports", dict(port=port, **more))
