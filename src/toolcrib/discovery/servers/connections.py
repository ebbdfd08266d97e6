"""Opens, lets go and ends what is connected of one principal's servers on demand.

A server that idles keeps its catalogs: its tools are found as they were last published, and the
next need opens the connection again behind the same catalogs, without a new index or a generation
that begins anew. Only a server that nobody has enabled any more is taken out.
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final

import anyio

from toolcrib.catalog.catalogs import Catalogs
from toolcrib.catalog.server_catalogs import ServerCatalogs
from toolcrib.core.snapshot import Kind
from toolcrib.ports import Clock
from toolcrib.settings import ServerSettings

BUSY: Final = 5.0
"""Seconds after which a server that was to be closed, but had a call under way, is looked at."""
HURRIED: Final = 2.0
"""Seconds within which a server is not hurried twice."""

End = Callable[[ServerCatalogs], Awaitable[None]]
"""Ends the connection of catalogs that were taken out, unless other principals live on it."""


class Connections:
    """What is connected behind the catalogs of one principal.

    Args:
        catalogs: All catalogs of the principal.
        end: As described there.
        clock: Says when a server was hurried.
    """

    def __init__(self, catalogs: Catalogs, end: End, clock: Clock) -> None:
        self._catalogs = catalogs
        self._end = end
        self._clock = clock
        self._hurried: dict[str, float] = {}

    def is_open(self, server: str) -> bool:
        """Whether a server has catalogs, connected or not."""
        return server in self._catalogs.server_ids()

    def is_up(self, server: str) -> bool:
        """Whether a server is connected."""
        return self._catalogs.server(server).supervisor.upstream is not None

    def open(self, server: ServerSettings) -> bool:
        """Has catalogs of a server there, and a connection on its way; whether there were none."""
        opens = not self.is_open(server.id)
        if opens:
            self._catalogs.add(server)
        self.use(server.id)
        return opens

    def use(self, server: str) -> None:
        """A server is needed now: its connection is there, or on its way."""
        supervisor = self._catalogs.server(server).supervisor
        supervisor.use()
        supervisor.want()

    def hurry(self, server: str) -> None:
        """Has an attempt to connect begin at once; at most every few seconds."""
        now = self._clock.now().mono
        if now >= self._hurried.get(server, float("-inf")) + HURRIED:
            self._hurried[server] = now
            supervisor = self._catalogs.server(server).supervisor
            supervisor.use()
            supervisor.hurry()

    async def read(self, servers: Iterable[str], *, connected: bool) -> None:
        """Wait for the tools of servers, side by side, each at most its own `cold_wait`.

        With `connected` also for the connection, where what is held would do for a search.
        """

        async def one(catalogs: ServerCatalogs) -> None:
            server = catalogs.server
            # It may be taken out of the configuration meanwhile.
            with anyio.move_on_after(server.waits.cold_wait), suppress(KeyError):
                if connected:
                    await self._catalogs.reach((server.id,))
                await self._catalogs.renewed(server.id, Kind.TOOLS)

        async with anyio.create_task_group() as tasks:
            for server in servers:
                tasks.start_soon(one, self._catalogs.server(server))

    async def reach(self, server: str) -> None:
        """Wait for the connection of a server, at most its `cold_wait`."""
        with anyio.move_on_after(self._catalogs.server(server).server.waits.cold_wait):
            await self._catalogs.reach((server,))

    def rest(self, server: str, after: float) -> float:
        """Lets go of a connection that nobody used for so many seconds; when to look again."""
        return self._catalogs.server(server).supervisor.rest(after)

    async def close(self, server: str) -> bool:
        """Takes a server out; False, and nothing happens, while a call is under way."""
        if self._catalogs.server(server).supervisor.turns.under_way:
            return False
        await self._end(self._catalogs.remove(server))
        return True

    def trouble(self, server: str) -> str:
        """Why a server is not connected, for a model; empty when it is, or nothing is known."""
        trouble = self._catalogs.server(server).supervisor.trouble
        return "" if trouble is None else trouble.for_model()
