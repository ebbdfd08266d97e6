"""Single places of two schemas, compared in words: types, listed values, plain bounds."""

from collections.abc import Iterator, Mapping

from toolcrib.core.canonical import canonical
from toolcrib.core.fingerprint import wordless
from toolcrib.core.jsontypes import JsonObject, is_array, is_object
from toolcrib.core.quoting import clipped, enumerated, literal

_BOUNDS: Mapping[str, str] = {
    "default": "default",
    "exclusiveMaximum": "exclusive maximum",
    "exclusiveMinimum": "exclusive minimum",
    "format": "format",
    "maxItems": "most items",
    "maxLength": "greatest length",
    "maximum": "maximum",
    "minItems": "fewest items",
    "minLength": "least length",
    "minimum": "minimum",
    "multipleOf": "multiple of",
    "pattern": "pattern",
    "uniqueItems": "unique items",
}
"""Keywords with one plain value, and how sentences call them."""

TOLD = frozenset({*_BOUNDS, "const", "enum", "type"})
"""Keywords whose change the sentences of this module tell."""


def same(old: object, new: object) -> bool:
    """Whether two schemas or values mean the same as JSON, words aside."""
    return canonical(wordless(old)) == canonical(wordless(new))


def types_of(schema: JsonObject) -> frozenset[str] | None:
    """The types a schema names, in no order; None where it names none."""
    kind = schema.get("type")
    if kind is None:
        return None
    return frozenset(map(str, kind if is_array(kind) else [kind]))


def typed(schema: object) -> str:
    """The type of a schema in a few words."""
    if not is_object(schema):
        return "nothing" if schema is False else "any type"
    kind = schema.get("type")
    if is_array(kind):
        return " or ".join(clipped(str(name)) for name in kind)
    if isinstance(kind, str):
        return clipped(kind)
    values = _listed(schema)
    return f"one of {enumerated(map(literal, values), 100)}" if values else "any type"


def values_changed(name: str, old: JsonObject, new: JsonObject) -> Iterator[str]:
    """Sentences on the listed values and plain bounds of one place called `name`."""
    was, now = _listed(old), _listed(new)
    if was is not None and now is not None:
        yield from _listing_changed(name, was, now)
    elif now is not None:
        yield f"{name} accepts only {enumerated(map(literal, now)) or 'nothing'}"
    elif was is not None:
        yield f"{name} is no longer limited to listed values"
    yield from _bounds_changed(name, old, new)


def _bounds_changed(name: str, old: JsonObject, new: JsonObject) -> Iterator[str]:
    for key, word in _BOUNDS.items():
        if key not in new:
            if key in old:
                yield f"{name}: no {word} any more, was {literal(old[key])}"
        elif key not in old:
            yield f"{name}: {word} {literal(new[key])}, was not set"
        elif not same([old[key]], [new[key]]):
            yield f"{name}: {word} {literal(new[key])}, was {literal(old[key])}"


def _listed(schema: JsonObject) -> list[object] | None:
    """The values a schema lists, or None where it lists none."""
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return list(values) if is_array(values) else None


def _listing_changed(name: str, was: list[object], now: list[object]) -> Iterator[str]:
    old, new = ({canonical(value): value for value in values} for values in (was, now))
    gone = [literal(value) for key, value in old.items() if key not in new]
    come = [literal(value) for key, value in new.items() if key not in old]
    if gone:
        left = enumerated(map(literal, now)) or "nothing"
        yield f"{name} no longer accepts {enumerated(gone, 120)} (allowed: {left})"
    if come:
        yield f"{name} also accepts {enumerated(come, 200)}"
