"""pool.py: a service with a warm pool, for tests; imported before the service begins."""
import json
import os

MEMBERS = 3
os.environ["STACK_WARM"] = str(MEMBERS)
import fcgi_client  # noqa: E402
import service  # noqa: E402
from service import at, create, sql, until  # noqa: E402
from tap import equal, true  # noqa: E402

OWN = {"isolation": "session", "network": {"mode": "none"}}


def members(where="state = 'ready'"):
    return [row[0] for row in sql("SELECT session_id FROM warm WHERE %s ORDER BY 1" % where)]


def full():
    until("the pool is full", lambda: len(members()) == MEMBERS)


def counts():
    return [int(n) for n in sql("SELECT h.last_value, m.last_value"
                                " FROM warm_hits h, warm_misses m")[0]]


def steps(sid):
    return dict(sql("SELECT what, detail->>'how' FROM event"
                    " WHERE session_id = :'v1' AND kind = 'step'", sid))


def new(key=None, **more):
    return create(key=key, **OWN, **more)


def claimed(**more):
    """Creates a session; it must have taken a member."""
    full()
    before, hits = members(), counts()[0]
    s = new(**more)
    true(s["id"] in before, "its id is a member's")
    equal(counts()[0], hits + 1, "hits")
    return s


def in_member(sid, command):
    """Runs a command in a member, past the service, which knows no such session."""
    path = at(sid, "/api/execute")
    body = json.dumps({"command": command}).encode()
    r = fcgi_client.Request("%s/run/s/%s.1.sock" % (service.setting("STACK_RUN"), sid), {
        "REQUEST_METHOD": "POST", "REQUEST_URI": path, "SL_PATH": path, "SL_SESSION": sid,
        "QUERY_STRING": "", "SERVER_PROTOCOL": "HTTP/1.1", "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)), "SL_REQUEST_ID": "0123456789abcdef"}, body)
    equal(r.all().json()["exitCode"], 0, command)
