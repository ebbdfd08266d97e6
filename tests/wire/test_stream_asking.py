"""Questions to a handshake host over a pair of streams, as over stdio."""

from typing import Any

import anyio
import pytest

from toolcrib.errors import UpstreamRefused
from toolcrib.testing.fake_service import FakeService
from toolcrib.testing.stream_host import CLIENT, StreamHost, enveloped, stream_host
from toolcrib.wire.jsonwire import Result
from toolcrib.wire.kernel import Kernel
from toolcrib.wire.service import HostRequest

CALL = {"name": "t"}
FORM: dict[str, Any] = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}


async def asks(request: HostRequest) -> Result:
    assert request.ask is not None
    try:
        return {"content": [], "told": await request.ask("elicitation/create", FORM)}
    except UpstreamRefused as refused:
        return {"content": [], "told": [refused.rpc_code, refused.message, refused.data]}


async def opened(host: StreamHost, capabilities: dict[str, Any]) -> None:
    params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": CLIENT}
    await host.ask("init", "initialize", params)
    await host.send("notifications/initialized")
    host.heard.clear()


def service() -> FakeService:
    made = FakeService()
    made.script = asks
    return made


async def question(host: StreamHost, place: int = 0) -> dict[str, Any]:
    await host.wait(place + 1)
    return host.heard[place]


async def test_the_question_comes_before_the_answer_and_its_result_reaches_the_service() -> None:
    with anyio.fail_after(5):
        async with stream_host(Kernel(service())) as host:
            await opened(host, {"elicitation": {}})
            await host.send("tools/call", CALL, id=7)
            asked = await question(host)
            assert (asked["method"], asked["params"]) == ("elicitation/create", FORM)
            await host.respond(asked["id"], result={"action": "decline"})
            answer = await host.response(7)
    assert answer["result"]["told"] == {"action": "decline"}


async def test_an_error_of_the_host_is_told_as_it_is() -> None:
    with anyio.fail_after(5):
        async with stream_host(Kernel(service())) as host:
            await opened(host, {"elicitation": {}})
            await host.send("tools/call", CALL, id=7)
            error = {"code": -1, "message": "no", "data": [1]}
            await host.respond((await question(host))["id"], error=error)
            answer = await host.response(7)
    assert answer["result"]["told"] == [-1, "no", [1]]


async def test_unknown_and_late_responses_change_nothing() -> None:
    with anyio.fail_after(5):
        async with stream_host(Kernel(service())) as host:
            await opened(host, {"elicitation": {}})
            await host.send("tools/call", CALL, id=7)
            asked = await question(host)
            await host.respond(asked["id"] + 50, result={"other": 1})
            await host.respond(asked["id"], result={"first": 1})
            answer = await host.response(7)
            await host.respond(asked["id"], result={"late": 1})
            assert (await host.ask(8, "ping"))["result"] == {}
    assert answer["result"]["told"] == {"first": 1}


async def test_ids_of_questions_are_unique_and_answers_find_theirs() -> None:
    with anyio.fail_after(5):
        async with stream_host(Kernel(service())) as host:
            await opened(host, {"elicitation": {}})
            for call in ("a", "b", "c"):
                await host.send("tools/call", CALL, id=call)
            asked = [await question(host, place) for place in range(3)]
            assert len({each["id"] for each in asked}) == 3
            for each in reversed(asked):
                await host.respond(each["id"], result={"for": each["id"]})
            told = {(await host.response(c))["result"]["told"]["for"] for c in ("a", "b", "c")}
    assert told == {each["id"] for each in asked}


async def test_a_host_is_not_asked_what_it_did_not_declare() -> None:
    with anyio.fail_after(5):
        async with stream_host(Kernel(service())) as host:
            await opened(host, {"elicitation": {"url": {}}})
            answer = await host.ask(7, "tools/call", CALL)
    assert len(host.heard) == 1
    assert answer["error"]["code"] == -32603


async def test_a_cancelled_request_calls_its_question_off() -> None:
    asking = service()
    with anyio.fail_after(5):
        async with stream_host(Kernel(asking)) as host:
            await opened(host, {"elicitation": {}})
            await host.send("tools/call", CALL, id=7)
            asked = await question(host)
            await host.send("notifications/cancelled", {"requestId": 7})
            called_off = await question(host, 1)
            await host.ask(8, "ping")
    assert called_off["method"] == "notifications/cancelled"
    assert called_off["params"]["requestId"] == asked["id"]
    assert asking.cancelled == ["tools/call"]
    assert all(message.get("id") != 7 for message in host.heard)


@pytest.mark.virtual_time
async def test_a_host_that_never_answers_is_given_up() -> None:
    with anyio.fail_after(301):
        async with stream_host(Kernel(service(), 300.0)) as host:
            await opened(host, {"elicitation": {}})
            await host.send("tools/call", CALL, id=7)
            answer = await host.response(7)
    assert answer["result"]["told"][0] == -32603


async def test_a_host_that_leaves_fails_its_questions() -> None:
    asking, told = FakeService(), list[object]()

    async def ask(request: HostRequest) -> Result:
        try:
            told.append(await asks(request))
        except anyio.get_cancelled_exc_class():
            told.append("cancelled")
            raise
        return {"content": []}

    asking.script = ask
    with anyio.fail_after(5):
        async with stream_host(Kernel(asking)) as host:
            await opened(host, {"elicitation": {}})
            await host.send("tools/call", CALL, id=7)
            await question(host)
    assert told in (["cancelled"], [{"content": [], "told": [-32603, "the host is gone", None]}])


async def test_a_modern_host_is_asked_nothing_inline() -> None:
    asking = FakeService()
    with anyio.fail_after(5):
        async with stream_host(Kernel(asking)) as host:
            await host.ask(1, "tools/call", enveloped(CALL))
    assert asking.asked[0].ask is None
