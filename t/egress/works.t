#!/usr/bin/python3
"""Tests that real programs work with an allowed host, none of which is told of a proxy."""
import base64
import hashlib
import io
import json
import os
import socketserver
import subprocess
import sys
import tarfile
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import internet  # noqa: E402
import service  # noqa: E402

service.begin(internet.settings(), egress=True)
from mux import connect  # noqa: E402
from network import Denials, egress_was_well, ok, python, same, session, sh  # noqa: E402
from service import at, call, expect  # noqa: E402
from tap import PATIENCE, Skip, run  # noqa: E402

net = internet.Internet()
CA = net.authority()
# where programs find the certificate of this Internet's authority
TRUST = {name: "/workspace/ca.pem" for name in (
    "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS")}


def trusting(*allow, **more):
    """A session that trusts the test's authority."""
    with open(CA, encoding="ascii") as f:
        files = [{"path": "ca.pem", "content": f.read()}]
    return session(*allow, files=files + more.pop("files", []),
                   env=dict(TRUST, **more.pop("env", {})), **more)


def send(handler, body, kind="application/octet-stream"):
    handler.send_response(200)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def curl_works():
    web = net.web("api.example.com")
    net.web("api.example.com", 443, tls=True, address=web.address)
    sid = trusting("api.example.com")
    same(sh(sid, "curl -sS http://api.example.com/a"), (0, "GET api.example.com /a\n"), "http")
    same(sh(sid, "curl -sS https://api.example.com/b"), (0, "GET api.example.com /b\n"),
         "https, end to end")
    code, out = sh(sid, "curl -sS http://api.example.com/1 http://api.example.com/2 "
                        "-d body http://api.example.com/3")
    same(out.count("api.example.com"), 3, "several requests on one connection")
    same(sh(sid, "curl -sS -X POST -H 'Expect: 100-continue' --data-binary @/usr/bin/env "
                 "http://api.example.com/up")[0], 0, "a body that waits to be wanted")
    same(len(web.seen[-1][4]), os.path.getsize("/usr/bin/env"), "and arrives whole")
    same(sh(sid, "head -c 3000000 /dev/urandom | curl -sS -T - http://api.example.com/put")[0], 0,
         "a chunked body")
    same(len(web.seen[-1][4]), 3000000, "arrives whole")
    ok("HTTP/1.1 200" in sh(sid, "curl -sSI http://api.example.com/head")[1], "HEAD")
    same(sh(sid, "curl -sS -0 http://api.example.com/old"), (0, "GET api.example.com /old\n"),
         "HTTP/1.0")
    same(python(sid, "import socket\ns = socket.create_connection(('api.example.com', 80))\n"
                     "s.sendall(b'GET /half HTTP/1.0\\r\\nHost: api.example.com\\r\\n\\r\\n')\n"
                     "s.shutdown(socket.SHUT_WR)\nprint(s.makefile('rb').read()[-10:])"),
         "b'com /half\\n'", "a client that says its end first")
    same(python(sid, "import socket\ns = socket.create_connection(('api.example.com', 80))\n"
                     "s.sendall(b'GET /none HTTP/1.0\\r\\n\\r\\n')\n"
                     "print(s.makefile('rb').read()[-26:])"),
         "b'GET api.example.com /none\\n'", "HTTP/1.0 that names no host")
    for proxy in ("http://127.0.0.1:3128", "http://localhost:3128"):
        same(sh(sid, "HTTPS_PROXY=%s http_proxy=%s curl -sS http://api.example.com/p "
                     "https://api.example.com/q" % (proxy, proxy)),
             (0, "GET api.example.com /p\nGET api.example.com /q\n"), "by the proxy, " + proxy)


ASK = """
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(30)  # wait: for one answer
s.connect(("127.0.0.1", 53))
labels = b"".join(bytes([len(l)]) + l for l in %r.encode().split(b"."))
s.send(struct.pack("!HHHHHH", 7, 0x100, 1, 0, 0, 1) + labels + b"\\0\\0\\1\\0\\1"
       + b"\\0" + struct.pack("!HHIH", 41, 1232, 0, 0))
answer = s.recv(4096)
at = answer.find(b"network_")
print(answer[3] & 15, int.from_bytes(answer[at - 2:at], "big"), answer[at:].decode())
"""


def a_name_says_why_it_has_no_address():
    sid = session("*.example.com")
    same(python(sid, ASK % "gone.example.com"),
         "3 0 network_failed: gone.example.com: there is no such name", "one that is not there")
    same(python(sid, ASK % "gone.example.org"),
         "3 18 network_denied: add gone.example.org to network.allow", "one that is not allowed")
    same(Denials(sid).all()[-1]["detail"]["host"], "gone.example.org", "which alone is an event")


def large_and_slow_answers_pass():
    web = net.web("big.example.com")
    size = 50 * 1000 * 1000
    digest = hashlib.sha256()
    block = os.urandom(1000 * 1000)
    for _ in range(50):
        digest.update(block)

    def big(handler, _):
        handler.send_response(200)
        handler.send_header("Content-Length", str(size))
        handler.end_headers()
        for _ in range(50):
            handler.wfile.write(block)

    def chunks(handler, _):
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for i in range(100):
            handler.wfile.write(b"5\r\n%05d\r\n" % i)
            handler.wfile.flush()
        handler.wfile.write(b"0\r\n\r\n")

    def until_end(handler, _):
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(b"without a length")
        handler.close_connection = True
    web.pages.update({"/big": big, "/chunks": chunks, "/end": until_end})
    sid = session("big.example.com")
    same(sh(sid, "curl -sS http://big.example.com/big | sha256sum")[1].split()[0],
         digest.hexdigest(), "50 MB")
    same(len(sh(sid, "curl -sS http://big.example.com/chunks")[1]), 500, "chunks")
    same(len(sh(sid, "curl -0 -sS http://big.example.com/chunks")[1]), 500,
         "chunks for an old client")
    same(sh(sid, "curl -sS http://big.example.com/end")[1], "without a length",
         "a body that ends with its connection")
    use = service.until("counts", lambda: (lambda n: n if n["requests"] == 4 else None)(
        service.get(sid)["network"]))
    same(use["connections"], 4, "requests and connections are counted")
    ok(size < use["bytesIn"] < size * 1.01, "and bytes", use)


READS_LATE = """
import socket, sys, time
path, wait, keep, shut = sys.argv[1], float(sys.argv[2]), sys.argv[3] == "keep", sys.argv[4] == "shut"
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
s.connect(("late.example.com", 80))
s.sendall(("GET /%s HTTP/1.1\\r\\nHost: late.example.com\\r\\n%s\\r\\n" % (
    path, "" if keep else "Connection: close\\r\\n")).encode())
if shut:
    s.shutdown(socket.SHUT_WR)
time.sleep(wait)  # wait: longer than an answer that was read is kept, however slow all is
got, how = 0, "end"
try:
    while not (keep and got > 2000000) and (more := s.recv(100000)):
        got += len(more)
except OSError as e:
    how = type(e).__name__
print(got > 2000000 if path == "whole" else got > 1000000, how)
"""


def who_reads_late_gets_all():
    web = net.web("late.example.com")

    def whole(handler, _):
        send(handler, b"x" * 2000000)

    def cut(handler, _):
        handler.send_response(200)
        handler.send_header("Content-Length", "2000000")
        handler.end_headers()
        handler.wfile.write(b"x" * 1000000)
        handler.close_connection = True
    web.pages.update({"/whole": whole, "/cut": cut})
    sid = session("late.example.com")
    expect(200, call("POST", at(sid, "/api/write"),
                     {"path": "/workspace/late.py", "content": READS_LATE}))
    for words, said, what in (
            ("whole 3 close no", "True end", "the rest of a last answer"),
            ("whole 3 keep no", "True end", "of another one"),
            ("whole 3 close shut", "True end", "of one to a client that has said its end"),
            ("cut 3 close no", "True ConnectionResetError", "what there is of a cut one"),
            ("cut 0 close shut", "True ConnectionResetError", "also for one that reads at once")):
        same(sh(sid, "/usr/bin/python3 late.py " + words)[1].strip(), said, what)


class Early(socketserver.BaseRequestHandler):
    """Answers when the head is there, and closes with the body unread."""

    def handle(self):
        self.request.recv(1000)
        self.request.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\n\r\nno!\n")


def an_early_answer_arrives():
    address = net.name("early.example.com", net.host())
    net.serve(internet.Threading((address, 80), Early))
    sid = session("early.example.com")
    out = python(sid, "import socket\nfor i in range(10):\n"
                      "    s = socket.create_connection(('early.example.com', 80))\n"
                      "    try:\n"
                      "        s.sendall(b'POST / HTTP/1.1\\r\\nHost: early.example.com\\r\\n'\n"
                      "                  b'Content-Length: 5000000\\r\\n\\r\\n' + b'x' * 5000000)\n"
                      "    except OSError:\n        pass\n"
                      "    said = b''\n"
                      "    try:\n"
                      "        while b'no!' not in said and (more := s.recv(1000)):\n"
                      "            said += more\n"
                      "    except OSError as e:\n        said = repr(e).encode()\n"
                      "    print(said[9:12], b'Connection: close' in said)\n")
    same(out.splitlines(), ["b'413' True"] * 10, "and says that it is the last one")


def a_server_may_speak_first():
    server = net.echo("first.example.com", 2525, b"220 hello\r\n")
    sid = session("first.example.com:2525")
    out = python(sid, "import socket\ns = socket.create_connection(('first.example.com', 2525))\n"
                      "print(s.recv(100))\ns.sendall(b'EHLO x\\r\\n')\nprint(s.recv(100))\n"
                      "s.shutdown(socket.SHUT_WR)\nprint(s.recv(100))")
    same(out, "b'220 hello\\r\\n'\nb'EHLO x\\r\\n'\nb''", "a line each, and an end each")
    same(server.heard, b"EHLO x\r\n", "unchanged")


def websockets_pass():
    web = net.web("ws.example.com")
    web.pages["/ws"] = internet.upgrade
    sid = session("ws.example.com")
    out = python(sid, "import socket\ns = socket.create_connection(('ws.example.com', 80))\n"
                      "s.sendall(b'GET /ws HTTP/1.1\\r\\nHost: ws.example.com\\r\\nConnection: "
                      "Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Key: x\\r\\n\\r\\n')\n"
                      "print(b'101' in s.recv(1000))\ns.sendall(b'ping')\nprint(s.recv(100))")
    same(out, "True\nb'echo ping'", "its bytes both ways")


def repository():
    """A bare repository with one commit."""
    bare = net.path("repo.git")
    if not os.path.exists(bare):
        work = net.path("work")
        for words in (["init", "-q", "-b", "main", work], ["-C", work, "add", "-A"],
                      ["-C", work, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q",
                       "-m", "one"], ["clone", "-q", "--bare", work, bare],
                      ["-C", bare, "update-server-info"]):
            subprocess.run(["git", *words], check=True, timeout=PATIENCE)
            if words[0] == "init":
                with open(os.path.join(work, "hello.txt"), "w", encoding="ascii") as f:
                    f.write("hello\n")
    return bare


def serve_repository(web, path="/repo.git"):
    bare = repository()

    class Pages(dict):
        def get(self, url):
            if not url.startswith(path):
                return dict.get(self, url)
            name = os.path.join(bare, url[len(path) + 1:].split("?")[0])

            def page(handler, _):
                if os.path.isfile(name):
                    with open(name, "rb") as f:
                        send(handler, f.read())
                else:
                    handler.send_response(404)
                    handler.send_header("Content-Length", "0")
                    handler.end_headers()
            return page
    web.pages = Pages()


def git_works():
    web = net.web("git.example.com", 443, tls=True)
    serve_repository(web)
    sid = trusting("git.example.com")
    code, out = sh(sid, "git clone -q https://git.example.com/repo.git a && cat a/hello.txt")
    same((code, out), (0, "hello\n"), "clone over https")
    r = call("POST", at(sid, "/api/git/checkout"),
             {"repoUrl": "https://git.example.com/repo.git", "targetDir": "/workspace/b"})
    ok(r.status == 200 and "hello" in sh(sid, "cat b/hello.txt")[1], "git/checkout", r)
    code, out = sh(sid, "git clone -q https://evil.example.com/repo.git c")
    ok(code != 0 and "resolve host" in out, "not of another host", out)


def git_works_over_ssh():
    if not os.path.exists("/usr/sbin/sshd"):
        raise Skip("there is no sshd")
    address = net.name("ssh.example.com", net.host())
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", net.path(name)],
                       check=True, timeout=PATIENCE)
    bare = repository()
    os.makedirs("/run/sshd", exist_ok=True)
    with open(net.path("sshd.conf"), "w", encoding="ascii") as f:
        f.write("ListenAddress %s:22\nHostKey %s\nAuthorizedKeysFile %s\nStrictModes no\n"
                "UsePAM no\nPidFile none\nPermitRootLogin yes\n"
                "ForceCommand git-upload-pack %s\n"
                % (address, net.path("host"), net.path("user.pub"), bare))
    with open(net.path("user"), encoding="ascii") as f:
        key = f.read()
    server = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", net.path("sshd.conf")],
                              stderr=subprocess.DEVNULL)
    try:
        sid = session("ssh.example.com:22",
                      files=[{"path": "/home/user/.ssh/id_ed25519", "content": key, "mode": 0o600}])
        code, out = sh(sid, "GIT_SSH_COMMAND='ssh -o StrictHostKeyChecking=no' "
                            "git clone -q ssh://root@ssh.example.com/repo.git a; cat a/hello.txt")
        ok(out.endswith("hello\n"), "clone over ssh", out)
    finally:
        server.terminate()
        server.wait(PATIENCE)


def wheel():
    record = io.BytesIO()
    with zipfile.ZipFile(record, "w") as z:
        z.writestr("tiny.py", "WORD = 'from the index'\n")
        z.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        z.writestr("tiny-1.0.dist-info/WHEEL",
                   "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr("tiny-1.0.dist-info/RECORD", "tiny.py,,\ntiny-1.0.dist-info/METADATA,,\n"
                   "tiny-1.0.dist-info/WHEEL,,\ntiny-1.0.dist-info/RECORD,,\n")
    return record.getvalue()


def pip_works():
    index = net.web("pypi.org", 443, tls=True)
    files = net.web("files.pythonhosted.org", 443, tls=True)
    name = "tiny-1.0-py3-none-any.whl"
    index.pages["/simple/tiny/"] = lambda handler, _: send(
        handler, b'<a href="https://files.pythonhosted.org/%s">%s</a>' % (
            name.encode(), name.encode()), "text/html")
    files.pages["/" + name] = lambda handler, _: send(handler, wheel())
    sid = trusting("@pypi")
    code, out = sh(sid, "/usr/bin/python3 -m pip install -q --user tiny && "
                        "/usr/bin/python3 -c 'import tiny; print(tiny.WORD)'")
    ok(code == 0 and out.endswith("from the index\n"), "a package of the index", out)


def package(registry):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as t:
        for name, text in (("package/package.json", '{"name": "tiny", "version": "1.0.0"}'),
                           ("package/index.js", "module.exports = 'from the registry'")):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            t.addfile(info, io.BytesIO(text.encode()))
    data = made.getvalue()
    about = {"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
        "name": "tiny", "version": "1.0.0", "dist": {
            "tarball": "https://%s/tiny/-/tiny-1.0.0.tgz" % registry,
            "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()}}}}
    return data, json.dumps(about).encode()


def npm_works():
    web = net.web("registry.npmjs.org", 443, tls=True)
    data, about = package("registry.npmjs.org")
    web.pages["/tiny"] = lambda handler, _: send(handler, about, "application/json")
    web.pages["/tiny/-/tiny-1.0.0.tgz"] = lambda handler, _: send(handler, data)
    sid = trusting("@npm")
    if sh(sid, "command -v npm")[0] != 0:
        raise Skip("there is no npm in sandboxes here")
    code, out = sh(sid, "npm install --no-audit --no-fund tiny && "
                        "node -e 'console.log(require(\"tiny\"))'")
    ok(code == 0 and out.endswith("from the registry\n"), "a package of the registry", out)


def node_works():
    net.web("fetch.example.com", 443, tls=True)
    sid = trusting("fetch.example.com")
    code, out = sh(sid, "node -e 'fetch(\"https://fetch.example.com/n\").then(r => r.text())"
                        ".then(t => console.log(t))'")
    ok("GET fetch.example.com /n" in out, "fetch()", out)
    code, out = sh(sid, "node -e 'fetch(\"https://evil.example.com/\").catch(e => "
                        "console.log(e.cause.code))'")
    same(out, "ENOTFOUND\n", "not of another host")


def java_works():
    net.web("java.example.com")
    sid = session("java.example.com")
    if sh(sid, "command -v java")[0] != 0:
        raise Skip("there is no java in sandboxes here")
    expect(200, call("POST", at(sid, "/api/write"), {
        "path": "/workspace/T.java",
        "content": "public class T { public static void main(String[] a) throws Exception {"
                   " System.out.print(new String(new java.net.URL(a[0]).openStream()"
                   ".readAllBytes())); } }"}))
    code, out = sh(sid, "java T.java http://java.example.com/j")
    ok("GET java.example.com /j" in out, "a URL", out)


GO = """package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	r, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Print(err)
		os.Exit(1)
	}
	b, _ := io.ReadAll(r.Body)
	fmt.Print(string(b))
}
"""


def go_works():
    """A program of Go needs no C library: it has a resolver of its own."""
    net.web("go.example.com", 443, tls=True)
    with tempfile.TemporaryDirectory() as place:
        with open(place + "/get.go", "w", encoding="ascii") as f:
            f.write(GO)
        subprocess.run(["go", "build", "get.go"], cwd=place, check=True, timeout=PATIENCE,
                       env=dict(os.environ, CGO_ENABLED="0", GOCACHE=place + "/cache",
                                GOFLAGS="-modcacherw"))
        with open(place + "/get", "rb") as f:
            program = base64.b64encode(f.read()).decode()
    sid = trusting("go.example.com")
    expect(200, call("POST", at(sid, "/api/write"), {
        "path": "/workspace/get", "content": program, "encoding": "base64"}))
    code, out = sh(sid, "chmod +x get; ./get https://go.example.com/g")
    same((code, out), (0, "GET go.example.com /g\n"), "http.Get()")
    code, out = sh(sid, "./get https://evil.example.com/")
    ok(code == 1 and "no such host" in out, "not of another host", out)


def everything_in_a_session_has_it():
    net.web("all.example.com")
    sid = session("all.example.com", setup="curl -sS http://all.example.com/setup > /workspace/s")
    same(sh(sid, "cat /workspace/s")[1], "GET all.example.com /setup\n", "setup")
    expect(200, call("POST", at(sid, "/api/process/start"), {
        "command": "curl -sS -o /workspace/p http://all.example.com/process"}))
    service.until("a process", lambda: "process" in sh(sid, "cat /workspace/p")[1])
    ok(True, "a background process")
    context = expect(200, call("POST", at(sid, "/api/contexts"), {"language": "python"})).json
    r = call("POST", at(sid, "/api/execute/code"), {
        "code": "import urllib.request\n"
                "print(urllib.request.urlopen('http://all.example.com/kernel').read())",
        "options": {"context": context.get("context", context), "language": "python"},
        "context_id": (context.get("context") or context).get("id")})
    ok("GET all.example.com /kernel" in r.body.decode(), "a kernel", r)
    ws = connect(sid, "/ws/pty?sessionId=t")
    ws.send(b"curl -sS http://all.example.com/terminal; echo en''d\n")
    said = b""
    while b"end" not in said:
        m = ws.recv()
        said += m if isinstance(m, bytes) else b""
    ws.close()
    ok(b"GET all.example.com /terminal" in said, "a terminal", said)


def a_resolver_answers_over_tcp():
    net.web("tcp.example.com")
    sid = session("tcp.example.com")
    code, out = sh(sid, "RES_OPTIONS=use-vc getent ahostsv4 tcp.example.com")
    ok(code == 0 and "198.1" in out, "a name over TCP", out)


def an_address_may_be_allowed():
    # one of the loopback is the sandbox's own, so these are of no host
    sid = session("192.0.2.80", "[2001:db8::80]:443")
    denials = Denials(sid)
    out = sh(sid, "curl -sS -m 20 http://192.0.2.80/")[1]
    ok("no public address" in out, "it arrives, and is judged", out)
    denials.tell("private_address", "192.0.2.80", 80, "by its own address")
    sh(sid, "curl -skS -m 20 'https://[2001:db8::80]/'")
    denials.tell("private_address", "2001:db8::80", 443, "IPv6, too")
    ok(sh(sid, "curl -sS -m 20 http://192.0.2.81/")[0] == 7, "another one is refused")


def all_ports_of_an_open_session_work():
    server = net.echo("open.example.com", 7777, b"hi\n")
    web = net.web("open.example.com", address=server.address)
    sid = service.create(network={"mode": "open"})["id"]
    out = python(sid, "import socket\ns = socket.create_connection(('open.example.com', 7777))\n"
                      "print(s.recv(10))")
    same(out, "b'hi\\n'", "any port")
    same(sh(sid, "curl -sS http://open.example.com/o")[1], "GET open.example.com /o\n", "a name")
    same(service.get(sid)["network"]["mode"], "open", "its mode")
    denials = Denials(sid)
    code, out = sh(sid, "curl -sS -m 20 http://10.1.2.3/")
    ok("no public address" in out, "a private address is refused", out)
    denials.tell("private_address", "10.1.2.3", 80, "and told")
    same(sh(sid, "curl -sS http://%s/raw" % web.address)[0], 7,
         "the host's loopback is the sandbox's own")


run([curl_works, a_name_says_why_it_has_no_address, large_and_slow_answers_pass,
     who_reads_late_gets_all, an_early_answer_arrives,
     a_server_may_speak_first, websockets_pass, git_works, git_works_over_ssh, pip_works,
     npm_works, node_works, java_works, go_works, everything_in_a_session_has_it,
     a_resolver_answers_over_tcp, an_address_may_be_allowed, all_ports_of_an_open_session_work,
     egress_was_well])
