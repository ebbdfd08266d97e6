"""How long hosts may rely on a listing, and whom they may show it to: never longer, never more."""

from typing import Any

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.errors import UpstreamUnreachable
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway

pytestmark = pytest.mark.virtual_time

CURSORS = (None, "b", "c")
NOT_PUBLIC = ["private", "PUBLIC", "shared", "", None, 1]


def paged(scopes: list[Any]) -> dict[str | None, dict[str, Any]]:
    """Three pages of one tool each, with a scope each."""
    following = (*CURSORS[1:], None)
    return {
        cursor: {
            "tools": [tool(f"t{number}")],
            "cacheScope": scope,
            **({} if after is None else {"nextCursor": after}),
        }
        for number, (cursor, after, scope) in enumerate(
            zip(CURSORS, following, scopes, strict=True)
        )
    }


@pytest.mark.duty(6)
@pytest.mark.parametrize("scope", NOT_PUBLIC, ids=repr)
@pytest.mark.parametrize("position", range(3))
async def test_one_page_that_is_not_public_makes_the_listing_private(
    position: int, scope: object
) -> None:
    scopes: list[Any] = ["public"] * 3
    private = [*scopes]
    private[position] = scope
    script = ScriptedUpstream(ttl_ms=60_000)
    script.pages = paged(private)
    async with scripted_gateway({"s": script}) as gateway:
        listed = await gateway.ask("tools/list")
        assert (len(listed["tools"]), listed["cacheScope"]) == (3, "private")
        script.pages = paged(scopes)
        script.signal()
        await anyio.sleep(1)
        assert (await gateway.ask("tools/list"))["cacheScope"] == "public"


@pytest.mark.duty(6)
@pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.field)
async def test_a_server_that_is_away_makes_the_listing_private(kind: Kind) -> None:
    here = ScriptedUpstream(ttl_ms=60_000, scope="public")
    away = ScriptedUpstream(ttl_ms=60_000, scope="public")
    away.faults.connect = UpstreamUnreachable("refused")
    async with scripted_gateway({"away": away, "here": here}) as gateway:
        listed = await gateway.ask(kind.method)
        assert (listed["cacheScope"], listed["ttlMs"]) == ("private", 0)
        away.faults.connect = None
        await anyio.sleep(120)
        await gateway.ask(kind.method)
        await anyio.sleep(1)
        assert (await gateway.ask(kind.method))["cacheScope"] == "public"


TTLS = [(60_000, 90_000), (5_000, 3_600_000), (90_000, 60_000), (10**15, 7_000)]


@pytest.mark.duty(7)
@pytest.mark.parametrize("ttls", TTLS, ids=str)
async def test_a_ttl_is_never_above_what_is_left_of_any_servers_and_falls_with_its_age(
    ttls: tuple[int, int],
) -> None:
    scripts = {
        name: ScriptedUpstream([tool("t")], ttl_ms=ttl)
        for name, ttl in zip("ab", ttls, strict=True)
    }
    async with scripted_gateway(scripts) as gateway:
        await gateway.crib.catalogs().reach()
        await gateway.names()
        await anyio.sleep(3)  # the looks that follow a start are over
        shortest = min(ttls) / 1000
        walks = sum(script.walks[Kind.TOOLS] for script in scripts.values())
        before = await remaining(gateway)
        for _ in range(4):
            await anyio.sleep(shortest / 20)
            now = await remaining(gateway)
            assert now == pytest.approx(before - shortest / 20, abs=0.002)
            before = now
        assert sum(script.walks[Kind.TOOLS] for script in scripts.values()) == walks


async def remaining(gateway: ScriptedGateway) -> float:
    """Seconds that a listing promises, held to what its parts have left."""
    listed = await gateway.ask("tools/list")
    parts = [gateway.crib.catalogs().peek(server, Kind.TOOLS) for server in "ab"]
    left = min(part.ttl_left for part in parts)
    assert 0 < listed["ttlMs"] / 1000 <= left
    return listed["ttlMs"] / 1000


@pytest.mark.duty(5, 7)
async def test_what_is_served_although_its_server_is_away_promises_nothing() -> None:
    scripts = {name: ScriptedUpstream([tool("t")], ttl_ms=600_000) for name in "ab"}
    async with scripted_gateway(scripts) as gateway:
        assert len(await gateway.names()) == 2
        await anyio.sleep(10)
        scripts["b"].faults.lists = UpstreamUnreachable("reset")
        scripts["b"].signal()
        await anyio.sleep(1)
        for _ in range(3):
            listed = await gateway.ask("tools/list")
            assert (len(listed["tools"]), listed["ttlMs"]) == (2, 0)
            await anyio.sleep(20)
        scripts["b"].faults.lists = None
        await anyio.sleep(120)
        await gateway.names()
        await anyio.sleep(1)
        assert (await gateway.ask("tools/list"))["ttlMs"] > 0
