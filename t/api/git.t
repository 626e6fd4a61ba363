#!/usr/bin/python3
"""git.t: tests that repositories are cloned into a session, and that their
credentials are in no log."""
import glob
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from awake import Running
from service import (at, call, container_error, create, execute, expect,
                     running, setting, sql, until)
from tap import case, equal, run, true

service.begin()

HERE = os.path.dirname(os.path.abspath(__file__))
PORT = 8123
HTTP = "http://127.0.0.1:%d" % PORT
SECRET = "pa@ss/w%rd-hush"
ENCODED = "pa%40ss%2Fw%25rd-hush"

MAKE = r"""
set -e
mkdir -p /workspace/served && cd /workspace/served
git init -q -b trunk made && cd made
for i in 1 2 3; do echo $i > file; git add file; git commit -qm "commit $i"; done
git tag one-tag HEAD~1
git checkout -q -b side && echo side > file && git commit -qam side
git checkout -q trunk
"""


def write(sid, path, content):
    expect(200, call("POST", at(sid, "/api/write"), {
        "path": path, "content": content}))


def world():
    """Makes a session with a repository, which is also served over HTTP."""
    sid = create()["id"]
    execute(sid, MAKE, sessionId="__DISABLE_SESSION__")
    with open(os.path.join(HERE, "git_server.py"), encoding="utf-8") as f:
        write(sid, "/workspace/server.py", f.read())
    write(sid, "/workspace/password", SECRET)
    execute(sid, "python3 /workspace/server.py %d >/workspace/server.log 2>&1 &"
            % PORT, sessionId="server")
    execute(sid, "until (: </dev/tcp/127.0.0.1/%d) 2>/dev/null; do :; done"
            % PORT, sessionId="server")
    return sid


SID = world()
FILE = "file:///workspace/served/made"


def checkout(url, sid=SID, **more):
    return call("POST", at(sid, "/api/git/checkout"), dict(
        {"repoUrl": url, "sessionId": "default"}, **more))


def cloned(url, **more):
    r = expect(200, checkout(url, **more)).json
    true(r["success"] is True and r["timestamp"], "success")
    return r


def refused(status, code, url, **more):
    doc = container_error(checkout(url, **more), status, code)
    equal(doc["error"], doc["message"], "error beside message")
    return doc


def there(path):
    return call("POST", at(SID, "/api/execute"), {
        "command": "test -e " + path, "sessionId": "look"}).json["exitCode"] == 0


@case
def a_repository_is_cloned_over_file_and_http():
    for name, url in (("a", FILE), ("b", HTTP + "/made"),
                      ("c", "/workspace/served/made")):
        where = "/workspace/" + name
        r = cloned(url, targetDir=where)
        equal((r["repoUrl"], r["branch"], r["targetDir"]),
              (url, "trunk", where), "answer")
        equal(execute(SID, "cat %s/file; git -C %s log --oneline | wc -l"
                      % (where, where)), "3\n3\n", "all of it")
        equal(execute(SID, "git -C %s remote get-url origin" % where),
              url + "\n", "origin")


@case
def the_directory_is_named_after_the_repository_and_relative_to_the_shell():
    execute(SID, "cp -r /workspace/served/made /workspace/served/other.git")
    equal(cloned(HTTP + "/other.git")["targetDir"], "/workspace/other", "name")
    execute(SID, "mkdir -p /workspace/deep && cd /workspace/deep",
            sessionId="elsewhere")
    cloned(FILE, targetDir="in/here", sessionId="elsewhere")
    true(there("/workspace/deep/in/here/.git"), "where the shell is")
    cloned(FILE, targetDir="-x", sessionId="elsewhere")
    true(there("/workspace/deep/-x/.git"), "a name is no option")


@case
def a_branch_or_a_tag_is_checked_out():
    equal(cloned(HTTP + "/made", targetDir="/workspace/s",
                 branch="side")["branch"], "side", "branch")
    equal(execute(SID, "cat /workspace/s/file"), "side\n", "its file")
    equal(cloned(FILE, targetDir="/workspace/t",
                 branch="one-tag")["branch"], "one-tag", "a tag, detached")
    execute(SID, "git -C /workspace/served/made checkout -q --detach HEAD~2",
            sessionId="look")
    try:
        equal(cloned(FILE, targetDir="/workspace/u")["branch"], "unknown",
              "detached")
    finally:
        execute(SID, "git -C /workspace/served/made checkout -q trunk",
                sessionId="look")


@case
def depth_makes_it_shallow():
    for name, url in (("d1", FILE), ("d2", HTTP + "/made")):
        cloned(url, targetDir="/workspace/" + name, depth=1)
        equal(execute(SID, "cd /workspace/%s && git log --oneline | wc -l &&"
                      " git rev-parse --is-shallow-repository" % name,
                      sessionId="look"), "1\ntrue\n", url)


@case
def the_shells_variables_hold_and_its_functions_do_not():
    execute(SID, "git() { echo wrong; }; alias git='echo wrong';"
            " export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=clone.defaultRemoteName"
            " GIT_CONFIG_VALUE_0=here", sessionId="own")
    equal(cloned(FILE, targetDir="/workspace/own", sessionId="own")["branch"],
          "trunk", "branch")
    equal(execute(SID, "git -C /workspace/own remote", sessionId="look"),
          "here\n", "the remote's name")


@case
def what_is_no_url_is_refused():
    for url in ("", "not-a-url", "ftp://127.0.0.1/x", "x" * 3000, "http://",
                "-x", "--upload-pack=touch /workspace/pwned",
                "ext::sh -c touch% /workspace/pwned", "ext::/workspace/evil",
                "http://127.0.0.1/a\nb"):
        refused(400, "INVALID_GIT_URL", url, targetDir="/workspace/no")
    for more in ({"repoUrl": 7}, {"repoUrl": None}, {"repoUrl": "a\0b"},
                 {"branch": "--x"}, {"branch": 1}, {"branch": ""},
                 {"branch": "b" * 256}, {"depth": 0}, {"depth": -1},
                 {"depth": "1"}, {"depth": 1.5}, {"timeoutMs": 0},
                 {"timeoutMs": "x"}, {"targetDir": ""}, {"targetDir": 1},
                 {"targetDir": "a\0b"}, {"targetDir": "a" * 5000},
                 {"sessionId": " "}):
        r = checkout(FILE, **dict({"targetDir": "/workspace/no"}, **more))
        doc = container_error(r, 400, "VALIDATION_FAILED")
        equal([e["field"] for e in doc["context"]["validationErrors"]],
              [k for k in more], str(more))
    true(not there("/workspace/pwned") and not there("/workspace/no"),
         "nothing was made")


@case
def no_protocol_of_the_repositorys_choice_is_run():
    write(SID, "/home/user/evil.gitconfig", '[protocol "ext"]\n\tallow=always\n'
          '[url "ext::touch /workspace/pwned "]\n\tinsteadOf = http://evil/\n')
    execute(SID, "export GIT_CONFIG_GLOBAL=/home/user/evil.gitconfig",
            sessionId="evil")
    refused(400, "INVALID_GIT_URL", "http://evil/x", sessionId="evil")
    true(not there("/workspace/pwned"), "nothing ran")


@case
def what_is_missing_is_told_apart():
    where = "/workspace/missing"
    for url in ("file:///workspace/nowhere", "/workspace/nowhere",
                HTTP + "/nowhere", "file:///workspace"):
        doc = refused(404, "GIT_REPOSITORY_NOT_FOUND", url, targetDir=where)
        equal((doc["context"]["repository"], doc["context"]["targetDir"],
               doc["context"]["exitCode"]), (url, where, 128), "context")
        true("fatal: " in doc["context"]["stderr"] and "fatal: " in
             doc["message"], "git's own words")
    for url in (FILE, HTTP + "/made"):
        doc = refused(404, "GIT_BRANCH_NOT_FOUND", url, targetDir=where,
                      branch="no-such")
        equal(doc["context"]["branch"], "no-such", "branch")
    refused(502, "GIT_NETWORK_ERROR", "http://127.0.0.1:1/x", targetDir=where)
    refused(502, "GIT_NETWORK_ERROR", "https://no.invalid/x", targetDir=where)
    true(not there(where), "no half directory")


@case
def a_directory_with_something_in_it_stays_as_it_is():
    execute(SID, "mkdir /workspace/full /workspace/empty;"
            " echo mine > /workspace/full/mine")
    doc = refused(409, "GIT_CLONE_FAILED", FILE, targetDir="/workspace/full")
    true("not empty" in doc["message"], doc["message"])
    equal(execute(SID, "ls -A /workspace/full"), "mine\n", "untouched")
    cloned(FILE, targetDir="/workspace/empty")
    refused(500, "GIT_CLONE_FAILED", FILE, targetDir="/proc/x")


def everywhere(sid):
    """Returns all logs and events of the service as one text."""
    texts = [call("GET", at(sid, "/events")).body.decode(),
             call("GET", at(sid, "/agent-log")).body.decode()]
    logs = glob.glob(setting("STACK_STATE") + "/log/*")
    true(logs, "there are logs")
    for path in logs:
        with open(path, encoding="utf-8", errors="replace") as f:
            texts.append(f.read())
    return "".join(texts)


@case
def credentials_open_the_door_and_are_told_to_nobody():
    url = HTTP.replace("//", "//me:%s@" % ENCODED) + "/private/made"
    r = expect(200, checkout(url, targetDir="/workspace/private"))
    true("hush" not in r.body.decode(), "not in the answer")
    equal(r.json["repoUrl"], HTTP.replace("//", "//******@") + "/private/made",
          "repoUrl")
    execute(SID, "git -C /workspace/private fetch -q", sessionId="look")
    equal(execute(SID, "git -C /workspace/private remote get-url origin",
                  sessionId="look"), url + "\n", "origin is as it was given")
    texts = []
    for status, code, bad in (
            (401, "GIT_AUTH_FAILED", url.replace("hush", "hush2")),
            (401, "GIT_AUTH_FAILED", HTTP + "/private/made"),
            (401, "GIT_AUTH_FAILED", HTTP.replace("//", "//tok-hush@") +
             "/private/made"),
            (404, "GIT_REPOSITORY_NOT_FOUND", url.replace("made", "gone")),
            (404, "GIT_REPOSITORY_NOT_FOUND", HTTP + "/gone?token=hush"),
            (400, "INVALID_GIT_URL", "ftp://me:hush@127.0.0.1/x"),
            (502, "GIT_NETWORK_ERROR", "http://me:hush@127.0.0.1:1/x")):
        r = checkout(bad, targetDir="/workspace/closed")
        container_error(r, status, code)
        texts.append(r.body.decode())
    true(not any("hush" in t for t in texts), "not in errors: %r" % texts)
    true("hush" not in everywhere(SID), "not in our logs and events")
    true(not there("/workspace/closed"), "no half directory")


@case
def a_secret_is_in_no_command_line():
    url = HTTP.replace("//", "//me:hush-hush@") + "/slow/made"
    execute(SID, "rm -f /workspace/asked", sessionId="look")
    work = Clone(SID, url, targetDir="/workspace/slow2")
    until("git asks", lambda: there("/workspace/asked"))
    lines = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as f:
                lines.append(f.read())
        except OSError:
            pass
    true(any(b"git\0" in l and b"/slow/made" in l for l in lines), "it runs")
    true(not any(b"hush-hush" in l for l in lines), "told in another way")
    equal(expect(200, call("POST", at(SID, "/interrupt"))).json["interrupted"],
          1, "interrupted")
    container_error(work.result(), 409, "OPERATION_INTERRUPTED")
    true(not there("/workspace/slow2"), "no half directory")


class Clone(Running):
    """A checkout that runs in the background."""

    def _run(self, sid, command, stream, more):
        self.reply = checkout(command, sid, **more)


@case
def a_clone_that_takes_too_long_is_ended_and_leaves_nothing():
    # wait: the server never ends its answer, so only the limit ends the clone
    limit = {"timeoutMs": 1500}
    doc = refused(502, "GIT_NETWORK_ERROR", HTTP + "/slow/made",
                  targetDir="/workspace/slow", **limit)
    equal(doc["context"]["exitCode"], 124, "exit code")
    true(not there("/workspace/slow"), "no half directory")
    held = "/workspace/held.%d" % os.getpid()
    execute(SID, "mkdir " + held)
    refused(502, "GIT_NETWORK_ERROR", HTTP + "/slow/made", targetDir=held,
            **limit)
    equal(execute(SID, "ls -A " + held), "", "empty as before")
    equal(running(held), [], "it is gone")


@case
def a_clone_that_is_killed_leaves_nothing():
    execute(SID, "rm -f /workspace/asked", sessionId="look")
    where = "/workspace/killed.%d" % os.getpid()
    work = Clone(SID, HTTP + "/slow/made", targetDir=where)
    until("git asks", lambda: there("/workspace/asked"))
    for pid in running(where):
        os.kill(pid, signal.SIGKILL)
    doc = container_error(work.result(), 500, "GIT_CLONE_FAILED")
    equal(doc["context"]["exitCode"], 137, "exit code")
    true(not there(where), "no half directory")


@case
def no_hook_of_a_template_is_run():
    execute(SID, "mkdir -p /workspace/tpl/hooks;"
            " printf '#!/bin/sh\\ntouch /workspace/hooked\\n'"
            " > /workspace/tpl/hooks/post-checkout;"
            " chmod +x /workspace/tpl/hooks/post-checkout;"
            " export GIT_TEMPLATE_DIR=/workspace/tpl", sessionId="tpl")
    cloned(FILE, targetDir="/workspace/tpld", sessionId="tpl")
    true(there("/workspace/tpld/.git/hooks/post-checkout"), "it is there")
    true(not there("/workspace/hooked"), "it did not run")


COMMIT = ("git init -q /workspace/%s && cd /workspace/%s && touch x &&"
          " git add x && git commit -qm x && git log -1 --format='%%an|%%ae'")


@case
def a_commit_works_at_once_in_the_name_of_the_keys_user():
    for user, name, email in (
            ("ann", "ann", "ann@git-org.sandlease.invalid"),
            ("b@example.com", "b@example.com", "b@example.com"),
            ('O"Neil \\ # ; $x', 'O"Neil \\ # ; $x',
             "o-neil-x@git-org.sandlease.invalid")):
        key = service.new_key("git-org", "somebody")
        sql("UPDATE api_key SET user_id = :'v1' WHERE user_id = 'somebody'",
            user)  # the row of an older key may have any name
        sid = create(key)["id"]
        equal(execute(sid, COMMIT % ("r", "r"), key), "%s|%s\n" % (name, email),
              user)
        expect(200, call("DELETE", at(sid), key=key))


@case
def a_gitconfig_of_ones_own_stays():
    sid = create(files=[{"path": "/home/user/.gitconfig", "content":
                         "[user]\nname = me\nemail = me@here\n"}])["id"]
    equal(execute(sid, COMMIT % ("r", "r")), "me|me@here\n", "given at create")
    execute(sid, "git config --global user.name changed")
    expect(200, call("POST", at(sid, "/sleep")))
    equal(execute(sid, "git config user.name"), "changed\n", "after a sleep")


sys.exit(run(lambda: None))
