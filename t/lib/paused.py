"""paused.py: a worker of one request, or a reaper, that is paused between intent
and act."""
import json
import os
import signal
import subprocess

import service
from service import setting, sql, until


def _pause_so():
    """The path of pause.so, which is built once for a stack."""
    path = os.path.join(setting("STACK_DIR"), "pause.so")
    if not os.path.exists(path):
        subprocess.run(["cc", "-shared", "-fPIC", "-o", path, os.path.join(
            service.TOP, "t/lib/pause.c"), "-ldl"], check=True)
        os.chmod(path, 0o755)
    return path


class Paused:
    """A worker of one request, or a reaper, stopped at a point of pause.c."""

    def __init__(self, where):
        self.where = where
        self.sid = None
        self.process = None

    def __enter__(self):
        return self

    def create(self, **body):
        before = {row[0] for row in sql("SELECT id FROM session")}
        text = json.dumps(body).encode()
        self._start("sandlease-api", text, {
            "GATEWAY_INTERFACE": "CGI/1.1", "REQUEST_METHOD": "POST",
            "PATH_INFO": "/v1/sessions", "QUERY_STRING": "wait=60",
            "CONTENT_LENGTH": str(len(text)), "HTTP_AUTHORIZATION":
                "Bearer " + setting("SANDLEASE_API_KEY")})
        self.sid, = {row[0] for row in sql("SELECT id FROM session")} - before

    def reap(self):
        self._start("sandlease-reaper", b"", {})

    def _start(self, name, text, env):
        self.process = subprocess.Popen(
            [service.program(name), "--config", setting("SANDLEASE_CONFIG")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd="/",
            env={**env, "LD_PRELOAD": _pause_so(), "PAUSE_AT": self.where})
        self.process.stdin.write(text)
        self.process.stdin.close()
        until("it stops", lambda: service.stat(self.process.pid)[1] == "T")

    def lose_its_connection(self):
        """Ends the process's connection, and with it its locks, as a restart of
        PostgreSQL does."""
        sql("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE"
            " application_name IN ('sandlease-api', 'sandlease-reaper') AND"
            " pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')")

    def go_on(self):
        """Continues the worker; the status of its answer."""
        os.kill(self.process.pid, signal.SIGCONT)
        answer = self.process.stdout.read()
        self.process.wait(service.PATIENCE)
        return int(answer.split(b"\r\n")[0].split()[1])

    def finish(self):
        """Continues the process and waits for its end."""
        os.kill(self.process.pid, signal.SIGCONT)
        self.process.stdout.read()
        self.process.wait(service.PATIENCE)

    def kill(self):
        self.process.kill()
        self.process.wait(service.PATIENCE)

    def __exit__(self, *error):
        if self.process and self.process.poll() is None:
            self.kill()
