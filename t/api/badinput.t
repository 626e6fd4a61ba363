#!/usr/bin/python3
"""badinput.t: tests that every endpoint says which input is wrong, and that no worker
dies of it.

The inputs come from the program's own tables: `sandlease-api --routes` and GET
/v1/openapi.json.
"""
import json
import os
import re
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import at, call, create, expect, get, new_key, problem, setting
from tap import case, equal, run, true

service.begin()

SID = create(isolation="session")["id"]
ADMIN = new_key("demo", "operator", "--scope", "admin")
TRIGGER = expect(201, call("POST", "/v1/triggers", {
    "name": "t", "schedule": "@yearly",
    "run": {"agentType": "VALIDATION", "command": "true"}})).json["id"]
WORKERS = service.workers()
ORIGIN = {"Origin": setting("SANDLEASE_URL")}
PATHS = expect(200, call("GET", "/v1/openapi.json")).json["paths"]

BROKEN = (
    b"{", b"}", b"nul", b"{]", b'{"name"', b'{"name": }', b"{'name': 'x'}",
    b'{"name": "x"', b'{"name": "x",}', b"{} {}", b"{}x", b"\x00", b"{}\x00",
    b'{"name": "\xff\xfe"}', b'{"name": "\xed\xa0\x80"}', b"\xef\xbb\xbf{}",
    b'{"name": "a\nb"}', b'{"name": "\\ud800"}', b'{"name": NaN}', b"1e999999",
    b'{"sleepAfterSeconds": 1e999}',
    b'{"sleepAfterSeconds": 99999999999999999999999999}',
    b"[" * 100000, b'{"labels":' * 50000, b'{"labels": ' + b"[" * 3000 +
    b"]" * 3000 + b"}", b" " * 100000, b"\n\n\n")
NOT_OBJECTS = (b"[]", b'"x"', b"1", b"true", b"null", b"1.5", b"[{}]")
LOGIN_MAX = 4096  # bytes: a client that is not logged in may send little
VALUES = {"string": "x", "integer": 1, "boolean": True, "object": {},
          "array": []}


def path_of(pattern, sid=None, port="8080"):
    return pattern.replace("{id}", sid or SID).replace("{port}", port) \
        .replace("{type}", "TEST_WRITER").replace("{execution}", "x" * 20) \
        .replace("{trigger}", TRIGGER) \
        .replace("{sandbox}", "ses-" + "0" * 48) \
        .replace("{webhook}", "x" * 20).replace("{delivery}", "x" * 20)


def send(method, path, body):
    return call(method, path, body, headers=ORIGIN,
                key=ADMIN if path.startswith(("/v1/profiles", "/v1/webhooks")) else None)


def operations():
    for pattern, item in PATHS.items():
        for method, operation in item.items():
            yield method.upper(), pattern, operation


def schemas():
    """Returns (method, path, schema) of every route that takes a body."""
    for method, pattern, operation in operations():
        if "requestBody" in operation:
            yield method, path_of(pattern), operation["requestBody"][
                "content"]["application/json"]["schema"]


def required(schema, but=None):
    """Returns valid values for the required fields, but one."""
    return {n: 8080 if n == "port" else VALUES[schema["properties"][n]["type"]]
            for n in schema.get("required", []) if n != but}


def fields():
    """Returns (method, path, other required fields, name, schema) of every field."""
    for method, path, schema in schemas():
        for name, field in schema["properties"].items():
            yield method, path, required(schema, name), name, field


def refused(method, path, body, field=None, status=400,
            code="validation_failed"):
    size = len(body if isinstance(body, bytes) else json.dumps(body))
    if path == "/v1/login" and size > LOGIN_MAX:
        status, code, field = 413, None, None
    r = send(method, path, body)
    try:
        return problem(r, status, code, field)
    except AssertionError as e:
        raise AssertionError("%s %s %.80r: %s" % (method, path, body, e))


@case
def the_tables_agree():
    out = subprocess.run([service.program("sandlease-api"), "--routes"],
                         capture_output=True, text=True, check=True).stdout
    table = {(m, re.sub(r":(\w+)", r"{\1}", p)) for m, p in
             re.findall(r"\| `(\w+)` \| `([^`]*)`", out)}
    equal({(m, p) for m, p, _ in operations()}, table, "routes")
    true(len(list(schemas())) >= 5 and len(list(fields())) >= 20,
         "bodies were found")


@case
def broken_json_is_refused():
    for method, path, _ in schemas():
        for body in BROKEN:
            refused(method, path, body, code=None)
        for body in NOT_OBJECTS:
            refused(method, path, body, code=None)


@case
def broken_json_where_no_body_is_expected_does_no_harm():
    for method, pattern, operation in operations():
        if "requestBody" not in operation:
            r = send(method, path_of(pattern, "z" * 20), b"{")
            true(r.status < 500, "%s %s: %r" % (method, pattern, r))


@case
def wrong_types_are_refused_by_name():
    for method, path, others, name, field in fields():
        for kind, value in VALUES.items():
            if kind != field["type"]:
                refused(method, path, dict(others, **{name: value}), name)
        if not field.get("nullable"):
            refused(method, path, dict(others, **{name: None}), name)
        if field["type"] == "integer":
            for value in (1.5, 1.0e300, "1", True):
                refused(method, path, dict(others, **{name: value}), name)


@case
def values_out_of_range_are_refused_by_name():
    for method, path, others, name, field in fields():
        bad = []
        if "enum" in field:
            bad = ["", "x", field["enum"][0].upper(), field["enum"][0] + " "]
        elif field["type"] == "string":
            bad = ["x" * (field["maxLength"] + 1), "x" * 500000]
            if field["minLength"] > 0:
                bad.append("x" * (field["minLength"] - 1))
        elif field["type"] == "integer":
            bad = [field["minimum"] - 1, field["maximum"] + 1, -1,
                   -2 ** 63, 2 ** 63 - 1]
            bad = [b for b in bad
                   if not field["minimum"] <= b <= field["maximum"]]
        elif field["type"] == "object":
            bad = [{"k%d" % i: "v" for i in range(field["maxProperties"] + 1)}]
        elif field["type"] == "array":
            bad = [[{"path": "x", "content": ""}] * (field["maxItems"] + 1)]
        true(bad or field["type"] == "boolean", "something is tried")
        for value in bad:
            refused(method, path, dict(others, **{name: value}), name)


@case
def unknown_fields_are_refused_by_name():
    for method, path, schema in schemas():
        others = required(schema)
        for name in ("nope", "ID", "__proto__", "tenant", "state"):
            refused(method, path, dict(others, **{name: 1}), name)
        refused(method, path, {"x" * 5000: 1}, code="validation_failed")


@case
def required_fields_are_missed_by_name():
    for method, path, schema in schemas():
        for name in schema.get("required", []):
            refused(method, path, required(schema, name), name)


@case
def duplicate_keys_are_refused():
    for method, path, schema in schemas():
        name, field = list(schema["properties"].items())[0]
        value = json.dumps(VALUES[field["type"]])
        body = '{"%s": %s, "%s": %s}' % (name, value, name, value)
        refused(method, path, body.encode(), code=None)


@case
def nul_bytes_in_strings_are_refused_by_name():
    for method, path, others, name, field in fields():
        if field["type"] == "string":
            value = "x\0" + "y" * max(0, field.get("minLength", 0) - 2)
            refused(method, path, dict(others, **{name: value}), name)
    for name in ("labels", "env"):
        for value in ({"A\0B": "x"}, {"A": "x\0y"}):
            refused("POST", "/v1/sessions", {name: value}, code=None)
            refused("PATCH", at(SID), {name: value}, code=None)
    refused("POST", "/v1/sessions",
            {"files": [{"path": "a\0b", "content": ""}]}, code=None)


BAD_KEYS = (["a", ""], ["x" * 256], ["\u00e9" * 128], ["a\nb"], ["\x7f"],
            ["\x85"], ["a\0b"], [1], [None], [["a"]], [{"key": "a"}], [True])


@case
def what_has_a_form_is_checked():
    for field, values in {
            "name": ("a\nb", "a\x7fb"),
            "class": ("no-such-class", "'; DROP TABLE session; --"),
            "labels": ({"": "x"}, {"x" * 64: "y"}, {"a": "x" * 256}, {"a": 1},
                       {"a": None}, {"a": {}}),
            "env": ({"": "x"}, {"A=B": "x"}, {"1A": "x"}, {"A B": "x"},
                    {"A": 1}, {"A": None}, {"A": ["x"]},
                    {"A": "x" * 60000}),
            "sleepAfter": ("10", "m", "-1m", "10d", "1.5h", "99999999h",
                           " 1m"),
            "expiresAt": ("tomorrow, perhaps so", "2001-01-01T00:00:00Z",
                          "2099-02-31T00:00:00Z", "2099-13-01T00:00:00Z",
                          "2099-01-01T25:00:00Z", "2099-01-01T00:00:00+99:99",
                          "2099-01-01 00:00:00 UTC", "2099-01-01T00:00:61Z"),
            "baseUrl": ("nonsense", "ftp://example.com", "http://example.com",
                        "https://", "https://a/b", "https://a?b=c",
                        "https://user@host", "javascript:alert(1)",
                        "https://EXAMPLE.com", "https://a\r\nX: y")}.items():
        for value in values:
            body = {field: value}
            if field == "class":
                body["isolation"] = "session"
            refused("POST", "/v1/sessions", body, field)
    for field, values in {
            "files[0]": (1, "x", {"path": "x"},
                         {"path": "x", "content": "x", "contentBase64": "eA=="}),
            "files[0].path": ({}, {"content": "x"},
                              {"path": "", "content": "x"},
                              {"path": 1, "content": "x"},
                              {"path": "x" * 5000, "content": "x"},
                              {"path": "/etc/x", "content": "x"}),
            "files[0].content": ({"path": "x", "content": 1},),
            "files[0].contentBase64": ({"path": "x", "contentBase64": "*"},
                                       {"path": "x", "contentBase64": "eA"}),
            "files[0].mode": [{"path": "x", "content": "x", "mode": m}
                              for m in ("abc", "0999", 4096, -1, 1.5)],
            "files[0].owner": ({"path": "x", "content": "x", "owner": "root"},)
            }.items():
        for value in values:
            refused("POST", "/v1/sessions", {"files": [value]}, field)
    for value in (80, 1023, 65536, 3128):
        refused("POST", at(SID, "/ports"), {"port": value}, "port")
    for keys in BAD_KEYS:
        refused("POST", "/v1/sessions", {"correlationKeys": keys},
                "correlationKeys")
        refused("PUT", at(SID, "/aliases"), {"keys": keys}, "keys")
    refused("POST", "/v1/sessions", {"correlationKeys": []},
            "correlationKeys")


@case
def oversized_bodies_are_413():
    for method, path, _ in schemas():
        for body in (b" " * 1100000, b'{"name": "' + b"x" * 5000000 + b'"}'):
            refused(method, path, body, status=413, code=None)
    # the Content-Length is enough: the service reads nothing of the body
    with socket.create_connection(("127.0.0.1", service.port())) as c:
        c.sendall(("POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                   "Authorization: Bearer %s\r\nContent-Length: 9999999999\r\n"
                   "\r\n" % setting("SANDLEASE_API_KEY")).encode())
        c.settimeout(service.PATIENCE)
        true(b" 413 " in c.recv(4096), "413")


@case
def a_body_shorter_than_promised_makes_nothing():
    before = service.value("SELECT count(*) FROM session")
    with socket.create_connection(("127.0.0.1", service.port())) as c:
        c.sendall(("POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                   "Authorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{}"
                   % setting("SANDLEASE_API_KEY")).encode())
    expect(200, call("GET", "/v1/health"))
    equal(service.value("SELECT count(*) FROM session"), before, "sessions")


@case
def bad_ids_are_404():
    ids = ("x", "a" * 19, "a" * 21, "A" * 20, "a" * 255, "a" * 300, "a" * 5000,
           "%00", "a%00b", "%ff", "-" * 20, "'%20OR%201=1--",
           "a" * 19 + "%0a", "%e2%82%ac", "null", "0", "-1")
    for method, pattern, operation in operations():
        if "{id}" not in pattern:
            continue
        body = {"port": 8080} if pattern.endswith("/ports") else \
            {} if "requestBody" in operation else None
        for sid in ids:
            r = send(method, path_of(pattern, sid), body)
            true(r.status in (400, 404, 405), "%s %s %s: %r" % (
                method, pattern, sid, r))
            problem(r, r.status, None)


@case
def bad_ports_in_paths_are_refused():
    for method, pattern, _ in operations():
        if "{port}" not in pattern:
            continue
        for number in ("0", "-1", "80", "65536", "99999999999999999999", "x",
                       "8080x", "%20", "8080%00", "+8080", "0x1f90", "1e4"):
            r = send(method, path_of(pattern, port=number), None)
            true(r.status in (400, 404), "%s %s: %r" % (method, number, r))
            problem(r, r.status, None)


@case
def wrong_methods_are_405_and_say_what_is_allowed():
    for pattern, item in PATHS.items():
        allowed = {m.upper() for m in item}
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS",
                       "PROPFIND", "FOO"):
            if method in allowed:
                continue
            r = send(method, path_of(pattern), None)
            problem(r, 405, "method_not_allowed")
            equal(set(r.header("Allow").split(", ")), allowed,
                  "%s %s" % (method, pattern))
    for method in ("TRACE", "get"):
        true(400 <= send(method, "/v1/sessions", None).status < 500, method)


@case
def head_is_a_get_without_a_body():
    for path in ("/v1/health", "/v1/sessions", at(SID)):
        r = expect(200, send("HEAD", path, None))
        equal(r.body, b"", path)


@case
def unknown_routes_are_404():
    for path in ("/v1/", "/v1/nothing", "/v1/sessions/", "/v1/Sessions",
                 at(SID, "/nothing"), at(SID, "/ports/8080/x"), "/v2/sessions",
                 "/.sandlease/auth-session",
                 "/.sandlease/problem"):
        r = send("GET", path, None)
        true(r.status in (400, 404), "%s: %r" % (path, r))


@case
def queries_are_checked():
    for path, field in (("/v1/sessions?limit=%ZZ", "limit"),
                        ("/v1/sessions?state=" + "x" * 1000, "state"),
                        ("/v1/executions?state=running%00", "state"),
                        ("/v1/sessions?label=" + "x" * 1000, "label"),
                        ("/v1/sessions?cursor=%27", "cursor"),
                        ("/v1/sessions?correlationKey=", "correlationKey"),
                        ("/v1/sessions?correlationKey=%0a", "correlationKey"),
                        ("/v1/sessions?correlationKey=%ff", "correlationKey"),
                        ("/v1/sessions?correlationKey=" + "x" * 256,
                         "correlationKey")):
        problem(send("GET", path, None), 400, "validation_failed", field)
    for key in ("", "%0a", "%ff", "%00", "x" * 256, "%ZZ"):
        problem(send("DELETE", at(SID, "/aliases?key=" + key), None), 400,
                "validation_failed", "key")
    for label in ("a:%ff", "%ff:a", "a:%ed%a0%80"):
        problem(send("GET", "/v1/sessions?label=" + label, None), 400,
                "validation_failed", "label")
    expect(200, send("GET", "/v1/sessions?&&limit=5&", None))
    problem(send("GET", "/v1/sessions?=1", None), 400, "validation_failed")
    for field in ("unknown", "%6cimit", "limit%00", "%ff", "x" * 500, "[]"):
        expect(400, send("GET", "/v1/sessions?%s=1" % field, None))


@case
def huge_headers_are_refused():
    for headers in ({"X-Large": "x" * 100000},
                    {"X-%d" % i: "y" * 1000 for i in range(200)}):
        r = call("GET", "/v1/sessions", headers=headers)
        true(400 <= r.status < 500, "headers: %d" % r.status)
    r = call("GET", "/v1/sessions?x=" + "y" * 100000)
    equal(r.status, 414, "a long request line")
    expect(200, call("GET", "/v1/sessions", headers={"Cookie": "a=" +
                                                     "x" * 3000}))


@case
def a_path_that_becomes_another_one_is_refused():
    """An app behind proxy/{port} could otherwise send its caller's key there."""
    for path in (at(SID, "/proxy/8000/..%%2f..%%2f..%%2f%s" % SID),
                 at(SID, "/proxy/8000/../../../%s" % SID), "/v1/sessions//" + SID,
                 "/v1/%73essions/" + SID, "/v1/x/../sessions/" + SID):
        for method in ("DELETE", "GET"):
            problem(call(method, path), 400, "bad_request")
    for path in (at(SID, "/proxy/8000/..%2f..%2fapi/execute"), at("x/../" + SID, "/api/execute")):
        equal(call("POST", path, {"command": "true"}).status, 400, path)
    equal(get(SID)["state"], "ready", "nothing has happened")


@case
def headers_that_are_not_text_are_refused():
    for name in (b"\xff", b"a\xc3", b"x" * 129):
        r = call("POST", "/v1/sessions", {}, headers={"X-Sandbox-Name": name})
        problem(r, 400, "validation_failed")
    for name in ("X-Trace-Id", "traceparent", "X-Request-Id"):
        r = call("GET", "/v1/nothing", headers={name: b"\xff" * 20})
        problem(r, 404, "not_found")


@case
def garbage_on_the_wire_is_refused():
    for sent in (b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                 b"POST /v1/sessions HTTP/1.1\r\nHost: x\r\n"
                 b"Content-Length: -1\r\n\r\n",
                 b"POST /v1/sessions HTTP/1.1\r\nHost: x\r\n"
                 b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
                 b"0\r\n\r\n",
                 b"POST /v1/sessions HTTP/1.1\r\nHost: x\r\n"
                 b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"):
        with socket.create_connection(("127.0.0.1", service.port())) as c:
            c.settimeout(service.PATIENCE)
            c.sendall(sent)
            answer = c.recv(4096)
            # nginx answers input that is not HTTP as HTTP/0.9: without a status line
            status = re.match(rb"HTTP/1\.1 (\d+)", answer)
            true(status is None or int(status[1]) in (400, 401, 411, 501, 505),
                 "%r: %r" % (sent, answer))


@case
def nothing_was_made_and_nobody_died():
    s = get(SID)
    equal((s["state"], s["lease"]["generation"], s["labels"]),
          ("ready", 1, {}), "the session is as it was")
    equal(service.value("SELECT count(*) FROM session"), "1", "sessions")
    equal(service.workers(), WORKERS, "the same workers are alive")
    true("worker_ended" not in service.log("api"), "none ended meanwhile")
    equal(service.execute(SID, "echo works"), "works\n", "it works")


@case
def a_refusal_that_is_cut_within_a_character_is_told():
    for pad in ("", "x", "xx"):  # three bytes a character: one of the cuts splits one
        body = {"files": [{"path": "x", "content": "x", pad + "\u20ac" * 60: 1}]}
        problem(call("POST", "/v1/sessions", body), 400, "validation_failed")
    equal(service.value("SELECT count(*) FROM session WHERE id <> '%s'" % SID),
          "0", "nothing was made")
    equal(service.workers(), WORKERS, "the same workers are alive")


sys.exit(run(lambda: None))
