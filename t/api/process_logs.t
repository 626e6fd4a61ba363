#!/usr/bin/python3
"""process_logs.t: tests the output of background processes, and what the service
knows of them after their session has slept or lost its wrapper."""
import base64
import os
import signal
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import processes
import service
from awake import age, passes, state, wrapper_of
from processes import (DIR, Stream, ended, kill, known, logs, path, show,
                       start, text)
from service import (at, call, container_error, create, execute, expect, get,
                     running, until)
from tap import case, equal, run, true

service.begin()

SID = processes.SID = create(isolation="session")["id"]
ME = os.getpid()


# ---- output

@case
def logs_have_offsets():
    pid = start("printf 'h\\303\\251'; printf x >&2; until [ -e /tmp/go1 ]; do"
                " sleep 0.02; done; printf yz >&2; printf end")
    until("half of it is there", lambda: logs(pid)["nextOffset"] == 4)
    execute(SID, "touch /tmp/go1")
    ended(pid)
    l = logs(pid)
    equal((l["stdout"], l["stderr"], l["offset"], l["nextOffset"],
           l["truncated"]), ("h\u00e9end", "xyz", 0, 9, False), "all")
    l = logs(pid, "?offset=4")
    equal((l["stdout"] + "|" + l["stderr"], l["nextOffset"]),
          ("end|yz", 9), "from an offset on")
    l = logs(pid, "?offset=9")
    equal((l["stdout"], l["stderr"], l["nextOffset"]), ("", "", 9), "the end")


@case
def output_nobody_reads_does_not_block():
    size = 20 * 1000 * 1000
    pid = start("head -c %d /dev/zero | tr '\\0' x; echo done >&2" % size)
    equal(ended(pid)["status"], "completed", "20 MB later")
    l = logs(pid)
    equal((l["nextOffset"], l["truncated"], l["stderr"]),
          (size + 5, True, "done\n"), "what is told")
    equal(len(l["stdout"]), l["nextOffset"] - l["offset"] - 5, "what is left")
    true(8 << 20 >= len(l["stdout"]) > (8 << 20) - 64, "as much as the ring has")
    true(int(execute(SID, "du -k %s/%s.log" % (DIR, pid)).split()[0])
         < 10 * 1024, "its file is bounded")


@case
def a_stream_tells_all_from_the_beginning_to_the_end():
    pid = start("echo one; echo two >&2; until [ -e /tmp/go2 ]; do sleep 0.02;"
                # wait: 0.2 s in the command; a shorter wait makes the test weaker,
                # never red
                " done; printf 'three\\nfo'; sleep 0.2; printf 'ur\\n'; exit 4")
    until("it has begun", lambda: logs(pid)["nextOffset"] == 8)
    s = Stream(pid)
    first = s.event()
    equal((first[0], first[1]["type"], first[1]["status"],
           first[1]["processId"], "echo one" in first[1]["command"]),
          (None, "process_info", "running", pid, True), "process_info")
    replay = [s.event(), s.event()]
    equal(sorted((e["type"], e["data"]) for _, e in replay),
          [("stderr", "two\n"), ("stdout", "one\n")], "replay")
    execute(SID, "touch /tmp/go2")
    rest = s.rest()
    equal(text(rest), "three\nfour\n", "live")
    equal(rest[-1][1]["type"], "exit", "the last")
    equal((rest[-1][1]["exitCode"], rest[-1][1]["data"]),
          (4, "Process failed with exit code 4"), "how it ended")
    again = Stream(pid).rest()
    equal([e["type"] for _, e in again][::len(again) - 1],
          ["process_info", "exit"], "after its end")
    equal((text(again), text(again, "stderr")), ("one\nthree\nfour\n", "two\n"),
          "the same once more")


@case
def a_stream_goes_on_where_it_was_cut_off():
    count = 3000
    pid = start("for i in {1..%d}; do echo \"line $i \u00e4\"; [ $((i %% 7)) -gt 0"
                " ] || echo \"err $i\" >&2; done; echo end" % count)
    events, last, rounds = [], None, 0
    while not events or events[-1][1]["type"] != "exit":
        headers = {} if last is None else {"Last-Event-ID": str(last)}
        s = Stream(pid, **headers)
        equal(s.event()[1]["type"], "process_info", "first")
        for _ in range(2 + rounds % 3):
            event = s.event()
            true(last is None or event[0] > last or event[1]["type"] == "exit",
                 "what comes after the last one")
            events.append(event)
            last = event[0]
            if event[1]["type"] == "exit":
                break
        s.close()
        rounds += 1
    equal(text(events), "".join("line %d \u00e4\n" % i for i in
                                range(1, count + 1)) + "end\n", "stdout")
    equal(text(events, "stderr"), "".join("err %d\n" % i for i in range(
        7, count + 1, 7)), "stderr")
    equal(rounds > 1, True, "in several rounds")
    at_end = Stream(pid, **{"Last-Event-ID": str(last)}).rest()
    equal([e["type"] for _, e in at_end], ["process_info", "exit"], "at the end")
    early = Stream(pid, query="?offset=5").rest()
    equal(text(early)[:5], "1 \u00e4\nl", "an offset")


@case
def characters_are_never_split():
    pid = start("printf 'x\\xe2'; until [ -e /tmp/go3 ]; do sleep 0.02; done;"
                " printf '\\x82\\xac'")
    until("it has begun", lambda: logs(pid)["nextOffset"] == 2)
    equal(logs(pid)["stdout"], "x\ufffd", "a part of one is not held for ever")
    execute(SID, "touch /tmp/go3")
    equal(text(Stream(pid).rest()), "x\u20ac", "and is whole with the rest")
    pid = start("head -c 100000 /dev/zero | sed 's/\\x0/\\xe2\\x82\\xac/g'")
    events = Stream(pid).rest()
    true(text(events) == "\u20ac" * 100000, "in a stream")
    true(logs(pid)["stdout"] == "\u20ac" * 100000, "in the logs")


@case
def bytes_of_no_text_are_not_held_back():
    # \303 looks like the beginning of a character, but nothing follows
    pid = start("printf 'A\\303'; until [ -e /tmp/go5 ]; do sleep 0.02; done;"
                " printf Z")
    stream = Stream(pid, query="?encoding=base64")
    got = b""
    while got != b"A\xc3":
        _, e = stream.event()
        if e["type"] == "stdout":
            got += base64.b64decode(e["data"])
    stream.close()
    # as text too, once the rest of the character cannot come any more
    stream = Stream(pid)
    got = ""
    while got != "A\ufffd":
        _, e = stream.event()
        if e["type"] == "stdout":
            got += e["data"]
    equal(logs(pid)["stdout"], "A\ufffd", "in the log")
    execute(SID, "touch /tmp/go5")
    equal(text(stream.rest()), "Z", "the rest")
    container_error(call("GET", path(pid + "/stream?encoding=hex")), 400,
                    "VALIDATION_FAILED")


@case
def the_other_stream_does_not_cut_a_character():
    pid = start("printf 'h\\303'; until [ -s /tmp/seen6 ]; do sleep 0.02; done;"
                " printf x >&2; until [ -s /tmp/seen7 ]; do sleep 0.02; done;"
                " printf '\\251!'")
    for n, mark in ((2, 6), (3, 7)):
        until("%d bytes are there" % n, lambda: logs(pid)["nextOffset"] == n)
        execute(SID, "echo 1 >/tmp/seen%d" % mark)
    ended(pid)
    equal((logs(pid)["stdout"], logs(pid)["stderr"]), ("h\u00e9!", "x"), "logs")
    stream = Stream(pid)
    events = stream.rest()
    equal((text(events), text(events, "stderr")), ("h\u00e9!", "x"), "stream")


@case
def a_client_that_vanishes_frees_its_stream():
    sid = create()["id"]
    pid = start("sleep 9006.%d" % ME, sid)
    [wrapper] = {wrapper_of(p) for p in until(
        "it runs", lambda: running("9006.%d" % ME))}

    def threads():
        return len(os.listdir("/proc/%d/task" % wrapper))
    streams = [Stream(pid, sid) for _ in range(30)]
    for s in streams:
        s.event()
    many = threads()
    true(many >= 30, "they are there: %d" % many)
    for s in streams:
        s.conn.sock and s.conn.sock.shutdown(socket.SHUT_RDWR)
        s.close()
    # wait: 10 s for some milliseconds; a fault needs a heartbeat, 15 s
    until("their threads end before any heartbeat",
          lambda: threads() <= many - 20, 10)
    equal(get(sid)["busy"], True, "the process runs on")
    kill(pid, sid)
    until("then nothing does", lambda: not get(sid)["busy"])


# ---- the session around the processes

@case
def what_runs_keeps_the_session_awake():
    sid = create(sleepAfterSeconds=60)["id"]
    pid = start("sleep 9007.%d" % ME, sid)
    equal(get(sid)["busy"], True, "busy")
    age(sid, 3600)
    passes()
    equal(state(sid)[0], "ready", "after a pass")
    kill(pid, sid)
    until("no longer", lambda: not get(sid)["busy"])


@case
def an_interruption_leaves_it_alone():
    pid = start("sleep 9008.%d" % ME)
    until("it runs", lambda: running("9008.%d" % ME))
    expect(200, call("POST", at(SID, "/interrupt")))
    equal((show(pid)["status"], len(running("9008.%d" % ME))), ("running", 1),
          "it runs on")
    kill(pid)


@case
def records_survive_sleep():
    sid = create()["id"]
    done = start("echo kept; exit 5", sid)
    was = ended(done, sid)
    ran = start("trap 'echo last word; exit 7' TERM; echo ready; while :; do"
                " sleep 0.05; done", sid)
    until("it runs", lambda: "ready" in logs(ran, sid=sid)["stdout"])
    expect(200, call("POST", at(sid, "/sleep")))
    equal(show(done, sid), was, "one that had ended")
    equal(logs(done, sid=sid)["stdout"], "kept\n", "its log")
    equal(logs(ran, sid=sid)["stdout"], "ready\nlast word\n", "the other's")
    p = show(ran, sid)
    equal((p["status"], p["exitCode"]), ("failed", 7), "as it ended by itself")
    events = Stream(done, sid).rest()
    equal([e["type"] for _, e in events], ["process_info", "stdout", "exit"],
          "stream")


@case
def records_survive_the_wrapper():
    sid = create()["id"]
    mark = "9009.%d" % ME
    done = start("echo kept", sid)
    was = ended(done, sid)
    gone = start("true", sid, autoCleanup=True)
    until("it is cleaned up", lambda: gone not in known(sid))
    ran = start("echo unfinished; sleep " + mark, sid)
    until("it runs", lambda: logs(ran, sid=sid)["nextOffset"] and running(mark))
    execute(sid, "echo nonsense > %s/bad.json; echo x > %s/odd.log;"
            " ln -s /etc/passwd %s/link.json; mkfifo %s/fifo.json"
            % ((DIR,) * 4))
    wrapper = wrapper_of(running(mark)[0])
    os.kill(wrapper, signal.SIGKILL)
    until("another serves", lambda: not service.alive(wrapper) and call(
        "GET", path("list", sid)).status == 200)
    equal(show(done, sid), was, "one that had ended")
    equal(logs(done, sid=sid)["stdout"], "kept\n", "its log")
    p = show(ran, sid)
    equal((p["status"], p["exitCode"]), ("killed", 137), "one that ran")
    equal(logs(ran, sid=sid)["stdout"], "unfinished\n", "its log")
    equal(sorted(known(sid)), sorted([done, ran]), "nothing else")
    equal(sorted(execute(sid, "ls " + DIR).split()), sorted(
        p + e for p in (done, ran) for e in (".json", ".log")), "on the disk")
    true(gone not in known(sid), "autoCleanup")


@case
def a_log_that_is_taken_away_does_not_hurt():
    sid = create()["id"]
    pid = start("until [ -e /tmp/go ]; do sleep 0.02; done; echo after", sid)
    execute(sid, "rm -rf %s; touch /tmp/go" % DIR)
    p = ended(pid, sid)
    equal((p["status"], p["droppedBytes"]), ("completed", 6), "it ends well")
    equal(logs(pid, sid=sid)["stdout"], "", "nothing is left")
    execute(sid, "rm -rf %s; echo file > %s" % (DIR, DIR))
    pid = start("echo nowhere; exit 2", sid)
    p = ended(pid, sid)
    equal((p["status"], p["exitCode"], p["droppedBytes"]), ("failed", 2, 8),
          "what cannot be kept is counted")
    l = logs(pid, sid=sid)
    equal((l["stdout"], l["droppedBytes"]), ("", 8), "and said")
    events = [e for _, e in Stream(pid, sid).rest()]
    equal([(e["type"], e.get("bytes")) for e in events],
          [("process_info", None), ("dropped", 8), ("exit", None)], "stream")


sys.exit(run(lambda: None))
