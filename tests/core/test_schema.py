"""Where a schema holds schemas, and whether it is one."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolcrib.core.jsontypes import is_object
from toolcrib.core.metaschema import is_known_dialect, schema_fault
from toolcrib.core.schema import LISTED, NAMED, ONE, positions, shown

relaxed = settings(deadline=None, max_examples=1500)

ATOMS: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 1.0, 0.5, -0.5, "", "a", "object", "string"),
    *([], {}, ["a"], ["a", "a"], ["a", 1], [None], ["string", "null"], {"a": True}, {"a": "b"}),
]
KEYWORDS = sorted(
    (ONE | LISTED | NAMED | {"additionalItems"})
    | {"$anchor", "$comment", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "$vocabulary"}
    | {"const", "contentEncoding", "contentMediaType", "default", "dependentRequired", "deprecated"}
    | {"description", "enum", "examples", "exclusiveMaximum", "exclusiveMinimum", "format"}
    | {"maxContains", "maxItems", "maxLength", "maxProperties", "maximum", "minContains"}
    | {"minItems", "minLength", "minProperties", "minimum", "multipleOf", "pattern", "readOnly"}
    | {"required", "title", "type", "uniqueItems", "writeOnly", "x-vendor"}
)


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    values = st.sampled_from(ATOMS) | inner | st.lists(inner, max_size=2)
    named = st.dictionaries(st.sampled_from(["a", "b", "title"]), inner, max_size=2)
    return st.dictionaries(st.sampled_from(KEYWORDS), values | named, max_size=3)


SCHEMAS = st.recursive(st.sampled_from([*ATOMS, {"type": "string"}]), schemas, max_leaves=6)


@relaxed
@given(SCHEMAS)
@example({"properties": {"path": {"type": "string"}, "type": "object"}, "required": ["path"]})
@example({"required": ["a", "a"]})
@example({"items": [{}]})
@example({"minLength": 1.0})
@example({"$id": "#a"})
@example({"dependencies": {"a": ["x", "x"]}})
@example({"dependentRequired": {"a": ["x", "x"]}})
def test_a_fault_is_found_exactly_where_the_meta_schema_finds_one(schema: Any) -> None:
    if is_object(schema) and "additionalItems" in str(schema):
        return  # not in 2020-12, but a schema position all the same
    assert (schema_fault(schema) is None) == jsonschema_rs.meta.is_valid(schema), schema


@relaxed
@given(SCHEMAS)
def test_what_is_sound_in_draft_7_is_sound_for_its_own_meta_schema(schema: Any) -> None:
    if not is_object(schema) or "$id" in str(schema):
        return
    declared = {**schema, "$schema": "http://json-schema.org/draft-07/schema#"}
    if schema_fault(declared) is None:
        assert jsonschema_rs.meta.is_valid(declared), declared


DECLARED: list[tuple[Any, bool]] = [
    ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{}, {}]}, True),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{}, 3]}, False),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "items": []}, False),
    ({"$schema": "https://json-schema.org/draft/2019-09/schema", "items": [{}]}, True),
    ({"$schema": "https://json-schema.org/draft/2020-12/schema", "items": [{}]}, False),
    ({"items": [{}]}, False),
    ({"$schema": "http://json-schema.org/draft-04/schema#", "exclusiveMinimum": True}, True),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "exclusiveMinimum": True}, False),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "$id": "#a"}, True),
    ({"$schema": 7}, False),
]


@pytest.mark.parametrize(("schema", "sound"), DECLARED)
def test_older_declared_drafts_are_held_to_their_own_shapes(schema: Any, *, sound: bool) -> None:
    assert (schema_fault(schema) is None) == sound


BROKEN: list[tuple[Any, str]] = [
    ({"properties": {"a": {}, "type": "object"}}, "properties.type is a string"),
    ({"properties": ["a"]}, "properties is an array"),
    ({"required": "a"}, "required is a string"),
    ({"required": ["a", 5]}, "required holds a number"),
    ({"required": ["a", None]}, "required holds null"),
    ({"properties": {"a": {"required": True}}}, "properties.a.required is a boolean"),
    ({"properties": {"a": {"type": "str"}}}, "properties.a.type is `str`"),
    ({"type": ["string", 5]}, "type is `5`"),
    ({"type": ["string", "string"]}, "type says the same name twice"),
    ({"type": []}, "type is an empty array"),
    ({"anyOf": []}, "anyOf is `[]`"),
    ({"anyOf": [{}, "x"]}, "anyOf.1 is a string"),
    ({"$defs": {"a": {"not": {"enum": "x"}}}}, "$defs.a.not.enum is a string"),
    ({"minimum": "0"}, "minimum is a string"),
    ({"multipleOf": 0}, "multipleOf is `0`"),
    ({"minLength": -1}, "minLength is `-1`"),
    ("object", "it is a string"),
    (None, "it is null"),
]


@pytest.mark.parametrize(("schema", "words"), BROKEN)
def test_a_fault_says_where_and_what(schema: Any, words: str) -> None:
    assert str(schema_fault(schema)).startswith(words)


def test_the_first_fault_in_the_order_written_is_told() -> None:
    schema = {"properties": {"z": {"type": 1}, "a": {"type": 2}}}
    assert "properties.z" in str(schema_fault(schema))


@pytest.mark.parametrize("number", [1e-300, 0.5, 1, 7, 1e300])
def test_any_number_above_zero_is_a_multiple(number: float) -> None:
    assert schema_fault({"multipleOf": number}) is None


def test_data_that_looks_like_a_broken_schema_is_data() -> None:
    data = {"type": "nonsense", "properties": 5}
    schema = {"const": data, "default": data, "enum": [data], "examples": [data], "x-y": data}
    assert schema_fault(schema) is None
    assert [path for path, _ in positions(schema)] == [()]


def test_a_schema_of_any_depth_is_checked() -> None:
    schema: Any = {"type": "nonsense"}
    for _ in range(2000):
        schema = {"items": schema}
    fault = schema_fault(schema)
    assert fault is not None
    assert len(fault.path) == 2001
    assert len(str(fault)) < 250


@pytest.mark.parametrize(
    ("dialect", "known"),
    [
        (None, True),
        ("http://json-schema.org/draft-07/schema#", True),
        ("https://json-schema.org/draft/2020-12/schema", True),
        ("http://json-schema.org/schema#", True),
        ("http://json-schema.org/draft-03/schema#", False),
        ("https://example.com/dialect", False),
        (5, False),
    ],
)
def test_a_dialect_is_known_or_not(dialect: Any, *, known: bool) -> None:
    assert is_known_dialect({} if dialect is None else {"$schema": dialect}) == known


def test_positions_are_found_in_the_order_written_with_their_paths() -> None:
    schema: dict[str, Any] = {
        "properties": {"b": {"items": {}}, "a": {"anyOf": [{}, True]}},
        "dependencies": {"x": ["y"], "z": {}},
        "additionalProperties": False,
    }
    assert [shown(path) for path, _ in positions(schema)] == [
        "",
        "properties.b",
        "properties.b.items",
        "properties.a",
        "properties.a.anyOf.0",
        "dependencies.z",
    ]


def test_a_broken_keyword_hides_no_positions_beside_it() -> None:
    schema = {"properties": 5, "$defs": None, "anyOf": {}, "items": {"type": "string"}}
    assert [shown(path) for path, _ in positions(schema)] == ["", "items"]


def test_a_long_path_is_shown_shortened() -> None:
    assert len(shown(("properties", "x" * 500))) <= 120
