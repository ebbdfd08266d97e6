"""Answers list requests from the content as it is at that moment, page by page, right or wrong."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from toolcrib.core.snapshot import Kind
from toolcrib.testing.scripted import tool
from toolcrib.testing.server.behaviour import Content, Pages

__all__ = ["Lister", "Place", "UnknownCursor"]

_REFILL = "more"
_CURSOR = re.compile(r"(\d+)\.(\d+)")
_ENDLESS = re.compile(r"more\.(\d+)")


class UnknownCursor(Exception):
    """The cursor is none that this server gives."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in which walk a list request is."""

    walk: int
    """From 1."""
    offset: int
    """Of the first item on the page."""
    made: int | None = None
    """On a page that is made up, the number of its item."""

    def number(self, size: int, listed: int) -> int:
        """The number of the page, from 1."""
        if self.made is None:
            return self.offset // size + 1
        return max(1, -(-listed // size)) + self.made


def _of_page(values: Any, number: int) -> Any:
    """The value for a page: a list has one for each, its last one for all that follow."""
    if not isinstance(values, list | tuple):
        return values
    each = cast("Sequence[Any]", values)
    return each[min(number, len(each)) - 1] if each else None


def _made_up(kind: Kind, number: int) -> dict[str, Any]:
    name = f"more_{number}"
    return tool(name) if kind is Kind.TOOLS else {"name": name, kind.key: name}


class Lister:
    """Content, and how it is cut into pages; both may be replaced between any two requests."""

    def __init__(self) -> None:
        self.content = Content()
        self.pages = Pages()
        self._walks: Counter[Kind] = Counter()
        self._made = 0

    def find(self, kind: Kind, cursor: object) -> Place:
        """Where a request with that cursor (None: none) is; a request without one begins a walk.

        Raises `UnknownCursor`.
        """
        if cursor is None:
            self._walks[kind] += 1
            return Place(self._walks[kind], 0)
        latest = self._walks[kind]
        if cursor == "" and self.pages.cursors == "empty":
            return Place(latest, self._size(kind, latest))
        if cursor == _REFILL:
            self._made += 1
            return Place(latest, 0, self._made)
        if isinstance(cursor, str):
            if found := _CURSOR.fullmatch(cursor):
                return Place(int(found[2]), int(found[1]))
            if found := _ENDLESS.fullmatch(cursor):
                return Place(latest, 0, int(found[1]))
        raise UnknownCursor(str(cursor))

    def number(self, kind: Kind, place: Place) -> int:
        """The number of the page there, from 1."""
        return place.number(self._size(kind, place.walk), len(self._items(kind, place.walk)))

    def latency(self, number: int) -> float:
        """Seconds that the page with that number takes."""
        return float(_of_page(self.pages.latency, number) or 0.0)

    def page(self, kind: Kind, place: Place, *, modern: bool) -> dict[str, Any]:
        """The result for a request there."""
        items = self._items(kind, place.walk)
        size = self._size(kind, place.walk)
        chunk = items[place.offset : place.offset + size]
        if place.made is not None:
            chunk = [_made_up(kind, place.made)]
        result: dict[str, Any] = {kind.field: list(chunk)}
        following = self._next(place, size, len(items))
        if following is not None:
            result["nextCursor"] = following
        if modern:
            result |= self._hints(self.number(kind, place))
        result |= dict(self.pages.extra or {})
        return {key: value for key, value in result.items() if key not in self.pages.without}

    def _hints(self, number: int) -> Mapping[str, Any]:
        return {
            "resultType": "complete",
            "ttlMs": _of_page(self.pages.ttl_ms, number),
            "cacheScope": _of_page(self.pages.scope, number),
        }

    def _size(self, kind: Kind, walk: int) -> int:
        return self.pages.size or max(1, len(self._items(kind, walk)))

    def _items(self, kind: Kind, walk: int) -> Sequence[Any]:
        items = self.content.of(kind, walk)
        if self.pages.turning and items:
            first = (walk - 1) % len(items)
            return [*items[first:], *items[:first]]
        return items

    def _next(self, place: Place, size: int, listed: int) -> str | None:
        """The cursor of the page after this one; None ends the walk."""
        style = self.pages.cursors
        end = place.offset + size
        if place.made is None and end < listed:
            return "" if style == "empty" and place.offset == 0 else f"{end}.{place.walk}"
        match style:
            case "offset" | "empty":
                return None
            case "cycle":
                return f"{place.offset}.{place.walk}"
            case "refill":
                return _REFILL
            case "endless":
                return f"more.{(place.made or 0) + 1}"
