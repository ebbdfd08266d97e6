"""A store that is away or hangs is waited for so long, and then left alone for a while."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from toolcrib.adapters.store.memory import MemoryStore
from toolcrib.calls.ledger.account import PAUSE, WAIT, Patience
from toolcrib.errors import StoreUnreachable
from toolcrib.ports import EntryStore
from toolcrib.settings import GatewaySettings
from toolcrib.testing.fake_service import host_request
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway
from toolcrib.testing.virtual_clock import LoopClock
from toolcrib.wire.jsonwire import Prepared

pytestmark = pytest.mark.virtual_time


async def hang() -> None:
    await anyio.sleep_forever()


async def answer() -> None:
    await anyio.sleep(WAIT / 2)


async def away() -> None:
    raise StoreUnreachable("locked")


async def test_a_store_that_hangs_is_waited_for_so_long_and_then_not_asked_for_a_while(
    caplog: pytest.LogCaptureFixture,
) -> None:
    patience = Patience(LoopClock())
    began = anyio.current_time()
    assert not await patience.ask(hang)
    assert anyio.current_time() - began == WAIT
    assert not await patience.ask(answer), "it was asked again at once"
    assert anyio.current_time() - began == WAIT
    assert patience.failing
    await anyio.sleep(PAUSE)
    assert not await patience.ask(hang)
    await anyio.sleep(PAUSE)
    assert await patience.ask(answer)
    assert not patience.failing
    told = [it for it in caplog.records if it.levelno == logging.WARNING]
    assert [it.getMessage() for it in told] == [
        "the store gave no answer in 2 s: what is known has to do"
    ]


async def test_a_store_that_is_away_is_not_asked_for_a_while() -> None:
    patience = Patience(LoopClock())
    assert not await patience.ask(away)
    assert (patience.failing, patience.over) == (True, False)
    await anyio.sleep(PAUSE)
    assert patience.over
    assert await patience.ask(answer)


async def test_what_is_no_trouble_of_the_store_is_not_hidden() -> None:
    async def broken() -> None:
        raise ValueError("ours")

    with pytest.raises(ValueError, match="ours"):
        await Patience(LoopClock()).ask(broken)


async def test_whoever_is_cancelled_while_waiting_is_cancelled() -> None:
    patience = Patience(LoopClock())
    with anyio.move_on_after(WAIT / 4) as scope:
        await patience.ask(hang)
    assert scope.cancelled_caught
    assert patience.over, "that says nothing of the store"


class Hanging:
    """An entry store that can be made to hang."""

    def __init__(self, inner: EntryStore) -> None:
        self._inner = inner
        self.hangs = False

    def __getattr__(self, name: str) -> Any:
        async def asked(*args: Any, **options: Any) -> Any:
            if self.hangs:
                await anyio.sleep_forever()
            return await getattr(self._inner, name)(*args, **options)

        return asked


HANDLE = "handle-of-a-test"


@asynccontextmanager
async def gateway() -> AsyncGenerator[tuple[ScriptedGateway, Hanging]]:
    store = MemoryStore(LoopClock())
    hanging = Hanging(store.entries)
    store.entries = hanging  # type: ignore[assignment] # pyright: ignore[reportAttributeAccessIssue] - answers all that it does
    made = scripted_gateway(
        {"git": ScriptedUpstream([tool("commit")]), "mail": ScriptedUpstream([tool("send")])},
        settings={"mail": server_settings("mail", on_demand=True)},
        gateway=GatewaySettings(exposure="auto"),
        store=store,
    )
    async with made as served:
        yield served, hanging


async def text(served: ScriptedGateway, name: str, /, **arguments: Any) -> str:
    meta = {"dev.toolcrib/handle": HANDLE}
    params = {"name": name, "arguments": arguments, "_meta": meta}
    result = await served.gateway.answer(host_request("tools/call", params, handle=HANDLE))
    told = result.as_dict() if isinstance(result, Prepared) else result
    said: str = told["content"][0]["text"]
    return said


UNSURE = "The memory of enabled servers cannot be asked now"


@pytest.mark.parametrize("known", [False, True])
async def test_with_a_store_that_hangs_everything_is_answered_from_what_is_known(
    *, known: bool
) -> None:
    async with gateway() as (served, hanging):
        if known:
            await served.names()
            await text(served, "enable_server", server="mail")
            await anyio.sleep(60)
        hanging.hangs = True
        with anyio.fail_after(10 * WAIT):
            assert "git__commit" in await served.names()
        with anyio.fail_after(10 * WAIT):
            found = await text(served, "search_tools", query="send commit")
        assert "git__commit" in found
        assert ("mail__send" in found) == known
        assert UNSURE in found
        assert UNSURE in await text(served, "search_tools")
        assert UNSURE in await text(served, "search_tools", query="zzzz")
        assert UNSURE in await text(served, "search_available_servers")
        with anyio.fail_after(10 * WAIT):
            assert await text(served, "git__commit")
        with anyio.fail_after(10 * WAIT):
            await text(served, "enable_server", server="mail")
            assert "mail__send" in await text(served, "search_tools", query="send")
        hanging.hangs = False
        await anyio.sleep(60)
        found = await text(served, "search_tools", query="send")
        assert "mail__send" in found
        assert UNSURE not in found
