"""Hits under the servers that have them, best first, in a bounded number of bytes."""

from collections.abc import Mapping
from typing import Final

from toolcrib.calls.results.encoding import encode
from toolcrib.core.snapshot import Item
from toolcrib.discovery.hits import Introduced
from toolcrib.discovery.meta.one_line import exact, one_line, spoken
from toolcrib.discovery.meta.seams import UNSPOKEN, Spoken
from toolcrib.discovery.meta.signature import signature

_ABOUT: Final = 200
"""Characters of what a server says of itself."""

_LINE: Final = 120
"""Characters of a tool's description."""


def size(text: str) -> int:
    """Bytes that a line takes in a result, which is JSON."""
    return len(encode(text))


def heading(server: str, introduced: Introduced, spoken_as: Spoken | None = None) -> str:
    """The line that begins a group: the server, and what it says of itself."""
    about = spoken(introduced.about(server), _ABOUT)
    module = ""
    if spoken_as is not None and spoken_as.module != server:
        module = f" (module {spoken_as.module})"
    return f"## {exact(server)}{module}: {about}" if about else f"## {exact(server)}{module}"


def in_programs(item: Item, spoken_as: Spoken | None) -> str:
    """What programs call a tool, behind its name; empty where that goes without saying."""
    function = None if spoken_as is None else spoken_as.functions.get(item.key)
    return f" (in programs {function})" if function not in {None, item.key} else ""


def brief(name: str, item: Item, spoken_as: Spoken | None = None) -> str:
    """A tool on one line: how it is called, and what it is for in its server's words."""
    said = item.definition.get("description") or item.definition.get("title")
    line = one_line(said, _LINE) if isinstance(said, str) else ""
    parameters = signature(item.definition.get("inputSchema"))
    call = f"{exact(name)}{in_programs(item, spoken_as)}{parameters}"
    return f"{call}: {line}" if line else call


class Groups:
    """Collects lines with their ranks, the best first, until there is no room.

    Args:
        introduced: Says what servers say of themselves; each is told once, above its group.
        room: Bytes of all lines together.
        spoken: What programs call servers, by id, where that is to be told.
    """

    def __init__(
        self, introduced: Introduced, room: int, spoken: Mapping[str, Spoken] = UNSPOKEN
    ) -> None:
        self._introduced = introduced
        self._spoken = spoken
        self.room = room
        """Bytes that are left."""
        self.count = 0
        self._groups: dict[str, list[str]] = {}
        self._headings: dict[str, str] = {}

    def heading_size(self, server: str) -> int:
        """Bytes that a server costs beside its hits; nothing where it has some already."""
        return 0 if server in self._groups else size(self._heading(server))

    def add(self, server: str, text: str) -> bool:
        """Take the next hit, if it fits or is the first; `text` may have several lines."""
        line = f"{self.count + 1}. {text}"
        cost = size(line) + self.heading_size(server)
        if cost > self.room and self.count:
            return False
        if server not in self._groups:
            self._groups[server] = [self._heading(server)]
        self._groups[server].append(line)
        self.room -= cost
        self.count += 1
        return True

    def _heading(self, server: str) -> str:
        known = self._headings.get(server)
        if known is None:
            known = heading(server, self._introduced, self._spoken.get(server))
            self._headings[server] = known
        return known

    def lines(self) -> list[str]:
        """Everything that was taken: groups in the order of their best hits."""
        return [line for group in self._groups.values() for line in group]
