"""Whether a JSON Schema is one: the shapes of its keywords, as its own meta-schema asks for them.

One schema that breaks its meta-schema makes model APIs refuse every tool of a request, so such a
tool is kept out before anybody sees it. This is the structural part of the 2020-12 meta-schema,
with the two relaxations that older declared drafts need (arrays of `items`, boolean
`exclusiveMaximum`); it reads no regular expression and resolves no reference.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from toolcrib.core.jsontypes import (
    JsonObject,
    described,
    is_array,
    is_integer,
    is_number,
    is_object,
)
from toolcrib.core.quoting import literal
from toolcrib.core.schema import LISTED, NAMED, Path, shown, subschemas

_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_DIALECT = re.compile(
    r"https?://json-schema\.org/(?:schema|draft-0[467]/schema|draft/20(?:19-09|20-12)/schema)#?"
)
_ANCHOR = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*")


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """The first place where a schema is none."""

    path: Path
    """Where, from the root of the schema."""
    problem: str
    """What is wrong there, in words that follow `properties.unit.type`."""

    def __str__(self) -> str:
        return f"{shown(self.path)} {self.problem}" if self.path else f"it {self.problem}"


def schema_fault(schema: object) -> SchemaFault | None:
    """The first fault of a schema in the order written; None where its structure is sound."""
    dialect = schema.get("$schema") if is_object(schema) else None
    shapes = _shapes_of(dialect if isinstance(dialect, str) else "")
    stack: list[tuple[Path, object]] = [((), schema)]
    while stack:
        path, node = stack.pop()
        if isinstance(node, bool):
            continue
        if not is_object(node):
            return SchemaFault(
                path, f"is {described(node)}, but a schema is an object or a boolean"
            )
        fault = _keyword_fault(path, node, shapes)
        if fault is not None:
            return fault
        inner = [
            (path + step, value) for step, value in subschemas(node) if not _is_names(step, value)
        ]
        stack += reversed(inner)
    return None


def is_known_dialect(schema: object) -> bool:
    """Whether the root declares no dialect, or one of drafts 4, 6, 7, 2019-09 and 2020-12."""
    dialect = schema.get("$schema") if is_object(schema) else None
    return dialect is None or (isinstance(dialect, str) and bool(_DIALECT.fullmatch(dialect)))


Shape = Callable[[object], str | None]
"""Says what is wrong with the value of a keyword, or None."""


def _keyword_fault(path: Path, node: JsonObject, shapes: Mapping[str, Shape]) -> SchemaFault | None:
    for keyword, value in node.items():
        shape = shapes.get(keyword)
        problem = None if shape is None else shape(value)
        if problem is not None:
            return SchemaFault((*path, keyword), problem)
    return None


def _is_names(step: Path, value: object) -> bool:
    """Whether this is the array form of a dependency, which holds names and no schema."""
    return step[0] == "dependencies" and is_array(value)


def _a(kind: str) -> Shape:
    def check(value: object) -> str | None:
        found = described(value)
        return None if found == kind else f"is {found}, but must be {kind}"

    return check


def _matching(pattern: re.Pattern[str], meaning: str) -> Shape:
    def check(value: object) -> str | None:
        if isinstance(value, str) and pattern.fullmatch(value):
            return None
        return f"is {literal(value)}, but must be {meaning}"

    return check


def _count(value: object) -> str | None:
    if is_integer(value) and value >= 0:
        return None
    return f"is {literal(value)}, but must be a whole number from 0"


def _positive(value: object) -> str | None:
    return None if is_number(value) and value > 0 else f"is {literal(value)}, but must be above 0"


def _type(value: object) -> str | None:
    if isinstance(value, str) and value in _TYPES:
        return None
    names = value if is_array(value) else [value]
    unknown = [name for name in names if name not in _TYPES]
    if unknown:
        return f"is {literal(unknown[0])}, but must be one of {', '.join(_TYPES)}"
    return _distinct(names) if names else "is an empty array"


def _names(value: object) -> str | None:
    if not is_array(value):
        return f"is {described(value)}, but must be an array of names"
    strangers = [name for name in value if not isinstance(name, str)]
    if strangers:
        return f"holds {described(strangers[0])}, but must be an array of names"
    return _distinct(value)


def _distinct(names: Sequence[object]) -> str | None:
    return None if len(set(names)) == len(names) else "says the same name twice"


def _names_by_name(value: object) -> str | None:
    if not is_object(value):
        return f"is {described(value)}, but must be an object"
    return next(filter(None, map(_names, value.values())), None)


def _dependencies(value: object) -> str | None:
    if not is_object(value):
        return f"is {described(value)}, but must be an object"
    return _names_by_name({name: inner for name, inner in value.items() if is_array(inner)})


def _schemas(value: object) -> str | None:
    if is_array(value) and value:
        return None
    return f"is {literal(value)}, but must be an array of at least one schema"


def _named_schemas(value: object) -> str | None:
    if is_object(value):
        return None
    return f"is {described(value)}, but must be an object that maps names to schemas"


def _one_schema(value: object) -> str | None:
    if is_array(value):
        return "is an array, but must be one schema (an array of them is `prefixItems` in 2020-12)"
    return None


def _schema_or_schemas(value: object) -> str | None:
    return "is an empty array" if value == [] else None


def _number_or_boolean(value: object) -> str | None:
    return None if isinstance(value, bool) else _a("a number")(value)


def _booleans(value: object) -> str | None:
    if is_object(value) and all(isinstance(inner, bool) for inner in value.values()):
        return None
    return f"is {literal(value)}, but must map names to booleans"


_ANCHOR_SHAPE = _matching(_ANCHOR, "a plain name")

_SHAPES: dict[str, Shape] = {
    **dict.fromkeys(
        ("$comment", "$ref", "$dynamicRef", "$schema", "description", "title"), _a("a string")
    ),
    **dict.fromkeys(("contentEncoding", "contentMediaType", "format", "pattern"), _a("a string")),
    **dict.fromkeys(("deprecated", "readOnly", "uniqueItems", "writeOnly"), _a("a boolean")),
    **dict.fromkeys(("enum", "examples"), _a("an array")),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"), _a("a number")),
    **dict.fromkeys(("maxContains", "maxItems", "maxLength", "maxProperties"), _count),
    **dict.fromkeys(("minContains", "minItems", "minLength", "minProperties"), _count),
    **dict.fromkeys(LISTED, _schemas),
    **dict.fromkeys(NAMED, _named_schemas),
    "$anchor": _ANCHOR_SHAPE,
    "$dynamicAnchor": _ANCHOR_SHAPE,
    "$id": _matching(re.compile(r"[^#]*#?"), "a URI without a fragment"),
    "$vocabulary": _booleans,
    "dependencies": _dependencies,
    "dependentRequired": _names_by_name,
    "items": _one_schema,
    "multipleOf": _positive,
    "required": _names,
    "type": _type,
}

_SHAPES_TO_2019 = {**_SHAPES, "items": _schema_or_schemas}
_SHAPES_TO_7 = {**_SHAPES_TO_2019, "$id": _a("a string")}
_SHAPES_OF_4 = {
    **_SHAPES_TO_7,
    "exclusiveMaximum": _number_or_boolean,
    "exclusiveMinimum": _number_or_boolean,
}


def _shapes_of(dialect: str) -> Mapping[str, Shape]:
    """The shapes of a declared dialect; of 2020-12 where none or an unknown one is declared."""
    if "draft-04" in dialect:
        return _SHAPES_OF_4
    if "draft-0" in dialect:
        return _SHAPES_TO_7
    return _SHAPES_TO_2019 if "draft/2019-09" in dialect else _SHAPES
