#!/usr/bin/python3
"""warm_rootfs.t: tests that members of the warm pool are not used once the root file system of
their class was replaced in its place."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from pool import MEMBERS, claimed, counts, full, members, new
import rootfs
import service
from service import admin, execute, reap, until
from tap import case, equal, run, skip_all, true

if rootfs.why_not():
    skip_all(rootfs.why_not())
service.begin("warm_classes = rooted")
ROOT = os.path.join(service.setting("STACK_STATE"), "root")
rootfs.make(ROOT)
admin("class", "add", "rooted", "--rootfs", ROOT, "--memory-mb", "512", "--cpu-millis", "1000",
      "--disk-mb", "512", "--pids", "128")
ROOTED = {"class": "rooted"}


def replace_root(mark):
    """Another directory takes the name, as when an operator puts a new one in its place."""
    subprocess.run(["cp", "-al", ROOT, ROOT + ".new"], check=True)
    with open(ROOT + ".new/" + mark, "w", encoding="ascii"):
        pass
    os.rename(ROOT, ROOT + "." + mark)
    os.rename(ROOT + ".new", ROOT)


@case
def members_have_the_root():
    new(**ROOTED)  # the pool's process looks when a create has come
    s = claimed(**ROOTED)
    equal(execute(s["id"], "ls / | grep -c marked || :"), "0\n")


@case
def a_replaced_root_retires_them():
    full()
    before, misses = members(), counts()[1]
    replace_root("marked")
    s = new(**ROOTED)
    true(s["id"] not in before, "none of the old ones is taken")
    equal(counts()[1], misses + 1, "misses")
    equal(execute(s["id"], "ls / | grep marked"), "marked\n", "it has the new root")
    reap()
    until("they are replaced", lambda: not set(before) & set(members("true"))
          and len(members()) == MEMBERS)
    s = claimed(**ROOTED)
    equal(execute(s["id"], "ls / | grep marked"), "marked\n", "and so have the next members")


@case
def a_pass_keeps_those_that_fit():
    full()
    before = members()
    reap()
    equal(members(), before)


sys.exit(run(lambda: None))
