"""The parameters of a tool on part of a line: `(city: string, days?: integer)`.

It is for choosing among tools and for simple calls. Names and listed values are the server's, so
they are quoted where they are odd; types are words of JSON Schema only.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

from toolcrib.calls.results.encoding import encode
from toolcrib.core.jsontypes import JsonObject, is_array, is_object
from toolcrib.discovery.meta.one_line import exact, one_line

_ROOM: Final = 160
"""Characters of all parameters together, or of the required ones where there are more."""

_OPTIONAL: Final = 60
"""Characters of optional parameters where not all have room: often a server gives each of its tools
the same ones."""

_NAME: Final = 48
"""Characters of a parameter's name; a longer one is left for the whole definition."""

_VALUES, _VALUES_ROOM = 6, 48
"""Listed values that are shown, and characters of them; more are counted."""

_ALTERNATIVES: Final = 3
"""Branches of a schema that are looked at."""

_DEPTH: Final = 4
"""Levels of references, alternatives and arrays that are followed."""

_TYPES: Final = frozenset({"array", "boolean", "integer", "number", "object", "string"})


def signature(schema: object) -> str:
    """The parameters that an input schema takes, in parentheses: required ones first.

    A schema that has alternatives instead of parameters of its own shows those, with `|` between.
    """
    if not is_object(schema):
        return "()"
    own = _parameters(schema)
    branches = () if own else _branches(schema)
    shown = filter(None, (_parameters(branch) for branch in branches if is_object(branch)))
    return f"({own or ' | '.join(shown)})"


def _parameters(schema: JsonObject) -> str:
    properties = schema.get("properties")
    known: dict[str, object] = properties if is_object(properties) else {}
    listed = schema.get("required")
    required = [name for name in listed if isinstance(name, str)] if is_array(listed) else []
    required = list(dict.fromkeys(required))
    taken = set(required)
    others = [name for name in known if name not in taken]
    first = _within((_parameter(name, known.get(name, True), schema) for name in required), _ROOM)
    left = _ROOM - _length(first)
    then = _within((_parameter(name, known[name], schema, mark="?") for name in others), left)
    if len(first) < len(required) or len(then) < len(others):
        then = _within(then, _OPTIONAL)
    more = len(required) + len(others) - len(first) - len(then)
    return ", ".join([*first, *then, *([f"{more} more"] if more else [])])


def _length(shown: Iterable[str]) -> int:
    return sum(len(text) + len(", ") for text in shown)


def _within(texts: Iterable[str], room: int) -> list[str]:
    """The first of the texts, as many as have room; no others are made."""
    shown: list[str] = []
    for text in texts:
        room -= len(text) + len(", ")
        if room < 0:
            break
        shown.append(text)
    return shown


def _parameter(name: str, schema: object, root: JsonObject, *, mark: str = "") -> str:
    shown = exact(name) if len(name) <= _NAME else f'"{one_line(name, _NAME)}"'
    return f"{shown}{mark}: {_type(schema, root, _DEPTH)}"


def _type(schema: object, root: JsonObject, depth: int) -> str:
    if not is_object(schema) or depth == 0:
        return "any"
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if is_array(values):
        return _listed(values)
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _type(_referred(reference, root), root, depth - 1)
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items")
        inner = _type(items, root, depth - 1)
        return "array" if inner == "any" else f"({inner})[]" if "|" in inner else f"{inner}[]"
    if kind is not None:
        kinds = kind if is_array(kind) else [kind]
        return "|".join(name for name in kinds if name in _TYPES) or "any"
    inner = (_type(branch, root, depth - 1) for branch in _branches(schema) if not _null(branch))
    return "|".join(dict.fromkeys(inner)) or "any"


def _listed(values: list[Any]) -> str:
    """Listed values as they are to be given, or how many there are."""
    shown = [encode(value).decode() for value in islice(values, _VALUES + 1)]
    text = "|".join(shown)
    plain = text == one_line(text, _VALUES_ROOM)
    return text if text and len(shown) <= _VALUES and plain else f"one of {len(values)}"


def _branches(schema: JsonObject) -> Iterator[object]:
    for keyword in ("anyOf", "oneOf"):
        listed = schema.get(keyword)
        if is_array(listed):
            return islice(listed, _ALTERNATIVES)
    return iter(())


def _null(schema: object) -> bool:
    return is_object(schema) and schema.get("type") == "null"


def _referred(reference: str, root: JsonObject) -> object:
    """What a reference inside of the same schema means; None where it leads out of it."""
    if not reference.startswith("#/"):
        return None
    found: object = root
    for part in reference[2:].split("/"):
        found = found.get(part) if is_object(found) else None
    return found
