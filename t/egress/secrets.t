#!/usr/bin/python3
"""Tests that secrets are added to requests outside the sandbox, and are nowhere inside."""
import json
import os
import re
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import internet  # noqa: E402
import service  # noqa: E402

service.begin(internet.trusting_settings())
from network import Denials, egress_was_well, ok, python, same, session, sh  # noqa: E402
from procfs import descendants  # noqa: E402
from service import at, call, expect, until  # noqa: E402
from tap import PATIENCE, Skip, run  # noqa: E402

net = internet.Internet()
net.trust()
service.stack("egress_start")

VALUE = "sk-very-secret-0123456789abcdef"
plain = net.web("plain.example.com")
tls = net.web("api.anthropic.com", 443, tls=True)
other = net.web("other.example.com", 443, tls=True)
SECRETS = [{"host": "api.anthropic.com", "header": "x-api-key", "value": VALUE},
           {"host": "plain.example.com", "header": "Authorization", "value": "Bearer " + VALUE,
            "plain": True}]
HOSTS = ("@anthropic", "plain.example.com", "other.example.com")


sid = session(*HOSTS, secrets=SECRETS)


def a_secret_is_added_outside():
    same(sh(sid, "curl -sS https://api.anthropic.com/v1/messages -d hello"),
         (0, "POST api.anthropic.com /v1/messages\n"), "a request over TLS")
    same(tls.headers().get("x-api-key"), VALUE, "has its header at the server")
    same(tls.seen[-1][4], b"hello", "and its body")
    same(sh(sid, "curl -sS http://plain.example.com/p")[0], 0, "one without TLS")
    same(plain.headers().get("authorization"), "Bearer " + VALUE, "has its own")
    same(sh(sid, "curl -sS -H 'X-API-KEY: mine' https://api.anthropic.com/r")[0], 0,
         "a header of the same name")
    same([v for k, v in tls.seen[-1][3].items() if k.lower() == "x-api-key"], [VALUE],
         "is replaced, in any case")
    same(sh(sid, "curl -sSk https://other.example.com/o")[0], 0, "another host")
    ok("x-api-key" not in other.headers(), "gets nothing", other.seen[-1])
    same(sh(sid, "curl -sS -p -x http://127.0.0.1:3128 https://api.anthropic.com/proxied")[0], 0,
         "a tunnel of the proxy")
    same(tls.headers().get("x-api-key"), VALUE, "has it")
    same(sh(sid, "curl -sS -x http://127.0.0.1:3128 http://plain.example.com/proxied")[0], 0,
         "and its plain requests")
    same(plain.headers().get("authorization"), "Bearer " + VALUE, "too")


def a_secret_needs_tls():
    web = net.web("model.example.com")
    net.web("model.example.com", 443, tls=True, address=web.address)
    both = session("model.example.com", secrets=[
        {"host": "model.example.com", "header": "x-api-key", "value": VALUE}])
    same(sh(both, "curl -sS http://model.example.com/plain")[0], 0, "a request without TLS")
    ok("x-api-key" not in web.headers(), "has no secret, unless that says so", web.headers())


def programs_trust_it():
    code, out = sh(sid, "/usr/bin/python3 -c 'import urllib.request as u; "
                        "print(u.urlopen(\"https://api.anthropic.com/py\").read())'")
    ok("/py" in out, "Python", out)
    code, out = sh(sid, "node -e 'fetch(\"https://api.anthropic.com/node\").then(r => r.text())"
                        ".then(t => console.log(t))'")
    ok("/node" in out, "Node's fetch", out)
    code, out = sh(sid, "git ls-remote https://api.anthropic.com/repo.git")
    ok("not found" in out or "not valid" in out, "git", out)
    same(sh(sid, "wget -qO- --ca-certificate=$SSL_CERT_FILE https://api.anthropic.com/wget")[1],
         "GET api.anthropic.com /wget\n", "wget, if it is told where")
    code, out = sh(sid, "env -u SSL_CERT_FILE -u CURL_CA_BUNDLE curl -sS https://api.anthropic.com")
    ok(code == 60, "a program that was told nothing does not", out)


JAVA = """
public class T {
    public static void main(String[] a) throws Exception {
        System.out.print(new String(new java.net.URL(a[0]).openStream().readAllBytes()));
    }
}
"""


def java_trusts_it_when_it_is_told():
    if sh(sid, "command -v java")[0] != 0:
        raise Skip("there is no java in sandboxes here")
    expect(200, call("POST", at(sid, "/api/write"), {
        "path": "/workspace/T.java", "content": JAVA}))
    count = len(tls.seen)
    code, out = sh(sid, "java T.java https://api.anthropic.com/java")
    ok(code != 0 and "PKIX path building failed" in out, "not by itself", out)
    same(len(tls.seen), count, "and the server gets no request")
    with open(os.path.join(service.TOP, "docs/network.md"), encoding="utf-8") as f:
        told = re.search(r"(?m)^cp .*cacerts\nkeytool .*\nexport JAVA_TOOL_OPTIONS=.*$", f.read())
    code, out = sh(sid, "{ %s; java T.java https://api.anthropic.com/java; }" % (
        told.group().replace("\n", " && ")))
    ok(out.endswith("GET api.anthropic.com /java\n"), "as docs/network.md says", out)
    same(tls.headers().get("x-api-key"), VALUE, "and has the secret")


def only_hosts_with_secrets_are_read():
    def issuer(host):
        return sh(sid, "echo | openssl s_client -connect %s:443 -servername %s 2>/dev/null"
                       " | openssl x509 -noout -issuer" % (host, host))[1]
    ok("Sandlease egress" in issuer("api.anthropic.com"), "TLS of such a host ends in egress")
    ok("Test Internet" in issuer("other.example.com"), "of another one at its server")


def the_server_must_be_the_right_one():
    net.name("wrong.example.com", other.address)
    bad = session("wrong.example.com", secrets=[
        {"host": "wrong.example.com", "header": "x", "value": VALUE}])
    count = len(other.seen)
    out = sh(bad, "curl -sS https://wrong.example.com/")[1]
    ok("network_failed" in out and "mismatch" in out, "a server of another name is not trusted",
       out)
    same(len(other.seen), count, "and gets no request")
    ok(VALUE not in out, "nor does the client get the secret")


def one_host_does_not_get_anothers():
    denials = Denials(sid)
    out = python(sid, "import socket, ssl\n"
                      "x = ssl.create_default_context(cafile='/home/user/.sandlease/ca.pem')\n"
                      "s = x.wrap_socket(socket.create_connection(('api.anthropic.com', 443)),"
                      " server_hostname='api.anthropic.com')\n"
                      "s.sendall(b'GET / HTTP/1.1\\r\\nHost: other.example.com\\r\\n\\r\\n')\n"
                      "print(s.recv(1000).decode())")
    ok(" 403 " in out, "a request for another host in its TLS", out)
    denials.tell("host_header", "api.anthropic.com", 443, "is told")
    out = sh(sid, "curl -sS -X TRACE https://api.anthropic.com/")[1]
    ok(VALUE not in out, "TRACE would show it", out)
    opened = service.create(network={"mode": "open"}, secrets=SECRETS)["id"]
    same(sh(opened, "curl -sS https://api.anthropic.com/open")[0], 0, "an open session has it")
    same(tls.headers().get("x-api-key"), VALUE, "too")
    count = len(tls.seen)
    code, out = sh(opened, "curl -sS -H 'Host: other.example.com' https://api.anthropic.com/")
    ok(" 403" in out or "network_denied" in out, "nor in an open session", out)
    same(len(tls.seen), count, "it does not arrive")


def memory_has(pid, text):
    """Whether a process's memory has the text."""
    try:
        with open("/proc/%d/maps" % pid, encoding="ascii") as maps, \
                open("/proc/%d/mem" % pid, "rb", 0) as memory:
            for line in maps:
                m = re.match(r"([0-9a-f]+)-([0-9a-f]+) r", line)
                if not m or "[v" in line:
                    continue
                first, last = (int(n, 16) for n in m.groups())
                try:
                    memory.seek(first)
                    if text in memory.read(last - first):
                        return True
                except (OSError, ValueError, OverflowError):
                    pass
    except (FileNotFoundError, ProcessLookupError):
        pass
    return False


def the_value_is_nowhere():
    code, out = sh(sid, "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; "
                        "grep -rsl %s /workspace /home /tmp /var /run /etc /dev/shm; "
                        "cat /home/user/.sandlease/*" % VALUE[3:])
    text = out.replace("grep -rsl " + VALUE[3:], "")
    ok(VALUE not in text, "not in its environment and files")
    inside = [p for box in service.sandbox_pids() for p in [box] + descendants(box)]
    ok(len(inside) > 3, "the sandbox's processes", inside)
    same([p for p in inside if memory_has(p, VALUE.encode())], [],
         "not in the memory of a process of the sandbox")
    for path in (at(sid), at(sid, "/events?limit=1000"), "/v1/sessions?limit=100"):
        ok(VALUE not in call("GET", path).body.decode(), "not in " + path.split("?")[0][-20:])
    r = call("PATCH", at(sid), {"secrets": [{"host": "a b", "header": "x", "value": VALUE}]})
    ok(r.status == 400 and VALUE not in r.body.decode(), "not in an error", r)
    logs = ""
    for folder, _, names in os.walk(service.setting("STACK_STATE")):
        for name in names:
            if name.endswith(".log"):
                with open(os.path.join(folder, name), "rb") as f:
                    logs += f.read().decode("latin-1")
    ok(VALUE not in logs, "not in a log")
    dump = service.sql("SELECT to_jsonb(s)::text FROM session s") + \
        service.sql("SELECT to_jsonb(e)::text FROM event e") + \
        service.sql("SELECT to_jsonb(a)::text FROM audit a")
    ok(VALUE not in json.dumps(dump), "not in the database")


def sessions_of_one_sandbox_have_their_own():
    key = service.new_key("sharing", "u")
    marks = {"a": "value-of-a", "b": "value-of-b", "none": None}
    made = {mark: session("@anthropic", key=key, isolation="shared", secrets=[
        {"host": "api.anthropic.com", "header": "x-api-key", "value": value}] if value else [])
        for mark, value in marks.items()}
    same(service.value("SELECT count(DISTINCT sandbox_id) FROM lease WHERE session_id IN"
                       " (:'v1', :'v2', :'v3')", *made.values()), "1", "three share a sandbox")
    del tls.seen[:]
    turns = [service.in_background("POST", at(made[mark], "/api/execute"), {
        "command": "for i in $(seq 30); do curl -skS https://api.anthropic.com/%s/$i; done" % mark},
        key) for mark in marks]
    for turn in turns:
        expect(200, turn.join())
    for mark, value in marks.items():
        seen = [{k.lower(): v for k, v in r[3].items()}.get("x-api-key")
                for r in tls.seen if r[2].startswith("/%s/" % mark)]
        same(seen, [value] * 30, "requests of %s, made at the same time" % mark)


def a_response_that_shows_it_is_not_changed():
    def mirror(handler, _):
        text = json.dumps(dict(handler.headers)).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)
    tls.pages["/mirror"] = mirror
    ok(VALUE in sh(sid, "curl -sS https://api.anthropic.com/mirror")[1],
       "a server that echoes the header, as docs/network.md says")


def secrets_come_and_go():
    late = session(*HOSTS)
    ok(sh(late, "curl -sS https://api.anthropic.com/before")[0] == 60,
       "without a secret TLS is the server's")
    expect(200, call("PATCH", at(late), {"secrets": SECRETS[:1]}))
    same(sh(late, "curl -sS https://api.anthropic.com/after"),
         (0, "GET api.anthropic.com /after\n"), "a secret that is given later works at once")
    same(tls.headers().get("x-api-key"), VALUE, "it is added")
    expect(200, call("PATCH", at(late), {"secrets": [dict(SECRETS[0], value="another")]}))
    sh(late, "curl -sS https://api.anthropic.com/changed")
    same(tls.headers().get("x-api-key"), "another", "a change, too")
    call("POST", at(late, "/sleep"))
    until("sleep", lambda: service.get(late)["state"] == "asleep")
    same(sh(late, "curl -sS https://api.anthropic.com/woken")[0], 0, "it outlives a sleep")
    same(tls.headers().get("x-api-key"), "another", "with its value")
    expect(200, call("PATCH", at(late), {"secrets": []}))
    sh(late, "curl -skS https://api.anthropic.com/gone")
    ok("x-api-key" not in tls.headers(), "and goes when it is taken away")


def many_requests_use_one_connection():
    def peer(handler, _):
        text = ("%s" % (handler.client_address,)).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)
    tls.pages["/peer"] = peer
    out = sh(sid, "curl -sS -w '\\n' %s" % " ".join(["https://api.anthropic.com/peer"] * 5))[1]
    same(len(set(out.split("\n")) - {""}), 1, "to the server, too")


def a_streamed_answer_arrives_as_it_is_sent():
    go = threading.Event()

    def slow(handler, _):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        handler.wfile.write(b"data: one\n\n")
        handler.wfile.flush()
        go.wait(PATIENCE)
        handler.wfile.write(b"data: two\n\n")
        handler.close_connection = True
    tls.pages["/stream"] = slow
    expect(200, call("POST", at(sid, "/api/process/start"), {
        "command": "curl -sSN https://api.anthropic.com/stream > /workspace/stream"}))
    until("the first", lambda: "one" in sh(sid, "cat /workspace/stream")[1])
    ok("two" not in sh(sid, "cat /workspace/stream")[1], "its first event before its second")
    go.set()
    until("the second", lambda: "two" in sh(sid, "cat /workspace/stream")[1])


def a_websocket_has_it():
    tls.pages["/ws"] = internet.upgrade
    out = python(sid, "import socket, ssl\n"
                      "s = ssl.create_default_context().wrap_socket(socket.create_connection("
                      "('api.anthropic.com', 443)), server_hostname='api.anthropic.com')\n"
                      "s.sendall(b'GET /ws HTTP/1.1\\r\\nHost: api.anthropic.com\\r\\nConnection: "
                      "Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Key: x\\r\\n\\r\\n')\n"
                      "print(b'101' in s.recv(1000))\ns.sendall(b'ping')\nprint(s.recv(100))")
    same(out, "True\nb'echo ping'", "its bytes pass both ways")
    same(tls.headers().get("x-api-key"), VALUE, "after the request with the header")


run([a_secret_is_added_outside, a_secret_needs_tls, programs_trust_it,
     java_trusts_it_when_it_is_told, only_hosts_with_secrets_are_read,
     the_server_must_be_the_right_one, one_host_does_not_get_anothers, the_value_is_nowhere,
     sessions_of_one_sandbox_have_their_own, a_response_that_shows_it_is_not_changed,
     secrets_come_and_go, many_requests_use_one_connection, a_websocket_has_it,
     a_streamed_answer_arrives_as_it_is_sent, egress_was_well])
