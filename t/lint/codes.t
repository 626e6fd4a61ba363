#!/usr/bin/python3
"""Tests that the table of error codes is complete: each code is used, by our
programs or by nginx, and neither nginx nor the documents have another.

The compiler sees a misspelt constant.  This test sees the rest: rows that no
program uses, words in configuration and prose, and a number where json_pack()
takes a string.
"""
import glob
import os
import re
import sys

TOP = os.environ.get("top_srcdir", ".")
sys.path.insert(0, os.path.join(TOP, "t/lib"))
from tap import done, ok  # noqa: E402

TABLE = "src/common/code.h"
DOCUMENTS = ("README.md", "docs/*.md", "src/README.md", "sql/README.md", "src/*/*.[158]",
             # the OpenAPI document is made of these
             "src/api/route/openapi.c", "src/api/route/routes.c", "src/api/v1/*_body.c")

# "409 `lease_busy`", "503\n.Li other_host", "the code `SESSION_TERMINATED`";
# and in docs/ every word in capitals that is no variable
STATUS = re.compile(r"(?<![\w=])[45]\d\d\s+(?:`|\.Li )?(\w+_\w+|(?<=`)\w+)")
CODE = re.compile(r"\bcodes?(?:\s+like)?\s+`(\w+)`")
CAPITALS = re.compile(r"`([A-Z]+(?:_[A-Z]+)+)`")
VARIABLES = re.compile(r"SANDLEASE_|PREVIEW_PORT$|PIP_|NPM_|OMP_|PER_SESSION_SANDBOX_ORG_IDS$"
                       r"|ACME_DIR$|ADDRESS_MAX$|KEY_MAX$|READS_PER_SECOND$"  # of nginx/render
                       # where programs find certificates
                       r"|SSL_CERT_FILE$|CURL_CA_|REQUESTS_CA_|GIT_SSL_|CARGO_HTTP_|AWS_CA_|NODE_EXTRA_|DENO_CERT$"
                       r"|HTTPS_PROXY$")


def read(*patterns):
    """The texts by name of all files that match."""
    texts = {}
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join(TOP, pattern), recursive=True)):
            with open(path, encoding="utf-8") as f:
                texts[os.path.relpath(path, TOP)] = f.read()
    return texts


def all_of(claim, wrong):
    ok(not wrong, claim, "\n".join(sorted(wrong)))


def nginx_codes():
    """The codes of nginx's own answers: in bodies, and in the map of codes."""
    for name, text in read("nginx/*.in").items():
        for word in re.findall(r'"(?:code|reason)": ?"(\w+)"', text):
            yield name, word.lower()
        for rows in re.findall(r"map \S+ \$sl_code \{(.*?)\}", text, re.S):
            for word in re.findall(r"(?m)^\s*(?:default|\d+) (\w+);", rows):
                yield name, word


def documented_codes():
    for name, text in read(*DOCUMENTS).items():
        for word in STATUS.findall(text) + CODE.findall(text):
            yield name, word.lower()
        for word in CAPITALS.findall(text) if name.startswith(("README", "docs/")) else ():
            if not VARIABLES.match(word):
                yield name, word.lower()


def main():
    table = dict(re.findall(r'X\((\w+), +"(\w+)"\)', read(TABLE)[TABLE]))
    ok(len(table) > 100, "the table is found")
    sources = read("src/**/*.c", "src/**/*.h")
    del sources[TABLE]
    code = "\n".join(sources.values())

    nginx = list(nginx_codes())
    used = {table.get(name) for name in re.findall(r"\bCODE_(\w+)", code)}
    used.update(word for _, word in nginx)
    all_of("every code of the table is used", set(table.values()) - used)

    ok(len(nginx) > 20, "nginx has codes of its own")
    all_of("nginx has no code that is not in the table",
           {f"{name}: {word}" for name, word in nginx
            if word not in table.values()})

    told = list(documented_codes())
    ok(len(told) > 25, "the documents name codes")
    all_of("no document names a code that is not in the table",
           {f"{name}: {word}" for name, word in told
            if word not in table.values()})

    all_of("JSON gets the word of a code, never its number",
           {f"{name}: {' '.join(call.split())}"
            for name, text in sources.items()
            for call in re.findall(r"\bjson_\w+\([^;]*;", text)
            if re.search(r"(?<!code_word\()(?<!code_capitals\()"
                         r"\b(?:e|why)(?:->|\.)code\b(?! [!=]=)", call)})
    done()


main()
