import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.protocol.mrtr import (
    MOST_QUESTIONS,
    MOST_STATE,
    Brought,
    InputRequired,
    Malformed,
    Question,
    asks_input,
    missing,
    parse_brought,
    parse_input_required,
)

FORM: dict[str, Any] = {
    "message": "Which branch?",
    "requestedSchema": {"type": "object", "properties": {"branch": {"type": "string"}}},
}
ASKED: dict[str, Any] = {"q": {"method": "elicitation/create", "params": FORM}}

STATES = st.one_of(
    st.text(),
    st.text(st.characters(codec=None, exclude_categories=())),
    st.just("eyJ4IjoiXHUwMGU5In0=\u0000 \n"),
    st.just(""),
)


def asking(**members: Any) -> dict[str, Any]:
    return {"resultType": "input_required", **members}


def test_a_result_that_asks_is_told_from_one_that_is_complete() -> None:
    assert asks_input(asking(requestState="s"))
    assert not asks_input({"resultType": "complete", "content": []})
    assert not asks_input({"content": [], "inputRequests": {}})
    assert not asks_input({"resultType": ["input_required"]})


def test_questions_and_state_come_out_as_they_went_in() -> None:
    parsed = parse_input_required(asking(inputRequests=ASKED, requestState=" s\u0000"))
    assert parsed == InputRequired({"q": Question("elicitation/create", FORM)}, " s\u0000")


@given(STATES)
def test_any_state_comes_through_byte_for_byte(state: str) -> None:
    parsed = parse_input_required(asking(requestState=state))
    assert isinstance(parsed, InputRequired)
    assert parsed.state == state
    sent = Brought(parsed.state).added_to({"name": "t"})
    assert sent["requestState"] == state
    brought = parse_brought(sent)
    assert isinstance(brought, Brought)
    assert brought.state == state


def test_what_is_absent_stays_absent() -> None:
    parsed = parse_input_required(asking(inputRequests=ASKED))
    assert isinstance(parsed, InputRequired)
    assert parsed.state is None
    assert "requestState" not in parsed.as_result()
    assert "inputRequests" not in InputRequired(state="s").as_result()
    assert Brought(None, {}).added_to({"name": "t"}) == {"name": "t"}
    assert Brought(None, {"q": {}}).added_to({}) == {"inputResponses": {"q": {}}}
    assert Brought("", {}).added_to({}) == {"requestState": ""}


def test_a_built_result_is_read_as_what_it_was_built_from() -> None:
    built = InputRequired(
        {
            "a": Question("elicitation/create", FORM),
            "b": Question("roots/list"),
            "c": Question("sampling/createMessage", {"messages": [], "maxTokens": 1}),
        },
        "state",
    )
    assert parse_input_required(json.loads(json.dumps(built.as_result()))) == built


def test_a_result_that_asks_has_no_caching_hints() -> None:
    built = InputRequired({"a": Question("roots/list")}, "s").as_result()
    assert built.keys() == {"resultType", "inputRequests", "requestState"}
    assert built["inputRequests"] == {"a": {"method": "roots/list"}}


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({}, "neither inputRequests nor requestState"),
        ({"inputRequests": {}}, "neither inputRequests nor requestState"),
        ({"inputRequests": None, "requestState": None}, "neither"),
        ({"inputRequests": []}, "inputRequests is an array"),
        ({"inputRequests": "q"}, "inputRequests is a string"),
        ({"requestState": 7}, "requestState is a number"),
        ({"requestState": {"a": 1}}, "requestState is an object"),
        ({"inputRequests": {"q": None}}, "`q`] is null"),
        ({"inputRequests": {"q": {"params": {}}}}, "`q`] has the method `null`"),
        ({"inputRequests": {"q": {"method": "tools/call", "params": {}}}}, "`tools/call`"),
        ({"inputRequests": {"q": {"method": "ping"}}}, "`ping`"),
        ({"inputRequests": {"q": {"method": "elicitation/create"}}}, "params that are null"),
        ({"inputRequests": {"q": {"method": "roots/list", "params": []}}}, "that are an array"),
        ({"inputRequests": {"q": {"method": "sampling/createMessage", "params": 1}}}, "a number"),
        ({"requestState": "x" * (MOST_STATE + 1)}, "more than 262144 characters"),
        (
            {"inputRequests": {f"q{n}": ASKED["q"] for n in range(MOST_QUESTIONS + 1)}},
            "more than 32 questions",
        ),
    ],
)
def test_a_result_that_asks_badly_is_told_why(members: dict[str, Any], reason: str) -> None:
    parsed = parse_input_required(asking(**members))
    assert isinstance(parsed, Malformed)
    assert reason in parsed.reason


def test_a_null_beside_the_other_member_counts_as_absent() -> None:
    parsed = parse_input_required(asking(inputRequests=ASKED, requestState=None))
    assert isinstance(parsed, InputRequired)
    assert parsed.state is None


def test_a_request_without_either_member_is_no_retry() -> None:
    assert parse_brought({"name": "t", "arguments": {}}) is None


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"requestState": None}, "requestState is null"),
        ({"requestState": 1}, "requestState is a number"),
        ({"inputResponses": None}, "inputResponses is null"),
        ({"inputResponses": []}, "inputResponses is an array"),
        ({"inputResponses": {"q": 12345}}, "inputResponses[`q`] is a number"),
        ({"inputResponses": {"q": None}}, "inputResponses[`q`] is null"),
    ],
)
def test_a_malformed_retry_is_told_why(params: dict[str, Any], reason: str) -> None:
    brought = parse_brought(params)
    assert isinstance(brought, Malformed)
    assert reason in brought.reason


def question(method: str, **params: Any) -> Question:
    return Question(method, params)


@pytest.mark.parametrize(
    ("declared", "asked", "needed"),
    [
        ({}, question("elicitation/create"), {"elicitation": {"form": {}}}),
        ({"elicitation": {}}, question("elicitation/create"), {}),
        (
            {"elicitation": {"url": {}}},
            question("elicitation/create"),
            {"elicitation": {"form": {}}},
        ),
        (
            {"elicitation": {}},
            question("elicitation/create", mode="url"),
            {"elicitation": {"url": {}}},
        ),
        ({"elicitation": {"form": {}, "url": {}}}, question("elicitation/create", mode="url"), {}),
        ({"sampling": {}}, question("sampling/createMessage"), {}),
        (
            {"sampling": {}},
            question("sampling/createMessage", tools=[]),
            {"sampling": {"tools": {}}},
        ),
        ({"sampling": {"tools": {}}}, question("sampling/createMessage", toolChoice={}), {}),
        ({}, question("roots/list"), {"roots": {}}),
        ({"roots": {"listChanged": True}}, question("roots/list"), {}),
    ],
)
def test_a_question_needs_the_capability_of_its_kind(
    declared: dict[str, Any], asked: Question, needed: dict[str, Any]
) -> None:
    assert missing(declared, [asked]) == needed


def test_what_is_missing_of_several_questions_is_named_together() -> None:
    asked = [
        question("elicitation/create"),
        question("elicitation/create", mode="url"),
        question("roots/list"),
    ]
    assert missing({}, asked) == {"elicitation": {"form": {}, "url": {}}, "roots": {}}
    assert missing({}, []) == {}
