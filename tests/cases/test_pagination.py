"""Listings on several pages, through the gateway: every page, no page twice, no half listing."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.catalog.access import PublishedChange
from toolcrib.core.snapshot import Kind
from toolcrib.errors import RequestTimedOut, ToolcribError, UpstreamRefused, UpstreamUnreachable
from toolcrib.facts import Finding
from toolcrib.ports import Era
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import scripted_gateway
from toolcrib.wire.faults import RpcFault

pytestmark = pytest.mark.virtual_time

Pages = Mapping[str | None, Mapping[str, Any]]

REST: Mapping[Kind, dict[str, Any]] = {
    Kind.TOOLS: {"inputSchema": {"type": "object"}},
    Kind.PROMPTS: {},
    Kind.RESOURCES: {"name": "r"},
    Kind.TEMPLATES: {"name": "t"},
}


def page(kind: Kind, names: str, after: str | None = None) -> dict[str, Any]:
    """One page with an item for each word; `after` is the cursor of the next one."""
    items = [{kind.key: name, **REST[kind]} for name in names.split()]
    return {kind.field: items} if after is None else {kind.field: items, "nextCursor": after}


def paged(pages: Pages, **rest: Any) -> ScriptedUpstream:
    script = ScriptedUpstream(**rest)
    script.pages = pages
    return script


@pytest.mark.duty(1)
@pytest.mark.parametrize("era", ["modern", "handshake"])
@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize(
    "cursors",
    [
        ["eyJvIjoyfQ=="],
        [""],
        ["0"],
        ["", "a"],
        ["a", ""],
        ["null", "false"],
        [" ", "\t", "x" * 900],
    ],
    ids=["opaque", "empty", "zero", "empty first", "empty last", "words", "odd ones"],
)
async def test_every_page_of_every_kind_reaches_the_host_on_one_page(
    era: Era, kind: Kind, cursors: list[str]
) -> None:
    ways = [None, *cursors]
    pages = {
        cursor: page(kind, f"a://{n}x a://{n}y", ways[n + 1] if n + 1 < len(ways) else None)
        for n, cursor in enumerate(ways)
    }
    script = paged(pages, era=era, capabilities={kind.capability: {"listChanged": True}})
    async with scripted_gateway({"s": script}) as gateway:
        result = await gateway.ask(kind.method)
        assert len(result[kind.field]) == 2 * len(ways)
        assert "nextCursor" not in result
        sent = [params for params in script.asked if "cursor" in params or not params]
        whole = [{}, *({"cursor": cursor} for cursor in cursors)]
        assert sent[: len(whole)] == whole, "the first without a cursor key, then each as given"
        assert script.requests[kind] == len(ways)


async def test_an_absent_and_a_null_cursor_end_a_listing() -> None:
    for last in ({}, {"nextCursor": None}):
        script = paged({None: page(Kind.TOOLS, "a", "1"), "1": {**page(Kind.TOOLS, "b"), **last}})
        async with scripted_gateway({"s": script}) as gateway:
            assert await gateway.names() == ["s__a", "s__b"]
            assert script.requests[Kind.TOOLS] == 2


CYCLES: Mapping[str, tuple[Pages, list[str], int]] = {
    "a page that names itself": (
        {None: page(Kind.TOOLS, "x", "c"), "c": page(Kind.TOOLS, "x", "c")},
        ["s__x"],
        2,
    ),
    "the empty cursor for ever": (
        {None: page(Kind.TOOLS, "p q", ""), "": page(Kind.TOOLS, "p q", "")},
        ["s__p", "s__q"],
        2,
    ),
    "a longer circle": (
        {
            None: page(Kind.TOOLS, "x", "1"),
            "1": page(Kind.TOOLS, "y", "2"),
            "2": page(Kind.TOOLS, "x y", "1"),
        },
        ["s__x", "s__y"],
        3,
    ),
    "back to the first page": (
        {None: page(Kind.TOOLS, "x", "0"), "0": page(Kind.TOOLS, "x", "0")},
        ["s__x"],
        2,
    ),
}


@pytest.mark.parametrize("case", CYCLES)
async def test_a_listing_that_goes_in_circles_without_news_is_used_once_and_told(case: str) -> None:
    pages, names, requests = CYCLES[case]
    script = paged(pages)
    async with scripted_gateway({"s": script}) as gateway:
        assert await gateway.names() == names
        assert script.requests[Kind.TOOLS] <= requests * 2, "names that came twice are checked once"
        codes = [fact.code for fact in gateway.world.recorder.of(Finding)]
        assert codes == ["cursor_cycle"]
        await anyio.sleep(600)
        assert await gateway.names() == names
        assert [f.code for f in gateway.world.recorder.of(Finding)] == ["cursor_cycle"]


class Growing(ScriptedUpstream):
    """Lists, once it grows, something new under the same cursor for ever."""

    grows = False

    def list_page(self, kind: Kind, cursor: str | None) -> dict[str, Any]:
        if not self.grows:
            return super().list_page(kind, cursor)
        return page(kind, f"n{self.requests[kind]}", "1")


async def test_a_listing_that_goes_in_circles_with_news_fails_and_last_good_stays() -> None:
    script = Growing([tool("good")])
    async with scripted_gateway({"s": script}) as gateway:
        assert await gateway.names() == ["s__good"]
        await anyio.sleep(10)
        script.grows = True
        script.signal()
        await anyio.sleep(30)
        assert await gateway.names() == ["s__good"]
        (reading,) = await gateway.crib.catalogs().read(Kind.TOOLS)
        assert "goes in circles" in reading.trouble
        script.grows = False
        await anyio.sleep(90)
        (reading,) = await gateway.crib.catalogs().read(Kind.TOOLS)
        assert "circles" not in reading.trouble


@pytest.mark.duty(1)
@pytest.mark.parametrize(
    "error",
    [
        UpstreamUnreachable("reset"),
        RequestTimedOut("no answer"),
        UpstreamRefused("oops", rpc_code=-32603),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("broken", [1, 2, 3])
async def test_a_page_that_fails_publishes_nothing_of_the_listing(
    error: ToolcribError, broken: int
) -> None:
    old = [tool(f"old{n}") for n in range(5)]
    script = ScriptedUpstream(old, page_size=2)
    async with scripted_gateway({"s": script}) as gateway:
        listed = await gateway.names()
        assert listed == [f"s__old{n}" for n in range(5)]
        await anyio.sleep(10)
        script.faults.lists, script.faults.page = error, broken
        script.change([tool(f"new{n}") for n in range(5)])
        for _ in range(20):
            await anyio.sleep(7)
            assert await gateway.names() == listed
        script.faults.lists = None
        await anyio.sleep(90)
        assert await gateway.names() == [f"s__new{n}" for n in range(5)]


@pytest.mark.duty(1)
@pytest.mark.parametrize("broken", [1, 2, 3])
async def test_where_nothing_is_held_a_page_that_fails_is_an_empty_list_and_no_half_one(
    broken: int,
) -> None:
    script = ScriptedUpstream([tool(f"t{n}") for n in range(5)], page_size=2)
    script.faults.lists, script.faults.page = UpstreamUnreachable("reset"), broken
    async with scripted_gateway({"s": script}) as gateway:
        result = await gateway.ask("tools/list")
        assert (result["tools"], result["ttlMs"]) == ([], 0)
        (reading,) = await gateway.crib.catalogs().read(Kind.TOOLS)
        assert "reset" in reading.trouble


@pytest.mark.parametrize("refused", [1, 2])
async def test_a_refused_cursor_begins_the_listing_again_and_loses_nothing(refused: int) -> None:
    script = ScriptedUpstream([tool(f"t{n}") for n in range(6)], page_size=2)
    async with scripted_gateway({"s": script}) as gateway:
        listed = await gateway.names()
        await anyio.sleep(10)
        script.faults.refuse_cursors = refused
        script.change([tool(f"t{n}") for n in range(7)])
        await anyio.sleep(30)
        assert await gateway.names() == [*listed, "s__t6"]


@pytest.mark.parametrize("every", [0.1, 0.25, 0.45, 0.7])
@pytest.mark.parametrize("times", [1, 3, 10])
async def test_a_change_between_two_pages_is_never_shown_half(times: int, every: float) -> None:
    script = ScriptedUpstream(page_size=3, latency=0.2)

    def content(version: int) -> list[dict[str, Any]]:
        return [tool(f"t{n}_of_{version}") for n in range(7)]

    script.items[Kind.TOOLS] = list(content(0))
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        await anyio.sleep(30)
        shown: list[tuple[int, set[str]]] = []

        def look(change: PublishedChange) -> None:
            items = () if change.after is None else change.after.items
            shown.append((len(items), {item.key.split("_of_")[1] for item in items}))

        gateway.crib.catalogs().on_published(look)
        for version in range(1, times + 1):
            script.change(content(version))
            await anyio.sleep(every)
        await anyio.sleep(30)
        assert await gateway.names() == [f"s__t{n}_of_{times}" for n in range(7)]
        assert [(size, len(versions)) for size, versions in shown] == [(7, 1)] * len(shown)


@pytest.mark.duty(7)
@pytest.mark.parametrize(
    ("ttls", "fresh"), [([3_600_000, 1_000], 1), ([1_000, 3_600_000], 1), ([2_000, 2_000], 2)]
)
async def test_a_listing_is_fresh_as_long_as_its_shortest_page(ttls: list[int], fresh: int) -> None:
    script = ScriptedUpstream([tool("a"), tool("b")], page_size=1, ttl_ms=ttls)
    async with scripted_gateway({"s": script}) as gateway:
        result = await gateway.ask("tools/list")
        assert result["ttlMs"] == fresh * 1000
        await anyio.sleep(fresh - 0.1)
        assert 0 < (await gateway.ask("tools/list"))["ttlMs"] <= 101
        await anyio.sleep(0.2)
        assert (await gateway.ask("tools/list"))["ttlMs"] <= fresh * 1000
        assert gateway.crib.catalogs().peek("s", Kind.TOOLS).age is not None


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("cursor", ["", "n", "1", "eyJvIjoyfQ=="])
async def test_a_cursor_that_a_host_sends_is_not_ours(kind: Kind, cursor: str) -> None:
    script = paged({None: page(kind, "a://u1", "n"), "n": page(kind, "a://u2")})
    async with scripted_gateway({"s": script}) as gateway:
        before = script.requests[kind]
        with pytest.raises(RpcFault) as refused:
            await gateway.ask(kind.method, {"cursor": cursor})
        assert refused.value.code == -32602
        assert script.requests[kind] == before, "it is not passed on"
