"""Hits as `search_tools` answers them, in the asked detail and within the size of an answer."""

from collections.abc import Mapping, Sequence
from typing import Final

from toolcrib.core.quoting import enumerated
from toolcrib.core.snapshot import Item
from toolcrib.discovery.hits import Hit, Introduced
from toolcrib.discovery.meta.arguments import Detail
from toolcrib.discovery.meta.grouped import Groups, brief, in_programs, size
from toolcrib.discovery.meta.one_line import exact
from toolcrib.discovery.meta.seams import UNSPOKEN, Spoken
from toolcrib.discovery.meta.whole import whole
from toolcrib.settings import Limits

_RESERVED: Final = 1_536
"""Bytes of an answer for its first line and its notes."""

_NUMBER: Final = size("50. ")


class ShownHits:
    """Takes hits, the best first, for as long as there is room."""

    def __init__(
        self,
        introduced: Introduced,
        detail: Detail,
        limits: Limits,
        spoken: Mapping[str, Spoken] = UNSPOKEN,
    ) -> None:
        self._spoken = spoken
        self._detail: Detail = detail
        self._limit = limits.clip_bytes if detail == "full" else limits.search_bytes
        self._setting = "clip_bytes" if detail == "full" else "search_bytes"
        self._groups = Groups(introduced, self._limit - _RESERVED, spoken)
        self.seen: dict[str, list[Item]] = {}
        """By server: what a model has seen all of that a call depends on."""

    def take(self, hits: Sequence[Hit]) -> int:
        """How many of the hits were taken: at least one, if there is one."""
        for taken, hit in enumerate(hits):
            if not (self._take_whole(hit) if self._detail == "full" else self._take_line(hit)):
                return taken
        return len(hits)

    def lines(self) -> list[str]:
        """The groups with their hits."""
        return self._groups.lines()

    def without(self, left: Sequence[Hit]) -> str:
        """A sentence on the hits that had no room, and how to get them; empty for none."""
        if not left:
            return ""
        lead = f"{len(left)} more left out (limit {self._setting}, {self._limit:,} bytes)"
        match self._detail:
            case "name":
                return f"{lead}: say more exactly what you need, or name a server."
            case "brief":
                return f"{lead}: ask with detail name, name a server, or say more exactly."
            case "full":
                names = enumerated(exact(hit.name) for hit in left)
                return f"{lead}: {names}. Ask for their details a few at a time."

    def _take_line(self, hit: Hit) -> bool:
        name_only = self._detail == "name"
        text = exact(hit.name)
        if not name_only:
            text = brief(hit.name, hit.item, self._spoken.get(hit.server))
        return self._groups.add(hit.server, text)

    def _take_whole(self, hit: Hit) -> bool:
        groups = self._groups
        name = f"{exact(hit.name)}{in_programs(hit.item, self._spoken.get(hit.server))}"
        room = groups.room - groups.heading_size(hit.server) - size(name) - _NUMBER
        shown = whole(hit.item, room, cut=groups.count == 0)
        if shown is None or not groups.add(hit.server, f"{name}\n{shown.text}"):
            return False
        if shown.seen:
            self.seen.setdefault(hit.server, []).append(hit.item)
        return True
