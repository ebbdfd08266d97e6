"""Results of tools as the messages of each provider."""

from typing import Any

import pytest

from toolcrib.context.providers import anthropic, gemini, openai_chat, openai_responses, plain

PNG = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
TIFF = {"type": "image", "data": "aGk=", "mimeType": "image/tiff"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


FINE: dict[str, Any] = {"content": [text("12 degrees")]}
FAILED: dict[str, Any] = {"content": [text("no such city")], "isError": True}


def test_a_text_reaches_every_provider() -> None:
    assert anthropic.result("t1", FINE) == {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [text("12 degrees")],
    }
    assert openai_chat.result("c1", FINE) == {
        "role": "tool",
        "tool_call_id": "c1",
        "content": "12 degrees",
    }
    assert openai_responses.result("c1", FINE) == {
        "type": "function_call_output",
        "call_id": "c1",
        "output": "12 degrees",
    }
    assert gemini.result("forecast", FINE) == {
        "functionResponse": {"name": "forecast", "response": {"result": "12 degrees"}}
    }
    assert plain.result(FINE) == "12 degrees"


def test_a_failure_is_one_everywhere() -> None:
    assert anthropic.result("t1", FAILED)["is_error"] is True
    assert openai_chat.result("c1", FAILED)["content"] == "Error: no such city"
    assert openai_responses.result("c1", FAILED)["output"] == "Error: no such city"
    response = gemini.result("f", FAILED, "id1")["functionResponse"]
    assert response == {"id": "id1", "name": "f", "response": {"error": "no such city"}}


def test_what_is_said_twice_is_shown_once() -> None:
    both = {"content": [text('{"a": 1}')], "structuredContent": {"a": 1}}
    assert plain.result(both) == '{"a":1}'
    assert gemini.result("f", both)["functionResponse"]["response"] == {"result": {"a": 1}}


def test_structured_content_alone_is_shown_as_json() -> None:
    assert plain.result({"content": [], "structuredContent": [1, {"a": "é"}]}) == '[1,{"a":"é"}]'
    other = {"content": [text("see")], "structuredContent": {"a": 1}}
    assert plain.result(other) == 'see\n\n{"a":1}'


def test_images_are_shown_where_they_can_be() -> None:
    result = {"content": [text("here"), PNG]}
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    assert anthropic.result("t", result)["content"][1] == {"type": "image", "source": source}
    assert openai_responses.result("c", result)["output"] == [
        {"type": "input_text", "text": "here"},
        {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
    ]
    assert (
        "[image/png content, which cannot be shown]" in openai_chat.result("c", result)["content"]
    )
    failed = openai_responses.result("c", {**result, "isError": True})["output"]
    assert failed[0] == {"type": "input_text", "text": "Error:"}


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (TIFF, "[image/tiff content, which cannot be shown]"),
        (
            {"type": "audio", "data": "x", "mimeType": "a/b"},
            "[audio content, which cannot be shown]",
        ),
        ({"type": "resource_link", "uri": "file:///a", "name": "a"}, "[resource a: file:///a]"),
        ({"type": "resource", "resource": {"uri": "x://1", "text": "t"}}, "[resource x://1]\nt"),
        (
            {"type": "resource", "resource": {"uri": "x://1", "blob": "b", "mimeType": "a/b"}},
            "[resource x://1: [a/b content, which cannot be shown]]",
        ),
        ({"type": "hologram"}, "[hologram content, which cannot be shown]"),
        ({"type": "text", "text": "\ud800"}, "\ufffd"),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_other_content_is_named_in_words(block: dict[str, Any], words: str) -> None:
    assert anthropic.result("t", {"content": [block]})["content"] == [text(words)]


@pytest.mark.parametrize(
    "result",
    [{}, {"content": None}, {"content": [text("")]}, {"content": ["x", {"type": "resource"}]}],
    ids=repr,
)
def test_nothing_is_nothing(result: dict[str, Any]) -> None:
    assert anthropic.result("t", result)["content"] == []
    assert openai_chat.result("c", result)["content"] == ""
