"""A server that asks by its result, and a caller that is asked by one: its state inside ours."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from toolcrib.calls.rounds.outgoing import Outgoing
from toolcrib.calls.rounds.own_questions import InputNeeded, OwnQuestion
from toolcrib.core.partition import Principal
from toolcrib.core.snapshot import Kind
from toolcrib.errors import (
    LimitExceeded,
    RetryRefused,
    SchemaChanged,
    StoreUnreachable,
    ToolcribError,
)
from toolcrib.protocol.elicitation import SERVER_KEY
from toolcrib.settings import Limits
from toolcrib.testing.rounds_rig import (
    DONE,
    FORM,
    MAIN,
    SERVER,
    Installation,
    Process,
    by_rounds,
    eliciting,
    outgoing,
    tool_call,
)

ALICE = Principal("https://issuer.test", "alice")
BOB = Principal("https://issuer.test", "bob")
ODD = "eyJ4IjoiXHUwMGU5In0=\u0000 \n"
STATES = st.text(st.characters(codec=None, exclude_categories=()))

pytestmark = pytest.mark.virtual_time


def state_of(result: Mapping[str, Any]) -> str:
    assert result["resultType"] == "input_required"
    return result["requestState"]


async def test_a_question_goes_on_with_the_server_named_and_its_state_sealed() -> None:
    async with Installation().process() as here:
        here.answers(eliciting(state="inner secret"))
        result = await here.rounds.request(outgoing(by_rounds()))
        assert result.keys() == {"resultType", "inputRequests", "requestState"}
        asked = result["inputRequests"]["q"]
        assert asked["method"] == "elicitation/create"
        assert asked["params"]["message"] == f"[server {SERVER}] Which branch?"
        assert asked["params"]["requestedSchema"] == FORM["requestedSchema"]
        assert asked["params"]["_meta"] == {SERVER_KEY: SERVER}
        assert "inner" not in state_of(result)


async def test_a_retry_brings_the_servers_own_state_back_byte_for_byte() -> None:
    async with Installation().process() as here:
        here.answers(eliciting(state=ODD), DONE)
        first = await here.rounds.request(outgoing(by_rounds()))
        again = outgoing(by_rounds(), answered={"q": MAIN}, state=state_of(first))
        assert await here.rounds.request(again) == DONE
        assert here.sent == [
            {"name": "release", "arguments": {"tag": "v1"}},
            {
                "name": "release",
                "arguments": {"tag": "v1"},
                "inputResponses": {"q": MAIN},
                "requestState": ODD,
            },
        ]


async def test_a_state_that_was_absent_stays_absent() -> None:
    async with Installation().process() as here:
        here.answers(eliciting(), DONE)
        first = await here.rounds.request(outgoing(by_rounds()))
        again = outgoing(by_rounds(), answered={"q": MAIN}, state=state_of(first))
        assert await here.rounds.request(again) == DONE
        assert "requestState" not in here.sent[1]


async def test_a_server_that_only_wants_to_be_called_again_is_and_gets_no_answers() -> None:
    async with Installation().process() as here:
        here.answers({"resultType": "input_required", "requestState": ""}, DONE)
        first = await here.rounds.request(outgoing(by_rounds()))
        assert "inputRequests" not in first
        again = outgoing(by_rounds(), answered={"x": MAIN}, state=state_of(first))
        assert await here.rounds.request(again) == DONE
        assert here.sent[1]["requestState"] == ""
        assert "inputResponses" not in here.sent[1]


@given(STATES, st.text(min_size=1), st.dictionaries(st.text(), st.integers() | st.text()))
def test_any_state_key_and_argument_survives_the_round(
    state: str, key: str, arguments: dict[str, Any]
) -> None:
    async def example() -> None:
        async with Installation().process() as here:
            here.answers(eliciting(key=key, state=state), DONE)
            first = await here.rounds.request(outgoing(by_rounds(), arguments=arguments))
            again = outgoing(
                by_rounds(), arguments=arguments, answered={key: MAIN}, state=state_of(first)
            )
            assert await here.rounds.request(again) == DONE
            assert here.sent[1]["requestState"] == state
            assert here.sent[1]["inputResponses"] == {key: MAIN}

    # Each example has a loop of its own.
    trio.run(example, clock=MockClock(autojump_threshold=0))


async def test_arguments_that_are_spelled_otherwise_are_the_same() -> None:
    async with Installation().process() as here:
        here.answers(eliciting(), DONE)
        first = await here.rounds.request(outgoing(by_rounds(), arguments={"a": 1, "b": 2.0}))
        again = outgoing(
            by_rounds(), arguments={"b": 2, "a": 1.0}, answered={"q": MAIN}, state=state_of(first)
        )
        assert await here.rounds.request(again) == DONE


OTHERS: dict[str, dict[str, Any]] = {
    "another principal": {"requester": by_rounds(principal=BOB, handle="h")},
    "another handle": {"requester": by_rounds(principal=ALICE, handle="other")},
    "another tool": {"key": "delete"},
    "another method": {"method": "prompts/get"},
    "other arguments": {"arguments": {"tag": "v2"}},
    "no arguments": {"arguments": {}},
}


@pytest.mark.parametrize("difference", OTHERS.values(), ids=OTHERS)
async def test_a_state_is_good_for_its_own_request_alone(difference: dict[str, Any]) -> None:
    async with Installation().process() as here:
        here.answers(eliciting(state="s"), DONE)
        mine = by_rounds(principal=ALICE, handle="h")
        first = await here.rounds.request(outgoing(mine))
        again = outgoing(mine, answered={"q": MAIN}, state=state_of(first))
        other = replace(again, **difference)
        with pytest.raises(RetryRefused, match="not good for this request"):
            await here.rounds.request(other)
        assert len(here.sent) == 1
        assert await here.rounds.request(again) == DONE


async def test_a_state_of_another_server_is_refused() -> None:
    async with Installation().process() as here:
        here.access.put("gitlab", Kind.TOOLS, ())
        here.answers(eliciting(state="s"), DONE)
        first = await here.rounds.request(outgoing(by_rounds()))
        again = outgoing(by_rounds(), answered={"q": MAIN}, state=state_of(first), server="gitlab")
        with pytest.raises(RetryRefused):
            await here.rounds.request(again)
        assert len(here.sent) == 1


async def test_a_tampered_state_is_refused_wherever_it_was_touched() -> None:
    async with Installation().process() as here:
        here.answers(eliciting(state="s"), DONE)
        state = state_of(await here.rounds.request(outgoing(by_rounds())))
        touched = [f"{state}-TAMPERED", state[:-1], f"x{state}", "", "s", "\u0000", state.lower()]
        for at in range(0, len(state) - 1, 7):
            swapped = "A" if state[at] != "A" else "B"
            touched.append(state[:at] + swapped + state[at + 1 :])
        for text in touched:
            again = outgoing(by_rounds(), answered={"q": MAIN}, state=text)
            with pytest.raises(RetryRefused):
                await here.rounds.request(again)
        assert len(here.sent) == 1


async def test_a_state_of_another_installation_is_refused() -> None:
    async with (
        Installation().process() as here,
        Installation(key=b"o" * 32).process() as there,
    ):
        there.answers(eliciting(state="s"))
        state = state_of(await there.rounds.request(outgoing(by_rounds())))
        here.answers(DONE)
        with pytest.raises(RetryRefused):
            await here.rounds.request(outgoing(by_rounds(), answered={"q": MAIN}, state=state))
        assert here.sent == []


async def test_a_state_expires() -> None:
    async with Installation().process(limits=Limits(state_seconds=60.0)) as here:
        here.answers(eliciting(state="s"), DONE)
        state = state_of(await here.rounds.request(outgoing(by_rounds())))
        again = outgoing(by_rounds(), answered={"q": MAIN}, state=state)
        await anyio.sleep(61)
        with pytest.raises(RetryRefused, match="state_seconds"):
            await here.rounds.request(again)
        assert len(here.sent) == 1


async def test_processes_that_share_keys_continue_each_others_rounds() -> None:
    shared = Installation()
    async with shared.process("p1") as one, shared.process("p2") as two:
        one.answers(eliciting(state="first"))
        two.answers(eliciting(key="r", state="second"))
        state = state_of(await one.rounds.request(outgoing(by_rounds())))
        again = outgoing(by_rounds(), answered={"q": MAIN}, state=state)
        state = state_of(await two.rounds.request(again))
        assert two.sent[0]["requestState"] == "first"
        one.answers(DONE)
        last = outgoing(by_rounds(), answered={"r": MAIN}, state=state)
        assert await one.rounds.request(last) == DONE
        assert one.sent[1]["requestState"] == "second"
        assert one.sent[1]["inputResponses"] == {"r": MAIN}


async def test_a_state_is_good_once_in_every_process_of_the_installation() -> None:
    shared = Installation()
    async with shared.process("p1") as one, shared.process("p2") as two:
        for here in (one, two):
            here.answers(eliciting(state="s"), DONE)
        state = state_of(await one.rounds.request(outgoing(by_rounds())))
        again = outgoing(by_rounds(), answered={"q": MAIN}, state=state)
        state_of(await two.rounds.request(again))
        for here in (one, two):
            with pytest.raises(RetryRefused, match="used already"):
                await here.rounds.request(again)
        assert (len(one.sent), len(two.sent)) == (1, 1)


@pytest.mark.parametrize("consent", [False, True])
async def test_without_a_store_rounds_go_on_but_for_those_that_a_person_agreed_to(
    monkeypatch: pytest.MonkeyPatch, *, consent: bool
) -> None:
    shared = Installation()

    async def fail(*_: object, **__: object) -> bool:
        raise StoreUnreachable("the disk is gone")

    async with shared.process() as here:
        here.answers(eliciting(state="s"), DONE)
        first = outgoing(by_rounds())
        if consent:
            first = await agreed(here, first)
        state = state_of(await here.rounds.request(first))
        monkeypatch.setattr(shared.entries, "add", fail)
        again = outgoing(by_rounds(), answered={"q": MAIN}, state=state)
        if consent:
            with pytest.raises(StoreUnreachable):
                await here.rounds.request(again)
        else:
            assert await here.rounds.request(again) == DONE


async def agreed(here: Process, first: Outgoing) -> Outgoing:
    """The request, as it comes back with a person's yes to a question of ours."""
    question = OwnQuestion("topic", "May it?", FORM["requestedSchema"])
    with pytest.raises(InputNeeded) as asking:
        await here.rounds.ask_own(tool_call(first), question)
    result = asking.value.result
    answers = dict.fromkeys(result["inputRequests"], MAIN)
    again = outgoing(by_rounds(), answered=answers, state=state_of(result))
    await here.rounds.ask_own(tool_call(again), question)
    return again


async def test_answers_that_nobody_asked_for_are_left_out() -> None:
    async with Installation().process() as here:
        here.answers(eliciting(state="s"), DONE)
        state = state_of(await here.rounds.request(outgoing(by_rounds())))
        answered = {"q": MAIN, "unknown": {"action": "accept", "content": {"x": 1}}}
        await here.rounds.request(outgoing(by_rounds(), answered=answered, state=state))
        assert here.sent[1]["inputResponses"] == {"q": MAIN}


async def test_what_was_left_out_is_asked_again_and_what_was_given_is_kept() -> None:
    two = eliciting(state="s")
    two["inputRequests"]["r"] = {"method": "elicitation/create", "params": FORM}
    async with Installation().process() as here:
        here.answers(two, DONE)
        state = state_of(await here.rounds.request(outgoing(by_rounds())))
        partly = outgoing(by_rounds(), answered={"q": MAIN}, state=state)
        result = await here.rounds.request(partly)
        assert result["inputRequests"].keys() == {"r"}
        assert len(here.sent) == 1
        none = outgoing(by_rounds(), answered={"z": MAIN}, state=state_of(result))
        result = await here.rounds.request(none)
        assert result["inputRequests"].keys() == {"r"}
        rest = outgoing(by_rounds(), answered={"r": MAIN}, state=state_of(result))
        assert await here.rounds.request(rest) == DONE
        assert here.sent[1]["inputResponses"] == {"q": MAIN, "r": MAIN}
        assert here.sent[1]["requestState"] == "s"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (12345, "is a number"),
        (None, "is null"),
        ({}, "action is"),
        ({"action": "accept"}, "content lacks `branch`"),
        ({"action": "accept", "content": {"branch": 1}}, "is a number, not a string"),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused_and_may_be_corrected(
    answer: Any, reason: str
) -> None:
    async with Installation().process() as here:
        here.answers(eliciting(state="s"), DONE)
        state = state_of(await here.rounds.request(outgoing(by_rounds())))
        with pytest.raises(RetryRefused, match=reason):
            await here.rounds.request(outgoing(by_rounds(), answered={"q": answer}, state=state))
        assert len(here.sent) == 1
        again = outgoing(by_rounds(), answered={"q": MAIN}, state=state)
        assert await here.rounds.request(again) == DONE


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_no_is_passed_on_as_such(action: str) -> None:
    async with Installation().process() as here:
        here.answers(eliciting(state="s"), DONE)
        state = state_of(await here.rounds.request(outgoing(by_rounds())))
        said = {"action": action, "content": {"branch": "x"}}
        await here.rounds.request(outgoing(by_rounds(), answered={"q": said}, state=state))
        assert here.sent[1]["inputResponses"] == {"q": {"action": action}}


async def test_answers_without_a_state_reach_a_server_that_never_had_one() -> None:
    async with Installation().process() as here:
        here.answers(DONE)
        assert await here.rounds.request(outgoing(by_rounds(), answered={"q": MAIN})) == DONE
        assert here.sent[0]["inputResponses"] == {"q": MAIN}
        assert "requestState" not in here.sent[0]
        with pytest.raises(RetryRefused, match="is a number"):
            await here.rounds.request(outgoing(by_rounds(), answered={"q": 7}))


async def test_a_server_cannot_ask_more_often_than_rounds_allows() -> None:
    async with Installation().process(limits=Limits(rounds=3)) as here:
        here.answers(eliciting(state="s"))
        result = await here.rounds.request(outgoing(by_rounds()))
        for _ in range(2):
            again = outgoing(by_rounds(), answered={"q": MAIN}, state=state_of(result))
            result = await here.rounds.request(again)
        again = outgoing(by_rounds(), answered={"q": MAIN}, state=state_of(result))
        with pytest.raises(LimitExceeded, match="rounds allows"):
            await here.rounds.request(again)
        assert len(here.sent) == 4


async def test_a_contract_that_changed_meanwhile_is_not_sent_to() -> None:
    async with Installation().process() as here:
        here.answers(eliciting(state="s"), DONE)
        state = state_of(await here.rounds.request(outgoing(by_rounds())))
        again = outgoing(by_rounds(), answered={"q": MAIN}, state=state, contract="contract-2")
        with pytest.raises(SchemaChanged) as changed:
            await here.rounds.request(again)
        assert changed.value.details["inputSchema"] == {"type": "object"}
        assert len(here.sent) == 1


@pytest.mark.parametrize("method", ["prompts/get", "resources/read"])
async def test_prompts_and_resources_take_rounds_too(method: str) -> None:
    async with Installation().process() as here:
        here.answers(eliciting(state="s"), DONE)
        sent = outgoing(by_rounds(), method=method, arguments={}, contract="", params={"uri": "u"})
        state = state_of(await here.rounds.request(sent))
        again = outgoing(
            by_rounds(),
            method=method,
            arguments={},
            contract="",
            params={"uri": "u"},
            answered={"q": MAIN},
            state=state,
        )
        assert await here.rounds.request(again) == DONE
        assert here.sent[1] == {"uri": "u", "inputResponses": {"q": MAIN}, "requestState": "s"}


async def test_a_state_larger_than_arguments_may_be_is_not_sealed() -> None:
    async with Installation().process(limits=Limits(argument_bytes=2_000)) as here:
        here.answers(eliciting(state="s" * 2_000))
        with pytest.raises(LimitExceeded, match="argument_bytes"):
            await here.rounds.request(outgoing(by_rounds()))


async def test_arguments_that_are_no_json_are_refused_before_anything_is_sealed() -> None:
    async with Installation().process() as here:
        here.answers(eliciting(state="s"))
        with pytest.raises(ToolcribError, match="no JSON"):
            await here.rounds.request(outgoing(by_rounds(), arguments={"x": float("nan")}))
