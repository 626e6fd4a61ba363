#!/usr/bin/python3
# long: the first run builds the last release
"""upgrade.t: tests that this release replaces the last one while its sandboxes run:
nothing is drained, and the sandboxes go on with their old agent."""
import fcntl
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import expose, fetch, generation
from service import at, call, create, execute, expect, get, setting, sql, stack, until, value
from tap import case, equal, run, skip_all, true
from websocket import WebSocket

def build_release():
    """Builds the last release once, and keeps it; returns its directory."""
    commit = subprocess.run([os.path.join(service.TOP, "t/lib/last-release")],
                            capture_output=True, text=True, check=False).stdout.strip()
    if not commit:
        skip_all("there is no history to take the last release from")
    place = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                         "sandlease/releases", commit[:12])
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be building it
        if not os.path.exists(os.path.join(place, "built")):
            subprocess.run(
                "git -C '%s' archive %s | tar -xf - && autoreconf -fi && mkdir -p build &&"
                " cd build && ../configure && make -j2 && touch ../built"
                % (service.TOP, commit), shell=True, cwd=place, check=True,
                stdout=subprocess.DEVNULL, stderr=sys.stderr,
                env=dict(os.environ, PATH="/usr/lib/ccache:" + os.environ["PATH"]))
    return place


if "STACK_DIR" not in os.environ:
    OLD = build_release()
    os.environ["UPGRADE_TO"] = os.path.abspath(os.environ.get("top_builddir", "build"))
    os.environ["top_builddir"] = os.path.join(OLD, "build")
    os.execvp("bash", ["bash", os.path.join(OLD, "t/lib/stack.sh"), "with", sys.executable,
                       "-B", os.path.abspath(sys.argv[0])])
os.environ["STACK_BUILD"] = setting("UPGRADE_TO")

SHARED = create()["id"]
OWN = create(isolation="session", name="own")["id"]
HOST = expose(SHARED)
PID = execute(SHARED, "nohup sleep 86400 >/dev/null 2>&1 & echo $!").strip()
WAS = {s: generation(s) for s in (SHARED, OWN)}
# a session that sleeps during the upgrade, with its files
ASLEEP = create(isolation="session")["id"]
execute(ASLEEP, "echo kept >f")
expect(200, call("POST", at(ASLEEP, "/sleep")))


def agents(sid):
    """Returns the incarnation of the session's sandbox."""
    return value("SELECT b.incarnation FROM session s JOIN sandbox b ON b.id = s.sandbox_id"
                 " WHERE s.id = :'v1'", sid)


BOX = agents(SHARED)


@case
def the_old_programs_work_on_with_the_new_schema():
    stack("eval", "stack_copy sql &&"
          " install -m 755 $STACK_BUILD/sandlease-admin $STACK_STATE/bin/ && stack_migrate")
    equal(execute(SHARED, "echo hi"), "hi\n", "execute")
    equal(sql("SELECT DISTINCT network_max->>'mode' FROM class"), [["none"]],
          "no session gets a network by the upgrade")
    sid = create(isolation="session")["id"]
    expect(200, call("DELETE", at(sid)))


@case
def sessions_go_on_when_the_programs_are_replaced():
    stack("eval", "stack_install && api_stop; nginx_stop; stack_configure && api_start &&"
          " nginx_start")
    for sid in (SHARED, OWN):
        s = get(sid)
        equal((s["state"], s["lease"]["generation"]), ("ready", WAS[sid]), "state")
    execute(SHARED, "kill -0 " + PID)
    equal(fetch(HOST).status, 200, "its preview")
    equal(agents(SHARED), BOX, "the same life of the sandbox")


@case
def a_sandbox_with_old_agents_takes_new_sessions():
    sid = create(name="new")["id"]
    equal(agents(sid), BOX, "it shares the sandbox that is there")
    equal(execute(sid, "echo hi"), "hi\n", "execute")
    expect(200, call("PATCH", at(sid), {"env": {"A": "1"}}))
    equal(execute(sid, "echo $A"), "1\n", "env")
    equal(fetch(expose(sid)).status, 200, "a port")
    expect(204, call("DELETE", at(sid, "/ports/8000")))
    expect(200, call("POST", at(sid, "/interrupt")))
    expect(200, call("POST", at(sid, "/sleep")))
    equal(get(sid)["state"], "asleep", "sleep")
    expect(200, call("POST", at(sid, "/resume")))
    equal(execute(sid, "echo hi"), "hi\n", "execute, resumed")
    equal(agents(sid), BOX, "still in the same sandbox")
    expect(200, call("DELETE", at(sid)))
    equal(get(sid)["state"], "deleted", "delete")


@case
def the_reaper_has_nothing_to_complain_of():
    status, text, _ = service.reap()
    equal(status, 0, text)
    for sid in (SHARED, OWN):
        equal(get(sid)["state"], "ready", "state after a pass")


@case
def old_sessions_sleep_and_come_back_with_the_new_agent():
    for sid in (OWN, SHARED):
        expect(200, call("POST", at(sid, "/sleep")))
        equal(get(sid)["state"], "asleep", "state")
    # an idle shared sandbox is stopped after its grace
    sql("UPDATE sandbox SET idle_since = idle_since - interval '1 day'")
    equal(service.reap()[0], 0, "a pass")
    for sid in (OWN, SHARED):
        execute(sid, "true")
        s = WebSocket(("127.0.0.1", service.port()), at(sid, "/ws"),
                      {"Authorization": "Bearer " + setting("SANDLEASE_API_KEY")})
        s.close()
    true(agents(SHARED) != BOX, "a new life of the sandbox")


@case
def what_slept_through_it_wakes_up():
    equal(execute(ASLEEP, "cat f"), "kept\n", "its files")


@case
def everything_can_be_deleted():
    for sid in (SHARED, OWN, ASLEEP):
        expect(200, call("DELETE", at(sid)))
    until("nothing is left", lambda: service.reap()[0] == 0 and value(
        "SELECT count(*) FROM lease WHERE state <> 'none'") == "0")


run(lambda: None)
