from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.protocol.forms import MOST_CHOICES, MOST_FIELDS, Form, parse_form


def of(properties: dict[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def schema(**properties: Any) -> dict[str, Any]:
    return of(properties)


def form(required: tuple[str, ...] = (), **properties: Any) -> Form:
    parsed = parse_form(of(properties, required))
    assert isinstance(parsed, Form), parsed
    return parsed


TITLED = [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}]


@pytest.mark.parametrize(
    ("field", "kind", "choices"),
    [
        ({"type": "string"}, "string", None),
        ({"type": "string", "format": "email", "minLength": 1, "default": "a@b"}, "string", None),
        ({"type": "number", "minimum": 0}, "number", None),
        ({"type": "integer"}, "integer", None),
        ({"type": "boolean", "default": False}, "boolean", None),
        ({"type": "string", "enum": ["a", "b"]}, "string", ("a", "b")),
        ({"enum": ["a", "b"]}, "string", ("a", "b")),
        ({"type": "string", "enum": ["a"], "enumNames": ["A"]}, "string", ("a",)),
        ({"type": "string", "oneOf": TITLED}, "string", ("#f00", "#0f0")),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, "choices", ("a",)),
        ({"type": "array", "items": {"anyOf": TITLED}}, "choices", ("#f00", "#0f0")),
        ({"type": ["string", "null"]}, "string", None),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "title": "N"}, "integer", None),
    ],
)
def test_a_flat_field_can_be_shown(
    field: dict[str, Any], kind: str, choices: tuple[str, ...] | None
) -> None:
    (parsed,) = form(x=field).fields
    assert (parsed.type, parsed.choices) == (kind, choices)
    assert parsed.free is (kind != "boolean" and choices is None)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (None, "requestedSchema is null"),
        ([], "is an array"),
        ({}, "has the type `null`"),
        ({"type": "array"}, "has the type `array`"),
        ({"type": "object", "properties": []}, "properties is an array"),
        ({"type": "object", "required": "x"}, "required is not an array of strings"),
        ({"type": "object", "required": [1]}, "required is not an array of strings"),
        (schema(x=1), "`x` is a number, not a schema"),
        (schema(x={"type": "object", "properties": {}}), "forms are flat"),
        (schema(x={}), "forms are flat"),
        (schema(x={"type": "null"}), "forms are flat"),
        (schema(x={"anyOf": [{"type": "string"}, {"type": "integer"}]}), "forms are flat"),
        (schema(x={"type": "array"}), "only choices may be an array"),
        (schema(x={"type": "array", "items": {"type": "string"}}), "only choices may be an array"),
        (schema(x={"type": "array", "items": {"type": "object"}}), "only choices may be an array"),
        (schema(x={"type": "string", "enum": []}), "choices that are not all strings"),
        (schema(x={"type": "string", "enum": [1]}), "choices that are not all strings"),
        (schema(x={"type": "string", "enum": "ab"}), "choices that are no array"),
        (schema(x={"type": "string", "oneOf": ["a"]}), "choices that are no array"),
        (schema(x={"type": "string", "oneOf": [{"title": "A"}]}), "not all strings"),
        (schema(x={"enum": ["a"] * (MOST_CHOICES + 1)}), "more than 512 choices"),
        (of({f"f{n}": {"type": "string"} for n in range(MOST_FIELDS + 1)}), "more than 64"),
        (of({"na\u200bme": {"type": "string"}}), "invisible characters in its name"),
    ],
)
def test_a_form_that_no_host_could_show_is_told_why(bad: object, reason: str) -> None:
    parsed = parse_form(bad)
    assert isinstance(parsed, str)
    assert reason in parsed


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ({"type": "string", "minLength": 2, "maxLength": 3}, "abc"),
        ({"type": "string", "format": "email"}, "ada@example.org"),
        ({"type": "string", "format": "uri"}, "urn:isbn:0"),
        ({"type": "string", "format": "date"}, "2026-07-28"),
        ({"type": "string", "format": "date-time"}, "2026-07-28T12:00:00.5Z"),
        ({"type": "string", "format": "date-time"}, "2026-07-28T12:00:00+02:00"),
        ({"type": "string", "format": "color"}, "anything"),
        ({"type": "number", "minimum": 0, "maximum": 1}, 0.5),
        ({"type": "integer"}, 3.0),
        ({"type": "boolean"}, False),
        ({"enum": ["a", "b"]}, "b"),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1}, ["b"]),
        ({"type": ["string", "null"]}, None),
    ],
)
def test_an_answer_that_fits_has_no_fault(field: dict[str, Any], value: object) -> None:
    assert form(("x",), x=field).fault_of({"x": value}) is None


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ({"type": "string"}, 1, "is a number, not a string"),
        ({"type": "string"}, None, "must not be null"),
        ({"type": "string", "minLength": 2}, "a", "fewer than 2 characters"),
        ({"type": "string", "maxLength": 2}, "abc", "more than 2 characters"),
        ({"type": "string", "format": "email"}, "ada", "format `email`"),
        ({"type": "string", "format": "uri"}, "not a uri", "format `uri`"),
        ({"type": "string", "format": "date"}, "2026-13-01", "format `date`"),
        ({"type": "string", "format": "date-time"}, "2026-07-28", "format `date-time`"),
        ({"type": "number"}, "1", "is a string, not a number"),
        ({"type": "number"}, True, "is a boolean, not a number"),
        ({"type": "number", "minimum": 18}, 17, "less than 18"),
        ({"type": "number", "maximum": 18}, 19, "more than 18"),
        ({"type": "integer"}, 1.5, "not a whole number"),
        ({"type": "boolean"}, "yes", "is a string, not a boolean"),
        ({"enum": ["a", "b"]}, "c", "must be one of `a`, `b`"),
        ({"type": "array", "items": {"enum": ["a"]}}, "a", "is a string, not an array"),
        ({"type": "array", "items": {"enum": ["a"]}}, ["b"], "may only hold `a`"),
        ({"type": "array", "items": {"enum": ["a"]}, "minItems": 1}, [], "at least 1"),
        ({"type": "array", "items": {"enum": ["a"]}, "maxItems": 1}, ["a", "a"], "at most 1"),
    ],
)
def test_an_answer_that_does_not_fit_is_told_where_and_why(
    field: dict[str, Any], value: object, fault: str
) -> None:
    told = form(("x",), x=field).fault_of({"x": value})
    assert told is not None
    assert told.startswith("content.`x` ")
    assert fault in told


def test_a_required_field_must_be_there_and_another_need_not() -> None:
    both = form(("a",), a={"type": "string"}, b={"type": "string"})
    assert both.fault_of({"a": "x"}) is None
    assert both.fault_of({"a": "x", "b": None, "unasked": [1]}) is None
    assert both.fault_of({"b": "x"}) == "content lacks `a`"
    assert both.fault_of(None) == "content lacks `a`"
    assert both.fault_of([]) == "content is an array, not an object"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
FIELDS = st.dictionaries(
    st.text(max_size=8),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "number", "integer", "boolean", "array"]) | JSON},
        optional=dict.fromkeys(
            ("enum", "oneOf", "anyOf", "items", "minLength", "maximum", "format"), JSON
        ),
    )
    | JSON,
    max_size=4,
)


@given(FIELDS, JSON)
def test_whatever_a_server_sends_and_a_client_answers_is_judged(
    properties: dict[str, Any], content: object
) -> None:
    parsed = parse_form({"type": "object", "properties": properties, "required": [*properties]})
    if isinstance(parsed, Form):
        assert parsed.fault_of(content) is None or isinstance(parsed.fault_of(content), str)
        filled = dict.fromkeys(properties, content)
        assert parsed.fault_of(filled) is None or isinstance(parsed.fault_of(filled), str)
