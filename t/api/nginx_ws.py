"""nginx_ws.py: tests the WebSockets of a session."""
from nginx_world import A, ASLEEP, B, DEAD, KEY, LIES, LOGIN, MISSING, TICKET, TOKEN
from tap import case, equal, true

PATHS = ("ws", "api/ws", "ws/pty")


def upgrade(w, session=A, path="ws", query="", **headers):
    return w.ask("/v1/sessions/%s/%s%s" % (session, path, query), **{
        "Upgrade": "websocket", "Connection": "Upgrade",
        "Sec_WebSocket_Key": "x", "Sec_WebSocket_Version": "13", **headers})


@case
def a_websocket_asks_auth_and_goes_to_its_own_socket(w):
    """A WebSocket that carries requests goes by way of the pool `stream`."""
    for path in PATHS:
        equal(upgrade(w, path=path).status, 101, path)
        line, _ = (w.sockets[A] if path == "ws/pty" else w.passing).head()
        true(line.startswith("GET /%s" % path), line)
        (p,) = w.auth.took()
        equal((p["SL_ROUTE"], p["SL_SESSION"], p["SL_PATH"], p["HTTP_UPGRADE"]),
              ("auth-session", A, "/v1/sessions/%s/%s" % (A, path), "websocket"))
    equal(w.wrappers[A].took(), [])


@case
def only_what_makes_a_websocket_goes_in(w):
    """Of the query, only the options of a terminal go in."""
    upgrade(w, path="ws/pty", Authorization="Bearer " + KEY, X_API_Key=KEY,
            Cookie="sandlease=" + LOGIN, Origin="http://x", User_Agent="me",
            Sec_WebSocket_Protocol="chat", X_Forwarded_For="1.2.3.4",
            query="?ticket=%s&sessionId=a%%20b&x=1&cols=9&shell=%%2Fbin" % TICKET)
    line, headers = w.sockets[A].head()
    equal(line, "GET /ws/pty?sessionId=a%20b&cols=9&rows=&shell=%2Fbin&cwd="
          " HTTP/1.1")
    equal(headers, {"host": ["localhost"], "upgrade": ["websocket"],
                    "connection": ["upgrade"], "sec-websocket-key": ["x"],
                    "sec-websocket-version": ["13"]})
    upgrade(w, query="?ticket=%s&x=1" % TICKET)
    equal(w.passing.head()[0], "GET /ws HTTP/1.1")


@case
def the_pool_hears_besides_in_whose_name_it_may_ask(w):
    """Only the pool gets these headers, and no client can set them."""
    upgrade(w, Authorization="Bearer " + KEY, X_API_Key="other", Cookie="a=b",
            X_Sandlease_Target="unix:/x", X_Sandlease_Key="forged", Origin="http://x")
    _, headers = w.passing.head()
    request_id = headers.pop("x-sandlease-request")
    equal((len(request_id), len(request_id[0])), (1, 32), "the request's id")
    equal(headers, {
        "host": ["localhost"], "upgrade": ["websocket"], "connection": ["upgrade"],
        "sec-websocket-key": ["x"], "sec-websocket-version": ["13"],
        "x-sandlease-target": ["unix:" + w.socket(A)],
        "x-sandlease-key": ["key1"], "x-sandlease-tenant": ["org1"],
        "x-sandlease-authorization": ["Bearer " + KEY],
        "x-sandlease-api-key": ["other"], "x-sandlease-address": ["127.0.0.1"],
        "x-sandlease-scheme": ["http"],
        "x-sandlease-host": ["127.0.0.1:%d" % w.port]})


@case
def who_does_not_ask_for_one_is_told_so(w):
    for path in PATHS:
        uri = "/v1/sessions/%s/%s?ticket=%s" % (A, path, TICKET)
        for answer in (w.ask(uri), w.ask(uri, "POST", b"{}", Upgrade="websocket",
                                         Connection="Upgrade"),
                       w.ask(uri, Upgrade="h2c", Connection="Upgrade")):
            equal((answer.status, answer.json()["code"]),
                  (426, "UPGRADE_REQUIRED"), path)
    equal((w.auth.took(), w.wrappers[A].took()), ([], []))


@case
def a_refused_websocket_is_told_as_json(w):
    answer = upgrade(w, MISSING, query="?ticket=" + TICKET)
    equal((answer.status, answer.json()["surface"]), (404, "data"))
    true("location" not in answer.headers, "and not sent elsewhere")


@case
def a_sleeping_session_gets_the_websocket_when_it_is_awake(w):
    for path in PATHS:
        w.awake = False
        w.told_again = "@ws_again"
        try:
            answer = upgrade(w, ASLEEP, path, "?sessionId=x", Authorization="Bearer x")
        finally:
            w.told_again = "@session_again"
        equal(answer.status, 101, path)
        (wake,) = w.api.took()
        equal((wake["SL_ROUTE"], wake["SL_SESSION"], wake["SL_WS"]),
              ("wake-session", ASLEEP, path))
        line, headers = (w.sockets[ASLEEP] if path == "ws/pty" else w.passing).head()
        true(line.startswith("GET /ws/pty?sessionId=x&" if path == "ws/pty"
                             else "GET /%s HTTP" % path), "with what it asked for")
        equal(headers.get("x-sandlease-authorization"),
              None if path == "ws/pty" else ["Bearer x"], "and in whose name")


@case
def a_dead_program_is_told_with_what_is_known(w):
    for path in PATHS:
        answer = upgrade(w, DEAD, path, query="?ticket=" + TICKET)
        equal(answer.json(), {"route": "dead-session", "connect": "-"}, path)


@case
def an_upstream_that_is_not_the_sessions_own_is_no_websockets(w):
    own = "unix:" + w.socket(LIES)
    for told in ("unix:" + w.socket(B), own.replace(".sock", ".ws.sock"),
                 own.replace(".sock", ".8080.sock"), own + "x", "127.0.0.1:80",
                 "unix:/etc/passwd", ""):
        w.told[LIES] = told
        answer = upgrade(w, LIES)
        equal((answer.status, answer.json()["code"]),
              (503, "CONTAINER_UNAVAILABLE"), told)
    w.told.clear()


@case
def a_page_of_a_preview_cannot_open_one(w):
    answer = upgrade(w, Referer="http://8080-%s-%s.localhost:%d/" % (
        A, TOKEN, w.port))
    equal((answer.status, answer.json()["code"]), (403, "FORBIDDEN"))
    equal(w.auth.took(), [])
