"""Generated schemas and values: two judges agree, reasons are right, and nothing ever raises."""

from collections import Counter
from itertools import count
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.adapters.schema import JsonSchemaChecker
from toolcrib.ports import SchemaFault, Unchecked
from toolcrib.settings import Limits

MARKS = count()
JUDGE: Any = jsonschema.Draft202012Validator
CHECKER = JsonSchemaChecker(Limits(schema_work=2_000))
"""The other judge takes far longer for each step; what would take many is left out early."""

SEEN: Counter[str] = Counter()

often = settings(max_examples=200)

# ---------------------------------------------------------------- what is generated

KEYS = st.sampled_from(["a", "b", "c", "aa"])
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 6),
    st.sampled_from([0.0, 1.0, 1.5, -2.25, 10**20, 2**53 + 1]),
    st.sampled_from(["", "a", "b", "ab", "aaa", "xyz", "\u00e9", "\U0001f600"]),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
TYPES = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])


SMALL = st.integers(0, 3)
NAMES = st.lists(KEYS, max_size=2, unique=True)


def some_of(members: dict[str, st.SearchStrategy[Any]], most: int) -> st.SearchStrategy[Any]:
    """Objects with a few of these members."""
    pairs = [st.tuples(st.just(name), value) for name, value in members.items()]
    return st.lists(st.one_of(pairs), max_size=most).map(dict)


LEAVES = some_of(
    {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=4),
        "const": VALUES,
        "minimum": st.integers(-2, 4),
        "exclusiveMinimum": st.integers(-2, 4),
        "maximum": st.sampled_from([-1, 0, 2.5, 10**20]),
        "exclusiveMaximum": st.integers(-2, 4),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "minLength": SMALL,
        "maxLength": SMALL,
        "pattern": st.sampled_from(["^a", "b$", "^[ab]+$", "^.{2}$", "^(?!a)", "x|y"]),
        "minItems": SMALL,
        "maxItems": SMALL,
        "uniqueItems": st.booleans(),
        "minProperties": SMALL,
        "maxProperties": SMALL,
        "required": NAMES,
        "dependentRequired": st.dictionaries(KEYS, NAMES, max_size=2),
    },
    3,
)


def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(KEYS, inner, max_size=3)
    return some_of(
        {
            "type": TYPES,
            "required": NAMES,
            "properties": named,
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$"]), inner, max_size=2),
            "additionalProperties": inner,
            "propertyNames": inner,
            "items": inner,
            "prefixItems": several,
            "contains": inner,
            "minContains": SMALL,
            "maxContains": SMALL,
            "allOf": several,
            "anyOf": several,
            "oneOf": several,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "dependentSchemas": named,
        },
        4,
    )


SCHEMAS = st.recursive(st.booleans() | LEAVES, around, max_leaves=8)


DEFINITIONS = ("d0", "d1", "d2")
PARTS = st.recursive(
    st.sampled_from([{"$ref": f"#/$defs/{name}"} for name in DEFINITIONS]) | LEAVES,
    around,
    max_leaves=4,
)


def referring(root: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    return {**root, "$defs": definitions}


REFERRING = st.builds(
    referring,
    around(PARTS),
    st.fixed_dictionaries(dict.fromkeys(DEFINITIONS, PARTS)),
)
"""Schemas whose parts refer to each other, and some to themselves."""


def found_in(schema: object, value: object) -> tuple[SchemaFault, ...] | Unchecked:
    found = CHECKER.check(schema, value, mark=str(next(MARKS)))
    if isinstance(found, Unchecked):
        SEEN["unchecked"] += 1
    else:
        SEEN["refused" if found else "accepted"] += 1
        assert len(found) <= 8
        for fault in found:
            assert (fault.where + fault.what).encode()
            assert len(fault.where) <= 200
            assert 0 < len(fault.what) <= 800
    return found


def places(error: jsonschema.ValidationError) -> set[str]:
    """Where an error of the other judge stands, and where those stand that lead to it."""
    place = ""
    for step in error.absolute_path:
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else step
    inner = (places(one) for one in error.context or ())
    return {place}.union(*inner)


def covers(places_found: set[str], where: str) -> bool:
    """Whether the other judge found a fault there, or in the object whose key is meant."""
    return where in places_found or where.rpartition(".")[0] in places_found


# ---------------------------------------------------------------- agreement


@often
@given(schema=SCHEMAS, value=VALUES)
def judged(schema: Any, value: Any) -> None:
    judge = JUDGE(schema)
    found = found_in(schema, value)
    if isinstance(found, Unchecked):
        assert "schema_work" in found.reason
        return
    assert (not found) == judge.is_valid(value)
    if found and not found[0].what.startswith("breaks a rule"):
        theirs = set[str]().union(*map(places, judge.iter_errors(value)))
        for fault in found:
            assert covers(theirs, fault.where), (fault, theirs)


@pytest.mark.hypothesis
def test_two_judges_agree_and_reasons_stand_where_the_other_finds_them() -> None:
    SEEN.clear()
    judged()
    assert min(SEEN["accepted"], SEEN["refused"]) > 20, SEEN


@often
@given(schema=REFERRING, value=VALUES)
def test_two_judges_agree_about_references(schema: dict[str, Any], value: Any) -> None:
    found = found_in(schema, value)
    if isinstance(found, Unchecked):
        assert "applies itself" in found.reason or "schema_work" in found.reason
    else:
        assert (not found) == JUDGE(schema).is_valid(value)


# ---------------------------------------------------------------- anything at all

TEXTS = st.text(st.characters(codec=None), max_size=8)
STRANGE: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        TEXTS,
        st.sampled_from([10**400, -(10**4_290), 1e308, 5e-324, "\ud800", "\udfff\ud800", b"x", 1j]),
    ),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(TEXTS, inner, max_size=5)
        | st.dictionaries(st.integers() | st.none() | TEXTS, inner, max_size=2)
    ),
    max_leaves=20,
)
KEYWORDS = st.sampled_from(
    [
        "$anchor",
        "$dynamicAnchor",
        "$dynamicRef",
        "$id",
        "$recursiveRef",
        "$ref",
        "additionalItems",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "contains",
        "contentMediaType",
        "definitions",
        "dependencies",
        "enum",
        "format",
        "id",
        "if",
        "items",
        "maxLength",
        "maximum",
        "minContains",
        "multipleOf",
        "not",
        "oneOf",
        "pattern",
        "patternProperties",
        "prefixItems",
        "properties",
        "propertyNames",
        "required",
        "then",
        "type",
        "unevaluatedItems",
        "unevaluatedProperties",
        "uniqueItems",
    ]
)
DIALECTS = st.sampled_from(
    [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
        "urn:unknown",
    ]
)
REFERENCES = st.sampled_from(
    [
        "#",
        "#/",
        "#/not",
        "#/$defs/a",
        "a",
        "urn:a",
        "http://[",
        "#a",
        "http://127.0.0.1:9/x",
        "\ud800",
    ]
)
WILD = st.recursive(
    st.booleans() | LEAVES | STRANGE | st.fixed_dictionaries({"$ref": REFERENCES}),
    lambda inner: (
        st.dictionaries(KEYWORDS, inner | st.lists(inner, max_size=3) | REFERENCES, max_size=5)
        | st.lists(inner, max_size=3)
    ),
    max_leaves=15,
)


@often
@given(schema=WILD, value=STRANGE)
def checked(schema: Any, value: Any) -> None:
    found_in(schema, value)


@pytest.mark.hypothesis
def test_no_schema_and_no_value_makes_a_check_raise() -> None:
    SEEN.clear()
    checked()
    assert min(SEEN["accepted"], SEEN["refused"], SEEN["unchecked"]) > 10, SEEN


@often
@given(dialect=DIALECTS, schema=around(SCHEMAS), extra=WILD, value=VALUES | STRANGE)
def test_no_schema_of_any_dialect_makes_a_check_raise(
    dialect: str, schema: dict[str, Any], extra: Any, value: Any
) -> None:
    found_in({**schema, "$schema": dialect, "x": extra, "not": {"enum": [value]}}, value)


@often
@given(pattern=st.text("ab()[]{}?*+|^$\\.,123-=!<>:kpLdwsb", max_size=14), text=TEXTS)
def test_no_pattern_makes_a_check_raise(pattern: str, text: str) -> None:
    found_in({"pattern": pattern}, text)
    found_in({"patternProperties": {pattern: {"type": "null"}}}, {text: 1})
