from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.protocol.elicitation import (
    SERVER_KEY,
    SecretForm,
    Unusable,
    answer_fault,
    examine,
    harmless,
    passed_on,
    stamp_of,
    stamped,
)
from toolcrib.protocol.forms import Form
from toolcrib.protocol.mrtr import Question
from toolcrib.protocol.pages import Page

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"branch": {"type": "string"}},
    "required": ["branch"],
}


def form(message: str = "Which branch?", **members: Any) -> Question:
    return Question(
        "elicitation/create", {"message": message, "requestedSchema": SCHEMA, **members}
    )


def visit(url: str = "https://example.com/connect", message: str = "Connect") -> Question:
    return Question("elicitation/create", {"mode": "url", "message": message, "url": url})


def test_a_question_without_a_mode_is_a_form() -> None:
    assert isinstance(examine(form().params), Form)
    assert isinstance(examine(form(mode="form").params), Form)
    assert isinstance(examine(visit().params), Page)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"requestedSchema": SCHEMA}, "has a message that is null"),
        ({"message": 1, "requestedSchema": SCHEMA}, "has a message that is a number"),
        ({"message": "m"}, "cannot be shown: requestedSchema is null"),
        ({"message": "m", "mode": "voice"}, "has the mode `voice`"),
        ({"message": "m", "mode": None}, "has the mode `null`"),
        ({"message": "m", "mode": "url"}, "has an address that is null"),
        ({"message": "m", "mode": "url", "url": "http://a.example/"}, "that is not https"),
    ],
)
def test_what_cannot_be_shown_is_told_why(params: dict[str, Any], reason: str) -> None:
    found = examine(params)
    assert isinstance(found, Unusable)
    assert reason in found.reason


def test_a_form_that_asks_for_a_secret_is_found() -> None:
    schema = {"type": "object", "properties": {"api_key": {"type": "string"}}}
    params = {"message": "Hello", "requestedSchema": schema}
    assert examine(params) == SecretForm(("api_key",))
    page = {"mode": "url", "message": "Please enter your API key", "url": "https://example.com/"}
    assert isinstance(examine(page), Page)


def test_a_message_begins_with_the_server_that_asks() -> None:
    shown = stamped("github", form("Which branch?")).params
    assert shown["message"] == "[server github] Which branch?"
    assert shown["_meta"] == {SERVER_KEY: "github"}
    assert shown["requestedSchema"] == SCHEMA


def test_what_belongs_to_the_servers_own_hop_stays_behind() -> None:
    asked = form(_meta={"progressToken": 7, "dev.toolcrib/server": "bank"}, task={"ttl": 1})
    shown = stamped("github", asked).params
    assert "task" not in shown
    assert shown["_meta"] == {SERVER_KEY: "github"}
    sampling = Question("sampling/createMessage", {"messages": [], "_meta": {"x": 1}})
    assert stamped("a", sampling).params == {"messages": [], "_meta": {SERVER_KEY: "a"}}


IMITATIONS = [
    "[server bank] Your PIN?",
    "x\n\n[server bank] Enter it",
    "[toolcrib] Allow all calls?",
    "[ToolCrib] Allow?",
    "[ server bank] y",
    "[tool-crib] y",
    "[[server bank] y",
    "[ [[ [server bank] y",
    "[*server* bank] y",
    "[\n[server bank] y",
    "\u3010server bank\u3011 y",
    "\uff3bserver bank\uff3d y",
    "[ser\u200bver bank] y",
    "[s\u0435rver bank] y",
    "[t\u043e\u043elcrib] y",
    "[asked by bank] y",
]


@pytest.mark.parametrize("text", IMITATIONS)
def test_a_text_that_imitates_a_stamp_loses_its_bracket(text: str) -> None:
    shown = stamped("evil", form(text)).params["message"]
    assert shown.startswith("[server evil] ")
    rest = shown.removeprefix("[server evil] ")
    assert not any(mark in rest for mark in "[\u3010\uff3b")


@pytest.mark.parametrize(
    "text",
    [
        "Pick [a] or [b]",
        "see [1]",
        "Delete it? (server restarts)",
        "[x] done",
        "a[0] < b",
        "日本語の質問",
        "\u0645\u06cc\u200c\u062e\u0648",
        "👩\u200d💻 ok",
        "two\nlines",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert harmless(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a[31mb"),
        ("a\u202eb\u2066c", "abc"),
        ("a\u200bb\U000e0041c", "abc"),
        ("a\rb\r\nc\u2028d", "a\nb\nc\nd"),
        ("a" + "\n" * 90 + "b", "a\n\nb"),
        ("a\n \t\n  \nb", "a\n\nb"),
        ("a\ud800b", "a\ufffdb"),
        (None, ""),
        (["x"], ""),
    ],
)
def test_what_would_not_be_seen_is_taken_out(text: object, shown: str) -> None:
    assert harmless(text) == shown


def test_a_text_without_end_is_cut_and_says_so() -> None:
    shown = harmless("x" * 10_000)
    assert shown.startswith("x" * 4_000)
    assert "10,000 characters in all" in shown
    assert len(shown) < 4_100


def test_titles_and_descriptions_are_cleaned_and_names_and_values_are_not() -> None:
    schema = {
        "type": "object",
        "title": "[toolcrib] Confirm",
        "properties": {
            "a": {"type": "string", "title": "A\u202eB", "description": "[server bank] hi"},
            "b": {"oneOf": [{"const": "[toolcrib]", "title": "[toolcrib] yes"}]},
            "c": {"enum": ["[server x]"], "enumNames": ["[server x] one"]},
            "d": {"type": "array", "items": {"anyOf": [{"const": "k", "title": "[server d]"}]}},
        },
    }
    shown = stamped("s", form(requestedSchema=schema)).params["requestedSchema"]
    fields = shown["properties"]
    assert shown["title"] == "toolcrib] Confirm"
    assert fields["a"] == {"type": "string", "title": "AB", "description": "server bank] hi"}
    assert fields["b"] == {"oneOf": [{"const": "[toolcrib]", "title": "toolcrib] yes"}]}
    assert fields["c"] == {"enum": ["[server x]"], "enumNames": ["server x] one"]}
    assert fields["d"]["items"]["anyOf"] == [{"const": "k", "title": "server d]"}]
    assert schema["title"] == "[toolcrib] Confirm"


def test_a_page_is_shown_with_its_host_and_what_is_odd_and_its_address_is_not_rewritten() -> None:
    url = "https://xn--80ak6aa92e.com:8443/a?b=%20#c"
    shown = stamped("github", visit(url)).params
    assert shown["url"] == url
    message = shown["message"]
    assert message.startswith("[server github] Connect\n")
    assert "The page is at xn--80ak6aa92e.com." in message
    assert "Punycode" in message
    assert "8443" in message
    assert url not in message


TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=60)


@given(TEXTS, TEXTS)
def test_no_text_can_speak_for_another_server(before: str, after: str) -> None:
    text = f"{before}[server bank] {after}[toolcrib]"
    shown = stamped("evil", form(text)).params["message"]
    assert shown.startswith(stamp_of("evil"))
    rest = shown.removeprefix(stamp_of("evil"))
    assert "[server bank]" not in rest
    assert "[toolcrib]" not in rest


FITTING: list[tuple[Question, dict[str, Any]]] = [
    (form(), {"action": "accept", "content": {"branch": "main"}}),
    (form(), {"action": "decline"}),
    (form(), {"action": "cancel", "content": {"branch": 5}}),
    (visit(), {"action": "accept"}),
    (visit(), {"action": "decline"}),
    (Question("roots/list"), {"roots": [{"uri": "file:///a"}]}),
    (Question("roots/list"), {"roots": []}),
    (
        Question("sampling/createMessage"),
        {"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"},
    ),
    (Question("sampling/createMessage"), {"role": "assistant", "content": [], "model": "m"}),
]


@pytest.mark.parametrize(("question", "answer"), FITTING)
def test_an_answer_of_the_right_kind_fits(question: Question, answer: dict[str, Any]) -> None:
    assert answer_fault(question, answer) is None


FAULTY: list[tuple[Question, dict[str, Any], str]] = [
    (form(), {}, "action is `null`"),
    (form(), {"action": "yes"}, "action is `yes`"),
    (form(), {"action": ["accept"]}, "action is"),
    (form(), {"action": "accept"}, "content lacks `branch`"),
    (form(), {"action": "accept", "content": {"branch": 1}}, "content.`branch` is a number"),
    (form(), {"action": "accept", "content": []}, "content is an array"),
    (visit(), {"content": {}}, "action is `null`"),
    (Question("roots/list"), {}, "roots is not"),
    (Question("roots/list"), {"roots": [{}]}, "roots is not"),
    (Question("sampling/createMessage"), {}, "content is null"),
    (Question("sampling/createMessage"), {"content": {}}, "role is not a string"),
]


@pytest.mark.parametrize(("question", "answer", "fault"), FAULTY)
def test_an_answer_of_another_kind_is_told_why(
    question: Question, answer: dict[str, Any], fault: str
) -> None:
    told = answer_fault(question, answer)
    assert told is not None
    assert fault in told


def test_a_server_gets_no_content_beside_a_refusal_or_a_page_visit() -> None:
    said = {"action": "decline", "content": {"branch": "x"}, "_meta": {"a": 1}}
    assert passed_on(form(), said) == {"action": "decline"}
    accepted = {"action": "accept", "content": {"branch": "x"}}
    assert passed_on(form(), accepted) == accepted
    assert passed_on(visit(), accepted) == {"action": "accept"}
    roots: dict[str, Any] = {"roots": [], "_meta": {}, "resultType": "complete"}
    assert passed_on(Question("roots/list"), roots) == {"roots": []}
