#!/usr/bin/python3
"""pooling.t: sandlease-api does not start where advisory locks get lost.

A pooler in transaction mode is played by a view in front of pg_locks in which
no lock is to be found."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import service
from service import call, expect, setting, sql, stack
from tap import case, equal, run, true

service.begin()


@case
def a_pooler_in_transaction_mode_is_refused_with_one_sentence():
    sql("CREATE SCHEMA pooler; CREATE VIEW pooler.pg_locks AS"
        " SELECT * FROM pg_catalog.pg_locks WHERE false;"
        " ALTER ROLE sandlease SET search_path = pooler, pg_catalog, public")
    try:
        done = subprocess.run(
            [service.program("sandlease-api"), "--config",
             setting("SANDLEASE_CONFIG")], capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=service.PATIENCE, check=False,
            cwd="/")
    finally:
        sql("ALTER ROLE sandlease RESET search_path")
    equal((done.returncode, done.stdout), (1, ""), "status, with %r" % done)
    equal(done.stderr.count("\n"), 1, "one line: %s" % done.stderr)
    true("transaction mode" in done.stderr, done.stderr)
    expect(204, call("GET", "/v1/live"))  # and nobody else was disturbed


@case
def a_database_that_is_not_there_yet_is_waited_for():
    stack("api_stop")
    stack("pg_stop")
    stack("api_start")
    expect(204, call("GET", "/v1/live"))
    stack("pg_start")
    service.until("it serves", lambda: call("GET", "/v1/me").status == 200)


sys.exit(run(lambda: None))
