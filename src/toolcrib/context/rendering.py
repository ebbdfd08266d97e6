"""Tool objects of providers, made once for each definition and handed out as fresh copies."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from toolcrib.context.front import Line

Make = Callable[[str, Mapping[str, Any]], dict[str, Any]]
"""Makes the tool object of one provider from an exposed name and a definition."""


class Rendering:
    """Remembers what was made of the lines of one conversation, as text.

    Whoever gets a copy may change it, and the next copy is as it was.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], tuple[Line, str]] = {}

    def of(self, form: str, lines: Iterable[Line], make: Make) -> list[dict[str, Any]]:
        """The tool objects of these lines.

        Args:
            form: Names the provider and its options, which `make` follows.
            lines: Definitions.
            make: Makes one.
        """
        return [json.loads(self._text(form, line, make)) for line in lines]

    def forget(self) -> None:
        """Forget what was made."""
        self._made.clear()

    def _text(self, form: str, line: Line, make: Make) -> str:
        known = self._made.get((form, line.name))
        if known is not None and known[0] is line:
            return known[1]
        text = json.dumps(make(line.name, line.definition))
        self._made[form, line.name] = line, text
        return text
