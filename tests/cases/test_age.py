"""Refreshes that fail, and what becomes of definitions meanwhile: kept, shown with age, refused."""

from collections.abc import Callable, Mapping
from typing import Any

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.errors import (
    RateLimited,
    RequestTimedOut,
    ToolcribError,
    UpstreamRefused,
    UpstreamUnreachable,
)
from toolcrib.facts import RefreshFailed
from toolcrib.settings import Waits
from toolcrib.testing.scripted import Faults, ScriptedUpstream, tool
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_gateway import scripted_gateway

pytestmark = pytest.mark.virtual_time

HOUR = 3600.0


def listing(*names: str) -> list[dict[str, Any]]:
    return [tool(name) for name in names]


TROUBLE: Mapping[str, Callable[[Faults], None]] = {
    "no answer": lambda faults: setattr(faults, "hang", True),
    "a time-out": lambda faults: _fail(faults, RequestTimedOut("late")),
    "a reset": lambda faults: _fail(faults, UpstreamUnreachable("reset")),
    "an internal error": lambda faults: _fail(faults, UpstreamRefused("oops", rpc_code=-32603)),
    "invalid parameters": lambda faults: _fail(faults, UpstreamRefused("what", rpc_code=-32602)),
    "too many requests": lambda faults: _fail(faults, RateLimited("slow down")),
}


def _fail(faults: Faults, error: ToolcribError) -> None:
    faults.lists = error


def _mend(script: ScriptedUpstream) -> None:
    script.faults.hang = False
    script.faults.lists = script.faults.connect = None


@pytest.mark.duty(5)
@pytest.mark.parametrize("case", TROUBLE)
async def test_a_refresh_that_fails_keeps_the_tools_as_stale_and_is_made_up_for(case: str) -> None:
    script = ScriptedUpstream(listing("slow"), ttl_ms=5_000)
    free = anyio.Event()

    async def slow(_method: str, _params: Mapping[str, Any]) -> dict[str, Any]:
        await free.wait()
        return {"content": []}

    script.on_call = slow
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        TROUBLE[case](script.faults)
        script.items[Kind.TOOLS] = list(listing("slow", "new"))
        with anyio.move_on_after(60) as given_up:
            await gateway.call("s__slow")
        assert given_up.cancelled_caught
        for _ in range(12):
            result = await gateway.ask("tools/list")
            assert [each["name"] for each in result["tools"]] == ["s__slow"]
            assert result["ttlMs"] == 0, "nobody may rely on it"
            await anyio.sleep(5)
        status = gateway.crib.catalogs().peek("s", Kind.TOOLS)
        assert (status.fresh, status.age) == (False, pytest.approx(120, abs=15))
        assert status.trouble
        assert gateway.world.recorder.of(RefreshFailed)
        _mend(script)
        free.set()
        await anyio.sleep(61)
        await gateway.names()
        await anyio.sleep(1)
        assert await gateway.names() == ["s__new", "s__slow"]


@pytest.mark.parametrize("readers", [1, 30])
async def test_a_dead_server_is_asked_at_the_pace_of_its_breaker_and_readers_do_not_wait(
    readers: int,
) -> None:
    script = ScriptedUpstream(listing("a"), ttl_ms=0)
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        await anyio.sleep(60)
        script.faults.lists = UpstreamUnreachable("reset")
        await gateway.names()
        before = script.walks[Kind.TOOLS]
        for _ in range(60):
            began = anyio.current_time()
            for _ in range(readers):
                assert await gateway.names() == ["s__a"]
            assert anyio.current_time() - began <= 0.2
            await anyio.sleep(1)
        assert script.walks[Kind.TOOLS] - before <= 9


AGES: Mapping[str, tuple[Waits, float]] = {
    "the default day": (Waits(), 25 * HOUR),
    "an hour": (Waits(max_stale=HOUR, max_stale_list=HOUR), 1.1 * HOUR),
    "a week": (Waits(max_stale=168 * HOUR, max_stale_list=168 * HOUR), 169 * HOUR),
    "calls before lists": (Waits(max_stale=HOUR, max_stale_list=168 * HOUR), 1.1 * HOUR),
}


def _connect_fails(script: ScriptedUpstream) -> None:
    script.faults.connect = UpstreamUnreachable("refused")
    script.drop()


def _lists_fail(script: ScriptedUpstream) -> None:
    script.faults.lists = UpstreamUnreachable("reset")


def _lists_hang(script: ScriptedUpstream) -> None:
    script.faults.hang = True


@pytest.mark.parametrize("fail", [_connect_fails, _lists_fail, _lists_hang])
@pytest.mark.parametrize("case", AGES)
async def test_calls_from_a_catalog_that_is_too_old_are_refused_and_never_sent(
    case: str, fail: Callable[[ScriptedUpstream], None]
) -> None:
    waits, age = AGES[case]
    script = ScriptedUpstream(listing("v1"))
    settings = {"s": server_settings("s", waits=waits)}
    async with scripted_gateway({"s": script}, settings=settings) as gateway:
        await gateway.names()
        fail(script)
        await anyio.sleep(0.9 * min(waits.max_stale, waits.max_stale_list))
        if fail is not _connect_fails:
            assert not (await gateway.call("s__v1")).get("isError"), "still young enough"
        await anyio.sleep(age - anyio.current_time())
        sent = len(script.calls)
        refusal = await gateway.refusal("s__v1")
        assert (refusal["code"], refusal["server"]) == ("catalog_too_old", "s")
        assert refusal["retry"] == "later"
        assert len(script.calls) == sent
        _mend(script)
        await anyio.sleep(700)
        await gateway.names()
        await anyio.sleep(3)
        assert await gateway.names() == ["s__v1"]
        assert not (await gateway.call("s__v1")).get("isError")


async def test_past_its_age_a_listing_is_hidden_and_others_stay() -> None:
    scripts = {"old": ScriptedUpstream(listing("a")), "good": ScriptedUpstream(listing("b"))}
    async with scripted_gateway(scripts) as gateway:
        assert await gateway.names() == ["good__b", "old__a"]
        scripts["old"].faults.lists = UpstreamUnreachable("reset")
        for _ in range(24):
            assert await gateway.names() == ["good__b", "old__a"]
            await anyio.sleep(HOUR)
        await anyio.sleep(HOUR)
        assert await gateway.names() == ["good__b"]
        assert (await gateway.refusal("old__a"))["code"] == "catalog_too_old"
        assert not (await gateway.call("good__b")).get("isError")


async def test_what_is_too_old_to_be_listed_may_still_be_called_until_calls_are_refused_too() -> (
    None
):
    script = ScriptedUpstream(listing("a"))
    waits = Waits(max_stale_list=HOUR, max_stale=3 * HOUR)
    settings = {"s": server_settings("s", waits=waits)}
    async with scripted_gateway({"s": script}, settings=settings) as gateway:
        await gateway.names()
        script.faults.lists = UpstreamUnreachable("reset")
        await anyio.sleep(2 * HOUR)
        assert await gateway.names() == []
        assert not (await gateway.call("s__a")).get("isError")
        await anyio.sleep(2 * HOUR)
        assert (await gateway.refusal("s__a"))["code"] == "catalog_too_old"
