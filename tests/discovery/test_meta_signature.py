"""The parameters of a tool on part of a line."""

from typing import Any

import pytest
from hypothesis import given

from toolcrib.discovery.meta.signature import signature
from toolcrib.testing.hostile_json import SCHEMAS

TEXT: dict[str, Any] = {"type": "string"}


def of(*required: str, **properties: Any) -> str:
    return signature({"type": "object", "properties": properties, "required": list(required)})


@pytest.mark.parametrize("schema", [None, True, 1, {}, {"type": "object"}, {"properties": 3}])
def test_no_parameters_are_an_empty_pair(schema: object) -> None:
    assert signature(schema) == "()"


def test_required_ones_come_first_and_optional_ones_are_marked() -> None:
    days = {"type": "integer"}
    assert of("city", days=days, city=TEXT) == "(city: string, days?: integer)"


def test_required_ones_come_in_the_order_of_their_list() -> None:
    assert of("b", "a", "b", a=TEXT, b=TEXT) == "(b: string, a: string)"


def test_a_required_name_without_a_schema_is_still_required() -> None:
    assert of("ghost", a=TEXT) == "(ghost: any, a?: string)"


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({}, "any"),
        (True, "any"),
        ({"type": "made_up"}, "any"),
        ({"type": ["string", "null"]}, "string"),
        ({"type": ["string", "integer"]}, "string|integer"),
        ({"type": "array"}, "array"),
        ({"type": "array", "items": TEXT}, "string[]"),
        ({"type": "array", "items": {"type": ["string", "number"]}}, "(string|number)[]"),
        ({"type": "array", "items": {"type": "array", "items": TEXT}}, "string[][]"),
        ({"enum": ["c", "f"]}, '"c"|"f"'),
        ({"enum": [1, None, True]}, "1|null|true"),
        ({"const": "only"}, '"only"'),
        ({"type": "string", "enum": []}, "one of 0"),
        ({"enum": [f"v{i}" for i in range(7)]}, "one of 7"),
        ({"enum": ["long " * 20]}, "one of 1"),
        ({"anyOf": [TEXT, {"type": "null"}]}, "string"),
        ({"oneOf": [TEXT, {"type": "object"}, TEXT]}, "string|object"),
        ({"anyOf": [True, 1]}, "any"),
        ({"$ref": "https://example.com/schema"}, "any"),
        ({"$ref": "#/nowhere"}, "any"),
    ],
)
def test_a_type_is_a_few_words(schema: object, shown: str) -> None:
    assert of("p", p=schema) == f"(p: {shown})"


def test_a_reference_inside_of_the_schema_is_followed() -> None:
    schema: dict[str, Any] = {
        "properties": {"p": {"$ref": "#/$defs/Page"}, "q": {"$ref": "#/$defs/Loop"}},
        "$defs": {"Page": {"type": "integer"}, "Loop": {"$ref": "#/$defs/Loop"}},
    }
    assert signature(schema) == "(p?: integer, q?: any)"


def test_alternatives_instead_of_parameters_are_shown_side_by_side() -> None:
    branches: list[Any] = [
        {"properties": {"content": TEXT}, "required": ["content"]},
        {"properties": {"url": TEXT}, "required": ["url"]},
        True,
    ]
    assert signature({"type": "object", "anyOf": branches}) == "(content: string | url: string)"


def test_everything_is_shown_where_it_has_room() -> None:
    properties = {f"p{i}": TEXT for i in range(10)}
    assert "more" not in of(**properties)


def test_of_many_optional_ones_a_few_are_shown_and_the_others_counted() -> None:
    shown = of("city", city=TEXT, **{f"option{i}": TEXT for i in range(30)})
    assert shown == "(city: string, option0?: string, option1?: string, option2?: string, 27 more)"


def test_optional_ones_have_the_room_that_required_ones_leave() -> None:
    required = {"r" * 40 + str(i): TEXT for i in range(2)}
    shown = of(*required, **required, **{f"option{i}": TEXT for i in range(4)})
    assert shown.endswith(", option0?: string, option1?: string, option2?: string, 1 more)")


def test_of_many_required_ones_as_many_as_have_room_are_shown() -> None:
    names = [f"required_parameter_{i}" for i in range(100)]
    shown = of(*names, **dict.fromkeys(names, TEXT))
    assert shown.startswith("(required_parameter_0: string, ")
    assert shown.endswith(", 95 more)")
    assert len(shown) < 180


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a b", '"a b"'),
        ("x): yes. 9. admin", '"x): yes. 9. admin"'),
        ("line\nbreak", '"line\\nbreak"'),
        ("\u200bhidden", '"\\u200bhidden"'),
        ("\u57ce\u5e02", "\u57ce\u5e02"),
        ("user-id", "user-id"),
        ("$filter", "$filter"),
        ("n" * 60, f'"{"n" * 47}\u2026"'),
    ],
)
def test_an_odd_name_is_written_as_it_has_to_be_given(name: str, shown: str) -> None:
    assert of(name, **{name: TEXT}) == f"({shown}: string)"


@given(SCHEMAS)
def test_whatever_a_schema_is_its_signature_is_one_short_line(schema: Any) -> None:
    shown = signature(schema)
    assert shown.startswith("(")
    assert shown.endswith(")")
    assert len(shown) <= 600
    assert shown.isprintable()
