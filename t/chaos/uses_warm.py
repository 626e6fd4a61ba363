"""uses_warm.py: use cases of uses.py that pass the boundaries of the warm pool."""
import faults
import service
from service import at, call, sql
from uses import Subject, ask, creates, new_class, reap, use

POOLED = {"isolation": "session", "class": "pooled", "network": {"mode": "none"}}


def pool_is_full():
    return service.value("SELECT count(*) FILTER (WHERE state = 'ready') = 2 AND count(*) = 2"
                         " FROM warm") == "t"


def begin_pool():
    """The process that fills the pool looks when a create has wanted a member."""
    new_class("pooled", "'pids', 200")
    service.expect(200, call("DELETE", at(service.create(**POOLED)["id"])))
    service.until("the pool is full", pool_is_full)


@use
def create_from_the_warm_pool():
    return creates(**POOLED)


@use
def create_from_the_warm_pool_with_a_setup():
    return creates(setup="echo said; touch /workspace/set-up", **POOLED)


@use
def create_with_limits_from_the_warm_pool():
    s = creates(limits={"memoryMb": 128, "pids": 64, "diskMb": 40}, **POOLED)
    s.held_to = "131072 40960"  # kB of memory, and of a file
    create = s.act

    def act(s):
        create(s)
        if s.find():
            ask("GET", at(s.sid))  # goes on with a start whose worker died
    s.act = act
    return s


@use
def fill_the_warm_pool():
    s = creates(**POOLED)
    create = s.act

    def act(s):
        create(s)
        try:
            # wait: for the process that fills it, which may die
            faults.wait_until(pool_is_full, 5)
        except AssertionError:
            pass  # PostgreSQL was killed
    s.act = act
    return s


@use
def retire_a_member_of_the_warm_pool():
    s = Subject(reap)
    sql("UPDATE warm SET shape = 'of another class'")
    return s
