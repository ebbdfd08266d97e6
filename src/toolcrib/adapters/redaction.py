"""Blots configured secrets and terminal controls out of text that came from a server."""

import re
from collections.abc import Iterable
from typing import Final

from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.settings import Secret

SHORTEST: Final = 6
"""Shorter values are ordinary words and numbers: blotting them would only garble a diagnosis."""

ORDINARY: Final = frozenset(
    {
        "always",
        "application",
        "arguments",
        "available",
        "capabilities",
        "client",
        "closed",
        "configuration",
        "configured",
        "connection",
        "debugging",
        "default",
        "development",
        "disabled",
        "failed",
        "handshake",
        "header",
        "information",
        "initialize",
        "initialized",
        "listed",
        "localhost",
        "modern",
        "notify",
        "number",
        "object",
        "production",
        "prompts",
        "protocol",
        "public",
        "python",
        "qualified",
        "resource",
        "resources",
        "response",
        "revision",
        "server",
        "status",
        "stream",
        "streamable",
        "string",
        "templates",
        "transport",
        "unavailable",
        "undefined",
        "walked",
    }
)
"""Longer words that configurations set and diagnoses are made of: nobody's secret."""

BLOT: Final = "***"

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.?")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Redaction:
    """Makes a server's words fit for an operator's terminal or log.

    Servers print what they were given, so each value that was configured for them is replaced,
    and each line of one that has several (a key in PEM form may be printed in part);
    escape sequences and control characters are removed, line feeds and tabs stay.
    """

    def __init__(self, secrets: Iterable[Secret]) -> None:
        values = {secret.reveal() for secret in secrets}
        values.update(line for value in tuple(values) for line in value.splitlines())
        secret = (v for v in values if len(v) >= SHORTEST and v.lower() not in ORDINARY)
        self._values = sorted(secret, key=len, reverse=True)

    @property
    def longest(self) -> int:
        """Length of the longest value that is blotted, 0 for none."""
        return len(self._values[0]) if self._values else 0

    def __call__(self, text: str) -> str:
        """The text without secrets, escape sequences and control characters."""
        clean = _CONTROLS.sub("", _ESCAPES.sub("", text))
        for value in self._values:
            clean = clean.replace(value, BLOT)
        return clean

    def value(self, value: object) -> object:
        """A JSON value with every text in it cleaned; None where it nests too deeply to look."""
        try:
            return self._value(value)
        except RecursionError:
            return None

    def _value(self, value: object) -> object:
        if isinstance(value, str):
            return self(value)
        if is_array(value):
            return [self._value(one) for one in value]
        if is_object(value):
            return {self(key): self._value(one) for key, one in value.items()}
        return value

    def excerpt(self, text: str, length: int) -> str:
        """At most `length` characters of the first line that says something."""
        lines = (line.strip() for line in self(text).splitlines())
        line = next((line for line in lines if line), "")
        return line if len(line) <= length else line[: length - 1] + "…"
