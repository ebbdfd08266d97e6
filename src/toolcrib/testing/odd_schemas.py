"""Input schemas as servers really write them, and as nobody should: for copies of schemas.

Needs `hypothesis`, as `hostile_json` does. Every generated value is JSON; most are schemas of draft
2020-12, some are of older drafts or of none.
"""

from typing import Any, Final

from hypothesis import strategies as st

from toolcrib.testing.hostile_json import HOSTILE_SCHEMAS, KEYS, VALUES, often

ODD_KEYS: Final = st.sampled_from(
    [
        "filter[id]",
        "$expand",
        "a b",
        "",
        "k" * 70,
        "\u540d\u524d",
        "filter(id)",
        "\ud800",
        "a.b-c_d",
    ]
)
_LONG: Final = [f"v{number}" for number in range(90)]

SCALARS: st.SearchStrategy[Any] = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "format": "uri", "minLength": 1, "default": "x"},
        {"type": "string", "format": "date-time"},
        {"type": "string", "enum": ["a", "b", ""]},
        {"enum": ["a", 1, None]},
        {"enum": _LONG},
        {"type": ["string", "null"], "enum": ["a", None]},
        {"const": "a"},
        {"type": "integer", "minimum": 0, "exclusiveMaximum": 9, "format": "int32"},
        {"type": "integer", "enum": [1, 2, 3]},
        {"type": "number", "exclusiveMinimum": True, "minimum": 0},
        {"type": "boolean", "description": "Whether \ud800 it is"},
        {"type": ["integer", "string", "null"], "maxLength": 3},
        {"type": "null"},
        {"title": "Any"},
        {"minLength": 2},
        {"$ref": "#/$defs/d"},
        {"$ref": "#/$defs/d", "description": "One of them"},
        {"$ref": "#/properties/a"},
        {"$ref": "#/$defs/gone"},
        {"$ref": "https://example.org/s.json"},
        {"$ref": "#"},
        {},
        True,
        False,
    ]
)


def _itself(it: Any) -> st.SearchStrategy[Any]:
    return it if isinstance(it, st.SearchStrategy) else st.just(it)  # pyright: ignore[reportUnknownVariableType] - of whatever


def _of(**members: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with these members, each a value or a strategy."""
    found: dict[str, st.SearchStrategy[Any]] = {}
    for name, it in members.items():
        found[name.rstrip("_")] = _itself(it)
    return st.fixed_dictionaries(found)


def _array(items: Any, kind: Any) -> dict[str, Any]:
    return {"type": kind, **({} if items is None else {"items": items})}


def _object(properties: dict[str, Any], required: list[str], rest: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return schema if rest is None else {**schema, "additionalProperties": rest}


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    listed = st.lists(inner, min_size=1, max_size=3)
    return often(
        (3, st.builds(_array, st.none() | inner, st.sampled_from(["array", ["array", "null"]]))),
        (1, _of(type="array", prefixItems=listed)),
        (1, _of(type="array", items=listed)),
        (
            4,
            st.builds(
                _object,
                st.dictionaries(KEYS, inner, max_size=3),
                st.lists(KEYS, max_size=2),
                st.none() | st.sampled_from([True, False]) | inner,
            ),
        ),
        (2, _of(anyOf=listed)),
        (1, _of(oneOf=listed, description="Either")),
        (1, _of(allOf=listed)),
        (1, _of(not_=inner, type="string")),
        (1, _of(if_=inner, then=inner, type="object")),
    )


SCHEMAS: st.SearchStrategy[Any] = st.recursive(SCALARS, _grown, max_leaves=8)
"""Schemas at any place inside of one."""

_BRANCHES: Final = st.lists(
    st.builds(
        _object,
        st.dictionaries(KEYS, SCALARS, max_size=2),
        st.lists(KEYS, max_size=1),
        st.none(),
    ),
    min_size=1,
    max_size=3,
)


def _root(members: dict[str, Any], unions: dict[str, Any], defined: Any) -> dict[str, Any]:
    return {**members, **unions, "$defs": {"d": defined}}


PLAIN_ROOTS: st.SearchStrategy[dict[str, Any]] = st.builds(
    _root,
    st.builds(
        _object,
        st.dictionaries(KEYS | ODD_KEYS, SCHEMAS, max_size=4),
        st.lists(KEYS | ODD_KEYS, max_size=2),
        st.sampled_from([None, None, True, False, {"type": "string"}]),
    ),
    st.just({}),
    SCHEMAS,
)
"""Roots of input schemas without alternatives."""

ROOTS: st.SearchStrategy[Any] = often(
    (6, PLAIN_ROOTS),
    (
        4,
        st.builds(
            _root,
            st.builds(_object, st.dictionaries(KEYS, SCHEMAS, max_size=2), st.just([]), st.none()),
            st.dictionaries(st.sampled_from(["anyOf", "oneOf", "allOf"]), _BRANCHES, min_size=1)
            | _of(not_=SCHEMAS)
            | _of(if_=SCHEMAS, then=SCHEMAS)
            | _of(dependentRequired={"a": ["b"]})
            | _of(dependentSchemas=st.dictionaries(KEYS, SCHEMAS, min_size=2, max_size=3)),
            SCHEMAS,
        ),
    ),
    (1, st.sampled_from(HOSTILE_SCHEMAS)),
    (1, st.dictionaries(st.sampled_from(["type", "properties", "required", "anyOf"]), VALUES)),
    (1, VALUES),
)
"""What stands as `inputSchema`, whatever it is."""

NAMES: st.SearchStrategy[str] = st.sampled_from(
    [
        "github__create_issue",
        "x",
        "3d",
        "a.b",
        "\u540d\u524d",
        "sp ace",
        "n" * 90,
        "-",
        "\ud800",
        "",
    ]
)
DEFINITIONS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"name": NAMES, "inputSchema": ROOTS},
    optional={
        "description": st.sampled_from(["Does it.", "", "\ud800", "long " * 500, "a\n\nb"]),
        "title": st.sampled_from(["A title", ""]),
        "outputSchema": ROOTS,
        "annotations": st.just({"readOnlyHint": True, "title": "t"}),
    },
)
"""Whole definitions of tools."""
