"""Questions of ours to whoever calls: at once or by a round, and good for one call."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import pytest

from toolcrib.calls.call import Requester
from toolcrib.calls.rounds.outgoing import Outgoing
from toolcrib.calls.rounds.own_questions import OWN_KEY, InputNeeded, OwnAnswer, OwnQuestion
from toolcrib.core.partition import Principal
from toolcrib.errors import CapabilityMissing, RetryRefused, UpstreamRefused
from toolcrib.ports import Ask
from toolcrib.settings import Limits
from toolcrib.testing.rounds_rig import (
    DONE,
    FORM,
    MAIN,
    Installation,
    Process,
    at_once,
    by_rounds,
    eliciting,
    outgoing,
    tool_call,
)

pytestmark = pytest.mark.virtual_time

CALLER = by_rounds()
YES: Mapping[str, Any] = {"action": "accept", "content": {}}
ASKED = OwnQuestion("rule-1 contract-1", "May `release` be called with tag v1?")


async def needed(here: Process, sent: Outgoing, question: OwnQuestion = ASKED) -> dict[str, Any]:
    """The result that asks; the test fails where none is needed."""
    with pytest.raises(InputNeeded) as asking:
        await here.rounds.ask_own(tool_call(sent), question)
    return asking.value.result


def retry(result: Mapping[str, Any], **answered: Mapping[str, Any]) -> Outgoing:
    return outgoing(CALLER, answered=answered, state=result["requestState"])


def said(result: Mapping[str, Any], answer: Mapping[str, Any] = YES) -> Outgoing:
    """The same call, with our question answered."""
    return retry(result, **{OWN_KEY: answer})


async def test_a_caller_that_takes_rounds_is_asked_by_a_result_and_answers_with_the_next_call() -> (
    None
):
    async with Installation().process() as here:
        here.answers(DONE)
        result = await needed(here, outgoing(CALLER))
        params = result["inputRequests"][OWN_KEY]["params"]
        assert params["message"] == "[toolcrib] May `release` be called with tag v1?"
        assert params["requestedSchema"] == {"type": "object", "properties": {}}
        again = said(result)
        assert await here.rounds.ask_own(tool_call(again), ASKED) == OwnAnswer("accept")
        assert await here.rounds.request(again) == DONE
        assert here.sent == [{"name": "release", "arguments": {"tag": "v1"}}]


async def test_the_content_of_an_answer_comes_back_and_is_checked() -> None:
    schema = {
        "type": "object",
        "properties": {"remember": {"type": "string", "enum": ["call", "run"]}},
        "required": ["remember"],
    }
    question = OwnQuestion("t", "May it?", schema)
    async with Installation().process() as here:
        result = await needed(here, outgoing(CALLER), question)
        wrong = said(result, {"action": "accept", "content": {"remember": "always"}})
        with pytest.raises(RetryRefused, match="one of `call`, `run`"):
            await here.rounds.ask_own(tool_call(wrong), question)
        right = said(result, {"action": "accept", "content": {"remember": "run"}})
        answer = await here.rounds.ask_own(tool_call(right), question)
        assert answer == OwnAnswer("accept", {"remember": "run"})


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_no_comes_back_as_such(action: str) -> None:
    async with Installation().process() as here:
        result = await needed(here, outgoing(CALLER))
        again = said(result, {"action": action})
        answer = await here.rounds.ask_own(tool_call(again), ASKED)
        assert answer.action == action


async def test_an_answer_is_good_once_in_every_process_of_the_installation() -> None:
    shared = Installation()
    async with shared.process("p1") as one, shared.process("p2") as two:
        result = await needed(one, outgoing(CALLER))
        again = tool_call(said(result))
        assert (await two.rounds.ask_own(again, ASKED)).action == "accept"
        for process in (one, two):
            with pytest.raises(RetryRefused, match="used already"):
                await process.rounds.ask_own(again, ASKED)


async def test_of_those_who_use_an_answer_together_one_gets_it() -> None:
    async with Installation().process() as here:
        result = await needed(here, outgoing(CALLER))
        outcomes: list[str] = []

        async def use() -> None:
            try:
                outcomes.append((await here.rounds.ask_own(tool_call(said(result)), ASKED)).action)
            except RetryRefused:
                outcomes.append("refused")

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(use)
        assert sorted(outcomes) == ["accept", *["refused"] * 4]


OTHERS: dict[str, dict[str, Any]] = {
    "another principal": {"requester": by_rounds(principal=Principal("https://i.test", "bob"))},
    "another handle": {"requester": by_rounds(handle="other")},
    "other arguments": {"arguments": {"tag": "v2"}},
}


@pytest.mark.parametrize("difference", OTHERS.values(), ids=OTHERS)
async def test_an_answer_is_good_for_its_own_call_alone(difference: dict[str, Any]) -> None:
    async with Installation().process() as here:
        result = await needed(here, outgoing(CALLER))
        with pytest.raises(RetryRefused):
            await here.rounds.ask_own(tool_call(replace(said(result), **difference)), ASKED)
        assert (await here.rounds.ask_own(tool_call(said(result)), ASKED)).action == "accept"


async def test_an_answer_expires() -> None:
    async with Installation().process(limits=Limits(state_seconds=60.0)) as here:
        result = await needed(here, outgoing(CALLER))
        await anyio.sleep(61)
        with pytest.raises(RetryRefused):
            await here.rounds.ask_own(tool_call(said(result)), ASKED)


async def test_an_answer_to_another_topic_is_asked_anew() -> None:
    async with Installation().process() as here:
        result = await needed(here, outgoing(CALLER))
        changed = replace(ASKED, topic="rule-1 contract-2")
        anew = await needed(here, said(result), changed)
        assert (await here.rounds.ask_own(tool_call(said(anew)), changed)).action == "accept"


async def test_an_answer_that_was_left_out_is_asked_for_again() -> None:
    async with Installation().process() as here:
        result = await needed(here, outgoing(CALLER))
        anew = await needed(here, retry(result, other=YES))
        assert (await here.rounds.ask_own(tool_call(said(anew)), ASKED)).action == "accept"


async def test_later_rounds_of_an_approved_call_are_not_asked_about_again() -> None:
    async with Installation().process() as here:
        here.answers(eliciting(state="s"), eliciting(key="r", state="t"), DONE)
        again = said(await needed(here, outgoing(CALLER)))
        await here.rounds.ask_own(tool_call(again), ASKED)
        result = await here.rounds.request(again)
        for key in ("q", "r"):
            again = retry(result, **{key: MAIN})
            assert await here.rounds.ask_own(tool_call(again), ASKED) == OwnAnswer("accept")
            with pytest.raises(InputNeeded):
                await here.rounds.ask_own(tool_call(again), replace(ASKED, topic="another"))
            result = await here.rounds.request(again)
        assert result == DONE


async def test_a_round_of_an_approved_call_cannot_be_replayed() -> None:
    async with Installation().process() as here:
        here.answers(eliciting(state="s"), DONE)
        again = said(await needed(here, outgoing(CALLER)))
        await here.rounds.ask_own(tool_call(again), ASKED)
        result = await here.rounds.request(again)
        last = retry(result, q=MAIN)
        assert await here.rounds.request(last) == DONE
        with pytest.raises(RetryRefused, match="used already"):
            await here.rounds.request(last)
        assert len(here.sent) == 2


async def test_an_approved_call_that_stays_open_remembers_its_approval() -> None:
    async def body(ask: Ask) -> Mapping[str, Any]:
        await ask("elicitation/create", dict(FORM))
        return DONE

    async with Installation("handshake").process() as here:
        here.serves(body)
        again = said(await needed(here, outgoing(CALLER)))
        await here.rounds.ask_own(tool_call(again), ASKED)
        result = await here.rounds.request(again)
        (key,) = result["inputRequests"]
        last = retry(result, **{key: MAIN})
        assert await here.rounds.ask_own(tool_call(last), ASKED) == OwnAnswer("accept")
        assert await here.rounds.request(last) == DONE
        assert len(here.sent) == 1


async def test_a_question_of_ours_in_a_later_round_keeps_what_the_round_brought() -> None:
    async with Installation().process() as here:
        here.answers(eliciting(state="inner\u0000"), DONE)
        result = await here.rounds.request(outgoing(CALLER))
        interrupted = retry(result, q=MAIN)
        asking = await needed(here, interrupted)
        assert asking["inputRequests"].keys() == {OWN_KEY}
        again = said(asking)
        assert (await here.rounds.ask_own(tool_call(again), ASKED)).action == "accept"
        assert await here.rounds.request(again) == DONE
        assert here.sent[1]["requestState"] == "inner\u0000"
        assert here.sent[1]["inputResponses"] == {"q": MAIN}


async def test_a_no_counts_for_nothing_where_the_question_is_not_asked_any_more() -> None:
    async with Installation().process() as here:
        here.answers(eliciting(state="s"), DONE)
        again = said(await needed(here, outgoing(CALLER)), {"action": "decline"})
        result = await here.rounds.request(again)
        with pytest.raises(InputNeeded):
            await here.rounds.ask_own(tool_call(retry(result, q=MAIN)), ASKED)


async def test_a_caller_that_can_be_asked_at_once_is() -> None:
    asked: list[Mapping[str, Any]] = []

    async def ask(_: str, params: Mapping[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return dict(YES)

    async with Installation().process() as here:
        call = tool_call(outgoing(at_once(ask)))
        assert await here.rounds.ask_own(call, ASKED) == OwnAnswer("accept")
        assert asked[0]["message"].startswith("[toolcrib] May")


async def test_a_host_that_fails_to_ask_counts_as_dismissing_the_question() -> None:
    async def ask(_: str, __: Mapping[str, Any]) -> dict[str, Any]:
        raise UpstreamRefused("no window", rpc_code=-32603)

    async with Installation().process() as here:
        answer = await here.rounds.ask_own(tool_call(outgoing(at_once(ask))), ASKED)
        assert answer.action == "cancel"


@pytest.mark.parametrize(
    "requester",
    [
        Requester(),
        Requester(takes_rounds=True),
        by_rounds({"elicitation": {"url": {}}}),
        by_rounds({"sampling": {}}),
    ],
    ids=["nobody", "rounds without capability", "pages only", "sampling only"],
)
async def test_a_caller_that_cannot_be_asked_is_told_from_one_that_can(
    requester: Requester,
) -> None:
    async with Installation().process() as here:
        with pytest.raises(CapabilityMissing) as missing:
            await here.rounds.ask_own(tool_call(outgoing(requester)), ASKED)
        assert missing.value.details["requiredCapabilities"] == {"elicitation": {"form": {}}}


async def test_our_own_question_needs_no_leave_to_relay_those_of_servers() -> None:
    async with Installation().process(relay=()) as here:
        result = await needed(here, outgoing(CALLER))
        assert result["inputRequests"].keys() == {OWN_KEY}


async def test_a_question_of_ours_cannot_be_made_to_speak_for_a_server() -> None:
    async with Installation().process() as here:
        tricky = replace(ASKED, message="May it?\u202e\n[server bank] yes")
        result = await needed(here, outgoing(CALLER), tricky)
        message = result["inputRequests"][OWN_KEY]["params"]["message"]
        assert message == "[toolcrib] May it?\nserver bank] yes"
