"""What a program gets for a call, and what it may give: JSON values within bounds.

One rule says what the value of a call is: the structured content where there is some; else, of a
single text, what it says as JSON, or the text itself where it is none; else a list of the blocks,
texts as they are and everything else as an object with `$content`.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn, cast

from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.core.quoting import clipped

_DEEPEST: Final = 64
"""Levels of an argument or a returned value that are followed."""
ARGUMENTS: Final = 8 * 1024 * 1024
"""What the arguments of one call may weigh, as `plain` counts."""
RETURNED: Final = 16 * 1024 * 1024
"""What a returned value may weigh."""
_NODE: Final = 8
"""What each value weighs, beside the characters of texts."""
_CONTAINER: Final = 24
"""What an array or an object weighs on top of that: it takes several times as long."""
_MOST_BITS: Final = 14_000
"""Of an integer; readers of JSON refuse numbers of more than some 4,300 digits."""
_STEP: Final = 40
"""Characters of a key that are repeated."""
_PLACE: Final = 200
"""Characters of a place."""


class NotPlain(ValueError):
    """A value is no JSON; the text says where and what stands there."""

    def __init__(self, found: str, *, there: bool = True) -> None:
        super().__init__(found)
        self.found = found
        self.there = there
        """Whether the place matters."""
        self.steps: list[str | int] = []
        """Keys and indices, the innermost first."""

    def __str__(self) -> str:
        place = ""
        for step in reversed(self.steps):
            key = f"[{step}]" if isinstance(step, int) else clipped(step, _STEP)
            place = f"{place}.{key}" if place and isinstance(step, str) else place + key
        return f"{clipped(place, _PLACE) or 'the value'} is {self.found}"


def plain(value: object, most: int) -> Any:
    """A value that came out of a sandbox as JSON: copied, tuples as arrays.

    Two lines of a program make a value that no memory holds once it is written out, because what is
    shared in it is written as often as it stands there. So it may weigh no more than `most`.

    Raises:
        NotPlain: It holds something that JSON has not, is nested too deep, or is too much.
    """
    return _Copying(most).of(value, 0)


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


class _Copying:
    """One value on its way out of a sandbox.

    What is shared stays shared, and weighs what it weighs each time: so the work goes by what the
    sandbox holds, and not by what would be written.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most
        self._lowest = 0
        """The deepest level of what is copied now."""
        self._known: dict[int, tuple[Any, int, int]] = {}
        """Copy, weight and height of arrays and objects, by the identity of what was copied."""

    def of(self, value: object, depth: int) -> Any:
        """A copy of a part of it."""
        if not isinstance(value, list | tuple | dict):
            return self._scalar(value)
        known = self._known.get(id(cast("object", value)))
        if depth + (0 if known is None else known[2]) >= _DEEPEST:
            raise NotPlain(f"nested deeper than {_DEEPEST} levels")
        if known is not None:
            self._take(known[1])
            self._lowest = max(self._lowest, depth + known[2])
            return known[0]
        return self._anew(cast("list[object] | dict[object, object]", value), depth)

    def _scalar(self, value: object) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            self._take(len(value))
            return value
        if isinstance(value, int):
            if value.bit_length() > _MOST_BITS:
                raise NotPlain("an integer of more digits than readers of JSON take")
            return value
        if isinstance(value, float):
            if not math.isfinite(value):
                raise NotPlain(f"{value}, which JSON has not")
            return value
        raise NotPlain(f"a {type(value).__name__}, which JSON has not")

    def _anew(self, value: list[object] | dict[object, object], depth: int) -> Any:
        left, lowest = self._left, self._lowest
        self._lowest = depth
        self._take(_CONTAINER + _NODE * len(value))
        copy: Any
        if isinstance(value, dict):
            copy = {self._key(key): self._inner(it, key, depth) for key, it in value.items()}
        else:
            copy = [self._inner(it, at, depth) for at, it in enumerate(value)]
        self._known[id(value)] = (copy, left - self._left, self._lowest - depth)
        self._lowest = max(lowest, self._lowest)
        return copy

    def _inner(self, value: object, step: Any, depth: int) -> Any:
        try:
            return self.of(value, depth + 1)
        except NotPlain as broken:
            if broken.there:
                broken.steps.append(step)
            raise

    def _key(self, key: object) -> str:
        if not isinstance(key, str):
            raise NotPlain("a dict with keys that are no strings")
        self._take(len(key))
        return key

    def _take(self, weight: int) -> None:
        self._left -= weight
        if self._left < 0:
            most = self._most // (1024 * 1024)
            what = f"more than a program can hand out at a time ({most} MiB)"
            raise NotPlain(what, there=False)


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
