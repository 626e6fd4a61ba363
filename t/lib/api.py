"""api.py: a session as its client holds it, on top of service.py."""
import service

KEY = service.setting("SANDLEASE_API_KEY")


def call(method, path, body=None, key=KEY, headers=None, host=None, port=None):
    """service.call() with another host name or another port of nginx."""
    headers = dict(headers or {})
    if host:
        headers["Host"] = host
    return service.call(method, path, body, key or "", headers, to=port)


class Session:
    """One session; `with` deletes it at the end."""

    def __init__(self, **wish):
        answer = call("POST", "/v1/sessions?wait=60", wish)
        if answer.status not in (200, 201):
            raise RuntimeError("create: %r" % answer)
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
        """Runs a command; (exit code, stdout, stderr)."""
        answer = call("POST", self.path + "/api/execute", dict(command=command, **more))
        if answer.status != 200:
            return (-answer.status, "", answer.body.decode())
        r = answer.json
        return (r["exitCode"], r["stdout"], r["stderr"])

    def python(self, program):
        """Runs a Python program in the session; the same triple."""
        call("POST", self.path + "/api/write", {"path": "/tmp/p.py", "content": program})
        return self.run("python3 /tmp/p.py")

    def preview(self, port, **more):
        return call("POST", self.path + "/ports", dict(port=port, **more))
