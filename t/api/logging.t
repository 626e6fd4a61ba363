#!/usr/bin/python3
"""logging.t: tests the content of the logs, in the configured format and
level."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import at, call, create, execute, expect, setting, sql, until
from tap import Skip, case, equal, run, true

service.begin("log_format = json\nlog_level = info")

LEVELS = ("error", "warn", "info", "debug")
SINCE = {"api": 0}


def raw_log():
    """Returns the log of the service since the last fresh()."""
    path = os.path.join(setting("STACK_STATE"), "log/api.log")
    with open(path, "rb") as f:
        f.seek(SINCE["api"])
        return f.read()


def fresh(**settings):
    service.configure(**settings)
    service.stack("api_stop")
    SINCE["api"] = os.stat(os.path.join(setting("STACK_STATE"),
                                        "log/api.log")).st_size
    service.stack("api_start")


def parsed(raw):
    lines = [json.loads(line.decode("utf-8")) for line in raw.splitlines()]
    for line in lines:
        true({"at", "level", "program", "event", "msg"} <= set(line) and
             line["level"] in LEVELS, "fields: %r" % line)
    return lines


def agent_log(sid):
    return expect(200, call("GET", at(sid, "/agent-log"))).body


@case
def json_lines_are_json():
    r = call("GET", "/v1/sessions", headers={"X-Trace-Id": "my-trace"})
    sid = create(isolation="session")["id"]
    call("GET", at("%ff%22%5c%0a%1b", "/ports"))
    call("GET", "/v1/" + "%e2%82%ac" * 300)
    lines = parsed(raw_log())
    request, = [l for l in lines if l.get("request") ==
                r.header("X-Request-Id")]
    equal((request["program"], request["event"], request["level"]),
          ("sandlease-api", "request", "info"), "the request's line")
    true("GET /v1/sessions 200" in request["msg"], request["msg"])
    agent = parsed(agent_log(sid))
    true({"sandlease-init", "sandlease-wrapper"} <=
         {l["program"] for l in agent}, "the agent's log too: %r" % agent)


@case
def the_agent_is_told_by_its_environment():
    sid = create(isolation="session")["id"]
    pid = service.init_of(service.job(sid, "9191.%d" % os.getpid())[0])
    found = {}
    for child in service.descendants(pid):
        try:
            with open("/proc/%d/environ" % child, "rb") as f:
                env = dict(e.split(b"=", 1) for e in f.read().split(b"\0")
                           if b"=" in e)
        except PermissionError as e:
            raise Skip("another process's environment: %s" % e)
        if b"SANDBOX_LOG_FORMAT" in env:
            found[env[b"SANDBOX_LOG_LEVEL"], env[b"SANDBOX_LOG_FORMAT"]] = 1
    equal(list(found), [(b"info", b"json")], "level and format")


@case
def a_level_leaves_out_what_is_below_it():
    for level in LEVELS:
        fresh(log_level=level)
        sid = create(isolation="session")["id"]
        execute(sid, "true")
        until("a failing call is logged", lambda: call(
            "GET", "/v1/nothing").status == 404)
        allowed = set(LEVELS[:LEVELS.index(level) + 1])
        seen = {l["level"] for l in parsed(raw_log())}
        true(seen <= allowed, "%s: %r" % (level, seen))
        true(level in ("error", "warn") or level in seen,
             "%s is there: %r" % (level, seen))
        seen = {l["level"] for l in parsed(agent_log(sid))}
        true(seen <= allowed, "the agent's, %s: %r" % (level, seen))
        true(level in ("error", "warn") or level in seen,
             "the agent's, %s is there: %r" % (level, seen))
        expect(200, call("DELETE", at(sid)))


@case
def kv_is_the_other_format():
    fresh(log_format="kv", log_level="info")
    sid = create(isolation="session")["id"]
    for raw in (raw_log(), agent_log(sid)):
        for line in raw.decode().splitlines():
            true(line.startswith('at="') and ' level="' in line and
                 ' event="' in line, line)


@case
def the_reaper_and_the_tool_follow_the_settings():
    service.configure(log_format="json", log_level="info")
    sid = create()["id"]
    sql("INSERT INTO sandbox (id, tenant, class) VALUES"
        " ('not-an-id', 'demo', 'shared')")
    expect(200, call("POST", at(sid, "/sleep")))
    sql("UPDATE session SET sandbox_id = 'not-an-id', state = 'deleting'"
        " WHERE id = :'v1'", sid)
    said = service.run("sandlease-reaper").stderr
    true(any(l["program"] == "sandlease-reaper" and "not-an-id" in l["msg"]
             for l in parsed(said)), "the reaper's log: %r" % said)


@case
def what_is_refused_on_purpose_is_no_error():
    fresh(log_format="json", log_level="info")
    sid = create()["id"]
    expect(200, call("POST", at(sid, "/sleep")))
    service.admin("org", "set", "demo", "--max-sessions", "1")
    service.admin("drain")
    try:
        expect(503, call("POST", "/v1/sessions"))
        expect(503, call("POST", at(sid, "/resume")))
        expect(503, call("GET", at(sid, "/api/ping")))
        service.admin("undrain")
        expect(429, call("POST", "/v1/sessions"))
        expect(409, call("POST", at(sid, "/extend")))
    finally:
        service.admin("undrain")
        service.admin("org", "set", "demo", "--max-sessions", "0")
    lines = parsed(raw_log())
    equal([l for l in lines if l["level"] == "error"], [], "errors")
    true([l for l in lines if "draining" in l["msg"]], "but it is told")


@case
def a_trace_id_is_kept_with_events():
    r = call("POST", "/v1/sessions", {}, headers={"X-Trace-Id": "trace-77"})
    sid = expect(201, r).json["id"]
    equal(sql("SELECT DISTINCT trace_id FROM event WHERE session_id = :'v1'",
              sid), [["trace-77"]], "events")
    r = call("GET", "/v1/nothing", headers={"X-Trace-Id": "trace-78"})
    equal(r.json["traceId"], "trace-78", "problems")


@case
def an_agents_log_is_capped():
    fresh(agent_log_kb="16", log_level="debug")
    sid = create(isolation="session")["id"]
    for _ in range(150):
        call("GET", at(sid, "/api/" + "x" * 180))
    expect(200, call("POST", at(sid, "/sleep")))
    expect(200, call("POST", at(sid, "/resume")))
    box = os.path.join(setting("STACK_STATE"), "data/box", sql(
        "SELECT sandbox_id FROM session WHERE id = :'v1'", sid)[0][0])
    size = sum(os.stat(os.path.join(box, name)).st_size
               for name in os.listdir(box) if name.startswith("agent.log"))
    true(size < 64 * 1024, "it is cut when it is opened: %d bytes" % size)
    true(len(agent_log(sid)) <= 64 * 1024, "and shown in part")


@case
def bad_settings_are_refused_with_their_place():
    for name, value in (("log_level", "loud"), ("log_format", "xml"),
                        ("api_workers", "0"), ("no_such_setting", "1")):
        before = open(setting("SANDLEASE_CONFIG"), encoding="utf-8").read()
        service.configure(**{name: value})
        for program in ("sandlease-api", "sandlease-reaper"):
            done = service.run(program)
            equal(done.returncode, 1, "%s with %s" % (program, name))
            true(name.encode() in done.stderr and b"sandlease.conf:" in
                 done.stderr, "words: %r" % done.stderr)
        with open(setting("SANDLEASE_CONFIG"), "w", encoding="utf-8") as f:
            f.write(before)


sys.exit(run(lambda: None))
