"""nginx_apps.py: tests that real apps work behind a preview: the address they get, their
own credentials, their redirects; and the pages where there is no app."""
import base64
import hashlib
import re

from nginx_world import A, DEAD, KEY, OTHER_TOKEN, TOKEN
from tap import case, equal, true

LABEL = "8080-%s-%s" % (A, TOKEN)
HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ABSENT = None


def heard(w, name):
    value = w.apps[A].head()[1].get(name.lower(), [ABSENT])
    equal(len(value), 1, name)
    return value[0]


def forms(w):
    """Returns how to ask for a preview, its public origin, and the path before the
    app's."""
    return ((w.preview, "http://%s.localhost:%d" % (LABEL, w.port), ""),
            (w.by_path, "http://localhost:%d" % w.preview_port, "/p/" + LABEL))


def at_port(w, rest="/", **more):
    return w.ask("/v1/sessions/%s/proxy/8080%s" % (A, rest), **more)


@case
def an_app_hears_the_address_that_its_port_was_given(w):
    for ask, origin, _ in forms(w):
        public = origin.split("//")[1]
        there = (public, "http", public.split(":")[1], origin)
        for choice, host, told in (
                ("", "localhost:8080", there),
                ("localhost", "localhost:8080", there),
                ("localhost-only", "localhost:8080", (ABSENT,) * 4),
                ("public", public, there)):
            w.host_choice = choice
            ask("/", X_Forwarded_Host="forged", X_Forwarded_Proto="forged",
                X_Forwarded_Port="1", X_Original_URL="forged",
                X_Sandlease_Host="public", Forwarded="host=forged")
            _, h = w.apps[A].head()
            equal(h["host"], [host], choice)
            got = [h.get("x-" + n, [ABSENT])[0] for n in (
                "forwarded-host", "forwarded-proto", "forwarded-port",
                "original-url")]
            if got[3]:
                true(got[3].startswith(origin + "/"), got[3])
                got[3] = origin
            equal(tuple(got), told, choice)
            true("forwarded" not in h and "x-sandlease-host" not in h, h)
            equal(h["x-forwarded-for"], ["127.0.0.1"])


@case
def the_port_of_the_public_address_is_told(w):
    for host, port in (("%s.example.com" % LABEL, "80"),
                       ("%s.example.com:8443" % LABEL, "8443")):
        w.ask("/", Host=host)
        equal(heard(w, "X-Forwarded-Port"), port, host)


@case
def its_own_origin_is_that_of_the_host_it_hears(w):
    for ask, origin, _ in forms(w):
        secure = origin.replace("http:", "https:")
        for choice, method, sent, wanted in (
                # Vite, webpack-dev-server, Next: the Origin of a WebSocket
                ("localhost", "GET", origin, "http://localhost:8080"),
                ("localhost", "GET", secure, "http://localhost:8080"),
                # Next's Server Actions, Rails: compared with X-Forwarded-Host
                ("localhost", "POST", origin, origin),
                ("localhost-only", "GET", origin, "http://localhost:8080"),
                ("localhost-only", "POST", origin, "http://localhost:8080"),
                ("public", "GET", origin, origin),
                ("public", "POST", origin, origin),
                ("localhost", "GET", None, ABSENT)):
            w.host_choice = choice
            ask("/", method=method, **({"Origin": sent} if sent else {}))
            equal(heard(w, "Origin"), wanted, (choice, method, sent))


@case
def an_origin_that_is_not_its_own_stays_what_it_is(w):
    for ask, origin, _ in forms(w):
        for sent in ("null", "http://evil.example", origin + ".evil.example",
                     origin + "/", "x" + origin, origin[:-1],
                     "http://evil.example@" + origin[7:], "http://localhost",
                     origin.replace(":%d" % w.port, "") + ":1"):
            for choice in ("", "localhost-only", "public"):
                w.host_choice = choice
                ask("/", Origin=sent)
                equal(heard(w, "Origin"), sent, choice)


@case
def its_own_referrer_is_below_the_host_it_hears(w):
    for ask, origin, prefix in forms(w):
        for choice, method, sent, wanted in (
                ("", "GET", origin + prefix + "/a?b",
                 "http://localhost:8080/a?b"),
                ("", "POST", origin + prefix + "/a", origin + prefix + "/a"),
                ("localhost-only", "POST", origin + prefix + "/a",
                 "http://localhost:8080/a"),
                ("public", "GET", origin + prefix + "/a",
                 origin + prefix + "/a"),
                ("", "GET", "http://evil.example/" + origin + "/",
                 "http://evil.example/" + origin + "/"),
                ("", "GET", "http://evil.example/", "http://evil.example/")):
            w.host_choice = choice
            ask("/", method=method, Referer=sent)
            equal(heard(w, "Referer"), wanted, (choice, method, sent))


@case
def an_app_that_sends_to_localhost_sends_to_its_public_address(w):
    for ask, origin, prefix in forms(w):
        home = prefix or origin
        for sent, wanted in (
                ("http://localhost:8080/a?b#c", home + "/a?b#c"),
                ("http://127.0.0.1:8080/", home + "/"),
                ("https://localhost:8080/x", home + "/x"),
                ("http://0.0.0.0:8080/x", home + "/x"),
                ("http://[::1]:8080/x", home + "/x"),
                ("HTTP://LOCALHOST:8080/x", home + "/x"),
                ("http://localhost:8080", home + "/"),
                ("http://localhost:8080?a=b", home + "/?a=b"),
                ("http://localhost:8080//evil.example/",
                 home + "//evil.example/"),
                # another port, or another host than localhost
                ("http://localhost:8081/x", "http://localhost:8081/x"),
                ("http://localhost:80801/x", "http://localhost:80801/x"),
                ("http://localhost/x", "http://localhost/x"),
                ("http://localhost:8080.evil.example/",
                 "http://localhost:8080.evil.example/"),
                ("http://localhost:8080@evil.example/",
                 "http://localhost:8080@evil.example/"),
                ("https://example.com/?http://localhost:8080/",
                 "https://example.com/?http://localhost:8080/"),
                ("/x", prefix + "/x"), ("x", "x"),
                (origin + "/x", home + "/x")):
            w.apps[A].extra = [("Location", sent),
                               ("Refresh", "5; url=" + sent)]
            answer = ask("/status/302")
            equal(answer.status, 302)
            equal(answer.headers["location"], wanted, sent)
            equal(answer.headers["refresh"], "5; url=" + wanted, sent)


@case
def cookies_for_localhost_are_the_previews(w):
    for ask, origin, prefix in forms(w):
        w.apps[A].extra = [("Set-Cookie", "a=1; Domain=localhost; Secure"),
                           ("Set-Cookie", "b=2; Domain=.localhost; Path=/x"),
                           ("Set-Cookie", "c=3")]
        answer = ask("/")
        host = origin.split("//")[1].split(":")[0]
        equal([v for n, v in answer.pairs if n == "set-cookie"],
              ["a=1; Domain=%s; Secure" % host,
               "b=2; Domain=%s; Path=%s/x" % (host, prefix), "c=3"])


def basic(text):
    return "Basic " + base64.b64encode(text.encode()).decode()


APPS_OWN = ("Bearer my.app.jwt", "bearer x", "Basic dXNlcjpwYXNz",
            basic("user:" + "p" * 60), "Token sl_short", "Digest username=\"x\"",
            "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w",
            "Negotiate YIIJvwYGKwYBBQUCoIIJszCCCa+gJD", "sk-live-1234567890")
OURS = ("Bearer " + KEY, "bearer " + KEY, "BEARER  " + KEY, KEY,
        "Token " + KEY, "Bearer " + KEY.upper(), "Bearer x" + KEY,
        "Bearer " + KEY[:40], "Bearer " + KEY + KEY, "Bearer\t" + KEY,
        basic(KEY + ":"), basic(":" + KEY), basic("x:" + KEY),
        basic(KEY), basic("xy:" + KEY), basic("\xff\xfe:" + KEY),
        basic("x:" + KEY).rstrip("="), basic(KEY + ":").replace("Basic", "basic"),
        "Bearer " + base64.urlsafe_b64encode(b"\xff?>" + KEY.encode()).decode(),
        # the bytes before the key are not UTF-8, and end within a character
        "Basic " + base64.b64encode(b"\xf0\x9f" + KEY.encode()).decode(),
        "Basic " + base64.b64encode(b"\xe2\x82" + KEY.encode()).decode())


@case
def an_apps_own_credentials_pass(w):
    for ask, _, _ in forms(w):
        for value in APPS_OWN:
            ask("/", Authorization=value, X_API_Key=value)
            _, h = w.apps[A].head()
            equal((h.get("authorization"), h.get("x-api-key")),
                  ([value], [value]), value)


@case
def no_key_of_ours_reaches_an_app_in_any_form(w):
    for ask, _, _ in forms(w):
        for value in OURS:
            for header in ("Authorization", "X-API-Key", "x-api-KEY",
                           "AUTHORIZATION", "Proxy-Authorization"):
                ask("/", **{header: value, "X-Own": "1"})
                _, h = w.apps[A].head()
                true(not [n for n in h if "authorization" in n
                          or "api-key" in n], (header, value, h))
                equal(h["x-own"], ["1"])


@case
def of_two_headers_the_one_that_is_not_ours_passes(w):
    for ask, _, _ in forms(w):
        ask("/", Authorization="Bearer " + KEY, X_API_Key="apps")
        _, h = w.apps[A].head()
        equal((h.get("authorization"), h.get("x-api-key")), (None, ["apps"]))
    # nginx drops a header with an underscore, so it cannot pass for the key's header
    w.ask("/", Host=LABEL + ".localhost", **{"X-API_Key": KEY})
    equal(w.apps[A].head()[1].get("x-api_key"), None)


@case
def at_a_port_by_key_the_other_header_is_the_apps(w):
    mine = "Bearer " + KEY
    for sent, apps, passed in (
            ({"Authorization": mine}, "x-api-key", {}),
            ({"X-API-Key": KEY}, "authorization", {}),
            ({"Authorization": mine, "X-API-Key": "its"}, "x-api-key",
             {"x-api-key": ["its"]}),
            ({"Authorization": "Bearer its", "X-API-Key": KEY},
             "authorization", {"authorization": ["Bearer its"]}),
            # no key or two: neither header passes, and `auth` decides
            ({"Authorization": mine, "X-API-Key": KEY}, "", {}),
            ({"Authorization": "Bearer its", "X-API-Key": "its"}, "", {}),
            ({"Authorization": "Bearer its"}, "", {}),
            ({"Authorization": basic("x:" + KEY), "X-API-Key": KEY}, "", {})):
        at_port(w, **sent)
        (auth,) = w.auth.took()
        equal(auth["SL_APPS_HEADER"], apps, sent)
        for name, value in sent.items():
            equal(auth["HTTP_" + name.upper().replace("-", "_")], value)
        _, h = w.apps[A].head()
        equal({n: v for n, v in h.items()
               if n in ("authorization", "x-api-key")}, passed, sent)
    w.ask("/v1/sessions/%s/api/x" % A, Authorization="Bearer its",
          X_API_Key=KEY)
    equal(w.auth.took()[0]["SL_APPS_HEADER"], "", "not elsewhere")


@case
def a_port_by_key_hears_localhost_whatever_its_preview_does(w):
    w.host_choice = "public"
    at_port(w, Origin="http://127.0.0.1:%d" % w.port)
    _, h = w.apps[A].head()
    equal((h["host"], h["origin"]),
          (["localhost:8080"], ["http://localhost:8080"]))


def is_page(answer, what):
    """Checks for a page that a browser shows and that runs no script."""
    equal(answer.headers["content-type"], "text/html; charset=utf-8", what)
    policy = answer.headers["content-security-policy"]
    text = answer.body.decode()
    style = re.search("<style>(.*)</style>", text).group(1)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    equal(policy, "default-src 'none'; style-src 'sha256-%s'; "
          "base-uri 'none'; form-action 'none'" % digest, what)
    true("<h1>" in text and TOKEN not in text and OTHER_TOKEN not in text, text)
    return text


@case
def where_there_is_no_preview_a_person_gets_a_page(w):
    for answer in (
            w.ask("/x", Host="8080-%s-short.localhost" % A, Accept=HTML),
            w.ask("/x", method="POST", body=b"x", Host="x.localhost",
                  Accept=HTML),
            w.ask("/p/x/", port=w.preview_port, Accept=HTML,
                  Host="localhost:%d" % w.preview_port),
            w.by_path("/..%2f8080-x/", Accept=HTML)):
        equal(answer.status, 404)
        true("There is no preview here" in is_page(answer, "page"), "title")
        true(answer.headers["x-request-id"], "has an id")
    for accept in ("*/*", "application/json", "application/json, text/html"):
        answer = w.ask("/x", Host="8080-%s-short.localhost" % A, Accept=accept)
        equal((answer.status, answer.json()["code"], answer.headers["vary"]),
              (404, "INVALID_TOKEN", "Accept"), accept)


@case
def whoever_answers_in_a_previews_place_hears_who_asks(w):
    w.preview(session=DEAD, Accept=HTML)
    equal(w.api.took()[0]["HTTP_ACCEPT"], HTML)
    w.preview(token=OTHER_TOKEN, Accept=HTML)
    equal(w.auth.took()[-1]["HTTP_ACCEPT"], HTML)
