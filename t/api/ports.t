#!/usr/bin/python3
"""ports.t: tests ports as the Cloudflare SDK asks for them: expose, check, watch."""
import http.client
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (at, call, container_error, create, execute, expect, get,
                     setting, until)
from tap import case, equal, run, true

service.begin()

SID = create(isolation="session", name="ports")["id"]
STRANGER = service.new_key("elsewhere", "mallory")
READER = service.new_key("demo", "reader", "--scope", "read")


def expose(port, sid=SID, **more):
    return call("POST", at(sid, "/api/expose-port"),
                dict(more, port=port, sessionId="sandbox-x"))


def listed(sid=SID):
    return expect(200, call("GET", at(sid, "/api/exposed-ports?session=x"))
                  ).json


def unexpose(port, sid=SID):
    return call("DELETE", at(sid, "/api/exposed-ports/%s?session=x" % port))


def listen(port, address="127.0.0.1", more=""):
    """Starts a server in the session and waits until it listens."""
    execute(SID, "cd /tmp && (python3 -m http.server -b %s %d %s >/dev/null"
                 " 2>&1 &)" % (address, port, more))
    until("it listens", lambda: check(port, mode="tcp")["ready"])


def check(port, **more):
    return expect(200, call("POST", at(SID, "/api/port-check"),
                            dict(more, port=port))).json


class Watch:
    """An open api/port-watch."""

    def __init__(self, **body):
        self.conn = http.client.HTTPConnection("127.0.0.1", service.port(),
                                               timeout=service.PATIENCE)
        self.conn.request(
            "POST", at(SID, "/api/port-watch"), json.dumps(body),
            {"Authorization": "Bearer " + setting("SANDLEASE_API_KEY")})
        self.answer = self.conn.getresponse()
        equal((self.answer.status, self.answer.getheader("Content-Type")),
              (200, "text/event-stream"), "a stream")

    def event(self):
        return service.next_event(self.answer)

    def close(self):
        self.answer.close()
        self.conn.close()


# ---- expose, list, unexpose

@case
def without_ports_the_list_is_empty():
    r = listed()
    equal((r["success"], r["ports"], r["count"]), (True, [], 0), "here")
    equal(expect(200, call("GET", at(SID, "/ports"))).json, {"ports": []},
          "and natively")


@case
def an_exposed_port_has_a_real_preview_URL():
    r = expect(200, expose(8000, name="web")).json
    equal((r["success"], r["port"], r["name"]), (True, 8000, "web"), "answer")
    true(r["timestamp"].endswith("Z") and "token" not in r, repr(r))
    url = re.fullmatch(r"http://(8000-%s-[a-z2-7]{26}\.[^/]+)/" % SID,
                       r["url"])
    true(url, r["url"])
    listen(8000)
    shown = call("GET", "/", key="", headers={"Host": url[1]})
    equal(shown.status, 200, "it shows the app")
    ours = [p for p in get(SID)["ports"] if p["port"] == 8000]
    equal([p["url"] for p in ours], [r["url"]], "the native one is the same")
    r = listed()
    equal((r["success"], r["count"], [(p["port"], p["url"], p["status"])
                                      for p in r["ports"]]),
          (True, 1, [(8000, ours[0]["url"], "active")]), "listed")


@case
def a_port_is_exposed_once_and_stays_as_it_was():
    before = listed()["ports"]
    r = container_error(expose(8000, name="other"), 409,
                        "PORT_ALREADY_EXPOSED")
    equal(r["context"], {"port": 8000}, "context")
    true(r["error"] == r["message"], "error beside message")
    equal(listed()["ports"], before, "nothing changed")


@case
def an_unexposed_port_is_over():
    expect(200, expose(8001))
    r = expect(200, unexpose(8001)).json
    equal((r["success"], r["port"]), (True, 8001), "answer")
    r = container_error(unexpose(8001), 404, "PORT_NOT_EXPOSED")
    equal(r["context"], {"port": 8001}, "context")
    equal([p["port"] for p in listed()["ports"]], [8000], "listed")
    expect(200, expose(8001))
    expect(200, unexpose(8001))


@case
def ports_that_cannot_be_are_named_by_their_code():
    for port in (-1, 0, 1, 80, 1023, 3000, 3128, 65536, 2 ** 62, 8000.5,
                 "8000", True, None, [], {}):
        r = container_error(expose(port), 400, "INVALID_PORT_NUMBER")
        equal([e["field"] for e in r["context"]["validationErrors"]],
              ["port"], repr(port))
    equal(container_error(expose(80), 400, "INVALID_PORT_NUMBER")["context"]
          ["port"], 80, "which")
    for port in ("0", "x", "65536", "-1", "99999999999999999999", "8000x"):
        container_error(unexpose(port), 400, "INVALID_PORT_NUMBER")
    container_error(unexpose(80), 404, "PORT_NOT_EXPOSED")
    equal([p["port"] for p in listed()["ports"]], [8000], "nothing was made")


@case
def other_members_are_taken_as_they_come():
    for more, ignored in (({"name": None}, None), ({"name": ""}, None),
                          ({"expiresInSecond": 5}, ["expiresInSecond"]),
                          ({"sessionId": None}, None), ({"sessionId": 5}, None)):
        r = expect(200, call("POST", at(SID, "/api/expose-port"), dict(more, port=8002)))
        equal(r.json.get("ignored"), ignored, "what is not known: %r" % more)
        expect(200, unexpose(8002))
    for more in ({"name": 5}, {"name": "x" * 65}, {"name": "a\0b"}):
        container_error(expose(8002, **more), 400, "VALIDATION_FAILED")
    for body in (b"{", b"[]", b"8002", b"\xff", b"[" * 100000):
        container_error(call("POST", at(SID, "/api/expose-port"), body), 400,
                        "VALIDATION_FAILED")
    container_error(call("POST", at(SID, "/api/expose-port"), b""), 400,
                    "INVALID_PORT_NUMBER")
    container_error(call("POST", at(SID, "/api/expose-port"),
                         b" " * 1100000), 413, "VALIDATION_FAILED")


def native(port, **more):
    return call("POST", at(SID, "/ports"), dict(more, port=port))


@case
def a_port_chooses_the_host_that_its_app_hears():
    equal(expect(200, expose(8010)).json["host"], "localhost", "by default")
    equal(expect(200, native(8010, host="public")).json["host"], "public",
          "it can be changed")
    equal(expect(200, native(8010, name="x")).json["host"], "public",
          "and stays when it is not mentioned")
    expect(200, call("POST", at(SID, "/ports/8010/rotate")))
    equal([p["host"] for p in listed()["ports"] if p["port"] == 8010],
          ["public"], "another address is no other choice")
    expect(200, unexpose(8010))
    equal(expect(201, native(8010)).json["host"], "localhost",
          "closed, it is forgotten")
    expect(200, unexpose(8010))
    equal(expect(200, expose(8010, host="localhost-only")).json["host"],
          "localhost-only", "the SDK's route knows it, too")
    for bad in ("PUBLIC", "example.com", "localhost:8010", 5, True):
        r = native(8010, host=bad)
        equal((r.status, [e["field"] for e in r.json["errors"]]),
              (400, ["host"]), repr(bad))
        r = container_error(expose(8011, host=bad), 400, "VALIDATION_FAILED")
        equal([e["field"] for e in r["context"]["validationErrors"]],
              ["host"], repr(bad))
    expect(200, unexpose(8010))


@case
def a_port_can_have_its_URL_below_another_domain():
    for hostname, base in (("example.com", "https"), ("a-b.c9.org:8443", "https"),
                           ("localhost", "http"), ("localhost:8080", "http")):
        r = expect(200, expose(8012, hostname=hostname)).json
        true(re.fullmatch(r"%s://8012-%s-[a-z2-7]{26}\.%s/" % (
            base, SID, re.escape(hostname)), r["url"]), r["url"])
        equal([p["url"] for p in get(SID)["ports"] if p["port"] == 8012],
              [r["url"]], "the session shows the same")
        expect(200, unexpose(8012))
    ours = expect(201, native(8012)).json["url"]
    r = expect(200, native(8012, hostname="example.com")).json
    equal(r["url"], re.sub(r"^http://([^.]+)\..*", r"https://\1.example.com/",
                           ours), "natively; the token is kept")
    equal(call("GET", "/", key="", headers={
        "Host": r["url"].split("/")[2]}).status, 502, "and it is served")
    expect(200, unexpose(8012))
    for bad in ("https://example.com", "example.com/x", "Example.com", "-a.com",
                "a.com-", "a..com", ".a.com", "a.com.", "a.com:", "a.com:0",
                "a.com:65536", "a.com:x", "127.0.0.1", "[::1]", "1.2.3.4:80",
                "a b.com", "a.com\n", "x" * 201, "", 5, "a_b.com", "a@b.com",
                "*.a.com"):
        r = native(8012, hostname=bad)
        equal((r.status, [e["field"] for e in r.json["errors"]]),
              (400, ["hostname"]), repr(bad))
        if bad == "":
            continue  # the SDK's route ignores empty members
        r = container_error(expose(8012, hostname=bad), 400,
                            "VALIDATION_FAILED")
        equal([e["field"] for e in r["context"]["validationErrors"]],
              ["hostname"], repr(bad))
    equal([p["port"] for p in listed()["ports"]], [8000], "nothing was made")


@case
def refusals_wear_the_containers_dress_and_tell_nothing():
    for method, path in (("POST", "/api/expose-port"),
                         ("GET", "/api/exposed-ports"),
                         ("DELETE", "/api/exposed-ports/8000")):
        def ask(sid, key):
            return call(method, at(sid, path), {"port": 8003}
                        if method == "POST" else None, key)
        container_error(ask(SID, ""), 401, "UNAUTHORIZED")
        container_error(ask(SID, "sl_" + "x" * 52), 401, "UNAUTHORIZED")
        theirs = container_error(ask(SID, STRANGER), 404, "SESSION_NOT_FOUND")
        for sid in ("a" * 20, "short"):
            none = container_error(ask(sid, STRANGER), 404,
                                   "SESSION_NOT_FOUND")
            equal({k: none[k] for k in none if k != "timestamp"},
                  {k: theirs[k] for k in theirs if k != "timestamp"}, "same")
        if method != "GET":
            container_error(ask(SID, READER), 403, "FORBIDDEN")
        if method != "DELETE":
            other = "DELETE" if method == "POST" else "PUT"
            r = call(other, at(SID, path))
            container_error(r, 405, "METHOD_NOT_ALLOWED")
            equal(r.header("Allow"), method, "Allow")
    expect(200, call("GET", at(SID, "/api/exposed-ports"), key=READER))
    for path in ("/api/expose-port/x", "/api/exposed-ports/1/2",
                 "/api/exposed-ports/"):
        r = container_error(call("GET", at(SID, path)), 404, "UNKNOWN_ERROR")
        true(re.fullmatch("The requested endpoint was not found: GET .*" + path, r["message"]), r)


@case
def unknown_routes_inside_look_the_same():
    for method, path in (("GET", "/api/nothing"), ("POST", "/api/desktop/stop"),
                         ("DELETE", "/api/x/y/z"), ("GET", "/api/"),
                         ("GET", "/proxy/")):
        r = call(method, at(SID, path))
        doc = container_error(r, 404, "UNKNOWN_ERROR")
        equal(doc["context"], {}, path)
        true(doc["message"].startswith("The requested endpoint was not found: " + method), doc)
        true(not [n for n in r.headers if n.lower().startswith("access-")],
             "no word to other origins")


@case
def a_session_asleep_is_not_woken():
    sid = create(isolation="session")["id"]
    expect(200, call("POST", at(sid, "/sleep")))
    expect(200, expose(8000, sid))
    equal([p["port"] for p in listed(sid)["ports"]], [8000], "listed")
    expect(200, unexpose(8000, sid))
    equal(get(sid)["state"], "asleep", "state")
    expect(200, call("DELETE", at(sid)))
    container_error(expose(8000, sid), 410, "SESSION_DELETED")


# ---- port-check

@case
def a_check_says_whether_it_answers():
    equal(check(8000, mode="http"), {"ready": True, "statusCode": 200}, "http")
    equal(check(8000), {"ready": True, "statusCode": 200}, "by default")
    equal(check(8000, mode="tcp"), {"ready": True}, "tcp")
    r = check(8000, path="/nothing")
    equal((r["ready"], r["statusCode"]), (False, 404), "another status")
    equal(check(8000, path="/nothing", statusMin=404, statusMax=404)["ready"],
          True, "which may be wanted")
    for mode in ("http", "tcp"):
        equal(check(8009, mode=mode),
              {"ready": False, "error": "connection refused"}, mode)
    for path in ("", "nothing", "/a b\r\nX: y", "/\u00e9", "/x#y", "/?a=b"):
        true("statusCode" in check(8000, path=path), path)


@case
def a_server_on_the_other_address_is_found():
    listen(8010, "::1")
    equal(check(8010), {"ready": True, "statusCode": 200}, "http")


@case
def redirects_are_not_followed_and_what_is_no_HTTP_is_told():
    execute(SID, r"""cat >/tmp/odd.py <<'END'
import socket, threading
def serve(port, said):
    s = socket.create_server(("127.0.0.1", port))
    while True:
        c, _ = s.accept()
        c.recv(65536)
        c.sendall(said)
        c.close()
for port, said in ((8021, b"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n"),
                   (8022, b"SSH-2.0-x\r\n"), (8023, b""),
                   (8024, b"HTTP/1.1 103 Hints\r\nLink: x\r\n\r\n"
                          b"HTTP/1.0 200\r\n\r\n"),
                   (8025, b"HTTP/1.1 103 " + b"x" * 100000)):
    threading.Thread(target=serve, args=(port, said)).start()
END
(python3 /tmp/odd.py >/dev/null 2>&1 &)""")
    until("all listen", lambda: all(check(p, mode="tcp")["ready"]
                                    for p in range(8021, 8026)))
    equal(check(8021), {"ready": True, "statusCode": 302}, "a redirect")
    equal(check(8024), {"ready": True, "statusCode": 200}, "a hint before")
    for port in (8022, 8023, 8025):
        r = check(port)
        true(r["ready"] is False and r["error"], repr(r))


@case
def bad_checks_are_400():
    for path in ("/api/port-check", "/api/port-watch"):
        for port in (0, -1, 65536, "8000", None, 1.5):
            container_error(call("POST", at(SID, path), {"port": port}), 400,
                            "INVALID_PORT_NUMBER")
        for more in ({"mode": "udp"}, {"mode": 1}, {"path": 1},
                     {"path": "/" * 5000}, {"statusMin": "200"},
                     {"statusMin": 500, "statusMax": 400},
                     {"statusMax": 100000}, {"interval": "fast"}):
            r = container_error(call("POST", at(SID, path),
                                     dict(more, port=8000)), 400,
                                "VALIDATION_FAILED")
            true(r["context"]["validationErrors"][0]["field"] in more,
                 repr(r))


# ---- port-watch

@case
def a_watch_ends_when_the_port_answers():
    w = Watch(port=8030, mode="http", path="/", statusMin=200, statusMax=399,
              interval=10 ** 9)
    equal(w.event(), {"type": "watching", "port": 8030}, "first")
    true(get(SID)["busy"], "an open stream")
    listen(8030)
    equal(w.event(), {"type": "ready", "port": 8030, "statusCode": 200},
          "then")
    equal(w.event(), None, "the end")
    w = Watch(port=8030, mode="tcp", interval=-5)
    equal([w.event(), w.event(), w.event()],
          [{"type": "watching", "port": 8030},
           {"type": "ready", "port": 8030}, None], "at once")


@case
def a_watch_waits_for_the_status_that_is_wanted():
    w = Watch(port=8030, path="/tmp-file", interval=1)
    equal(w.event()["type"], "watching", "first")
    execute(SID, "touch /tmp/tmp-file")
    equal(w.event(), {"type": "ready", "port": 8030, "statusCode": 200},
          "then")


@case
def a_watch_that_is_left_ends():
    w = Watch(port=8031)
    equal(w.event()["type"], "watching", "first")
    until("it is busy", lambda: get(SID)["busy"])
    w.close()
    until("it is not busy any more", lambda: not get(SID)["busy"])


@case
def a_watch_ends_with_the_process_it_waits_for():
    expect(200, call("POST", at(SID, "/api/process/start"), {
        "command": "echo begun; read line; exit 7", "processId": "server"}))
    w = Watch(port=8032, processId="server", interval=10000)
    equal(w.event()["type"], "watching", "first")
    expect(200, call("POST", at(SID, "/api/process/server/input"),
                     {"data": "now\n"}))
    equal(w.event(), {"type": "process_exited", "port": 8032, "exitCode": 7},
          "then")
    equal(w.event(), None, "the end")
    w = Watch(port=8032, processId="server")  # this process has ended
    equal([w.event()["type"] for _ in range(2)],
          ["watching", "process_exited"], "at once")
    container_error(call("POST", at(SID, "/api/port-watch"),
                         {"port": 8032, "processId": "nobody"}),
                    404, "PROCESS_NOT_FOUND")


# ---- sealing keys

@case
def a_url_whose_sealing_key_is_gone_does_not_hide_its_session():
    sid = create()["id"]
    url = expect(201, call("POST", at(sid, "/ports"), {"port": 8123})
                 ).json["url"]
    path = setting("STACK_STATE") + "/etc/seal.keys"
    with open(path, encoding="ascii") as f:
        keys = f.read()

    def use(text):
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        service.restart()
    use("another:%s\n" % ("ab" * 32))
    try:
        gone = {"port": 8123, "url": None, "urlError": "seal_key_missing",
                "status": "active"}
        page = expect(200, call("GET", "/v1/sessions")).json["sessions"]
        for ports in (get(sid)["ports"],
                      [s for s in page if s["id"] == sid][0]["ports"],
                      expect(200, call("GET", at(sid, "/ports"))
                             ).json["ports"],
                      listed(sid)["ports"]):
            equal({k: ports[0][k] for k in gone}, gone, "the port")
        new = expect(200, call("POST", at(sid, "/ports/8123/rotate"))).json
        true(new["url"] not in (None, url) and "urlError" not in new,
             "rotation gives a URL that can be shown: %r" % new)
    finally:
        use(keys)


# ---- commands

@case
def commands_are_those_of_the_path():
    r = expect(200, call("GET", at(SID, "/api/commands"))).json
    names = r["availableCommands"]
    equal((r["success"], r["count"]), (True, len(names)), "answer")
    true({"bash", "ls", "python3"} <= set(names), "programs")
    equal(names, sorted(set(names)), "sorted, each once")


@case
def hostile_names_on_the_path_do_no_harm():
    sid = create(isolation="session", env={
        "PATH": "/usr/bin:relative::/workspace/bin:/nowhere:/dev/null"})["id"]
    execute(sid, r"""mkdir -p bin/folder; cd bin
        for n in mine $'new\nline' $'\xff' '"' ; do
            printf '#!/bin/sh\n' >"$n"; chmod +x "$n"; done
        touch not-executable; mkfifo fifo; chmod +x fifo; ln -s mine link
        ln -s loop loop""", cwd="/workspace")
    names = expect(200, call("GET", at(sid, "/api/commands"))
                   ).json["availableCommands"]
    true({"mine", "link", "new\nline", '"'} <= set(names), "found")
    true(not {"not-executable", "fifo", "folder", "loop"} & set(names), "not")
    call("DELETE", at(sid))


sys.exit(run(lambda: None))
