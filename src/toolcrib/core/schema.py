"""Where a JSON Schema holds schemas, and where it holds data that only looks like one.

Everything that reads schemas shares this map: the contract drops words at schema positions, the
quarantine checks shapes there, the diff and the header rules walk along them. The keywords are
those of draft 2020-12 with the ones it took over or renamed (`definitions`, `dependencies`,
`additionalItems`, arrays of `items`). Unknown keywords hold data.
"""

from collections.abc import Iterator

from toolcrib.core.jsontypes import JsonObject, is_array, is_object

Path = tuple[str, ...]
"""Keywords, property names and indexes from the root of a schema to a place in it."""

ONE = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
"""Keywords whose value is a schema; `items` was an array of them up to draft 2019-09."""

LISTED = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
"""Keywords whose value is an array of schemas."""

NAMED = frozenset(
    {
        "$defs",
        "definitions",
        "dependencies",
        "dependentSchemas",
        "patternProperties",
        "properties",
    }
)
"""Keywords whose value maps names to schemas; `dependencies` may map to arrays of names, too."""

KEYWORDS_WITH_SCHEMAS = ONE | LISTED | NAMED


def subschemas(schema: JsonObject) -> Iterator[tuple[Path, object]]:
    """What stands at each schema position directly below this one, whatever it is."""
    for keyword, value in schema.items():
        if keyword not in KEYWORDS_WITH_SCHEMAS:
            continue
        if keyword in NAMED:
            if is_object(value):
                yield from (((keyword, name), inner) for name, inner in value.items())
        elif keyword in LISTED and is_array(value):
            yield from (((keyword, str(index)), inner) for index, inner in enumerate(value))
        elif keyword in ONE:
            yield (keyword,), value


def positions(root: object) -> Iterator[tuple[Path, JsonObject]]:
    """Every object schema inside a schema, with its path, the root first; follows no `$ref`."""
    stack: list[tuple[Path, object]] = [((), root)]
    while stack:
        path, node = stack.pop()
        if is_object(node):
            yield path, node
            stack += reversed([(path + step, inner) for step, inner in subschemas(node)])


def shown(path: Path) -> str:
    """A path as one short word for a sentence, such as `properties.unit.enum`."""
    text = ".".join(path)
    return text if len(text) <= 120 else f"{text[:58]}…{text[-58:]}"  # noqa: PLR2004 - a line
