"""Good servers beside bad ones, and hosts that pay for every changed byte, through the gateway."""

import random
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.errors import (
    AuthRequired,
    ConfigError,
    IncompatibleServer,
    RequestTimedOut,
    ToolcribError,
    UpstreamRefused,
    UpstreamUnreachable,
)
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import scripted_gateway

pytestmark = pytest.mark.virtual_time

GOOD = [tool("g1"), tool("g2")]
LISTED = ["good__g1", "good__g2"]


def _hangs(script: ScriptedUpstream) -> None:
    script.faults.hang = True


def _never_connects(script: ScriptedUpstream) -> None:
    script.latency = 1e9


def _is_slow(script: ScriptedUpstream) -> None:
    script.latency = 15


def _raises(error: ToolcribError) -> Callable[[ScriptedUpstream], None]:
    def switch(script: ScriptedUpstream) -> None:
        script.faults.lists = error

    return switch


def _refuses(error: ToolcribError) -> Callable[[ScriptedUpstream], None]:
    def switch(script: ScriptedUpstream) -> None:
        script.faults.connect = error

    return switch


class Garbled(ScriptedUpstream):
    """Answers a listing with what is none."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def list_page(self, kind: Kind, cursor: str | None) -> Any:
        return self.answer


BAD: Mapping[str, Callable[[ScriptedUpstream], None]] = {
    "reads and never answers": _hangs,
    "never finishes connecting": _never_connects,
    "answers after fifteen seconds": _is_slow,
    "an error to each listing": _raises(UpstreamRefused("kaputt", rpc_code=-32603)),
    "a time-out": _raises(RequestTimedOut("late")),
    "a reset": _raises(UpstreamUnreachable("reset by peer")),
    "no right": _raises(AuthRequired("HTTP 401")),
    "no process": _refuses(ConfigError("no such command")),
    "no port": _refuses(UpstreamUnreachable("connection refused")),
    "no common revision": _refuses(IncompatibleServer("it speaks 1999-01-01 only")),
}


@pytest.mark.parametrize("many", [1, 10])
@pytest.mark.parametrize("case", BAD)
async def test_a_bad_server_costs_its_own_tools_and_the_first_listing_comes_in_time(
    case: str, many: int
) -> None:
    bad = {f"bad{n}": ScriptedUpstream([tool("b")]) for n in range(many)}
    for script in bad.values():
        BAD[case](script)
    async with scripted_gateway({**bad, "good": ScriptedUpstream(GOOD)}) as gateway:
        began = anyio.current_time()
        result = await gateway.ask("tools/list")
        assert anyio.current_time() - began <= 3.0
        assert [each["name"] for each in result["tools"]] == LISTED
        assert result["ttlMs"] == 0, "something is missing"
        began = anyio.current_time()
        assert not (await gateway.call("good__g1")).get("isError")
        assert anyio.current_time() == began


MENDED = [case for case in BAD if case != "never finishes connecting"]


@pytest.mark.parametrize("case", MENDED)
async def test_the_reason_is_told_to_the_operator_and_goes_when_the_server_is_well(
    case: str,
) -> None:
    script = ScriptedUpstream([tool("b")])
    BAD[case](script)
    async with scripted_gateway({"bad": script, "good": ScriptedUpstream(GOOD)}) as gateway:
        catalogs = gateway.crib.catalogs()
        bad, good = await catalogs.read(Kind.TOOLS)
        assert (bad.snapshot, good.snapshot is not None) == (None, True)
        assert bad.trouble
        assert catalogs.status("good").detail == ""
        script.latency = 0
        script.faults.hang = False
        script.faults.lists = script.faults.connect = None
        await anyio.sleep(400)
        await gateway.names()
        await anyio.sleep(1)
        assert await gateway.names() == ["bad__b", *LISTED]
        assert catalogs.status("bad").detail == ""


GARBLED: list[Any] = [
    {},
    {"tools": None},
    {"tools": {"a": 1}},
    {"tools": "a"},
    {"resultType": "input_required", "tools": []},
    {"tools": [], "nextCursor": {"n": 1}},
    {"tools": [[[[]]], 7, "x", None]},
    {"tools": [{"name": "a" * 100_000, "inputSchema": {"type": "object"}}]},
]


@pytest.mark.parametrize("answer", GARBLED, ids=lambda answer: str(answer)[:40])
async def test_a_garbled_listing_costs_its_own_server(answer: Any) -> None:
    scripts = {"bad": Garbled(answer), "good": ScriptedUpstream(GOOD)}
    async with scripted_gateway(scripts) as gateway:
        names = await gateway.names()
        assert names[-2:] == LISTED
        assert len(names) <= 3
        assert not (await gateway.call("good__g1")).get("isError")


async def test_a_bad_kind_of_one_server_costs_neither_its_other_kinds_nor_other_servers() -> None:
    class Half(ScriptedUpstream):
        def list_page(self, kind: Kind, cursor: str | None) -> dict[str, Any]:
            if kind is Kind.PROMPTS:
                raise UpstreamRefused("kaputt", rpc_code=-32603)
            return super().list_page(kind, cursor)

    good = ScriptedUpstream(GOOD)
    good.items[Kind.PROMPTS] = [{"name": "p"}]
    async with scripted_gateway({"bad": Half([tool("b")]), "good": good}) as gateway:
        assert await gateway.names() == ["bad__b", *LISTED]
        assert await gateway.names(Kind.PROMPTS) == ["good__p"]


async def test_calls_to_one_server_do_not_wait_for_anothers() -> None:
    async def never(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        await anyio.sleep_forever()
        raise AssertionError

    stuck = ScriptedUpstream([tool("b")])
    stuck.on_call = never
    async with scripted_gateway({"bad": stuck, "good": ScriptedUpstream(GOOD)}) as gateway:
        await gateway.names()
        async with anyio.create_task_group() as tasks:
            for _ in range(100):
                tasks.start_soon(gateway.call, "bad__b")
            await anyio.sleep(1)
            began = anyio.current_time()
            for _ in range(100):
                assert not (await gateway.call("good__g1")).get("isError")
            assert anyio.current_time() == began
            tasks.cancel_scope.cancel()


# ---- the same bytes ----

SERVERS = {"a": ["A1", "A2", "a1"], "b": ["B1"], "a-b": ["x"], "B": ["z", "Z"]}


@pytest.mark.parametrize("seed", range(8))
async def test_the_bytes_of_a_listing_do_not_depend_on_who_came_first_or_in_what_order(
    seed: int,
) -> None:
    chance = random.Random(seed)  # noqa: S311 - a test that repeats
    scripts: dict[str, ScriptedUpstream] = {}
    for server in chance.sample(sorted(SERVERS), len(SERVERS)):
        names = chance.sample(SERVERS[server], len(SERVERS[server]))
        latency = chance.choice([0.0, 0.1, 0.4])
        scripts[server] = ScriptedUpstream([tool(name) for name in names], latency=latency)
    async with scripted_gateway(scripts) as gateway:
        await gateway.crib.catalogs().reach()
        await anyio.sleep(3)
        listing = await gateway.listing()
    assert listing == await _expected()


async def _expected() -> bytes:
    scripts = {
        server: ScriptedUpstream([tool(name) for name in sorted(names)])
        for server, names in sorted(SERVERS.items())
    }
    async with scripted_gateway(scripts) as gateway:
        await gateway.names()
        await anyio.sleep(3)
        return await gateway.listing()


REJOIN: Mapping[str, Callable[[ScriptedUpstream], None]] = {
    "reconnects": lambda script: script.drop(),
    "signals without a change": lambda script: script.signal(),
    "lists in another order": lambda script: script.change(
        list(reversed(script.items[Kind.TOOLS]))
    ),
    "changes its era": lambda script: (setattr(script, "era", "handshake"), script.drop())[1],
    "loses its stream": lambda script: script.lose_stream(),
    "changes its page size": lambda script: (setattr(script, "page_size", 1), script.signal())[1],
}


@pytest.mark.parametrize("times", [1, 20])
@pytest.mark.parametrize("case", REJOIN)
async def test_a_server_that_comes_back_with_the_same_tools_changes_no_byte(
    case: str, times: int
) -> None:
    scripts = {
        "a": ScriptedUpstream([tool("A1"), tool("A2")]),
        "b": ScriptedUpstream([tool("B1")]),
    }
    async with scripted_gateway(scripts) as gateway:
        await gateway.names()
        await anyio.sleep(30)
        before = await gateway.listing()
        generation = gateway.crib.catalogs().peek("a", Kind.TOOLS).generation
        changes: list[object] = []
        gateway.crib.catalogs().on_published(changes.append)
        for _ in range(times):
            REJOIN[case](scripts["a"])
            await anyio.sleep(3)
            assert await gateway.listing() == before
        assert gateway.crib.catalogs().peek("a", Kind.TOOLS).generation == generation
        assert changes == []


async def test_bytes_are_equal_again_when_a_change_is_undone() -> None:
    script = ScriptedUpstream([tool("A1"), tool("A2")])
    async with scripted_gateway({"a": script}) as gateway:
        await gateway.names()
        await anyio.sleep(30)
        before = await gateway.listing()
        script.change([tool("A1")])
        await anyio.sleep(3)
        assert await gateway.listing() != before
        script.change([tool("A2"), tool("A1")])
        await anyio.sleep(3)
        assert await gateway.listing() == before
