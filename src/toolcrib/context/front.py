"""What stands in front of a prompt where the provider searches for deferred tools by itself.

The model of such a provider sees nothing of a deferred tool until it is loaded, behind all that was
said; so deferred definitions are no part of the prefix. What it does see from the start is: shown
tools, that there is a search, and, where tools are offered by server, the name and the description
of each server (developers.openai.com, guide on tool search; platform.claude.com, tool search tool).
These stand in the order in which they came, each as it was when it came.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from toolcrib.core.snapshot import Item


@dataclass(frozen=True, slots=True)
class Line:
    """One definition as it was shown first."""

    name: str
    definition: Mapping[str, Any]
    item: Item | None = None
    """The tool; None for a meta-tool."""
    server: str = ""
    """The server of the tool."""
    finds: bool = False
    """Whether it is a meta-tool that a provider's own search takes the place of."""


@dataclass(frozen=True, slots=True)
class Search:
    """The provider's own search, from the first deferred tool on."""


@dataclass(frozen=True, slots=True)
class Space:
    """The deferred tools of one server, as they were announced first."""

    server: str
    about: str
    """What the server said of itself then."""


Entry = Line | Search | Space


class Front:
    """One append-only list of what such a model sees, and the deferred tools behind it.

    A tool that was deferred stays so: the model that used it has its definition already.

    Args:
        lines: What is shown.
        deferred: Tools that are to be found, none of which is shown.
        about: By server: what it says of itself.
        by_server: Whether servers are announced.
    """

    def __init__(
        self,
        lines: Iterable[Line],
        deferred: Iterable[Line],
        about: Mapping[str, str],
        *,
        by_server: bool,
    ) -> None:
        self.entries: list[Entry] = []
        self.deferred: dict[str, Line] = {}
        """By name, in the order in which they came."""
        self.by_server = by_server
        self._announced: set[str] = set()
        found = tuple(deferred)
        if found:
            self.entries.append(Search())
        for line in lines:
            self.show(line)
        self.defer(found, about)
        self.begun_with = len(self.entries)
        """How many entries it began with."""

    def show(self, line: Line) -> None:
        """Show a further tool."""
        if not line.finds:
            self.entries.append(line)

    def defer(self, lines: Iterable[Line], about: Mapping[str, str]) -> None:
        """Offer further tools; those that were offered stay as they were."""
        for line in lines:
            self.deferred.setdefault(line.name, line)
        if self.deferred and Search() not in self.entries:
            self.entries.append(Search())
        if self.by_server:
            self.announce(about)

    def announce(self, about: Mapping[str, str]) -> None:
        """Announce the servers of deferred tools that were not announced so far."""
        self.by_server = True
        for server in sorted({line.server for line in self.deferred.values()} - self._announced):
            self._announced.add(server)
            self.entries.append(Space(server, about.get(server, "")))

    def of_server(self) -> Mapping[str, list[Line]]:
        """The deferred tools of each server."""
        found: dict[str, list[Line]] = {}
        for line in self.deferred.values():
            found.setdefault(line.server, []).append(line)
        return found

    def goes_on(self, before: "Front") -> bool:
        """Whether it begins with all that another one has."""
        return self.entries[: len(before.entries)] == before.entries
