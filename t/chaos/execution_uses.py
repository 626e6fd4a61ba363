"""execution_uses.py: use cases of executions; see uses.py."""
import audit
import faults
import service
from service import at, call, execute, expect, sql, until
from uses import Subject, ask, name, session, use


@use
def run_an_execution():
    s = session(lambda s: ask("POST", at(s.sid, "/executions?wait=10"),
                              {"command": "echo run >>/workspace/runs; echo said; echo x >x",
                               "collect": ["x"]}))
    s.runs = True
    return s


@use
def run_with_a_session_of_its_own():
    task = name()
    s = Subject(lambda s: ask("POST", "/v1/executions?wait=10", {
        "agentType": "VALIDATION", "taskId": task, "command": "echo said; echo x >x",
        "collect": ["x"], "network": {"mode": "none"}}))
    s.task = task
    s.goes = True
    return s


@use
def cancel_an_execution():
    def act(s):
        x = ask("POST", at(s.sid, "/executions"), {"command": "sleep 1000"})
        if x is not None and x.status == 202:
            s.cancelled.append(x.json["id"])
            ask("DELETE", "/v1/executions/" + x.json["id"])
    s = session(act)
    s.cancelled = []
    return s


@use
def end_an_execution_whose_wrapper_is_silent():
    """Its first attempt stops the wrapper; another one, after a crash, does not."""
    def act(s):
        sql("UPDATE execution SET state = 'running', given_at = now() - interval '1 h',"
            " started_at = now() - interval '1 h', looked_at = NULL WHERE id = :'v1'", s.overdue)
        faults.reaper()
    s = session(act)
    s.overdue = call("POST", at(s.sid, "/executions"), {
        "command": "[ -e once ] || { touch once; kill -STOP 2; sleep 1000; }",
        "limits": {"wallSeconds": 60}}).json["id"]
    wrapper = next(w["pid"] for w in audit.wrappers() if w["session"] == s.sid)

    def is_stopped():
        with open("/proc/%d/stat" % wrapper, encoding="ascii", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "T"
    service.until("its wrapper is stopped", is_stopped)
    return s


@use
def pass_over_a_trigger_that_is_due():
    def act(s):
        faults.reaper()
        for row in sql("SELECT id FROM execution WHERE task_id = :'v1'", s.task):
            ask("GET", "/v1/executions/%s?wait=10" % row[0])
    s = Subject(act)
    s.goes = True
    s.trigger = expect(201, call("POST", "/v1/triggers", {
        "name": name(), "schedule": "@yearly", "run": {
            "agentType": "VALIDATION", "command": "echo said; echo x >x", "collect": ["x"],
            "network": {"mode": "none"}}})).json["id"]
    s.task = sql("UPDATE org_trigger SET next_at = clock_timestamp() - interval '1 s'"
                 " WHERE id = :'v1' RETURNING trigger_task(id, next_at)", s.trigger)[0][0]
    return s


@use
def pass_over_a_session_that_asks_for_a_key():
    s = session(lambda _: faults.reaper())
    s.alias = name()
    execute(s.sid, "/sandlease-agent key " + s.alias)
    until("the first call is recorded", lambda: sql(
        "SELECT 1 FROM lease WHERE session_id = :'v1' AND accepted_generation = generation",
        s.sid))
    sql("UPDATE lease SET keep_warm_until = clock_timestamp() - interval '1 hour'"
        " WHERE session_id = :'v1'", s.sid)
    return s
