"""What a change of configuration takes."""

from dataclasses import replace

import pytest

from toolcrib.config.plan import Plan, plan
from toolcrib.settings import (
    GatewaySettings,
    HttpLaunch,
    Limits,
    Reconnect,
    Secret,
    ServerSettings,
    Settings,
    StdioLaunch,
    StoreSettings,
    ToolFilter,
    Waits,
)

A = ServerSettings("a", StdioLaunch("x", ("1",), {"K": Secret("v")}, "/d"), source="f:1")
B = ServerSettings("b", HttpLaunch(Secret("http://h"), {"K": Secret("v")}), source="f:2")


def changed(now: ServerSettings, was: ServerSettings = A) -> Plan:
    return plan(Settings((was,)), Settings((now,)))


def test_nothing_changes_where_only_lines_and_order_moved() -> None:
    moved = plan(Settings((A, B)), Settings((replace(B, source="g:7"), replace(A, source="f:9"))))
    assert moved == Plan()
    assert moved.empty


def test_servers_come_and_go() -> None:
    found = plan(Settings((A,)), Settings((B,)))
    assert found == Plan(added=(B,), removed=("a",))
    assert not found.empty


def test_switching_a_server_off_and_on_removes_and_adds_it() -> None:
    off = replace(A, disabled=True)
    assert changed(off) == Plan(removed=("a",))
    assert changed(A, off) == Plan(added=(A,))
    assert changed(replace(off, connect="lazy"), off) == Plan()


@pytest.mark.parametrize(
    "now",
    [
        replace(A, launch=StdioLaunch("y", ("1",), {"K": Secret("v")}, "/d")),
        replace(A, launch=StdioLaunch("x", ("2",), {"K": Secret("v")}, "/d")),
        replace(A, launch=StdioLaunch("x", ("1",), {"K": Secret("w")}, "/d")),
        replace(A, launch=StdioLaunch("x", ("1",), {"K": Secret("v")}, "/e")),
        replace(A, launch=B.launch),
        replace(A, stateful=True),
        replace(A, stateful=True, connect="lazy"),
    ],
)
def test_another_launch_or_another_pooling_takes_a_new_connection(now: ServerSettings) -> None:
    assert changed(now) == Plan(relaunched=(now,))


@pytest.mark.parametrize(
    "launch",
    [
        HttpLaunch(Secret("http://i"), {"K": Secret("v")}),
        HttpLaunch(Secret("http://h"), {"K": Secret("w")}),
        HttpLaunch(Secret("http://h"), {"L": Secret("v")}),
        HttpLaunch(Secret("http://h"), {"K": Secret("v")}, "sse"),
    ],
)
def test_another_address_or_other_headers_take_a_new_connection(launch: HttpLaunch) -> None:
    now = replace(B, launch=launch)
    assert changed(now, B) == Plan(relaunched=(now,))


@pytest.mark.parametrize(
    "now",
    [
        replace(A, tools=ToolFilter(("x",), ())),
        replace(A, tools=ToolFilter(deny=("x",))),
        replace(A, waits=Waits(list_wait=9)),
        replace(A, reconnect=Reconnect(backoff_max=9)),
        replace(A, strategy="poll"),
        replace(A, connect="lazy"),
        replace(A, trust_public=True),
        replace(A, request_seconds=3.0),
    ],
)
def test_everything_else_is_taken_over_on_the_live_connection(now: ServerSettings) -> None:
    assert changed(now) == Plan(retuned=(now,))


def test_what_changed_beside_the_servers_is_named() -> None:
    new = Settings(
        (A,),
        limits=Limits(walk_pages=3),
        gateway=GatewaySettings(http=("h", 1), names="plain"),
        store=StoreSettings("x"),
    )
    assert plan(Settings((A,)), new) == Plan(
        elsewhere=("gateway.names", "gateway.http", "store.path", "limits.walk_pages")
    )


def test_servers_of_one_plan_are_independent() -> None:
    new_a, new_b = replace(A, stateful=True), replace(B, connect="lazy")
    c = replace(A, id="c")
    found = plan(Settings((A, B, replace(A, id="d"))), Settings((c, new_b, new_a)))
    assert found == Plan(added=(c,), removed=("d",), relaunched=(new_a,), retuned=(new_b,))
