#!/usr/bin/python3
"""Tests what a start does that sandlease-egress asks to come again.

A program in the place of sandlease-egress says so: when the real one does is a
matter of moments."""
import json
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import service  # noqa: E402

service.begin()
from service import call, expect, problem, setting  # noqa: E402
from tap import case, equal, run  # noqa: E402

PATH = setting("STACK_RUN") + "/run/egress.sock"
AGAIN = {"ok": False, "message": "not yet", "again": True}
BODY = {"network": {"mode": "allow", "allow": ["example.com"]}}


class Egress(threading.Thread):
    """Gives these answers, then the last of them for ever."""

    def __init__(self, *answers):
        super().__init__(daemon=True)
        self.answers, self.asked = answers, 0
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(PATH)
        os.chmod(PATH, 0o666)
        self.socket.listen()
        self.start()

    def run(self):
        while True:
            connection = self.socket.accept()[0]
            if connection.recv(65536):  # else it only looked whether we are there
                answer = self.answers[min(self.asked, len(self.answers) - 1)]
                self.asked += 1
                connection.send(json.dumps(answer).encode())
            connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.unlink(PATH)


@case
def a_start_asks_again():
    with Egress(AGAIN, AGAIN, {"ok": True}) as egress:
        equal(expect(201, call("POST", "/v1/sessions?wait=60", BODY)).json["state"], "ready",
              "the session")
        equal(egress.asked, 3, "questions")


@case
def but_not_for_ever():
    with Egress(AGAIN) as egress:
        problem(call("POST", "/v1/sessions?wait=60", BODY), 503, "egress_unavailable")
        equal(egress.asked % 5, 0, "five questions of each start: %d" % egress.asked)


@case
def a_refusal_without_that_word_counts():
    with Egress({"ok": False, "message": "no"}) as egress:
        problem(call("POST", "/v1/sessions?wait=60", BODY), 503, "egress_unavailable")
        equal(egress.asked, 1, "questions")


sys.exit(run(lambda: None))
