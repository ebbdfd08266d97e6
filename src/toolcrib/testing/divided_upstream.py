"""A scripted server that shows each principal what is its own.

It has places, in the order in which principals connect first: configure it `stateful`, so that each
has a connection of its own. A connection that comes back takes the place that is free.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from toolcrib.core.snapshot import Kind
from toolcrib.errors import ToolcribError
from toolcrib.ports import ClientProfile, EraMemory, Signals, Upstream
from toolcrib.settings import ServerSettings
from toolcrib.testing.scripted import CHANGED, ScriptedUpstream


class DividedUpstream(ScriptedUpstream):
    """One script; what it lists depends on the place of the connection that asks."""

    def __init__(self, *lists: Sequence[Mapping[str, Any]], **rest: Any) -> None:
        """Give each place its tools."""
        super().__init__(**rest)
        self._lists = [list(tools) for tools in lists]
        self._places: list[int] = []
        """By number of the connection."""
        self._heard: dict[int, tuple[Signals, Upstream]] = {}
        """Live connections, by place."""
        self.refused: dict[int, ToolcribError] = {}
        """What a place is answered in place of a listing."""

    def change_at(self, place: int, tools: Sequence[Mapping[str, Any]]) -> None:
        """Replaces what one place is shown, and says so to nobody else."""
        self._lists[place] = list(tools)
        self.signal_at(place)

    def signal_at(self, place: int) -> None:
        """Sends `list_changed` to one place."""
        if place in self._heard:
            self._heard[place][0].notified(CHANGED[Kind.TOOLS], {})

    def is_up(self, place: int) -> bool:
        """Whether somebody sits there."""
        return place in self._heard

    def drop_at(self, place: int) -> None:
        """Ends the connection of one place; it must be back before another one is ended."""
        connection: Any = self._heard[place][1]
        connection.end("the server hung up")

    def list_for(self, connection: int, kind: Kind, cursor: str | None) -> dict[str, Any]:
        """The list result for the place of a connection."""
        place = self._places[connection]
        if kind is Kind.TOOLS:
            if place in self.refused:
                raise self.refused[place]
            self.items[kind] = list(self._lists[place])
        return self.list_page(kind, cursor)

    @asynccontextmanager
    async def connect(
        self,
        server: ServerSettings,
        profile: ClientProfile,
        signals: Signals,
        remembered: EraMemory | None,
    ) -> AsyncGenerator[Any]:
        """A connection at the first place that is free."""
        place = next(it for it in range(len(self._lists)) if it not in self._heard)
        self._places.append(place)
        async with super().connect(server, profile, signals, remembered) as connection:
            self._heard[place] = signals, connection
            try:
                yield connection
            finally:
                del self._heard[place]
