"""What a program gets for a call: a JSON value within bounds.

One rule says what the value of a call is: the structured content where there is some; else, of a
single text, what it says as JSON, or the text itself where it is none; else a list of the blocks,
texts as they are and everything else as an object with `$content`.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn, cast

from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.core.own_words import note

_SAID_OTHERWISE: Final = frozenset({"type", "_meta", "$content"})
"""Members of a block that a program does not get: `$content` is said by toolcrib alone."""
_WIDEST: Final = 4
"""Bytes of a character at most."""


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


def failure_text(result: Mapping[str, Any], most: int) -> str:
    """What a tool says of its failure (`isError`): its own text, unaltered.

    Of more than `most` bytes (`code.answer_bytes`) the beginning is there, and how much it was.
    """
    text = _failure(result)
    if len(text) * _WIDEST <= most:
        return text
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= most:
        return text
    told = f"cut: the tool said {len(raw):,} bytes, code.answer_bytes allows {most:,}"
    return f"{raw[:most].decode('utf-8', 'ignore')}\n{note(told)}"


def _failure(result: Mapping[str, Any]) -> str:
    content = result.get("content")
    blocks: list[Any] = content if is_array(content) else []
    texts = [it for block in blocks if isinstance(it := _block(block), str)]
    if texts:
        return "\n".join(texts)
    if "structuredContent" in result:
        return json.dumps(result["structuredContent"], ensure_ascii=False)
    return "the tool failed and did not say why"


def in_whole_characters(value: Any) -> Any:
    """A JSON value without halves of characters, which JSON can hold and no runtime takes."""
    match value:
        case str():
            raw = value.encode("utf-16-le", "surrogatepass")
            return raw.decode("utf-16-le", "replace")
        case dict():
            members = cast("dict[str, Any]", value)
            return {in_whole_characters(k): in_whole_characters(it) for k, it in members.items()}
        case list():
            return [in_whole_characters(it) for it in cast("list[Any]", value)]
        case _:
            return value


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
            members = {key: it for key, it in block.items() if key not in _SAID_OTHERWISE}
            return {"$content": kind, **members}
