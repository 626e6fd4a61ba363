#!/usr/bin/python3
"""Tests that init measures all that a session has on disk, also hidden files, and that
only the measuring child may read so much."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import Box, eventually  # noqa: E402
from tap import run, same, true  # noqa: E402

box = Box()
MB = 1 << 20
# CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE
READING = 1 << 2 | 1 << 19


def usage(session):
    answers = []

    def told():  # busy: the child that measured last has answered, but has not yet exited
        answers.append(box.ask("usage"))
        return answers[-1].get("code") != "busy"
    eventually(told)
    answer = answers[-1]
    true(answer["ok"], "usage: %r" % answer)
    return next(c for c in answer["cells"] if c["session"] == session)


def megabytes(session):
    return usage(session)["bytes"] // MB


def background(session, program):
    """Starts a Python program that runs until the cell ends, and waits until its setup is done."""
    box.run(session, "cat >hide.py <<'END'\nimport ctypes, mmap, os, signal\n" + program +
            "\nopen('far', 'w').close()\nsignal.pause()\nEND\n"
            "(exec python3 hide.py) >/dev/null 2>&1 &")
    true(eventually(lambda: box.run(session, "ls far").get("exitCode") == 0), "it runs")


def end(session):
    box.run(session, "chmod -R u+rwx /workspace /home/user")
    box.ask("kill", session=session, waitMs=10000)


def a_closed_directory_is_measured():
    s = box.session()
    box.run(s, "mkdir -p a/b; fallocate -l 5M a/b/f; chmod 000 a/b a")
    u = usage(s)
    same((u["whole"], u["bytes"] // MB), (True, 5), "all of it")
    box.run(s, "chmod 000 /workspace /home/user")
    same((usage(s)["whole"], megabytes(s)), (True, 5), "also if all is closed")
    end(s)


def files_are_counted():
    s = box.session(fileMb=77)
    before = usage(s)
    box.run(s, "mkdir d; for i in $(seq 99); do : >d/$i; done; ln d/1 d/again")
    u = usage(s)
    same(u["files"] - before["files"], 100, "inodes, not names")
    same(u["bytes"] - before["bytes"], 100 * 4096, "4 KiB each")
    same(u["limitMb"], 77, "what its sandbox may have")
    end(s)


NAMELESS = """
f = os.open('f', os.O_RDWR | os.O_CREAT)
os.posix_fallocate(f, 0, 7 << 20)
os.unlink('f')
"""


def an_open_file_without_a_name_is_measured():
    s = box.session()
    background(s, NAMELESS)
    u = usage(s)
    same((u["whole"], u["bytes"] // MB), (True, 7), "it is found")
    end(s)


def also_in_a_process_that_is_not_dumpable():
    s = box.session()
    background(s, NAMELESS + "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)")
    u = usage(s)
    same((u["whole"], u["bytes"] // MB), (True, 7), "it is found")
    end(s)


def what_is_only_mapped_is_not_all():
    s = box.session()
    background(s, NAMELESS + "m = mmap.mmap(f, 7 << 20)\nos.closerange(3, 64)")
    same(usage(s)["whole"], False, "some of it was not seen, and it says so")
    end(s)


IN_FLIGHT = """
import array, socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_%s)
a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [f]))])
os.close(f)
"""


def what_is_being_sent_to_a_process_is_not_all():
    for kind in ("STREAM", "DGRAM"):
        s = box.session()
        background(s, NAMELESS + IN_FLIGHT % kind)
        same(usage(s)["whole"], False, "%s: a descriptor in a socket was not seen, and it says so" % kind)
        end(s)
    s = box.session()
    background(s, NAMELESS + IN_FLIGHT % "STREAM" + "b.recvmsg(1, 100)\n")
    same((usage(s)["whole"]), True, "once it was received all is seen")
    end(s)


# The main thread has exited, so /proc/PID no longer shows the process's files.
THREAD = """
import threading
libc = ctypes.CDLL(None)
ready = threading.Event()
%s
threading.Thread(target=hide).start()
ready.wait()
open('far', 'w').close()
%s
"""
# CLONE_FILES: this thread gets its own table of descriptors.
OWN_TABLE = """
def hide():
    libc.unshare(0x400)
    global f
%s
    ready.set()
    signal.pause()
""" % NAMELESS.replace("\n", "\n    ")
SAME_TABLE = OWN_TABLE.replace("libc.unshare(0x400)", "pass")


def a_file_that_a_thread_alone_has_open_is_measured():
    s = box.session()
    background(s, THREAD % (OWN_TABLE, ""))
    u = usage(s)
    same((u["whole"], u["bytes"] // MB), (True, 7), "in a table of its own")
    end(s)
    s = box.session()
    background(s, THREAD % (SAME_TABLE, "libc.pthread_exit(None)"))
    u = usage(s)
    same((u["whole"], u["bytes"] // MB), (True, 7), "after the main thread has ended")
    end(s)
    s = box.session()
    background(s, THREAD % (SAME_TABLE.replace("ready.set()", "m = mmap.mmap(f, 7 << 20); os.closerange(3, 64);"
                                               " ready.set()"), "libc.pthread_exit(None)"))
    same(usage(s)["whole"], False, "a mapping, after the main thread has ended")
    end(s)


def memory_is_not_disk():
    s = box.session()
    box.run(s, "fallocate -l 5M /tmp/f; fallocate -l 5M /dev/shm/f")
    background(s, NAMELESS.replace("'f'", "'/tmp/g'"))
    u = usage(s)
    same((u["whole"], u["bytes"] // MB), (True, 0), "nothing on disk")
    end(s)


def effective(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return next(int(line.split()[1], 16) for line in f if line.startswith("CapEff:"))


def init_and_cells_may_not_read_so_much():
    s = box.session()
    same(effective(box.inner()[0]) & READING, 0, "init")
    out = box.run(s, "grep CapEff /proc/self/status")["stdout"]
    same(int(out.split()[1], 16), 0, "a tenant's process")
    box.run(s, "mkdir shut; chmod 000 shut")
    true(box.run(s, "ls shut")["exitCode"] != 0, "it cannot read what it has closed")
    end(s)


try:
    run([a_closed_directory_is_measured, files_are_counted,
         an_open_file_without_a_name_is_measured, also_in_a_process_that_is_not_dumpable,
         what_is_only_mapped_is_not_all, what_is_being_sent_to_a_process_is_not_all,
         a_file_that_a_thread_alone_has_open_is_measured, memory_is_not_disk,
         init_and_cells_may_not_read_so_much])
finally:
    box.close()
