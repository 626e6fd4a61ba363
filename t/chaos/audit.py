"""audit.py: compares the rows with processes, files and cgroups, both ways:
things without a row, and rows without their thing.  Reads only."""
import glob
import os
import re
import socket
import subprocess

import faults
import service

SETTLED = ("ready", "asleep", "deleted", "failed", "lost")


class World:
    """Everything that exists of one stack, read once."""

    def __init__(self):
        self.sessions = {r[0]: dict(zip(
            ("id", "state", "sandbox", "lease", "generation", "instance",
             "frozen", "started", "reason"), r))
            for r in service.sql(
                "SELECT l.session_id, coalesce(s.state, 'without metadata'),"
                " coalesce(s.sandbox_id, ''), l.state, l.generation,"
                " coalesce(l.instance, ''), s.suspended_at IS NOT NULL,"
                " s.started_at IS NOT NULL,"
                " concat_ws('; ', s.reason, l.reason, l.last_error)"
                " FROM lease l LEFT JOIN session s ON s.id = l.session_id")}
        self.sandboxes = {r[0]: dict(zip(("id", "state", "incarnation",
                                          "used"), r))
                          for r in service.sql(
            "SELECT id, state, incarnation, EXISTS (SELECT FROM session s"
            " WHERE s.sandbox_id = b.id AND s.state <> 'deleted')"
            " FROM sandbox b")}
        self.add_members()
        # the relays of frozen sessions can neither confirm nor serve
        self.ports = [dict(zip(("session", "generation", "port", "pending",
                                "closing"), r)) for r in service.sql(
            "SELECT session_id, generation, port, pending, closing"
            " FROM port_relays() WHERE stopped OR NOT suspended")]
        self.bounces = [r[0] for r in service.sql(
            "SELECT id FROM session WHERE bounce_at IS NOT NULL"
            " AND suspended_at IS NULL")]
        self.data = os.path.join(service.setting("STACK_STATE"), "data")
        self.run = os.path.join(service.setting("STACK_RUN"), "run")
        self.inits = list(inits())
        self.wrappers = [w for w in wrappers() if w["session"]
                         in self.sessions or in_our_groups(w["pid"])]

    def add_members(self):
        """A member of the warm pool is as a session and its sandbox should be."""
        for sid, sandbox, incarnation, instance, state in service.sql(
                "SELECT session_id, sandbox_id, incarnation, instance, state FROM warm"):
            self.sessions[sid] = {
                "id": sid, "state": state, "sandbox": sandbox, "lease": "owns_wrapper",
                "generation": "1", "instance": instance, "frozen": "f", "started": "f",
                "reason": "a member of the warm pool"}
            self.sandboxes[sandbox] = {
                "id": sandbox, "state": "running", "incarnation": incarnation, "used": "t"}


def words(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            return f.read().decode(errors="replace").split("\0")
    except OSError:
        return []


def pids():
    return [int(p) for p in os.listdir("/proc") if p.isdigit()]


def alive(pid):
    stat = service.stat(pid)
    return stat is not None and stat[1] not in "ZX"


def group_dirs():
    """The directories of the sandboxes' cgroups, one per controller."""
    name = os.environ.get("CGROUP", "none")
    if name == "none":
        return []
    return [d for d in glob.glob("/sys/fs/cgroup/%s/box" % name)
            + glob.glob("/sys/fs/cgroup/*/%s/box" % name)
            if os.path.isdir(d)]


def in_our_groups(pid):
    try:
        with open("/proc/%d/cgroup" % pid, encoding="utf-8") as f:
            return "/%s/" % os.environ.get("CGROUP", "none") in f.read()
    except OSError:
        return False


def inits():
    """Every init of our sandboxes: sandbox, incarnation, pid, bwrap's pid."""
    lock = os.path.join(service.setting("STACK_STATE"), "data/box/")
    for pid in pids():
        w = words(pid)
        if len(w) < 2 or w[1] != "init" or "--sandbox" not in w \
                or not alive(pid):
            continue
        mine = in_our_groups(pid) or any(
            to.startswith(lock) for to in links(pid))
        if mine:
            yield {"sandbox": w[w.index("--sandbox") + 1], "pid": pid,
                   "incarnation": w[w.index("--incarnation") + 1],
                   "bwrap": service.bwrap_of(pid)}


def links(pid):
    """The targets of the process's descriptors.  A descriptor that is closed
    during the look is left out."""
    out = []
    for f in glob.glob("/proc/%d/fd/*" % pid):
        try:
            out.append(os.readlink(f))
        except OSError:
            pass
    return out


def wrappers():
    """All wrappers on this machine, those of other stacks included."""
    text = subprocess.run([faults.WATCH, "--once"], text=True, check=True,
                          capture_output=True).stdout
    for line in text.splitlines():
        w = line.split()
        yield {"session": w[0], "generation": w[1], "instance": w[2],
               "pid": int(w[3]), "cell": " ".join(w[4:])}


def owned(w, session, generation):
    s = w.sessions.get(session)
    return s is not None and s["lease"] == "owns_wrapper" \
        and s["generation"] == generation


def runs(w, sandbox, incarnation=None):
    b = w.sandboxes.get(sandbox)
    return b is not None and b["state"] in ("creating", "running") \
        and incarnation in (None, b["incarnation"])


# ---- things without a row

def process_leaks(w):
    for i in w.inits:
        if not runs(w, i["sandbox"], i["incarnation"]):
            yield "process %d: init of sandbox %s, incarnation %s: %r" % (
                i["pid"], i["sandbox"], i["incarnation"],
                w.sandboxes.get(i["sandbox"]))
    for p in w.wrappers:
        if not owned(w, p["session"], p["generation"]):
            yield "process %d: wrapper of session %s, generation %s: %r" % (
                p["pid"], p["session"], p["generation"],
                w.sessions.get(p["session"]))


def group_leaks(w):
    for box in group_dirs():
        for name in os.listdir(box):
            if not os.path.isdir(os.path.join(box, name)):
                continue
            if not runs(w, name):
                yield "cgroup %s/%s: %r" % (box, name, w.sandboxes.get(name))
                continue
            for cell in glob.glob(os.path.join(box, name, "s-*")):
                sid = os.path.basename(cell)[2:]
                s = w.sessions.get(sid)
                if s is None or s["lease"] == "none":
                    yield "cgroup %s: %r" % (cell, s)


def directory_leaks(w):
    storage = os.path.join(w.data, "storage")
    for sandbox in names(storage):
        if sandbox == ".id":  # belongs to the storage itself
            continue
        if sandbox.startswith("ses-") and \
                w.sandboxes.get(sandbox, {"used": "f"})["used"] != "t":
            yield "directory storage/%s" % sandbox
        there = set(names(os.path.join(storage, sandbox)))
        for sid in there:
            # .copy-ID: a snapshot is being copied for session ID, which has
            # no directory of its own until the copy is complete
            whose = sid.removeprefix(".copy-")
            s = w.sessions.get(whose)
            if s is None or s["state"] in ("deleted", "lost") \
                    or (whose != sid and whose in there):
                yield "directory storage/%s/%s: %r" % (sandbox, sid, s)
    # a tombstone goes in an hour, whether or not a row is left
    for entry in names(os.path.join(w.data, "box/.gone")):
        if not os.path.isdir(os.path.join(w.data, "box", entry.partition(".")[2])):
            yield "tombstone box/.gone/%s: no box" % entry
    for sandbox in names(os.path.join(w.data, "box")):
        if sandbox == ".gone":
            continue
        record = os.path.join(w.data, "box", sandbox, "incarnation")
        try:
            with open(record, encoding="utf-8") as f:
                text = (f.read().splitlines() or [""])[-1]
        except FileNotFoundError:
            text = ""
        if sandbox not in w.sandboxes and '"destroyed"' in text:
            continue  # a member of the warm pool, or a crash of PostgreSQL lost its row
        if sandbox not in w.sandboxes:
            yield "directory box/%s: no row" % sandbox
        elif '"live"' in text and not runs(w, sandbox):
            yield "directory box/%s: on record as live: %r" % (
                sandbox, w.sandboxes[sandbox])
    for name in names(os.path.join(w.data, "trash")):
        yield "directory trash/%s" % name
    for name in names(os.path.join(w.run, "f")):
        yield "note of a frozen cell f/%s" % name


def snapshot_leaks(w):
    rows = dict(service.sql("SELECT id, state FROM snapshot"))
    for path in glob.glob(os.path.join(w.data, "snapshots", "*", "*")):
        if rows.get(os.path.basename(path)) != "ready":
            yield "directory %s: %r" % (path, rows.get(os.path.basename(path)))
    for sid, state in rows.items():
        if state == "ready" and not glob.glob(
                os.path.join(w.data, "snapshots", "*", sid, "files")):
            yield "snapshot %s has no files" % sid
        if state not in ("ready", "failed"):
            yield "snapshot %s is still %s" % (sid, state)


def names(directory):
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []


def socket_leaks(w):
    for name in names(os.path.join(w.run, "s")):
        m = re.match(r"([a-z0-9]{20})\.(\d+)\.", name)
        if m is None or not owned(w, m.group(1), m.group(2)):
            yield "socket s/%s: %r" % (name, m and w.sessions.get(m.group(1)))
    live = {b["incarnation"] for b in w.sandboxes.values()
            if b["state"] in ("creating", "running")}
    for name in names(os.path.join(w.run, "c")):
        if name.rsplit(".", 1)[-1] not in live:
            yield "socket c/%s" % name


def relay_leaks(w):
    """Relays that no row wants."""
    wanted = {"%(session)s.%(generation)s.%(port)s.sock" % p for p in w.ports}
    for name in names(os.path.join(w.run, "s")):
        m = re.fullmatch(r"([a-z0-9]{20})\.\d+\.\d+\.sock", name)
        s = m and w.sessions.get(m.group(1))
        if s and s["state"] == "ready" and name not in wanted:
            yield "relay s/%s: %r" % (name, s)


def leaks(w):
    for part in (process_leaks, group_leaks, directory_leaks, snapshot_leaks,
                 socket_leaks, relay_leaks):
        yield from part(w)


# ---- rows without their thing

def listens(path):
    with socket.socket(socket.AF_UNIX) as s:
        try:
            s.connect(path)
        except OSError:
            return False
    return True


def missing(w):
    for p in w.ports:
        name = "%(session)s.%(generation)s.%(port)s.sock" % p
        if w.sessions[p["session"]]["state"] == "ready" and \
                p["closing"] == "f" and \
                not listens(os.path.join(w.run, "s", name)):
            yield "relay s/%s is on paper only: %r" % (name, p)
    there = {i["incarnation"] for i in w.inits}
    for b in w.sandboxes.values():
        if b["state"] == "running" and b["incarnation"] not in there:
            yield "sandbox %s runs on paper only: %r %r %s" % (
                b["id"], b, [s for s in w.sessions.values()
                             if s["sandbox"] == b["id"]], explain(w, b))
    cells = {(p["session"], p["generation"]) for p in w.wrappers}
    for s in w.sessions.values():
        if (s["state"] == "ready" or s["frozen"] == "t") and \
                (s["id"], s["generation"]) not in cells:
            yield "session %s has a wrapper on paper only: %r" % (s["id"], s)
        # a session has no files to lose before its first start was proved
        if s["started"] == "t" and s["state"] in ("ready", "asleep") and \
                not os.path.isdir(
                os.path.join(w.data, "storage", s["sandbox"], s["id"])):
            yield "session %s has no files: %r" % (s["id"], s)


def doubles(w):
    seen = {}
    for p in w.wrappers:
        other = seen.setdefault(p["session"], p)
        if other["cell"] != p["cell"]:
            yield "session %s has two wrappers: %r %r" % (
                p["session"], other, p)


def stuck(w):
    for s in w.sessions.values():
        if s["state"] not in SETTLED or s["lease"] not in (
                "none", "owns_wrapper"):
            yield "session %s is stuck: %r" % (s["id"], s)
        elif s["lease"] == "owns_wrapper" and s["state"] != "ready" \
                and s["frozen"] != "t":
            yield "session %s owns a wrapper and is %s" % (s["id"], s["state"])
        elif "disk_low" in s["reason"]:
            yield "session %s is frozen with room on the disk" % s["id"]
    for p in w.ports:
        if p["closing"] == "t" or p["pending"] == "t" and \
                w.sessions[p["session"]]["state"] == "ready":
            yield "port %s of %s is stuck: %r" % (p["port"], p["session"], p)
    for sid in w.bounces:
        yield "session %s keeps WebSockets of a revoked key" % sid
    for b in w.sandboxes.values():
        if b["state"] in ("creating", "destroying"):
            yield "sandbox %s is stuck: %r %s" % (b["id"], b, explain(w, b))


def explain(w, b):
    """The processes and records of a sandbox, for the person who debugs it."""
    out = []
    for box in group_dirs()[:1]:
        for f in glob.glob(os.path.join(box, b["id"], "**/cgroup.procs"),
                           recursive=True):
            with open(f, encoding="utf-8") as procs:
                out += ["%s %r %r" % (p, service.stat(int(p)),
                                      " ".join(words(int(p)))[:80])
                        for p in procs.read().split()]
    for f in glob.glob(os.path.join(w.data, "box", b["id"], "*")):
        with open(f, encoding="utf-8", errors="replace") as text:
            out.append("%s: %s" % (os.path.basename(f), text.read()[-300:]))
    return "; ".join(out)


def everything():
    """{"leaks": [...], "missing": [...], "doubles": [...], "stuck": [...],
    "untold": [...]}"""
    w = World()
    return {"leaks": list(leaks(w)), "missing": list(missing(w)),
            "doubles": list(doubles(w)), "stuck": list(stuck(w)),
            "untold": service.untold()}


# ---- when every session has been deleted and every sandbox retired

def in_the_end(seconds=service.PATIENCE):
    """everything(), and no process of a sandbox may be left after so many
    seconds."""
    found = everything()
    found["stuck"] += ["session %s is %s, not deleted: %s" % tuple(row)
                       for row in service.sql(
        "SELECT id, state, coalesce(reason, '') FROM session"
        " WHERE state <> 'deleted'")]
    # a worker that looks at a sandbox holds its lock for a moment
    faults.wait_until(lambda: not people(), seconds)
    found["leaks"] += ["process %d: %r %s" % (
        pid, service.stat(pid), " ".join(words(pid))[:120])
        for pid in people()]
    return found


def people():
    """The pids in our sandboxes: by the provider's notes, locks and cgroups."""
    found = set(service.stack("stack_sandbox_pids", check=False).split())
    for box in group_dirs():
        for f in glob.glob(os.path.join(box, "**/cgroup.procs"),
                           recursive=True):
            try:
                with open(f, encoding="utf-8") as procs:
                    found.update(procs.read().split())
            except OSError:
                pass  # the group was removed meanwhile
    return sorted(map(int, found))
