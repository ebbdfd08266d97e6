"""What a search is measured with: catalogs of known tools, and tasks whose tools are known."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class KnownTool:
    """One tool of a data set."""

    id: str
    """What tasks and rankings call it."""
    server: str
    name: str
    """Its own name on that server, unique there."""
    definition: Mapping[str, Any] = field(hash=False)
    """As its server would list it."""
    server_title: str = ""
    server_description: str = ""
    """What the server says of itself."""


@dataclass(frozen=True, slots=True)
class Task:
    """One query, and the tools that it is about."""

    qid: str
    query: str
    needed: tuple[frozenset[str], ...]
    """One set of ids for each tool that is needed; any member of a set serves."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """One catalog and its tasks; without tasks it can only make other catalogs larger."""

    name: str
    tools: tuple[KnownTool, ...]
    tasks: tuple[Task, ...] = ()

    @property
    def servers(self) -> int:
        """How many servers the tools are on."""
        return len({tool.server for tool in self.tools})
