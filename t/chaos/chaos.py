"""chaos.py: runs clients, a monkey and a watcher on a stack of its own (run).

Afterwards, with faults off and after two passes of the reaper, rows and reality
must agree, and everything that a client was promised must be there."""
import argparse
import json
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import audit
import clients
import faults
import monkey
import service

PERIOD = 1.0  # seconds between two passes of the reaper


class Sampler(threading.Thread):
    """Samples how long sessions stay in a state that must pass."""

    def __init__(self):
        super().__init__(daemon=True)  # ends with the run, even if judge() fails
        self.since = {}
        self.longest = 0.0
        self.whose = ""
        self.over = threading.Event()

    def look(self):
        rows = service.sql(
            "SELECT s.id || ' ' || s.state || ' ' || l.generation"
            " FROM session s JOIN lease l ON l.session_id = s.id"
            " WHERE s.state IN ('initializing', 'sleeping', 'deleting')")
        now = time.monotonic()
        self.since = {r[0]: self.since.get(r[0], now) for r in rows}
        for what, since in self.since.items():
            if now - since > self.longest:
                self.longest, self.whose = now - since, what

    def run(self):
        while not self.over.wait(PERIOD):
            try:
                self.look()
            except AssertionError:
                pass  # PostgreSQL is down


def reap_now_and_then(over):
    while not over.wait(PERIOD):
        faults.reaper()


def lease_stamp():
    """Another text after each change of a lease."""
    return service.value("SELECT count(*) || '/' || max(changed_at) FROM lease")


def quiet(seconds=300):  # wait: against hanging
    """Waits until no lease changes any more: workers that were stopped or hung
    have then finished their call."""
    end = time.monotonic() + seconds
    last = lease_stamp()
    while time.monotonic() < end:
        time.sleep(2)  # wait: to return too early is harmless, two passes follow
        now = lease_stamp()
        if now == last:
            return
        last = now


def two_passes():
    for _ in range(2):
        faults.shift_time()
        faults.reaper()


def audit_at_rest():
    """What the audit finds after two passes, if no lease changes meanwhile.  An execution
    that is due again starts its session by itself, and a start between the reading of the
    rows and that of the processes looks like a leak."""
    for _ in range(10):
        quiet()
        two_passes()
        before = lease_stamp()
        found = audit.everything()
        if lease_stamp() == before:
            return found
        print("a lease changed during the audit: once more", flush=True)
    return found


def delete_all(ledger):
    """Deletes every session that has a row, also those that no client knows.
    The key is found by the tenant and the user of the row."""
    client = clients.Client(ledger)
    keys = {json.dumps(clients_of(k)): k for k in ledger.keys}
    for sid, tenant, user in service.sql(
            "SELECT id, tenant, user_id FROM session WHERE state <> 'deleted'"):
        key = keys.get(json.dumps([tenant, user]))
        if key:
            client.call("DELETE", service.at(sid), key)
    client.close()


def retire_all():
    """Shifts time so that every shared sandbox has been idle long enough."""
    service.sql("UPDATE sandbox SET idle_since = clock_timestamp()"
                " - interval '1 hour' WHERE state IN ('creating', 'running')")


def clients_of(key):
    me = service.call("GET", "/v1/me", key=key).json
    return [me.get("tenant") or me.get("org"), me.get("user")]


def show(found):
    for kind, lines in found.items():
        for line in lines[:20]:
            print("%s: %s" % (kind, line), flush=True)


def histories(sessions):
    """Prints the events of sessions of which something is wrong."""
    for sid in list(sessions)[:5]:
        for row in service.sql(
                "SELECT at::time || ' ' || kind || ' ' || what || ' gen='"
                " || coalesce(generation::text, '-') || ' ' || detail"
                " FROM event WHERE session_id = :'v1' ORDER BY id", sid):
            print("history: %s %s" % (sid, row[0][:300]), flush=True)


def judge(ledger, watch, sampler, keeper):
    """The problems that were found, by kind."""
    found = audit_at_rest()
    show(found)
    histories({name for line in found["leaks"] for name in re.findall(r"'id': '([a-z0-9]{20})'", line)})
    sampler.over.set()
    checked = clients.verify(ledger)
    print("%d sessions that were acknowledged and not deleted were asked for"
          " their files" % checked, flush=True)
    histories(sid for sid, _ in ledger.violations)
    delete_all(ledger)
    two_passes()
    service.admin("drain")  # ends the warm pool
    retire_all()
    two_passes()
    for kind, lines in audit.in_the_end().items():
        fresh = ["in the end: " + l for l in lines]
        show({kind: fresh})
        found[kind] += fresh
    found["counters"] = [l for l in service.admin("org", "recount")
                         .splitlines() if " was " in l]
    show({"counters": found["counters"]})
    doubles, samples, seen = watch.end()
    found["doubles"] += doubles
    show({"doubles": doubles})
    keeper.update(samples=samples, wrappers=seen, checked=checked)
    return found


def run(options):
    keys = [service.new_key("org%d" % (n % 3), "user%d" % n)
            for n in range(6)]
    ledger = clients.Ledger(keys)
    watch, sampler = faults.Watch(), Sampler()
    over = threading.Event()
    reaper = threading.Thread(target=reap_now_and_then, args=(over,))
    faults.provider()
    m = monkey.Monkey(options.seed, options.seconds, options.gap,
                      options.pause)
    began = time.monotonic()
    crowd = clients.start(ledger, options.clients, options.seed)
    reaper.start()
    sampler.start()
    strikes = threading.Thread(target=m.run, args=(over,))
    strikes.start()
    while time.monotonic() < began + options.seconds:
        # wait: the caller chose the length of the run
        time.sleep(min(5, max(0.1, began + options.seconds
                              - time.monotonic())))
        print("t=%d creates=%d faults=%d calls=%d" % (
            time.monotonic() - began, ledger.counts.get("creates", 0),
            sum(m.counts.values()), ledger.counts.get("calls", 0)),
            flush=True)
    strikes.join()
    m.end()
    ledger.stop.set()
    for thread in crowd:
        thread.join()
    over.set()
    reaper.join()
    took = time.monotonic() - began
    more = {}
    found = judge(ledger, watch, sampler, more)
    sampler.join()
    return summarise(options, ledger, m, sampler, found, took, more)


def summarise(options, ledger, m, sampler, found, took, more):
    summary = {
        "seed": options.seed, "seconds": options.seconds,
        "creates": ledger.counts.get("creates", 0),
        "createsPerSecond": round(ledger.counts.get("creates", 0) / took, 1),
        "calls": ledger.counts.get("calls", 0),
        "noAnswer": ledger.counts.get("no answer", 0),
        "deletes": ledger.counts.get("deletes", 0),
        "tasks": ledger.counts.get("tasks", 0),
        "tasksLost": ledger.counts.get("tasks lost", 0),
        "tasksNotKept": ledger.counts.get("tasks not kept", 0),
        "faults": m.counts,
        "leaks": len(found["leaks"]),
        "doubleOwners": len(found["doubles"]),
        "missing": len(found["missing"]),
        "stuck": len(found["stuck"]),
        "untold": len(found["untold"]),
        "countersWrong": len(found["counters"]),
        "lost": len(ledger.violations),
        "longestStuckSeconds": round(sampler.longest, 1),
        "longestStuck": sampler.whose,
        "kept": more["checked"], "samples": more["samples"],
        "wrappersSeen": more["wrappers"],
        "warmHits": int(service.value("SELECT last_value FROM warm_hits")),
    }
    summary["ok"] = not any(summary[k] for k in (
        "leaks", "doubleOwners", "missing", "stuck", "untold", "lost",
        "countersWrong")) \
        and all(m.counts.values()) and summary["creates"] > 0 \
        and (summary["warmHits"] > 0) == (service.setting("STACK_WARM") != "0")
    return summary


def main():
    parser = argparse.ArgumentParser(prog="chaos")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", default=str(int(time.time())))
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--gap", type=float, default=1.2,
                        help="seconds between two faults")
    parser.add_argument("--pause", type=float, default=8,
                        help="seconds a process is stopped")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    print("seed %s" % options.seed, flush=True)
    summary = run(options)
    for name, value in summary.items():
        print("%-20s %s" % (name, json.dumps(value) if isinstance(
            value, dict) else value), flush=True)
    os.makedirs(os.path.dirname(options.out), exist_ok=True)
    with open(options.out, "w", encoding="utf-8") as f:
        json.dump(summary, f, indent=2)
        f.write("\n")
    sys.exit(0 if summary["ok"] else 1)


if __name__ == "__main__":
    main()
