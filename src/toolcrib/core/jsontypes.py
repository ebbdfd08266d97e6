"""JSON values as Python holds them after parsing, and how sentences name them."""

from typing import Any, TypeGuard

JsonObject = dict[str, Any]
JsonArray = list[Any]


def is_object(value: object) -> TypeGuard[JsonObject]:
    """Whether this is a JSON object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[JsonArray]:
    """Whether this is a JSON array."""
    return isinstance(value, list)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether this is a JSON number; `true` is none, although Python counts it as 1."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_integer(value: object) -> TypeGuard[int | float]:
    """Whether this is a JSON number without a fraction: 1.0 is one (JSON Schema core, 4.2.3)."""
    return is_number(value) and (isinstance(value, int) or value.is_integer())


def described(value: object) -> str:
    """The JSON type of a value with its article, such as `a string` or `null`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if is_number(value):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if is_array(value) else "an object" if is_object(value) else "no JSON value"


def nests_deeper(value: object, limit: int) -> bool:
    """Whether arrays and objects are nested in each other more than `limit` levels deep.

    Walks depth first and stops at the first level too many, so even a structure that contains
    itself gets an answer.
    """
    stack: list[tuple[object, int]] = [(value, 1)]
    while stack:
        node, depth = stack.pop()
        if is_object(node):
            children: Any = node.values()
        elif is_array(node):
            children = node
        else:
            continue
        if depth > limit:
            return True
        stack += [(child, depth + 1) for child in children if isinstance(child, dict | list)]
    return False
