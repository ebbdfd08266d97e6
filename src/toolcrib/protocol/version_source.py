"""Where a server publishes a version of its own, and the one that an answer of it holds.

MCP has no version of a listing, but servers have: in the `_meta` of their results, in an HTTP
header, or in what a tool of theirs says. Such a version means nothing to us; that it is another one
does.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.protocol.envelope import VERSION_KEY

_FORM: Final = re.compile(
    r"(?P<meta>meta):(?P<key>\S+)"
    r"|(?P<header>header):(?P<field>[!#$%&'*+.^`|~\w-]+)"
    r"|(?P<tool>tool):(?P<name>[^#\s]+)#(?P<pointer>(?:/(?:[^~/]|~[01])*)*)",
    re.ASCII,
)
"""A member of `_meta`, a header's name (RFC 9110), a tool's name and a JSON pointer (RFC 6901)."""

_LONGEST: Final = 1_024
"""Characters of a version; what is longer is none."""


@dataclass(frozen=True, slots=True)
class VersionSource:
    """Where to look for a version."""

    where: Literal["meta", "header", "tool"]
    name: str
    """The member of `_meta`, the header, or the tool by its own name."""
    path: tuple[str, ...] = ()
    """Where in the structured result of the tool."""

    def version(
        self, method: str, params: Mapping[str, Any], result: Mapping[str, Any]
    ) -> str | None:
        """The version that the answer to a request holds; None where it holds none."""
        match self.where:
            case "meta":
                return _text(_member(result.get("_meta"), self.name))
            case "header":
                return _text(_member(result.get("_meta"), VERSION_KEY))
            case "tool":
                if method != "tools/call" or params.get("name") != self.name:
                    return None
                value: object = result.get("structuredContent")
                for step in self.path:
                    value = _member(value, step)
                return _text(value)


def parse_version_source(text: str) -> VersionSource | None:
    """`meta:KEY`, `header:NAME` or `tool:NAME#POINTER`; None for any other form."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    if match["meta"]:
        return VersionSource("meta", match["key"])
    if match["header"]:
        return VersionSource("header", match["field"].lower())
    steps = match["pointer"].split("/")[1:]
    path = tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)
    return VersionSource("tool", match["name"], path)


def _member(value: object, step: str) -> object:
    """One step into a value; None where it leads nowhere."""
    if is_object(value):
        return value.get(step)
    if is_array(value) and step.isascii() and step.isdigit() and len(step) <= 9:  # noqa: PLR2004
        position = int(step)
        in_place = position < len(value) and step == str(position)
        return value[position] if in_place else None
    return None


def _text(value: object) -> str | None:
    """A version in one form: a short text or a number; nothing else is one."""
    if isinstance(value, str):
        return f"s{value}" if len(value) <= _LONGEST else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return f"n{value!r}"
