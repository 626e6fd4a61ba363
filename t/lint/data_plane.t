#!/usr/bin/python3
"""Tests that docs/sandbox.md, the agent's table of routes and nginx agree on the
routes inside a session, and on which of them are streams."""
import os
import re
import sys

TOP = os.environ.get("top_srcdir", ".")
sys.path.insert(0, os.path.join(TOP, "t/lib"))
from tap import done, ok  # noqa: E402

PAGE, AGENT, SERVICE, NGINX = ("docs/sandbox.md", "src/agent/api/routes.c",
                               "src/api/route/routes.c", "nginx/maps.conf.in")
# the greeting; a HEAD is a GET without its body
UNLISTED = {("GET", "/")}
DERIVED = {("HEAD", "/files/*")}
# other than by a route of a table: what nginx proxies, and WebSockets
OTHER = {"proxy/{port}/...", "ws/pty", "ws", "api/ws"}
# upload and download of bytes stay open, too, but are no event streams
BYTES = re.compile(r"/(files|archive)/|/input$")


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        return f.read()


def agent_routes():
    """{(method, pattern): whether it is marked STREAM}"""
    rows = re.findall(r'(?m)^\t\{ "([A-Z]+)", +"([^"]+)", +(0|STREAM),', read(AGENT))
    return {(method, pattern): mark == "STREAM" for method, pattern, mark in rows}


def service_routes():
    """Routes of the SDK's container that the control plane answers."""
    table = read(SERVICE).split("CONTAINER_ROUTES[]")[1].split("};")[0]
    return {(method, pattern.removeprefix("/v1/sessions/:id"))
            for method, pattern in re.findall(r'\{ "([A-Z]+)", +"([^"]+)"', table)}


def page_routes():
    """Yields the methods and one path for each path of the table.  A row may have several
    of both, and not each method counts for each path ("GET, POST" of two paths)."""
    section = read(PAGE).split("\n## Routes\n")[1].split("\n## ")[0]
    for methods, paths in re.findall(r"(?m)^\| ([^|]*) \| ([^|]*) \|", section):
        names = re.findall(r"`([A-Z]+)`", methods)
        for path in re.findall(r"`([^`]+)`", paths):
            yield names, path


def as_pattern(path):
    path = path.split("?")[0]
    path = re.sub(r"^(files|archive)/\{path\}", r"\1/*", path)
    return "/" + re.sub(r"\{(\w+)\}", r":\1", path)


def main():
    agent, service = agent_routes(), service_routes()
    ok(len(agent) > 50, "the agent's table is found", str(len(agent)))
    ok(len(service) == 3, "and the control plane's", str(service))
    known = set(agent) | service | DERIVED

    named, unknown = set(), []
    for methods, path in page_routes():
        if path.split("?")[0] in OTHER:
            continue
        pattern = as_pattern(path)
        fits = {(m, pattern) for m in methods} & known
        if not methods or not fits:
            unknown.append(f"{methods} {path}")
        named |= fits
    ok(not unknown, f"{PAGE} has no route that is not in a table", "\n".join(unknown))
    missing = known - named - UNLISTED
    ok(not missing, f"{PAGE} has every route", "\n".join(map(str, sorted(missing))))

    pattern = re.search(r"map \$uri \$sl_streams \{.*?\"~([^\"]+)\" 1;", read(NGINX), re.S)[1]
    streams = re.compile(pattern.replace(r"\z", r"\Z"))

    def in_nginx(route):
        return bool(streams.search("/v1/sessions/x" + re.sub(r":\w+|\*", "x", route)))

    wrong = [f"{method} {route}: {'STREAM' if stream else 'no stream'} in {AGENT}"
             for (method, route), stream in sorted(agent.items())
             if not BYTES.search(route) and in_nginx(route) != stream]
    ok(not wrong, "nginx sends through the pool `stream` what the agent marks STREAM",
       "\n".join(wrong))
    done()


main()
