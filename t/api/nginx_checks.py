"""nginx_checks.py DIR: runs all tests of nginx's routing, on which the rest of
the service relies.

The cases stand in the modules imported here and run in this order; the last
ones stop the pools and read the logs.
"""
import os
import sys

from nginx_world import A, CUT, DEAD, SECRETS, WORLD, World
from fcgi import Responder
from tap import case, equal, run_cases, true

import nginx_control  # noqa: F401
import nginx_data  # noqa: F401
import nginx_states  # noqa: F401
import nginx_preview  # noqa: F401
from nginx_apps import HTML, is_page
import nginx_proxy  # noqa: F401
import nginx_ws  # noqa: F401
import nginx_final  # noqa: F401
import nginx_limits  # noqa: F401


# ---- pools that do not run

@case
def pools_that_are_gone_are_503_and_say_when_to_try_again(w):
    w.auth.remove()
    for answer, code in (
            (w.ask("/v1/sessions/%s/api/ping" % A), "CONTAINER_UNAVAILABLE"),
            (w.preview(), "PREVIEW_UNAVAILABLE"),
            (w.by_path("/"), "PREVIEW_UNAVAILABLE")):
        equal((answer.status, answer.json()["code"]), (503, code))
        equal(answer.headers["retry-after"], "1")
        true(answer.headers.get("x-request-id"), "has a request id")
    for answer in (w.preview(Accept=HTML), w.by_path("/", Accept=HTML)):
        equal((answer.status, answer.headers["retry-after"]), (503, "1"))
        true("refresh" in is_page(answer, "busy"), "the page reloads itself")
    w.api.remove()
    w.read.remove()
    for method in ("GET", "POST"):
        answer = w.ask("/v1/sessions", method, b"{}")
        equal(answer.status, 503)
        equal(answer.headers["content-type"], "application/problem+json")
        equal((answer.json()["code"], answer.json()["retryable"]),
              ("unavailable", True))
        equal(answer.headers["retry-after"], "1")
    answer = w.ask("/v1/sessions/%s/api/expose-port" % A, "POST", b"{}")
    equal((answer.status, answer.json()["code"]),
          (503, "CONTAINER_UNAVAILABLE"))


@case
def a_dead_wrapper_without_an_api_pool_still_says_whether_to_repeat(w):
    w.auth = Responder(w.run_dir + "/auth.sock", w.answer_auth)
    answer = w.ask("/v1/sessions/%s/api/run" % DEAD, "POST", b"{}")
    equal((answer.status, answer.json()["context"]["retryable"]), (503, True))
    equal(answer.headers["retry-after"], "1")
    answer = w.ask("/v1/sessions/%s/api/run" % CUT, "POST", b"{}")
    equal((answer.status, answer.json()["context"]["retryable"]), (500, False))
    true("retry-after" not in answer.headers, "no Retry-After")
    equal(w.preview(session=DEAD).status, 503)


# ---- logs, last: all cases above have written to them

@case
def no_secret_stands_in_any_log(w):
    w.stop_nginx()
    logs = ""
    for name in sorted(os.listdir(WORLD + "/log")):
        with open(os.path.join(WORLD, "log", name)) as f:
            logs += f.read()
    for secret in SECRETS:
        true(secret not in logs, "found " + secret)
    true("/v1/sessions/%s/api/run" % CUT in logs, "requests are logged")
    true("session=%s port=8080" % A in logs, "previews are logged")
    true("connect() to unix:" in logs, "errors of the main server are logged")


@case
def the_stand_ins_saw_nothing_they_do_not_understand(w):
    for r in [w.api, w.read, w.auth, w.stream] + list(w.wrappers.values()):
        equal(r.errors, [])


def main():
    w = World()
    w.start_nginx()
    try:
        run_cases(w.forget, w)
    finally:
        if w.nginx.poll() is None:
            w.stop_nginx()


if __name__ == "__main__":
    sys.exit(main())
