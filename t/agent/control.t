#!/usr/bin/python3
"""Tests that init starts, lists and ends cells over its control channel, and that no
client blocks init."""
import os
import socket
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, eventually, new_session  # noqa: E402
from tap import ok, run, same  # noqa: E402

box = Box()


def ping_says_who_it_is():
    a = box.ask("ping")
    same((a["ok"], a["sandbox"], a["pid"]), (True, box.sandbox, 1), "ping says who it is")


def a_wrong_incarnation_is_refused():
    same(box.ask("ping", incarnation="zzzz").get("code"), "wrong_incarnation",
         "a wrong incarnation is refused")


def broken_messages_get_an_answer():
    for name, message in (("no JSON", b"{"), ("no object", b"[]"), ("nothing in it", b"{}")):
        s = box.connect()
        s.send(message)
        ok(b'"ok":false' in s.recv(65536), f"a message that is {name} is refused")
        s.close()
    same(box.ask("fly").get("code"), "unknown_op", "an unknown operation is refused")
    same(box.ask("look").get("code"), "validation_failed", "a missing session is named")


def a_launched_wrapper_serves():
    s = new_session()
    a = box.launch(s, generation=3)
    same({k: a.get(k) for k in ("ok", "instance", "generation", "cell")},
         {"ok": True, "instance": "inst3", "generation": 3, "cell": "namespace"},
         "launch answers when the wrapper serves")
    same(box.call(s, "GET", "/api/ping").json()["message"], "pong", "the wrapper answers a ping")
    same(box.ask("look", session=s)["wrappers"], [{"instance": "inst3", "generation": 3}],
         "look lists it")
    ok({"session": s, "instance": "inst3", "generation": 3} in box.ask("list")["cells"],
       "list has it")
    same(box.forward("prove", s).get("output"), "ready", "a command proves it")
    a = box.launch(s, generation=4)
    box.generation[s] = 3
    same((a["ok"], a["code"], a["instance"], a["generation"]),
         (False, "already_running", "inst3", 3), "a second launch finds the first")
    same(box.ask("prove", session=s, generation=9).get("code"), "stale_generation",
         "an operation for another generation is refused")
    same(box.ask("prove", session=new_session(), generation=1).get("code"), "no_such_session",
         "an operation for a session that is not here is refused")
    a = box.ask("kill", session=s, waitMs=10000)
    same((a["ok"], a["wrappers"]), (True, []), "kill answers when the cell has been reaped")
    same(box.ask("kill", session=s, waitMs=100)["wrappers"], [], "kill again is harmless")


def a_sealed_generation_never_starts():
    s = new_session()
    same(box.ask("seal", session=s, generation=5)["wrappers"], [], "seal lists what there is")
    same(box.launch(s, generation=5).get("code"), "stale_generation",
         "the sealed generation cannot be launched")
    same(box.launch(s, generation=2).get("code"), "stale_generation", "nor an older one")
    box.ask("seal", session=s, generation=1)
    same(box.launch(s, generation=5).get("code"), "stale_generation",
         "a lower seal does not open it again")
    ok(box.launch(s, generation=6)["ok"], "a newer one can")
    same(len(box.ask("seal", session=s, generation=6)["wrappers"]), 1,
         "seal of a running one lists it")
    box.ask("kill", session=s, waitMs=10000)


def an_effect_reaches_no_later_generation():
    s = box.session(generation=2)
    exact = ("halt", "go_on", "freeze", "thaw", "prove", "write", "env", "setup", "keep", "status",
             "adopt", "limit", "interrupt", "expose", "unexpose", "ws_bounce")
    for op in ("term", "kill", *exact):
        same(box.ask(op, session=s, generation=1).get("code"), "stale_generation",
             f"{op} that comes late is refused")
    for op in exact:
        same(box.ask(op, session=s, generation=3).get("code"), "stale_generation",
             f"{op} of another one is refused")
    for op in ("term", "kill", "halt", "go_on"):
        message = {"op": op, "incarnation": box.incarnation, "session": s}
        ok(not box.send(message)["ok"], f"{op} of no generation is refused")
    same(box.run(s, "echo lives")["stdout"], "lives\n", "nothing has happened to it")
    ok(box.ask("halt", session=s, generation=2)["ok"], "the right one stops")
    ok(box.ask("go_on", session=s, generation=2)["ok"], "and goes on")
    same(box.ask("seal", session=s).get("code"), "validation_failed",
         "a seal of no generation is refused")
    box.ask("seal", session=s, generation=2)
    for op in ("freeze", "thaw"):
        same(box.ask(op, session=s, generation=2, order=1).get("code"), "stale_generation",
             f"{op} of one that is being ended is refused")
    same(box.ask("kill", session=s, generation=3, waitMs=10000)["wrappers"], [],
         "an end takes older ones along")


def each_launch_hears_of_its_own():
    """Many at once: some of them must be under way while another one is answered."""
    sessions = {new_session(): generation for generation in range(3, 15)}
    with ThreadPoolExecutor(len(sessions)) as pool:
        said = [pool.submit(box.launch, s, generation=g) for s, g in sessions.items()]
        same([(f.result().get("instance"), f.result().get("generation")) for f in said],
             [(f"inst{g}", g) for g in sessions.values()], "of many at once each hears of its own")
    for s in sessions:
        box.ask("kill", session=s, waitMs=10000)


def a_launch_has_the_descriptors_it_announces():
    with open("/dev/full", "wb") as full:
        a = box.launch(new_session(), cgroups=[full.fileno()])
        same((a["ok"], a.get("code")), (False, "launch_failed"),
             "without its groups, and their limits, nothing is launched")
        ok("cgroup" in a.get("message", ""), "and that is said", a)
        s, listener = new_session(), box.listener("nowhere.sock")
        box.storage(s)
        a = box.ask("launch", [listener.fileno()] * 2 + [full.fileno()], session=s, generation=1,
                    instance="i", env={}, ports=[], cgroups=0)
        same(a.get("code"), "launch_failed", "nor with one that was not announced")
        listener.close()
        s = box.session()
        same(box.ask("write", [full.fileno()] * 16, session=s, generation=1, path="x")["code"],
             "validation_failed", "more than can be passed on are refused")
        box.ask("kill", session=s, waitMs=10000)


def many_ends_in_one_life_leave_room_for_the_next():
    for i in range(10000):  # more seals than init remembers
        box.ask("seal", session=f"x{i:019d}", generation=1)
    s = box.session()
    same(box.run(s, "echo lives")["stdout"], "lives\n", "a new one starts")
    same(box.ask("seal", session=s, generation=1)["ok"], True, "and can be ended")
    same(box.ask("kill", session=s, waitMs=10000)["wrappers"], [], "like any other")
    same(box.launch("x" + "0" * 19, generation=1, intentMs=1).get("code"), "stale_generation",
         "what was ended and forgotten does not start late")


def term_ends_those_who_listen_to_it():
    s = box.session()
    box.run(s, "sleep 1000 & sleep 1000 &")
    ok(box.ask("term", session=s)["ok"], "term answers")
    ok(eventually(lambda: box.ask("look", session=s, waitMs=10000)["wrappers"] == []),
       "a cell whose processes heed SIGTERM ends by itself")
    ok(box.ask("term", session=s)["ok"], "term of nothing is fine")


def term_leaves_time_to_those_who_do_not():
    s = box.session()
    box.run(s, "(trap '' TERM; touch /workspace/deaf; for i in $(seq 1000); do sleep 1; done) & "
               "(trap 'echo bye >/workspace/bye; exit' TERM; touch /workspace/hears; "
               "while :; do sleep 0.05; done) &")
    if not eventually(lambda: box.run(s, "test -e deaf -a -e hears")["exitCode"] == 0):
        raise AssertionError("they do not run")
    box.ask("term", session=s)
    bye = os.path.join(box.dir, "storage", s, "workspace", "bye")
    ok(eventually(lambda: os.path.exists(bye)), "a handler of SIGTERM has time to run")
    same(len(box.ask("look", session=s, waitMs=100)["wrappers"]), 1,
         "who ignores SIGTERM keeps the cell")
    same(box.ask("kill", session=s, waitMs=10000)["wrappers"], [], "SIGKILL ends it")


def a_tenant_cannot_end_its_cell_by_signals():
    if box.sanitized:
        return  # the sanitizer's signal handlers let signals reach the first process
    s = box.session()
    # wait: nothing may happen; a slower machine only hides a fault
    same(box.run(s, "for i in $(seq 64); do kill -$i 1; done 2>/dev/null; sleep 0.2; echo here")
         .get("stdout"), "here\n", "signals to the cell's first process do nothing")
    box.run(s, "kill -TERM $(pgrep -f 'sandlease-agent wrapper'); exit")
    time.sleep(0.5)  # wait: as above; a wrapper that obeyed would end once its cell is empty
    same(box.run(s, "echo here").get("stdout"), "here\n", "nor does one to its wrapper")
    box.ask("kill", session=s, waitMs=10000)


def a_dead_wrapper_ends_the_cell():
    s = box.session()
    box.run(s, "setsid sleep 1000 & disown")
    for pid in box.named("sandlease-wrap"):
        os.kill(pid, 9)
    same(box.ask("look", session=s, waitMs=10000)["wrappers"], [],
         "a wrapper that dies takes its cell with it")


def a_launch_that_fails_says_why():
    s = new_session()
    listener = box.listener("nowhere.sock")
    sockets = [listener.fileno()] * 2
    a = box.ask("launch", sockets, session=s, generation=1, instance="x", env={},
                ports=[], cgroups=0)
    same(a.get("code"), "launch_failed", "a session without storage cannot be launched")
    ok("/sessions/" in a.get("message", ""), "and the message says what was missing", a)
    same(box.ask("look", session=s, waitMs=5000)["wrappers"], [], "nothing of it stays")
    a = box.ask("launch", [], session=s, generation=1, instance="x", env={}, ports=[], cgroups=0)
    same(a.get("code"), "launch_failed", "a launch without a socket is refused")
    a = box.ask("launch", sockets, session=s, generation=1, instance="x",
                env={"1bad": "x"}, ports=[], cgroups=0)
    same(a.get("code"), "validation_failed", "a launch with a bad variable name is refused")
    listener.close()


def files_and_variables_come_over_the_channel():
    s = box.session(env={"GREETING": "hello 'you'"})
    same(box.run(s, 'echo "$GREETING"')["stdout"], "hello 'you'\n", "launch brings variables")
    with tempfile.TemporaryFile() as f:
        f.write(b"\x00content\xff")
        f.seek(0)
        a = box.forward("write", s, [f.fileno()], path="/workspace/a/b/c.bin", mode=0o640)
    ok(a["ok"], "write makes parents", a)
    same(box.run(s, "stat -c '%a %s' a/b/c.bin")["stdout"], "640 9\n", "with mode and content")
    with tempfile.TemporaryFile() as f:
        a = box.forward("write", s, [f.fileno()], path="/proc/nothing/here")
    same(a["ok"], False, "a write that fails is told")
    box.run(s, "export OWN=1 GREETING=mine; cd /tmp")
    ok(box.forward("env", s, env={"NEW": "n", "GONE": None})["ok"], "env answers")
    same(box.run(s, 'echo "$NEW $OWN $GREETING $PWD"')["stdout"], "n 1 mine /tmp\n",
         "env reaches a living shell and leaves its own exports alone")
    box.forward("env", s, env={"NEW": None})
    same(box.run(s, "echo ${NEW-unset}")["stdout"], "unset\n", "null unsets")
    same(box.run(s, "echo ${GREETING}", sessionId="other")["stdout"], "hello 'you'\n",
         "a new shell has the session's variables")
    same(box.forward("env", s, env={"a b": "x"}).get("code"), "validation_failed",
         "a bad name is refused")
    box.ask("kill", session=s, waitMs=10000)


def a_wrapper_is_adopted_once():
    s = box.session()
    box.forward("prove", s)
    shell = box.run(s, "echo $$")["stdout"]
    a = box.forward("adopt", s, claim="one", name="its name", network=True, env={},
                    gitName="G", gitEmail="g@x", prove=True)
    same((a["ok"], a.get("output")), (True, "ready"), "an adoption proves, too")
    same(box.run(s, 'echo "$SANDLEASE_SESSION_NAME|${PIP_RETRIES-none}"; git config user.name')["stdout"],
         "its name|none\nG\n", "its name, network and author are the session's")
    same(box.run(s, "echo $$")["stdout"], shell, "its shell goes on")
    same(box.forward("adopt", s, claim="two", env={"A": "1"}).get("code"), "already_adopted",
         "another claim is refused")
    same(box.run(s, "echo ${A-none}")["stdout"], "none\n", "and brings nothing")
    ok(box.forward("adopt", s, claim="one", name="its name", env={"A": "1"})["ok"],
       "the same claim again is not")
    same(box.run(s, "echo $A")["stdout"], "1\n", "and its variables count")
    same(box.forward("adopt", s).get("code"), "validation_failed", "a claim is required")
    box.ask("kill", session=s, waitMs=10000)


def variables_of_an_adoption_come_before_the_shell():
    s = box.session()
    box.run(s, "echo SEEN=yes >rc")
    box.forward("adopt", s, claim="one", env={"BASH_ENV": "/workspace/rc", "SHLVL": "7"})
    same(box.run(s, "echo $SEEN")["stdout"], "yes\n", "bash reads them as it starts")
    box.ask("kill", session=s, waitMs=10000)


LIMITS = {"pids": 100, "tmpMb": 20, "memoryMb": 256, "fileMb": 30, "shownMemoryMb": 256}
SHOW_LIMITS = ("for p in $$ $PPID 1; do grep -E 'processes|file size|data size' /proc/$p/limits; done |"
               " tr -s ' ' | sort -u; df -m --output=size /tmp | tail -1;"
               " grep MemTotal /proc/meminfo | tr -s ' '")


def a_cell_gets_lower_limits():
    """Those of a cell that was launched with them, in all its processes."""
    if box.sanitized:
        return  # a sanitized wrapper alone needs more memory than these limits
    launched, s = new_session(), new_session()
    box.launch(launched, **LIMITS)
    box.launch(s, **{n: 4 * v for n, v in LIMITS.items()})
    want, before = (box.run(x, SHOW_LIMITS)["stdout"] for x in (launched, s))
    ok(want != before, "it has higher ones at first", before)
    shell = box.run(s, "echo $$")["stdout"]
    ok(box.forward("limit", s, **LIMITS)["ok"], "they are lowered")
    same(box.run(s, SHOW_LIMITS)["stdout"], want, "to those of a launch")
    same(box.run(s, "echo $$")["stdout"], shell, "its shell goes on")
    ok(box.forward("limit", s, **LIMITS)["ok"], "the same again is no error")
    same(box.run(s, "dd if=/dev/zero of=big bs=1M count=31 2>/dev/null || wc -c <big")["stdout"],
         "%d\n" % (30 << 20), "its files are held to them")
    ok(not box.forward("limit", s, **dict(LIMITS, fileMb=40))["ok"], "none can be raised")
    box.run(s, "head -c 15000000 /dev/zero >/tmp/full")
    ok(not box.forward("limit", s, **dict(LIMITS, tmpMb=10))["ok"], "nor /tmp cut below its files")
    same(box.forward("limit", s, pids="x").get("code"), "validation_failed", "a number is a number")
    for x in (launched, s):
        box.ask("kill", session=x, waitMs=10000)


def the_watchdog_takes_the_lower_limit():
    if box.sanitized:
        return  # as above
    s = box.session()
    box.forward("limit", s, memoryMb=100)
    half = "python3 -c 'import time; x = b\"x\" * (60 << 20); time.sleep(1000)' & "
    same(box.run(s, half + half + "wait -n; echo $?; kill %1 %2")["stdout"], "137\n",
         "one of two is killed that have too much together")
    box.ask("kill", session=s, waitMs=10000)


def status_counts_what_goes_on():
    s = box.session()
    a = box.forward("status", s)
    same((a["busy"], a["running"], a["streams"], a["relays"]), (False, 0, 0, 0), "idle at first")
    ok(a["idleMs"] < 60000, "idle since it began")
    r = box.request(s, "POST", "/api/execute/stream", {"command": "sleep 1000"})
    ok(eventually(lambda: box.forward("status", s)["streams"] == 1), "an open stream is counted")
    a = box.forward("status", s)
    same((a["busy"], a["running"], a["idleMs"]), (True, 1, 0), "and a running command")
    r.close()
    box.ask("kill", session=s, waitMs=10000)


def silent_askers_do_not_block_others():
    silent = [box.connect() for _ in range(60)]
    begin = time.monotonic()
    ok(box.ask("ping")["ok"], "60 connections that say nothing do not block a ping")
    more = [box.connect() for _ in range(60)]
    # wait: one after the other, these connections would take 120 s
    ok(box.ask("ping")["ok"] and time.monotonic() - begin < 60, "nor do more than it can hold")
    same(silent[0].recv(10), b"", "a silent connection is closed")
    for s in silent + more:
        s.close()


def a_stopped_wrapper_does_not_block_init():
    s, other = box.session(), box.session()
    victims = box.named("sandlease-wrap")
    for pid in victims:
        os.kill(pid, 19)
    askers = []
    for _ in range(300):
        a = box.connect()
        a.setblocking(False)
        a.send(b'{"op":"prove","incarnation":"%s","session":"%s","generation":1}' %
               (box.incarnation.encode(), s.encode()))
        askers.append(a)
    ok(box.ask("ping")["ok"], "init answers while a wrapper takes nothing")
    same(box.ask("look", session=s)["wrappers"][0]["generation"], 1, "and still looks")
    for a in askers:
        a.close()
    same(box.ask("kill", session=s, waitMs=10000)["wrappers"], [], "and still kills")
    for pid in victims:
        try:
            os.kill(pid, 18)
        except ProcessLookupError:
            pass
    same(box.forward("prove", other).get("output"), "ready", "the other goes on")
    box.ask("kill", session=other, waitMs=10000)


def an_asker_that_does_not_read_does_not_block_init():
    s = box.connect()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    s.send(b'{"op":"list","incarnation":"%s"}' % box.incarnation.encode())
    ok(box.ask("ping")["ok"], "an asker that does not read does not block init")
    s.close()


try:
    run([ping_says_who_it_is, a_wrong_incarnation_is_refused, broken_messages_get_an_answer,
         a_launched_wrapper_serves, a_sealed_generation_never_starts,
         an_effect_reaches_no_later_generation,
         each_launch_hears_of_its_own, a_launch_has_the_descriptors_it_announces,
         term_ends_those_who_listen_to_it, term_leaves_time_to_those_who_do_not,
         a_tenant_cannot_end_its_cell_by_signals, a_dead_wrapper_ends_the_cell,
         a_launch_that_fails_says_why, files_and_variables_come_over_the_channel,
         a_wrapper_is_adopted_once, variables_of_an_adoption_come_before_the_shell,
         a_cell_gets_lower_limits, the_watchdog_takes_the_lower_limit,
         status_counts_what_goes_on, silent_askers_do_not_block_others,
         a_stopped_wrapper_does_not_block_init, an_asker_that_does_not_read_does_not_block_init,
         many_ends_in_one_life_leave_room_for_the_next])
finally:
    box.close()
