"""The rows of the ledger in a store, and what is left of them when somebody else wrote there."""

import json
from collections.abc import Iterable
from typing import Final

from toolcrib.calls.ledger.shown import LISTINGS, Listed, Single
from toolcrib.calls.ledger.sights import Tool
from toolcrib.core.jsontypes import is_array, is_number

_LATEST: Final = 1e12
"""Seconds since the epoch before which every time lies that we write."""


def tool_key(tool: Tool) -> str:
    """A tool as the key of its row."""
    return json.dumps(tool, ensure_ascii=False, separators=(",", ":"))


def tool_from(key: str) -> Tool | None:
    """The tool whose key this is; None for garbage."""
    parsed = _parsed(key.encode("utf-8", "surrogatepass"))
    if not is_array(parsed) or len(parsed) != 2:  # noqa: PLR2004 - server and name
        return None
    server, name = parsed
    return (server, name) if isinstance(server, str) and isinstance(name, str) else None


def single_row(single: Single) -> bytes:
    """A single tool as a row."""
    return json.dumps([single.at, single.contract]).encode()


def single_from(row: bytes) -> Single | None:
    """The single tool in a row; None for garbage."""
    found = _timed(_parsed(row))
    return None if found is None else Single(*found)


def caller_row(listings: Iterable[Listed]) -> bytes:
    """Which listings a caller was shown, as a row."""
    return json.dumps([[listed.at, listed.sights.digest] for listed in listings]).encode()


def caller_from(row: bytes) -> list[tuple[float, str]]:
    """Time and digest of each listing in a row, without what is garbage."""
    parsed = _parsed(row)
    shown: list[tuple[float, str]] = []
    for one in parsed[:LISTINGS] if is_array(parsed) else ():
        found = _timed(one)
        if found is not None:
            shown.append(found)
    return shown


def _parsed(raw: bytes) -> object:
    try:
        return json.loads(raw.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None


def _timed(pair: object) -> tuple[float, str] | None:
    """A time and a text; a time in no century of ours would leave none that is later."""
    if not is_array(pair) or len(pair) != 2:  # noqa: PLR2004 - a pair
        return None
    at, text = pair
    if not is_number(at) or not 0 < at < _LATEST or not isinstance(text, str):
        return None
    return float(at), text
