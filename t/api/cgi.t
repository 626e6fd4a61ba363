#!/usr/bin/python3
"""cgi.t: sandlease-api without a FastCGI socket serves one request."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import at, execute, get, setting
from tap import case, equal, run, true

service.begin()


def cgi(method, path, body=b"", query="", **more):
    """(status, headers, body) of one run of the program."""
    env = dict({"GATEWAY_INTERFACE": "CGI/1.1", "REQUEST_METHOD": method,
                "SERVER_PROTOCOL": "HTTP/1.1", "PATH_INFO": path,
                "SCRIPT_NAME": "", "QUERY_STRING": query,
                "CONTENT_LENGTH": str(len(body)) if body else "",
                "REMOTE_ADDR": "127.0.0.1",
                "HTTP_AUTHORIZATION":
                    "Bearer " + setting("SANDLEASE_API_KEY")}, **more)
    done = service.run("sandlease-api", env=env, stdin=body)
    equal(done.returncode, 0, "exit status, with %r" % done.stderr)
    head, _, rest = done.stdout.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1)
                   for line in head.decode().split("\r\n"))
    return int(headers["Status"].split()[0]), headers, rest


@case
def it_answers_one_request_and_ends():
    status, headers, body = cgi("GET", "/v1/health")
    equal((status, headers["Content-Type"]), (200, "application/json"), "head")
    equal(json.loads(body)["status"], "ok", "body")
    true(headers["X-Request-Id"], "X-Request-Id")
    equal(cgi("GET", "/v1/live")[0], 204, "live")


@case
def keys_count_here_too():
    equal(cgi("GET", "/v1/me", HTTP_AUTHORIZATION="")[0], 401, "without")
    equal(cgi("GET", "/v1/me", HTTP_AUTHORIZATION="",
              HTTP_X_API_KEY=setting("SANDLEASE_API_KEY"))[0], 200, "X-API-Key")


@case
def a_session_made_by_cgi_is_served_by_nginx():
    body = json.dumps({"name": "cgi", "env": {"A": "1"}}).encode()
    status, _, answer = cgi("POST", "/v1/sessions", body, query="wait=30")
    s = json.loads(answer)
    equal((status, s["state"]), (201, "ready"), "created")
    equal(execute(s["id"], "echo $A"), "1\n", "it outlives the program")
    status, _, answer = cgi("POST", at(s["id"], "/sleep"))
    equal((status, json.loads(answer)["state"]), (200, "asleep"), "asleep")
    equal(cgi("DELETE", at(s["id"]))[0], 200, "deleted")
    equal(get(s["id"])["state"], "deleted", "and nginx knows")


@case
def errors_are_problem_documents():
    for what, (status, headers, body), wanted in (
            ("broken JSON", cgi("POST", "/v1/sessions", b"{"), 400),
            ("no such route", cgi("GET", "/v1/nothing"), 404),
            ("wrong method", cgi("PUT", "/v1/sessions"), 405),
            ("short body", cgi("POST", "/v1/sessions", b"{}",
                               CONTENT_LENGTH="100"), 400),
            ("no path", cgi("GET", ""), 404)):
        equal((status, headers["Content-Type"]),
              (wanted, "application/problem+json"), what)
        equal(json.loads(body)["status"], wanted, what)


@case
def stdin_is_read_only_as_far_as_the_body_goes():
    status, _, _ = cgi("POST", "/v1/sessions", b'{"name": "x"}garbage',
                       CONTENT_LENGTH="13")
    equal(status, 201, "status")


@case
def nginxs_own_routes_are_not_for_cgi_clients():
    # a web server passes headers as HTTP_*; nothing internal begins so
    status, _, _ = cgi("GET", "/v1/me", HTTP_SL_ROUTE="auth-session",
                       HTTP_SL_PATH="/v1/live")
    equal(status, 200, "HTTP_SL_* means nothing")


sys.exit(run(lambda: None))
