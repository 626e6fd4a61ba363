#!/usr/bin/python3
"""table.t: tests that the manual page, --help and completion say exactly what
the table of commands says."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from tap import case, equal, run, skip_all, true

TOP = os.path.abspath(os.environ.get("top_srcdir", "."))
CLI = os.path.join(os.path.abspath(os.environ.get(
    "top_builddir", os.path.join(TOP, "build"))), "sandlease")
COMMON = {"json", "url", "api-key-file", "profile", "help"}
PATIENCE_S = 120  # wait: against hanging, never a measure


def cli(*words):
    """Returns what the command prints, without a service or a user's files."""
    bare = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    p = subprocess.run([CLI, *words], stdout=subprocess.PIPE, env=bare,
                       stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
    equal(p.returncode, 0, f"code of {words}")
    return p.stdout.decode()


def table():
    rows = [json.loads(line) for line in cli("help", "--json").splitlines()]
    true(len(rows) > 30, "there are commands")
    return [row for row in rows if not row["hidden"]]


def sections():
    """Returns the manual page's text for each command."""
    with open(os.path.join(TOP, "src/cli/sandlease.1")) as f:
        page = f.read().split("The commands are:")[1]
    page = page.split("Every command has these options")[0]
    parts = re.split(r"(?m)^\.It Cm ((?:[a-z-]+ ?)+)", page)[1:]
    return {name.strip(): text for name, text in zip(parts[::2], parts[1::2])}


@case
def every_option_is_in_its_section_of_the_manual():
    texts = sections()
    for row in table():
        text = texts[row["name"]]
        for o in row["options"]:
            true(re.search(rf"Fl -{o['name']}\b(?!-)", text),
                 f"{row['name']} --{o['name']} is not in the manual")
            if o["letter"]:
                true(re.search(rf"Fl {o['letter']}\b", text),
                     f"{row['name']} -{o['letter']} is not in the manual")


@case
def the_manual_has_no_other():
    texts = sections()
    for row in table():
        known = {o["name"] for o in row["options"]}
        letters = {o["letter"] for o in row["options"]}
        for item in re.findall(r"(?m)^\.It (Fl .*)$", texts[row["name"]]):
            for word in re.findall(r"Fl -([a-z-]+)", item):
                true(word in known, f"{row['name']} has no --{word}")
            for letter in re.findall(r"Fl ([a-z])\b", item):
                true(letter in letters, f"{row['name']} has no -{letter}")


@case
def help_has_every_option_and_what_it_does():
    for row in table():
        text = cli(*row["name"].split(), "--help")
        equal(text, cli("help", *row["name"].split()), "both ways to ask")
        for o in row["options"]:
            value = f" {o['value']}" if o["value"] else ""
            true(f"--{o['name']}{value}" in text and o["help"] in text,
                 f"{row['name']} --{o['name']}")


@case
def completion_has_every_command_and_option():
    names = [row["name"] for row in table()]
    firsts = {name.split()[0] for name in names}
    offered = [line.split("\t")[0]
               for line in cli("complete", "--", "").splitlines()]
    equal(sorted(offered), sorted(firsts), "first words")
    for row in table():
        words = row["name"].split()
        offered = [line.split("\t")[0]
                   for line in cli("complete", "--", *words, "--").splitlines()]
        equal(sorted(offered), sorted(
            f"--{name}" for name in
            COMMON | {o["name"] for o in row["options"]}), row["name"])
    equal([line.split("\t")[0]
           for line in cli("complete", "--", "--p").splitlines()],
          ["--profile"], "before a command")
    true("exec\t" in cli("complete", "--", "--profile", "x", "ex"),
         "a command behind a common option")
    equal(cli("complete", "--", "help", "snapshot", "c").split("\t")[0],
          "create", "topics of help")


@case
def no_option_is_there_twice():
    for row in table():
        letters = [o["letter"] for o in row["options"] if o["letter"]] + ["h"]
        names = [o["name"] for o in row["options"]] + list(COMMON)
        equal(len(set(letters)), len(letters), row["name"])
        equal(len(set(names)), len(names), row["name"])


if not os.access(CLI, os.X_OK):
    skip_all(f"{CLI} is not built")
run(lambda: None)
