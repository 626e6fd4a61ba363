"""nginx_data.py: tests the data plane of a session that is awake."""
import socket

from nginx_world import A, ASLEEP, B, KEY, LOGIN, MISSING, PATIENCE, TICKET
from tap import case, equal, true


@case
def data_routes_ask_auth_and_go_to_the_wrapper(w):
    for method, rest in [
            ("POST", "api/execute"), ("GET", "api/ping"), ("GET", "proxy/"),
            ("GET", "api/ws/x"), ("PUT", "files/a%20b"), ("GET", "archive/x"), ("GET", "")]:
        uri = "/v1/sessions/%s/%s" % (A, rest)
        answer = w.ask(uri + "?x=%2f", method, b"hello",
                       Authorization="Bearer " + KEY)
        equal(answer.status, 200, uri)
        equal(answer.json(), {"session": A, "method": method, "body": "hello"})
        (auth,), (wrapper,) = w.auth.took(), w.wrappers[A].took()
        path = uri.replace("%20", " ")
        for p in (auth, wrapper):
            equal(p["SL_SESSION"], A)
            equal(p["SL_PATH"], path)
            equal(p["REQUEST_URI"], uri + "?x=%2f")
            equal(p["REQUEST_METHOD"], method)
        equal(auth["SL_ROUTE"], "auth-session")
        equal(auth["CONTENT_LENGTH"], "")
        equal(auth["HTTP_AUTHORIZATION"], "Bearer " + KEY)
        equal(wrapper["SL_REQUEST_ID"], auth["SL_REQUEST_ID"])
        equal(wrapper["SL_REQUEST_ID"], answer.headers["x-request-id"])
    equal(w.api.took(), [])


@case
def event_streams_go_by_way_of_the_pool_that_ends_them(w):
    for rest in ("execute/stream", "execute/code", "read/stream", "port-watch",
                 "watch", "process/x-1/stream"):
        answer = w.ask("/v1/sessions/%s/api/%s?x=1" % (A, rest), "POST", b"{}")
        equal((answer.status, answer.body), (200, b"data: 1\n\n"), rest)
        true("x-sandlease-unsent" not in answer.headers, "nothing of ours")
        (p,) = w.stream.took()
        equal(p["SL_TARGET"], "unix:" + w.socket(A))
        equal(p["SL_KEY"], "key1", "whose key opened it")
        equal((p["SL_SESSION"], p["REQUEST_METHOD"]), (A, "POST"))
    equal(w.wrappers[A].took(), [])
    for rest in ("api/execute", "api/watch/check", "api/process/a/b/stream",
                 "api/process/x/logs", "files/v1/sessions/x/api/watch",
                 "api/watch%0a", "api/"):
        w.ask("/v1/sessions/%s/%s" % (A, rest), "POST", b"{}")
        (p,) = w.wrappers[A].took()
        true("SL_TARGET" not in p and "SL_KEY" not in p, rest)
    equal(w.stream.took(), [])


@case
def the_wrapper_gets_listed_headers_and_no_credential(w):
    w.ask("/v1/sessions/%s/api/ping" % A, "POST", b"{}", Accept="a/b",
          Range="bytes=0-1", If_None_Match='"x"', Last_Event_ID="7",
          traceparent="00-1", X_Trace_Id="tr_1", X_Session_Id="s",
          Connect_Protocol_Version="1", Content_Type="application/json",
          Authorization="Bearer " + KEY, X_API_Key=KEY,
          Cookie="sandlease=" + LOGIN, X_Sandlease_Upstream="unix:/x",
          User_Agent="me", Referer="http://x/")
    (p,) = w.wrappers[A].took()
    equal({n: v for n, v in p.items() if n.startswith("HTTP_")}, {
        "HTTP_ACCEPT": "a/b", "HTTP_RANGE": "bytes=0-1",
        "HTTP_IF_NONE_MATCH": '"x"', "HTTP_LAST_EVENT_ID": "7",
        "HTTP_TRACEPARENT": "00-1", "HTTP_X_TRACE_ID": "tr_1",
        "HTTP_X_SESSION_ID": "s", "HTTP_CONNECT_PROTOCOL_VERSION": "1"})
    equal(p["CONTENT_TYPE"], "application/json")
    equal(p["CONTENT_LENGTH"], "2")
    true(KEY not in str(p) and LOGIN not in str(p), "no secret anywhere")


@case
def a_ticket_goes_to_whoever_judges_it(w):
    """nginx passes the ticket on; `auth` decides whether it is valid."""
    for query, ticket in (
            ("", ""), ("?ticket=" + TICKET, TICKET),
            ("?sessionId=x&ticket=" + TICKET, TICKET),
            ("?ticket=%s&cols=80" % TICKET, TICKET), ("?ticket=", ""),
            ("?ticket=%61b", "%61b"), ("?tickets=x&aticket=y&x=ticket=z", ""),
            ("?ticket=first&ticket=second", "first")):
        w.ask("/v1/sessions/%s/ws/pty%s" % (A, query), Upgrade="websocket",
              Connection="upgrade", SL_TICKET="mine", SL__TICKET="mine")
        (p,) = w.auth.took()
        equal((p["SL_TICKET"], p["HTTP_UPGRADE"]), (ticket, "websocket"), query)
    w.told_again = "@ws_again"
    try:
        w.ask("/v1/sessions/%s/ws/pty?ticket=%s" % (ASLEEP, TICKET),
              Upgrade="websocket", Connection="upgrade")
    finally:
        w.told_again = "@session_again"
    (wake,), (first, again) = w.api.took(), w.auth.took()
    equal([p["SL_TICKET"] for p in (first, wake, again)], [TICKET] * 3)
    equal(len({p["SL_REQUEST_ID"] for p in (first, wake, again)}), 1,
          "by which it is known to be one request")


@case
def who_is_meant_follows_the_normalised_path(w):
    for uri in ("/v1/sessions/%s/api/%%2e%%2e/%%2e%%2e/%s/api/x" % (A, B),
                "/v1/sessions/%s/api/../../%s/api/x" % (A, B),
                "/v1/sessions/%s/..%%2f%s/api/x" % (A, B)):
        answer = w.ask(uri)
        equal(answer.json()["session"], B, uri)
        equal(w.auth.took()[0]["SL_SESSION"], B)
        (p,) = w.wrappers[B].took()
        equal(p["SL_SESSION"], B)
        equal(p["REQUEST_URI"], uri, "the raw one, for the wrapper to refuse")
        equal(p["SL_PATH"], "/v1/sessions/%s/api/x" % B)
    equal(w.wrappers[A].took(), [])
    w.ask("/v1/sessions/%s/api/%%2e%%2e/resume" % A, "POST", b"")
    equal(w.api.took()[0]["SL_PATH"], "/v1/sessions/%s/resume" % A)


@case
def what_is_no_id_reaches_auth_as_none(w):
    for bad in ("short", A.upper(), A + "x", A + "%0a", "%20" + A[1:]):
        answer = w.ask("/v1/sessions/%s/api/ping" % bad)
        equal(answer.status, 404, bad)
        equal(answer.json(), {"code": "session_not_found", "surface": "data"})
        equal([p["SL_SESSION"] for p in w.auth.took()], ["", ""])


@case
def a_refusal_comes_before_the_body_is_read(w):
    for session, status in ((MISSING, b"404"), ("x", b"404")):
        with socket.create_connection(("127.0.0.1", w.port), PATIENCE) as s:
            s.sendall(b"POST /v1/sessions/%s/api/write HTTP/1.1\r\nHost: x\r\n"
                      b"Content-Length: 200000000\r\n\r\n{" % session.encode())
            answer = b""
            while b"session_not_found" not in answer:
                more = s.recv(4096)
                true(more, answer)
                answer += more
            true(answer.startswith(b"HTTP/1.1 " + status), answer)
    asked = w.auth.took()
    equal([p["SL_ROUTE"] for p in asked], ["auth-session", "deny"] * 2)
    equal(asked[1]["SL_DENY"], "session_not_found")
    equal(asked[1]["SL_SURFACE"], "data")


@case
def a_refusal_survives_a_client_that_keeps_sending(w):
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", w.port), PATIENCE) as s:
            s.sendall(b"POST /v1/sessions/%s/api/write HTTP/1.1\r\nHost: x\r\n"
                      b"Transfer-Encoding: chunked\r\n\r\n" % MISSING.encode())
            try:
                for _ in range(40):
                    s.sendall(b"8000\r\n" + b"x" * 0x8000 + b"\r\n")
            except OSError:
                pass
            answer = s.recv(4096)
            true(answer.startswith(b"HTTP/1.1 404"), answer)


@case
def a_large_body_reaches_the_wrapper_while_it_is_being_sent(w):
    with socket.create_connection(("127.0.0.1", w.port), PATIENCE) as s:
        s.sendall(b"POST /v1/sessions/%s/api/upload HTTP/1.1\r\nHost: x\r\n"
                  b"Content-Length: 100000000\r\n\r\nfirst" % A.encode())
        true(w.gate.wait(PATIENCE), "the wrapper has the first bytes")
        true(s.recv(4096).startswith(b"HTTP/1.1 200"), "and may answer")


@case
def a_stream_arrives_as_it_is_written(w):
    with socket.create_connection(("127.0.0.1", w.port), PATIENCE) as s:
        s.sendall(b"GET /v1/sessions/%s/api/stream HTTP/1.1\r\nHost: x\r\n"
                  b"Connection: close\r\n\r\n" % A.encode())
        data = b""
        while b"first" not in data:  # the wrapper waits for w.gate before it goes on
            more = s.recv(4096)
            true(more, "the stream stays open")
            data += more
        true(b"last" not in data, "only the first event so far")
        w.gate.set()
        while True:
            more = s.recv(4096)
            if not more:
                break
            data += more
        true(b"data: last" in data, "the last event")
