"""A call that its caller gives up is cancelled at its server, in the way of transport and era."""

from typing import Any

import anyio
import pytest

from toolcrib.errors import RequestTimedOut
from toolcrib.ports import Era
from toolcrib.testing.connected import PAIRS, Connected, connected
from toolcrib.testing.scripted_server import Delay, Heard, Progress
from toolcrib.testing.server.rulebook import Wire

EVERY_PAIR = pytest.mark.parametrize(("wire", "era"), PAIRS)
CALL = "tools/call"


async def given_up(peer: Connected, name: str = "slow") -> None:
    """Call a tool that never answers, and give up once the server has it."""
    before = (await peer.server.counts()).calls[name]
    async with anyio.create_task_group() as tasks:
        params: dict[str, Any] = {"name": name, "arguments": {}}
        tasks.start_soon(peer.upstream.request, CALL, params)
        await peer.server.until(lambda seen: seen.calls[name] > before)
        tasks.cancel_scope.cancel()


def id_of(heard: Heard) -> object:
    return heard.message["id"]


def told_of(heard: tuple[Heard, ...]) -> list[object]:
    return [one.message["params"]["requestId"] for one in heard]


async def quick(peer: Connected) -> str:
    result = await peer.upstream.request(CALL, {"name": "quick", "arguments": {}})
    return result["content"][0]["text"]


@pytest.mark.duty(34)
@EVERY_PAIR
async def test_a_cancelled_call_is_cancelled_by_its_own_id_and_no_other_is(
    wire: Wire, era: Era
) -> None:
    with anyio.fail_after(10):
        async with connected(wire, era) as peer:
            await peer.server.on("tools/call:slow", Delay(60))
            await peer.server.on("tools/call:other", Delay(0.2))
            kept: list[dict[str, Any]] = []

            async def keep() -> None:
                kept.append(await peer.upstream.request(CALL, {"name": "other", "arguments": {}}))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(keep)
                await peer.server.until(lambda seen: seen.calls["other"] == 1)
                await given_up(peer)
                await peer.server.until(lambda seen: seen.gave_up >= 1)
            assert kept[0]["content"][0]["text"] == "other()"
            assert await quick(peer) == "quick()"
            slow = [one for one in await peer.server.heard(CALL) if _name(one) == "slow"]
            told = told_of(await peer.server.heard("notifications/cancelled"))
            by_closing = wire == "http" and era == "modern"
            assert told == ([] if by_closing else [id_of(slow[0])])
            assert (await peer.server.counts()).gave_up == 1


def _name(heard: Heard) -> object:
    return heard.message["params"]["name"]


@pytest.mark.duty(34)
@EVERY_PAIR
async def test_nothing_is_sent_for_a_cancelled_call_once_it_was_told(wire: Wire, era: Era) -> None:
    with anyio.fail_after(10):
        async with connected(wire, era) as peer:
            await peer.server.on("tools/call:slow", Delay(60))
            await given_up(peer)
            await peer.server.until(lambda seen: seen.gave_up >= 1)
            slow = (await peer.server.heard(CALL))[0]
            for _ in range(3):
                await quick(peer)
            heard = await peer.server.heard()
            mentions = [
                one
                for one in heard[heard.index(slow) + 1 :]
                if one.message.get("id") == id_of(slow)
                or one.message.get("params", {}).get("requestId") == id_of(slow)
            ]
            assert len(mentions) <= 1, "the cancellation itself, and that once"


@pytest.mark.duty(34)
@EVERY_PAIR
async def test_a_call_that_times_out_is_cancelled_as_one_that_is_given_up(
    wire: Wire, era: Era
) -> None:
    with anyio.fail_after(10):
        async with connected(wire, era) as peer:
            await peer.server.on("tools/call:slow", Delay(60))
            with pytest.raises(RequestTimedOut):
                await peer.upstream.request(CALL, {"name": "slow", "arguments": {}}, timeout=0.3)
            await peer.server.until(lambda seen: seen.gave_up >= 1)
            assert await quick(peer) == "quick()"


@pytest.mark.duty(34)
@pytest.mark.parametrize("wire", ["stdio", "sse"])
async def test_an_answer_that_comes_after_the_cancellation_is_ignored(wire: Wire) -> None:
    with anyio.fail_after(10):
        async with connected(wire, "handshake") as peer:
            # The server is deaf to the notice: it answers all the same, over and over.
            await peer.server.on("tools/call:slow", Delay(0.2))
            with anyio.move_on_after(0.1):
                await peer.upstream.request(CALL, {"name": "slow", "arguments": {}})
            for _ in range(3):
                assert await quick(peer) == "quick()"
            await anyio.sleep(0.2)
            assert await quick(peer) == "quick()"
            assert not peer.upstream.closed


@EVERY_PAIR
async def test_a_cancelled_call_hears_no_progress_any_more(wire: Wire, era: Era) -> None:
    heard: list[float] = []

    async def progress(done: float, total: float | None, text: str | None) -> None:
        del total, text
        heard.append(done)

    with anyio.fail_after(10):
        async with connected(wire, era) as peer:
            steps = [step for n in range(1, 50) for step in (Progress(n), Delay(0.02))]
            await peer.server.on("tools/call:slow", *steps)
            with anyio.move_on_after(0.2):
                await peer.upstream.request(
                    CALL, {"name": "slow", "arguments": {}}, progress=progress
                )
            known = len(heard)
            await quick(peer)
            await anyio.sleep(0.1)
            await quick(peer)
            assert len(heard) == known
            assert heard == sorted(heard)
