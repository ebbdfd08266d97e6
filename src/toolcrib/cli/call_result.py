"""What a call returned: its content for people, the result itself for programs."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from toolcrib.calls.results.compact import twin_of
from toolcrib.cli.exits import Exit
from toolcrib.cli.json_text import json_text
from toolcrib.cli.output import View
from toolcrib.cli.tables import BAD, DIM
from toolcrib.cli.terminal_text import clipped, one_line, visible
from toolcrib.core.jsontypes import JsonObject, is_array, is_object


def call_view(result: Mapping[str, Any]) -> View:
    """The content blocks in order, and the structured content where no block says it already."""
    blocks = result.get("content")
    parts: list[RenderableType] = []
    if result.get("isError") is True:
        parts.append(Text("the tool reports an error", BAD))
    shown = [block for block in blocks if is_object(block)] if is_array(blocks) else []
    parts += [_block(block) for block in shown]
    structured = result.get("structuredContent")
    if structured is not None and twin_of(structured, shown) is None:
        parts.append(json_text(structured))
    if not parts:
        parts.append(Text("The tool returned nothing.", DIM))
    return View(Group(*parts), dict(result))


def call_exit(result: Mapping[str, Any]) -> Exit:
    """1 where the tool reports an error."""
    return Exit.FOUND if result.get("isError") is True else Exit.FINE


def _block(block: JsonObject) -> RenderableType:
    text, uri = block.get("text"), block.get("uri")
    match block.get("type"):
        case "text" if isinstance(text, str):
            return Text(visible(text))
        case "image" | "audio" as kind:
            return Text(f"[{kind} {_kind_and_size(block, 'data')}]", DIM)
        case "resource_link" if isinstance(uri, str):
            return Text(f"[link {one_line(uri)}]", DIM)
        case "resource" if is_object(resource := block.get("resource")):
            return _resource(resource)
        case _:
            return json_text(block)


def _resource(resource: JsonObject) -> RenderableType:
    where = one_line(str(resource.get("uri", "?")))
    text = resource.get("text")
    if isinstance(text, str):
        return Group(Text(f"[resource {where}]", DIM), Text(visible(text)))
    return Text(f"[resource {where}, {_kind_and_size(resource, 'blob')}]", DIM)


def _kind_and_size(block: JsonObject, member: str) -> str:
    """The media type, and how many bytes the base64 text stands for."""
    content = block.get(member)
    size = len(content) * 3 // 4 if isinstance(content, str) else 0
    return f"{clipped(str(block.get('mimeType', 'of unknown type')), 60)}, {size:,} bytes"
