"""nginx_limits.py: tests how many connections one address or key may take.

nginx is started again with limits that a few connections reach, and at the end
with its own limits.
"""
import contextlib
import select
import socket

from nginx_world import A, KEY, LOGIN, PATIENCE, TICKET
from tap import case, equal, true

ADDRESS_MAX, KEY_MAX = 8, 3
OTHER_KEY = "sl_" + "o" * 52
STREAM = "/v1/sessions/%s/api/stream" % A


class Held:
    """An open stream, which ends when w.gate opens; its first event has
    come."""

    def __init__(self, w, **headers):
        self.s = socket.create_connection(("127.0.0.1", w.port), PATIENCE)
        lines = ["GET %s HTTP/1.1" % STREAM, "Host: x", "Connection: close"] + [
            "%s: %s" % (n.replace("_", "-"), v) for n, v in headers.items()]
        self.s.sendall("\r\n".join(lines + ["", ""]).encode())
        data = b""
        while b"first" not in data:
            more = self.s.recv(4096)
            true(more, "ended with %r" % data)
            data += more

    def end(self, w):
        w.gate.set()
        while self.s.recv(4096):
            pass
        self.s.close()


def bearer(key):
    return {"Authorization": "Bearer " + key}


def read_of(w, key):
    """Sends a plain GET; returns its socket."""
    s = socket.create_connection(("127.0.0.1", w.port), PATIENCE)
    s.sendall(b"GET /v1/me HTTP/1.1\r\nHost: x\r\n"
              b"Authorization: Bearer %s\r\n\r\n" % key.encode())
    return s


def refused(answer, code):
    equal((answer.status, answer.json()["code"]), (503, code))
    equal(answer.headers["retry-after"], "1")
    true(answer.headers.get("x-request-id"), "has a request id")


@case
def half_a_head_ends_before_half_a_body(w):
    """The order in which the two end shows that their limits differ."""
    w.stop_nginx()
    w.start_nginx(ADDRESS_MAX, KEY_MAX)
    with socket.create_connection(("127.0.0.1", w.port), PATIENCE) as head, \
            socket.create_connection(("127.0.0.1", w.port), PATIENCE) as body:
        body.sendall(b"PUT /v1/sessions/%s/files/x HTTP/1.1\r\nHost: x\r\n"
                     b"Content-Length: 10\r\n\r\nhalf" % A.encode())
        head.sendall(b"GET / HTTP/1.1\r\nHost:")
        # wait: for nginx to end one of the two; the limit is against hanging
        ended, _, _ = select.select([head, body], [], [], PATIENCE)
        equal([s is head for s in ended], [True])


@case
def one_key_takes_no_more_than_its_share(w):
    held = [Held(w, **bearer(KEY)) for _ in range(KEY_MAX)]
    refused(w.ask(STREAM, **bearer(KEY)), "CONTAINER_UNAVAILABLE")
    refused(w.ask("/v1/me", **bearer(KEY)), "too_many_connections")
    refused(w.ask("/v1/sessions", "POST", b"{}", **bearer(KEY)),
            "too_many_connections")
    refused(w.ask("/v1/sessions/%s/api/expose-port" % A, "POST", b"{}",
                  **bearer(KEY)), "CONTAINER_UNAVAILABLE")
    refused(w.ask("/v1/sessions/%s/proxy/8080/x" % A, **bearer(KEY)),
            "CONTAINER_UNAVAILABLE")
    refused(w.ask("/v1/sessions/%s/ws?ticket=%s" % (A, TICKET),
                  Connection="Upgrade", Upgrade="websocket", **bearer(KEY)),
            "CONTAINER_UNAVAILABLE")
    # a client with another key, or none, is served
    for headers in (bearer(OTHER_KEY), {}, {"X_API_Key": OTHER_KEY}):
        equal(w.ask("/v1/me", **headers).status, 200)
    held[0].end(w)
    for h in held[1:]:
        h.end(w)
    equal(w.ask("/v1/me", **bearer(KEY)).status, 200)


@case
def who_knows_only_a_part_of_a_key_takes_nothing_from_it(w):
    held = [Held(w, **bearer(KEY[:-1])) for _ in range(KEY_MAX)]
    equal(w.ask("/v1/me", **bearer(KEY)).status, 200)
    for h in held:
        h.end(w)


@case
def a_login_counts_as_a_key_does(w):
    cookie = {"Cookie": "theme=dark; sandlease=" + LOGIN}
    held = [Held(w, **cookie) for _ in range(KEY_MAX)]
    refused(w.ask("/v1/me", **cookie), "too_many_connections")
    equal(w.ask("/v1/me", Cookie="sandlease=another").status, 200)
    for h in held:
        h.end(w)


@case
def one_address_takes_no_more_than_its_share_whatever_keys_it_has(w):
    held = [Held(w, **bearer("key-%d" % n)) for n in range(ADDRESS_MAX)]
    refused(w.ask("/v1/me"), "too_many_connections")
    refused(w.ask("/"), "too_many_connections")
    refused(w.preview(), "PREVIEW_UNAVAILABLE")
    refused(w.by_path("/"), "PREVIEW_UNAVAILABLE")
    for h in held:
        h.end(w)
    equal(w.ask("/v1/me").status, 200)


@case
def plain_GETs_of_one_key_wait_their_turn_and_nobody_elses(w):
    w.stop_nginx()
    w.start_nginx(few_reads=True)
    mine = bearer(KEY)
    for _ in range(3):
        equal(w.ask("/v1/me", **mine).status, 200)
    w.forget()
    with contextlib.ExitStack() as stack:
        sent = [stack.enter_context(read_of(w, KEY)) for _ in range(4)]
        answered = []
        while len(answered) < 2:
            # wait: for nginx to answer; the limit is against hanging
            answered, _, _ = select.select(sent, [], [], PATIENCE)
            true(answered, "nginx answers")
        for s in answered:
            true(s.recv(4096).startswith(b"HTTP/1.1 503"), "refused")
        refused(w.ask("/v1/me", **mine), "too_many_connections")
        equal(w.read.took(), [], "two wait, and no worker has seen any")
        for path, method, headers in (
                ("/v1/me", "GET", bearer(OTHER_KEY)), ("/v1/live", "GET", {}),
                ("/v1/sessions", "POST", mine),
                ("/v1/sessions/%s?wait=1" % A, "GET", mine),
                ("/v1/sessions/%s/api/run" % A, "GET", mine)):
            equal(w.ask(path, method, **headers).status, 200, path)


@case
def nginx_goes_on_when_one_of_its_processes_dies(w):
    w.stop_nginx()
    w.start_nginx()
    equal(w.ask("/v1/me").status, 200, "its processes are there")
    w.kill_nginx_worker()
    for _ in range(20):
        equal(w.ask("/v1/me").status, 200)
