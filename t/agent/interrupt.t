#!/usr/bin/python3
"""Tests which commands an interrupt ends in the wrapper, and which state their shells keep."""
import itertools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, eventually  # noqa: E402
from tap import ok, run, same  # noqa: E402

box = Box()
numbers = itertools.count()


def queue(session, command, count):
    """Starts a call and waits until `count` calls are under way.  The wrapper counts the
    call before an interrupt can find it, but reports its limit, which is longer than the
    others', only after that."""
    limit = 600000 * count  # wait: a limit that the command never reaches
    r = box.request(session, "POST", "/api/execute", {"command": command, "timeoutMs": limit})

    def under_way():
        a = box.forward("status", session)
        return a["running"] == count and a["limitMs"] > limit - 600000
    if not eventually(under_way):
        raise AssertionError("it does not run")
    return r


def there(session, path):
    return box.call(session, "POST", "/api/read", {"path": path}).status == 200


def start(session, command):
    """Starts the only call of a session and waits until its shell has begun the command,
    because the wrapper counts the call earlier."""
    path = "/workspace/.begun%d" % next(numbers)
    r = queue(session, "echo >%s; %s" % (path, command), 1)
    if not eventually(lambda: there(session, path)):
        raise AssertionError("it does not begin")
    return r


def result(request):
    j = request.all().json()
    request.close()
    return j["exitCode"], j.get("interrupted", False), j["stdout"]


def commands_that_wait_for_their_shell_never_run():
    s = box.session()
    running = start(s, "echo began; sleep 1000")
    # several calls: an interrupt may end one that was begun by mistake before its echo
    queued = [queue(s, "echo wrong > /workspace/wrong", 2 + i) for i in range(8)]
    same(box.forward("interrupt", s)["interrupted"], 9, "one runs, the others wait")
    same(result(running)[:2], (130, True), "it is interrupted")
    same({result(q) for q in queued}, {(130, True, "")}, "so are those that wait")
    same(box.run(s, "ls /workspace")["stdout"], "", "and has done nothing")
    box.ask("kill", session=s, waitMs=10000)


def only_what_was_asked_for_before_is_meant():
    s = box.session()
    running = start(s, "sleep 1000")
    same(box.forward("interrupt", s, olderMs=3600000)["interrupted"], 0, "not what is younger")
    same(box.forward("status", s)["running"], 1, "it runs on")
    same(box.forward("interrupt", s, olderMs=0)["interrupted"], 1, "but all there is")
    same(result(running)[:2], (130, True), "is interrupted")
    same(box.forward("interrupt", s)["interrupted"], 0, "nothing runs now")
    same(box.run(s, "echo usable")["stdout"], "usable\n", "and the shell is usable")
    box.ask("kill", session=s, waitMs=10000)


def a_shell_that_will_not_tell_is_replaced():
    s = box.session()
    box.run(s, "cd /tmp; here=kept; export there=too; trap - 44")
    running = start(s, "sleep 1000; sleep 1000")
    same(box.forward("interrupt", s)["interrupted"], 1, "a shell without the trap")
    same(result(running)[:2], (130, True), "is interrupted")
    same(box.run(s, "echo ${here-lost} $there; pwd")["stdout"], "lost too\n/tmp\n",
         "and replaced, with its directory and exported variables")
    running = start(s, "trap '' 44; while :; do :; done")
    same(box.forward("interrupt", s)["interrupted"], 1, "one that ignores it")
    same(result(running)[:2], (130, True), "as well")
    box.run(s, "here=kept; cd /tmp")
    running = start(s, "rm -r /tmp/.sandlease-*; exec sleep 1000")
    same(box.forward("interrupt", s)["interrupted"], 1, "one that has become another program")
    same(result(running)[:2], (130, True), "as well")
    same(box.run(s, "echo usable")["stdout"], "usable\n", "and the next one works")
    box.ask("kill", session=s, waitMs=10000)


def options_of_the_shell_survive():
    s = box.session()
    box.run(s, "set -C; shopt -s extglob; umask 027; declare -a list=(1 '2 3'); export X=\"a'b\"")
    running = start(s, "for i in 1 2 3; do sleep 1000; done")
    same(box.forward("interrupt", s)["interrupted"], 1, "a loop")
    same(result(running)[:2], (130, True), "is interrupted as a whole")
    same(box.run(s, "echo $- | grep -c C; shopt -q extglob && umask; echo \"${list[1]}\"; printenv X")
         ["stdout"], "1\n0027\n2 3\na'b\n", "state, though it must not overwrite files")
    box.ask("kill", session=s, waitMs=10000)


def a_shell_that_waits_for_its_next_command_tells_as_well():
    s = box.session()
    # the shell swallows its "ready" report, so the wrapper believes that it is busy
    running = start(s, """here=kept; builtin() { case "$*" in
        "printf x"*) unset -f builtin; touch /workspace/ended;;
        *) command builtin "$@";; esac; }""")
    if not eventually(lambda: box.run(s, "test -e /workspace/ended",
                                      sessionId="other")["exitCode"] == 0):
        raise AssertionError("it does not end")
    same(box.forward("interrupt", s)["interrupted"], 1, "a command that has just ended")
    same(result(running)[:2], (130, True), "is interrupted")
    same(box.run(s, "echo ${here-lost}")["stdout"], "kept\n", "and its shell keeps its state")
    box.ask("kill", session=s, waitMs=10000)


def nothing_in_the_tenants_hands_lets_a_list_go_on():
    for what, command in (("a full /tmp", "head -c 20M /dev/zero >/tmp/full 2>/dev/null"),
                          ("no place for fifos", "rm -r /tmp/.sandlease-*; touch /tmp/.sandlease-inst1")):
        s = box.session()
        running = start(s, command + "; touch /workspace/began; sleep 1000; touch /workspace/wrong")
        if not eventually(lambda: there(s, "/workspace/began")):
            raise AssertionError("it does not come so far")
        same(box.forward("interrupt", s).get("interrupted"), 1, what)
        same(result(running)[:2], (130, True), "does not hold an interruption up")
        ok(not there(s, "/workspace/wrong"), "nor lets the list go on")
        box.ask("kill", session=s, waitMs=10000)


def a_command_that_ends_in_that_moment_does_no_harm():
    s = box.session()
    for i in range(20):
        # wait: the command's length varies, so that it ends at any moment
        r = box.request(s, "POST", "/api/execute", {"command": "sleep 0.0%d" % (i % 4)})
        box.forward("interrupt", s)
        j = r.all().json()
        r.close()
        if j["exitCode"] not in (0, 130) or box.run(s, "echo ok")["stdout"] != "ok\n":
            ok(False, "round %d: %r" % (i, j))
            break
    else:
        ok(True, "interruptions at any moment leave a shell that works")
    box.ask("kill", session=s, waitMs=10000)


try:
    run([commands_that_wait_for_their_shell_never_run, only_what_was_asked_for_before_is_meant,
         a_shell_that_will_not_tell_is_replaced, options_of_the_shell_survive,
         a_shell_that_waits_for_its_next_command_tells_as_well, nothing_in_the_tenants_hands_lets_a_list_go_on,
         a_command_that_ends_in_that_moment_does_no_harm])
finally:
    box.close()
