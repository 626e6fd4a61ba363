#!/usr/bin/python3
"""programs.t: tests the programs as an operator uses them: their version, CGI,
sandlease-admin, and a database that is missing or unfit."""
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import (admin, at, call, container_error, create, execute,
                     expect, get, new_key, problem, setting, sql, stack,
                     until, value)
from tap import case, equal, run, true

service.begin()

# ---- one version everywhere

with open(os.path.join(service.TOP, "configure.ac"), encoding="utf-8") as ac:
    VERSION = re.search(r"AC_INIT\(\[[^]]*\], *\[([^]]*)\]", ac.read())[1]
OTHER = VERSION[:-1] + ("8" if VERSION[-1] == "9" else "9")


@case
def every_program_says_it():
    for name in ("sandlease-api", "sandlease-egress", "sandlease-reaper", "sandlease-agent",
                 "sandlease-ws", "sandlease-launch", "sandlease-admin", "sandlease"):
        said = subprocess.run([service.program(name), "--version"],
                              capture_output=True, text=True, check=True)
        equal((said.stdout, said.stderr), ("%s %s\n" % (name, VERSION), ""),
              name)


@case
def every_surface_says_it():
    sid = create()["id"]
    equal(call("GET", at(sid, "/api/version")).json["version"], VERSION,
          "api/version")
    equal(call("GET", "/v1/health").json["version"], VERSION, "health")
    equal(call("GET", "/v1/openapi.json").json["info"]["version"], VERSION,
          "openapi")
    equal(value("SELECT agent_version FROM sandbox LIMIT 1"), VERSION,
          "the sandbox's row")
    true("agent_version" not in service.log("api"), "no warning")


# ---- CGI: one request without a FastCGI socket

def cgi(method, path, body=b"", query="", **more):
    """Runs the program once; returns (status, headers, body)."""
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
    # a web server passes headers as HTTP_*; no internal parameter begins so
    status, _, _ = cgi("GET", "/v1/me", HTTP_SL_ROUTE="auth-session",
                       HTTP_SL_PATH="/v1/live")
    equal(status, 200, "HTTP_SL_* means nothing")


# ---- sandlease-admin

def fails(*words, status=1):
    """Checks that sandlease-admin fails and prints no output; returns its error
    message."""
    done = service.run("sandlease-admin", *words)
    equal((done.returncode, done.stdout), (status, b""), " ".join(words))
    return done.stderr.decode()


def listed():
    lines = admin("key", "list").splitlines()
    equal(lines[0].split(), ["ID", "ORG", "USER", "BOT", "SCOPE", "CREATED",
                             "ENDS"], "head")
    return lines[1:]


@case
def a_key_is_shown_once_and_kept_as_a_hash():
    done = service.run("sandlease-admin", "key", "create", "--org", "o",
                       "--user", "u", "--bot", "b", "--scope", "read",
                       "--expires", "2999-12-31")
    equal(done.returncode, 0, "status")
    key = done.stdout.decode()
    true(re.fullmatch(r"sl_[a-z2-7]{52}\n", key), "only the key: %r" % key)
    me = expect(200, call("GET", "/v1/me", key=key.strip())).json
    equal((me["org"], me["user"], me["bot"], me["scope"]),
          ("o", "u", "b", "read"), "me")
    line, = [l for l in listed() if l.startswith(me["keyId"])]
    for word in ("o", "u", "b", "read"):
        true(word in line.split(), line)
    true("2999" in line, line)
    dump = "".join("".join(row) for row in sql(
        "SELECT k::text FROM api_key k"))
    true(key.strip() not in dump and key.strip() not in admin("key", "list"),
         "the key itself is nowhere")


@case
def keys_are_revoked_once_and_stay_listed():
    key = new_key("o", "gone")
    key_id = call("GET", "/v1/me", key=key).json["keyId"]
    true(key_id in admin("key", "revoke", key_id), "it says which")
    problem(call("GET", "/v1/me", key=key), 401, "unauthorized")
    line, = [l for l in listed() if l.startswith(key_id)]
    true("revoked" in line, line)
    true("no-such-id" in fails("key", "revoke", "no-such-id"), "it says so")


@case
def bad_usage_is_refused_with_words():
    for words, says in (
            ((), "usage"), (("fly",), "fly: there is no such command"),
            (("key",), "key create"),
            (("key", "fly"), "key fly: there is no such command"),
            (("--fly",), "--fly: there is no such option"),
            (("key", "list", "--fly"), "--fly"),
            (("key", "list", "--fly=1"), "--fly"),
            (("key", "list", "--json=1"), "--json"),
            (("key", "list", "--org", "a", "--org", "b"), "twice"),
            (("key", "create"), "--user"),
            (("key", "create", "--user"), "--user"),
            (("key", "create", "--user", "a b"), "--user"),
            (("key", "create", "--user", "a__b"), "--user"),
            (("key", "create", "--user", ""), "--user"),
            (("key", "create", "--user", "u", "--org", "a/b"), "--org"),
            (("key", "create", "--user", "u", "--org", "x" * 200), "--org"),
            (("key", "create", "--user", "u", "--scope", "root"), "--scope"),
            (("key", "create", "--user", "u", "--expires", "soon"),
             "--expires"),
            (("key", "create", "--user", "u", "more"), "more"),
            (("key", "list", "more"), "more"), (("key", "revoke"), "id"),
            (("org", "set"), "org set"), (("org", "set", "o"), "--isolation"),
            (("org", "set", "o", "--isolation", "some"), "--isolation"),
            (("drain", "--timeout", "x"), "--timeout"),
            (("undrain", "now"), "now"),
            (("--config", "/nonexistent", "drain"), "--config")):
        said = fails(*words, status=2) if words[-1:] != ("soon",) else fails(*words)
        true(says in said, "%s: %s" % (words, said))
    true("/nonexistent" in fails("migrate", "--sql", "/nonexistent"), "migrate")


@case
def migrate_again_does_nothing():
    out = admin("migrate", "--sql", os.path.join(service.TOP, "sql"))
    true(out.startswith("0 migrations applied"), out)


@case
def org_set_changes_new_sessions():
    key = new_key("changing", "u")
    for isolation in ("session", "shared", "inherit"):
        true("changing" in admin("org", "set", "changing", "--isolation",
                                 isolation), "it says so")
        equal(value("SELECT isolation FROM org WHERE id = 'changing'"),
              isolation, "row")
        equal(create(key)["isolation"],
              "session" if isolation == "session" else "shared", isolation)


@case
def a_mistyped_org_is_not_made():
    for words in (("--isolation", "session"), ("--salt", "v2"),
                  ("--max-active", "7"),
                  ("--isolation", "shared", "--max-active", "7")):
        done = service.run("sandlease-admin", "org", "set", "mistyped", *words)
        true(done.returncode != 0 and
             b"mistyped: there is no such org" in done.stderr, done)
    equal(value("SELECT count(*) FROM org WHERE id = 'mistyped'"), "0", "rows")
    for salt in ("a b", "x" * 65, "a:b"):
        done = service.run("sandlease-admin", "org", "set", "demo", "--salt",
                           salt)
        true(done.returncode != 0 and b"--salt" in done.stderr, done)


@case
def a_drain_puts_everything_to_sleep_and_admits_nothing():
    mark = "6161.%d" % os.getpid()
    ids = [create(isolation=i)["id"] for i in ("shared", "session", "shared")]
    for count, sid in enumerate(ids, 1):
        service.job(sid, mark, before="echo kept >f; ", count=count)
    asleep = create(name="early-sleeper")["id"]
    expect(200, call("POST", at(asleep, "/sleep")))
    equal(len(service.running(mark)), 3, "jobs")
    true("drained" in admin("drain"), "it says so")
    equal(service.running(mark), [], "no job runs")
    equal(service.sandbox_pids(), [], "no sandbox runs")
    for sid in ids:
        s = get(sid)
        equal((s["state"], s["lease"]["state"]), ("asleep", "none"), "state")
    equal(call("GET", "/v1/health").json["status"], "draining", "health")
    for method, path, body in (
            ("POST", "/v1/sessions", {}),
            ("POST", "/v1/sessions", {"name": "early-sleeper"}),
            ("POST", at(asleep, "/resume"), None)):
        r = call(method, path, body)
        true(problem(r, 503, "draining")["retryable"], "retryable")
        true(r.header("Retry-After"), "Retry-After")
    r = call("GET", at(asleep, "/api/ping"))
    doc = container_error(r, 503, "CONTAINER_UNAVAILABLE")
    true(doc["context"]["retryable"] and r.header("Retry-After"), repr(r))
    true("drained" in admin("drain"), "draining twice is harmless")
    expect(200, call("DELETE", at(ids[2])))
    equal(service.reap()[0], 0, "a pass while draining")
    admin("undrain")
    equal(call("GET", "/v1/health").json["status"], "ok", "health")
    equal(execute(ids[0], "cat f"), "kept\n", "shared, with its files")
    equal(execute(ids[1], "cat f"), "kept\n", "isolated, with its files")
    expect(201, call("POST", "/v1/sessions", {}))


@case
def a_process_that_ignores_sigterm_does_not_stop_a_drain():
    sid = create()["id"]
    mark = "6262.%d" % os.getpid()
    execute(sid, "(trap '' TERM; setsid sh -c \"trap '' TERM; while :; do"
                 " sleep %s; done\" >/dev/null 2>&1 &)" % mark)
    until("it runs", lambda: service.running(mark))
    admin("drain", "--timeout", "60")
    equal(service.running(mark), [], "it is gone")
    equal(get(sid)["state"], "asleep", "state")
    admin("undrain")


@case
def a_drain_waits_until_everything_is_seen_gone():
    sid = create(isolation="session")["id"]
    mark = "6363.%d" % os.getpid()
    init = service.init_of(service.job(sid, mark)[0])
    os.kill(init, signal.SIGSTOP)  # a stopped init reports no end
    try:
        done = service.run("sandlease-admin", "drain", "--timeout", "0")
        true(done.returncode != 0 and b"1 leases and 1 sandboxes are not gone" in
             done.stderr, "it does not say that all is drained: %r" % done)
        true(service.running(mark), "and it is not")
    finally:
        os.kill(init, signal.SIGCONT)
    true("drained" in admin("drain"), "then it is")
    equal(service.running(mark), [], "nothing runs")
    admin("undrain")


@case
def the_tool_works_while_the_service_is_down():
    stack("api_stop")
    key = new_key("demo", "offline")
    stack("api_start")
    expect(200, call("GET", "/v1/me", key=key))


@case
def without_a_database_it_says_so():
    stack("pg_stop")
    said = fails("key", "list")
    stack("pg_start")
    true("sandlease-admin: " in said and said.count("\n") <= 3, said)
    until("the service is back",
          lambda: call("GET", "/v1/health").status == 200)


@case
def a_database_that_is_not_there_yet_is_waited_for():
    stack("api_stop")
    stack("pg_stop")
    stack("api_start")
    expect(204, call("GET", "/v1/live"))
    stack("pg_start")
    service.until("it serves", lambda: call("GET", "/v1/me").status == 200)


# ---- an agent of another version; last, because the workers restart

def other_agent(other):
    """Makes a copy of the agent with another version number."""
    with open(service.program("sandlease-agent"), "rb") as f:
        program = f.read()
    changed = program.replace(VERSION.encode() + b"\0", other.encode().ljust(
        len(VERSION) + 1, b"\0"))
    true(changed != program, "the version was found in the program")
    path = os.path.join(setting("STACK_STATE"), "bin/other-agent")
    with open(path, "wb") as f:
        f.write(changed)
    os.chmod(path, 0o755)
    return path


@case
def an_agent_of_another_version_is_a_warning_and_no_obstacle():
    ours = service.program("sandlease-agent")
    service.configure(agent_path=other_agent(OTHER))
    service.restart()
    s = create(isolation="session")
    equal(call("GET", at(s["id"], "/api/version")).json["version"], OTHER,
          "it is the other one")
    equal(execute(s["id"], "echo works"), "works\n", "it works")
    line, = [l for l in service.log("api").splitlines()
             if "agent_version" in l]
    for word in ("warn", VERSION, OTHER, "sleep and resume"):
        true(word in line, "%r is told: %s" % (word, line))
    equal(value("SELECT agent_version FROM sandbox WHERE id = :'v1'",
                s["sandboxId"]), OTHER, "the sandbox's row")
    # the advice in the log line helps
    service.configure(agent_path=ours)
    service.restart()
    expect(200, call("POST", at(s["id"], "/sleep")))
    expect(200, call("POST", at(s["id"], "/resume")))
    until("it is the new one", lambda: call(
        "GET", at(s["id"], "/api/version")).json["version"] == VERSION)


@case
def an_agent_that_does_not_tell_its_version_is_a_warning_too():
    ours = service.program("sandlease-agent")
    service.configure(agent_path=other_agent(""))
    service.restart()
    s = create(isolation="session")
    equal(execute(s["id"], "echo works"), "works\n", "it works")
    for _ in range(2):
        expect(200, call("POST", at(s["id"], "/sleep")))
        expect(200, call("POST", at(s["id"], "/resume")))
    line = [l for l in service.log("api").splitlines()
            if s["sandboxId"] in l and "agent_version" in l]
    true(line and all("warn" in l and "does not tell its version" in l
                      for l in line), "log: %r" % line)
    found = expect(200, call("GET", at(s["id"], "/events"))).json["events"]
    equal([(e["kind"], e["generation"]) for e in found
           if e["what"] == "version_unknown"], [("agent", 1)],
          "its history has it once")
    service.configure(agent_path=ours)
    service.restart()


sys.exit(run(lambda: None))
