"""Results cut to what a model is shown, with a note where the rest can be read (DESIGN section 10).

Only where the model is the direct reader: the library, the command line, programs in code mode.
Through the gateway results pass whole, because hosts clip for models of their own.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from itertools import islice
from typing import Any, Final

from toolcrib.calls.results.compact import compact
from toolcrib.calls.results.cutting import cut_json, cut_text, written, written_within
from toolcrib.calls.results.encoding import encode
from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.core.quoting import clipped, has_surrogates

Keep = Callable[[bytes, str], Awaitable[str | None]]
"""Keeps a content with its media type; its URI, or None where it cannot be kept."""

SMALLEST: Final = 2_048
"""A limit below it counts as this: there has to be room for the notes."""

_NOTE: Final = 512
"""Bytes that are set aside for each note."""

_BLOCKS: Final = 64
"""Bytes of a block apart from its text."""

_MEMBERS: Final = 1_000
"""Members beside the content that are looked at; a result has a handful."""


async def clip(result: Mapping[str, Any], limit: int, keep: Keep) -> dict[str, Any]:
    """A `CallToolResult` in at most `limit` bytes of JSON.

    What fits passes as it is. Else text is cut, JSON to valid JSON, and a note in a block of its
    own says how large the whole is and where it can be read; what cannot be cut (images, sound) is
    left out with such a note. `isError` always survives, other members where they are small.

    Args:
        result: A finished result.
        limit: Bytes, usually `clip_bytes`; at least `SMALLEST`.
        keep: Takes the whole of what was cut.
    """
    limit = max(limit, SMALLEST)
    if written(result) <= limit:
        return dict(result)
    shown = compact(result)
    if written(shown) <= limit:
        return shown
    return await _Clipping(shown, limit, keep).done()


class _Clipping:
    """One result on its way to fewer bytes."""

    def __init__(self, result: dict[str, Any], limit: int, keep: Keep) -> None:
        self._whole = result
        self._keep = keep
        self._answer: dict[str, Any] = {}
        self._blocks: list[Any] = []
        self._left_out: list[str] = []
        self._room = limit - 2 * _NOTE

    async def done(self) -> dict[str, Any]:
        """The clipped result."""
        self._take_small_members()
        structured = "structuredContent" in self._whole
        if structured and "structuredContent" not in self._answer:
            await self._take_structured(self._whole["structuredContent"])
        content = self._whole.get("content")
        await self._take_blocks(content if is_array(content) else [])
        if self._left_out:
            uri = await self._keep(encode(self._whole), "application/json")
            what = clipped("; ".join(self._left_out), 120)
            self._blocks.append(_note(f"left out: {what}", written(self._whole), uri))
        return {"content": self._blocks, **self._answer}

    def _take_small_members(self) -> None:
        """Everything beside the content that is small, `isError` first."""
        own = {"content", "isError", "structuredContent"}
        others = list(islice((name for name in self._whole if name not in own), _MEMBERS))
        for name in ("isError", *sorted(others), "structuredContent"):
            if name not in self._whole:
                continue
            head = written(name) + 2
            most = self._room if name == "isError" else min(self._room // 4, 4 * SMALLEST)
            size = written_within(self._whole[name], most - head)
            if size is not None:
                self._answer[name] = self._whole[name]
                self._room -= head + size
            elif name != "structuredContent":
                self._left_out.append(name)
        more = len(self._whole.keys() - own) - len(others)
        if more:
            self._left_out.append(f"{more:,} more members")

    async def _take_structured(self, structured: object) -> None:
        """Structured content that was cut would break its schema: it goes on as text."""
        room = max(0, self._room // 2 - _NOTE)
        cut = _json_within(structured, room)
        whole = encode(structured)
        uri = await self._keep(whole, "application/json")
        self._put(*cut, _note("structuredContent, cut to valid JSON", len(whole), uri))

    async def _take_blocks(self, blocks: list[Any]) -> None:
        for position, block in enumerate(blocks):
            size = written(block) + 1
            if size <= self._room:
                self._put(block)
                continue
            if self._room < 2 * _NOTE:
                self._left_out.append(f"{len(blocks) - position} content blocks")
                return
            await self._take_part(block)

    async def _take_part(self, block: Any) -> None:
        text = block.get("text") if is_object(block) and block.get("type") == "text" else None
        if not isinstance(text, str):
            uri = await self._keep(encode(block), "application/json")
            kind = clipped(str(block.get("type")), 20) if is_object(block) else "block"
            self._put(_note(f"a content block of type {kind}, left out", written(block), uri))
            return
        room = self._room - _NOTE - _BLOCKS
        cut = _json_within(_container(text), room)
        if cut:
            note = await self._noted("JSON, cut to valid JSON", text, "application/json")
            self._put(*cut, note)
        else:
            note = await self._noted("text, cut", text, "text/plain")
            self._put(_text(cut_text(text, room)), note)

    async def _noted(self, what: str, text: str, mime: str) -> dict[str, Any]:
        whole = encode(text) if has_surrogates(text) else text.encode()
        return _note(what, len(whole), await self._keep(whole, mime))

    def _put(self, *blocks: Any) -> None:
        self._blocks += blocks
        self._room -= sum(written(block) + 1 for block in blocks)


def _json_within(value: object, room: int) -> list[Any]:
    """A block with a container cut to JSON, in a text of at most `room` bytes; none fits: nothing.

    Quotes are escaped once more inside a text, so the first cut may be too long.
    """
    aim = room
    while is_object(value) or is_array(value):
        cut = cut_json(value, aim)
        if cut is None:
            break
        text = encode(cut).decode()
        size = written(text)
        if size <= room:
            return [_text(text)]
        aim = min(aim - 1, aim * room // size)
    return []


def _container(text: str) -> Any:
    """The array or object that a text is the JSON of; None for any other text."""
    if text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _note(what: str, size: int, uri: str | None) -> dict[str, Any]:
    where = f"the whole can be read as the resource {uri}" if uri else "the rest was not kept"
    return _text(f"[toolcrib: {what}; {size:,} bytes in all; {where}]")
