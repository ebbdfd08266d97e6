"""What each walk is told as: by keepers over listings that the test answers by hand."""

import anyio
import pytest

from toolcrib.core.freshness.events import Failure, FailureKind, Reason
from toolcrib.core.snapshot import Kind
from toolcrib.facts import ItemQuarantined, Refreshed, WalkEnded
from toolcrib.testing.keeper_rig import KeeperRig, keeper_rig
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import scripted_crib

pytestmark = pytest.mark.virtual_time


def outcomes(rig: KeeperRig) -> list[str]:
    return [fact.outcome for fact in rig.recorder.of(WalkEnded)]


async def walking(rig: KeeperRig) -> anyio.Event:
    """A walk whose answer waits for the event."""
    rig.listing.held_back, rig.listing.reached = anyio.Event(), anyio.Event()
    rig.keeper.need()
    await rig.listing.reached.wait()
    return rig.listing.held_back


async def test_new_content_is_published_and_the_same_again_is_renewed() -> None:
    async with keeper_rig() as rig:
        keeper = await rig.settled()
        await keeper.read()
        rig.listing.names = ["a", "b"]
        await anyio.sleep(10)
        await keeper.read()
        await anyio.sleep(1)
        assert outcomes(rig) == ["renewed", "published"]


async def test_a_walk_during_which_a_signal_came_is_dirty() -> None:
    async with keeper_rig() as rig:
        keeper = await rig.settled()
        free = await walking(rig)
        rig.listing.names = ["b"]
        keeper.invalidate(Reason.SIGNAL)
        free.set()
        await anyio.sleep(5)
        assert outcomes(rig) == ["dirty", "published"]


async def test_where_nothing_is_held_such_a_walk_is_provisional() -> None:
    async with keeper_rig("a", "b") as rig:
        rig.keeper.start()
        rig.keeper.connected()
        free = await walking(rig)
        rig.keeper.invalidate(Reason.SIGNAL)
        await anyio.sleep(1)
        free.set()
        await anyio.sleep(5)
        assert outcomes(rig)[:2] == ["provisional", "renewed"]


async def test_a_listing_that_is_looked_at_twice_is_held_first() -> None:
    async with keeper_rig("a", "b", "c") as rig:
        keeper = await rig.settled()
        rig.listing.names = []
        keeper.disconnected()
        keeper.connected()
        keeper.need()
        await anyio.sleep(5)
        assert outcomes(rig) == ["held", "published"]


@pytest.mark.parametrize(
    "failure",
    [
        Failure(FailureKind.TRANSPORT, "reset"),
        Failure(FailureKind.FORBIDDEN, "401"),
        Failure(FailureKind.LIMIT, "too many pages"),
        ValueError("no page"),
    ],
    ids=str,
)
async def test_a_walk_that_brings_nothing_has_failed(failure: Failure | Exception) -> None:
    async with keeper_rig() as rig:
        keeper = await rig.settled()
        rig.listing.failure = failure
        keeper.need()
        await anyio.sleep(0.2)
        assert outcomes(rig) == ["failed"]


@pytest.mark.parametrize("end", ["disconnected", "revoked"])
async def test_a_walk_that_is_given_up_has_failed(end: str) -> None:
    async with keeper_rig() as rig:
        keeper = await rig.settled()
        await walking(rig)
        getattr(keeper, end)()
        await anyio.sleep(0.2)
        assert outcomes(rig) == ["failed"]


async def test_what_comes_back_after_a_withdrawal_is_published_anew() -> None:
    async with keeper_rig() as rig:
        keeper = await rig.settled()
        rig.listing.failure = Failure(FailureKind.FORBIDDEN, "401")
        keeper.need()
        await anyio.sleep(120)
        rig.listing.failure = None
        await keeper.read()
        await anyio.sleep(1)
        assert outcomes(rig) == ["failed", "published"]


async def test_a_walk_counts_its_requests_items_and_bytes_and_new_content_its_differences() -> None:
    script = ScriptedUpstream([tool(f"t{n}") for n in range(7)], page_size=3, latency=0.5)
    async with scripted_crib({"s": script}) as (crib, world):
        await crib.catalogs().read(Kind.TOOLS)
        await anyio.sleep(30)
        script.change([tool("t0", x={}), *(tool(f"t{n}") for n in range(3, 7)), {"name": "bad"}])
        await anyio.sleep(30)
        first, second = world.recorder.of(WalkEnded)[0], world.recorder.of(WalkEnded)[-1]
        assert (first.server, first.kind) == ("s", "tools")
        assert (first.requests, first.items, first.quarantined) == (3, 7, 0)
        assert first.size > 7 * 50
        assert first.seconds == pytest.approx(1.5)
        assert (second.requests, second.items, second.quarantined) == (2, 5, 1)
        one, two = world.recorder.of(Refreshed)
        assert (one.items, one.added, one.removed, one.changed) == (7, 7, 0, 0)
        assert (two.items, two.added, two.removed, two.changed) == (5, 0, 2, 1)
        assert two.generation > one.generation
        assert [fact.key for fact in world.recorder.of(ItemQuarantined)] == ["bad"]


async def test_a_malformed_definition_is_told_once_and_not_with_every_walk() -> None:
    script = ScriptedUpstream([tool("a"), {"name": "bad"}])
    async with scripted_crib({"s": script}) as (crib, world):
        for turn in range(5):
            script.change([tool("a"), tool(f"t{turn}"), {"name": "bad"}])
            await crib.catalogs().read(Kind.TOOLS)
            await anyio.sleep(10)
        assert len(world.recorder.of(ItemQuarantined)) == 1
