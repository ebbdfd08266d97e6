"""Segments that several principals use, because they see the same of a server."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from toolcrib.core.search.fields import ServerTexts
from toolcrib.core.search.segment import Segment

MOST_TOOLS: Final = 100_000
"""Tools of all segments that are kept."""


@dataclass(frozen=True, slots=True)
class SegmentKey:
    """Everything that a segment is made from, and whose it is."""

    partition: str
    """Names whoever may share catalogs; nothing is ever shared between two of them."""
    server: str
    digest: str
    """Of the snapshot, as shown."""
    texts: ServerTexts


class SharedSegments:
    """Keeps segments by what they were made from; the least recently used are dropped."""

    def __init__(self, most_tools: int = MOST_TOOLS) -> None:
        self._most = most_tools
        self._kept: OrderedDict[SegmentKey, Segment] = OrderedDict()
        self._tools = 0

    def get(self, key: SegmentKey) -> Segment | None:
        """The segment, if it is kept."""
        segment = self._kept.get(key)
        if segment is not None:
            self._kept.move_to_end(key)
        return segment

    def keep(self, key: SegmentKey, segment: Segment) -> None:
        """Keep a segment."""
        before = self._kept.pop(key, None)
        self._tools += len(segment) - (0 if before is None else len(before))
        self._kept[key] = segment
        while self._tools > self._most and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self._tools -= len(dropped)
