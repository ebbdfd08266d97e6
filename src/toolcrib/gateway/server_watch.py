"""Having one server tell of updates of single resources, in the way of its era.

A server of a handshake revision is asked for each resource (MCP 2025-11-25, resources:
subscriptions). One of 2026-07-28 is asked with one stream that names all of them; where they
become others, a new stream is opened before the old one is given up, so that nothing is missed
between the two (MCP 2026-07-28, subscriptions).
"""

import math
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import anyio
from anyio.abc import TaskGroup

from toolcrib.catalog.access import CatalogAccess
from toolcrib.catalog.resource_news import ResourceNews
from toolcrib.core.quoting import quoted
from toolcrib.errors import ToolcribError, UpstreamRefused, UpstreamUnreachable
from toolcrib.ports import Era

ACKNOWLEDGED_WITHIN: Final = 10.0
"""Seconds in which a stream has to be acknowledged."""

SHORTEST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
"""Seconds before what failed is tried again, doubling from one to the other."""

INVALID_PARAMS: Final = -32602


@dataclass(slots=True, eq=False)
class _Stream:
    """One `subscriptions/listen` request, while it goes on."""

    keys: frozenset[str]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    told: anyio.Event = field(default_factory=anyio.Event)
    """Set when it was acknowledged, or ended."""
    honoured: frozenset[str] = frozenset()
    error: ToolcribError | None = None


class ServerWatch:
    """Keeps one server's subscriptions equal to what is wanted. Its task is `run`."""

    def __init__(self, access: CatalogAccess, server: str) -> None:
        self._access = access
        self._server = server
        self._wanted: frozenset[str] = frozenset()
        self._watched: set[str] = set()
        self._failed: dict[str, ToolcribError] = {}
        self._opening: _Stream | None = None
        self._stream: _Stream | None = None
        self._failures = 0
        self._bell = anyio.Event()
        self._settled = anyio.Event()

    def want(self, keys: Collection[str]) -> None:
        """Have these resources watched, and no others."""
        wanted = frozenset(keys)
        if wanted != self._wanted:
            self._failed = {k: e for k, e in self._failed.items() if k in self._wanted & wanted}
            self._wanted = wanted
            self._bell.set()

    async def established(self, key: str) -> None:
        """Wait until the server tells of this resource; raises what kept it from that."""
        while key not in self._watched:
            if (error := self._failed.get(key)) is not None:
                raise error
            if key not in self._wanted:
                return
            await self._settled.wait()

    def heard(self, news: ResourceNews) -> None:
        """Take note of an acknowledgement, or that the server has forgotten everything."""
        if news.what == "connected":
            self._watched.clear()
            self._failed.clear()
            self._failures = 0
            self._give_up(self._stream)
            self._stream = None
            self._bell.set()
        elif news.what == "acknowledged" and (stream := self._opening) is not None:
            honoured = stream.keys.intersection(news.uris)
            if honoured or not news.uris:
                stream.honoured = honoured
                stream.told.set()

    async def run(self) -> None:
        """Work until cancelled."""
        async with anyio.create_task_group() as tasks:
            while True:
                await self._bell.wait()
                self._bell = anyio.Event()
                await self._settle(tasks)
                if any(map(_may_pass, self._failed.values())):
                    tasks.start_soon(self._again)
                settled, self._settled = self._settled, anyio.Event()
                settled.set()

    async def _settle(self, tasks: TaskGroup) -> None:
        era = self._era()
        if era == "modern":
            await self._settle_stream(tasks, self._wanted)
            return
        for key in tuple(self._watched - self._wanted):
            self._watched.discard(key)
            with suppress(ToolcribError, KeyError):
                await self._access.request(self._server, "resources/unsubscribe", {"uri": key})
        for key in sorted(self._wanted - self._watched - self._failed.keys()):
            if era is None:
                self._failed[key] = self._unreachable()
                continue
            try:
                await self._access.request(self._server, "resources/subscribe", {"uri": key})
            except ToolcribError as error:
                self._failed[key] = error
            except KeyError:
                self._failed[key] = self._unreachable()
            else:
                self._watched.add(key)

    def _era(self) -> Era | None:
        with suppress(KeyError):
            facts = self._access.status(self._server).facts
            return None if facts is None else facts.era
        return None

    def _unreachable(self) -> UpstreamUnreachable:
        return UpstreamUnreachable("it is not connected", server=self._server)

    # ---- streams of 2026-07-28 ----

    async def _settle_stream(self, tasks: TaskGroup, wanted: frozenset[str]) -> None:
        older = self._stream
        if older is not None and older.keys == wanted:
            return
        if not wanted:
            self._stream = None
            self._watched.clear()
            self._give_up(older)
            return
        stream = self._opening = _Stream(wanted)
        tasks.start_soon(self._hold, stream)
        with anyio.move_on_after(ACKNOWLEDGED_WITHIN):
            await stream.told.wait()
        self._opening = None
        self._watched = set(stream.honoured)
        missing = stream.error or UpstreamRefused(
            f"{quoted(self._server)} does not tell of updates of this resource",
            rpc_code=INVALID_PARAMS,
            server=self._server,
        )
        self._failed = dict.fromkeys(wanted - stream.honoured, missing)
        if stream.honoured:
            self._stream = stream
        else:
            self._stream = None
            self._give_up(stream)
        self._give_up(older)

    async def _hold(self, stream: _Stream) -> None:
        asked = {"notifications": {"resourceSubscriptions": sorted(stream.keys)}}
        with stream.scope:
            try:
                await self._access.request(
                    self._server, "subscriptions/listen", asked, timeout=math.inf
                )
            except ToolcribError as error:
                stream.error = error
            except KeyError:
                stream.error = self._unreachable()
            stream.told.set()
            if self._stream is stream:
                await self._lost()

    async def _lost(self) -> None:
        """Open the stream again after a while: updates meanwhile are lost."""
        self._stream = None
        self._watched.clear()
        await self._again()

    async def _again(self) -> None:
        """Try once more, after a while, what may pass; a new connection tries at once."""
        pause = min(SHORTEST_PAUSE * 2.0 ** min(self._failures, 16), LONGEST_PAUSE)
        self._failures += 1
        await anyio.sleep(pause)
        self._failed = {k: error for k, error in self._failed.items() if not _may_pass(error)}
        self._bell.set()

    @staticmethod
    def _give_up(stream: _Stream | None) -> None:
        if stream is not None:
            stream.scope.cancel()


def _may_pass(error: ToolcribError) -> bool:
    """Whether asking again may bring something: the server did not refuse."""
    return not isinstance(error, UpstreamRefused)
