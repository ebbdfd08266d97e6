"""JSON for people, in colours."""

import json
from typing import Any

from rich.highlighter import JSONHighlighter
from rich.text import Text

from toolcrib.cli.terminal_text import visible


def json_text(value: Any) -> Text:
    """A JSON value, indented and coloured."""
    written = json.dumps(value, ensure_ascii=False, indent=2)
    return JSONHighlighter()(Text(visible(written)))
