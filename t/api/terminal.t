#!/usr/bin/python3
"""terminal.t: tests a terminal of a session, for clients without WebSocket."""
import os
import re
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import Running, wrapper_of
from service import (at, call, container_error, create, execute, expect, get,
                     running, until)
from tap import Skip, case, equal, run, true
from terminals import Client, Terminal, opened, path, show

service.begin()

SID = create(isolation="session")["id"]
ME = os.getpid()


class Unread(threading.Thread):
    """Types into a program that does not read.  This takes long, so other cases run
    meanwhile."""

    def __init__(self):
        super().__init__()
        self.reply = None
        self.start()

    def run(self):
        t = Terminal(SID, "full")
        t.run_in("stty raw -echo; echo rea''dy; sleep 9999", "ready")
        self.reply = t.send(b"x" * 1000000)


UNREAD = Unread()


def content(name):
    return expect(200, call("GET", at(SID, "/files/workspace/" + name))).body


# ---- a terminal and its properties

@case
def a_terminal_is_made_once_and_found_again():
    first = opened(SID, sessionId="once", cols=100, rows=30)
    equal({k: v for k, v in first.items() if k not in ("pid", "offset")},
          {"id": "once", "shell": "bash", "cols": 100, "rows": 30,
           "running": True, "created": True}, "the new one")
    true(first["pid"] > 0 and first["offset"] >= 0, "its numbers")
    again = opened(SID, sessionId="once", shell="nonsense")
    equal((again["pid"], again["created"], again["cols"], again["rows"]),
          (first["pid"], False, 100, 30), "the same, as it is")
    equal((opened(SID, sessionId="once", rows=31)["rows"],
           show(SID, "once")["cols"]), (31, 100), "unless a size is given")
    listed = expect(200, call("GET", path(SID))).json["terminals"]
    equal([t["pid"] for t in listed if t["id"] == "once"], [first["pid"]], "list")
    many = []
    threads = [threading.Thread(target=lambda: many.append(
        opened(SID, sessionId="race"))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    equal((len({t["pid"] for t in many}), sum(t["created"] for t in many)), (1, 1),
          "eight at once get one")


@case
def it_begins_as_its_shell_session_is():
    execute(SID, "export A=\"it's\n1\" B=; C=no; cd /tmp; umask 027",
            sessionId="like")
    t = Terminal(SID, "like")
    t.run_in("echo \"<$A|$B|$C>\" $PWD $(umask) $TERM $(stty size) $(tty)",
             "<it's\r\n1\\|\\|> /tmp 0027 xterm-256color 24 80 /dev/pts/[0-9]")
    t.run_in("cd /; export A=other; echo do''ne", "done")
    equal(execute(SID, "echo $A $PWD", sessionId="like"), "it's 1 /tmp\n",
          "and does not change it")
    t = Terminal(SID, "elsewhere", cwd="/usr/lib")
    t.run_in("echo at $PWD", "at /usr/lib\r\n")
    t = Terminal(SID, "posix", shell="/bin/sh")
    t.run_in("echo $0", "/bin/sh\r\n")


@case
def a_shell_session_that_is_in_a_command_is_not_waited_for():
    execute(SID, "export BEFORE=1", sessionId="works")
    work = Running(SID, "export SINCE=1; cd /tmp; echo > /workspace/works;"
                   " until [ -e /workspace/go ]; do sleep 0.02; done",
                   sessionId="works")
    until("it works", lambda: call(
        "GET", at(SID, "/files/workspace/works")).status == 200)
    t = Terminal(SID, "works")
    t.run_in("echo [$BEFORE] $PWD", r"\[1\] /tmp\r\n")
    execute(SID, "touch /workspace/go")
    expect(200, work.result())


@case
def jobs_are_controlled():
    t = Terminal(SID, "jobs")
    mark = "8801.%d" % ME
    t.run_in("sleep " + mark, "")
    until("it runs", lambda: running(mark))
    since = len(t.text)
    t.type("\x1a")
    t.wait("Stopped", since)
    t.run_in("fg", "sleep " + mark)
    until("it runs again", lambda: [p for p in running(mark)
                                    if service.stat(p)[1] == "S"])
    since = len(t.text)
    t.type("\x03")
    t.wait(r"\$ $", since)
    until("it is gone", lambda: not running(mark))
    t.run_in("echo $?", "130\r\n")


@case
def nobody_types_for_another_process():
    t = Terminal(SID, "tiocsti")
    t.run_in("python3 -c 'import fcntl, termios; fcntl.ioctl(0,"
             " termios.TIOCSTI, b\"x\")'", "Operation not permitted")


# ---- programs

@case
def vim_edits_a_file_and_hears_of_another_size():
    t = Terminal(SID, "vim")
    t.run_in("vim -u NONE -N --cmd 'set ruler' new.txt", r"\x1b\[\?1049h")
    t.shows(1, "^~")
    t.shows(22, "^~")
    t.shows(23, "new.txt.*(New|\\[New\\])")
    t.type("ione\rtwo\rthree\x1bggddGA and more\x1b")
    t.shows(0, "^two$")
    t.shows(1, "^three and more$")
    t.has_cursor_at(1, 13)
    t.resize(60, 40)
    t.type("\x0c")
    t.shows(38, "^~")
    t.shows(39, "2,14")
    t.type(":set lines? columns?\r")
    t.wait("lines=40.*columns=60")
    t.type("\r:wq\r")
    t.wait(r"\x1b\[\?1049l.*\$ $")
    equal(content("new.txt"), b"two\nthree and more\n", "the file")


@case
def top_redraws_and_fills_another_size():
    t = Terminal(SID, "top", rows=12)
    t.run_in("top -d 0.1", "load average")
    t.shows(0, "^top - ")
    t.shows(6, "PID.*COMMAND")
    since = len(t.text)
    t.wait("load average.*load average.*load average", since)
    t.resize(50, 30)

    def fits():
        """True if no line is longer than the screen: its rest would begin the next line."""
        lines = t.lines()
        return re.match(" *PID USER", lines[6]) and all(
            re.match(" *[0-9]", line) for line in lines[7:] if line)
    until("no line is longer", fits)
    t.type("q")
    t.run_in("stty size", "30 50\r\n")


# ---- several clients, and one that connects again

@case
def two_clients_share_one_terminal():
    t = Terminal(SID, "shared")
    other = Client(SID, "shared")
    t.run_in("echo from-$((1 + 1))", "from-2\r\n")
    other.wait("from-2\r\n.*\\$ $")
    expect(200, call("POST", path(SID, "shared", "/input"),
                     {"data": "ZWNobyBzZWNvbmQtJCgoMyArIDMpKQ0=",
                      "encoding": "base64"}))
    t.wait("second-6\r\n.*\\$ $")
    expect(200, call("POST", path(SID, "shared", "/input"), {"data": "exit 5\r"}))
    equal((t.exit(), other.exit()),
          ({"type": "exit", "code": 5}, {"type": "exit", "code": 5}), "both")
    equal(t.text, other.text, "they have seen the same")


@case
def who_comes_back_sees_what_was_there():
    t = Terminal(SID, "again")
    end = t.run_in("echo before-$((1 + 1))", "before-2\r\n.*\\$ $")
    t.close()
    expect(200, call("POST", path(SID, "again", "/input"),
                     b"echo during-$((2 + 2))\r", headers={"Content-Type": "text/plain"}))
    all_of_it = Client(SID, "again")
    all_of_it.wait("before-2\r\n.*during-4\r\n.*\\$ $")
    for more in ({"query": "?offset=%d" % end}, {"Last-Event-ID": str(end)}):
        rest = Client(SID, "again", **more)
        equal(rest.begin, end, "where it goes on")
        rest.wait("during-4\r\n.*\\$ $")
        equal(all_of_it.text[end:], rest.text, "not twice, and nothing missed")
    beyond = Client(SID, "again", query="?offset=999999")
    equal(beyond.begin, 0, "an offset of another terminal")


@case
def the_scrollback_is_256_kib():
    t = Terminal(SID, "scroll")
    t.run_in("stty -onlcr; seq 1 100000; echo al''l", "99999\n100000\nall\n.*\\$ $")
    late = Client(SID, "scroll")
    late.wait("100000\nall\n.*\\$ $")
    total = show(SID, "scroll")["offset"]
    equal(late.begin, total - 256 * 1024, "it begins with what is left")
    equal(late.text, t.text[-len(late.text):], "which is right")
    early = Client(SID, "scroll", query="?offset=10")
    early.wait("100000\nall\n")
    equal(early.events[1], {"type": "lost", "bytes": total - 256 * 1024 - 10},
          "what an earlier reader lost is told")


@case
def a_slow_reader_loses_output_and_holds_nobody_up():
    t = Terminal(SID, "flood")
    slow = Client(SID, "flood", slow=True)
    t.wait(r"\$ $")
    t.close()
    t.type("stty -opost; yes | head -c 40000000; echo al''l\r")
    until("the program is not held up",
          lambda: show(SID, "flood")["offset"] > 40000000)
    Client(SID, "flood").wait("all\n.*\\$ $")
    slow.start()
    slow.wait("all\n.*\\$ $")
    lost = sum(e["bytes"] for e in slow.events if e["type"] == "lost")
    true(lost > 10000000, "it lost some: %d" % lost)
    equal(slow.offset, show(SID, "flood")["offset"], "and can say how much")
    equal({e["type"] for e in slow.events}, {"ready", "lost"}, "in order")


# ---- input

@case
def ten_megabytes_are_pasted_whole():
    t = Terminal(SID, "paste")
    data = os.urandom(10 << 20)
    t.run_in("stty raw -echo; echo rea''dy; head -c %d > pasted; stty sane;"
             " echo do''ne" % len(data), "ready")
    equal(expect(200, t.send(data)).json["written"], len(data), "all is taken")
    t.wait("done")
    true(content("pasted") == data, "and has arrived")


@case
def what_two_clients_type_is_not_mixed():
    t = Terminal(SID, "both")
    size, times = 200000, 5
    t.run_in("stty raw -echo; echo rea''dy; head -c %d > both; stty sane;"
             " echo do''ne" % (2 * size * times), "ready")

    def type_many(letter):
        for _ in range(times):
            expect(200, t.send(letter * size))
    threads = [threading.Thread(target=type_many, args=[c]) for c in (b"a", b"b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    t.wait("done")
    got = content("both")
    equal({got[i:i + size] for i in range(0, len(got), size)} ==
          {b"a" * size, b"b" * size}, True, "each as one piece")


@case
def input_that_nobody_reads_is_given_up():
    UNREAD.join()
    doc = container_error(UNREAD.reply, 409, "INPUT_FULL")
    true(0 < doc["context"]["written"] < 1000000, "it says how much was taken")
    equal(show(SID, "full")["running"], True, "and it goes on")


# ---- the end of a terminal

@case
def it_tells_how_it_ended():
    for tid, typed, wanted in (
            ("zero", "exit\r", {"code": 0}), ("code", "exit 137\r", {"code": 137}),
            ("killed", "kill -9 $$\r", {"code": 137, "signal": "SIGKILL"}),
            ("gone", "exec sh -c 'kill -TERM $$'\r",
             {"code": 143, "signal": "SIGTERM"})):
        t = Terminal(SID, tid)
        t.wait(r"\$ $")
        t.type(typed)
        equal(t.exit(), dict(wanted, type="exit"), tid)
        seen = show(SID, tid)
        equal((seen["running"], seen["exitCode"], seen.get("signal")),
              (False, wanted["code"], wanted.get("signal")), "shown")
        container_error(t.send(b"x"), 409, "TERMINAL_ENDED")
        late = Client(SID, tid)
        equal((late.exit(), late.text), (t.exit(), t.text), "also to who is late")
    old = show(SID, "code")["offset"]
    new = opened(SID, sessionId="code")
    equal((new["created"], new["offset"] >= old), (True, True),
          "another has its name, and the numbers go on")
    equal(Client(SID, "code").begin, old, "what it writes is its own")


@case
def who_is_left_in_it_is_hung_up():
    t = Terminal(SID, "left")
    t.run_in("bash -c 'trap \"\" HUP; echo rea\"\"dy; read x; echo \"[$x]\" > left'",
             "ready")
    execute(SID, "kill -9 %d" % t.wish["pid"])
    equal(t.exit(), {"type": "exit", "code": 137, "signal": "SIGKILL"}, "it")
    until("they notice", lambda: call(
        "GET", at(SID, "/files/workspace/left")).body == b"[]\n")


@case
def deleting_it_ends_everything_in_it():
    t = Terminal(SID, "tree")
    mark = "8802.%d" % ME
    t.run_in("bash", r"\$ $")
    t.run_in("(nohup setsid -f sleep %s; sleep %s) >/dev/null 2>&1 &" % (mark, mark), "")
    t.run_in("exec bash -c 'trap \"echo bye > bye\" TERM; sleep %s'" % mark, "")
    until("all run", lambda: len(running(mark)) == 3)
    equal(t.delete()["terminal"]["running"], False, "answer")
    equal(running(mark), [], "nothing is left")
    equal(content("bye"), b"bye\n", "they were asked first")
    t.exit()
    container_error(call("GET", path(SID, "tree")), 404, "TERMINAL_NOT_FOUND")
    container_error(call("DELETE", path(SID, "tree")), 404, "TERMINAL_NOT_FOUND")


@case
def it_ends_with_its_shell_session():
    execute(SID, "true", sessionId="short")
    t = Terminal(SID, "short")
    expect(200, call("POST", at(SID, "/api/session/delete"), {"sessionId": "short"}))
    t.exit()
    container_error(call("GET", path(SID, "short")), 404, "TERMINAL_NOT_FOUND")


@case
def there_are_only_so_many():
    sid = create()["id"]
    for i in range(32):
        opened(sid, sessionId="t%d" % i)
    container_error(call("POST", path(sid), {}), 429, "TOO_MANY_TERMINALS")
    for i in range(12):
        expect(200, call("POST", path(sid, "t%d" % i, "/input"), {"data": "exit\r"}))
    until("of twelve that have ended eight are known", lambda: len(
        call("GET", path(sid)).json["terminals"]) == 28)
    equal(opened(sid)["created"], True, "and there is room")
    expect(200, call("DELETE", at(sid)))


# ---- the session around a terminal

@case
def what_runs_in_it_keeps_the_session_busy():
    sid = create()["id"]
    t = Terminal(sid)
    t.wait(r"\$ $")
    equal(get(sid)["busy"], True, "a client looks at it")
    t.close()
    until("a prompt that nobody looks at is no work", lambda: not get(sid)["busy"])
    mark = "8803.%d" % ME
    expect(200, call("POST", path(sid, "default", "/input"),
                     {"data": "sleep %s\r" % mark}))
    until("what runs is", lambda: running(mark) and get(sid)["busy"])
    r = expect(200, call("POST", at(sid, "/interrupt"))).json
    equal(r["interrupted"], 1, "it is interrupted")
    until("and gone", lambda: not running(mark) and not get(sid)["busy"])
    equal(show(sid)["running"], True, "its terminal is not")
    # the file is written once: a file that gets shorter while it is sent is cut off
    expect(200, call("POST", path(sid, "default", "/input"), {
        "data": "while :; do [ -e /workspace/loops ] || echo > /workspace/loops; done\r"}))
    until("it loops", lambda: call("GET", at(sid, "/files/workspace/loops")).status == 200)
    expect(200, call("POST", at(sid, "/interrupt")))
    expect(200, call("POST", path(sid, "default", "/input"), {"data": "exit 3\r"}))
    equal(Client(sid).exit()["code"], 3, "a loop of the shell itself too")
    expect(200, call("DELETE", at(sid)))


@case
def sleep_ends_it():
    sid = create()["id"]
    t = Terminal(sid)
    mark = "8804.%d" % ME
    t.run_in("bash", r"\$ $")
    t.run_in("sleep %s" % mark, "")
    pids = until("it runs", lambda: running(mark))
    wrapper = wrapper_of(pids[0])
    expect(200, call("POST", at(sid, "/sleep")))
    until("nothing is left", lambda: not running(mark) and not service.alive(wrapper))
    container_error(call("GET", path(sid, "default")), 404, "TERMINAL_NOT_FOUND")
    equal(opened(sid)["created"], True, "the next one is new")
    expect(200, call("DELETE", at(sid)))


@case
def it_outlives_a_suspension():
    if service.setting("CGROUP") == "none":
        raise Skip("no cgroup is delegated: nothing can be frozen")
    sid = create()["id"]
    t = Terminal(sid)
    t.run_in("here=kept; echo do''ne", "done")
    t.close()
    expect(200, call("POST", at(sid, "/sleep"), {"suspend": True}))
    t.type("echo [$here]\r")
    Client(sid).wait(r"\[kept\]")
    equal(opened(sid)["pid"], t.wish["pid"], "it is the same")
    expect(200, call("DELETE", at(sid)))


# ---- refused requests

@case
def bad_input_is_refused():
    t = Terminal(SID, "bad")
    for body in ({"cols": 0}, {"cols": 4097}, {"rows": -1}, {"rows": "24"},
                 {"cols": 1.5}, {"shell": ""}, {"shell": "no-such-shell"},
                 {"shell": "/etc/passwd"}, {"shell": "/usr/bin"}, {"shell": "a/b"},
                 {"shell": "x" * 5000}, {"shell": 1}, {"shell": "bash\0"},
                 {"cwd": "/no/such"}, {"cwd": 7}, {"cwd": "x" * 5000},
                 {"sessionId": ""}, {"sessionId": " "}, {"sessionId": "a/b"},
                 {"sessionId": ".."}, {"sessionId": "x" * 200}, {"sessionId": []},
                 [], "text"):
        wish = dict({"sessionId": "new"}, **body) if isinstance(body, dict) else body
        equal((body, call("POST", path(SID), wish).status), (body, 400), "create")
    equal(call("GET", path(SID, "new")).status, 404, "none was made")
    for rest, body in (
            ("/resize", {}), ("/resize", {"cols": 80}), ("/resize", {"cols": 0, "rows": 1}),
            ("/resize", {"cols": 80, "rows": 4097}), ("/resize", {"cols": "8", "rows": 8}),
            ("/input", {}), ("/input", {"data": 1}), ("/input", {"data": None}),
            ("/input", {"data": "x", "encoding": "latin-1"}),
            ("/input", {"data": "x", "encoding": 1}),
            ("/input", {"data": "!", "encoding": "base64"}), ("/input", [])):
        r = call("POST", path(SID, "bad", rest), body)
        equal((rest, body, r.status), (rest, body, 400), "changed")
    equal(call("POST", path(SID, "bad", "/input"), b"{", headers={
        "Content-Type": "application/json; charset=utf-8"}).status, 400, "half a body")
    for query in ("?offset=-1", "?offset=x", "?offset=", "?offset=99999999999999999999"):
        equal((query, call("GET", path(SID, "bad", "/stream" + query)).status),
              (query, 400), "stream")
    for method, rest in (("GET", ""), ("DELETE", ""), ("GET", "/stream"),
                         ("POST", "/input"), ("POST", "/resize")):
        container_error(call(method, path(SID, "nobody's", rest), b"{}"
                             if method == "POST" else None), 404, "TERMINAL_NOT_FOUND")
    equal(call("PUT", path(SID, "bad")).status, 405, "another method")
    t.run_in("echo st''ill", "still")
    name = "so \u00e4 & 'x'?"
    equal(Terminal(SID, name).wish["id"], name, "a name may have anything else")


run(lambda: None)
