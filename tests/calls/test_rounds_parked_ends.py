"""How a call that stays open ends: in time, within limits, and with whoever it was open for."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import pytest

from toolcrib.errors import (
    CapabilityMissing,
    RetryRefused,
    TooBusy,
    ToolcribBug,
    UpstreamUnreachable,
)
from toolcrib.ports import Ask
from toolcrib.settings import Limits
from toolcrib.testing.rounds_rig import (
    CALLER,
    DONE,
    FORM,
    SERVER,
    VISIT,
    Installation,
    Questioner,
    by_rounds,
    outgoing,
    retry,
)

pytestmark = pytest.mark.virtual_time


async def test_only_so_many_calls_may_wait_for_people() -> None:
    servers: list[Questioner] = []

    async def body(ask: Ask) -> Mapping[str, Any]:
        server = Questioner(FORM)
        servers.append(server)
        return await server.body(ask)

    hosts = [by_rounds(handle=f"host-{n}") for n in range(3)]
    async with Installation("handshake").process(limits=Limits(parked_calls=2)) as here:
        here.serves(body)
        first = await here.rounds.request(outgoing(CALLER))
        await here.rounds.request(outgoing(hosts[0]))
        with pytest.raises(TooBusy, match="as many as parked_calls allows"):
            await here.rounds.request(outgoing(hosts[1]))
        assert await here.rounds.request(retry(first)) == DONE
        third = await here.rounds.request(outgoing(hosts[2]))
        assert third["resultType"] == "input_required"


async def test_a_server_that_goes_away_ends_the_open_call() -> None:
    async def body(ask: Ask) -> Mapping[str, Any]:
        with anyio.move_on_after(5):
            await ask("elicitation/create", dict(FORM))
        raise UpstreamUnreachable("it hung up", server=SERVER)

    async with Installation("handshake").process() as here:
        here.serves(body)
        result = await here.rounds.request(outgoing(CALLER))
        await anyio.sleep(6)
        with pytest.raises(UpstreamUnreachable, match="hung up"):
            await here.rounds.request(retry(result))
        assert len(here.parking) == 0


async def test_a_bug_in_the_transport_reaches_the_request_and_not_the_process() -> None:
    async def body(_: Ask) -> Mapping[str, Any]:
        raise KeyError("a bug")

    async with Installation("handshake").process() as here:
        here.serves(body)
        with pytest.raises(KeyError):
            await here.rounds.request(outgoing(CALLER))
        here.answers(DONE)
        assert await here.rounds.request(outgoing(CALLER)) == DONE


async def test_a_caller_that_gives_up_waiting_cancels_the_call_at_the_server() -> None:
    server = Questioner(FORM)

    async def body(ask: Ask) -> Mapping[str, Any]:
        result = await server.body(ask)
        await anyio.sleep_forever()
        return result

    cancelled: list[bool] = []

    async def watched(ask: Ask) -> Mapping[str, Any]:
        try:
            return await body(ask)
        except anyio.get_cancelled_exc_class():
            cancelled.append(True)
            raise

    async with Installation("handshake").process() as here:
        here.serves(watched)
        result = await here.rounds.request(outgoing(CALLER))
        with anyio.move_on_after(1):
            await here.rounds.request(retry(result))
        await anyio.sleep(1)
        assert cancelled == [True]
        assert here.parking.find(result["requestState"]) is None
        with pytest.raises(RetryRefused):
            await here.rounds.request(retry(result))


async def test_leaving_the_process_cancels_what_is_open() -> None:
    server = Questioner(FORM)
    async with Installation("handshake").process() as here:
        here.serves(server.body)
        await here.rounds.request(outgoing(CALLER))
    assert server.cancelled == 1


async def test_calls_cannot_be_held_before_the_process_runs() -> None:
    installation = Installation("handshake")
    async with installation.process() as here:
        pass
    with pytest.raises(ToolcribBug):
        await here.rounds.request(outgoing(CALLER))


async def test_what_this_caller_cannot_be_asked_is_refused_in_mid_call() -> None:
    server = Questioner(VISIT)
    async with Installation("handshake").process() as here:
        here.serves(server.body)
        with pytest.raises(CapabilityMissing) as missing:
            await here.rounds.request(outgoing(by_rounds({"elicitation": {}})))
        assert missing.value.details["requiredCapabilities"] == {"elicitation": {"url": {}}}
        assert len(here.parking) == 0
    assert server.heard == []


async def test_a_retry_that_declares_less_is_asked_no_more_than_it_declares() -> None:
    server = Questioner(FORM, VISIT)
    async with Installation("handshake").process() as here:
        here.serves(server.body)
        result = await here.rounds.request(outgoing(CALLER))
        less = replace(retry(result), requester=by_rounds({"elicitation": {}}))
        with pytest.raises(CapabilityMissing):
            await here.rounds.request(less)
        assert len(here.parking) == 0


async def test_a_question_asked_while_away_is_not_shown_to_a_retry_that_declares_less() -> None:
    async def body(ask: Ask) -> Mapping[str, Any]:
        async def one(delay: float, params: Mapping[str, Any]) -> None:
            await anyio.sleep(delay)
            await ask("elicitation/create", dict(params))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one, 0.0, FORM)
            tasks.start_soon(one, 5.0, VISIT)
        return DONE

    async with Installation("handshake").process() as here:
        here.serves(body)
        result = await here.rounds.request(outgoing(CALLER))
        await anyio.sleep(6)
        less = replace(retry(result), requester=by_rounds({"elicitation": {}}))
        with pytest.raises(CapabilityMissing):
            await here.rounds.request(less)
        await anyio.sleep(1)
        assert len(here.parking) == 0


async def test_a_caller_that_never_returns_costs_one_slot_until_the_state_expires() -> None:
    server = Questioner(FORM)
    async with Installation("handshake").process(limits=Limits(state_seconds=60.0)) as here:
        here.serves(server.body)
        result = await here.rounds.request(outgoing(CALLER))
        await anyio.sleep(59)
        assert len(here.parking) == 1
        assert server.cancelled == 0
        await anyio.sleep(2)
        assert len(here.parking) == 0
        assert server.cancelled == 1
        with pytest.raises(RetryRefused):
            await here.rounds.request(retry(result))
    assert server.runs == 1


async def test_a_call_that_goes_on_does_not_expire_while_somebody_waits_for_it() -> None:
    async def body(ask: Ask) -> Mapping[str, Any]:
        await ask("elicitation/create", dict(FORM))
        await anyio.sleep(500)
        return DONE

    async with Installation("handshake").process(limits=Limits(state_seconds=60.0)) as here:
        here.serves(body)
        result = await here.rounds.request(outgoing(CALLER))
        assert await here.rounds.request(retry(result)) == DONE
