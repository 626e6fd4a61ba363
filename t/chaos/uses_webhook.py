"""uses_webhook.py: a use case of uses.py that passes the boundaries of src/webhook/."""
import functools

import service
from receiver import Receiver
from service import call
from uses import ask, session, use


@functools.lru_cache(None)
def receiver():
    """The server that gets the webhooks; made when it is needed."""
    return Receiver()


@use
def tell_a_webhook():
    key = service.new_key("hooks", "boss", "--scope", "admin")

    def is_over(s, d):
        """Whether the delivery has arrived and its row says so; an answer that is missing says
        nothing."""
        r = ask("GET", "/v1/webhooks/%s/deliveries" % s.webhook, key=key)
        return r is not None and r.status == 200 and [
            x for x in r.json["deliveries"] if x["id"] == d and x["state"] == "delivered"]

    def act(s):
        d = ask("POST", "/v1/webhooks/%s/test" % s.webhook, key=key)
        if d is None or d.status != 202:
            return
        s.told.append(d.json["id"])
        try:
            # wait: a process that was struck sends nothing; the repair does
            service.until("it arrives", lambda: is_over(s, d.json["id"]), 5)
        except AssertionError:
            pass
    s = session(act, key)
    s.told = []  # ids of deliveries
    s.webhook = service.expect(201, call("POST", "/v1/webhooks", {
        "url": receiver().url("/"), "events": ["session.failed"]}, key)).json["id"]
    return s
