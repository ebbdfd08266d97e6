"""What a program gets for a call, and what it may give: JSON values within bounds.

One rule says what the value of a call is: the structured content where there is some; else, of a
single text, what it says as JSON, or the text itself where it is none; else a list of the blocks,
texts as they are and everything else as an object with `$content`.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from toolcrib.core.jsontypes import is_array, is_object

_DEEPEST: Final = 64
"""Levels of an argument or a returned value that are followed."""


class NotPlain(ValueError):
    """A value is no JSON; `place` says where, `found` what stands there."""

    def __init__(self, place: str, found: str) -> None:
        super().__init__(f"{place or 'the value'} is {found}")
        self.place = place
        self.found = found


def plain(value: object, place: str = "") -> Any:
    """A value that came out of a sandbox as JSON: copied, tuples as arrays.

    Raises:
        NotPlain: It holds something that JSON has not, or is nested too deep.
    """
    return _plain(value, place, 0)


def answered(result: Mapping[str, Any]) -> Any:
    """The value of a finished `CallToolResult`, by the rule above."""
    if "structuredContent" in result:
        return result["structuredContent"]
    content = result.get("content")
    blocks: list[Any] = content if is_array(content) else []
    values = [_block(block) for block in blocks]
    match values:
        case []:
            return None
        case [str(text)]:
            return _parsed(text)
        case [alone]:
            return alone
        case _:
            return values


def failure_text(result: Mapping[str, Any]) -> str:
    """What a tool says of its failure (`isError`): its own text, unaltered."""
    content = result.get("content")
    blocks: list[Any] = content if is_array(content) else []
    texts = [it for block in blocks if isinstance(it := _block(block), str)]
    if texts:
        return "\n".join(texts)
    if "structuredContent" in result:
        return json.dumps(result["structuredContent"], ensure_ascii=False)
    return "the tool failed and did not say why"


def within_depth(value: object, most: int) -> bool:
    """Whether a JSON value is nested at most so deep; a scalar is at depth 0."""
    level: list[object] = [value]
    for _ in range(most + 1):
        level = [inner for node in level for inner in _inside(node)]
        if not level:
            return True
    return False


def _inside(node: object) -> list[object]:
    if is_object(node):
        return list(node.values())
    return list(node) if is_array(node) else []


def _plain(value: object, place: str, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotPlain(place, f"{value}, which JSON has not")
        return value
    if depth >= _DEEPEST:
        raise NotPlain(place, f"nested deeper than {_DEEPEST} levels")
    if isinstance(value, list | tuple):
        items: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType] - whatever it holds
        return [_plain(it, f"{place}[{at}]", depth + 1) for at, it in enumerate(items)]
    if is_object(value):
        keys: list[object] = list(value)
        if not all(isinstance(key, str) for key in keys):
            raise NotPlain(place, "a dict with keys that are no strings")
        return {key: _plain(it, _member(place, key), depth + 1) for key, it in value.items()}
    raise NotPlain(place, f"a {type(value).__name__}, which JSON has not")


def _member(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        return text


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _finite(digits: str) -> float:
    """A number as JSON has it; what no float can hold stays text."""
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(digits)
    return value


def _block(block: object) -> Any:
    """A content block (MCP 2026-07-28, tools: tool result) as a program gets it."""
    if not is_object(block):
        return block
    match block.get("type"):
        case "text":
            return block.get("text", "")
        case kind:
            members = {key: it for key, it in block.items() if key not in {"type", "_meta"}}
            return {"$content": kind, **members}
