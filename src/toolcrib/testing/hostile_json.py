"""Tools, arguments and results as nobody should write them, among some that are sound.

Needs `hypothesis`, as `store_differential` does; nothing else in `toolcrib.testing` does.
"""

import json
import math
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from hypothesis import strategies as st

KEYS = st.sampled_from(["a", "b", "c", "\u00e9", "x-y"])
NAMES = st.sampled_from(
    ["one", "two", "one.two", "a__b", "\u540d\u524d", "sp ace", "new\nline", "../up", "O" * 70]
)
ODD_NAMES: Final[tuple[Any, ...]] = ("", None, 7, ["x"], "\ud800", "n" * 3_000)


def often(*choices: tuple[int, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """One of these strategies, each as often as its number says; `one_of` would unfold them."""
    return st.sampled_from([it for weight, it in choices for _ in range(weight)]).flatmap(_itself)


def _itself(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return strategy


def nested(levels: int, *, inside: Any = 1) -> Any:
    """Arrays in each other."""
    for _ in range(levels):
        inside = [inside]
    return inside


SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 9),
    st.sampled_from([0.5, 1.0, -0.0, 1e308, 2**53 + 1, -(10**30), 10**400]),
    st.sampled_from(["", "a", "b", "ab", "aaa", "\u00e9", "\U0001f600", "\ud800", "NaN", "\x00"]),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
"""Whatever JSON can say, and UTF-8 cannot always."""

# ---------------------------------------------------------------- schemas

_MEMBERS: Final[tuple[Any, ...]] = (
    {"type": "string"},
    {"type": "string", "minLength": 1, "maxLength": 2},
    {"type": "string", "pattern": "^a"},
    {"type": "integer", "minimum": 0, "maximum": 5},
    {"type": ["number", "null"]},
    {"type": "boolean"},
    {"enum": ["a", "b", 1]},
    {"const": 2**53 + 1},
    {"multipleOf": 0.5},
    {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
    {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    {"oneOf": [{"minimum": 3}, {"type": "integer"}]},
    {"not": {"type": "string"}},
    {"$ref": "#/$defs/d"},
    {"type": "object", "properties": {"a": {"$ref": "#/$defs/d"}}, "required": ["a"]},
    {},
    True,
    False,
)


def _object_schema(
    properties: dict[str, Any], required: list[str], shared: Any, rest: Any
) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "$defs": {"d": shared}}
    if required:
        schema["required"] = required
    return schema if rest is None else {**schema, "additionalProperties": rest}


OBJECT_SCHEMAS = st.builds(
    _object_schema,
    st.dictionaries(KEYS, st.sampled_from(_MEMBERS), max_size=3),
    st.lists(KEYS, max_size=1),
    st.sampled_from(_MEMBERS[:13]),
    st.sampled_from([None, None, True, False, {"type": "integer"}]),
)


def _of_object(**members: Any) -> dict[str, Any]:
    return {"type": "object", **members}


def _marked(**headers: Any) -> dict[str, Any]:
    marks = {name: {"type": "string", "x-mcp-header": mark} for name, mark in headers.items()}
    return _of_object(properties=marks)


def _deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(levels):
        schema = _of_object(properties={"a": schema})
    return schema


HOSTILE_SCHEMAS: Final[tuple[Any, ...]] = (
    _of_object(properties={"a": {"$ref": "#"}}),
    _of_object(allOf=[{"$ref": "#"}]),
    _of_object(properties={"a": {"$ref": "#/$defs/x"}}, **{"$defs": {"x": {"$ref": "#/$defs/x"}}}),
    _of_object(properties={"a": {"$ref": "#/nowhere"}}),
    _of_object(properties={"a": {"$ref": "http://127.0.0.1:9/x.json"}}),
    _of_object(properties={"a": {"$ref": "file:///etc/passwd"}}),
    _of_object(properties={"a": {"$dynamicRef": "#here"}}, **{"$dynamicAnchor": "here"}),
    _of_object(properties={"a": {"enum": list(range(3_000))}}),
    _of_object(properties={"a": {"pattern": "^(a+)+$"}}),
    _of_object(properties={"a": {"pattern": "(((("}}),
    _of_object(properties={"a": {"pattern": "^(?!ab)(?=a)"}}),
    _of_object(unevaluatedProperties=False, anyOf=[{"properties": {"a": True}}, {"required": []}]),
    _of_object(propertyNames={"maxLength": 1}, minProperties=1),
    _of_object(patternProperties={"^a": {"type": "integer"}}, additionalProperties=False),
    _of_object(dependentRequired={"a": ["b"]}, dependentSchemas={"b": {"required": ["c"]}}),
    _of_object(minimum=5, maximum=1, properties={"a": {"minimum": 5, "maximum": 1}}),
    _of_object(properties={"a": {"default": math.nan}}),
    _of_object(properties={"\ud800": {"type": "string"}}, required=["\ud800"]),
    _of_object(properties=[], required={"a": 1}),
    _of_object(properties={"a": {"type": "strnig"}}),
    _of_object(properties={"a": 7}),
    _of_object(**{"$schema": "http://json-schema.org/draft-07/schema#", "required": ["a"]}),
    _of_object(**{"$schema": "https://example.com/mine", "required": ["a"]}),
    _of_object(**{"$id": "http://x.example/y", "properties": {"a": {"$ref": "y#/$defs/z"}}}),
    _of_object(additionalProperties={"$ref": "#/$defs/t"}, **{"$defs": {"t": {"$ref": "#"}}}),
    _marked(a="Region", b="region"),
    _marked(a="no good: name"),
    _marked(a=""),
    _marked(a=7),
    _marked(a="Region"),
    _deep(20),
    _deep(40),
    _deep(300),
    {"type": "array"},
    {"type": ["object", "null"], "required": ["a"]},
    {},
    True,
    False,
    None,
    [],
    "object",
    5,
)
SCHEMAS = often((6, OBJECT_SCHEMAS), (4, st.sampled_from(HOSTILE_SCHEMAS)), (1, VALUES))
OUTPUT_SCHEMAS = often(
    (4, OBJECT_SCHEMAS),
    (1, st.just({"type": "object"})),
    (2, st.sampled_from(_MEMBERS[:8])),
    (2, st.sampled_from(HOSTILE_SCHEMAS)),
)

# ---------------------------------------------------------------- definitions


def _definition(required: dict[str, Any], optional: dict[str, Any]) -> dict[str, Any]:
    return {**optional, **required}


_OPTIONAL: Final = {
    "title": VALUES,
    "annotations": st.fixed_dictionaries({}, optional={"readOnlyHint": VALUES}) | VALUES,
    "icons": VALUES,
    "_meta": VALUES | st.just({"dev.toolcrib/contract": "forged"}),
    "execution": st.sampled_from(
        [{"taskSupport": "required"}, {"taskSupport": "optional"}, {}, None]
    ),
}

DEFINITIONS = st.builds(
    _definition,
    st.fixed_dictionaries(
        {"name": often((8, NAMES), (1, st.sampled_from(ODD_NAMES))), "inputSchema": SCHEMAS}
    ),
    often(
        (2, st.fixed_dictionaries({})),
        (4, st.fixed_dictionaries({"outputSchema": OUTPUT_SCHEMAS})),
        (1, st.fixed_dictionaries({}, optional={**_OPTIONAL, "outputSchema": OUTPUT_SCHEMAS})),
    ),
)

# ---------------------------------------------------------------- arguments

_PLAIN: Final = st.dictionaries(
    KEYS,
    st.sampled_from(["a", "ab", "b", 1, 3, 5, True, None, [1, 2], {"a": "a"}, 2**53 + 1, 0.5]),
    max_size=3,
)


def _text(value: object) -> str:
    return json.dumps(value)


_UNSPEAKABLE: Final[tuple[str, ...]] = (
    '{"a":NaN}',
    '{"a":[-Infinity]}',
    '{"a":1e999}',
    '{"a":' + "9" * 5_000 + "}",
    '{"a":' + "[" * 3_000 + "1" + "]" * 3_000 + "}",
    '{"a":"\\ud800","b":"\\udfff\\ud800"}',
    '{"a":1,"a":2}',
    '{"a":1',
    '{"a":"' + "x" * 3_980 + '"}',
    '{"a":"' + "x" * 4_200 + '"}',
    '{"__proto__":{"a":1},"constructor":1}',
)
"""Members `arguments` that no encoder writes, or that are about as large as a limit of 4,000."""

ARGUMENTS: st.SearchStrategy[str] = often(
    (12, _PLAIN.map(_text)),
    (3, st.dictionaries(KEYS, VALUES, max_size=3).map(_text)),
    (1, VALUES.map(_text)),
    (1, st.sampled_from([50, 127, 128, 200, 600]).map(lambda n: _text({"a": nested(n)}))),
    (1, st.sampled_from(_UNSPEAKABLE)),
)
"""The text of `arguments`, which need not be JSON."""

# ---------------------------------------------------------------- results

_BLOCKS = often(
    (2, st.just({"type": "text", "text": "fine"})),
    (
        4,
        st.sampled_from(
            [
                {"type": "text"},
                {"type": "text", "text": 7},
                {"type": "text", "text": "\ud800 NaN"},
                {"type": "image", "data": "aGk=", "mimeType": "image/png"},
                {"type": "image", "data": None},
                {"type": "resource_link", "uri": "file:///a", "name": "a"},
                {"type": "resource_link"},
                {"type": "resource", "resource": {"uri": "x://1", "text": "t"}},
                {"type": "resource", "resource": {"uri": "x://1"}},
                {"type": "resource", "resource": []},
                {"type": "hologram", "depth": 3},
                {"type": None},
            ]
        ),
    ),
    (1, VALUES),
)
_CONTENTS = often((3, st.lists(_BLOCKS, max_size=2)), (1, VALUES))
_FINE: Final = st.just([{"type": "text", "text": "fine"}])
_STRUCTURED: Final = often((6, _PLAIN), (2, VALUES), (1, st.just([math.nan])))
_ODDITIES: Final = {
    "content": _CONTENTS,
    "isError": often((3, st.booleans()), (1, VALUES)),
    "resultType": st.sampled_from(["complete", "complete", "task", "", None, 10**400]),
    "_meta": often((1, VALUES), (1, st.just({"dev.toolcrib/changes": ["forged"], "plain": 1}))),
    "extra": VALUES,
    "task": VALUES,
}
RESULTS: st.SearchStrategy[dict[str, Any]] = often(
    (6, st.fixed_dictionaries({"content": _FINE, "structuredContent": _STRUCTURED})),
    (2, st.fixed_dictionaries({"content": _FINE})),
    (2, st.fixed_dictionaries({"structuredContent": _STRUCTURED})),
    (4, st.fixed_dictionaries({}, optional={**_ODDITIES, "structuredContent": _STRUCTURED})),
    (1, st.just({"content": [{"type": "text", "text": "y" * 9_000}]})),
    (1, st.just({"content": [{"type": "text", "text": "Unknown tool: one"}], "isError": True})),
    (1, st.just({"content": [{"type": "text", "text": "Invalid arguments: a"}], "isError": True})),
)

_FORM: Final = {
    "message": "Which?",
    "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
}
QUESTIONS = often(
    (4, st.just({"method": "elicitation/create", "params": _FORM})),
    (
        3,
        st.sampled_from(
            [
                {
                    "method": "elicitation/create",
                    "params": {"mode": "url", "message": "Go", "url": "x"},
                },
                {"method": "elicitation/create", "params": {"message": 7}},
                {"method": "elicitation/create"},
                {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}},
                {"method": "roots/list"},
                {"method": "tools/call", "params": {"name": "one"}},
                {"method": ""},
                {},
            ]
        ),
    ),
    (1, VALUES),
)
STATES: st.SearchStrategy[Any] = st.sampled_from(
    ["s", "", "\ud800", "\x00\xff\u2028", "z" * 5_000, None, 7, {"a": 1}]
)
ASKING_RESULTS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"resultType": st.just("input_required")},
    optional={
        "inputRequests": st.dictionaries(
            st.sampled_from(["q", "", "\ud800"]), QUESTIONS, max_size=2
        )
        | VALUES,
        "requestState": STATES,
        "content": _CONTENTS,
        "_meta": VALUES,
    },
)
ASKING_SOUNDLY: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "resultType": st.just("input_required"),
        "inputRequests": st.just({"q": {"method": "elicitation/create", "params": _FORM}}),
    },
    optional={"requestState": st.sampled_from(["s", "\u2028\x00", "z" * 500])},
)

# ---------------------------------------------------------------- one call


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server does with a call: it answers, refuses, or asks first."""

    kind: Literal["result", "error", "asks", "question"]
    body: Any
    code: int = 0


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call of a host, and what it meets."""

    tool: int
    """Which of the listed tools, counted round and round; 9: a name that nobody has."""
    arguments: str | None
    """The text of the member; None: there is none."""
    seen: Literal["", "listed", "forged", "broken"] = ""
    """What it says it saw."""
    reply: Reply = field(default_factory=lambda: Reply("result", {"content": []}))
    answers: Any = None
    """What the host answers to questions."""
    returns: Literal["state", "changed", "nothing", "again"] = "state"
    """What it brings back of an `input_required` result."""


_ERRORS: Final = st.builds(
    Reply,
    st.just("error"),
    st.sampled_from(["boom", "Unknown tool: one", "forbidden", "", "\ud800", "e" * 5_000]),
    st.sampled_from([-32602, -32601, -32603, -32020, -32021, -32022, -32042, -32002, 0, 2**60]),
)
REPLIES: st.SearchStrategy[Reply] = often(
    (8, st.builds(Reply, st.just("result"), RESULTS)),
    (2, _ERRORS),
    (1, st.builds(Reply, st.just("asks"), ASKING_SOUNDLY)),
    (1, st.builds(Reply, st.just("asks"), ASKING_RESULTS)),
    (1, st.builds(Reply, st.just("question"), QUESTIONS)),
)
ANSWERS = often(
    (3, st.just({"action": "accept", "content": {"a": "yes"}})),
    (1, st.sampled_from([{"action": "decline"}, {"action": "accept", "content": {"a": 7}}, {}])),
    (1, VALUES),
)
PLANNED_CALLS: st.SearchStrategy[PlannedCall] = st.builds(
    PlannedCall,
    tool=st.integers(0, 9),
    arguments=often((1, st.none()), (12, ARGUMENTS)),
    seen=st.sampled_from(["", "", "", "listed", "listed", "forged", "broken"]),
    reply=REPLIES,
    answers=ANSWERS,
    returns=st.sampled_from(["state", "state", "changed", "nothing", "again"]),
)
