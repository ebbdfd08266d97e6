"""One compact copy of a result, for a model that reads it directly.

Servers repeat structured content as JSON in a text block, for clients that know only text (MCP
2026-07-28, tools: structured content). A model that gets both pays twice.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from toolcrib.calls.results.encoding import NotFinite, encode
from toolcrib.core.canonical import canonical
from toolcrib.core.jsontypes import is_array, is_object

_SPELLED: Final = 200_000
"""Characters of a text whose numbers are compared by value; longer ones are only compared as they
are written."""


def compact(result: Mapping[str, Any]) -> dict[str, Any]:
    """The result with one copy of what it says twice.

    Where a text block is the JSON of the structured content, the block holds it in its shortest
    form and the structured content is left out; anything else stays as it is.
    """
    answer = dict(result)
    content = answer.get("content")
    if "structuredContent" not in answer or not is_array(content):
        return answer
    twin = twin_of(answer["structuredContent"], content)
    if twin is None:
        return answer
    written = encode(answer.pop("structuredContent")).decode()
    answer["content"] = [
        {**block, "text": written} if position == twin else block
        for position, block in enumerate(content)
    ]
    return answer


def twin_of(structured: object, content: list[Any]) -> int | None:
    """The position of the text block that says the same as the structured content, in JSON."""
    for position, block in enumerate(content):
        if is_object(block) and block.get("type") == "text" and says(block.get("text"), structured):
            return position
    return None


def says(text: object, value: object) -> bool:
    """Whether a text is JSON for exactly this value: `1` and `true` differ, big numbers count."""
    if not isinstance(text, str):
        return False
    try:
        parsed = json.loads(text)
        if parsed != value:
            return False
        if _sorted(parsed) == _sorted(value):
            return True
        return len(text) <= _SPELLED and canonical(parsed) == canonical(value)
    except (ValueError, TypeError, RecursionError, NotFinite):
        return False


def _sorted(value: object) -> str:
    """The value as the encoder in C writes it: quick, but `1` and `1.0` differ."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
