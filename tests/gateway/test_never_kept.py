"""Answers of calls and of rounds are asked for each time: none is kept as listings are."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.testing.fake_service import host_request
from toolcrib.testing.scripted import ScriptedUpstream, tool
from toolcrib.testing.scripted_gateway import ScriptedGateway, scripted_gateway
from toolcrib.wire.kernel import Kernel

pytestmark = pytest.mark.virtual_time

HINTS: Mapping[str, Any] = {"ttlMs": 3_600_000, "cacheScope": "public"}
QUESTION: Mapping[str, Any] = {
    "method": "elicitation/create",
    "params": {"message": "Which?", "requestedSchema": {"type": "object", "properties": {}}},
}
YES: dict[str, Any] = {"q": {"action": "accept", "content": {}}}
REQUESTS: Mapping[str, dict[str, Any]] = {
    "tools/call": {"name": "s__t", "arguments": {"a": "x"}},
    "prompts/get": {"name": "s__p"},
    "resources/read": {"uri": "a://r"},
}
BODIES: Mapping[str, dict[str, Any]] = {
    "tools/call": {"content": []},
    "prompts/get": {"messages": []},
    "resources/read": {"contents": []},
}


class Counting(ScriptedUpstream):
    """Numbers its answers, hints at keeping each of them for an hour, and may ask first."""

    def __init__(self, *, asks: bool = False) -> None:
        super().__init__([tool("t", a={"type": "string"})], ttl_ms=3_600_000, scope="public")
        self.items[Kind.PROMPTS] = [{"name": "p"}]
        self.items[Kind.RESOURCES] = [{"uri": "a://r", "name": "r"}]
        self.asks = asks
        self.on_call = self.count

    async def count(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if self.asks and "inputResponses" not in params:
            asked = {"inputRequests": {"q": QUESTION}, "requestState": "s"}
            return {"resultType": "input_required", **asked, **HINTS}
        number = {"_meta": {"n": len(self.calls)}}
        return {"resultType": "complete", **BODIES[method], **HINTS, **number}


async def answered(gateway: ScriptedGateway, method: str, **more: Any) -> dict[str, Any]:
    """What a modern host gets, with everything that the wire adds and takes away."""
    params = {**REQUESTS[method], **more}
    request = host_request(method, params, capabilities={"elicitation": {"form": {}}})
    result = await Kernel(gateway.gateway).respond(request)
    assert isinstance(result, dict)
    return result


@pytest.mark.duty(13)
@pytest.mark.parametrize("method", REQUESTS)
async def test_the_same_request_again_reaches_the_server_again(method: str) -> None:
    script = Counting()
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        records = len(gateway.world.store._records)  # pyright: ignore[reportPrivateUsage]
        seen: list[int] = []
        for _ in range(3):
            seen.append((await answered(gateway, method))["_meta"]["n"])
            await anyio.sleep(1)
        assert seen == [1, 2, 3]
        assert [asked for asked, _ in script.calls] == [method] * 3
        kept = gateway.world.store._records  # pyright: ignore[reportPrivateUsage]
        assert len(kept) <= max(records, len(Kind)), "no catalog but those of the four kinds"


@pytest.mark.duty(13)
@pytest.mark.parametrize("method", REQUESTS)
async def test_a_question_carries_no_hints_and_is_put_anew_each_time(method: str) -> None:
    script = Counting(asks=True)
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        states: set[str] = set()
        for _ in range(3):
            asked = await answered(gateway, method)
            assert asked["resultType"] == "input_required"
            assert not HINTS.keys() & asked.keys()
            states.add(asked["requestState"])
        assert len(script.calls) == len(states) == 3


@pytest.mark.duty(13)
@pytest.mark.parametrize("method", REQUESTS)
async def test_what_answers_a_round_is_good_for_that_round_alone(method: str) -> None:
    script = Counting(asks=True)
    async with scripted_gateway({"s": script}) as gateway:
        await gateway.names()
        for turn in range(1, 4):
            asked = await answered(gateway, method)
            state = asked["requestState"]
            done = await answered(gateway, method, inputResponses=YES, requestState=state)
            assert done["resultType"] == "complete"
            assert done["_meta"]["n"] == 2 * turn
            if method == "resources/read":
                assert (done["ttlMs"], done["cacheScope"]) == (0, "private"), "nobody may keep it"
        assert len(script.calls) == 6
