#!/usr/bin/python3
"""websocket.t: tests /ws, /api/ws and /ws/pty through nginx, as clients use them."""
import base64
import concurrent.futures
import glob
import hashlib
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import age, passes, state
from mux import Mux, connect
from service import (admin, at, call, create, execute, expect, get, new_key, setting,
                     until)
from tap import Hope, case, equal, run, true
from websocket import Closed, Refused

service.begin()

MB = 1 << 20


def refused(status, code, *what, **how):
    try:
        connect(*what, **how)
    except Refused as r:
        equal((r.status, r.json["code"], r.json["httpStatus"]),
              (status, code, status), "refusal")
        equal(r.headers["content-type"], "application/json", "its type")
        return r
    raise AssertionError("it was let in")


# ---- large messages

@case
def a_file_of_40_mib_is_written_by_one_message():
    """The SDK restores a backup so; two such messages at once wait for each other's memory."""
    sid = create(isolation="session")["id"]
    data = os.urandom(MB) * 40
    content = base64.b64encode(data).decode()
    before = int(execute(sid, "grep VmHWM: /proc/$PPID/status").split()[1])
    pair = [Mux(sid), Mux(sid)]
    for i, m in enumerate(pair):
        m.begin("POST", "/api/write", {"path": "f%d" % i, "content": content,
                                       "encoding": "base64"})
    for i, m in enumerate(pair):
        equal((m.ws.json()["status"], execute(sid, "sha256sum <f%d" % i).split()[0]),
              (200, hashlib.sha256(data).hexdigest()), "written")
        equal(m.ask("GET", "/api/ping")[0], 200, "and it goes on")
    grown = int(execute(sid, "grep VmHWM: /proc/$PPID/status").split()[1]) - before
    true(grown < 220 * 1024, "the wrapper grew by %d KiB" % grown)
    status, body = pair[0].ask("POST", "/api/write", {"path": "x", "content": content + "!",
                                                      "encoding": "base64"})
    equal((status, body["code"]), (400, "VALIDATION_FAILED"), "no base64")
    pair[0].ws.send('{"type":"request","id":"a","method":"POST","path":"/api/write",'
                    '"body":{"path":"x","content":"%s\\x"}}' % ("a" * 2 * MB))
    equal(pair[0].ws.json()["status"], 400, "no JSON")


# ---- many requests on one WebSocket

@case
def both_paths_answer_as_the_routes_do():
    sid = create()["id"]
    for path in ("/ws", "/api/ws"):
        m = Mux(sid, path)
        status, body = m.ask("GET", "/api/ping")
        equal((status, body["message"]), (200, "pong"), path)
        status, body = m.ask("POST", "/api/execute", {"command": "echo $((6*7))"})
        equal((status, body["stdout"], body["exitCode"]), (200, "42\n", 0), path)
        equal(m.ask("GET", "/"), (200, "Hello from a Sandlease session.\n"),
              "what is no JSON is a string")
        equal(m.ws.close(), 1000, "and an end")


@case
def queries_escapes_and_headers_mean_what_they_mean_over_http():
    sid = create()["id"]
    m = Mux(sid)
    expect(200, call("POST", at(sid, "/api/process/start"), {
        "command": "echo x", "processId": "a+b"}))
    until("it has ended", lambda: call("GET", at(
        sid, "/api/process/a%2Bb")).json["process"]["status"] == "completed")
    status, body = m.ask("GET", "/api/process/a%2Bb/logs?x=1")
    equal((status, body["stdout"]), (200, "x\n"), "its logs")
    execute(sid, "cd /tmp", sessionId="other")
    equal(m.ask("POST", "/api/execute", {"command": "pwd"},
                headers={"x-session-id": "other"})[1]["stdout"], "/tmp\n",
          "the shell of a header")
    for path, status in (("/api/%zz", "INVALID_REQUEST"), ("/api/x%00", "INVALID_REQUEST"),
                         ("api/ping", "INVALID_REQUEST"), ("", "INVALID_REQUEST"),
                         ("/api/../../x/api/ping", 404), ("//api/ping", 400),
                         ("/v1/sessions/x/api/ping", 404), ("/nothing", 404)):
        name = m.begin("GET", path)
        a = m.ws.json()
        equal((a["id"], a.get("code", a["status"])), (name, status), path)


@case
def errors_are_those_of_the_routes():
    m = Mux(create()["id"])
    status, body = m.ask("POST", "/api/read", {"path": "/nowhere"})
    equal((status, body["code"], body["httpStatus"]), (404, "FILE_NOT_FOUND", 404), "a file")
    equal(m.ask("PATCH", "/api/ping")[0], 405, "a method")
    equal(m.ask("POST", "/api/execute", {})[0], 400, "no command")
    equal(m.ask("POST", "/api/execute", [1])[0], 400, "no object")
    equal(m.ask("POST", "/api/execute", "x")[0], 400, "nor this")
    equal(m.ask("POST", "/api/execute")[0], 400, "no body")


@case
def messages_that_are_none_are_told_and_harm_no_other():
    m = Mux(create()["id"])
    deep = "[" * 40 + "]" * 40
    for sent, code, name in (
            ("", "PARSE_ERROR", None), ("x", "PARSE_ERROR", None),
            ('{"type":"request"', "PARSE_ERROR", None), (b"\xff\xfe", "PARSE_ERROR", None),
            (deep, "PARSE_ERROR", None), ('{"a":1,"a":2}', "PARSE_ERROR", None),
            ("[]", "INVALID_REQUEST", None), ("{}", "INVALID_REQUEST", None),
            ({"type": "request", "id": 7}, "INVALID_REQUEST", None),
            ({"type": "request", "id": ""}, "INVALID_REQUEST", None),
            ({"type": "hello", "id": "a"}, "INVALID_REQUEST", "a"),
            ({"id": "a"}, "INVALID_REQUEST", "a"),
            ({"type": "request", "id": "a", "method": "get", "path": "/"}, "INVALID_REQUEST", "a"),
            ({"type": "request", "id": "a", "method": "GET"}, "INVALID_REQUEST", "a"),
            ({"type": "request", "id": "a", "method": "GET", "path": 1}, "INVALID_REQUEST", "a"),
            ({"type": "request", "id": "a", "method": "GET", "path": "/", "headers": []},
             "INVALID_REQUEST", "a")):
        m.ws.send(sent)
        a = m.ws.json()
        equal((a["type"], a["code"], a.get("id"), a["status"]), ("error", code, name, 400), repr(sent))
        true(a["message"], "in words")
    m.ws.send({"type": "cancel", "id": "nobody"})
    equal(m.ask("GET", "/api/ping", None, unknown=[1, {}])[0], 200, "it goes on")
    m.ws.send(json.dumps({"type": "request", "id": "b", "method": "GET", "path": "/api/ping"}).encode())
    equal(m.ws.json()["id"], "b", "a binary message is one too")


@case
def requests_run_side_by_side_and_are_answered_as_they_end():
    m = Mux(create()["id"])
    slow = m.begin("POST", "/api/execute", {"command": "until [ -e go ]; do sleep 0.02; done; echo late"})
    names = [m.begin("POST", "/api/execute", {"command": "echo %d" % i, "sessionId": "s%d" % i})
             for i in range(20)]
    got = {a["id"]: a["body"]["stdout"] for a in (m.ws.json() for _ in names)}
    equal(got, {name: "%d\n" % i for i, name in enumerate(names)}, "those that can")
    go = m.begin("POST", "/api/execute", {"command": "touch /workspace/go", "sessionId": "x"})
    got = {a["id"]: a["body"]["stdout"] for a in (m.ws.json(), m.ws.json())}
    equal(got, {go: "", slow: "late\n"}, "and the one that waited")


@case
def an_id_in_use_is_refused():
    m = Mux(create()["id"])
    name = m.begin("POST", "/api/execute", {"command": "until [ -e go ]; do sleep 0.02; done"})
    m.ws.send({"type": "request", "id": name, "method": "GET", "path": "/api/ping"})
    a = m.ws.json()
    equal((a["id"], a["code"]), (name, "INVALID_REQUEST"), "the second")
    m.begin("POST", "/api/execute", {"command": "touch /workspace/go", "sessionId": "x"})
    equal({m.ws.json()["status"], m.ws.json()["status"]}, {200}, "the first")


@case
def streams_are_messages_an_event_each():
    m = Mux(create()["id"])
    name = m.begin("POST", "/api/execute/stream", {"command": "echo a; echo b >&2; exit 3"})
    events = m.events(name)
    equal([e["type"] for e in events if e["type"] != "stderr"], ["start", "stdout", "complete"], "events")
    equal(events[-1]["exitCode"], 3, "its end")
    name = m.begin("POST", "/api/execute/stream", {"command": "seq 20000"})
    text = "".join(e["data"] for e in m.events(name) if e["type"] == "stdout")
    equal(text, "".join("%d\n" % i for i in range(1, 20001)), "all of it, in order")
    equal(m.ask("GET", "/api/process/nobody/stream")[0], 404,
          "one that cannot begin is a response")


@case
def much_passes_both_ways():
    m = Mux(create()["id"])
    data = base64.b64encode(os.urandom(20 * MB)).decode()
    sending = threading.Thread(target=m.begin, args=(
        "POST", "/api/write", {"path": "/workspace/f", "content": data, "encoding": "base64"}))
    sending.start()
    equal(m.ws.json()["status"], 200, "a large message")
    sending.join()
    status, body = m.ask("POST", "/api/read", {"path": "/workspace/f", "encoding": "base64"})
    equal((status, body["content"] == data), (200, True), "and a large answer")


def same_over_http(sid, m, method, path, body=None):
    """Sends a request over /ws and over HTTP and compares; returns (status, body) without times."""
    answers = [m.ask(method, path, body)]
    r = call(method, at(sid, path), body)
    answers.append((r.status, r.json))
    for _, doc in answers:
        doc.pop("timestamp", None)
    equal(answers[0], answers[1], "%s %s" % (method, path))
    return answers[0]


@case
def ports_are_exposed_as_over_http():
    """The control plane answers, though the wrapper has the WebSocket."""
    sid = create()["id"]
    execute(sid, "echo over there >x.html; (python3 -m http.server -b 127.0.0.1 8123"
                 " >/dev/null 2>&1 &)")
    m = Mux(sid)
    status, body = m.ask("POST", "/api/expose-port", {"port": 8123, "sessionId": "a"})
    equal((status, body["port"]), (200, 8123), "exposed")
    host = body["url"].split("/")[2]
    until("it is there", lambda: b"over there" in call(
        "GET", "/x.html", key="", headers={"Host": host}).body)
    equal(same_over_http(sid, m, "GET", "/api/exposed-ports?session=a")[1]["count"], 1, "listed")
    same_over_http(sid, m, "POST", "/api/expose-port", {"port": 8123})
    same_over_http(sid, m, "POST", "/api/expose-port", {"port": 80})
    same_over_http(sid, m, "POST", "/api/expose-port", {})
    same_over_http(sid, m, "POST", "/api/expose-port", [1])
    same_over_http(sid, m, "POST", "/api/expose-port")
    same_over_http(sid, m, "DELETE", "/api/exposed-ports/9999")
    same_over_http(sid, m, "PATCH", "/api/exposed-ports")
    status, body = m.ask("DELETE", "/api/exposed-ports/8123?session=a")
    true(status in (200, 202), "closed")
    equal(m.ask("GET", "/api/ping")[0], 200, "and the wrapper answers as before")


@case
def ports_are_exposed_between_what_else_is_said():
    """Many requests in any order, with streams: nothing is lost or mixed up."""
    sid = create()["id"]
    m = Mux(sid)
    stream = m.begin("POST", "/api/execute/stream", {"command": "seq 200000", "sessionId": "s"})
    wanted = {m.begin("GET", "/api/exposed-ports"): "ports" for _ in range(20)}
    wanted.update({m.begin("POST", "/api/read", {"path": "/nowhere"}): "code" for _ in range(20)})
    m.ws.ping(b"x")
    text, over = "", False
    while wanted or not over:
        a = m.ws.json()
        if a["id"] == stream and a["type"] == "stream":
            event = json.loads(a["data"])
            text += event["data"] if event["type"] == "stdout" else ""
        elif a["id"] == stream:
            over = True
        else:
            true(wanted.pop(a["id"]) in a["body"], "whose: %r" % a)
    equal(text, "".join("%d\n" % i for i in range(1, 200001)), "the stream")
    # a request in pieces, with a ping between them
    whole = json.dumps({"type": "request", "id": "p", "method": "GET",
                        "path": "/api/exposed-ports"}).encode()
    m.ws.send_piece(whole[:20], first=True)
    m.ws.ping(b"y")
    m.ws.send_piece(whole[20:], last=True)
    equal(m.ws.json()["body"]["count"], 0, "in pieces")
    until("pongs", lambda: m.ask("GET", "/api/ping") and {b"x", b"y"} <= set(m.ws.pongs))


@case
def who_asks_and_does_not_read_is_not_read_either():
    """Otherwise a process shared by all tenants would keep the answers for a client that
    does not read."""
    sid = create()["id"]
    for port in range(9000, 9040):
        expect(200, call("POST", at(sid, "/api/expose-port"), {"port": port}))
    deaf, fair = Mux(sid), Mux(sid)

    def ask_much(m, last):
        """Sends more requests than all buffers of sockets and nginx hold, and then one
        for a port."""
        for _ in range(900):
            m.begin("GET", "/api/exposed-ports")
        m.begin("POST", "/api/expose-port", {"port": last})

    def hear(m):
        return [m.ws.json()["status"] for _ in range(901)]

    with concurrent.futures.ThreadPoolExecutor() as pool:
        asking = pool.submit(ask_much, deaf, 9100)
        pool.submit(ask_much, fair, 9200).result()
        equal(hear(fair), [200] * 901, "who reads is answered")
        ports = {p["port"] for p in call("GET", at(sid, "/api/exposed-ports")).json["ports"]}
        equal((9200 in ports, 9100 in ports), (True, False), "as far as it has read")
        equal(hear(deaf), [200] * 901, "it goes on when it reads")
        asking.result()


def fetched(m, path, **more):
    """Returns (status, bytes) of a file or an archive, which comes in pieces of base64."""
    name = m.begin("GET", path, **more)
    parts = []
    hope = Hope()
    while True:
        hope.lives()
        a = m.ws.json()
        equal(a["id"], name, "whose")
        if a["type"] == "response":
            # pieces may be decoded one by one, or together
            return a["status"], a.get("body", base64.b64decode("".join(parts), validate=True))
        equal((a["type"], a["encoding"]), ("stream", "base64"), "a piece")
        parts.append(a["data"])


@case
def files_and_archives_of_any_bytes_pass():
    sid = create()["id"]
    m = Mux(sid)
    data = bytes(range(256)) * 1000 + b"x"
    status, body = m.ask("PUT", "/files/workspace/a?mode=0600",
                         base64.b64encode(data).decode(), encoding="base64")
    equal((status, body["size"]), (201, len(data)), "written")
    equal(execute(sid, "stat -c %a a; sha256sum <a").split()[:2],
          ["600", hashlib.sha256(data).hexdigest()], "as they were")
    true(fetched(m, "/files/workspace/a") == (200, data), "and read")
    equal(fetched(m, "/files/workspace/a", headers={"Range": "bytes=1-4"}),
          (206, data[1:5]), "some of them")
    equal(m.ask("PUT", "/files/workspace/%C3%A9.json", '{"\u00e9": 1}\n')[0], 201, "text")
    equal(fetched(m, "/files/workspace/%C3%A9.json"), (200, '{"\u00e9": 1}\n'.encode()),
          "whatever its type")
    equal(m.ask("PUT", "/files/workspace/none", "")[1]["size"], 0, "nothing")
    equal(fetched(m, "/files/workspace/none"), (200, b""), "and nothing back")
    large = os.urandom(MB) * 30
    equal(m.ask("PUT", "/files/workspace/large", base64.b64encode(large).decode(),
                encoding="base64")[0], 201, "30 MiB")
    true(fetched(m, "/files/workspace/large") == (200, large), "and back")
    equal(m.ask("DELETE", "/files/workspace/large")[0], 200, "deleted")
    status, body = fetched(m, "/files/workspace/large")
    equal((status, body["code"]), (404, "FILE_NOT_FOUND"), "an error is JSON")
    for body, more in (({"a": 1}, {}), ([1], {}), (5, {}), ("x!", {"encoding": "base64"}),
                       ("x", {"encoding": "hex"}), ("\u00e9" * 2 * MB, {"encoding": "base64"})):
        status, doc = m.ask("PUT", "/files/workspace/bad", body, **more)
        equal((status, doc["code"], doc["context"]["validationErrors"][0]["field"]),
              (400, "VALIDATION_FAILED", "body"), str(body)[:20])
    equal(execute(sid, "ls bad 2>&1 || true").count("No such"), 1, "nothing was written")
    status, tar = fetched(m, "/archive/workspace?format=tar")
    equal(status, 200, "an archive")
    status, body = m.ask("PUT", "/archive/workspace/copy", base64.b64encode(tar).decode(),
                         encoding="base64")
    equal(status, 200, "and taken apart: %r" % body)
    execute(sid, "cmp a copy/a && cmp none copy/none")


@case
def who_has_no_key_to_show_again_is_told_the_way():
    """The client connected with a ticket; requests that go to a worker need a key."""
    sid = create()["id"]
    t = expect(201, call("POST", at(sid, "/tickets"), {"for": "ws"})).json
    m = Mux(sid, "/ws?ticket=" + t["ticket"], key="")
    for method, path in (("POST", "/api/expose-port"), ("GET", "/api/exposed-ports"),
                         ("DELETE", "/api/exposed-ports/8080"), ("GET", "/proxy/8080/"),
                         ("GET", "/ws")):
        status, body = m.ask(method, path, {"port": 8080} if method == "POST" else None)
        equal((status, body["code"]), (400, "VALIDATION_FAILED"), path)
        true("HTTP" in body["message"], body["message"])


@case
def workers_that_are_gone_cost_one_answer():
    sid = create()["id"]
    m = Mux(sid)
    equal(m.ask("GET", "/api/exposed-ports")[0], 200, "before")
    socket = os.path.join(setting("STACK_RUN"), "run", "read.sock")
    os.rename(socket, socket + ".away")
    try:
        name = m.begin("GET", "/api/exposed-ports")
        a = m.ws.json()
        equal((a["type"], a["id"], a["status"], a["code"]),
              ("error", name, 503, "CONTAINER_UNAVAILABLE"), "told")
        equal(m.ask("GET", "/api/ping")[0], 200, "the wrapper answers")
    finally:
        os.rename(socket + ".away", socket)
    equal(m.ask("GET", "/api/exposed-ports")[0], 200, "after")


# ---- who may connect

@case
def who_may_not_is_refused_as_json():
    sid = create()["id"]
    stranger = new_key("other", "eve")
    for path in ("/ws", "/api/ws", "/ws/pty?sessionId=x"):
        refused(401, "UNAUTHORIZED", sid, path, key="")
        refused(401, "UNAUTHORIZED", sid, path, key="sl_wrong")
        refused(404, "SESSION_NOT_FOUND", sid, path, key=stranger)
        refused(404, "SESSION_NOT_FOUND", "0" * 20, path)
        r = call("GET", at(sid, path))
        equal((r.status, r.json["code"]), (426, "UPGRADE_REQUIRED"), "a plain GET")


@case
def a_key_that_reads_opens_none():
    sid = create()["id"]
    reader = new_key("demo", "reader", "--scope", "read")
    for path in ("/ws", "/ws/pty?sessionId=x"):
        refused(403, "FORBIDDEN", sid, path, key=reader)


@case
def another_sites_page_opens_none_with_the_dashboards_cookie():
    sid = create()["id"]
    r = expect(204, call("POST", "/v1/login", {"key": setting("SANDLEASE_API_KEY")}, key="",
                         headers={"Origin": "http://127.0.0.1:%d" % service.port()}))
    cookie = r.header("Set-Cookie").split(";")[0]
    ours = "http://127.0.0.1:%d" % service.port()
    host = {"Cookie": cookie, "Host": "127.0.0.1:%d" % service.port()}
    for origin in ("http://evil.example", "null", ours + ".evil.example", None):
        headers = dict(host, **({"Origin": origin} if origin else {}))
        refused(403, "ORIGIN_MISMATCH", sid, "/ws", key="", headers=headers)
    w = connect(sid, "/ws", key="", headers=dict(host, Origin=ours))
    equal(w.close(), 1000, "the dashboard's own does")


@case
def a_ticket_opens_one_and_stands_in_no_log():
    sid = create()["id"]
    t = expect(201, call("POST", at(sid, "/tickets"), {"for": "terminal"})).json
    w = connect(sid, "/ws/pty?sessionId=x&ticket=" + t["ticket"], key="")
    w.close()
    refused(401, "INVALID_TICKET", sid, "/ws/pty?sessionId=x&ticket=" + t["ticket"], key="")
    for name in glob.glob(os.path.join(setting("STACK_STATE"), "log", "*")):
        with open(name, encoding="utf-8", errors="replace") as f:
            true(t["ticket"] not in f.read(), name)


# ---- terminals

class Terminal:
    def __init__(self, sid, query, **how):
        self.ws = connect(sid, "/ws/pty?" + query, **how)
        self.got = b""

    def until(self, text):
        """Reads until the screen, or a message beside it, has the text."""
        if isinstance(text, dict):
            while True:
                m = self.ws.recv()
                if isinstance(m, bytes):
                    self.got += m
                elif json.loads(m) == text:
                    return self
        while text not in self.got:
            m = self.ws.recv()
            if isinstance(m, bytes):
                self.got += m
        return self

    def type(self, text):
        self.ws.send(text.encode())
        return self


READY = {"type": "ready"}


@case
def a_terminal_is_a_terminal():
    sid = create()["id"]
    expect(200, call("POST", at(sid, "/api/execute"), {"command": "cd /tmp; export A=b", "sessionId": "one"}))
    t = Terminal(sid, "sessionId=one&cols=101&rows=31").until(READY)
    t.type("stty size; echo $TERM $PWD $A\n").until(b"31 101").until(b"xterm-256color /tmp b")
    t.ws.send({"type": "resize", "cols": 90, "rows": 20})
    t.type("stty size\n").until(b"20 90")
    for size in ({"cols": 0, "rows": 1}, {"cols": -1, "rows": 1}, {"cols": "1", "rows": 1},
                 {"cols": 9999999999, "rows": 1}, {"rows": 1}):
        t.ws.send(dict(size, type="resize"))
        m = t.ws.recv()
        while isinstance(m, bytes):
            m = t.ws.recv()
        equal(json.loads(m)["type"], "error", repr(size))
    t.ws.send("no json")
    t.type("exit 7\n").until({"type": "exit", "code": 7})
    equal(t.ws.closed(), 1000, "and it is closed")


@case
def two_clients_share_it_and_who_comes_again_finds_it():
    sid = create()["id"]
    a = Terminal(sid, "sessionId=x").until(READY)
    a.type("echo fir''st\n").until(b"first")
    b = Terminal(sid, "sessionId=x").until(b"first").until(READY)
    b.type("echo sec''ond\n")
    a.until(b"second")
    b.until(b"second")
    a.ws.sock.close()
    b.ws.sock.close()
    c = Terminal(sid, "sessionId=x").until(b"second").until(READY)
    c.type("kill -9 $$\n").until({"type": "exit", "code": 137, "signal": "SIGKILL"})


def paste():
    sid = create()["id"]
    t = Terminal(sid, "sessionId=x").until(READY)
    # wait: 12 s in the command, which begins later than a POST would wait
    t.type("stty raw -echo; echo go''ne; sleep 12; head -c %d | sha256sum; stty sane\n" % (10 * MB)).until(b"gone")
    data = os.urandom(10 * MB)
    t.ws.send(data)
    t.until(hashlib.sha256(data).hexdigest().encode())


@case
def a_terminal_that_cannot_be_had_says_why():
    sid = create()["id"]
    refused(400, "VALIDATION_FAILED", sid, "/ws/pty")
    refused(400, "VALIDATION_FAILED", sid, "/ws/pty?sessionId=")
    for wrong in ("x&shell=/no/such/shell", "a/b", ".."):
        w = connect(sid, "/ws/pty?sessionId=" + wrong)
        equal(json.loads(w.recv())["type"], "error", wrong + ": in words")
        equal(w.closed(), 1011, "and a code")
    equal(call("GET", at(sid, "/api/terminal")).json["terminals"], [], "none was made")


# ---- the session's life

@case
def a_sleeping_session_is_woken_by_one():
    sid = create()["id"]
    expect(200, call("POST", at(sid, "/sleep")))
    until("it sleeps", lambda: get(sid)["state"] == "asleep")
    equal(Mux(sid).ask("GET", "/api/ping")[0], 200, "/ws")
    expect(200, call("POST", at(sid, "/sleep")))
    until("it sleeps", lambda: get(sid)["state"] == "asleep")
    Terminal(sid, "sessionId=x").until(READY)


@case
def sleep_and_deletion_end_what_is_open():
    for end in (("POST", "/sleep"), ("DELETE", "")):
        sid = create()["id"]
        m, t = Mux(sid), Terminal(sid, "sessionId=x").until(READY)
        m.begin("POST", "/api/execute/stream", {"command": "sleep 1000"})
        m.ws.json()
        true(call(end[0], at(sid, end[1])).status < 300, end[1])
        true(m.ws.closed() in (1001, None), "/ws")
        true(t.ws.closed() in (1000, 1001, None), "/ws/pty")
        until("no socket is left", lambda sid=sid: not glob.glob(
            os.path.join(setting("STACK_RUN"), "run/s", sid + ".*")))


@case
def an_open_one_alone_keeps_nothing_awake():
    sid = create(sleepAfterSeconds=1)["id"]
    m = Mux(sid)
    equal(m.ask("GET", "/api/ping")[0], 200, "it is used")
    until("what is idle sleeps", lambda: passes() and state(sid)[0] == "asleep")
    true(m.ws.closed() in (1001, None), "and it is over")


@case
def a_request_that_runs_keeps_it_awake():
    sid = create()["id"]
    m = Mux(sid)
    m.begin("POST", "/api/execute", {"command": "sleep 1000"})
    until("it runs", lambda: execute(sid, "pgrep -x sleep || true", sessionId="x"))
    age(sid, 3600)
    passes()
    equal(state(sid)[0], "ready", "as over HTTP")


@case
def ten_megabytes_can_be_pasted():
    # this runs before the case that revokes a key, which would close its connection
    PASTE.result()  # wait: each read of the paste has the client's own limit


@case
def a_revoked_key_keeps_none_open():
    sid = create()["id"]
    key = new_key("demo", "leaves")
    key_id = expect(200, call("GET", "/v1/me", key=key)).json["keyId"]
    m, t = Mux(sid, key=key), Terminal(sid, "sessionId=x", key=key).until(READY)
    equal(m.ask("GET", "/api/ping")[0], 200, "it is served")
    admin("key", "revoke", key_id)
    equal((m.ws.closed(), t.ws.closed()), (1001, 1001), "and closed")
    refused(401, "UNAUTHORIZED", sid, key=key)
    equal(Mux(sid).ask("GET", "/api/ping")[0], 200, "others come again")


PASTE = concurrent.futures.ThreadPoolExecutor().submit(paste)  # runs during the other cases
sys.exit(run(lambda: None))
