"""A server that asks in mid-call, and a caller that is asked by results: the call stays open."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import pytest

from toolcrib.calls.call import Requester
from toolcrib.calls.rounds.outgoing import Outgoing
from toolcrib.core.partition import Principal
from toolcrib.errors import (
    CapabilityMissing,
    LimitExceeded,
    NotAllowed,
    RetryRefused,
    UpstreamRefused,
    UpstreamUnreachable,
)
from toolcrib.ports import Ask, RequestContext
from toolcrib.settings import Limits
from toolcrib.testing.rounds_rig import (
    CALLER,
    DONE,
    FORM,
    MAIN,
    SERVER,
    VISIT,
    Installation,
    Questioner,
    by_rounds,
    eliciting,
    outgoing,
    refused,
    retry,
    tool_call,
)

pytestmark = pytest.mark.virtual_time

ACCEPT: Mapping[str, Any] = {"action": "accept"}


async def test_the_call_stays_open_and_goes_on_with_the_answer() -> None:
    server = Questioner(FORM)
    async with Installation("handshake").process() as here:
        here.serves(server.body)
        result = await here.rounds.request(outgoing(CALLER))
        (asked,) = result["inputRequests"].values()
        assert asked["params"]["message"] == f"[server {SERVER}] Which branch?"
        assert len(here.parking) == 1
        assert await here.rounds.request(retry(result)) == DONE
        assert len(here.parking) == 0
    assert server.heard == [MAIN]
    assert server.runs == 1
    assert len(here.sent) == 1


async def test_a_call_without_questions_is_answered_at_once() -> None:
    server = Questioner()
    async with Installation("handshake").process() as here:
        here.serves(server.body)
        assert await here.rounds.request(outgoing(CALLER)) == DONE
        assert len(here.parking) == 0


async def test_questions_after_each_other_are_rounds_after_each_other() -> None:
    server = Questioner(FORM, VISIT, FORM)
    async with Installation("handshake").process() as here:
        here.serves(server.body)
        result = await here.rounds.request(outgoing(CALLER))
        result = await here.rounds.request(retry(result))
        (page,) = result["inputRequests"].values()
        assert page["params"]["url"] == VISIT["url"]
        result = await here.rounds.request(retry(result, ACCEPT))
        assert await here.rounds.request(retry(result, {"action": "decline"})) == DONE
    assert server.heard == [MAIN, ACCEPT, {"action": "decline"}]
    assert server.runs == 1


async def test_questions_that_arrive_together_are_asked_together() -> None:
    heard: list[Mapping[str, Any]] = []

    async def body(ask: Ask) -> Mapping[str, Any]:
        async def one(delay: float) -> None:
            await anyio.sleep(delay)
            heard.append(await ask("elicitation/create", dict(FORM)))

        async with anyio.create_task_group() as tasks:
            for delay in (0.0, 0.005, 0.01):
                tasks.start_soon(one, delay)
        return DONE

    async with Installation("handshake").process() as here:
        here.serves(body)
        result = await here.rounds.request(outgoing(CALLER))
        assert len(result["inputRequests"]) == 3
        assert await here.rounds.request(retry(result)) == DONE
    assert heard == [MAIN, MAIN, MAIN]


async def test_a_question_that_comes_while_the_caller_is_away_is_in_the_next_result() -> None:
    heard: list[str] = []

    async def body(ask: Ask) -> Mapping[str, Any]:
        async def one(delay: float, name: str) -> None:
            await anyio.sleep(delay)
            await ask("elicitation/create", {**FORM, "message": name})
            heard.append(name)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one, 0.0, "first")
            tasks.start_soon(one, 5.0, "second")
        return DONE

    async with Installation("handshake").process() as here:
        here.serves(body)
        result = await here.rounds.request(outgoing(CALLER))
        assert len(result["inputRequests"]) == 1
        await anyio.sleep(10)
        result = await here.rounds.request(retry(result))
        (asked,) = result["inputRequests"].values()
        assert asked["params"]["message"].endswith("second")
        assert await here.rounds.request(retry(result)) == DONE
    assert heard == ["first", "second"]


async def test_what_was_left_out_is_asked_again_without_disturbing_the_call() -> None:
    server = Questioner(FORM)
    async with Installation("handshake").process(limits=Limits(state_seconds=60.0)) as here:
        here.serves(server.body)
        result = await here.rounds.request(outgoing(CALLER))
        await anyio.sleep(40)
        unanswered = outgoing(CALLER, answered={"x": MAIN}, state=result["requestState"])
        result = await here.rounds.request(unanswered)
        assert len(result["inputRequests"]) == 1
        await anyio.sleep(40)
        assert await here.rounds.request(retry(result)) == DONE
    assert server.heard == [MAIN]


async def test_an_answer_that_does_not_fit_is_refused_and_may_be_corrected() -> None:
    server = Questioner(FORM)
    async with Installation("handshake").process() as here:
        here.serves(server.body)
        result = await here.rounds.request(outgoing(CALLER))
        with pytest.raises(RetryRefused, match="action is"):
            await here.rounds.request(retry(result, {"action": "maybe"}))
        assert await here.rounds.request(retry(result)) == DONE


async def test_a_result_that_comes_while_the_caller_is_away_waits_for_it() -> None:
    async def body(ask: Ask) -> Mapping[str, Any]:
        with anyio.move_on_after(5):
            await ask("elicitation/create", dict(FORM))
        return DONE

    async with Installation("handshake").process() as here:
        here.serves(body)
        result = await here.rounds.request(outgoing(CALLER))
        await anyio.sleep(30)
        assert await here.rounds.request(retry(result)) == DONE
        assert len(here.sent) == 1


async def test_a_question_that_the_server_takes_back_leaves_the_call_open() -> None:
    async def body(ask: Ask) -> Mapping[str, Any]:
        with anyio.move_on_after(0.01):
            await ask("elicitation/create", dict(FORM))
        await anyio.sleep(1)
        return DONE

    async with Installation("handshake").process() as here:
        here.serves(body)
        assert await here.rounds.request(outgoing(CALLER)) == DONE


async def test_a_replayed_answer_executes_nothing_twice() -> None:
    server = Questioner(FORM)
    async with Installation("handshake").process() as here:
        here.serves(server.body)
        result = await here.rounds.request(outgoing(CALLER))
        assert await here.rounds.request(retry(result)) == DONE
        with pytest.raises(RetryRefused, match="not open here any more"):
            await here.rounds.request(retry(result))
    assert server.runs == 1
    assert server.heard == [MAIN]


async def test_two_requests_cannot_continue_one_call_together() -> None:
    release = anyio.Event()

    async def body(ask: Ask) -> Mapping[str, Any]:
        await ask("elicitation/create", dict(FORM))
        await release.wait()
        return DONE

    async with Installation("handshake").process() as here:
        here.serves(body)
        result = await here.rounds.request(outgoing(CALLER))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(here.rounds.request, retry(result))
            await anyio.sleep(1)
            with pytest.raises(RetryRefused, match="already being continued"):
                await here.rounds.request(retry(result))
            release.set()


async def test_another_process_says_that_the_call_is_not_open_there_and_sends_nothing() -> None:
    shared, server = Installation("handshake"), Questioner(FORM)
    async with shared.process("p1") as one, shared.process("p2") as two:
        one.serves(server.body)
        two.answers(DONE)
        result = await one.rounds.request(outgoing(CALLER))
        with pytest.raises(RetryRefused, match="another process") as gone:
            await two.rounds.request(retry(result))
        assert "anew" in (gone.value.remedy or "")
        assert two.sent == []
        assert await one.rounds.request(retry(result)) == DONE
    assert server.runs == 1


OTHERS = {
    "principal": {"requester": by_rounds(principal=Principal("https://i.test", "bob"))},
    "handle": {"requester": by_rounds(handle="other")},
    "arguments": {"arguments": {"tag": "v2"}},
    "tool": {"key": "delete"},
}


@pytest.mark.parametrize("difference", OTHERS.values(), ids=OTHERS)
async def test_an_open_call_belongs_to_its_caller_and_its_arguments(
    difference: dict[str, Any],
) -> None:
    server = Questioner(FORM)
    async with Installation("handshake").process() as here:
        here.serves(server.body)
        result = await here.rounds.request(outgoing(CALLER))
        with pytest.raises(RetryRefused):
            await here.rounds.request(replace(retry(result), **difference))
        assert server.heard == []
        assert await here.rounds.request(retry(result)) == DONE


async def test_a_server_may_ask_only_so_often() -> None:
    server = Questioner(*[FORM] * 5)
    async with Installation("handshake").process(limits=Limits(rounds=2)) as here:
        here.serves(server.body)
        result = await here.rounds.request(outgoing(CALLER))
        result = await here.rounds.request(retry(result))
        with pytest.raises(LimitExceeded, match="rounds allows"):
            await here.rounds.request(retry(result))
    assert len(server.heard) == 2


async def test_a_changed_contract_does_not_stop_a_call_that_is_under_way() -> None:
    server = Questioner(FORM)
    async with Installation("handshake").process() as here:
        here.serves(server.body)
        result = await here.rounds.request(outgoing(CALLER))
        assert here.rounds.continues(tool_call(retry(result)))
        assert await here.rounds.request(retry(result, contract="contract-2")) == DONE


async def test_only_a_retry_of_an_open_call_continues_one() -> None:
    async with Installation("handshake").process() as here:
        assert not here.rounds.continues(tool_call(outgoing(CALLER)))
        forged = outgoing(CALLER, answered={"q": MAIN}, state="x")
        assert not here.rounds.continues(tool_call(forged))
    async with Installation().process() as there:
        there.answers(eliciting())
        result = await there.rounds.request(outgoing(CALLER))
        assert not there.rounds.continues(tool_call(retry(result)))


async def test_progress_and_messages_go_to_the_request_that_waits_right_now() -> None:
    progressed: list[tuple[str, float]] = []
    heard: list[tuple[str, str]] = []

    def leg(name: str, sent: Outgoing) -> Outgoing:
        async def progress(value: float, _: float | None, __: str | None) -> None:
            progressed.append((name, value))

        async def hear(method: str, _: Mapping[str, Any]) -> None:
            heard.append((name, method))

        return replace(sent, progress=progress, context=RequestContext(heard=hear))

    async with Installation("handshake").process() as here:

        async def answer(request: Any) -> dict[str, Any]:
            await request.progress(1.0, None, None)
            await request.context.heard("notifications/message", {})
            with anyio.move_on_after(5):
                await request.context.ask("elicitation/create", dict(FORM))
            await request.progress(2.0, None, None)
            await anyio.sleep(5)
            await request.progress(3.0, None, None)
            await request.context.heard("notifications/message", {})
            return dict(DONE)

        here.access.answer = answer
        result = await here.rounds.request(leg("one", outgoing(CALLER)))
        await anyio.sleep(6)
        assert await here.rounds.request(leg("two", retry(result))) == DONE
    assert progressed == [("one", 1.0), ("two", 3.0)]
    assert heard == [("one", "notifications/message"), ("two", "notifications/message")]


async def test_a_server_whose_era_is_not_known_yet_may_be_of_either() -> None:
    for reply in (eliciting(state="s"), None):
        installation = Installation("handshake")
        async with installation.process() as here:
            known = here.access.status
            here.access.status = lambda server, known=known: replace(known(server), facts=None)
            if reply is None:
                here.serves(Questioner(FORM).body)
            else:
                here.answers(reply, DONE)
            result = await here.rounds.request(outgoing(CALLER))
            assert await here.rounds.request(retry(result)) == DONE


async def test_a_page_that_must_be_visited_is_asked_for_by_a_round() -> None:
    visit = {**VISIT, "elicitationId": "e1"}
    async with Installation("handshake").process() as here:
        here.answers(refused(-32042, {"elicitations": [visit]}), DONE)
        result = await here.rounds.request(outgoing(CALLER))
        (asked,) = result["inputRequests"].values()
        assert asked["params"]["url"] == VISIT["url"]
        assert "elicitationId" not in asked["params"]
        assert len(here.parking) == 0
        assert await here.rounds.request(retry(result, ACCEPT)) == DONE
        assert here.sent[0] == here.sent[1]


async def test_a_person_who_will_not_visit_a_page_ends_the_call() -> None:
    async with Installation("handshake").process() as here:
        here.answers(refused(-32042, {"elicitations": [dict(VISIT)]}), DONE)
        result = await here.rounds.request(outgoing(CALLER))
        with pytest.raises(NotAllowed, match="did not agree"):
            await here.rounds.request(retry(result, {"action": "decline"}))
        assert len(here.sent) == 1


async def test_a_modern_server_that_asks_in_mid_call_after_all_is_refused() -> None:
    async with Installation().process() as here:
        here.serves(Questioner(FORM).body)
        with pytest.raises(UpstreamUnreachable, match="another protocol revision"):
            await here.rounds.request(outgoing(CALLER))


async def test_a_caller_without_any_capability_is_not_parked_and_told_what_it_lacks() -> None:
    async with Installation("handshake").process() as here:
        here.serves(Questioner(FORM).body)
        with pytest.raises(CapabilityMissing):
            await here.rounds.request(outgoing(Requester(takes_rounds=True)))


async def test_a_refusal_of_the_server_comes_out_as_it_is() -> None:
    error = UpstreamRefused("no", rpc_code=-32603)
    async with Installation("handshake").process() as here:
        here.answers(error)
        with pytest.raises(UpstreamRefused) as raised:
            await here.rounds.request(outgoing(CALLER))
        assert raised.value is error
