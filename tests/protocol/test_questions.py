"""What a client has to declare so that a server may ask it something."""

from typing import Any

import pytest

from toolcrib.protocol.questions import CAPABILITY_OF, lacking

FORM: dict[str, Any] = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
URL: dict[str, Any] = {"mode": "url", "message": "Sign in", "url": "https://a.example"}
PROMPT: dict[str, Any] = {"messages": [], "maxTokens": 1}


@pytest.mark.parametrize(
    ("method", "params", "declared"),
    [
        ("elicitation/create", FORM, {"elicitation": {}}),
        ("elicitation/create", {**FORM, "mode": "form"}, {"elicitation": {"form": {}}}),
        ("elicitation/create", FORM, {"elicitation": {"form": {}, "url": {}}}),
        ("elicitation/create", URL, {"elicitation": {"url": {}}}),
        ("sampling/createMessage", PROMPT, {"sampling": {}}),
        ("sampling/createMessage", {**PROMPT, "tools": []}, {"sampling": {"tools": {}}}),
        ("roots/list", {}, {"roots": {}}),
        ("roots/list", {}, {"roots": {"listChanged": True}}),
    ],
)
def test_what_was_declared_may_be_asked(
    method: str, params: dict[str, Any], declared: dict[str, Any]
) -> None:
    assert lacking(method, params, declared) == {}


@pytest.mark.parametrize(
    ("method", "params", "declared", "missing"),
    [
        ("elicitation/create", FORM, {}, {"elicitation": {"form": {}}}),
        ("elicitation/create", FORM, {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        ("elicitation/create", URL, {"elicitation": {}}, {"elicitation": {"url": {}}}),
        ("elicitation/create", URL, {"elicitation": {"form": {}}}, {"elicitation": {"url": {}}}),
        ("elicitation/create", FORM, {"elicitation": None}, {"elicitation": {"form": {}}}),
        ("elicitation/create", FORM, {"elicitation": True}, {"elicitation": {"form": {}}}),
        ("sampling/createMessage", PROMPT, {"elicitation": {}}, {"sampling": {}}),
        (
            "sampling/createMessage",
            {**PROMPT, "tools": []},
            {"sampling": {}},
            {"sampling": {"tools": {}}},
        ),
        (
            "sampling/createMessage",
            {**PROMPT, "toolChoice": {}},
            {"sampling": {"context": {}}},
            {"sampling": {"tools": {}}},
        ),
        ("roots/list", {}, {"roots": 1}, {"roots": {}}),
    ],
)
def test_what_was_not_declared_is_named(
    method: str, params: dict[str, Any], declared: dict[str, Any], missing: dict[str, Any]
) -> None:
    assert lacking(method, params, declared) == missing


@pytest.mark.parametrize("method", sorted(CAPABILITY_OF))
def test_a_client_that_declares_what_was_missing_can_be_asked(method: str) -> None:
    asked: list[dict[str, Any]] = [FORM, URL, {**PROMPT, "tools": []}]
    for params in asked:
        assert lacking(method, params, lacking(method, params, {})) == {}
