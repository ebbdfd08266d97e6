"""Copies of schemas for providers: what they say, what they may not lose, and what stays whole."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.adapters.schema.checker import JsonSchemaChecker
from toolcrib.context.schemas.profiles import (
    ANTHROPIC,
    GEMINI_JSON,
    INLINED,
    LOOSE,
    SHOWN_WHOLE,
    Profile,
)
from toolcrib.context.schemas.schema_copy import copy_schema
from toolcrib.context.schemas.single_type import single_type
from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.ports import Unchecked
from toolcrib.settings import Limits
from toolcrib.testing.hostile_json import KEYS, VALUES
from toolcrib.testing.odd_schemas import PLAIN_ROOTS, ROOTS

PROFILES = (LOOSE, ANTHROPIC, INLINED, GEMINI_JSON, SHOWN_WHOLE)
EITHER = {
    "type": "object",
    "anyOf": [
        {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]},
        {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]},
    ],
}


def loose(schema: Any) -> dict[str, Any]:
    return copy_schema(schema, LOOSE).schema


def fits(schema: Any, arguments: Any) -> bool:
    """Whether arguments fit, checked as calls are."""
    checker = JsonSchemaChecker(Limits())
    return checker.check(schema, arguments, mark=json.dumps(schema)) == ()


def argument(schema: Any) -> Any:
    """The copy of the schema of one argument."""
    return loose({"type": "object", "properties": {"it": schema}})["properties"]["it"]


# ---------------------------------------------------------------- single places


def test_true_is_written_as_the_empty_schema_and_false_is_left_out() -> None:
    schema = {"type": "object", "properties": {"payload": True, "never": False}}
    assert loose(schema) == {"type": "object", "properties": {"payload": {}}}
    assert fits(schema, {"payload": [1]})
    assert not fits(schema, {"never": 1})


def test_a_property_that_is_left_out_is_not_required_either() -> None:
    schema = {"type": "object", "properties": {"a": True, "b": False}, "required": ["b", "a"]}
    assert loose(schema)["required"] == ["a"]


def test_a_tool_without_parameters_has_properties_all_the_same() -> None:
    assert loose({"type": "object"}) == {"type": "object", "properties": {}}


@pytest.mark.parametrize("schema", [None, True, [], "x", 7, {}], ids=repr)
def test_what_is_no_object_schema_counts_as_one_without_parameters(schema: Any) -> None:
    assert loose(schema) == {"type": "object", "properties": {}}


def test_what_is_required_without_a_schema_is_a_property() -> None:
    copy = loose({"type": "object", "required": ["x"]})
    assert copy == {"type": "object", "required": ["x"], "properties": {"x": {}}}


def test_a_bare_array_gets_items() -> None:
    assert argument({"type": "array"}) == {"type": "array", "items": {}}
    assert argument({"type": ["array", "null"]}) == {"type": ["array", "null"], "items": {}}


def test_a_place_of_a_tuple_that_takes_nothing_keeps_its_place() -> None:
    heads = [{"type": "string"}, False, {"type": "integer"}]
    copy = argument({"type": "array", "prefixItems": heads, "items": False})
    assert copy["prefixItems"] == [{"type": "string"}, {}, {"type": "integer"}]
    assert copy["items"] == {}


def test_spellings_of_older_drafts_become_those_of_2020_12() -> None:
    assert argument({"type": "array", "items": [{"type": "string"}]}) == {
        "type": "array",
        "prefixItems": [{"type": "string"}],
    }
    assert argument({"type": "number", "minimum": 0, "exclusiveMinimum": True}) == {
        "type": "number",
        "exclusiveMinimum": 0,
    }
    assert argument({"type": "number", "minimum": 0, "exclusiveMinimum": False}) == {
        "type": "number",
        "minimum": 0,
    }
    assert argument({"type": "object", "dependencies": {"a": ["b"], "c": {"required": ["d"]}}}) == {
        "type": "object",
        "dependentRequired": {"a": ["b"]},
        "dependentSchemas": {"c": {"required": ["d"]}},
    }


def test_keywords_that_nobody_knows_and_values_of_a_wrong_shape_are_left_out() -> None:
    odd = {"type": "string", "x-header": "X", "minLength": "2", "required": True, "enum": "a"}
    assert argument(odd) == {"type": "string"}


def test_a_title_stays_only_where_no_description_says_more() -> None:
    assert argument({"title": "City"}) == {"title": "City"}
    assert argument({"title": "City", "description": "Of birth"}) == {"description": "Of birth"}


# ---------------------------------------------------------------- long enumerations


@pytest.mark.parametrize(("number", "stays"), [(1, True), (40, True), (41, False), (6_000, False)])
def test_an_enumeration_beyond_forty_values_is_told_in_words(number: int, *, stays: bool) -> None:
    values = [f"v{n}" for n in range(number)]
    copy = argument({"type": "string", "enum": values, "description": "Which"})
    if stays:
        assert copy["enum"] == values
        return
    assert "enum" not in copy
    assert f"One of {number:,} values; the first 40: `v0`, `v1`," in copy["description"]
    assert "`v39`" in copy["description"]
    assert "`v40`" not in copy["description"]


def test_the_whole_enumeration_still_decides() -> None:
    values = [f"v{n}" for n in range(6_000)]
    schema = {"type": "object", "properties": {"it": {"type": "string", "enum": values}}}
    loose(schema)
    assert fits(schema, {"it": "v5999"})
    assert not fits(schema, {"it": "v6000"})


# ---------------------------------------------------------------- alternatives at the root


def test_alternatives_at_the_root_are_merged_and_told() -> None:
    copied = copy_schema(EITHER, ANTHROPIC)
    assert copied.schema == {
        "type": "object",
        "properties": {"content": {"type": "string"}, "url": {"type": "string"}},
    }
    assert copied.notes == (
        "The arguments must be given in at least one of these ways: (1) `content`, (2) `url`",
    )
    assert not fits(EITHER, {})
    assert fits(EITHER, {"url": "x"})


def test_what_all_alternatives_require_is_required() -> None:
    branches = [{"required": ["a", "b"]}, {"required": ["b", "c"]}]
    copied = copy_schema({"type": "object", "oneOf": branches}, LOOSE)
    assert copied.schema["required"] == ["b"]
    assert "exactly one of these ways: (1) `a`, (2) `c`" in copied.notes[0]


def test_parts_that_all_hold_are_merged_without_a_word() -> None:
    parts = [
        {"$ref": "#/$defs/base"},
        {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
    ]
    base = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    copied = copy_schema({"type": "object", "allOf": parts, "$defs": {"base": base}}, LOOSE)
    assert copied.schema == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    }
    assert copied.notes == ()


def test_a_property_that_differs_between_alternatives_may_be_either() -> None:
    branches = [
        {
            "properties": {"kind": {"const": "file"}, "path": {"type": "string"}},
            "required": ["path"],
        },
        {"properties": {"kind": {"const": "web"}, "url": {"type": "string"}}, "required": ["url"]},
    ]
    copied = copy_schema({"type": "object", "oneOf": branches}, LOOSE)
    assert copied.schema["properties"]["kind"] == {"anyOf": [{"const": "file"}, {"const": "web"}]}
    assert "(1) `kind` = `file` with `path`, (2) `kind` = `web` with `url`" in copied.notes[0]


def test_alternatives_inside_alternatives_are_merged_too() -> None:
    inner: dict[str, Any] = {
        "anyOf": [{"properties": {"x": {}}, "required": ["x"]}, {"required": ["y"]}]
    }
    copied = copy_schema({"type": "object", "anyOf": [inner, {"required": ["z"]}]}, LOOSE)
    assert set(copied.schema["properties"]) == {"x"}
    assert len(copied.notes) == 2


RULES: list[tuple[dict[str, Any], str]] = [
    ({"not": {"required": ["a", "b"]}}, "Never give all of these together: `a`, `b`"),
    ({"not": {"type": "object"}}, "Further rules are checked when it is called"),
    ({"dependentRequired": {"a": ["b"]}}, "With `a` it needs `b`"),
    ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, "Further rules are checked"),
    ({"enum": [{}]}, "Further rules are checked"),
]


@pytest.mark.parametrize(
    ("rule", "words"),
    RULES,
    ids=["not required", "not", "dependent", "if", "enum"],
)
def test_rules_of_the_root_are_told(rule: dict[str, Any], words: str) -> None:
    copied = copy_schema({"type": "object", "properties": {"a": {}}, **rule}, LOOSE)
    assert copied.schema == {"type": "object", "properties": {"a": {}}}
    assert copied.notes[0].startswith(words)


def test_alternatives_inside_of_an_argument_stay() -> None:
    union = {"oneOf": [{"type": "string"}, {"type": "integer"}]}
    assert argument(union) == union


# ---------------------------------------------------------------- references


REFERRING: dict[str, Any] = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/definitions/node"}, "gone": {"$ref": "#/$defs/none"}},
    "definitions": {
        "node": {
            "type": "object",
            "properties": {"next": {"$ref": "#/definitions/node"}, "name": {"type": "string"}},
        },
        "unused": {"type": "string"},
    },
}


def test_references_stay_with_the_definitions_that_they_need() -> None:
    copy = loose(REFERRING)
    assert copy["properties"]["tree"] == {"$ref": "#/$defs/node"}
    assert copy["$defs"].keys() == {"node"}
    assert "refers to is not in it" in copy["properties"]["gone"]["description"]


def test_inlined_references_are_cut_in_words_where_they_repeat() -> None:
    copy = copy_schema(REFERRING, INLINED).schema
    tree = copy["properties"]["tree"]
    assert tree["properties"]["name"] == {"type": "string"}
    assert tree["properties"]["next"] == {
        "type": "object",
        "description": "Again of the form of what contains it",
    }
    assert "$defs" not in copy


def test_words_beside_a_reference_hold_for_the_place() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/d", "description": "here"}},
        "$defs": {"d": {"type": "string", "description": "there", "maxLength": 3}},
    }
    assert copy_schema(schema, INLINED).schema["properties"]["a"] == {
        "type": "string",
        "description": "here",
        "maxLength": 3,
    }


def test_references_that_multiply_are_bounded() -> None:
    defs = {
        f"d{n}": {
            "type": "object",
            "properties": {k: {"$ref": f"#/$defs/d{n + 1}"} for k in "abcd"},
        }
        for n in range(30)
    }
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs}
    text = json.dumps(copy_schema(schema, INLINED).schema)
    assert "There is more inside than is shown here" in text
    assert len(text) < 10_000_000


# ---------------------------------------------------------------- names of arguments


def test_names_that_anthropic_refuses_are_replaced_and_known() -> None:
    long = "k" * 70
    schema = {
        "type": "object",
        "properties": {
            "filter[id]": {"type": "string", "description": "Which"},
            "filter(id)": {},
            "filter_id_": {},
            long: {},
        },
        "required": ["filter[id]"],
    }
    copied = copy_schema(schema, ANTHROPIC)
    assert copied.renamed == {
        "filter_id__2": "filter[id]",
        "filter_id__3": "filter(id)",
        "k" * 64: long,
    }
    assert copied.schema["required"] == ["filter_id__2"]
    assert copied.schema["properties"]["filter_id__2"] == {
        "type": "string",
        "description": "Which. Stands for `filter[id]`",
    }
    assert copied.schema["properties"]["filter_id_"] == {}


# ---------------------------------------------------------------- one type for each schema

SC8: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tags": {"type": ["array", "null"], "items": {"type": "string"}},
        "opt": {"type": ["string", "null"]},
        "obj": {"type": "array", "items": {"type": ["object", "null"]}},
    },
}


def subset(schema: Any) -> dict[str, Any]:
    return single_type(copy_schema(schema, INLINED).schema)


def place(schema: Any) -> Any:
    return subset({"type": "object", "properties": {"it": schema}})["properties"]["it"]


def test_lists_of_types_become_one_type_that_may_be_null() -> None:
    before = deepcopy(SC8)
    assert subset(SC8)["properties"] == {
        "tags": {"type": "array", "nullable": True, "items": {"type": "string"}},
        "opt": {"type": "string", "nullable": True},
        "obj": {"type": "array", "items": {"type": "object", "nullable": True}},
    }
    assert before == SC8


@pytest.mark.parametrize(
    ("schema", "copy"),
    [
        (
            {"type": ["string", "integer"], "maxLength": 3, "minimum": 1},
            {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "integer", "minimum": 1}]},
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "D"},
            {"type": "string", "nullable": True, "description": "D"},
        ),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"enum": ["a", None]}, {"type": "string", "nullable": True, "enum": ["a"]}),
        (
            {"type": "integer", "enum": [1, 2]},
            {"type": "integer", "description": "(one of `1`, `2`)"},
        ),
        (
            {"type": "string", "enum": ["a", ""]},
            {"type": "string", "description": "(one of `a`, the empty string)"},
        ),
        (
            {"type": "string", "format": "uri", "default": "x"},
            {"type": "string", "description": "(format `uri`; default `x`)"},
        ),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {
                "type": "object",
                "description": "(any names, each with a value of type string)",
            },
        ),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
        ),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"properties": {"a": True}}, {"type": "object", "properties": {"a": {}}}),
        (
            {"allOf": [{"type": "string", "minLength": 1}, {"maxLength": 5, "minLength": 2}]},
            {"type": "string", "minLength": 2, "maxLength": 5},
        ),
        (
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "number", "description": "(more than `0`)"},
        ),
        ({"type": "null"}, {"nullable": True}),
        ({"title": "T"}, {"description": "T"}),
    ],
    ids=lambda it: json.dumps(it)[:40],
)
def test_what_the_subset_cannot_say_is_told(schema: Any, copy: Any) -> None:
    assert place(schema) == copy


# ---------------------------------------------------------------- whatever it is


@pytest.mark.parametrize("profile", PROFILES, ids=lambda it: it.name)
@given(schema=ROOTS)
def test_a_copy_is_made_of_anything_and_leaves_it_alone(schema: Any, profile: Profile) -> None:
    before = json.dumps(schema)
    copied = copy_schema(schema, profile)
    assert json.dumps(schema) == before
    json.dumps([copied.schema, copied.notes], ensure_ascii=False, allow_nan=False).encode()


def shuffled(value: Any, order: int) -> Any:
    """The same JSON value with the members of its objects in another order."""
    if is_object(value):
        names = sorted(value, key=lambda name: hash((name, order)))
        return {name: shuffled(value[name], order) for name in names}
    return [shuffled(inner, order) for inner in value] if is_array(value) else value


@given(schema=ROOTS, order=st.integers(0, 9))
def test_the_order_of_members_changes_no_byte_of_a_copy(schema: Any, order: int) -> None:
    for profile in PROFILES:
        one, other = copy_schema(schema, profile), copy_schema(shuffled(schema, order), profile)
        assert json.dumps(one.schema) == json.dumps(other.schema)
        assert one.notes == other.notes


ARGUMENTS = st.dictionaries(KEYS, VALUES, max_size=3)


def accepted(schema: Any, arguments: Any) -> bool:
    checker = JsonSchemaChecker(Limits())
    found = checker.check(schema, arguments, mark=json.dumps(schema))
    return not isinstance(found, Unchecked) and found == ()


def widened(schema: Any) -> Any:
    """A schema of the subset as JSON Schema: null where it is nullable."""
    if is_array(schema):
        return [widened(inner) for inner in schema]
    if not is_object(schema):
        return schema
    plain = {key: widened(value) for key, value in schema.items() if key != "nullable"}
    if "anyOf" in schema and any(branch.get("nullable") for branch in schema["anyOf"]):
        return {"anyOf": [plain, {"type": "null"}]}
    return {"anyOf": [plain, {"type": "null"}]} if schema.get("nullable") else plain


@given(schema=PLAIN_ROOTS, arguments=ARGUMENTS)
def test_what_a_tool_takes_its_copies_take(schema: dict[str, Any], arguments: Any) -> None:
    if not accepted(schema, arguments):
        return
    for profile in (LOOSE, INLINED):
        copy = copy_schema(schema, profile).schema
        assert accepted(copy, arguments), (profile.name, copy)
    assert accepted(widened(subset(schema)), arguments), subset(schema)
