"""disk_checks.py: tests what the service does when a disk is really filled, by
tenants or by another program."""
import errno
import os
import shutil
import subprocess

from disk_world import (DISK_MB, GHOST, HIDDEN_WRITER, LOW_MB, MB, MIN_MB,
                        OURS, SOON_MB, ballast, data, fill, free_mb, inodes,
                        leave, postgres_lives, refused, resize, session, size,
                        size_that_stays, state, strangers, unfill, writer)
import service
from service import (at, call, create, execute, expect, get, reap, sql, until,
                     value)
from tap import case, equal, true


@case
def with_room_a_session_is_admitted_and_says_who_holds_its_limit():
    s = session(isolation="session")
    equal(s["limits"]["diskMb"], {"value": 4096, "by": "accounting"}, "limit")


@case
def what_is_stale_is_removed_and_the_session_admitted():
    s = session()
    execute(s["id"], "echo mine >kept")
    top = leave(s, GHOST, free_mb() - MIN_MB + 20, 3600)
    true(free_mb() < MIN_MB, "there is too little room")
    session()
    true(not os.path.exists(top), "the stale one is gone")
    true(free_mb() >= MIN_MB, "and its space is back")
    equal(execute(s["id"], "cat kept"), "mine\n", "the sibling has its files")


@case
def what_is_stale_is_removed_and_the_session_rejected_all_the_same():
    s = session()
    fill(MIN_MB - 20)
    top = leave(s, GHOST, 10, 3600)
    key = {"Idempotency-Key": "disk-1"}
    refused(call("POST", "/v1/sessions", {}, headers=key))
    true(not os.path.exists(top), "the stale one is gone")
    unfill()
    again = expect(201, call("POST", "/v1/sessions", {}, headers=key))
    OURS[again.json["id"]] = None
    equal(again.header("Idempotency-Replayed"), None, "the key was released")


@case
def a_young_or_living_sibling_is_never_removed():
    s, sleeper = session(), session()
    execute(s["id"], "echo mine >kept")
    execute(sleeper["id"], "echo too >kept")
    expect(200, call("POST", at(sleeper["id"], "/sleep")))
    sql("UPDATE session SET ended_at = ended_at - interval '1 day'")
    young = leave(s, GHOST, 10, 19 * 60)
    for other in (s, sleeper):
        path = data("storage", other["sandboxId"], other["id"])
        os.utime(path, (0, 0))
    fill(MIN_MB - 20)
    refused(call("POST", "/v1/sessions", {}))
    true(os.path.exists(young), "the young one is there")
    equal(execute(s["id"], "cat kept"), "mine\n", "the living one, too")
    unfill()
    equal(execute(sleeper["id"], "cat kept"), "too\n", "who sleeps, too")


def create_on_a_full_disk(wish):
    """The answer to a create.  PostgreSQL is on this disk too: if a table needs
    its next page just then, the answer is about the database, or there is no
    page for the refusal, and the reaper would finish it later.  Then another
    session's rows get that page, and the create is repeated."""
    for _ in range(30):
        fill(0)
        reply = call("POST", "/v1/sessions", wish)
        unfill()
        left = strangers()
        if reply.status != 503 and not left:
            break
        for sid in left:
            expect(200, call("DELETE", at(sid)))
        session()
    return reply


@case
def a_neighbours_full_disk_destroys_nobodys_sandbox():
    s, own = session(), session(isolation="session")
    pids = service.sandbox_pids()
    for wish in ({}, {"isolation": "session"}):
        refused(create_on_a_full_disk(wish))
    true(set(pids) <= set(service.sandbox_pids()), "the same processes run")
    for one in (s, own):
        equal(get(one["id"])["state"], "ready", "state")
        until("it goes on", lambda o=one: not get(o["id"])["reason"])
        equal(execute(one["id"], "echo fine"), "fine\n", "and it works")


def full_events():
    return int(value("SELECT count(*) FROM event WHERE kind = 'disk' AND"
                     " what = 'full'"))


@case
def no_space_for_a_file_on_a_shared_file_system_destroys_nobodys_sandbox():
    s = session()
    pids, before_ = service.sandbox_pids(), full_events()
    # the reserve is moved away: else it would be given up, and there would be
    # room again in a moment
    os.rename(data("ballast.inodes"), data("kept"))
    all_ = os.statvfs(state())
    inodes(all_.f_files - all_.f_ffree)
    try:
        refused(call("POST", "/v1/sessions", {}))
    finally:
        inodes(all_.f_files)
        shutil.rmtree(data("kept"))
    equal(full_events(), before_ + 1, "who looks at it is told")
    true(set(pids) <= set(service.sandbox_pids()), "the same processes run")
    until("it goes on", lambda: not get(s["id"])["reason"])
    equal(execute(s["id"], "echo fine"), "fine\n", "the sibling works")


@case
def a_permission_error_is_not_capacity_evidence():
    s = session()
    pids = service.sandbox_pids()
    box = data("storage", s["sandboxId"])
    os.chmod(box, 0)
    reply = call("POST", "/v1/sessions", {})
    os.chmod(box, 0o700)
    true(reply.status in (500, 503), "it fails: %r" % reply)
    true(set(pids) <= set(service.sandbox_pids()), "the same processes run")
    equal(execute(s["id"], "echo fine"), "fine\n", "the sibling works")
    for row in sql("SELECT id FROM session WHERE state = 'failed'"):
        OURS[row[0]] = None


def retire(sandbox):
    """Stops the sandbox by a pass, as one that was idle for long."""
    sql("UPDATE sandbox SET idle_since = clock_timestamp() - interval '1 day'"
        " WHERE id = :'v1'", sandbox)
    reap()
    equal(value("SELECT state FROM sandbox WHERE id = :'v1'", sandbox),
          "stopped", "sandbox")


def exhaust(directory, most=1 << 30):
    """Makes files until no inode is left, at most `most`; returns their names."""
    made = []
    while len(made) < most:
        try:
            name = os.path.join(directory, "x%d" % len(made))
            os.close(os.open(name, os.O_CREAT | os.O_EXCL, 0o600))
            made.append(name)
        except OSError as why:
            equal(why.errno, errno.ENOSPC, "errno")
            return made
    return made


@case
def no_space_on_its_own_file_system_destroys_a_sandbox_which_says_so():
    key = service.new_key("own", "u")
    first = session(key)
    call("DELETE", at(first["id"]), key=key)
    retire(first["sandboxId"])
    box = data("storage", first["sandboxId"])
    owner = os.stat(data())
    subprocess.run(["mount", "-t", "tmpfs", "-o",
                    "size=200m,nr_inodes=200,mode=700,uid=%d,gid=%d"
                    % (owner.st_uid, owner.st_gid), "own", box], check=True)
    try:
        s = session(key)
        equal(s["limits"]["diskMb"], {"value": 8192, "by": "quota"}, "limit")
        execute(s["id"], "echo mine >kept", key)
        made = exhaust(box)
        refused(call("POST", "/v1/sessions", {}, key))
        seen = get(s["id"], key)
        equal((seen["state"], seen["reason"]),
              ("asleep", "sandbox_destroyed"), "the sibling is told")
        true("sandbox_destroyed" in service.log("api"), "the log has it")
        for name in made:
            os.unlink(name)
        equal(execute(s["id"], "cat kept", key), "mine\n", "its files are there")
        other = create(key)
        execute(other["id"], "mkdir -p a/b; echo x >a/b/c", key)
        made = exhaust(box)
        call("DELETE", at(other["id"]), key=key)
        until("a session of it is deleted",
              lambda: get(other["id"], key)["state"] == "deleted")
        for name in made:
            os.unlink(name)
        equal(reap()[0], 0, "the pass")
        equal(os.listdir(box), [s["id"]], "what is left on its file system")
        expect(200, call("POST", at(s["id"], "/sleep"), key=key))
        retire(s["sandboxId"])
    finally:
        subprocess.run(["umount", "-l", box], check=True)


# ---- the low-water mark

@case
def the_heaviest_writer_is_frozen_the_other_goes_on_and_postgresql_lives():
    s, other = session(isolation="session"), session(isolation="session")
    execute(other["id"], "head -c 31457280 /dev/zero >large")
    fill(LOW_MB + SOON_MB)
    writer(s["id"])
    until("it is frozen", lambda: get(s["id"])["reason"] == "disk_low")
    equal(get(s["id"])["state"], "ready", "state")
    doc = service.container_error(
        call("POST", at(s["id"], "/api/execute"), {"command": "true"}),
        503, "CONTAINER_UNAVAILABLE")
    equal(doc["context"]["reason"], "session_frozen", "a call is told at once")
    was = until("it stands still", lambda: size_that_stays(s))
    true(was > 10 * MB, "it had written")
    equal(get(other["id"])["reason"], None, "the other is not")
    equal(execute(other["id"], "head -c 100000 /dev/zero >more; echo fine"),
          "fine\n", "and writes")
    postgres_lives()
    refused(call("POST", "/v1/sessions", {}))
    equal(size(s), was, "who is frozen writes no more")
    equal(sql("SELECT what FROM event WHERE kind = 'disk' AND session_id ="
              " :'v1'", s["id"]), [["frozen"]], "its history says so")
    # the disk becomes larger, as an operator may make it
    resize(DISK_MB + 200)
    until("it goes on", lambda: get(s["id"])["reason"] is None)
    until("and writes again", lambda: size(s) > was)
    equal([r[0] for r in sql("SELECT what FROM event WHERE kind = 'disk' AND"
                             " session_id = :'v1' ORDER BY id", s["id"])][:2],
          ["frozen", "thawed"], "its history")


@case
def a_frozen_session_can_be_deleted_and_makes_room():
    s = session(isolation="session")
    fill(MIN_MB + SOON_MB)
    writer(s["id"])
    until("it is frozen", lambda: get(s["id"])["reason"] == "disk_low")
    call("DELETE", at(s["id"]))
    until("it is deleted", lambda: get(s["id"])["state"] == "deleted")
    del OURS[s["id"]]
    reap()
    until("there is room", lambda: free_mb() > MIN_MB)
    session()


@case
def of_a_shared_sandbox_one_session_is_frozen_and_its_sibling_goes_on():
    s, sibling = session(), session()
    equal(s["sandboxId"], sibling["sandboxId"], "one sandbox")
    fill(LOW_MB + SOON_MB)
    writer(s["id"])
    until("it is frozen", lambda: get(s["id"])["reason"] == "disk_low")
    equal(execute(sibling["id"], "echo fine >f; cat f"), "fine\n", "sibling")
    equal(get(sibling["id"])["reason"], None, "it is not frozen")


@case
def a_file_without_a_name_hides_nobody():
    s, other = session(isolation="session"), session(isolation="session")
    execute(other["id"], "head -c 104857600 /dev/zero >large")
    fill(LOW_MB + SOON_MB)
    # one process: a process that writes nothing between two looks is not seen
    # to write
    execute(s["id"], "python3 -c '" + HIDDEN_WRITER + "' >/dev/null 2>&1 &")
    until("somebody is frozen", lambda: "disk_low" in (
        get(s["id"])["reason"], get(other["id"])["reason"]))
    equal(get(s["id"])["reason"], "disk_low", "who writes")
    equal(get(other["id"])["reason"], None, "who only has much")


def tenants():
    """Two sessions of two orgs: one is to do harm; the other writes a little
    now and then and has some files."""
    thief, other = (service.new_key(org, "u") for org in ("thief", "honest"))
    s = session(thief, isolation="session")
    o = session(other, isolation="session")
    execute(o["id"], "head -c 31457280 /dev/zero >large; (while :; do"
            " head -c 50000 /dev/zero >>log; sleep 0.3; done)"
            " >/dev/null 2>&1 &", other)
    return s, thief, o, other


def only_the_first_is_frozen(s, thief, o, other):
    until("somebody is frozen", lambda: "disk_low" in (
        get(s["id"], thief)["reason"], get(o["id"], other)["reason"]))
    equal(get(s["id"], thief)["reason"], "disk_low", "who does harm")
    equal(get(o["id"], other)["reason"], None, "the other tenant goes on")
    equal(execute(o["id"], "echo fine >f; cat f", other), "fine\n",
          "and writes")
    postgres_lives()


@case
def a_closed_directory_hides_nobody_who_writes():
    s, thief, o, other = who = tenants()
    fill(LOW_MB + SOON_MB)
    execute(s["id"], "(mkdir shut; exec 3>shut/big; chmod 000 shut; while :; do"
            " head -c 2097152 /dev/zero >&3; sleep 0.1; done)"
            " >/dev/null 2>&1 &", thief)
    only_the_first_is_frozen(*who)


@case
def nor_who_has_more_than_its_limit_and_is_quiet():
    sql("INSERT INTO class (name, memory_mb, cpu_millis, disk_mb, pids)"
        " VALUES ('little', 256, 1000, 64, 64) ON CONFLICT DO NOTHING")
    thief, other = (service.new_key(org, "u") for org in ("thief", "honest"))
    s = session(thief, **{"isolation": "session", "class": "little"})
    o = session(other, isolation="session")
    execute(s["id"], "mkdir shut; for i in 1 2 3; do fallocate -l 30M shut/$i;"
            " done; chmod 000 shut", thief)
    execute(o["id"], "head -c 94371840 /dev/zero >large; (while :; do"
            " head -c 700000 /dev/zero >>log; sleep 0.3; done)"
            " >/dev/null 2>&1 &", other)
    fill(LOW_MB + 5)
    only_the_first_is_frozen(s, thief, o, other)


# Only the mapping keeps the file: os.closerange() also closes the descriptor that
# mmap.mmap() has made for itself.
MAPPED = """
import mmap, os, time
f = open('m', 'w+b')
os.unlink('m')
f.truncate(400 << 20)
m = mmap.mmap(f.fileno(), 400 << 20)
os.closerange(3, 64)
for i in range(200):
    m[i << 21:(i + 1) << 21] = b'x' * (1 << 21)
    time.sleep(0.1)  # wait: the pace of a writer, and no bound
"""


@case
def nor_does_a_file_that_is_only_mapped():
    s, thief, o, other = who = tenants()
    expect(200, call("POST", at(s["id"], "/api/write"),
                     {"path": "mapped.py", "content": MAPPED}, thief))
    fill(LOW_MB + SOON_MB)
    execute(s["id"], "(exec python3 mapped.py) >/dev/null 2>&1 &", thief)
    only_the_first_is_frozen(*who)


# Each file is in a socket's queue only: no process has it open.
IN_FLIGHT = """
import array, os, socket, time
keep = []
for i in range(200):
    keep += socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    f = os.open('m', os.O_RDWR | os.O_CREAT)
    os.unlink('m')
    os.posix_fallocate(f, 0, 2 << 20)
    keep[-1].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                               array.array('i', [f]))])
    os.close(f)
    time.sleep(0.1)  # wait: the pace of a writer, and no bound
"""


@case
def nor_files_that_are_being_sent_to_a_process():
    s, thief, o, other = who = tenants()
    expect(200, call("POST", at(s["id"], "/api/write"),
                     {"path": "sent.py", "content": IN_FLIGHT}, thief))
    fill(LOW_MB + SOON_MB)
    execute(s["id"], "(exec python3 sent.py) >/dev/null 2>&1 &", thief)
    only_the_first_is_frozen(*who)


@case
def what_is_in_memory_is_not_on_the_disk():
    s, thief, o, other = who = tenants()
    execute(o["id"], "head -c 100000000 /dev/zero >/tmp/large", other)
    fill(LOW_MB + SOON_MB)
    writer(s["id"], thief)
    only_the_first_is_frozen(*who)


@case
def who_uses_up_the_inodes_is_frozen_before_they_are_gone():
    s, thief, o, other = who = tenants()
    all_ = os.statvfs(state())
    # a file system with few inodes: the mark is some 12 % of them, as of bytes
    inodes(all_.f_files - all_.f_ffree + 5000)
    try:
        execute(s["id"], "mkdir many; (i=0; while :; do for k in 1 2 3 4 5 6 7 8"
                " 9 10; do : >many/$i.$k || exit; done; i=$((i + 1));"
                " sleep 0.03; done) >/dev/null 2>&1 &", thief)
        only_the_first_is_frozen(*who)
        true(os.statvfs(state()).f_favail > 100, "there are some left")
        refused(call("POST", "/v1/sessions", {}))
        many = data("storage", s["sandboxId"], s["id"], "workspace", "many")
        made = len(os.listdir(many))
        true(made > 1000, "it had made files")
        execute(o["id"], "mkdir d; for i in 1 2 3 4 5; do : >d/$i; done", other)
        equal(len(os.listdir(many)), made, "who is frozen makes no more")
    finally:
        inodes(all_.f_files)
    until("it goes on", lambda: get(s["id"], thief)["reason"] is None)


@case
def who_is_quicker_than_that_is_frozen_and_postgresql_has_inodes_again():
    s, thief, o, other = tenants()

    def reason():
        # a call may fail for a moment, while there are no inodes
        r = call("GET", at(s["id"]), key=thief)
        return r.json["reason"] if r.status == 200 else None

    def makes_files():
        try:
            postgres_lives()
        except AssertionError:
            return False
        return True

    all_ = os.statvfs(state())
    until("there are some in reserve", lambda: os.path.exists(
        data("ballast.inodes")) and os.listdir(data("ballast.inodes")))
    inodes(all_.f_files - all_.f_ffree + 3000)
    more = os.path.join(state(), "more")
    os.mkdir(more)
    try:
        execute(s["id"], "mkdir many; (i=0; while :; do : >many/$i &&"
                " i=$((i + 1)); done) >/dev/null 2>&1 &", thief)
        until("it is frozen", lambda: reason() == "disk_low")
        # takes the inodes that the session has left over, but not the reserve
        left = os.statvfs(state()).f_favail
        if os.path.exists(data("ballast.inodes")):
            exhaust(more, left)
        until("the reserve is given up", lambda: not os.path.exists(
            data("ballast.inodes")))
        until("PostgreSQL makes files", makes_files)
        equal(get(o["id"], other)["reason"], None, "the other is not frozen")
        equal(execute(o["id"], ": >one && echo fine", other), "fine\n",
              "and may go on")
    finally:
        inodes(all_.f_files)
        shutil.rmtree(more)
    until("it is there again", lambda: os.path.exists(data("ballast.inodes")))


@case
def the_ballast_is_given_up_for_postgresql_and_made_again():
    true(ballast(), "it lies there")
    fill(LOW_MB // 4 - 2)
    until("it is given up", lambda: not ballast())
    postgres_lives()
    unfill()
    until("it is made again", ballast)


# ---- accounting

@case
def who_is_over_his_limit_is_put_to_sleep_with_his_files():
    sql("INSERT INTO class (name, memory_mb, cpu_millis, disk_mb, pids)"
        " VALUES ('tiny', 256, 1000, 8, 64) ON CONFLICT DO NOTHING")
    s = session(**{"isolation": "session", "class": "tiny"})
    # each file is below the limit; all together are above it
    execute(s["id"], "for i in 1 2 3; do head -c 4194304 /dev/zero >f$i; done")
    for reason in (None, "disk_limit"):
        sql("UPDATE session SET created_at = created_at - interval '1 hour',"
            " disk_measured_at = disk_measured_at - interval '1 hour'"
            " WHERE id = :'v1'", s["id"])
        equal(reap()[0], 0, "the pass")
        equal(get(s["id"])["reason"], reason, "reason")
    equal(get(s["id"])["state"], "asleep", "state")
    equal(value("SELECT disk_used_mb FROM session WHERE id = :'v1'", s["id"]),
          "12", "what was measured")
    execute(s["id"], "rm f2 f3; ls")


@case
def empty_files_are_not_nothing():
    sql("INSERT INTO class (name, memory_mb, cpu_millis, disk_mb, pids)"
        " VALUES ('tiny', 256, 1000, 8, 64) ON CONFLICT DO NOTHING")
    s = session(**{"isolation": "session", "class": "tiny"})
    execute(s["id"], "for i in $(seq 3000); do : >$i; done")
    sql("UPDATE session SET created_at = created_at - interval '1 hour'"
        " WHERE id = :'v1'", s["id"])
    equal(reap()[0], 0, "the pass")
    true(11 <= int(value("SELECT disk_used_mb FROM session WHERE id = :'v1'",
                         s["id"])) <= 12, "4 KiB each")
    equal(value("SELECT disk_over_since IS NOT NULL FROM session WHERE id ="
                " :'v1'", s["id"]), "t", "that is more than it may have")
