#!/usr/bin/python3
"""living.t: tests the environment that people and tools find in a session: prompt,
python, limits."""
import io
import os
import re
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import at, call, create, execute, expect, get, sql, until
from tap import Skip, case, equal, run, true
from terminals import Terminal

service.begin()

NAME = "lively"
SID = create(isolation="session", name=NAME)["id"]
COLOUR = "\x1b\\[[0-9;]*m"


def here(program):
    return execute(SID, "command -v %s || true" % program).strip()


def put(path, data):
    r = call("PUT", at(SID, "/files" + path), data)
    true(r.status in (200, 201), r)


# ---- the terminal

@case
def the_prompt_says_who_where_and_in_which_session():
    t = Terminal(SID, "prompt", cwd="/usr/lib")
    t.wait("%suser@%s%s:%s/usr/lib%s\\$ " % (COLOUR, NAME, COLOUR, COLOUR, COLOUR))
    t.run_in("cd; alias ls; echo in ~", "ls --color=auto")
    t.wait("%s:%s~%s\\$ " % (COLOUR, COLOUR, COLOUR))
    t.run_in("echo $LANG $LC_ALL $TERM", "C.UTF-8 C.UTF-8 xterm-256color")


@case
def without_a_name_the_prompt_has_the_host_s():
    other = create(isolation="session")["id"]
    Terminal(other, "prompt").wait("user@sandbox%s:%s/workspace" % (COLOUR, COLOUR))


@case
def a_bashrc_of_one_s_own_wins():
    put("/home/user/.bashrc", b"PS1='mine\$ '\nalias ls='ls -1'\n")
    t = Terminal(SID, "own")
    t.wait(r"mine\$ ")
    t.run_in("alias ls", "ls -1")
    execute(SID, "rm ~/.bashrc")


@case
def what_was_typed_is_in_the_history_of_the_next_terminal():
    t = Terminal(SID, "typed")
    t.run_in("echo remem''ber-me", "remember-me")
    t.run_in("kill -9 $$", "")
    until("it is written", lambda: "remem''ber-me" in execute(
        SID, "cat ~/.bash_history 2>/dev/null || true"))


@case
def shells_of_commands_are_as_they_were():
    equal(execute(SID, "echo \"${PS1-none}\"; shopt -q expand_aliases && type -t ls"),
          "none\nfile\n", "neither prompt nor alias")


@case
def a_login_shell_without_environment_finds_its_way():
    said = execute(SID, "env -i HOME=$HOME PATH=/usr/bin:/bin bash -lic 'echo $PATH; alias ll' 2>/dev/null")
    true(said.startswith("/home/user/.local/bin:") and "ls -alF" in said, said)


# ---- tools

@case
def python_is_there_where_python3_is():
    if not here("python3"):
        raise Skip("no python3")
    equal(execute(SID, "python -c 'print(6 * 7)'; env python -c 'print(1)'"),
          "42\n1\n", "it runs")
    equal(execute(SID, "cd /tmp && python -m venv --without-pip v && v/bin/python -c "
                       "'import sys; print(sys.prefix)'"), "/tmp/v\n", "a venv of it")


def wheel():
    """Returns (its name, its bytes) of a wheel with a module and a program."""
    to = io.BytesIO()
    info = "quux-1.0.dist-info/"
    files = {"quux.py": "def main():\n    print('quux runs')\n",
             info + "METADATA": "Metadata-Version: 2.1\nName: quux\nVersion: 1.0\n",
             info + "WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\n"
                             "Tag: py3-none-any\n",
             info + "entry_points.txt": "[console_scripts]\nquux = quux:main\n"}
    files[info + "RECORD"] = "".join(n + ",,\n" for n in files)
    with zipfile.ZipFile(to, "w") as z:
        for name, text in files.items():
            z.writestr(name, text)
    return "quux-1.0-py3-none-any.whl", to.getvalue()


@case
def pip_installs_into_the_home_directory_and_into_a_venv():
    if "pip" not in execute(SID, "python3 -m pip --version 2>&1 || true"):
        raise Skip("no pip")
    name, data = wheel()
    put("/workspace/" + name, data)
    execute(SID, "cd /workspace && python3 -m pip install -q --no-index ./" + name)
    equal(execute(SID, "quux; command -v quux"), "quux runs\n/home/user/.local/bin/quux\n",
          "on PATH")
    if "ok" not in execute(SID, "python3 -c 'import ensurepip; print(\"ok\")' 2>/dev/null || true"):
        return
    equal(execute(SID, "cd /workspace && python3 -m venv v && v/bin/pip install -q --no-index ./"
                       + name + " && v/bin/quux"), "quux runs\n", "in a venv")


@case
def npm_installs_globally():
    if not here("npm"):
        raise Skip("no npm")
    put("/workspace/tool/package.json", b'{"name":"tool","version":"1.0.0","bin":{"frob":"./frob.js"}}')
    put("/workspace/tool/frob.js", b"#!/usr/bin/env node\nconsole.log('frob runs')\n")
    execute(SID, "cd /workspace/tool && npm pack --silent >/dev/null && "
                 "npm install -g --silent --offline ./tool-1.0.0.tgz")
    equal(execute(SID, "frob"), "frob runs\n", "and it is on PATH")


@case
def without_a_network_tools_do_not_try_again_for_a_minute():
    if not here("npm"):
        raise Skip("no npm")
    equal(execute(SID, "npm config get fetch-retries"), "0\n", "npm")
    said = execute(SID, "cd /tmp && { npm install nothing-like-it; pip install nothing-like-it; } "
                        "2>&1 || true")
    true("getaddrinfo" in said and "name resolution" in said, said)
    equal(said.count("Retrying"), 1, "pip")


@case
def what_is_set_for_tools_can_be_unset():
    sid = create(isolation="session", env={"NPM_CONFIG_PREFIX": "/tmp/n", "PATH": "/usr/bin:/bin"})["id"]
    equal(execute(sid, "echo $NPM_CONFIG_PREFIX $PATH"), "/tmp/n /usr/bin:/bin\n", "ours do not win")


# ---- limits

sql("INSERT INTO class (name, memory_mb, cpu_millis, disk_mb, pids)"
      " VALUES ('modest', 256, 1000, 512, 256)")
MODEST = create(isolation="session", **{"class": "modest"})["id"]
LIMITS = get(MODEST)["limits"]
HOST_CPUS = os.cpu_count()
SHOWN = 1 if LIMITS["cpuMillis"]["by"] == "cgroup" else HOST_CPUS


def meminfo(name, sid=MODEST):
    return int(re.search(r"^%s:\s+(\d+) kB$" % name,
                         execute(sid, "cat /proc/meminfo"), re.M)[1]) // 1024


@case
def memory_is_as_large_as_the_class_allows():
    equal(meminfo("MemTotal"), 256, "/proc/meminfo")
    equal(execute(MODEST, "free -m | awk '/^Mem/ { print $2 } /^Swap/ { print $2 }'"), "256\n0\n",
          "free")
    equal(meminfo("MemTotal", SID), 2048, "another class")


@case
def what_is_used_is_seen():
    before = meminfo("MemAvailable")
    true(200 < before < 256, before)
    execute(MODEST, "head -c 50M /dev/zero >/tmp/fill")
    until("files in memory", lambda: before - 60 < meminfo("MemAvailable") < before - 40)
    execute(MODEST, "rm /tmp/fill")
    true(execute(MODEST, "python3 -c 'print(1)'") == "1\n", "python")
    expect(200, call("POST", at(MODEST, "/api/process/start"), {
        "command": "exec python3 -c 'x = b\"x\" * (100 << 20)\nimport time; time.sleep(9999)'",
        "processId": "eater"}))
    until("memory of processes", lambda: meminfo("MemAvailable") < before - 90)
    expect(200, call("DELETE", at(MODEST, "/api/process/eater")))


@case
def processors_are_as_many_as_the_class_allows():
    equal(execute(MODEST, "nproc").strip(), str(SHOWN), "nproc")
    equal(execute(MODEST, "grep -c ^processor /proc/cpuinfo").strip(), str(SHOWN), "/proc/cpuinfo")
    equal(execute(MODEST, "python3 -c 'import os; print(os.cpu_count())'").strip(), str(SHOWN),
          "the C library's count")
    equal(execute(MODEST, "echo ${OMP_NUM_THREADS-}${GOMAXPROCS-}"),
          "11\n" if SHOWN < HOST_CPUS else "\n", "for runtimes")


@case
def a_runtime_finds_its_limit_in_its_cgroup():
    if LIMITS["memoryMb"]["by"] != "cgroup":
        equal(execute(MODEST, "ls /sys/fs/cgroup/memory"), "", "where there is none")
        return
    limit = execute(MODEST, "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/"
                            "memory.limit_in_bytes 2>/dev/null || true").strip()
    equal(limit, str(256 << 20), "memory")
    paths = {line.split(":", 2)[2] for line in
             execute(MODEST, "cat /proc/self/cgroup").splitlines()}
    equal(paths, {"/"}, "and nothing is above it")
    said = execute(MODEST, "cd /sys/fs/cgroup; [ -d memory ] && cd memory; for f in *; do"
                           " [ ! -f $f ] || (echo 1 >$f) 2>&1; done; mkdir x 2>&1; true")
    equal([line for line in said.splitlines() if "Read-only" not in line], [],
          "none of its files can be written")
    other = create(isolation="session")["id"]
    true(execute(other, "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/"
                        "memory.limit_in_bytes 2>/dev/null || true").strip() == str(2048 << 20),
         "another session sees its own")


@case
def nobody_inside_can_change_what_is_shown():
    for path in ("/proc/meminfo", "/proc/cpuinfo", "/sys/devices/system/cpu/online"):
        if path.startswith("/sys") and SHOWN == HOST_CPUS:
            continue
        said = execute(MODEST, "chmod 666 %s 2>&1; echo 1 2>&1 >%s; umount %s 2>&1; true"
                       % (path, path, path))
        true("Read-only" in said or "ermi" in said, said)
    equal(meminfo("MemTotal"), 256, "it is as it was")


@case
def sessions_of_one_sandbox_see_their_own_use():
    a, b = [create(isolation="shared")["id"] for _ in range(2)]
    total = meminfo("MemTotal", a)
    execute(a, "head -c 200M /dev/zero >/tmp/fill")
    until("its own", lambda: meminfo("MemAvailable", a) < total - 200)
    true(meminfo("MemAvailable", b) > total - 100, "not the sibling's")


run(lambda: None)
