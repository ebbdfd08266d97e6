"""What a hostile server asks, and a hostile host answers, stops nobody but themselves."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolcrib.calls.rounds.outgoing import Outgoing
from toolcrib.calls.rounds.own_questions import OWN_KEY, InputNeeded, OwnQuestion
from toolcrib.errors import RetryRefused
from toolcrib.protocol.elicitation import answer_fault, harmless, stamped
from toolcrib.protocol.forms import MOST_CHOICES, parse_form
from toolcrib.protocol.mrtr import Question
from toolcrib.testing.rounds_rig import (
    DONE,
    FORM,
    MAIN,
    Installation,
    Process,
    by_rounds,
    outgoing,
    tool_call,
)

FIELD: Mapping[str, Any] = {"type": "string"}


def form_of(**fields: Mapping[str, Any]) -> Question:
    schema = {"type": "object", "properties": fields}
    return Question("elicitation/create", {"message": "m", "requestedSchema": schema})


@pytest.mark.parametrize("opened", ["[", "[_", "[ [", "【", "[\u2005"])
@pytest.mark.parametrize("count", [40, 4_000, 400_000])
def test_a_text_that_opens_stamps_without_end_is_read_in_one_pass(opened: str, count: int) -> None:
    # With two ways to read one bracket, 40 of them took longer than anybody waits.
    shown = harmless(opened * count)
    assert shown.startswith(opened[0])
    assert harmless("[....." * count).startswith("[.....")
    assert harmless(f"{opened * 900}server github] yes").endswith("github] yes")


def test_stamps_that_are_opened_often_lose_all_their_openings() -> None:
    assert harmless("a [[ _[server b] c") == "a server b] c"
    assert harmless("[....[toolcrib] x") == "toolcrib] x"
    assert harmless("[.....[toolcrib] x") == "[.....toolcrib] x"
    assert harmless("[ok] [server") == "[ok] server"


def test_of_an_endless_text_the_beginning_is_shown_and_its_length() -> None:
    shown = harmless("é\u200d" * 2_000_000)
    assert shown.endswith("… (4,000,000 characters in all)")
    assert len(shown) < 4_100
    assert harmless("\n" * 2_000_000).endswith("(2,000,000 characters in all)")


@pytest.mark.parametrize("bound", ["minLength", "maxLength"])
@pytest.mark.parametrize("size", [10**400, -(10**400)])
def test_a_bound_beyond_all_numbers_is_none(bound: str, size: int) -> None:
    question = form_of(f={**FIELD, bound: size})
    assert answer_fault(question, {"action": "accept", "content": {"f": "a"}}) is None


@pytest.mark.parametrize(
    ("kind", "bounds"),
    [
        ({"type": "number"}, ("minimum", "maximum")),
        ({"type": "array", "items": {"enum": ["a"]}}, ("minItems", "maxItems")),
    ],
)
def test_no_bound_of_any_type_makes_an_answer_fail_otherwise(
    kind: Mapping[str, Any], bounds: tuple[str, str]
) -> None:
    for bound in bounds:
        for size in (10**400, -(10**400), float("inf"), float("-inf"), float("nan")):
            question = form_of(f={**kind, bound: size})
            content = {"f": 1.5 if kind["type"] == "number" else ["a"]}
            assert answer_fault(question, {"action": "accept", "content": content}) is None


def test_more_choices_than_there_are_is_no_answer() -> None:
    choices = [f"choice {n}" for n in range(MOST_CHOICES)]
    question = form_of(f={"type": "array", "items": {"type": "string", "enum": choices}})
    many = {"action": "accept", "content": {"f": [choices[-1]] * 250_000}}
    assert "at most" in (answer_fault(question, many) or "")
    assert answer_fault(question, {"action": "accept", "content": {"f": choices}}) is None


def test_a_form_whose_required_names_are_many_is_read_once() -> None:
    fields = {f"f{n}": FIELD for n in range(64)}
    required = [f"other{n}" for n in range(300_000)] + ["f1", "f1"]
    form = parse_form({"type": "object", "properties": fields, "required": required})
    assert not isinstance(form, str)
    assert [item.name for item in form.fields if item.required] == ["f1"]


def test_choices_that_hold_choices_without_end_are_shown_to_nobody_and_break_nothing() -> None:
    choice: dict[str, Any] = {"const": "a", "title": "[server x] t"}
    for _ in range(5_000):
        choice = {"const": "a", "title": "[server x] t", "oneOf": [choice]}
    shown = stamped("s", form_of(f={"type": "string", "oneOf": [choice]}))
    field = shown.params["requestedSchema"]["properties"]["f"]
    assert field["oneOf"][0]["title"] == "server x] t"


async def _consented(here: Process, sent: Outgoing) -> dict[str, Any]:
    """What the first round of a call brings, to which a person of the caller said yes."""
    question = OwnQuestion("topic", "May it?")
    with pytest.raises(InputNeeded) as asking:
        await here.rounds.ask_own(tool_call(sent), question)
    yes: dict[str, Any] = {OWN_KEY: {"action": "accept", "content": {}}}
    again = outgoing(sent.requester, answered=yes, state=asking.value.result["requestState"])
    await here.rounds.ask_own(tool_call(again), question)
    return await here.rounds.request(again)


async def test_half_an_answer_does_not_make_two_calls_of_one_consent() -> None:
    both = {
        "resultType": "input_required",
        "requestState": "inner",
        "inputRequests": {
            key: {"method": "elicitation/create", "params": dict(FORM)} for key in "ab"
        },
    }
    async with Installation().process() as here:
        here.answers(both, DONE)
        caller = by_rounds()
        first = await _consented(here, outgoing(caller))
        state = first["requestState"]
        halves = [
            await here.rounds.request(outgoing(caller, answered=half, state=state))
            for half in ({}, {}, {"a": MAIN}, {"b": MAIN})
        ]
        sent = len(here.sent)
        whole = {"a": MAIN, "b": MAIN}
        with anyio.fail_after(5):
            assert (
                await here.rounds.request(
                    outgoing(caller, answered=whole, state=halves[0]["requestState"])
                )
                == DONE
            )
            for state in (first["requestState"], *(half["requestState"] for half in halves)):
                with pytest.raises(RetryRefused, match="used already"):
                    await here.rounds.request(outgoing(caller, answered=whole, state=state))
        assert len(here.sent) == sent + 1
