"""What a result says to a model: its texts and images, whatever the form it came in."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolcrib.calls.results.compact import compact, twin_of
from toolcrib.context.schemas.keywords import plain_text
from toolcrib.core.jsontypes import JsonObject, is_array, is_object
from toolcrib.core.quoting import clipped

IMAGES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
"""Images that models of all providers take."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text, never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image that may be shown."""

    media_type: str
    data: str
    """Base64."""


Said = Text | Image


def failed(result: Mapping[str, Any]) -> bool:
    """Whether the result tells of a failure."""
    return result.get("isError") is True


def said(result: Mapping[str, Any]) -> list[Said]:
    """What a `CallToolResult` says, each thing once, in its order.

    Structured content that no text block repeats comes last, as JSON. Blocks that models cannot
    be shown are named in words.
    """
    shown = compact(result)
    content = shown.get("content")
    blocks: list[Any] = content if is_array(content) else []
    found = [it for it in map(_block, blocks) if not isinstance(it, Text) or it.text]
    if "structuredContent" in shown and twin_of(shown["structuredContent"], blocks) is None:
        found.append(Text(_json(shown["structuredContent"])))
    return found


def in_words(result: Mapping[str, Any]) -> str:
    """The same for a provider that takes one text: images are named in words."""
    texts = (it.text if isinstance(it, Text) else _unseen(it.media_type) for it in said(result))
    return "\n\n".join(texts)


def _block(block: Any) -> Said:
    if not is_object(block):
        return Text("")
    match block.get("type"):
        case "text":
            return Text(plain_text(str(block.get("text") or "")))
        case "image":
            return _image(block)
        case "resource_link":
            name, uri = str(block.get("name") or ""), str(block.get("uri") or "")
            return Text(plain_text(f"[resource {clipped(name, 200)}: {clipped(uri, 2_000)}]"))
        case "resource":
            return _resource(block.get("resource"))
        case kind:
            return Text(f"[{clipped(str(kind), 40)} content, which cannot be shown]")


def _image(block: JsonObject) -> Said:
    media_type, data = str(block.get("mimeType")), block.get("data")
    if media_type in IMAGES and isinstance(data, str) and data:
        return Image(media_type, data)
    return Text(_unseen(media_type))


def _resource(resource: object) -> Text:
    if not is_object(resource):
        return Text("")
    where = clipped(plain_text(str(resource.get("uri") or "")), 2_000)
    if isinstance(text := resource.get("text"), str):
        return Text(plain_text(f"[resource {where}]\n{text}"))
    return Text(f"[resource {where}: {_unseen(str(resource.get('mimeType')))}]")


def _unseen(media_type: str) -> str:
    return f"[{clipped(media_type, 60)} content, which cannot be shown]"


def _json(value: object) -> str:
    return plain_text(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))
